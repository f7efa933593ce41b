//  test_core_lane - durable messages in the broker core, from their coming in to their worker.
//
//  Over the real store, step by step: words and answers of docs/protocol.md.

#include "core_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void
test_insert_leased (void **state)
{
    (void) state;
    pair_begin (1);
    int64_t seq = pair_put ("a", "k", "");
    assert_true (seq > 0);
    const argos_sim_msg_t *msg = core_expect (1, "job");
    assert_string_equal (argos_sim_text (msg->body, "text"), "x");
    assert_string_equal (argos_sim_text (msg->meta, "from"), "sender");
    assert_int_equal (argos_sim_int (msg->meta, "seq"), seq);
    assert_int_equal (argos_sim_int (msg->meta, "attempt"), 1);
    assert_int_equal (argos_sim_int (msg->meta, "hops"), 0);
    pair_lease_t lease = { seq, argos_sim_int (msg->meta, "lease"), 1 };
    pair_commit (1, "commit", lease, 1);
    assert_int_equal (argos_sim_int (core_expect (1, "accepted")->body, "n"), 1);
    pair_commit (1, "commit", lease, 1);
    assert_int_equal (argos_sim_int (core_expect (1, "accepted")->body, "n"), 1);
    pair_commit (1, "done", lease, 2);
    core_expect (1, "accepted");
    pair_commit (1, "done", lease, 2);
    core_expect (1, "accepted");
    pair_commit (1, "done", lease, 3);
    core_expect_refused (1, "c3", "fenced");
    assert_int_equal (argos_sim_net_number (core_kit_net, "SELECT count (*) FROM queue"), 0);
}

static void
test_repeat (void **state)
{
    (void) state;
    pair_begin (1);
    int64_t seq = pair_put ("a", "k", "");
    assert_int_equal (pair_put ("a", "k", ""), seq);
    pair_leased (1, "a");
    core_expect_nothing (1);
    core_sendf (2, "{\"text\":\"other\"}",
        "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:work\",\"key\":\"k\",\"durable\":true}");
    core_expect_refused (2, "a", "conflict");
    argos_sim_net_crash (core_kit_net);
    pair_hello (2, "sender", 10, "");
    assert_int_equal (pair_put ("a", "k", ""), seq);
}

static void
test_fifo_and_slots (void **state)
{
    (void) state;
    pair_begin (2);
    pair_put ("a1", "a", "");
    pair_put ("a2", "a", "");
    pair_put ("b1", "b", "");
    pair_put ("c1", "c", "");
    pair_lease_t a1 = pair_leased (1, "a1");
    pair_lease_t b1 = pair_leased (1, "b1");
    core_expect_nothing (1); //  Two slots
    pair_commit (1, "done", a1, 1);
    core_expect (1, "accepted");
    pair_lease_t c1 = pair_leased (1, "c1"); //  It has waited longer than lane a
    pair_commit (1, "done", c1, 1);
    core_expect (1, "accepted");
    pair_leased (1, "a2");
    pair_commit (1, "done", b1, 1);
    core_expect (1, "accepted");
    core_expect_nothing (1);
}

static void
test_busy_lane_keeps_its_turn (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a1", "a", "");
    pair_lease_t a1 = pair_leased (1, "a1");
    pair_put ("b1", "b", "");
    pair_put ("c1", "c", "");
    pair_put ("b2", "b", ""); //  Lane b grows while it waits
    pair_commit (1, "done", a1, 1);
    core_expect (1, "accepted");
    pair_leased (1, "b1");
}

static void
test_urgent (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a1", "a", "");
    pair_lease_t a1 = pair_leased (1, "a1");
    pair_put ("b1", "b", "");
    pair_put ("c1", "c", "");
    pair_put ("c2", "c", ",\"urgent\":true");
    pair_commit (1, "done", a1, 1);
    core_expect (1, "accepted");
    pair_leased (1, "c1"); //  The lane goes first, its order stays
}

