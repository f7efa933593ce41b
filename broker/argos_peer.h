//  argos_peer - the DEALER side: what every actor, adapter, worker and client uses to talk to the
//  broker.
//
//  Says hello, pings, obeys the send window, repeats after a reconnect what was not answered, lists
//  its leases, numbers the commits of each lease, and keeps the deadlines of requests.
//  Single-threaded; never blocks; the owner polls argos_peer_socket and calls argos_peer_turn.
//  Everything arrives through the handlers, called from argos_peer_turn only.
//
//  Limits: 65,536 unanswered sends of 64 MiB together, then ARGOS_BUSY.

#ifndef ARGOS_PEER_H
#define ARGOS_PEER_H

#include "argos_errors.h"
#include "argos_key.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct argos_peer argos_peer_t;
typedef struct argos_lease
    argos_lease_t; //  A lease in hand; valid until its done or release is answered, or on_lost

//  A message as it arrives; everything is borrowed for the call

typedef struct {
    const char *type, *id, *re, *key; //  From the header, "" when absent
    const char *from;                 //  Authenticated name of the sender (from meta)
    json_t *meta;                     //  The broker's meta object
    json_t *body;              //  Body, checked against the schema of its type; {} when empty
    bool keyframe, last, side; //  Flags of the header
    int64_t seq, n, at, attempt, hops; //  From meta; n is an entry's number; 0 when absent
    argos_lease_t *lease;              //  on_lease, on_mail: the lease it belongs to; else NULL
} argos_peer_msg_t;

//  The answer to something that was sent, exactly once for each send that took an fn

typedef struct {
    argos_err_t code;   //  ARGOS_OK: accepted, or a reply came
    const char *reason; //  Sentence of a refusal, "" when OK
    int part;           //  Failing part of a commit, -1 = none named
    bool sent;          //  A refused request may have reached its worker
    int64_t seq;        //  accepted: seq of the first queued part
    json_t *body;       //  Body of a reply; NULL otherwise. Borrowed
    const char *type;   //  Type of a reply; "" otherwise
} argos_peer_answer_t;

typedef void (argos_peer_answer_fn) (void *arg, const argos_peer_answer_t *answer);

typedef struct {
    void *ctx; //  Handed to the handlers
    void (*on_welcome) (void *ctx,
        bool new_store); //  Connected; serve and subscriptions are re-sent by the peer itself
    void (*on_lease) (void *ctx, const argos_peer_msg_t *msg); //  Work: msg->lease is ours now
    void (*on_mail) (
        void *ctx, const argos_peer_msg_t *msg); //  A side message in the lane of msg->lease
    void (*on_lost) (
        void *ctx, argos_lease_t *lease); //  The lease ended (fenced, lost, superseded): start no
                                          //  effect; freed after the call
    void (*on_request) (void *ctx,
        const argos_peer_msg_t
            *msg); //  A request (or, with re, a word on one) for us as worker or actor
    void (*on_entry) (void *ctx, const char *topic, const argos_peer_msg_t *msg); //  Topic entry
    void (*on_end) (void *ctx, const char *topic, int64_t n, bool closed);        //  Caught up
    void (*on_refused) (void *ctx, const char *id, argos_err_t code,
        const char *reason); //  Refusal of a send without fn; of a serve or subscribe: its address
    void (*on_final) (void *ctx, argos_err_t code,
        const char *reason); //  Superseded or denied: this instance is over
} argos_peer_handlers_t;     //  Any but ctx may be NULL

typedef struct {
    const char *name;       //  Own name, copied
    const char *endpoint;   //  inproc://argos.broker, ipc://..., tcp://host:port, copied
    const argos_key_t *key; //  tcp: CURVE keys; ipc: token of the hello. NULL = none; copied
    int64_t instance;       //  0 = wall clock at creation, msec
    argos_peer_handlers_t handlers;
} argos_peer_config_t;

//  Creates the socket and begins to connect. NULL when the name or the endpoint is not valid, or
//  the key can't serve a tcp endpoint.
argos_peer_t *argos_peer_new (const argos_peer_config_t *config);

//  Says bye when connected, calls the outstanding answer functions with ARGOS_GONE, frees
//  everything. NULL-safe. Not from within a handler or an answer function.
void argos_peer_destroy (argos_peer_t **self_p);

//  The ØMQ socket (ZMQ_DEALER) to poll for input. It changes at a reconnect: then socket_changed is
//  called from within turn.
void *argos_peer_socket (argos_peer_t *self);
void argos_peer_on_socket (argos_peer_t *self, void (*socket_changed) (void *ctx));

//  Handles what has arrived (at most 100 messages), sends what the window allows, does what is due.
//  Returns the msec until it wants to be called again even without input (-1 = never).
int64_t argos_peer_turn (argos_peer_t *self);

