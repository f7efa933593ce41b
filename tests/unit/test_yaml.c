//  test_yaml - YAML to JSON: types, lines, and what is refused.

#include "argos_yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *
s_load (const char *text, json_t **ret_lines, char *reason)
{
    reason[0] = 0;
    return argos_yaml_load ("a.yaml", text, strlen (text), ret_lines, reason, 256);
}

static void
s_assert_json (const char *text, const char *expected)
{
    char reason[256];
    json_t *value = s_load (text, NULL, reason);
    if (!value)
        fail_msg ("%s: %s", text, reason);
    char *found = json_dumps (value, JSON_ENCODE_ANY | JSON_COMPACT);
    assert_string_equal (found, expected);
    free (found);
    json_decref (value);
}

static void
s_assert_refused (const char *text, const char *expected)
{
    char reason[256];
    json_t *value = s_load (text, NULL, reason);
    if (value)
        fail_msg ("accepted: %.80s", text);
    if (!strstr (reason, expected))
        fail_msg ("%.80s: '%s' is not in '%s'", text, expected, reason);
}

static void
plain_scalars_have_the_types_of_the_core_schema (void **state)
{
    (void) state;
    static const char *const rows[][2] = { { "a: 1", "{\"a\":1}" }, { "a: -17", "{\"a\":-17}" },
        { "a: +3", "{\"a\":3}" }, { "a: 007", "{\"a\":7}" }, { "a: 0o17", "{\"a\":15}" },
        { "a: 0xfF", "{\"a\":255}" }, { "a: 1.5", "{\"a\":1.5}" }, { "a: .5", "{\"a\":0.5}" },
        { "a: 1e3", "{\"a\":1000.0}" }, { "a: true", "{\"a\":true}" },
        { "a: FALSE", "{\"a\":false}" }, { "a: yes", "{\"a\":\"yes\"}" },
        { "a: no", "{\"a\":\"no\"}" }, { "a: on", "{\"a\":\"on\"}" }, { "a: ~", "{\"a\":null}" },
        { "a:", "{\"a\":null}" }, { "a: null", "{\"a\":null}" }, { "a: 1:30", "{\"a\":\"1:30\"}" },
        { "a: 127.0.0.1", "{\"a\":\"127.0.0.1\"}" }, { "a: 1_000", "{\"a\":\"1_000\"}" },
        { "a: 2024-01-01", "{\"a\":\"2024-01-01\"}" }, { "a:\n-", "{\"a\":[null]}" },
        { "a: .", "{\"a\":\".\"}" }, { "1: x", "{\"1\":\"x\"}" } };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        s_assert_json (rows[row][0], rows[row][1]);
}

static void
quoted_and_block_scalars_are_strings (void **state)
{
    (void) state;
    s_assert_json ("a: \"1\"", "{\"a\":\"1\"}");
    s_assert_json ("a: 'true'", "{\"a\":\"true\"}");
    s_assert_json ("a: \"\"", "{\"a\":\"\"}");
    s_assert_json ("a: |\n  x\n  y\n", "{\"a\":\"x\\ny\\n\"}");
    s_assert_json ("a: >\n  x\n  y\n", "{\"a\":\"x y\\n\"}");
}

static void
structures_nest_in_block_and_flow_form (void **state)
{
    (void) state;
    s_assert_json ("a:\n  - 1\n  - {b: [2, x]}\nc: {}\n", "{\"a\":[1,{\"b\":[2,\"x\"]}],\"c\":{}}");
}

static void
an_empty_file_is_null (void **state)
{
    (void) state;
    s_assert_json ("", "null");
    s_assert_json ("# nothing but a comment\n", "null");
}

