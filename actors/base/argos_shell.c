//  argos_shell - the loop of an actor around its peer, its pipe, a few descriptors and one timer.
//
//  Invariant: one turn serves every source once, in rotation; when nothing is due the thread sleeps
//  in one poll. Limits: SHELL_FD_MAX descriptors, SHELL_BATCH commands a turn.

#include "argos_shell.h"

#include "argos_log.h"
#include "argos_ready.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHELL_FD_MAX 8           //  Descriptors beside pipe and peer
#define SHELL_BATCH 100          //  Commands of the pipe in one turn
#define SHELL_SLEEP_MAX 86400000 //  Longest sleep, msec

enum { PIPE, PEER, FD }; //  Places in `ready`: the pipe's, the peer's, the first descriptor's

static atomic_int shut_count; //  Peers of this process that are not let in: one says it for all

typedef struct {
    int fd;                 //  Descriptor, -1 = free place
    void (*fn) (void *arg); //  Called when it is readable
    void *arg;              //  Its argument
} shell_fd_t;

struct argos_shell {
    zsock_t *pipe;                               //  Command pipe, NULL in a client
    argos_peer_t *peer;                          //  Ours
    argos_ready_t ready;                         //  What may have something
    shell_fd_t fds[SHELL_FD_MAX];                //  Descriptors
    int64_t timer_due;                           //  Monotonic msec, -1 = none
    void (*timer_fn) (void *arg);                //  Called when due
    void *timer_arg;                             //  Its argument
    void (*command_fn) (void *arg, zmsg_t *msg); //  Called for each command
    void *command_arg;                           //  Its argument
    bool stopped;                                //  Leave the loop
    bool shut;                                   //  The broker does not let us in
};

