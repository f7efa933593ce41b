//  argos_unit - how long a text is: each platform counts something else.
//
//  Texts are valid UTF-8; a byte that is none counts as one character of its own.

#ifndef ARGOS_UNIT_H
#define ARGOS_UNIT_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    ARGOS_UNIT_CHARACTERS, //  Code points
    ARGOS_UNIT_UTF16,      //  Units of UTF-16: 2 above U+FFFF
    ARGOS_UNIT_BYTES       //  Bytes of UTF-8
} argos_unit_t;

//  The unit that a capability descriptor calls so ("characters", "utf16", "bytes"); characters for
//  any other name.
argos_unit_t argos_unit_named (const char *name);

//  The length of size bytes, in units.
size_t argos_unit_count (argos_unit_t unit, const char *data, size_t size);

//  The longest prefix of at most limit units, in bytes; it never cuts a character.
size_t argos_unit_fit (argos_unit_t unit, const char *data, size_t size, size_t limit);

//  The character at data[at] and where the next one begins; at < size. U+FFFD for what is none.
int32_t argos_unit_next (const char *data, size_t size, size_t at, size_t *ret_next);

//  Where the character before data[at] begins; at > 0.
size_t argos_unit_previous (const char *data, size_t at);

//  The last boundary between two graphemes (what a reader takes for one character) in (from, at],
//  from if there is none. from has to be such a boundary itself.
size_t argos_unit_grapheme (const char *data, size_t size, size_t from, size_t at);

#endif
