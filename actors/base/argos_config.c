//  argos_config - checks and fills the snapshot.
//
//  Invariant: the tree that the snapshot points into fits config.schema.json and has every default
//  filled in, so reading a value from it can't fail. Which key goes to which member is a table.

#include "argos_config_priv.h"

#include "argos_access.h"
#include "argos_allow.h"
#include "argos_embedded.h"
#include "argos_json_get.h"
#include "argos_schema.h"
#include "argos_secret.h"
#include "argos_setting.h"
#include "argos_trie.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SENTENCE_MAX 768 //  Bytes of a sentence about a key

typedef struct {
    const json_t *origins;      //  Path to where it was set
    argos_config_warn_fn *warn; //  Told of unknown keys, may be NULL
    void *arg;                  //  Its first argument
    char *reason;               //  Where the first error goes, may be NULL
    size_t size;                //  Its size
    int errors;                 //  How many
} check_t;

typedef enum {
    FIELD_TEXT,  //  const char *; "" when it is not set
    FIELD_FLAG,  //  bool
    FIELD_INT,   //  int
    FIELD_LARGE, //  int64_t
} field_kind_t;

//  The keys that are members of the snapshot; all others are asked for with argos_setting

#define FIELD(kind, path, member)                                                                  \
    {                                                                                              \
        FIELD_##kind, path, offsetof (argos_config_t, member)                                      \
    }

static const struct {
    field_kind_t kind; //  What the member is
    const char *path;  //  Its key
    size_t offset;     //  Where it is
} s_fields[] = {
    FIELD (TEXT, "ipc_group", ipc_group),
    FIELD (FLAG, "http.enabled", http.enabled),
    FIELD (TEXT, "http.host", http.host),
    FIELD (INT, "http.port", http.port),
    FIELD (FLAG, "http.allow_unauthenticated_loopback", http.allow_unauthenticated_loopback),
    FIELD (INT, "http.max_concurrent_runs", http.max_concurrent_runs),
    FIELD (TEXT, "http.tls_cert", http.tls_cert),
    FIELD (TEXT, "http.tls_key", http.tls_key),
    FIELD (FLAG, "http.allow_cleartext", http.allow_cleartext),
    FIELD (TEXT, "http.model_name", http.model_name),
    FIELD (FLAG, "http.direct_model_requests", http.direct_model_requests),
    FIELD (INT, "http.disconnect_grace_s", http.disconnect_grace_s),
    FIELD (INT, "http.keepalive_s", http.keepalive_s),
    FIELD (INT, "runs.retention_s", run_retention_s),
    FIELD (TEXT, "agent.system_prompt", agent.system_prompt),
    FIELD (INT, "agent.max_iterations", agent.max_iterations),
    FIELD (INT, "agent.max_turns", agent.max_turns),
    FIELD (INT, "tools.terminal.timeout_s", terminal.timeout_s),
    FIELD (LARGE, "tools.terminal.output_max", terminal.output_max),
    FIELD (TEXT, "tools.terminal.workdir", terminal.workdir),
    FIELD (LARGE, "blobs.max_bytes", blobs.max_bytes),
    FIELD (LARGE, "blobs.total_bytes", blobs.total_bytes),
    FIELD (LARGE, "blobs.keep_ms", blobs.keep_ms),
    FIELD (LARGE, "broker.lease_ms", broker.lease_ms),
    FIELD (LARGE, "broker.quiet_ms", broker.quiet_ms),
    FIELD (LARGE, "broker.ping_ms", broker.ping_ms),
    FIELD (LARGE, "broker.window_messages", broker.window_messages),
    FIELD (LARGE, "broker.window_bytes", broker.window_bytes),
    FIELD (LARGE, "broker.service_max", broker.service_max),
    FIELD (LARGE, "broker.lane_max", broker.lane_max),
    FIELD (LARGE, "broker.peer_max", broker.peer_max),
    FIELD (LARGE, "broker.ring_bytes", broker.ring_bytes),
    FIELD (LARGE, "broker.ring_entries", broker.ring_entries),
    FIELD (LARGE, "broker.linger_ms", broker.linger_ms),
    FIELD (LARGE, "broker.slow_ms", broker.slow_ms),
    FIELD (LARGE, "broker.trace_entries", broker.trace_entries),
    FIELD (LARGE, "broker.connections_max", broker.connections_max),
};

