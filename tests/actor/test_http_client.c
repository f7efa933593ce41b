//  test_http_client - how far a call came, against a server that answers as it is told.
//
//  The server is a thread with a socket: it counts what it has read as a whole, and then does what
//  the path says.

#include "argos_http_client.h"
#include "argos_shell.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int s_fd;             //  Listens
static int s_port;           //  Where
static atomic_int s_whole;   //  Requests that have come as a whole
static atomic_int s_sockets; //  Connections

//  One request; false at its end.

static bool
s_serve_one (int fd)
{
    char data[65536] = "";
    size_t size = 0;
    const char *body = NULL;
    size_t wanted = 0;
    while (!body || size < wanted) {
        ssize_t got = recv (fd, data + size, sizeof data - 1 - size, 0);
        if (got <= 0)
            return false;
        size += (size_t) got;
        data[size] = 0;
        body = strstr (data, "\r\n\r\n");
        const char *length = strstr (data, "Content-Length: ");
        if (body)
            wanted = (size_t) (body + 4 - data) + (length ? strtoul (length + 16, NULL, 10) : 0);
    }
    atomic_fetch_add (&s_whole, 1);
    const char *answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Left: 7\r\n\r\nok";
    if (strstr (data, "/drop"))
        return false;
    if (strstr (data, "/half"))
        answer = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf";
    else if (strstr (data, "/wait"))
        answer = "HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\nRetry-After: 3\r\n\r\n";
    else if (strstr (data, "/hang"))
        return recv (fd, data, sizeof data, 0) > 0;
    send (fd, answer, strlen (answer), MSG_NOSIGNAL);
    return !strstr (data, "/half");
}

static void *
s_server (void *arg)
{
    (void) arg;
    int fd;
    while ((fd = accept (s_fd, NULL, NULL)) >= 0) {
        atomic_fetch_add (&s_sockets, 1);
        while (s_serve_one (fd)) {
        }
        close (fd);
    }
    return NULL;
}

typedef struct {
    bool over;                //  It was told
    argos_http_phase_t phase; //  What was told
    int status;               //  .
    bool too_big;             //  .
    int64_t retry_after_ms;   //  .
    char body[64];            //  .
    char left[16];            //  A header
    char error[300];          //  .
} told_t;

static void
s_on_answer (void *arg, const argos_http_answer_t *answer)
{
    told_t *told = arg;
    assert_false (told->over);
    told->over = true;
    told->phase = answer->phase;
    told->status = answer->status;
    told->too_big = answer->too_big;
    told->retry_after_ms = answer->retry_after_ms;
    snprintf (told->body, sizeof told->body, "%s", answer->body);
    snprintf (told->left, sizeof told->left, "%s", argos_http_answer_header (answer, "x-left"));
    snprintf (told->error, sizeof told->error, "%s", answer->error);
}

static told_t
s_ask (argos_http_client_t *http, argos_http_request_t request)
{
    told_t told = { 0 };
    assert_non_null (
        argos_http_client_call (http, &request, s_on_answer, &told, argos_shell_now ()));
    while (!told.over) {
        struct pollfd fd = { .fd = argos_http_client_fd (http), .events = POLLIN };
        int64_t due_ms = argos_http_client_due (http), now = argos_shell_now ();
        poll (&fd, 1, due_ms < 0 ? 1000 : due_ms > now ? (int) (due_ms - now) : 0);
        argos_http_client_turn (http, argos_shell_now ());
    }
    return told;
}

static const char *
s_url (const char *path)
{
    static char url[128];
    snprintf (url, sizeof url, "http://127.0.0.1:%d%s", s_port, path);
    return url;
}

