//  argosd_place - see the header. Reads a key file, and ARGOS_TOKEN of the environment; else pure.

#include "argosd_place.h"

#include "argos_key_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
s_holds_core (const argos_config_node_t *node)
{
    for (size_t i = 0; i < node->place_count; i++)
        if (strcmp (node->places[i].actor, "core") == 0)
            return true;
    return false;
}

//  The node of that name; NULL name = that of the core. NULL = there is none.

static const argos_config_node_t *
s_node (const argos_config_t *config, const char *name)
{
    for (size_t i = 0; i < config->node_count; i++)
        if (name ? strcmp (config->nodes[i].name, name) == 0 : s_holds_core (&config->nodes[i]))
            return &config->nodes[i];
    return NULL;
}

static void
s_add (argosd_place_t *self, const argos_config_place_t *place)
{
    if (strcmp (place->actor, "core") == 0)
        self->core = true;
    else if (self->count < ARGOS_CONFIG_PLACES_MAX)
        self->actors[self->count++] = *place;
}

//  The entries of --only. Returns false when one is none.

static bool
s_read_only (argosd_place_t *self, const char *text)
{
    while (*text) {
        char word[32];
        argos_config_place_t place;
        size_t size = strcspn (text, ",");
        if (size >= sizeof word || self->count == ARGOS_CONFIG_PLACES_MAX)
            return false;
        memcpy (word, text, size);
        word[size] = 0;
        if (!argos_config_place (word, &place))
            return false;
        s_add (self, &place);
        text += size;
        text += *text == ',';
    }
    return self->core || self->count;
}

static void
s_take_all (argosd_place_t *self, const argos_config_node_t *node)
{
    for (size_t i = 0; node && i < node->place_count; i++)
        s_add (self, &node->places[i]);
    for (const char *const *name = argos_config_actor_names (); !node && *name; name++)
        s_add (self, &(argos_config_place_t){ .actor = *name, .count = 1 });
}

//  What is shown to the broker: the key that is named, that of the node over tcp, or the token that
//  our parent has given us.

static int
s_read_key (argosd_place_t *self, const argosd_options_t *options, const argosd_home_t *home,
    char *reason, size_t size)
{
    const char *token = getenv ("ARGOS_TOKEN");
    self->key_path = options->key ? options->key : "";
    if (!options->key && strncmp (self->broker, "tcp://", 6) == 0) {
        if (!*self->node) {
            snprintf (reason, size, "tcp needs a key; name it with --key");
            return -1;
        }
        snprintf (self->path, sizeof self->path, "%.*s/" ARGOS_KEY_FOLDER "/%s.key", PATH_MAX - 64,
            home->path, self->node);
        self->key_path = self->path;
    }
    if (*self->key_path) {
        self->keyed = true;
        if (argos_key_read (&self->key, self->key_path, reason, size) != 0)
            return -1;
        if (!*self->node && strcmp (self->key.role, "core") == 0 &&
            argos_config_node_name (self->key.name))
            self->node = self->key.name; //  Such a key owns the names that end so, and no others
        return 0;
    }
    self->keyed = token && *token && strlen (token) <= ARGOS_TOKEN_MAX;
    if (self->keyed)
        memcpy (self->key.token, token, strlen (token) + 1);
    return 0;
}

int
argosd_place_make (argosd_place_t *self, const argosd_options_t *options, const argosd_home_t *home,
    const argos_config_t *config, char *reason, size_t size)
{
    *self = (argosd_place_t){
        .node = "", .key_path = "", .isolate = options->isolate, .child = options->child
    };
    const argos_config_node_t *node = s_node (config, options->node);
    if (options->node && !node) {
        snprintf (reason, size, "argos.yaml has no node %s", options->node);
        return -1;
    }
    if (options->only && !s_read_only (self, options->only)) {
        snprintf (reason, size,
            "--only: a list of core, tools, jobs, agent, gateway, handoff, api, telegram, discord, "
            "slack, with commas between them");
        return -1;
    }
    if (!options->only)
        s_take_all (self, node);
    if (options->node && !s_holds_core (node))
        self->node = node->name;
    const char **bind = node && node->bind ? node->bind : config->bind;
    for (size_t i = 0; bind[i]; i++)
        self->bind[i] = strcmp (bind[i], "ipc") == 0 ? home->endpoint : bind[i];
    if (self->core)
        return 0;
    self->broker = options->broker         ? options->broker
                   : node && *node->broker ? node->broker
                                           : home->endpoint;
    if (!argos_config_endpoint (self->broker, false)) {
        snprintf (reason, size, "--broker: expected ipc:///path or tcp://host:port");
        return -1;
    }
    return s_read_key (self, options, home, reason, size);
}
