//  argosd_actors - the table of actors of one argosd.
//
//  Invariant: all settings that actors read live here or in what is borrowed, longer than any
//  actor. Limit: ACTORS_MAX.

#include "argosd_actors.h"

#include "argos_agent_actor.h"
#include "argos_api_actor.h"
#include "argos_auth_actor.h"
#include "argos_broker_actor.h"
#include "argos_gateway_actor.h"
#include "argos_key_record.h"
#include "argos_rehearsal_actor.h"
#include "argos_store_actor.h"
#include "argos_tools_actor.h"

#define ACTORS_MAX 9
#define DATABASE "argos.db"    //  In the home
#define STOP_MS 10000          //  Patience with an actor at the end
#define REHEARSAL_PORT_MS 5000 //  Patience with its port
#define API_CONNECTIONS 8192   //  Open at a time

struct argosd_actors {
    char database[PATH_MAX];              //  Path of the database
    char tokens[160];                     //  Of this start, for the broker
    char keys[PATH_MAX];                  //  Folder of the keys
    char files[PATH_MAX];                 //  Folder of the tool attachment
    char store_reason[256];               //  Why the store did not start
    argos_store_blobs_t blobs;            //  Limits of the store
    argos_store_actor_config_t store;     //  Settings of each, as its header says
    argos_auth_config_t auth;             //  .
    argos_broker_config_t broker;         //  .
    const char *bind[2];                  //  What the broker listens on
    argos_rehearsal_config_t rehearsal;   //  .
    argos_tools_config_t tools;           //  .
    argos_agent_config_t agent;           //  .
    argos_gateway_config_t gateway;       //  .
    argos_api_config_t api;               //  .
    char *system_prompt;                  //  Of the agent, ours
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
s_add_core (argosd_actors_t *self, const argosd_home_t *home, const argos_config_t *config)
{
    snprintf (self->database, sizeof self->database, "%.*s/" DATABASE, PATH_MAX - 16, home->path);
    self->blobs = (argos_store_blobs_t){ .max_bytes = config->blobs.max_bytes,
        .total_bytes = config->blobs.total_bytes,
        .keep_ms = config->blobs.keep_ms };
    self->store = (argos_store_actor_config_t){ .path = self->database,
        .endpoint = ARGOS_STORE_INPROC,
        .blobs = &self->blobs,
        .reason = self->store_reason };
    argos_core_config_init (&self->broker.core);
    self->broker.core.ipc_roles = config->ipc_roles;
    self->broker.core.roles = config->roles;
    snprintf (self->tokens, sizeof self->tokens,
        "[{\"name\":\"\",\"role\":\"operator\",\"token_sha256\":\"%s\"}]", home->operator_sha256);
    self->broker.core.tokens = self->tokens;
    self->broker.core.lease_ms = config->broker.lease_ms;
    self->broker.core.quiet_ms = config->broker.quiet_ms;
    self->broker.core.ping_ms = config->broker.ping_ms;
    self->broker.core.window_messages = config->broker.window_messages;
    self->broker.core.window_bytes = config->broker.window_bytes;
    self->broker.core.service_max = config->broker.service_max;
    self->broker.core.ring_bytes = config->broker.ring_bytes;
    self->broker.core.ring_entries = config->broker.ring_entries;
    self->broker.core.linger_ms = config->broker.linger_ms;
    self->bind[0] = home->endpoint;
    self->broker.bind = self->bind;
    self->broker.services = config->services;
    snprintf (self->keys, sizeof self->keys, "%.*s/" ARGOS_KEY_FOLDER, PATH_MAX - 16, home->path);
    self->auth.folder = self->keys;
    self->broker.auth = ARGOS_AUTH_INPROC;
    self->broker.group = home->group;
    s_add (self, "store", argos_store_actor, &self->store, ARGOS_RESTART_NEVER);
    s_add (self, "auth", argos_auth_actor, &self->auth, ARGOS_RESTART_NEVER);
    s_add (self, "broker", argos_broker_actor, &self->broker, ARGOS_RESTART_NEVER);
}

//  The rehearsal provider has a port: the agent is told, and a restart takes the same one.

static int
s_rehearsal_started (zactor_t *actor, void *config)
{
    argosd_actors_t *self =
        (argosd_actors_t *) ((char *) config - offsetof (argosd_actors_t, rehearsal));
    int port = argos_rehearsal_port (actor, REHEARSAL_PORT_MS);
    if (port <= 0)
        return -1;
    self->rehearsal.port = port;
    snprintf (self->agent.provider.base_url, sizeof self->agent.provider.base_url,
        "http://127.0.0.1:%d/v1", port);
    return 0;
}

static void
s_add_rehearsal (argosd_actors_t *self, const argos_config_t *config)
{
    if (config->provider.kind != ARGOS_PROVIDER_REHEARSAL)
        return;
    s_add (self, "rehearsal", argos_rehearsal_actor, &self->rehearsal, ARGOS_RESTART_ALONE);
    self->table[self->count - 1].started = s_rehearsal_started;
}

static void
s_add_tools (argosd_actors_t *self, const argos_config_t *config)
{
    snprintf (self->files, sizeof self->files, "%.*s/files", PATH_MAX - 16, config->home);
    self->tools = (argos_tools_config_t){ .endpoint = ARGOS_BROKER_INPROC,
        .workdir = config->terminal.workdir,
        .timeout_ms = (int64_t) config->terminal.timeout_s * 1000,
        .output_max = (size_t) config->terminal.output_max,
        .files = self->files };
    s_add (self, "tools", argos_tools_actor, &self->tools, ARGOS_RESTART_ALONE);
}

static void
s_add_agent (argosd_actors_t *self, const argos_config_t *config)
{
    const argos_config_provider_t *provider = &config->provider;
    argos_provider_settings_t *settings = &self->agent.provider;
    settings->kind = provider->kind;
    if (snprintf (settings->key, sizeof settings->key, "%s", provider->key) >=
        (int) sizeof settings->key)
        snprintf (
            settings->problem, sizeof settings->problem, "the key of the provider is too long");
    else
        snprintf (settings->problem, sizeof settings->problem, "%s", provider->problem);
    snprintf (settings->base_url, sizeof settings->base_url, "%s", provider->base_url);
    snprintf (settings->model, sizeof settings->model, "%s", provider->model);
    snprintf (self->agent.endpoint, sizeof self->agent.endpoint, "%s", ARGOS_BROKER_INPROC);
    self->system_prompt = strdup (config->agent.system_prompt);
    self->agent.system_prompt = self->system_prompt;
    self->agent.max_iterations = config->agent.max_iterations;
    self->agent.slots = config->agent.max_turns;
    s_add (self, "agent", argos_agent_actor, &self->agent, ARGOS_RESTART_ALONE);
}

static void
s_add_gateway (argosd_actors_t *self, const argos_config_t *config)
{
    self->gateway.endpoint = ARGOS_BROKER_INPROC;
    argos_gateway_policy_init (&self->gateway.policy);
    self->gateway.policy.queue_max = config->gateway.queue_max;
    self->gateway.policy.route.per_user = config->gateway.group_sessions_per_user;
    self->gateway.policy.route.per_user_in_thread = config->gateway.thread_sessions_per_user;
    s_add (self, "gateway", argos_gateway_actor, &self->gateway, ARGOS_RESTART_ALONE);
}

static void
s_add_api (argosd_actors_t *self, const argosd_home_t *home, const argos_config_t *config)
{
    if (!config->http.enabled)
        return;
    self->api = (argos_api_config_t){ .endpoint = ARGOS_BROKER_INPROC,
        .host = config->http.host,
        .port = config->http.port,
        .key = *home->key ? home->key : NULL,
        .allow_unauthenticated_loopback = config->http.allow_unauthenticated_loopback,
        .cors_origins = config->http.cors_origins,
        .max_concurrent_runs = config->http.max_concurrent_runs,
        .connection_limit = API_CONNECTIONS };
    s_add (self, "api", argos_api_actor, &self->api, ARGOS_RESTART_ALONE);
}

argosd_actors_t *
argosd_actors_new (const argosd_home_t *home, const argos_config_t *config)
{
    argosd_actors_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    s_add_core (self, home, config);
    s_add_rehearsal (self, config);
    s_add_tools (self, config);
    s_add_agent (self, config);
    s_add_gateway (self, config);
    s_add_api (self, home, config);
    return self;
}

void
argosd_actors_destroy (argosd_actors_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    explicit_bzero ((*self_p)->agent.provider.key, sizeof (*self_p)->agent.provider.key);
    free ((*self_p)->system_prompt);
    free (*self_p);
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
