//  test_sse - the event-stream reader, the JSON mender and UTF-8 cleaning.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_json_text.h"
#include "argos_sse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char log[4096]; //  "event|data;" for each event
    size_t count;   //  Events
} s_seen_t;

static bool
s_event (void *arg, const char *event, const char *data, size_t size)
{
    s_seen_t *seen = (s_seen_t *) arg;
    size_t used = strlen (seen->log);
    snprintf (seen->log + used, sizeof seen->log - used, "%s|%.*s;", event, (int) size, data);
    seen->count++;
    return true;
}

static void
s_check (const char *stream, const char *expected)
{
    for (size_t step = 1; step <= strlen (stream); step++) {
        argos_sse_t sse;
        argos_sse_init (&sse);
        s_seen_t seen = { .log = "" };
        for (size_t at = 0; at < strlen (stream); at += step) {
            size_t size = strlen (stream) - at < step ? strlen (stream) - at : step;
            assert_int_equal (argos_sse_feed (&sse, stream + at, size, s_event, &seen), 0);
        }
        assert_string_equal (seen.log, expected);
        argos_sse_clear (&sse);
    }
}

static void
s_events_are_the_same_in_pieces_of_any_size (void **state)
{
    (void) state;
    s_check ("data: a\n\ndata:b\n\n", "|a;|b;");
    s_check ("data: a\r\n\r\ndata: b\r\n\r\n", "|a;|b;");
    s_check ("data: a\r\rdata: b\r\r", "|a;|b;");
    s_check ("\xEF\xBB\xBF"
             "data: a\n\n",
        "|a;");
    s_check (": keep-alive\n\n: x\ndata: a\n\n", "|a;");
    s_check ("event: ping\ndata: {}\nid: 4\nretry: 5\n\ndata: z\n\n", "ping|{};|z;");
    s_check ("data: a\ndata: b\ndata\n\n", "|a\nb\n;");
    s_check ("data:  a\n\ndatax: no\n\nevent: lonely\n\n", "| a;");
}

static void
s_a_cut_stream_is_seen (void **state)
{
    (void) state;
    s_seen_t seen = { .log = "" };
    argos_sse_t sse;
    argos_sse_init (&sse);
    argos_sse_feed (&sse, "data: a\n\n", 9, s_event, &seen);
    assert_false (argos_sse_cut (&sse));
    argos_sse_feed (&sse, "data: {\"x", 9, s_event, &seen);
    assert_true (argos_sse_cut (&sse));
    argos_sse_feed (&sse, "\"}\n", 3, s_event, &seen);
    assert_true (argos_sse_cut (&sse));
    argos_sse_clear (&sse);
}

static void
s_a_huge_line_is_refused (void **state)
{
    (void) state;
    s_seen_t seen = { .log = "" };
    argos_sse_t sse;
    argos_sse_init (&sse);
    char *piece = (char *) malloc (65536);
    assert_non_null (piece);
    memset (piece, 'x', 65536);
    int rc = 0;
    for (int i = 0; i < 17 && rc == 0; i++)
        rc = argos_sse_feed (&sse, piece, 65536, s_event, &seen);
    assert_int_equal (rc, -1);
    assert_int_equal (argos_sse_feed (&sse, "\n\n", 2, s_event, &seen), -1);
    assert_int_equal (seen.count, 0);
    free (piece);
    argos_sse_clear (&sse);
}

static void
s_bytes_that_are_no_utf8_are_replaced (void **state)
{
    (void) state;
    argos_text_t text;
    argos_text_init (&text, 64);
    argos_utf8_add (&text, "a\xFF\xC0\x80g\xE2\x82\xACz\0y", 11);
    assert_string_equal (
        argos_text_str (&text), "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDg\xE2\x82\xACz\xEF\xBF\xBDy");
    argos_text_clear (&text);
    argos_text_init (&text, 4);
    assert_int_equal (argos_utf8_add (&text, "ab\xE2\x82\xAC", 5), 2);
    argos_text_clear (&text);
    assert_int_equal (argos_utf8_cut ("a\xE2\x82\xAC", 4, 3), 1);
}

static void
s_check_json (const char *text, size_t size, const char *expected)
{
    const char *reason = "";
    json_t *value = argos_json_text_parse (text, size, NULL, &reason);
    assert_non_null (value);
    assert_string_equal (json_string_value (json_array_get (value, 0)), expected);
    json_decref (value);
}

static void
s_bad_json_text_is_mended (void **state)
{
    (void) state;
    s_check_json ("[\"\\ud83d\\ude00\"]", 16, "\xF0\x9F\x98\x80");
    s_check_json ("[\"\\ud83d!\"]", 11, "\xEF\xBF\xBD!");
    s_check_json ("[\"a\\u0000b\"]", 12,
        "a\xEF\xBF\xBD"
        "b");
    s_check_json ("[\"a\xFF\"]", 6, "a\xEF\xBF\xBD");
    s_check_json ("[\"a\\\\ud83d\"]", 12, "a\\ud83d");
}

static void
s_half_pairs_of_two_chunks_are_joined (void **state)
{
    (void) state;
    const char *reason = "";
    argos_json_carry_t carry = { 0 };
    json_t *first = argos_json_text_parse ("[\"a\\ud83d\"]", 11, &carry, &reason);
    json_t *second = argos_json_text_parse ("[\"\\ude00b\"]", 11, &carry, &reason);
    assert_string_equal (json_string_value (json_array_get (first, 0)), "a");
    assert_string_equal (json_string_value (json_array_get (second, 0)), "\xF0\x9F\x98\x80"
                                                                         "b");
    json_decref (first);
    json_decref (second);
}

static void
s_deep_json_is_refused (void **state)
{
    (void) state;
    char bomb[1000];
    memset (bomb, '[', sizeof bomb);
    const char *reason = "";
    assert_null (argos_json_text_parse (bomb, sizeof bomb, NULL, &reason));
    assert_non_null (strstr (reason, "64"));
    assert_null (argos_json_text_parse ("{\"a\":", 5, NULL, &reason));
    assert_null (argos_json_text_parse ("", 0, NULL, &reason));
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_events_are_the_same_in_pieces_of_any_size),
        cmocka_unit_test (s_a_cut_stream_is_seen),
        cmocka_unit_test (s_a_huge_line_is_refused),
        cmocka_unit_test (s_bytes_that_are_no_utf8_are_replaced),
        cmocka_unit_test (s_bad_json_text_is_mended),
        cmocka_unit_test (s_half_pairs_of_two_chunks_are_joined),
        cmocka_unit_test (s_deep_json_is_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
