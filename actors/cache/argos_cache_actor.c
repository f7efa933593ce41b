//  argos_cache_actor - the shell around argos_cache: requests, what is asked of the store, the
//  sweep.
//
//  Invariant: what is dropped is out of the cache before anybody is told, and telling never waits.
//  A lookup that waits for the store holds no entry, so that it counts neither as cached nor as
//  running. Limits: LOOKS_MAX of them; beyond, the transcript counts as unreadable.

#include "argos_cache_actor.h"

#include "argos_actor.h"
#include "argos_cache_priv.h"
#include "argos_log.h"
#include "argos_memory.h"
#include "argos_setting.h"
#include "argos_task_close.h"

#include <malloc.h>
#include <sodium.h>
#include <string.h>

#define NAME "cache"
#define EVENTS "agent.events"     //  What we tell
#define SESSIONS "agent.sessions" //  What we hear
#define SWEEP_MS 300000           //  Between two sweeps, at most
#define HOLD_MS 86400000          //  A turn that is longer has lost its worker
#define STORE_TTL_MS 1000         //  Patience with the store
#define LOOKS_MAX 256             //  Lookups that wait for it
#define LOOK_TRIES 3              //  The entry may change meanwhile
#define WARN_MS 60000             //  Between two warnings of the same kind

//  A lookup that waits for the store

typedef struct {
    cache_t *cache;  //  Whose
    char *from, *id; //  Of the request
    json_t *body;    //  Of it
    int64_t count;   //  As the store says, -1 = not asked
    int ended;       //  The same
    bool counting;   //  What is asked is the count
    bool unreadable; //  It can't be asked
    int tries;       //  Questions so far
} look_t;

static void s_look (look_t *self);

//  ------------------------------------------------------------------------------------------------
//  Settings

static void
s_read_settings (cache_t *self, const json_t *settings)
{
    argos_cache_limits_t limits = {
        .max = (size_t) argos_setting_int (settings, NULL, NULL, "agent.cache.max_size"),
        .idle_ms = argos_setting_int (settings, NULL, NULL, "agent.cache.idle_ttl_s") * 1000,
        .hold_ms = HOLD_MS,
        .pass_max =
            (size_t) argos_setting_int (settings, NULL, NULL, "agent.cache.max_evictions_per_pass"),
        .protected =
            (size_t) argos_setting_int (settings, NULL, NULL, "agent.cache.protect_recent"),
    };
    self->budget = argos_memory_budget (
        argos_setting (settings, NULL, NULL, "agent.cache.memory_high_mb"), argos_memory_total ());
    self->max = limits.max;
    self->sweep_ms = limits.idle_ms < SWEEP_MS ? limits.idle_ms : SWEEP_MS;
    if (self->agents)
        argos_cache_set_limits (self->agents, &limits);
    else
        self->agents = argos_cache_new (&limits);
}

static void
s_handle_command (void *arg, zmsg_t *msg)
{
    json_t *settings = argos_actor_settings (msg);
    if (settings)
        s_read_settings (arg, settings);
    json_decref (settings);
}

//  ------------------------------------------------------------------------------------------------
//  Letting go

//  Tell who looks on, and the workers, what is gone; then forget it.

static void
s_let_go (cache_t *self, argos_cache_entry_t **dropped, bool hard)
{
    argos_cache_entry_t *entry;
    LL_FOREACH (*dropped, entry) {
        self->dropped++;
        argos_log (
            ARGOS_LOG_DEBUG, self->name, "dropped", "agent=%s why=%s", entry->agent_id, entry->why);
        argos_peer_part_t part = { .type = "agent.dropped",
            .to = "topic:" EVENTS,
            .body = json_pack ("{s:s, s:s, s:s, s:s, s:b, s:b}", "agent_id", entry->agent_id,
                "session", entry->key, "worker", entry->worker, "why", entry->why, "hard", hard,
                "running", entry->running) };
        argos_peer_publish (argos_shell_peer (self->shell), NULL, &part);
    }
    argos_cache_free (self->agents, dropped);
}