static void
test_phases (void **state)
{
    argos_http_client_t *http = *state;
    told_t told =
        s_ask (http, (argos_http_request_t){ .url = s_url ("/"), .body = "{}", .size = 2 });
    assert_int_equal (told.phase, ARGOS_HTTP_ANSWERED);
    assert_int_equal (told.status, 200);
    assert_string_equal (told.body, "ok");
    assert_string_equal (told.left, "7");
    told = s_ask (http, (argos_http_request_t){ .url = s_url ("/wait") });
    assert_int_equal (told.status, 429);
    assert_int_equal (told.retry_after_ms, 3000);
    told = s_ask (http, (argos_http_request_t){ .url = s_url ("/half"), .body = "x", .size = 1 });
    assert_int_equal (told.phase, ARGOS_HTTP_UNKNOWN);
    told = s_ask (
        http, (argos_http_request_t){
                  .url = s_url ("/drop"), .body = "x", .size = 1, .once = true, .fresh = true });
    assert_int_equal (told.phase, ARGOS_HTTP_UNKNOWN);
    told = s_ask (http, (argos_http_request_t){ .url = s_url ("/hang"), .timeout_ms = 50 });
    assert_int_equal (told.phase, ARGOS_HTTP_UNKNOWN);
    told =
        s_ask (http, (argos_http_request_t){ .url = "http://127.0.0.1:1/s3cret", .secret = "127" });
    assert_int_equal (told.phase, ARGOS_HTTP_UNSENT);
    assert_null (strstr (told.error, "127"));
    assert_non_null (strstr (told.error, "***"));
    told = s_ask (http, (argos_http_request_t){ .url = "http://nowhere.invalid/" });
    assert_int_equal (told.phase, ARGOS_HTTP_UNSENT);
    told = s_ask (http, (argos_http_request_t){ .url = "file:///etc/passwd" });
    assert_int_equal (told.phase, ARGOS_HTTP_UNSENT);
    told = s_ask (http, (argos_http_request_t){ .url = s_url ("/"), .answer_max = 1 });
    assert_true (told.too_big);
}

//  A kept connection that ends when the request is there: libcurl would send it again by itself.

static void
test_once_is_once (void **state)
{
    argos_http_client_t *http = *state;
    char body[30000];
    memset (body, 'x', sizeof body);
    for (int once = 1; once >= 0; once--) {
        s_ask (http, (argos_http_request_t){ .url = s_url ("/") }); //  A connection is kept
        int before = atomic_load (&s_whole);
        told_t told = s_ask (
            http, (argos_http_request_t){
                      .url = s_url ("/drop"), .body = body, .size = sizeof body, .once = once });
        assert_int_equal (told.phase, ARGOS_HTTP_UNKNOWN);
        assert_int_equal (atomic_load (&s_whole) - before, once ? 1 : 2);
    }
}

static void
test_guarded_calls_stay_outside (void **state)
{
    argos_http_client_t *http = *state;
    int before = atomic_load (&s_sockets);
    told_t told =
        s_ask (http, (argos_http_request_t){ .url = s_url ("/"), .guarded = true, .fresh = true });
    assert_int_equal (told.phase, ARGOS_HTTP_UNSENT);
    assert_string_equal (told.error, "that address is not public");
    char url[64];
    snprintf (url, sizeof url, "http://localhost:%d/", s_port);
    told = s_ask (http, (argos_http_request_t){ .url = url, .guarded = true, .fresh = true });
    assert_int_equal (told.phase, ARGOS_HTTP_UNSENT);
    assert_int_equal (atomic_load (&s_sockets), before);
}

static int
s_set_up (void **state)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    curl_global_init (CURL_GLOBAL_DEFAULT);
    s_fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind (s_fd, (struct sockaddr *) &address, size) != 0 || listen (s_fd, 16) != 0 ||
        getsockname (s_fd, (struct sockaddr *) &address, &size) != 0)
        return -1;
    s_port = ntohs (address.sin_port);
    *state = argos_http_client_new ();
    return 0;
}

static int
s_tear_down (void **state)
{
    argos_http_client_t *http = *state;
    argos_http_client_destroy (&http);
    curl_global_cleanup ();
    return 0;
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_phases),
        cmocka_unit_test (test_once_is_once), cmocka_unit_test (test_guarded_calls_stay_outside) };
    pthread_t thread;
    void *state = NULL;
    if (s_set_up (&state) != 0 || pthread_create (&thread, NULL, s_server, NULL) != 0)
        return 1;
    int failed = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        const struct CMUnitTest one[] = { { tests[i].name, tests[i].test_func, NULL, NULL,
            state } };
        failed += cmocka_run_group_tests (one, NULL, NULL);
    }
    s_tear_down (&state);
    shutdown (s_fd, SHUT_RDWR);
    pthread_join (thread, NULL);
    close (s_fd);
    return failed;
}
