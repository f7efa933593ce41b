//  argos_schema_compile - JSON Schema to tables.
//
//  Invariant: a node is complete (kinds, bounds and words) or was never handed out; an unknown
//  keyword, or a known one with a value that makes no sense, refuses. Schemas are ours, not a
//  peer's: memory running out aborts, and recursion is bounded by MAX_DEPTH levels.

#include "argos_schema_node.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32     //  Levels of a schema
#define EXPECTED_MAX 320 //  Bytes of the words for one node

typedef struct {
    char *reason;       //  Where a refusal is told, may be NULL
    size_t size;        //  Its size
    const char *key;    //  Keyword at work, for refusals
    unsigned depth;     //  Levels above
    const json_t *defs; //  What $ref can name, NULL = nothing
} compiler_t;

static argos_schema_t *s_compile (compiler_t *self, const json_t *schema);

static void *
s_alloc (size_t count, size_t size)
{
    void *memory = calloc (count ? count : 1, size);
    if (!memory)
        abort ();
    return memory;
}

static char *
s_copy (const char *text)
{
    char *copy = strdup (text);
    if (!copy)
        abort ();
    return copy;
}

static int __attribute__ ((format (printf, 2, 3)))
s_refuse (compiler_t *self, const char *format, ...)
{
    if (self->reason && self->size) {
        va_list args;
        va_start (args, format);
        //  NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is above
        vsnprintf (self->reason, self->size, format, args);
        va_end (args);
    }
    return -1;
}

//  Words

static void __attribute__ ((format (printf, 2, 3))) s_say (char *words, const char *format, ...)
{
    size_t used = strlen (words);
    va_list args;
    va_start (args, format);
    //  NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is above
    vsnprintf (words + used, EXPECTED_MAX - used, format, args);
    va_end (args);
}

static void
s_say_range (char *words, double low, double high, const char *unit)
{
    bool has_low = isfinite (low) && !(unit[0] && low <= 0);
    if (has_low && isfinite (high) && unit[0])
        s_say (words, " of %.16g to %.16g%s", low, high, unit);
    else if (has_low && isfinite (high))
        s_say (words, " from %.16g to %.16g", low, high);
    else if (has_low)
        s_say (words, " of at least %.16g%s", low, unit);
    else if (isfinite (high))
        s_say (words, " of at most %.16g%s", high, unit);
}

static double
s_bound (int64_t value)
{
    return value == INT64_MAX ? INFINITY : (double) value;
}

static void
s_say_allowed (const json_t *allowed, char *words)
{
    size_t index;
    json_t *value;
    s_say (words, json_array_size (allowed) > 1 ? "one of " : "");
    json_array_foreach (allowed, index, value) {
        char *text = json_is_string (value) ? s_copy (json_string_value (value))
                                            : json_dumps (value, JSON_ENCODE_ANY | JSON_COMPACT);
        s_say (words, "%s%s", index ? ", " : "", text ? text : "?");
        free (text);
    }
}

static void
s_say_string (const argos_schema_t *node, const char *pattern, char *words)
{
    s_say (words, "a string");
    if (node->max_bytes != INT64_MAX)
        s_say_range (words, s_bound (node->min_length), s_bound (node->max_bytes), " bytes");
    else
        s_say_range (words, s_bound (node->min_length), s_bound (node->max_length), " characters");
    if (pattern)
        s_say (words, " that matches %s", pattern);
}

static void
s_say_kind (const argos_schema_t *node, unsigned kind, const char *pattern, char *words)
{
    switch (kind) {
    case ARGOS_KIND_STRING:
        s_say_string (node, pattern, words);
        break;
    case ARGOS_KIND_INTEGER:
    case ARGOS_KIND_NUMBER:
        s_say (words, kind == ARGOS_KIND_INTEGER ? "an integer" : "a number");
        s_say_range (words, node->minimum, node->maximum, "");
        break;
    case ARGOS_KIND_ARRAY:
        s_say (words, "an array");
        s_say_range (words, s_bound (node->min_items), s_bound (node->max_items), " items");
        break;
    case ARGOS_KIND_OBJECT:
        s_say (words, "an object");
        break;
    case ARGOS_KIND_BOOLEAN:
        s_say (words, "true or false");
        break;
    default:
        s_say (words, "null");
        break;
    }
}