static bool
s_may_warn (cache_t *self)
{
    int64_t now = argos_shell_now ();
    if (self->warned_ms && now - self->warned_ms < WARN_MS)
        return false;
    self->warned_ms = now;
    return true;
}

static void
s_enforce (cache_t *self, argos_cache_entry_t **dropped)
{
    size_t left = argos_cache_enforce (self->agents, dropped);
    if (left && s_may_warn (self))
        argos_log (ARGOS_LOG_WARN, self->name, "more agents than allowed",
            "reason=mid-turn left=%zu "
            "cached=%zu max=%zu",
            left, argos_cache_size (self->agents), self->max);
    s_let_go (self, dropped, false);
}

static void
s_shed (cache_t *self)
{
    argos_cache_entry_t *dropped = NULL;
    int64_t used = self->budget ? argos_memory_used () : 0;
    if (used <= self->budget)
        return;
    size_t count = argos_cache_shed (self->agents, &dropped);
    s_let_go (self, &dropped, false);
    malloc_trim (0);
    if (!count && s_may_warn (self))
        argos_log (ARGOS_LOG_WARN, self->name, "too much memory",
            "used_mb=%lld budget_mb=%lld "
            "reason=\"no agent can be let go\"",
            (long long) (used >> 20), (long long) (self->budget >> 20));
}

static void
s_handle_timer (void *arg)
{
    cache_t *self = arg;
    argos_cache_entry_t *dropped = NULL;
    argos_cache_sweep (self->agents, argos_shell_now (), &dropped);
    s_let_go (self, &dropped, false);
    s_shed (self);
    self->armed = argos_cache_size (self->agents) > 0;
    if (self->armed)
        argos_shell_timer (self->shell, argos_shell_now () + self->sweep_ms, s_handle_timer, self);
}

static void
s_arm (cache_t *self)
{
    if (self->armed)
        return;
    self->armed = true;
    argos_shell_timer (self->shell, argos_shell_now () + self->sweep_ms, s_handle_timer, self);
}

//  ------------------------------------------------------------------------------------------------
//  agent.acquire

static void
s_look_destroy (look_t **self_p)
{
    look_t *self = *self_p;
    json_decref (self->body);
    free (self->from);
    free (self->id);
    free (self);
    *self_p = NULL;
}

static void
s_on_session (void *arg, const argos_peer_answer_t *answer)
{
    look_t *self = arg;
    const json_t *session = json_object_get (answer->body, "session");
    self->cache->looks--;
    if (self->cache->stopping) {
        s_look_destroy (&self);
        return;
    }
    if (answer->code != ARGOS_OK)
        self->unreadable = true;
    else if (self->counting)
        self->count = json_integer_value (json_object_get (session, "message_count"));
    else
        self->ended = session && json_is_integer (json_object_get (session, "ended_at"));
    s_look (self);
}

//  Ask the store. Returns whether the lookup waits for it.

static bool
s_look_ask (look_t *self, const char *session)
{
    cache_t *cache = self->cache;
    argos_peer_part_t part = { .type = "session.get", .to = "store", .ttl_ms = STORE_TTL_MS };
    if (self->tries++ < LOOK_TRIES && cache->looks < LOOKS_MAX) {
        part.body = json_pack ("{s:s}", "id", session);
        cache->looks++;
        if (argos_peer_send (argos_shell_peer (cache->shell), &part, s_on_session, self) ==
            ARGOS_OK)
            return true;
        cache->looks--;
    }
    self->unreadable = true;
    return false;
}

static void
s_look_reply (look_t *self, argos_cache_entry_t *entry, bool hit, const char *why)
{
    const char *hash = argos_cache_text (self->body, "prompt_hash");
    json_t *reply = json_pack (
        "{s:s, s:b, s:s}", "agent_id", entry->agent_id, "hit", hit, "signature", entry->signature);
    if (why)
        json_object_set_new (reply, "why", json_string (why));
    if (!entry->prompt)
        json_object_set_new (reply, "want", json_true ());
    else if (!hash || strcmp (hash, entry->prompt->hash) != 0)
        json_object_set (reply, "prompt", entry->prompt->prompt);
    argos_peer_reply_to (
        argos_shell_peer (self->cache->shell), self->from, self->id, "agent.acquire.result", reply);
}

