//  The table of the slash commands as data: names are unique and found, what has been typed is
//  completed, menus get names they can show.

#include "argos_commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

//  Whether word is known to the chats.

static bool
s_known (const char *word)
{
    const argos_commands_row_t *row = argos_commands_find (word);
    return row && !row->cli_only;
}

static void
every_row_is_whole_and_found_by_each_of_its_names (void **state)
{
    (void) state;
    const argos_commands_row_t *row;
    size_t count = 0;
    for (; (row = argos_commands_row (count)); count++) {
        assert_int_equal (argos_commands_id (row), count);
        assert_ptr_equal (argos_commands_find (row->name), row);
        assert_true (strlen (row->name) <= ARGOS_COMMANDS_NAME_MAX);
        assert_true (*row->description && *row->category);
        assert_non_null (row->arguments);
        for (size_t i = 0; i < ARGOS_COMMANDS_ALIASES && row->aliases[i]; i++)
            assert_ptr_equal (argos_commands_find (row->aliases[i]), row);
    }
    assert_int_equal (count, ARGOS_COMMAND_COUNT);
}

static void
a_name_is_found_in_any_case_with_and_without_its_slash (void **state)
{
    (void) state;
    assert_string_equal (argos_commands_find ("RESET")->name, "new");
    assert_string_equal (argos_commands_find ("/Help")->name, "help");
    assert_null (argos_commands_find (""));
    assert_null (argos_commands_find ("/"));
    assert_null (argos_commands_find ("//help"));
    assert_null (argos_commands_find ("hel"));
}

static void
chats_know_background_and_not_handoff (void **state)
{
    (void) state;
    assert_true (s_known ("background"));
    assert_true (s_known ("bg"));
    assert_true (s_known ("btw"));
    assert_false (s_known ("handoff"));
    assert_false (s_known ("quit"));
    assert_non_null (argos_commands_find ("handoff"));
}

static void
what_is_typed_is_completed_behind_a_slash_only (void **state)
{
    (void) state;
    static const struct {
        const char *typed, *words[4]; //  What has been typed, and all that it can become
    } rows[] = {
        { "/backgro", { "/background" } },
        { "backgro", { NULL } },
        { "/BACKGRO", { "/background" } },
        { "/re", { "/reset", "/resume", "/retry", "/restart" } },
        { "/handof", { "/handoff" } },
        { "/setho", { NULL } },
        { "/background", { "/background" } },
        { "/nothing", { NULL } },
        { "", { NULL } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < 4; j++) {
            char word[ARGOS_COMMANDS_NAME_MAX + 2];
            const char *expected = rows[i].words[j];
            assert_int_equal (argos_commands_complete (rows[i].typed, j, word), expected != NULL);
            assert_string_equal (word, expected ? expected : "");
        }
}

static void
a_menu_has_every_command_of_the_chats_in_its_letters (void **state)
{
    (void) state;
    char name[ARGOS_COMMANDS_NAME_MAX + 1];
    const argos_commands_row_t *row;
    size_t count = 0, known = 0;
    for (; (row = argos_commands_menu (count, name)); count++) {
        assert_false (row->cli_only);
        assert_int_equal (strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen (name));
    }
    for (size_t i = 0; (row = argos_commands_row (i)); i++)
        known += !row->cli_only;
    assert_int_equal (count, known);
    assert_true (count <= 60); //  What Telegram shows
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_row_is_whole_and_found_by_each_of_its_names),
        cmocka_unit_test (a_name_is_found_in_any_case_with_and_without_its_slash),
        cmocka_unit_test (chats_know_background_and_not_handoff),
        cmocka_unit_test (what_is_typed_is_completed_behind_a_slash_only),
        cmocka_unit_test (a_menu_has_every_command_of_the_chats_in_its_letters),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
