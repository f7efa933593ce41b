//  argos_anthropic - the Anthropic messages wire: request body and streamed events.
//
//  Pure. Thinking is neither asked for nor shown.

#ifndef ARGOS_ANTHROPIC_H
#define ARGOS_ANTHROPIC_H

#include "argos_answer.h"
#include "argos_json_text.h"
#include "argos_messages.h"

#define ARGOS_ANTHROPIC_TOKENS 8192 //  max_tokens when none is configured; the wire requires one

//  The body of a streaming request, new. The same request gives the same bytes.
char *argos_anthropic_request (const argos_request_t *request);

//  One event of the stream. Returns 0; or -1 when it is no JSON (the answer has failed then).
int argos_anthropic_event (
    argos_answer_t *answer, argos_json_carry_t *carry, const char *data, size_t size);

//  An answer that was not streamed. Returns 0, or -1 as above.
int argos_anthropic_whole (argos_answer_t *answer, const char *data, size_t size);

#endif
