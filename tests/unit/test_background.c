//  test_background - /background as pure decisions: texts, parts, limits, words.

#include "argos_background.h"
#include "argos_command.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WALL_MS 1767268800000 //  Some noon

typedef struct {
    gate_t gate;   //  The case
    json_t *parts; //  What was decided
} fixture_t;

//  Decide on a text of a chat; tasks is a result of run.list, or NULL.

static void
s_say (fixture_t *self, const char *platform, const char *text, const char *tasks)
{
    gate_say (&self->gate, GATE_OPEN, platform, text);
    self->gate.gateway.wall = WALL_MS;
    self->gate.gateway.entropy = 0xABCDEF;
    gate_fact (&self->gate, ARGOS_FACT_TASKS, tasks);
    gate_fact (&self->gate, ARGOS_FACT_ROUTE, NULL);
    self->parts = argos_gateway_decide (&self->gate.gateway);
    assert_non_null (self->parts);
}

static void
s_end (fixture_t *self)
{
    gate_end (&self->gate, self->parts);
}

static const json_t *
s_part (const fixture_t *self, const char *type)
{
    return gate_part (self->parts, type);
}

static const char *
s_text (const fixture_t *self, const char *type, const char *name)
{
    return gate_text (self->parts, type, name);
}

static const char *
s_answer (const fixture_t *self)
{
    return s_text (self, "deliver.request", "text");
}

static void
nothing_to_do_is_answered_with_the_usage (void **state)
{
    (void) state;
    static const char *const texts[] = { "/background", "/bg", "/btw", "/background    ",
        "/background --", "/background -- \t" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fixture_t self;
        s_say (&self, "telegram", texts[i], NULL);
        assert_non_null (strstr (s_answer (&self), "Usage:"));
        assert_non_null (strstr (s_answer (&self), "/background"));
        assert_int_equal (json_array_size (self.parts), 1);
        s_end (&self);
    }
}

static void
a_prompt_becomes_a_task_on_every_platform (void **state)
{
    (void) state;
    static const char *const platforms[] = { "telegram", "discord", "slack" };
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
        fixture_t self;
        s_say (&self, platforms[i], "/background Summarize the top HN stories", NULL);
        const char *answer = s_answer (&self), *task = s_text (&self, "session.create", "id");
        assert_non_null (strstr (answer, "🔄"));
        assert_non_null (
            strstr (answer, "Background task started: \"Summarize the top HN stories\""));
        assert_non_null (strstr (answer, "Task ID: bg_"));
        assert_non_null (strstr (answer, task));
        assert_int_equal (strlen (task), ARGOS_TASK_ID_SIZE - 1);
        assert_string_equal (task + 10, "abcdef");
        assert_string_equal (s_text (&self, "run.create", "kind"), "background");
        assert_string_equal (s_text (&self, "run.create", "session_id"), task);
        assert_string_equal (
            s_text (&self, "turn.request", "text"), "Summarize the top HN stories");
        assert_string_equal (s_text (&self, "turn.request", "session_id"), task);
        const json_t *words =
            json_object_get (json_object_get (s_part (&self, "turn.request"), "body"), "task");
        assert_string_equal (json_string_value (json_object_get (words, "completed")),
            "✅ Background task complete\nPrompt: \"Summarize the top HN stories\"\n\n");
        assert_string_equal (
            json_string_value (json_object_get (words, "empty")), "(No response generated)");
        assert_non_null (strstr (json_string_value (json_object_get (words, "failed")), "failed"));
        assert_null (s_part (&self, "route.bind")); //  The session of the chat is not touched
        assert_null (s_part (&self, "out.state"));  //  Nor shown as busy, with a draft of it
        s_end (&self);
    }
}

//  Over HTTP the run is the task; nobody is told but by the run, and the other commands are text.

static void
a_run_of_the_api_becomes_the_task (void **state)
{
    (void) state;
    static const struct {
        const char *text, *types; //  What is said, the parts
    } rows[] = {
        { "/background two", "session.create run.bind turn.request" },
        { "/bg -- list", "session.create run.bind turn.request" },
        { "/bg", "run.finish run.failed" },
        { "/btw list", "run.finish run.failed" },
        { "/new", "session.create run.bind expect turn.request" },
        { "/background/list", "session.create run.bind expect turn.request" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture_t self;
        s_say (&self, "api_server", rows[i].text, NULL);
        gate_assert_types (self.parts, rows[i].types);
        if (i < 2) {
            assert_string_equal (s_text (&self, "run.bind", "kind"), "background");
            assert_string_equal (
                s_text (&self, "run.bind", "session_id"), s_text (&self, "session.create", "id"));
            assert_string_equal (s_text (&self, "turn.request", "text"), i ? "list" : "two");
            assert_string_equal (s_text (&self, "turn.request", "deliver"), "");
        }
        s_end (&self);
    }
}

static void
a_long_prompt_is_shown_cut (void **state)
{
    (void) state;
    static const struct {
        const char *character; //  Each of the prompt
        int characters;        //  How many
        bool cut;              //  It is shown cut
    } rows[] = { { "A", 60, false }, { "A", 61, true }, { "A", 100, true }, { "ü", 60, false },
        { "🙂", 61, true } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512] = "/background ", expected[512] = "\"";
        for (int n = 0; n < rows[i].characters; n++) {
            strncat (text, rows[i].character, 5);
            if (n < 60)
                strncat (expected, rows[i].character, 5);
        }
        strncat (expected, rows[i].cut ? "...\"" : "\"", 5);
        fixture_t self;
        s_say (&self, "telegram", text, NULL);
        assert_non_null (strstr (s_answer (&self), expected));
        s_end (&self);
    }
}

