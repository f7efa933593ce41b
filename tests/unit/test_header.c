//  What argos_header_read takes and what it refuses, member by member; and the base of a name.

#include "argos_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

//  Reads from a copy of exactly the right size, so that a sanitizer sees a read beyond it.

static argos_err_t
s_read (const char *text, size_t size, argos_header_t *ret_header)
{
    char *copy = malloc (size ? size : 1);
    assert_non_null (copy);
    memcpy (copy, text, size);
    argos_err_t code = argos_header_read (copy, size, ret_header, NULL);
    free (copy);
    return code;
}

static void
test_all_members_are_read (void **state)
{
    (void) state;
    static const char text[] =
        " {\"type\":\"turn.request\",\"id\":\"a:1\",\"to\":\"service:turn\",\"key\":\"k\\u00e9 "
        "\\\"\\ud83d\\ude00\","
        "\"re\":\"r\",\"trace\":\"00-1\",\"durable\":true,\"side\":false,\"urgent\":true,"
        "\"keyframe\":true,"
        "\"last\":true,\"ttl_ms\":1,\"not_before\":2,\"seq\":3,\"lease\":4,\"n\":5,\"seen\":0,"
        "\"take\":[6, 7 ,8]} \n";
    argos_header_t header;
    assert_int_equal (s_read (text, sizeof text - 1, &header), ARGOS_OK);
    assert_string_equal (header.type, "turn.request");
    assert_string_equal (header.id, "a:1");
    assert_int_equal (header.to, ARGOS_TO_SERVICE);
    assert_string_equal (header.name, "turn");
    assert_string_equal (header.key, "k\xc3\xa9 \"\xf0\x9f\x98\x80");
    assert_string_equal (header.re, "r");
    assert_true (header.durable && !header.side && header.urgent && header.keyframe && header.last);
    assert_true (header.ttl_ms == 1 && header.not_before == 2 && header.seq == 3);
    assert_true (header.lease == 4 && header.n == 5 && header.has_seen && header.has_key);
    assert_int_equal (header.take_count, 3);
    assert_int_equal (header.take[2], 8);
}

static void
test_absent_members_are_zero (void **state)
{
    (void) state;
    argos_header_t header;
    memset (&header, 0xAA, sizeof header);
    assert_int_equal (s_read ("{\"type\":\"ping\"}", 15, &header), ARGOS_OK);
    assert_true (header.id[0] == 0 && header.key[0] == 0 && header.to == ARGOS_TO_NONE);
    assert_true (!header.durable && !header.has_seen && !header.has_key && header.take_count == 0);
}

static void
test_each_fault_is_refused (void **state)
{
    (void) state;
    static const char *const faults[] = { "", "{}", "[]", "5", "{", "{\"type\"",
        "{\"type\":", "{\"type\":\"", "{\"type\":\"a\"", "{\"type\":\"a\",}", "{\"type\":\"a\"}x",
        "{\"type\":\"A\"}", "{\"type\":\"\"}", "{\"type\":\"a b\"}",
        "{\"type\":\"a\",\"type\":\"a\"}", "{\"type\":\"a\",\"other\":1}",
        "{\"type\":\"a\",\"id\":1}", "{\"type\":\"a\",\"id\":\"\"}",
        "{\"type\":\"a\",\"id\":\"\\u0041\"}", "{\"type\":\"a\",\"to\":\"somewhere\"}",
        "{\"type\":\"a\",\"to\":\"service:\"}", "{\"type\":\"a\",\"key\":\"\\u0000\"}",
        "{\"type\":\"a\",\"key\":\"\\ud800\"}", "{\"type\":\"a\",\"key\":\"\\ud800\\u0041\"}",
        "{\"type\":\"a\",\"key\":\"\\udc00\"}", "{\"type\":\"a\",\"key\":\"\xff\"}",
        "{\"type\":\"a\",\"key\":\"\xc0\x80\"}", "{\"type\":\"a\",\"key\":\"\xed\xa0\x80\"}",
        "{\"type\":\"a\",\"key\":\"\xe2\x82\"}", "{\"type\":\"a\",\"key\":\"\n\"}",
        "{\"type\":\"a\",\"key\":\"\\x\"}", "{\"type\":\"a\",\"key\":{}}",
        "{\"type\":\"a\",\"durable\":1}", "{\"type\":\"a\",\"durable\":tru}",
        "{\"type\":\"a\",\"durable\":\"true\"}", "{\"type\":\"a\",\"seq\":0}",
        "{\"type\":\"a\",\"seq\":-1}", "{\"type\":\"a\",\"seq\":01}",
        "{\"type\":\"a\",\"seq\":1.5}", "{\"type\":\"a\",\"seq\":1e3}",
        "{\"type\":\"a\",\"seq\":9007199254740993}",
        "{\"type\":\"a\",\"seq\":99999999999999999999999}", "{\"type\":\"a\",\"ttl_ms\":0}",
        "{\"type\":\"a\",\"ttl_ms\":86400001}", "{\"type\":\"a\",\"take\":[}",
        "{\"type\":\"a\",\"take\":[1,]}", "{\"type\":\"a\",\"take\":[[1]]}",
        "{\"type\":\"a\",\"take\":1}", "{\"type\":\"a\" \"id\":\"b\"}" };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        argos_header_t header;
        argos_err_t code = s_read (faults[i], strlen (faults[i]), &header);
        if (code != ARGOS_INVALID)
            fail_msg ("taken: %s", faults[i]);
    }
    argos_header_t header;
    assert_int_equal (s_read ("{\"type\":\"a\0\"}", 13, &header), ARGOS_INVALID);
}

