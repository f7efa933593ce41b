//  test_rehearsal - the rehearsal server over real HTTP, through libcurl.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_actor.h"
#include "argos_answer.h"
#include "argos_openai.h"
#include "argos_rehearsal_actor.h"
#include "argos_sse.h"

#include <curl/curl.h>
#include <czmq.h>

typedef struct {
    CURLcode rc;            //  How the transfer ended
    long status;            //  HTTP status
    argos_text_t body;      //  What came
    argos_answer_t *answer; //  The stream, put together
    int64_t msec;           //  How long it took
} s_result_t;

static zactor_t *s_actor = NULL;
static char s_url[64];

static size_t
s_write (char *data, size_t size, size_t count, void *arg)
{
    return argos_text_add ((argos_text_t *) arg, data, size * count) == 0 ? size * count : 0;
}

static bool
s_event (void *arg, const char *event, const char *data, size_t size)
{
    (void) event;
    argos_json_carry_t carry = { 0 };
    argos_openai_event ((argos_answer_t *) arg, &carry, data, size);
    return true;
}

static CURL *
s_easy (CURL *easy, const char *body, argos_text_t *target, long timeout_ms)
{
    curl_easy_reset (easy);
    curl_easy_setopt (easy, CURLOPT_URL, s_url);
    curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, s_write);
    curl_easy_setopt (easy, CURLOPT_WRITEDATA, target);
    curl_easy_setopt (easy, CURLOPT_TIMEOUT_MS, timeout_ms);
    return easy;
}

static s_result_t
s_ask_body (const char *body, long timeout_ms)
{
    s_result_t result = { .answer = argos_answer_new () };
    argos_text_init (&result.body, 67108864);
    CURL *easy = s_easy (curl_easy_init (), body, &result.body, timeout_ms);
    int64_t start = zclock_mono ();
    result.rc = curl_easy_perform (easy);
    result.msec = zclock_mono () - start;
    curl_easy_getinfo (easy, CURLINFO_RESPONSE_CODE, &result.status);
    curl_easy_cleanup (easy);
    argos_sse_t sse;
    argos_sse_init (&sse);
    argos_sse_feed (&sse, argos_text_str (&result.body), result.body.size, s_event, result.answer);
    argos_sse_clear (&sse);
    return result;
}

static s_result_t
s_ask (const char *text, long timeout_ms)
{
    json_t *body = json_pack ("{s:s, s:[{s:s, s:s}], s:b, s:{s:b}}", "model", "m", "messages",
        "role", "user", "content", text, "stream", 1, "stream_options", "include_usage", 1);
    char *dump = json_dumps (body, JSON_COMPACT);
    s_result_t result = s_ask_body (dump, timeout_ms);
    free (dump);
    json_decref (body);
    return result;
}

static void
s_clear (s_result_t *result)
{
    argos_text_clear (&result->body);
    argos_answer_destroy (&result->answer);
}

static void
s_it_echoes_in_chunks (void **state)
{
    (void) state;
    s_result_t result = s_ask ("hello \"big\" w\xC3\xB6rld", 5000);
    assert_int_equal (result.rc, CURLE_OK);
    assert_int_equal (result.status, 200);
    assert_int_equal (argos_answer_settle (result.answer, "s"), ARGOS_ANSWER_TEXT);
    assert_string_equal (
        argos_text_str (&result.answer->text), "You said: hello \"big\" w\xC3\xB6rld");
    assert_true (result.answer->events >= 6);
    assert_true (result.answer->ended);
    assert_true (result.answer->input_tokens > 0 && result.answer->output_tokens > 0);
    s_clear (&result);
}

static void
s_it_answers_without_a_stream (void **state)
{
    (void) state;
    s_result_t result =
        s_ask_body ("{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                    "\"x\"}]}]}",
            5000);
    argos_answer_t *answer = argos_answer_new ();
    argos_openai_whole (answer, argos_text_str (&result.body), result.body.size);
    assert_int_equal (argos_answer_settle (answer, "s"), ARGOS_ANSWER_TEXT);
    assert_string_equal (argos_text_str (&answer->text), "You said: x");
    argos_answer_destroy (&answer);
    s_clear (&result);
    result = s_ask_body ("nonsense", 5000);
    assert_int_equal (result.status, 400);
    s_clear (&result);
}