static void
a_word_is_an_order_only_when_it_fits (void **state)
{
    (void) state;
    static const char tasks[] =
        "{'runs':[{'run_id':'run_0123456789abcdef0123456789abcdef','kind':'background',"
        "'session_id':'bg_120000_abcdef','state':'running','created_at':1767268680000,"
        "'input':'look\\nhere'},"
        "{'run_id':'run_1123456789abcdef0123456789abcdef','kind':'background',"
        "'session_id':'bg_110000_abcdef','state':'completed','created_at':1767268680000,"
        "'input':'x','output':'the result'}]}";
    static const struct {
        const char *text, *answer; //  What is said, and a piece of what is answered
        bool task, stop;           //  A task begins; one is stopped
    } rows[] = {
        { "/bg list", "`bg_120000_abcdef` running, 2 min ago: \"look here\"", false, false },
        { "/bg LIST", "`bg_110000_abcdef` completed", false, false },
        { "/bg list the files", "started: \"list the files\"", true, false },
        { "/bg -- list", "started: \"list\"", true, false },
        { "/bg status bg_110000_abcdef", "the result", false, false },
        { "/bg status bg_120000_abcdef", "running", false, false },
        { "/bg status bg_999999_abcdef", "no such background task", false, false },
        { "/bg status", "`bg_120000_abcdef` running", false, false },
        { "/bg cancel", "Usage: /background cancel ID", false, false },
        { "/bg -- status", "started: \"status\"", true, false },
        { "/bg status of the build", "started: \"status of the build\"", true, false },
        { "/bg cancel bg_120000_abcdef", "being cancelled", false, true },
        { "/bg cancel bg_110000_abcdef", "over already: completed", false, false },
        { "/bg cancel bg_999999_abcdef", "no such background task", false, false },
        { "/bg -- cancel bg_120000_abcdef", "started", true, false },
        { "/bg --verbose is a flag", "started: \"--verbose is a flag\"", true, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture_t self;
        s_say (&self, "slack", rows[i].text, tasks);
        if (!strstr (s_answer (&self), rows[i].answer))
            fail_msg ("%s: %s", rows[i].text, s_answer (&self));
        assert_int_equal (s_part (&self, "turn.request") != NULL, rows[i].task);
        assert_int_equal (s_part (&self, "turn.stop") != NULL, rows[i].stop);
        s_end (&self);
    }
    fixture_t self;
    s_say (&self, "slack", "/bg list", "{'runs':[]}");
    assert_non_null (strstr (s_answer (&self), "no background tasks"));
    s_end (&self);
}

static void
limits_are_parts_of_the_same_done (void **state)
{
    (void) state;
    fixture_t self;
    s_say (&self, "telegram", "/bg x", NULL);
    assert_null (s_part (&self, "expect"));
    assert_null (s_part (&self, "turn.stop"));
    json_t *config = json_pack ("{s:{s:i, s:i}, s:{s:b}}", "background", "max_running", 3,
        "timeout_s", 60, "gateway", "allow_all_users", 1);
    self.gate.policy.config = config;
    json_decref (self.parts);
    self.parts = argos_gateway_decide (&self.gate.gateway);
    assert_string_equal (s_text (&self, "expect", "row"), "runs");
    assert_string_equal (s_text (&self, "expect", "kind"), "background");
    const json_t *stop = s_part (&self, "turn.stop");
    assert_int_equal (json_integer_value (json_object_get (stop, "not_before")), WALL_MS + 60000);
    assert_non_null (strstr (s_text (&self, "turn.stop", "reason"), "timed out after 60 s"));
    json_decref (config);
    s_end (&self);
}

static void
names_differ_within_a_second (void **state)
{
    (void) state;
    char names[5][ARGOS_TASK_ID_SIZE];
    for (uint64_t i = 0; i < 5; i++) {
        argos_background_id (WALL_MS, i * 0x123456789ABCDEF, names[i]);
        assert_int_equal (strspn (names[i] + 3, "0123456789"), 6);
        assert_int_equal (strspn (names[i] + 10, "0123456789abcdef"), 6);
        for (uint64_t j = 0; j < i; j++)
            assert_string_not_equal (names[i], names[j]);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (nothing_to_do_is_answered_with_the_usage),
        cmocka_unit_test (a_prompt_becomes_a_task_on_every_platform),
        cmocka_unit_test (a_run_of_the_api_becomes_the_task),
        cmocka_unit_test (a_long_prompt_is_shown_cut),
        cmocka_unit_test (a_word_is_an_order_only_when_it_fits),
        cmocka_unit_test (limits_are_parts_of_the_same_done),
        cmocka_unit_test (names_differ_within_a_second),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
