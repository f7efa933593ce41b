//  argos_log_file - where lines of the log go: stderr, and a file of the home.
//
//  Invariant: one process has the file (the one that holds the lock of the home), and one thread at
//  a time writes to it. Limits: ARGOS_LOG_FILE_MAX bytes, then it becomes NAME.1 and a new one
//  begins; so two of them are all there is. A disk that is full costs lines, nothing else.

#include "argos_log.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t s_mutex = PTHREAD_MUTEX_INITIALIZER; //  Guards the rest
static char s_path[PATH_MAX];                               //  The file
static int s_fd = -1;                                       //  Open, or -1
static unsigned long s_size;                                //  Bytes in it
static unsigned long s_max = ARGOS_LOG_FILE_MAX;            //  Bytes it may have

static int
s_open (int flags)
{
    struct stat info;
    s_fd = open (s_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    s_size = s_fd >= 0 && fstat (s_fd, &info) == 0 ? (unsigned long) info.st_size : 0;
    return s_fd >= 0 ? 0 : -1;
}

//  It is full: it gets its other name. Where that can't be it begins anew, because it has a limit.

static void
s_turn_over (void)
{
    char old[PATH_MAX + 4];
    snprintf (old, sizeof old, "%s.1", s_path);
    close (s_fd);
    s_open (rename (s_path, old) == 0 ? 0 : O_TRUNC);
}

int
argos_log_open (const char *folder, unsigned long max)
{
    int rc = -1;
    pthread_mutex_lock (&s_mutex);
    if (s_fd < 0 && snprintf (s_path, sizeof s_path, "%s/" ARGOS_LOG_FILE, folder) < PATH_MAX)
        rc = s_open (0);
    if (max)
        s_max = max;
    pthread_mutex_unlock (&s_mutex);
    return rc;
}

void
argos_log_close (void)
{
    pthread_mutex_lock (&s_mutex);
    if (s_fd >= 0)
        close (s_fd);
    s_fd = -1;
    s_max = ARGOS_LOG_FILE_MAX;
    pthread_mutex_unlock (&s_mutex);
}

void
argos_log_write (const char *lines, unsigned long size)
{
    ssize_t written = write (STDERR_FILENO, lines, size);
    (void) written; //  Nobody to tell when stderr itself is gone
    pthread_mutex_lock (&s_mutex);
    if (s_fd >= 0 && s_size > 0 && s_size + size > s_max)
        s_turn_over ();
    if (s_fd >= 0 && (written = write (s_fd, lines, size)) > 0)
        s_size += (unsigned long) written;
    pthread_mutex_unlock (&s_mutex);
}
