//  argos_config_snapshot - the settings that a node takes over from its core: made there, and laid
//  under those of the node here.
//
//  Invariant: only what config.schema.json marks leaves the core, and of that no value that can be
//  a secret: a reference (env:NAME, file:PATH) goes as it is, and the node resolves it by its own
//  environment and files.

#include "argos_config_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SNAPSHOT_MAX 1000000 //  Bytes: it is one message

//  What a section of argos.yaml is to the nodes: NULL = nothing, "merge" = its members are taken
//  over one by one, "whole" = all or none.

static const char *
s_shared (const json_t *schema, const char *section)
{
    const json_t *sections = json_object_get (schema, "properties");
    return json_string_value (json_object_get (json_object_get (sections, section), "x-node"));
}

//  ------------------------------------------------------------------------------------------------
//  At the core

//  Whether a value of that name is a secret unless it is a reference.

static bool
s_is_secret (const char *name, const json_t *value)
{
    static const char *const words[] = { "key", "token", "secret", "password", "credential" };
    const char *text = json_string_value (value);
    if (!text || strncmp (text, "env:", 4) == 0 || strncmp (text, "file:", 5) == 0)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr (name, words[i]))
            return true;
    return false;
}

//  https://user:password@host becomes https://host. Returns it new, or NULL when there is no user.

static json_t *
s_without_user (const json_t *value)
{
    const char *text = json_string_value (value), *host = text ? strstr (text, "://") : NULL;
    if (!host)
        return NULL;
    host += 3;
    const char *end = host + strcspn (host, "/?#"),
               *at = memrchr (host, '@', (size_t) (end - host));
    return at ? json_sprintf ("%.*s%s", (int) (host - text), text, at + 1) : NULL;
}

//  As deep as the settings go.

static void
s_redact (json_t *value) //  NOLINT(misc-no-recursion)
{
    const char *name;
    json_t *item, *clean;
    void *next;
    for (size_t i = 0; i < json_array_size (value); i++)
        s_redact (json_array_get (value, i));
    json_object_foreach_safe (value, next, name, item)
    {
        if (s_is_secret (name, item))
            json_object_del (value, name);
        else if ((clean = s_without_user (item)))
            json_object_set_new (value, name, clean);
        else
            s_redact (item);
    }
}

//  A provider that was found in our environment, or the rehearsal, as if it had been named.

static json_t *
s_provider (const argos_config_provider_t *provider)
{
    static const char *const kinds[] = { "openai", "anthropic", "rehearsal" };
    json_t *block = json_pack ("{s:s}", "kind", kinds[provider->kind]);
    if (provider->kind != ARGOS_PROVIDER_REHEARSAL) {
        json_object_set_new (block, "base_url", json_string (provider->base_url));
        json_object_set_new (block, "model", json_string (provider->model));
    }
    return block;
}

char *
argos_config_snapshot (const argos_config_t *config)
{
    const argos_config_memory_t *memory = config->memory;
    json_t *schema = argos_config_schema (), *snapshot = json_object (), *value;
    const char *name;
    json_object_foreach (memory->tree, name, value)
        if (s_shared (schema, name))
            json_object_set_new (snapshot, name, json_deep_copy (value));
    if (!config->provider.configured)
        json_object_set_new (snapshot, "provider", s_provider (&config->provider));
    s_redact (snapshot);
    char *text = json_dumps (snapshot, JSON_COMPACT);
    json_decref (snapshot);
    json_decref (schema);
    if (!text)
        abort ();
    if (strlen (text) < SNAPSHOT_MAX)
        return text;
    free (text);
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  At the node

//  What is absent above is taken from below. As deep as the settings go.

static void
s_merge (json_t *above, json_t *below) //  NOLINT(misc-no-recursion)
{
    const char *name;
    json_t *value;
    json_object_foreach (below, name, value) {
        json_t *own = json_object_get (above, name);
        if (!own)
            json_object_set_new (above, name, json_deep_copy (value));
        else if (json_is_object (own) && json_is_object (value))
            s_merge (own, value);
    }
}

//  The file. Returns 0 or -1 with a reason; *ret_below is NULL when there is none.

static int
s_read (const char *home, json_t **ret_below, char *reason, size_t size)
{
    char path[4096];
    *ret_below = NULL;
    if (snprintf (path, sizeof path, "%s/" ARGOS_CONFIG_NODE, home) >= (int) sizeof path ||
        access (path, F_OK) != 0)
        return 0;
    *ret_below = json_load_file (path, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object (*ret_below))
        return 0;
    json_decref (*ret_below);
    if (reason && size)
        snprintf (reason, size, "%s is not what `argosd join` has made", path);
    return -1;
}

int
argos_config_under (json_t *tree, json_t *origins, const char *home, char *reason, size_t size)
{
    const char *name;
    json_t *below, *value;
    if (!json_is_object (tree))
        return 0; //  The check of the files says so
    if (s_read (home, &below, reason, size) != 0)
        return -1;
    json_t *schema = argos_config_schema ();
    json_object_foreach (below, name, value) {
        const char *how = s_shared (schema, name);
        json_t *own = json_object_get (tree, name);
        if (how && !own) {
            json_object_set_new (tree, name, json_deep_copy (value));
            argos_config_set_place (origins, name, ARGOS_CONFIG_NODE);
        }
        else if (how && strcmp (how, "merge") == 0 && json_is_object (own))
            s_merge (own, value);
    }
    json_decref (schema);
    json_decref (below);
    return 0;
}
