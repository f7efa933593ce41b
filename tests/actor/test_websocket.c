//  test_websocket - the client against a server of tests/fakes that behaves, or does not: one case
//  for each path.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_liveness.h"
#include "argos_shell.h"
#include "argos_websocket.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000

extern char **environ;

static pid_t s_server;  //  The fake
static int s_server_in; //  Its standard input: closed, it ends
static int s_port;      //  Where it listens

//  What one connection has told

typedef struct {
    argos_websocket_t *socket; //  It
    char first[4096];          //  The first text
    char last[4096];           //  The last one, as far as there is room
    size_t texts;              //  How many
    size_t bytes;              //  Of all
    bool open;                 //  on_open was told
    int ends;                  //  How often on_end was told
    argos_websocket_end_t end; //  What it said
    char reason[256];          //  .
    bool vanish;               //  Destroy it with the first text
} s_heard_t;

static void
s_on_open (void *arg, uint32_t generation)
{
    s_heard_t *heard = arg;
    assert_int_equal (generation, 7);
    heard->open = true;
}

static void
s_on_text (void *arg, uint32_t generation, const char *text, size_t size)
{
    s_heard_t *heard = arg;
    assert_int_equal (generation, 7);
    assert_int_equal (strlen (text), size);
    assert_int_equal (heard->ends, 0);
    snprintf (heard->texts++ ? heard->last : heard->first, sizeof heard->first, "%s", text);
    heard->bytes += size;
    if (heard->vanish)
        argos_websocket_destroy (&heard->socket);
}

static void
s_on_end (void *arg, uint32_t generation, const argos_websocket_end_t *end)
{
    s_heard_t *heard = arg;
    assert_int_equal (generation, 7);
    heard->ends++;
    heard->end = *end;
    snprintf (heard->reason, sizeof heard->reason, "%s", end->reason);
}

static s_heard_t *
s_begin (const char *path, int64_t idle_ms)
{
    char url[128];
    s_heard_t *heard = calloc (1, sizeof *heard);
    assert_non_null (heard);
    snprintf (url, sizeof url, "ws://127.0.0.1:%d/%s", s_port, path);
    argos_websocket_config_t config = { .url = url,
        .message_max = 1 << 20,
        .idle_ms = idle_ms,
        .generation = 7,
        .arg = heard,
        .on_open = s_on_open,
        .on_text = s_on_text,
        .on_end = s_on_end };
    heard->socket = argos_websocket_new (&config, argos_shell_now ());
    assert_non_null (heard->socket);
    return heard;
}

//  Turns until the condition holds
static void
s_until (s_heard_t *heard, bool (*done) (const s_heard_t *))
{
    int64_t deadline = argos_shell_now () + PATIENCE_MS;
    while (!done (heard)) {
        int64_t now = argos_shell_now ();
        assert_true (now < deadline);
        int64_t due = argos_websocket_due (heard->socket);
        int64_t wait = due < 0 || due > deadline ? deadline - now : due - now;
        struct pollfd item = { .fd = argos_websocket_fd (heard->socket), .events = POLLIN };
        poll (&item, 1, wait > 0 ? (int) wait : 0);
        argos_websocket_turn (heard->socket, argos_shell_now ());
    }
}

static bool
s_ended (const s_heard_t *heard)
{
    return heard->ends > 0;
}

static bool
s_two_texts (const s_heard_t *heard)
{
    return heard->texts >= 2 || heard->ends;
}

static bool
s_one_text (const s_heard_t *heard)
{
    return heard->texts >= 1 || heard->ends;
}

static void
s_free (s_heard_t *heard)
{
    argos_websocket_destroy (&heard->socket);
    argos_websocket_destroy (&heard->socket);
    free (heard);
}

static void
s_texts_go_both_ways (void **state)
{
    (void) state;
    s_heard_t *heard = s_begin ("echo?v=10&encoding=json", 0);
    s_until (heard, s_one_text);
    assert_true (heard->open && argos_websocket_is_open (heard->socket));
    assert_string_equal (
        heard->first, "{\"extensions\": \"\", \"query\": {\"v\": \"10\", \"encoding\": \"json\"}}");
    static char text[300001];
    memset (text, 'a', 300000);
    int64_t now = argos_shell_now ();
    assert_int_equal (argos_websocket_send (heard->socket, text, 300000, now), 0);
    s_until (heard, s_two_texts);
    assert_int_equal (heard->bytes, 300000 + strlen (heard->first));
    argos_websocket_close (heard->socket, 4900, "resume", argos_shell_now ());
    assert_false (argos_websocket_is_open (heard->socket));
    s_until (heard, s_ended);
    assert_int_equal (heard->end.code, 4900);
    assert_int_equal (heard->ends, 1);
    assert_int_equal (argos_websocket_send (heard->socket, "x", 1, argos_shell_now ()), -1);
    s_free (heard);
}

