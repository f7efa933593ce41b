//  argosd_check_core - the fake core of `argos adapter-check`: its socket and its words.
//
//  Invariant: whatever the program sends is checked like the real broker does (frames, header, an
//  empty meta, the window) before a case sees it. Limits: one program with one connection; four
//  leases.

#include "argos_schema.h"
#include "argosd_check.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define FRAMES_MAX (5 + 2 * CHECK_PARTS)

//  A message as it came: routing id, AR1, header, meta, body, pairs

typedef struct {
    zmq_msg_t frames[FRAMES_MAX]; //  As received
    size_t count;                 //  How many
} raw_t;

int
argos_check_fail (check_t *self, const char *format, ...)
{
    va_list list;
    va_start (list, format);
    //  The analyzer takes a va_list of va_start for an uninitialised one
    vsnprintf (self->reason, sizeof self->reason, format, list); // NOLINT(clang-analyzer-valist.*)
    va_end (list);
    return -1;
}

int64_t
argos_check_now (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

//  ------------------------------------------------------------------------------------------------
//  The socket

static int
s_bind (check_t *self)
{
    int none = 0;
    int64_t limit = ARGOS_COMMIT_MAX;
    self->socket = zmq_socket (self->context, ZMQ_ROUTER);
    if (!self->socket)
        return argos_check_fail (self, "no socket: %s", zmq_strerror (errno));
    zmq_setsockopt (self->socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt (self->socket, ZMQ_MAXMSGSIZE, &limit, sizeof limit);
    if (zmq_bind (self->socket, self->endpoint) == 0)
        return 0;
    return argos_check_fail (self, "can't listen on %s: %s", self->endpoint, zmq_strerror (errno));
}

static void
s_unbind (check_t *self)
{
    if (self->socket)
        zmq_close (self->socket);
    self->socket = NULL;
    self->peer_size = 0;
}

int
argos_check_cut (check_t *self)
{
    int64_t deadline = argos_check_now () + CHECK_WAIT_MS;
    s_unbind (self);
    //  The address is free only when the closed socket is gone, some time later
    while (s_bind (self) != 0) {
        if (argos_check_now () >= deadline)
            return -1;
        s_unbind (self);
        poll (NULL, 0, 5);
    }
    return 0;
}

void
argos_check_put (check_t *self, const void *peer, size_t peer_size, const char *header,
    const char *meta, const char *body)
{
    zmq_send (self->socket, peer, peer_size, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send (self->socket, "AR1", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send (self->socket, header, strlen (header), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send (self->socket, meta, strlen (meta), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send (self->socket, body, strlen (body), ZMQ_DONTWAIT);
}

void
argos_check_word (check_t *self, const char *type, const char *re, const char *body)
{
    char header[ARGOS_HEADER_MAX];
    if (re)
        snprintf (header, sizeof header, "{\"type\":\"%s\",\"re\":\"%s\"}", type, re);
    else
        snprintf (header, sizeof header, "{\"type\":\"%s\"}", type);
    if (self->peer_size > 0)
        argos_check_put (self, self->peer, self->peer_size, header, "", body);
}

//  ------------------------------------------------------------------------------------------------
//  Begin and end

int
argos_check_open (check_t *self)
{
    self->pid_fd = self->input_fd = -1;
    self->window = 256;
    self->ping_ms = 500;
    self->context = zmq_ctx_new ();
    if (self->command) {
        snprintf (self->folder, sizeof self->folder, "/tmp/argos-check-XXXXXX");
        if (!mkdtemp (self->folder))
            return argos_check_fail (self, "no folder: %s", strerror (errno));
        snprintf (self->endpoint, sizeof self->endpoint, "ipc://%s/broker.sock", self->folder);
    }
    return s_bind (self) == 0 ? argos_check_start (self) : -1;
}

void
argos_check_close (check_t *self)
{
    argos_check_kill (self);
    s_unbind (self);
    if (self->context)
        zmq_ctx_term (self->context);
    self->context = NULL;
    if (self->folder[0]) {
        unlink (self->endpoint + strlen ("ipc://"));
        rmdir (self->folder);
        self->folder[0] = '\0';
    }
    json_decref (self->hello);
    json_decref (self->serve);
    self->hello = self->serve = NULL;
}

//  ------------------------------------------------------------------------------------------------
//  What comes

static void
s_clear (raw_t *raw)
{
    for (size_t i = 0; i < raw->count && i < FRAMES_MAX; i++)
        zmq_msg_close (&raw->frames[i]);
    raw->count = 0;
}

static bool
s_receive (check_t *self, raw_t *raw)
{
    int more = 1;
    raw->count = 0;
    while (more) {
        zmq_msg_t frame;
        zmq_msg_init (&frame);
        if (zmq_msg_recv (&frame, self->socket, ZMQ_DONTWAIT) < 0)
            return false; //  Nothing there: a message comes as a whole
        more = zmq_msg_more (&frame);
        if (raw->count < FRAMES_MAX) {
            zmq_msg_init (&raw->frames[raw->count]);
            zmq_msg_move (&raw->frames[raw->count++], &frame);
        }
        zmq_msg_close (&frame);
    }
    return true;
}

static json_t *
s_json (zmq_msg_t *frame)
{
    if (zmq_msg_size (frame) == 0)
        return json_object ();
    json_t *value =
        json_loadb (zmq_msg_data (frame), zmq_msg_size (frame), JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object (value))
        return value;
    json_decref (value);
    return NULL;
}

void
argos_check_msg_clear (check_msg_t *msg)
{
    json_decref (msg->body);
    json_decref (msg->parts);
    msg->body = msg->parts = NULL;
}

static int
s_read_parts (check_t *self, raw_t *raw, check_msg_t *msg)
{
    argos_header_t header;
    const char *why = "";
    msg->parts = json_array ();
    for (size_t i = 5; i + 1 < raw->count; i += 2) {
        zmq_msg_t *frame = &raw->frames[i];
        if (argos_header_read (zmq_msg_data (frame), zmq_msg_size (frame), &header, &why) !=
            ARGOS_OK)
            return argos_check_fail (self, "header of a part: %s", why);
        json_t *body = s_json (&raw->frames[i + 1]);
        if (!body)
            return argos_check_fail (
                self, "the body of a part (%s) is no JSON object", header.type);
        json_array_append_new (msg->parts, json_pack ("{s:s,s:b,s:o}", "type", header.type, "store",
                                               header.to == ARGOS_TO_STORE, "body", body));
    }
    return 0;
}

//  Checks the form of what came, as the broker does.

static int
s_read (check_t *self, raw_t *raw, check_msg_t *msg)
{
    const char *why = "";
    if (raw->count < 5 || zmq_msg_size (&raw->frames[1]) != 3 ||
        memcmp (zmq_msg_data (&raw->frames[1]), "AR1", 3) != 0)
        return argos_check_fail (self,
            "a message of %zu frames that is not AR1, header, meta, body",
            raw->count > 0 ? raw->count - 1 : 0);
    if (zmq_msg_size (&raw->frames[0]) > 0 &&
        *(const unsigned char *) zmq_msg_data (&raw->frames[0]) != 0)
        return argos_check_fail (self, "the socket has a routing id of its own");
    zmq_msg_t *header = &raw->frames[2];
    if (argos_header_read (zmq_msg_data (header), zmq_msg_size (header), &msg->header, &why) !=
        ARGOS_OK)
        return argos_check_fail (self, "header: %s", why);
    if (zmq_msg_size (&raw->frames[3]) > 0)
        return argos_check_fail (self, "%s: meta is the broker's alone", msg->header.type);
    msg->body = s_json (&raw->frames[4]);
    if (!msg->body)
        return argos_check_fail (self, "%s: the body is no JSON object", msg->header.type);
    bool commits =
        strcmp (msg->header.type, "commit") == 0 || strcmp (msg->header.type, "done") == 0;
    if (!commits && raw->count != 5)
        return argos_check_fail (self, "%s has frames behind its body", msg->header.type);
    return commits ? s_read_parts (self, raw, msg) : 0;
}

//  ------------------------------------------------------------------------------------------------
//  What a core says to it

static check_lease_t *
s_find (check_t *self, int64_t seq)
{
    for (size_t i = 0; i < 4; i++)
        if (self->held[i].seq == seq && seq > 0)
            return &self->held[i];
    return NULL;
}

static json_t *
s_verdicts (check_t *self, const json_t *leases)
{
    json_t *list = json_array (), *item;
    size_t i;
    json_array_foreach (leases, i, item) {
        json_int_t seq = json_integer_value (json_object_get (item, "seq"));
        json_int_t number = json_integer_value (json_object_get (item, "lease"));
        const check_lease_t *lease = s_find (self, seq);
        json_array_append_new (
            list, json_pack ("{s:I,s:I,s:s}", "seq", seq, "lease", number, "state",
                      lease && lease->lease == number ? "valid" : "lost"));
    }
    return list;
}

static int
s_on_hello (check_t *self, raw_t *raw, check_msg_t *msg)
{
    char reason[256] = "";
    if (argos_schema_check ("hello", msg->body, reason, sizeof reason) != ARGOS_OK)
        return argos_check_fail (self, "hello: %s", reason);
    const char *name = json_string_value (json_object_get (msg->body, "name"));
    if (!argos_name_valid (name) || !msg->header.id[0])
        return argos_check_fail (self, "hello needs a valid name and an id");
    self->peer_size = zmq_msg_size (&raw->frames[0]);
    if (self->peer_size > sizeof self->peer)
        return argos_check_fail (self, "the routing id is too long");
    memcpy (self->peer, zmq_msg_data (&raw->frames[0]), self->peer_size);
    snprintf (self->name, sizeof self->name, "%s", name);
    self->instance = json_integer_value (json_object_get (msg->body, "instance"));
    json_decref (self->hello);
    self->hello = json_incref (msg->body);
    self->hellos++;
    self->settled = 0;
    json_decref (self->serve);
    self->serve = NULL;
    json_t *welcome = json_pack ("{s:s,s:i,s:i,s:I,s:{s:I,s:i},s:o}", "store", "check", "boot", 1,
        "lease_ms", 15000, "ping_ms", (json_int_t) self->ping_ms, "window", "messages",
        (json_int_t) self->window, "bytes", 4 << 20, "leases",
        s_verdicts (self, json_object_get (msg->body, "leases")));
    char *text = json_dumps (welcome, JSON_COMPACT);
    argos_check_word (self, "welcome", msg->header.id, text);
    free (text);
    json_decref (welcome);
    return 0;
}

static int
s_on_serve (check_t *self, const check_msg_t *msg)
{
    char reason[256] = "";
    if (argos_schema_check ("serve", msg->body, reason, sizeof reason) != ARGOS_OK)
        return argos_check_fail (self, "serve: %s", reason);
    const char *service = json_string_value (json_object_get (msg->body, "service"));
    if (!self->service[0])
        snprintf (self->service, sizeof self->service, "%s", service);
    if (strcmp (service, self->service) == 0) {
        json_decref (self->serve);
        self->serve = json_incref (msg->body);
    }
    argos_check_word (self, "accepted", msg->header.id, "{}");
    return 0;
}

//  What is no commit under a lease has been dealt with: the window moves on.

void
argos_check_settle (check_t *self)
{
    char body[96];
    int64_t granted = self->window + ++self->settled;
    snprintf (body, sizeof body, "{\"messages\":%lld,\"bytes\":%d}", (long long) granted, 4 << 20);
    argos_check_word (self, "credit", NULL, body);
}

//  A commit or done: of what was leased, under the right numbers. Returns 1: the case sees it.

static int
s_on_commit (check_t *self, const check_msg_t *msg)
{
    const argos_header_t *header = &msg->header;
    char body[64];
    self->commits++;
    check_lease_t *lease = s_find (self, header->seq);
    if (header->seq == 0 && strcmp (header->type, "commit") == 0) {
        argos_check_word (self, "accepted", header->id, "{\"seq\":1}");
        argos_check_settle (self);
        return 0;
    }
    if (!header->id[0])
        return argos_check_fail (self, "%s without an id", header->type);
    if (!lease)
        return argos_check_fail (self, "%s for seq %lld, which is not leased to it", header->type,
            (long long) header->seq);
    if (lease->lease != header->lease)
        return argos_check_fail (self, "%s under lease %lld; the lease of seq %lld is %lld",
            header->type, (long long) header->lease, (long long) header->seq,
            (long long) lease->lease);
    if (lease->n != header->n)
        return argos_check_fail (self, "%s with n %lld; %lld is next", header->type,
            (long long) header->n, (long long) lease->n);
    if (self->quiet)
        return 1;
    snprintf (body, sizeof body, "{\"n\":%lld}", (long long) lease->n++);
    argos_check_word (self, "accepted", header->id, body);
    return 1;
}

//  The words that a core answers by itself. Returns as argos_check_next.

static int
s_on_word (check_t *self, const check_msg_t *msg)
{
    const argos_header_t *header = &msg->header;
    if (strcmp (header->type, "serve") == 0)
        return s_on_serve (self, msg);
    if (strcmp (header->type, "ping") == 0) {
        self->pings++;
        argos_check_word (self, "pong", header->id, "");
        return 0;
    }
    if (strcmp (header->type, "subscribe") == 0) {
        argos_check_word (self, "end", header->id, "{\"n\":-1,\"closed\":false}");
        return 0;
    }
    if (strcmp (header->type, "commit") == 0 || strcmp (header->type, "done") == 0)
        return s_on_commit (self, msg);
    if (strcmp (header->type, "release") == 0) {
        argos_check_word (self, "accepted", header->id, "{}");
        return 1;
    }
    if (strcmp (header->type, "bye") == 0)
        return 1;
    if (header->to != ARGOS_TO_NONE)
        argos_check_settle (self);
    if (header->durable)
        argos_check_word (self, "accepted", header->id, "{\"seq\":1}");
    else if (header->id[0] && !header->re[0] && header->to != ARGOS_TO_NONE)
        argos_check_word (self, "refused", header->id, "{\"code\":\"no_peer\",\"sent\":false}");
    return 0;
}

static bool
s_is_known (const check_t *self, zmq_msg_t *frame)
{
    return self->peer_size > 0 && zmq_msg_size (frame) == self->peer_size &&
           memcmp (zmq_msg_data (frame), self->peer, self->peer_size) == 0;
}

static int
s_dispatch (check_t *self, raw_t *raw, check_msg_t *msg)
{
    if (s_read (self, raw, msg) != 0)
        return -1;
    if (strcmp (msg->header.type, "hello") == 0)
        return s_on_hello (self, raw, msg);
    if (s_is_known (self, &raw->frames[0]))
        return s_on_word (self, msg);
    if (self->hellos == 0)
        return argos_check_fail (self, "%s before hello", msg->header.type);
    char header[ARGOS_ID_MAX + 64];
    snprintf (header, sizeof header, "{\"type\":\"refused\",\"re\":\"%s\"}", msg->header.id);
    argos_check_put (self, zmq_msg_data (&raw->frames[0]), zmq_msg_size (&raw->frames[0]), header,
        "", "{\"code\":\"no_session\",\"sent\":false}");
    return 0;
}

int
argos_check_next (check_t *self, check_msg_t *msg, int64_t deadline)
{
    raw_t raw = { .count = 0 };
    memset (msg, 0, sizeof *msg);
    for (;;) {
        while (s_receive (self, &raw)) {
            int rc = s_dispatch (self, &raw, msg);
            s_clear (&raw);
            if (rc > 0)
                return rc;
            argos_check_msg_clear (msg);
            if (rc < 0)
                return rc;
        }
        zmq_pollitem_t items[] = { { .socket = self->socket, .events = ZMQ_POLLIN },
            { .fd = self->pid_fd, .events = ZMQ_POLLIN } };
        int64_t left_ms = deadline - argos_check_now ();
        if (left_ms <= 0)
            return 0;
        zmq_poll (items, self->pid_fd >= 0 ? 2 : 1, (long) left_ms);
        if (self->pid_fd >= 0 && items[1].revents && !items[0].revents)
            return argos_check_ended (self);
    }
}

int
argos_check_up (check_t *self)
{
    int64_t deadline = argos_check_now () + (self->command ? CHECK_WAIT_MS : 6 * CHECK_WAIT_MS);
    while (!self->serve) {
        check_msg_t msg;
        int rc = argos_check_next (
            self, &msg, deadline < argos_check_now () + 20 ? deadline : argos_check_now () + 20);
        argos_check_msg_clear (&msg);
        if (rc < 0)
            return rc;
        if (rc == 0 && argos_check_now () >= deadline)
            return self->hellos == 0
                       ? argos_check_fail (self, "no hello came")
                       : argos_check_fail (self, "it said hello and does not serve %s",
                             self->service[0] ? self->service : "anything");
    }
    return 0;
}
