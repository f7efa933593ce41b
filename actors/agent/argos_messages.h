//  argos_messages - a stored transcript made fit for a provider.
//
//  Pure; the input is never changed. Afterwards: adjacent user messages are one, each tool call has
//  exactly one result directly behind it, no result stands alone, no message is empty, stored
//  arguments are compact JSON objects with sorted members (so that a replay has the same bytes).
//  The members reasoning_content and _thinking of an assistant message with calls are kept: some
//  providers want back what they have thought.

#ifndef ARGOS_MESSAGES_H
#define ARGOS_MESSAGES_H

#include <jansson.h>
#include <stdint.h>

//  What a request leaves out because a server can't take it
#define ARGOS_ADJUST_STREAM 1u     //  Streaming
#define ARGOS_ADJUST_SCHEMA 2u     //  `pattern` and `format` in schemas of tools
#define ARGOS_ADJUST_THINKING 4u   //  Replayed thinking
#define ARGOS_ADJUST_LIMIT 8u      //  The usual name of the output limit: the other one
#define ARGOS_ADJUST_USAGE 16u     //  The wish to be told of usage
#define ARGOS_ADJUST_EFFORT 32u    //  How much it is to think
#define ARGOS_ADJUST_CACHE 64u     //  Marks for prompt caches
#define ARGOS_ADJUST_SAMPLING 128u //  How it is to choose its words

//  What is asked of a provider. All borrowed.

typedef struct {
    const char *model;     //  Model name
    const char *system;    //  System prompt, NULL or "" = none
    const char *extra;     //  More system text of this run, NULL or "" = none
    json_t *messages;      //  What argos_messages_repair made
    const json_t *tools;   //  Array of {name, description, parameters}; NULL or empty = none
    int64_t max_tokens;    //  Limit of the answer, 0 = the provider's own
    const char *begun;     //  Text that the answer goes on with, NULL = it begins anew
    unsigned adjust;       //  ARGOS_ADJUST_* that are left out
    const char *reasoning; //  How much it is to think, NULL = as it does by itself
    const json_t
        *sampling; //  As in turn.request, NULL = as it does by itself; its max_tokens is not read
} argos_request_t;

//  A new array of {role, content, tool_calls?, tool_call_id?} from rows as session.load gives them;
//  the caller's.
json_t *argos_messages_repair (const json_t *rows);

//  The text of a message's content (a string, or the text parts of a list joined with LF), new.
char *argos_messages_text (const json_t *content);

#endif
