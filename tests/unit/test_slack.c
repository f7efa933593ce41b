//  test_slack - what an envelope of Slack says, without a connection.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_sl_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *
s_load (const char *text)
{
    json_error_t error;
    json_t *value = json_loads (text, JSON_DECODE_ANY, &error);
    if (!value)
        fail_msg ("%s: %s", text, error.text);
    return value;
}

typedef struct {
    const char *name;     //  What is looked at
    const char *event;    //  Merged over a message of Ana in the channel C1
    const char *settings; //  platforms.slack
    const char *why;      //  Not for us; NULL = it is
    const char *expected; //  Of the message, its body and its source, as far as given
} s_case_t;

#define CHANGED(channel, user, ts, text, more)                                                     \
    "{\"channel\":\"" channel                                                                      \
    "\",\"subtype\":\"message_changed\",\"user\":null,\"previous_message\":"                       \
    "{\"text\":\"hi\"},\"message\":{\"user\":\"" user "\",\"ts\":\"" ts "\",\"text\":\"" text      \
    "\"," more "}}"
#define REACTION(type, channel, whose)                                                             \
    "{\"type\":\"" type "\",\"reaction\":\"eyes\",\"event_ts\":\"3.3\",\"item_user\":\"" whose     \
    "\",\"item\":{\"type\":\"message\",\"channel\":\"" channel "\",\"ts\":\"0.5\"}}"

