//  test_intent - what a message is about, and which tools that offers. D.9-15 to 23 are the first
//  rows.

#include "argos_intent.h"
#include "argos_tool_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define FILES (1U << ARGOS_INTENT_FILES)

static const struct {
    const char *text; //  What is said
    bool files, jobs; //  Is it about files; about background jobs
    bool low;         //  Does it need nothing
} s_cases[] = {
    { "stop the job", true, true, false },
    { "kill that job", true, true, false },
    { "Now kill that background job.", true, true, false },
    { "is the job done?", true, true, false },
    { "check the job output", true, true, false },
    { "list my jobs", true, true, false },
    { "kill the bg task", true, true, false },
    { "run this in the background", false, false, false },
    { "find me a job listing", false, false, false },
    { "show me the background jobs", true, true, false },
    { "cancel all of the running jobs", false, false, false },
    { "terminate jobs", true, true, false },
    { "my jobs are still running?", true, true, false },
    { "good job, well done everybody!", true, true, false },
    { "jobless", false, false, false },
    { "kill the jobless rate story", false, false, false },
    { "read the file notes.txt", true, false, false },
    { "", false, false, true },
    { "?!...", false, false, true },
    { "hi", false, false, true },
    { "hello there friend", false, false, true },
    { "thanks a lot", false, false, true },
    { "hello, what is the capital of France", false, false, false },
    { "write a poem about autumn", false, false, false },
};

static void
test_messages (void **state)
{
    (void) state;
    argos_intent_t intent;
    for (size_t i = 0; i < sizeof s_cases / sizeof *s_cases; i++) {
        argos_intent_read_text (&intent, s_cases[i].text);
        if (((intent.domains & FILES) != 0) != s_cases[i].files || intent.jobs != s_cases[i].jobs ||
            intent.low_signal != s_cases[i].low)
            fail_msg ("\"%s\": domains %u, jobs %d, low %d", s_cases[i].text, intent.domains,
                intent.jobs, intent.low_signal);
    }
    assert_true (argos_intent_has_tool (ARGOS_INTENT_FILES, "manage_bg_jobs"));
    assert_false (argos_intent_has_tool (ARGOS_INTENT_WEB, "manage_bg_jobs"));
}

static void
test_continuation (void **state)
{
    (void) state;
    argos_intent_t intent;
    json_t *rows = json_pack ("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "role", "user", "content",
        "kill that job", "role", "assistant", "content", "Really? ", "role", "user", "content",
        "yes");
    argos_intent_read (&intent, rows);
    assert_true (intent.continuation && intent.jobs && !intent.low_signal);
    assert_string_equal (intent.query, "kill that job\nyes");
    json_object_set_new (json_array_get (rows, 2), "content", json_string ("the blue one"));
    argos_intent_read (&intent, rows);
    assert_true (intent.continuation && intent.jobs);
    json_object_set_new (json_array_get (rows, 1), "content", json_string ("Done."));
    argos_intent_read (&intent, rows);
    assert_false (intent.continuation || intent.domains);
    json_object_set_new (json_array_get (rows, 2), "content", json_string ("thanks"));
    argos_intent_read (&intent, rows);
    assert_true (intent.low_signal);
    char text[4097];
    memset (text, 'x', sizeof text - 1);
    text[4096] = 0;
    argos_intent_read_text (&intent, text);
    assert_int_equal (strlen (intent.query), ARGOS_INTENT_QUERY - 1);
    json_decref (rows);
    argos_intent_read (&intent, NULL);
    assert_true (intent.low_signal);
}

static void
s_assert_offers (const char *text, const char *names)
{
    argos_intent_t intent;
    char got[256] = "";
    size_t index;
    json_t *tool, *tools = json_pack ("[{s:s}, {s:s}, {s:s}, {s:s}]", "name", "terminal", "name",
                      "manage_bg_jobs", "name", "web_search", "name", "somebody.else");
    argos_intent_read_text (&intent, text);
    json_t *offered = argos_intent_tools (&intent, tools);
    json_array_foreach (offered, index, tool) {
        strncat (got, json_string_value (json_object_get (tool, "name")), 32);
        strncat (got, " ", 2);
    }
    assert_string_equal (got, names);
    json_decref (offered);
    json_decref (tools);
}

static void
test_tools (void **state)
{
    (void) state;
    s_assert_offers ("kill that job", "terminal manage_bg_jobs somebody.else ");
    s_assert_offers ("browse the web", "web_search somebody.else ");
    s_assert_offers ("write a poem", "terminal manage_bg_jobs web_search somebody.else ");
    s_assert_offers ("thanks", "");
}

static void
test_names (void **state)
{
    (void) state;
    assert_string_equal (argos_tool_name ("Bash"), "terminal");
    assert_string_equal (argos_tool_name ("manage_background_jobs"), "manage_bg_jobs");
    assert_string_equal (argos_tool_name ("process_manage"), "process");
    assert_string_equal (argos_tool_name ("terminal"), "terminal");
    assert_string_equal (argos_tool_name ("whatever"), "whatever");
}

static void
test_repaired_names (void **state)
{
    (void) state;
    static const char *const rows[][2] = { { "read_file", "read_file" },
        { "Read-File", "read_file" }, { "read file", "read_file" }, { "ReadFile", "read_file" },
        { "read_file_tool", "read_file" }, { "ReadFileToolTool", "read_file" },
        { "read_fil", "read_file" }, { "raed_file", "read_file" }, { "Terminal", "terminal" },
        { "BashTool", "terminal" }, { "TodoTool_tool", "todo" }, { "tolo", "todo" }, { "", NULL },
        { "frobnicate", NULL }, { "_tool", NULL }, { "ab_x", NULL } };
    json_t *tools = json_pack ("[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}, {s:s}]", "name", "terminal",
        "name", "read_file", "name", "write_file", "name", "todo", "name", "ab_c", "name", "ab_d");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *name = argos_tool_name_repair (rows[i][0], tools);
        if (!rows[i][1])
            assert_null (name); //  Nothing is near, or two are as near
        else {
            assert_non_null (name);
            assert_string_equal (name, rows[i][1]);
        }
    }
    assert_null (argos_tool_name_repair ("terminal", NULL));
    json_decref (tools);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_messages),
        cmocka_unit_test (test_continuation), cmocka_unit_test (test_tools),
        cmocka_unit_test (test_names), cmocka_unit_test (test_repaired_names) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
