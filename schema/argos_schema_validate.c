//  argos_schema_validate - a JSON value against a compiled schema.
//
//  Invariant: reads only; time is linear in the part of the value that the schema describes;
//  recursion is as deep as the schema, never as the value. Names that come from outside are shown
//  with anything but printable ASCII replaced. At most PROBLEMS_MAX problems are told of one value.

#include "argos_schema_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_BYTES 256 //  Bytes of a path, cut beyond
#define PROBLEMS_MAX 64    //  Problems told of one value
#define NAME_MAX_BYTES 64  //  Bytes of a name from outside that are looked at

typedef struct {
    argos_schema_problem_fn *fn; //  Told of each problem, may be NULL
    void *arg;                   //  Its first argument
    char path[PATH_MAX_BYTES];   //  Where we are
    size_t used;                 //  Bytes of it
    int problems;                //  Told so far
} check_t;

static void s_value (check_t *self, const argos_schema_t *node, const json_t *value);

static void
s_problem (check_t *self, const char *expected, bool unknown)
{
    self->problems++;
    if (self->fn)
        self->fn (self->arg, self->path, expected, unknown);
}

static size_t
s_push (check_t *self, const char *name, bool index)
{
    size_t before = self->used;
    if (self->used && !index && self->used < PATH_MAX_BYTES - 1)
        self->path[self->used++] = '.';
    for (size_t at = 0; at < NAME_MAX_BYTES && name[at] && self->used < PATH_MAX_BYTES - 1; at++) {
        char byte = name[at];
        if (byte <= 0x20 || byte > 0x7e)
            byte = '?';
        self->path[self->used++] = byte;
    }
    self->path[self->used] = 0;
    return before;
}

static void
s_pop (check_t *self, size_t before)
{
    self->used = before;
    self->path[before] = 0;
}

static unsigned
s_kind_of (const json_t *value)
{
    switch (json_typeof (value)) {
    case JSON_OBJECT:
        return ARGOS_KIND_OBJECT;
    case JSON_ARRAY:
        return ARGOS_KIND_ARRAY;
    case JSON_STRING:
        return ARGOS_KIND_STRING;
    case JSON_INTEGER:
        return ARGOS_KIND_INTEGER | ARGOS_KIND_NUMBER;
    case JSON_REAL:
        return ARGOS_KIND_NUMBER;
    case JSON_NULL:
        return ARGOS_KIND_NULL;
    default:
        return ARGOS_KIND_BOOLEAN;
    }
}

static int64_t
s_code_points (const char *text, size_t size)
{
    int64_t count = 0;
    for (size_t at = 0; at < size; at++)
        count += ((unsigned char) text[at] & 0xc0) != 0x80;
    return count;
}

static bool
s_string_fits (const argos_schema_t *node, const json_t *value)
{
    const char *text = json_string_value (value);
    size_t size = json_string_length (value);
    if ((int64_t) size > node->max_bytes)
        return false;
    if (node->min_length > 0 || node->max_length != INT64_MAX) {
        int64_t length = s_code_points (text, size);
        if (length < node->min_length || length > node->max_length)
            return false;
    }
    //  The expression sees up to a NUL; a string with one inside never fits a pattern
    return !node->pattern ||
           (strlen (text) == size && argos_schema_pattern_fits (node->pattern, text));
}

static bool
s_allowed (const argos_schema_t *node, const json_t *value)
{
    for (size_t at = 0; at < json_array_size (node->allowed); at++)
        if (json_equal (json_array_get (node->allowed, at), value))
            return true;
    return false;
}

static bool
s_fits (const argos_schema_t *node, const json_t *value)
{
    if (!(s_kind_of (value) & node->kinds) || (node->allowed && !s_allowed (node, value)))
        return false;
    if (json_is_string (value))
        return s_string_fits (node, value);
    if (json_is_number (value)) {
        //  A double can't tell 2^53 from 2^53 + 1; a long double holds any integer of 64 bits
        long double number = json_is_integer (value) ? (long double) json_integer_value (value)
                                                     : (long double) json_real_value (value);
        return number >= node->minimum && number <= node->maximum;
    }
    if (json_is_array (value)) {
        int64_t count = (int64_t) json_array_size (value);
        return count >= node->min_items && count <= node->max_items;
    }
    return true;
}

//  The usual distance: insertions, deletions and replacements that turn one name into the other

