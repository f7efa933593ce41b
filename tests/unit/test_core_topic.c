//  test_core_topic - topics in the broker core: numbers, order, kept entries and credit.
//
//  Over the real store, step by step: words and answers of docs/protocol.md.

#include "core_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LIFT ((int64_t) 1 << 32) //  Numbers of one start

static void
s_subscribe (uint64_t conn, const char *topic, int64_t from)
{
    char body[64];
    snprintf (body, sizeof body, "{\"from\":%lld}", (long long) from);
    core_sendf (conn, body, "{\"type\":\"subscribe\",\"id\":\"sub\",\"to\":\"topic:%s\"}", topic);
}

static void
s_publish (const char *type, const char *topic, const char *more)
{
    core_sendf (2, "{\"text\":\"x\"}", "{\"type\":\"%s\",\"id\":\"e\",\"to\":\"topic:%s\"%s}", type,
        topic, more);
}

static void
s_keep (const char *id, const char *type, const char *topic, const char *more)
{
    core_sendf (2, "{\"text\":\"x\"}",
        "{\"type\":\"%s\",\"id\":\"%s\",\"to\":\"topic:%s\",\"durable\":true%s}", type, id, topic,
        more);
    pair_accepted (2, id);
}

static void
s_expect_entry (uint64_t conn, const char *type, int64_t n, bool kept)
{
    const argos_sim_msg_t *msg = core_expect (conn, type);
    assert_int_equal (argos_sim_int (msg->meta, "n"), n);
    assert_int_equal (json_is_true (json_object_get (msg->meta, "kept")), kept);
}

static void
s_expect_end (uint64_t conn, int64_t n, bool closed)
{
    const argos_sim_msg_t *msg = core_expect (conn, "end");
    assert_int_equal (argos_sim_int (msg->body, "n"), n);
    assert_int_equal (json_is_true (json_object_get (msg->body, "closed")), closed);
}

static void
test_topic (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    pair_hello (3, "reader", 10, "");
    pair_hello (4, "late", 10, "");
    core_grant (3, 100);
    core_grant (4, 100);
    s_subscribe (3, "t", 0);
    argos_sim_msg_destroy (&core_kit_last);
    assert_int_equal (argos_sim_int (core_expect (3, "end")->body, "closed"), -1);
    s_publish ("p0", "t", "");
    s_keep ("k1", "k1", "t", "");
    s_publish ("p2", "t", "");
    s_expect_entry (3, "p0", 0, false);
    s_expect_entry (3, "k1", 1, true);
    s_expect_entry (3, "p2", 2, false);
    s_subscribe (4, "t", 1);
    s_expect_entry (4, "k1", 1, true);
    s_expect_entry (4, "p2", 2, false);
    s_expect_end (4, 2, false);
    s_keep ("k3", "k3", "t", ",\"last\":true");
    s_expect_entry (3, "k3", 3, true);
    s_expect_entry (4, "k3", 3, true);
    s_publish ("p4", "t", "");
    core_expect_refused (2, "e", "conflict");
    s_subscribe (4, "t", 0);
    s_expect_entry (4, "p0", 0, false);
    s_expect_entry (4, "k1", 1, true);
    s_expect_entry (4, "p2", 2, false);
    s_expect_entry (4, "k3", 3, true);
    s_expect_end (4, 3, true);
    //  After a restart only what was kept, and later entries are refused
    argos_sim_net_crash (core_kit_net);
    pair_hello (3, "reader", 10, "");
    core_grant (3, 100);
    s_subscribe (3, "t", 0);
    s_expect_entry (3, "k1", 1, true);
    s_expect_entry (3, "k3", 3, true);
    s_expect_end (3, 3, true);
    pair_hello (2, "sender", 10, "");
    core_sendf (2, "{\"text\":\"x\"}",
        "{\"type\":\"k4\",\"id\":\"k4\",\"to\":\"topic:t\",\"durable\":true}");
    core_expect_refused (2, "k4", "conflict");
    core_expect_nothing (3);
    argos_sim_net_sleep (core_kit_net, 1000);
}

