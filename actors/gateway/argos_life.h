//  argos_life - how long a session lives: the rules after which the next message of a chat begins a
//  new one.
//
//  Settings, under `session_reset`: `mode` (none, idle, daily, both; default none), `at_hour`
//  (0-23, default 4), `idle_minutes` (default 1440), `notify` (default true) and
//  `notify_exclude_platforms` (default api_server and webhook). Each of them is looked for in
//  platforms.<platform>.<chat type>.session_reset, platforms.<platform>.session_reset,
//  reset_by_type.<chat type>, session_reset. Local time is that of the process (TZ).

#ifndef ARGOS_LIFE_H
#define ARGOS_LIFE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_LIFE_FRESH_MS 3600000 //  A turn that a restart has interrupted goes on within this

typedef struct {
    bool idle;       //  It ends after a time without activity
    bool daily;      //  It ends at an hour of the day
    int64_t idle_ms; //  That time
    int at_hour;     //  That hour, 0-23, local
    bool notify;     //  People are told
} argos_life_policy_t;

typedef enum {
    ARGOS_LIFE_KEEP,      //  The session goes on
    ARGOS_LIFE_SUSPENDED, //  It was stopped for good
    ARGOS_LIFE_STALE,     //  A restart has interrupted it, too long ago
    ARGOS_LIFE_IDLE,      //  Nothing was said in it for too long
    ARGOS_LIFE_DAILY      //  Its day is over
} argos_life_t;

//  The policy for the chat that source names. config may be NULL: the defaults.
void argos_life_policy (
    const json_t *config, const json_t *source, argos_life_policy_t *ret_policy);

//  Latest activity of a route and its session, as route.get gives them; msec since 1970.
int64_t argos_life_touched (const json_t *result);

//  What becomes of the session of a route (the result of route.get, with a route) at the time
//  `now`, msec since 1970. A session that was ended by one of these rules already is judged by the
//  reason that it was ended for; one that was ended otherwise, or that does not exist, is KEEP.
argos_life_t argos_life (const argos_life_policy_t *policy, const json_t *result, int64_t now);

//  When a session last touched then ends by the policy, msec since 1970; 0 = never.
int64_t argos_life_due (const argos_life_policy_t *policy, int64_t touched);

//  The reason as it is stored: idle, daily, suspended, resume_pending_expired; "" = KEEP. Static.
const char *argos_life_reason (argos_life_t life);

//  The rule by which the session of the route began anew while nobody looked, when nothing was said
//  in it yet and nobody was told; else KEEP.
argos_life_t argos_life_begun (const json_t *result);

//  What people are told, to target. lost: the session before had messages. False when they are not
//  told: nothing was lost, or the policy says so; that it was suspended is always told.
bool argos_life_notice (
    argos_life_t life, const argos_life_policy_t *policy, bool lost, char *target, size_t size);

//  The platform where the session of a suspended route (the result of route.get) went on by a
//  handoff; NULL = it did not. Borrowed.
const char *argos_life_moved (const json_t *result);

//  The latest moment, not after `now`, at which the local clock came to that hour of its day; with
//  next the first one after it. Msec since 1970. On a day that leaves the hour out it is when the
//  clock jumps over it, on one that has it twice the first time.
int64_t argos_life_hour (int at_hour, int64_t now, bool next);

#endif
