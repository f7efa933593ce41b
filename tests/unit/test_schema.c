//  test_schema - the compiler and the validator of schemas, keyword by keyword, and parsing of
//  bodies.

#include "argos_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static argos_schema_t *
s_compile (const char *text, char *reason)
{
    json_t *schema = json_loads (text, JSON_DECODE_ANY, NULL);
    if (!schema)
        fail_msg ("not JSON: %s", text);
    reason[0] = 0;
    argos_schema_t *compiled = argos_schema_compile (schema, reason, 256);
    json_decref (schema);
    return compiled;
}

typedef struct {
    char text[1024]; //  All problems, "path: expected|"
    int unknown;     //  How many were unknown members
} problems_t;

static void
s_note (void *arg, const char *path, const char *expected, bool unknown)
{
    problems_t *problems = arg;
    size_t used = strlen (problems->text);
    snprintf (problems->text + used, sizeof problems->text - used, "%s: %s|", path, expected);
    problems->unknown += unknown;
}

//  The problems of a value; "" = it fits

static void
s_assert_problems (const char *schema, const char *value, const char *expected)
{
    char reason[256];
    problems_t problems = { "", 0 };
    argos_schema_t *compiled = s_compile (schema, reason);
    if (!compiled)
        fail_msg ("%s: %s", schema, reason);
    json_t *json = json_loads (value, JSON_DECODE_ANY, NULL);
    if (!json)
        fail_msg ("not JSON: %s", value);
    argos_schema_validate (compiled, json, s_note, &problems);
    assert_string_equal (problems.text, expected);
    json_decref (json);
    argos_schema_destroy (&compiled);
}

static void
types_are_told_apart (void **state)
{
    (void) state;
    s_assert_problems ("{\"type\":\"integer\"}", "1", "");
    s_assert_problems ("{\"type\":\"integer\"}", "1.0", ": an integer|");
    s_assert_problems ("{\"type\":\"number\"}", "1", "");
    s_assert_problems ("{\"type\":\"number\"}", "1.5", "");
    s_assert_problems ("{\"type\":\"boolean\"}", "1", ": true or false|");
    s_assert_problems ("{\"type\":[\"string\",\"null\"]}", "null", "");
    s_assert_problems ("{\"type\":[\"string\",\"null\"]}", "1", ": a string or null|");
    s_assert_problems ("{\"type\":\"object\"}", "[]", ": an object|");
    s_assert_problems ("{\"type\":\"array\"}", "{}", ": an array|");
    s_assert_problems ("{}", "false", "");
}

static void
strings_have_bounds_in_characters_and_in_bytes (void **state)
{
    (void) state;
    s_assert_problems ("{\"type\":\"string\",\"maxLength\":2}", "\"\xc3\xa4\xc3\xb6\"", "");
    s_assert_problems ("{\"type\":\"string\",\"x-maxBytes\":2}", "\"\xc3\xa4\xc3\xb6\"",
        ": a string of at most 2 bytes|");
    s_assert_problems ("{\"type\":\"string\",\"minLength\":1,\"maxLength\":2}", "\"\"",
        ": a string of 1 to 2 characters|");
    s_assert_problems ("{\"type\":\"string\",\"minLength\":3}", "\"\xc3\xa4\xc3\xb6\"",
        ": a string of at least 3 characters|");
}

static void
patterns_match_or_not (void **state)
{
    (void) state;
    const char *schema = "{\"type\":\"string\",\"pattern\":\"^run_[0-9a-f]{2}$\"}";
    s_assert_problems (schema, "\"run_0f\"", "");
    s_assert_problems (schema, "\"run_0g\"", ": a string that matches ^run_[0-9a-f]{2}$|");
    s_assert_problems (schema, "\"run_0f\\n\"", ": a string that matches ^run_[0-9a-f]{2}$|");
}

static void
numbers_have_inclusive_bounds (void **state)
{
    (void) state;
    const char *schema = "{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535}";
    s_assert_problems (schema, "1", "");
    s_assert_problems (schema, "65535", "");
    s_assert_problems ("{\"type\":\"integer\",\"maximum\":9007199254740992}", "9007199254740993",
        ": an integer of at most 9007199254740992|");
    s_assert_problems (schema, "0", ": an integer from 1 to 65535|");
    s_assert_problems (schema, "65536", ": an integer from 1 to 65535|");
    s_assert_problems ("{\"type\":\"number\",\"minimum\":0}", "-0.5", ": a number of at least 0|");
}

