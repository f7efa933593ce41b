//  argos_gateway - what the gateway does with a message: pure decisions, no socket, clock or random
//  number.
//
//  The shell (argos_gateway_actor) fills a case: the message, the time, some entropy, and whatever
//  argos_gateway_needs asks to read. argos_gateway_decide then answers with the parts of the one
//  `done` that consumes the message. What is decided on reads carries an `expect`, so that a case
//  decided on old facts is refused by the store and is read and decided again.
//
//  A part is a JSON object {"type", "to", "id"?, "key"?, "durable"?, "side"?, "urgent"?, "last"?,
//  "not_before"?, "body", "refusal"?}. When the store refuses a part that has a refusal, that is
//  what people read.

#ifndef ARGOS_GATEWAY_H
#define ARGOS_GATEWAY_H

#include "argos_fact.h"
#include "argos_life.h"
#include "argos_route_key.h"

#include <stdint.h>

#define ARGOS_SESSION_ID_MAX 256 //  Bytes of a session id
#define ARGOS_RUN_ID_SIZE 37     //  run_ and 32 hex digits, terminated
#define ARGOS_GATEWAY_RANDOM 24  //  Random bytes of a case

typedef struct argos_gateway_policy {
    argos_route_policy_t route; //  Who shares a session
    int queue_max;              //  Turns waiting in one session, 32 by default
    const json_t *config;       //  All settings, for argos_setting; NULL = nothing is set
    const struct argos_approval_policy *approval; //  Rules for calls of tools; NULL = none
} argos_gateway_policy_t;

typedef struct argos_gateway_case {
    const argos_gateway_policy_t *policy;       //  Settings
    const char *from;                           //  Sender of the message, as authenticated
    const char *id;                             //  Its id
    const char *type;                           //  Its type, NULL = message.inbound or message.dead
    const json_t *body;                         //  message.inbound, checked by its schema
    int64_t attempt;                            //  Of its lease, 0 and 1 = the first
    int64_t wall;                               //  Msec since 1970
    uint64_t entropy;                           //  Random bits, for the name of a new session
    unsigned char random[ARGOS_GATEWAY_RANDOM]; //  Random bytes, for a pairing code
    const json_t *notice; //  Body of a message.dead; body is that of the message then. NULL = none
    unsigned have;        //  Which facts have been read, bits
    const json_t *fact[ARGOS_FACTS]; //  Their answers; NULL = nothing to ask, or none came
} argos_gateway_case_t;

//  The defaults of above.
void argos_gateway_policy_init (argos_gateway_policy_t *policy);

//  What the settings say; config is borrowed as long as the policy is used.
void argos_gateway_policy_read (argos_gateway_policy_t *policy, const json_t *config);

//  The facts to decide on, bits, as far as is known from those that have been read: ask again after
//  each. argos_fact_next says which is next.
unsigned argos_gateway_needs (const argos_gateway_case_t *self);

//  What becomes of the session of the route; its policy goes to *ret_policy, which may be NULL.
argos_life_t argos_gateway_life (const argos_gateway_case_t *self, argos_life_policy_t *ret_policy);

//  The session that the message belongs to as far as is known; "" when it has none yet. target has
//  ARGOS_SESSION_ID_MAX + 1 bytes.
void argos_gateway_session (const argos_gateway_case_t *self, char *target);

//  The session that the message asks for by name, "" when it leaves that to the route. A run of the
//  API without a session has one of its own, called like the run. target has ARGOS_SESSION_ID_MAX +
//  1 bytes.
void argos_gateway_named (const argos_gateway_case_t *self, char *target);

//  The id of a new session, made of the time and the entropy; target as above.
void argos_gateway_fresh (const argos_gateway_case_t *self, char *target);

//  Adds the expectation that the route is as it was read. Its key goes to target,
//  ARGOS_ROUTE_KEY_MAX + 1 bytes. Returns whether there is one.
bool argos_gateway_expect_route (const argos_gateway_case_t *self, char *target, json_t *parts);

//  Adds what opens a new session for the message (expectation on the route, session row, route) to
//  parts; its id goes to target, ARGOS_SESSION_ID_MAX + 1 bytes. reason is why the one before ends,
//  title what it is called; "" = none.
void argos_gateway_open (const argos_gateway_case_t *self, const char *reason, const char *title,
    char *target, json_t *parts);

//  Adds an ordinary turn of the message, which says text instead (stored: one that was read before,
//  as the model has it); or what refuses it visibly.
void argos_gateway_turn (
    const argos_gateway_case_t *self, const char *text, bool stored, json_t *parts);

//  The run of the message: the one it names, else made from the sender's base name and the id.
//  target has ARGOS_RUN_ID_SIZE bytes.
void argos_gateway_run (const argos_gateway_case_t *self, char *target);

//  A turn.request with everything of the message that concerns the agent; new, the caller's.
json_t *argos_gateway_turn_new (
    const argos_gateway_case_t *self, const char *run, const char *session, const char *text);

//  Adds what binds the files of the message to the run: they have to be there, and stay as long.
void argos_gateway_attachments (const argos_gateway_case_t *self, const char *run, json_t *parts);

//  The parts of the done; new, the caller's, may be empty. NULL when the message can't be handled
//  at all (no valid service to answer to): then it has to be rejected as invalid. With a notice:
//  the parts that tell about the dead letter, empty when there is nobody to tell.
json_t *argos_gateway_decide (const argos_gateway_case_t *self);

//  The parts that refuse the message visibly instead: an error to its chat, or a failed run for the
//  API. New, the caller's.
json_t *argos_gateway_refuse (const argos_gateway_case_t *self, const char *reason);

//  When part number `index` of parts is an expectation that there is room: a sentence that says
//  what there is too much of, static; else NULL.
const char *argos_gateway_full (const json_t *parts, int index);

#endif
