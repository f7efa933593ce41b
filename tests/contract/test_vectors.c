//  test_vectors - every message type accepts its valid vectors and refuses its invalid ones, naming
//  the place.
//
//  Driven by tests/contract/vectors (see the README there); each body goes through the bytes, as on
//  the wire.

#include "argos_embedded.h"
#include "argos_schema.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char s_folder[4096]; //  tests/contract/vectors

static json_t *
s_read (const char *type)
{
    char path[5000];
    json_error_t error;
    snprintf (path, sizeof path, "%s/%s.json", s_folder, type);
    json_t *vectors = json_load_file (path, JSON_REJECT_DUPLICATES, &error);
    if (!vectors)
        fail_msg ("%s:%d: %s", path, error.line, error.text);
    return vectors;
}

//  "~a*33" becomes 33 times a; anything else is copied

static json_t *
s_expand_text (const char *text)
{
    size_t count = text[0] == '~' && text[1] && text[2] == '*' ? strtoul (text + 3, NULL, 10) : 0;
    if (count == 0)
        return json_string (text);
    char *repeated = malloc (count);
    assert_non_null (repeated);
    memset (repeated, text[1], count);
    json_t *value = json_stringn (repeated, count);
    free (repeated);
    return value;
}

static json_t *
s_expand (json_t *value) //  NOLINT(misc-no-recursion)
{
    const char *name;
    size_t index;
    json_t *inner, *copy;
    if (json_is_string (value))
        return s_expand_text (json_string_value (value));
    if (json_is_object (value)) {
        copy = json_object ();
        json_object_foreach (value, name, inner)
            json_object_set_new (copy, name, s_expand (inner));
        return copy;
    }
    if (json_is_array (value)) {
        copy = json_array ();
        json_array_foreach (value, index, inner)
            json_array_append_new (copy, s_expand (inner));
        return copy;
    }
    return json_deep_copy (value);
}

static json_t *
s_changed (const json_t *base, json_t *change)
{
    const char *name;
    json_t *value;
    if (!json_is_object (change))
        return s_expand (change);
    json_t *body = json_deep_copy (base);
    json_object_foreach (change, name, value) {
        const char *text = json_string_value (value);
        if (text && strcmp (text, "~-") == 0)
            json_object_del (body, name);
        else
            json_object_set_new (body, name, s_expand (value));
    }
    return body;
}

static argos_err_t
s_parse (const char *type, const json_t *body, char *reason, size_t size)
{
    json_t *parsed = NULL;
    char *bytes = json_dumps (body, JSON_ENCODE_ANY | JSON_COMPACT);
    argos_err_t code = argos_schema_parse (type, bytes, strlen (bytes), &parsed, reason, size);
    if (code == ARGOS_OK)
        assert_true (json_equal (parsed, body));
    json_decref (parsed);
    free (bytes);
    return code;
}

static void
s_assert_valid (const char *type, const json_t *vectors)
{
    const json_t *valid = json_object_get (vectors, "valid");
    assert_true (json_array_size (valid) > 0);
    for (size_t at = 0; at < json_array_size (valid); at++) {
        char reason[256] = "";
        json_t *body = s_expand (json_array_get (valid, at));
        if (s_parse (type, body, reason, sizeof reason) != ARGOS_OK)
            fail_msg ("%s: valid[%zu] is refused: %s", type, at, reason);
        json_decref (body);
    }
}

static void
s_assert_invalid (const char *type, const json_t *vectors)
{
    const json_t *base = json_array_get (json_object_get (vectors, "valid"), 0);
    const json_t *invalid = json_object_get (vectors, "invalid");
    assert_true (json_array_size (invalid) > 0);
    for (size_t at = 0; at < json_array_size (invalid); at++) {
        char reason[256] = "";
        const json_t *row = json_array_get (invalid, at);
        const char *place = json_string_value (json_array_get (row, 0));
        json_t *body = s_changed (base, json_array_get (row, 1));
        argos_err_t code = s_parse (type, body, reason, sizeof reason);
        //  A bare word is no body at all, and refused by the parser
        bool not_json = json_is_string (body) && strncmp (reason, "not JSON", 8) == 0;
        if (code != ARGOS_INVALID)
            fail_msg ("%s: invalid[%zu] (%s) is accepted", type, at, place);
        if (!not_json &&
            (strncmp (reason, place, strlen (place)) != 0 || reason[strlen (place)] != ':'))
            fail_msg ("%s: invalid[%zu]: expected %s, found '%s'", type, at, place, reason);
        json_decref (body);
    }
}

//  The type of a schema file, "" when it is none

static void
s_type_of (const argos_embedded_t *file, char *type, size_t size)
{
    const char *suffix = strstr (file->name, ".schema.json");
    snprintf (type, size, "%.*s", suffix ? (int) (suffix - file->name) : 0, file->name);
    if (!argos_schema_known (type))
        type[0] = 0;
}

static void
each_type_accepts_and_refuses_its_vectors (void **state)
{
    (void) state;
    size_t types = 0;
    for (const argos_embedded_t *file = argos_embedded_files; file->name; file++) {
        char type[128];
        s_type_of (file, type, sizeof type);
        if (!type[0])
            continue;
        json_t *vectors = s_read (type);
        s_assert_valid (type, vectors);
        s_assert_invalid (type, vectors);
        json_decref (vectors);
        types++;
    }
    assert_true (types > 50);
}

static void
no_vectors_are_without_a_type (void **state)
{
    (void) state;
    DIR *folder = opendir (s_folder);
    assert_non_null (folder);
    const struct dirent *entry;
    while ((entry = readdir (folder)) != NULL) { //  NOLINT(concurrency-mt-unsafe)
        char type[256];
        const char *suffix = strstr (entry->d_name, ".json");
        if (!suffix)
            continue;
        snprintf (type, sizeof type, "%.*s", (int) (suffix - entry->d_name), entry->d_name);
        if (!argos_schema_known (type))
            fail_msg ("%s: there is no such type", entry->d_name);
    }
    closedir (folder);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_type_accepts_and_refuses_its_vectors),
        cmocka_unit_test (no_vectors_are_without_a_type),
    };
    char reason[256];
    const char *source = getenv ("ARGOS_SOURCE");
    snprintf (s_folder, sizeof s_folder, "%s/tests/contract/vectors", source ? source : ".");
    if (argos_schema_init (reason)) {
        fprintf (stderr, "%s\n", reason);
        return 1;
    }
    int rc = cmocka_run_group_tests (tests, NULL, NULL);
    argos_schema_term ();
    return rc;
}
