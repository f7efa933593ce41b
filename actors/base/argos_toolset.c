//  argos_toolset - the tools that there are.
//
//  Invariant: told, names and generation belong to the tools that are there; they change together.
//  Limits: 64 offers of others; coercion of the first level only.

#include "argos_toolset.h"

#include "argos_embedded.h"
#include "argos_json_get.h"

#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct argos_toolset {
    json_t *own;           //  Array of ours
    json_t *others;        //  Array of offers, by name
    json_t *told;          //  See argos_toolset_told
    char *names;           //  See argos_toolset_names
    json_int_t generation; //  See argos_toolset_generation
};

static void
s_tell (argos_toolset_t *self, const json_t *tools)
{
    size_t i;
    const json_t *tool;
    json_array_foreach (tools, i, tool) {
        json_array_append_new (
            self->told, json_pack ("{s:s, s:s, s:O}", "name", argos_json_text (tool, "name"),
                            "description", argos_json_text (tool, "description"), "parameters",
                            json_object_get (tool, "parameters")));
        char *names = NULL;
        if (asprintf (&names, "%s%s%s", self->names ? self->names : "", self->names ? ", " : "",
                argos_json_text (tool, "name")) < 0)
            abort ();
        free (self->names);
        self->names = names;
    }
}

static void
s_make (argos_toolset_t *self)
{
    unsigned char hash[8];
    json_decref (self->told);
    free (self->names);
    self->names = NULL;
    self->told = json_array ();
    s_tell (self, self->own);
    s_tell (self, self->others);
    char *text = json_dumps (self->told, JSON_COMPACT);
    if (!text)
        abort ();
    crypto_generichash (hash, sizeof hash, (const unsigned char *) text, strlen (text), NULL, 0);
    free (text);
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof hash; i++)
        number = number << 8 | hash[i];
    self->generation = (json_int_t) (number >> 11);
}

argos_toolset_t *
argos_toolset_new (void)
{
    argos_toolset_t *self = calloc (1, sizeof *self);
    const argos_embedded_t *file = argos_embedded_find ("tools.json");
    if (!self)
        abort ();
    self->own = json_loads (file ? file->data : "[]", 0, NULL);
    self->others = json_array ();
    s_make (self);
    return self;
}

void
argos_toolset_destroy (argos_toolset_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_toolset_t *self = *self_p;
    json_decref (self->own);
    json_decref (self->others);
    json_decref (self->told);
    free (self->names);
    free (self);
    *self_p = NULL;
}

static const json_t *
s_find (const json_t *tools, const char *name)
{
    size_t i;
    const json_t *tool;
    json_array_foreach (tools, i, tool)
        if (strcmp (argos_json_text (tool, "name"), name) == 0)
            return tool;
    return NULL;
}

static int
s_compare (const void *one, const void *other)
{
    return strcmp (argos_json_text (*(json_t *const *) one, "name"),
        argos_json_text (*(json_t *const *) other, "name"));
}

bool
argos_toolset_load (argos_toolset_t *self, const json_t *records)
{
    json_t *tools[ARGOS_TOOLSET_MAX], *others = json_array (), *record;
    size_t i, count = 0;
    json_array_foreach (records, i, record) {
        json_t *value = json_object_get (record, "value");
        const char *name = argos_json_text (value, "name");
        if (count < ARGOS_TOOLSET_MAX && strcmp (name, argos_json_text (record, "key")) == 0 &&
            !s_find (self->own, name) && json_is_object (json_object_get (value, "parameters")))
            tools[count++] = value;
    }
    qsort (tools, count, sizeof (json_t *), s_compare); //  NOLINT(bugprone-sizeof-expression)
    for (i = 0; i < count; i++)
        json_array_append (others, tools[i]);
    bool changed = !json_equal (others, self->others);
    if (changed) {
        json_decref (self->others);
        self->others = others;
        s_make (self);
    }
    else
        json_decref (others);
    return changed;
}

const json_t *
argos_toolset_find (const argos_toolset_t *self, const char *name)
{
    const json_t *tool = s_find (self->own, name);
    return tool ? tool : s_find (self->others, name);
}

bool
argos_toolset_flag (const json_t *tool, const char *flag)
{
    return json_is_true (json_object_get (tool, flag));
}

json_t *
argos_toolset_told (const argos_toolset_t *self)
{
    return self->told;
}

const char *
argos_toolset_names (const argos_toolset_t *self)
{
    return self->names ? self->names : "";
}

json_int_t
argos_toolset_generation (const argos_toolset_t *self)
{
    return self->generation;
}

size_t
argos_toolset_offers (const argos_toolset_t *self)
{
    return json_array_size (self->others);
}