static void __attribute__ ((format (printf, 3, 4)))
s_tell (char *reason, size_t size, const char *format, ...)
{
    va_list args;
    if (!reason || !size)
        return;
    va_start (args, format);
    vsnprintf (reason, size, format, args);
    va_end (args);
}

static void
s_problem (void *arg, const char *path, const char *expected, bool unknown)
{
    check_t *check = arg;
    char sentence[SENTENCE_MAX];
    const char *origin = argos_config_place_of (check->origins, path);
    if (!unknown) {
        if (check->errors++ == 0)
            s_tell (check->reason, check->size, "%s: %s%sexpected %s", origin, path,
                path[0] ? ": " : "", expected);
        return;
    }
    const char *last = strrchr (path, '.');
    int prefix = last ? (int) (last - path) + 1 : 0;
    snprintf (sentence, sizeof sentence, "%s: %s: unknown key", origin, path);
    size_t used = strlen (sentence);
    if (expected[0])
        snprintf (sentence + used, sizeof sentence - used, "; did you mean %.*s%s?", prefix, path,
            expected);
    if (check->warn)
        check->warn (check->arg, sentence);
}

//  Checks and defaults

json_t *
argos_config_schema (void)
{
    const argos_embedded_t *file = argos_embedded_find ("config.schema.json");
    return argos_config_must (json_loadb (file->data, file->size, 0, NULL));
}

const json_t *
argos_config_resolve (const json_t *root, const json_t *schema)
{
    const char *ref = json_string_value (json_object_get (schema, "$ref"));
    return ref ? json_object_get (json_object_get (root, "$defs"), strrchr (ref, '/') + 1) : schema;
}

//  Defaults of listed members only: what is in a map is there or not

static void //  NOLINTNEXTLINE(misc-no-recursion): as deep as the schema
s_fill_defaults (const json_t *root, const json_t *schema, json_t *tree)
{
    const char *name;
    json_t *member;
    json_object_foreach (json_object_get (schema, "properties"), name, member) {
        const json_t *resolved = argos_config_resolve (root, member);
        json_t *value = json_object_get (tree, name);
        json_t *preset = json_object_get (member, "default");
        if (json_object_get (resolved, "properties")) {
            if (!value) {
                value = argos_config_must (json_object ());
                json_object_set_new (tree, name, value);
            }
            s_fill_defaults (root, resolved, value);
        }
        else if (!value && preset)
            json_object_set_new (tree, name, argos_config_must (json_deep_copy (preset)));
    }
}

static int
s_check (const json_t *schema, const json_t *tree, check_t *check)
{
    argos_schema_t *compiled = argos_schema_compile (schema, check->reason, check->size);
    if (!compiled)
        return -1;
    argos_schema_validate (compiled, tree, s_problem, check);
    argos_schema_destroy (&compiled);
    return check->errors ? -1 : 0;
}

static void
s_expect (check_t *check, bool holds, const char *path, const char *expected)
{
    if (!holds)
        s_problem (check, path, expected, false);
}

//  Roles are maps, which no schema here can say.

static void
s_check_roles (const argos_config_t *config, check_t *check)
{
    char reason[ARGOS_REASON_MAX], expected[ARGOS_REASON_MAX + 32];
    json_t *roles = argos_config_must (json_loads (config->roles, 0, NULL));
    argos_access_t *access = argos_access_new (roles, config->ipc_roles, reason);
    if (!access) {
        snprintf (expected, sizeof expected, "good rules; %s", reason);
        s_expect (check, false, "roles", expected);
    }
    argos_access_destroy (&access);
    json_decref (roles);
}

