//  test_provider_error - classes of provider failures, and the policy of repeats.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_provider_error.h"

#include <string.h>

static void
s_failures_are_classified (void **state)
{
    (void) state;
    static const struct {
        const char *body;             //  Body
        int status;                   //  HTTP status
        argos_provider_class_t class; //  Expected
    } cases[] = {
        { "{\"error\":{\"message\":\"Incorrect API key\"}}", 401, ARGOS_PE_AUTH },
        { "{\"error\":\"forbidden\"}", 403, ARGOS_PE_AUTH },
        { "{\"error\":{\"message\":\"Key limit exceeded\"}}", 403, ARGOS_PE_BILLING },
        { "{\"message\":\"Payment required\"}", 402, ARGOS_PE_BILLING },
        { "{\"detail\":\"usage limit, try again in 5 minutes\"}", 402, ARGOS_PE_RATE_LIMIT },
        { "{\"detail\":\"quota\"}", 402, ARGOS_PE_BILLING },
        { "{\"error\":{\"message\":\"The model x does not exist\"}}", 404, ARGOS_PE_MODEL },
        { "", 404, ARGOS_PE_NOT_FOUND },
        { "", 408, ARGOS_PE_TIMEOUT },
        { "", 413, ARGOS_PE_PAYLOAD },
        { "\xE4\xBD\x99\xE9\xA2\x9D\xE4\xB8\x8D\xE8\xB6\xB3", 400, ARGOS_PE_BILLING },
        { "\xE8\xBE\x93\xE5\x85\xA5\xE8\xB6\x85\xE8\xBF\x87\xE6\x9C\x80\xE5\xA4\xA7"
          "\xE9\x95\xBF\xE5\xBA\xA6",
            400, ARGOS_PE_CONTEXT_OVERFLOW },
        { "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes", 400, ARGOS_PE_IMAGE },
        { "Could not process image", 400, ARGOS_PE_IMAGE },
        { "Invalid content type. image_url is only supported by certain models.", 400,
            ARGOS_PE_NO_IMAGES },
        { "No endpoints found that support image input", 404, ARGOS_PE_NO_IMAGES },
        { "image input is not supported - hint: provide the mmproj", 500, ARGOS_PE_NO_IMAGES },
        { "messages[1].content must be a string", 422, ARGOS_PE_NO_IMAGES },
        { "{}", 429, ARGOS_PE_RATE_LIMIT },
        { "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"x\"}}", 429,
            ARGOS_PE_BILLING },
        { "{\"error\":{\"message\":\"Overloaded\"}}", 429, ARGOS_PE_OVERLOADED },
        { "<html>", 500, ARGOS_PE_SERVER },
        { "unknown parameter: x", 502, ARGOS_PE_FORMAT },
        { "", 503, ARGOS_PE_OVERLOADED },
        { "", 529, ARGOS_PE_OVERLOADED },
        { "{\"error\":{\"message\":\"maximum context length is 8192\"}}", 400,
            ARGOS_PE_CONTEXT_OVERFLOW },
        { "{\"error\":{\"message\":\"prompt is too long\"}}", 400, ARGOS_PE_CONTEXT_OVERFLOW },
        { "{\"error\":{\"message\":\"invalid model\"}}", 400, ARGOS_PE_MODEL },
        { "{\"error\":{\"message\":\"bad field\"}}", 400, ARGOS_PE_FORMAT },
        { "{\"error\":{\"metadata\":{\"raw\":\"{\\\"error\\\":\\\"context window\\\"}\"}}}", 400,
            ARGOS_PE_CONTEXT_OVERFLOW },
        { "[1,2]", 422, ARGOS_PE_FORMAT },
        { "{\"error\":{\"message\":{\"a\":[\"too many tokens\"]}}}", 400,
            ARGOS_PE_CONTEXT_OVERFLOW },
        { "{\"error\":{\"message\":null}}", 400, ARGOS_PE_FORMAT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        argos_provider_error_t error;
        argos_provider_error_http (&error, cases[i].status, cases[i].body, strlen (cases[i].body));
        if (error.class != cases[i].class)
            fail_msg ("%d %s: %s", cases[i].status, cases[i].body,
                argos_provider_class_name (error.class));
        assert_true (*error.message);
    }
}

static void
s_errors_without_status_go_by_words (void **state)
{
    (void) state;
    assert_int_equal (argos_provider_classify (0, "overloaded_error", ""), ARGOS_PE_OVERLOADED);
    assert_int_equal (
        argos_provider_classify (0, "", "Network connection lost."), ARGOS_PE_TIMEOUT);
    assert_int_equal (argos_provider_classify (0, "rate_limit_error", ""), ARGOS_PE_RATE_LIMIT);
    assert_int_equal (argos_provider_classify (0, "", "SSL alert number 40"), ARGOS_PE_TIMEOUT);
    assert_int_equal (argos_provider_classify (999, "", "?"), ARGOS_PE_UNKNOWN);
    assert_int_equal (argos_provider_classify (0, "format_error", "x"), ARGOS_PE_FORMAT);
}

static void
s_waits_grow_and_obey_the_provider (void **state)
{
    (void) state;
    argos_provider_error_t error = { .class = ARGOS_PE_RATE_LIMIT };
    assert_int_equal (argos_provider_backoff (&error, 0, 2000, 0), 2000);
    assert_int_equal (argos_provider_backoff (&error, 1, 2000, 0), 4000);
    argos_provider_error_t crowd = { .class = ARGOS_PE_OVERLOADED };
    static const int64_t waits[] = { 2000, 4000, 8000, 15000, 30000, 60000, 120000, 120000 };
    for (int i = 0; i < 8; i++)
        assert_int_equal (argos_provider_backoff (&crowd, i, 2000, 0), waits[i]);
    assert_int_equal (argos_provider_backoff (&error, 2, 2000, 0), 8000);
    assert_int_equal (argos_provider_backoff (&error, 30, 2000, 0), 60000);
    assert_in_range (argos_provider_backoff (&error, 0, 2000, 0xFFFFFFFFu), 2000, 3000);
    error.retry_after_ms = 90000;
    assert_int_equal (argos_provider_backoff (&error, 0, 2000, 0), 90000);
    error.retry_after_ms = 3600000;
    assert_int_equal (argos_provider_backoff (&error, 0, 2000, 0), 600000);
}

static void
s_retry_after_is_read (void **state)
{
    (void) state;
    assert_int_equal (argos_provider_retry_after ("12", 0), 12000);
    assert_int_equal (argos_provider_retry_after (" 0.5", 0), 500);
    assert_int_equal (argos_provider_retry_after ("Thu, 01 Jan 1970 00:01:40 GMT", 40000), 60000);
    assert_int_equal (argos_provider_retry_after ("Thu, 01 Jan 1970 00:00:01 GMT", 40000), 0);
    assert_int_equal (argos_provider_retry_after ("soon", 0), 0);
    assert_int_equal (argos_provider_retry_after ("99999999999999999999999", 0), 86400000);
}

static void
s_texts_say_failed_and_why (void **state)
{
    (void) state;
    char text[700];
    argos_provider_error_t error;
    argos_provider_error_http (&error, 500, "<!doctype html>\xFF", 16);
    argos_provider_error_text (&error, text, sizeof text);
    assert_string_equal (text, "The turn failed: server_error: the provider answered with a web "
                               "page instead of JSON (HTTP 500)");
    argos_provider_error_http (&error, 401, "a\xFF\nb", 4);
    argos_provider_error_text (&error, text, sizeof text);
    assert_non_null (strstr (text, "Provider authentication failed: a\xEF\xBF\xBD b"));
    error =
        (argos_provider_error_t){ .class = ARGOS_PE_CREDENTIALS, .message = "env:X is not set" };
    argos_provider_error_text (&error, text, sizeof text);
    assert_non_null (strstr (text, "failed"));
    assert_non_null (strstr (text, "no provider credentials configured"));
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_failures_are_classified),
        cmocka_unit_test (s_errors_without_status_go_by_words),
        cmocka_unit_test (s_waits_grow_and_obey_the_provider),
        cmocka_unit_test (s_retry_after_is_read),
        cmocka_unit_test (s_texts_say_failed_and_why),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
