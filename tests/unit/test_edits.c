//  test_edits - the files that a turn could not change (B60).

#include "argos_edits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define RUN "run_00000000000000000000000000000001"

static json_t *s_rows;

//  A call and its result, in the words of a transcript (arguments as text) or of a turn (an object)

static void
s_edit (const char *run, const char *tool, const char *arguments, const char *content, bool text)
{
    char id[16];
    snprintf (id, sizeof id, "c%zu", json_array_size (s_rows));
    json_t *given = text ? json_string (arguments) : json_loads (arguments, 0, NULL);
    json_array_append_new (
        s_rows, json_pack ("{s:s, s:s, s:[{s:s, s:{s:s, s:o}}]}", "role", "assistant", "run_id",
                    run, "tool_calls", "id", id, "function", "name", tool, "arguments", given));
    json_array_append_new (
        s_rows, json_pack ("{s:s, s:s, s:s, s:s, s:s}", "role", "tool", "run_id", run,
                    "tool_call_id", id, "tool_name", tool, "content", content));
}

static void
s_expect (const char *expected)
{
    char *text = argos_edits_failed (s_rows, RUN);
    if (expected)
        assert_string_equal (text, expected);
    else
        assert_null (text);
    free (text);
    json_array_clear (s_rows);
}

static void
the_last_edit_of_a_file_counts (void **state)
{
    (void) state;
    s_expect (NULL);
    s_edit (RUN, "patch", "{\"path\":\"/a\"}", "{\"error\":\"no match\\nmore\"}", true);
    s_edit (RUN, "write_file", "{\"path\":\"/b\"}", "{\"error\":\"denied\",\"status\":\"blocked\"}",
        false);
    s_expect ("⚠️ Not changed: /a (no match)\n⚠️ Not changed: /b (denied)");
    s_edit (RUN, "patch", "{\"path\":\"/a\"}", "{\"error\":\"no match\"}", true);
    s_edit (RUN, "write_file", "{\"path\":\"/a\"}", "{\"bytes_written\":1}", true);
    s_expect (NULL);
    s_edit (RUN, "write_file", "{\"path\":\"/a\"}", "{\"bytes_written\":1}", true);
    s_edit (RUN, "patch", "{\"path\":\"/a\"}", "{\"error\":\"first\"}", false);
    s_edit (RUN, "patch", "{\"path\":\"/a\"}", "{\"error\":\"second\"}", false);
    s_expect ("⚠️ Not changed: /a (second)");
}

static void
a_patch_of_several_files (void **state)
{
    (void) state;
    s_edit (RUN, "write_file", "{\"path\":\"/a\"}", "{\"error\":\"full\"}", true);
    s_edit (RUN, "patch", "{\"mode\":\"patch\"}", "{\"success\":true,\"files_modified\":[\"/a\"]}",
        true);
    s_expect (NULL);
    s_edit (RUN, "patch", "{\"mode\":\"patch\"}", "{\"error\":\"bad hunk\"}", true);
    s_expect ("⚠️ Not changed: a patch of several files (bad hunk)");
}

static void
what_is_no_edit_of_this_run (void **state)
{
    (void) state;
    s_edit ("run_00000000000000000000000000000002", "patch", "{\"path\":\"/a\"}",
        "{\"error\":\"x\"}", true);
    s_edit (RUN, "read_file", "{\"path\":\"/a\"}", "{\"error\":\"x\"}", true);
    s_edit (RUN, "patch", "no JSON", "no JSON", true);
    s_expect (NULL);
    for (int i = 0; i < 7; i++) {
        char arguments[32];
        snprintf (arguments, sizeof arguments, "{\"path\":\"/%d\"}", i);
        s_edit (RUN, "write_file", arguments, "{\"error\":\"x\"}", true);
    }
    s_expect ("⚠️ Not changed: /0 (x)\n⚠️ Not changed: /1 (x)\n⚠️ Not changed: /2 (x)\n"
              "⚠️ Not changed: /3 (x)\n⚠️ Not changed: /4 (x)\n⚠️ Not changed: 2 more");
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (the_last_edit_of_a_file_counts),
        cmocka_unit_test (a_patch_of_several_files),
        cmocka_unit_test (what_is_no_edit_of_this_run) };
    s_rows = json_array ();
    int failed = cmocka_run_group_tests (tests, NULL, NULL);
    json_decref (s_rows);
    return failed;
}
