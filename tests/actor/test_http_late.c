//  test_http_late - clients of the HTTP server that take too long for a head or a body, whatever
//  trickles in meanwhile; the times of the server are a hundredth of the real ones.

#include "argos_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD_MS 100   //  To the first head; so a body has 1,800
#define WAIT_MS 20000 //  Patience

static int64_t
s_now (void)
{
    struct timespec now;
    (void) clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
s_fine (void *ctx, argos_http_req_t *req)
{
    (void) ctx;
    argos_http_json (req, 200, json_object ());
}

static argos_http_t *
s_begin (void)
{
    static const argos_http_route_t routes[] = {
        { "GET", "/", 0, s_fine },
        { "POST", "/", 0, s_fine },
        { NULL, NULL, 0, NULL },
    };
    char reason[256] = "";
    const argos_http_config_t config = { .host = "127.0.0.1",
        .key = "a-key-for-this-test",
        .connection_limit = 16,
        .head_ms = HEAD_MS,
        .routes = routes };
    argos_http_t *http = argos_http_new (&config, reason);
    assert_non_null (http);
    return http;
}

static int
s_connect (const argos_http_t *http, const char *text)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_port = htons ((uint16_t) argos_http_port (http)),
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal (connect (fd, (const struct sockaddr *) &address, sizeof address), 0);
    assert_int_equal (send (fd, text, strlen (text), MSG_NOSIGNAL), (ssize_t) strlen (text));
    return fd;
}

//  Runs the server, and sends a byte now and then, until fd is closed or has an answer. Returns how
//  long it took; answer has 64 bytes.

static int64_t
s_trickle (argos_http_t *http, int fd, char *answer)
{
    int64_t begin = s_now ();
    ssize_t got = -1;
    while (got < 0 && s_now () - begin < WAIT_MS) {
        int64_t timeout = argos_http_timeout (http);
        struct pollfd items[] = { { argos_http_fd (http), POLLIN, 0 }, { fd, POLLIN, 0 } };
        (void) poll (items, 2, timeout < 0 || timeout > 10 ? 10 : (int) timeout);
        argos_http_run (http);
        got = recv (fd, answer, 63, MSG_DONTWAIT);
        (void) send (fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    answer[got > 0 ? got : 0] = '\0';
    close (fd);
    return s_now () - begin;
}

static void
c178_who_trickles_a_head_or_a_body_is_cut_off (void **state)
{
    (void) state;
    char answer[64];
    argos_http_t *http = s_begin ();
    int64_t took = s_trickle (http, s_connect (http, "GET / HTTP/1.1\r\nHost: x\r\nX: "), answer);
    assert_string_equal (answer, "");
    assert_in_range (took, HEAD_MS - 20, WAIT_MS / 2);
    const char *head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
    took = s_trickle (http, s_connect (http, head), answer);
    assert_string_equal (answer, "");
    assert_in_range (took, 18 * HEAD_MS - 20, WAIT_MS / 2);
    argos_http_destroy (&http);
}

static void
who_is_in_time_is_answered_and_may_wait_for_the_next (void **state)
{
    (void) state;
    char answer[64];
    argos_http_t *http = s_begin ();
    const char *head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n";
    (void) s_trickle (http, s_connect (http, head), answer);
    assert_memory_equal (answer, "HTTP/1.1 200 ", 13);
    argos_http_destroy (&http);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (c178_who_trickles_a_head_or_a_body_is_cut_off),
        cmocka_unit_test (who_is_in_time_is_answered_and_may_wait_for_the_next),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
