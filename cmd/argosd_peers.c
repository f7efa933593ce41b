//  argosd_peers - see the header.
//
//  Invariant: all settings that actors read live here or in what is borrowed, longer than any
//  actor. The rehearsal provider is no peer: it runs beside the agents that use it, in each process
//  that has some. Limits: PEERS_MAX rows, beyond which actors are left out with an error in the
//  log.

#include "argosd_peers_priv.h"

#include "argos_discord.h"
#include "argos_secret.h"
#include "argos_setting.h"
#include "argos_slack.h"
#include "argos_telegram.h"
#include "argosd_restarts.h"

#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#define CHILD_STOP_MS 12000    //  With a child, which has that patience itself
#define REHEARSAL_PORT_MS 5000 //  Patience with its port
#define API_CONNECTIONS 8192   //  Open at a time

//  ------------------------------------------------------------------------------------------------
//  Threads

//  The settings at the start, for actors that begin with all of them.

static json_t *
s_settings (argosd_peers_t *self)
{
    if (!self->settings)
        self->settings = json_deep_copy (self->config->settings);
    return self->settings;
}

static void
s_set_tools (argosd_peers_t *self, peer_t *peer)
{
    const argos_config_t *config = self->config;
    snprintf (self->files, sizeof self->files, "%.*s/files", PATH_MAX - 16, config->home);
    peer->fn = argos_tools_actor;
    peer->config.tools = (argos_tools_config_t){ .link = peer->link,
        .workdir = config->terminal.workdir,
        .timeout_ms = (int64_t) config->terminal.timeout_s * 1000,
        .output_max = (size_t) config->terminal.output_max,
        .settings = s_settings (self),
        .files = self->files,
        .state = config->home };
}

//  argos-job is beside this program, wherever that is.

static void
s_set_jobs (argosd_peers_t *self, peer_t *peer)
{
    ssize_t size = readlink ("/proc/self/exe", self->job_program, sizeof self->job_program - 16);
    char *name = size > 0 ? memrchr (self->job_program, '/', (size_t) size) : NULL;
    snprintf (name ? name : self->job_program, 16, "/argos-job");
    peer->fn = argos_jobs_actor;
    peer->config.jobs = (argos_jobs_config_t){ .link = peer->link,
        .home = self->config->home,
        .program = self->job_program,
        .settings = self->config->settings };
}

static void
s_set_agent (argosd_peers_t *self, peer_t *peer)
{
    const argos_config_provider_t *provider = &self->config->provider;
    argos_agent_config_t *agent = &peer->config.agent;
    argos_provider_settings_t *settings = &agent->provider;
    peer->fn = argos_agent_actor;
    agent->link = peer->link;
    argos_provider_settings_init (settings, provider);
    settings->stall_ms =
        argos_setting_int (self->config->settings, NULL, NULL, "provider.stall_s") * 1000;
    settings->connect_ms =
        argos_setting_int (self->config->settings, NULL, NULL, "provider.connect_s") * 1000;
    agent->fallback_count = self->config->fallback_count;
    for (size_t i = 0; i < agent->fallback_count; i++)
        argos_provider_settings_init (&agent->fallbacks[i], &self->config->fallbacks[i]);
    agent->settings = s_settings (self);
    agent->slots = self->config->agent.max_turns;
    agent->looping_until = argosd_restarts_loop (self->home->path);
    agent->cache = self->cache;
}

static void
s_set_gateway (argosd_peers_t *self, peer_t *peer)
{
    argos_gateway_config_t *gateway = &peer->config.gateway;
    peer->fn = argos_gateway_actor;
    gateway->link = peer->link;
    argos_gateway_policy_read (&gateway->policy, self->config->settings);
}

static void
s_set_handoff (argosd_peers_t *self, peer_t *peer)
{
    peer->fn = argos_handoff_actor;
    peer->config.handoff =
        (argos_handoff_config_t){ .link = peer->link, .settings = s_settings (self) };
}

//  A socket that systemd has bound for the HTTP interface; 0 = none.

static int
s_socket_of_systemd (void)
{
    return sd_listen_fds (0) >= 1 &&
                   sd_is_socket (SD_LISTEN_FDS_START, AF_UNSPEC, SOCK_STREAM, 1) > 0
               ? SD_LISTEN_FDS_START
               : 0;
}

