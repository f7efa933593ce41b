//  argos_terminal_args - what a call of the tool `terminal` asks for, and what its exit code means.
//  Pure.

#ifndef ARGOS_TERMINAL_ARGS_H
#define ARGOS_TERMINAL_ARGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

//  How long the command may take, or -1 when what is stated is out of range. body: of tool.call;
//  usual_ms: of commands that state nothing, which raises what may be stated.
int64_t argos_terminal_timeout (const json_t *body, int64_t usual_ms);

//  What is wrong with the call, NULL = nothing. Static.
const char *argos_terminal_problem (const json_t *body, int64_t usual_ms);

//  Whether a command leaves its shell, or does not end by itself, so that it has no place in the
//  foreground.
bool argos_terminal_is_endless (const char *command);

//  What that exit code of the command (its last program) means, when it is no failure; NULL = it
//  says nothing. Static.
const char *argos_terminal_meaning (const char *command, int code);

//  The command in a shell that goes on from where the one before has ended: its directory and its
//  exported variables are in file (and the directory in file.pwd), and are written there at its
//  end. stay: it begins in the directory where it is started. New (free).
char *argos_terminal_wrap (const char *command, const char *file, bool stay);

#endif
