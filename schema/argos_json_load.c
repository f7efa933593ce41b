//  argos_json_load - JSON from memory to jansson's values.
//
//  Invariant: what is read here without jansson is what jansson would have read; whatever is rare
//  (numbers with a fraction, more than 18 digits, halves of surrogate pairs, escapes in names,
//  names twice) or wrong is left to jansson, which decides. Limits: ARGOS_JSON_LEVELS levels.

#include "argos_json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 18 //  An integer of so many digits fits

typedef struct {
    const char *at;  //  Next byte
    const char *end; //  Behind the last one
    unsigned depth;  //  Levels above
} scan_t;

typedef struct {
    const char *data; //  Between the quotes
    size_t size;      //  Bytes
    bool escaped;     //  Has a backslash
    bool ascii;       //  Has nothing else than ASCII
} text_t;

static json_t *s_value (scan_t *scan);

static void
s_skip_space (scan_t *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r'))
        scan->at++;
}

static bool
s_accept (scan_t *scan, char wanted)
{
    s_skip_space (scan);
    if (scan->at == scan->end || *scan->at != wanted)
        return false;
    scan->at++;
    return true;
}

//  Goes over eight bytes at a time as long as none of them ends the text, begins an escape or is a
//  control character. A text is plain almost everywhere.

static void
s_skip_plain (scan_t *scan, unsigned char *all)
{
    const uint64_t ones = 0x0101010101010101, tops = ones << 7;
    uint64_t seen = 0;
    for (; scan->end - scan->at >= 8; scan->at += 8) {
        uint64_t word;
        memcpy (&word, scan->at, sizeof word);
        uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
        //  The top bit of a byte that is smaller than what is taken from it, maybe of some above it
        uint64_t found =
            ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word);
        if (found & tops)
            break;
        seen |= word;
    }
    if (seen & tops)
        *all |= 0x80;
}

//  Where a string begins and ends

static bool
s_text (scan_t *scan, text_t *text)
{
    unsigned char all = 0;
    if (!s_accept (scan, '"'))
        return false;
    text->data = scan->at;
    text->escaped = false;
    s_skip_plain (scan, &all);
    while (scan->at < scan->end && *scan->at != '"') {
        unsigned char byte = (unsigned char) *scan->at++;
        if (byte < 0x20)
            return false;
        all |= byte;
        if (byte != '\\')
            continue;
        text->escaped = true;
        if (scan->at == scan->end)
            return false;
        scan->at++;
        s_skip_plain (scan, &all);
    }
    if (scan->at == scan->end)
        return false;
    text->size = (size_t) (scan->at++ - text->data);
    text->ascii = all < 0x80;
    return true;
}

//  The ASCII character of an escape after its backslash; 0 when it is none or another one

static int
s_escape (const char **at, const char *end)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    char letter = *(*at)++;
    if (letter == 'u') {
        unsigned code = 0;
        for (int i = 0; i < 4; i++, (*at)++) {
            const char *digit = *at < end && **at ? strchr (digits, **at) : NULL;
            if (!digit)
                return 0;
            code = code * 16 + (unsigned) (digit - digits) % 16;
        }
        return code < 0x80 ? (int) code : 0;
    }
    const char *found = letter ? strchr (from, letter) : NULL;
    return found ? to[found - from] : 0;
}

static json_t *
s_unescape (const text_t *text)
{
    char *target = malloc (text->size + 1);
    size_t size = 0;
    const char *at = text->data, *end = at + text->size;
    bool good = target != NULL;
    while (good && at < end) {
        int byte = (unsigned char) *at++;
        if (byte == '\\') {
            byte = s_escape (&at, end);
            good = byte != 0;
        }
        target[size++] = (char) byte;
    }
    json_t *value = good ? json_stringn (target, size) : NULL;
    free (target);
    return value;
}