static void
s_set_api (argosd_peers_t *self, peer_t *peer)
{
    const argos_config_http_t *http = &self->config->http;
    const char *named = getenv ("API_SERVER_KEY");
    const char *key = named && *named ? named : self->home->key;
    peer->fn = argos_api_actor;
    peer->config.api = (argos_api_config_t){ .link = peer->link,
        .host = http->host,
        .port = http->port,
        .key = *key ? key : NULL,
        .home = self->config->home,
        .tls_cert = http->tls_cert,
        .tls_key = http->tls_key,
        .allow_cleartext = http->allow_cleartext,
        .listen_fd = s_socket_of_systemd (),
        .model_name = http->model_name,
        .direct_model_requests = http->direct_model_requests,
        .disconnect_grace_ms = (int64_t) http->disconnect_grace_s * 1000,
        .keepalive_ms = (int64_t) http->keepalive_s * 1000,
        .allow_unauthenticated_loopback = http->allow_unauthenticated_loopback,
        .cors_origins = http->cors_origins,
        .max_concurrent_runs = http->max_concurrent_runs,
        .run_retention_s = self->config->run_retention_s,
        .connection_limit = API_CONNECTIONS };
}

static void
s_set_account (argosd_peers_t *self, peer_t *peer)
{
    peer->fn = argos_adapter_actor;
    peer->config.adapter = (argos_adapter_config_t){ .link = peer->link,
        .kind = peer->platform,
        .account = peer->whose,
        .home = self->home->path,
        .settings = self->config->settings };
}

static const struct {
    const char *actor;                        //  Name in the configuration
    void (*set) (argosd_peers_t *, peer_t *); //  Fills its settings
    const argos_platform_t *platform;         //  Of an adapter: one for each account
} kinds[] = {
    { "tools", s_set_tools, NULL },
    { "jobs", s_set_jobs, NULL },
    { "agent", s_set_agent, NULL },
    { "gateway", s_set_gateway, NULL },
    { "handoff", s_set_handoff, NULL },
    { "api", s_set_api, NULL },
    { "telegram", s_set_account, &argos_telegram },
    { "discord", s_set_account, &argos_discord },
    { "slack", s_set_account, &argos_slack },
};

//  The rehearsal provider has a port: the agents are told, and a restart takes the same one.

static int
s_rehearsal_started (zactor_t *actor, void *config)
{
    argosd_peers_t *self =
        (argosd_peers_t *) ((char *) config - offsetof (argosd_peers_t, rehearsal));
    int port = argos_rehearsal_port (actor, REHEARSAL_PORT_MS);
    if (port <= 0)
        return -1;
    self->rehearsal.port = port;
    for (size_t i = 0; i < self->count; i++) {
        char *url = self->peers[i].config.agent.provider.base_url;
        if (self->peers[i].fn == argos_agent_actor)
            snprintf (url, sizeof self->peers[i].config.agent.provider.base_url,
                "http://127.0.0.1:%d/v1", port);
    }
    return 0;
}

//  ------------------------------------------------------------------------------------------------

static peer_t *
s_next (argosd_peers_t *self, const char *what)
{
    if (self->count < PEERS_MAX)
        return &self->peers[self->count++];
    argos_log (ARGOS_LOG_ERROR, "argosd", "too many actors", "left_out=%s", what);
    return NULL;
}

//  A new row for that actor, and its link; NULL = there is no room.

static peer_t *
s_new (argosd_peers_t *self, const char *actor, int number)
{
    const argosd_place_t *place = self->place;
    peer_t *peer = s_next (self, actor);
    if (!peer)
        return NULL;
    peer->kind = actor;
    peer->link = (argos_link_t){ .endpoint = place->broker,
        .key = place->keyed ? &place->key : NULL,
        .node = place->node,
        .number = number };
    return peer;
}

//  One actor, as often as the place says.

static void
s_add (argosd_peers_t *self, const argos_config_place_t *entry,
    void (*set) (argosd_peers_t *, peer_t *))
{
    for (int i = 1; i <= entry->count; i++) {
        peer_t *peer = s_new (self, entry->actor, entry->count > 1 ? i : entry->number);
        if (!peer)
            return;
        if (peer->link.number)
            snprintf (peer->name, sizeof peer->name, "%s.%d", entry->actor, peer->link.number);
        else
            snprintf (peer->name, sizeof peer->name, "%s", entry->actor);
        (self->place->isolate ? argosd_peers_child : set) (self, peer);
        peer->hears = self->place->isolate || set != s_set_api;
    }
}

//  An adapter, once for each account of the entry.

static void
s_add_accounts (argosd_peers_t *self, const argos_config_place_t *entry,
    const argos_platform_t *platform, void (*set) (argosd_peers_t *, peer_t *))
{
    const char *accounts[ARGOS_CONFIG_ACCOUNTS_MAX];
    size_t count = argos_config_accounts (self->config, entry->actor, accounts);
    for (size_t i = 0; i < count; i++) {
        if (*entry->account && strcmp (entry->account, accounts[i]) != 0)
            continue;
        peer_t *peer = s_new (self, entry->actor, 0);
        if (!peer)
            return;
        peer->platform = platform;
        snprintf (peer->whose, sizeof peer->whose, "%s", accounts[i]);
        snprintf (peer->name, sizeof peer->name, "%.20s.%.24s", entry->actor, accounts[i]);
        (self->place->isolate ? argosd_peers_child : set) (self, peer);
        peer->hears = true;
    }
}

