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

//  Control characters inside strings become spaces or escapes; a comma before a closer goes. The
//  closers that are missing are put into closers (in order), surplus ones are dropped.
static bool
s_mend (const char *data, size_t size, argos_text_t *out, char *closers, size_t *ret_count)
{
    size_t depth = 0, surplus = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char byte = data[i];
        if (in_string) {
            if (byte == '\\' && i + 1 < size) {
                argos_text_add (out, data + i++, 2);
                continue;
            }
            in_string = byte != '"';
            if ((unsigned char) byte >= 0x20)
                argos_text_add (out, &byte, 1);
            else
                argos_text_add (out,
                    byte == '\n'   ? "\\n"
                    : byte == '\t' ? "\\t"
                                   : " ",
                    byte == '\n' || byte == '\t' ? 2 : 1);
            continue;
        }
        in_string = byte == '"';
        if (byte == '{' || byte == '[') {
            if (depth == CLOSERS_MAX)
                return false;
            closers[depth++] = byte == '{' ? '}' : ']';
        }
        else if (byte == '}' || byte == ']') {
            if (!depth || closers[depth - 1] != byte) {
                if (++surplus > SURPLUS_MAX)
                    return false;
                continue;
            }
            depth--;
            while (out->size && strchr (", \t\r\n", out->data[out->size - 1]))
                out->data[--out->size] = 0;
        }
        argos_text_add (out, &byte, 1);
    }
    *ret_count = depth;
    return !in_string;
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
    char closers[CLOSERS_MAX];
    size_t count = 0;
    int rc = -1;
    if (s_mend (data, size, &out, closers, &count)) {
        while (count && out.size && strchr (", \t\r\n", out.data[out.size - 1]))
            out.data[--out.size] = 0;
        while (count)
            argos_text_add (&out, &closers[--count], 1);
        rc = s_accept (args, argos_text_str (&out), out.size);
    }
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
