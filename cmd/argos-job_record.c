//  argos-job_record - JOB_EXIT.
//
//  Invariant: it appears complete, by a rename, and is on the disk before.

#include "argos-job_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVED 4096 //  Bytes that are kept for the exit record

int
job_record_reserve (int dir_fd)
{
    int fd = openat (dir_fd, ARGOS_JOB_ENDING, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    //  Where nothing can be reserved the name alone is
    if (fd >= 0 && fallocate (fd, FALLOC_FL_KEEP_SIZE, 0, RESERVED) != 0 && errno != EOPNOTSUPP) {
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

//  The reserved file, unless the command has removed it or written there

static int
s_file (int dir_fd, int reserved_fd)
{
    struct stat mine, named;
    if (reserved_fd >= 0 && fstat (reserved_fd, &mine) == 0 && mine.st_size == 0 &&
        fstatat (dir_fd, ARGOS_JOB_ENDING, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        mine.st_ino == named.st_ino && mine.st_dev == named.st_dev)
        return reserved_fd;
    unlinkat (dir_fd, ARGOS_JOB_ENDING, 0);
    return openat (dir_fd, ARGOS_JOB_ENDING, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
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
    //  That the new name may not outlive a loss of power does not matter: what is whole is read
    //  under the old one as well
    if (pwrite (fd, text, (size_t) size, 0) != size || fsync (fd) != 0 ||
        renameat (*dir_fd_p, ARGOS_JOB_ENDING, *dir_fd_p, ARGOS_JOB_EXIT) != 0)
        error = errno ? errno : ENOSPC;
    return error;
}
