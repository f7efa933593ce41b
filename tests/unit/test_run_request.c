//  POST /v1/runs bodies: what is taken, what is refused, and what the gateway gets.

#include "argos_run_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUN "run_00112233445566778899aabbccddeeff"

static int
s_read (const char *body, argos_run_request_t *request, argos_run_problem_t *problem)
{
    json_t *root = argos_run_request_root (body, strlen (body), problem);
    int rc = root ? argos_run_request_read (root, request, problem) : -1;
    json_decref (root);
    if (rc == 0 && argos_run_request_finish (request, problem) != 0) {
        argos_run_request_clear (request);
        rc = -1;
    }
    return rc;
}

static void
s_refused (const char *body, unsigned status, const char *code, const char *part)
{
    argos_run_request_t request;
    argos_run_problem_t problem;
    assert_int_equal (s_read (body, &request, &problem), -1);
    assert_int_equal (problem.status, status);
    if (code)
        assert_string_equal (problem.code, code);
    else
        assert_null (problem.code);
    if (!strstr (problem.message, part))
        fail_msg ("\"%s\" is not in \"%s\"", part, problem.message);
}

//  The message for the gateway, as text; the caller's.

static json_t *
s_taken (const char *body, const char *session_key, char *ret_lane)
{
    argos_run_request_t request;
    argos_run_problem_t problem;
    if (s_read (body, &request, &problem) != 0)
        fail_msg ("%s: %s", body, problem.message);
    json_t *inbound =
        argos_run_request_inbound (&request, RUN, "main", session_key, ret_lane, &problem);
    argos_run_request_clear (&request);
    argos_run_request_clear (&request);
    assert_non_null (inbound);
    return inbound;
}

static void
s_equal (json_t *value, const char *expected)
{
    json_t *wanted = json_loads (expected, JSON_DECODE_ANY, NULL);
    assert_non_null (wanted);
    if (!json_equal (value, wanted)) {
        char *text = value ? json_dumps (value, JSON_ENCODE_ANY) : NULL;
        fail_msg ("%s is not %s", text ? text : "(none)", expected);
    }
    json_decref (wanted);
}

static void
wrong_bodies_are_refused_by_name (void **state)
{
    (void) state;
    s_refused ("not json", 400, NULL, "JSON");
    s_refused ("", 400, NULL, "JSON");
    s_refused ("[]", 400, NULL, "object");
    s_refused ("5", 400, NULL, "object");
    s_refused ("\"x\"", 400, NULL, "object");
    s_refused ("{}", 400, NULL, "input");
    s_refused ("{\"input\":\"\"}", 400, NULL, "input");
    s_refused ("{\"input\":null}", 400, NULL, "input");
    s_refused ("{\"input\":[]}", 400, NULL, "input");
    s_refused ("{\"input\":7}", 400, NULL, "input");
    s_refused ("{\"input\":{}}", 400, NULL, "input");
    s_refused ("{\"input\":\"a\",\"input\":\"b\"}", 400, NULL, "JSON");
    s_refused ("{\"input\":\"\\u0000\"}", 400, NULL, "JSON");
    s_refused ("{\"input\":\"\\ud800\"}", 400, NULL, "JSON");
    s_refused ("{\"input\":\"\xff\"}", 400, NULL, "JSON");
    s_refused ("{\"input\":[{\"role\":\"user\",\"content\":\"\"}]}", 400, NULL, "no user message");
    s_refused ("{\"input\":[{\"role\":\"user\"}]}", 400, NULL, "input[0]");
    s_refused ("{\"input\":[\"a\",7]}", 400, NULL, "input[1]");
    s_refused ("{\"input\":\"a\",\"conversation_history\":{}}", 400, NULL, "conversation_history");
    s_refused ("{\"input\":\"a\",\"conversation_history\":[{\"role\":\"user\",\"content\":\"x\"},{"
               "\"role\":\"user\"}]}",
        400, NULL, "conversation_history[1]");
    s_refused (
        "{\"input\":\"a\",\"conversation_history\":[\"x\"]}", 400, NULL, "conversation_history[0]");
    s_refused ("{\"input\":\"a\",\"previous_response_id\":5}", 400, NULL, "response");
    s_refused ("{\"input\":\"a\",\"instructions\":5}", 400, NULL, "instructions");
    s_refused (
        "{\"input\":\"a\",\"session_id\":\"../x\"}", 400, "invalid_session_id", "session_id");
    s_refused ("{\"input\":\"a\",\"session_id\":\"a/b\"}", 400, "invalid_session_id", "session_id");
    s_refused (
        "{\"input\":\"a\",\"session_id\":\"a\\u0001\"}", 400, "invalid_session_id", "session_id");
    s_refused ("{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\",\"file_id\":"
               "\"x\"}]}]}",
        400, "unsupported_content_type", "input_file");
}

