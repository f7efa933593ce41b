//  argos_websocket_upgrade - the handshake: an HTTP request, and whether its answer is the right
//  one.
//
//  Invariant: what stands behind the head of the answer stays in `in`: the first frames. Limit: a
//  head of 16 KiB.

#include "argos_websocket_priv.h"

#include "argos_base64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" //  Of RFC 6455
#define RETRY_MAX_S 3600                            //  Longest Retry-After that is believed

//  SHA-1, for the handshake only: libsodium has none, and nothing depends on its strength

typedef struct {
    uint32_t state[5];  //  Of the digest
    uint32_t words[80]; //  Of one block
} s_sha1_t;

static uint32_t
s_turn (uint32_t value, unsigned count)
{
    return value << count | value >> (32 - count);
}

static void
s_sha1_block (s_sha1_t *self, const unsigned char *block)
{
    static const uint32_t constants[] = { 0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6 };
    for (size_t at = 0; at < 16; at++)
        self->words[at] = (uint32_t) block[at * 4] << 24 | (uint32_t) block[at * 4 + 1] << 16 |
                          (uint32_t) block[at * 4 + 2] << 8 | block[at * 4 + 3];
    for (size_t at = 16; at < 80; at++)
        self->words[at] = s_turn (
            self->words[at - 3] ^ self->words[at - 8] ^ self->words[at - 14] ^ self->words[at - 16],
            1);
    uint32_t a = self->state[0], b = self->state[1], c = self->state[2], d = self->state[3],
             e = self->state[4];
    for (size_t at = 0; at < 80; at++) {
        uint32_t mixed = b ^ c ^ d;
        if (at < 20)
            mixed = (b & c) | (~b & d);
        else if (at >= 40 && at < 60)
            mixed = (b & c) | (b & d) | (c & d);
        uint32_t next = s_turn (a, 5) + mixed + e + constants[at / 20] + self->words[at];
        e = d;
        d = c;
        c = s_turn (b, 30);
        b = a;
        a = next;
    }
    self->state[0] += a;
    self->state[1] += b;
    self->state[2] += c;
    self->state[3] += d;
    self->state[4] += e;
}

//  Of a text of at most 119 bytes
static void
s_sha1 (const char *text, unsigned char digest[static 20])
{
    s_sha1_t hash = { .state = { 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0 } };
    unsigned char data[128] = { 0 };
    size_t size = strnlen (text, 119);
    for (size_t at = 0; at < size; at++)
        data[at] = (unsigned char) text[at];
    data[size] = 0x80;
    size_t whole = size < 56 ? 64 : 128;
    data[whole - 2] = (unsigned char) (size >> 5);
    data[whole - 1] = (unsigned char) (size << 3);
    for (size_t at = 0; at < whole; at += 64)
        s_sha1_block (&hash, data + at);
    for (size_t at = 0; at < 20; at++)
        digest[at] = (unsigned char) (hash.state[at / 4] >> (24 - at % 4 * 8));
}

static char *
s_url_part (CURLU *url, CURLUPart part)
{
    char *text = NULL;
    return curl_url_get (url, part, &text, 0) == CURLUE_OK ? text : NULL;
}

