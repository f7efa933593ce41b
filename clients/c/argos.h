//  argos - the public header of libargos: talk to an Argos broker from C.
//
//      argos_options_t options = { .name = "echo", .handlers = { .on_work = s_on_work } };
//      argos_t *argos = argos_new (&options, reason, sizeof reason);
//      argos_serve (argos, "echo", 8, NULL);
//      while (argos_turn (argos, -1) == ARGOS_OK)
//          ;
//      argos_destroy (&argos);
//
//  An argos_t belongs to one thread at a time, and does something only inside its calls. Either
//  call argos_turn in a loop, or let a loop of your own watch argos_fd and call argos_turn (argos,
//  0) when it is readable: nothing else is needed. Give it a turn at least every few seconds while
//  it holds work: 15 s of silence end the leases. Handlers and answer functions are called from
//  within argos_turn (and the calls that wait); they may call anything but argos_turn,
//  argos_destroy and the calls that wait, which then return ARGOS_BUSY.
//
//  Bodies are JSON text, terminated; NULL is {}. What a handler gets is borrowed for the call.
//  After a lost connection the library connects again by itself, says which leases it holds, and
//  sends again, in order, what was not answered; a request that may have reached its worker fails
//  with ARGOS_GONE instead. docs/adapters.md is the guide, docs/protocol.md the wire.

#ifndef ARGOS_H
#define ARGOS_H

#include "argos_errors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct argos argos_t; //  One connection to the broker
typedef struct argos_lease
    argos_work_t; //  A leased message: until its done is answered or it is lost

//  A message as it comes

typedef struct {
    const char *type, *id, *re, *key;  //  From its header, "" when absent
    const char *from;                  //  Authenticated name of the sender
    const char *topic;                 //  Of an entry, without topic:; else ""
    const char *body;                  //  JSON text
    bool keyframe, last, side;         //  Flags of the header
    int64_t seq, n, at, attempt, hops; //  From the broker; n is the number of an entry
    argos_work_t *work;                //  on_work, on_mail: the lease it belongs to; else NULL
} argos_msg_t;

//  A message to be sent, or a part of a commit. Everything is borrowed for the call.

typedef struct {
    const char *type, *to;     //  Required
    const char *id, *key, *re; //  NULL = none; an id is made up where one is needed
    bool durable;              //  Stored before it is accepted; always so in a commit
    bool side, urgent;         //  Of a durable message to a service
    bool keyframe, last;       //  Of an entry of a topic
    int64_t ttl_ms;            //  Deadline of a request, 0 = 30 s
    int64_t not_before;        //  Msec since 1970, 0 = at once
    const char *body;          //  JSON text of an object, NULL = {}
} argos_part_t;

//  The answer to something that was sent: exactly once for each send that took an fn

typedef struct {
    argos_err_t code;   //  ARGOS_OK: accepted, or a reply came
    const char *reason; //  Sentence of a refusal, "" when OK
    int part;           //  Failing part of a commit, -1 = none named
    bool sent;          //  A refused request may have reached its worker
    int64_t seq;        //  Accepted: number of the first queued part
    const char *type;   //  Type of a reply, "" otherwise
    const char *body;   //  Body of a reply, "" otherwise
} argos_result_t;

typedef void (argos_result_fn) (void *arg, const argos_result_t *result);

typedef struct {
    void *ctx;                                              //  Handed to the handlers
    void (*on_welcome) (void *ctx, bool new_store);         //  Connected, also again
    void (*on_lost_connection) (void *ctx);                 //  Given up for now; it tries again
    void (*on_work) (void *ctx, const argos_msg_t *msg);    //  msg->work is ours now
    void (*on_mail) (void *ctx, const argos_msg_t *msg);    //  A side message for msg->work
    void (*on_lost) (void *ctx, argos_work_t *work);        //  Ended by others; gone after the call
    void (*on_request) (void *ctx, const argos_msg_t *msg); //  Answer it with argos_reply; with re:
                                                            //  a word on one (`cancel`)
    void (*on_entry) (void *ctx, const argos_msg_t *msg);   //  Entry of a topic
    void (*on_end) (void *ctx, const char *topic, int64_t n, bool closed); //  Caught up
    void (*on_refused) (void *ctx, const char *id, argos_err_t code,
        const char *reason); //  Of a send without fn; of a serve or subscribe: its address
    void (*on_final) (void *ctx, argos_err_t code,
        const char *reason); //  Superseded or denied: this instance is over
} argos_handlers_t;          //  Any may be NULL

typedef struct {
    const char *name;     //  Who we are; NULL = $ARGOS_NAME
    const char *endpoint; //  ipc://... or tcp://host:port; NULL = $ARGOS_ENDPOINT, else of the home
    const char *home;     //  Folder of argosd; NULL = $ARGOS_HOME, else ~/.argos
    const char *key_file; //  What `argos keys new` wrote; NULL = $ARGOS_KEY, else none
    const char *token;    //  Shown over ipc when there is no key file; NULL = $ARGOS_TOKEN at
                          //  $ARGOS_ENDPOINT, else none
    argos_handlers_t handlers;
} argos_options_t; //  Copied

