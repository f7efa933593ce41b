//  test_header_schema - the scanner of headers and header.schema.json say the same; limits.json is
//  what C has.
//
//  Two properties over seeded headers. Built from values without escapes: both accept or both
//  refuse. With bytes then damaged: whatever the scanner accepts is accepted by parser and schema
//  as well (the scanner takes a subset: no escapes in names and tokens).

#include "argos_embedded.h"
#include "argos_header.h"
#include "argos_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 20000 //  Headers of each property

static argos_schema_t *s_schema; //  header.schema.json
static uint64_t s_seed;          //  State of the generator

static uint32_t
s_random (uint32_t below)
{
    s_seed = s_seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t) (s_seed >> 33) % below;
}

static bool
s_schema_accepts (const char *text, size_t size)
{
    json_t *header = json_loadb (text, size, JSON_REJECT_DUPLICATES, NULL);
    bool accepted = header && argos_schema_validate (s_schema, header, NULL, NULL) == 0;
    json_decref (header);
    return accepted;
}

static bool
s_scanner_accepts (const char *text, size_t size)
{
    static argos_header_t header;
    return argos_header_read (text, size, &header, NULL) == ARGOS_OK;
}

//  Values that are right, almost right, or wrong, for any member

static const char *const s_values[] = { "\"hello\"", "\"a.b_c-1\"", "\"A\"", "\"\"", "\"a b\"",
    "\"run_0[1]:x~!\"", "\"store\"", "\"stores\"", "\"actor:x\"", "\"actor:\"", "\"service:turn\"",
    "\"topic:run.1\"", "\"other:x\"", "\"\xc3\xa4\"", "\"\x7f\"", "true", "false", "null", "0", "1",
    "-1", "17", "86400000", "86400001", "9007199254740992", "9007199254740993", "1.0", "1e2", "01",
    "[]", "[1]", "[1,2,3]", "[0]", "[-1]", "[\"1\"]", "[[1]]", "{}", "\"\xff\"", "tru", "\"x",
    "99999999999999999999" };

static const char *const s_names[] = { "type", "id", "to", "key", "re", "trace", "durable", "side",
    "urgent", "keyframe", "last", "ttl_ms", "not_before", "seq", "lease", "n", "take", "seen",
    "other", "Type" };

#define COUNT(array) (uint32_t) (sizeof (array) / sizeof (array)[0])

//  A header of up to six members; the first is mostly a good type

static size_t
s_build (char *text, size_t size)
{
    uint32_t members = s_random (6);
    size_t used = (size_t) snprintf (text, size, "{");
    if (s_random (8))
        used +=
            (size_t) snprintf (text + used, size - used, "\"type\":\"t\"%s", members ? ", " : "");
    for (uint32_t at = 0; at < members; at++)
        used += (size_t) snprintf (text + used, size - used, "%s\"%s\" :%s", at ? "," : "",
            s_names[s_random (COUNT (s_names))], s_values[s_random (COUNT (s_values))]);
    return used + (size_t) snprintf (text + used, size - used, "}");
}

static void
scanner_and_schema_agree (void **state)
{
    (void) state;
    uint32_t accepted = 0;
    s_seed = 1;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        char text[1024];
        size_t size = s_build (text, sizeof text);
        bool scanned = s_scanner_accepts (text, size);
        if (scanned != s_schema_accepts (text, size))
            fail_msg ("round %u: scanner %d, schema %d: %s", round, scanned, !scanned, text);
        accepted += scanned;
    }
    assert_true (accepted > ROUNDS / 20);
}

static void
what_the_scanner_accepts_fits_the_schema (void **state)
{
    (void) state;
    static const char damage[] = "\"\\{}[]:,01- \t\x80\xc3ux";
    s_seed = 2;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        char text[1024];
        size_t size = s_build (text, sizeof text);
        for (uint32_t hits = s_random (3); hits; hits--)
            text[s_random ((uint32_t) size)] = damage[s_random (sizeof damage)];
        if (s_scanner_accepts (text, size) && !s_schema_accepts (text, size))
            fail_msg ("round %u: the scanner accepts %s", round, text);
    }
}

