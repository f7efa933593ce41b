//  argos_tool_memo - the tools of a request as text, made once for as long as they are the same.
//  Pure.
//
//  Each call of a model says all tools again, and they hardly ever change: to copy, mend and write
//  them costs more than the rest of a short turn.

#ifndef ARGOS_TOOL_MEMO_H
#define ARGOS_TOOL_MEMO_H

#include <jansson.h>
#include <stdbool.h>

//  Begins as zeros

typedef struct argos_tool_memo {
    json_t *tools; //  Those of the text, our references; NULL = there is none
    bool plain;    //  How they were made
    char *text;    //  The text
} argos_tool_memo_t;

//  A new array for the wire from tools ({name, description, parameters}).
typedef json_t *(argos_tool_memo_fn) (const json_t *tools, bool plain);

//  The text of what form makes of tools. Borrowed until the next call. The tools are the same when
//  they are the same values, in the same order; whoever changes a tool makes a new value.
const char *argos_tool_memo_text (
    argos_tool_memo_t *self, const json_t *tools, bool plain, argos_tool_memo_fn *form);

//  Forgets it.
void argos_tool_memo_clear (argos_tool_memo_t *self);

#endif