static char *
s_words (const argos_schema_t *node, const char *pattern)
{
    //  In the order in which people would say them
    static const unsigned order[] = { ARGOS_KIND_STRING, ARGOS_KIND_INTEGER, ARGOS_KIND_NUMBER,
        ARGOS_KIND_BOOLEAN, ARGOS_KIND_ARRAY, ARGOS_KIND_OBJECT, ARGOS_KIND_NULL };
    char words[EXPECTED_MAX] = "";
    if (node->allowed)
        s_say_allowed (node->allowed, words);
    else if (node->kinds == ARGOS_KIND_ANY)
        s_say (words, "a value");
    else
        for (size_t at = 0; at < sizeof order / sizeof *order; at++)
            if (node->kinds & order[at]) {
                s_say (words, words[0] ? " or " : "");
                s_say_kind (node, order[at], pattern, words);
            }
    return s_copy (words);
}

//  Keywords

static int
s_read_kind (compiler_t *self, const json_t *value, unsigned *kinds)
{
    static const struct {
        const char *name;
        unsigned kind;
    } table[] = { { "null", ARGOS_KIND_NULL }, { "boolean", ARGOS_KIND_BOOLEAN },
        { "integer", ARGOS_KIND_INTEGER }, { "number", ARGOS_KIND_NUMBER },
        { "string", ARGOS_KIND_STRING }, { "array", ARGOS_KIND_ARRAY },
        { "object", ARGOS_KIND_OBJECT } };
    const char *name = json_string_value (value);
    for (size_t at = 0; name && at < sizeof table / sizeof *table; at++)
        if (strcmp (table[at].name, name) == 0) {
            *kinds |= table[at].kind;
            return 0;
        }
    return s_refuse (self, "type: unknown type %s", name ? name : "(not a string)");
}

static int
s_read_type (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    node->kinds = 0;
    if (!json_is_array (value))
        return s_read_kind (self, value, &node->kinds);
    size_t index;
    json_t *item;
    json_array_foreach (value, index, item)
        if (s_read_kind (self, item, &node->kinds))
            return -1;
    return node->kinds ? 0 : s_refuse (self, "type: the list is empty");
}

static int
s_read_bound (compiler_t *self, const json_t *value, int64_t *target)
{
    if (!json_is_integer (value) || json_integer_value (value) < 0)
        return s_refuse (self, "%s: expected an integer of at least 0", self->key);
    *target = json_integer_value (value);
    return 0;
}

static int
s_read_length (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    static const char *const names[] = { "minLength", "maxLength", "x-maxBytes", "minItems",
        "maxItems" };
    int64_t *const targets[] = { &node->min_length, &node->max_length, &node->max_bytes,
        &node->min_items, &node->max_items };
    for (size_t at = 0; at < sizeof names / sizeof *names; at++)
        if (strcmp (names[at], self->key) == 0)
            return s_read_bound (self, value, targets[at]);
    return s_refuse (self, "%s: not a length", self->key);
}

static int
s_read_range (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    if (!json_is_number (value))
        return s_refuse (self, "%s: expected a number", self->key);
    double *target = strcmp (self->key, "minimum") == 0 ? &node->minimum : &node->maximum;
    *target = json_number_value (value);
    return 0;
}

static int
s_read_allowed (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    if (node->allowed)
        return s_refuse (self, "%s: enum and const exclude each other", self->key);
    if (strcmp (self->key, "const") == 0) {
        node->allowed = json_array ();
        if (!node->allowed || json_array_append_new (node->allowed, json_deep_copy (value)))
            abort ();
        return 0;
    }
    if (!json_is_array (value) || json_array_size (value) == 0)
        return s_refuse (self, "enum: expected a list of values");
    node->allowed = json_deep_copy (value);
    if (!node->allowed)
        abort ();
    return 0;
}

