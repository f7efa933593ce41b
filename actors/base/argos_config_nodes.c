//  argos_config_nodes - the blocks bind, nodes and adapters: what runs where.
//
//  Invariant: after argos_config_nodes has returned 0, exactly one node holds the core (or there
//  are no nodes), each actor is on one that can reach it, and every name fits. The strings are the
//  tree's. Limits: 64 nodes, 16 entries of actors each, 64 of one actor; 64 adapters.

#include "argos_config_priv.h"

#include "argos_errors.h"
#include "argos_header.h"
#include "argos_key_record.h"
#include "argos_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 64     //  Nodes
#define ENTRIES_MAX 16   //  Entries of actors of a node
#define COUNT_MAX 64     //  Of one actor on a node
#define NODE_NAME_MAX 31 //  Bytes of a node's name: "actor.64@" has to fit before it
#define ADAPTERS_MAX 64  //  Foreign adapters
#define WORDS_MAX 64     //  Words of a command, variables of its environment

static const char *const actor_names[] = { "core", "tools", "jobs", "agent", "gateway", "handoff",
    "api", "telegram", "discord", "slack", NULL };

//  Those of them that are adapters: one actor for each account

static const char *const adapter_names[] = { "telegram", "discord", "slack", NULL };

typedef struct {
    argos_config_problem_fn *fn; //  Told what is wrong
    void *arg;                   //  Its argument
    int errors;                  //  So far
} check_t;

static void
s_wrong (
    check_t *self, const char *block, const char *name, const char *member, const char *expected)
{
    char path[256];
    snprintf (path, sizeof path, "%s%s%.64s%s%s", block, name ? "." : "", name ? name : "",
        member ? "." : "", member ? member : "");
    self->fn (self->arg, path, expected, false);
    self->errors++;
}

//  A list of strings, each shorter than max, as a new NULL-terminated array; NULL when it is none.

static const char **
s_strings (const json_t *array, size_t max)
{
    size_t count = json_array_size (array), i;
    const json_t *item;
    if (!json_is_array (array) || count > max)
        return NULL;
    const char **list = calloc (count + 1, sizeof *list);
    if (!list)
        abort ();
    json_array_foreach (array, i, item) {
        list[i] = json_string_value (item);
        if (!list[i]) {
            free (list);
            return NULL;
        }
    }
    return list;
}

static bool
s_is_name (const char *name, size_t max)
{
    return *name >= 'a' && *name <= 'z' && strlen (name) <= max &&
           strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen (name);
}

bool
argos_config_node_name (const char *text)
{
    return s_is_name (text, NODE_NAME_MAX);
}

bool
argos_config_endpoint (const char *endpoint, bool bind)
{
    if (bind && strcmp (endpoint, "ipc") == 0)
        return true;
    if (strncmp (endpoint, "ipc:///", 7) == 0)
        return strlen (endpoint) <= 106;
    const char *port = strrchr (endpoint, ':');
    return strncmp (endpoint, "tcp://", 6) == 0 && port > endpoint + 6 && strlen (endpoint) < 255 &&
           port[1] >= '1' && port[1] <= '9' &&
           strspn (port + 1, "0123456789") == strlen (port + 1) &&
           strtol (port + 1, NULL, 10) <= 65535 && strpbrk (endpoint, " \t\"\\") == NULL;
}

const char *const *
argos_config_actor_names (void)
{
    return actor_names;
}

const char *const *
argos_config_adapter_names (void)
{
    return adapter_names;
}

bool
argos_config_is_adapter (const char *actor)
{
    for (const char *const *name = adapter_names; *name; name++)
        if (strcmp (*name, actor) == 0)
            return true;
    return false;
}

size_t
argos_config_accounts (const argos_config_t *config, const char *platform,
    const char *names[static ARGOS_CONFIG_ACCOUNTS_MAX])
{
    json_t *block = json_object_get (json_object_get (config->settings, "platforms"), platform);
    json_t *accounts = json_object_get (block, "accounts"), *value;
    const char *name;
    size_t count = 0;
    if (json_object_get (block, "token") && !json_object_get (accounts, "main"))
        names[count++] = "main";
    json_object_foreach (accounts, name, value)
        if (count < ARGOS_CONFIG_ACCOUNTS_MAX)
            names[count++] = name;
    //  What a program of the user serves is his
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < config->adapter_count; k++)
            if (strcmp (config->adapters[k].platform, platform) == 0 &&
                strcmp (config->adapters[k].account, names[i]) == 0) {
                names[i--] = names[--count];
                break;
            }
    return count;
}

//  `telegram`: all its accounts; `telegram.work`: one of them.

