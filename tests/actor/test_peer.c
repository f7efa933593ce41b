//  test_peer - argos_peer against a scripted broker: sessions, window, answers, topics, requests.
//
//  What the peer must not send is shown by its next frame not being it.

#include "schema_group.h"
#include "script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
test_nothing_but_hello_is_sent_before_the_welcome (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t answer = { .count = 0 };
    assert_int_equal (script_durable (self, "m1", &answer), ARGOS_OK);
    argos_peer_serve (self->peer, "service:test", 3, (const char *const[]){ "test.work", NULL });
    script_wire_t hello = script_hello (self);
    assert_string_equal (json_string_value (json_object_get (hello.body, "name")), "test.1@core");
    assert_int_equal (json_integer_value (json_object_get (hello.body, "instance")), 42);
    assert_int_equal (json_integer_value (json_object_get (hello.body, "protocol")), 2);
    script_expect_nothing (self);
    assert_false (argos_peer_ready (self->peer));
    script_word (self, "welcome", script_head (&hello, "id"),
        "{\"store\":\"s1\",\"boot\":1,\"lease_ms\":15000,\"ping_ms\":0,"
        "\"window\":{\"messages\":10,\"bytes\":10000},\"leases\":[]}");
    script_wire_free (&hello);
    script_wire_t serve = script_expect (self, "serve");
    assert_int_equal (json_integer_value (json_object_get (serve.body, "slots")), 3);
    script_wire_free (&serve);
    script_wire_t note = script_expect (self, "test.note");
    assert_string_equal (script_head (&note, "id"), "m1");
    assert_true (json_is_true (json_object_get (note.header, "durable")));
    script_wire_free (&note);
    script_word (self, "accepted", "m1", "{\"seq\":123}");
    script_until (self, &answer.count, 1);
    assert_int_equal (answer.code, ARGOS_OK);
    assert_int_equal (answer.seq, 123);
    assert_true (argos_peer_ready (self->peer) && argos_peer_live (self->peer));
    assert_string_equal (argos_peer_store_id (self->peer), "s1");
    script_end (self);
}

static void
test_the_window_is_obeyed_and_renewed (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t answer = { .count = 0 };
    script_welcome (self, "s1", 0, 2, "[]");
    for (int i = 0; i < 4; i++)
        assert_int_equal (script_durable (self, NULL, &answer), ARGOS_OK);
    script_wire_t first = script_expect (self, "test.note"),
                  second = script_expect (self, "test.note");
    script_expect_nothing (self);
    script_word (self, "accepted", script_head (&first, "id"), "{\"seq\":1}");
    script_until (self, &answer.count, 1);
    script_expect_nothing (self);
    script_word (self, "credit", "", "{\"messages\":3,\"bytes\":1000000}");
    script_wire_t third = script_expect (self, "test.note");
    script_expect_nothing (self);
    script_word (self, "credit", "", "{\"messages\":9,\"bytes\":1}"); //  Never goes back
    script_wire_t fourth = script_expect (self, "test.note");
    script_wire_free (&first);
    script_wire_free (&second);
    script_wire_free (&third);
    script_wire_free (&fourth);
    script_end (self);
    assert_int_equal (answer.count, 4); //  The rest is answered when the peer goes
    assert_int_equal (answer.code, ARGOS_GONE);
}