//  host[:port] and /path[?query]
static int
s_read_url (argos_websocket_t *self, CURLU *url)
{
    if (curl_url_set (url, CURLUPART_URL, self->config.url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        return -1;
    char *host = s_url_part (url, CURLUPART_HOST);
    char *port = s_url_part (url, CURLUPART_PORT);
    char *path = s_url_part (url, CURLUPART_PATH);
    char *query = s_url_part (url, CURLUPART_QUERY);
    int rc = host && path ? 0 : -1;
    if (rc == 0 &&
        (asprintf (&self->host, "%s%s%s", host, port ? ":" : "", port ? port : "") < 0 ||
            asprintf (&self->path, "%s%s%s", path, query ? "?" : "", query ? query : "") < 0))
        abort ();
    curl_free (host);
    curl_free (port);
    curl_free (path);
    curl_free (query);
    return rc;
}

int
argos_websocket_prepare (argos_websocket_t *self)
{
    CURLU *url = curl_url ();
    if (!url)
        abort ();
    int rc = s_read_url (self, url);
    curl_url_cleanup (url);
    if (rc < 0)
        return -1;
    unsigned char random[16];
    randombytes_buf (random, sizeof random);
    sodium_bin2base64 (
        self->key, sizeof self->key, random, sizeof random, sodium_base64_VARIANT_ORIGINAL);
    char *request = NULL;
    int size = asprintf (&request,
        "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\nUser-Agent: %s\r\n\r\n",
        self->path, self->host, self->key, self->config.agent);
    if (size < 0)
        abort ();
    argos_text_add (&self->out, request, (size_t) size);
    explicit_bzero (request, (size_t) size); //  The address may have a ticket in it
    free (request);
    return 0;
}

//  The value of a header in the head (its lines end in CR LF), NULL when there is none
static const char *
s_header (const char *head, const char *name, char *value, size_t room)
{
    size_t length = strlen (name);
    for (const char *line = strstr (head, "\r\n"); line; line = strstr (line, "\r\n")) {
        line += 2;
        if (strncasecmp (line, name, length) != 0 || line[length] != ':')
            continue;
        const char *text = line + length + 1;
        text += strspn (text, " \t");
        size_t size = strcspn (text, "\r\n");
        while (size && (text[size - 1] == ' ' || text[size - 1] == '\t'))
            size--;
        snprintf (value, room, "%.*s", (int) size, text);
        return value;
    }
    return NULL;
}

//  Is this word in the list?
static bool
s_has_word (const char *list, const char *word)
{
    size_t length = strlen (word);
    for (const char *at = list; *at; at++) {
        at += strspn (at, ", \t");
        size_t size = strcspn (at, ", \t");
        if (size == length && strncasecmp (at, word, length) == 0)
            return true;
        at += size;
        if (!*at)
            break;
    }
    return false;
}

//  What is wrong with an answer 101, or NULL
static const char *
s_wrong (const argos_websocket_t *self, const char *head)
{
    char value[256], joined[96], expected[48];
    unsigned char digest[20];
    snprintf (joined, sizeof joined, "%s%s", self->key, GUID);
    s_sha1 (joined, digest);
    sodium_bin2base64 (
        expected, sizeof expected, digest, sizeof digest, sodium_base64_VARIANT_ORIGINAL);
    if (!s_header (head, "Upgrade", value, sizeof value) || strcasecmp (value, "websocket") != 0)
        return "the answer is no upgrade to WebSocket";
    if (!s_header (head, "Connection", value, sizeof value) || !s_has_word (value, "upgrade"))
        return "the answer does not upgrade the connection";
    if (!s_header (head, "Sec-WebSocket-Accept", value, sizeof value) ||
        strcmp (value, expected) != 0)
        return "the answer is not to our key";
    if (s_header (head, "Sec-WebSocket-Extensions", value, sizeof value) && *value)
        return "the server turned on an extension that was not offered";
    if (s_header (head, "Sec-WebSocket-Protocol", value, sizeof value) && *value)
        return "the server chose a protocol that was not offered";
    return NULL;
}

int
argos_websocket_accept (argos_websocket_t *self, int *ret_status, int64_t *ret_retry_after_ms)
{
    char *head = self->in.data;
    char *end = head ? memmem (head, self->in.size, "\r\n\r\n", 4) : NULL;
    if (!end)
        return 0;
    self->in_place = (size_t) (end - head) + 4;
    end[2] = '\0';
    char value[64];
    int status = 0;
    if (strncmp (head, "HTTP/1.1 ", 9) == 0)
        status = (int) strtol (head + 9, NULL, 10);
    if (status != 101) {
        *ret_status = status;
        if (s_header (head, "Retry-After", value, sizeof value)) {
            long seconds = strtol (value, NULL, 10);
            if (seconds >= 0)
                *ret_retry_after_ms = (seconds > RETRY_MAX_S ? RETRY_MAX_S : seconds) * 1000;
        }
        snprintf (self->why, sizeof self->why, "the upgrade was refused with status %d", status);
        return -1;
    }
    const char *wrong = s_wrong (self, head);
    if (wrong)
        snprintf (self->why, sizeof self->why, "%s", wrong);
    return wrong ? -1 : 1;
}