static void
test_limits_are_exact (void **state)
{
    (void) state;
    char text[ARGOS_HEADER_MAX + 2];
    argos_header_t header;
    memset (text, ' ', sizeof text);
    memcpy (text, "{\"type\":\"a\"}", 12);
    assert_int_equal (s_read (text, ARGOS_HEADER_MAX, &header), ARGOS_OK);
    assert_int_equal (s_read (text, ARGOS_HEADER_MAX + 1, &header), ARGOS_TOO_BIG);

    static const char start[] = "{\"type\":\"a\",\"key\":\"";
    memcpy (text, start, sizeof start - 1);
    memset (text + sizeof start - 1, 'k', ARGOS_KEY_MAX + 1);
    memcpy (text + sizeof start - 1 + ARGOS_KEY_MAX, "\"}", 2);
    assert_int_equal (s_read (text, sizeof start - 1 + ARGOS_KEY_MAX + 2, &header), ARGOS_OK);
    memcpy (text + sizeof start - 1 + ARGOS_KEY_MAX, "k\"}", 3);
    assert_int_equal (s_read (text, sizeof start - 1 + ARGOS_KEY_MAX + 3, &header), ARGOS_INVALID);
}

static void
test_the_id_of_a_bad_header_is_known_when_it_was_read (void **state)
{
    (void) state;
    argos_header_t header;
    static const char text[] = "{\"id\":\"x1\",\"type\":\"a\",\"bad\":1}";
    assert_int_equal (s_read (text, sizeof text - 1, &header), ARGOS_INVALID);
    assert_string_equal (header.id, "x1");
    static const struct {
        const char *text, *id; //  A bad header, and the id that it has
    } cases[] = { { "{\"type\":\"x\",\"foo\":1,\"id\":\"x2\"}", "x2" },
        { "{\"foo\":{\"id\":\"no\"},\"bar\":\"\\\"id\\\":\\\"no\\\"\", \"id\" : \"x3\"}", "x3" },
        { "{\"foo\":\"id\",\"bar\":\"no\"}", "" }, { "{\"foo\":1,\"id\":\"a b\"}", "" },
        { "{\"foo\":1,\"id\":5}", "" }, { "{\"foo\":1,\"id\":\"cut", "" },
        { "{\"foo\":\"\\", "" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal (s_read (cases[i].text, strlen (cases[i].text), &header), ARGOS_INVALID);
        assert_string_equal (header.id, cases[i].id);
    }
}

static void
test_the_base_of_a_name_has_no_number_and_no_node (void **state)
{
    (void) state;
    static const char *const cases[][2] = { { "gateway", "gateway" }, { "gateway.2", "gateway" },
        { "gateway.2@core", "gateway" }, { "telegram.main@edge", "telegram.main" },
        { "cli.7f3a", "cli.7f3a" }, { "7", "7" }, { ".7", ".7" }, { "a.b.12", "a.b" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char base[ARGOS_NAME_MAX + 1];
        argos_name_base (cases[i][0], base);
        assert_string_equal (base, cases[i][1]);
    }
    assert_true (argos_name_valid ("telegram.main@edge"));
    assert_false (argos_name_valid (""));
    assert_false (argos_name_valid ("a/b"));
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_all_members_are_read),
        cmocka_unit_test (test_absent_members_are_zero),
        cmocka_unit_test (test_each_fault_is_refused),
        cmocka_unit_test (test_limits_are_exact),
        cmocka_unit_test (test_the_id_of_a_bad_header_is_known_when_it_was_read),
        cmocka_unit_test (test_the_base_of_a_name_has_no_number_and_no_node),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
