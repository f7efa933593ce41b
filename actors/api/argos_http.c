//  argos_http - the server: start and end, its place in the loop, who hangs up.
//
//  One epoll set holds libmicrohttpd's own epoll descriptor and the socket of every stream (for
//  EPOLLRDHUP only: the server itself forgets a suspended connection and would never see its end).
//  Invariant: what is suspended is resumed before the server is stopped.

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

#define S_HEAD_MS 10000 //  From a connection to its first head
#define S_TIMEOUT_S 30  //  Silence in the middle of a request, or between two
#define S_HANGUPS 64    //  Hang-ups handled in one call
#define S_PEM_MAX 65536 //  Bytes of a certificate chain, and of a key

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
    self->daemon = MHD_start_daemon (flags, 0, NULL, NULL, argos_http_req_access, self,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_URI_LOG_CALLBACK, argos_http_req_new, self,
        MHD_OPTION_NOTIFY_COMPLETED, argos_http_req_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
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
    randombytes_buf (&self->id_base, sizeof self->id_base);
    self->head_ms = config->head_ms > 0 ? config->head_ms : S_HEAD_MS;
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
