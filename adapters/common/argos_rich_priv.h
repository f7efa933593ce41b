//  argos_rich_priv - the layout under way, shared by argos_rich.c (blocks and spans of the parser)
//  and argos_rich_text.c (text and spans of the result).

#ifndef ARGOS_RICH_PRIV_H
#define ARGOS_RICH_PRIV_H

#include "argos_rich.h"
#include "argos_table.h"
#include "argos_text.h"

#include <stdint.h>

#define ARGOS_RICH_DEPTH 128 //  Spans in each other; what is deeper is left out

typedef struct {
    bool ordered;  //  With numbers
    unsigned next; //  Number of its next item
} argos_rich_list_t;

typedef struct {
    argos_rich_t rich;                         //  The result; its text is in `text` until the end
    argos_text_t text;                         //  What has been laid out
    argos_span_t stack[ARGOS_RICH_DEPTH];      //  Open spans; from = SIZE_MAX: no text yet
    size_t depth;                              //  How many
    size_t beyond;                             //  Opened beyond the stack
    argos_rich_list_t lists[ARGOS_RICH_DEPTH]; //  Open lists
    size_t list_depth;                         //  How many, also those beyond the array
    size_t breaks;                             //  Newlines due before the next text
    char marker[64];                           //  Bullet or number due before the next text
    size_t spoiler;                            //  Where an open || stands, SIZE_MAX: nowhere
    argos_table_t table;                       //  The table that is being read
    argos_text_t cell;                         //  Its cell
    bool in_cell;                              //  Text goes there
    bool in_code;                              //  Within a block of code
    size_t table_width;                        //  Columns that a block may be wide
} argos_layout_t;

//  Newlines and marker that are due, and the start of spans that waited for text.
void argos_layout_flush (argos_layout_t *self);

//  At least so many newlines before the next text.
void argos_layout_break (argos_layout_t *self, size_t newlines);

//  Appends text (to the cell while in one).
void argos_layout_add (argos_layout_t *self, const char *data, size_t size);

//  As argos_layout_add, with || for what is hidden.
void argos_layout_words (argos_layout_t *self, const char *data, size_t size);

//  A character reference such as &amp; or &#8217;; as it stands when it is not known.
void argos_layout_entity (argos_layout_t *self, const char *data, size_t size);

//  Appends the character reference decoded to target.
void argos_layout_decode (argos_text_t *target, const char *data, size_t size);

//  Opens a span (takes arg over); one within its like is left out.
void argos_layout_open (argos_layout_t *self, argos_span_kind_t kind, char *arg);

//  Closes the span that was opened last: it ends where its text ends.
void argos_layout_close (argos_layout_t *self);

//  Adds a span of the result (takes arg over).
void argos_layout_span (
    argos_layout_t *self, argos_span_kind_t kind, size_t from, size_t to, char *arg);

//  The result: sorted, cut at code, its text trimmed.
void argos_layout_finish (argos_layout_t *self);

#endif