static int
s_read_pattern (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    const char *pattern = json_string_value (value), *fault = NULL;
    if (!pattern)
        return s_refuse (self, "pattern: expected a string");
    node->pattern = argos_schema_pattern_new (pattern, &fault);
    return node->pattern ? 0 : s_refuse (self, "pattern: %s: %s", fault, pattern);
}

static int
s_read_items (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    node->items = s_compile (self, value);
    return node->items ? 0 : -1;
}

static argos_schema_member_t *
s_member (argos_schema_t *node, const char *name)
{
    for (size_t at = 0; at < node->member_count; at++)
        if (strcmp (node->members[at].name, name) == 0)
            return &node->members[at];
    return NULL;
}

static int
s_read_properties (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    if (!json_is_object (value))
        return s_refuse (self, "properties: expected an object");
    node->members = s_alloc (json_object_size (value), sizeof *node->members);
    const char *name;
    json_t *schema;
    json_object_foreach (argos_schema_iterable (value), name, schema) {
        argos_schema_t *member = s_compile (self, schema);
        if (!member) {
            char inner[160];
            snprintf (inner, sizeof inner, "%s", self->reason && self->size ? self->reason : "");
            return s_refuse (self, "%s: %s", name, inner);
        }
        node->members[node->member_count].name = s_copy (name);
        node->members[node->member_count++].schema = member;
    }
    return 0;
}

//  Read after all other keywords, because it marks members of `properties`

static int
s_read_required (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    size_t index;
    json_t *item;
    if (!json_is_array (value))
        return s_refuse (self, "required: expected a list of names");
    json_array_foreach (value, index, item) {
        const char *name = json_string_value (item);
        argos_schema_member_t *member = name ? s_member (node, name) : NULL;
        if (!member)
            return s_refuse (self, "required: %s is not in properties", name ? name : "(?)");
        member->required = true;
    }
    return 0;
}

static int
s_read_closed (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    if (json_is_object (value)) {
        node->others = s_compile (self, value);
        return node->others ? 0 : -1;
    }
    if (!json_is_boolean (value))
        return s_refuse (self, "additionalProperties: expected true, false or a schema");
    node->closed = json_is_false (value);
    return 0;
}

static int
s_read_names (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    node->names = s_compile (self, value);
    return node->names ? 0 : -1;
}

//  A list of {"if", "then"}: what the value of one member asks of the others

static int
s_read_conditions (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    size_t index;
    json_t *item;
    if (!json_is_array (value))
        return s_refuse (self, "allOf: expected a list");
    node->conditions = s_alloc (json_array_size (value), sizeof *node->conditions);
    json_array_foreach (value, index, item) {
        if (json_object_size (item) != 2 || !json_object_get (item, "if") ||
            !json_object_get (item, "then"))
            return s_refuse (self, "allOf: expected objects with if and then");
        argos_schema_condition_t *condition = &node->conditions[node->condition_count++];
        condition->when = s_compile (self, json_object_get (item, "if"));
        condition->then = condition->when ? s_compile (self, json_object_get (item, "then")) : NULL;
        if (!condition->then)
            return -1;
    }
    return 0;
}

static int
s_read_nothing (compiler_t *self, const json_t *value, argos_schema_t *node)
{
    (void) self;
    (void) value;
    (void) node;
    return 0;
}

typedef int (keyword_fn) (compiler_t *self, const json_t *value, argos_schema_t *node);

static keyword_fn *
s_keyword (const char *name)
{
    static const struct {
        const char *name;
        keyword_fn *fn;
    } table[] = { { "type", s_read_type }, { "properties", s_read_properties },
        { "required", s_read_nothing }, { "additionalProperties", s_read_closed },
        { "propertyNames", s_read_names }, { "$defs", s_read_nothing },
        { "allOf", s_read_conditions }, { "enum", s_read_allowed }, { "const", s_read_allowed },
        { "minLength", s_read_length }, { "maxLength", s_read_length },
        { "x-maxBytes", s_read_length }, { "pattern", s_read_pattern }, { "minimum", s_read_range },
        { "maximum", s_read_range }, { "items", s_read_items }, { "minItems", s_read_length },
        { "maxItems", s_read_length }, { "title", s_read_nothing },
        { "description", s_read_nothing }, { "$schema", s_read_nothing }, { "$id", s_read_nothing },
        { "$comment", s_read_nothing }, { "default", s_read_nothing },
        { "examples", s_read_nothing } };
    for (size_t at = 0; at < sizeof table / sizeof *table; at++)
        if (strcmp (table[at].name, name) == 0)
            return table[at].fn;
    return strncmp (name, "x-", 2) == 0 ? s_read_nothing : NULL;
}

