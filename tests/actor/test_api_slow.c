//  test_api_slow - readers of a run that do not take what there is for them; see api_kit.h.

#include "api_kit.h"
#include "argos_shell.h"
#include "schema_group.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

//  Connect with a small window, ask for the events, and take nothing but the beginning.

static int
s_deaf (const api_world_t *self, const char *more)
{
    char path[128], request[512], hello[600] = "";
    const int small = 2048;
    api_path (self, "/events", path);
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_port = htons ((uint16_t) self->port),
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval patience = { .tv_sec = WAIT_MS / 1000 };
    (void) setsockopt (fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    (void) setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal (connect (fd, (const struct sockaddr *) &address, sizeof address), 0);
    int size = snprintf (request, sizeof request,
        "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " KEY
        "\r\n%s\r\n",
        path, more);
    assert_int_equal (send (fd, request, (size_t) size, MSG_NOSIGNAL), size);
    assert_int_equal (api_answer (fd, "HTTP", hello, 16), 200);
    return fd;
}

//  How often a text comes in what a run has said so far, or -1 when its end is not there

static int
s_count (const char *text, const char *what)
{
    int count = 0;
    for (const char *at = text; (at = strstr (at, what)); at += strlen (what))
        count++;
    return count;
}

#define FLOOD 3000     //  Deltas; all together less than the text that a log keeps
#define FLOOD_SIZE 300 //  Bytes of one

static void
s_flood (api_world_t *self, int from, int count)
{
    char text[FLOOD_SIZE + 1];
    memset (text, 'x', FLOOD_SIZE);
    for (int i = from; i < from + count; i++) {
        text[snprintf (text, 16, "<%d>", i)] = 'x';
        text[FLOOD_SIZE] = 0;
        int64_t deadline = argos_shell_now () + WAIT_MS;
        char to[128];
        (void) snprintf (to, sizeof to, "topic:run.%s", self->run_id);
        argos_err_t code;
        do {
            const argos_peer_part_t part = { .type = "turn.delta",
                .to = to,
                .body = json_pack ("{s:i,s:s}", "segment", 0, "delta", text) };
            code = argos_peer_publish (self->peer, self->lease, &part);
            (void) argos_peer_turn (self->peer);
        } while (code != ARGOS_OK && argos_shell_now () < deadline);
        assert_int_equal (code, ARGOS_OK);
    }
}

//  What comes on fd until that text is there; meanwhile what was published goes out.

static void
s_take (api_world_t *self, int fd, const char *until, char *target, size_t size)
{
    int64_t deadline = argos_shell_now () + WAIT_MS;
    size_t used = strlen (target), seen = used;
    while (!strstr (target + (seen > 64 ? seen - 64 : 0), until)) {
        assert_true (argos_shell_now () < deadline);
        zmq_pollitem_t items[2] = {
            { .socket = argos_peer_socket (self->peer), .events = ZMQ_POLLIN },
            { .fd = fd, .events = ZMQ_POLLIN },
        };
        (void) argos_peer_turn (self->peer);
        zmq_poll (items, 2, 50);
        seen = used;
        ssize_t got = recv (fd, target + used, size - used - 1, MSG_DONTWAIT);
        used += got > 0 ? (size_t) got : 0;
        target[used] = 0;
    }
}

static void
c029_c032_a_reader_that_stops_taking_is_let_go_with_a_word_and_comes_back (void **state)
{
    (void) state;
    static char text[8 << 20];
    char path[128], first[FLOOD_SIZE + 512] = "", from[64];
    api_world_t *self = api_begin (0, 0);
    api_post (self, "", 202);
    api_bind (self);
    api_path (self, "/events", path);
    int deaf = s_deaf (self, "");
    int other = api_ask (self, "GET", path, "", ""); //  Takes what comes, and is never let go
    *text = 0;
    for (int i = 0; i < FLOOD; i += 50) {
        char last[16];
        s_flood (self, i, 50);
        (void) snprintf (last, sizeof last, "<%d>", i + 49);
        s_take (self, other, last, text, sizeof text);
    }
    assert_null (strstr (text, "stream.overflow"));
    *text = 0; //  The deaf one wakes up
    (void) api_answer (deaf, NULL, text, sizeof text);
    close (deaf);
    assert_int_equal (s_count (text, "stream.overflow"), 1);
    assert_non_null (strstr (text, "\"reason\":\"slow_reader\""));
    int got = s_count (text, "message.delta");
    assert_true (got > 0 && got < FLOOD - 100);
    const char *end = strstr (text, "stream.overflow");
    while (strncmp (end, "id: ", 4) != 0)
        end--;
    assert_int_equal (strtol (end + 4, NULL, 10), got - 1); //  All up to there
    api_finish (self, "x", false);
    (void) snprintf (from, sizeof from, "Last-Event-ID: %d\r\n", got - 1);
    assert_int_equal (api_call (self, "GET", path, from, "", text, sizeof text), 200);
    (void) snprintf (first, sizeof first, "<%d>", got);
    assert_non_null (strstr (text, first));
    assert_null (strstr (text, "stream.gap"));
    assert_non_null (strstr (text, "run.completed"));
    assert_int_equal (
        api_call (self, "GET", path, "Last-Event-ID: -1\r\n", "", text, sizeof text), 200);
    assert_non_null (strstr (text, "<0>"));
    close (other);
    api_end (self);
}

static void
c029_a_reader_that_takes_nothing_is_cut_off (void **state)
{
    (void) state;
    static char text[1 << 20];
    char answer[16384] = "";
    int64_t deadline = argos_shell_now () + WAIT_MS;
    api_world_t *self = api_begin (0, 300);
    api_post (self, "", 202);
    api_bind (self);
    int deaf = s_deaf (self, "");
    s_flood (self, 0, 1000); //  Less than the window, more than the kernel keeps
    while (!strstr (answer, "argos_http_slow_readers_total 1\n")) {
        assert_true (argos_shell_now () < deadline);
        (void) argos_peer_turn (self->peer);
        assert_int_equal (api_call (self, "GET", "/metrics", "", "", answer, sizeof answer), 200);
    }
    *text = 0;
    ssize_t got = 1;
    while (got > 0)
        got = recv (deaf, text, sizeof text - 1, 0); //  Ends, by a reset or not
    assert_true (got == 0 || errno == ECONNRESET);
    assert_null (strstr (text, "stream closed"));
    close (deaf);
    api_finish (self, "x", false);
    api_end (self);
}

int
main (void)
{
    struct rlimit files;
    (void) getrlimit (RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
    (void) setrlimit (RLIMIT_NOFILE, &files);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (
            c029_c032_a_reader_that_stops_taking_is_let_go_with_a_word_and_comes_back),
        cmocka_unit_test (c029_a_reader_that_takes_nothing_is_cut_off),
    };
    return SCHEMA_GROUP ("api_slow", tests, NULL, NULL);
}
