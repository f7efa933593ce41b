//  argos-job_log - the output of a job: its beginning, and a ring of the newest; and who writes it.
//
//  Invariant: the log appears complete, in one instant and once for ever: that is why a job runs
//  once, however often somebody tries to start it. `total` grows only behind bytes that are in the
//  file, so a reader at any time, also after SIGKILL, finds what total says. A full disk costs
//  output, never the job. Nothing of it is brought to the disk before the end: who is at work is of
//  no use after a loss of power. Limit: a file system that knows RENAME_NOREPLACE.

#include "argos-job_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_MAX 65536 //  Bytes of the beginning that are kept, at most a quarter of all

static void
s_boot (char target[static ARGOS_JOB_BOOT_SIZE])
{
    int fd = open ("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read (fd, target, ARGOS_JOB_BOOT_SIZE - 1);
    if (fd >= 0)
        close (fd);
    target[length > 0 ? length : 0] = 0;
    target[strcspn (target, "\n")] = 0;
}

//  The head as it is now; false = it could not be written.

static bool
s_write_head (const job_log_t *self)
{
    return pwrite (self->fd, &self->head, sizeof self->head, 0) == (ssize_t) sizeof self->head;
}

int
job_log_open (job_log_t *self, int dir_fd, uint64_t size)
{
    char name[32];
    argos_job_log_t head = { .size = size,
        .head = size / 4 < HEAD_MAX ? size / 4 : HEAD_MAX,
        .pid = (uint64_t) getpid (),
        .start = job_tree_start (getpid ()) };
    memcpy (head.magic, ARGOS_JOB_LOG_MAGIC, sizeof head.magic);
    s_boot (head.boot);
    self->head = head;
    snprintf (name, sizeof name, ".log.%d", (int) getpid ());
    self->fd = openat (dir_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (self->fd < 0)
        return errno;
    int error = 0;
    errno = 0;
    if (!s_write_head (self))
        error = errno ? errno : ENOSPC;
    else if (renameat2 (dir_fd, name, dir_fd, ARGOS_JOB_LOG, RENAME_NOREPLACE) != 0)
        error = errno;
    if (error)
        unlinkat (dir_fd, name, 0);
    return error;
}

//  Where byte number n of the output goes, and how many after it are there in one piece.

static uint64_t
s_place (const argos_job_log_t *head, uint64_t n, uint64_t *ret_room)
{
    if (n < head->head) {
        *ret_room = head->head - n;
        return n;
    }
    uint64_t ring = head->size - head->head, offset = (n - head->head) % ring;
    *ret_room = ring - offset;
    return head->head + offset;
}

void
job_log_write (job_log_t *self, const char *data, size_t size)
{
    while (size) {
        uint64_t room;
        uint64_t place = s_place (&self->head, self->head.total, &room);
        size_t piece = size < room ? size : (size_t) room;
        ssize_t done = pwrite (self->fd, data, piece, (off_t) (ARGOS_JOB_LOG_DATA + place));
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            self->head.lost += size;
            break;
        }
        self->head.total += (uint64_t) done;
        data += done;
        size -= (size_t) done;
    }
    s_write_head (self);
}

//  The file once more under its name: the command has removed it.

static void
s_restore (const job_log_t *self, int dir_fd)
{
    char block[65536];
    int fd = openat (dir_fd, ARGOS_JOB_LOG, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    off_t offset = 0;
    ssize_t size = 0;
    while (fd >= 0 && (size = pread (self->fd, block, sizeof block, offset)) > 0) {
        if (pwrite (fd, block, (size_t) size, offset) != size)
            break;
        offset += size;
    }
    if (fd >= 0) {
        fdatasync (fd);
        close (fd);
    }
}

void
job_log_close (job_log_t *self, int dir_fd)
{
    struct stat state;
    if (self->head.total)
        fdatasync (self->fd);
    if (fstat (self->fd, &state) == 0 && state.st_nlink == 0)
        s_restore (self, dir_fd);
    close (self->fd);
}
