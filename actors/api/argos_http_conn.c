//  argos_http_conn - how long a connection may take for what it sends: the time to a whole head,
//  and to a whole body, whatever trickles in meanwhile. (Silence alone is the server library's.)
//
//  Invariant: a connection is in the list of what it has to finish, in the order of the ends, for
//  all of a list have the same time; one that waits for our answer is in none. Who is late is shut
//  down, and the server library sees a closed socket.

#include "argos_http_priv.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <utlist.h>

//  In times of the first head

static const int64_t s_times[ARGOS_HTTP_WAITS] = {
    [ARGOS_HTTP_FIRST_HEAD] = 1, //  From the connection to the first head
    [ARGOS_HTTP_NEXT_HEAD] = 4,  //  From an answer to the next head; silence ends it earlier
    [ARGOS_HTTP_BODY] = 18,      //  From a head to the end of its body
};

static int64_t
s_now (void)
{
    struct timespec now;
    (void) clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
s_leave (argos_http_conn_t *self)
{
    if (self->wait != ARGOS_HTTP_WAITS)
        DL_DELETE (self->http->conns[self->wait], self);
    self->wait = ARGOS_HTTP_WAITS;
}

static argos_http_conn_t *
s_new (argos_http_t *http, int fd)
{
    argos_http_conn_t *self = calloc (1, sizeof *self);
    if (!self)
        return NULL; //  Then silence ends it
    self->http = http;
    self->fd = fd;
    self->wait = ARGOS_HTTP_WAITS;
    argos_http_conn_wait (self, ARGOS_HTTP_FIRST_HEAD);
    return self;
}

//  The server library tells nobody of a request that it could not look at, for want of memory; and
//  it has answered nothing, for the same reason.

static void
s_end (argos_http_conn_t *self)
{
    s_leave (self);
    if (self->req)
        argos_http_refuse (self, 431, ARGOS_HTTP_TOO_LARGE);
    argos_http_req_destroy (&self->req);
    free (self);
}

void
argos_http_conn_notify (void *cls, struct MHD_Connection *connection, void **socket_context,
    enum MHD_ConnectionNotificationCode code)
{
    argos_http_conn_t *self = *socket_context;
    if (code != MHD_CONNECTION_NOTIFY_STARTED) {
        if (self)
            s_end (self);
        *socket_context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    int on = 1;
    if (!info)
        return;
    (void) setsockopt (info->connect_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *socket_context = s_new (cls, info->connect_fd);
}

argos_http_conn_t *
argos_http_conn_of (struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info (connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void
argos_http_conn_wait (argos_http_conn_t *self, argos_http_wait_t wait)
{
    if (!self)
        return;
    s_leave (self);
    self->wait = wait;
    if (wait == ARGOS_HTTP_WAITS)
        return;
    self->due = s_now () + s_times[wait] * self->http->head_ms;
    DL_APPEND (self->http->conns[wait], self);
}

void
argos_http_conn_tick (argos_http_t *http)
{
    int64_t now = s_now ();
    for (unsigned wait = 0; wait < ARGOS_HTTP_WAITS; wait++)
        while (http->conns[wait] && now >= http->conns[wait]->due) {
            argos_http_conn_t *late = http->conns[wait];
            s_leave (late);
            (void) shutdown (late->fd, SHUT_RDWR);
        }
}

int64_t
argos_http_conn_timeout (const argos_http_t *http)
{
    int64_t due = -1;
    for (unsigned wait = 0; wait < ARGOS_HTTP_WAITS; wait++)
        if (http->conns[wait] && (due < 0 || http->conns[wait]->due < due))
            due = http->conns[wait]->due;
    int64_t left = due - s_now ();
    return due < 0 ? -1 : left > 0 ? left : 0;
}
