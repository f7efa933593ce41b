//  argos_agent_actor - the agent's shell: peer, provider, timers.
//
//  One thread for all turns; nothing here blocks. Invariant: every turn in the list holds a lease,
//  or is on its way out. The one timer of the loop is the earliest of libcurl's and the turns'.

#include "argos_agent_actor.h"

#include "argos_actor.h"
#include "argos_agent_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define SLOTS 1000         //  Default of turns at a time
#define MAX_ITERATIONS 90  //  Default of calls in one turn
#define TIMERS_A_TURN 1000 //  Timers served before sockets have their turn

static void
s_handle_timer (void *arg)
{
    agent_t *self = (agent_t *) arg;
    int64_t now = argos_shell_now ();
    argos_due_node_t *node;
    for (int i = 0; i < TIMERS_A_TURN && (node = argos_due_pop (&self->due, now)); i++)
        turn_timer ((turn_t *) node->owner);
    agent_watch (self, now);
    int64_t due_ms = agent_backs_due (self);
    if (due_ms >= 0 && due_ms <= now)
        agent_backs_turn (self);
    agent_arm (self);
}

void
agent_arm (agent_t *self)
{
    int64_t due_ms = argos_due_first (&self->due);
    int64_t watch_ms = argos_due_first (&self->watch);
    if (watch_ms >= 0 && (due_ms < 0 || watch_ms < due_ms))
        due_ms = watch_ms;
    int64_t provider_ms = agent_backs_due (self);
    if (provider_ms >= 0 && (due_ms < 0 || provider_ms < due_ms))
        due_ms = provider_ms;
    argos_shell_timer (self->shell, due_ms, s_handle_timer, self);
}

//  From the first welcome on we serve: what the owner starts next may ask us
static void
s_handle_welcome (void *arg, bool new_store)
{
    agent_t *self = (agent_t *) arg;
    (void) new_store;
    argos_registry_welcome (self->registry);
    if (!self->told) {
        agent_fresh (self);
        argos_actor_ready (self->pipe, true);
    }
    self->told = true;
}

static void
s_handle_lease (void *arg, const argos_peer_msg_t *msg)
{
    agent_t *self = (agent_t *) arg;
    if (strcmp (msg->type, "session.note") == 0) {
        agent_note (self, msg);
        return;
    }
    turn_t *turn = turn_new (self, msg);
    turn->refs++;
    if (*turn->run_id || turn->compact)
        turn_begin (turn);
    else
        turn_head_mail (turn, msg);
    turn_unref (turn);
    agent_arm (self);
}

static void
s_handle_mail (void *arg, const argos_peer_msg_t *msg)
{
    agent_t *self = (agent_t *) arg;
    turn_t *turn = msg->lease ? (turn_t *) argos_lease_data (msg->lease) : NULL;
    if (turn)
        turn_mail (turn, msg);
    agent_arm (self);
}

static void
s_handle_lost (void *arg, argos_lease_t *lease)
{
    agent_t *self = (agent_t *) arg;
    turn_t *turn = agent_note_lost (self, lease) ? NULL : (turn_t *) argos_lease_data (lease);
    if (turn)
        turn_lost (turn);
    agent_arm (self);
}

static json_t *
s_status (const agent_t *self)
{
    static const char *const kinds[] = { "openai", "anthropic", "rehearsal" };
    const argos_provider_settings_t *provider = &self->config.provider;
    bool rehearsal = provider->kind == ARGOS_PROVIDER_REHEARSAL;
    json_t *body = json_pack ("{s:s, s:s, s:b, s:I}", "kind", kinds[provider->kind], "model",
        provider->model, "rehearsal", rehearsal, "turns", (json_int_t) self->turn_count);
    if (*provider->base_url)
        json_object_set_new (body, "base_url", json_string (provider->base_url));
    if (*provider->problem)
        json_object_set_new (body, "problem", json_string (provider->problem));
    return body;
}

static void
s_handle_request (void *arg, const argos_peer_msg_t *msg)
{
    agent_t *self = (agent_t *) arg;
    if (strcmp (msg->type, "agent.status") == 0 && !*msg->re)
        argos_peer_reply (self->peer, msg, "agent.status.result", s_status (self));
}

void
agent_drained (agent_t *self)
{
    turn_t *turn;
    size_t left = self->turn_count;
    if (!self->draining)
        return;
    DL_FOREACH (self->turns, turn)
        if (*self->drain_run && strcmp (turn->run_id, self->drain_run) == 0)
            left--;
    if (left)
        return;
    self->draining = false;
    zsock_set_sndtimeo (self->pipe, 0);
    zstr_send (self->pipe, ARGOS_ACTOR_DRAINED);
}

static void
s_drain (agent_t *self, zmsg_t *msg)
{
    zframe_t *run = zmsg_next (msg);
    char *text = run ? zframe_strdup (run) : NULL;
    snprintf (self->drain_run, sizeof self->drain_run, "%s", text ? text : "");
    free (text);
    self->draining = true;
    argos_peer_serve (self->peer, "turn", 0, NULL);
    agent_drained (self);
}