static bool
s_adapter_place (const char *text, argos_config_place_t *ret_place)
{
    size_t size = strcspn (text, ".");
    for (const char *const *name = adapter_names; *name; name++)
        if (strlen (*name) == size && memcmp (*name, text, size) == 0) {
            *ret_place = (argos_config_place_t){ .actor = *name, .count = 1 };
            if (!text[size])
                return true;
            snprintf (ret_place->account, sizeof ret_place->account, "%s", text + size + 1);
            return s_is_name (text + size + 1, sizeof ret_place->account - 1);
        }
    return false;
}

bool
argos_config_place (const char *text, argos_config_place_t *ret_place)
{
    char name[32];
    if (s_adapter_place (text, ret_place))
        return true;
    size_t size = strcspn (text, "*.");
    long number = text[size] ? strtol (text + size + 1, NULL, 10) : 0;
    size_t digits = text[size] ? strspn (text + size + 1, "0123456789") : 0;
    if (size >= sizeof name || (text[size] && (!digits || text[size + 1 + digits])) ||
        (text[size] && (number < 1 || number > COUNT_MAX)))
        return false;
    memcpy (name, text, size);
    name[size] = 0;
    for (const char *const *known = actor_names; *known; known++)
        if (strcmp (*known, name) == 0 && !argos_config_is_adapter (name)) {
            *ret_place = (argos_config_place_t){ .actor = *known,
                .count = text[size] == '*' ? (int) number : 1,
                .number = text[size] == '.' ? (int) number : 0 };
            //  More than one only of those that share their work
            return strcmp (name, "agent") == 0 || strcmp (name, "gateway") == 0 ||
                   strcmp (name, "tools") == 0 || !text[size];
        }
    return false;
}

//  One node of the map. Whether it holds the core is told by an empty broker.

static void
s_read_node (check_t *check, const char *name, json_t *value, argos_config_node_t *node)
{
    const char *member;
    const json_t *item;
    size_t i;
    bool core = false;
    *node = (argos_config_node_t){ .name = name, .broker = "" };
    if (!argos_config_node_name (name))
        s_wrong (check, "nodes", name, NULL, "a name of a-z, 0-9, _ and -, at most 31 characters");
    json_object_foreach (value, member, item)
        if (strcmp (member, "actors") != 0 && strcmp (member, "bind") != 0 &&
            strcmp (member, "broker") != 0)
            s_wrong (check, "nodes", name, member, "one of actors, bind, broker");
    const json_t *actors = json_object_get (value, "actors");
    if (json_array_size (actors) < 1 || json_array_size (actors) > ENTRIES_MAX) {
        s_wrong (check, "nodes", name, "actors", "a list of 1 to 16 actors");
        return;
    }
    json_array_foreach (actors, i, item) {
        const char *text = json_string_value (item);
        argos_config_place_t *place = &node->places[node->place_count];
        if (!text || !argos_config_place (text, place))
            s_wrong (check, "nodes", name, "actors",
                "core, tools, jobs, agent, gateway, handoff, api, telegram, discord, slack; with "
                "*N "
                "behind tools, "
                "agent, "
                "gateway: "
                "so many");
        else {
            node->place_count++;
            core |= strcmp (place->actor, "core") == 0;
        }
    }
    if (!core && strcmp (name, ARGOS_NODE_CORE) == 0)
        s_wrong (
            check, "nodes", name, "actors", "core: that is the name of the node with the core");
    const char *broker = json_string_value (json_object_get (value, "broker"));
    if (core == (broker != NULL) || (broker && !argos_config_endpoint (broker, false)))
        s_wrong (check, "nodes", name, "broker",
            "tcp://host:port of the core where the core is not, and nothing where it is");
    else if (broker)
        node->broker = broker;
    if (json_object_get (value, "bind") && !core)
        s_wrong (check, "nodes", name, "bind", "nothing: only the core listens");
}

static const char **
s_read_bind (check_t *check, const char *block, const char *name, const json_t *value)
{
    const char **list = s_strings (value, ARGOS_CONFIG_BIND_MAX);
    bool good = list && *list;
    for (const char **endpoint = list; good && *endpoint; endpoint++)
        good = argos_config_endpoint (*endpoint, true);
    if (good)
        return list;
    s_wrong (check, block, name, name ? "bind" : NULL,
        "a list of 1 to 8 of: ipc, ipc:///path, tcp://host:port");
    free (list);
    return NULL;
}

static bool
s_has (const argos_config_node_t *node, const char *actor)
{
    for (size_t i = 0; i < node->place_count; i++)
        if (strcmp (node->places[i].actor, actor) == 0)
            return true;
    return false;
}

//  Background jobs run where the tools do, when nothing else is said.

static void
s_place_jobs (argos_config_t *config)
{
    for (size_t i = 0; i < config->node_count; i++)
        if (s_has (&config->nodes[i], "jobs"))
            return;
    for (size_t i = 0; i < config->node_count; i++) {
        argos_config_node_t *node = &config->nodes[i];
        if (s_has (node, "tools") && node->place_count < ARGOS_CONFIG_PLACES_MAX)
            node->places[node->place_count++] =
                (argos_config_place_t){ .actor = "jobs", .count = 1 };
    }
}