//  What no schema can say

static int
s_check_relations (const argos_config_t *config, check_t *check)
{
    const char *workdir = config->terminal.workdir;
    char path[128];
    s_expect (check, config->broker.quiet_ms < config->broker.lease_ms, "broker.quiet_ms",
        "less than broker.lease_ms");
    s_expect (check, config->broker.ping_ms < config->broker.quiet_ms, "broker.ping_ms",
        "less than broker.quiet_ms");
    s_expect (
        check, workdir[0] == 0 || workdir[0] == '/', "tools.terminal.workdir", "an absolute path");
    s_check_roles (config, check);
    s_expect (check, argos_allow_check (config->settings, path, sizeof path) == 0, path,
        "allow_all_users: true beside open, since that lets everybody in");
    for (size_t at = 0; at < config->topic_count; at++)
        s_expect (check, argos_trie_is_valid (config->topics[at].match), "topics",
            "a match without empty segments, and > only at its end");
    return check->errors ? -1 : 0;
}

static const char **
s_list (const json_t *array)
{
    const char **list = argos_config_must (calloc (json_array_size (array) + 1, sizeof *list));
    for (size_t at = 0; at < json_array_size (array); at++)
        list[at] = json_string_value (json_array_get (array, at));
    return list;
}

static argos_log_level_t
s_level (const char *name)
{
    static const char *const names[] = { "error", "warn", "info", "debug" };
    for (int level = ARGOS_LOG_ERROR; level <= ARGOS_LOG_DEBUG; level++)
        if (strcmp (names[level], name) == 0)
            return (argos_log_level_t) level;
    return ARGOS_LOG_INFO;
}

static void
s_fill_limits (argos_config_t *config, argos_config_memory_t *memory, const json_t *list)
{
    size_t count = json_array_size (list);
    memory->limits = argos_config_must (calloc (count + 1, sizeof *memory->limits));
    for (size_t at = 0; at < count; at++) {
        const json_t *limit = json_array_get (list, at);
        memory->limits[at] =
            (argos_config_service_t){ .service = argos_json_find_text (limit, "service"),
                .hold_max_ms = argos_json_int (limit, "hold_max_ms"),
                .max = argos_json_int (limit, "max"),
                .lane_max = argos_json_int (limit, "lane_max") };
    }
    config->service_limits = memory->limits;
    config->service_count = count;
}

static void
s_fill_topics (argos_config_t *config, argos_config_memory_t *memory, const json_t *list)
{
    size_t count = json_array_size (list);
    memory->topics = argos_config_must (calloc (count + 1, sizeof *memory->topics));
    for (size_t at = 0; at < count; at++) {
        const json_t *rule = json_array_get (list, at);
        memory->topics[at] = (argos_config_topic_t){ .match = argos_json_find_text (rule, "match"),
            .keep_ms = argos_json_int (rule, "keep_ms"),
            .keep_bytes = argos_json_int (rule, "keep_bytes"),
            .keep_entries = argos_json_int (rule, "keep_entries") };
    }
    config->topics = memory->topics;
    config->topic_count = count;
}

static void
s_fill_fields (argos_config_t *config, const json_t *tree)
{
    for (size_t i = 0; i < sizeof s_fields / sizeof *s_fields; i++) {
        const json_t *value = argos_setting_at (tree, s_fields[i].path);
        void *member = (char *) config + s_fields[i].offset;
        switch (s_fields[i].kind) {
        case FIELD_TEXT:
            *(const char **) member = value ? json_string_value (value) : "";
            break;
        case FIELD_FLAG:
            *(bool *) member = json_is_true (value);
            break;
        case FIELD_INT:
            *(int *) member = (int) json_integer_value (value);
            break;
        default:
            *(int64_t *) member = json_integer_value (value);
        }
    }
}

