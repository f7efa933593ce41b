//  argos_think - parts a stream of text into what people see and what a model has only thought, or
//  written as a call of a tool instead of making it. Pure.
//
//  Blocks: <think>, <thinking>, <reasoning>, <thought>, <tool_call>, <tool_calls>,
//  <function_call>, <function_calls>, in any case. At the beginning of a line a block goes to its
//  closing tag or to the end; elsewhere it needs its closing tag. What is quoted, in backticks or
//  between fences of code is a mention and stays.

#ifndef ARGOS_THINK_H
#define ARGOS_THINK_H

#include "argos_text.h"

#define ARGOS_THINK_HELD 8192 //  Bytes that wait for a closing tag; then they are no block

typedef struct {
    argos_text_t held; //  Bytes that are not decided yet
    const char *block; //  Name of the block that it is in, NULL = in none; static
    size_t line;       //  Where the newest line of the shown text begins that was looked at
    bool fenced;       //  That is inside of a block of code
    bool trim;         //  Blanks behind a block are left out
} argos_think_t;

//  Where pieces go. Both may be called any number of times.
typedef struct {
    void (*shown) (void *arg, const char *text, size_t size);  //  For people
    void (*hidden) (void *arg, const char *text, size_t size); //  Of a block
    //  What was shown so far; borrowed until the next piece.
    const argos_text_t *(*so_far) (void *arg);
} argos_think_sink_t;

//  Outside of any block, nothing held.
void argos_think_init (argos_think_t *self);

//  Frees what is held. NULL-safe, idempotent.
void argos_think_clear (argos_think_t *self);

//  More text.
void argos_think_add (
    argos_think_t *self, const char *text, size_t size, const argos_think_sink_t *sink, void *arg);

//  The end of the text: what was not decided is a mention.
void argos_think_end (argos_think_t *self, const argos_think_sink_t *sink, void *arg);

#endif