static void
s_read_nodes (check_t *check, argos_config_t *config, json_t *nodes)
{
    const char *name;
    json_t *value;
    size_t cores = 0;
    if (!json_object_size (nodes))
        return;
    if (json_object_size (nodes) > NODES_MAX) {
        s_wrong (check, "nodes", NULL, NULL, "at most 64 nodes");
        return;
    }
    config->nodes = calloc (json_object_size (nodes), sizeof *config->nodes);
    if (!config->nodes)
        abort ();
    json_object_foreach (nodes, name, value) {
        argos_config_node_t *node = &config->nodes[config->node_count++];
        s_read_node (check, name, value, node);
        if (json_object_get (value, "bind"))
            node->bind = s_read_bind (check, "nodes", name, json_object_get (value, "bind"));
        for (size_t i = 0; i < node->place_count; i++)
            cores += strcmp (node->places[i].actor, "core") == 0;
    }
    if (cores != 1)
        s_wrong (check, "nodes", NULL, NULL, "the actor core exactly once");
    s_place_jobs (config);
}

//  ------------------------------------------------------------------------------------------------
//  Adapters

//  NAME=value for each variable, a new list of new strings; NULL when one is no string.

static char **
s_read_env (json_t *env)
{
    const char *name;
    const json_t *value;
    size_t count = 0;
    char **list = calloc (json_object_size (env) + 1, sizeof *list);
    if (!list)
        abort ();
    json_object_foreach (env, name, value) {
        if (!json_is_string (value) || strchr (name, '=') ||
            asprintf (&list[count], "%s=%s", name, json_string_value (value)) < 0) {
            for (size_t i = 0; i < count; i++)
                free (list[i]);
            free (list);
            return NULL;
        }
        count++;
    }
    return list;
}

static void
s_read_adapter (
    check_t *check, const char *platform, json_t *value, argos_config_adapter_t *adapter)
{
    const char *account = json_string_value (json_object_get (value, "account"));
    json_t *env = json_object_get (value, "env");
    const char *member;
    const json_t *item;
    if (!argos_key_platform_valid (platform))
        s_wrong (check, "adapters", platform, NULL, "a platform of " ARGOS_PLATFORM_RULE);
    json_object_foreach (value, member, item)
        if (strcmp (member, "command") != 0 && strcmp (member, "account") != 0 &&
            strcmp (member, "env") != 0)
            s_wrong (check, "adapters", platform, member, "one of command, account, env");
    adapter->platform = platform;
    adapter->account = account ? account : "main";
    adapter->command = s_strings (json_object_get (value, "command"), WORDS_MAX);
    if (!adapter->command || !*adapter->command)
        s_wrong (check, "adapters", platform, "command", "a list of 1 to 64 words");
    if (!s_is_name (adapter->account, 24))
        s_wrong (check, "adapters", platform, "account", "a name of at most 24 characters");
    if ((env && !json_is_object (env)) || json_object_size (env) > WORDS_MAX ||
        !(adapter->env = s_read_env (env)))
        s_wrong (check, "adapters", platform, "env", "a map of at most 64 strings");
}

static void
s_read_adapters (check_t *check, argos_config_t *config, json_t *adapters)
{
    const char *platform;
    json_t *value;
    if (!json_object_size (adapters))
        return;
    if (json_object_size (adapters) > ADAPTERS_MAX) {
        s_wrong (check, "adapters", NULL, NULL, "at most 64 adapters");
        return;
    }
    config->adapters = calloc (json_object_size (adapters), sizeof *config->adapters);
    if (!config->adapters)
        abort ();
    json_object_foreach (adapters, platform, value)
        s_read_adapter (check, platform, value, &config->adapters[config->adapter_count++]);
}

int
argos_config_nodes (
    argos_config_t *config, const json_t *tree, argos_config_problem_fn *fn, void *arg)
{
    check_t check = { .fn = fn, .arg = arg };
    config->bind = s_read_bind (&check, "bind", NULL, json_object_get (tree, "bind"));
    s_read_nodes (&check, config, json_object_get (tree, "nodes"));
    s_read_adapters (&check, config, json_object_get (tree, "adapters"));
    return check.errors ? -1 : 0;
}

void
argos_config_nodes_free (argos_config_t *config)
{
    free (config->bind);
    for (size_t i = 0; i < config->node_count; i++)
        free (config->nodes[i].bind);
    free (config->nodes);
    for (size_t i = 0; i < config->adapter_count; i++) {
        free (config->adapters[i].command);
        for (char **variable = config->adapters[i].env; variable && *variable; variable++)
            free (*variable);
        free (config->adapters[i].env);
    }
    free (config->adapters);
}
