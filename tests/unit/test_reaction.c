//  test_reaction - what is done about each class of failure, and that it ends.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_provider.h"
#include "argos_reaction.h"
#include "argos_tool_schema.h"

#include <stdlib.h>
#include <string.h>

static void
s_each_class_has_its_reactions (void **state)
{
    static const struct {
        argos_provider_class_t class; //  What went wrong
        const char *alone;            //  Reactions of one provider, in order
        const char *with;             //  The same when another one stands in
    } rows[] = {
        { ARGOS_PE_AUTH, "F", "B" },
        { ARGOS_PE_BILLING, "F", "B" },
        { ARGOS_PE_RATE_LIMIT, "RRF", "B" },
        { ARGOS_PE_OVERLOADED, "RRF", "RRB" },
        { ARGOS_PE_SERVER, "RRF", "RRB" },
        { ARGOS_PE_TIMEOUT, "RRF", "RRB" },
        { ARGOS_PE_CONTEXT_OVERFLOW, "CCCF", "CCCF" },
        { ARGOS_PE_PAYLOAD, "CCCF", "CCCF" },
        { ARGOS_PE_MODEL, "F", "B" },
        { ARGOS_PE_POLICY, "F", "B" },
        { ARGOS_PE_FORMAT, "F", "F" },
        { ARGOS_PE_UNREACHABLE, "RRF", "RRB" },
        { ARGOS_PE_NOT_FOUND, "F", "B" },
        { ARGOS_PE_CREDENTIALS, "F", "B" },
        { ARGOS_PE_DATA_POLICY, "F", "F" },
        { ARGOS_PE_PARAMETER, "AF", "AF" },
        { ARGOS_PE_STREAMING, "AF", "AF" },
        { ARGOS_PE_GRAMMAR, "AF", "AF" },
        { ARGOS_PE_THINKING, "AF", "AF" },
        { ARGOS_PE_LONG_CONTEXT, "CCCF", "CCCF" },
        { ARGOS_PE_CUT_CALL, "F", "F" },
        { ARGOS_PE_EMPTY, "RRF", "B" },
        { ARGOS_PE_NO_IMAGES, "AF", "AF" },
        { ARGOS_PE_IMAGE, "AF", "AF" },
        { ARGOS_PE_UNKNOWN, "RRF", "RRB" },
    };
    static const char letters[] = { [ARGOS_REACT_FAIL] = 'F',
        [ARGOS_REACT_RETRY] = 'R',
        [ARGOS_REACT_ADJUST] = 'A',
        [ARGOS_REACT_COMPRESS] = 'C',
        [ARGOS_REACT_FALLBACK] = 'B' };
    (void) state;
    assert_int_equal (sizeof rows / sizeof *rows, ARGOS_PE_COUNT);
    for (size_t i = 0; i < 2 * ARGOS_PE_COUNT; i++) {
        argos_react_state_t now = { .repeats_max = 2, .fallback = i % 2 };
        argos_provider_error_t error = { .class = rows[i / 2].class,
            .parameter = "stream_options" };
        char log[16] = "";
        for (size_t at = 0; at < sizeof log - 1; at++) {
            argos_react_t react = argos_react (&error, &now, &now.adjusted);
            log[at] = letters[react];
            now.repeats += react == ARGOS_REACT_RETRY;
            now.compressions += react == ARGOS_REACT_COMPRESS;
            if (react == ARGOS_REACT_FAIL || react == ARGOS_REACT_FALLBACK)
                break;
        }
        const char *expected = i % 2 ? rows[i / 2].with : rows[i / 2].alone;
        if (strcmp (log, expected) != 0)
            fail_msg (
                "%s: %s instead of %s", argos_provider_class_name (error.class), log, expected);
    }
}

static void
s_a_short_refusal_of_a_long_conversation_is_its_length (void **state)
{
    (void) state;
    argos_react_state_t now = { .repeats_max = 2, .large = true };
    argos_provider_error_t error = { .class = ARGOS_PE_FORMAT, .status = 400, .message = "Error" };
    unsigned adjust = 0;
    assert_int_equal (argos_react (&error, &now, &adjust), ARGOS_REACT_COMPRESS);
    now.large = false;
    assert_int_equal (argos_react (&error, &now, &adjust), ARGOS_REACT_FAIL);
    now.large = true;
    memset (error.message, 'x', 60);
    assert_int_equal (argos_react (&error, &now, &adjust), ARGOS_REACT_FAIL);
    error = (argos_provider_error_t){ .class = ARGOS_PE_TIMEOUT, .cut = true };
    now = (argos_react_state_t){ .repeats_max = 2, .huge = true };
    assert_int_equal (argos_react (&error, &now, &adjust), ARGOS_REACT_RETRY);
    now.repeats = 1;
    assert_int_equal (argos_react (&error, &now, &adjust), ARGOS_REACT_COMPRESS);
    error.cut = false; //  Silence is no sign of it
    assert_int_equal (argos_react (&error, &now, &adjust), ARGOS_REACT_RETRY);
    error.cut = true;
    now.huge = false;
    assert_int_equal (argos_react (&error, &now, &adjust), ARGOS_REACT_RETRY);
}

static void
s_cooling_doubles_up_to_four_hours (void **state)
{
    (void) state;
    assert_int_equal (argos_react_cool_ms (1), 60000);
    assert_int_equal (argos_react_cool_ms (2), 120000);
    assert_int_equal (argos_react_cool_ms (8), 7680000);
    assert_int_equal (argos_react_cool_ms (9), 14400000);
    assert_int_equal (argos_react_cool_ms (1000), 14400000);
    assert_true (argos_react_cools (ARGOS_PE_RATE_LIMIT));
    assert_false (argos_react_cools (ARGOS_PE_AUTH));
}

