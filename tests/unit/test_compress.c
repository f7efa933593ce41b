//  test_compress - what of a conversation is summed up, and what comes of it.

#include "argos_compress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

//  A row for each letter: u user, a assistant, c a call, t its result
static json_t *
s_rows (const char *letters, size_t size)
{
    json_t *rows = json_array ();
    char *text = (char *) calloc (1, size + 1);
    assert_non_null (text);
    memset (text, 'x', size);
    for (const char *at = letters; *at; at++) {
        json_t *row = json_pack ("{s:s, s:s}", "role",
            *at == 'u'   ? "user"
            : *at == 't' ? "tool"
                         : "assistant",
            "content", *at == 'c' ? "now" : text);
        if (*at == 'c')
            json_object_set_new (row, "tool_calls",
                json_pack (
                    "[{s:s, s:{s:s, s:{}}}]", "id", "1", "function", "name", "x", "arguments"));
        if (*at == 't')
            json_object_set_new (row, "tool_call_id", json_string ("1"));
        json_array_append_new (rows, row);
    }
    free (text);
    return rows;
}

static void
s_head_and_tail_stay_and_calls_are_not_cut (void **state)
{
    static const struct {
        const char *letters;   //  Rows
        size_t tail, from, to; //  Kept behind; summed up; to 0 = nothing
    } rows[] = {
        { "uauauauauaua", 4, 3, 8 },
        { "uauaua", 4, 0, 0 },
        { "", 4, 0, 0 },
        { "u", 0, 0, 0 },
        { "uactttuauauaua", 4, 6, 10 }, //  Results of the head's call stay with it
        { "uauauactttu", 3, 3, 6 },     //  The tail begins with the call, not with a result
        { "uauauaucttttttttt", 3, 3, 7 },
        { "uauauauauauauauauauauauaua", 20, 3, 6 },
    };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t from = 0, to = 0;
        json_t *list = s_rows (rows[i].letters, 10);
        bool found = argos_compress_split (list, rows[i].tail, &from, &to);
        if (found != (rows[i].to > 0) || from != rows[i].from || to != rows[i].to)
            if (!(i == 7 && !found)) //  Too small a part of it all
                fail_msg ("%s: %zu to %zu", rows[i].letters, from, to);
        json_decref (list);
    }
}

static void
s_the_middle_becomes_a_summary (void **state)
{
    (void) state;
    json_t *rows = s_rows ("uauactuauauaua", 50);
    size_t from, to;
    assert_true (argos_compress_split (rows, 4, &from, &to));
    char *prompt = argos_compress_prompt (rows, from, to, "the words");
    assert_non_null (strstr (prompt, "the words"));
    assert_non_null (strstr (prompt, "tool: xxx"));
    free (prompt);
    json_t *made = argos_compress_apply (rows, from, to, "  Goal: x");
    assert_int_equal (json_array_size (made), json_array_size (rows) - (to - from) + 1);
    const char *summary =
        json_string_value (json_object_get (json_array_get (made, from), "content"));
    assert_string_equal (summary, "[Summary of the earlier conversation]\nGoal: x");
    assert_true (argos_compress_tokens (made) < argos_compress_tokens (rows));
    json_decref (made);
    assert_null (argos_compress_apply (rows, from, to, " \n"));
    char large[2000];
    memset (large, 'y', sizeof large - 1);
    large[sizeof large - 1] = 0;
    assert_null (argos_compress_apply (rows, from, to, large));
    json_decref (rows);
}

static void
s_what_is_stored_has_only_its_members (void **state)
{
    (void) state;
    json_t *rows = s_rows ("uauauauauauact", 50);
    json_t *last = json_array_get (rows, 12);
    json_object_set_new (last, "_thinking", json_array ());
    json_object_set_new (last, "id", json_integer (7));
    json_t *made = argos_compress_apply (rows, 3, 9, "short");
    json_t *row = json_array_get (made, json_array_size (made) - 2);
    assert_null (json_object_get (row, "_thinking"));
    assert_null (json_object_get (row, "id"));
    json_t *function =
        json_object_get (json_array_get (json_object_get (row, "tool_calls"), 0), "function");
    assert_string_equal (json_string_value (json_object_get (function, "arguments")), "{}");
    json_decref (made);
    json_decref (rows);
}

static void
s_long_results_become_short_until_it_fits (void **state)
{
    (void) state;
    json_t *rows = s_rows ("uauauauactctctctctctctctctctctctctctctctctct", 50000);
    json_t *made = argos_compress_apply (rows, 3, 7, "short");
    assert_true (argos_compress_tokens (made) * 4 < 1000000);
    json_t *last = json_array_get (made, json_array_size (made) - 1);
    assert_int_equal (json_string_length (json_object_get (last, "content")), 50000);
    json_decref (made);
    json_decref (rows);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_head_and_tail_stay_and_calls_are_not_cut),
        cmocka_unit_test (s_the_middle_becomes_a_summary),
        cmocka_unit_test (s_what_is_stored_has_only_its_members),
        cmocka_unit_test (s_long_results_become_short_until_it_fits),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