//  Begins to connect. NULL with a sentence in reason (size bytes) when that can't be.
argos_t *argos_new (const argos_options_t *options, char *reason, size_t size);

//  Says bye, calls the outstanding answer functions with ARGOS_GONE, frees everything. The last of
//  a process waits until its words are written, 0.5 s at most. NULL-safe.
void argos_destroy (argos_t **self_p);

//  One descriptor, the same for ever: readable when argos_turn has something to do, by input or by
//  the clock.
int argos_fd (const argos_t *self);

//  Waits for something to do at most timeout_ms (0 = does what is there, -1 = no limit; a signal
//  ends it too) and does it. ARGOS_OK, or why this instance is over.
argos_err_t argos_turn (argos_t *self, int64_t timeout_ms);

//  Whether the broker has taken us in; whether the newest answered ping is younger than the lease
//  time (ask before any effect outside).
bool argos_ready (const argos_t *self);
bool argos_live (const argos_t *self);

//  The sentence of the newest failure of a call that waits, "" when there was none. Borrowed.
const char *argos_reason (const argos_t *self);

//  ------------------------------------------------------------------------------------------------
//  Calls that wait. Handlers are called meanwhile. ARGOS_EXPIRED after timeout_ms (-1 = no limit).

//  Until the broker has taken us in. Over tcp a key that it does not know gets no answer at all.
argos_err_t argos_connect (argos_t *self, int64_t timeout_ms);

//  Asks, for 30 s when timeout_ms is not more than 0; *ret_body (may be NULL) is the body of the
//  reply, to be freed with free.
argos_err_t argos_request (argos_t *self, const char *to, const char *type, const char *body,
    int64_t timeout_ms, char **ret_body);

//  Sends a durable message; on disk when it returns ARGOS_OK. *ret_seq may be NULL.
argos_err_t argos_put (
    argos_t *self, const argos_part_t *part, int64_t timeout_ms, int64_t *ret_seq);

//  ------------------------------------------------------------------------------------------------
//  Calls that don't. ARGOS_OK, or the answer function will not be called: ARGOS_INVALID (no JSON
//  object, not of the form), ARGOS_TOO_BIG, ARGOS_BUSY (65,536 sends or 64 MiB unanswered, or one
//  of that id), ARGOS_SUPERSEDED (over).

//  A durable message or store operation, a request, a reply or an entry. What is never answered (a
//  message with re, a passing entry) takes no fn.
argos_err_t argos_send (argos_t *self, const argos_part_t *part, argos_result_fn *fn, void *arg);

//  Several messages and store operations as one unit, known by id (NULL = made up).
argos_err_t argos_commit (argos_t *self, const char *id, const argos_part_t *parts, size_t count,
    argos_result_fn *fn, void *arg);

//  A passing entry of a topic, under the lease of work unless that is NULL.
argos_err_t argos_publish (argos_t *self, const argos_work_t *work, const argos_part_t *part);

//  Answer a request: to its sender, with re = its id. Type `error` with a body {"code","reason"}
//  refuses it.
argos_err_t argos_reply (
    argos_t *self, const argos_msg_t *request, const char *type, const char *body);
argos_err_t argos_reply_to (
    argos_t *self, const char *from, const char *id, const char *type, const char *body);

//  Work for a service with so many leases at most (0 pauses); types is NULL (all) or a
//  NULL-terminated list. Said again after a reconnect.
void argos_serve (argos_t *self, const char *service, int slots, const char *const *types);

//  Read a topic from number `from`; after a reconnect it goes on behind the last entry seen. A
//  pattern (`run.*`: one word, `run.>`: the rest) reads what is live of all topics that fit, from
//  0; msg->topic says which, and what comes while there is no connection is missed.
void argos_subscribe (argos_t *self, const char *topic, int64_t from);
void argos_unsubscribe (argos_t *self, const char *topic);

//  ------------------------------------------------------------------------------------------------
//  Work in hand

int64_t argos_work_seq (const argos_work_t *self);
int64_t argos_work_attempt (const argos_work_t *self);
const char *argos_work_key (const argos_work_t *self);
void *argos_work_data (const argos_work_t *self); //  Yours
void argos_work_set_data (argos_work_t *self, void *data);

//  A numbered commit under the lease; one at a time (ARGOS_BUSY while one is unanswered). take:
//  seqs of side messages consumed as well.
argos_err_t argos_work_commit (argos_work_t *self, const argos_part_t *parts, size_t count,
    const int64_t *take, size_t take_count, argos_result_fn *fn, void *arg);

//  The last one, which consumes the message. Accepted, the work is gone after fn; refused
//  ARGOS_MAIL or ARGOS_CONFLICT, it stays.
argos_err_t argos_work_done (argos_work_t *self, const argos_part_t *parts, size_t count,
    const int64_t *take, size_t take_count, argos_result_fn *fn, void *arg);

//  Give it back; *self_p is gone. clean: nothing outside has begun, the attempt is not counted.
//  reject: NULL, or a code; it becomes a dead letter.
void argos_work_release (argos_work_t **self_p, int64_t delay_ms, bool clean, const char *reject);

#ifdef __cplusplus
}
#endif

#endif
