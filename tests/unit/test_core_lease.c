//  test_core_lease - what a holder does with a lease in the broker core, and how a lease ends.
//
//  Over the real store, step by step: words and answers of docs/protocol.md.

#include "core_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
test_commit_emits (void **state)
{
    (void) state;
    pair_begin (1);
    pair_hello (3, "next", 10, "");
    pair_serve (3, "after", 1);
    int64_t seq = pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    argos_sim_part_t parts[2] = {
        { "{\"type\":\"job\",\"id\":\"e1\",\"to\":\"service:after\",\"durable\":true}", "{}" },
        { "{\"type\":\"job\",\"id\":\"e2\",\"to\":\"service:wrok\",\"durable\":true}", "{}" }
    };
    pair_commit_with (1, "commit", a, 1, "", parts, 2);
    assert_int_equal (argos_sim_int (core_expect (1, "refused")->body, "part"), 1);
    core_expect_nothing (3); //  All or nothing
    pair_commit_with (1, "commit", a, 1, "", parts, 1);
    core_expect (1, "accepted");
    pair_commit_with (1, "commit", a, 1, "", parts, 1); //  A repeat emits nothing
    core_expect (1, "accepted");
    pair_lease_t e1 = pair_leased (3, "e1");
    assert_int_equal (argos_sim_int (core_kit_last->meta, "hops"), 1);
    assert_string_equal (argos_sim_text (core_kit_last->meta, "cause"), "a");
    assert_string_equal (argos_sim_text (core_kit_last->meta, "from"), "worker");
    pair_commit (3, "done", e1, 1);
    core_expect (3, "accepted");
    core_expect_nothing (3);
    //  The lease is the same after a restart, also for the chain of what it emits
    argos_sim_net_crash (core_kit_net);
    char leases[64];
    snprintf (leases, sizeof leases, "{\"seq\":%lld,\"lease\":%lld}", (long long) seq,
        (long long) a.lease);
    pair_hello (3, "next", 10, "");
    pair_serve (3, "after", 1);
    json_t *verdicts = pair_hello (1, "worker", 10, leases);
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 0), "state"), "valid");
    pair_commit_with (1, "done", a, 2, "", parts, 1);
    core_expect (1, "accepted");
    pair_leased (3, "e1");
    assert_int_equal (argos_sim_int (core_kit_last->meta, "hops"), 1);
    assert_string_equal (argos_sim_text (core_kit_last->meta, "cause"), "a");
}

static void
test_resume (void **state)
{
    (void) state;
    char leases[256];
    pair_begin (3);
    pair_put ("a", "a", "");
    pair_put ("b", "b", "");
    pair_put ("c", "c", "");
    pair_lease_t a = pair_leased (1, "a"), b = pair_leased (1, "b"), c = pair_leased (1, "c");
    pair_commit (1, "done", b, 1);
    core_expect (1, "accepted");
    argos_sim_net_crash (core_kit_net);
    snprintf (leases, sizeof leases,
        "{\"seq\":%lld,\"lease\":%lld},{\"seq\":%lld,\"lease\":%lld},{\"seq\":%lld,\"lease\":99}",
        (long long) a.seq, (long long) a.lease, (long long) b.seq, (long long) b.lease,
        (long long) c.seq);
    json_t *verdicts = pair_hello (1, "worker", 10, leases);
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 0), "state"), "valid");
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 1), "state"), "done");
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 2), "state"), "lost");
    pair_serve (1, "work", 2);
    //  c is on record for us and was not listed: freed, and leased again as the second attempt
    pair_lease_t again = pair_leased (1, "c");
    assert_int_equal (again.attempt, 2);
    assert_true (again.lease > c.lease);
    pair_commit (1, "done", c, 1);
    core_expect_refused (1, "c1", "fenced");
    pair_commit (1, "done", a, 1);
    core_expect (1, "accepted");
}

static void
test_new_instance (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    pair_hello (3, "worker", 11, "");
    core_expect_refused (1, "", "superseded");
    pair_serve (3, "work", 1);
    pair_lease_t again = pair_leased (3, "a");
    assert_int_equal (again.attempt, 2);
    assert_int_equal (argos_sim_net_number (core_kit_net, "SELECT strikes FROM queue"), 4);
    pair_commit (3, "done", a, 1);
    core_expect_refused (3, "c1", "fenced");
}

