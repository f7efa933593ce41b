//  test_embedded - what a program carries of schema/ says what the files say: schemas without the
//  words for people, all else byte for byte.

#include "argos_embedded.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FILE_MAX 131072 //  Bytes of a file

//  Takes out what only people read: a text; a member of an object may have the same name.

static void //  NOLINTNEXTLINE(misc-no-recursion): as deep as a schema
s_strip (json_t *value)
{
    static const char *const words[] = { "description", "title", "$schema" };
    size_t index;
    const char *name;
    json_t *inner;
    json_array_foreach (value, index, inner)
        s_strip (inner);
    if (!json_is_object (value))
        return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (json_is_string (json_object_get (value, words[i])))
            json_object_del (value, words[i]);
    json_object_foreach (value, name, inner)
        s_strip (inner);
}

static json_t *
s_read (const char *text, size_t size)
{
    json_t *schema = json_loadb (text, size, JSON_DECODE_ANY, NULL);
    assert_non_null (schema);
    s_strip (schema);
    return schema;
}

static void
each_file_says_the_same_inside (void **state)
{
    static char text[FILE_MAX];
    char path[1024];
    size_t schemas = 0, smaller = 0;
    (void) state;
    for (size_t i = 0; i < argos_embedded_count; i++) {
        const argos_embedded_t *file = &argos_embedded_files[i];
        bool example = strcmp (file->name, "argos.example.yaml") == 0;
        snprintf (path, sizeof path, "%s/%s%s", getenv ("ARGOS_SOURCE"), example ? "" : "schema/",
            file->name);
        FILE *in = fopen (path, "re");
        if (!in)
            fail_msg ("%s", path);
        size_t size = fread (text, 1, sizeof text, in);
        fclose (in);
        assert_true (size < sizeof text);
        if (!strstr (file->name, ".schema.json")) {
            assert_int_equal (file->size, size);
            assert_memory_equal (file->data, text, size);
            continue;
        }
        json_t *inside = s_read (file->data, file->size), *outside = s_read (text, size);
        if (!json_equal (inside, outside))
            fail_msg ("%s", file->name);
        json_decref (inside);
        json_decref (outside);
        schemas++;
        smaller += file->size * 10 < size * 8;
    }
    assert_true (schemas > 100 && smaller * 10 > schemas * 9);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (each_file_says_the_same_inside) };
    return cmocka_run_group_tests_name ("embedded", tests, NULL, NULL);
}
