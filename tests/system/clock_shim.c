//  clock_shim - a host whose clock is set wrong, for the placement `nodes` of the system tests.
//
//  Preloaded. The time of day is $ARGOS_CLOCK_SHIM seconds ahead of the kernel's; clocks that only
//  measure, and the times of files, are as they are.

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t
s_ahead (void)
{
    const char *seconds = getenv ("ARGOS_CLOCK_SHIM");
    return seconds ? atol (seconds) : 0;
}

int
clock_gettime (clockid_t clock, struct timespec *now)
{
    long rc = syscall (SYS_clock_gettime, clock, now);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += s_ahead ();
    return (int) rc;
}

time_t
time (time_t *to)
{
    struct timespec now;
    clock_gettime (CLOCK_REALTIME_COARSE, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

int
gettimeofday (struct timeval *restrict to, void *restrict zone)
{
    (void) zone;
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1000;
    return 0;
}
