//  argos_store_hermes_text - bytes of a file of Hermes as a string. Pure.
//
//  Invariant: what comes out is UTF-8 without NUL; what is none becomes U+FFFD, byte by byte. No
//  character is cut.

#include "argos_store_hermes_map.h"

#include <stdlib.h>
#include <string.h>

//  How many bytes a character has that begins with this one, 0 = none does.

static size_t
s_length (unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc0 || first >= 0xf8)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

//  Bytes of the character at text, 0 = it is none: too long, too short, a surrogate, above the
//  last.

static size_t
s_character (const unsigned char *text, size_t size)
{
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = s_length (text[0]);
    if (length < 2)
        return length;
    unsigned code = text[0] & (0x7fu >> length);
    if (length > size)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    bool wrong = code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff);
    return wrong ? 0 : length;
}

json_t *
argos_store_hermes_text (const char *bytes, size_t size, size_t max, bool *ret_cut)
{
    char *text = malloc ((size < max ? 3 * size : max) + 4);
    size_t used = 0, at = 0;
    if (!text)
        abort ();
    while (at < size && used < max) {
        size_t length = s_character ((const unsigned char *) bytes + at, size - at);
        const char *from = length ? bytes + at : "\xef\xbf\xbd";
        size_t count = length ? length : 3;
        at += length ? length : 1;
        if (length == 1 && !*from)
            continue;
        if (used + count > max) {
            at--;
            break;
        }
        memcpy (text + used, from, count);
        used += count;
    }
    if (ret_cut && at < size)
        *ret_cut = true;
    json_t *value = json_stringn (text, used);
    free (text);
    return value;
}
