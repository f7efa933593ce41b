//  fuzz_http - bytes of a client against the real HTTP server, over a socket.
//
//  Input: a byte that is the size of a piece (0 = whole), then what the client sends. Holds: what
//  comes back begins like an answer; no handler sees a body with two ideas of its length, or one
//  that is too large; whatever was sent, nothing of the connection is left when the client has
//  gone.

#include "argos_http.h"
#include "argos_http_key.h"
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TURNS 1000 //  Of the server until a connection has gone

static argos_http_t *s_http;        //  The server
static argos_http_req_t *s_waiting; //  Is answered later
static int s_frames;                //  That a stream has still to say
static struct sockaddr_un s_address = { .sun_family = AF_UNIX };

static void
s_check (argos_http_req_t *req)
{
    size_t size;
    const char *body = argos_http_body (req, &size);
    FUZZ_CHECK (body && size <= ARGOS_HTTP_BODY_MAX);
    FUZZ_CHECK (!argos_http_header (req, "Content-Length") ||
                !argos_http_header (req, "Transfer-Encoding"));
}

static void
s_echo (void *ctx, argos_http_req_t *req)
{
    size_t size;
    (void) ctx;
    s_check (req);
    const char *body = argos_http_body (req, &size);
    const char *asked = argos_http_query (req, "q");
    argos_http_set (req, "X-Echo", asked ? asked : "");
    json_t *root = json_loadb (body, size, JSON_DECODE_ANY, NULL);
    argos_http_json (req, 200, root ? root : json_string (argos_http_owner (req)));
}

static void
s_again (void *ctx, argos_http_req_t *req)
{
    s_check (req);
    if (*argos_http_note (req))
        s_echo (ctx, req);
    else
        argos_http_again (req, "again");
}

static void
s_gone (void *arg)
{
    argos_http_req_t *req = arg;
    FUZZ_CHECK (s_waiting == req);
    s_waiting = NULL;
    argos_http_error (req, 503, "server_error", NULL, NULL, "gone");
}

static void
s_later (void *ctx, argos_http_req_t *req)
{
    (void) ctx;
    s_check (req);
    if (s_waiting)
        argos_http_error (req, 429, "rate_limit_error", NULL, argos_http_param (req), "busy");
    else {
        s_waiting = req;
        argos_http_on_hangup (req, s_gone, req);
    }
}

static ssize_t
s_fill (void *arg, char *buffer, size_t max)
{
    static const char frame[] = ": frame\n\n";
    (void) arg;
    if (s_frames-- <= 0)
        return -1;
    size_t size = sizeof frame - 1 < max ? sizeof frame - 1 : max;
    memcpy (buffer, frame, size);
    return (ssize_t) size;
}

static void
s_closed (void *arg)
{
    (void) arg;
}

static void
s_stream (void *ctx, argos_http_req_t *req)
{
    (void) ctx;
    s_check (req);
    s_frames = 3;
    (void) argos_http_stream (req, s_fill, s_closed, NULL);
}

static const argos_http_route_t s_routes[] = {
    { "POST", "/echo", 0, s_echo },
    { "GET", "/echo", 0, s_echo },
    { "POST", "/again", 0, s_again },
    { "GET", "/later/{what}", 0, s_later },
    { "POST", "/later/{what}", 0, s_later },
    { "GET", "/stream", 0, s_stream },
    { "POST", "/keyed", ARGOS_HTTP_ALL, s_echo },
    { NULL, NULL, 0, NULL },
};

static void
s_start (void)
{
    static const char *const origins[] = { "http://a", NULL };
    char reason[256] = "";
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void) snprintf (
        s_address.sun_path + 1, sizeof s_address.sun_path - 1, "argos-fuzz-%d", (int) getpid ());
    FUZZ_CHECK (fd >= 0 && bind (fd, (const struct sockaddr *) &s_address, sizeof s_address) == 0 &&
                listen (fd, 16) == 0);
    const argos_http_config_t config = { .key = "a-key-for-the-fuzzer",
        .cors_origins = origins,
        .listen_fd = fd,
        .connection_limit = 16,
        .routes = s_routes };
    s_http = argos_http_new (&config, reason);
    FUZZ_CHECK (s_http);
    close (fd);
}

//  One turn of the server; what waits is answered, what came is looked at.

static void
s_turn (int fd, bool *begun)
{
    char answer[4096];
    argos_http_run (s_http);
    if (s_waiting) {
        argos_http_req_t *req = s_waiting;
        s_waiting = NULL;
        argos_http_json (req, 200, json_string (argos_http_param (req)));
        argos_http_run (s_http);
    }
    ssize_t got = fd < 0 ? 0 : recv (fd, answer, sizeof answer, MSG_DONTWAIT);
    while (got > 0) {
        if (!*begun)
            FUZZ_CHECK (got < 7 || memcmp (answer, "HTTP/1.", 7) == 0);
        *begun = true;
        got = recv (fd, answer, sizeof answer, MSG_DONTWAIT);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    bool begun = false;
    if (!s_http)
        s_start ();
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    FUZZ_CHECK (
        fd >= 0 && connect (fd, (const struct sockaddr *) &s_address, sizeof s_address) == 0);
    size_t piece = size && data[0] ? data[0] : size;
    for (size_t at = 1; at < size;) {
        size_t left = size - at < piece ? size - at : piece;
        ssize_t sent = send (fd, data + at, left, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            break; //  It has been closed
        at += sent > 0 ? (size_t) sent : 0;
        s_turn (fd, &begun);
    }
    s_turn (fd, &begun);
    (void) shutdown (fd, SHUT_WR);
    s_turn (fd, &begun);
    close (fd);
    for (int turn = 0; argos_http_connections (s_http) > 0; turn++) {
        FUZZ_CHECK (turn < TURNS);
        s_turn (-1, &begun);
    }
    FUZZ_CHECK (argos_http_streams (s_http) == 0 && !s_waiting);
    return 0;
}
