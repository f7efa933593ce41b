//  send_shim - a slow way to the network, for test_clients.py.
//
//  Preloaded. What is sent to a socket is sent a little later: a program that ends before its
//  library has written its last words shows it.

//  With it clang takes send below for the inline function of the library
#undef _FORTIFY_SOURCE

#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DELAY_NS 100000000

ssize_t
send (int fd, const void *buffer, size_t size, int flags)
{
    struct timespec delay = { .tv_nsec = DELAY_NS };
    nanosleep (&delay, NULL);
    return syscall (SYS_sendto, fd, buffer, size, flags, NULL, 0);
}
