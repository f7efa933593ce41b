//  argosd_actors - the table of actors of one argosd.
//
//  Invariant: all settings that actors read live here or in what is borrowed, longer than any
//  actor. Limit: ACTORS_MAX.

#include "argosd_actors.h"

#include "argos_auth_actor.h"
#include "argos_broker_actor.h"
#include "argos_daemon_actor.h"
#include "argos_hooks_actor.h"
#include "argos_key_record.h"
#include "argos_keys.h"
#include "argos_store_actor.h"
#include "argosd_peers.h"
#include "argosd_restarts.h"

#include <sodium.h>

#define ACTORS_MAX 64
#define DATABASE "argos.db" //  In the home
#define STOP_MS 10000       //  Patience with an actor at the end

struct argosd_actors {
    char database[PATH_MAX];                         //  Path of the database
    char keys[PATH_MAX];                             //  Folder of the keys
    char store_reason[256];                          //  Why the store did not start
    argos_store_blobs_t blobs;                       //  Limits of the store
    argos_store_keep_t keeps[ARGOS_STORE_KEEPS_MAX]; //  Retention of topics
    argos_store_actor_config_t store;                //  Settings of each, as its header says
    argos_auth_config_t auth;                        //  .
    argos_broker_config_t broker;                    //  .
    argos_daemon_config_t daemon;                    //  .
    argos_hooks_config_t hooks;                      //  .
    argos_key_t server;                              //  Our pair
    char core_token[ARGOS_TOKEN_MAX];                //  For isolated actors
    char (*adapter_tokens)[ARGOS_TOKEN_MAX];         //  For foreign adapters, one each; ours
    argos_core_service_t *limits;                    //  Of particular services; ours
    char **services;       //  To be declared: those of the configuration, one of each adapter; ours
    char *tokens;          //  Their records, for the broker
    char *snapshot;        //  Settings for the nodes; ours
    argosd_peers_t *peers; //  All actors but the core
    argos_supervised_t table[ACTORS_MAX]; //  In order of starting
    size_t count;                         //  Rows
};

//  One more row.

static void
s_add (
    argosd_actors_t *self, const char *name, zactor_fn *fn, void *config, argos_restart_t restart)
{
    assert (self->count < ACTORS_MAX);
    self->table[self->count++] = (argos_supervised_t){
        .name = name, .fn = fn, .config = config, .restart = restart, .shutdown_ms = STOP_MS
    };
}

static void
s_on_cut (const char *name, const char *reason)
{
    argos_log (ARGOS_LOG_WARN, "broker", "disconnected", "peer=%s reason=\"%s\"", name, reason);
}

//  The rules of retention as the store takes them. Returns how many.

static size_t
s_keeps (argos_store_keep_t keeps[ARGOS_STORE_KEEPS_MAX], const argos_config_t *config)
{
    size_t count = 0;
    for (; count < config->topic_count && count < ARGOS_STORE_KEEPS_MAX; count++) {
        const argos_config_topic_t *rule = &config->topics[count];
        keeps[count] = (argos_store_keep_t){ .keep_ms = rule->keep_ms,
            .keep_bytes = rule->keep_bytes,
            .keep_entries = rule->keep_entries };
        snprintf (keeps[count].match, sizeof keeps[count].match, "%s", rule->match);
    }
    return count;
}

//  Another secret for each start: who shows the token has that role. Goes to our children by their
//  environment.

static void
s_make_token (const char *role, const argos_config_adapter_t *adapter,
    char token[static ARGOS_TOKEN_MAX], json_t *records)
{
    unsigned char random[24], hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    randombytes_buf (random, sizeof random);
    sodium_bin2hex (token, ARGOS_TOKEN_MAX, random, sizeof random);
    crypto_hash_sha256 (hash, (const unsigned char *) token, strlen (token));
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    json_array_append_new (
        records, json_pack ("{s:s,s:s,s:s,s:s*,s:s*}", "name", "", "role", role, "token_sha256",
                     hex, "platform", adapter ? adapter->platform : NULL, "account",
                     adapter ? adapter->account : NULL));
    sodium_memzero (random, sizeof random);
}

//  The platforms that the settings know, new.

