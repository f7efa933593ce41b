//  disk_shim - a disk that fails under a real argosd, for test_core_fails.py.
//
//  Preloaded. As long as there is a file $ARGOS_DISK_SHIM.sync, fsync and fdatasync fail; with a
//  pipe $ARGOS_DISK_SHIM.wait they return when somebody writes to it; with a
//  file $ARGOS_DISK_SHIM.read, what is read of a database behind its first page is not what was
//  written. SQLite finds these functions because the dynamic linker asks this library first.

//  With it clang takes pread64 below for the inline function of the library
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define PAGE 4096
#define PATH_SIZE 256

static const char *
s_path (const char *what, char target[static PATH_SIZE])
{
    const char *name = getenv ("ARGOS_DISK_SHIM");
    snprintf (target, PATH_SIZE, "%s.%s", name ? name : "", what);
    return target;
}

static bool
s_told (const char *what)
{
    char path[PATH_SIZE];
    return access (s_path (what, path), F_OK) == 0;
}

//  Returns when somebody writes to the pipe, or there is none.

static void
s_stand_still (void)
{
    char path[PATH_SIZE];
    int gate = open (s_path ("wait", path), O_RDONLY | O_CLOEXEC);
    if (gate >= 0)
        close (gate);
}

static int
s_sync (long number, int fd)
{
    s_stand_still ();
    if (!s_told ("sync"))
        return (int) syscall (number, fd);
    errno = EIO;
    return -1;
}

int
fsync (int fd)
{
    return s_sync (SYS_fsync, fd);
}

int
fdatasync (int fd)
{
    return s_sync (SYS_fdatasync, fd);
}

static bool
s_is_database (int fd)
{
    char link[32], path[256];
    snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink (link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = 0;
    return size > 3 && strcmp (path + size - 3, ".db") == 0;
}

ssize_t
pread64 (int fd, void *buffer, size_t size, off64_t offset)
{
    ssize_t got = syscall (SYS_pread64, fd, buffer, size, offset);
    if (got > 0 && offset >= PAGE && s_told ("read") && s_is_database (fd))
        memset (buffer, 0xa5, (size_t) got);
    return got;
}