//  What stands for `schema`: itself, or the one that its $ref names, beside which nothing may stand
//  that is checked. NULL = refused.

static const json_t *
s_resolve (compiler_t *self, const json_t *schema)
{
    static const char start[] = "#/$defs/";
    const json_t *ref = json_object_get (schema, "$ref");
    const char *text = json_string_value (ref), *name;
    json_t *value;
    if (!ref)
        return schema;
    const json_t *found = text && strncmp (text, start, sizeof start - 1) == 0
                              ? json_object_get (self->defs, text + sizeof start - 1)
                              : NULL;
    if (!found || json_object_get (found, "$ref")) {
        s_refuse (self, "$ref: expected #/$defs/NAME of a schema that is there");
        return NULL;
    }
    json_object_foreach (argos_schema_iterable (schema), name, value)
        if (strcmp (name, "$ref") != 0 && s_keyword (name) != s_read_nothing) {
            s_refuse (self, "$ref: %s can't stand beside it", name);
            return NULL;
        }
    return found;
}

static int
s_fill (compiler_t *self, const json_t *schema, argos_schema_t *node)
{
    const char *name;
    json_t *value;
    json_object_foreach (argos_schema_iterable (schema), name, value) {
        keyword_fn *fn = s_keyword (name);
        if (!fn)
            return s_refuse (self, "unsupported keyword %s", name);
        self->key = name;
        if (fn (self, value, node))
            return -1;
    }
    self->key = "required";
    value = json_object_get (schema, "required");
    if (value && s_read_required (self, value, node))
        return -1;
    node->expected = s_words (node, json_string_value (json_object_get (schema, "pattern")));
    return 0;
}

static argos_schema_t *
s_compile (compiler_t *self, const json_t *schema)
{
    if (!json_is_object (schema)) {
        s_refuse (self, "expected a schema object");
        return NULL;
    }
    if (self->depth == MAX_DEPTH) {
        s_refuse (self, "more than %d levels", MAX_DEPTH);
        return NULL;
    }
    schema = s_resolve (self, schema);
    if (!schema)
        return NULL;
    self->depth++;
    argos_schema_t *node = s_alloc (1, sizeof *node);
    node->kinds = ARGOS_KIND_ANY;
    node->max_items = node->max_length = node->max_bytes = INT64_MAX;
    node->minimum = -INFINITY;
    node->maximum = INFINITY;
    if (s_fill (self, schema, node))
        argos_schema_destroy (&node);
    self->depth--;
    return node;
}

argos_schema_t *
argos_schema_compile (const json_t *schema, char *reason, size_t size)
{
    compiler_t compiler = { .key = "" };
    compiler.reason = reason;
    compiler.size = size;
    compiler.defs = json_object_get (schema, "$defs");
    return s_compile (&compiler, schema);
}

//  Recursion is as deep as a schema was allowed to be

void
argos_schema_destroy (argos_schema_t **self_p) //  NOLINT(misc-no-recursion)
{
    if (!self_p || !*self_p)
        return;
    argos_schema_t *self = *self_p;
    *self_p = NULL;
    for (size_t at = 0; at < self->member_count; at++) {
        free (self->members[at].name);
        argos_schema_destroy (&self->members[at].schema);
    }
    free (self->members);
    argos_schema_destroy (&self->others);
    argos_schema_destroy (&self->names);
    for (size_t at = 0; at < self->condition_count; at++) {
        argos_schema_destroy (&self->conditions[at].when);
        argos_schema_destroy (&self->conditions[at].then);
    }
    free (self->conditions);
    argos_schema_destroy (&self->items);
    argos_schema_pattern_destroy (&self->pattern);
    json_decref (self->allowed);
    free (self->expected);
    free (self);
}