static void
s_it_asks_for_tools_and_echoes_results (void **state)
{
    (void) state;
    s_result_t result = s_ask ("!tool terminal {\"command\":\"date\"}\n!tool b {\"x\":1}", 5000);
    assert_int_equal (argos_answer_settle (result.answer, "s"), ARGOS_ANSWER_TOOLS);
    assert_int_equal (result.answer->call_count, 2);
    assert_string_equal (result.answer->calls[0].name, "terminal");
    assert_string_equal (argos_text_str (&result.answer->calls[0].args), "{\"command\":\"date\"}");
    assert_string_equal (argos_text_str (&result.answer->calls[1].args), "{\"x\":1}");
    s_clear (&result);
    result =
        s_ask_body ("{\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"!tool x {}\"},"
                    "{\"role\":\"assistant\",\"content\":null},{\"role\":\"tool\",\"content\":"
                    "\"out 1\"},{\"role\":\"tool\",\"content\":\"out 2\"}]}",
            5000);
    argos_answer_settle (result.answer, "s");
    assert_string_equal (argos_text_str (&result.answer->text), "out 1\nout 2");
    s_clear (&result);
}

static void
s_it_fails_once (void **state)
{
    (void) state;
    for (int round = 0; round < 2; round++) {
        s_result_t result = s_ask ("!fail 503 now", 5000);
        assert_int_equal (result.status, 503);
        s_clear (&result);
        result = s_ask ("!fail 503 now", 5000);
        assert_int_equal (result.status, 200);
        argos_answer_settle (result.answer, "s");
        assert_string_equal (argos_text_str (&result.answer->text), "You said: !fail 503 now");
        s_clear (&result);
    }
}

static void
s_slow_answers_keep_their_pace (void **state)
{
    (void) state;
    s_result_t result = s_ask ("!slow 5", 5000);
    assert_int_equal (argos_answer_settle (result.answer, "s"), ARGOS_ANSWER_TEXT);
    assert_string_equal (
        argos_text_str (&result.answer->text), "token1 token2 token3 token4 token5");
    assert_in_range (result.msec, 190, 2000);
    s_clear (&result);
    result = s_ask ("!slow 2 300 now", 5000);
    assert_int_equal (argos_answer_settle (result.answer, "s"), ARGOS_ANSWER_TEXT);
    assert_string_equal (argos_text_str (&result.answer->text), "token1 token2");
    assert_in_range (result.msec, 290, 2000);
    s_clear (&result);
}

static void
s_bad_answers_are_as_bad_as_asked (void **state)
{
    (void) state;
    s_result_t result = s_ask ("!html", 5000);
    assert_int_equal (result.status, 200);
    assert_memory_equal (argos_text_str (&result.body), "<!doctype", 9);
    s_clear (&result);
    result = s_ask ("!cut", 5000);
    assert_int_not_equal (result.rc, CURLE_OK);
    assert_int_equal (argos_answer_settle (result.answer, "s"), ARGOS_ANSWER_CUT);
    s_clear (&result);
    result = s_ask ("!hang", 200);
    assert_int_equal (result.rc, CURLE_OPERATION_TIMEDOUT);
    assert_int_equal (result.body.size, 0);
    s_clear (&result);
    result = s_ask ("!big 100000", 5000);
    argos_answer_settle (result.answer, "s");
    assert_int_equal (result.answer->text.size, 100000);
    s_clear (&result);
}