static void
depth_and_length_are_bounded (void **state)
{
    (void) state;
    size_t size = 400000;
    char *body = malloc (size + 64);
    assert_non_null (body);
    memset (body, '[', size);
    body[size] = 0;
    s_refused (body, 400, NULL, "JSON");
    memcpy (body, "{\"input\":\"", 10);
    memset (body + 10, 'x', ARGOS_RUN_TEXT_MAX + 1);
    memcpy (body + 10 + ARGOS_RUN_TEXT_MAX + 1, "\"}", 3);
    char lane[257];
    json_t *inbound = s_taken (body, NULL, lane);
    const char *text = json_string_value (json_object_get (inbound, "text"));
    assert_true (strlen (text) < 2 * ARGOS_RUN_LARGE_HEAD && strstr (text, ARGOS_RUN_LARGE_NAME));
    json_decref (inbound);
    memcpy (body + 10 + ARGOS_RUN_TEXT_MAX, "\"}", 3);
    json_decref (s_taken (body, NULL, lane));
    free (body);
}

static void
history_that_is_too_large_in_all_is_refused (void **state)
{
    (void) state;
    argos_run_request_t request;
    argos_run_problem_t problem;
    char lane[257];
    json_t *root = json_pack ("{s:s,s:[]}", "input", "a", "conversation_history");
    char *text = malloc (100001);
    assert_non_null (text);
    memset (text, 'x', 100000);
    text[100000] = 0;
    for (int i = 0; i < 10; i++)
        json_array_append_new (json_object_get (root, "conversation_history"),
            json_pack ("{s:s,s:s}", "role", "user", "content", text));
    char *body = json_dumps (root, 0);
    assert_int_equal (s_read (body, &request, &problem), 0);
    assert_null (argos_run_request_inbound (&request, RUN, "main", NULL, lane, &problem));
    assert_int_equal (problem.status, 400);
    assert_string_equal (problem.code, "content_too_long");
    argos_run_request_clear (&request);
    json_decref (root);
    free (body);
    free (text);
}

static void
a_plain_run_has_a_lane_of_its_own (void **state)
{
    (void) state;
    char lane[257];
    json_t *inbound = s_taken ("{\"input\":\"hello\",\"unknown\":[1]}", NULL, lane);
    s_equal (inbound,
        "{\"source\":{\"platform\":\"api_server\",\"account\":\"main\",\"chat_id\":\"" RUN
        "\",\"chat_type\":\"dm\",\"user_id\":\"api\"},\"text\":\"hello\",\"run_id\":\"" RUN "\"}");
    assert_string_equal (lane, RUN);
    json_decref (inbound);
}

static void
a_session_is_the_lane (void **state)
{
    (void) state;
    char lane[257], again[257], body[400];
    json_t *inbound =
        s_taken ("{\"input\":\"a\",\"session_id\":\"s 1\",\"model\":\"m\",\"instructions\":\"i\"}",
            NULL, lane);
    assert_string_equal (lane, "s 1");
    s_equal (json_object_get (inbound, "session_id"), "\"s 1\"");
    s_equal (json_object_get (inbound, "model"), "\"m\"");
    s_equal (json_object_get (inbound, "instructions"), "\"i\"");
    json_decref (inbound);
    (void) snprintf (body, sizeof body, "{\"input\":\"a\",\"session_id\":\"%0256d\"}", 1);
    inbound = s_taken (body, NULL, lane);
    assert_int_equal (strlen (lane), 68);
    assert_string_equal (
        json_string_value (json_object_get (json_object_get (inbound, "source"), "chat_id")), lane);
    json_decref (inbound);
    json_decref (s_taken (body, NULL, again));
    assert_string_equal (lane, again);
}