//  Turns from now on have the new settings; who answers is another actor's start.

static void
s_handle_command (void *arg, zmsg_t *msg)
{
    agent_t *self = (agent_t *) arg;
    zframe_t *word = zmsg_first (msg);
    if (word && zframe_streq (word, ARGOS_ACTOR_DRAIN)) {
        s_drain (self, msg);
        return;
    }
    json_t *config = argos_actor_settings (msg);
    if (config) {
        json_decref (self->settings);
        self->settings = config;
    }
}

static void
s_handle_entry (void *arg, const char *topic, const argos_peer_msg_t *msg)
{
    agent_t *self = (agent_t *) arg;
    (void) msg;
    argos_registry_entry (self->registry, topic);
}

static void
s_handle_final (void *arg, argos_err_t code, const char *reason)
{
    agent_t *self = (agent_t *) arg;
    argos_log (ARGOS_LOG_ERROR, self->name, "ended by the broker", "code=%s reason=\"%s\"",
        argos_err_name (code), reason);
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

//  Turns let go of their leases by the peer's bye; what is outstanding is answered by its end
static void
s_agent_destroy (agent_t **self_p)
{
    agent_t *self = *self_p;
    if (!self)
        return;
    while (self->turns)
        turn_lost (self->turns);
    agent_backs_destroy (self);
    agent_titles_clear (self);
    agent_shrink_end (self);
    argos_shell_destroy (&self->shell);
    argos_due_clear (&self->due);
    argos_due_clear (&self->watch);
    agent_leave_tools (self);
    explicit_bzero (self->config.provider.key, sizeof self->config.provider.key);
    for (size_t i = 0; i < ARGOS_FALLBACKS_MAX; i++)
        explicit_bzero (self->config.fallbacks[i].key, sizeof self->config.fallbacks[i].key);
    argos_approval_policy_destroy (&self->policy);
    json_decref (self->settings);
    json_decref (self->keys);
    json_decref (self->prompt);
    json_decref (self->prompt_settings);
    json_decref (self->photos);
    json_decref (self->futile);
    free (self);
    *self_p = NULL;
}

static void
s_copy_config (agent_t *self, const argos_agent_config_t *config)
{
    self->config = *config;
    if (self->config.max_iterations <= 0)
        self->config.max_iterations = MAX_ITERATIONS;
    if (self->config.slots <= 0)
        self->config.slots = SLOTS;
    self->config.system_prompt = NULL;
    self->config.settings = NULL;
    if (config->settings)
        self->settings = json_deep_copy (config->settings);
    else
        self->settings = json_pack ("{s:{s:s, s:i}}", "agent", "system_prompt",
            config->system_prompt ? config->system_prompt : "", "max_iterations",
            self->config.max_iterations);
}

//  Tools may not end this process
static argos_approval_policy_t *
s_policy_new (void)
{
    char self[24], problem[256];
    snprintf (self, sizeof self, "%ld", (long) getpid ());
    argos_approval_policy_t *policy =
        argos_approval_policy_new (NULL, self, problem, sizeof problem);
    if (!policy)
        argos_log (ARGOS_LOG_ERROR, "agent", "no policy for approvals", "reason=\"%s\"", problem);
    return policy;
}

static agent_t *
s_agent_new (zsock_t *pipe, const argos_agent_config_t *config)
{
    static const char *const types[] = { "turn.request", "turn.stop", "session.end", "session.note",
        "session.compress", "question.answer", "delegate.result", NULL };
    agent_t *self = (agent_t *) calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->pipe = pipe;
    s_copy_config (self, config);
    self->entropy = (uint32_t) argos_shell_wall ();
    argos_peer_config_t peer = { .handlers = { .ctx = self,
                                     .on_welcome = s_handle_welcome,
                                     .on_lease = s_handle_lease,
                                     .on_mail = s_handle_mail,
                                     .on_lost = s_handle_lost,
                                     .on_request = s_handle_request,
                                     .on_entry = s_handle_entry,
                                     .on_final = s_handle_final } };
    argos_link_apply (&config->link, "agent", &peer, self->name);
    agent_find_cache (self);
    self->shell = argos_shell_new (pipe, &peer);
    self->policy = s_policy_new ();
    if (!self->shell || !self->policy || !agent_backs_new (self)) {
        s_agent_destroy (&self);
        return NULL;
    }
    self->peer = argos_shell_peer (self->shell);
    agent_follow_tools (self);
    argos_shell_on_command (self->shell, s_handle_command, self);
    argos_peer_serve (self->peer, "turn", self->config.slots, types);
    return self;
}

void
argos_agent_actor (zsock_t *pipe, void *config)
{
    agent_t *self = s_agent_new (pipe, (const argos_agent_config_t *) config);
    if (!self) {
        argos_actor_ready (pipe, false);
        return;
    }
    argos_shell_run (self->shell);
    if (!self->told)
        argos_actor_ready (pipe, false);
    s_agent_destroy (&self);
}