static void
s_near_by_is_near_by (void **state)
{
    static const char *const near[] = { "localhost", "127.0.0.1", "127.9.9.9", "10.1.2.3",
        "172.16.0.1", "172.31.255.255", "192.168.0.9", "169.254.1.1", "100.64.0.1",
        "100.127.255.255", "[::1]", "[fd00::1]", "[fe80::1]", "host.docker.internal" };
    static const char *const far[] = { "api.openai.com", "8.8.8.8", "172.15.0.1", "172.32.0.1",
        "192.169.0.1", "100.63.255.255", "100.128.0.0", "[2001:db8::1]", "localhost.example", "",
        "127.0.0.1.example", "::1]", "[" };
    (void) state;
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        if (!argos_provider_is_local (near[i]))
            fail_msg ("%s is near by", near[i]);
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        if (argos_provider_is_local (far[i]))
            fail_msg ("%s is not near by", far[i]);
}

static void
s_silence_has_its_limits (void **state)
{
    static const struct {
        int64_t set_ms;      //  Setting
        size_t tokens;       //  Of the request
        int64_t streamed_ms; //  Expected
        int64_t whole_ms;    //  Of an answer in one piece
        int64_t near_ms;     //  Near by
    } rows[] = { { 0, 0, 180000, 90000, 0 }, { 0, 50000, 180000, 90000, 0 },
        { 0, 50001, 240000, 150000, 0 }, { 0, 100000, 240000, 150000, 0 },
        { 0, 100001, 300000, 240000, 0 }, { 7000, 0, 7000, 7000, 7000 },
        { 7000, 200000, 7000, 7000, 7000 }, { 400000, 60000, 400000, 400000, 400000 } };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t set = rows[i].set_ms;
        size_t size = rows[i].tokens * 4;
        assert_int_equal (argos_provider_stall_ms (set, false, size, false), rows[i].streamed_ms);
        assert_int_equal (argos_provider_stall_ms (set, false, size, true), rows[i].whole_ms);
        assert_int_equal (argos_provider_stall_ms (set, true, size, false), rows[i].near_ms);
        assert_int_equal (argos_provider_stall_ms (set, true, size, true), rows[i].near_ms);
    }
}

static void
s_schemas_are_mended (void **state)
{
    static const struct {
        const char *given, *plain, *expected; //  Schemas of parameters; "" = plain is not asked for
    } rows[] = {
        { "{\"type\":\"object\"}", "", "{\"type\":\"object\",\"properties\":{}}" },
        { "{\"type\":\"object\",\"properties\":{\"a\":\"string\"}}", "",
            "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}" },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":[\"null\",\"integer\"]}}}", "",
            "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}" },
        { "{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\",\"b\",7]}", "",
            "{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"]}" },
        { "{\"type\":\"object\",\"properties\":{},\"anyOf\":[{}],\"enum\":[1],\"not\":{}}", "",
            "{\"type\":\"object\",\"properties\":{}}" },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"anyOf\":[{}]}}}", "",
            "{\"type\":\"object\",\"properties\":{\"a\":{\"anyOf\":[{}]}}}" },
        { "{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":\"string\",\"pattern\":"
          "\"x\",\"format\":\"y\"}}}",
            "plain", "{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":\"string\"}}}" },
        { "\"string\"", "", "{\"type\":\"object\",\"properties\":{}}" },
    };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *tool = json_pack ("{s:s, s:o}", "name", "x", "parameters",
            json_loads (rows[i].given, JSON_DECODE_ANY, NULL));
        char *before = json_dumps (tool, JSON_COMPACT);
        json_t *fit = argos_tool_schema_fit (tool, *rows[i].plain);
        char *after = json_dumps (tool, JSON_COMPACT);
        char *found = json_dumps (json_object_get (fit, "parameters"), JSON_COMPACT);
        assert_string_equal (found, rows[i].expected);
        assert_string_equal (before, after);
        free (before);
        free (after);
        free (found);
        json_decref (fit);
        json_decref (tool);
    }
}

static void
s_windows_are_read (void **state)
{
    static const struct {
        const char *message; //  Of an error
        int64_t msec;        //  Expected
    } rows[] = { { "Limit reached, reset after 2m 13s", 133000 }, { "try again in 20s.", 20000 },
        { "Please retry after 1.5 seconds", 1500 }, { "resets in 1h2m", 3720000 },
        { "Retry in 250ms", 250 }, { "reset in 5", 5000 }, { "try again in 3 minutes", 180000 },
        { "try again in a while", 0 }, { "", 0 }, { "reset after 99999999999h", 86400000 } };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (argos_provider_window (rows[i].message) != rows[i].msec)
            fail_msg (
                "%s: %lld", rows[i].message, (long long) argos_provider_window (rows[i].message));
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_each_class_has_its_reactions),
        cmocka_unit_test (s_a_short_refusal_of_a_long_conversation_is_its_length),
        cmocka_unit_test (s_cooling_doubles_up_to_four_hours),
        cmocka_unit_test (s_near_by_is_near_by),
        cmocka_unit_test (s_silence_has_its_limits),
        cmocka_unit_test (s_schemas_are_mended),
        cmocka_unit_test (s_windows_are_read),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
