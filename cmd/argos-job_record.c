//  argos-job_record - JOB_RUN and JOB_EXIT.
//
//  Invariant: each appears complete, by link or rename, and JOB_RUN once for ever: that is why a
//  job runs once, however often somebody tries to start it.

#include "argos-job_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVED 4096         //  Bytes that are kept for the exit record
#define RESERVED_NAME ".exit" //  Its name until it is whole

static void
s_boot (char *target, size_t size)
{
    int fd = open ("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read (fd, target, size - 1);
    if (fd >= 0)
        close (fd);
    target[length > 0 ? length : 0] = 0;
    target[strcspn (target, "\n")] = 0;
}

int
job_record_run (int dir_fd, pid_t shell, uint64_t shell_start)
{
    char name[32], boot[64], text[192];
    snprintf (name, sizeof name, ".run.%d", (int) getpid ());
    s_boot (boot, sizeof boot);
    int size = snprintf (text, sizeof text, "%d %llu %d %llu %s\n", (int) getpid (),
        (unsigned long long) job_tree_start (getpid ()), (int) shell,
        (unsigned long long) shell_start, boot);
    int fd = openat (dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int error = 0;
    if (write (fd, text, (size_t) size) != size || fsync (fd) != 0)
        error = errno ? errno : ENOSPC;
    else if (linkat (dir_fd, name, dir_fd, ARGOS_JOB_RUN, 0) != 0)
        error = errno;
    close (fd);
    unlinkat (dir_fd, name, 0);
    return error;
}

int
job_record_reserve (int dir_fd)
{
    int fd = openat (dir_fd, RESERVED_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && posix_fallocate (fd, 0, RESERVED) != 0) {
        close (fd);
        return -1;
    }
    return fd;
}

int
job_record_mend (const char *dir, int *dir_fd_p)
{
    struct stat state;
    if (fstat (*dir_fd_p, &state) == 0 && state.st_nlink > 0) {
        //  It is ours, so it can be made writable again
        if ((state.st_mode & 0700) != 0700 && fchmod (*dir_fd_p, 0700) != 0)
            return errno;
        return 0;
    }
    char parent[PATH_MAX];
    const char *slash = strrchr (dir, '/');
    snprintf (parent, sizeof parent, "%.*s", (int) (slash - dir), dir);
    if (mkdir (dir, 0700) != 0 && errno == ENOENT && mkdir (parent, 0700) == 0)
        mkdir (dir, 0700);
    int fd = open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    close (*dir_fd_p);
    *dir_fd_p = fd;
    return 0;
}

static int
s_format (const job_end_t *end, char *text, size_t size)
{
    int used = snprintf (text, size,
        "%d\nreason %s\nsignal %d\nended %lld\nms %lld\nleft %zu\nsurvivors", end->code,
        end->reason, end->number, (long long) end->ended_ms, (long long) end->run_ms, end->left);
    for (size_t i = 0; i < end->survivor_count; i++)
        used += snprintf (text + used, size - (size_t) used, " %d", (int) end->survivors[i]);
    used += snprintf (text + used, size - (size_t) used, "\n");
    return used;
}

//  The reserved file, unless the command has removed it

static int
s_file (int dir_fd, int reserved_fd)
{
    struct stat mine, named;
    if (reserved_fd >= 0 && fstat (reserved_fd, &mine) == 0 &&
        fstatat (dir_fd, RESERVED_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        mine.st_ino == named.st_ino && mine.st_dev == named.st_dev)
        return reserved_fd;
    unlinkat (dir_fd, RESERVED_NAME, 0);
    return openat (dir_fd, RESERVED_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int
job_record_exit (const char *dir, int *dir_fd_p, int reserved_fd, const job_end_t *end)
{
    char text[2048];
    int size = s_format (end, text, sizeof text);
    int error = job_record_mend (dir, dir_fd_p);
    int fd = error ? -1 : s_file (*dir_fd_p, reserved_fd);
    if (fd < 0)
        return error ? error : errno;
    if (pwrite (fd, text, (size_t) size, 0) != size || ftruncate (fd, size) != 0 ||
        fsync (fd) != 0 || renameat (*dir_fd_p, RESERVED_NAME, *dir_fd_p, ARGOS_JOB_EXIT) != 0)
        error = errno ? errno : ENOSPC;
    if (!error)
        fsync (*dir_fd_p);
    return error;
}
