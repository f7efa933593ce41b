//  argos_config_read - the files and the environment as one tree, and where each value comes from.
//
//  Invariant: origins has for every leaf of the tree the place that it was read from, or one for
//  something around it. A key without a value (`http:` with nothing behind it) counts as absent.
//  local.yaml is laid over argos.yaml, the environment over both: maps are merged, everything else
//  is replaced. Limits: those of argos_yaml.

#include "argos_config_priv.h"

#include "argos_yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORIGIN_MAX 64 //  Bytes of the name of a file and a line

//  Reads the whole file. *ret_data is new (NULL when there is no file). Returns 0, or -1 with a
//  reason.

static int
s_read_file (const char *home, const char *name, char **ret_data, size_t *ret_size, char *reason,
    size_t size)
{
    char path[4096];
    *ret_data = NULL;
    *ret_size = 0;
    snprintf (path, sizeof path, "%s/%s", home, name);
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return 0;
    struct stat about;
    if (fd < 0 || fstat (fd, &about) || !S_ISREG (about.st_mode) ||
        about.st_size > ARGOS_YAML_SIZE_MAX) {
        snprintf (reason, size, "%s: expected a readable file of at most %d bytes", path,
            ARGOS_YAML_SIZE_MAX);
        if (fd >= 0)
            close (fd);
        return -1;
    }
    char *data = argos_config_must (malloc ((size_t) about.st_size + 1));
    ssize_t got = 0;
    size_t used = 0;
    while (used < (size_t) about.st_size &&
           (got = read (fd, data + used, (size_t) about.st_size - used)) > 0)
        used += (size_t) got;
    close (fd);
    if (got < 0) {
        free (data);
        snprintf (reason, size, "%s: expected a readable file", path);
        return -1;
    }
    *ret_data = data;
    *ret_size = used;
    return 0;
}

//  Takes keys without a value out; as deep as YAML may be

static void
s_drop_nulls (json_t *object) //  NOLINT(misc-no-recursion)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe (object, next, name, value)
    {
        if (json_is_null (value))
            json_object_del (object, name);
        else if (json_is_object (value))
            s_drop_nulls (value);
    }
}

static void
s_merge (json_t *tree, json_t *over) //  NOLINT(misc-no-recursion): as deep as YAML may be
{
    const char *name;
    json_t *value;
    json_object_foreach (over, name, value) {
        json_t *below = json_object_get (tree, name);
        if (json_is_object (below) && json_is_object (value))
            s_merge (below, value);
        else
            json_object_set (tree, name, value);
    }
}

void
argos_config_set_place (json_t *origins, const char *path, const char *origin)
{
    size_t size = strlen (path);
    const char *other;
    json_t *value;
    void *next;
    //  A list is replaced as a whole: the places of its old items mean nothing
    json_object_foreach_safe (origins, next, other, value)
    {
        if (strncmp (other, path, size) == 0 && other[size] == '[')
            json_object_del (origins, other);
    }
    json_object_set_new (origins, path, argos_config_must (json_string (origin)));
}

//  Lines become places.

static void
s_merge_lines (json_t *origins, const char *file, json_t *lines)
{
    const char *path;
    json_t *line;
    json_object_foreach (lines, path, line) {
        char origin[ORIGIN_MAX];
        snprintf (origin, sizeof origin, "%s:%d", file, (int) json_integer_value (line));
        if (*path || !json_object_get (origins, path))
            argos_config_set_place (origins, path, origin);
    }
}

static json_t *
s_parse (const char *name, const char *data, size_t data_size, json_t *origins, char *reason,
    size_t size)
{
    json_t *lines = NULL;
    json_t *tree = argos_yaml_load (name, data, data_size, &lines, reason, size);
    if (json_is_null (tree)) {
        json_decref (tree);
        tree = argos_config_must (json_object ());
    }
    if (json_is_object (tree))
        s_drop_nulls (tree);
    s_merge_lines (origins, name, lines);
    json_decref (lines);
    return tree;
}

json_t *
argos_config_read_one (
    const char *home, const char *name, json_t *origins, char *reason, size_t size)
{
    char *data;
    size_t data_size;
    if (s_read_file (home, name, &data, &data_size, reason, size))
        return NULL;
    json_t *tree = s_parse (name, data ? data : "", data_size, origins, reason, size);
    free (data);
    return tree;
}

json_t *
argos_config_read (const char *home, const char *text, json_t *origins, char *reason, size_t size)
{
    json_t *tree = argos_config_read_one (home, ARGOS_CONFIG_FILE, origins, reason, size);
    json_t *local = NULL;
    if (tree && text)
        local = s_parse (ARGOS_CONFIG_LOCAL, text, strlen (text), origins, reason, size);
    else if (tree)
        local = argos_config_read_one (home, ARGOS_CONFIG_LOCAL, origins, reason, size);
    if (!local) {
        json_decref (tree);
        return NULL;
    }
    if (json_is_object (tree) && json_is_object (local))
        s_merge (tree, local);
    else if (json_is_object (tree)) {
        json_decref (tree);
        tree = json_incref (local); //  Refused for what it is
        json_object_set_new (origins, "", json_string (ARGOS_CONFIG_LOCAL ":1"));
    }
    json_decref (local);
    if (json_is_object (tree))
        argos_config_environment (tree, origins);
    return tree;
}

const char *
argos_config_place_of (const json_t *origins, const char *path)
{
    char around[512];
    snprintf (around, sizeof around, "%s", path);
    for (;;) {
        const char *origin = json_string_value (json_object_get (origins, around));
        if (origin)
            return origin;
        if (!around[0])
            return ARGOS_CONFIG_FILE ":1";
        size_t end = strlen (around);
        while (end && around[end] != '.' && around[end] != '[')
            end--;
        around[end] = 0;
    }
}
