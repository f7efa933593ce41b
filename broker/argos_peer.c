//  argos_peer - the life of a connection: connect, hello, ping, silence, again.
//
//  Invariant: one socket at a time; it is replaced, never reconnected by hand, so that nothing of
//  an old session can reach a new one. The state says what may be written: nothing but hello before
//  READY. Limits: a broker that is silent for SILENCE_MS is given up; pauses between attempts
//  double up to BACKOFF_MAX_MS.

#include "argos_peer_priv.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#define SILENCE_MS 6000         //  Without a word from the broker, where there are pings
#define PROTOCOL_OLDEST 1       //  Versions of the protocol that we speak
#define PROTOCOL_NEWEST 2       //  .
#define HELLO_MS 6000           //  Patience with a hello
#define BACKOFF_MIN_MS 500      //  First pause
#define BACKOFF_MAX_MS 30000    //  Longest pause
#define BACKOFF_LEASE_MS 2000   //  The same while leases are in hand: they end soon
#define CONGESTED_MS 10         //  The socket takes nothing: look again
#define RECONNECT_MAX_MS 1000   //  ØMQ's own attempts under one of ours
#define LINGER_BYE_MS 500       //  For the last words of a peer that says bye
#define HEARTBEAT_MS 10000      //  ZMTP pings over tcp, for a connection that is half open
#define HEARTBEAT_LATE_MS 30000 //  It is given up
#define HWM 20000               //  Messages in the socket; the window keeps it far below

int64_t
argos_peer_now (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *
argos_peer_bare (const char *address, const char *prefix)
{
    size_t size = strlen (prefix);
    return strncmp (address, prefix, size) == 0 ? address + size : address;
}

//  ------------------------------------------------------------------------------------------------
//  The socket

static bool
s_is_tcp (const argos_peer_t *self)
{
    return strncmp (self->endpoint, "tcp://", 6) == 0;
}

//  CURVE, and pings of ZMTP. The keys have been looked at: a bad one would abort.

static void
s_set_tcp (const argos_peer_t *self, void *socket)
{
    int interval = HEARTBEAT_MS, late = HEARTBEAT_LATE_MS;
    const argos_key_t *key = &self->key;
    zmq_setsockopt (socket, ZMQ_HEARTBEAT_IVL, &interval, sizeof interval);
    zmq_setsockopt (socket, ZMQ_HEARTBEAT_TIMEOUT, &late, sizeof late);
    zmq_setsockopt (socket, ZMQ_HEARTBEAT_TTL, &late, sizeof late);
    if (!*key->server_key)
        return;
    zmq_setsockopt (socket, ZMQ_CURVE_SERVERKEY, key->server_key, sizeof key->server_key);
    zmq_setsockopt (socket, ZMQ_CURVE_PUBLICKEY, key->public_key, sizeof key->public_key);
    zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, key->secret_key, sizeof key->secret_key);
}