static const s_case_t cases[] = {
    { "mention", "{\"text\":\"<@UBOT> hi\"}", "{}", NULL,
        "{\"text\":\"hi\",\"chat_type\":\"thread\",\"chat_id\":\"C1\",\"thread_id\":\"1.1\","
        "\"scope_id\":\"T1\",\"user_name\":\"Ana\","
        "\"id\":\"slack.main:A1:T1:C1:1.1\",\"key\":\"slack.main:C1:1.1\"}" },
    { "the mention event", "{\"type\":\"app_mention\",\"text\":\"<@UBOT|gw> hi\"}", "{}", NULL,
        "{\"text\":\"hi\",\"id\":\"slack.main:A1:T1:C1:1.1\",\"thread_id\":\"1.1\"}" },
    { "in a thread", "{\"text\":\"<@UBOT> hi\",\"thread_ts\":\"0.9\"}", "{}", NULL,
        "{\"thread_id\":\"0.9\"}" },
    { "no threads", "{\"text\":\"<@UBOT> hi\"}", "{\"auto_thread\":false}", NULL,
        "{\"chat_type\":\"group\",\"key\":\"slack.main:C1\"}" },
    { "not addressed", "{\"text\":\"hi\"}", "{}", "not_addressed", NULL },
    { "another one with our id in front", "{\"text\":\"<@UBOT2> hi\"}", "{}", "not_addressed",
        NULL },
    { "free here", "{\"text\":\"hi\"}", "{\"free_response_chats\":[\"C1\"]}", NULL,
        "{\"chat_type\":\"group\"}" },
    { "a thread of ours", "{\"text\":\"hi\",\"thread_ts\":\"0.5\"}", "{}", NULL,
        "{\"thread_id\":\"0.5\"}" },
    { "answers us", "{\"text\":\"hi\",\"thread_ts\":\"0.6\",\"parent_user_id\":\"UBOT\"}", "{}",
        NULL, "{\"thread_id\":\"0.6\"}" },
    { "a thread of others", "{\"text\":\"hi\",\"thread_ts\":\"0.7\"}", "{}", "not_addressed",
        NULL },
    { "direct", "{\"channel\":\"D1\",\"text\":\"hi\"}", "{}", NULL,
        "{\"chat_type\":\"dm\",\"chat_id\":\"D1\",\"key\":\"slack.main:D1\"}" },
    { "direct thread", "{\"channel\":\"D1\",\"text\":\"hi\",\"thread_ts\":\"0.5\"}", "{}", NULL,
        "{\"chat_type\":\"dm\",\"thread_id\":\"0.5\"}" },
    { "own", "{\"user\":\"UBOT\",\"text\":\"<@UBOT> hi\"}", "{}", "own", NULL },
    { "own, as a bot",
        "{\"user\":null,\"bot_id\":\"B1\",\"subtype\":\"bot_message\",\"text\":\"hi\"}", "{}",
        "own", NULL },
    { "other bot", "{\"bot_id\":\"B2\",\"text\":\"<@UBOT> hi\"}", "{}", NULL, "{\"is_bot\":true}" },
    { "changed to what is missing", "{\"subtype\":\"message_changed\",\"text\":\"<@UBOT> hi\"}",
        "{}", "edited", NULL },
    { "changed", CHANGED ("C1", "U1", "0.5", "<@UBOT> ho", "\"edited\":{\"ts\":\"2.2\"}"), "{}",
        NULL,
        "{\"text\":\"ho\",\"chat_type\":\"thread\",\"thread_id\":\"0.5\","
        "\"edits\":\"slack.main:A1:T1:C1:0.5\"}" },
    { "a preview", CHANGED ("D1", "U1", "1.1", "hi", "\"edited\":{\"ts\":\"2.2\"}"), "{}", "edited",
        NULL },
    { "not by a person", CHANGED ("D1", "U1", "1.1", "ho", "\"x\":1"), "{}", "edited", NULL },
    { "changed to a command", CHANGED ("D1", "U1", "1.1", "!stop", "\"edited\":{\"ts\":\"2.2\"}"),
        "{}", "edited", NULL },
    { "changed by us", CHANGED ("D1", "UBOT", "1.1", "ho", "\"edited\":{\"ts\":\"2.2\"}"), "{}",
        "own", NULL },
    { "joined", "{\"subtype\":\"channel_join\",\"text\":\"<@UBOT> hi\"}", "{}", "notice", NULL },
    { "reaction to nothing", "{\"type\":\"reaction_added\"}", "{}", "no_reaction", NULL },
    { "reaction", REACTION ("reaction_added", "C1", "UBOT"), "{}", NULL,
        "{\"text\":\"\",\"message_id\":\"0.5\",\"reaction\":{\"emoji\":\"eyes\",\"on\":true}}" },
    { "and gone", REACTION ("reaction_removed", "D1", "U1"), "{}", NULL,
        "{\"chat_type\":\"dm\",\"reaction\":{\"emoji\":\"eyes\",\"on\":false}}" },
    { "to somebody else", REACTION ("reaction_added", "C1", "U2"), "{}", "no_reaction", NULL },
    { "command in a thread", "{\"channel\":\"D1\",\"text\":\"!status now\"}", "{}", NULL,
        "{\"text\":\"/status now\",\"message_type\":\"command\"}" },
    { "no command", "{\"channel\":\"D1\",\"text\":\"!important\"}", "{}", NULL,
        "{\"text\":\"!important\"}" },
    { "entities",
        "{\"channel\":\"D1\",\"text\":\"a &lt;b&gt; &amp;amp; <https://e.x?a&amp;b|it> "
        "<https://f.x> <@U2> <!here>\"}",
        "{}", NULL, "{\"text\":\"a <b> &amp; it (https://e.x?a&b) https://f.x <@U2> <!here>\"}" },
    { "picture",
        "{\"channel\":\"D1\",\"text\":\"\",\"subtype\":\"file_share\",\"files\":[{\"url_private_"
        "download\":\"https://x\",\"mimetype\":\"image/png\",\"name\":\"a\"}]}",
        "{}", NULL, "{\"message_type\":\"photo\"}" },
    { "nothing", "{\"channel\":\"D1\",\"text\":\"\"}", "{}", "empty", NULL },
    { "wrong types", "{\"channel\":5,\"text\":{},\"ts\":1.5}", "{}", "no_message", NULL },
};

static json_t *s_names, *s_threads;

static argos_sl_who_t
s_who (const json_t *settings)
{
    return (argos_sl_who_t){ .account = "main",
        .user = "UBOT",
        .bot = "B1",
        .settings = settings,
        .threads = s_threads,
        .names = s_names };
}

static void
s_compare (const char *name, const json_t *message, const char *text)
{
    json_t *expected = s_load (text), *value;
    const json_t *body = json_object_get (message, "body");
    const char *key;
    json_object_foreach (expected, key, value) {
        const json_t *found = json_object_get (message, key);
        found = found ? found : json_object_get (body, key);
        found = found ? found : json_object_get (json_object_get (body, "source"), key);
        if (!json_equal (found, value))
            fail_msg ("%s: %s is %s", name, key,
                json_is_string (found) ? json_string_value (found) : "?");
    }
    json_decref (expected);
}