static void
test_a_window_of_bytes_counts_header_body_and_parts (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_wire_t hello = script_hello (self);
    script_word (self, "welcome", script_head (&hello, "id"),
        "{\"store\":\"s1\",\"boot\":1,\"lease_ms\":15000,\"ping_ms\":0,"
        "\"window\":{\"messages\":100,\"bytes\":0},\"leases\":[]}");
    script_wire_free (&hello);
    script_until (self, &self->welcomes, 1);
    argos_peer_part_t parts[2] = {
        { .type = "test.note", .to = "service:test", .body = json_pack ("{s:s}", "a", "b") },
        { .type = "route.bind", .to = "store", .body = json_pack ("{s:s}", "key", "k") },
    };
    assert_int_equal (argos_peer_commit (self->peer, "c1", parts, 2, NULL, NULL), ARGOS_OK);
    const size_t bytes = strlen ("{\"type\":\"commit\",\"id\":\"c1\"}") + strlen ("{\"a\":\"b\"}") +
                         strlen ("{\"type\":\"route.bind\",\"to\":\"store\"}") +
                         strlen ("{\"key\":\"k\"}");
    const size_t made =
        strlen ("{\"type\":\"test.note\",\"id\":\"\",\"to\":\"service:test\",\"durable\":true}") +
        34;
    char body[100];
    snprintf (body, sizeof body, "{\"messages\":100,\"bytes\":%zu}", bytes + made - 1);
    script_word (self, "credit", "", body);
    script_expect_nothing (self);
    snprintf (body, sizeof body, "{\"messages\":100,\"bytes\":%zu}", bytes + made);
    script_word (self, "credit", "", body);
    script_wire_t commit = script_expect (self, "commit");
    assert_int_equal (commit.size, 8);
    assert_null (commit.body);
    assert_int_equal (commit.bytes, bytes + made);
    script_wire_free (&commit);
    script_refuse (self, "c1", "conflict"); //  Without fn: the handler is told
    int64_t deadline = zclock_mono () + SCRIPT_WAIT_MS;
    while (!self->refused[0] && zclock_mono () < deadline)
        argos_peer_turn (self->peer);
    assert_string_equal (self->refused, "c1");
    script_end (self);
}

static void
test_a_request_is_answered_by_its_reply (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t reply = { .count = 0 }, error = { .count = 0 }, refused = { .count = 0 };
    script_welcome (self, "s1", 0, 100, "[]");
    assert_int_equal (script_request (self, "r1", 0, &reply), ARGOS_OK);
    assert_int_equal (script_request (self, "r1", 0, &reply), ARGOS_BUSY);
    assert_int_equal (script_request (self, "r2", 0, &error), ARGOS_OK);
    assert_int_equal (script_request (self, "r3", 0, &refused), ARGOS_OK);
    script_send_to (self, "{\"type\":\"test.reply\",\"re\":\"r1\",\"to\":\"actor:test\"}",
        "{\"from\":\"other\"}", "{\"echo\":\"hi\"}");
    script_send_to (self, "{\"type\":\"error\",\"re\":\"r2\",\"to\":\"actor:test\"}",
        "{\"from\":\"other\"}", "{\"code\":\"not_found\",\"reason\":\"no\"}");
    script_word (self, "refused", "r3", "{\"code\":\"gone\",\"reason\":\"x\",\"sent\":true}");
    script_until (self, &refused.count, 1);
    assert_int_equal (reply.count, 1);
    assert_int_equal (reply.code, ARGOS_OK);
    assert_string_equal (reply.type, "test.reply");
    assert_string_equal (reply.echo, "hi");
    assert_int_equal (error.code, ARGOS_NOT_FOUND);
    assert_int_equal (refused.code, ARGOS_GONE);
    assert_true (refused.sent);
    script_send_to (self, "{\"type\":\"test.reply\",\"re\":\"r1\",\"to\":\"actor:test\"}",
        "{\"from\":\"other\"}", "{}"); //  Too late, twice: nobody is told
    for (int i = 0; i < 3; i++)
        argos_peer_turn (self->peer);
    assert_int_equal (reply.count, 1);
    assert_int_equal (self->requests, 0);
    script_end (self);
}

static void
test_a_request_expires_when_the_broker_is_silent (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t early = { .count = 0 }, late = { .count = 0 };
    int64_t before = zclock_mono ();
    assert_int_equal (script_request (self, NULL, 60000, &late), ARGOS_OK);
    assert_int_equal (script_request (self, NULL, 30, &early), ARGOS_OK);
    assert_in_range (argos_peer_turn (self->peer), 0, 30);
    script_until (self, &early.count, 1);
    assert_int_equal (early.code, ARGOS_EXPIRED);
    assert_false (early.sent);
    assert_in_range (zclock_mono () - before, 29, 2000);
    assert_int_equal (late.count, 0);
    script_end (self);
    assert_int_equal (late.count, 1);
}

