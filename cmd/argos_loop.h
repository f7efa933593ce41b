//  argos_loop - how the commands of `argos` reach the broker: libargos, with bodies as trees, and a
//  loop around its descriptor, some others, and one timer.
//
//  Nothing else of Argos speaks to the broker here. Single-threaded; level-triggered; idle means
//  asleep.

#ifndef ARGOS_LOOP_H
#define ARGOS_LOOP_H

#include "argos.h"

#include <jansson.h>

typedef struct argos_loop argos_loop_t;

//  A message as it comes; everything is borrowed for the call

typedef struct {
    const char *type, *id;       //  From the header, "" when absent
    json_t *body;                //  Its body
    bool keyframe, last;         //  Flags of the header
    int64_t seq, n, at, attempt; //  As in argos_msg_t
    argos_work_t *work;          //  on_work: the lease, which is ours
} argos_loop_msg_t;

//  The answer to something that was sent

typedef struct {
    argos_err_t code;   //  ARGOS_OK: accepted, or a reply came
    const char *reason; //  Sentence of a refusal
    json_t *body;       //  Body of a reply, NULL otherwise. Borrowed
} argos_loop_answer_t;

typedef void (argos_loop_answer_fn) (void *arg, const argos_loop_answer_t *answer);

typedef struct {
    void *ctx;                                      //  Handed to the handlers
    void (*on_welcome) (void *ctx, bool new_store); //  As in argos_handlers_t
    void (*on_lost_connection) (void *ctx);
    void (*on_work) (void *ctx, const argos_loop_msg_t *msg);
    void (*on_entry) (void *ctx, const char *topic, const argos_loop_msg_t *msg);
    void (*on_end) (void *ctx, const char *topic, int64_t n, bool closed);
    void (*on_refused) (void *ctx, const char *id, argos_err_t code, const char *reason);
    void (*on_final) (void *ctx, argos_err_t code, const char *reason);
} argos_loop_handlers_t; //  Any may be NULL

//  A message to be sent, or a part of a commit. Strings are borrowed for the call; body is stolen.

typedef struct {
    const char *type, *to;      //  Required
    const char *id, *key;       //  NULL = none
    bool durable, side, urgent; //  As in argos_part_t
    int64_t ttl_ms;             //  Deadline of a request, 0 = 30 s
    json_t *body;               //  Stolen, also on failure; NULL = {}
} argos_loop_part_t;

//  Begins to connect; token NULL = none. NULL when that can't be.
argos_loop_t *argos_loop_new (const char *name, const char *endpoint, const char *token,
    const argos_loop_handlers_t *handlers);

//  Says bye. NULL-safe, idempotent.
void argos_loop_destroy (argos_loop_t **self_p);

//  Call fn whenever fd is readable; at most 4 descriptors. fn NULL takes it out.
void argos_loop_fd (argos_loop_t *self, int fd, void (*fn) (void *arg), void *arg);

//  Call fn once when the monotonic clock (argos_loop_now) reaches due_ms; replaces the timer set
//  before; due_ms < 0 = none.
void argos_loop_timer (argos_loop_t *self, int64_t due_ms, void (*fn) (void *arg), void *arg);

//  Monotonic msec, and wall clock msec since 1970.
int64_t argos_loop_now (void);
int64_t argos_loop_wall (void);

//  Runs until argos_loop_stop, or until this instance is over; may be run again. Returns how often
//  it was stopped since the last run, 0 = this instance is over.
int argos_loop_run (argos_loop_t *self);
void argos_loop_stop (argos_loop_t *self);

//  Stops that have come, and have ended nothing yet, are forgotten.
void argos_loop_forget (argos_loop_t *self);

//  As argos_send, argos_serve, argos_subscribe and argos_unsubscribe.
argos_err_t argos_loop_send (
    argos_loop_t *self, const argos_loop_part_t *part, argos_loop_answer_fn *fn, void *arg);
//  Several parts as one unit; at most 8.
argos_err_t argos_loop_commit (argos_loop_t *self, const argos_loop_part_t *parts, size_t count,
    argos_loop_answer_fn *fn, void *arg);
void argos_loop_serve (argos_loop_t *self, const char *service, int slots);
void argos_loop_subscribe (argos_loop_t *self, const char *topic, int64_t from);
void argos_loop_unsubscribe (argos_loop_t *self, const char *topic);

//  The last commit of a lease, with one store operation.
argos_err_t argos_loop_done (argos_work_t *work, const argos_loop_part_t *part);

#endif
