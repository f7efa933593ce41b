//  argos_config_diff - which keys of two snapshots differ, and which of them need a restart.
//
//  Invariant: whether a key needs one stands in the schema, at the key or around it (x-restart). A
//  list is one value; the entries of a map are told one by one. Limit: PATH_MAX_BYTES of a path,
//  cut beyond.

#include "argos_config_priv.h"

#include <stdio.h>
#include <string.h>

#define PATH_MAX_BYTES 512 //  Bytes of a path

typedef struct {
    const json_t *root;        //  The schema
    json_t *changed, *restart; //  Where the paths go
} diff_t;

static void
s_note (const diff_t *self, const char *path, bool restart)
{
    json_array_append_new (
        restart ? self->restart : self->changed, argos_config_must (json_string (path)));
}

static bool
s_same (const json_t *old, const json_t *new)
{
    return old == new || (old && new &&json_equal (old, new));
}

//  The entries of two maps

static void
s_diff_maps (const diff_t *self, json_t *old, json_t *new, const char *path, bool restart)
{
    json_t *names = argos_config_must (json_object ());
    const char *name;
    json_t *value;
    json_object_update (names, old);
    json_object_update (names, new);
    json_object_foreach (names, name, value)
        if (!s_same (json_object_get (old, name), json_object_get (new, name))) {
            char inner[PATH_MAX_BYTES];
            snprintf (inner, sizeof inner, "%.380s.%.128s", path, name);
            s_note (self, inner, restart);
        }
    json_decref (names);
}

//  NOLINTBEGIN(misc-no-recursion): as deep as the schema

static void
s_diff (const diff_t *self, const json_t *schema, const json_t *old, const json_t *new,
    const char *path, bool restart)
{
    const char *name;
    json_t *member;
    json_object_foreach (json_object_get (schema, "properties"), name, member) {
        char inner[PATH_MAX_BYTES];
        json_t *before = json_object_get (old, name), *after = json_object_get (new, name);
        bool own = restart || json_is_true (json_object_get (member, "x-restart"));
        if (s_same (before, after))
            continue;
        const json_t *resolved = argos_config_resolve (self->root, member);
        snprintf (inner, sizeof inner, "%.380s%s%.128s", path, *path ? "." : "", name);
        if (json_object_get (resolved, "properties"))
            s_diff (self, resolved, before, after, inner, own);
        else if (json_is_object (json_object_get (resolved, "additionalProperties")))
            s_diff_maps (self, before, after, inner, own);
        else
            s_note (self, inner, own);
    }
}

//  NOLINTEND(misc-no-recursion)

void
argos_config_diff (const json_t *old, const json_t *new, json_t *changed, json_t *restart)
{
    json_t *schema = argos_config_schema ();
    diff_t diff = { schema, changed, restart };
    s_diff (&diff, schema, old, new, "", false);
    json_decref (schema);
}
