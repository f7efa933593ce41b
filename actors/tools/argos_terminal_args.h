//  argos_terminal_args - what a call of the tool `terminal` asks for. Pure.

#ifndef ARGOS_TERMINAL_ARGS_H
#define ARGOS_TERMINAL_ARGS_H

#include <jansson.h>
#include <stdint.h>

//  How long the command may take, or -1 when what is stated is out of range. body: of tool.call;
//  usual_ms: of commands that state nothing, which raises what may be stated.
int64_t argos_terminal_timeout (const json_t *body, int64_t usual_ms);

//  What is wrong with the call, NULL = nothing. Static.
const char *argos_terminal_problem (const json_t *body, int64_t usual_ms);

#endif