static void
s_hundreds_of_streams_run_at_once (void **state)
{
    (void) state;
    enum { STREAMS = 300 };
    static argos_text_t bodies[STREAMS];
    CURL *easies[STREAMS];
    CURLM *multi = curl_multi_init ();
    for (int i = 0; i < STREAMS; i++) {
        argos_text_init (&bodies[i], 1048576);
        easies[i] = s_easy (curl_easy_init (),
            "{\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"!slow 10\"}]}",
            &bodies[i], 20000);
        curl_multi_add_handle (multi, easies[i]);
    }
    int64_t start = zclock_mono ();
    int running = STREAMS;
    while (running) {
        assert_int_equal (curl_multi_perform (multi, &running), CURLM_OK);
        curl_multi_poll (multi, NULL, 0, 100, NULL);
    }
    assert_in_range (zclock_mono () - start, 400, 15000);
    for (int i = 0; i < STREAMS; i++) {
        assert_non_null (strstr (argos_text_str (&bodies[i]), "token10"));
        assert_non_null (strstr (argos_text_str (&bodies[i]), "[DONE]"));
        curl_multi_remove_handle (multi, easies[i]);
        curl_easy_cleanup (easies[i]);
        argos_text_clear (&bodies[i]);
    }
    curl_multi_cleanup (multi);
}

static void
s_it_stops_with_streams_open (void **state)
{
    (void) state;
    zactor_t *actor = argos_actor_start ("rehearsal2", argos_rehearsal_actor, NULL);
    assert_non_null (actor);
    int port = argos_rehearsal_port (actor, 2000);
    assert_true (port > 0);
    char url[64];
    snprintf (url, sizeof url, "http://127.0.0.1:%d/v1/chat/completions", port);
    CURLM *multi = curl_multi_init ();
    argos_text_t body;
    argos_text_init (&body, 1048576);
    CURL *easies[2];
    for (int i = 0; i < 2; i++) {
        easies[i] = s_easy (curl_easy_init (),
            i ? "{\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"!slow 1000\"}]}"
              : "{\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"!hang\"}]}",
            &body, 20000);
        curl_easy_setopt (easies[i], CURLOPT_URL, url);
        curl_multi_add_handle (multi, easies[i]);
    }
    int running = 2;
    while (!strstr (argos_text_str (&body), "token2")) {
        curl_multi_perform (multi, &running);
        curl_multi_poll (multi, NULL, 0, 100, NULL);
    }
    assert_int_equal (argos_actor_stop (&actor, 3000), 0);
    while (running) {
        curl_multi_perform (multi, &running);
        curl_multi_poll (multi, NULL, 0, 100, NULL);
    }
    for (int i = 0; i < 2; i++) {
        curl_multi_remove_handle (multi, easies[i]);
        curl_easy_cleanup (easies[i]);
    }
    curl_multi_cleanup (multi);
    argos_text_clear (&body);
}

static int
s_setup (void **state)
{
    (void) state;
    zsys_handler_set (NULL);
    curl_global_init (CURL_GLOBAL_DEFAULT);
    s_actor = argos_actor_start ("rehearsal", argos_rehearsal_actor, NULL);
    int port = s_actor ? argos_rehearsal_port (s_actor, 2000) : -1;
    snprintf (s_url, sizeof s_url, "http://127.0.0.1:%d/v1/chat/completions", port);
    return port > 0 ? 0 : -1;
}

static int
s_teardown (void **state)
{
    (void) state;
    int rc = argos_actor_stop (&s_actor, 3000);
    curl_global_cleanup ();
    return rc;
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_it_echoes_in_chunks),
        cmocka_unit_test (s_it_answers_without_a_stream),
        cmocka_unit_test (s_it_asks_for_tools_and_echoes_results),
        cmocka_unit_test (s_it_fails_once),
        cmocka_unit_test (s_slow_answers_keep_their_pace),
        cmocka_unit_test (s_bad_answers_are_as_bad_as_asked),
        cmocka_unit_test (s_hundreds_of_streams_run_at_once),
        cmocka_unit_test (s_it_stops_with_streams_open),
    };
    return cmocka_run_group_tests (tests, s_setup, s_teardown);
}
