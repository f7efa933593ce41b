//  argos_address - which addresses of the Internet are everybody's. Tables of RFC 6890 and its
//  like.

#include "argos_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

static const struct {
    uint32_t net; //  First address
    int bits;     //  Of the prefix
} s_nets[] = { { 0x00000000, 8 }, { 0x0A000000, 8 }, { 0x64400000, 10 }, { 0x7F000000, 8 },
    { 0xA9FE0000, 16 }, { 0xAC100000, 12 }, { 0xC0000000, 24 }, { 0xC0000200, 24 },
    { 0xC0586300, 24 }, { 0xC0A80000, 16 }, { 0xC6120000, 15 }, { 0xC6336400, 24 },
    { 0xCB007100, 24 }, { 0xE0000000, 4 }, { 0xF0000000, 4 } };

static bool
s_is_public_4 (uint32_t address)
{
    for (size_t i = 0; i < sizeof s_nets / sizeof *s_nets; i++)
        if ((address ^ s_nets[i].net) >> (32 - s_nets[i].bits) == 0)
            return false;
    return true;
}

static uint32_t
s_number (const unsigned char *bytes)
{
    return (uint32_t) bytes[0] << 24 | (uint32_t) bytes[1] << 16 | (uint32_t) bytes[2] << 8 |
           bytes[3];
}

static bool
s_is_public_6 (const unsigned char *bytes)
{
    static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF };
    static const unsigned char nat64[12] = { 0, 0x64, 0xFF, 0x9B };
    static const unsigned char zero[12];
    if (memcmp (bytes, mapped, 12) == 0 || memcmp (bytes, nat64, 12) == 0 ||
        memcmp (bytes, zero, 12) == 0)
        return s_is_public_4 (s_number (bytes + 12));
    if (bytes[0] == 0x20 && bytes[1] == 0x02) //  6to4
        return s_is_public_4 (s_number (bytes + 2));
    if (bytes[0] == 0x20 && bytes[1] == 0x01 &&
        (bytes[2] == 0 || (bytes[2] == 0x0D && bytes[3] == 0xB8)))
        return false;                 //  Teredo; documentation
    return (bytes[0] & 0xE0) == 0x20; //  2000::/3 is what is global
}

bool
argos_address_is_public (const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy (&in, address, sizeof in);
        return s_is_public_4 (ntohl (in.sin_addr.s_addr));
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy (&in, address, sizeof in);
        return s_is_public_6 (in.sin6_addr.s6_addr);
    }
    return false;
}
