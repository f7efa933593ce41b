//  argos_liveness - does a connection still bring what it is there for? The third layer behind
//  "connected" and "answers": events.
//
//  Pure; time is an argument (monotonic msec, of a clock that goes on while the machine sleeps).
//  When no event has come for quiet_ms, a probe is asked for (a call of the API that costs
//  nothing), and when none has come for dead_ms, a new connection, though the old one may look
//  well. A jump of the clock beyond jump_ms asks for one at once: the machine was asleep.

#ifndef ARGOS_LIVENESS_H
#define ARGOS_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    ARGOS_LIVE,      //  Nothing to do
    ARGOS_PROBE,     //  Ask the platform something
    ARGOS_RECONNECT, //  Make a new connection
} argos_liveness_act_t;

typedef struct {
    int64_t quiet_ms; //  Silence before a probe
    int64_t dead_ms;  //  Silence before a new connection
    int64_t jump_ms;  //  Two looks further apart than they should be by this: asleep
    int64_t event_ms; //  When the last event came
    int64_t look_ms;  //  When somebody looked last
    bool probed;      //  Since the last event
} argos_liveness_t;

//  A new connection is there, or an event has come.
void argos_liveness_event (argos_liveness_t *self, int64_t now);

//  What is to be done now; a probe is asked for once in a silence.
argos_liveness_act_t argos_liveness_look (argos_liveness_t *self, int64_t now);

//  When to look again.
int64_t argos_liveness_due (const argos_liveness_t *self);

#endif
