//  argos_setting - see the header.
//
//  Invariant: looking up changes nothing, so any number of threads may use one snapshot. Limits: a
//  name of a path has at most NAME_MAX_BYTES, a longer one is in no snapshot.

#include "argos_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 128 //  Bytes of one name of a path, its end included

//  The first name of a path to name. Returns what is behind it ("" = it was the last), NULL when it
//  is empty or too long.

static const char *
s_next (const char *path, char name[static NAME_MAX_BYTES])
{
    size_t size = strcspn (path, ".");
    if (!size || size >= NAME_MAX_BYTES || (path[size] && !path[size + 1]))
        return NULL;
    memcpy (name, path, size);
    name[size] = 0;
    return path + size + (path[size] == '.');
}

json_t *
argos_setting_at (const json_t *tree, const char *path)
{
    char name[NAME_MAX_BYTES];
    json_t *value = NULL;
    do {
        path = s_next (path, name);
        value = path ? json_object_get (tree, name) : NULL;
        tree = value;
    } while (value && *path);
    return value;
}

int
argos_setting_put (json_t *tree, const char *path, json_t *value)
{
    char name[NAME_MAX_BYTES];
    path = s_next (path, name);
    while (path && *path && json_is_object (tree)) {
        json_t *inner = json_object_get (tree, name);
        if (!inner && value) {
            inner = json_object ();
            if (!inner || json_object_set_new (tree, name, inner))
                abort ();
        }
        tree = inner;
        path = s_next (path, name);
    }
    if (!path || !json_is_object (tree)) {
        json_decref (value);
        return -1;
    }
    if (value)
        return json_object_set_new (tree, name, value);
    json_object_del (tree, name);
    return 0;
}

const json_t *
argos_setting (const json_t *config, const char *platform, const char *chat_type, const char *path)
{
    const json_t *block =
        platform ? json_object_get (json_object_get (config, "platforms"), platform) : NULL;
    const json_t *value =
        chat_type ? argos_setting_at (json_object_get (block, chat_type), path) : NULL;
    if (!value)
        value = argos_setting_at (block, path);
    return value ? value : argos_setting_at (config, path);
}

const char *
argos_setting_text (
    const json_t *config, const char *platform, const char *chat_type, const char *path)
{
    return json_string_value (argos_setting (config, platform, chat_type, path));
}

int64_t
argos_setting_int (
    const json_t *config, const char *platform, const char *chat_type, const char *path)
{
    return json_integer_value (argos_setting (config, platform, chat_type, path));
}

bool
argos_setting_bool (
    const json_t *config, const char *platform, const char *chat_type, const char *path)
{
    return json_is_true (argos_setting (config, platform, chat_type, path));
}

static bool
s_is (const json_t *item, const char *text)
{
    char digits[32];
    const char *value = json_string_value (item);
    if (json_is_integer (item)) {
        snprintf (digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value (item));
        value = digits;
    }
    return value && strcmp (value, text) == 0;
}

bool
argos_setting_has (const json_t *config, const char *platform, const char *chat_type,
    const char *path, const char *text)
{
    const json_t *list = argos_setting (config, platform, chat_type, path);
    for (size_t i = 0; text && i < json_array_size (list); i++)
        if (s_is (json_array_get (list, i), text))
            return true;
    return false;
}
