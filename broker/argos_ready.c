//  argos_ready - see argos_ready.h.
//
//  Invariant: a socket without `maybe` has no unread command but those that its descriptor tells
//  of.

#include "argos_ready.h"

#include <assert.h>
#include <errno.h>
#include <zmq.h>

void
argos_ready_fd (argos_ready_t *self, size_t place, int fd)
{
    assert (place < ARGOS_READY_MAX);
    for (; self->count <= place; self->count++)
        self->fds[self->count].fd = -1;
    self->fds[place] = (struct pollfd){ .fd = fd, .events = POLLIN };
    self->maybe[place] = false;
}

void
argos_ready_socket (argos_ready_t *self, size_t place, void *socket)
{
    int fd = -1;
    size_t size = sizeof fd;
    int rc = zmq_getsockopt (socket, ZMQ_FD, &fd, &size);
    assert (rc == 0);
    argos_ready_fd (self, place, fd);
    self->maybe[place] = true;
}

int
argos_ready_wait (argos_ready_t *self, int timeout_ms)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->maybe[i])
            timeout_ms = 0;
    int rc = poll (self->fds, self->count, timeout_ms);
    if (rc < 0)
        return errno == EINTR ? 0 : -1;
    for (size_t i = 0; i < self->count && rc > 0; i++)
        if (self->fds[i].revents)
            self->maybe[i] = true;
    return 0;
}