static void
test_silence (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "a", "");
    pair_lease_t a = pair_leased (1, "a");
    argos_sim_net_sleep (core_kit_net, 7000);
    pair_hello (3, "other", 10, "");
    pair_serve (3, "work", 1);
    pair_hello (2, "sender", 10, "");
    pair_put ("b", "b", ""); //  Not to the silent one
    pair_leased (3, "b");
    argos_sim_net_sleep (core_kit_net, 6000);
    core_send (3, "{\"type\":\"ping\"}", NULL);
    argos_sim_net_sleep (core_kit_net, 3000);
    core_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    core_expect_refused (1, "p", "no_session");
    assert_int_equal (argos_sim_net_number (core_kit_net,
                          "SELECT count (*) FROM queue WHERE id = 'a' AND lease IS NULL"),
        1);
    char leases[64];
    snprintf (leases, sizeof leases, "{\"seq\":%lld,\"lease\":%lld}", (long long) a.seq,
        (long long) a.lease);
    json_t *verdicts = pair_hello (1, "worker", 10, leases);
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 0), "state"), "lost");
}

//  A lease whose holder does not come back after a restart ends with its time.

static void
test_lease_outlives_restart (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_leased (1, "a");
    argos_sim_net_crash (core_kit_net);
    pair_hello (3, "other", 10, "");
    pair_serve (3, "work", 1);
    core_expect_nothing (3);
    for (int i = 0; i < 4; i++) {
        argos_sim_net_sleep (core_kit_net, 4000);
        core_send (3, "{\"type\":\"ping\"}", NULL);
    }
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (core_kit_net, 3))) {
        bool job = strcmp (argos_sim_text (msg->header, "type"), "job") == 0;
        int64_t attempt = argos_sim_int (msg->meta, "attempt");
        argos_sim_msg_destroy (&msg);
        if (job) {
            assert_int_equal (attempt, 2);
            return;
        }
    }
    fail_msg ("the lease did not end");
}

static void
test_in_process_holder (void **state)
{
    (void) state;
    pair_hello (100, "agent", 10, "");
    pair_serve (100, "turn", 1);
    core_send (
        100, "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:turn\",\"durable\":true}", NULL);
    pair_accepted (100, "a");
    pair_leased (100, "a");
    argos_sim_net_crash (core_kit_net);
    pair_hello (101, "agent", 11, "");
    pair_serve (101, "turn", 1);
    pair_lease_t a = pair_leased (101, "a"); //  At once: its holder died with the process
    assert_int_equal (a.attempt, 2);
}

static bool
s_deaf (void *arg, uint64_t conn)
{
    (void) arg;
    return conn == 1;
}

static void
test_unreachable_worker (void **state)
{
    (void) state;
    pair_begin (1);
    core_kit_net->deaf = s_deaf;
    pair_put ("a", "k", "");
    assert_int_equal (
        argos_sim_net_number (core_kit_net, "SELECT attempt FROM queue WHERE lease IS NULL"), 0);
    core_kit_net->deaf = NULL;
    core_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    argos_sim_msg_t *msg = argos_sim_net_recv (core_kit_net, 1);
    argos_sim_msg_destroy (&msg); //  pong and the job come in either order
    msg = argos_sim_net_recv (core_kit_net, 1);
    assert_non_null (msg);
    argos_sim_msg_destroy (&msg);
}

