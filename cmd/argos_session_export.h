//  argos_session_export - `argos sessions export`: sessions as the JSON lines that argos_import
//  reads.

#ifndef ARGOS_SESSION_EXPORT_H
#define ARGOS_SESSION_EXPORT_H

#include "argos_cli.h"

//  Prints the session of that id, then each of its messages. Returns ARGOS_OK, or why not all was
//  printed: what the store said, ARGOS_EXPIRED after an interrupt.
argos_err_t argos_session_export (argos_cli_t *self, const char *id);

//  Prints all sessions of an owner on a platform (NULL = of all). Returns the exit code; the reason
//  of a failure has been printed.
int argos_session_export_all (argos_cli_t *self, const char *owner, const char *platform);

#endif
