//  argosd_peers - see the header.
//
//  Invariant: all settings that actors read live here or in what is borrowed, longer than any
//  actor. The rehearsal provider is no peer: it runs beside the agents that use it, in each process
//  that has some. Limits: PEERS_MAX rows, beyond which actors are left out with an error in the
//  log.

#include "argosd_peers.h"

#include "argos_adapter.h"
#include "argos_agent_actor.h"
#include "argos_api_actor.h"
#include "argos_cache_actor.h"
#include "argos_child.h"
#include "argos_discord.h"
#include "argos_gateway_actor.h"
#include "argos_handoff_actor.h"
#include "argos_jobs_actor.h"
#include "argos_rehearsal_actor.h"
#include "argos_secret.h"
#include "argos_setting.h"
#include "argos_slack.h"
#include "argos_telegram.h"
#include "argos_tools_actor.h"
#include "argosd_restarts.h"

#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#define PEERS_MAX 56           //  Rows of the supervisor that the core leaves
#define STOP_MS 10000          //  Patience with an actor at the end
#define CHILD_STOP_MS 12000    //  With a child, which has that patience itself
#define ADAPTER_GRACE_MS 5000  //  From SIGTERM to SIGKILL, of a foreign adapter
#define REHEARSAL_PORT_MS 5000 //  Patience with its port
#define API_CONNECTIONS 8192   //  Open at a time
#define JOINED "event=joined"  //  What the line of a child holds when it serves
#define WORDS_MAX 16           //  Of the command line of a child

typedef struct {
    char name[48];     //  Of the row
    zactor_fn *fn;     //  Actor
    argos_link_t link; //  To the broker
    const char *kind;  //  Which actor; NULL = a foreign adapter
    bool hears;        //  It is told of new settings
    union {
        argos_tools_config_t tools;     //  .
        argos_jobs_config_t jobs;       //  .
        argos_agent_config_t agent;     //  .
        argos_cache_config_t cache;     //  .
        argos_gateway_config_t gateway; //  .
        argos_handoff_config_t handoff; //  .
        argos_api_config_t api;         //  .
        argos_adapter_config_t adapter; //  .
    } config;                           //  Its settings, as a thread
    argos_child_config_t child;         //  Its settings, as a child
    char *words[WORDS_MAX];             //  Command line of a child, ours
    char only[48];                      //  A word of it
    char port[16];                      //  .
    const char **env;                   //  Its variables; ours, the strings are not
    char token[ARGOS_TOKEN_MAX + 16];   //  One of them
    char endpoint[PATH_MAX + 32];       //  .
    char account[96];                   //  .
    const argos_platform_t *platform;   //  Of an adapter of ours; NULL = it is none
    char whose[32];                     //  Its account
    char *command;                      //  Of a foreign adapter; ours
    char *secret;                       //  Variable with the token of its account; ours, wiped
} peer_t;

struct argosd_peers {
    const argosd_place_t *place;                   //  What runs here
    const argosd_home_t *home;                     //  Folder
    const argos_config_t *config;                  //  Settings
    const char *core_token;                        //  For children
    const char (*adapter_tokens)[ARGOS_TOKEN_MAX]; //  For foreign adapters
    char files[PATH_MAX];                          //  Folder of the tool attachment
    char job_program[PATH_MAX];                    //  Program that keeps a job
    json_t *settings;                              //  At the start; ours
    int cache;                                     //  Number of the cache beside them
    argos_rehearsal_config_t rehearsal;            //  Its settings
    size_t count;                                  //  Peers
    peer_t peers[PEERS_MAX];                       //  They
};

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
    agent->looping = argosd_restarts_loop (self->home->path);
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
//  Children

static const char **
s_env (size_t count)
{
    const char **env = calloc (count + 1, sizeof *env);
    if (!env)
        abort ();
    return env;
}

static void
s_add_word (peer_t *peer, size_t *count, const char *word)
{
    if (*count == WORDS_MAX - 1)
        return;
    char *copy = strdup (word);
    if (!copy)
        abort ();
    peer->words[(*count)++] = copy;
}

//  argosd again, for one actor

