//  argos_messages - a stored transcript made fit for a provider.
//
//  Pure; the input is never changed. Afterwards: adjacent user messages are one, each tool call has
//  exactly one result directly behind it, no result stands alone, no message is empty, stored
//  arguments are compact JSON objects with sorted members (so that a replay has the same bytes).

#ifndef ARGOS_MESSAGES_H
#define ARGOS_MESSAGES_H

#include <jansson.h>
#include <stdint.h>

//  What is asked of a provider. All borrowed.

typedef struct {
    const char *model;     //  Model name
    const char *system;    //  System prompt, NULL or "" = none
    const char *extra;     //  More system text of this run, NULL or "" = none
    json_t *messages;      //  What argos_messages_repair made
    const json_t *tools;   //  Array of {name, description, parameters}; NULL or empty = none
    int64_t max_tokens;    //  Limit of the answer, 0 = the provider's own
    const char *reasoning; //  How much it is to think, NULL = as it does by itself
} argos_request_t;

//  A new array of {role, content, tool_calls?, tool_call_id?} from rows as session.load gives them;
//  the caller's.
json_t *argos_messages_repair (const json_t *rows);

//  The text of a message's content (a string, or the text parts of a list joined with LF), new.
char *argos_messages_text (const json_t *content);

#endif
