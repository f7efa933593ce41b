//  test_store_record - small rows of actors: versions, time, pages, limits.

#include "store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEY "\"space\":\"home\",\"key\":\"telegram\""

//  A member of the record that was read, NULL = there is none.

static const json_t *
s_member (const kit_t *kit, const char *name)
{
    return json_object_get (json_object_get (kit->result, "record"), name);
}

static int64_t
s_version (kit_t *kit)
{
    assert_int_equal (kit_read (kit, "record.get", "{" KEY "}"), ARGOS_OK);
    return json_integer_value (s_member (kit, "version"));
}

//  Put with a version; the code.

static argos_err_t
s_put (kit_t *kit, int64_t version, const char *members)
{
    char body[256];
    snprintf (body, sizeof body, "{" KEY ",\"version\":%lld%s}", (long long) version, members);
    return kit_write (kit, "gateway", "record.put", body);
}

static void
the_first_writer_wins (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    assert_int_equal (s_version (kit), 0);
    assert_int_equal (s_put (kit, 3, ",\"value\":{\"n\":0}"), ARGOS_CONFLICT);
    assert_int_equal (s_put (kit, 0, ",\"value\":{\"n\":1}"), ARGOS_OK);
    assert_int_equal (s_put (kit, 0, ",\"value\":{\"n\":2}"), ARGOS_CONFLICT);
    int64_t version = s_version (kit);
    assert_int_equal (json_integer_value (json_object_get (s_member (kit, "value"), "n")), 1);
    assert_int_equal (s_put (kit, version, ",\"value\":{\"n\":3}"), ARGOS_OK);
    assert_int_equal (s_put (kit, version, ",\"value\":{\"n\":4}"), ARGOS_CONFLICT);
    assert_int_equal (
        kit_write (kit, "gateway", "record.put", "{" KEY ",\"value\":{\"n\":5}}"), ARGOS_OK);
    s_version (kit);
    assert_int_equal (json_integer_value (json_object_get (s_member (kit, "value"), "n")), 5);
    kit_free (kit);
}

static void
a_version_is_never_used_twice (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    assert_int_equal (s_put (kit, 0, ",\"value\":{}"), ARGOS_OK);
    int64_t first = s_version (kit);
    assert_int_equal (s_put (kit, first, ""), ARGOS_OK);
    assert_int_equal (s_version (kit), 0);
    kit_reopen (kit);
    assert_int_equal (s_put (kit, 0, ",\"value\":{}"), ARGOS_OK);
    assert_true (s_version (kit) > first);
    assert_int_equal (s_put (kit, first, ",\"value\":{}"), ARGOS_CONFLICT);
    kit_free (kit);
}

static void
a_record_behind_its_time_is_absent (void **state)
{
    (void) state;
    char members[128];
    kit_t *kit = kit_new (false);
    snprintf (
        members, sizeof members, ",\"value\":{},\"expires_at\":%lld", (long long) kit->now + 1000);
    assert_int_equal (s_put (kit, 0, members), ARGOS_OK);
    assert_true (s_version (kit) > 0);
    kit->now += 1000;
    assert_int_equal (s_version (kit), 0);
    kit_read (kit, "record.list", "{\"space\":\"home\"}");
    assert_int_equal (json_array_size (json_object_get (kit->result, "records")), 0);
    assert_int_equal (s_put (kit, 0, ",\"value\":{\"again\":true}"), ARGOS_OK);
    assert_true (s_version (kit) > 0);
    kit_free (kit);
}

//  All keys with the prefix by pages of two, separated by spaces.

static void
s_walk (kit_t *kit, const char *prefix, char *target, size_t size)
{
    char body[256], after[64] = "";
    size_t length = 0;
    *target = 0;
    for (int page = 0; page < 9; page++) {
        snprintf (body, sizeof body, "{\"space\":\"s\",\"prefix\":\"%s\",\"limit\":2%s%s%s}",
            prefix, *after ? ",\"after\":\"" : "", after, *after ? "\"" : "");
        assert_int_equal (kit_read (kit, "record.list", body), ARGOS_OK);
        size_t index;
        json_t *record;
        json_array_foreach (json_object_get (kit->result, "records"), index, record)
            length += (size_t) snprintf (target + length, size - length, "%s%s", length ? " " : "",
                json_string_value (json_object_get (record, "key")));
        const char *next = json_string_value (json_object_get (kit->result, "next"));
        if (!next)
            return;
        snprintf (after, sizeof after, "%s", next);
    }
    fail_msg ("the list has no end");
}

static void
a_list_has_pages_and_prefixes (void **state)
{
    (void) state;
    static const char *const keys[] = { "b:1", "a:2", "a:1", "a", "a:\xF0\x9F\x98\x80", "c", "a_" };
    char body[128], found[256];
    kit_t *kit = kit_new (false);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf (body, sizeof body, "{\"space\":\"s\",\"key\":\"%s\",\"value\":{}}", keys[i]);
        assert_int_equal (kit_write (kit, "gateway", "record.put", body), ARGOS_OK);
        snprintf (body, sizeof body, "{\"space\":\"t\",\"key\":\"%s\",\"value\":{}}", keys[i]);
        assert_int_equal (kit_write (kit, "gateway", "record.put", body), ARGOS_OK);
    }
    s_walk (kit, "", found, sizeof found);
    assert_string_equal (found, "a a:1 a:2 a:\xF0\x9F\x98\x80 a_ b:1 c");
    s_walk (kit, "a:", found, sizeof found);
    assert_string_equal (found, "a:1 a:2 a:\xF0\x9F\x98\x80");
    s_walk (kit, "x", found, sizeof found);
    assert_string_equal (found, "");
    kit_free (kit);
}

static void
a_value_has_a_limit (void **state)
{
    (void) state;
    static char body[40000];
    kit_t *kit = kit_new (false);
    int length = snprintf (body, sizeof body, "{" KEY ",\"value\":{\"v\":\"");
    memset (body + length, 'x', 32768);
    snprintf (body + length + 32768, sizeof body - (size_t) length - 32768, "\"}}");
    assert_int_equal (kit_write (kit, "gateway", "record.put", body), ARGOS_TOO_BIG);
    assert_int_equal (s_version (kit), 0);
    snprintf (body + length + 32768 - 8, 32, "\"}}");
    assert_int_equal (kit_write (kit, "gateway", "record.put", body), ARGOS_OK);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_first_writer_wins),
        cmocka_unit_test (a_version_is_never_used_twice),
        cmocka_unit_test (a_record_behind_its_time_is_absent),
        cmocka_unit_test (a_list_has_pages_and_prefixes),
        cmocka_unit_test (a_value_has_a_limit),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
