//  argos_text - a growing byte buffer with a hard limit, and the cleaning of text that comes from
//  outside.
//
//  Used for all that a provider sends: nothing grows without a bound, and text that is passed on is
//  always valid UTF-8 without NUL.

#ifndef ARGOS_TEXT_H
#define ARGOS_TEXT_H

#include "argos_utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *data;  //  Bytes, always terminated once allocated; NULL when nothing was added
    size_t size; //  Bytes in use, without the terminator
    size_t room; //  Bytes allocated
    size_t max;  //  Limit of size
} argos_text_t;

//  An empty buffer of at most max bytes; nothing is allocated yet.
void argos_text_init (argos_text_t *self, size_t max);

//  Frees the bytes; the buffer can be used again. NULL-safe, idempotent.
void argos_text_clear (argos_text_t *self);

//  Forgets the bytes, keeps the memory.
void argos_text_reset (argos_text_t *self);

//  Appends size bytes. Returns 0, or -1 (nothing appended) when the limit would be passed.
int argos_text_add (argos_text_t *self, const void *data, size_t size);

//  The bytes as a string; "" when empty. Borrowed until the next change.
const char *argos_text_str (const argos_text_t *self);

//  Takes count bytes off the front.
void argos_text_shift (argos_text_t *self, size_t count);

//  The longest prefix of at most limit bytes that does not cut a UTF-8 sequence of valid text.
size_t argos_utf8_cut (const char *data, size_t size, size_t limit);

//  Appends data as valid UTF-8: bytes that are none, and NUL, become U+FFFD. Stops at the limit of
//  target. Returns the bytes appended.
size_t argos_utf8_add (argos_text_t *target, const char *data, size_t size);

#endif
