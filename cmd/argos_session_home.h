//  argos_session_home - `argos sessions home`: the node whose files, shells and processes the tools
//  of a session work with.

#ifndef ARGOS_SESSION_HOME_H
#define ARGOS_SESSION_HOME_H

#include "argos_cli.h"

//  Moves the session of that id to a node; "none": the next tool that runs decides. Returns the
//  exit code.
int argos_session_home (argos_cli_t *self, const char *id, const char *node);

#endif
