//  test_edits - the files that a turn could not change (B60).

#include "argos_edits.h"
#include "transcript_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define RUN "run_00000000000000000000000000000001"

static json_t *s_rows;

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
    transcript_call (
        s_rows, RUN, "patch", "{\"path\":\"/a\"}", "{\"error\":\"no match\\nmore\"}", true);
    transcript_call (s_rows, RUN, "write_file", "{\"path\":\"/b\"}",
        "{\"error\":\"denied\",\"status\":\"blocked\"}", false);
    s_expect ("⚠️ Not changed: /a (no match)\n⚠️ Not changed: /b (denied)");
    transcript_call (s_rows, RUN, "patch", "{\"path\":\"/a\"}", "{\"error\":\"no match\"}", true);
    transcript_call (s_rows, RUN, "write_file", "{\"path\":\"/a\"}", "{\"bytes_written\":1}", true);
    s_expect (NULL);
    transcript_call (s_rows, RUN, "write_file", "{\"path\":\"/a\"}", "{\"bytes_written\":1}", true);
    transcript_call (s_rows, RUN, "patch", "{\"path\":\"/a\"}", "{\"error\":\"first\"}", false);
    transcript_call (s_rows, RUN, "patch", "{\"path\":\"/a\"}", "{\"error\":\"second\"}", false);
    s_expect ("⚠️ Not changed: /a (second)");
}

static void
a_patch_of_several_files (void **state)
{
    (void) state;
    transcript_call (s_rows, RUN, "write_file", "{\"path\":\"/a\"}", "{\"error\":\"full\"}", true);
    transcript_call (s_rows, RUN, "patch", "{\"mode\":\"patch\"}",
        "{\"success\":true,\"files_modified\":[\"/a\"]}", true);
    s_expect (NULL);
    transcript_call (
        s_rows, RUN, "patch", "{\"mode\":\"patch\"}", "{\"error\":\"bad hunk\"}", true);
    s_expect ("⚠️ Not changed: a patch of several files (bad hunk)");
}

static void
what_is_no_edit_of_this_run (void **state)
{
    (void) state;
    transcript_call (s_rows, "run_00000000000000000000000000000002", "patch", "{\"path\":\"/a\"}",
        "{\"error\":\"x\"}", true);
    transcript_call (s_rows, RUN, "read_file", "{\"path\":\"/a\"}", "{\"error\":\"x\"}", true);
    transcript_call (s_rows, RUN, "patch", "no JSON", "no JSON", true);
    s_expect (NULL);
    for (int i = 0; i < 7; i++) {
        char arguments[32];
        snprintf (arguments, sizeof arguments, "{\"path\":\"/%d\"}", i);
        transcript_call (s_rows, RUN, "write_file", arguments, "{\"error\":\"x\"}", true);
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
