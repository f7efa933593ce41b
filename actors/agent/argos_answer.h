//  argos_answer - one answer of a model, put together from the pieces of a stream.
//
//  Pure; the same for every provider wire. The wire parsers fill it, argos_answer_settle decides
//  what it is. Bounded: text of 256 KiB as JSON, 16 tool calls of 128 KiB.

#ifndef ARGOS_ANSWER_H
#define ARGOS_ANSWER_H

#include "argos_think.h"

#include <jansson.h>

#define ARGOS_ANSWER_TEXT_MAX 262144   //  Bytes of the text, counted as they are in JSON
#define ARGOS_ANSWER_THOUGHT_MAX 65536 //  Bytes of what it has thought that are kept
#define ARGOS_ANSWER_CALLS 16          //  Tool calls of one answer
#define ARGOS_ANSWER_ARGS_MAX 131072   //  Bytes of the arguments of one call

typedef enum {
    ARGOS_FINISH_NONE,   //  None was given
    ARGOS_FINISH_STOP,   //  The model was done
    ARGOS_FINISH_LENGTH, //  The output limit
    ARGOS_FINISH_TOOLS,  //  It wants tools
    ARGOS_FINISH_FILTER  //  Withheld by the provider
} argos_finish_t;

typedef enum {
    ARGOS_ANSWER_TEXT,  //  Final text (perhaps empty)
    ARGOS_ANSWER_TOOLS, //  Tool calls, all with arguments that are JSON objects
    ARGOS_ANSWER_CUT,   //  The stream ended before the answer did
    ARGOS_ANSWER_EMPTY, //  Nothing at all
    ARGOS_ANSWER_FAILED //  An error object, or something that is no answer: see error
} argos_answer_kind_t;

typedef struct {
    int64_t index;     //  Number that the provider gave, to find it again
    char id[129];      //  Call id; "" until settled when the provider gave none
    char name[65];     //  Tool
    argos_text_t args; //  JSON text of the arguments
    bool broken;       //  Arguments were not JSON and could not be repaired; then they are {}
} argos_answer_call_t;

typedef struct {
    argos_think_t think;                           //  Parts visible text from thoughts
    argos_text_t text;                             //  Visible text
    size_t text_cost;                              //  Its bytes as JSON
    size_t visible;                                //  Bytes of text before the first tool call
    bool text_full;                                //  Text beyond the limit was left out
    argos_answer_call_t *calls;                    //  Tool calls in order; NULL = never had one
    size_t call_count;                             //  How many
    argos_finish_t finish;                         //  Why it ended
    bool ended;                                    //  The stream said that it is complete
    argos_text_t reasoning;                        //  What it has thought, as far as it says so
    json_t *thinking;                              //  Blocks of the Anthropic wire, to be sent back
    char cut_call[65];                             //  Tool of a call that was cut off, "" = none
    int64_t input_tokens, output_tokens;           //  Usage, 0 when not told
    int64_t cache_read_tokens, cache_write_tokens; //  Of the input; 0 when not told
    int64_t reasoning_tokens;                      //  Of the output; 0 when not told
    char error[513];                               //  In-stream error, or why it is no answer
    char error_type[65];                           //  Type or code of an error object, "" when none
    bool failed;                                   //  error is set
    size_t events;                                 //  Data events read
} argos_answer_t;

//  A new empty answer; the caller's.
argos_answer_t *argos_answer_new (void);
void argos_answer_destroy (argos_answer_t **self_p);

//  More of what the model says; what is over the limit is left out. Blocks of thoughts in it
//  (argos_think.h) go to self->reasoning. Returns the bytes added: they are at the end of
//  self->text.
size_t argos_answer_add_text (argos_answer_t *self, const char *text, size_t size);

//  The call with that index; a new one when there is none, or when id is not "" and not its id
//  (some servers send index 0 for every call). NULL when there are too many.
argos_answer_call_t *argos_answer_call (argos_answer_t *self, int64_t index, const char *id);

//  More argument text of a call. -1 when it is over the limit.
int argos_answer_add_args (argos_answer_call_t *call, const char *text, size_t size);

//  Records an error object or sentence; the first one stays.
void argos_answer_fail (argos_answer_t *self, const char *type, const char *error);

//  Reads {"error":...} in its known shapes. Returns false when value holds none.
bool argos_answer_read_error (argos_answer_t *self, const json_t *value);

//  At the end of the stream: what it is. Gives missing call ids (seed and position make them),
//  repairs arguments, drops exact duplicates. Arguments that look cut off make it LENGTH without
//  calls.
argos_answer_kind_t argos_answer_settle (argos_answer_t *self, const char *seed);

//  Wire name of a finish: "stop", "length", "tool_calls", "content_filter".
const char *argos_finish_name (argos_finish_t finish);

#endif
