//  argos_meter - what a connection has sent but not finished.
//
//  Invariant: ahead[fd] is the bytes read minus the bytes given, while watched[fd] is set; nothing
//  here blocks or allocates. Limits: 65,536 descriptors; a connection is cut at ARGOS_METER_MAX
//  bytes ahead, plus what one read brings.

#include "argos_meter.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#define DESCRIPTORS 65536

static _Atomic int64_t ahead[DESCRIPTORS]; //  Read, not yet given
static _Atomic bool watched[DESCRIPTORS];  //  Whether it is counted
static _Atomic int64_t cuts;               //  Connections shut down

static bool
s_in_range (int fd)
{
    return fd >= 0 && fd < DESCRIPTORS;
}

void
argos_meter_watch (int fd)
{
    if (!s_in_range (fd))
        return;
    atomic_store (&ahead[fd], 0);
    atomic_store (&watched[fd], true);
}

void
argos_meter_forget (int fd)
{
    if (s_in_range (fd))
        atomic_store (&watched[fd], false);
}

void
argos_meter_given (int fd, int64_t bytes)
{
    if (s_in_range (fd))
        atomic_fetch_sub (&ahead[fd], bytes);
}

int64_t
argos_meter_cuts (void)
{
    return atomic_load (&cuts);
}

//  Takes the place of the C library's recv for the whole process; recvfrom without an address is
//  the same call.

ssize_t
recv (int fd, void *buffer, size_t size, int flags)
{
    ssize_t rc = recvfrom (fd, buffer, size, flags, NULL, NULL);
    if (rc > 0 && s_in_range (fd) && atomic_load_explicit (&watched[fd], memory_order_relaxed) &&
        atomic_fetch_add (&ahead[fd], rc) + rc > ARGOS_METER_MAX) {
        atomic_store (&watched[fd], false);
        atomic_fetch_add (&cuts, 1);
        shutdown (fd, SHUT_RDWR);
    }
    return rc;
}
