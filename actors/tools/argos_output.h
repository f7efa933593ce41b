//  argos_output - collects what a command prints, in bounded memory, and makes a text of it that a
//  model can read. Pure.
//
//  The text: escape sequences and control characters (but tab, newline and return) are gone, bytes
//  that are no UTF-8 are U+FFFD, secrets are masked, and it has at most as many bytes as was asked
//  for: the first 40 % and the last 60 %, with a line between them that says how much is left out.

#ifndef ARGOS_OUTPUT_H
#define ARGOS_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#define ARGOS_OUTPUT_MAX 50000    //  Bytes of the text when nothing else is asked for
#define ARGOS_OUTPUT_LIMIT 262144 //  Bytes of the text that may be asked for

typedef struct argos_output argos_output_t;

//  A new empty one; the caller's. max is the most bytes of its text, at least 1024 (limited to
//  ARGOS_OUTPUT_LIMIT). It takes at most 320 KiB, whatever is printed.
argos_output_t *argos_output_new (size_t max);

//  NULL-safe, idempotent.
void argos_output_destroy (argos_output_t **self_p);

//  More output, in order.
void argos_output_add (argos_output_t *self, const void *data, size_t size);

//  Bytes added so far.
uint64_t argos_output_total (const argos_output_t *self);

//  The text of what has been added; new, the caller's, terminated.
char *argos_output_text (const argos_output_t *self);

//  The same with at most ARGOS_OUTPUT_LIMIT bytes, when that is more than the text has; else NULL.
char *argos_output_long (const argos_output_t *self);

#endif
