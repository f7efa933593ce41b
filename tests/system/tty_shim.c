//  tty_shim - a terminal that throws away what was typed, for test_chat.py.
//
//  Preloaded. While there is a file $ARGOS_TTY_SHIM, it is removed at the next read of a terminal,
//  and what was typed is thrown away before that read: as Ctrl-C does, at the worst moment.

//  With it clang takes read below for the inline function of the library
#undef _FORTIFY_SOURCE

#include <stdlib.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

ssize_t
read (int fd, void *buffer, size_t size)
{
    const char *name = getenv ("ARGOS_TTY_SHIM");
    if (name && isatty (fd) && unlink (name) == 0)
        tcflush (fd, TCIFLUSH);
    return syscall (SYS_read, fd, buffer, size);
}
