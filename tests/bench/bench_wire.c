//  bench_wire - ARGOS/1 over a bare DEALER.
//
//  Invariant: a message at hand is complete; its body is let go when the next one is read.

#include "bench_wire.h"

#include "argos_pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HWM 100000

static void
s_frame (wire_t *self, const void *data, size_t size, int flags)
{
    if (zmq_send (self->socket, data, size, flags) < 0) {
        perror ("bench: send");
        exit (1);
    }
}

static void
s_front (wire_t *self, const char *header)
{
    s_frame (self, "AR1", 3, ZMQ_SNDMORE);
    s_frame (self, header, strlen (header), ZMQ_SNDMORE);
    s_frame (self, "", 0, ZMQ_SNDMORE);
}

//  The same as one frame, with a body and parts. False when it is too large for that.

static bool
s_packed (wire_t *self, const char *header, const void *body, size_t size, const char *const *parts)
{
    argos_piece_t pieces[ARGOS_PACK_PIECES] = { { header, strlen (header) }, { "", 0 },
        { body, size } };
    zmq_msg_t msg;
    size_t count = 3, bytes = pieces[0].size + size;
    for (; parts && *parts && count < ARGOS_PACK_PIECES; parts++, count++) {
        pieces[count] = (argos_piece_t){ *parts, strlen (*parts) };
        bytes += pieces[count].size;
    }
    size_t packed = self->packs ? argos_pack_size (count, bytes) : 0;
    if (packed == 0)
        return false;
    if (zmq_msg_init_size (&msg, packed) != 0)
        abort ();
    argos_pack_write (zmq_msg_data (&msg), pieces, count);
    if (zmq_msg_send (&msg, self->socket, 0) < 0) {
        perror ("bench: send");
        exit (1);
    }
    return true;
}

static void
s_count (wire_t *self, size_t bytes)
{
    self->sent++;
    self->bytes += (int64_t) bytes;
}

bool
wire_may (const wire_t *self, size_t bytes)
{
    return self->sent < self->granted && self->bytes + (int64_t) bytes <= self->bytes_ok;
}

void
wire_send (wire_t *self, const char *header, const void *body, size_t size)
{
    s_count (self, strlen (header) + size);
    if (s_packed (self, header, body, size, NULL))
        return;
    s_front (self, header);
    s_frame (self, body, size, 0);
}

void
wire_send_msg (wire_t *self, const char *header, zmq_msg_t *body)
{
    s_count (self, strlen (header) + zmq_msg_size (body));
    if (s_packed (self, header, zmq_msg_data (body), zmq_msg_size (body), NULL))
        return;
    s_front (self, header);
    if (zmq_msg_send (body, self->socket, 0) < 0) {
        perror ("bench: send");
        exit (1);
    }
}

void
wire_send_parts (wire_t *self, const char *header, const char *const *parts)
{
    size_t bytes = strlen (header);
    for (const char *const *part = parts; part && *part; part++)
        bytes += strlen (*part);
    s_count (self, bytes);
    if (s_packed (self, header, "", 0, parts))
        return;
    s_front (self, header);
    s_frame (self, "", 0, parts && *parts ? ZMQ_SNDMORE : 0);
    for (const char *const *part = parts; part && *part; part++)
        s_frame (self, *part, strlen (*part), part[1] ? ZMQ_SNDMORE : 0);
}

void
wire_word (wire_t *self, const char *header, const char *body)
{
    s_front (self, header);
    s_frame (self, body, strlen (body), 0);
}

//  One frame as text, cut to size.

static void
s_text_frame (wire_t *self, char *target, size_t size)
{
    zmq_msg_t frame;
    zmq_msg_init (&frame);
    target[0] = '\0';
    if (self->more && zmq_msg_recv (&frame, self->socket, 0) >= 0) {
        size_t length = zmq_msg_size (&frame) < size ? zmq_msg_size (&frame) : size - 1;
        memcpy (target, zmq_msg_data (&frame), length);
        target[length] = '\0';
        self->more = zmq_msg_more (&frame);
    }
    zmq_msg_close (&frame);
}

static void
s_text_piece (const argos_piece_t *piece, char *target, size_t size)
{
    size_t length = piece->size < size ? piece->size : size - 1;
    memcpy (target, piece->data, length);
    target[length] = '\0';
}

static void
s_unpack (wire_t *self, zmq_msg_t *frame)
{
    argos_piece_t pieces[3];
    if (argos_pack_read (zmq_msg_data (frame), zmq_msg_size (frame), pieces, 3) != 3) {
        fprintf (stderr, "bench: a single frame that is not a message\n");
        exit (1);
    }
    s_text_piece (&pieces[0], self->header, sizeof self->header);
    s_text_piece (&pieces[1], self->meta, sizeof self->meta);
    zmq_msg_close (&self->body);
    if (zmq_msg_init_size (&self->body, pieces[2].size) != 0)
        abort ();
    if (pieces[2].size)
        memcpy (zmq_msg_data (&self->body), pieces[2].data, pieces[2].size);
}

//  The message that begins with that frame, of four or more.

static void
s_read_frames (wire_t *self)
{
    char rest[8];
    s_text_frame (self, self->header, sizeof self->header);
    s_text_frame (self, self->meta, sizeof self->meta);
    if (self->more && zmq_msg_recv (&self->body, self->socket, 0) >= 0)
        self->more = zmq_msg_more (&self->body);
    while (self->more)
        s_text_frame (self, rest, sizeof rest);
}

