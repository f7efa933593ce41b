//  argos_http - the server: binds, takes requests in, calls handlers, notices who hangs up.
//
//  One epoll set holds libmicrohttpd's own epoll descriptor and the socket of every stream (for
//  EPOLLRDHUP only: the server itself forgets a suspended connection and would never see its end).
//  Invariant: a request is on the list `waiting` exactly while its connection is suspended; it is
//  resumed before the server is stopped. An early refusal still reads the body (and drops it, up to
//  twice the limit), for a client that is still writing would meet a reset instead of the answer.

#include "argos_http_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#define S_TIMEOUT_S 30    //  Silence in the middle of a request, or between two
#define S_HANGUPS 64      //  Hang-ups handled in one call
#define S_PEM_MAX 65536   //  Bytes of a certificate chain, and of a key
#define S_BODY_FIRST 4096 //  First buffer of a body without Content-Length

//  --------------------------------------------------------------------------
//  Requests

static argos_http_req_t *
s_req_new (argos_http_t *self, struct MHD_Connection *connection)
{
    argos_http_req_t *req = calloc (1, sizeof *req);
    if (req) {
        req->http = self;
        req->connection = connection;
        req->hangup.fd = -1;
    }
    return req;
}

static void
s_drop_extra (argos_http_req_t *req)
{
    for (unsigned i = 0; i < req->extra_count; i++)
        free (req->extra[i].value);
    req->extra_count = 0;
}

static void
s_req_completed (void *cls, struct MHD_Connection *connection, void **req_p,
    enum MHD_RequestTerminationCode code)
{
    (void) cls;
    (void) code;
    argos_http_req_t *req = *req_p;
    argos_http_conn_wait (argos_http_conn_of (connection), ARGOS_HTTP_NEXT_HEAD);
    if (!req)
        return;
    *req_p = NULL;
    argos_http_look_away (req->http, &req->hangup);
    if (req->suspended)
        DL_DELETE (req->http->waiting, req);
    if (req->response)
        MHD_destroy_response (req->response);
    s_drop_extra (req);
    free (req->param);
    free (req->body);
    free (req);
}

static bool
s_req_body (argos_http_req_t *req, const char *data, size_t size)
{
    req->seen += size;
    if (req->answered)
        return req->seen <= 2 * (uint64_t) ARGOS_HTTP_BODY_MAX;
    if (req->seen > ARGOS_HTTP_BODY_MAX) {
        free (req->body);
        req->body = NULL;
        req->size = req->capacity = 0;
        argos_http_error (req, 413, "invalid_request_error", "body_too_large", NULL,
            "The request body is larger than 10000000 bytes.");
        return true;
    }
    if (req->size + size > req->capacity) {
        size_t capacity = req->capacity ? req->capacity * 2 : S_BODY_FIRST;
        while (capacity < req->size + size)
            capacity *= 2;
        char *body = realloc (req->body, capacity);
        if (!body)
            return false;
        req->body = body;
        req->capacity = capacity;
    }
    memcpy (req->body + req->size, data, size);
    req->size += size;
    return true;
}

//  What can be said before the body arrives. A client that asked (Expect) gets its answer before it
//  sends anything.

