//  argos_rehearsal_load - a request of the chat completions wire, without its tools. Pure.
//
//  They are most of a request, and nothing to the rehearsal.

#ifndef ARGOS_REHEARSAL_LOAD_H
#define ARGOS_REHEARSAL_LOAD_H

#include <jansson.h>
#include <stddef.h>

//  The request of size bytes, new; NULL = it is no JSON. An array `tools` that stands last is left
//  out.
json_t *argos_rehearsal_load (const char *body, size_t size);

#endif