static json_t *
s_string (scan_t *scan)
{
    text_t text;
    if (!s_text (scan, &text))
        return NULL;
    if (text.escaped)
        return s_unescape (&text);
    return text.ascii ? json_stringn_nocheck (text.data, text.size)
                      : json_stringn (text.data, text.size);
}

static json_t *
s_integer (scan_t *scan)
{
    bool negative = *scan->at == '-';
    const char *start = scan->at += negative;
    json_int_t value = 0;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9' &&
           scan->at - start < DIGITS_MAX)
        value = value * 10 + (*scan->at++ - '0');
    ptrdiff_t digits = scan->at - start;
    if (digits == 0 || (*start == '0' && digits > 1))
        return NULL;
    //  One more digit, a fraction or an exponent is no separator: whoever looks for one gives up
    return json_integer (negative ? -value : value);
}

static json_t *
s_word (scan_t *scan)
{
    size_t left = (size_t) (scan->end - scan->at);
    if (left >= 4 && memcmp (scan->at, "true", 4) == 0) {
        scan->at += 4;
        return json_true ();
    }
    if (left >= 4 && memcmp (scan->at, "null", 4) == 0) {
        scan->at += 4;
        return json_null ();
    }
    if (left >= 5 && memcmp (scan->at, "false", 5) == 0) {
        scan->at += 5;
        return json_false ();
    }
    return NULL;
}

//  NOLINTBEGIN(misc-no-recursion): bounded by ARGOS_JSON_LEVELS

static bool
s_member (scan_t *scan, json_t *object)
{
    text_t name;
    size_t count = json_object_size (object);
    s_skip_space (scan);
    if (!s_text (scan, &name) || name.escaped || !s_accept (scan, ':'))
        return false;
    json_t *value = s_value (scan);
    if (!value)
        return false;
    int rc = name.ascii ? json_object_setn_new_nocheck (object, name.data, name.size, value)
                        : json_object_setn_new (object, name.data, name.size, value);
    return rc == 0 && json_object_size (object) == count + 1;
}

static bool
s_item (scan_t *scan, json_t *array)
{
    json_t *value = s_value (scan);
    return value && json_array_append_new (array, value) == 0;
}

//  The rest of an object or an array

static json_t *
s_container (scan_t *scan, json_t *container, char close, bool (*fn) (scan_t *, json_t *))
{
    bool good = container && ++scan->depth <= ARGOS_JSON_LEVELS;
    if (good && !s_accept (scan, close)) {
        do
            good = fn (scan, container);
        while (good && s_accept (scan, ','));
        good = good && s_accept (scan, close);
    }
    scan->depth--;
    if (good)
        return container;
    json_decref (container);
    return NULL;
}

static json_t *
s_value (scan_t *scan)
{
    s_skip_space (scan);
    if (scan->at == scan->end)
        return NULL;
    switch (*scan->at) {
    case '{':
        scan->at++;
        return s_container (scan, json_object (), '}', s_member);
    case '[':
        scan->at++;
        return s_container (scan, json_array (), ']', s_item);
    case '"':
        return s_string (scan);
    case 't':
    case 'f':
    case 'n':
        return s_word (scan);
    default:
        return s_integer (scan);
    }
}

//  NOLINTEND(misc-no-recursion)

json_t *
argos_json_load_plain (const void *data, size_t size)
{
    if (size == 0)
        return NULL;
    const char *text = data;
    scan_t scan = { .at = text, .end = text + size };
    s_skip_space (&scan);
    if (scan.at == scan.end || (*scan.at != '{' && *scan.at != '['))
        return NULL;
    json_t *value = s_value (&scan);
    s_skip_space (&scan);
    if (value && scan.at == scan.end)
        return value;
    json_decref (value);
    return NULL;
}

json_t *
argos_json_load (const void *data, size_t size, size_t flags, json_error_t *error)
{
    json_t *value = argos_json_load_plain (data, size);
    return value ? value : json_loadb (data, size, flags, error);
}
