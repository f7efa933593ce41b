//  The text of a command's output: capped, clean, valid, without secrets.

#include "argos_output.h"
#include "argos_redact.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *
s_text (const char *raw, size_t size)
{
    argos_output_t *output = argos_output_new (ARGOS_OUTPUT_MAX);
    argos_output_add (output, raw, size);
    char *text = argos_output_text (output);
    argos_output_destroy (&output);
    json_t *string = json_string (text); //  Fails when it is not valid UTF-8
    assert_non_null (string);
    json_decref (string);
    return text;
}

//  Write the characters of text over what is at target.

static void
s_over (char *target, const char *text)
{
    while (*text)
        *target++ = *text++;
}

static void
escape_sequences_and_controls_are_gone (void **state)
{
    (void) state;
    static const struct {
        const char *raw, *text; //  Printed, expected
    } rows[] = {
        { "", "" },
        { "plain\ttext\r\n", "plain\ttext\r\n" },
        { "\x1b[1;31mred\x1b[0m", "red" },
        { "\x1b]0;title\x07now", "now" },
        { "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link" },
        { "\x1b]no end\nnext", "\nnext" },
        { "\x1b(Bcharset", "charset" },
        { "\x1b=keys", "keys" },
        { "cut\x1b", "cut" },
        { "cut\x1b[12", "cut" },
        { "bell\x07\x08\x7f", "bell" },
        { "c1\xc2\x9b", "c1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = s_text (rows[i].raw, strlen (rows[i].raw));
        assert_string_equal (text, rows[i].text);
        free (text);
    }
}

static void
bytes_that_are_no_utf8_are_replaced (void **state)
{
    (void) state;
    static const struct {
        const char *raw, *text; //  Printed, expected
    } rows[] = {
        { "a\xff\x62", "a\xef\xbf\xbd\x62" },
        { "\xc3\xa4", "\xc3\xa4" },
        { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
        { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = s_text (rows[i].raw, strlen (rows[i].raw));
        assert_string_equal (text, rows[i].text);
        free (text);
    }
    char *text = s_text ("a\0b", 3);
    assert_string_equal (text, "ab");
    free (text);
}

static void
long_output_keeps_both_ends (void **state)
{
    (void) state;
    static const size_t sizes[] = { 49999, 50000, 50001, 65535, 65536, 65537, 196607, 196608,
        196609, 1000000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *raw = malloc (sizes[i]);
        assert_non_null (raw);
        memset (raw, 'x', sizes[i]);
        s_over (raw, "first");
        s_over (raw + sizes[i] - 4, "last");
        char *text = s_text (raw, sizes[i]);
        size_t length = strlen (text);
        assert_true (length <= ARGOS_OUTPUT_MAX);
        assert_memory_equal (text, "first", 5);
        assert_memory_equal (text + length - 4, "last", 4);
        assert_int_equal (strstr (text, "bytes left out") != NULL, sizes[i] > ARGOS_OUTPUT_MAX);
        if (sizes[i] > ARGOS_OUTPUT_MAX)
            assert_memory_equal (text + 20000, "\n\n[... ", 7);
        free (text);
        free (raw);
    }
}

static void
no_character_is_cut_in_the_middle (void **state)
{
    (void) state;
    static char raw[450000];
    for (size_t shift = 0; shift < 4; shift++) {
        memset (raw, 'a', shift);
        for (size_t at = shift; at + 3 <= sizeof raw; at += 3)
            s_over (raw + at, "\xe2\x82\xac");
        size_t size = shift + (sizeof raw - shift) / 3 * 3;
        char *text = s_text (raw, 60000 + shift);
        assert_null (strstr (text, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
        free (text);
        text = s_text (raw, size);
        assert_true (strlen (text) <= ARGOS_OUTPUT_MAX);
        free (text);
    }
}

static void
small_pieces_give_the_same_text_as_one (void **state)
{
    (void) state;
    static char raw[400000];
    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = (char) ('a' + i % 23);
    char *whole = s_text (raw, sizeof raw);
    argos_output_t *output = argos_output_new (ARGOS_OUTPUT_MAX);
    for (size_t at = 0, step = 1; at < sizeof raw; at += step, step = step * 7 % 8191 + 1) {
        if (step > sizeof raw - at)
            step = sizeof raw - at;
        argos_output_add (output, raw + at, step);
    }
    assert_int_equal (argos_output_total (output), sizeof raw);
    char *pieces = argos_output_text (output);
    assert_string_equal (pieces, whole);
    free (pieces);
    free (whole);
    argos_output_destroy (&output);
    argos_output_destroy (&output);
}

static void
the_size_can_be_chosen_within_limits (void **state)
{
    (void) state;
    static char raw[500000];
    static const size_t sizes[][2] = { { 0, 1024 }, { 2000, 2000 }, { 262144, 262144 },
        { 1000000, 262144 } };
    memset (raw, 'x', sizeof raw);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        argos_output_t *output = argos_output_new (sizes[i][0]);
        argos_output_add (output, raw, sizeof raw);
        char *text = argos_output_text (output);
        assert_true (strlen (text) <= sizes[i][1]);
        assert_true (strlen (text) + 128 >= sizes[i][1]);
        free (text);
        argos_output_destroy (&output);
    }
}

static void
secrets_are_masked_and_nothing_else (void **state)
{
    (void) state;
    static const struct {
        const char *raw, *text; //  Printed, expected; NULL = the same
    } rows[] = {
        { "OPENAI_API_KEY=abcdefgh1234", "OPENAI_API_KEY=***" },
        { "token sk-abcdefghijklmnopqrst end", "token *** end" },
        { "Authorization: Bearer abc.def-ghi123", "Authorization: Bearer ***" },
        { "{\"api_key\": \"s3cr3ts3cr3t\"}", "{\"api_key\": \"***\"}" },
        { "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "***" },
        { "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\ndef\n-----END RSA PRIVATE KEY-----\n",
            "-----BEGIN RSA PRIVATE KEY-----\n***-----END RSA PRIVATE KEY-----\n" },
        { "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----\n", NULL },
        { "commit d7a8fbb307d7809469ca9abcb0082e4f8d5651e4", NULL },
        { "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  file", NULL },
        { "550e8400-e29b-41d4-a716-446655440000", NULL },
        { "2025-11-28-a-rather-long-name-of-a-report.txt", NULL },
        { "key = value; sort (key=by_name)", NULL },
        { "export FOO_TOKEN=$OTHER_TOKEN", NULL },
        { "MAX_TOKEN=12", NULL },
        { "sk-learn task-list", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = s_text (rows[i].raw, strlen (rows[i].raw));
        assert_string_equal (text, rows[i].text ? rows[i].text : rows[i].raw);
        free (text);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (escape_sequences_and_controls_are_gone),
        cmocka_unit_test (bytes_that_are_no_utf8_are_replaced),
        cmocka_unit_test (long_output_keeps_both_ends),
        cmocka_unit_test (no_character_is_cut_in_the_middle),
        cmocka_unit_test (small_pieces_give_the_same_text_as_one),
        cmocka_unit_test (the_size_can_be_chosen_within_limits),
        cmocka_unit_test (secrets_are_masked_and_nothing_else),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