//  Whether a welcome has been received and not lost; and whether the newest answered ping is
//  younger than lease_ms (before any outside effect; always true over inproc while connected).
bool argos_peer_ready (const argos_peer_t *self);
bool argos_peer_live (const argos_peer_t *self);
const char *argos_peer_store_id (const argos_peer_t *self);

//  Why the broker does not let us in, when a hello over tcp was not answered: half a sentence,
//  static. NULL = it has, since, or it is not known yet.
const char *argos_peer_shut (const argos_peer_t *self);

//  Services and topics are named with or without their prefix (service:, topic:); on_entry and
//  on_end tell the bare name.
//  Work for a service. types is NULL (all) or a NULL-terminated list. Repeated after a reconnect.
//  slots 0 pauses.
void argos_peer_serve (
    argos_peer_t *self, const char *service, int slots, const char *const *types);

//  What the platform of an adapter can do (serve.schema.json): told with the serve of that service
//  from now on. capabilities is stolen.
void argos_peer_capabilities (argos_peer_t *self, const char *service, json_t *capabilities);

//  Read a topic from number `from`; after a reconnect it goes on behind the last entry seen. Credit
//  is granted by the peer: 64 messages and 4 MiB, renewed as entries are handled.
//  argos_peer_unsubscribe is idempotent.
void argos_peer_subscribe (argos_peer_t *self, const char *topic, int64_t from);
void argos_peer_unsubscribe (argos_peer_t *self, const char *topic);

//  A message to be sent, or a part of a commit. Strings are borrowed for the call; body is stolen
//  (NULL = {}).

typedef struct {
    const char *type, *to;     //  Required
    const char *id, *key, *re; //  NULL = none; an id is made up where one is needed
    bool durable, side, urgent, keyframe, last;
    int64_t ttl_ms, not_before; //  0 = none
    json_t *body;               //  Stolen, also on failure
} argos_peer_part_t;

//  Send one message. fn (may be NULL) is called once: with accepted/refused for a durable message
//  or a store operation, with the reply for a request. Requests need ttl_ms or get 30 s; fn is
//  called with ARGOS_EXPIRED at the deadline even when the broker is silent. A reply of type
//  `error` is told as a refusal with its code. What is never answered (a message with re, a passing
//  entry) takes no fn. Returns ARGOS_OK, or ARGOS_BUSY (also when an unanswered send has that id) /
//  ARGOS_INVALID / ARGOS_TOO_BIG / ARGOS_SUPERSEDED (after on_final): then fn is not called.
argos_err_t argos_peer_send (
    argos_peer_t *self, const argos_peer_part_t *part, argos_peer_answer_fn *fn, void *arg);

//  Answer a request: to its sender, with re = its id.
argos_err_t argos_peer_reply (
    argos_peer_t *self, const argos_peer_msg_t *request, const char *type, json_t *body);
//  The same when the request is no longer at hand.
argos_err_t argos_peer_reply_to (
    argos_peer_t *self, const char *from, const char *re, const char *type, json_t *body);

//  Several messages and store operations as one unit, known by id (NULL = made up).
argos_err_t argos_peer_commit (argos_peer_t *self, const char *id, const argos_peer_part_t *parts,
    size_t count, argos_peer_answer_fn *fn, void *arg);

//  A leased message. Borrowed; data is yours.
int64_t argos_lease_seq (const argos_lease_t *lease);
int64_t argos_lease_attempt (const argos_lease_t *lease);
const char *argos_lease_key (const argos_lease_t *lease);
void *argos_lease_data (const argos_lease_t *lease);
void argos_lease_set_data (argos_lease_t *lease, void *data);

//  A numbered commit under the lease; one at a time (ARGOS_BUSY while one is unanswered). take:
//  seqs of the lane consumed as well.
argos_err_t argos_lease_commit (argos_lease_t *lease, const argos_peer_part_t *parts, size_t count,
    const int64_t *take, size_t take_count, argos_peer_answer_fn *fn, void *arg);

//  The last commit: consumes the message. seen is the newest side message handed to on_mail, filled
//  in by the peer. When it is accepted the lease is freed after fn. When refused `mail` or
//  `conflict` the lease stays; another done may follow.
argos_err_t argos_lease_done (argos_lease_t *lease, const argos_peer_part_t *parts, size_t count,
    const int64_t *take, size_t take_count, argos_peer_answer_fn *fn, void *arg);

//  Give it back; the lease is freed at once (do not use it afterwards). reject NULL, or the code of
//  a dead letter.
void argos_lease_release (
    argos_lease_t **lease_p, int64_t delay_ms, bool clean, const char *reject);

//  A passing entry on a topic, under the lease (NULL = without).
argos_err_t argos_peer_publish (
    argos_peer_t *self, const argos_lease_t *lease, const argos_peer_part_t *part);

#endif
