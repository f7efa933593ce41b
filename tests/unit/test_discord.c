//  test_discord - what an event of Discord says, and the states of the connection, without one.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_dc_gateway.h"
#include "argos_dc_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOT "1500000000000000001"

static json_t *
s_load (const char *text)
{
    json_error_t error;
    json_t *value = json_loads (text, JSON_DECODE_ANY, &error);
    if (!value)
        fail_msg ("%s: %s", text, error.text);
    return value;
}

//  Every state ends: the deadline or a cut leads to a pause, a pause to a beginning, and from there
//  the good events lead to DC_LIVE

static void
s_every_state_has_a_way_out (void **state)
{
    (void) state;
    for (int from = 0; from < DC_STATES; from++)
        for (int event = 0; event < DC_EVENTS; event++) {
            dc_transition_t step = argos_dc_gateway ((dc_state_t) from, (dc_event_t) event);
            assert_true (step.next < DC_STATES);
            //  A socket that is there is dropped before another one is asked for
            bool has_socket = from == DC_OPENING || from == DC_GREETING || from == DC_IDENTIFYING ||
                              from == DC_RESUMING || from == DC_LIVE;
            if (has_socket && (step.next == DC_PAUSED || step.next == DC_STOPPED))
                assert_true (step.actions & DC_DO_LEAVE);
            if (step.next == DC_PAUSED && from != DC_PAUSED)
                assert_true (step.actions & (DC_DO_PAUSE | DC_DO_REST | DC_DO_SOON));
            if (step.actions & DC_DO_CONNECT)
                assert_false (has_socket);
        }
    static const dc_event_t fresh[] = { DC_BEGIN_NEW, DC_ASKED, DC_OPEN, DC_HELLO_NEW, DC_READY,
        DC_SILENT, DC_BEGIN_OLD, DC_OPEN, DC_HELLO_OLD, DC_RESUMED, DC_INVALID };
    static const dc_state_t states[] = { DC_ASKING, DC_OPENING, DC_GREETING, DC_IDENTIFYING,
        DC_LIVE, DC_PAUSED, DC_OPENING, DC_GREETING, DC_RESUMING, DC_LIVE, DC_PAUSED };
    dc_state_t now = DC_PAUSED;
    for (size_t at = 0; at < sizeof fresh / sizeof fresh[0]; at++) {
        now = argos_dc_gateway (now, fresh[at]).next;
        assert_int_equal (now, states[at]);
    }
    //  A session that is not resumed in time is given up
    assert_true (argos_dc_gateway (DC_RESUMING, DC_SILENT).actions & DC_DO_FORGET);
    assert_false (argos_dc_gateway (DC_LIVE, DC_SILENT).actions & DC_DO_FORGET);
}

