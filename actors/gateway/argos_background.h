//  argos_background - the command /background: a prompt in a session of its own, beside the chat.
//
//  A task is a run of kind `background`: its session has the name of the task and no history, its
//  turn is durable as any other, and its end is told to the chat by the agent in the words that
//  stand in the turn. Pure.

#ifndef ARGOS_BACKGROUND_H
#define ARGOS_BACKGROUND_H

#include "argos_gateway.h"

#define ARGOS_TASK_ID_SIZE 17 //  bg_HHMMSS_ and 6 hex digits, terminated

//  The name of a task that begins at `wall` (msec since 1970; the time of day is local) with these
//  random bits. target has ARGOS_TASK_ID_SIZE bytes.
void argos_background_id (int64_t wall, uint64_t entropy, char *target);

//  Handler of the command, see argos_command.h. Needs ARGOS_FACT_TASKS.
void argos_cmd_background (
    const argos_gateway_case_t *gateway, const char *arguments, json_t *parts);

#endif
