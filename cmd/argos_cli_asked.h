//  argos_cli_asked - the question that a turn has put to people, and waits for.

#ifndef ARGOS_CLI_ASKED_H
#define ARGOS_CLI_ASKED_H

#include "argos_cli.h"

//  The open question of a session, as its record has it (id, kind, run_id, text, options,
//  deadline); new, NULL = there is none.
json_t *argos_cli_asked (argos_cli_t *cli, const char *session);

#endif
