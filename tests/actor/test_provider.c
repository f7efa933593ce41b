//  test_provider - the provider against a server that sends exactly the bytes that a test wants.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_actor.h"
#include "argos_provider_probe.h"
#include "argos_rehearsal_actor.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <czmq.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#define EVENT "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n"
#define END "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
#define STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define PATIENCE_MS 60000 //  For 16 MiB on a machine that does other things too

//  What the server sends. Copied before READY, but for the bytes, which outlive it.

typedef struct {
    int listener;        //  Socket that listens
    const char *head;    //  Sent first, NULL = nothing
    const char *bytes;   //  Answer
    size_t size;         //  Its size
    size_t repeat;       //  So many times
    const char *drip;    //  Sent every 20 msec afterwards, NULL = nothing
    bool hold;           //  Keep the connection open at the end
    char request[16384]; //  Out: the request
} s_script_t;

static int s_port = 0;

static size_t
s_read_request (int client, char *target, size_t room)
{
    size_t size = 0;
    for (;;) {
        ssize_t count = recv (client, target + size, room - 1 - size, 0);
        if (count <= 0)
            return size;
        size += (size_t) count;
        target[size] = 0;
        const char *end = strstr (target, "\r\n\r\n");
        const char *length = strcasestr (target, "content-length:");
        if (end && length && strlen (end + 4) >= strtoul (length + 15, NULL, 10))
            return size;
    }
}

