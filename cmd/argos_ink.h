//  argos_ink - Markdown as it streams in, for a terminal: bold, headings, lists, code in colours.
//
//  Pure: bytes in, bytes with SGR sequences out. Whatever way a text is cut into pieces, the same
//  comes out. Nothing of it is lost: a mark that is not closed in its line stays as it is.

#ifndef ARGOS_INK_H
#define ARGOS_INK_H

#include <stddef.h>

#define ARGOS_INK_HELD 512 //  Bytes that are held back for the end of a mark

typedef struct argos_ink argos_ink_t;

argos_ink_t *argos_ink_new (void);

//  NULL-safe, idempotent.
void argos_ink_destroy (argos_ink_t **self_p);

//  More of the text. Returns what can be shown by now: without colour at its end, without control
//  characters of the text but newline and tab; borrowed until the next call.
const char *argos_ink_feed (argos_ink_t *self, const char *text, size_t size, size_t *ret_size);

//  The rest, at the end of a text; what is fed then begins a line, outside of any code. As above.
const char *argos_ink_end (argos_ink_t *self, size_t *ret_size);

#endif
