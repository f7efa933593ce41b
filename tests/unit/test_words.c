//  test_words - the tabulator: commands, their second words, the names of sessions and of places.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_words.h"

#include "argos_commands.h"

#include <stdio.h>
#include <string.h>

static const char *const s_names[] = { "Bridge over the river", "Brücke",
    "20260101_101010_abcdef01" };

static const char *const s_places[] = { "slack", "slack:C1", "telegram", "telegram:-1001:2" };
static const argos_words_known_t s_known = { s_names, 3, s_places, 4 };

//  All completions of a line, each behind a '|'

static const char *
s_all (const char *line)
{
    static char all[2048];
    char word[64];
    size_t size = 0;
    *all = 0;
    for (size_t i = 0; argos_words_complete (line, &s_known, i, word, sizeof word); i++)
        size += (size_t) snprintf (all + size, sizeof all - size, "|%s", word);
    return all;
}

static void
s_lines_become_what_can_be_said (void **state)
{
    (void) state;
    assert_string_equal (s_all ("/backgr"), "|/background");
    assert_string_equal (s_all ("/resume B"), "|/resume Bridge over the river|/resume Br\xc3\xbc"
                                              "cke");
    assert_string_equal (s_all ("/resume Bridge o"), "|/resume Bridge over the river");
    assert_string_equal (s_all ("/resume  2"), "|/resume  20260101_101010_abcdef01");
    assert_string_equal (s_all ("/RESUME Bridge"), "|/RESUME Bridge over the river");
    assert_string_equal (s_all ("/resume x"), "");
    assert_string_equal (s_all ("/handoff te"), "|/handoff telegram|/handoff telegram:-1001:2");
    assert_string_equal (s_all ("/handoff slack:"), "|/handoff slack:C1");
    assert_string_equal (s_all ("/handoff B"), "");
    assert_string_equal (s_all ("/approve a"), "|/approve all|/approve always");
    assert_string_equal (s_all ("/bg c"), "|/bg cancel");
    assert_string_equal (s_all ("/title B"), "");
    assert_string_equal (s_all ("/nothing B"), "");
    assert_string_equal (s_all ("resume B"), "");
    assert_string_equal (s_all (""), "");
    assert_string_equal (s_all ("/a_command_with_a_name_that_is_longer_than_any_of_ours is B"), "");
}

static void
s_a_name_that_has_no_room_is_left_out (void **state)
{
    char word[64], line[400] = "/resume ";
    static const char *const names[] = {
        "a name that takes more room than there is, by some letters or more", "a"
    };
    const argos_words_known_t known = { .sessions = names, .session_count = 2 };
    (void) state;
    assert_true (argos_words_complete ("/resume ", &known, 0, word, sizeof word));
    assert_string_equal (word, "/resume a");
    assert_false (argos_words_complete ("/resume ", &known, 1, word, sizeof word));
    memset (line + 8, ' ', 300);
    assert_false (argos_words_complete (line, &known, 0, word, sizeof word));
}

//  What is offered is what the table of the commands says of them

static void
s_every_second_word_is_one_of_its_command (void **state)
{
    const argos_commands_row_t *row;
    const argos_words_known_t none = { 0 };
    char line[64], word[64];
    size_t found = 0;
    (void) state;
    for (size_t i = 0; (row = argos_commands_row (i)); i++) {
        snprintf (line, sizeof line, "/%s ", row->name);
        for (size_t j = 0; argos_words_complete (line, &none, j, word, sizeof word); j++) {
            const char *second = word + strlen (line);
            assert_true (strstr (row->arguments, second) || strstr (row->description, second));
            found++;
        }
    }
    assert_true (found > 10);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_lines_become_what_can_be_said),
        cmocka_unit_test (s_a_name_that_has_no_room_is_left_out),
        cmocka_unit_test (s_every_second_word_is_one_of_its_command),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
