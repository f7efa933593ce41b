//  test_setting - looking up a key of a snapshot: the order of places, and what is no value.

#include "argos_setting.h"

#include "argos_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static json_t *
s_json (const char *text)
{
    json_t *json = json_loads (text, 0, NULL);
    assert_non_null (json);
    return json;
}

static void
the_nearest_place_decides (void **state)
{
    (void) state;
    json_t *config = s_json (
        "{\"display\":{\"mode\":\"top\",\"only\":1},\"platforms\":{\"p\":{\"display\":{\"mode\":"
        "\"platform\"},"
        "\"group\":{\"display\":{\"mode\":\"group\",\"flag\":false}},\"display2\":{}},\"q\":{}}}");
    static const struct {
        const char *platform, *type, *expected;
    } rows[] = {
        { NULL, NULL, "top" },
        { NULL, "group", "top" },
        { "q", "group", "top" },
        { "unknown", "group", "top" },
        { "p", NULL, "platform" },
        { "p", "dm", "platform" },
        { "p", "group", "group" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal (
            argos_setting_text (config, rows[i].platform, rows[i].type, "display.mode"),
            rows[i].expected);
    assert_int_equal (argos_setting_int (config, "p", "group", "display.only"), 1);
    assert_false (argos_setting_bool (config, "p", "group", "display.flag"));
    json_decref (config);
}

static void
what_is_not_there_is_nothing (void **state)
{
    (void) state;
    json_t *config = s_json ("{\"a\":{\"b\":1},\"t\":\"x\"}");
    static const char *const paths[] = { "", ".", "a.", ".a", "a..b", "a.c", "a.b.c", "t.x", "b" };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_null (argos_setting (config, "p", "dm", paths[i]));
    assert_null (argos_setting (NULL, "p", "dm", "a.b"));
    assert_null (argos_setting_text (config, NULL, NULL, "a.b"));
    assert_int_equal (argos_setting_int (config, NULL, NULL, "t"), 0);
    assert_false (argos_setting_bool (config, NULL, NULL, "a.b"));
    json_decref (config);
}

static void
a_list_contains_texts_and_numbers (void **state)
{
    (void) state;
    json_t *config = s_json ("{\"users\":[\"ann\",17,true,null,\"*\"],\"one\":\"ann\"}");
    assert_true (argos_setting_has (config, NULL, NULL, "users", "ann"));
    assert_true (argos_setting_has (config, NULL, NULL, "users", "17"));
    assert_true (argos_setting_has (config, NULL, NULL, "users", "*"));
    assert_false (argos_setting_has (config, NULL, NULL, "users", "Ann"));
    assert_false (argos_setting_has (config, NULL, NULL, "users", "true"));
    assert_false (argos_setting_has (config, NULL, NULL, "users", ""));
    assert_false (argos_setting_has (config, NULL, NULL, "users", NULL));
    assert_false (argos_setting_has (config, NULL, NULL, "one", "ann"));
    json_decref (config);
}

static void
a_value_can_be_put_and_taken_out (void **state)
{
    (void) state;
    json_t *tree = s_json ("{\"t\":1}");
    assert_int_equal (argos_setting_put (tree, "a.b.c", json_integer (7)), 0);
    assert_int_equal (json_integer_value (argos_setting_at (tree, "a.b.c")), 7);
    assert_int_equal (argos_setting_put (tree, "t.x", json_integer (7)), -1);
    assert_int_equal (argos_setting_put (tree, "a..x", json_integer (7)), -1);
    assert_int_equal (argos_setting_put (tree, "a.b.c", NULL), 0);
    assert_null (argos_setting_at (tree, "a.b.c"));
    assert_int_equal (argos_setting_put (tree, "no.such.key", NULL), -1);
    json_decref (tree);
}

static void
the_defaults_are_those_of_the_schema (void **state)
{
    (void) state;
    json_t *config = argos_config_defaults ();
    assert_string_equal (
        argos_setting_text (config, "telegram", "dm", "display.busy_input_mode"), "interrupt");
    assert_true (argos_setting_bool (config, "telegram", "dm", "display.busy_ack_enabled"));
    assert_string_equal (argos_setting_text (config, NULL, NULL, "session_reset.mode"), "none");
    assert_int_equal (argos_setting_int (config, NULL, NULL, "session_reset.idle_minutes"), 1440);
    assert_null (argos_setting (config, NULL, NULL, "unauthorized_dm_behavior"));
    json_decref (config);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_nearest_place_decides),
        cmocka_unit_test (what_is_not_there_is_nothing),
        cmocka_unit_test (a_list_contains_texts_and_numbers),
        cmocka_unit_test (a_value_can_be_put_and_taken_out),
        cmocka_unit_test (the_defaults_are_those_of_the_schema),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
