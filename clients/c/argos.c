//  argos - libargos: the peer of broker/argos_peer.h behind one header without foreign types.
//
//  Invariant: the epoll set behind argos_fd is readable whenever argos_turn has something to do:
//  ØMQ's own descriptor tells of changes only, so what is left over, what is due and what a call
//  from outside may have begun arm the timer beside it. Limits: those of the peer.

#include "argos_priv.h"
#include "argos_schema.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zmq.h>

#define ENDPOINT_SIZE 4160

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char once_reason[256];

static void
s_once (void)
{
    json_object_seed (0);
    if (argos_schema_init (once_reason) != 0 && !once_reason[0])
        snprintf (once_reason, sizeof once_reason, "the schemas can't be compiled");
}

//  ------------------------------------------------------------------------------------------------
//  The descriptor

//  ms -1: never.

static void
s_arm (argos_t *self, int64_t ms)
{
    struct itimerspec when = { .it_value = { .tv_nsec = 0 } };
    if (ms >= 0) {
        when.it_value.tv_sec = ms / 1000;
        when.it_value.tv_nsec = ms % 1000 * 1000000 + 1; //  0 would disarm it
    }
    timerfd_settime (self->timer_fd, 0, &when, NULL);
}

//  Something was done from outside a turn: it may have changed what is due, and ØMQ may have taken
//  note of input that its descriptor then does not tell again.

void
argos_touch (argos_t *self)
{
    if (!self->inside)
        s_arm (self, 0);
}

static void
s_watch_socket (argos_t *self)
{
    struct epoll_event event = { .events = EPOLLIN };
    size_t size = sizeof self->socket_fd;
    if (self->socket_fd >= 0)
        epoll_ctl (self->epoll_fd, EPOLL_CTL_DEL, self->socket_fd, NULL);
    self->socket_fd = -1;
    if (zmq_getsockopt (argos_peer_socket (self->peer), ZMQ_FD, &self->socket_fd, &size) == 0)
        epoll_ctl (self->epoll_fd, EPOLL_CTL_ADD, self->socket_fd, &event);
}

static void
s_on_socket (void *ctx)
{
    argos_t *self = (argos_t *) ctx;
    s_watch_socket (self);
    if (self->handlers.on_lost_connection && self->final == ARGOS_OK)
        self->handlers.on_lost_connection (self->handlers.ctx);
}

int
argos_fd (const argos_t *self)
{
    return self->epoll_fd;
}

static bool
s_has_input (argos_t *self)
{
    int events = 0;
    size_t size = sizeof events;
    return zmq_getsockopt (argos_peer_socket (self->peer), ZMQ_EVENTS, &events, &size) == 0 &&
           (events & ZMQ_POLLIN);
}

argos_err_t
argos_turn (argos_t *self, int64_t timeout_ms)
{
    uint64_t expirations;
    struct pollfd item = { .fd = self->epoll_fd, .events = POLLIN };
    if (self->inside)
        return ARGOS_BUSY;
    if (self->final != ARGOS_OK)
        return self->final;
    if (timeout_ms != 0)
        poll (&item, 1, timeout_ms > INT32_MAX ? INT32_MAX : (int) timeout_ms);
    if (read (self->timer_fd, &expirations, sizeof expirations) < 0)
        expirations = 0;
    self->inside = true;
    int64_t due_ms = argos_peer_turn (self->peer);
    self->inside = false;
    s_arm (self, self->final == ARGOS_OK && s_has_input (self) ? 0 : due_ms);
    return self->final;
}

//  ------------------------------------------------------------------------------------------------
//  Handlers

