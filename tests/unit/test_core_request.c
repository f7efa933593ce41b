//  test_core_request - requests, actors and reads in the broker core.
//
//  Over the real store, step by step: words and answers of docs/protocol.md.

#include "core_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void
s_ask (const char *id, const char *more)
{
    core_sendf (
        2, "{\"q\":1}", "{\"type\":\"ask\",\"id\":\"%s\",\"to\":\"service:work\"%s}", id, more);
}

static void
test_request (void **state)
{
    (void) state;
    pair_begin (1);
    s_ask ("q", "");
    assert_string_equal (argos_sim_text (core_expect (1, "ask")->meta, "from"), "sender");
    s_ask ("q", "");
    core_expect_refused (2, "q", "conflict");
    s_ask ("q2", ""); //  Waits for the slot
    core_expect_nothing (1);
    core_send (2, "{\"type\":\"work.stop\",\"re\":\"q\",\"to\":\"service:work\"}", NULL);
    core_expect (1, "work.stop");
    core_send (1, "{\"type\":\"answer\",\"re\":\"q\",\"to\":\"actor:sender\"}", "{\"a\":1}");
    assert_string_equal (argos_sim_text (core_expect (2, "answer")->meta, "from"), "worker");
    assert_string_equal (argos_sim_text (core_expect (1, "ask")->header, "id"), "q2");
    core_send (1, "{\"type\":\"answer\",\"id\":\"x\",\"re\":\"q\",\"to\":\"actor:sender\"}", NULL);
    core_expect_refused (1, "x", "expired");
    s_ask ("q3", "");
    core_send (2, "{\"type\":\"work.stop\",\"re\":\"q3\",\"to\":\"service:work\"}", NULL);
    core_expect_refused (2, "q3", "gone");
    assert_false (json_is_true (json_object_get (core_kit_last->body, "sent")));
    core_send (1, "{\"type\":\"bye\"}", NULL);
    core_expect_refused (2, "q2", "gone");
    assert_true (json_is_true (json_object_get (core_kit_last->body, "sent")));
}

static void
test_request_expires (void **state)
{
    (void) state;
    pair_begin (1);
    s_ask ("q", ",\"ttl_ms\":1000");
    core_expect (1, "ask");
    s_ask ("q2", ",\"ttl_ms\":500");
    argos_sim_net_sleep (core_kit_net, 600);
    core_expect_refused (2, "q2", "expired");
    assert_false (json_is_true (json_object_get (core_kit_last->body, "sent")));
    argos_sim_net_sleep (core_kit_net, 500);
    core_expect_refused (2, "q", "expired");
    assert_true (json_is_true (json_object_get (core_kit_last->body, "sent")));
    assert_string_equal (argos_sim_text (core_expect (1, "cancel")->header, "re"), "q");
    pair_put ("a", "k", ""); //  The slot is free again
    pair_leased (1, "a");
}

static void
test_the_worker_is_told_when_the_requester_is_gone (void **state)
{
    (void) state;
    pair_begin (1);
    s_ask ("q", "");
    core_expect (1, "ask");
    core_send (2, "{\"type\":\"bye\"}", NULL);
    assert_string_equal (argos_sim_text (core_expect (1, "cancel")->header, "re"), "q");
    assert_string_equal (argos_sim_text (core_kit_last->meta, "from"), "sender");
}

static void
test_requests_of_a_leaving_worker (void **state)
{
    (void) state;
    pair_begin (2);
    s_ask ("q1", "");
    s_ask ("q2", "");
    s_ask ("q3", "");
    pair_put ("a", "k", "");
    core_send (1, "{\"type\":\"bye\"}", NULL);
    core_expect_refused (2, "q1", "gone");
    core_expect_refused (2, "q2", "gone");
    core_expect_nothing (2);
    pair_hello (3, "other", 10, "");
    pair_serve (3, "work", 2);
    assert_string_equal (argos_sim_text (core_expect (3, "ask")->header, "id"), "q3");
    pair_leased (3, "a");
}

//  A request waits for somebody who serves it, but no longer than a peer may be silent.