static void
lengths_have_the_same_bounds (void **state)
{
    (void) state;
    static const struct {
        const char *name;   //  Member
        const char *prefix; //  What a value begins with
        size_t max;         //  Longest value
    } rows[] = { { "type", "", ARGOS_TYPE_MAX }, { "id", "", ARGOS_ID_MAX },
        { "re", "", ARGOS_ID_MAX }, { "to", "topic:", ARGOS_TO_MAX }, { "key", "", ARGOS_KEY_MAX },
        { "trace", "", 64 } };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        for (size_t extra = 0; extra < 2; extra++) {
            char value[2048], text[4096];
            size_t size = rows[row].max + extra;
            memset (value, 'x', size);
            memcpy (value, rows[row].prefix, strlen (rows[row].prefix));
            value[size] = 0;
            bool is_type = strcmp (rows[row].name, "type") == 0;
            int used = snprintf (text, sizeof text, "{%s\"%s\":\"%s\"}",
                is_type ? "" : "\"type\":\"t\",", rows[row].name, value);
            if (s_scanner_accepts (text, (size_t) used) != (extra == 0) ||
                s_schema_accepts (text, (size_t) used) != (extra == 0))
                fail_msg ("%s of %zu bytes", rows[row].name, size);
        }
}

static void
take_holds_at_most_64 (void **state)
{
    (void) state;
    for (int count = 64; count <= 65; count++) {
        char text[1024] = "{\"type\":\"done\",\"take\":[1";
        for (int at = 1; at < count; at++)
            strncat (text, ",1", sizeof text - strlen (text) - 1);
        strncat (text, "]}", sizeof text - strlen (text) - 1);
        assert_int_equal (s_scanner_accepts (text, strlen (text)), count == 64);
        assert_int_equal (s_schema_accepts (text, strlen (text)), count == 64);
    }
}

static void
limits_are_those_of_the_code (void **state)
{
    (void) state;
    static const struct {
        const char *name; //  In limits.json
        json_int_t value; //  In C
    } rows[] = { { "header_bytes", ARGOS_HEADER_MAX }, { "body_bytes", ARGOS_PART_MAX },
        { "commit_bytes", ARGOS_COMMIT_MAX }, { "commit_parts", ARGOS_PARTS_MAX },
        { "commit_take", ARGOS_TAKE_MAX }, { "type_bytes", ARGOS_TYPE_MAX },
        { "id_bytes", ARGOS_ID_MAX }, { "address_bytes", ARGOS_TO_MAX },
        { "key_bytes", ARGOS_KEY_MAX }, { "name_bytes", ARGOS_NAME_MAX },
        { "hops", ARGOS_HOPS_MAX } };
    const argos_embedded_t *file = argos_embedded_find ("limits.json");
    json_t *limits = json_loadb (file->data, file->size, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal (json_object_size (limits), sizeof rows / sizeof rows[0]);
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const json_t *limit = json_object_get (limits, rows[row].name);
        if (json_integer_value (json_object_get (limit, "value")) != rows[row].value)
            fail_msg ("%s is %lld in C", rows[row].name, (long long) rows[row].value);
    }
    json_decref (limits);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (scanner_and_schema_agree),
        cmocka_unit_test (what_the_scanner_accepts_fits_the_schema),
        cmocka_unit_test (lengths_have_the_same_bounds),
        cmocka_unit_test (take_holds_at_most_64),
        cmocka_unit_test (limits_are_those_of_the_code),
    };
    const argos_embedded_t *file = argos_embedded_find ("header.schema.json");
    json_t *schema = json_loadb (file->data, file->size, 0, NULL);
    s_schema = argos_schema_compile (schema, NULL, 0);
    json_decref (schema);
    int rc = cmocka_run_group_tests (tests, NULL, NULL);
    argos_schema_destroy (&s_schema);
    return rc;
}
