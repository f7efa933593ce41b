//  argos_v4a - a patch of several files as models write it: Update, Add, Delete and Move File with
//  hunks of context, `-` and `+`. Pure.
//
//      *** Begin Patch
//      *** Update File: a.c
//      *** Move to: b.c
//      @@ int main
//       context
//      -old
//      +new
//      *** Add File: c.c
//      +line
//      *** Delete File: d.c
//      *** Move File: e.c -> f.c
//      *** End Patch
//
//  Begin and End may be missing.

#ifndef ARGOS_V4A_H
#define ARGOS_V4A_H

#include "argos_patch.h"

#define ARGOS_V4A_OPS 64    //  Files of one patch
#define ARGOS_V4A_HUNKS 256 //  Hunks of one file

typedef enum { ARGOS_V4A_UPDATE, ARGOS_V4A_ADD, ARGOS_V4A_DELETE, ARGOS_V4A_MOVE } argos_v4a_kind_t;

typedef struct {
    char *hint;     //  Text of a line before it, NULL = none
    char *old_text; //  Lines that are there, each with its newline
    char *new_text; //  Lines that are to be there
} argos_v4a_hunk_t;

typedef struct {
    argos_v4a_kind_t kind;                   //  What is done
    char *path;                              //  With which file
    char *target;                            //  Where it goes; NULL = it stays
    argos_v4a_hunk_t hunks[ARGOS_V4A_HUNKS]; //  UPDATE; of ADD the only one has new_text
    size_t hunk_count;                       //  How many
} argos_v4a_op_t;

typedef struct {
    argos_v4a_op_t *ops[ARGOS_V4A_OPS]; //  In order
    size_t count;                       //  How many
    char error[512];                    //  What is wrong with it, "" = nothing
} argos_v4a_t;

//  Reads a patch. Fills *ret, to be cleared by the caller. Returns whether it can be used.
bool argos_v4a_parse (const char *text, argos_v4a_t *ret);

//  NULL-safe, idempotent.
void argos_v4a_clear (argos_v4a_t *self);

//  The text of a file after the hunks of an update, which are looked for in order. Fills *ret (no
//  diff) as argos_patch_replace does; ret->count is the number of hunks.
void argos_v4a_apply (const argos_v4a_op_t *op, const char *text, argos_patch_t *ret);

#endif