static void
each_value_has_its_line (void **state)
{
    (void) state;
    char reason[256];
    json_t *lines = NULL;
    json_t *value = s_load ("# x\nhttp:\n  port: 1\n\nlist:\n  - a\n  - b: 2\n", &lines, reason);
    assert_non_null (value);
    assert_int_equal (json_integer_value (json_object_get (lines, "")), 2);
    assert_int_equal (json_integer_value (json_object_get (lines, "http.port")), 3);
    assert_int_equal (json_integer_value (json_object_get (lines, "list[0]")), 6);
    assert_int_equal (json_integer_value (json_object_get (lines, "list[1].b")), 7);
    json_decref (lines);
    json_decref (value);
}

static void
what_a_configuration_does_not_need_is_refused (void **state)
{
    (void) state;
    s_assert_refused ("a: &x 1\nb: *x\n", "a.yaml:1: expected no anchors");
    s_assert_refused ("a: *x\n", "a.yaml:1: ");
    s_assert_refused ("a: !!str 1\n", "expected no tags");
    s_assert_refused ("a: &x [1]\n", "expected no anchors");
    s_assert_refused ("a: !t {}\n", "expected no tags");
    s_assert_refused ("a: 1\n---\nb: 2\n", "a.yaml:2: expected one document");
    s_assert_refused ("? [a]\n: 1\n", "a.yaml:1: expected a key");
    s_assert_refused ("a: 1\n\na: 2\n", "a.yaml:3: the key a is there twice");
    s_assert_refused ("a: .inf\n", "expected a finite number");
    s_assert_refused ("a: .NaN\n", "expected a finite number");
    s_assert_refused ("a: 1e999\n", "expected a smaller number");
    s_assert_refused ("a: 99999999999999999999\n", "expected an integer of at most 64 bits");
    s_assert_refused ("a: \"x\\0y\"\n", "expected no NUL");
}

static void
what_is_not_yaml_names_its_line (void **state)
{
    (void) state;
    s_assert_refused ("a: 1\nb: [1, 2\n", "a.yaml:3: not YAML");
    s_assert_refused ("a: 1\n\tb: 2\n", "a.yaml:2: not YAML");
    s_assert_refused ("a: \"\xff\"\n", "not YAML");
    s_assert_refused ("a: \"\\ud800\"\n", "not YAML");
}

static void
depth_and_size_are_bounded (void **state)
{
    (void) state;
    enum { BOMB = 100000 };
    char *text = test_malloc (ARGOS_YAML_SIZE_MAX + 2);
    memset (text, '[', BOMB);
    text[BOMB] = 0;
    s_assert_refused (text, "expected at most 32 levels");
    memset (text, '[', ARGOS_YAML_DEPTH_MAX);
    memset (text + ARGOS_YAML_DEPTH_MAX, ']', ARGOS_YAML_DEPTH_MAX);
    text[ARGOS_YAML_DEPTH_MAX + ARGOS_YAML_DEPTH_MAX] = 0;
    char reason[256];
    json_t *value = s_load (text, NULL, reason);
    assert_non_null (value);
    json_decref (value);
    memset (text, ' ', ARGOS_YAML_SIZE_MAX + 1);
    text[ARGOS_YAML_SIZE_MAX + 1] = 0;
    s_assert_refused (text, "a.yaml:1: expected at most 1048576 bytes");
    test_free (text);
}

static void
a_refusal_in_the_middle_leaks_nothing (void **state)
{
    (void) state;
    s_assert_refused ("a:\n  b:\n    - {c: [1, {d: &x 1}]}\n", "expected no anchors");
    s_assert_refused ("a: {b: {c: \n", "not YAML");
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (plain_scalars_have_the_types_of_the_core_schema),
        cmocka_unit_test (quoted_and_block_scalars_are_strings),
        cmocka_unit_test (structures_nest_in_block_and_flow_form),
        cmocka_unit_test (an_empty_file_is_null),
        cmocka_unit_test (each_value_has_its_line),
        cmocka_unit_test (what_a_configuration_does_not_need_is_refused),
        cmocka_unit_test (what_is_not_yaml_names_its_line),
        cmocka_unit_test (depth_and_size_are_bounded),
        cmocka_unit_test (a_refusal_in_the_middle_leaks_nothing),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