static void
test_types (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    pair_hello (1, "narrow", 10, "");
    pair_hello (3, "wide", 10, "");
    core_send (1, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"work\",\"slots\":1,\"types\":[\"job\"]}");
    core_expect (1, "accepted");
    pair_put ("a", "a", "");
    pair_lease_t a = pair_leased (1, "a");
    core_send (3, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"work\",\"slots\":1,\"types\":[\"other\"]}");
    core_expect (3, "accepted");
    pair_put ("b", "b", ""); //  Who takes it is busy, who is free does not take it
    core_sendf (
        2, NULL, "{\"type\":\"third\",\"id\":\"t\",\"to\":\"service:work\",\"durable\":true}");
    pair_accepted (2, "t");
    core_expect_nothing (3);
    pair_commit (1, "done", a, 1);
    core_expect (1, "accepted");
    pair_leased (1, "b");
    core_send (3, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"work\",\"slots\":1,\"types\":[\"other\",\"third\"]}");
    core_expect (3, "accepted");
    core_expect (3, "third");
}

static void
test_not_before (void **state)
{
    (void) state;
    char more[64];
    pair_begin (2);
    snprintf (more, sizeof more, ",\"not_before\":%lld", (long long) core_kit_net->wall + 5000);
    pair_put ("a", "k", more);
    pair_put ("b", "k", ""); //  Does not wait for it
    pair_lease_t b = pair_leased (1, "b");
    pair_commit (1, "done", b, 1);
    core_expect (1, "accepted");
    argos_sim_net_sleep (core_kit_net, 4000);
    core_send (1, "{\"type\":\"ping\"}", NULL);
    core_expect (1, "pong");
    core_expect_nothing (1);
    argos_sim_net_sleep (core_kit_net, 1001);
    pair_leased (1, "a");
    snprintf (more, sizeof more, ",\"not_before\":%lld", (long long) core_kit_net->wall + 5000);
    pair_put ("c", "k2", more); //  Still to come at the end
}

//  A message is on its way to be inserted leased when an older one of its lane comes due.

static void
test_due_while_inserting (void **state)
{
    (void) state;
    char more[64];
    pair_begin (2);
    snprintf (more, sizeof more, ",\"not_before\":%lld", (long long) core_kit_net->wall + 100);
    pair_put ("a", "k", more);
    argos_sim_net_send (core_kit_net, 2, ARGOS_ROLE_LOCAL,
        "{\"type\":\"job\",\"id\":\"b\",\"to\":\"service:work\",\"key\":\"k\",\"durable\":true}",
        NULL);
    core_kit_net->mono += 200;
    core_kit_net->wall += 200;
    argos_core_clock (core_kit_net->core, core_kit_net->mono, core_kit_net->wall);
    argos_core_tick (core_kit_net->core);
    argos_sim_net_settle (core_kit_net);
    pair_lease_t b = pair_leased (1, "b");
    assert_null (argos_sim_net_difference (core_kit_net));
    pair_commit (1, "done", b, 1);
    core_expect (1, "accepted");
    pair_leased (1, "a");
    assert_null (argos_sim_net_difference (core_kit_net));
}

static void
test_expired (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    pair_hello (1, "worker", 10, "");
    pair_serve (1, "work", 0);
    pair_put ("a", "k", ",\"ttl_ms\":3000");
    argos_sim_net_sleep (core_kit_net, 3001);
    assert_int_equal (
        argos_sim_net_number (core_kit_net, "SELECT count (*) FROM queue WHERE id = 'a'"), 0);
    assert_int_equal (
        argos_sim_net_number (core_kit_net, "SELECT count (*) FROM dead WHERE code = 'expired'"),
        1);
    assert_int_equal (argos_sim_net_number (
                          core_kit_net, "SELECT count (*) FROM queue WHERE type = 'message.dead'"),
        1);
}

static void
test_no_service (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    core_send (2, "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:wrok\",\"durable\":true}", NULL);
    core_expect_refused (2, "a", "no_service");
    pair_hello (1, "worker", 10, "");
    pair_serve (1, "work", 1);
    argos_sim_net_crash (core_kit_net);
    pair_hello (2, "sender", 10, "");
    pair_put ("a", "k", ""); //  The declaration has survived
}

int
main (void)
{
    const struct CMUnitTest tests[] = { PAIR_TEST (test_insert_leased), PAIR_TEST (test_repeat),
        PAIR_TEST (test_fifo_and_slots), PAIR_TEST (test_busy_lane_keeps_its_turn),
        PAIR_TEST (test_urgent), PAIR_TEST (test_types), PAIR_TEST (test_not_before),
        PAIR_TEST (test_due_while_inserting), PAIR_TEST (test_expired),
        PAIR_TEST (test_no_service) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
