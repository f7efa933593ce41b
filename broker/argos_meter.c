//  argos_meter - see argos_meter.h.
//
//  Invariant: while a connection lives, ahead is the cost of the frames whose beginning was read
//  minus the cost of those given; phase and left say where in the stream of ZMTP it is; it is
//  counted in s_open exactly once. One thread reads a connection at a time; nothing here blocks or
//  allocates, but for a millisecond when there is no descriptor at all. Who cuts a connection from
//  another thread holds s_closing, so that the descriptor is not another one's meanwhile. Limits:
//  65,536 descriptors; a connection is cut at the limit, plus what one read brings.

//  With it the headers define recv as an inline function, which is then not ours to define
#undef _FORTIFY_SOURCE

#include "argos_meter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
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

//  Relaxed atomics: the reading thread is the only writer but of ahead

typedef struct {
    _Atomic int64_t ahead; //  Cost read, not yet given
    _Atomic uint64_t left; //  Of what the phase says
    _Atomic uint64_t size; //  Length as far as it was read
    _Atomic uint8_t phase; //  A phase_t
    _Atomic uint8_t flags; //  Of the frame
    _Atomic bool watched;  //  Whether it may be cut
    _Atomic uint32_t life; //  Which connection with this descriptor it is
    _Atomic bool counted;  //  In s_open
    _Atomic int most;      //  A socket of ours that listens: open connections at most; 0 = not one
    _Atomic int64_t paid;  //  Of such a socket: until when what it took is paid for, mono nsec
} connection_t;

static connection_t s_connections[DESCRIPTORS];
static _Atomic int64_t s_limit = ARGOS_METER_MAX;
static _Atomic int64_t s_cuts;                                //  Connections shut down
static _Atomic int64_t s_refused[ARGOS_METER_REASONS];        //  Connections closed at once
static _Atomic int s_open;                                    //  Connections that are counted
static pthread_mutex_t s_closing = PTHREAD_MUTEX_INITIALIZER; //  One is closed, or cut
static _Atomic int s_ceiling = INT_MAX; //  Descriptors from here on are the reserve
static _Atomic int s_spare =
    -1; //  Given up to close a connection when there is no other; -1 = lost
static _Thread_local int s_most; //  Of sockets that this thread makes listen

#define GET(field) atomic_load_explicit (&(field), memory_order_relaxed)
#define SET(field, value) atomic_store_explicit (&(field), value, memory_order_relaxed)

#define TAKE(field, value) atomic_exchange_explicit (&(field), value, memory_order_relaxed)

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

static int
s_open_spare (void)
{
    return open ("/dev/null", O_RDONLY | O_CLOEXEC);
}

int
argos_meter_admit (int most)
{
    struct rlimit files = { .rlim_cur = DESCRIPTORS };
    getrlimit (RLIMIT_NOFILE, &files);
    int all = files.rlim_cur < DESCRIPTORS ? (int) files.rlim_cur : DESCRIPTORS;
    int reserve = all / 4 < ARGOS_METER_RESERVE ? all / 4 : ARGOS_METER_RESERVE;
    int usual = all / 2 < ARGOS_METER_CONNECTIONS ? all / 2 : ARGOS_METER_CONNECTIONS;
    SET (s_ceiling, all - reserve);
    if (GET (s_spare) < 0)
        SET (s_spare, s_open_spare ());
    return most == 0 ? usual : most < all - reserve ? most : all - reserve;
}

void
argos_meter_listen (int most)
{
    s_most = most;
}

int64_t
argos_meter_refused (argos_meter_reason_t reason)
{
    return GET (s_refused[reason]);
}

uint32_t
argos_meter_life (int fd)
{
    return s_in_range (fd) ? GET (s_connections[fd].life) : 0;
}

void
argos_meter_given (int fd, uint32_t life, int64_t cost)
{
    if (s_in_range (fd) && GET (s_connections[fd].life) == life)
        atomic_fetch_sub (&s_connections[fd].ahead, cost);
}