static argos_cache_ask_t
s_look_case (look_t *self, char *signature, char *agent_id)
{
    const json_t *body = self->body, *count = json_object_get (body, "message_count");
    const char *given = argos_cache_text (body, "signature");
    if (given)
        snprintf (signature, ARGOS_SIGNATURE_SIZE, "%s", given);
    else
        argos_signature (json_object_get (body, "profile"), signature);
    snprintf (agent_id, ARGOS_CACHE_ID_SIZE, "ag_%08x%08x", self->cache->boot, ++self->cache->made);
    return (argos_cache_ask_t){ .key = argos_cache_text (body, "session"),
        .session_id = argos_cache_text (body, "session_id"),
        .signature = signature,
        .worker = self->from,
        .agent_id = agent_id,
        .prompt_hash = argos_cache_text (body, "prompt_hash"),
        .count = count ? json_integer_value (count) : self->count,
        .unreadable = self->unreadable,
        .ended = self->ended,
        .depth = (int) json_integer_value (json_object_get (body, "depth")),
        .client = json_is_true (json_object_get (body, "client")),
        .max_iterations = json_integer_value (json_object_get (body, "max_iterations")),
        .now = argos_shell_now () };
}

//  Look, and answer; or ask the store first.

static void
s_look (look_t *self)
{
    char signature[ARGOS_SIGNATURE_SIZE], agent_id[ARGOS_CACHE_ID_SIZE];
    cache_t *cache = self->cache;
    argos_cache_entry_t *entry, *dropped = NULL;
    argos_cache_verdict_t verdict;
    const char *why;
    for (;;) {
        argos_cache_ask_t ask = s_look_case (self, signature, agent_id);
        const argos_cache_entry_t *old = argos_cache_find (cache->agents, ask.key);
        verdict = argos_cache_acquire (cache->agents, &ask, &entry, &dropped, &why);
        if (entry)
            break;
        self->counting = verdict == ARGOS_CACHE_NEED_COUNT;
        if (s_look_ask (self, old->session_id))
            return;
    }
    cache->hits += verdict == ARGOS_CACHE_HIT;
    cache->misses += verdict == ARGOS_CACHE_MISS;
    s_look_reply (self, entry, verdict == ARGOS_CACHE_HIT, why);
    s_enforce (cache, &dropped);
    s_arm (cache);
    s_look_destroy (&self);
}

static void
s_handle_acquire (cache_t *self, const argos_peer_msg_t *msg)
{
    look_t *look = calloc (1, sizeof *look);
    if (!look)
        abort ();
    *look = (look_t){ .cache = self,
        .from = strdup (msg->from),
        .id = strdup (msg->id),
        .body = json_incref (msg->body),
        .count = -1,
        .ended = -1 };
    if (!look->from || !look->id)
        abort ();
    s_look (look);
}

//  ------------------------------------------------------------------------------------------------
//  The other requests

static void
s_handle_release (cache_t *self, const argos_peer_msg_t *msg)
{
    argos_cache_entry_t *dropped = NULL;
    argos_cache_report_t report = argos_cache_report (msg->body, argos_shell_now ());
    json_t *prompt = json_object_get (msg->body, "prompt");
    bool kept = false;
    report.worker = msg->from;
    if (report.agent_id) {
        argos_cache_entry_t *entry = argos_cache_agent (self->agents, report.agent_id);
        if (entry && prompt)
            argos_cache_freeze (self->agents, entry, prompt);
        kept = argos_cache_release (self->agents, &report, &dropped);
    }
    else
        argos_cache_forget (self->agents, msg->from);
    argos_peer_reply (argos_shell_peer (self->shell), msg, "agent.release.result",
        json_pack ("{s:b}", "kept", kept));
    s_enforce (self, &dropped);
}

