//  Slash commands: what is one, which one, and that the table is sound.

#include "argos_command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
a_command_is_a_slash_and_a_word (void **state)
{
    (void) state;
    static const struct {
        const char *text, *name, *arguments; //  name NULL = no command
    } rows[] = {
        { "/new", "new", "" },
        { "/NEW  my title ", "new", "my title " },
        { "/stop@argos_bot now", "stop", "now" },
        { "/help\nline", "help", "line" },
        { "/usr/bin is a path", NULL, "" },
        { "/", NULL, "" },
        { "/ new", NULL, "" },
        { "new", NULL, "" },
        { " /new", NULL, "" },
        { "", NULL, "" },
        { "/@bot", NULL, "" },
        { "/abcdefghijklmnopqrstuvwxyzabcdefg", NULL, "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[ARGOS_COMMAND_NAME_MAX + 1];
        const char *arguments = "";
        assert_int_equal (
            argos_command_parse (rows[i].text, name, &arguments), rows[i].name != NULL);
        if (rows[i].name) {
            assert_string_equal (name, rows[i].name);
            assert_string_equal (arguments, rows[i].arguments);
        }
    }
}

static void
names_and_aliases_are_found_and_unique (void **state)
{
    (void) state;
    const argos_command_t *row;
    size_t count = 0;
    for (; (row = argos_command_row (count)); count++) {
        assert_ptr_equal (argos_command_find (row->name), row);
        assert_true (strlen (row->name) <= ARGOS_COMMAND_NAME_MAX);
        assert_non_null (row->handler);
        assert_true (*row->description);
        for (size_t i = 0; i < 2 && row->aliases[i]; i++)
            assert_ptr_equal (argos_command_find (row->aliases[i]), row);
    }
    assert_int_equal (count, 5);
    assert_string_equal (argos_command_find ("RESET")->name, "new");
    assert_null (argos_command_find ("handoff"));
}

static void
what_ends_work_is_urgent (void **state)
{
    (void) state;
    assert_true (argos_command_find ("stop")->urgent);
    assert_true (argos_command_find ("new")->urgent);
    assert_false (argos_command_find ("status")->urgent);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_command_is_a_slash_and_a_word),
        cmocka_unit_test (names_and_aliases_are_found_and_unique),
        cmocka_unit_test (what_ends_work_is_urgent),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
