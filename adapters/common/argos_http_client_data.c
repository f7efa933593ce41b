//  argos_http_client_data - what libcurl asks for while a call is under way: bytes of the request,
//  a place for those of the answer, and whether an address may be connected to.
//
//  Invariant: nothing here ends a call; it only makes libcurl end it. Limits: those of the call.

#include "argos_http_client_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

size_t
argos_http_on_body (char *buffer, size_t size, size_t count, void *arg)
{
    argos_http_call_t *call = arg;
    size_t left = call->body_size - call->body_place, room = size * count;
    size_t take = left < room ? left : room;
    memcpy (buffer, call->body + call->body_place, take);
    call->body_place += take;
    return take;
}

size_t
argos_http_on_file (char *buffer, size_t size, size_t count, void *arg)
{
    argos_http_file_t *file = arg;
    ssize_t got = pread (file->fd, buffer, size * count, file->place);
    if (got < 0)
        return CURL_READFUNC_ABORT;
    file->place += got;
    return (size_t) got;
}

int
argos_http_on_seek (void *arg, curl_off_t offset, int origin)
{
    argos_http_file_t *file = arg;
    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    file->place = offset;
    return CURL_SEEKFUNC_OK;
}

//  To the file when it is what was asked for; an answer that says why not is read.

static size_t
s_to_file (argos_http_call_t *call, const char *data, size_t size)
{
    size_t left = size;
    while (left) {
        ssize_t written = write (call->answer_fd, data, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return 0;
        data += written;
        left -= (size_t) written;
    }
    call->answer_size += size;
    return size;
}

size_t
argos_http_on_data (char *data, size_t size, size_t count, void *arg)
{
    argos_http_call_t *call = arg;
    long status = 0;
    size *= count;
    if (size > call->answer_max - call->answer_size) {
        call->too_big = true;
        return 0; //  Ends the transfer, unless nothing was to be taken
    }
    curl_easy_getinfo (call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->answer_fd > 0 && status / 100 == 2)
        return s_to_file (call, data, size);
    char *grown = realloc (call->answer, call->answer_size + size + 1);
    if (!grown)
        abort ();
    call->answer = grown;
    memcpy (call->answer + call->answer_size, data, size);
    call->answer_size += size;
    call->answer[call->answer_size] = 0;
    return size;
}

//  ------------------------------------------------------------------------------------------------
//  Addresses

static bool
s_public_v4 (const unsigned char *a)
{
    return a[0] != 0 && a[0] != 10 && a[0] != 127 && a[0] < 224 &&
           !(a[0] == 100 && (a[1] & 0xC0) == 64) && !(a[0] == 169 && a[1] == 254) &&
           !(a[0] == 172 && (a[1] & 0xF0) == 16) && !(a[0] == 192 && a[1] == 168) &&
           !(a[0] == 192 && a[1] == 0 && (a[2] == 0 || a[2] == 2)) &&
           !(a[0] == 198 && (a[1] & 0xFE) == 18) && !(a[0] == 198 && a[1] == 51 && a[2] == 100) &&
           !(a[0] == 203 && a[1] == 0 && a[2] == 113);
}

bool
argos_http_address_public (const unsigned char *address, size_t size)
{
    static const unsigned char mapped[12] = { [10] = 0xFF, [11] = 0xFF };
    static const unsigned char translated[12] = { 0, 0x64, 0xFF, 0x9B };
    static const unsigned char zero[12];
    if (size == 4)
        return s_public_v4 (address);
    if (size != 16)
        return false;
    if (memcmp (address, mapped, 12) == 0 || memcmp (address, translated, 12) == 0)
        return s_public_v4 (address + 12);
    if (memcmp (address, zero, 12) == 0) //  Unspecified, loopback, and addresses of old
        return false;
    if (address[0] == 0x20 && address[1] == 0x02) //  6to4 has the other address in it
        return s_public_v4 (address + 2);
    return (address[0] & 0xE0) == 0x20 && //  2000::/3 is what is given out
           !(address[0] == 0x20 && address[1] == 0x01 && address[2] == 0 && address[3] == 0) &&
           !(address[0] == 0x20 && address[1] == 0x01 && address[2] == 0x0D && address[3] == 0xB8);
}

static bool
s_is_public (const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy (&v4, address, sizeof v4);
        return argos_http_address_public ((const unsigned char *) &v4.sin_addr, 4);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy (&v6, address, sizeof v6);
        return argos_http_address_public ((const unsigned char *) &v6.sin6_addr, 16);
    }
    return false;
}

curl_socket_t
argos_http_on_open (void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void) purpose;
    argos_http_call_t *call = arg;
    if (!s_is_public (&address->addr)) {
        call->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket (address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
