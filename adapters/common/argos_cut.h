//  argos_cut - where a text that is too long is cut: behind a blank line, else a line, else a
//  word, in its second half; else before what must stay whole; else between two graphemes.
//
//  The same rule for Markdown as text (argos_splitter) and for text with spans (argos_markdown):
//  what they know of their text is asked by functions.

#ifndef ARGOS_CUT_H
#define ARGOS_CUT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *text; //  Valid UTF-8, lines end in \n
    size_t size;      //  Bytes of it
    size_t limit;     //  Units that a piece may have
    const void *arg;  //  For the functions
    //  Units of the piece [from, to) as it will be sent
    size_t (*measure) (const void *arg, size_t from, size_t to);
    //  The byte at this place is of a block of code: blanks count there
    bool (*verbatim) (const void *arg, size_t at);
    //  No cut at this place
    bool (*barred) (const void *arg, size_t at);
    //  What must stay whole around this place (start < at < end); false: nothing
    bool (*atom) (const void *arg, size_t at, size_t *ret_start, size_t *ret_end);
} argos_cut_t;

//  The end of the piece that begins at from, and in ret_next where the next one begins. Both are
//  from when not even the first character fits.
size_t argos_cut_next (const argos_cut_t *self, size_t from, size_t *ret_next);

//  What must stay whole in running text: a link, an address, a mention, an entity such as &amp;,
//  code between backticks, an escaped character. The end of one that begins at text[at], 0 if none
//  does.
size_t argos_cut_atom (const char *text, size_t size, size_t at);

#endif