static void
s_tell (void (*fn) (void *, const argos_msg_t *), void *ctx, const argos_peer_msg_t *msg,
    const char *topic)
{
    char *body = fn ? json_dumps (msg->body, JSON_COMPACT) : NULL;
    if (!body)
        return;
    argos_msg_t shown = { .type = msg->type,
        .id = msg->id,
        .re = msg->re,
        .key = msg->key,
        .from = msg->from,
        .topic = topic,
        .body = body,
        .keyframe = msg->keyframe,
        .last = msg->last,
        .side = msg->side,
        .seq = msg->seq,
        .n = msg->n,
        .at = msg->at,
        .attempt = msg->attempt,
        .hops = msg->hops,
        .work = msg->lease };
    fn (ctx, &shown);
    free (body);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    argos_t *self = (argos_t *) ctx;
    if (self->handlers.on_welcome)
        self->handlers.on_welcome (self->handlers.ctx, new_store);
}

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    argos_t *self = (argos_t *) ctx;
    argos_lease_t *lease = msg->lease;
    if (self->handlers.on_work)
        s_tell (self->handlers.on_work, self->handlers.ctx, msg, "");
    else
        argos_lease_release (&lease, 0, true, NULL);
}

static void
s_on_mail (void *ctx, const argos_peer_msg_t *msg)
{
    argos_t *self = (argos_t *) ctx;
    s_tell (self->handlers.on_mail, self->handlers.ctx, msg, "");
}

static void
s_on_lost (void *ctx, argos_lease_t *lease)
{
    argos_t *self = (argos_t *) ctx;
    if (self->handlers.on_lost)
        self->handlers.on_lost (self->handlers.ctx, lease);
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    argos_t *self = (argos_t *) ctx;
    s_tell (self->handlers.on_request, self->handlers.ctx, msg, "");
}

static void
s_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    argos_t *self = (argos_t *) ctx;
    s_tell (self->handlers.on_entry, self->handlers.ctx, msg, topic);
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    argos_t *self = (argos_t *) ctx;
    if (self->handlers.on_end)
        self->handlers.on_end (self->handlers.ctx, topic, n, closed);
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    argos_t *self = (argos_t *) ctx;
    if (self->handlers.on_refused)
        self->handlers.on_refused (self->handlers.ctx, id, code, reason);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_t *self = (argos_t *) ctx;
    self->final = code;
    snprintf (self->reason, sizeof self->reason, "%s", reason);
    if (self->handlers.on_final)
        self->handlers.on_final (self->handlers.ctx, code, reason);
}

//  ------------------------------------------------------------------------------------------------
//  Life

//  Where the broker of a home is: what run/broker.endpoint names, else run/broker.sock.

static int
s_find_endpoint (const char *home, char *endpoint, size_t size)
{
    char folder[4096], path[4160];
    const char *own = home ? home : getenv ("ARGOS_HOME"), *user = getenv ("HOME");
    int got = own && *own ? snprintf (folder, sizeof folder, "%s", own)
                          : snprintf (folder, sizeof folder, "%s/.argos", user ? user : "");
    if (got < 0 || (size_t) got >= sizeof folder)
        return -1;
    char *real = realpath (folder, NULL);
    snprintf (path, sizeof path, "%s/run/broker.endpoint", real ? real : folder);
    FILE *file = fopen (path, "re");
    got = snprintf (endpoint, size, "ipc://%s/run/broker.sock", real ? real : folder);
    free (real);
    if (!file)
        return got < 0 || (size_t) got >= size ? -1 : 0;
    bool found = size <= INT32_MAX && fgets (endpoint, (int) size, file) != NULL;
    fclose (file);
    endpoint[strcspn (endpoint, "\r\n")] = '\0';
    return found ? 0 : -1;
}

//  The key of the options, or of the environment. Returns 0 (then *has_key says whether there is
//  one), or -1 with a sentence.

