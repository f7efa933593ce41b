//  argos_busy - what a message does while a turn of its session runs. Pure.
//
//  The modes are kinds of messages: queue = a turn.request at the end of the lane; steer = the same
//  as a side message, which the running turn takes in, or which is a turn in its place; interrupt =
//  an ordinary one, and a turn.stop for the run that is at work. The gateway remembers nothing.

#ifndef ARGOS_BUSY_H
#define ARGOS_BUSY_H

#include "argos_gateway.h"

typedef enum {
    ARGOS_BUSY_IDLE,     //  Nothing runs: a turn as any other
    ARGOS_BUSY_QUEUE,    //  Behind what runs
    ARGOS_BUSY_STEER,    //  Into what runs
    ARGOS_BUSY_INTERRUPT //  Instead of what runs
} argos_busy_t;

//  What the message is to do, by `display.busy_input_mode` and what it is. Needs ARGOS_FACT_LANE.
argos_busy_t argos_busy_mode (const argos_gateway_case_t *self);

//  The facts that a text needs for that, bits: none when it is not answered in a chat.
unsigned argos_busy_needs (const argos_gateway_case_t *self);

//  Adds the turn of text to parts in that way (STEER when nothing runs = IDLE). Returns whether
//  there is a turn; else parts refuse it.
bool argos_busy_turn (
    const argos_gateway_case_t *self, const char *text, argos_busy_t mode, json_t *parts);

//  The last step of the decision: an ordinary text becomes a turn, and the chat is told what it
//  does to the one that runs, at most once in 30 s.
void argos_busy_step (const argos_gateway_case_t *self, const char *text, json_t *parts);

//  The question for ARGOS_FACT_ACK.
json_t *argos_busy_ask_ack (const argos_gateway_case_t *self);

#endif
