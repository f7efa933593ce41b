//  argosd_peers_child - the rows of argosd_peers that are processes: argosd again for one actor,
//  and foreign adapters.
//
//  Invariant: a secret stands in the environment of the one child that it is for, nowhere else; the
//  words of a command reach the shell as they are. Limit: WORDS_MAX words.

#include "argos_secret.h"
#include "argos_setting.h"
#include "argosd_peers_priv.h"

#define ADAPTER_GRACE_MS 5000 //  From SIGTERM to SIGKILL, of a foreign adapter
#define JOINED "event=joined" //  What the line of a child holds when it serves

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

void
argosd_peers_child (argosd_peers_t *self, peer_t *peer)
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
    if (*place->node && place->node != place->key.name) { //  Else it is in the key
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

void
argosd_peers_foreign (
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
    peer->env = s_env (count + 6);
    snprintf (peer->endpoint, sizeof peer->endpoint, "ARGOS_ENDPOINT=%s",
        self->place->broker ? self->place->broker : self->home->endpoint);
    snprintf (peer->account, sizeof peer->account, "ARGOS_NAME=%s.%s", adapter->platform,
        adapter->account);
    snprintf (peer->token, sizeof peer->token, "ARGOS_TOKEN=%s", token);
    snprintf (peer->only, sizeof peer->only, "ARGOS_PLATFORM=%s", adapter->platform);
    snprintf (peer->whose, sizeof peer->whose, "ARGOS_ACCOUNT=%s", adapter->account);
    peer->env[0] = peer->endpoint;
    peer->env[1] = peer->account;
    peer->env[2] = peer->token;
    peer->env[3] = peer->only;
    peer->env[4] = peer->whose;
    for (size_t i = 0; i < count; i++)
        peer->env[5 + i] = adapter->env[i];
    peer->env[5 + count] = peer->secret;
    snprintf (peer->name, sizeof peer->name, "%.20s.%.24s", adapter->platform, adapter->account);
    peer->fn = argos_child_actor;
    peer->child = (argos_child_config_t){
        .name = peer->name, .command = peer->command, .env = peer->env, .grace_ms = ADAPTER_GRACE_MS
    };
}
