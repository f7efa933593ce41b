//  argos_patch - replaces a piece of a text by another one, as a model describes it. Pure.
//
//  The piece is looked for as it is; when it is not there, line by line under rules that are less
//  and less strict: blanks at the ends of lines, runs of blanks, indentation, backslashes, blank
//  lines around it, other dashes and quotes; last, blocks whose words and numbers are all the same
//  and that are alike in at least 0.9 of their characters. A block that differs in one word is no
//  match. The result says by which rule, and shows what was changed.

#ifndef ARGOS_PATCH_H
#define ARGOS_PATCH_H

#include <stdbool.h>
#include <stddef.h>

#define ARGOS_PATCH_DIFF_MAX 16384 //  Bytes of a diff; more is cut with a line that says so

typedef struct {
    char *text;           //  The whole new text; NULL = nothing was changed. The caller's
    char *diff;           //  Unified diff of it; NULL likewise. The caller's
    const char *strategy; //  Rule that has found it, static; NULL = none
    size_t count;         //  Matches
    size_t end;           //  Where the new piece ends in the new text
    bool applied;         //  The new piece is there already, and the old one is not
    char error[1024];     //  What is wrong, "" = nothing
} argos_patch_t;

//  Replaces old by new in text (terminated strings without NUL). Fills *ret; with replace_all all
//  matches, else there must be one.
void argos_patch_replace (
    const char *text, const char *old, const char *new_text, bool replace_all, argos_patch_t *ret);

//  The same for whole lines (old and new_text end with a newline, or are empty) at or behind
//  from; with first the first match, else there must be one.
void argos_patch_replace_lines (const char *text, size_t from, const char *old,
    const char *new_text, bool first, argos_patch_t *ret);

//  Unified diff of two texts that share a beginning and an end; new (free).
char *argos_patch_diff (const char *path, const char *old_text, const char *new_text);

//  Frees text and diff. NULL-safe, idempotent.
void argos_patch_clear (argos_patch_t *self);

#endif