static int
s_find_key (const argos_options_t *options, const char *endpoint, argos_key_t *key, bool *has_key,
    char *reason, size_t size)
{
    const char *path = options->key_file ? options->key_file : getenv ("ARGOS_KEY");
    const char *given = getenv ("ARGOS_ENDPOINT"), *token = options->token;
    memset (key, 0, sizeof *key);
    *has_key = path && *path;
    if (*has_key)
        return argos_key_read (key, path, reason, size);
    if (!token && endpoint && given && strcmp (endpoint, given) == 0)
        token = getenv ("ARGOS_TOKEN"); //  argosd gives both together
    if (!token || !*token)
        return 0;
    if (strlen (token) > ARGOS_TOKEN_MAX) {
        snprintf (reason, size, "the token is too long");
        return -1;
    }
    memcpy (key->token, token, strlen (token) + 1);
    *has_key = true;
    return 0;
}

static int
s_open_peer (argos_t *self, const argos_options_t *options, char *reason, size_t size)
{
    char found[ENDPOINT_SIZE];
    const char *name = options->name ? options->name : getenv ("ARGOS_NAME");
    const char *endpoint = options->endpoint;
    if (!endpoint && !options->home)
        endpoint = getenv ("ARGOS_ENDPOINT");
    argos_key_t key;
    bool has_key;
    if (!endpoint && s_find_endpoint (options->home, found, sizeof found) == 0)
        endpoint = found;
    if (s_find_key (options, endpoint, &key, &has_key, reason, size) != 0)
        return -1;
    argos_peer_config_t config = { .name = name,
        .endpoint = endpoint,
        .key = has_key ? &key : NULL,
        .handlers = { .ctx = self,
            .on_welcome = s_on_welcome,
            .on_lease = s_on_lease,
            .on_mail = s_on_mail,
            .on_lost = s_on_lost,
            .on_request = self->handlers.on_request ? s_on_request : NULL,
            .on_entry = s_on_entry,
            .on_end = s_on_end,
            .on_refused = s_on_refused,
            .on_final = s_on_final } };
    self->peer = argos_peer_new (&config);
    argos_key_wipe (&key);
    if (self->peer)
        return 0;
    snprintf (reason, size, "can't connect to %s as %s", endpoint ? endpoint : "(no endpoint)",
        name ? name : "(no name)");
    return -1;
}

static int
s_open_fds (argos_t *self, char *reason, size_t size)
{
    struct epoll_event event = { .events = EPOLLIN };
    self->epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    self->timer_fd = timerfd_create (CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (self->epoll_fd >= 0 && self->timer_fd >= 0 &&
        epoll_ctl (self->epoll_fd, EPOLL_CTL_ADD, self->timer_fd, &event) == 0)
        return 0;
    snprintf (reason, size, "no descriptors: %s", strerror (errno));
    return -1;
}

argos_t *
argos_new (const argos_options_t *options, char *reason, size_t size)
{
    pthread_once (&once, s_once);
    argos_t *self = calloc (1, sizeof *self);
    if (!self || once_reason[0]) {
        snprintf (reason, size, "%s", self ? once_reason : "out of memory");
        free (self);
        return NULL;
    }
    argos_context_hold ();
    self->handlers = options->handlers;
    self->epoll_fd = self->timer_fd = self->socket_fd = -1;
    if (s_open_fds (self, reason, size) != 0 || s_open_peer (self, options, reason, size) != 0) {
        argos_destroy (&self);
        return NULL;
    }
    argos_peer_on_socket (self->peer, s_on_socket);
    s_watch_socket (self);
    s_arm (self, 0);
    return self;
}

void
argos_destroy (argos_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_t *self = *self_p;
    *self_p = NULL;
    self->inside = true; //  The last answer functions can't send any more
    argos_peer_destroy (&self->peer);
    if (self->epoll_fd >= 0)
        close (self->epoll_fd);
    if (self->timer_fd >= 0)
        close (self->timer_fd);
    free (self);
    argos_context_drop ();
}

bool
argos_ready (const argos_t *self)
{
    return argos_peer_ready (self->peer);
}

bool
argos_live (const argos_t *self)
{
    return argos_peer_live (self->peer);
}

const char *
argos_reason (const argos_t *self)
{
    return self->reason;
}
