//  argos_handover_step - what who waits for a handoff does next. Pure: time is an argument.

#ifndef ARGOS_HANDOVER_STEP_H
#define ARGOS_HANDOVER_STEP_H

#include <stdbool.h>
#include <stdint.h>

#define ARGOS_HANDOVER_CLAIM_MS 60000  //  Until somebody takes it
#define ARGOS_HANDOVER_WAIT_MS 3600000 //  The same when a turn may end first
#define ARGOS_HANDOVER_DONE_MS 900000  //  Until it is over, once somebody has it
#define ARGOS_HANDOVER_LINE_MS 30000   //  Between two lines that say that it goes on

typedef enum {
    ARGOS_HANDOVER_SLEEP,    //  Until something is heard of it
    ARGOS_HANDOVER_DONE,     //  It goes on there
    ARGOS_HANDOVER_FAILED,   //  The row says why
    ARGOS_HANDOVER_CALL_OFF, //  By compare-and-set: somebody may just take it
    ARGOS_HANDOVER_LEAVE,    //  Somebody has it: it is left alone, and so is the session
    ARGOS_HANDOVER_TAKEN,    //  Say that somebody has taken it
    ARGOS_HANDOVER_STILL     //  Say that it goes on
} argos_handover_step_t;

typedef struct {
    const char *state; //  Of the row; "" = there is none
    bool wait;         //  For a turn that runs
    bool interrupted;  //  The person has had enough
    int64_t now;       //  Monotonic msec, as the following
    int64_t asked;     //  When it was asked for
    int64_t taken;     //  When it was first seen to be taken, -1 = not yet
    int64_t said;      //  When a line was said last
} argos_handover_view_t;

argos_handover_step_t argos_handover_step (const argos_handover_view_t *view);

#endif