static void
enum_and_const_compare_values (void **state)
{
    (void) state;
    s_assert_problems ("{\"enum\":[\"a\",1,null]}", "null", "");
    s_assert_problems ("{\"enum\":[\"a\",1,null]}", "\"b\"", ": one of a, 1, null|");
    s_assert_problems ("{\"const\":{\"a\":[1]}}", "{\"a\":[1]}", "");
    s_assert_problems ("{\"const\":2}", "1", ": 2|");
}

static void
arrays_check_count_and_items (void **state)
{
    (void) state;
    const char *schema =
        "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":2}";
    s_assert_problems (schema, "[1,2]", "");
    s_assert_problems (schema, "[]", ": an array of 1 to 2 items|");
    s_assert_problems (schema, "[1,2,3]", ": an array of 1 to 2 items|");
    s_assert_problems (schema, "[1,\"x\"]", "[1]: an integer|");
}

static void
problems_name_the_place (void **state)
{
    (void) state;
    const char *schema =
        "{\"type\":\"object\",\"properties\":{\"list\":{\"type\":\"array\",\"items\":"
        "{\"type\":\"object\",\"required\":[\"role\"],\"properties\":{\"role\":{"
        "\"type\":\"string\"},\"n\":{\"type\":\"integer\"}}}}}}";
    s_assert_problems (schema, "{\"list\":[{\"role\":\"a\"},{\"n\":true}]}",
        "list[1].role: a string; it is missing|list[1].n: an integer|");
}

static void
unknown_members_are_ignored_or_told_with_the_nearest_name (void **state)
{
    (void) state;
    const char *open = "{\"type\":\"object\",\"properties\":{\"port\":{},\"host\":{}}}";
    const char *closed = "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
                         "\"port\":{},\"host\":{}}}";
    s_assert_problems (open, "{\"prot\":1}", "");
    s_assert_problems (closed, "{\"host\":1,\"prot\":1}", "prot: port|");
    s_assert_problems (closed, "{\"completely\":1}", "completely: |");
    s_assert_problems (closed, "{\"a b\\u0007\xc3\xa4\":1}", "a?b???: |");
}

static void
maps_have_names_and_values_of_one_kind (void **state)
{
    (void) state;
    const char *map = "{\"$defs\":{\"n\":{\"type\":\"integer\",\"description\":\"d\"}},"
                      "\"properties\":{\"m\":{\"type\":\"object\",\"properties\":{\"x\":{}},"
                      "\"propertyNames\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"},"
                      "\"additionalProperties\":{\"$ref\":\"#/$defs/n\"}}}}";
    s_assert_problems (map, "{\"m\":{\"a\":1,\"x\":\"any\"}}", "");
    s_assert_problems (map, "{\"m\":{\"a\":\"1\"}}", "m.a: an integer|");
    s_assert_problems (map, "{\"m\":{\"A\":1}}", "m.A: a string that matches ^[a-z]+$|");
}

static void
the_number_of_problems_is_bounded (void **state)
{
    (void) state;
    char reason[256];
    argos_schema_t *schema = s_compile ("{\"items\":{\"type\":\"null\"}}", reason);
    json_t *value = json_array ();
    for (int at = 0; at < 1000; at++)
        json_array_append_new (value, json_true ());
    assert_int_equal (argos_schema_validate (schema, value, NULL, NULL), 64);
    json_decref (value);
    argos_schema_destroy (&schema);
    argos_schema_destroy (&schema);
}

