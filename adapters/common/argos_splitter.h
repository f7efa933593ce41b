//  argos_splitter - Markdown that is too long for one message, as several that each stand alone:
//  a block of code that is cut is closed in one and opened again in the next.

#ifndef ARGOS_SPLITTER_H
#define ARGOS_SPLITTER_H

#include "argos_unit.h"

#include <stdbool.h>

typedef struct {
    char *text;  //  The message
    size_t from; //  Where its part of the text begins (the text with \n as only end of a line)
    size_t to;   //  Where it ends; what is between two parts are blanks or a line that closes code
} argos_chunk_t;

typedef struct {
    argos_chunk_t *items; //  In order
    size_t count;         //  How many
} argos_chunks_t;

//  The text in pieces of at most limit units, none of them blank. limit >= 64 outside of tests;
//  numbered: each piece of several ends in " (i/N)". Free the result by argos_chunks_clear.
argos_chunks_t argos_splitter_split (
    const char *text, argos_unit_t unit, size_t limit, bool numbered);

//  Frees the pieces. NULL-safe, idempotent.
void argos_chunks_clear (argos_chunks_t *self);

//  Adds a piece (takes text over).
void argos_chunks_add (argos_chunks_t *self, char *text, size_t from, size_t to);

//  A copy of the text with \n for each CR LF and CR. The caller frees it.
char *argos_splitter_lines (const char *text);

//  A place in a line that opens or closes a block of code, by the rules of CommonMark
typedef struct {
    size_t open;   //  Where the opening line begins
    size_t body;   //  Where the code begins
    size_t close;  //  Where the closing line begins; the size of the text when there is none
    size_t end;    //  Where the closing line ends (its newline, or the end)
    size_t indent; //  Blanks before the opening fence, at most 3
    size_t run;    //  Characters of the opening fence
} argos_fence_t;

//  The blocks of code of a text, in order; NULL when it has none. The caller frees the array.
argos_fence_t *argos_splitter_fences (const char *text, size_t size, size_t *ret_count);

#endif
