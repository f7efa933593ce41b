//  argos_args - the arguments of a tool call as models write them, repaired to a JSON object.
//
//  Pure. Repair order: empty or null, Python's None, control characters, trailing commas, missing
//  and surplus closers. What can't be repaired is never run.

#ifndef ARGOS_ARGS_H
#define ARGOS_ARGS_H

#include "argos_text.h"

//  Rewrites args to the compact JSON of an object, members in order of name. Returns 0, or -1 (args
//  unchanged) when it can't be made one.
int argos_args_repair (argos_text_t *args);

//  Whether args look cut off: they do not end in } or ].
bool argos_args_cut_off (const argos_text_t *args);

#endif
