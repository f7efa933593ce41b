//  argos_redact - masks what is a secret beyond doubt in the output of a command. Pure.
//
//  The logger may mask whatever might be one; here a person works with the text, so that hashes,
//  UUIDs, long file names and source code must stay as they are. Masked are: tokens with a
//  well-known prefix (sk-, ghp_, xoxb-, AKIA ...), JSON web tokens, what follows `Bearer`, the
//  values of assignments to NAMES_LIKE_API_KEY, and the body of private keys in PEM.

#ifndef ARGOS_REDACT_H
#define ARGOS_REDACT_H

#include <stddef.h>

//  Copies size bytes of text (need not be terminated) to target, which has room for size + 1 bytes;
//  the result is never longer. Returns its length; it is terminated.
size_t argos_redact (const char *text, size_t size, char *target);

#endif