static enum MHD_Result
s_req_begin (argos_http_req_t *req, const char *url, const char *method, const char *version)
{
    bool framed = argos_http_check_framing (req, method, version);
    if (framed && argos_http_check_origin (req, method) &&
        argos_http_check_route (req, method, url))
        (void) argos_http_check_auth (req, method, url);
    const char *length = argos_http_header (req, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t announced = length ? strtoull (length, NULL, 10) : 0;
    if (!req->answered && announced > ARGOS_HTTP_BODY_MAX)
        argos_http_error (req, 413, "invalid_request_error", "body_too_large", NULL,
            "The request body is larger than 10000000 bytes.");
    bool asks = argos_http_header (req, MHD_HTTP_HEADER_EXPECT) != NULL;
    if (req->answered && (!framed || asks || announced > 2 * (uint64_t) ARGOS_HTTP_BODY_MAX))
        return argos_http_queue (req);
    return MHD_YES;
}

static enum MHD_Result
s_access (void *cls, struct MHD_Connection *connection, const char *url, const char *method,
    const char *version, const char *data, size_t *size, void **req_p)
{
    argos_http_t *self = cls;
    argos_http_req_t *req = *req_p;
    if (!req) {
        *req_p = req = s_req_new (self, connection);
        argos_http_conn_wait (argos_http_conn_of (connection), ARGOS_HTTP_BODY);
        return req ? s_req_begin (req, url, method, version) : MHD_NO;
    }
    if (*size) {
        bool going_on = s_req_body (req, data, *size);
        *size = 0;
        return going_on ? MHD_YES : MHD_NO;
    }
    argos_http_conn_wait (argos_http_conn_of (connection), ARGOS_HTTP_WAITS);
    if (!req->answered && !req->called) {
        req->called = true;
        req->route->fn (self->ctx, req);
    }
    if (req->answered)
        return argos_http_queue (req);
    req->suspended = true;
    DL_APPEND (self->waiting, req);
    MHD_suspend_connection (connection);
    return MHD_YES;
}

//  --------------------------------------------------------------------------
//  Start and end

static int
s_take_origins (argos_http_t *self, const char *const *origins)
{
    size_t count = 0;
    while (origins && origins[count])
        count++;
    if (!count)
        return 0;
    self->origins = calloc (count + 1, sizeof *self->origins);
    for (size_t i = 0; self->origins && i < count; i++)
        if (!(self->origins[i] = strdup (origins[i])))
            return -1;
    return self->origins ? 0 : -1;
}

static int
s_start_server (
    argos_http_t *self, const argos_http_config_t *config, char *const *files, char *reason)
{
    int fd = argos_http_listen (self, config, reason);
    if (fd < 0)
        return -1;
    self->unauthenticated = config->allow_unauthenticated_loopback && self->loopback;
    if (!argos_http_ring_keyed (self->ring) && !self->unauthenticated) {
        (void) snprintf (reason, 256, "http: a key is needed (api_server_key_invalid)");
        close (fd);
        return -1;
    }
    if (!self->loopback && !self->tls && !config->allow_cleartext) {
        (void) snprintf (reason, 256,
            "http: %.100s is reached from other machines, and there is no certificate: set "
            "http.tls_cert and tls_key, or http.allow_cleartext behind a proxy that has one",
            config->host);
        close (fd);
        return -1;
    }
    const struct MHD_OptionItem certificate[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, files[0] },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, files[1] },
        { MHD_OPTION_END, 0, NULL },
    };
    const struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    flags |= self->tls ? MHD_USE_TLS : 0;
    self->daemon = MHD_start_daemon (flags, 0, NULL, NULL, s_access, self, MHD_OPTION_LISTEN_SOCKET,
        fd, MHD_OPTION_NOTIFY_COMPLETED, s_req_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        argos_http_conn_notify, self, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned) config->connection_limit, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t) ARGOS_HTTP_POOL, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t) 512,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) S_TIMEOUT_S, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, self->tls ? certificate : none, MHD_OPTION_END);
    if (!self->daemon) {
        (void) snprintf (reason, 256,
            self->tls ? "http: the server can't start: the certificate and its key do not fit"
                      : "http: the server can't start, see the limit of open files");
        close (fd);
        return -1;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info (self->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct epoll_event event = { .events = EPOLLIN };
    self->epoll = epoll_create1 (EPOLL_CLOEXEC);
    self->bell = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!info || self->epoll < 0 || self->bell < 0 ||
        epoll_ctl (self->epoll, EPOLL_CTL_ADD, info->epoll_fd, &event) != 0 ||
        epoll_ctl (self->epoll, EPOLL_CTL_ADD, self->bell, &event) != 0) {
        (void) snprintf (reason, 256, "http: no epoll descriptor");
        return -1;
    }
    return 0;
}