static void
test_what_was_not_answered_is_sent_again_in_order_but_requests_are_not (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t first = { .count = 0 }, second = { .count = 0 }, asked = { .count = 0 },
                    waiting = { .count = 0 };
    script_welcome (self, "s1", 0, 3, "[]");
    assert_int_equal (script_durable (self, "m1", &first), ARGOS_OK);
    assert_int_equal (script_request (self, "r1", 0, &asked), ARGOS_OK);
    assert_int_equal (script_durable (self, "m2", &second), ARGOS_OK);
    assert_int_equal (script_request (self, "r2", 0, &waiting), ARGOS_OK); //  No window for it
    script_wire_t note = script_expect (self, "test.note"), ask = script_expect (self, "test.ask"),
                  other = script_expect (self, "test.note");
    script_wire_free (&note);
    script_wire_free (&ask);
    script_wire_free (&other);
    script_refuse (self, "", "no_session"); //  The broker has started anew
    script_welcome (self, "s1", 0, 100, "[]");
    assert_int_equal (asked.count, 1);
    assert_int_equal (asked.code, ARGOS_GONE);
    assert_true (asked.sent);
    note = script_expect (self, "test.note");
    other = script_expect (self, "test.note");
    ask = script_expect (self, "test.ask");
    assert_string_equal (script_head (&note, "id"), "m1");
    assert_string_equal (script_head (&other, "id"), "m2");
    assert_string_equal (script_head (&ask, "id"), "r2");
    script_wire_free (&note);
    script_wire_free (&ask);
    script_wire_free (&other);
    script_word (self, "accepted", "m1", "{\"seq\":1}");
    script_word (self, "accepted", "m2", "{\"seq\":2}");
    script_until (self, &second.count, 1);
    assert_int_equal (first.count, 1);
    assert_int_equal (waiting.count, 0);
    script_end (self);
}

static void
test_a_request_refused_for_want_of_a_session_is_sent_again (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t asked = { .count = 0 };
    script_welcome (self, "s1", 0, 100, "[]");
    assert_int_equal (script_request (self, "r1", 0, &asked), ARGOS_OK);
    script_wire_t ask = script_expect (self, "test.ask");
    script_wire_free (&ask);
    script_refuse (self, "r1", "no_session");
    script_welcome (self, "s1", 0, 100, "[]");
    assert_int_equal (asked.count, 0);
    ask = script_expect (self, "test.ask");
    assert_string_equal (script_head (&ask, "id"), "r1");
    script_wire_free (&ask);
    script_end (self);
}

static void
test_a_subscription_goes_on_behind_the_last_entry (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    argos_peer_subscribe (self->peer, "news", 0);
    script_welcome (self, "s1", 0, 100, "[]");
    script_wire_t subscribe = script_expect (self, "subscribe");
    assert_int_equal (json_integer_value (json_object_get (subscribe.body, "from")), 0);
    const char *const item = "{\"type\":\"test.item\",\"to\":\"topic:news\",\"keyframe\":true}";
    for (int n = 0; n < 3; n++) {
        char meta[100];
        snprintf (meta, sizeof meta,
            "{\"from\":\"a\",\"topic\":\"news\",\"n\":%d,\"at\":1,\"kept\":false}", n);
        script_send_to (self, item, meta, "{}");
        script_send_to (self, item, meta, "{}"); //  A repeat is dropped
    }
    script_word (self, "end", script_head (&subscribe, "id"), "{\"n\":7,\"closed\":false}");
    script_until (self, &self->ends, 1);
    assert_int_equal (self->entries, 3);
    script_wire_free (&subscribe);
    script_refuse (self, "", "no_session");
    script_welcome (self, "s1", 0, 100, "[]");
    subscribe = script_expect (self, "subscribe");
    assert_int_equal (json_integer_value (json_object_get (subscribe.body, "from")), 8);
    script_word (
        self, "refused", script_head (&subscribe, "id"), "{\"code\":\"denied\",\"reason\":\"no\"}");
    script_wire_free (&subscribe);
    int64_t deadline = zclock_mono () + SCRIPT_WAIT_MS;
    while (!self->refused[0] && zclock_mono () < deadline)
        argos_peer_turn (self->peer);
    assert_string_equal (self->refused, "topic:news");
    argos_peer_unsubscribe (self->peer, "news");
    script_wire_t unsubscribe = script_expect (self, "unsubscribe");
    script_wire_free (&unsubscribe);
    script_end (self);
}

