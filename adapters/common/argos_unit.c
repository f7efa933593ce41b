//  argos_unit - characters, units and graphemes by utf8proc.
//
//  Invariant: each function goes forward by at least one byte, whatever the bytes are.

#include "argos_unit.h"

#include <utf8proc.h>

#include <string.h>

argos_unit_t
argos_unit_named (const char *name)
{
    if (name && strcmp (name, "utf16") == 0)
        return ARGOS_UNIT_UTF16;
    if (name && strcmp (name, "bytes") == 0)
        return ARGOS_UNIT_BYTES;
    return ARGOS_UNIT_CHARACTERS;
}

int32_t
argos_unit_next (const char *data, size_t size, size_t at, size_t *ret_next)
{
    utf8proc_int32_t character = -1;
    utf8proc_ssize_t used = utf8proc_iterate (
        (const utf8proc_uint8_t *) data + at, (utf8proc_ssize_t) (size - at), &character);
    *ret_next = at + (used > 0 ? (size_t) used : 1);
    return used > 0 ? character : 0xFFFD;
}

size_t
argos_unit_previous (const char *data, size_t at)
{
    size_t first = at > 4 ? at - 4 : 0;
    size_t place = at - 1;
    while (place > first && ((unsigned char) data[place] & 0xC0) == 0x80)
        place--;
    return place;
}

static size_t
s_cost (argos_unit_t unit, int32_t character, size_t bytes)
{
    if (unit == ARGOS_UNIT_BYTES)
        return bytes;
    return unit == ARGOS_UNIT_UTF16 && character > 0xFFFF ? 2 : 1;
}

size_t
argos_unit_count (argos_unit_t unit, const char *data, size_t size)
{
    size_t count = 0;
    size_t next = 0;
    for (size_t at = 0; at < size; at = next) {
        int32_t character = argos_unit_next (data, size, at, &next);
        count += s_cost (unit, character, next - at);
    }
    return count;
}

size_t
argos_unit_fit (argos_unit_t unit, const char *data, size_t size, size_t limit)
{
    size_t count = 0;
    size_t at = 0;
    while (at < size) {
        size_t next = 0;
        int32_t character = argos_unit_next (data, size, at, &next);
        count += s_cost (unit, character, next - at);
        if (count > limit)
            break;
        at = next;
    }
    return at;
}

size_t
argos_unit_grapheme (const char *data, size_t size, size_t from, size_t at)
{
    size_t found = from;
    size_t next = from;
    int32_t before = -1;
    utf8proc_int32_t state = 0;
    for (size_t place = from; place <= at; place = next) {
        if (place == size)
            return size;
        int32_t character = argos_unit_next (data, size, place, &next);
        if (place > from && utf8proc_grapheme_break_stateful (before, character, &state))
            found = place;
        before = character;
    }
    return found;
}