//  Take the agent of a session out; hard: the session is over. Returns whether it was there, and
//  whether it is mid-turn.

static bool
s_evict (cache_t *self, const char *session, bool hard, bool *ret_running)
{
    argos_cache_entry_t *dropped = NULL;
    bool evicted = argos_cache_evict (self->agents, session, &dropped);
    *ret_running = dropped && dropped->running;
    s_let_go (self, &dropped, hard);
    if (hard)
        argos_task_close (
            argos_shell_peer (self->shell), argos_registry_set (self->tools), session);
    return evicted;
}

static void
s_handle_evict (cache_t *self, const argos_peer_msg_t *msg)
{
    bool running;
    bool evicted = s_evict (self, argos_cache_text (msg->body, "session"),
        json_is_true (json_object_get (msg->body, "close")), &running);
    argos_peer_reply (argos_shell_peer (self->shell), msg, "agent.evict.result",
        json_pack ("{s:b, s:b}", "evicted", evicted, "running", running));
}

static void
s_handle_list (cache_t *self, const argos_peer_msg_t *msg)
{
    argos_peer_reply (argos_shell_peer (self->shell), msg, "agent.list.result",
        argos_cache_listing (self, msg->body, argos_shell_now (), argos_shell_wall ()));
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    static const struct {
        const char *type;                                     //  Of a request
        void (*handle) (cache_t *, const argos_peer_msg_t *); //  What is done
    } rows[] = {
        { "agent.acquire", s_handle_acquire },
        { "agent.release", s_handle_release },
        { "agent.evict", s_handle_evict },
        { "agent.list", s_handle_list },
    };
    for (size_t i = 0; !*msg->re && i < sizeof rows / sizeof *rows; i++)
        if (strcmp (msg->type, rows[i].type) == 0)
            rows[i].handle (ctx, msg);
}

//  ------------------------------------------------------------------------------------------------

static void
s_on_welcome (void *ctx, bool new_store)
{
    cache_t *self = ctx;
    (void) new_store;
    argos_registry_welcome (self->tools);
    if (self->ready)
        return;
    argos_peer_subscribe (argos_shell_peer (self->shell), SESSIONS, 0);
    argos_actor_ready (self->pipe, true);
    self->ready = true;
}

//  The gateway says that it has ended a session. What it said before we were there is not ours:
//  that session may be back.

static void
s_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    cache_t *self = ctx;
    const char *session = argos_cache_text (msg->body, "session_id");
    bool running;
    if (!argos_registry_entry (self->tools, topic) && self->live && session &&
        strcmp (msg->type, "session.ended") == 0)
        s_evict (self, session, true, &running);
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    cache_t *self = ctx;
    (void) n;
    (void) closed;
    self->live = self->live || strcmp (topic, SESSIONS) == 0;
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    cache_t *self = ctx;
    (void) code;
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

void
argos_cache_actor (zsock_t *pipe, void *config)
{
    const argos_cache_config_t *settings = config;
    cache_t self = { .pipe = pipe, .boot = randombytes_random () };
    argos_peer_config_t peer = { .handlers = { .ctx = &self,
                                     .on_welcome = s_on_welcome,
                                     .on_request = s_on_request,
                                     .on_entry = s_on_entry,
                                     .on_end = s_on_end,
                                     .on_final = s_on_final } };
    s_read_settings (&self, settings->settings);
    argos_link_apply (&settings->link, NAME, &peer, self.name);
    self.shell = argos_shell_new (pipe, &peer);
    if (self.shell) {
        self.tools = argos_registry_new (argos_shell_peer (self.shell), NULL, NULL);
        argos_shell_on_command (self.shell, s_handle_command, &self);
        argos_shell_run (self.shell);
    }
    if (!self.ready)
        argos_actor_ready (pipe, false);
    self.stopping = true;
    argos_shell_destroy (&self.shell);
    argos_registry_destroy (&self.tools);
    argos_cache_destroy (&self.agents);
}