static json_t *
s_platforms (const argos_config_t *config)
{
    json_t *names = json_object (), *list = json_array ();
    const char *name;
    json_t *value;
    json_object_update (names, json_object_get (config->settings, "platforms"));
    json_object_update (names, json_object_get (config->settings, "adapters"));
    json_object_foreach (names, name, value)
        json_array_append_new (list, json_string (name));
    json_decref (names);
    return list;
}

//  Each foreign adapter has a token for its own account. Deliveries wait for adapters from the
//  beginning, for ours as well.

static void
s_add_adapters (argosd_actors_t *self, const argos_config_t *config, json_t *tokens)
{
    size_t count = 0;
    while (config->services[count])
        count++;
    size_t ours = 0;
    for (const char *const *name = argos_config_adapter_names (); *name; name++)
        ours += ARGOS_CONFIG_ACCOUNTS_MAX;
    self->services = calloc (count + config->adapter_count + ours + 1, sizeof *self->services);
    self->adapter_tokens = calloc (config->adapter_count + 1, sizeof *self->adapter_tokens);
    if (!self->services || !self->adapter_tokens)
        abort ();
    for (size_t i = 0; i < count; i++)
        self->services[i] = strdup (config->services[i]);
    for (size_t i = 0; i < config->adapter_count; i++) {
        const argos_config_adapter_t *adapter = &config->adapters[i];
        s_make_token ("adapter", adapter, self->adapter_tokens[i], tokens);
        if (asprintf (
                &self->services[count++], "deliver.%s.%s", adapter->platform, adapter->account) < 0)
            abort ();
    }
    for (const char *const *name = argos_config_adapter_names (); *name; name++) {
        const char *accounts[ARGOS_CONFIG_ACCOUNTS_MAX];
        size_t known = argos_config_accounts (config, *name, accounts);
        for (size_t i = 0; i < known; i++)
            if (asprintf (&self->services[count++], "deliver.%s.%s", *name, accounts[i]) < 0)
                abort ();
    }
}

static void
s_add_limits (argosd_actors_t *self, const argos_config_t *config)
{
    self->limits = calloc (config->service_count + 1, sizeof *self->limits);
    if (!self->limits)
        abort ();
    for (size_t i = 0; i < config->service_count; i++)
        self->limits[i] = (argos_core_service_t){ .service = config->service_limits[i].service,
            .hold_max_ms = config->service_limits[i].hold_max_ms,
            .max = config->service_limits[i].max,
            .lane_max = config->service_limits[i].lane_max };
    self->broker.core.services = self->limits;
    self->broker.core.service_count = config->service_count;
}

