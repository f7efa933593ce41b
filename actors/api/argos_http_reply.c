//  argos_http_reply - answers: one builder puts the fixed headers, CORS and a request id on
//  everything that leaves, and streams are answers whose bytes are asked for as the socket takes
//  them.
//
//  Invariant: a stream is suspended only by its own fill callback, and resumed at most once for
//  each suspension.

#include "argos_http_priv.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#define S_BLOCK_CHUNKED 64  //  Not used by chunked answers, which fill the connection's own memory
#define S_REFUSAL 512       //  Bytes of an answer past the server library
#define S_SEND_BUFFER 65536 //  Bytes of a stream that the kernel keeps for who does not take them
#define S_BLOCK_PLAIN 2048  //  Bytes asked for at once when the client speaks HTTP/1.0

static const char *const s_fixed[][2] = {
    { "X-Content-Type-Options", "nosniff" },
    { "Referrer-Policy", "no-referrer" },
    { "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'" },
    { "Permissions-Policy", "camera=(), microphone=(), geolocation=()" },
    { "X-Frame-Options", "DENY" },
    { "X-XSS-Protection", "0" },
};

//  Unique, and no secret: a random number of the process, and a count.

static void
s_request_id (argos_http_t *http, struct MHD_Response *response)
{
    char id[40];
    (void) snprintf (
        id, sizeof id, "req_%016" PRIx64 "%016" PRIx64, http->id_base, ++http->id_count);
    (void) MHD_add_response_header (response, "X-Request-Id", id);
}

static void
s_decorate (argos_http_req_t *req, struct MHD_Response *response)
{
    for (size_t i = 0; !req->bare && i < sizeof s_fixed / sizeof *s_fixed; i++)
        (void) MHD_add_response_header (response, s_fixed[i][0], s_fixed[i][1]);
    if (!req->bare)
        s_request_id (req->http, response);
    if (req->http->tls && !req->bare)
        (void) MHD_add_response_header (
            response, "Strict-Transport-Security", "max-age=31536000; includeSubDomains");
    if (req->origin) {
        (void) MHD_add_response_header (
            response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, req->origin);
        (void) MHD_add_response_header (response, MHD_HTTP_HEADER_ACCESS_CONTROL_EXPOSE_HEADERS,
            "X-Hermes-Session-Id, X-Hermes-Session-Key, X-Request-Id, Idempotency-Replayed, "
            "Retry-After, X-Argos-Ignored");
    }
    if (argos_http_header (req, MHD_HTTP_HEADER_ORIGIN) && !(req->origin && *req->origin == '*'))
        (void) MHD_add_response_header (response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ORIGIN);
    for (unsigned i = 0; i < req->extra_count; i++)
        (void) MHD_add_response_header (response, req->extra[i].name, req->extra[i].value);
}

//  The answer is made: hand it over when the handler returns, or wake the connection that waits for
//  it.

static void
s_answer (argos_http_req_t *req, unsigned status, struct MHD_Response *response)
{
    req->answered = true;
    argos_http_look_away (req->http, &req->hangup);
    req->status = status;
    req->response = response;
    if (response)
        s_decorate (req, response);
    if (req->suspended) {
        req->suspended = false;
        DL_DELETE (req->http->waiting, req);
        argos_http_resume (req->http, req->connection);
    }
}

void
argos_http_set (argos_http_req_t *req, const char *name, const char *value)
{
    for (const char *each = value; *each; each++)
        if (*each < 32 || *each == 127)
            return;
    if (req->extra_count == ARGOS_HTTP_EXTRA_MAX)
        return;
    char *copy = strdup (value);
    if (!copy)
        return;
    req->extra[req->extra_count].name = name;
    req->extra[req->extra_count++].value = copy;
}

void
argos_http_json (argos_http_req_t *req, unsigned status, json_t *body)
{
    char *text = body ? json_dumps (body, JSON_COMPACT | JSON_REAL_PRECISION (13)) : NULL;
    json_decref (body);
    argos_http_text (req, status, "application/json; charset=utf-8", text);
}