static void
schemas_that_say_more_than_is_checked_are_refused (void **state)
{
    (void) state;
    static const char *const rows[][2] = {
        { "{\"allOf\":[{\"type\":\"string\"}]}", "allOf: expected objects with if and then" },
        { "{\"allOf\":{}}", "allOf: expected a list" },
        { "{\"oneOf\":[]}", "unsupported keyword oneOf" },
        { "{\"$ref\":\"#/x\"}", "$ref: expected #/$defs/NAME" },
        { "{\"$ref\":\"#/$defs/x\",\"$defs\":{}}", "$ref: expected #/$defs/NAME" },
        { "{\"items\":{\"$ref\":\"#/$defs/x\",\"maximum\":1},\"$defs\":{\"x\":{}}}",
            "$ref: maximum can't stand beside it" },
        { "{\"items\":{\"$ref\":\"#/$defs/x\"},\"$defs\":{\"x\":{\"items\":{\"$ref\":"
          "\"#/$defs/x\"}}}}",
            "more than 32 levels" },
        { "{\"properties\":{\"a\":{\"format\":\"uri\"}}}", "a: unsupported keyword format" },
        { "{\"type\":\"text\"}", "unknown type text" },
        { "{\"type\":[]}", "the list is empty" },
        { "{\"minLength\":-1}", "minLength: expected an integer of at least 0" },
        { "{\"maxItems\":\"1\"}", "maxItems: expected an integer" },
        { "{\"minimum\":\"1\"}", "minimum: expected a number" },
        { "{\"required\":[\"a\"]}", "required: a is not in properties" },
        { "{\"required\":\"a\"}", "required: expected a list" },
        { "{\"additionalProperties\":1}", "additionalProperties: expected true, false or" },
        { "{\"enum\":[]}", "enum: expected a list" },
        { "{\"enum\":[1],\"const\":1}", "exclude each other" },
        { "{\"pattern\":\"\\\\d\"}", "pattern: a backslash" },
        { "{\"pattern\":\"a.b\"}", "pattern: no unescaped dot" },
        { "{\"pattern\":\"(?:a)\"}", "pattern: no groups" },
        { "{\"pattern\":\"a+?\"}", "no lazy repetition" },
        { "{\"pattern\":\"[a\"}", "pattern: [ without ]" },
        { "{\"pattern\":\"[[:alpha:]]\"}", "pattern: no [ within [ ]" },
        { "{\"pattern\":\"(a\"}", "pattern: not an expression" },
        { "{\"pattern\":1}", "pattern: expected a string" },
        { "{\"properties\":[]}", "properties: expected an object" },
        { "{\"items\":[]}", "expected a schema object" },
        { "true", "expected a schema object" },
    };
    char reason[256];
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        if (s_compile (rows[row][0], reason))
            fail_msg ("compiled: %s", rows[row][0]);
        if (!strstr (reason, rows[row][1]))
            fail_msg ("'%s' is not in '%s'", rows[row][1], reason);
    }
}

static void
a_schema_is_at_most_32_levels_deep (void **state)
{
    (void) state;
    char text[1024] = "", reason[256];
    for (int level = 0; level < 32; level++)
        strncat (text, "{\"items\":", sizeof text - strlen (text) - 1);
    strncat (text, "{}", sizeof text - strlen (text) - 1);
    for (int level = 0; level < 32; level++)
        strncat (text, "}", sizeof text - strlen (text) - 1);
    assert_null (s_compile (text, reason));
    assert_non_null (strstr (reason, "levels"));
}

//  Bodies

static void
s_assert_parse (const char *type, const char *data, size_t size, argos_err_t code, const char *part)
{
    char reason[256] = "";
    json_t *body = NULL;
    argos_err_t found = argos_schema_parse (type, data, size, &body, reason, sizeof reason);
    if (found != code || !strstr (reason, part))
        fail_msg ("%.60s: %s, '%s'", data, argos_err_name (found), reason);
    assert_true ((body != NULL) == (code == ARGOS_OK));
    json_decref (body);
}