static void *
s_socket_new (const argos_peer_t *self)
{
    void *socket = zmq_socket (argos_peer_context (), ZMQ_DEALER);
    if (!socket)
        return NULL;
    int none = 0, hwm = HWM, reconnect = RECONNECT_MAX_MS;
    int64_t limit = ARGOS_COMMIT_MAX;
    zmq_setsockopt (socket, ZMQ_SNDTIMEO, &none, sizeof none);
    zmq_setsockopt (socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt (socket, ZMQ_SNDHWM, &hwm, sizeof hwm);
    zmq_setsockopt (socket, ZMQ_RCVHWM, &hwm, sizeof hwm);
    zmq_setsockopt (socket, ZMQ_MAXMSGSIZE, &limit, sizeof limit);
    zmq_setsockopt (socket, ZMQ_RECONNECT_IVL_MAX, &reconnect, sizeof reconnect);
    if (s_is_tcp (self))
        s_set_tcp (self, socket);
    return socket;
}

//  A fresh socket in place of the old one, not yet connected. Out of descriptors: the old one
//  stays, and we try again.

static int
s_replace_socket (argos_peer_t *self)
{
    void *socket = s_socket_new (self);
    if (!socket)
        return -1;
    zmq_close (self->socket);
    self->socket = socket;
    self->broken = false;
    if (self->socket_changed)
        self->socket_changed (self->handlers.ctx);
    return 0;
}

//  Says hello on the present socket, with the leases in hand.

void
argos_peer_hello (argos_peer_t *self)
{
    peer_head_t head = { .type = "hello", .id = self->hello_id, .seen = -1 };
    argos_peer_make_id (self, self->hello_id);
    self->state = PEER_HELLO;
    self->packs = false;
    self->hello_at = argos_peer_now ();
    json_t *body = json_pack ("{s:s,s:I,s:i,s:[i,i],s:s,s:o}", "name", self->name, "instance",
        (json_int_t) self->instance, "protocol", PROTOCOL_NEWEST, "protocols", PROTOCOL_OLDEST,
        PROTOCOL_NEWEST, "build", ARGOS_BUILD, "leases", argos_peer_lease_list (self));
    if (*self->key.token && strncmp (self->endpoint, "ipc://", 6) == 0)
        json_object_set_new (body, "token", json_string (self->key.token));
    argos_peer_word (self, &head, body);
}

static void
s_connect (argos_peer_t *self)
{
    argos_peer_door_watch (self);
    if (zmq_connect (self->socket, self->endpoint) != 0)
        argos_peer_lost (self);
    else
        argos_peer_hello (self);
}

//  The connection is given up; the next attempt follows after a pause with 20 % of jitter.

void
argos_peer_lost (argos_peer_t *self)
{
    int64_t limit_ms = self->leases ? BACKOFF_LEASE_MS : BACKOFF_MAX_MS;
    int64_t pause_ms = self->backoff_ms ? self->backoff_ms : BACKOFF_MIN_MS;
    if (pause_ms > limit_ms)
        pause_ms = limit_ms;
    self->backoff_ms = pause_ms * 2;
    int64_t jitter_ms =
        (int64_t) randombytes_uniform ((uint32_t) (pause_ms * 2 / 5 + 1)) - pause_ms / 5;
    self->retry_at = argos_peer_now () + pause_ms + jitter_ms;
    self->state = PEER_WAIT;
    if (s_replace_socket (self) != 0)
        self->broken = true; //  Tried again with the next turn
}

//  ------------------------------------------------------------------------------------------------
//  What is repeated with each welcome

static void
s_send_subscribe (argos_peer_t *self, peer_sub_t *sub)
{
    char to[ARGOS_TO_MAX + 1];
    snprintf (to, sizeof to, "topic:%s", sub->topic);
    HASH_DELETE (hh_id, self->sub_ids, sub);
    argos_peer_make_id (self, sub->id);
    HASH_ADD (hh_id, self->sub_ids, id, strlen (sub->id), sub);
    peer_head_t head = { .type = "subscribe", .id = sub->id, .to = to, .seen = -1 };
    int64_t from = sub->last >= sub->from ? sub->last + 1 : sub->from;
    argos_peer_word (self, &head, json_pack ("{s:I}", "from", (json_int_t) from));
}

static void
s_send_unsubscribe (argos_peer_t *self, const peer_sub_t *sub)
{
    char to[ARGOS_TO_MAX + 1];
    snprintf (to, sizeof to, "topic:%s", sub->topic);
    peer_head_t head = { .type = "unsubscribe", .to = to, .seen = -1 };
    argos_peer_word (self, &head, NULL);
}

void
argos_peer_announce (argos_peer_t *self)
{
    peer_head_t head = { .type = "credit", .seen = -1 };
    self->granted_messages = ARGOS_PEER_CREDIT_MESSAGES;
    self->granted_bytes = ARGOS_PEER_CREDIT_BYTES;
    argos_peer_word (self, &head,
        json_pack ("{s:I,s:I}", "messages", (json_int_t) self->granted_messages, "bytes",
            (json_int_t) self->granted_bytes));
    peer_service_t *service;
    LL_FOREACH (self->services, service)
        argos_peer_send_serve (self, service);
    peer_sub_t *sub, *next;
    HASH_ITER (hh, self->subs, sub, next)
        if (!sub->closed)
            s_send_subscribe (self, sub);
}

void
argos_peer_subscribe (argos_peer_t *self, const char *topic, int64_t from)
{
    const char *name = argos_peer_bare (topic, "topic:");
    peer_sub_t *sub = NULL;
    HASH_FIND (hh, self->subs, name, strlen (name), sub);
    if (!sub) {
        sub = calloc (1, sizeof *sub);
        if (!sub || !(sub->topic = strdup (name)))
            abort ();
        argos_peer_make_id (self, sub->id);
        HASH_ADD_KEYPTR (hh, self->subs, sub->topic, strlen (sub->topic), sub);
        HASH_ADD (hh_id, self->sub_ids, id, strlen (sub->id), sub);
    }
    else if (self->state == PEER_READY)
        s_send_unsubscribe (self, sub); //  Read anew, from another number
    sub->from = from > 0 ? from : 0;
    sub->last = -1;
    sub->closed = false;
    if (self->state == PEER_READY)
        s_send_subscribe (self, sub);
}

static void
s_sub_free (argos_peer_t *self, peer_sub_t *sub)
{
    //  The analyzer does not see that the last of a table leaves no table behind
    HASH_DELETE (hh, self->subs, sub);       // NOLINT(clang-analyzer-*)
    HASH_DELETE (hh_id, self->sub_ids, sub); // NOLINT(clang-analyzer-*)
    free (sub->topic);
    free (sub);
}

void
argos_peer_unsubscribe (argos_peer_t *self, const char *topic)
{
    const char *name = argos_peer_bare (topic, "topic:");
    peer_sub_t *sub = NULL;
    HASH_FIND (hh, self->subs, name, strlen (name), sub);
    if (!sub)
        return;
    if (self->state == PEER_READY)
        s_send_unsubscribe (self, sub);
    s_sub_free (self, sub);
}

//  ------------------------------------------------------------------------------------------------
//  Life

static int64_t
s_wall_ms (void)
{
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
s_make_prefix (argos_peer_t *self)
{
    unsigned char noise[16];
    randombytes_buf (noise, sizeof noise);
    sodium_bin2hex (self->prefix, sizeof self->prefix, noise, sizeof noise);
    strncat (self->prefix, ".", 2);
}

//  Takes a copy of the key. False when it can't be used for that endpoint.

static bool
s_take_key (argos_peer_t *self, const argos_key_t *key)
{
    if (!key)
        return true;
    self->key = *key;
    return !s_is_tcp (self) ||
           (argos_key_valid (key->server_key) && argos_key_valid (key->public_key) &&
               argos_key_valid (key->secret_key));
}

argos_peer_t *
argos_peer_new (const argos_peer_config_t *config)
{
    if (!config->name || !argos_name_valid (config->name) || !config->endpoint ||
        sodium_init () < 0)
        return NULL;
    argos_peer_t *self = calloc (1, sizeof *self);
    if (!self)
        return NULL;
    self->state = PEER_WAIT;
    self->name = strdup (config->name);
    self->endpoint = strdup (config->endpoint);
    self->instance = config->instance ? config->instance : s_wall_ms ();
    self->next_deadline = INT64_MAX;
    s_make_prefix (self);
    bool good = self->name && self->endpoint && s_take_key (self, config->key);
    self->socket = good ? s_socket_new (self) : NULL;
    if (self->socket)
        argos_peer_door_watch (self);
    if (!self->socket || zmq_connect (self->socket, self->endpoint) != 0)
        argos_peer_destroy (&self);
    else {
        self->handlers = config->handlers;
        argos_peer_hello (self);
    }
    return self;
}

//  Every send that waits for an answer gets this one

static void
s_fail_all (argos_peer_t *self, argos_err_t code, const char *reason)
{
    self->state = PEER_FINAL; //  Nothing new enters the queue
    while (self->outs) {
        peer_out_t *out = self->outs;
        if (out->kind == OUT_FIRE) {
            argos_peer_unlink (self, out);
            free (out);
        }
        else
            argos_peer_fail (self, out, code, reason, out->sent);
    }
}

void
argos_peer_destroy (argos_peer_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_peer_t *self = *self_p;
    *self_p = NULL;
    if (self->socket) {
        int linger = 0;
        if (self->state == PEER_READY) {
            peer_head_t head = { .type = "bye", .seen = -1 };
            argos_peer_flush (self);
            argos_peer_word (self, &head, NULL);
            linger = LINGER_BYE_MS;
        }
        zmq_setsockopt (self->socket, ZMQ_LINGER, &linger, sizeof linger);
    }
    argos_lease_t *lease, *next_lease;
    HASH_ITER (hh, self->leases, lease, next_lease) {
        if (lease->commit)
            lease->commit->lease = NULL;
        HASH_DEL (self->leases, lease);
        argos_peer_lease_free (&lease);
    }
    s_fail_all (self, ARGOS_GONE, NULL);
    peer_sub_t *sub, *next_sub;
    HASH_ITER (hh, self->subs, sub, next_sub)
        s_sub_free (self, sub);
    peer_service_t *service, *next_service;
    LL_FOREACH_SAFE (self->services, service, next_service) {
        json_decref (service->types);
        json_decref (service->capabilities);
        free (service->name);
        free (service);
    }
    argos_peer_door_close (self);
    if (self->socket)
        zmq_close (self->socket);
    argos_key_wipe (&self->key);
    free (self->name);
    free (self->endpoint);
    free (self);
}

//  This instance is over: all is answered, the leases are gone, the broker is not spoken to again.

void
argos_peer_final (argos_peer_t *self, argos_err_t code, const char *reason)
{
    if (self->state == PEER_FINAL)
        return;
    self->state = PEER_FINAL;
    while (self->leases)
        argos_peer_lease_lose (self->leases, code);
    s_fail_all (self, code, reason);
    if (s_replace_socket (self) != 0)
        zmq_disconnect (self->socket, self->endpoint);
    if (self->handlers.on_final)
        self->handlers.on_final (self->handlers.ctx, code, reason);
}

void *
argos_peer_socket (argos_peer_t *self)
{
    return self->socket;
}

void
argos_peer_on_socket (argos_peer_t *self, void (*socket_changed) (void *ctx))
{
    self->socket_changed = socket_changed;
}

//  The socket has not been heard from for so long that it is given up, or it has taken nothing

static bool
s_is_lost (const argos_peer_t *self, int64_t now)
{
    if (self->broken)
        return true;
    if (self->state == PEER_HELLO)
        return now - self->hello_at >= HELLO_MS;
    int64_t silence_ms = self->ping_ms * 3 > SILENCE_MS ? self->ping_ms * 3 : SILENCE_MS;
    return self->state == PEER_READY && self->ping_ms > 0 && now - self->heard_at >= silence_ms;
}

static void
s_ping (argos_peer_t *self, int64_t now)
{
    char id[24];
    snprintf (id, sizeof id, "%lld", (long long) now);
    peer_head_t head = { .type = "ping", .id = id, .seen = -1 };
    self->ping_at = now;
    argos_peer_word (self, &head, NULL);
}

//  Does what the clock asks for

static void
s_keep_time (argos_peer_t *self, int64_t now)
{
    argos_peer_expire (self, now);
    if (self->state == PEER_FINAL)
        return;
    if (s_is_lost (self, now)) {
        if (self->state == PEER_HELLO)
            argos_peer_door_ask (self);
        argos_peer_lost (self);
    }
    else if (self->state == PEER_WAIT && now >= self->retry_at)
        s_connect (self);
    else if (self->state == PEER_READY && self->ping_ms > 0 && now - self->ping_at >= self->ping_ms)
        s_ping (self, now);
}

static int64_t
s_due (const argos_peer_t *self, int64_t now)
{
    int64_t due = self->next_deadline;
    int64_t other = INT64_MAX;
    if (self->state == PEER_WAIT)
        other = self->retry_at;
    else if (self->state == PEER_HELLO)
        other = self->hello_at + HELLO_MS;
    else if (self->state == PEER_READY && self->ping_ms > 0)
        other = self->ping_at + self->ping_ms; //  Silence is looked at with each ping
    if (other < due)
        due = other;
    if (self->broken || (self->congested && due > now + CONGESTED_MS))
        due = now + CONGESTED_MS;
    if (due == INT64_MAX)
        return -1;
    return due > now ? due - now : 0;
}

int64_t
argos_peer_turn (argos_peer_t *self)
{
    bool more = argos_peer_receive (self);
    s_keep_time (self, argos_peer_now ());
    argos_peer_flush (self);
    return more ? 0 : s_due (self, argos_peer_now ());
}

bool
argos_peer_ready (const argos_peer_t *self)
{
    return self->state == PEER_READY && !self->broken;
}

bool
argos_peer_live (const argos_peer_t *self)
{
    return argos_peer_ready (self) &&
           (self->ping_ms == 0 || argos_peer_now () - self->answered_at < self->lease_ms);
}

const char *
argos_peer_store_id (const argos_peer_t *self)
{
    return self->store_id;
}
