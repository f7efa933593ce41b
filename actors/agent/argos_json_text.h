//  argos_json_text - the JSON of a provider, made fit for a strict parser.
//
//  Providers send what strict JSON does not allow: half a surrogate pair at the end of one chunk
//  and the other half at the start of the next, bytes cut out of a UTF-8 sequence, \u0000. This
//  mends the text before it is parsed, and refuses what is nested too deep. Pure.

#ifndef ARGOS_JSON_TEXT_H
#define ARGOS_JSON_TEXT_H

#include "argos_text.h"

#include <jansson.h>

#define ARGOS_JSON_DEPTH 64 //  Deepest nesting that is parsed

typedef struct {
    unsigned high; //  First half of a surrogate pair that waits for its second half, 0 = none
} argos_json_carry_t;

//  Parses size bytes. carry (may be NULL) keeps the half pair between the chunks of one stream.
//  Returns the value, the caller's; or NULL with a static sentence in *ret_reason.
json_t *argos_json_text_parse (
    const char *data, size_t size, argos_json_carry_t *carry, const char **ret_reason);

#endif