static void
test_topic_numbers_after_restarts (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    s_keep ("k0", "k", "t", "");
    argos_sim_net_crash (core_kit_net);
    pair_hello (2, "sender", 10, "");
    s_publish ("p", "t", "");
    argos_sim_net_crash (core_kit_net);
    pair_hello (2, "sender", 10, "");
    pair_hello (3, "reader", 10, "");
    core_grant (3, 100);
    s_publish ("p", "t", "");
    s_keep ("k1", "k", "t", "");
    s_subscribe (3, "t", 0); //  Known by its own entries of this start, not by the earlier ones
    s_expect_entry (3, "k", 0, true);
    s_expect_entry (3, "p", 2 * LIFT, false);
    s_expect_entry (3, "k", 2 * LIFT + 1, true);
    s_expect_end (3, 2 * LIFT + 1, false);
    argos_sim_net_crash (core_kit_net);
    pair_hello (3, "reader", 10, "");
    core_grant (3, 100);
    s_subscribe (3, "t", 1);
    s_expect_entry (3, "k", 2 * LIFT + 1, true);
    s_expect_end (3, 2 * LIFT + 1, false);
}

//  A passing entry waits for the commit of a kept one before it; a number whose commit fails is
//  skipped.

static void
test_topic_order (void **state)
{
    (void) state;
    pair_hello (1, "sender.2", 10, ""); //  Of the same base name, so that the topic is its own
    pair_serve (1, "work", 1);
    pair_hello (2, "sender", 10, "");
    pair_hello (3, "reader", 10, "");
    core_grant (3, 100);
    s_subscribe (3, "t", 0);
    core_expect (3, "end");
    pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    argos_sim_net_send (core_kit_net, 2, ARGOS_ROLE_LOCAL,
        "{\"type\":\"k0\",\"id\":\"k0\",\"to\":\"topic:t\",\"durable\":true}", NULL);
    argos_sim_net_send (
        core_kit_net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"p1\",\"to\":\"topic:t\"}", NULL);
    core_expect_nothing (3);
    argos_sim_net_settle (core_kit_net);
    s_expect_entry (3, "k0", 0, true);
    s_expect_entry (3, "p1", 1, false);
    argos_sim_part_t parts[2] = { { "{\"type\":\"k2\",\"to\":\"topic:t\",\"durable\":true}", NULL },
        { "{\"type\":\"job\",\"to\":\"service:wrok\",\"durable\":true}", NULL } };
    pair_commit_with (1, "commit", a, 2, "", parts, 1); //  n does not follow: refused by the store
    core_expect_refused (1, "c2", "fenced");
    pair_commit_with (1, "commit", a, 1, "", parts, 1);
    core_expect (1, "accepted");
    s_expect_entry (3, "k2", 3, true);
}

static void
test_topic_fenced (void **state)
{
    (void) state;
    pair_begin (1);
    pair_put ("a", "k", "");
    pair_lease_t a = pair_leased (1, "a");
    core_sendf (1, NULL,
        "{\"type\":\"p\",\"id\":\"e\",\"to\":\"topic:t\",\"seq\":%lld,\"lease\":%lld}",
        (long long) a.seq, (long long) a.lease);
    core_expect_nothing (1);
    core_sendf (1, NULL,
        "{\"type\":\"p\",\"id\":\"e\",\"to\":\"topic:t\",\"seq\":%lld,\"lease\":%lld}",
        (long long) a.seq, (long long) a.lease + 1);
    core_expect_refused (1, "e", "fenced");
    //  A kept entry under a lease is a part of a commit
    core_sendf (1, NULL,
        "{\"type\":\"p\",\"id\":\"e\",\"to\":\"topic:t\",\"durable\":true,\"seq\":%lld,\"lease\":%"
        "lld}",
        (long long) a.seq, (long long) a.lease);
    core_expect_refused (1, "e", "invalid");
}

static void
test_topic_trimmed (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    pair_hello (3, "reader", 10, "");
    core_grant (3, 10000);
    for (int i = 0; i < 5000; i++) {
        char more[64], id[32];
        snprintf (id, sizeof id, "k%d", i);
        snprintf (more, sizeof more, "%s", i % 64 == 40 ? ",\"keyframe\":true" : "");
        if (i % 32 == 0)
            s_keep (id, "k", "t", "");
        else
            s_publish ("p", "t", more);
    }
    s_subscribe (3, "t", 0);
    int64_t n = -1, kept = 0;
    bool ring = false;
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (core_kit_net, 3))) {
        if (json_object_get (msg->meta, "n")) {
            assert_true (argos_sim_int (msg->meta, "n") > n);
            n = argos_sim_int (msg->meta, "n");
            kept += json_is_true (json_object_get (msg->meta, "kept"));
            if (!json_is_true (json_object_get (msg->meta, "kept")) && !ring) {
                ring = true; //  The first passing one has the whole text
                assert_true (json_is_true (json_object_get (msg->header, "keyframe")));
            }
        }
        argos_sim_msg_destroy (&msg);
    }
    assert_int_equal (n, 4999);
    assert_int_equal (kept, 5000 / 32 + 1);
}

