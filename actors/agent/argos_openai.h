//  argos_openai - the chat completions wire: request body, streamed chunks, whole answers.
//
//  Pure. Works with every server that speaks this wire.

#ifndef ARGOS_OPENAI_H
#define ARGOS_OPENAI_H

#include "argos_answer.h"
#include "argos_json_text.h"
#include "argos_messages.h"

//  The body of a streaming request, new. The same request gives the same bytes. host decides the
//  name of the output limit (NULL = unknown).
char *argos_openai_request (const argos_request_t *request, const char *host);

//  One data event of the stream. Returns 0; or -1 when it is no JSON (the answer has failed then).
int argos_openai_event (
    argos_answer_t *answer, argos_json_carry_t *carry, const char *data, size_t size);

//  An answer that was not streamed. Returns 0, or -1 as above.
int argos_openai_whole (argos_answer_t *answer, const char *data, size_t size);

#endif