static bool
s_read (wire_t *self, int flags)
{
    zmq_msg_t frame;
    zmq_msg_init (&frame);
    bool found = zmq_msg_recv (&frame, self->socket, flags) >= 0;
    self->more = found && zmq_msg_more (&frame);
    if (self->more)
        s_read_frames (self);
    else if (found)
        s_unpack (self, &frame);
    zmq_msg_close (&frame);
    if (found)
        wire_text (self->header, "type", self->type, sizeof self->type);
    return found;
}

//  The socket itself waits: a poll beside it would ask it four times more.

bool
wire_recv (wire_t *self, long timeout_ms)
{
    int wait_ms = (int) timeout_ms;
    if (wait_ms != 0 && wait_ms != self->wait_ms &&
        zmq_setsockopt (self->socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms) == 0)
        self->wait_ms = wait_ms;
    for (;;) {
        if (!s_read (self, wait_ms ? 0 : ZMQ_DONTWAIT))
            return false;
        if (strcmp (self->type, "credit") != 0)
            return true;
        self->granted = wire_number (wire_body (self), "messages");
        self->bytes_ok = wire_number (wire_body (self), "bytes");
    }
}

bool
wire_expect (wire_t *self, const char *type)
{
    while (wire_recv (self, WIRE_WAIT_MS)) {
        if (strcmp (self->type, type) == 0)
            return true;
        if (strcmp (self->type, "refused") == 0) {
            fprintf (stderr, "bench: refused: %s %s\n", self->header, wire_body (self));
            return false;
        }
    }
    fprintf (stderr, "bench: no %s came\n", type);
    return false;
}

bool
wire_store (wire_t *self, int64_t *ret_commits, int64_t *ret_requests)
{
    wire_send (self, "{\"type\":\"status.get\",\"id\":\"status\",\"to\":\"store\"}", "{}", 2);
    if (!wire_expect (self, "store.result"))
        return false;
    *ret_commits = wire_number (wire_body (self), "commits");
    *ret_requests = wire_number (wire_body (self), "requests");
    return true;
}

void
wire_text (const char *json, const char *name, char *target, size_t size)
{
    size_t name_size = strlen (name), length;
    const char *found = json;
    target[0] = '\0';
    while ((found = strstr (found, name)) &&
           (found == json || found[-1] != '"' || strncmp (found + name_size, "\":\"", 3) != 0))
        found += name_size;
    if (!found)
        return;
    found += name_size + 3;
    length = strcspn (found, "\"");
    if (length >= size)
        length = size - 1;
    memcpy (target, found, length);
    target[length] = '\0';
}

int64_t
wire_number (const char *json, const char *name)
{
    char pattern[72];
    snprintf (pattern, sizeof pattern, "\"%s\":", name);
    const char *found = strstr (json, pattern);
    return found ? strtoll (found + strlen (pattern), NULL, 10) : 0;
}

const char *
wire_body (wire_t *self)
{
    static _Thread_local char text[65537];
    size_t size = zmq_msg_size (&self->body);
    if (size >= sizeof text)
        size = sizeof text - 1;
    memcpy (text, zmq_msg_data (&self->body), size);
    text[size] = '\0';
    return text;
}

static void
s_curve (void *socket, const argos_key_t *key)
{
    zmq_setsockopt (socket, ZMQ_CURVE_SERVERKEY, key->server_key, sizeof key->server_key);
    zmq_setsockopt (socket, ZMQ_CURVE_PUBLICKEY, key->public_key, sizeof key->public_key);
    zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, key->secret_key, sizeof key->secret_key);
}

int
wire_hello (
    wire_t *self, void *context, const char *endpoint, const char *name, const argos_key_t *key)
{
    const int hwm = HWM, zero = 0;
    char body[256];
    struct timespec now;
    memset (self, 0, sizeof *self);
    zmq_msg_init (&self->body);
    self->wait_ms = -1; //  As a new socket does
    self->socket = zmq_socket (context, ZMQ_DEALER);
    if (!self->socket)
        return -1;
    zmq_setsockopt (self->socket, ZMQ_SNDHWM, &hwm, sizeof hwm);
    zmq_setsockopt (self->socket, ZMQ_RCVHWM, &hwm, sizeof hwm);
    zmq_setsockopt (self->socket, ZMQ_LINGER, &zero, sizeof zero);
    if (key)
        s_curve (self->socket, key);
    if (zmq_connect (self->socket, endpoint) != 0)
        return -1;
    clock_gettime (CLOCK_REALTIME, &now);
    snprintf (body, sizeof body,
        "{\"name\":\"%s\",\"instance\":%lld,\"protocol\":2,\"protocols\":[1,2],\"leases\":[]}",
        name, (long long) now.tv_sec * 1000 + now.tv_nsec / 1000000);
    wire_word (self, "{\"type\":\"hello\",\"id\":\"hello\"}", body);
    return 0;
}

int
wire_welcome (wire_t *self)
{
    if (!wire_expect (self, "welcome"))
        return -1;
    self->granted = wire_number (wire_body (self), "messages");
    self->bytes_ok = wire_number (wire_body (self), "bytes");
    self->packs = wire_number (wire_body (self), "protocol") >= ARGOS_PACK_PROTOCOL;
    return 0;
}

int
wire_open (
    wire_t *self, void *context, const char *endpoint, const char *name, const argos_key_t *key)
{
    return wire_hello (self, context, endpoint, name, key) == 0 ? wire_welcome (self) : -1;
}

void
wire_close (wire_t *self)
{
    if (self->socket) {
        const int linger = 1000;
        zmq_setsockopt (self->socket, ZMQ_LINGER, &linger, sizeof linger);
        wire_word (self, "{\"type\":\"bye\"}", "");
        zmq_close (self->socket);
        zmq_msg_close (&self->body);
    }
    self->socket = NULL;
}
