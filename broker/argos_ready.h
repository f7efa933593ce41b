//  argos_ready - which of some ZeroMQ sockets may have something to read, without asking each.
//
//  zmq_poll asks each socket before and after it sleeps, two system calls a time. That is not
//  needed: the descriptor of a socket is readable while commands for it are unread, and only who
//  uses the socket reads them. So one that was read until it had nothing, and was not used since,
//  is told of by its descriptor. (libzmq, ZMQ_FD: edge-triggered, and only by a use of the socket.)
//  One thread. Limits: ARGOS_READY_MAX places.

#ifndef ARGOS_READY_H
#define ARGOS_READY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define ARGOS_READY_MAX 40

//  All zero is an empty one.

typedef struct {
    struct pollfd fds[ARGOS_READY_MAX]; //  By place; fd -1 = nothing there
    bool maybe[ARGOS_READY_MAX];        //  Used since it had nothing, or its descriptor tells
    size_t count;                       //  Places, up to the last that was ever taken
} argos_ready_t;

//  Take a place for a socket (borrowed; of zmq_socket or zsock_resolve), which may have something
//  from the start. Or for a plain descriptor, which has something while it is readable; -1 leaves
//  the place empty. What was there before is forgotten.
void argos_ready_socket (argos_ready_t *self, size_t place, void *socket);
void argos_ready_fd (argos_ready_t *self, size_t place, int fd);

//  Sleeps until something is there, at most timeout_ms (-1 = for ever); not at all when there may
//  be already. A signal ends the sleep too. Returns 0, or -1 with errno when nothing can be waited
//  for.
int argos_ready_wait (argos_ready_t *self, int timeout_ms);

//  Whether something may be there.
static inline bool
argos_ready_maybe (const argos_ready_t *self, size_t place)
{
    return self->maybe[place];
}

//  False: a read with ZMQ_DONTWAIT said EAGAIN, or a descriptor has been served. True: a socket was
//  used otherwise, written to say. A read that found something needs no call.
static inline void
argos_ready_set (argos_ready_t *self, size_t place, bool maybe)
{
    self->maybe[place] = maybe;
}

#endif