//  Certificate and key, new, or both NULL. Returns 0, or -1 with a reason.

static int
s_read_tls (const argos_http_config_t *config, char **ret_files, char *reason)
{
    const char *const paths[] = { config->tls_cert, config->tls_key };
    ret_files[0] = ret_files[1] = NULL;
    if (!paths[0] && !paths[1])
        return 0;
    for (size_t i = 0; i < 2; i++) {
        size_t size = 0;
        FILE *file = paths[i] ? fopen (paths[i], "re") : NULL;
        char *text = file ? calloc (1, S_PEM_MAX + 1) : NULL;
        if (text)
            size = fread (text, 1, S_PEM_MAX, file);
        if (file)
            (void) fclose (file);
        ret_files[i] = text;
        if (size == 0) {
            (void) snprintf (reason, 256,
                "http: %.150s can't be read; tls_cert and tls_key belong "
                "together",
                paths[i] ? paths[i]
                : i      ? "tls_key"
                         : "tls_cert");
            free (ret_files[0]);
            free (ret_files[1]);
            return -1;
        }
    }
    return 0;
}

static int
s_start (argos_http_t *self, const argos_http_config_t *config, char *reason)
{
    char *files[2];
    if (s_read_tls (config, files, reason) != 0)
        return -1;
    self->tls = files[0] != NULL;
    int rc = s_start_server (self, config, files, reason);
    free (files[0]);
    if (files[1])
        sodium_memzero (files[1], strlen (files[1]));
    free (files[1]);
    return rc;
}
argos_http_t *
argos_http_new (const argos_http_config_t *config, char *reason)
{
    argos_http_t *self = calloc (1, sizeof *self);
    if (!self || sodium_init () < 0) {
        (void) snprintf (reason, 256, "http: out of memory");
        free (self);
        return NULL;
    }
    self->epoll = self->bell = -1;
    self->routes = config->routes;
    while (self->routes[self->route_count].method)
        self->route_count++;
    self->counts = calloc (self->route_count + 1, sizeof *self->counts);
    self->ctx = config->ctx;
    self->ring = argos_http_ring_new (config->key, config->keys_path, reason);
    if (!self->counts || !self->ring || s_take_origins (self, config->cors_origins) != 0 ||
        s_start (self, config, reason) != 0)
        argos_http_destroy (&self);
    return self;
}

void
argos_http_destroy (argos_http_t **self_p)
{
    argos_http_t *self = self_p ? *self_p : NULL;
    if (!self)
        return;
    *self_p = NULL;
    argos_http_req_t *req, *next;
    DL_FOREACH_SAFE (self->waiting, req, next)
        if (!req->answered)
            argos_http_error (
                req, 503, "server_error", "gateway_draining", NULL, "The server is going down.");
    argos_http_stream_t *stream;
    DL_FOREACH (self->streams, stream) {
        stream->dead = true;
        argos_http_wake (stream);
    }
    if (self->daemon) {
        (void) MHD_run (self->daemon);
        MHD_stop_daemon (self->daemon);
    }
    if (self->epoll >= 0)
        close (self->epoll);
    if (self->bell >= 0)
        close (self->bell);
    for (size_t i = 0; self->origins && self->origins[i]; i++)
        free (self->origins[i]);
    free (self->origins);
    free (self->counts);
    argos_http_ring_destroy (&self->ring);
    free (self);
}

//  --------------------------------------------------------------------------
//  The loop's side

int
argos_http_fd (const argos_http_t *self)
{
    return self->epoll;
}

void
argos_http_resume (argos_http_t *self, struct MHD_Connection *connection)
{
    const uint64_t one = 1;
    MHD_resume_connection (connection);
    if (!self->rung)
        self->rung = write (self->bell, &one, sizeof one) == sizeof one;
}

