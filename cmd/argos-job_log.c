//  argos-job_log - the output of a job: its beginning, and a ring of the newest.
//
//  Invariant: `total` grows only behind bytes that are in the file, so a reader at any time, also
//  after SIGKILL, finds what total says. A full disk costs output, never the job.

#include "argos-job_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_MAX 65536 //  Bytes of the beginning that are kept, at most a quarter of all

int
job_log_open (job_log_t *self, int dir_fd, uint64_t size)
{
    argos_job_log_t head = { .size = size, .head = size / 4 < HEAD_MAX ? size / 4 : HEAD_MAX };
    memcpy (head.magic, ARGOS_JOB_LOG_MAGIC, sizeof head.magic);
    char first[ARGOS_JOB_LOG_DATA] = { 0 };
    memcpy (first, &head, sizeof head);
    self->fd = openat (dir_fd, ARGOS_JOB_LOG, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (self->fd < 0)
        return errno;
    //  Written, not only mapped: a mapped page without a place on the disk would kill us
    if (pwrite (self->fd, first, sizeof first, 0) != (ssize_t) sizeof first)
        return errno ? errno : ENOSPC;
    void *map = mmap (NULL, sizeof head, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
    if (map == MAP_FAILED)
        return errno;
    self->head = map;
    return 0;
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

static void
s_add (uint64_t *counter, uint64_t count)
{
    atomic_thread_fence (memory_order_release);
    *(volatile uint64_t *) counter += count;
}

void
job_log_write (job_log_t *self, const char *data, size_t size)
{
    while (size) {
        uint64_t room;
        uint64_t place = s_place (self->head, self->head->total, &room);
        size_t piece = size < room ? size : (size_t) room;
        ssize_t done = pwrite (self->fd, data, piece, (off_t) (ARGOS_JOB_LOG_DATA + place));
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            s_add (&self->head->lost, size);
            return;
        }
        s_add (&self->head->total, (uint64_t) done);
        data += done;
        size -= (size_t) done;
    }
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
    if (self->head->total && fdatasync (self->fd) != 0)
        s_add (&self->head->lost, 0);
    if (fstat (self->fd, &state) == 0 && state.st_nlink == 0)
        s_restore (self, dir_fd);
    munmap (self->head, sizeof *self->head);
    close (self->fd);
}
