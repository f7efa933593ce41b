//  argos_patch_priv - what the files of argos_patch share. Not for users.

#ifndef ARGOS_PATCH_PRIV_H
#define ARGOS_PATCH_PRIV_H

#include "argos_patch.h"

#define MATCHES_MAX 4096 //  Of one piece

typedef struct {
    const char *start; //  First byte
    size_t size;       //  Without the newline
} patch_line_t;

typedef struct {
    patch_line_t *lines; //  Own
    size_t count;        //  How many
} patch_lines_t;

typedef struct {
    size_t from, to; //  Bytes of the text
} patch_span_t;

typedef struct {
    patch_span_t spans[MATCHES_MAX]; //  In order, they do not overlap
    size_t count;                    //  How many
} patch_spans_t;

//  argos_patch_find.c
//  The same memory, or the end when there is none.
void *patch_memory (void *memory);
//  The lines of a text; its lines are to be freed.
patch_lines_t patch_lines (const char *text);
patch_line_t patch_trim (patch_line_t line);
//  How alike two lines are, 0 to 1.
double patch_alike (patch_line_t one, patch_line_t other);
//  A copy with backslashes taken for what they stand for.
char *patch_unescaped (const char *text);
//  Looks by each rule, in order (whole_lines: only by those for lines); the name of the one that
//  has found something, or NULL.
const char *patch_find (
    const char *text, size_t from, const char *old, bool whole_lines, patch_spans_t *spans);

#endif