static void
test_credit_is_granted_and_renewed (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_welcome (self, "s1", 0, 100, "[]");
    int64_t granted = 0, given = 0, deadline = zclock_mono () + SCRIPT_WAIT_MS;
    while (given < 200 && zclock_mono () < deadline) {
        argos_peer_turn (self->peer);
        while (zsock_events (self->router) & ZMQ_POLLIN) {
            script_wire_t wire = script_read (self);
            if (streq (script_head (&wire, "type"), "credit"))
                granted = json_integer_value (json_object_get (wire.body, "messages"));
            script_wire_free (&wire);
        }
        for (; given < granted; given++)
            script_send_to (
                self, "{\"type\":\"test.direct\",\"to\":\"actor:test\"}", "{\"from\":\"a\"}", "{}");
    }
    assert_true (given >= 200);
    script_until (self, &self->requests, (int) given);
    script_end (self);
}

static void
test_requests_to_us_are_answered_and_bad_ones_refused (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_welcome (self, "s1", 0, 100, "[]");
    script_send_to (self, "{\"type\":\"test.ask\",\"id\":\"q1\",\"to\":\"actor:test\"}",
        "{\"from\":\"cli.x@core\"}", "");
    script_wire_t reply = script_expect (self, "test.reply");
    assert_string_equal (script_head (&reply, "to"), "actor:cli.x@core");
    assert_string_equal (script_head (&reply, "re"), "q1");
    assert_string_equal (script_head (&reply, "id"), "");
    script_wire_free (&reply);
    script_send_to (self, "{\"type\":\"tool.call\",\"id\":\"q2\",\"to\":\"service:tool.x\"}",
        "{\"from\":\"agent\"}", "{}");
    script_wire_t error = script_expect (self, "error");
    assert_string_equal (json_string_value (json_object_get (error.body, "code")), "invalid");
    assert_string_equal (script_head (&error, "re"), "q2");
    script_wire_free (&error);
    script_send_to (self, "{\"type\":\"tool.cancel\",\"re\":\"q1\",\"to\":\"service:tool.x\"}",
        "{\"from\":\"agent\"}", "");
    script_until (self, &self->requests, 2);
    script_send_to (self,
        "{\"type\":\"turn.request\",\"id\":\"w\",\"to\":\"service:turn\",\"key\":\"k\",\"durable\":"
        "true}",
        "{\"from\":\"gateway\",\"seq\":5,\"lease\":6,\"attempt\":1,\"hops\":0,\"cause\":\"\","
        "\"at\":7}",
        "{\"run_id\":7}");
    script_wire_t release = script_expect (self, "release");
    assert_string_equal (json_string_value (json_object_get (release.body, "reject")), "invalid");
    assert_int_equal (self->leases, 0);
    script_wire_free (&release);
    script_end (self);
}

static void
test_superseded_is_final (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t answer = { .count = 0 };
    script_welcome (self, "s1", 0, 100, "[]");
    script_give_lease (self, 1, 11);
    script_durable (self, NULL, &answer);
    script_refuse (self, "", "superseded");
    script_until (self, &self->finals, 1);
    assert_int_equal (self->final, ARGOS_SUPERSEDED);
    assert_int_equal (self->losts, 1);
    assert_int_equal (answer.code, ARGOS_SUPERSEDED);
    assert_int_equal (script_durable (self, NULL, &answer), ARGOS_SUPERSEDED);
    assert_int_equal (answer.count, 1);
    assert_int_equal (argos_peer_turn (self->peer), -1);
    assert_false (argos_peer_ready (self->peer));
    script_end (self);
}

