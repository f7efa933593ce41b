//  argos_args - the arguments of a tool call as models write them, repaired to a JSON object.
//
//  Each repair makes a new text and tries the parser again; the first that parses wins. Limits:
//  32 missing closers, 8 surplus ones. Text that does not end in a closer is never completed: that
//  is a cut-off call, not a careless one, and must not be run.

#include "argos_args.h"

#include "argos_json_text.h"

#include <stdlib.h>
#include <string.h>

#define CLOSERS_MAX 32 //  Missing closers that are added
#define SURPLUS_MAX 8  //  Surplus closers that are taken away

static int
s_accept (argos_text_t *args, const char *data, size_t size)
{
    const char *reason = "";
    json_t *value = argos_json_text_parse (data, size, NULL, &reason);
    if (json_is_string (value)) { //  An object inside a string
        json_t *inner = argos_json_text_parse (
            json_string_value (value), json_string_length (value), NULL, &reason);
        json_decref (value);
        value = inner;
    }
    int rc = -1;
    if (json_is_object (value)) {
        char *compact = json_dumps (value, JSON_COMPACT | JSON_SORT_KEYS);
        if (compact && strlen (compact) <= args->max) {
            argos_text_reset (args);
            argos_text_add (args, compact, strlen (compact));
            rc = 0;
        }
        free (compact);
    }
    json_decref (value);
    return rc;
}

typedef struct {
    argos_text_t *out;         //  Mended text
    char closers[CLOSERS_MAX]; //  Closers of what is open
    size_t depth;              //  How many
    size_t surplus;            //  Closers that closed nothing
    bool in_string;            //  Between quotes
} s_mend_t;

//  Control characters inside strings become spaces or escapes
static void
s_mend_inside (s_mend_t *self, char byte)
{
    self->in_string = byte != '"';
    if ((unsigned char) byte >= 0x20)
        argos_text_add (self->out, &byte, 1);
    else if (byte == '\n')
        argos_text_add (self->out, "\\n", 2);
    else if (byte == '\t')
        argos_text_add (self->out, "\\t", 2);
    else
        argos_text_add (self->out, " ", 1);
}

//  Commas and blanks at the end go: a closer follows
static void
s_trim (argos_text_t *out)
{
    while (out->size && strchr (", \t\r\n", out->data[out->size - 1]))
        out->data[--out->size] = 0;
}

//  A closer that closes nothing is dropped. -1 when there are too many.
static int
s_mend_closer (s_mend_t *self, char byte)
{
    if (!self->depth || self->closers[self->depth - 1] != byte)
        return ++self->surplus > SURPLUS_MAX ? -1 : 0;
    self->depth--;
    s_trim (self->out);
    return argos_text_add (self->out, &byte, 1);
}

static int
s_mend_outside (s_mend_t *self, char byte)
{
    if (byte == '}' || byte == ']')
        return s_mend_closer (self, byte);
    if (byte == '{' || byte == '[') {
        if (self->depth == CLOSERS_MAX)
            return -1;
        self->closers[self->depth++] = byte == '{' ? '}' : ']';
    }
    self->in_string = byte == '"';
    return argos_text_add (self->out, &byte, 1);
}

//  Mends the text and closes what is open. -1 when it can't be.
static int
s_mend (s_mend_t *self, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (self->in_string && data[i] == '\\' && i + 1 < size)
            argos_text_add (self->out, data + i++, 2);
        else if (self->in_string)
            s_mend_inside (self, data[i]);
        else if (s_mend_outside (self, data[i]) < 0)
            return -1;
    }
    if (self->depth)
        s_trim (self->out);
    while (self->depth)
        argos_text_add (self->out, &self->closers[--self->depth], 1);
    return self->in_string ? -1 : 0;
}

int
argos_args_repair (argos_text_t *args)
{
    const char *data = argos_text_str (args);
    size_t size = args->size;
    while (size && strchr (" \t\r\n", data[size - 1]))
        size--;
    while (size && strchr (" \t\r\n", *data)) {
        data++;
        size--;
    }
    bool nothing = size == 0 || (size == 4 && memcmp (data, "null", 4) == 0) ||
                   (size == 4 && memcmp (data, "None", 4) == 0);
    if (nothing) {
        argos_text_reset (args);
        return argos_text_add (args, "{}", 2);
    }
    if (s_accept (args, data, size) == 0)
        return 0;
    if (argos_args_cut_off (args))
        return -1;
    argos_text_t out;
    argos_text_init (&out, size * 2 + CLOSERS_MAX + 1);
    s_mend_t mend = { .out = &out };
    int rc = s_mend (&mend, data, size);
    if (rc == 0)
        rc = s_accept (args, argos_text_str (&out), out.size);
    argos_text_clear (&out);
    return rc;
}

bool
argos_args_cut_off (const argos_text_t *args)
{
    size_t size = args->size;
    while (size && strchr (" \t\r\n", args->data[size - 1]))
        size--;
    return size && args->data[size - 1] != '}' && args->data[size - 1] != ']';
}
