//  argos_utf8 - what is valid UTF-8: no overlong forms, no halves of surrogate pairs, nothing above
//  U+10FFFF.

#ifndef ARGOS_UTF8_H
#define ARGOS_UTF8_H

#include <stddef.h>

//  Length of the valid UTF-8 sequence at data (1 to 4), or 0 when there is none.
size_t argos_utf8_length (const unsigned char *data, size_t size);

#endif
