//  argos_handoff_priv - what the files of the handoff actor share. Not for users.

#ifndef ARGOS_HANDOFF_PRIV_H
#define ARGOS_HANDOFF_PRIV_H

#include "argos_handoff.h"
#include "argos_shell.h"

//  What a job does next, in this order; each is one question or one commit

typedef enum {
    STEP_ROW,      //  What is asked for
    STEP_SESSION,  //  The session
    STEP_HOME,     //  Where to
    STEP_STATUS,   //  Whether its adapter is here
    STEP_LANE,     //  Whether somebody speaks in it
    STEP_CLAIM,    //  Commit: it is ours
    STEP_CHAT,     //  What kind of a chat that is
    STEP_SENT,     //  Commit: from now on it is not tried again
    STEP_THREAD,   //  A thread there
    STEP_ROUTE,    //  Who is there
    STEP_ROUTES,   //  Who is here
    STEP_SETTING,  //  What was set here
    STEP_THERE,    //  and there
    STEP_BEAT,     //  Commit: still ours
    STEP_DONE,     //  The last commit
    STEP_RUN,      //  Of a check: the run
    STEP_DELIVERY, //  its answer
    STEP_UNDO,     //  The last commit
    STEPS          //  How many
} step_t;

typedef struct handoff handoff_t;
typedef struct job job_t;

//  A message in hand

struct job {
    handoff_t *handoff;                   //  Whose
    job_t *prev, *next;                   //  In its list
    argos_lease_t *lease;                 //  NULL once it is lost
    json_t *body;                         //  Of the message
    json_t *facts[STEPS];                 //  Answers so far
    json_t *place, *source;               //  Where to; with the thread
    step_t step;                          //  What is under way
    bool waiting;                         //  An answer is outstanding
    bool claimed;                         //  The row is ours
    bool last;                            //  The done is under way
    char reason[ARGOS_HANDOFF_TEXT_SIZE]; //  Why there is no thread, or why it failed
    char to[ARGOS_TO_MAX + 1];            //  Address of the adapter
    int64_t at;                           //  When the message was sent, wall msec
    int64_t retry_ms; //  When the last commit is tried again, monotonic; -1 = not
    int tries;        //  Of it
};

struct handoff {
    zsock_t *pipe;                 //  To the owner
    argos_shell_t *shell;          //  Loop
    json_t *settings;              //  The newest
    argos_route_policy_t policy;   //  Of keys
    char name[ARGOS_NAME_MAX + 1]; //  Ours
    job_t *jobs;                   //  In hand
    size_t job_count;              //  How many
    int64_t scan_ms;               //  Next scan, monotonic; -1 = not connected yet
    bool ready;                    //  READY has been said
    bool stopping;                 //  The peer is going away
};

//  argos_handoff_job.c
//  A job goes on with its step.
void job_go (job_t *self);
void job_free (job_t **self_p);
//  Its time has come.
void job_retry (job_t *self);

//  What is known of its handoff, borrowed; and the row as it is.
argos_handoff_case_t job_case (const job_t *self);
json_t *job_row (const job_t *self);

//  argos_handoff_ask.c: the body of what a step asks, new.
typedef json_t *(job_ask_fn) (const job_t *self);
job_ask_fn job_ask_session, job_ask_row, job_ask_home, job_ask_nothing, job_ask_lane, job_ask_claim,
    job_ask_sent, job_ask_chat, job_ask_thread, job_ask_route, job_ask_routes, job_ask_setting,
    job_ask_there, job_ask_run, job_ask_delivery;

//  argos_handoff_actor.c
//  Sets the one timer.
void handoff_arm (handoff_t *self);

#endif