static void
s_messages_come_whole (void **state)
{
    (void) state;
    s_heard_t *heard = s_begin ("fragments", 0);
    s_until (heard, s_two_texts);
    assert_string_equal (heard->first, "grü Gott");
    assert_string_equal (heard->last, "[\"pong\", 10, \"now\"]");
    s_free (heard);
    heard = s_begin ("bytewise", 0);
    s_until (heard, s_two_texts);
    s_until (heard, s_two_texts);
    assert_string_equal (heard->first, "one");
    s_free (heard);
}

static bool
s_all_of_the_burst (const s_heard_t *heard)
{
    return heard->texts == 2000 || heard->ends;
}

static void
s_a_burst_is_read_in_pieces (void **state)
{
    (void) state;
    s_heard_t *heard = s_begin ("burst", 0);
    s_until (heard, s_all_of_the_burst);
    assert_int_equal (heard->texts, 2000);
    assert_memory_equal (heard->last, "message 1999 ", 13);
    s_free (heard);
}

//  The path, the code that is told, and whether there was a connection at all

static const struct {
    const char *path; //  What the server does
    int code;         //  Told
    int status;       //  Of HTTP
    bool open;        //  It was open before
} ends[] = {
    { "close_4004", 4004, 0, true },
    { "close_empty", 1005, 0, true },
    { "cut", 1006, 0, true },
    { "masked", 1006, 0, true },
    { "reserved", 1006, 0, true },
    { "long_ping", 1006, 0, true },
    { "half_ping", 1006, 0, true },
    { "pings", 1006, 0, true },
    { "no_text", 1006, 0, true },
    { "huge", 1006, 0, true },
    { "negative", 1006, 0, true },
    { "lost", 1006, 0, true },
    { "refuse", 1006, 503, false },
    { "plain", 1006, 200, false },
    { "wrong_key", 1006, 0, false },
    { "big_head", 1006, 0, false },
    { "compress", 1006, 0, false },
};

static void
s_every_end_is_told_once_with_its_code (void **state)
{
    (void) state;
    for (size_t at = 0; at < sizeof ends / sizeof ends[0]; at++) {
        s_heard_t *heard = s_begin (ends[at].path, 0);
        s_until (heard, s_ended);
        if (heard->end.code != ends[at].code || heard->end.status != ends[at].status ||
            heard->open != ends[at].open || heard->ends != 1)
            fail_msg ("%s: code %d status %d open %d ends %d: %s", ends[at].path, heard->end.code,
                heard->end.status, heard->open, heard->ends, heard->reason);
        assert_true (heard->reason[0] || ends[at].code != 1006);
        assert_int_equal (heard->end.retry_after_ms, ends[at].status == 503 ? 7000 : -1);
        assert_int_equal (argos_websocket_due (heard->socket), -1);
        s_free (heard);
    }
}

static void
s_a_zombie_is_noticed (void **state)
{
    (void) state;
    s_heard_t *heard = s_begin ("silent", 50);
    s_until (heard, s_ended);
    assert_true (heard->open);
    assert_int_equal (heard->end.code, 1006);
    assert_non_null (strstr (heard->reason, "ping"));
    s_free (heard);
}

static void
s_what_is_not_answered_has_a_deadline (void **state)
{
    (void) state;
    //  The clock is an argument: 16 s later
    s_heard_t *heard = s_begin ("hang", 0);
    for (int turn = 0; turn < 20; turn++)
        argos_websocket_turn (heard->socket, argos_shell_now ());
    assert_false (heard->ends);
    argos_websocket_turn (heard->socket, argos_shell_now () + 16000);
    assert_int_equal (heard->ends, 1);
    s_free (heard);
    heard = s_begin ("deaf", 0);
    int64_t limit = argos_shell_now () + PATIENCE_MS;
    while (!heard->open && argos_shell_now () < limit)
        argos_websocket_turn (heard->socket, argos_shell_now ());
    argos_websocket_close (heard->socket, 1000, "bye", argos_shell_now ());
    argos_websocket_turn (heard->socket, argos_shell_now ());
    assert_false (heard->ends);
    argos_websocket_turn (heard->socket, argos_shell_now () + 6000);
    assert_int_equal (heard->ends, 1);
    s_free (heard);
}

