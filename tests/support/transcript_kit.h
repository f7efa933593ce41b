//  transcript_kit - rows of a conversation for tests of what reads them.

#ifndef TRANSCRIPT_KIT_H
#define TRANSCRIPT_KIT_H

#include <jansson.h>
#include <stdbool.h>

//  Adds an answer with one call to rows, and the result of it; the call has an id of its own. The
//  arguments (JSON) stand there as a text, as in what was stored, or as an object, as in a turn.
void transcript_call (json_t *rows, const char *run, const char *tool, const char *arguments,
    const char *content, bool text);

#endif
