//  argos_tty - see the header.

#include "argos_tty.h"

#include <fcntl.h>
#include <unistd.h>

int
argos_tty_open (void)
{
    int fd = open ("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 ? fd : STDIN_FILENO;
}

void
argos_tty_close (int fd)
{
    if (fd != STDIN_FILENO)
        close (fd);
}
