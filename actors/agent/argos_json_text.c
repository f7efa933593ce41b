//  argos_json_text - the JSON of a provider, made fit for a strict parser.
//
//  One pass over the bytes. Text that needs no mending is parsed where it is, without a copy.
//  Limits: nesting of ARGOS_JSON_DEPTH; the mended text is at most twice as long as the input.

#include "argos_json_text.h"

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

//  The place of the first thing to mend, or size. Also measures the depth.
static size_t
s_scan (const char *data, size_t size, bool *ret_deep)
{
    size_t depth = 0, mend = size;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char) data[i];
        if (byte >= 0x80 || byte == 0) {
            size_t length =
                byte ? argos_utf8_length ((const unsigned char *) data + i, size - i) : 0;
            if (!length && mend == size)
                mend = i;
            i += length ? length - 1 : 0;
        }
        else if (in_string && byte == '\\') {
            int unit =
                i + 1 < size && data[i + 1] == 'u' ? s_hex4 (data + i + 2, size - i - 2) : -1;
            if ((unit == 0 || s_is_high (unit) || s_is_low (unit)) && mend == size)
                mend = i;
            i++;
        }
        else if (byte == '"')
            in_string = !in_string;
        else if (!in_string && (byte == '{' || byte == '['))
            depth++;
        else if (!in_string && (byte == '}' || byte == ']') && depth)
            depth--;
        if (depth > ARGOS_JSON_DEPTH) {
            *ret_deep = true;
            break;
        }
    }
    return mend;
}

static void
s_add_unit (argos_text_t *target, unsigned unit)
{
    char escape[8];
    snprintf (escape, sizeof escape, "\\u%04x", unit & 0xFFFF);
    argos_text_add (target, escape, 6);
}

//  Mends the escape at data[at] (a backslash) and returns how many bytes it took
static size_t
s_mend_escape (
    const char *data, size_t size, size_t at, argos_text_t *target, argos_json_carry_t *carry)
{
    int unit = at + 1 < size && data[at + 1] == 'u' ? s_hex4 (data + at + 2, size - at - 2) : -1;
    if (unit < 0) {
        size_t length = at + 1 < size ? 2 : 1;
        argos_text_add (target, data + at, length);
        return length;
    }
    size_t next = at + 6;
    if (s_is_high (unit)) {
        int low = next + 1 < size && data[next] == '\\' && data[next + 1] == 'u'
                      ? s_hex4 (data + next + 2, size - next - 2)
                      : -1;
        if (s_is_low (low)) {
            argos_text_add (target, data + at, 12);
            return 12;
        }
        if (carry && next < size && data[next] == '"')
            carry->high = (unsigned) unit; //  Said when its other half comes
        else
            s_add_unit (target, 0xFFFD);
        return 6;
    }
    if (s_is_low (unit)) {
        if (carry && carry->high && at && data[at - 1] == '"') {
            s_add_unit (target, carry->high);
            s_add_unit (target, (unsigned) unit);
            carry->high = 0;
        }
        else
            s_add_unit (target, 0xFFFD);
        return 6;
    }
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
    bool deep = false;
    size_t mend = s_scan (data, size, &deep);
    if (deep) {
        *ret_reason = "JSON is nested deeper than 64 levels";
        return NULL;
    }
    json_t *value;
    if (mend == size)
        value = json_loadb (data, size, JSON_DECODE_ANY, NULL);
    else {
        argos_text_t mended;
        argos_text_init (&mended, size * 3 + 16);
        s_mend (data, size, &mended, carry);
        value = json_loadb (argos_text_str (&mended), mended.size, JSON_DECODE_ANY, NULL);
        argos_text_clear (&mended);
    }
    if (!value)
        *ret_reason = "not valid JSON";
    return value;
}
