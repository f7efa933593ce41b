//  argos_commands - the slash commands as data: what they are called, and when they may be used.
//
//  Generated from commands.json by schema/generate.py; do not edit. What they do is in
//  actors/gateway/argos_command.c.

#ifndef ARGOS_COMMANDS_H
#define ARGOS_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#define ARGOS_COMMANDS_ALIASES 3   //  Other names of a command, at most
#define ARGOS_COMMANDS_NAME_MAX 32 //  Bytes of a name

typedef enum {
    ARGOS_COMMAND_START,
    ARGOS_COMMAND_NEW,
    ARGOS_COMMAND_RESUME,
    ARGOS_COMMAND_SESSIONS,
    ARGOS_COMMAND_TITLE,
    ARGOS_COMMAND_BRANCH,
    ARGOS_COMMAND_RETRY,
    ARGOS_COMMAND_UNDO,
    ARGOS_COMMAND_COMPRESS,
    ARGOS_COMMAND_STOP,
    ARGOS_COMMAND_QUEUE,
    ARGOS_COMMAND_PLAN,
    ARGOS_COMMAND_STEER,
    ARGOS_COMMAND_APPROVE,
    ARGOS_COMMAND_DENY,
    ARGOS_COMMAND_BACKGROUND,
    ARGOS_COMMAND_AGENTS,
    ARGOS_COMMAND_STATUS,
    ARGOS_COMMAND_SETHOME,
    ARGOS_COMMAND_RESTART,
    ARGOS_COMMAND_MODEL,
    ARGOS_COMMAND_REASONING,
    ARGOS_COMMAND_VERBOSE,
    ARGOS_COMMAND_YOLO,
    ARGOS_COMMAND_USAGE,
    ARGOS_COMMAND_WHOAMI,
    ARGOS_COMMAND_COMMANDS,
    ARGOS_COMMAND_HELP,
    ARGOS_COMMAND_VERSION,
    ARGOS_COMMAND_HANDOFF,
    ARGOS_COMMAND_QUIT,
    ARGOS_COMMAND_COUNT //  How many there are
} argos_command_id_t;

//  What becomes of a command while a turn of its session runs

typedef enum {
    ARGOS_COMMANDS_REJECT,   //  It is refused
    ARGOS_COMMANDS_DISPATCH, //  It is done beside the turn
    ARGOS_COMMANDS_INTERRUPT //  It ends the turn
} argos_commands_busy_t;

//  One command

typedef struct {
    const char *name;                            //  Without the slash
    const char *aliases[ARGOS_COMMANDS_ALIASES]; //  Other names, NULL-filled
    const char *arguments;                       //  For people, "" = none
    const char *category;                        //  For people
    const char *description;                     //  For people, a sentence without a full stop
    argos_commands_busy_t busy;                  //  While a turn runs
    bool everybody;                              //  Whoever may speak may use it
    bool confirm;                                //  It is asked for before it is done
    bool cli_only;                               //  The terminal does it, chats don't know it
    bool gateway_only;                           //  Chats know it, the terminal doesn't
} argos_commands_row_t;

//  Row number `index` (an argos_command_id_t), NULL behind the last. Static.
const argos_commands_row_t *argos_commands_row (size_t index);

//  The row of a name or an alias, in any case, with or without the slash; NULL = there is none.
//  Static.
const argos_commands_row_t *argos_commands_find (const char *name);

//  Number of a row.
argos_command_id_t argos_commands_id (const argos_commands_row_t *row);

//  Completion at a terminal: the name or alias number `index`, with its slash, of those that begin
//  with `typed`; written to target (ARGOS_COMMANDS_NAME_MAX + 2 bytes). False behind the last, and
//  when typed does not begin with a slash.
bool argos_commands_complete (const char *typed, size_t index, char *target);

//  Entry number `index` of the menu of a platform that has one: the name as it may be there (a-z,
//  0-9 and _), to target (ARGOS_COMMANDS_NAME_MAX + 1 bytes). Returns its row, NULL behind the
//  last.
const argos_commands_row_t *argos_commands_menu (size_t index, char *target);

#endif
