//  argos_plain - a text without its disguises, for rules that look at it. Pure.
//
//  Escape sequences (7-bit, 8-bit, OSC), NUL and other controls (but tab and newline) and invisible
//  characters are gone; letters, digits and signs in another dress (full width, mathematical,
//  circled, Cyrillic and Greek look-alikes, other dashes, quotes, slashes and blanks) are the plain
//  ones of ASCII. Case is kept.

#ifndef ARGOS_PLAIN_H
#define ARGOS_PLAIN_H

#include <stddef.h>

//  The plain text of size bytes; new (free), terminated, never longer than what came in.
char *argos_plain_text (const char *text, size_t size);

#endif