static void
s_fill (argos_config_t *config, argos_config_memory_t *memory)
{
    const json_t *tree = memory->tree;
    s_fill_fields (config, tree);
    memory->origins_list = s_list (argos_setting_at (tree, "http.cors_origins"));
    memory->services = s_list (json_object_get (tree, "services"));
    memory->ipc_roles = s_list (json_object_get (tree, "ipc_roles"));
    memory->roles = argos_config_must (json_dumps (json_object_get (tree, "roles"), JSON_COMPACT));
    config->home = memory->home;
    config->settings = tree;
    config->services = memory->services;
    config->ipc_roles = memory->ipc_roles;
    config->roles = memory->roles;
    config->http.cors_origins = memory->origins_list;
    config->log_level = s_level (argos_setting_text (tree, NULL, NULL, "log.level"));
    s_fill_topics (config, memory, json_object_get (tree, "topics"));
    s_fill_limits (config, memory, json_object_get (tree, "service_limits"));
}

argos_config_t *
argos_config_load (
    const char *home, argos_config_warn_fn *warn, void *arg, char *reason, size_t size)
{
    return argos_config_try (home, NULL, warn, arg, reason, size);
}

argos_config_t *
argos_config_try (const char *home, const char *local, argos_config_warn_fn *warn, void *arg,
    char *reason, size_t size)
{
    json_t *origins = argos_config_must (json_object ());
    check_t check = {
        .origins = origins, .warn = warn, .arg = arg, .reason = reason, .size = size
    };
    json_t *tree = argos_config_read (home, local, origins, reason, size);
    if (!tree) {
        json_decref (origins);
        return NULL;
    }
    argos_config_t *config = argos_config_must (calloc (1, sizeof *config));
    argos_config_memory_t *memory = argos_config_must (calloc (1, sizeof *memory));
    config->memory = memory;
    memory->tree = tree;
    memory->origins = origins;
    memory->home = argos_config_must (strdup (home));
    json_t *schema = argos_config_schema ();
    int rc = argos_config_under (tree, origins, home, reason, size);
    if (rc == 0)
        rc = s_check (schema, tree, &check);
    if (rc == 0) {
        s_fill_defaults (schema, schema, tree);
        s_fill (config, memory);
        argos_config_provider (config, memory, json_object_get (tree, "provider"));
        argos_config_fallbacks (config, memory, json_object_get (tree, "fallback_providers"));
        rc = s_check_relations (config, &check);
        if (argos_config_nodes (config, tree, s_problem, &check) != 0)
            rc = -1;
    }
    json_decref (schema);
    if (rc)
        argos_config_destroy (&config);
    return config;
}

const char *
argos_config_origin (const argos_config_t *self, const char *path)
{
    const argos_config_memory_t *memory = self->memory;
    const char *origin = json_string_value (json_object_get (memory->origins, path));
    return origin ? origin : "default";
}

json_t *
argos_config_defaults (void)
{
    json_t *schema = argos_config_schema (), *tree = argos_config_must (json_object ());
    s_fill_defaults (schema, schema, tree);
    json_decref (schema);
    return tree;
}

void
argos_config_destroy (argos_config_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_config_memory_t *memory = (*self_p)->memory;
    argos_secret_free (&memory->key);
    for (size_t i = 0; i < ARGOS_FALLBACKS_MAX; i++) {
        argos_secret_free (&memory->fallback_keys[i]);
        free (memory->fallback_urls[i]);
        free (memory->fallback_problems[i]);
    }
    free (memory->problem);
    free (memory->base_url);
    argos_config_nodes_free (*self_p);
    free (memory->home);
    free (memory->origins_list);
    json_decref (memory->origins);
    free (memory->services);
    free (memory->topics);
    free (memory->limits);
    free (memory->ipc_roles);
    free (memory->roles);
    json_decref (memory->tree);
    free (memory);
    free (*self_p);
    *self_p = NULL;
}

const char *
argos_config_template (void)
{
    return argos_embedded_find ("argos.example.yaml")->data;
}
