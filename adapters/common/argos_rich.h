//  argos_rich - Markdown as a chat shows it: a plain text, and spans that say what is bold, code, a
//  link. What a platform writes for a span is not known here.
//
//  Markdown is CommonMark with tables, strikethrough, task lists and ||spoilers||; HTML is text. A
//  line break stays one. Lists have bullets, headings are bold, a table is a block of aligned
//  columns or, when too wide, a list.

#ifndef ARGOS_RICH_H
#define ARGOS_RICH_H

#include <stdbool.h>
#include <stddef.h>

//  From the outside to the inside when two have the same place
typedef enum {
    ARGOS_SPAN_QUOTE,   //  A quotation, of whole lines
    ARGOS_SPAN_PRE,     //  A block of code; arg: its language or NULL
    ARGOS_SPAN_BOLD,    //  Strong
    ARGOS_SPAN_ITALIC,  //  Emphasis
    ARGOS_SPAN_STRIKE,  //  Struck through
    ARGOS_SPAN_SPOILER, //  Hidden until asked for
    ARGOS_SPAN_LINK,    //  arg: the address
    ARGOS_SPAN_CODE,    //  Code within a line
    ARGOS_SPAN_KINDS    //  How many
} argos_span_kind_t;

typedef struct {
    argos_span_kind_t kind; //  What it is
    size_t from;            //  First byte of the text
    size_t to;              //  Behind the last one
    char *arg;              //  By kind, or NULL
} argos_span_t;

typedef struct {
    char *text;          //  What is read
    size_t size;         //  Bytes of it
    argos_span_t *spans; //  By place, those that hold others first; none ends within another
    size_t count;        //  How many
} argos_rich_t;

//  Markdown laid out; table_width: columns that a table may be wide as a block. Free it by
//  argos_rich_clear. What is too large for the parser comes back as plain text.
argos_rich_t argos_rich_new (const char *markdown, size_t table_width);

//  Frees what it holds. NULL-safe, idempotent.
void argos_rich_clear (argos_rich_t *self);

#endif
