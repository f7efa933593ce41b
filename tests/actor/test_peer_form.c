//  test_peer_form - argos_peer against a scripted broker: messages in frames and packed.

#include "argos_pack.h"
#include "schema_group.h"
#include "script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
s_welcome_packed (script_t *self)
{
    script_wire_t hello = script_hello (self);
    assert_false (hello.packed);
    script_word (self, "welcome", script_head (&hello, "id"),
        "{\"store\":\"s1\",\"boot\":1,\"protocol\":2,\"lease_ms\":15000,\"ping_ms\":0,"
        "\"window\":{\"messages\":100,\"bytes\":10000},\"leases\":[]}");
    script_wire_free (&hello);
}

//  The next message of a type, and whether it is packed.

static void
s_expect_form (script_t *self, const char *type, bool packed)
{
    script_wire_t wire = script_expect (self, type);
    assert_int_equal (wire.packed, packed);
    script_wire_free (&wire);
}

static void
s_reply (script_t *self, script_answer_t *reply)
{
    script_send_to (self, "{\"type\":\"test.reply\",\"re\":\"r1\",\"to\":\"actor:test\"}",
        "{\"from\":\"other\"}", "{\"echo\":\"hi\"}");
    script_until (self, &reply->count, 1);
    assert_string_equal (reply->echo, "hi");
}

//  Version 2: what is small goes as one frame; words and what is large don't.

static void
test_what_is_small_is_packed_when_the_broker_reads_that (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t reply = { .count = 0 }, kept = { .count = 0 };
    static char text[ARGOS_PACK_MAX + 1];
    memset (text, 'x', sizeof text - 1);
    s_welcome_packed (self);
    s_expect_form (self, "credit", false);
    assert_int_equal (script_request (self, "r1", 0, &reply), ARGOS_OK);
    s_expect_form (self, "test.ask", true);
    self->packs = true;
    s_reply (self, &reply);
    argos_peer_part_t part = { .type = "test.note",
        .to = "service:test",
        .id = "m1",
        .durable = true,
        .body = json_pack ("{s:s}", "text", text) };
    assert_int_equal (argos_peer_send (self->peer, &part, script_answer, &kept), ARGOS_OK);
    s_expect_form (self, "test.note", false);
    script_end (self);
    assert_int_equal (kept.code, ARGOS_GONE);
}

//  The window counts the same bytes in both forms, and parts of a commit are packed too.

static void
test_a_packed_commit_counts_like_frames (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    s_welcome_packed (self);
    script_until (self, &self->welcomes, 1);
    argos_peer_part_t parts[2] = {
        { .type = "test.note", .to = "service:test", .body = json_pack ("{s:s}", "a", "b") },
        { .type = "route.bind", .to = "store", .body = json_pack ("{s:s}", "key", "k") },
    };
    assert_int_equal (argos_peer_commit (self->peer, "c1", parts, 2, NULL, NULL), ARGOS_OK);
    script_wire_t commit = script_expect (self, "commit");
    assert_true (commit.packed);
    assert_int_equal (commit.size, 8);
    assert_null (commit.body);
    zmsg_t *rest = commit.rest;
    assert_int_equal (zmsg_size (rest), 4);
    assert_int_equal (
        commit.bytes, strlen ("{\"type\":\"commit\",\"id\":\"c1\"}") + zmsg_content_size (rest));
    script_wire_free (&commit);
    script_end (self);
}

//  A broker of version 1 has taken the place of the other: the peer goes back to frames, and sends
//  in them what was not answered.

static void
test_an_older_broker_gets_frames (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t kept = { .count = 0 };
    s_welcome_packed (self);
    assert_int_equal (script_durable (self, "m1", &kept), ARGOS_OK);
    s_expect_form (self, "test.note", true);
    script_refuse (self, "", "no_session");
    script_welcome (self, "s1", 0, 100, "[]");
    s_expect_form (self, "test.note", false);
    script_word (self, "accepted", "m1", "{\"seq\":1}");
    script_until (self, &kept.count, 1);
    assert_int_equal (kept.code, ARGOS_OK);
    script_end (self);
}

//  What can't be read is let go of, and harms nothing. A packed message is read at any time.

static void
test_a_frame_of_neither_form_is_dropped (void **state)
{
    (void) state;
    static const char *const frames[] = { "AR1", "AR1\x03", "AR1\x03zzzzzz", "{}", "" };
    script_t *self = script_begin ();
    script_answer_t reply = { .count = 0 };
    script_welcome (self, "s1", 0, 100, "[]");
    assert_int_equal (script_request (self, "r1", 0, &reply), ARGOS_OK);
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        zmsg_t *msg = zmsg_new ();
        zframe_t *route = zframe_dup (self->route);
        zmsg_append (msg, &route);
        zmsg_addstr (msg, frames[i]);
        assert_int_equal (zmsg_send (&msg, self->router), 0);
    }
    self->packs = true;
    s_reply (self, &reply);
    script_end (self);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_what_is_small_is_packed_when_the_broker_reads_that),
        cmocka_unit_test (test_a_packed_commit_counts_like_frames),
        cmocka_unit_test (test_an_older_broker_gets_frames),
        cmocka_unit_test (test_a_frame_of_neither_form_is_dropped),
    };
    return SCHEMA_GROUP ("peer_form", tests, NULL, NULL);
}
