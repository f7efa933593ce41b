//  argos_agent_backs - the providers of the agent: the configured one, and those that stand in.
//
//  Each has its connections, key and address for itself, so nothing of one gets to another.
//  Invariant: the first is always there, if only to say what its problem is.

#include "argos_agent_priv.h"
#include "argos_reaction.h"

#include <stdio.h>
#include <string.h>

static void
s_handle_provider (void *arg)
{
    agent_t *self = (agent_t *) arg;
    agent_backs_turn (self);
    agent_arm (self);
}

bool
agent_backs_new (agent_t *self)
{
    const argos_agent_config_t *config = &self->config;
    self->back_count = 1 + config->fallback_count;
    self->backs[0].settings = config->provider;
    for (size_t i = 1; i < self->back_count; i++)
        self->backs[i].settings = config->fallbacks[i - 1];
    for (size_t i = 0; i < self->back_count; i++) {
        back_t *back = &self->backs[i];
        if (*back->settings.problem)
            continue;
        back->provider = argos_provider_new (&back->settings);
        if (!back->provider)
            return false;
        argos_shell_fd (self->shell, argos_provider_fd (back->provider), s_handle_provider, self);
    }
    return true;
}

void
agent_backs_destroy (agent_t *self)
{
    for (size_t i = 0; i < self->back_count; i++) {
        back_t *back = &self->backs[i];
        if (back->provider && self->shell)
            argos_shell_fd (self->shell, argos_provider_fd (back->provider), NULL, NULL);
        argos_provider_destroy (&back->provider);
        explicit_bzero (back->settings.key, sizeof back->settings.key);
    }
}

void
agent_backs_turn (agent_t *self)
{
    for (size_t i = 0; i < self->back_count; i++)
        if (self->backs[i].provider)
            argos_provider_turn (self->backs[i].provider, argos_shell_now (), argos_shell_wall ());
}

int64_t
agent_backs_due (const agent_t *self)
{
    int64_t first = -1;
    for (size_t i = 0; i < self->back_count; i++) {
        int64_t due_ms =
            self->backs[i].provider ? argos_provider_due (self->backs[i].provider) : -1;
        if (due_ms >= 0 && (first < 0 || due_ms < first))
            first = due_ms;
    }
    return first;
}

size_t
agent_back_first (const agent_t *self, int64_t now)
{
    for (size_t i = 0; i < self->back_count; i++)
        if (self->backs[i].provider && self->backs[i].cold_ms <= now)
            return i;
    for (size_t i = 0; i < self->back_count; i++)
        if (self->backs[i].provider)
            return i; //  All have to cool down: then the first is as good as any
    return 0;
}

//  The same model at the same address would answer the same
static bool
s_same (const argos_provider_settings_t *one, const argos_provider_settings_t *two)
{
    return strcmp (one->base_url, two->base_url) == 0 && strcmp (one->model, two->model) == 0;
}

size_t
agent_back_next (const agent_t *self, size_t at)
{
    for (size_t i = at + 1; i < self->back_count; i++)
        if (self->backs[i].provider &&
            !s_same (&self->backs[i].settings, &self->backs[at].settings))
            return i;
    return self->back_count;
}

void
agent_back_cools (agent_t *self, size_t at, int64_t now)
{
    back_t *back = &self->backs[at];
    if (back->cold_ms > now)
        return; //  Another turn was faster
    back->cold_times++;
    back->cold_ms = now + argos_react_cool_ms (back->cold_times);
    argos_log (ARGOS_LOG_WARN, self->name, "provider cools down", "model=%s times=%d",
        back->settings.model, back->cold_times);
}

void
agent_back_works (agent_t *self, size_t at)
{
    self->backs[at].cold_times = 0;
}

//  Only the configured provider is asked for a model of the session's own
const char *
turn_model (const turn_t *self)
{
    const argos_provider_settings_t *settings = &self->agent->backs[self->back].settings;
    const char *model = json_string_value (json_object_get (self->body, "model"));
    bool own = self->back == 0 && settings->kind != ARGOS_PROVIDER_REHEARSAL;
    return model && *model && own ? model : settings->model;
}

void
turn_is_blind (turn_t *self)
{
    back_t *back = &self->agent->backs[self->back];
    snprintf (back->blind, sizeof back->blind, "%s", turn_model (self));
    argos_log (ARGOS_LOG_WARN, self->agent->name, "no images", "model=%s", back->blind);
}

bool
turn_knows_blind (const turn_t *self)
{
    const char *blind = self->agent->backs[self->back].blind;
    return *blind && strcmp (blind, turn_model (self)) == 0;
}
