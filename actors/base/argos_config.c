//  argos_config - reads, checks and fills the snapshot.
//
//  Invariant: the tree that the snapshot points into fits config.schema.json and has every default
//  filled in, so reading a value from it can't fail. A key without a value (`http:` with nothing
//  behind it) counts as absent. Limits: those of argos_yaml.

#include "argos_config_priv.h"

#include "argos_access.h"
#include "argos_embedded.h"
#include "argos_schema.h"
#include "argos_trie.h"
#include "argos_yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SENTENCE_MAX 768 //  Bytes of a sentence about a key

typedef struct {
    json_t *lines;              //  Path to line, may be NULL
    argos_config_warn_fn *warn; //  Told of unknown keys, may be NULL
    void *arg;                  //  Its first argument
    char *reason;               //  Where the first error goes, may be NULL
    size_t size;                //  Its size
    int errors;                 //  How many
} check_t;

static void *
s_must (void *memory)
{
    if (!memory)
        abort ();
    return memory;
}

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

//  The line of a path, or of the nearest thing around it

static int
s_line (const json_t *lines, const char *path)
{
    char around[SENTENCE_MAX];
    snprintf (around, sizeof around, "%s", path);
    for (;;) {
        const json_t *line = json_object_get (lines, around);
        if (line)
            return (int) json_integer_value (line);
        if (!around[0])
            return 1;
        size_t end = strlen (around);
        while (end && around[end] != '.' && around[end] != '[')
            end--;
        around[end] = 0;
    }
}

static void
s_problem (void *arg, const char *path, const char *expected, bool unknown)
{
    check_t *check = arg;
    char sentence[SENTENCE_MAX];
    int line = s_line (check->lines, path);
    if (!unknown) {
        if (check->errors++ == 0)
            s_tell (check->reason, check->size, "%s:%d: %s%sexpected %s", ARGOS_CONFIG_FILE, line,
                path, path[0] ? ": " : "", expected);
        return;
    }
    const char *last = strrchr (path, '.');
    int prefix = last ? (int) (last - path) + 1 : 0;
    snprintf (sentence, sizeof sentence, "%s:%d: %s: unknown key", ARGOS_CONFIG_FILE, line, path);
    size_t used = strlen (sentence);
    if (expected[0])
        snprintf (sentence + used, sizeof sentence - used, "; did you mean %.*s%s?", prefix, path,
            expected);
    if (check->warn)
        check->warn (check->arg, sentence);
}

//  The file

//  Reads the whole file. *ret_data is new (NULL when there is no file). Returns 0, or -1 with a
//  reason.

static int
s_read_file (const char *home, char **ret_data, size_t *ret_size, char *reason, size_t size)
{
    char path[4096];
    *ret_data = NULL;
    *ret_size = 0;
    snprintf (path, sizeof path, "%s/%s", home, ARGOS_CONFIG_FILE);
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return 0;
    struct stat about;
    if (fd < 0 || fstat (fd, &about) || !S_ISREG (about.st_mode) ||
        about.st_size > ARGOS_YAML_SIZE_MAX) {
        s_tell (reason, size, "%s: expected a readable file of at most %d bytes", path,
            ARGOS_YAML_SIZE_MAX);
        if (fd >= 0)
            close (fd);
        return -1;
    }
    char *data = s_must (malloc ((size_t) about.st_size + 1));
    ssize_t got = 0;
    size_t used = 0;
    while (used < (size_t) about.st_size &&
           (got = read (fd, data + used, (size_t) about.st_size - used)) > 0)
        used += (size_t) got;
    close (fd);
    if (got < 0) {
        free (data);
        s_tell (reason, size, "%s: expected a readable file", path);
        return -1;
    }
    *ret_data = data;
    *ret_size = used;
    return 0;
}

//  Takes keys without a value out; as deep as the schema goes

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

static json_t *
s_read_tree (const char *home, json_t **ret_lines, char *reason, size_t size)
{
    char *data;
    size_t data_size;
    if (s_read_file (home, &data, &data_size, reason, size))
        return NULL;
    json_t *tree =
        argos_yaml_load (ARGOS_CONFIG_FILE, data ? data : "", data_size, ret_lines, reason, size);
    free (data);
    if (json_is_null (tree)) {
        json_decref (tree);
        tree = s_must (json_object ());
    }
    if (json_is_object (tree))
        s_drop_nulls (tree);
    return tree;
}