static void
s_set_child (argosd_peers_t *self, peer_t *peer)
{
    const argosd_place_t *place = self->place;
    size_t count = 0;
    snprintf (peer->only, sizeof peer->only, "%s", peer->name);
    snprintf (peer->port, sizeof peer->port, "%d", self->config->http.port);
    const char *words[] = { "argosd", "--home", self->home->path, "--port", peer->port, "--only",
        peer->only, "--broker", place->broker ? place->broker : self->home->endpoint,
        ARGOS_CHILD_OPTION };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        s_add_word (peer, &count, words[i]);
    if (*place->node) {
        s_add_word (peer, &count, "--node");
        s_add_word (peer, &count, place->node);
    }
    if (*place->key_path) {
        s_add_word (peer, &count, "--key");
        s_add_word (peer, &count, place->key_path);
    }
    peer->env = s_env (3);
    snprintf (peer->token, sizeof peer->token, "ARGOS_TOKEN=%s",
        place->core ? self->core_token : place->key.token);
    peer->env[0] = peer->token;
    //  It has little to do: one heap for its threads is 300 KiB less, and without caches of small
    //  pieces 700 KiB go back after a burst
    if (peer->platform) {
        peer->env[1] = "MALLOC_ARENA_MAX=1";
        peer->env[2] = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0";
    }
    peer->fn = argos_child_actor;
    peer->child = (argos_child_config_t){ .name = peer->name,
        .argv = peer->words,
        .env = peer->env,
        .ready = JOINED,
        .grace_ms = STOP_MS + (int) argos_setting_int (
                                  self->config->settings, NULL, NULL, "gateway.drain_timeout_s") *
                                  1000 };
}

//  The token that the settings have for a platform, for its adapter.

static void
s_read_token (argosd_peers_t *self, peer_t *peer, const char *platform)
{
    char reason[400];
    const char *ref = argos_setting_text (self->config->settings, platform, NULL, "token");
    char *secret = ref ? argos_secret_read (self->home->path, ref, reason, sizeof reason) : NULL;
    if (ref && !secret)
        argos_log (
            ARGOS_LOG_WARN, "argosd", "no token", "platform=%s reason=\"%s\"", platform, reason);
    if (secret && asprintf (&peer->secret, "ARGOS_PLATFORM_TOKEN=%s", secret) < 0)
        abort ();
    argos_secret_free (&secret);
}

//  A word for the shell, as it is.

static void
s_quote (char *target, size_t size, const char *word)
{
    size_t used = strlen (target);
    if (used + 4 >= size)
        return;
    target[used++] = ' ';
    target[used++] = '\'';
    for (; *word && used + 6 < size; word++)
        if (*word == '\'') {
            memcpy (target + used, "'\\''", 4);
            used += 4;
        }
        else
            target[used++] = *word;
    target[used++] = '\'';
    target[used] = 0;
}

static void
s_set_adapter (
    argosd_peers_t *self, peer_t *peer, const argos_config_adapter_t *adapter, const char *token)
{
    size_t size = 8, count = 0;
    for (const char **word = adapter->command; *word; word++)
        size += 4 * strlen (*word) + 8;
    peer->command = calloc (1, size);
    if (!peer->command)
        abort ();
    memcpy (peer->command, "exec", 5);
    for (const char **word = adapter->command; *word; word++)
        s_quote (peer->command, size, *word);
    while (adapter->env[count])
        count++;
    s_read_token (self, peer, adapter->platform);
    peer->env = s_env (count + 4);
    snprintf (peer->endpoint, sizeof peer->endpoint, "ARGOS_ENDPOINT=%s",
        self->place->broker ? self->place->broker : self->home->endpoint);
    snprintf (peer->account, sizeof peer->account, "ARGOS_NAME=%s.%s", adapter->platform,
        adapter->account);
    snprintf (peer->token, sizeof peer->token, "ARGOS_TOKEN=%s", token);
    peer->env[0] = peer->endpoint;
    peer->env[1] = peer->account;
    peer->env[2] = peer->token;
    for (size_t i = 0; i < count; i++)
        peer->env[3 + i] = adapter->env[i];
    peer->env[3 + count] = peer->secret;
    snprintf (peer->name, sizeof peer->name, "%.20s.%.24s", adapter->platform, adapter->account);
    peer->fn = argos_child_actor;
    peer->child = (argos_child_config_t){
        .name = peer->name, .command = peer->command, .env = peer->env, .grace_ms = ADAPTER_GRACE_MS
    };
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
        (self->place->isolate ? s_set_child : set) (self, peer);
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
        (self->place->isolate ? s_set_child : set) (self, peer);
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
            s_set_adapter (self, peer, &config->adapters[i], adapter_tokens[i]);
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
            .drains = peer->fn == argos_agent_actor || peer->fn == argos_api_actor };
    }
    return rows;
}
