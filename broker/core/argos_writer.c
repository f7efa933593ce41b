//  argos_writer - builds small JSON texts in a buffer of fixed size.
//
//  Invariant: never writes beyond the buffer; who builds a text knows that it fits, since every
//  string put in is bounded.

#include "argos_writer.h"

#include <assert.h>
#include <string.h>

static void
s_put (argos_writer_t *self, const char *data, size_t size)
{
    assert (self->size + size <= ARGOS_WRITER_MAX);
    memcpy (self->data + self->size, data, size);
    self->size += size;
}

void
argos_writer_clear (argos_writer_t *self)
{
    self->size = 0;
}

void
argos_writer_raw (argos_writer_t *self, const char *text)
{
    s_put (self, text, strlen (text));
}

void
argos_writer_int (argos_writer_t *self, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t) value : (uint64_t) value;
    do {
        digits[--at] = (char) ('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0)
        digits[--at] = '-';
    s_put (self, digits + at, sizeof digits - at);
}

void
argos_writer_string (argos_writer_t *self, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    s_put (self, "\"", 1);
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;
        if (c == '"' || c == '\\') {
            char pair[2] = { '\\', *text };
            s_put (self, pair, 2);
        }
        else if (c < 0x20) {
            char escape[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
            s_put (self, escape, 6);
        }
        else
            s_put (self, text, 1);
    }
    s_put (self, "\"", 1);
}

static void
s_name (argos_writer_t *self, const char *name)
{
    if (self->size > 0 && self->data[self->size - 1] != '{')
        s_put (self, ",", 1);
    argos_writer_string (self, name);
    s_put (self, ":", 1);
}

void
argos_writer_member_int (argos_writer_t *self, const char *name, int64_t value)
{
    s_name (self, name);
    argos_writer_int (self, value);
}

void
argos_writer_member_string (argos_writer_t *self, const char *name, const char *value)
{
    s_name (self, name);
    argos_writer_string (self, value);
}