static void
s_messages_are_read_as_written (void **state)
{
    (void) state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        json_t *event =
            s_load ("{\"type\":\"message\",\"channel\":\"C1\",\"user\":\"U1\",\"ts\":\"1.1\"}");
        json_t *more = s_load (cases[at].event);
        json_object_update (event, more);
        json_t *envelope = json_pack ("{s:s,s:{s:s,s:s,s:o}}", "type", "events_api", "payload",
            "team_id", "T1", "api_app_id", "A1", "event", event);
        json_t *settings =
            json_pack ("{s:{s:o}}", "platforms", "slack", s_load (cases[at].settings));
        argos_sl_who_t who = s_who (settings);
        argos_sl_in_t in;
        argos_sl_read (envelope, &who, &in);
        if ((in.why == NULL) != (cases[at].why == NULL) ||
            (in.why && strcmp (in.why, cases[at].why) != 0))
            fail_msg ("%s: why is %s", cases[at].name, in.why ? in.why : "nothing");
        if (cases[at].expected)
            s_compare (cases[at].name, in.message, cases[at].expected);
        json_decref (in.message);
        json_decref (in.files);
        json_decref (settings);
        json_decref (envelope);
        json_decref (more);
    }
}

static void
s_commands_and_buttons_are_words (void **state)
{
    (void) state;
    static const char *const table[][3] = {
        { "slash_commands",
            "{\"command\":\"/"
            "argos\",\"text\":\"status\",\"channel_id\":\"D1\",\"user_id\":\"U1\",\"trigger_id\":"
            "\"t\"}",
            "{\"text\":\"/status\",\"chat_type\":\"dm\"}" },
        { "slash_commands",
            "{\"command\":\"/"
            "new\",\"text\":\"\",\"channel_id\":\"C1\",\"user_id\":\"U1\",\"trigger_id\":\"t\"}",
            "{\"text\":\"/new\",\"chat_type\":\"group\"}" },
        { "slash_commands",
            "{\"command\":\"/"
            "argos\",\"text\":\"\",\"channel_id\":\"C1\",\"user_id\":\"U1\",\"trigger_id\":\"t\"}",
            "{\"text\":\"/help\"}" },
        { "slash_commands", "{\"command\":\"/argos\",\"channel_id\":\"C1\",\"user_id\":\"U1\"}",
            NULL },
        { "interactive",
            "{\"type\":\"block_actions\",\"user\":{\"id\":\"U1\",\"team_id\":\"T1\"},\"channel\":{"
            "\"id\":\"C1\"},\"message\":{\"ts\":\"5.5\",\"thread_ts\":\"4.4\"},"
            "\"actions\":[{\"value\":\"once\",\"action_ts\":\"9.9\"}]}",
            "{\"text\":\"once\",\"thread_id\":\"4.4\",\"scope_id\":\"T1\",\"message_id\":\"5."
            "5\"}" },
        { "interactive", "{\"type\":\"view_submission\",\"user\":{\"id\":\"U1\"}}", NULL },
        { "hello", "{}", NULL },
    };
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        json_t *envelope =
            json_pack ("{s:s,s:o}", "type", table[at][0], "payload", s_load (table[at][1]));
        argos_sl_who_t who = s_who (NULL);
        argos_sl_in_t in;
        argos_sl_read (envelope, &who, &in);
        assert_int_equal (in.message != NULL, table[at][2] != NULL);
        assert_int_equal (in.why != NULL, table[at][2] == NULL);
        if (table[at][2])
            s_compare (table[at][1], in.message, table[at][2]);
        json_decref (in.message);
        json_decref (in.files);
        json_decref (envelope);
    }
}

static int
s_setup (void **state)
{
    (void) state;
    s_names = s_load ("{\"U1\":\"Ana\"}");
    s_threads = s_load ("{\"C1:0.5\":true}");
    return 0;
}

static int
s_teardown (void **state)
{
    (void) state;
    json_decref (s_names);
    json_decref (s_threads);
    return 0;
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_messages_are_read_as_written),
        cmocka_unit_test (s_commands_and_buttons_are_words),
    };
    return cmocka_run_group_tests (tests, s_setup, s_teardown);
}