//  The cache beside the agents of this process, with the number of the first of them: agents that
//  are processes of their own have one each.

static void
s_add_cache (argosd_peers_t *self)
{
    const argos_config_place_t *agent = NULL;
    const argosd_place_t *place = self->place;
    for (size_t i = 0; i < place->count && !agent && !place->isolate; i++)
        if (strcmp (place->actors[i].actor, "agent") == 0)
            agent = &place->actors[i];
    peer_t *peer = agent ? s_next (self, "cache") : NULL;
    if (!peer)
        return;
    self->cache = agent->number;
    peer->kind = "cache";
    peer->hears = true;
    peer->fn = argos_cache_actor;
    peer->link = (argos_link_t){ .endpoint = place->broker,
        .key = place->keyed ? &place->key : NULL,
        .node = place->node,
        .number = agent->number };
    peer->config.cache =
        (argos_cache_config_t){ .link = peer->link, .settings = s_settings (self) };
    if (agent->number)
        snprintf (peer->name, sizeof peer->name, "cache.%d", agent->number);
    else
        snprintf (peer->name, sizeof peer->name, "cache");
}

argosd_peers_t *
argosd_peers_new (const argosd_place_t *place, const argosd_home_t *home,
    const argos_config_t *config, const char *core_token,
    const char (*adapter_tokens)[ARGOS_TOKEN_MAX])
{
    argosd_peers_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->place = place;
    self->home = home;
    self->config = config;
    self->core_token = core_token;
    self->adapter_tokens = adapter_tokens;
    s_add_cache (self);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (size_t i = 0; i < place->count; i++)
            if (strcmp (place->actors[i].actor, kinds[kind].actor) != 0 ||
                (kinds[kind].set == s_set_api && !config->http.enabled))
                continue;
            else if (kinds[kind].platform)
                s_add_accounts (self, &place->actors[i], kinds[kind].platform, kinds[kind].set);
            else
                s_add (self, &place->actors[i], kinds[kind].set);
    for (size_t i = 0; place->core && i < config->adapter_count; i++) {
        peer_t *peer = s_next (self, config->adapters[i].platform);
        if (peer)
            argosd_peers_foreign (self, peer, &config->adapters[i], adapter_tokens[i]);
    }
    return self;
}

void
argosd_peers_destroy (argosd_peers_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argosd_peers_t *self = *self_p;
    for (size_t i = 0; i < self->count; i++) {
        for (char **word = self->peers[i].words; *word; word++)
            free (*word);
        free (self->peers[i].env);
        free (self->peers[i].command);
        argos_secret_free (&self->peers[i].secret);
    }
    json_decref (self->settings);
    explicit_bzero (self, sizeof *self); //  Keys and tokens
    free (self);
    *self_p = NULL;
}

static bool
s_has_agent (const argosd_peers_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->peers[i].fn == argos_agent_actor)
            return true;
    return false;
}

size_t
argosd_peers_table (argosd_peers_t *self, argos_supervised_t *table, size_t room)
{
    size_t rows = 0;
    if (self->config->provider.kind == ARGOS_PROVIDER_REHEARSAL && s_has_agent (self) && room)
        table[rows++] = (argos_supervised_t){ .name = "rehearsal",
            .fn = argos_rehearsal_actor,
            .config = &self->rehearsal,
            .restart = ARGOS_RESTART_ALONE,
            .shutdown_ms = STOP_MS,
            .started = s_rehearsal_started };
    for (size_t i = 0; i < self->count && rows < room; i++) {
        peer_t *peer = &self->peers[i];
        bool child = peer->fn == argos_child_actor;
        table[rows++] = (argos_supervised_t){ .name = peer->name,
            .fn = peer->fn,
            .config = child ? (void *) &peer->child : (void *) &peer->config,
            .restart = peer->command ? ARGOS_RESTART_WHENEVER
                       : child       ? ARGOS_RESTART_PATIENTLY
                                     : ARGOS_RESTART_ALONE,
            .shutdown_ms = child ? peer->child.grace_ms + CHILD_STOP_MS : STOP_MS,
            .settings = peer->hears,
            .drains = peer->kind &&
                      (strcmp (peer->kind, "agent") == 0 || strcmp (peer->kind, "api") == 0) };
    }
    return rows;
}