static void
test_a_service_that_nobody_serves (void **state)
{
    (void) state;
    pair_begin (1);
    s_ask ("q1", "");
    core_expect (1, "ask");
    s_ask ("q2", ",\"ttl_ms\":100000"); //  Waits for the slot
    s_ask ("q3", ",\"ttl_ms\":100000");
    argos_sim_net_sleep (core_kit_net, 5000);
    core_send (1, "{\"type\":\"bye\"}", NULL);
    core_expect_refused (2, "q1", "gone");
    s_ask ("q4", ",\"ttl_ms\":100000");
    s_ask ("q5", ",\"ttl_ms\":1000");
    argos_sim_net_sleep (core_kit_net, 1100);
    core_expect_refused (2, "q5", "expired"); //  Its own deadline is shorter
    argos_sim_net_sleep (core_kit_net, 1000);
    pair_hello (3, "other", 10, ""); //  Somebody comes, and has one slot
    pair_serve (3, "work", 1);
    assert_string_equal (argos_sim_text (core_expect (3, "ask")->header, "id"), "q2");
    for (int i = 0; i < 5; i++) {
        argos_sim_net_sleep (core_kit_net, 4000);
        core_send (3, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
        core_send (2, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
        core_expect (3, "pong");
        core_expect (2, "pong");
    }
    core_send (3, "{\"type\":\"answer\",\"re\":\"q2\",\"to\":\"actor:sender\"}", NULL);
    core_expect (2, "answer");
    assert_string_equal (argos_sim_text (core_expect (3, "ask")->header, "id"), "q3");
    core_send (3, "{\"type\":\"bye\"}", NULL);
    core_expect_refused (2, "q3", "gone");
    for (int i = 0; i < 3; i++) {
        core_expect_nothing (2);
        argos_sim_net_sleep (core_kit_net, 4000);
        core_send (2, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
        core_expect (2, "pong");
    }
    argos_sim_net_sleep (core_kit_net, 3500);
    core_expect_refused (2, "q4", "no_peer");
    assert_false (json_is_true (json_object_get (core_kit_last->body, "sent")));
}

static void
test_actor (void **state)
{
    (void) state;
    pair_begin (1);
    core_send (2, "{\"type\":\"ask\",\"id\":\"q\",\"to\":\"actor:nobody\"}", NULL);
    core_expect_refused (2, "q", "no_peer");
    core_send (2, "{\"type\":\"ask\",\"id\":\"q\",\"to\":\"actor:worker\"}", NULL);
    core_expect_refused (2, "q", "busy"); //  No credit
    core_grant (1, 1);
    core_send (2, "{\"type\":\"ask\",\"id\":\"q\",\"to\":\"actor:worker\"}", NULL);
    core_expect (1, "ask");
    core_send (2, "{\"type\":\"ask\",\"id\":\"q2\",\"to\":\"actor:worker\"}", NULL);
    core_expect_refused (2, "q2", "busy");
    core_send (1, "{\"type\":\"answer\",\"re\":\"q\",\"to\":\"actor:sender\"}", NULL);
    core_expect (2, "answer");
    core_send (2, "{\"type\":\"broker.status\",\"id\":\"s\",\"to\":\"actor:broker\"}", NULL);
    const argos_sim_msg_t *status = core_expect (2, "broker.status.result");
    assert_int_equal (json_array_size (json_object_get (status->body, "sessions")), 2);
}

static void
test_read (void **state)
{
    (void) state;
    pair_hello (2, "sender", 10, "");
    core_send (2, "{\"type\":\"status.get\",\"id\":\"q\",\"to\":\"store\"}", NULL);
    assert_string_equal (argos_sim_text (core_expect (2, "store.result")->header, "re"), "q");
    core_send (2, "{\"type\":\"no.such\",\"id\":\"q\",\"to\":\"store\"}", NULL);
    core_expect_refused (2, "q", "denied"); //  No role names it
    core_send (2, "{\"type\":\"status.get\",\"to\":\"store\"}", NULL);
    core_expect_refused (2, "", "invalid");
}

int
main (void)
{
    const struct CMUnitTest tests[] = { PAIR_TEST (test_request), PAIR_TEST (test_request_expires),
        PAIR_TEST (test_the_worker_is_told_when_the_requester_is_gone),
        PAIR_TEST (test_requests_of_a_leaving_worker),
        PAIR_TEST (test_a_service_that_nobody_serves), PAIR_TEST (test_actor),
        PAIR_TEST (test_read) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
