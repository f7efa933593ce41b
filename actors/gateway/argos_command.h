//  argos_command - the table of slash commands: one row is all there is to a command.

#ifndef ARGOS_COMMAND_H
#define ARGOS_COMMAND_H

#include "argos_gateway.h"

#define ARGOS_COMMAND_NAME_MAX 32 //  Longer words are no commands

typedef struct {
    const char *name;        //  Without the slash
    const char *aliases[2];  //  Other names, NULL-filled
    const char *arguments;   //  For the help, "" = none
    const char *description; //  One sentence for the help
    bool urgent;             //  An adapter sends it as urgent, so that it overtakes what waits
    unsigned needs;          //  Facts that it reads, bits
    void (*handler) (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts);
} argos_command_t;

//  Whether text is a command: a slash, and a first word without another slash. The word, in lower
//  case and without
//  @botname, goes to name (ARGOS_COMMAND_NAME_MAX + 1 bytes); *ret_arguments (may be NULL) points
//  behind it into text.
bool argos_command_parse (const char *text, char *name, const char **ret_arguments);

//  The command of a name or alias; NULL = there is none. Static.
const argos_command_t *argos_command_find (const char *name);

//  Row number `index` of the table, NULL behind the last. Static.
const argos_command_t *argos_command_row (size_t index);

#endif