static void
test_a_busy_broker_is_asked_again_on_a_new_socket (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_wire_t hello = script_hello (self);
    script_refuse (self, script_head (&hello, "id"), "busy");
    script_wire_free (&hello);
    script_welcome (self, "s1", 0, 100, "[]");
    assert_int_equal (self->sockets, 1);
    script_end (self);
}

static void
test_a_silent_broker_is_given_up (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_welcome (self, "s1", 500, 100, "[]");
    script_wire_t ping = script_expect (self, "ping");
    script_word (self, "pong", script_head (&ping, "id"), "{}");
    script_wire_free (&ping);
    int64_t before = zclock_mono ();
    script_wire_t hello = script_expect_within (self, "hello", 10000);
    assert_in_range (zclock_mono () - before, 5000, 8000);
    assert_int_equal (self->sockets, 1);
    assert_false (zframe_eq (hello.route, self->route));
    script_wire_free (&hello);
    script_end (self);
}

static void
test_what_can_not_be_sent_is_refused_at_once (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    argos_peer_part_t part = { .type = "Bad Type", .to = "service:x", .body = json_object () };
    assert_int_equal (argos_peer_send (self->peer, &part, NULL, NULL), ARGOS_INVALID);
    part = (argos_peer_part_t){ .type = "ok", .to = "nowhere:x" };
    assert_int_equal (argos_peer_send (self->peer, &part, NULL, NULL), ARGOS_INVALID);
    part = (argos_peer_part_t){ .type = "ok", .to = "service:x", .body = json_array () };
    assert_int_equal (argos_peer_send (self->peer, &part, NULL, NULL), ARGOS_INVALID);
    part = (argos_peer_part_t){ .type = "ok", .to = "topic:x" };
    assert_int_equal (argos_peer_send (self->peer, &part, script_answer, NULL), ARGOS_INVALID);
    char *large = malloc (1100000);
    assert_non_null (large);
    memset (large, 'x', 1100000);
    part = (argos_peer_part_t){ .type = "ok",
        .to = "service:x",
        .durable = true,
        .body = json_pack ("{s:s%}", "text", large, (size_t) 1100000) };
    assert_int_equal (argos_peer_send (self->peer, &part, NULL, NULL), ARGOS_TOO_BIG);
    int sent = 0;
    argos_err_t code = ARGOS_OK;
    for (; code == ARGOS_OK && sent < 100; sent++) {
        part.body = json_pack ("{s:s%}", "text", large, (size_t) 1000000);
        code = argos_peer_send (self->peer, &part, NULL, NULL);
    }
    assert_int_equal (code, ARGOS_BUSY);
    assert_int_equal (sent, 68);
    free (large);
    argos_peer_config_t config = { .name = "No Good", .endpoint = self->endpoint };
    assert_null (argos_peer_new (&config));
    config = (argos_peer_config_t){ .name = "good", .endpoint = "nothing" };
    assert_null (argos_peer_new (&config));
    script_end (self);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_nothing_but_hello_is_sent_before_the_welcome),
        cmocka_unit_test (test_the_window_is_obeyed_and_renewed),
        cmocka_unit_test (test_a_window_of_bytes_counts_header_body_and_parts),
        cmocka_unit_test (test_a_request_is_answered_by_its_reply),
        cmocka_unit_test (test_a_request_expires_when_the_broker_is_silent),
        cmocka_unit_test (test_what_was_not_answered_is_sent_again_in_order_but_requests_are_not),
        cmocka_unit_test (test_a_request_refused_for_want_of_a_session_is_sent_again),
        cmocka_unit_test (test_a_subscription_goes_on_behind_the_last_entry),
        cmocka_unit_test (test_credit_is_granted_and_renewed),
        cmocka_unit_test (test_requests_to_us_are_answered_and_bad_ones_refused),
        cmocka_unit_test (test_superseded_is_final),
        cmocka_unit_test (test_a_busy_broker_is_asked_again_on_a_new_socket),
        cmocka_unit_test (test_a_silent_broker_is_given_up),
        cmocka_unit_test (test_what_can_not_be_sent_is_refused_at_once),
    };
    return SCHEMA_GROUP ("peer", tests, NULL, NULL);
}
