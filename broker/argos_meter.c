//  argos_meter - what a connection has sent but not finished.
//
//  Invariant: while a connection lives, ahead is the cost of the frames whose beginning was read
//  minus the cost of those given; phase and left say where in the stream of ZMTP it is. One thread
//  reads a connection at a time; nothing here blocks or allocates. Limits: 65,536 descriptors; a
//  connection is cut at the limit, plus what one read brings.

//  With it the headers define recv as an inline function, which is then not ours to define
#undef _FORTIFY_SOURCE

#include "argos_meter.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define DESCRIPTORS 65536
#define GREETING 64    //  Bytes of a greeting of ZMTP 3
#define SIGNATURE 255  //  Its first byte
#define VERSION_AT 10  //  Where its version is
#define VERSION 3      //  Lowest one
#define FLAG_LONG 2    //  The length has 8 bytes
#define FLAG_COMMAND 4 //  Not a part of a message

typedef enum {
    PHASE_UNKNOWN,  //  Not accepted by us
    PHASE_GREETING, //  left bytes of the greeting are to come
    PHASE_FLAGS,    //  The flags of a frame come next
    PHASE_LENGTH,   //  left bytes of the length are to come
    PHASE_BODY,     //  left bytes of the frame are to come
    PHASE_FOREIGN   //  Not ZMTP 3
} phase_t;

//  Relaxed atomics: the reading thread is the only writer but of ahead and watched

typedef struct {
    _Atomic int64_t ahead; //  Cost read, not yet given
    _Atomic uint64_t left; //  Of what the phase says
    _Atomic uint64_t size; //  Length as far as it was read
    _Atomic uint8_t phase; //  A phase_t
    _Atomic uint8_t flags; //  Of the frame
    _Atomic bool watched;  //  Whether it may be cut
} connection_t;

static connection_t s_connections[DESCRIPTORS];
static _Atomic int64_t s_limit = ARGOS_METER_MAX;
static _Atomic int64_t s_cuts; //  Connections shut down

#define GET(field) atomic_load_explicit (&(field), memory_order_relaxed)
#define SET(field, value) atomic_store_explicit (&(field), value, memory_order_relaxed)

static bool
s_in_range (int fd)
{
    return fd >= 0 && fd < DESCRIPTORS;
}

void
argos_meter_limit (int64_t cost)
{
    SET (s_limit, cost);
}

void
argos_meter_watch (int fd)
{
    if (s_in_range (fd))
        SET (s_connections[fd].watched, true);
}

void
argos_meter_forget (int fd)
{
    if (s_in_range (fd))
        SET (s_connections[fd].watched, false);
}

void
argos_meter_given (int fd, int64_t cost)
{
    if (s_in_range (fd))
        atomic_fetch_sub (&s_connections[fd].ahead, cost);
}

int64_t
argos_meter_cuts (void)
{
    return GET (s_cuts);
}

//  ------------------------------------------------------------------------------------------------
//  The stream of a connection

static void
s_enter (connection_t *self, phase_t phase, uint64_t left)
{
    SET (self->phase, (uint8_t) phase);
    SET (self->left, left);
}

//  The bytes of a greeting that tell ZMTP 3 from anything else. Returns false for anything else.

static bool
s_greet (connection_t *self, const unsigned char *data, size_t size)
{
    size_t at = GREETING - (size_t) GET (self->left);
    if (at == 0 && data[0] != SIGNATURE)
        return false;
    return at > VERSION_AT || at + size <= VERSION_AT || data[VERSION_AT - at] >= VERSION;
}

//  The header of a frame is complete.

static void
s_frame (connection_t *self)
{
    uint64_t size = GET (self->size);
    if (!(GET (self->flags) & FLAG_COMMAND))
        atomic_fetch_add (
            &self->ahead, (int64_t) (size > INT32_MAX ? INT32_MAX : size) + ARGOS_METER_FRAME);
    s_enter (self, size ? PHASE_BODY : PHASE_FLAGS, size);
}

//  The bytes up to the end of the phase. Returns how many they were.

static size_t
s_step (connection_t *self, const unsigned char *data, size_t size)
{
    uint64_t left = GET (self->left);
    size_t count = size < left ? size : (size_t) left;
    switch ((phase_t) GET (self->phase)) {
    case PHASE_FLAGS:
        SET (self->flags, data[0]);
        SET (self->size, 0);
        s_enter (self, PHASE_LENGTH, data[0] & FLAG_LONG ? 8 : 1);
        return 1;
    case PHASE_LENGTH:
        SET (self->size, GET (self->size) << 8 | data[0]);
        SET (self->left, left - 1);
        if (left == 1)
            s_frame (self);
        return 1;
    case PHASE_GREETING:
        if (!s_greet (self, data, count)) {
            s_enter (self, PHASE_FOREIGN, 0);
            return size;
        }
        break;
    case PHASE_BODY:
        break;
    default:
        return size;
    }
    SET (self->left, left - count);
    if (left == count)
        s_enter (self, PHASE_FLAGS, 0);
    return count;
}

static void
s_count (int fd, const unsigned char *data, size_t size)
{
    connection_t *self = &s_connections[fd];
    while (size) {
        size_t count = s_step (self, data, size);
        data += count;
        size -= count;
    }
    if (!GET (self->watched))
        return;
    if (GET (self->ahead) > GET (s_limit) || GET (self->phase) == PHASE_FOREIGN) {
        SET (self->watched, false);
        atomic_fetch_add (&s_cuts, 1);
        shutdown (fd, SHUT_RDWR);
    }
}

//  ------------------------------------------------------------------------------------------------
//  In the place of the C library's functions, for the whole process

ssize_t
recv (int fd, void *buffer, size_t size, int flags)
{
    //  The same call
    ssize_t rc = recvfrom (fd, buffer, size, flags, NULL, NULL);
    if (rc > 0 && s_in_range (fd) && GET (s_connections[fd].phase) != PHASE_UNKNOWN)
        s_count (fd, buffer, (size_t) rc);
    return rc;
}

int
accept4 (int listener, __SOCKADDR_ARG address, socklen_t *size, int flags)
{
    int fd = (int) syscall (SYS_accept4, listener, address.__sockaddr__, size, flags);
    if (s_in_range (fd)) {
        SET (s_connections[fd].watched, false);
        SET (s_connections[fd].ahead, 0);
        s_enter (&s_connections[fd], PHASE_GREETING, GREETING);
    }
    return fd;
}

int
accept (int listener, __SOCKADDR_ARG address, socklen_t *size)
{
    return accept4 (listener, address, size, 0);
}