static void
s_close_codes_mean_what_they_should (void **state)
{
    (void) state;
    static const struct {
        int code;         //  Of the close
        dc_event_t event; //  What it means
    } codes[] = { { 1000, DC_CUT }, { 1001, DC_CUT }, { 1006, DC_CUT }, { 4000, DC_CUT },
        { 4001, DC_CUT }, { 4002, DC_CUT }, { 4003, DC_CUT_NEW }, { 4004, DC_CUT_FOR_GOOD },
        { 4005, DC_CUT }, { 4007, DC_CUT_NEW }, { 4008, DC_CUT_LATER }, { 4009, DC_CUT_NEW },
        { 4010, DC_CUT_FOR_GOOD }, { 4011, DC_CUT_FOR_GOOD }, { 4012, DC_CUT_FOR_GOOD },
        { 4013, DC_CUT_FOR_GOOD }, { 4014, DC_CUT_FOR_GOOD } };
    for (size_t at = 0; at < sizeof codes / sizeof codes[0]; at++) {
        assert_int_equal (argos_dc_gateway_cut (codes[at].code), codes[at].event);
        assert_int_equal (
            argos_dc_gateway_help (codes[at].code) != NULL, codes[at].event == DC_CUT_FOR_GOOD);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Messages

typedef struct {
    const char *name;     //  What is looked at
    const char *event;    //  Merged over a message of Ana in the channel 10 of a server
    const char *settings; //  platforms.discord
    const char *why;      //  Not for us; NULL = it is
    const char *expected; //  Of the body and its source, as far as given
    bool thread;          //  One is to be made
} s_case_t;

static const s_case_t cases[] = {
    { "mention", "{\"content\":\"<@!" BOT "> hi there\",\"mentions\":[{\"id\":\"" BOT "\"}]}", "{}",
        NULL,
        "{\"text\":\"hi "
        "there\",\"chat_type\":\"thread\",\"chat_id\":\"10\",\"thread_id\":\"1\",\"scope_id\":"
        "\"5\",\"user_id\":\"7\",\"user_name\":\"Ana\"}",
        true },
    { "no threads", "{\"content\":\"hi <@" BOT ">\",\"mentions\":[{\"id\":\"" BOT "\"}]}",
        "{\"auto_thread\":false}", NULL,
        "{\"text\":\"hi\",\"chat_type\":\"group\",\"chat_id\":\"10\"}", false },
    { "not addressed", "{\"content\":\"hi\"}", "{}", "not_addressed", NULL, false },
    { "others", "{\"content\":\"hi <@9>\",\"mentions\":[{\"id\":\"9\"}]}", "{}", "not_addressed",
        NULL, false },
    { "the id as text is no mention", "{\"content\":\"" BOT " hi\"}", "{}", "not_addressed", NULL,
        false },
    { "everything wanted", "{\"content\":\"hi\"}", "{\"require_mention\":false}", NULL,
        "{\"text\":\"hi\",\"chat_type\":\"group\"}", false },
    { "free here", "{\"content\":\"hi\"}", "{\"free_response_chats\":[10]}", NULL,
        "{\"text\":\"hi\"}", false },
    { "free in threads of it", "{\"channel_id\":\"12\",\"content\":\"hi\"}",
        "{\"free_response_chats\":[\"10\"]}", NULL,
        "{\"chat_id\":\"10\",\"thread_id\":\"12\",\"chat_type\":\"thread\"}", false },
    { "thread of others", "{\"channel_id\":\"12\",\"content\":\"hi\"}", "{}", "not_addressed", NULL,
        false },
    { "thread of ours", "{\"channel_id\":\"11\",\"content\":\"hi\"}", "{}", NULL,
        "{\"chat_id\":\"10\",\"thread_id\":\"11\",\"chat_type\":\"thread\"}", false },
    { "thread with us", "{\"channel_id\":\"13\",\"content\":\"hi\"}", "{}", NULL,
        "{\"chat_id\":\"10\",\"thread_id\":\"13\"}", false },
    { "ignored", "{\"channel_id\":\"13\",\"content\":\"hi\"}", "{\"ignored_threads\":[13]}",
        "ignored_thread", NULL, false },
    { "our role", "{\"content\":\"<@&6> hi\",\"mention_roles\":[\"6\"]}", "{}", NULL,
        "{\"text\":\"<@&6> hi\"}", true },
    { "direct", "{\"guild_id\":null,\"channel_id\":\"20\",\"content\":\"hi\"}", "{}", NULL,
        "{\"chat_type\":\"dm\",\"chat_id\":\"20\",\"text\":\"hi\"}", false },
    { "own", "{\"author\":{\"id\":\"" BOT "\"},\"content\":\"hi\"}", "{\"require_mention\":false}",
        "own", NULL, false },
    { "webhook", "{\"webhook_id\":\"3\",\"content\":\"hi\"}", "{\"require_mention\":false}",
        "webhook", NULL, false },
    { "thread was made", "{\"type\":18,\"content\":\"hi\"}", "{\"require_mention\":false}",
        "notice", NULL, false },
    { "start of a thread", "{\"type\":21}", "{\"require_mention\":false}", "notice", NULL, false },
    { "bot", "{\"author\":{\"id\":\"8\",\"bot\":true},\"content\":\"hi\"}",
        "{\"require_mention\":false}", NULL, "{\"is_bot\":true,\"user_id\":\"8\"}", false },
    { "reply",
        "{\"type\":19,\"content\":\"why\",\"referenced_message\":{\"id\":\"2\",\"content\":\"so\","
        "\"author\":{\"id\":\"" BOT "\",\"username\":\"gw\"}}}",
        "{}", NULL,
        "{\"reply_to_text\":\"so\",\"reply_to_message_id\":\"2\",\"reply_to_is_own_message\":true,"
        "\"chat_type\":\"group\"}",
        false },
    { "passed on",
        "{\"guild_id\":null,\"message_snapshots\":[{\"message\":{\"content\":\"from there\"}}]}",
        "{}", NULL, "{\"text\":\"from there\"}", false },
    { "picture",
        "{\"guild_id\":null,\"attachments\":[{\"url\":\"https://x/"
        "y\",\"filename\":\"a.png\",\"content_type\":\"image/png\"}]}",
        "{}", NULL, "{\"message_type\":\"photo\",\"text\":\"\"}", false },
    { "command", "{\"guild_id\":null,\"content\":\"/status\"}", "{}", NULL,
        "{\"message_type\":\"command\"}", false },
    { "nothing", "{\"guild_id\":null,\"content\":\"\"}", "{}", "empty", NULL, false },
    { "wrong types", "{\"content\":7,\"mentions\":{},\"attachments\":3,\"author\":{\"id\":8}}",
        "{}", "no_message", NULL, false },
};

static const char *const channels =
    "{\"10\":{\"id\":\"10\",\"type\":0,\"name\":\"lab\"},"
    "\"11\":{\"id\":\"11\",\"type\":11,\"parent_id\":\"10\",\"owner_id\":\"" BOT "\"},"
    "\"12\":{\"id\":\"12\",\"type\":11,\"parent_id\":\"10\",\"owner_id\":\"9\"},"
    "\"13\":{\"id\":\"13\",\"type\":12,\"parent_id\":\"10\",\"owner_id\":\"9\"}}";

static void
s_compare (const s_case_t *one, const argos_dc_in_t *in)
{
    if ((in->why == NULL) != (one->why == NULL) || (in->why && strcmp (in->why, one->why) != 0))
        fail_msg ("%s: why is %s", one->name, in->why ? in->why : "nothing");
    if (in->new_thread != one->thread)
        fail_msg ("%s: thread", one->name);
    if (!one->expected)
        return;
    json_t *expected = s_load (one->expected), *value;
    const json_t *body = json_object_get (in->message, "body");
    const char *key;
    json_object_foreach (expected, key, value) {
        const json_t *found = json_object_get (body, key);
        if (!found)
            found = json_object_get (json_object_get (body, "source"), key);
        if (!json_equal (found, value))
            fail_msg ("%s: %s", one->name, key);
    }
    json_decref (expected);
}

static void
s_messages_are_read_as_written (void **state)
{
    (void) state;
    json_t *known = s_load (channels), *roles = s_load ("{\"5\":\"6\"}"),
           *threads = s_load ("{\"13\":true}");
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        json_t *event = s_load (
            "{\"id\":\"1\",\"channel_id\":\"10\",\"guild_id\":\"5\",\"type\":0,\"content\":\"\","
            "\"author\":{\"id\":\"7\",\"username\":\"ana\",\"global_name\":\"Ana\"}}");
        json_t *more = s_load (cases[at].event), *own = s_load (cases[at].settings);
        json_object_update (event, more);
        json_t *settings = json_pack ("{s:{s:o}}", "platforms", "discord", own);
        argos_dc_who_t who = { .account = "main",
            .id = BOT,
            .settings = settings,
            .channels = known,
            .roles = roles,
            .threads = threads };
        argos_dc_in_t in;
        assert_string_equal (argos_dc_read_needs (event, &who), "");
        argos_dc_read_message (event, &who, &in);
        s_compare (&cases[at], &in);
        json_decref (in.message);
        json_decref (in.files);
        json_decref (settings);
        json_decref (more);
        json_decref (event);
    }
    json_decref (known);
    json_decref (roles);
    json_decref (threads);
}

//  The place of what is said in a thread is the place of the thread that was made for it, so that a
//  hand-over and the first word of a person meet

static void
s_a_thread_is_one_place (void **state)
{
    (void) state;
    json_t *known = s_load (channels), *none = json_object ();
    argos_dc_who_t who = {
        .account = "main", .id = BOT, .channels = known, .roles = none, .threads = none
    };
    json_t *asked = s_load (
        "{\"id\":\"11\",\"channel_id\":\"10\",\"guild_id\":\"5\",\"type\":0,\"content\":\"a <@" BOT
        ">\","
        "\"mentions\":[{\"id\":\"" BOT "\"}],\"author\":{\"id\":\"7\"}}");
    json_t *later = s_load ("{\"id\":\"30\",\"channel_id\":\"11\",\"guild_id\":\"5\",\"type\":0,"
                            "\"content\":\"b\",\"author\":{\"id\":\"7\"}}");
    argos_dc_in_t first, second;
    argos_dc_read_message (asked, &who, &first);
    argos_dc_read_message (later, &who, &second);
    assert_true (first.new_thread && !second.new_thread);
    assert_string_equal (json_string_value (json_object_get (first.message, "key")),
        json_string_value (json_object_get (second.message, "key")));
    static const char *const members[] = { "chat_id", "thread_id", "chat_type", "parent_chat_id",
        "scope_id" };
    for (size_t at = 0; at < 5; at++) {
        const json_t *one = json_object_get (
            json_object_get (json_object_get (first.message, "body"), "source"), members[at]);
        const json_t *other = json_object_get (
            json_object_get (json_object_get (second.message, "body"), "source"), members[at]);
        assert_true (json_equal (one, other));
    }
    argos_dc_read_flat (first.message, &who);
    assert_string_equal (
        json_string_value (json_object_get (first.message, "key")), "discord.main:10");
    json_decref (first.message);
    json_decref (first.files);
    json_decref (second.message);
    json_decref (second.files);
    json_decref (asked);
    json_decref (later);
    json_decref (known);
    json_decref (none);
}

static void
s_interactions_are_words (void **state)
{
    (void) state;
    json_t *none = json_object ();
    argos_dc_who_t who = {
        .account = "main", .id = BOT, .channels = none, .roles = none, .threads = none
    };
    static const char *const events[][2] = {
        { "{\"type\":2,\"data\":{\"name\":\"model\",\"options\":[{\"name\":\"arguments\",\"type\":"
          "3,\"value\":\"x y\"}]}}",
            "/model x y" },
        { "{\"type\":2,\"data\":{\"name\":\"a\",\"options\":[{\"name\":\"b\",\"type\":1,"
          "\"options\":[{\"name\":\"c\",\"type\":4,\"value\":3}]}]}}",
            "/a b 3" },
        { "{\"type\":3,\"data\":{\"custom_id\":\"appr:a1:once\"}}", "appr:a1:once" },
        { "{\"type\":4,\"data\":{}}", NULL },
        { "{\"type\":5,\"data\":{}}", NULL },
    };
    for (size_t at = 0; at < sizeof events / sizeof events[0]; at++) {
        json_t *event = s_load (events[at][0]);
        json_t *base = s_load ("{\"id\":\"1\",\"channel_id\":\"20\",\"user\":{\"id\":\"7\"}}");
        json_object_update (base, event);
        argos_dc_in_t in;
        argos_dc_read_interaction (base, &who, &in);
        const char *text =
            json_string_value (json_object_get (json_object_get (in.message, "body"), "text"));
        if (events[at][1])
            assert_string_equal (text, events[at][1]);
        else
            assert_null (in.message);
        json_decref (in.message);
        json_decref (event);
        json_decref (base);
    }
    json_decref (none);
}

static void
s_names_of_threads_are_short (void **state)
{
    (void) state;
    char text[2000];
    for (size_t at = 0; at < 300; at++)
        memcpy (text + at * 4, "\xF0\x9F\x98\x80", 5);
    char *name = argos_dc_thread_name (text);
    assert_int_equal (strlen (name), 320);
    free (name);
    name = argos_dc_thread_name ("  <@123> what\n\tis <#5> this\x01 ");
    assert_string_equal (name, "what is this");
    free (name);
    name = argos_dc_thread_name ("<@123>");
    assert_string_equal (name, "Conversation");
    free (name);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_every_state_has_a_way_out),
        cmocka_unit_test (s_close_codes_mean_what_they_should),
        cmocka_unit_test (s_messages_are_read_as_written),
        cmocka_unit_test (s_a_thread_is_one_place),
        cmocka_unit_test (s_interactions_are_words),
        cmocka_unit_test (s_names_of_threads_are_short),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
