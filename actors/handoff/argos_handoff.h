//  argos_handoff - a session goes on at another platform: what is decided about it.
//
//  Pure: facts are answers of the store, the broker and the adapter as they came; time is an
//  argument. The parts are JSON as those of the gateway (argos_parts.h).

#ifndef ARGOS_HANDOFF_H
#define ARGOS_HANDOFF_H

#include "argos_parts.h"

#define ARGOS_HANDOFF_NAME_SIZE 256  //  Of a thread, with its end
#define ARGOS_HANDOFF_TEXT_SIZE 1024 //  Of a reason
#define ARGOS_HANDOFF_REASON_SIZE 48 //  Of the mark on a route
#define ARGOS_HANDOFF_PARTS_MAX 60   //  Parts of the done
#define ARGOS_HANDOFF_ROUTES_MAX 32  //  Routes that are told to let go of the session

//  What is known about one handoff. All borrowed; NULL = not (yet) known, or there is none.

typedef struct {
    const json_t *row;                  //  handoff.state: row
    const json_t *session;              //  session.get: session
    const json_t *settings;             //  The snapshot
    const json_t *home;                 //  record.get home/<platform>: record
    const json_t *status;               //  broker.status.result
    const json_t *chat;                 //  chat.info.result
    const json_t *thread;               //  thread.create.result
    const char *no_thread;              //  Why there is none
    const json_t *route;                //  route.get of the destination
    const json_t *routes;               //  route.list of the session
    const json_t *setting;              //  record.get setting/<where it was>: record
    const json_t *there;                //  record.get setting/<where it goes>: record
    const argos_route_policy_t *policy; //  Of keys
} argos_handoff_case_t;

//  Where it goes before there is a thread: the source of the home of the platform, or of the target
//  that was named; without an account when any will do. New; NULL = there is no home, with a
//  sentence in reason.
json_t *argos_handoff_place (
    const argos_handoff_case_t *self, char reason[static ARGOS_HANDOFF_TEXT_SIZE]);

//  The account of the place whose adapter is there now, to target (ARGOS_NAME_MAX + 1 bytes).
//  Returns false when there is none.
bool argos_handoff_account (const argos_handoff_case_t *self, const json_t *place, char *target);

//  What the thread is called.
void argos_handoff_name (
    const argos_handoff_case_t *self, char target[static ARGOS_HANDOFF_NAME_SIZE]);

//  The source of the next real message there: what the adapter says, else the place with the
//  thread. place has its account. New.
json_t *argos_handoff_source (const argos_handoff_case_t *self, const json_t *place);

//  Whether somebody's next message there goes on with the session. False with a sentence in reason
//  where each person has one of his own and nobody says whose it is to be.
bool argos_handoff_reachable (const argos_handoff_case_t *self, const json_t *source,
    char reason[static ARGOS_HANDOFF_TEXT_SIZE]);

//  The route that has led to the session and is to let go of it first, NULL = there is none.
//  Borrowed.
const char *argos_handoff_from (const argos_handoff_case_t *self, const char *key);

//  The last commit: route, state, turn with what was set for the session, and a handoff.check for
//  what becomes of it, if everything is still as it was read and nothing is said in either session.
//  New.
json_t *argos_handoff_parts (const argos_handoff_case_t *self, const json_t *source);

//  It has failed before: the state alone. New.
json_t *argos_handoff_failed (const argos_handoff_case_t *self, bool claimed, const char *error);

typedef enum {
    ARGOS_HANDOFF_WAIT, //  Not known yet
    ARGOS_HANDOFF_GOOD, //  The turn has answered there, as far as can be known
    ARGOS_HANDOFF_BAD   //  It has not; why is in reason
} argos_handoff_verdict_t;

//  What has become of the turn: run is run.get's, delivery delivery.show's of its answer.
argos_handoff_verdict_t argos_handoff_outcome (
    const json_t *run, const json_t *delivery, char reason[static ARGOS_HANDOFF_TEXT_SIZE]);

//  Everything back, and who asked is told; body is that of handoff.check. New.
json_t *argos_handoff_undo (const json_t *body, const char *error);

//  When a check is made again: a quarter of its age, 250 msec to 30 s.
int64_t argos_handoff_patience (int64_t age_ms);

#endif
