//  argos_json_text - the JSON of a provider, made fit for a strict parser.
//
//  One pass over the bytes. Text that needs no mending is parsed where it is, without a copy.
//  Limits: nesting of ARGOS_JSON_DEPTH; the mended text is at most twice as long as the input.

#include "argos_json_text.h"

#include "argos_json.h"

#include <stdio.h>
#include <string.h>

//  The four hex digits after \u, or -1
static int
s_hex4 (const char *data, size_t size)
{
    if (size < 4)
        return -1;
    int value = 0;
    for (size_t i = 0; i < 4; i++) {
        char digit = data[i];
        int digit_value = digit >= '0' && digit <= '9'   ? digit - '0'
                          : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                          : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                         : -1;
        if (digit_value < 0)
            return -1;
        value = value * 16 + digit_value;
    }
    return value;
}

static bool
s_is_high (int unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool
s_is_low (int unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

typedef struct {
    const char *data; //  Text
    size_t size;      //  Its bytes
    size_t depth;     //  Nesting
    bool in_string;   //  Between quotes
    bool mend;        //  Something is to be mended
} s_scan_t;

//  The code unit of an escape at data[at] (a backslash), or -1 when it is another escape
static int
s_escape (const char *data, size_t size, size_t at)
{
    return at + 1 < size && data[at + 1] == 'u' ? s_hex4 (data + at + 2, size - at - 2) : -1;
}

static void
s_scan_structure (s_scan_t *self, unsigned char byte)
{
    if (byte == '"')
        self->in_string = !self->in_string;
    else if (self->in_string)
        return;
    else if (byte == '{' || byte == '[')
        self->depth++;
    else if ((byte == '}' || byte == ']') && self->depth)
        self->depth--;
}

//  What stands at this place; returns its bytes
static size_t
s_scan_one (s_scan_t *self, size_t at)
{
    unsigned char byte = (unsigned char) self->data[at];
    if (byte >= 0x80 || byte == 0) {
        size_t length =
            byte ? argos_utf8_length ((const unsigned char *) self->data + at, self->size - at) : 0;
        self->mend = self->mend || !length;
        return length ? length : 1;
    }
    if (self->in_string && byte == '\\') {
        int unit = s_escape (self->data, self->size, at);
        self->mend = self->mend || unit == 0 || s_is_high (unit) || s_is_low (unit);
        return 2;
    }
    s_scan_structure (self, byte);
    return 1;
}

static void
s_add_unit (argos_text_t *target, unsigned unit)
{
    char escape[8];
    snprintf (escape, sizeof escape, "\\u%04x", unit & 0xFFFF);
    argos_text_add (target, escape, 6);
}

//  The first half of a pair: both halves as they are, or the half waits, or it is lost
static size_t
s_mend_high (
    const char *data, size_t size, size_t at, argos_text_t *target, argos_json_carry_t *carry)
{
    size_t next = at + 6;
    if (next < size && data[next] == '\\' && s_is_low (s_escape (data, size, next))) {
        argos_text_add (target, data + at, 12);
        return 12;
    }
    if (carry && next < size && data[next] == '"')
        carry->high = (unsigned) s_escape (data, size, at); //  Said when its other half comes
    else
        s_add_unit (target, 0xFFFD);
    return 6;
}

//  The second half of a pair, alone: joined with the one that waits
static void
s_mend_low (bool first, unsigned unit, argos_text_t *target, argos_json_carry_t *carry)
{
    if (first && carry && carry->high) {
        s_add_unit (target, carry->high);
        s_add_unit (target, unit);
        carry->high = 0;
    }
    else
        s_add_unit (target, 0xFFFD);
}

//  Mends the escape at data[at] (a backslash) and returns how many bytes it took
static size_t
s_mend_escape (
    const char *data, size_t size, size_t at, argos_text_t *target, argos_json_carry_t *carry)
{
    int unit = s_escape (data, size, at);
    if (unit < 0) {
        size_t length = at + 1 < size ? 2 : 1;
        argos_text_add (target, data + at, length);
        return length;
    }
    if (s_is_high (unit))
        return s_mend_high (data, size, at, target, carry);
    if (s_is_low (unit))
        s_mend_low (at && data[at - 1] == '"', (unsigned) unit, target, carry);
    else
        s_add_unit (target, unit ? (unsigned) unit : 0xFFFD);
    return 6;
}

static void
s_mend (const char *data, size_t size, argos_text_t *target, argos_json_carry_t *carry)
{
    size_t at = 0;
    while (at < size) {
        unsigned char byte = (unsigned char) data[at];
        if (byte == '\\')
            at += s_mend_escape (data, size, at, target, carry);
        else {
            size_t length =
                byte ? argos_utf8_length ((const unsigned char *) data + at, size - at) : 0;
            if (length)
                argos_text_add (target, data + at, length);
            else
                argos_text_add (target, "\xEF\xBF\xBD", 3);
            at += length ? length : 1;
        }
    }
}

json_t *
argos_json_text_parse (
    const char *data, size_t size, argos_json_carry_t *carry, const char **ret_reason)
{
    s_scan_t scan = { .data = data, .size = size };
    for (size_t at = 0; at < size;) {
        at += s_scan_one (&scan, at);
        if (scan.depth > ARGOS_JSON_DEPTH) {
            *ret_reason = "JSON is nested deeper than 64 levels";
            return NULL;
        }
    }
    json_t *value;
    if (!scan.mend)
        value = argos_json_load (data, size, JSON_DECODE_ANY, NULL);
    else {
        argos_text_t mended;
        argos_text_init (&mended, size * 3 + 16);
        s_mend (data, size, &mended, carry);
        value = argos_json_load (argos_text_str (&mended), mended.size, JSON_DECODE_ANY, NULL);
        argos_text_clear (&mended);
    }
    if (!value)
        *ret_reason = "not valid JSON";
    return value;
}