void
argos_http_text (argos_http_req_t *req, unsigned status, const char *content_type, char *text)
{
    size_t size = text ? strlen (text) : 0;
    struct MHD_Response *response = MHD_create_response_from_buffer (
        size, text ? text : "", text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response)
        free (text);
    else if (text)
        (void) MHD_add_response_header (response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    s_answer (req, status, response);
}

static json_t *
s_error (const char *type, const char *code, const char *param, const char *message)
{
    return json_pack ("{s:{s:s,s:s,s:s?,s:s?}}", "error", "message", message, "type", type, "param",
        param, "code", code);
}

void
argos_http_error (argos_http_req_t *req, unsigned status, const char *type, const char *code,
    const char *param, const char *message)
{
    argos_http_json (req, status, s_error (type, code, param, message));
}

void
argos_http_refuse (
    const argos_http_conn_t *conn, unsigned status, const char *code, const char *message)
{
    char answer[S_REFUSAL];
    json_t *body = s_error ("invalid_request_error", code, NULL, message);
    char *text = json_dumps (body, JSON_COMPACT);
    json_decref (body);
    if (!text)
        return;
    int size = snprintf (answer, sizeof answer,
        "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        status, MHD_get_reason_phrase_for (status), strlen (text), text);
    if (!conn->http->tls && size > 0 && (size_t) size < sizeof answer)
        (void) send (conn->fd, answer, (size_t) size, MSG_DONTWAIT | MSG_NOSIGNAL);
    conn->http->counts[conn->http->route_count][status / 100 % 6]++;
    free (text);
}

enum MHD_Result
argos_http_queue (argos_http_req_t *req)
{
    if (!req->response)
        return MHD_NO;
    size_t route = req->route ? (size_t) (req->route - req->http->routes) : req->http->route_count;
    req->http->counts[route][req->status / 100 % 6]++;
    enum MHD_Result rc = MHD_queue_response (req->connection, req->status, req->response);
    MHD_destroy_response (req->response);
    req->response = NULL;
    return rc;
}

//  --------------------------------------------------------------------------
//  Streams

static ssize_t
s_stream_read (void *cls, uint64_t position, char *buffer, size_t max)
{
    argos_http_stream_t *stream = cls;
    (void) position;
    if (stream->dead)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    ssize_t size = stream->fill (stream->arg, buffer, max);
    if (size == 0) {
        stream->suspended = true;
        MHD_suspend_connection (stream->connection);
    }
    if (size >= 0)
        return size;
    return size == -1 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void
s_stream_free (void *cls)
{
    argos_http_stream_t *stream = cls;
    DL_DELETE (stream->http->streams, stream);
    stream->http->stream_count--;
    argos_http_look_away (stream->http, &stream->hangup);
    stream->closed (stream->arg);
    free (stream);
}

static int
s_socket (const argos_http_stream_t *stream)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info (stream->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

argos_http_stream_t *
argos_http_stream (argos_http_req_t *req, ssize_t (*fill) (void *arg, char *buffer, size_t max),
    void (*closed) (void *arg), void *arg)
{
    argos_http_stream_t *stream = calloc (1, sizeof *stream);
    if (!stream)
        abort ();
    stream->http = req->http;
    stream->connection = req->connection;
    stream->fill = fill;
    stream->closed = closed;
    stream->arg = arg;
    stream->hangup.stream = stream;
    DL_APPEND (req->http->streams, stream);
    req->http->stream_count++;
    argos_http_look (req->http, req->connection, &stream->hangup);
    const int buffer = S_SEND_BUFFER;
    (void) setsockopt (s_socket (stream), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    struct MHD_Response *response = MHD_create_response_from_callback (MHD_SIZE_UNKNOWN,
        req->http10 ? S_BLOCK_PLAIN : S_BLOCK_CHUNKED, s_stream_read, stream, s_stream_free);
    if (!response)
        abort ();
    (void) MHD_add_response_header (
        response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream; charset=utf-8");
    (void) MHD_add_response_header (
        response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache, no-transform");
    (void) MHD_add_response_header (response, "X-Accel-Buffering", "no");
    s_answer (req, 200, response);
    return stream;
}

bool
argos_http_is_stuck (const argos_http_stream_t *stream)
{
    struct pollfd item = { .fd = s_socket (stream), .events = POLLOUT };
    return !stream->suspended && poll (&item, 1, 0) == 0;
}

void
argos_http_cut (argos_http_stream_t *stream)
{
    stream->dead = true;
    (void) shutdown (s_socket (stream), SHUT_RDWR);
    argos_http_wake (stream);
}

void
argos_http_wake (argos_http_stream_t *stream)
{
    if (!stream->suspended)
        return;
    stream->suspended = false;
    argos_http_resume (stream->http, stream->connection);
}
