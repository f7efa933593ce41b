//  test_hook - patterns of events, decisions in what a program prints, what is told of sessions.

#include "argos_hook.h"

#include "argos_gateway_events.h"
#include "argos_hook_event.h"
#include "argos_hook_word.h"
#include "argos_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
patterns_end_in_a_star (void **state)
{
    (void) state;
    static const struct {
        const char *pattern, *event; //  What is wanted, what happens
        bool wants;                  //  Whether it is heard
    } rows[] = {
        { "*", "session:start", true },
        { "session:*", "session:start", true },
        { "session:*", "sessions:start", false },
        { "session:start", "session:start", true },
        { "session:start", "session:started", false },
        { "command:re*", "command:reset", true },
        { "command:re*", "command:help", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        argos_hook_t hook = { .events = json_pack ("[s, s]", "agent:step", rows[i].pattern) };
        assert_int_equal (argos_hook_wants (&hook, rows[i].event), rows[i].wants);
        json_decref (hook.events);
    }
}

static void
the_last_object_in_the_output_decides (void **state)
{
    (void) state;
    static const struct {
        const char *output, *decision; //  Printed; NULL = no decision
    } rows[] = {
        { "", "allow" },
        { "noise\n\n12\n[]\n\"x\"\n", "allow" },
        { "{\"decision\":\"deny\"}", "deny" },
        { "{\"decision\":\"deny\"}\nnoise\n{\"decision\":\"handled\",\"message\":\"m\"}\nmore",
            "handled" },
        { "{\"decision\":\"rewrite\",\"command\":\"x\"}", "rewrite" },
        { "{\"decision\":\"rewrite\"}", NULL },
        { "{\"decision\":\"perhaps\"}", NULL },
        { "{\"decision\":\"deny\",\"message\":7}", NULL },
        { "{}", NULL },
        { "{\"decision\":\n\"deny\"}", "allow" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char reason[256] = "";
        json_t *body = argos_hook_decision (rows[i].output, reason, sizeof reason);
        const char *word = json_string_value (json_object_get (body, "decision"));
        if (rows[i].decision)
            assert_string_equal (word, rows[i].decision);
        else
            assert_true (!body && *reason);
        json_decref (body);
    }
}

static void
an_event_has_its_source_and_cut_texts (void **state)
{
    (void) state;
    char reason[256], *text = calloc (1, 4 * 600 + 1);
    json_t *source = json_pack (
        "{s:s, s:s, s:s, s:i}", "platform", "p", "chat_id", "c", "secret", "s", "user_id", 7);
    json_t *event = argos_hook_event_new ("command:a/B", source);
    for (int i = 0; i < 600; i++)
        memcpy (text + 2 * i, "\xc3\xa4", 2);
    argos_hook_event_text (event, "message", text);
    argos_hook_event_text (event, "response", NULL);
    assert_int_equal (json_string_length (json_object_get (event, "message")), 1000);
    assert_int_equal (json_object_size (event), 4);
    assert_int_equal (argos_schema_check ("hook.event", event, reason, sizeof reason), ARGOS_OK);
    json_decref (event);
    json_decref (source);
    free (text);
}

static void
parts_tell_of_sessions (void **state)
{
    (void) state;
    static const struct {
        const char *parts, *events; //  Committed; what is told
    } rows[] = {
        { "[]", "" },
        { "[{\"type\":\"turn.request\",\"body\":{}}]", "" },
        { "[{\"type\":\"session.create\",\"body\":{\"id\":\"n\"}}]", "session:start n;" },
        { "[{\"type\":\"session.end\",\"body\":{\"session_id\":\"o\"}}]", "session:end o;" },
        { "[{\"type\":\"session.create\",\"body\":{\"id\":\"n\"}},{\"type\":\"session.end\","
          "\"body\":{\"session_id\":\"o\"}}]",
            "session:end o;session:reset n;session:start n;" },
        { "[{\"type\":\"route.reset\",\"body\":{\"id\":\"n\"}}]",
            "session:end before;session:reset n;session:start n;" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char told[256] = "";
        size_t index;
        json_t *event, *parts = json_loads (rows[i].parts, 0, NULL);
        const argos_gateway_case_t gateway = { .id = "m1" };
        json_t *events = argos_gateway_events (&gateway, "before", parts);
        json_array_foreach (events, index, event)
            snprintf (told + strlen (told), sizeof told - strlen (told), "%s %s;",
                json_string_value (json_object_get (event, "event")),
                json_string_value (json_object_get (event, "session_id")));
        assert_string_equal (told, rows[i].events);
        json_decref (events);
        json_decref (parts);
    }
}

static void
the_gateway_asks_about_a_command_and_reads_the_word (void **state)
{
    (void) state;
    static const struct {
        const char *fact;       //  Answer; NULL = none
        argos_hook_word_t word; //  What it means
        const char *message, *command;
    } rows[] = {
        { NULL, ARGOS_HOOK_ALLOW, "", "" },
        { "{\"decision\":\"allow\"}", ARGOS_HOOK_ALLOW, "", "" },
        { "{\"decision\":\"deny\",\"message\":\"no\"}", ARGOS_HOOK_SAY, "no", "" },
        { "{\"decision\":\"deny\"}", ARGOS_HOOK_SAY, "⛔ That command is not allowed here.", "" },
        { "{\"decision\":\"handled\"}", ARGOS_HOOK_SAY, "", "" },
        { "{\"decision\":\"rewrite\",\"command\":\"x\"}", ARGOS_HOOK_REWRITE, "", "x" },
        { "{\"decision\":\"rewrite\"}", ARGOS_HOOK_ALLOW, "", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *fact = rows[i].fact ? json_loads (rows[i].fact, 0, NULL) : NULL;
        argos_gateway_case_t gateway = { .fact[ARGOS_FACT_HOOK] = fact };
        argos_hook_said_t said;
        assert_int_equal (argos_hook_word (&gateway, &said), rows[i].word);
        assert_string_equal (said.message, rows[i].message);
        assert_string_equal (said.command, rows[i].command);
        json_decref (fact);
    }
    char reason[256], *text = calloc (1, 70001);
    memset (text, 'x', 70000);
    memcpy (text, "/Status@bot ", 12);
    json_t *body =
        json_pack ("{s:s, s:{s:s, s:s}}", "text", text, "source", "platform", "p", "user_id", "u");
    const argos_gateway_policy_t policy = { .queue_max = 1 };
    argos_gateway_case_t gateway = { .policy = &policy, .body = body };
    json_t *question = argos_hook_question (&gateway);
    assert_int_equal (
        argos_schema_check ("hook.command", question, reason, sizeof reason), ARGOS_OK);
    assert_string_equal (json_string_value (json_object_get (question, "command")), "status");
    assert_string_equal (json_string_value (json_object_get (question, "user_id")), "u");
    assert_int_equal (json_string_length (json_object_get (question, "args")), 65536);
    json_decref (question);
    json_object_set_new (body, "text", json_string ("/Reset x"));
    question = argos_hook_question (&gateway);
    assert_string_equal (json_string_value (json_object_get (question, "command")), "new");
    assert_string_equal (json_string_value (json_object_get (question, "raw_command")), "reset");
    json_decref (question);
    json_object_set_new (body, "text", json_string ("no command"));
    assert_null (argos_hook_question (&gateway));
    json_decref (body);
    free (text);
}

int
main (void)
{
    char reason[256];
    if (argos_schema_init (reason) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (patterns_end_in_a_star),
        cmocka_unit_test (the_last_object_in_the_output_decides),
        cmocka_unit_test (an_event_has_its_source_and_cut_texts),
        cmocka_unit_test (parts_tell_of_sessions),
        cmocka_unit_test (the_gateway_asks_about_a_command_and_reads_the_word),
    };
    int rc = cmocka_run_group_tests (tests, NULL, NULL);
    argos_schema_term ();
    return rc;
}