static int64_t
s_clock (clockid_t clock)
{
    struct timespec now;
    clock_gettime (clock, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t
argos_shell_now (void)
{
    return s_clock (CLOCK_MONOTONIC);
}

int64_t
argos_shell_wall (void)
{
    return s_clock (CLOCK_REALTIME);
}

argos_shell_t *
argos_shell_new (zsock_t *pipe, const argos_peer_config_t *config)
{
    argos_shell_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->pipe = pipe;
    self->timer_due = -1;
    for (size_t i = 0; i < SHELL_FD_MAX; i++)
        self->fds[i].fd = -1;
    self->peer = argos_peer_new (config);
    if (!self->peer)
        argos_shell_destroy (&self);
    else if (pipe)
        zsock_set_sndtimeo (pipe, 0);
    return self;
}

void
argos_shell_destroy (argos_shell_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_peer_destroy (&(*self_p)->peer);
    if ((*self_p)->shut)
        atomic_fetch_sub (&shut_count, 1);
    free (*self_p);
    *self_p = NULL;
}

argos_peer_t *
argos_shell_peer (argos_shell_t *self)
{
    return self->peer;
}

void
argos_shell_fd (argos_shell_t *self, int fd, void (*fn) (void *arg), void *arg)
{
    shell_fd_t *place = NULL;
    for (size_t i = 0; i < SHELL_FD_MAX; i++) {
        if (self->fds[i].fd == fd) {
            place = &self->fds[i];
            break;
        }
        if (self->fds[i].fd < 0 && !place)
            place = &self->fds[i];
    }
    if (fn) {
        assert (place && fd >= 0); //  More descriptors than places is a bug of the actor
        *place = (shell_fd_t){ fd, fn, arg };
    }
    else if (place && place->fd == fd)
        *place = (shell_fd_t){ -1, NULL, NULL };
    else
        return;
    argos_ready_fd (&self->ready, FD + (size_t) (place - self->fds), place->fd);
}

void
argos_shell_timer (argos_shell_t *self, int64_t due_ms, void (*fn) (void *arg), void *arg)
{
    self->timer_due = fn ? due_ms : -1;
    self->timer_fn = fn;
    self->timer_arg = arg;
}

void
argos_shell_on_command (argos_shell_t *self, void (*fn) (void *arg, zmsg_t *msg), void *arg)
{
    self->command_fn = fn;
    self->command_arg = arg;
}

void
argos_shell_stop (argos_shell_t *self)
{
    self->stopped = true;
}

//  One command. $TERM ends the loop, also when the frame after it is not ours to understand.

static void
s_handle_command (argos_shell_t *self, zmsg_t *msg)
{
    zframe_t *word = zmsg_first (msg);
    if (word && zframe_streq (word, "$TERM"))
        self->stopped = true;
    else if (self->command_fn)
        self->command_fn (self->command_arg, msg);
}

static void
s_handle_pipe (argos_shell_t *self)
{
    for (int i = 0; i < SHELL_BATCH && !self->stopped; i++) {
        zmsg_t *msg = zmsg_recv_nowait (self->pipe);
        if (!msg) {
            argos_ready_set (&self->ready, PIPE, false);
            return;
        }
        s_handle_command (self, msg);
        zmsg_destroy (&msg);
    }
}

static void
s_handle_timer (argos_shell_t *self)
{
    if (self->timer_due < 0 || argos_shell_now () < self->timer_due)
        return;
    void (*fn) (void *arg) = self->timer_fn;
    self->timer_due = -1; //  First, for fn may set it again
    fn (self->timer_arg);
}

//  How long to sleep: until the peer or the timer is due

static long
s_sleep_ms (const argos_shell_t *self, int64_t peer_ms)
{
    int64_t sleep_ms = peer_ms < 0 || peer_ms > SHELL_SLEEP_MAX ? SHELL_SLEEP_MAX : peer_ms;
    if (self->timer_due >= 0) {
        int64_t left_ms = self->timer_due - argos_shell_now ();
        if (left_ms < 0)
            left_ms = 0;
        if (left_ms < sleep_ms)
            sleep_ms = left_ms;
    }
    return (long) sleep_ms;
}

//  A socket that others use without a word to us - the peer reads its own only so far, writes to it
//  and makes a new one when it likes; an actor may write to its pipe - is asked each time.

static void
s_ask (argos_shell_t *self, size_t place, void *socket)
{
    int events = 0;
    size_t size = sizeof events;
    argos_ready_socket (&self->ready, place, socket);
    zmq_getsockopt (socket, ZMQ_EVENTS, &events, &size);
    argos_ready_set (&self->ready, place, events & ZMQ_POLLIN);
}

//  Sleeps until something is there or due, then serves pipe and descriptors

static void
s_poll (argos_shell_t *self, long sleep_ms)
{
    s_ask (self, PEER, argos_peer_socket (self->peer));
    if (self->pipe)
        s_ask (self, PIPE, zsock_resolve (self->pipe));
    argos_ready_wait (&self->ready, (int) sleep_ms);
    if (argos_ready_maybe (&self->ready, PIPE))
        s_handle_pipe (self);
    for (size_t i = 0; i < SHELL_FD_MAX && !self->stopped; i++)
        if (argos_ready_maybe (&self->ready, FD + i)) {
            argos_ready_set (&self->ready, FD + i, false);
            self->fds[i].fn (self->fds[i].arg);
        }
}

//  The log says once why nothing of this process gets in, and once that it does again.

static void
s_tell_shut (argos_shell_t *self)
{
    const char *reason = argos_peer_shut (self->peer);
    if (self->shut == (reason != NULL))
        return;
    self->shut = reason != NULL;
    int others =
        self->shut ? atomic_fetch_add (&shut_count, 1) : atomic_fetch_sub (&shut_count, 1) - 1;
    if (others == 0 && self->shut)
        argos_log (ARGOS_LOG_WARN, "argosd", "not let in by the broker", "reason=\"%s\"", reason);
    else if (others == 0)
        argos_log (ARGOS_LOG_INFO, "argosd", "let in by the broker again", NULL);
}

void
argos_shell_run (argos_shell_t *self)
{
    while (!self->stopped) {
        s_handle_timer (self);
        if (self->stopped)
            break;
        int64_t peer_ms = argos_peer_turn (self->peer); //  After the timer: it may have sent
        s_tell_shut (self);
        if (!self->stopped)
            s_poll (self, s_sleep_ms (self, peer_ms));
    }
    self->stopped = false;
}