static size_t
s_distance (const char *one, const char *other)
{
    size_t row[NAME_MAX_BYTES + 1];
    size_t width = strnlen (other, NAME_MAX_BYTES), height = strnlen (one, NAME_MAX_BYTES);
    for (size_t at = 0; at <= width; at++)
        row[at] = at;
    for (size_t line = 1; line <= height; line++) {
        size_t corner = row[0];
        row[0] = line;
        for (size_t at = 1; at <= width; at++) {
            size_t best = corner + (one[line - 1] != other[at - 1]);
            corner = row[at];
            if (row[at] + 1 < best)
                best = row[at] + 1;
            if (row[at - 1] + 1 < best)
                best = row[at - 1] + 1;
            row[at] = best;
        }
    }
    return row[width];
}

//  The known name that was probably meant: at most a third of it differs

static const char *
s_nearest (const argos_schema_t *node, const char *name)
{
    const char *nearest = "";
    size_t best = strnlen (name, NAME_MAX_BYTES) / 3 + 2;
    for (size_t at = 0; at < node->member_count; at++) {
        size_t distance = s_distance (name, node->members[at].name);
        if (distance < best) {
            best = distance;
            nearest = node->members[at].name;
        }
    }
    return nearest;
}

static bool
s_known (const argos_schema_t *node, const char *name)
{
    for (size_t at = 0; at < node->member_count; at++)
        if (strcmp (node->members[at].name, name) == 0)
            return true;
    return false;
}

//  NOLINTBEGIN(misc-no-recursion): as deep as the schema, which is bounded

//  A member that is not listed

static void
s_other (check_t *self, const argos_schema_t *node, const char *name, const json_t *value)
{
    json_t *text = node->names ? json_string (name) : NULL;
    if (node->names && (!text || !s_fits (node->names, text)))
        s_problem (self, node->names->expected, false);
    else if (node->others)
        s_value (self, node->others, value);
    else if (node->closed)
        s_problem (self, s_nearest (node, name), true);
    json_decref (text);
}

static void
s_others (check_t *self, const argos_schema_t *node, const json_t *value)
{
    const char *name;
    json_t *member;
    json_object_foreach (argos_schema_iterable (value), name, member) {
        if (self->problems >= PROBLEMS_MAX)
            break;
        if (s_known (node, name))
            continue;
        size_t before = s_push (self, name, false);
        s_other (self, node, name, member);
        s_pop (self, before);
    }
}

static void
s_missing (check_t *self, const argos_schema_member_t *member)
{
    char expected[400];
    size_t before = s_push (self, member->name, false);
    snprintf (expected, sizeof expected, "%s; it is missing", member->schema->expected);
    s_problem (self, expected, false);
    s_pop (self, before);
}

static void
s_object (check_t *self, const argos_schema_t *node, const json_t *value)
{
    size_t found = 0;
    for (size_t at = 0; at < node->member_count && self->problems < PROBLEMS_MAX; at++) {
        const argos_schema_member_t *member = &node->members[at];
        const json_t *inner = json_object_get (value, member->name);
        if (inner) {
            found++;
            size_t before = s_push (self, member->name, false);
            s_value (self, member->schema, inner);
            s_pop (self, before);
        }
        else if (member->required)
            s_missing (self, member);
    }
    if ((node->closed || node->others || node->names) && found < json_object_size (value))
        s_others (self, node, value);
    for (size_t at = 0; at < node->condition_count && self->problems < PROBLEMS_MAX; at++) {
        check_t when = { .fn = NULL };
        s_value (&when, node->conditions[at].when, value);
        if (when.problems == 0)
            s_value (self, node->conditions[at].then, value);
    }
}

static void
s_array (check_t *self, const argos_schema_t *node, const json_t *value)
{
    for (size_t at = 0; at < json_array_size (value) && self->problems < PROBLEMS_MAX; at++) {
        char index[32];
        snprintf (index, sizeof index, "[%zu]", at);
        size_t before = s_push (self, index, true);
        s_value (self, node->items, json_array_get (value, at));
        s_pop (self, before);
    }
}

static void
s_value (check_t *self, const argos_schema_t *node, const json_t *value)
{
    if (!s_fits (node, value))
        s_problem (self, node->expected, false);
    else if (json_is_object (value))
        s_object (self, node, value);
    else if (json_is_array (value) && node->items)
        s_array (self, node, value);
}

//  NOLINTEND(misc-no-recursion)

int
argos_schema_validate (
    const argos_schema_t *self, const json_t *value, argos_schema_problem_fn *fn, void *arg)
{
    check_t check = { .fn = fn, .arg = arg };
    s_value (&check, self, value);
    return check.problems;
}