static void
test_release (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    pair_lease_t wrong = { a.seq, a.lease + 1, 1 };
    pair_release (1, wrong, NULL);
    core_expect_refused (1, "r", "fenced");
    pair_release (2, a, NULL); //  Not its holder
    core_expect_refused (2, "r", "fenced");
    pair_release (1, a, "{\"delay_ms\":-1}");
    core_expect_refused (1, "r", "invalid");
    pair_release (1, a, "{\"delay_ms\":5000,\"clean\":true}");
    pair_accepted (1, "r");
    pair_put ("b", "k", ""); //  The lane waits
    core_expect_nothing (1);
    argos_sim_net_sleep (core_kit_net, 4000);
    core_send (1, "{\"type\":\"ping\"}", NULL);
    core_expect (1, "pong");
    core_expect_nothing (1);
    argos_sim_net_sleep (core_kit_net, 1001);
    a = pair_leased (1, "a");
    assert_int_equal (a.attempt, 1);
    pair_release (1, a, "{\"delay_ms\":5000}");
    pair_accepted (1, "r");
    pair_put ("s", "k", ",\"side\":true"); //  A side message ends the delay
    a = pair_leased (1, "a");
    assert_int_equal (a.attempt, 2);
    assert_string_equal (argos_sim_text (core_expect (1, "job")->header, "id"), "s");
    pair_release (1, a, "{\"delay_ms\":5000}"); //  It still waits: no delay
    pair_accepted (1, "r");
    pair_leased (1, "a");
}

static void
test_parked_over_restart (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    pair_release (1, a, "{\"delay_ms\":5000,\"clean\":true}");
    pair_accepted (1, "r");
    argos_sim_net_crash (core_kit_net);
    pair_hello (1, "worker", 10, "");
    pair_serve (1, "work", 1);
    core_expect_nothing (1);
    argos_sim_net_sleep (core_kit_net, 5001);
    assert_int_equal (pair_leased (1, "a").attempt, 1);
}

//  Those that were beside a process that died twice are cleared one by one, without a pause.

static void
test_the_innocent_do_not_wait (void **state)
{
    static const char *const ids[] = { "a", "b", "c" };
    (void) state;
    pair_begin (3);
    for (size_t i = 0; i < 3; i++)
        pair_put (ids[i], ids[i], "");
    for (int64_t instance = 11; instance < 13; instance++) {
        for (size_t i = 0; i < 3; i++)
            pair_leased (1, ids[i]);
        pair_hello (1, "worker", instance, "");
        pair_serve (1, "work", 3);
    }
    for (size_t i = 0; i < 3; i++) {
        pair_lease_t lease = pair_leased (1, ids[i]);
        core_expect_nothing (1);
        pair_commit (1, "done", lease, 1);
        pair_accepted (1, "c1");
    }
    core_expect_nothing (1);
}

static void
test_reject (void **state)
{
    (void) state;
    pair_hello (100, "gateway", 1, "");
    pair_serve (100, "gateway", 1);
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_put ("b", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    pair_release (1, a, "{\"reject\":\"invalid\"}");
    pair_accepted (1, "r");
    pair_leased (1, "b");
    const argos_sim_msg_t *notice = core_expect (100, "message.dead");
    assert_int_equal (argos_sim_int (notice->body, "seq"), a.seq);
    assert_string_equal (argos_sim_text (notice->body, "code"), "invalid");
}

static void
test_strikes (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "k", "");
    for (int64_t instance = 11; instance < 16; instance++) {
        pair_leased (1, "a");
        assert_int_equal (argos_sim_int (core_kit_last->meta, "attempt"), instance - 10);
        pair_hello (1, "worker", instance, "");
        pair_serve (1, "work", 1);
        if (instance >= 12) //  8 strikes: one lease every 5 s
            argos_sim_net_sleep (core_kit_net, 5001);
    }
    core_expect_nothing (1);
    assert_int_equal (
        argos_sim_net_number (core_kit_net, "SELECT count (*) FROM dead WHERE code = 'strikes'"),
        1);
    assert_int_equal (argos_sim_net_number (
                          core_kit_net, "SELECT count (*) FROM queue WHERE type = 'message.dead'"),
        1);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { PAIR_TEST (test_commit_emits), PAIR_TEST (test_resume),
        PAIR_TEST (test_new_instance), PAIR_TEST (test_silence),
        PAIR_TEST (test_lease_outlives_restart), PAIR_TEST (test_in_process_holder),
        PAIR_TEST (test_unreachable_worker), PAIR_TEST (test_release),
        PAIR_TEST (test_parked_over_restart), PAIR_TEST (test_reject), PAIR_TEST (test_strikes),
        PAIR_TEST (test_the_innocent_do_not_wait) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
