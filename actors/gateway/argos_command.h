//  argos_command - slash commands of a message: which one it is, whether it may be used now, and
//  its handler.
//
//  The commands as such are schema/commands.json (argos_commands.h). Here is what they read and do:
//  a handler for each row that chats know.

#ifndef ARGOS_COMMAND_H
#define ARGOS_COMMAND_H

#include "argos_commands.h"
#include "argos_gateway.h"

#define ARGOS_COMMAND_NAME_MAX ARGOS_COMMANDS_NAME_MAX //  Longer words are no commands

//  What a message asks for

typedef struct {
    const argos_commands_row_t *row;       //  The command; NULL = a quick command, or unknown
    bool confirmed;                        //  It was asked for before, and this is the answer: yes
    bool always;                           //  and never to be asked again
    bool cancelled;                        //  The answer is no
    char word[ARGOS_COMMAND_NAME_MAX + 1]; //  As it was typed, in lower case
    char exec[ARGOS_COMMAND_NAME_MAX + 1]; //  The quick command of the shell that it is; "" = none
    char *arguments;                       //  Own copy, "" = none
} argos_command_t;

//  Whether the message is a command, or the answer to the question whether one is to be done. An
//  alias of the configuration (quick_commands) has become what it stands for. What comes through
//  the API is text in any case: a program means what it sends. Clear it in any case.
bool argos_command_read (const argos_gateway_case_t *gateway, argos_command_t *command);

//  Its own name, whatever was typed: of its row, of the quick command of the shell, else the word.
//  Borrowed.
const char *argos_command_name (const argos_command_t *command);

//  Frees what it owns. Idempotent.
void argos_command_clear (argos_command_t *command);

//  Facts that the command of the message is decided on, bits, as far as is known (ask again after
//  each); 0 = it is none.
unsigned argos_command_needs (const argos_gateway_case_t *gateway);

//  Whether the message is one, as far as is known.
bool argos_command_is (const argos_gateway_case_t *gateway);

//  The step of the pipeline: does the command of the message, or says why not. Returns false when
//  it is none; then nothing was added to parts.
bool argos_command_step (const argos_gateway_case_t *gateway, json_t *parts);

//  Whether who speaks may use the command here.
bool argos_command_is_offered (
    const argos_gateway_case_t *gateway, const argos_commands_row_t *row);

//  Whether the command of that number has a handler: all that chats know have.
bool argos_command_is_handled (argos_command_id_t id);

#endif