static void
test_topic_credit (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    pair_hello (3, "reader", 10, "");
    s_subscribe (3, "t", 0);
    core_expect (3, "end");
    for (int i = 0; i < 100; i++)
        s_keep ((char[]){ 'k', (char) ('0' + i / 10), (char) ('0' + i % 10), 0 }, "k", "t", "");
    core_expect_nothing (3);
    core_grant (3, 2);
    s_expect_entry (3, "k", 0, true);
    s_expect_entry (3, "k", 1, true);
    core_expect_nothing (3);
    argos_sim_net_crash (core_kit_net);
    pair_hello (3, "reader", 10, "");
    core_grant (3, 70);
    s_subscribe (3, "t", 1);
    for (int i = 1; i < 71; i++)
        s_expect_entry (3, "k", i, true);
    core_expect_nothing (3);
    core_send (3, "{\"type\":\"credit\",\"id\":\"c\"}", "{\"messages\":69,\"bytes\":1}");
    core_expect_refused (3, "c", "credit");
    core_grant (3, 200);
    for (int i = 71; i < 100; i++)
        s_expect_entry (3, "k", i, true);
    s_expect_end (3, 99, false);
    core_send (3, "{\"type\":\"unsubscribe\",\"id\":\"u\",\"to\":\"topic:t\"}", NULL);
    pair_accepted (3, "u");
    pair_hello (2, "sender", 10, "");
    s_keep ("l", "k", "t", "");
    core_expect_nothing (3);
}

static void
test_topic_two_readers_before_it_exists (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    for (uint64_t conn = 3; conn < 5; conn++) {
        pair_hello (conn, conn == 3 ? "r3" : "r4", 10, "");
        core_grant (conn, 10);
        s_subscribe (conn, "t", 0);
        s_expect_end (conn, -1, false);
    }
    assert_int_equal (argos_sim_net_number (core_kit_net, "SELECT count (*) FROM topics"), 0);
    s_publish ("p", "t", "");
    s_expect_entry (3, "p", 0, false);
    s_expect_entry (4, "p", 0, false);
}

//  What a ring keeps of a small commit is its own: the whole of a packed one would live as long.

static void
test_topic_holds_no_piece (void **state)
{
    (void) state;
    static const char *const text[] = { "AR1", "{\"type\":\"commit\",\"id\":\"c\"}", "", "",
        "{\"type\":\"k0\",\"id\":\"k0\",\"to\":\"topic:t\",\"durable\":true}", "{\"text\":\"x\"}" };
    argos_frame_t *frames[6];
    const argos_who_t who = { ARGOS_VIA_IPC, "" };
    pair_hello (2, "sender", 10, "");
    pair_hello (3, "reader", 10, "");
    core_grant (3, 10);
    s_subscribe (3, "t", 0);
    s_expect_end (3, -1, false);
    for (int i = 0; i < 6; i++)
        frames[i] = argos_frame_new (text[i], strlen (text[i]));
    argos_core_message (core_kit_net->core, 2, &who, frames, 6);
    argos_sim_net_settle (core_kit_net);
    pair_accepted (2, "c");
    s_expect_entry (3, "k0", 0, true);
    for (int i = 0; i < 6; i++) {
        assert_int_equal (frames[i]->refs, 1);
        argos_frame_unref (&frames[i]);
    }
    pair_hello (4, "late", 10, "");
    core_grant (4, 10);
    s_subscribe (4, "t", 0); //  From the ring
    s_expect_entry (4, "k0", 0, true);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { PAIR_TEST (test_topic),
        PAIR_TEST (test_topic_numbers_after_restarts), PAIR_TEST (test_topic_order),
        PAIR_TEST (test_topic_fenced), PAIR_TEST (test_topic_trimmed),
        PAIR_TEST (test_topic_credit), PAIR_TEST (test_topic_holds_no_piece),
        PAIR_TEST (test_topic_two_readers_before_it_exists) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