static void
s_it_can_be_destroyed_from_within (void **state)
{
    (void) state;
    s_heard_t *heard = s_begin ("burst", 0);
    heard->vanish = true;
    argos_websocket_t *socket = heard->socket;
    int64_t deadline = argos_shell_now () + PATIENCE_MS;
    while (!heard->texts && argos_shell_now () < deadline) {
        struct pollfd item = { .fd = argos_websocket_fd (socket), .events = POLLIN };
        poll (&item, 1, 100);
        argos_websocket_turn (socket, argos_shell_now ());
    }
    assert_int_equal (heard->texts, 1);
    assert_null (heard->socket);
    free (heard);
}

static void
s_nobody_listens (void **state)
{
    (void) state;
    s_heard_t *heard = calloc (1, sizeof *heard);
    assert_non_null (heard);
    argos_websocket_config_t config = {
        .url = "ws://127.0.0.1:1/", .generation = 7, .arg = heard, .on_end = s_on_end
    };
    heard->socket = argos_websocket_new (&config, argos_shell_now ());
    s_until (heard, s_ended);
    assert_int_equal (heard->end.code, 1006);
    s_free (heard);
    config.url = "http://127.0.0.1/";
    assert_null (argos_websocket_new (&config, 0));
    config.url = "ws://";
    assert_null (argos_websocket_new (&config, 0));
}

static void
s_silence_asks_for_a_probe_then_a_connection (void **state)
{
    (void) state;
    argos_liveness_t live = { .quiet_ms = 900000, .dead_ms = 1800000, .jump_ms = 30000 };
    argos_liveness_event (&live, 1000);
    int64_t now = 1000;
    int probes = 0;
    while (now < 4000000) {
        now = argos_liveness_due (&live);
        argos_liveness_act_t act = argos_liveness_look (&live, now);
        assert_true (argos_liveness_due (&live) > now);
        probes += act == ARGOS_PROBE;
        if (act == ARGOS_PROBE)
            assert_int_equal (now, 901000);
        if (act == ARGOS_RECONNECT)
            break;
    }
    assert_int_equal (probes, 1);
    assert_int_equal (now, 1801000);
    //  Asleep for ten minutes
    argos_liveness_event (&live, now);
    assert_int_equal (
        argos_liveness_look (&live, argos_liveness_due (&live) + 600000), ARGOS_RECONNECT);
    assert_int_equal (argos_liveness_look (&live, argos_liveness_due (&live) + 29000), ARGOS_LIVE);
}

//  ------------------------------------------------------------------------------------------------
//  The fake

static int
s_start (void **state)
{
    (void) state;
    char script[1024], line[64] = "";
    int in[2], out[2];
    snprintf (script, sizeof script, "%s/tests/fakes/sockets.py", getenv ("ARGOS_SOURCE"));
    if (pipe (in) < 0 || pipe (out) < 0)
        return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_adddup2 (&actions, in[0], 0);
    posix_spawn_file_actions_adddup2 (&actions, out[1], 1);
    posix_spawn_file_actions_addclose (&actions, in[1]);
    char *argv[] = { "python3", script, NULL };
    int rc = posix_spawn (&s_server, "/usr/bin/python3", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy (&actions);
    close (in[0]);
    close (out[1]);
    s_server_in = in[1];
    FILE *answer = fdopen (out[0], "r");
    if (rc == 0 && answer && fgets (line, sizeof line, answer))
        s_port = atoi (line);
    if (answer)
        fclose (answer);
    return s_port ? 0 : -1;
}

static int
s_stop (void **state)
{
    (void) state;
    close (s_server_in);
    kill (s_server, SIGTERM);
    waitpid (s_server, NULL, 0);
    return 0;
}

int
main (void)
{
    signal (SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_texts_go_both_ways),
        cmocka_unit_test (s_messages_come_whole),
        cmocka_unit_test (s_a_burst_is_read_in_pieces),
        cmocka_unit_test (s_every_end_is_told_once_with_its_code),
        cmocka_unit_test (s_a_zombie_is_noticed),
        cmocka_unit_test (s_what_is_not_answered_has_a_deadline),
        cmocka_unit_test (s_it_can_be_destroyed_from_within),
        cmocka_unit_test (s_nobody_listens),
        cmocka_unit_test (s_silence_asks_for_a_probe_then_a_connection),
    };
    return cmocka_run_group_tests (tests, s_start, s_stop);
}