static void
s_add_core (argosd_actors_t *self, const argosd_place_t *place, const argosd_home_t *home,
    const argos_config_t *config)
{
    json_t *tokens = json_pack (
        "[{s:s,s:s,s:s}]", "name", "", "role", "operator", "token_sha256", home->operator_sha256);
    s_make_token ("core", NULL, self->core_token, tokens);
    s_add_adapters (self, config, tokens);
    snprintf (self->database, sizeof self->database, "%.*s/" DATABASE, PATH_MAX - 16, home->path);
    self->blobs = (argos_store_blobs_t){ .max_bytes = config->blobs.max_bytes,
        .total_bytes = config->blobs.total_bytes,
        .keep_ms = config->blobs.keep_ms };
    self->store = (argos_store_actor_config_t){ .path = self->database,
        .endpoint = ARGOS_STORE_INPROC,
        .blobs = &self->blobs,
        .keeps = self->keeps,
        .keep_count = s_keeps (self->keeps, config),
        .runs_owner = "api",
        .runs_keep_ms = (int64_t) config->run_retention_s * 1000,
        .reason = self->store_reason };
    argos_core_config_init (&self->broker.core);
    self->broker.core.ipc_roles = config->ipc_roles;
    self->broker.core.roles = config->roles;
    self->broker.core.lease_ms = config->broker.lease_ms;
    self->broker.core.quiet_ms = config->broker.quiet_ms;
    self->broker.core.ping_ms = config->broker.ping_ms;
    self->broker.core.window_messages = config->broker.window_messages;
    self->broker.core.window_bytes = config->broker.window_bytes;
    self->broker.core.service.messages = config->broker.service_max;
    self->broker.core.lane.messages = config->broker.lane_max;
    self->broker.core.peer.messages = config->broker.peer_max;
    s_add_limits (self, config);
    self->broker.core.ring_bytes = config->broker.ring_bytes;
    self->broker.core.ring_entries = config->broker.ring_entries;
    self->broker.core.linger_ms = config->broker.linger_ms;
    self->broker.core.slow_ms = config->broker.slow_ms;
    self->broker.core.trace_entries = config->broker.trace_entries;
    self->tokens = json_dumps (tokens, JSON_COMPACT);
    self->broker.core.tokens = self->tokens;
    json_decref (tokens);
    self->snapshot = argos_config_snapshot (config);
    self->broker.core.snapshot = self->snapshot;
    if (!self->snapshot)
        argos_log (ARGOS_LOG_WARN, "argosd", "settings", "shared=no reason=\"they are too many\"");
    self->broker.bind = place->bind;
    self->broker.services = (const char *const *) self->services;
    snprintf (self->keys, sizeof self->keys, "%.*s/" ARGOS_KEY_FOLDER, PATH_MAX - 16, home->path);
    self->auth.folder = self->keys;
    self->broker.auth = ARGOS_AUTH_INPROC;
    self->broker.group = home->group;
    self->broker.connections = (int) config->broker.connections_max;
    self->broker.on_cut = s_on_cut;
    s_add (self, "store", argos_store_actor, &self->store, ARGOS_RESTART_NEVER);
    s_add (self, "auth", argos_auth_actor, &self->auth, ARGOS_RESTART_NEVER);
    s_add (self, "broker", argos_broker_actor, &self->broker, ARGOS_RESTART_NEVER);
    self->hooks.home = home->path;
    s_add (self, "hooks", argos_hooks_actor, &self->hooks, ARGOS_RESTART_ALONE);
    self->table[self->count - 1].settings = true;
    self->daemon.home = home->path;
    self->daemon.platforms = s_platforms (config);
    self->daemon.looping_until = argosd_restarts_loop (home->path);
    s_add (self, "daemon", argos_daemon_actor, &self->daemon, ARGOS_RESTART_ALONE);
}

//  The pair that a broker on tcp shows; made when it is missing.

static int
s_read_server (argosd_actors_t *self, const argosd_place_t *place, const argosd_home_t *home,
    char *reason, size_t size)
{
    for (const char *const *bind = place->bind; *bind; bind++)
        if (strncmp (*bind, "tcp://", 6) == 0) {
            self->broker.server = &self->server;
            return argos_keys_server (home->path, &self->server, reason, size);
        }
    return 0;
}

argosd_actors_t *
argosd_actors_new (const argosd_place_t *place, const argosd_home_t *home,
    const argos_config_t *config, argosd_follow_t *follow, char *reason, size_t size)
{
    argosd_actors_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    int rc = 0;
    if (place->core) {
        s_add_core (self, place, home, config);
        rc = s_read_server (self, place, home, reason, size);
    }
    self->peers = argosd_peers_new (place, home, config, self->core_token,
        (const char (*)[ARGOS_TOKEN_MAX]) self->adapter_tokens);
    if (follow) {
        follow->link = (argos_link_t){
            .endpoint = place->broker, .key = place->keyed ? &place->key : NULL, .node = place->node
        };
        s_add (self, "follow", argosd_follow_actor, follow, ARGOS_RESTART_ALONE);
    }
    if (!follow || follow->known)
        self->count +=
            argosd_peers_table (self->peers, self->table + self->count, ACTORS_MAX - self->count);
    if (rc != 0)
        argosd_actors_destroy (&self);
    return self;
}

void
argosd_actors_destroy (argosd_actors_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argosd_actors_t *self = *self_p;
    argosd_peers_destroy (&self->peers);
    for (char **service = self->services; service && *service; service++)
        free (*service);
    free (self->services);
    free (self->adapter_tokens);
    free (self->limits);
    json_decref (self->daemon.platforms);
    free (self->tokens);
    free (self->snapshot);
    sodium_memzero (self, sizeof *self);
    free (self);
    *self_p = NULL;
}

argos_supervisor_t *
argosd_actors_supervisor (argosd_actors_t *self)
{
    return argos_supervisor_new (self->table, self->count);
}

const char *
argosd_actors_reason (const argosd_actors_t *self)
{
    return self->store_reason;
}
