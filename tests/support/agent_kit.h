//  agent_kit - store, broker, rehearsal provider and agent in this process, and one peer that plays
//  gateway, chat platform and tool at the same time.
//
//  Everything that arrives at the peer is kept as text, so that a test reads like a protocol.

#ifndef AGENT_KIT_H
#define AGENT_KIT_H

#include "argos_agent_actor.h"
#include "argos_peer.h"

#include <czmq.h>

#define AKIT_WAIT_MS 20000 //  Longest wait for anything
#define AKIT_RUNS 1024     //  Runs that are followed

typedef struct {
    char run_id[37];      //  Run
    char session[65];     //  Its session
    argos_text_t log;     //  "type " of each entry but the deltas
    argos_text_t delta;   //  Deltas joined, reset by turn.restarted
    int deltas;           //  How many
    json_t *last;         //  Body of the last entry
    json_t *text;         //  Body of the newest turn.text
    char ended[32];       //  Type of the last entry, "" = not yet
    char delivered[8192]; //  Text that was delivered, "" = none
    char kind[16];        //  Its kind
    int deliveries;       //  How many
} akit_run_t;

typedef struct {
    zactor_t *store, *broker, *rehearsal, *agent; //  The real ones
    argos_agent_config_t config;                  //  Of the agent
    argos_peer_t *peer;                           //  Ours
    akit_run_t runs[AKIT_RUNS];                   //  Runs followed
    size_t run_count;                             //  How many
    int tool_calls, tool_cancels;                 //  Words to our tool
    char tool_from[65], tool_id[129];             //  Newest call
    json_t *tool_body;                            //  Its body
    bool tool_silent;                             //  Our tool does not answer
    int answers;                                  //  Answers to our own sends
    argos_err_t code;                             //  Of the newest
    json_t *reply;                                //  Its body
    int64_t seq;                                  //  Its seq
    char folder[64];                              //  Of the database
} akit_t;

akit_t *akit_new (void);
void akit_destroy (akit_t **self_p);

//  Starts or stops the agent.
void akit_agent_start (akit_t *self);
void akit_agent_stop (akit_t *self);

//  A turn of a session (made at its first turn); more members of the body may be NULL (stolen).
akit_run_t *akit_ask (akit_t *self, const char *session, const char *text, json_t *more);

//  The same as a side message, for the turn that runs.
akit_run_t *akit_steer (akit_t *self, const char *session, const char *text);

//  A side message turn.stop (run NULL = all), or session.end.
void akit_stop (akit_t *self, const char *session, const akit_run_t *run);
void akit_end (akit_t *self, const char *session);

//  Turns the peer until *counter is at least wanted, or fails the test.
void akit_until (akit_t *self, const int *counter, int wanted);

//  Until the run has ended, its answer is delivered, or some deltas are here.
void akit_until_ended (akit_t *self, akit_run_t *run);
void akit_until_delivered (akit_t *self, akit_run_t *run);
void akit_until_deltas (akit_t *self, akit_run_t *run, int wanted);

//  A request, to its end: the body of the reply; borrowed until the next one.
json_t *akit_request (akit_t *self, const char *to, const char *type, json_t *body);

//  The record of the first question of a session in that state, new; waits for it.
json_t *akit_question (akit_t *self, const char *session, const char *state);

//  Answers it as a gateway does.
argos_err_t akit_answer (
    akit_t *self, const char *session, const json_t *record, const char *choice, const char *text);

//  "role:content|" of each row of the transcript, new.
char *akit_transcript (akit_t *self, const char *session);

//  Turns the peer for a while.
void akit_turn (akit_t *self, int timeout_ms);

#endif
