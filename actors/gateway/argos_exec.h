//  argos_exec - quick commands of the shell (quick_commands, type exec): run by the tool
//  `terminal`, judged by the same rules as a call of the model. Pure.
//
//  Nobody is asked for an approval: what would need one is refused with the reason. It runs at most
//  once: the call is a fact that is read once for a message in hand, and a message that was in hand
//  before is told that nobody knows. What people type behind the command never reaches the shell.

#ifndef ARGOS_EXEC_H
#define ARGOS_EXEC_H

#include "argos_cmd.h"
#include "argos_command.h"

//  The question for ARGOS_FACT_EXEC: a tool.call; NULL when the command of the message is none of
//  the shell, or may not run.
argos_cmd_ask_fn argos_exec_question;

//  Adds what is said about the command that was run, or why it was not.
void argos_exec_step (
    const argos_gateway_case_t *gateway, const argos_command_t *command, json_t *parts);

#endif
