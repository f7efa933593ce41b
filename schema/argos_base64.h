//  argos_base64 - base64 of RFC 4648 with padding, both ways. Pure; for content, not for secrets
//  (its time depends on what it reads).

#ifndef ARGOS_BASE64_H
#define ARGOS_BASE64_H

#include <stddef.h>

//  Bytes of the text of so many bytes, terminated.
#define ARGOS_BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4 + 1)

//  Decodes size characters to target, which has max bytes. Returns how many there are, or -1: not
//  base64, not padded, bits behind the end, or more than max.
long argos_base64_decode (const char *text, size_t size, unsigned char *target, size_t max);

//  Encodes size bytes to target, which has ARGOS_BASE64_SIZE (size) bytes.
void argos_base64_encode (const unsigned char *bytes, size_t size, char *target);

#endif