static void
s_hear_bell (argos_http_t *self)
{
    uint64_t count;
    if (self->rung && read (self->bell, &count, sizeof count) == sizeof count)
        self->rung = false;
}

void
argos_http_look (argos_http_t *self, struct MHD_Connection *connection, argos_http_hangup_t *hangup)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct epoll_event event = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = hangup };
    hangup->fd = info ? info->connect_fd : -1;
    if (hangup->fd >= 0 && epoll_ctl (self->epoll, EPOLL_CTL_ADD, hangup->fd, &event) != 0)
        hangup->fd = -1; //  Then its end is seen by the next write
}

void
argos_http_look_away (argos_http_t *self, argos_http_hangup_t *hangup)
{
    if (hangup->fd >= 0)
        (void) epoll_ctl (self->epoll, EPOLL_CTL_DEL, hangup->fd, NULL);
    hangup->fd = -1;
}

void
argos_http_on_hangup (argos_http_req_t *req, void (*fn) (void *arg), void *arg)
{
    req->gone = fn;
    req->gone_arg = arg;
    req->hangup.req = req;
    argos_http_look (req->http, req->connection, &req->hangup);
}

//  NULL = one of the sets and bells within.

static void
s_hung_up (const argos_http_hangup_t *hangup)
{
    if (hangup && hangup->stream) {
        hangup->stream->dead = true;
        argos_http_wake (hangup->stream);
    }
    else if (hangup && hangup->req && !hangup->req->answered)
        hangup->req->gone (hangup->req->gone_arg);
}

void
argos_http_run (argos_http_t *self)
{
    s_hear_bell (self);
    struct epoll_event events[S_HANGUPS];
    int count = epoll_wait (self->epoll, events, S_HANGUPS, 0);
    for (int i = 0; i < count; i++)
        s_hung_up (events[i].data.ptr);
    argos_http_conn_tick (self);
    (void) MHD_run (self->daemon);
}

int64_t
argos_http_timeout (argos_http_t *self)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    int64_t late = argos_http_conn_timeout (self);
    if (MHD_get_timeout (self->daemon, &timeout) != MHD_YES)
        return late;
    int64_t idle = timeout > INT32_MAX ? INT32_MAX : (int64_t) timeout;
    return late < 0 || idle < late ? idle : late;
}

int
argos_http_port (const argos_http_t *self)
{
    return self->port;
}

const char *
argos_http_param (const argos_http_req_t *req)
{
    return req->param;
}

const char *
argos_http_header (const argos_http_req_t *req, const char *name)
{
    return MHD_lookup_connection_value (req->connection, MHD_HEADER_KIND, name);
}

const char *
argos_http_query (const argos_http_req_t *req, const char *name)
{
    return MHD_lookup_connection_value (req->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *
argos_http_body (const argos_http_req_t *req, size_t *ret_size)
{
    *ret_size = req->size;
    return req->body ? req->body : "";
}

void
argos_http_again (argos_http_req_t *req, const char *note)
{
    s_drop_extra (req);
    (void) snprintf (req->note, sizeof req->note, "%s", note);
    req->route->fn (req->http->ctx, req);
}

const char *
argos_http_note (const argos_http_req_t *req)
{
    return req->note;
}

bool
argos_http_keyed (const argos_http_req_t *req)
{
    return argos_http_ring_keyed (req->http->ring);
}

const char *
argos_http_owner (const argos_http_req_t *req)
{
    return req->owner;
}

bool
argos_http_is_admin (const argos_http_req_t *req)
{
    return req->scopes & ARGOS_HTTP_ADMIN;
}

uint64_t
argos_http_count (const argos_http_t *self, size_t route, unsigned digit)
{
    return route <= self->route_count && digit < 6 ? self->counts[route][digit] : 0;
}

unsigned
argos_http_connections (const argos_http_t *self)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info (self->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

unsigned
argos_http_streams (const argos_http_t *self)
{
    return self->stream_count;
}