static bool
s_send_all (int client, const char *data, size_t size)
{
    while (size) {
        ssize_t count = send (client, data, size, MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        data += count;
        size -= (size_t) count;
    }
    return true;
}

static void
s_server (zsock_t *pipe, void *arg)
{
    s_script_t *script = (s_script_t *) arg;
    argos_actor_ready (pipe, true);
    int client = accept (script->listener, NULL, NULL);
    s_read_request (client, script->request, sizeof script->request);
    bool open = !script->head || s_send_all (client, script->head, strlen (script->head));
    for (size_t i = 0; i <= script->repeat && open; i++)
        open = s_send_all (client, script->bytes, script->size);
    zmq_pollitem_t items[] = { { .socket = zsock_resolve (pipe), .events = ZMQ_POLLIN },
        { .fd = client, .events = ZMQ_POLLIN } };
    while (script->hold && open && zmq_poll (items, 2, script->drip ? 20 : -1) == 0)
        open = s_send_all (
            client, script->drip ? script->drip : "", script->drip ? strlen (script->drip) : 0);
    close (client);
}

static int
s_listen (void)
{
    int listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    assert_int_equal (bind (listener, (struct sockaddr *) &address, size), 0);
    assert_int_equal (listen (listener, 8), 0);
    getsockname (listener, (struct sockaddr *) &address, &size);
    s_port = ntohs (address.sin_port);
    return listener;
}

static argos_provider_settings_t
s_settings (argos_provider_kind_t kind)
{
    argos_provider_settings_t settings = { .kind = kind, .model = "m", .key = "secret-key" };
    snprintf (settings.base_url, sizeof settings.base_url, "http://127.0.0.1:%d/v1", s_port);
    return settings;
}

//  Plays the script to one call
static argos_provider_probe_t
s_play (s_script_t *script, argos_provider_kind_t kind, int64_t stall_ms)
{
    argos_provider_probe_t result;
    script->listener = s_listen ();
    zactor_t *server = argos_actor_start ("server", s_server, script);
    argos_provider_settings_t settings = s_settings (kind);
    settings.stall_ms = stall_ms;
    argos_provider_probe (&settings, NULL, PATIENCE_MS, &result);
    argos_actor_stop (&server, 5000);
    close (script->listener);
    return result;
}

static argos_provider_probe_t
s_answer (const char *bytes, size_t size)
{
    s_script_t script = { .bytes = bytes, .size = size };
    return s_play (&script, ARGOS_PROVIDER_OPENAI, 0);
}

#define ANSWER(bytes) s_answer (bytes, sizeof (bytes) - 1)

static void
s_check_failed (argos_provider_probe_t result, argos_provider_class_t class, const char *words)
{
    assert_false (result.ok);
    if (result.class != class || !strstr (result.text, words) || !strstr (result.text, "failed"))
        fail_msg ("%s: %s", argos_provider_class_name (result.class), result.text);
}

static void
s_the_request_is_complete (void **state)
{
    (void) state;
    s_script_t script = { .bytes = STREAM EVENT END, .size = sizeof (STREAM EVENT END) - 1 };
    argos_provider_probe_t result = s_play (&script, ARGOS_PROVIDER_OPENAI, 0);
    assert_true (result.ok);
    assert_string_equal (result.text, "Hi");
    assert_memory_equal (script.request, "POST /v1/chat/completions HTTP/1.1\r\n", 36);
    assert_non_null (strstr (script.request, "\r\nAuthorization: Bearer secret-key\r\n"));
    assert_non_null (strstr (script.request, "\r\nContent-Type: application/json\r\n"));
    assert_non_null (strstr (script.request, "\r\nAccept: text/event-stream\r\n"));
    assert_null (strstr (script.request, "Expect:"));
    assert_string_equal (strstr (script.request, "\r\n\r\n") + 4,
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Answer with the one word: "
        "ready\"}],\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
}

static void
s_the_other_wire_works_too (void **state)
{
    (void) state;
    static const char bytes[] =
        STREAM "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":"
               "{\"input_tokens\":3}}}\n\nevent: content_block_delta\ndata: {\"type\":"
               "\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":"
               "\"Yes\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
               "\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    s_script_t script = { .bytes = bytes, .size = sizeof bytes - 1 };
    argos_provider_probe_t result = s_play (&script, ARGOS_PROVIDER_ANTHROPIC, 0);
    assert_true (result.ok);
    assert_string_equal (result.text, "Yes");
    assert_int_equal (result.input_tokens, 3);
    assert_non_null (strstr (script.request, "\r\nx-api-key: secret-key\r\n"));
    assert_non_null (strstr (script.request, "\r\nanthropic-version: 2023-06-01\r\n"));
}

static void
s_whole_answers_are_taken (void **state)
{
    (void) state;
    argos_provider_probe_t result = ANSWER (
        JSON "{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}");
    assert_true (result.ok);
    assert_string_equal (result.text, "whole");
    result = ANSWER ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" EVENT END);
    assert_true (result.ok);
}

static void
s_text_is_always_valid (void **state)
{
    (void) state;
    argos_provider_probe_t result = ANSWER (
        STREAM "data: {\"choices\":[{\"delta\":{\"content\":\"a\xFF\\u0000\\ud83d\"}}]}\n\ndata: "
               "{\"choices\":[{\"delta\":{\"content\":\"\\ude00\"}}]}\n\n" END);
    assert_true (result.ok);
    assert_string_equal (result.text, "a\xEF\xBF\xBD\xEF\xBF\xBD\xF0\x9F\x98\x80");
    result = ANSWER (STREAM "data: {\"choices\":[{\"delta\":{\"content\":\"n\0l\"}}]}\n\n" END);
    assert_true (result.ok);
    assert_string_equal (result.text, "n\xEF\xBF\xBDl");
}

static void
s_bad_answers_have_a_name (void **state)
{
    (void) state;
    s_check_failed (ANSWER (JSON "<html>"), ARGOS_PE_FORMAT, "web page");
    s_check_failed (ANSWER (JSON "{\"a\":"), ARGOS_PE_FORMAT, "not valid JSON");
    s_check_failed (ANSWER (JSON ""), ARGOS_PE_EMPTY, "empty");
    s_check_failed (ANSWER (STREAM "data: <html>\n\n"), ARGOS_PE_FORMAT, "not valid JSON");
    s_check_failed (ANSWER (STREAM EVENT "data: {\"cho"), ARGOS_PE_TIMEOUT, "middle of a line");
    s_check_failed (ANSWER (STREAM EVENT), ARGOS_PE_TIMEOUT, "broke off");
    s_check_failed (ANSWER (STREAM), ARGOS_PE_EMPTY, "empty");
    s_check_failed (ANSWER (STREAM EVENT "data: {\"error\":{\"message\":\"Overloaded\"}}\n\n"),
        ARGOS_PE_OVERLOADED, "Overloaded");
    s_check_failed (ANSWER ("nonsense\r\n\r\n"), ARGOS_PE_FORMAT, "may have been sent");
    s_check_failed (ANSWER ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "
                            "999\r\n\r\n" EVENT),
        ARGOS_PE_TIMEOUT, "may have been sent");
    char bomb[4096] = STREAM "data: ";
    memset (bomb + strlen (bomb), '[', 2000);
    strncat (bomb, "\n\n", 3);
    s_check_failed (s_answer (bomb, strlen (bomb)), ARGOS_PE_FORMAT, "deeper than 64");
}

static void
s_floods_are_cut (void **state)
{
    (void) state;
    static char filler[65536];
    memset (filler, 'x', sizeof filler);
    s_script_t script = {
        .head = STREAM "data: ", .bytes = filler, .size = sizeof filler, .repeat = 40
    };
    s_check_failed (s_play (&script, ARGOS_PROVIDER_OPENAI, 0), ARGOS_PE_FORMAT, "line over 1 MiB");
    memset (filler, '\n', sizeof filler);
    script.head = STREAM;
    script.repeat = 400;
    s_check_failed (s_play (&script, ARGOS_PROVIDER_OPENAI, 0), ARGOS_PE_FORMAT, "16 MiB");
}

static void
s_statuses_are_read (void **state)
{
    (void) state;
    s_check_failed (ANSWER ("HTTP/1.1 401 No\r\nConnection: close\r\n\r\n{\"error\":{\"message\":"
                            "\"bad key\"}}"),
        ARGOS_PE_AUTH, "bad key (HTTP 401)");
    s_check_failed (ANSWER ("HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nConnection: close\r\n\r\n"),
        ARGOS_PE_RATE_LIMIT, "429");
    s_check_failed (ANSWER ("HTTP/1.1 502 Bad\r\nConnection: close\r\n\r\n<html>proxy</html>"),
        ARGOS_PE_SERVER, "web page");
    s_check_failed (
        ANSWER ("HTTP/1.1 302 Moved\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n"),
        ARGOS_PE_UNKNOWN, "302");
    s_check_failed (ANSWER ("HTTP/1.1 404 No\r\nConnection: close\r\n\r\nnot here"),
        ARGOS_PE_NOT_FOUND, "/v1/chat/completions answers: not here (HTTP 404)");
}

static void
s_silence_ends_a_call (void **state)
{
    (void) state;
    s_script_t script = { .bytes = STREAM EVENT, .size = sizeof (STREAM EVENT) - 1, .hold = true };
    argos_provider_probe_t result = s_play (&script, ARGOS_PROVIDER_OPENAI, 200);
    s_check_failed (result, ARGOS_PE_TIMEOUT, "silent");
    assert_in_range (result.total_ms, 190, 2000);
    script.drip = ": keep-alive\n\n"; //  Keeps the socket alive, not the stream
    result = s_play (&script, ARGOS_PROVIDER_OPENAI, 200);
    s_check_failed (result, ARGOS_PE_TIMEOUT, "silent");
    assert_in_range (result.total_ms, 190, 2000);
}

static void
s_a_refused_connection_was_not_sent (void **state)
{
    (void) state;
    close (s_listen ());
    argos_provider_settings_t settings = s_settings (ARGOS_PROVIDER_OPENAI);
    argos_provider_probe_t result;
    argos_provider_probe (&settings, NULL, PATIENCE_MS, &result);
    s_check_failed (result, ARGOS_PE_UNREACHABLE, "was not sent");
    s_check_failed (result, ARGOS_PE_UNREACHABLE, settings.base_url);
    assert_true (result.unsent);
    snprintf (settings.base_url, sizeof settings.base_url, "file:///etc");
    argos_provider_probe (&settings, NULL, PATIENCE_MS, &result);
    s_check_failed (result, ARGOS_PE_FORMAT, "was not sent");
    snprintf (settings.problem, sizeof settings.problem, "env:X is not set");
    argos_provider_probe (&settings, NULL, PATIENCE_MS, &result);
    s_check_failed (result, ARGOS_PE_CREDENTIALS, "no provider credentials configured");
}

typedef struct {
    argos_provider_t *provider; //  Under test
    int left;                   //  Calls to be made
    int ended;                  //  Calls that gave an answer
} s_load_t;

static void
s_on_end (void *arg, argos_answer_t *answer, argos_answer_kind_t kind,
    const argos_provider_error_t *error)
{
    static const argos_call_handlers_t handlers = { .on_end = s_on_end };
    s_load_t *load = (s_load_t *) arg;
    assert_null (error);
    assert_int_equal (kind, ARGOS_ANSWER_TEXT);
    assert_string_equal (argos_text_str (&answer->text), "You said: x");
    load->ended++;
    if (load->left-- <= 0)
        return;
    json_t *messages = json_pack ("[{s:s, s:s}]", "role", "user", "content", "x");
    argos_request_t request = { .messages = messages };
    argos_provider_call (load->provider, &request, "s", &handlers, load, zclock_mono ());
    json_decref (messages);
}

static void
s_turn (argos_provider_t *provider)
{
    int64_t now = zclock_mono (), due_ms = argos_provider_due (provider);
    struct pollfd item = { .fd = argos_provider_fd (provider), .events = POLLIN };
    poll (&item, 1, due_ms < 0 ? 1000 : due_ms > now ? (int) (due_ms - now) : 0);
    argos_provider_turn (provider, zclock_mono (), 0);
}

static void
s_connections_are_used_again_and_calls_aborted (void **state)
{
    (void) state;
    enum { CALLS = 2000, AT_ONCE = 16 };
    static const argos_call_handlers_t handlers = { .on_end = s_on_end };
    zactor_t *server = argos_actor_start ("rehearsal", argos_rehearsal_actor, NULL);
    s_port = argos_rehearsal_port (server, 2000);
    argos_provider_settings_t settings = s_settings (ARGOS_PROVIDER_REHEARSAL);
    s_load_t load = { .provider = argos_provider_new (&settings), .left = CALLS - AT_ONCE };
    json_t *messages = json_pack ("[{s:s, s:s}]", "role", "user", "content", "x");
    argos_request_t request = { .messages = messages };
    int64_t start = zclock_mono ();
    for (int i = 0; i < AT_ONCE; i++)
        argos_provider_call (load.provider, &request, "s", &handlers, &load, start);
    while (load.ended < CALLS)
        s_turn (load.provider);
    print_message ("%d calls in %d msec\n", CALLS, (int) (zclock_mono () - start));
    json_decref (messages);
    messages = json_pack ("[{s:s, s:s}]", "role", "user", "content", "!hang");
    request.messages = messages;
    argos_call_t *calls[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++)
        calls[i] =
            argos_provider_call (load.provider, &request, "s", &handlers, &load, zclock_mono ());
    for (int i = 0; i < 20; i++)
        argos_provider_turn (load.provider, zclock_mono (), 0);
    assert_int_equal (argos_provider_calls (load.provider), AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++)
        argos_call_abort (&calls[i]);
    assert_int_equal (argos_provider_calls (load.provider), 0);
    json_decref (messages);
    argos_provider_destroy (&load.provider);
    argos_actor_stop (&server, 5000);
}

int
main (void)
{
    zsys_handler_set (NULL);
    curl_global_init (CURL_GLOBAL_DEFAULT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_the_request_is_complete),
        cmocka_unit_test (s_the_other_wire_works_too),
        cmocka_unit_test (s_whole_answers_are_taken),
        cmocka_unit_test (s_text_is_always_valid),
        cmocka_unit_test (s_bad_answers_have_a_name),
        cmocka_unit_test (s_floods_are_cut),
        cmocka_unit_test (s_statuses_are_read),
        cmocka_unit_test (s_silence_ends_a_call),
        cmocka_unit_test (s_a_refused_connection_was_not_sent),
        cmocka_unit_test (s_connections_are_used_again_and_calls_aborted),
    };
    int rc = cmocka_run_group_tests (tests, NULL, NULL);
    curl_global_cleanup ();
    return rc;
}
