//  test_core_side - side messages of a lane in the broker core: who is shown which, and when.
//
//  Over the real store, step by step: words and answers of docs/protocol.md.

#include "core_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool
s_deaf (void *arg, uint64_t conn)
{
    (void) arg;
    return conn == 1;
}

static void
test_side (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    int64_t side = pair_put ("s", "k", ",\"side\":true");
    const argos_sim_msg_t *msg = core_expect (1, "job");
    assert_string_equal (argos_sim_text (msg->header, "id"), "s");
    assert_int_equal (argos_sim_int (msg->meta, "seq"), side);
    assert_int_equal (argos_sim_int (msg->meta, "mail"), a.seq);
    assert_int_equal (argos_sim_int (msg->meta, "lease"), a.lease);
    pair_commit (1, "done", a, 1);
    core_expect_refused (1, "c1", "mail");
    char more[96];
    snprintf (more, sizeof more, ",\"take\":[%lld]", (long long) side);
    pair_commit_with (1, "commit", a, 1, more, NULL, 0);
    core_expect (1, "accepted");
    int64_t second = pair_put ("s2", "k", ",\"side\":true");
    core_expect (1, "job");
    snprintf (more, sizeof more, ",\"seen\":%lld", (long long) second);
    pair_commit_with (1, "done", a, 2, more, NULL, 0);
    core_expect (1, "accepted");
    pair_lease_t next = pair_leased (1, "s2"); //  Never taken: it is the head now
    pair_commit (1, "done", next, 1);
    core_expect (1, "accepted");
    assert_int_equal (argos_sim_net_number (core_kit_net, "SELECT count (*) FROM queue"), 0);
}

//  Requests with the store that read a side message

static int
s_mails (void)
{
    int mails = 0;
    for (size_t i = 0; i < core_kit_net->count; i++)
        mails += core_kit_net->requests[i]->op == ARGOS_ST_MAIL;
    return mails;
}

//  What is being stored is shown without being read, as long as nothing older has still to be.

static void
test_side_at_once (void **state)
{
    (void) state;
#define SIDE(id)                                                                                   \
    "{\"type\":\"job\",\"id\":\"" id                                                               \
    "\",\"to\":\"service:work\",\"key\":\"k\",\"durable\":true,\"side\":true}"
    static const char *const headers[] = { SIDE ("s0"), SIDE ("s1") };
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    for (int i = 0; i < 2; i++) {
        argos_sim_net_send (core_kit_net, 2, ARGOS_ROLE_LOCAL, headers[i], "{\"text\":\"now\"}");
        argos_sim_net_batch (core_kit_net, 1, true);
        assert_int_equal (s_mails (), 0);
        const argos_sim_msg_t *msg = core_expect (1, "job");
        assert_string_equal (argos_sim_text (msg->header, "id"), i ? "s1" : "s0");
        assert_string_equal (argos_sim_text (msg->meta, "from"), "sender");
        assert_string_equal (argos_sim_text (msg->body, "text"), "now");
        assert_int_equal (argos_sim_int (msg->meta, "mail"), a.seq);
        assert_int_equal (argos_sim_int (msg->meta, "at"), core_kit_net->wall);
        pair_accepted (2, i ? "s1" : "s0");
    }
    core_kit_net->deaf = s_deaf; //  The third is not taken …
    pair_put ("s2", "k", ",\"side\":true");
    core_kit_net->deaf = NULL;
    pair_put ("s3", "k", ",\"side\":true"); //  … so the fourth waits for it
    core_expect_nothing (1);
    core_send (1, "{\"type\":\"ping\"}", NULL);
    core_expect (1, "pong");
    assert_string_equal (argos_sim_text (core_expect (1, "job")->header, "id"), "s2");
    assert_string_equal (argos_sim_text (core_expect (1, "job")->header, "id"), "s3");
}

static void
s_unread (void *arg, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    (void) arg;
    if (req->op == ARGOS_ST_MAIL)
        ans->code = ARGOS_INTERNAL;
}

//  A side message that the store could not read is not lost to this holder, and not asked for again
//  and again.

