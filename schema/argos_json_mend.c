//  argos_json_mend - JSON with characters that don't exist becomes JSON.
//
//  Invariant: what is good JSON comes out as it is; nothing but bytes that are no UTF-8, NUL and
//  its escape, and escapes of half a surrogate pair are changed, each into U+FFFD. Limit: the text
//  grows to three times its size at most.

#include "argos_json.h"
#include "argos_utf8.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" //  U+FFFD

//  The unit of an escape \uXXXX at text, -1 when it is none

static int
s_unit (const char *text, const char *end)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    int unit = 0;
    if (end - text < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const char *digit = text[i] ? strchr (digits, text[i]) : NULL;
        if (!digit)
            return -1;
        unit = unit * 16 + (int) (digit - digits) % 16;
    }
    return unit;
}

//  How many bytes stand at text that are good as they are; 0 = none. *ret_bad is then how many are
//  not.

static size_t
s_good (const char *text, const char *end, size_t *ret_bad)
{
    *ret_bad = 1;
    if (*text != '\\')
        return *text ? argos_utf8_length ((const unsigned char *) text, (size_t) (end - text)) : 0;
    int unit = s_unit (text, end);
    if (unit < 0)
        return end - text > 1 && (unsigned char) text[1] < 0x80 && text[1] ? 2 : 1;
    *ret_bad = 6;
    if (unit >= 0xd800 && unit < 0xdc00) {
        int low = s_unit (text + 6, end);
        return low >= 0xdc00 && low < 0xe000 ? 12 : 0;
    }
    return unit == 0 || (unit >= 0xdc00 && unit < 0xe000) ? 0 : 6;
}

char *
argos_json_mend (const void *data, size_t size, size_t *ret_size)
{
    const char *text = data, *end = text + size;
    char *mended = malloc (size * 3 + 1);
    size_t put = 0, bad;
    while (mended && text < end) {
        size_t good = s_good (text, end, &bad);
        memcpy (mended + put, good ? text : REPLACEMENT, good ? good : 3);
        put += good ? good : 3;
        text += good ? good : bad;
    }
    *ret_size = put;
    return mended;
}

json_t *
argos_json_load_mended (const void *data, size_t size, size_t flags, json_error_t *error)
{
    json_t *value = argos_json_load (data, size, flags, error);
    if (value)
        return value;
    size_t mended_size;
    char *mended = argos_json_mend (data, size, &mended_size);
    if (mended && (mended_size != size || memcmp (mended, data, size) != 0))
        value = json_loadb (mended, mended_size, flags, error);
    free (mended);
    return value;
}