static void
a_session_key_names_a_session_that_is_always_the_same (void **state)
{
    (void) state;
    char one[257], two[257], other[257];
    json_t *inbound = s_taken ("{\"input\":\"a\"}", "family", one);
    const char *session = json_string_value (json_object_get (inbound, "session_id"));
    assert_int_equal (strncmp (session, "key-", 4), 0);
    assert_string_equal (session, one);
    json_decref (inbound);
    json_decref (s_taken ("{\"input\":\"b\"}", "family", two));
    json_decref (s_taken ("{\"input\":\"b\"}", "work", other));
    assert_string_equal (one, two);
    assert_string_not_equal (one, other);
}

static void
an_array_is_history_and_prompt (void **state)
{
    (void) state;
    char lane[257];
    json_t *inbound = s_taken ("{\"input\":[\"one\",{\"role\":\"assistant\",\"content\":[{\"type\":"
                               "\"text\",\"text\":\"a\"},"
                               "{\"type\":\"output_text\",\"text\":\"b\"},{\"text\":null},\"c\"]},"
                               "{\"role\":\"user\",\"content\":\"three\"}]}",
        NULL, lane);
    s_equal (json_object_get (inbound, "text"), "\"three\"");
    s_equal (json_object_get (inbound, "history"),
        "[{\"role\":\"user\",\"content\":\"one\"},{\"role\":"
        "\"assistant\",\"content\":\"a\\nb\\nc\"}]");
    json_decref (inbound);
}

static void
history_wins_over_the_chain_and_the_array (void **state)
{
    (void) state;
    char lane[257];
    json_t *inbound = s_taken ("{\"input\":[\"x\",\"y\"],\"previous_response_id\":\"resp_1\","
                               "\"conversation_history\":[{\"role\":\"user\",\"content\":5}]}",
        NULL, lane);
    s_equal (json_object_get (inbound, "history"), "[{\"role\":\"user\",\"content\":\"5\"}]");
    s_equal (json_object_get (inbound, "text"), "\"y\"");
    json_decref (inbound);
}

static void
the_row_keeps_the_beginning_of_the_prompt (void **state)
{
    (void) state;
    argos_run_request_t request;
    argos_run_problem_t problem;
    char body[2200] = "{\"input\":\"x";
    for (int i = 0; i < 1000; i++)
        body[11 + 2 * i] = '\xC3', body[12 + 2 * i] = '\xA9';
    memcpy (body + 2011, "\"}", 3);
    assert_int_equal (s_read (body, &request, &problem), 0);
    json_t *row = argos_run_request_row (&request, RUN, "api");
    s_equal (json_object_get (row, "owner"), "\"api\"");
    assert_null (json_object_get (row, "session_id"));
    assert_int_equal (json_string_length (json_object_get (row, "input")), 1023);
    json_decref (row);
    argos_run_request_clear (&request);
}

static void
forms_of_ids_and_keys (void **state)
{
    (void) state;
    char key[300];
    memset (key, 'k', sizeof key);
    key[256] = 0;
    assert_false (argos_run_idempotency_valid (key));
    key[255] = 0;
    assert_true (argos_run_idempotency_valid (key));
    assert_false (argos_run_idempotency_valid (""));
    assert_false (argos_run_idempotency_valid ("a b"));
    assert_false (argos_run_idempotency_valid ("\xC3\xA9"));
    assert_true (argos_run_id_valid (RUN));
    assert_false (argos_run_id_valid ("run_"));
    assert_false (argos_run_id_valid (RUN "0"));
    assert_false (argos_run_id_valid ("run_00112233445566778899AABBCCDDEEFF"));
    assert_false (argos_run_session_valid ("", 0));
    assert_true (argos_run_session_valid ("a.b", 3));
    assert_false (argos_run_session_valid ("a..b", 4));
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (wrong_bodies_are_refused_by_name),
        cmocka_unit_test (depth_and_length_are_bounded),
        cmocka_unit_test (history_that_is_too_large_in_all_is_refused),
        cmocka_unit_test (a_plain_run_has_a_lane_of_its_own),
        cmocka_unit_test (a_session_is_the_lane),
        cmocka_unit_test (a_session_key_names_a_session_that_is_always_the_same),
        cmocka_unit_test (an_array_is_history_and_prompt),
        cmocka_unit_test (history_wins_over_the_chain_and_the_array),
        cmocka_unit_test (the_row_keeps_the_beginning_of_the_prompt),
        cmocka_unit_test (forms_of_ids_and_keys),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
