//  argos_store_scratch - see the header.
//
//  Invariant: the file is only read, and nothing is made beside it; its logs are looked for where
//  SQLite has them, beside the file to which a link leads. Limits: PIECE bytes at a time.

#include "argos_store_scratch.h"

#include "argos_store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 4096 //  Bytes of a piece of the file: one that can't be read becomes zeros
#define REASON ARGOS_STORE_SCRATCH_REASON

static const char *const logs[] = { "-wal", "-journal" };
#define LOGS (sizeof logs / sizeof *logs)

bool
argos_store_scratch_in_use (const char *path, char *reason)
{
    int fd = open (path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        fd = open (path, O_RDONLY | O_CLOEXEC);
    //  The bytes at which SQLite locks, behind the first GiB; in WAL a connection holds a lock for
    //  as long as it is open. Of a file that we may not write only those who write can be seen
    struct flock lock = { .l_whence = SEEK_SET, .l_start = 0x40000000, .l_len = 512 };
    lock.l_type = fd >= 0 && (fcntl (fd, F_GETFL) & O_ACCMODE) == O_RDWR ? F_WRLCK : F_RDLCK;
    bool used = fd >= 0 && fcntl (fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0)
        close (fd);
    if (used)
        snprintf (reason, REASON,
            "%.300s is in use by process %ld: stop it, or name a copy of the file", path,
            (long) lock.l_pid);
    return used;
}

//  The file to which a path leads, new.

static char *
s_real (const char *path)
{
    char *real = realpath (path, NULL);
    return real ? real : argos_store_file_beside (path, "");
}

//  Whether a log has something in it.

static bool
s_is_log (const char *log)
{
    struct stat info;
    return stat (log, &info) == 0 && info.st_size > 0;
}

bool
argos_store_scratch_needed (const char *path)
{
    char *real = s_real (path);
    bool found = false;
    for (size_t i = 0; i < LOGS; i++) {
        char *log = argos_store_file_beside (real, logs[i]);
        found = found || s_is_log (log);
        free (log);
    }
    free (real);
    return found;
}

//  A piece of a file. Returns its bytes, 0 at the end, -1 with errno.

static ssize_t
s_read_piece (int fd, char bytes[static PIECE], off_t at, bool rescue)
{
    ssize_t size = pread (fd, bytes, PIECE, at);
    if (size >= 0 || errno != EIO || !rescue)
        return size;
    memset (bytes, 0, PIECE);
    return PIECE;
}

//  All of it, to where the end was at the beginning. Returns 0, or -1 with errno.

static int
s_copy_pieces (int source, int target, bool rescue)
{
    char bytes[PIECE];
    off_t end = lseek (source, 0, SEEK_END), at = 0;
    while (at < end) {
        ssize_t size = s_read_piece (source, bytes, at, rescue);
        if (size <= 0)
            return (int) size;
        ssize_t written = write (target, bytes, (size_t) size);
        if (written != size) {
            errno = written < 0 ? errno : ENOSPC; //  Of a disk that takes a part
            return -1;
        }
        at += size;
    }
    return 0;
}

static int
s_copy_file (const char *from, const char *to, bool rescue)
{
    int source = open (from, O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return -1;
    int target = open (to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = target >= 0 ? s_copy_pieces (source, target, rescue) : -1;
    int problem = errno;
    close (source);
    if (target >= 0)
        close (target);
    errno = problem;
    return rc;
}

int
argos_store_scratch_make (const char *path, const char *scratch, bool rescue, char *reason)
{
    char *real = s_real (path);
    int rc = s_copy_file (real, scratch, rescue);
    for (size_t i = 0; i < LOGS && rc == 0; i++) {
        char *log = argos_store_file_beside (real, logs[i]),
             *copied = argos_store_file_beside (scratch, logs[i]);
        if (s_is_log (log))
            rc = s_copy_file (log, copied, rescue);
        free (log);
        free (copied);
    }
    free (real);
    if (rc != 0) {
        snprintf (reason, REASON, "can't copy %.300s: %.120s", path, strerror (errno));
        argos_store_scratch_remove (scratch);
    }
    return rc;
}

void
argos_store_scratch_remove (const char *scratch)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char *name = argos_store_file_beside (scratch, suffixes[i]);
        unlink (name);
        free (name);
    }
}
