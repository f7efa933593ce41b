//  argos_messages - a stored transcript made fit for a provider.
//
//  Pure; the input is never changed. Afterwards: adjacent user messages are one, each tool call has
//  exactly one result directly behind it, no result stands alone, no message is empty, stored
//  arguments are compact JSON objects with sorted members (so that a replay has the same bytes).
//  The members reasoning_content and _thinking of an assistant message with calls are kept: some
//  providers want back what they have thought.
//
//  A row of the user may have `attachments` (as in turn.request). What there is of an image is
//  looked up by its blob: a data URL makes the content a list of {"type":"text","text"} and
//  {"type":"image","url"}, which each wire puts into its own form; other words are added to the
//  text.

#ifndef ARGOS_MESSAGES_H
#define ARGOS_MESSAGES_H

#include <jansson.h>
#include <stdbool.h>
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
#define ARGOS_ADJUST_IMAGES 256u   //  Images: their notes have to do

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
    struct argos_tool_memo *memo; //  Text of the tools from call to call, NULL = it is made anew
} argos_request_t;

//  A new array of {role, content, tool_calls?, tool_call_id?} from rows as session.load gives them;
//  the caller's. images: {blob: a data URL, or words that stand for it}; NULL = none.
json_t *argos_messages_repair (const json_t *rows, const json_t *images);

//  Whether that is an image of a data URL, not words that stand for it.
bool argos_messages_is_image (const json_t *image);

//  The text of a message's content (a string, or the text parts of a list joined with LF), new.
char *argos_messages_text (const json_t *content);

#endif