//  Checks and defaults

static json_t *
s_schema (void)
{
    const argos_embedded_t *file = argos_embedded_find ("config.schema.json");
    return s_must (json_loadb (file->data, file->size, 0, NULL));
}

static void
s_fill_defaults (const json_t *schema, json_t *tree) //  NOLINT(misc-no-recursion)
{
    const char *name;
    json_t *member;
    json_object_foreach (json_object_get (schema, "properties"), name, member) {
        json_t *value = json_object_get (tree, name);
        json_t *preset = json_object_get (member, "default");
        if (json_object_get (member, "properties")) {
            if (!value) {
                value = s_must (json_object ());
                json_object_set_new (tree, name, value);
            }
            s_fill_defaults (member, value);
        }
        else if (!value && preset)
            json_object_set_new (tree, name, s_must (json_deep_copy (preset)));
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
    json_t *roles = s_must (json_loads (config->roles, 0, NULL));
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
    s_expect (check, config->broker.quiet_ms < config->broker.lease_ms, "broker.quiet_ms",
        "less than broker.lease_ms");
    s_expect (check, config->broker.ping_ms < config->broker.quiet_ms, "broker.ping_ms",
        "less than broker.quiet_ms");
    s_expect (
        check, workdir[0] == 0 || workdir[0] == '/', "tools.terminal.workdir", "an absolute path");
    s_check_roles (config, check);
    for (size_t at = 0; at < config->topic_count; at++)
        s_expect (check, argos_trie_is_valid (config->topics[at].match), "topics",
            "a match without empty segments, and > only at its end");
    return check->errors ? -1 : 0;
}

//  From the tree to plain fields

static const char *
s_text (const json_t *section, const char *name)
{
    return json_string_value (json_object_get (section, name));
}

static bool
s_flag (const json_t *section, const char *name)
{
    return json_is_true (json_object_get (section, name));
}

static int64_t
s_number (const json_t *section, const char *name)
{
    return json_integer_value (json_object_get (section, name));
}

static const char **
s_list (const json_t *array)
{
    const char **list = s_must (calloc (json_array_size (array) + 1, sizeof *list));
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
    memory->limits = s_must (calloc (count + 1, sizeof *memory->limits));
    for (size_t at = 0; at < count; at++) {
        const json_t *limit = json_array_get (list, at);
        memory->limits[at] = (argos_config_service_t){ .service = s_text (limit, "service"),
            .hold_max_ms = s_number (limit, "hold_max_ms"),
            .max = s_number (limit, "max"),
            .lane_max = s_number (limit, "lane_max") };
    }
    config->service_limits = memory->limits;
    config->service_count = count;
}

static void
s_fill_topics (argos_config_t *config, argos_config_memory_t *memory, const json_t *list)
{
    size_t count = json_array_size (list);
    memory->topics = s_must (calloc (count + 1, sizeof *memory->topics));
    for (size_t at = 0; at < count; at++) {
        const json_t *rule = json_array_get (list, at);
        memory->topics[at] = (argos_config_topic_t){ .match = s_text (rule, "match"),
            .keep_ms = s_number (rule, "keep_ms"),
            .keep_bytes = s_number (rule, "keep_bytes"),
            .keep_entries = s_number (rule, "keep_entries") };
    }
    config->topics = memory->topics;
    config->topic_count = count;
}

static void
s_fill_broker (argos_config_broker_t *broker, const json_t *section)
{
    broker->lease_ms = s_number (section, "lease_ms");
    broker->quiet_ms = s_number (section, "quiet_ms");
    broker->ping_ms = s_number (section, "ping_ms");
    broker->window_messages = s_number (section, "window_messages");
    broker->window_bytes = s_number (section, "window_bytes");
    broker->service_max = s_number (section, "service_max");
    broker->lane_max = s_number (section, "lane_max");
    broker->peer_max = s_number (section, "peer_max");
    broker->ring_bytes = s_number (section, "ring_bytes");
    broker->ring_entries = s_number (section, "ring_entries");
    broker->linger_ms = s_number (section, "linger_ms");
    broker->slow_ms = s_number (section, "slow_ms");
    broker->trace_entries = s_number (section, "trace_entries");
    broker->connections_max = s_number (section, "connections_max");
}

static void
s_fill_blobs (argos_config_blobs_t *blobs, const json_t *section)
{
    blobs->max_bytes = s_number (section, "max_bytes");
    blobs->total_bytes = s_number (section, "total_bytes");
    blobs->keep_ms = s_number (section, "keep_ms");
}

static void
s_fill (argos_config_t *config, argos_config_memory_t *memory)
{
    const json_t *http = json_object_get (memory->tree, "http");
    const json_t *agent = json_object_get (memory->tree, "agent");
    const json_t *gateway = json_object_get (memory->tree, "gateway");
    const json_t *tools = json_object_get (memory->tree, "tools");
    const json_t *terminal = json_object_get (tools, "terminal");
    memory->origins = s_list (json_object_get (http, "cors_origins"));
    memory->services = s_list (json_object_get (memory->tree, "services"));
    config->home = memory->home;
    config->services = memory->services;
    memory->ipc_roles = s_list (json_object_get (memory->tree, "ipc_roles"));
    memory->roles = s_must (json_dumps (json_object_get (memory->tree, "roles"), JSON_COMPACT));
    config->ipc_roles = memory->ipc_roles;
    config->roles = memory->roles;
    config->ipc_group = s_text (memory->tree, "ipc_group");
    if (!config->ipc_group)
        config->ipc_group = "";
    config->log_level = s_level (s_text (json_object_get (memory->tree, "log"), "level"));
    config->http.enabled = s_flag (http, "enabled");
    config->http.host = s_text (http, "host");
    config->http.port = (int) s_number (http, "port");
    config->http.allow_unauthenticated_loopback = s_flag (http, "allow_unauthenticated_loopback");
    config->http.max_concurrent_runs = (int) s_number (http, "max_concurrent_runs");
    config->http.cors_origins = memory->origins;
    config->agent.system_prompt = s_text (agent, "system_prompt");
    config->agent.max_iterations = (int) s_number (agent, "max_iterations");
    config->agent.max_turns = (int) s_number (agent, "max_turns");
    config->gateway.group_sessions_per_user = s_flag (gateway, "group_sessions_per_user");
    config->gateway.thread_sessions_per_user = s_flag (gateway, "thread_sessions_per_user");
    config->gateway.queue_max = (int) s_number (gateway, "queue_max");
    config->terminal.timeout_s = (int) s_number (terminal, "timeout_s");
    config->terminal.output_max = s_number (terminal, "output_max");
    config->terminal.workdir = s_text (terminal, "workdir");
    s_fill_blobs (&config->blobs, json_object_get (memory->tree, "blobs"));
    s_fill_topics (config, memory, json_object_get (memory->tree, "topics"));
    s_fill_limits (config, memory, json_object_get (memory->tree, "service_limits"));
    s_fill_broker (&config->broker, json_object_get (memory->tree, "broker"));
}

argos_config_t *
argos_config_load (
    const char *home, argos_config_warn_fn *warn, void *arg, char *reason, size_t size)
{
    check_t check = { .warn = warn, .arg = arg, .reason = reason, .size = size };
    json_t *tree = s_read_tree (home, &check.lines, reason, size);
    if (!tree)
        return NULL;
    argos_config_t *config = s_must (calloc (1, sizeof *config));
    argos_config_memory_t *memory = s_must (calloc (1, sizeof *memory));
    config->memory = memory;
    memory->tree = tree;
    memory->home = s_must (strdup (home));
    json_t *schema = s_schema ();
    int rc = s_check (schema, tree, &check);
    if (rc == 0) {
        s_fill_defaults (schema, tree);
        s_fill (config, memory);
        argos_config_provider (config, memory, json_object_get (tree, "provider"));
        rc = s_check_relations (config, &check);
        if (argos_config_nodes (config, tree, s_problem, &check) != 0)
            rc = -1;
    }
    json_decref (schema);
    json_decref (check.lines);
    if (rc)
        argos_config_destroy (&config);
    return config;
}

void
argos_config_destroy (argos_config_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_config_memory_t *memory = (*self_p)->memory;
    if (memory->key)
        explicit_bzero (memory->key, strlen (memory->key));
    free (memory->key);
    free (memory->problem);
    free (memory->base_url);
    argos_config_nodes_free (*self_p);
    free (memory->home);
    free (memory->origins);
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
