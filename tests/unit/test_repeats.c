//  test_repeats - a turn that goes round in circles (B59): what is counted, what ends the count,
//  and from when on it is said.

#include "argos_repeats.h"
#include "transcript_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUN "run_00000000000000000000000000000001"
#define OTHER "run_00000000000000000000000000000002"

static json_t *s_rows;

//  Its arguments now as a text, now as an object

static void
s_call (const char *run, const char *tool, const char *arguments, const char *content)
{
    transcript_call (s_rows, run, tool, arguments, content, json_array_size (s_rows) % 4);
}

static argos_repeats_t
s_look (const char *tool, const char *arguments, const char *content, bool mutates)
{
    json_t *given = json_loads (arguments, 0, NULL);
    argos_repeats_call_t call = {
        .rows = s_rows, .run_id = RUN, .tool = tool, .arguments = given, .mutates = mutates
    };
    json_t *result = content ? json_loads (content, 0, NULL) : NULL;
    argos_repeats_t seen =
        content ? argos_repeats_with (&call, result) : argos_repeats_before (&call);
    json_decref (result);
    json_decref (given);
    return seen;
}

static void
s_expect (argos_repeats_t seen, int failed, int tool_failed, int same)
{
    assert_int_equal (seen.failed, failed);
    assert_int_equal (seen.tool_failed, tool_failed);
    assert_int_equal (seen.same, same);
    json_array_clear (s_rows);
}

#define A "{\"command\":\"a\",\"n\":1}"
#define A_SORTED "{\"n\":1,\"command\":\"a\"}"
#define B "{\"command\":\"b\"}"
#define FAILED "{\"output\":\"\",\"error\":\"no\"}"
#define FINE "{\"output\":\"x\",\"error\":null,\"exit_code\":0}"

static void
what_fails_again_is_counted_until_it_works (void **state)
{
    (void) state;
    s_expect (s_look ("t", A, NULL, true), 0, 0, 0);
    s_expect (s_look ("t", A, FAILED, true), 1, 1, 0);
    s_call (RUN, "t", A, FAILED);
    s_call (RUN, "t", A_SORTED, FAILED); //  However it is written
    s_expect (s_look ("t", A, FAILED, true), 3, 3, 0);
    s_call (RUN, "t", A, FAILED);
    s_call (RUN, "t", B, FAILED);
    s_expect (s_look ("t", A, FAILED, true), 2, 3, 0);
    s_call (RUN, "t", A, FAILED);
    s_call (RUN, "t", B, FINE); //  Its tool works, this call does not
    s_expect (s_look ("t", A, FAILED, true), 2, 1, 0);
    s_call (RUN, "t", A, FAILED);
    s_call (RUN, "t", A, FINE);
    s_expect (s_look ("t", A, FAILED, true), 1, 1, 0);
    s_call (RUN, "t", A, FAILED);
    s_expect (s_look ("t", A, FINE, true), 0, 0, 0);
    s_call (RUN, "other", A, FAILED); //  Of another tool, of another turn
    s_call (OTHER, "t", A, FAILED);
    s_expect (s_look ("t", A, FAILED, true), 1, 1, 0);
}

static void
a_failure_is_what_says_so (void **state)
{
    static const struct {
        const char *content; //  Of a result
        bool failed;         //  Expected
    } rows[] = { { FAILED, true }, { FINE, false }, { "{\"success\":false}", true },
        { "{\"success\":true,\"lint\":\"an error\"}", false }, { "{\"status\":\"error\"}", true },
        { "{\"status\":\"blocked\",\"output\":\"\"}", true }, { "{\"exit_code\":2}", true },
        { "{\"exit_code\":1,\"exit_code_meaning\":\"no match\"}", false },
        { "{\"exit_code\":3,\"session_id\":\"proc_1\",\"status\":\"exited\"}", false },
        { "{\"error\":\"\"}", false }, { "{}", false }, { "[]", false } };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (s_look ("t", A, rows[i].content, true).failed != rows[i].failed)
            fail_msg ("%s", rows[i].content);
}