static void
test_side_that_could_not_be_read (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_leased (1, "a");
    core_kit_net->deaf = s_deaf;
    pair_put ("s", "k", ",\"side\":true");
    core_kit_net->deaf = NULL;
    core_kit_net->executed = s_unread;
    core_send (1, "{\"type\":\"ping\"}", NULL); //  It speaks again: what it did not take is read
    core_expect (1, "pong");
    core_expect_nothing (1);
    core_kit_net->executed = NULL;
    pair_put ("s2", "k", ",\"side\":true");
    assert_string_equal (argos_sim_text (core_expect (1, "job")->header, "id"), "s");
    assert_string_equal (argos_sim_text (core_expect (1, "job")->header, "id"), "s2");
}

//  A message is known by its own id, in whichever commits it comes: alone in one, or among others.

static void
test_a_message_that_comes_in_two_commits_is_one (void **state)
{
    (void) state;
    static const argos_sim_part_t parts[] = {
        { "{\"type\":\"job\",\"id\":\"m\",\"to\":\"service:work\",\"key\":\"k\",\"durable\":true}",
            "{}" },
        { "{\"type\":\"job\",\"id\":\"o\",\"to\":\"service:work\",\"key\":\"k\",\"durable\":true}",
            "{}" },
    };
    static const char *const commits[] = { "{\"type\":\"commit\",\"id\":\"x1\"}",
        "{\"type\":\"commit\",\"id\":\"x2\"}", "{\"type\":\"commit\",\"id\":\"x3\"}" };
    pair_begin (1);
    for (size_t i = 0; i < 3; i++) {
        argos_sim_net_commit (core_kit_net, 2, ARGOS_ROLE_LOCAL, commits[i], parts, i == 2 ? 2 : 1);
        argos_sim_net_settle (core_kit_net);
    }
    assert_int_equal (argos_sim_net_number (core_kit_net, "SELECT count (*) FROM queue"), 2);
    assert_int_equal (
        argos_sim_net_number (core_kit_net, "SELECT count (*) FROM queue WHERE id = 'm'"), 1);
}

//  A side message that a done brings to its own lane is for the next holder.

static void
test_side_of_a_done_to_its_own_lane (void **state)
{
    (void) state;
    static const argos_sim_part_t part = { "{\"type\":\"job\",\"id\":\"s\",\"to\":\"service:work\","
                                           "\"key\":\"k\",\"durable\":true,\"side\":true}",
        "{}" };
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    pair_commit_with (1, "done", a, 1, "", &part, 1);
    core_expect_re (1, "accepted", "c1");
    pair_leased (1, "s");
    core_expect_nothing (1);
}

static void
test_side_waits_with_the_lane (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    pair_hello (1, "worker", 10, "");
    pair_serve (1, "work", 0);
    pair_put ("a", "k", "");
    pair_put ("s", "k", ",\"side\":true");
    pair_serve (1, "work", 1);
    pair_leased (1, "a");
    assert_string_equal (argos_sim_text (core_expect (1, "job")->header, "id"), "s");
    //  Again to the next holder
    pair_hello (1, "worker", 11, "");
    pair_serve (1, "work", 1);
    pair_leased (1, "a");
    assert_string_equal (argos_sim_text (core_expect (1, "job")->header, "id"), "s");
}

static void
test_side_after_resume (void **state)
{
    (void) state;
    char leases[64];
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    pair_put ("s", "k", ",\"side\":true");
    core_expect (1, "job");
    argos_sim_net_crash (core_kit_net);
    snprintf (leases, sizeof leases, "{\"seq\":%lld,\"lease\":%lld}", (long long) a.seq,
        (long long) a.lease);
    pair_hello (1, "worker", 10, leases);
    assert_string_equal (argos_sim_text (core_expect (1, "job")->header, "id"), "s");
}

static void
test_side_to_a_deaf_holder (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_leased (1, "a");
    core_kit_net->deaf = s_deaf;
    pair_put ("s", "k", ",\"side\":true");
    core_kit_net->deaf = NULL;
    core_send (1, "{\"type\":\"ping\"}", NULL);
    core_expect (1, "pong");
    assert_string_equal (argos_sim_text (core_expect (1, "job")->header, "id"), "s");
}

int
main (void)
{
    const struct CMUnitTest tests[] = { PAIR_TEST (test_side), PAIR_TEST (test_side_at_once),
        PAIR_TEST (test_side_that_could_not_be_read),
        PAIR_TEST (test_a_message_that_comes_in_two_commits_is_one),
        PAIR_TEST (test_side_of_a_done_to_its_own_lane), PAIR_TEST (test_side_waits_with_the_lane),
        PAIR_TEST (test_side_after_resume), PAIR_TEST (test_side_to_a_deaf_holder) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
