//  argos_json_dump - jansson's values to compact JSON.
//
//  Invariant: byte for byte what jansson writes; numbers with a fraction are written by jansson.
//  Strings of a value are valid UTF-8, jansson sees to that. Limits: ARGOS_JSON_DUMP_LEVELS levels,
//  by which a cycle is found.

#include "argos_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    json_dump_callback_t fn; //  Gets the text
    void *arg;               //  Its last argument
    unsigned depth;          //  Levels above
} dump_t;

static int s_value (dump_t *self, const json_t *value);

static int
s_put (dump_t *self, const char *text, size_t size)
{
    return self->fn (text, size, self->arg);
}

static int
s_escape (dump_t *self, unsigned char byte)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    char text[8] = "\\";
    const char *found = byte ? strchr (from, byte) : NULL;
    if (!found)
        return s_put (self, text, (size_t) snprintf (text, sizeof text, "\\u%04X", byte));
    text[1] = to[found - from];
    return s_put (self, text, 2);
}

static int
s_string (dump_t *self, const char *text, size_t size)
{
    const char *start = text, *end = text + size;
    int rc = s_put (self, "\"", 1);
    for (; text < end && rc == 0; text++) {
        unsigned char byte = (unsigned char) *text;
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        if (text > start)
            rc = s_put (self, start, (size_t) (text - start));
        if (rc == 0)
            rc = s_escape (self, byte);
        start = text + 1;
    }
    if (rc == 0 && end > start)
        rc = s_put (self, start, (size_t) (end - start));
    return rc == 0 ? s_put (self, "\"", 1) : rc;
}

static int
s_integer (dump_t *self, json_int_t value)
{
    char text[24];
    return s_put (
        self, text, (size_t) snprintf (text, sizeof text, "%" JSON_INTEGER_FORMAT, value));
}

//  NOLINTBEGIN(misc-no-recursion): bounded by ARGOS_JSON_DUMP_LEVELS

static int
s_array (dump_t *self, const json_t *value)
{
    int rc = s_put (self, "[", 1);
    for (size_t at = 0; at < json_array_size (value) && rc == 0; at++) {
        if (at)
            rc = s_put (self, ",", 1);
        if (rc == 0)
            rc = s_value (self, json_array_get (value, at));
    }
    return rc == 0 ? s_put (self, "]", 1) : rc;
}

static int
s_object (dump_t *self, const json_t *value)
{
    //  jansson's iterators want a value that is not const, though they only read
    union {
        const json_t *given;
        json_t *wanted;
    } view = { value };
    const char *mark = "{";
    int rc = 0;
    for (void *at = json_object_iter (view.wanted); at && rc == 0;
         at = json_object_iter_next (view.wanted, at)) {
        rc = s_put (self, mark, 1);
        if (rc == 0)
            rc = s_string (self, json_object_iter_key (at), json_object_iter_key_len (at));
        if (rc == 0)
            rc = s_put (self, ":", 1);
        if (rc == 0)
            rc = s_value (self, json_object_iter_value (at));
        mark = ",";
    }
    if (rc == 0 && *mark == '{')
        rc = s_put (self, mark, 1);
    return rc == 0 ? s_put (self, "}", 1) : rc;
}

static int
s_value (dump_t *self, const json_t *value)
{
    int rc = -1;
    if (!value || self->depth == ARGOS_JSON_DUMP_LEVELS)
        return rc;
    self->depth++;
    switch (json_typeof (value)) {
    case JSON_OBJECT:
        rc = s_object (self, value);
        break;
    case JSON_ARRAY:
        rc = s_array (self, value);
        break;
    case JSON_STRING:
        rc = s_string (self, json_string_value (value), json_string_length (value));
        break;
    case JSON_INTEGER:
        rc = s_integer (self, json_integer_value (value));
        break;
    case JSON_REAL:
        rc = json_dump_callback (value, self->fn, self->arg, JSON_COMPACT | JSON_ENCODE_ANY);
        break;
    case JSON_TRUE:
        rc = s_put (self, "true", 4);
        break;
    case JSON_FALSE:
        rc = s_put (self, "false", 5);
        break;
    case JSON_NULL:
        rc = s_put (self, "null", 4);
        break;
    }
    self->depth--;
    return rc;
}

//  NOLINTEND(misc-no-recursion)

int
argos_json_dump (const json_t *value, json_dump_callback_t fn, void *arg)
{
    dump_t dump = { .fn = fn, .arg = arg };
    return s_value (&dump, value);
}

//  A text that grows

typedef struct {
    char *data;  //  Bytes, with room for a NUL
    size_t size; //  Bytes
    size_t room; //  Of data
} buffer_t;

static int
s_append (const char *data, size_t size, void *arg)
{
    buffer_t *self = arg;
    if (size >= self->room - self->size) {
        size_t room = self->room * 2 + size;
        char *grown = realloc (self->data, room);
        if (!grown)
            return -1;
        self->data = grown;
        self->room = room;
    }
    memcpy (self->data + self->size, data, size);
    self->size += size;
    return 0;
}

char *
argos_json_dumps (const json_t *value, size_t *ret_size)
{
    buffer_t text = { .data = malloc (512), .room = 512 };
    if (!text.data || argos_json_dump (value, s_append, &text) != 0) {
        free (text.data);
        return NULL;
    }
    text.data[text.size] = 0;
    if (ret_size)
        *ret_size = text.size;
    return text.data;
}
