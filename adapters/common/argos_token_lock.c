//  argos_token_lock - see the header.
//
//  Invariant: the name is bound as long as the descriptor is open; who is refused asks the socket
//  for the process that listens there.

#include "argos_token_lock.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64 //  Of those that ask who we are; nobody is accepted

//  Process that listens at that address, 0 = not known

static long
s_owner (const struct sockaddr_un *address, socklen_t length)
{
    struct ucred owner = { .pid = 0 };
    socklen_t size = sizeof owner;
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect (fd, (const struct sockaddr *) address, length) == 0)
        getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &owner, &size);
    if (fd >= 0)
        close (fd);
    return (long) owner.pid;
}

int
argos_token_lock (const char *platform, const char *token, char *reason, size_t size)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    crypto_hash_sha256 (hash, (const unsigned char *) token, strlen (token));
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    //  A name of the abstract namespace begins with NUL
    int used = snprintf (address.sun_path + 1, sizeof address.sun_path - 1,
        "argos-token-%.20s-%.32s", platform, hex);
    socklen_t length = (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + (size_t) used);
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind (fd, (const struct sockaddr *) &address, length) == 0 &&
        listen (fd, BACKLOG) == 0)
        return fd;
    if (errno == EADDRINUSE) {
        long pid = s_owner (&address, length);
        char who[48] = "";
        if (pid > 0)
            snprintf (who, sizeof who, " (process %ld)", pid);
        snprintf (reason, size,
            "another adapter on this host uses the same token%s: an account has one owner", who);
    }
    else
        snprintf (reason, size, "the token can't be locked: %s", strerrordesc_np (errno));
    if (fd >= 0)
        close (fd);
    return -1;
}
