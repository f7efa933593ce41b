//  argos_http_listen - the listening socket: bound here, so that the cause of a failure can be
//  told, or one that systemd has bound for us.

#include "argos_http_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define S_BACKLOG 1024 //  Connections not yet accepted

bool
argos_http_is_loopback (const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *) address;
        return (ntohl (in->sin_addr.s_addr) >> 24) == 127;
    }
    if (address->sa_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *in6 = (const void *) address;
    return IN6_IS_ADDR_LOOPBACK (&in6->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED (&in6->sin6_addr) && in6->sin6_addr.s6_addr[12] == 127);
}

static int
s_port (int fd)
{
    char service[16] = "0";
    struct sockaddr_storage bound = { 0 };
    socklen_t size = sizeof bound;
    if (getsockname (fd, (struct sockaddr *) &bound, &size) != 0 ||
        getnameinfo ((struct sockaddr *) &bound, size, NULL, 0, service, sizeof service,
            NI_NUMERICSERV) != 0)
        return 0;
    return (int) strtol (service, NULL, 10);
}

//  A copy of a socket that somebody else has bound; it stays open for the next start.

static int
s_adopt (argos_http_t *self, int given, char *reason)
{
    struct sockaddr_storage bound = { 0 };
    socklen_t size = sizeof bound;
    int fd = fcntl (given, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 || getsockname (fd, (struct sockaddr *) &bound, &size) != 0 ||
        fcntl (fd, F_SETFL, O_NONBLOCK) != 0) {
        (void) snprintf (reason, 256, "http: the socket of systemd: %s", strerrordesc_np (errno));
        if (fd >= 0)
            close (fd);
        return -1;
    }
    self->loopback =
        bound.ss_family == AF_UNIX || argos_http_is_loopback ((const struct sockaddr *) &bound);
    self->port = s_port (fd);
    return fd;
}

int
argos_http_listen (argos_http_t *self, const argos_http_config_t *config, char *reason)
{
    const char *host = config->host;
    int port = config->port;
    if (config->listen_fd > 0)
        return s_adopt (self, config->listen_fd, reason);
    char service[16];
    (void) snprintf (service, sizeof service, "%d", port);
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    int rc = getaddrinfo (host, service, &hints, &found);
    if (rc != 0 || !found) {
        (void) snprintf (reason, 256, "http.host %.100s: %s", host, gai_strerror (rc));
        return -1;
    }
    self->loopback = true; //  Any address that is not, counts
    for (const struct addrinfo *each = found; each; each = each->ai_next)
        self->loopback = self->loopback && argos_http_is_loopback (each->ai_addr);
    int on = 1;
    int fd = socket (found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind (fd, found->ai_addr, found->ai_addrlen) != 0 || listen (fd, S_BACKLOG) != 0) {
        int error = errno;
        (void) snprintf (reason, 256, "http: can't listen on %.100s port %d: %s%s", host, port,
            strerrordesc_np (error), error == EADDRINUSE ? " (api_server_port_in_use)" : "");
        if (fd >= 0)
            close (fd);
        fd = -1;
    }
    freeaddrinfo (found);
    if (fd < 0)
        return -1;
    self->port = s_port (fd);
    return fd;
}