static void
bodies_are_parsed_strictly (void **state)
{
    (void) state;
    static const struct {
        const char *data;   //  Body of a cursor.put
        const char *reason; //  Part of the sentence
    } rows[] = {
        { "{\"name\":\"a\",\"value\":1,\"name\":\"b\"}", "not JSON" },
        { "{\"name\":\"\xff,\"value\":1}", "not JSON" },
        { "{\"name\":\"a\",\"\\u0000\":1,\"\xff\":2,\"value\":1}", "not JSON" },
        { "{\"na\\u0000me\":\"a\",\"value\":1}", "name: expected" },
        { "{\"name\":\"a\",\"value\":99999999999999999999}", "not JSON" },
        { "{\"name\":\"a\",\"value\":1e999}", "not JSON" },
        { "{\"name\":\"a\",\"value\":1} x", "not JSON" },
        { "{\"name\":\"a\",", "not JSON (line 1" },
        { "[1]", "body: expected an object" },
        { "\"x\"", "not JSON" },
        { " ", "not JSON" },
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        s_assert_parse (
            "cursor.put", rows[row].data, strlen (rows[row].data), ARGOS_INVALID, rows[row].reason);
    s_assert_parse ("cursor.put", "{\"name\":\"a\",\"value\":{\"x\":[]}}", 29, ARGOS_OK, "");
}

//  docs/adr: a character that does not exist is no reason to refuse the rest.

static void
characters_that_do_not_exist_are_replaced (void **state)
{
    (void) state;
    static const char *const names[] = { "\xff", "\\ud800", "\\u0000" };
    for (size_t i = 0; i < 3; i++) {
        char data[64], reason[256] = "";
        json_t *body = NULL;
        snprintf (data, sizeof data, "{\"name\":\"a%sb\",\"value\":1}", names[i]);
        assert_int_equal (
            argos_schema_parse ("cursor.put", data, strlen (data), &body, reason, sizeof reason),
            ARGOS_OK);
        assert_string_equal (json_string_value (json_object_get (body, "name")), "a\xef\xbf\xbd"
                                                                                 "b");
        json_decref (body);
    }
}

static void
a_refusal_never_repeats_what_was_sent (void **state)
{
    (void) state;
    char reason[256] = "";
    json_t *body = NULL;
    const char *data = "{\"name\":secret-token}";
    assert_int_equal (
        argos_schema_parse ("cursor.put", data, strlen (data), &body, reason, sizeof reason),
        ARGOS_INVALID);
    assert_null (strstr (reason, "secret"));
}

static void
deep_bodies_are_refused_before_they_are_built (void **state)
{
    (void) state;
    enum { BOMB = 500000 };
    char *bomb = test_malloc (BOMB);
    memset (bomb, '[', BOMB);
    s_assert_parse ("cursor.put", bomb, BOMB, ARGOS_INVALID, "body: expected at most 64 levels");
    memset (bomb, '{', BOMB);
    s_assert_parse ("cursor.put", bomb, BOMB, ARGOS_INVALID, "body: expected at most 64 levels");
    test_free (bomb);
    const char *brackets_in_text =
        "{\"name\":\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\","
        "\"value\":0}";
    s_assert_parse ("cursor.put", brackets_in_text, strlen (brackets_in_text), ARGOS_OK, "");
}

static void
an_empty_body_is_an_empty_object (void **state)
{
    (void) state;
    s_assert_parse ("ping", "", 0, ARGOS_OK, "");
    s_assert_parse ("hello", NULL, 0, ARGOS_INVALID, "name: expected a string");
}

static void
types_are_known_or_not (void **state)
{
    (void) state;
    assert_true (argos_schema_known ("message.inbound"));
    assert_true (argos_schema_known ("hello"));
    assert_false (argos_schema_known ("header"));
    assert_false (argos_schema_known ("config"));
    assert_false (argos_schema_known (""));
    s_assert_parse ("no.such.type", "{}", 2, ARGOS_UNKNOWN_TYPE, "no such message type");
    json_t *body = json_object ();
    assert_int_equal (argos_schema_check ("zzz", body, NULL, 0), ARGOS_UNKNOWN_TYPE);
    assert_int_equal (argos_schema_check ("hello", body, NULL, 0), ARGOS_INVALID);
    assert_int_equal (argos_schema_check ("bye", body, NULL, 0), ARGOS_OK);
    json_decref (body);
}

static void
error_codes_have_names (void **state)
{
    (void) state;
    for (int code = 0; code < ARGOS_ERR_COUNT; code++) {
        assert_int_equal (argos_err_from_name (argos_err_name ((argos_err_t) code)), code);
        assert_true (argos_err_text ((argos_err_t) code)[0] != 0);
    }
    assert_int_equal (argos_err_from_name ("nonsense"), ARGOS_INTERNAL);
    assert_int_equal (argos_err_from_name (NULL), ARGOS_INTERNAL);
    assert_string_equal (argos_err_name (ARGOS_ERR_COUNT), "internal");
}

static int
s_init (void **state)
{
    (void) state;
    char reason[256];
    return argos_schema_init (reason);
}

static int
s_term (void **state)
{
    (void) state;
    argos_schema_term ();
    return 0;
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (types_are_told_apart),
        cmocka_unit_test (strings_have_bounds_in_characters_and_in_bytes),
        cmocka_unit_test (patterns_match_or_not),
        cmocka_unit_test (numbers_have_inclusive_bounds),
        cmocka_unit_test (enum_and_const_compare_values),
        cmocka_unit_test (arrays_check_count_and_items),
        cmocka_unit_test (problems_name_the_place),
        cmocka_unit_test (unknown_members_are_ignored_or_told_with_the_nearest_name),
        cmocka_unit_test (the_number_of_problems_is_bounded),
        cmocka_unit_test (maps_have_names_and_values_of_one_kind),
        cmocka_unit_test (schemas_that_say_more_than_is_checked_are_refused),
        cmocka_unit_test (a_schema_is_at_most_32_levels_deep),
        cmocka_unit_test (bodies_are_parsed_strictly),
        cmocka_unit_test (characters_that_do_not_exist_are_replaced),
        cmocka_unit_test (a_refusal_never_repeats_what_was_sent),
        cmocka_unit_test (deep_bodies_are_refused_before_they_are_built),
        cmocka_unit_test (an_empty_body_is_an_empty_object),
        cmocka_unit_test (types_are_known_or_not),
        cmocka_unit_test (error_codes_have_names),
    };
    return cmocka_run_group_tests (tests, s_init, s_term);
}
