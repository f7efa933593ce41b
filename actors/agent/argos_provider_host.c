//  argos_provider_host - whether a provider runs near by, and how long it may be silent. Pure.

#include "argos_provider.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define TOKEN_BYTES 4 //  About, of a request

//  Loopback, private ranges, link-local, and 100.64.0.0/10 which private networks share
static bool
s_is_local_v4 (const char *host)
{
    static const struct {
        uint32_t network; //  In host order
        int bits;         //  Of the mask
    } ranges[] = { { 0x7F000000, 8 }, { 0x0A000000, 8 }, { 0xAC100000, 12 }, { 0xC0A80000, 16 },
        { 0xA9FE0000, 16 }, { 0x64400000, 10 } };
    struct in_addr address;
    if (inet_pton (AF_INET, host, &address) != 1)
        return false;
    uint32_t number = ntohl (address.s_addr);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (((number ^ ranges[i].network) >> (32 - ranges[i].bits)) == 0)
            return true;
    return false;
}

static bool
s_is_local_v6 (const char *host)
{
    char plain[64];
    size_t size = strlen (host);
    if (size < 4 || size > sizeof plain || host[0] != '[')
        return false;
    memcpy (plain, host + 1, size - 2);
    plain[size - 2] = 0;
    struct in6_addr address;
    return inet_pton (AF_INET6, plain, &address) == 1 &&
           (IN6_IS_ADDR_LOOPBACK (&address) || (address.s6_addr[0] & 0xFE) == 0xFC ||
               IN6_IS_ADDR_LINKLOCAL (&address));
}

bool
argos_provider_is_local (const char *host)
{
    static const char *const names[] = { "localhost", "host.docker.internal",
        "host.containers.internal", "host.lima.internal", "gateway.docker.internal" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp (host, names[i]) == 0)
            return true;
    return s_is_local_v4 (host) || s_is_local_v6 (host);
}

int64_t
argos_provider_stall_ms (int64_t set_ms, bool local, size_t body_size, bool whole)
{
    static const struct {
        size_t tokens;                 //  More than so many
        int64_t streamed_ms, whole_ms; //  Limits
    } rows[] = { { 100000, 300000, 240000 }, { 50000, 240000, 150000 }, { 0, 180000, 90000 } };
    size_t at = 0;
    while (at < 2 && body_size / TOKEN_BYTES <= rows[at].tokens)
        at++;
    return set_ms > 0 ? set_ms : local ? 0 : whole ? rows[at].whole_ms : rows[at].streamed_ms;
}