void
argos_meter_cut (int fd, uint32_t life)
{
    pthread_mutex_lock (&s_closing);
    if (s_in_range (fd) && GET (s_connections[fd].watched) && GET (s_connections[fd].life) == life)
        shutdown (fd, SHUT_RDWR);
    pthread_mutex_unlock (&s_closing);
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
listen (int fd, int backlog)
{
    if (s_in_range (fd))
        SET (s_connections[fd].most, s_most);
    return (int) syscall (SYS_listen, fd, backlog);
}

//  There is no descriptor for a connection that waits: it is closed by means of the spare one. Left
//  alone it would be announced again at once, for ever, and its listener may take this error for
//  the end of the world.

static void
s_shed (int listener)
{
    int spare = TAKE (s_spare, -1);
    if (spare >= 0)
        close (spare);
    int fd = (int) syscall (SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close (fd);
    else
        poll (NULL, 0, 1); //  Another thread was faster
    atomic_fetch_add (&s_refused[ARGOS_METER_SHORT], 1);
    SET (s_spare, s_open_spare ());
}

//  Whether a listener takes connections faster than it may: each is paid for by its part of a
//  second, and a burst may be taken on credit.

static bool
s_is_fast (connection_t *listener)
{
    const int64_t price = 1000000000 / ARGOS_METER_RATE;
    struct timespec at;
    clock_gettime (CLOCK_MONOTONIC_COARSE, &at);
    int64_t now = (int64_t) at.tv_sec * 1000000000 + at.tv_nsec, paid = GET (listener->paid);
    if (paid < now)
        paid = now;
    if (paid - now > price * ARGOS_METER_BURST)
        return true;
    SET (listener->paid, paid + price);
    return false;
}

//  Another thread took the spare descriptor while it was given up: the first one that is free again
//  becomes the spare. A connection that took it instead would leave none to close the next one
//  with. Returns whether the connection had to go for it.

static bool
s_regain_spare (int fd)
{
    if (GET (s_spare) >= 0 || GET (s_ceiling) == INT_MAX)
        return false;
    int spare = s_open_spare ();
    bool gone = spare < 0;
    if (gone) {
        close (fd);
        spare = s_open_spare ();
    }
    SET (s_spare, spare);
    return gone;
}

//  A connection has come: takes it up or closes it. Returns its descriptor or -1.

static int
s_admit (int listener, int fd)
{
    connection_t *self = s_in_range (fd) ? &s_connections[fd] : NULL;
    int most = s_in_range (listener) ? GET (s_connections[listener].most) : 0;
    bool fast = most && s_is_fast (&s_connections[listener]);
    bool full = most && self && atomic_fetch_add (&s_open, 1) >= most;
    if (self && most)
        SET (self->counted, true); //  So that the close below counts it out
    if (full || fast || fd >= GET (s_ceiling)) {
        argos_meter_reason_t reason = full   ? ARGOS_METER_FULL
                                      : fast ? ARGOS_METER_FAST
                                             : ARGOS_METER_SHORT;
        atomic_fetch_add (&s_refused[reason], 1);
        close (fd);
        errno = ECONNABORTED;
        return -1;
    }
    if (self) {
        atomic_fetch_add (&self->life, 1);
        SET (self->watched, most > 0);
        SET (self->ahead, 0);
        s_enter (self, PHASE_GREETING, GREETING);
    }
    return fd;
}

int
accept4 (int listener, __SOCKADDR_ARG address, socklen_t *size, int flags)
{
    int fd = (int) syscall (SYS_accept4, listener, address.__sockaddr__, size, flags);
    if (fd >= 0 && !s_regain_spare (fd))
        return s_admit (listener, fd);
    if (fd >= 0) {
        atomic_fetch_add (&s_refused[ARGOS_METER_SHORT], 1);
        errno = ECONNABORTED;
    }
    else if (errno == EMFILE || errno == ENFILE) {
        s_shed (listener);
        errno = ECONNABORTED;
    }
    return -1;
}

int
accept (int listener, __SOCKADDR_ARG address, socklen_t *size)
{
    return accept4 (listener, address, size, 0);
}

int
close (int fd)
{
    if (s_in_range (fd)) {
        connection_t *self = &s_connections[fd];
        if (GET (self->most))
            SET (self->most, 0);
        if (GET (self->watched)) {
            pthread_mutex_lock (&s_closing);
            SET (self->watched, false);
            pthread_mutex_unlock (&s_closing);
        }
        if (GET (self->counted) && TAKE (self->counted, false))
            atomic_fetch_sub (&s_open, 1);
    }
    return (int) syscall (SYS_close, fd);
}