json_t *
argos_toolset_limited (const argos_toolset_t *self, const json_t *told)
{
    json_t *limited = json_array (), *row;
    size_t i;
    json_array_foreach (told, i, row) {
        const json_t *tool = argos_toolset_find (self, argos_json_text (row, "name"));
        if (tool && !argos_toolset_flag (tool, "admin_only"))
            json_array_append (limited, row);
    }
    return limited;
}

const char *
argos_toolset_refusal (
    const argos_toolset_t *self, const char *name, bool restricted, bool read_only)
{
    const json_t *tool = argos_toolset_find (self, name);
    if (tool && restricted && argos_toolset_flag (tool, "admin_only"))
        return "BLOCKED: Only an admin may have this tool run. It was not run.";
    if (tool && read_only && argos_toolset_flag (tool, "mutates"))
        return "BLOCKED: This turn may read and plan, but change nothing. It was not run.";
    return NULL;
}

bool
argos_toolset_check (const json_t *offer, char *reason, size_t size)
{
    const json_t *parameters = json_object_get (offer, "parameters");
    if (argos_toolset_flag (offer, "withdraw"))
        return true;
    if (!json_object_get (offer, "description") || !parameters) {
        snprintf (reason, size, "an offer has a description and parameters");
        return false;
    }
    if (strcmp (argos_json_text (parameters, "type"), "object") != 0) {
        snprintf (reason, size, "parameters is a JSON Schema of type object");
        return false;
    }
    if (json_dumpb (parameters, NULL, 0, JSON_COMPACT) > ARGOS_TOOLSET_PARAMETERS_MAX) {
        snprintf (reason, size, "parameters has more than %d bytes", ARGOS_TOOLSET_PARAMETERS_MAX);
        return false;
    }
    return true;
}

json_t *
argos_toolset_value (const json_t *offer, const char *by)
{
    static const char *const flags[] = { "admin_only", "idempotent", "parallel", "close" };
    json_t *value = json_pack ("{s:s, s:s, s:O, s:s, s:b}", "name", argos_json_text (offer, "name"),
        "description", argos_json_text (offer, "description"), "parameters",
        json_object_get (offer, "parameters"), "by", by, "mutates",
        !json_is_false (json_object_get (offer, "mutates")));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        json_object_set_new (value, flags[i], json_boolean (argos_toolset_flag (offer, flags[i])));
    return value;
}

//  ------------------------------------------------------------------------------------------------
//  Coercion

static bool
s_allows (const json_t *schema, const char *type)
{
    size_t i;
    const json_t *one, *types = json_object_get (schema, "type");
    json_array_foreach (types, i, one)
        if (json_is_string (one) && strcmp (json_string_value (one), type) == 0)
            return true;
    return json_is_string (types) && strcmp (json_string_value (types), type) == 0;
}

//  The number that a text is, new; NULL when it is none, or would lose something.

static json_t *
s_number (const char *text, bool whole)
{
    char *end;
    errno = 0;
    if (!strpbrk (text, ".eE")) {
        long long value = strtoll (text, &end, 10);
        return *text && !*end && !errno ? json_integer (value) : NULL;
    }
    double value = strtod (text, &end);
    if (*end || errno || !isfinite (value))
        return NULL;
    if (!whole)
        return json_real (value);
    bool fits = fabs (value) < 9e15 && value == floor (value);
    return fits ? json_integer ((json_int_t) value) : NULL;
}

//  What a text is under a schema that wants no text, new; NULL = nothing else.

static json_t *
s_coerced (const json_t *schema, const char *text)
{
    json_t *value = NULL;
    if (s_allows (schema, "string"))
        return NULL;
    if (s_allows (schema, "integer") || s_allows (schema, "number"))
        value = s_number (text, !s_allows (schema, "number"));
    if (!value && s_allows (schema, "boolean") &&
        (strcmp (text, "true") == 0 || strcmp (text, "false") == 0))
        value = json_boolean (*text == 't');
    if (!value && (s_allows (schema, "array") || s_allows (schema, "object"))) {
        value = json_loads (text, 0, NULL);
        if (value && !s_allows (schema, json_is_array (value) ? "array" : "object")) {
            json_decref (value);
            value = NULL;
        }
    }
    return value;
}

void
argos_toolset_coerce (const json_t *parameters, json_t *arguments)
{
    json_t *properties = json_object_get (parameters, "properties"), *schema;
    const char *name;
    json_object_foreach (properties, name, schema) {
        const json_t *given = json_object_get (arguments, name);
        json_t *value =
            json_is_string (given) ? s_coerced (schema, json_string_value (given)) : NULL;
        if (value)
            json_object_set_new (arguments, name, value);
    }
}
