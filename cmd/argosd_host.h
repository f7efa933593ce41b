//  argosd_host - the commands of `argos` that argosd does: those that work on the home itself
//  (keys, settings, the database) or need a library that `argos` does not link.
//
//  `argos` has a row without a function for each (cmd/argos.c) and runs `argosd COMMAND ...` for
//  it. Such a command is a function of argos_cli_command_t; of argos_cli.h it uses what argos_say.c
//  has: nothing here speaks to the broker.

#ifndef ARGOSD_HOST_H
#define ARGOSD_HOST_H

#include "argos_cli.h"

//  Whether word is one of them.
bool argosd_host_knows (const char *word);

//  Does it: argv[0] is the word. Returns the exit code.
int argosd_host (int argc, char **argv);

//  The commands
argos_cli_command_t argosd_command_db;
argos_cli_command_t argosd_command_import;
argos_cli_command_t argosd_command_keys;
argos_cli_command_t argosd_command_config;
argos_cli_command_t argosd_command_doctor;
argos_cli_command_t argosd_command_node;
argos_cli_command_t argosd_command_provider;
argos_cli_command_t argosd_command_adapter_check;
argos_cli_command_t argosd_command_setup;

#endif