static void
the_same_again_is_counted_for_what_changes_nothing (void **state)
{
    (void) state;
    s_call (RUN, "r", A, FINE);
    s_call (RUN, "r", B, FINE); //  Others may stand in between
    s_call (RUN, "r", A, "{\"exit_code\":0,\"output\":\"x\",\"error\":null,\"warning\":\"again\"}");
    s_expect (s_look ("r", A, FINE, false), 0, 0, 3);
    s_call (RUN, "r", A, FINE);
    s_call (RUN, "r", A, "{\"output\":\"y\"}");
    s_expect (s_look ("r", A, FINE, false), 0, 0, 1);
    s_call (RUN, "r", A, FINE);
    s_expect (s_look ("r", A, FINE, true), 0, 0, 0);
    s_call (RUN, "r", A, FINE);
    s_call (RUN, "r", A, FINE);
    s_expect (s_look ("r", A, NULL, false), 0, 0, 2);
    s_call (RUN, "r", A, "no JSON");
    s_expect (s_look ("r", A, FINE, false), 0, 0, 1);
}

static void
several_calls_of_one_answer (void **state)
{
    (void) state;
    for (int i = 0; i < 2; i++) {
        json_array_append_new (
            s_rows, json_pack ("{s:s, s:s, s:[{s:s, s:{s:s, s:s}}, {s:s, s:{s:s, s:s}}]}", "role",
                        "assistant", "run_id", RUN, "tool_calls", "id", "one", "function", "name",
                        "t", "arguments", A, "id", "two", "function", "name", "t", "arguments", B));
        for (int k = 0; k < 2; k++)
            json_array_append_new (s_rows,
                json_pack ("{s:s, s:s, s:s, s:s, s:s}", "role", "tool", "run_id", RUN,
                    "tool_call_id", k ? "two" : "one", "tool_name", "t", "content", FAILED));
    }
    s_expect (s_look ("t", B, FAILED, true), 3, 5, 0);
}

static void
it_is_said_and_stopped_from_its_number_on (void **state)
{
    static const struct {
        argos_repeats_t seen;          //  So often
        const char *warning, *refusal; //  Words in what is said, NULL = nothing
    } rows[] = {
        { { 1, 2, 1 }, NULL, NULL },
        { { 2, 2, 0 }, "This very call has failed 2 times", NULL },
        { { 1, 3, 0 }, "t has failed 3 times", NULL },
        { { 0, 0, 2 }, "the same 2 times", NULL },
        { { 4, 7, 4 }, "failed 4 times", NULL },
        { { 5, 5, 0 }, "failed 5 times", "BLOCKED: This very call has failed 5 times" },
        { { 1, 8, 0 }, "t has failed 8 times", "BLOCKED: t has failed 8 times" },
        { { 0, 0, 5 }, "the same 5 times", "BLOCKED: This call has brought the same 5 times" },
    };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[200] = "";
        bool said = argos_repeats_warning (&rows[i].seen, "t", words, sizeof words);
        const char *warning = rows[i].warning, *refusal = rows[i].refusal;
        assert_int_equal (said, warning != NULL);
        assert_true (!said || !warning || strstr (words, warning));
        said = argos_repeats_refusal (&rows[i].seen, "t", words, sizeof words);
        assert_int_equal (said, refusal != NULL);
        assert_true (!said || !refusal || strstr (words, refusal) == words);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (what_fails_again_is_counted_until_it_works),
        cmocka_unit_test (a_failure_is_what_says_so),
        cmocka_unit_test (the_same_again_is_counted_for_what_changes_nothing),
        cmocka_unit_test (several_calls_of_one_answer),
        cmocka_unit_test (it_is_said_and_stopped_from_its_number_on),
    };
    s_rows = json_array ();
    int failed = cmocka_run_group_tests (tests, NULL, NULL);
    json_decref (s_rows);
    return failed;
}
