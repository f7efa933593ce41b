//  argos_schema - the table of message types, and the check of a body at every border.
//
//  Invariant: between init and term the table does not change, so any thread may check. A type is
//  known when its file NAME.schema.json states x-from (who sends it); header and configuration are
//  described there too but are no types. Limits: 64 levels of nesting; the size of a body is the
//  caller's to bound.

#include "argos_schema.h"

#include "argos_embedded.h"
#include "argos_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPES_MAX 256               //  Message types
#define TYPE_BYTES 64               //  Longest name of a type
#define DEPTH_MAX ARGOS_JSON_LEVELS //  Levels of nesting of a body
#define REASON_SIZE 256             //  Bytes of the reason of argos_schema_init
#define SUFFIX ".schema.json"

typedef struct {
    char name[TYPE_BYTES + 1]; //  Message type
    argos_schema_t *schema;    //  What its body must be, owned
} type_t;

static type_t s_types[TYPES_MAX]; //  Sorted by name
static size_t s_type_count;       //  How many

static int
s_compare (const void *one, const void *other)
{
    return strcmp (((const type_t *) one)->name, ((const type_t *) other)->name);
}

static int
s_load (const argos_embedded_t *file, size_t name_size, char *reason)
{
    json_error_t error;
    json_t *schema = json_loadb (file->data, file->size, JSON_REJECT_DUPLICATES, &error);
    if (!schema) {
        snprintf (reason, REASON_SIZE, "schema/%s:%d: %.160s", file->name, error.line, error.text);
        return -1;
    }
    char inner[160] = "";
    argos_schema_t *compiled = argos_schema_compile (schema, inner, sizeof inner);
    bool is_type = json_object_get (schema, "x-from") != NULL;
    json_decref (schema);
    if (!compiled || (is_type && (s_type_count == TYPES_MAX || name_size > TYPE_BYTES))) {
        snprintf (reason, REASON_SIZE, "schema/%.64s: %s", file->name,
            compiled ? "too many types, or too long a name" : inner);
        argos_schema_destroy (&compiled);
        return -1;
    }
    if (is_type) {
        memcpy (s_types[s_type_count].name, file->name, name_size);
        s_types[s_type_count].name[name_size] = 0;
        s_types[s_type_count++].schema = compiled;
    }
    else
        argos_schema_destroy (&compiled);
    return 0;
}

int
argos_schema_init (char *reason)
{
    argos_schema_term ();
    for (const argos_embedded_t *file = argos_embedded_files; file->name; file++) {
        size_t size = strlen (file->name), suffix = strlen (SUFFIX);
        if (size <= suffix || strcmp (file->name + size - suffix, SUFFIX) != 0)
            continue;
        if (s_load (file, size - suffix, reason)) {
            argos_schema_term ();
            return -1;
        }
    }
    qsort (s_types, s_type_count, sizeof *s_types, s_compare);
    return 0;
}

void
argos_schema_term (void)
{
    for (size_t at = 0; at < s_type_count; at++)
        argos_schema_destroy (&s_types[at].schema);
    s_type_count = 0;
}

static const argos_schema_t *
s_find (const char *type)
{
    size_t low = 0, high = s_type_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp (type, s_types[middle].name);
        if (order == 0)
            return s_types[middle].schema;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool
argos_schema_known (const char *type)
{
    return s_find (type) != NULL;
}

typedef struct {
    char *reason; //  Where the first problem goes
    size_t size;  //  Its size
    bool told;    //  Whether it is there
} first_t;

static void
s_first_problem (void *arg, const char *path, const char *expected, bool unknown)
{
    first_t *first = arg;
    if (first->told)
        return;
    first->told = true;
    const char *place = path[0] ? path : "body";
    if (!unknown)
        snprintf (first->reason, first->size, "%s: expected %s", place, expected);
    else if (expected[0])
        snprintf (
            first->reason, first->size, "%s: unknown member; did you mean %s?", place, expected);
    else
        snprintf (first->reason, first->size, "%s: unknown member", place);
}

//  A sentence of ours may have been cut within a character of a pattern or an enum: those are
//  ASCII, so it can't be wrong
static argos_err_t
s_check (const argos_schema_t *schema, const json_t *body, char *reason, size_t size)
{
    first_t first = { .reason = reason, .size = reason ? size : 0 };
    if (size && reason)
        reason[0] = 0;
    int problems =
        argos_schema_validate (schema, body, first.size ? s_first_problem : NULL, &first);
    return problems ? ARGOS_INVALID : ARGOS_OK;
}

static argos_err_t
s_unknown_type (char *reason, size_t size)
{
    if (reason && size)
        snprintf (reason, size, "no such message type");
    return ARGOS_UNKNOWN_TYPE;
}

argos_err_t
argos_schema_check (const char *type, const json_t *body, char *reason, size_t size)
{
    const argos_schema_t *schema = s_find (type);
    return schema ? s_check (schema, body, reason, size) : s_unknown_type (reason, size);
}

//  Whether the bytes nest deeper than DEPTH_MAX; looked at before a parser builds anything

static bool
s_too_deep (const char *data, size_t size)
{
    unsigned depth = 0;
    bool in_string = false;
    for (size_t at = 0; at < size; at++) {
        char byte = data[at];
        if (in_string) {
            if (byte == '\\')
                at++;
            else if (byte == '"')
                in_string = false;
        }
        else if (byte == '"')
            in_string = true;
        else if (byte == '{' || byte == '[') {
            if (++depth > DEPTH_MAX)
                return true;
        }
        else if ((byte == '}' || byte == ']') && depth)
            depth--;
    }
    return false;
}

//  jansson's sentence without its quotation of the input ("... near 'xyz'"): that is the sender's

static void
s_not_json (const json_error_t *error, char *reason, size_t size)
{
    if (!reason || !size)
        return;
    const char *quotation = strstr (error->text, " near ");
    int length = quotation ? (int) (quotation - error->text) : (int) strlen (error->text);
    snprintf (reason, size, "not JSON (line %d, column %d): %.*s", error->line, error->column,
        length, error->text);
    for (char *at = reason; *at; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
}

argos_err_t
argos_schema_parse (const char *type, const void *data, size_t size, json_t **ret_body,
    char *reason, size_t reason_size)
{
    const argos_schema_t *schema = s_find (type);
    if (!schema)
        return s_unknown_type (reason, reason_size);
    json_error_t error = { .line = 0 };
    json_t *body = size ? argos_json_load_plain (data, size) : json_object ();
    if (!body && s_too_deep (data, size)) {
        if (reason && reason_size)
            snprintf (reason, reason_size, "body: expected at most %d levels", DEPTH_MAX);
        return ARGOS_INVALID;
    }
    if (!body)
        body = argos_json_load_mended (data, size, JSON_REJECT_DUPLICATES, &error);
    if (!body) {
        s_not_json (&error, reason, reason_size);
        return ARGOS_INVALID;
    }
    argos_err_t code = s_check (schema, body, reason, reason_size);
    if (code == ARGOS_OK)
        *ret_body = body;
    else
        json_decref (body);
    return code;
}
