//  argos_agent_watch - a turn in which nothing happens: the chat is told, and then it ends.
//
//  Whatever moves a turn (an event, a piece of an answer, a result) is activity; a turn that is
//  parked is none of ours. A node of the heap says when a turn could have been idle for too long if
//  nothing had happened since; when that comes it is looked at, and set anew. No polling.

#include "argos_agent_priv.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t
s_limit_ms (const turn_t *self, bool abort)
{
    return 1000 *
           (abort ? argos_setting_int (self->settings, NULL, NULL, "agent.inactivity_abort_s")
                  : argos_setting_int (self->settings, NULL, NULL, "agent.inactivity_warning_s"));
}

static int64_t
s_active_ms (const turn_t *self)
{
    int64_t data_ms = self->call ? argos_call_data_ms (self->call) : 0;
    return data_ms > self->active_ms ? data_ms : self->active_ms;
}

static void
s_set (turn_t *self)
{
    int64_t limit_ms = s_limit_ms (self, self->warned);
    if (limit_ms <= 0)
        limit_ms = s_limit_ms (self, true);
    argos_due_set (
        &self->agent->watch, &self->watch, limit_ms > 0 ? s_active_ms (self) + limit_ms : -1);
}

void
turn_watch (turn_t *self)
{
    self->watch.owner = self;
    self->active_ms = argos_shell_now ();
    s_set (self);
}

//  What it waits for, in words
static void
s_diagnose (const turn_t *self, int64_t idle_ms, char *target, size_t size)
{
    long long minutes = (long long) idle_ms / 60000, seconds = (long long) idle_ms / 1000;
    int used =
        snprintf (target, size, "nothing has happened for %lld %s: ", minutes ? minutes : seconds,
            minutes ? "minutes" : "seconds");
    const char *tool = NULL;
    for (size_t i = 0; i < self->tool_count; i++)
        if (self->tools[i].sent && !self->tools[i].result)
            tool = self->tools[i].name;
    if (self->call)
        snprintf (target + used, size - (size_t) used, "the model %s does not go on (call %d)",
            self->agent->backs[self->back].settings.model, self->iterations + 1);
    else if (tool)
        snprintf (target + used, size - (size_t) used, "the tool %s has not answered", tool);
    else
        snprintf (target + used, size - (size_t) used, "the turn is %s",
            argos_turn_state_name (self->state));
}

static void
s_warn (turn_t *self, const char *words)
{
    char id[64];
    parts_t *parts = (parts_t *) malloc (sizeof *parts);
    if (!parts)
        abort ();
    parts->count = 0;
    snprintf (id, sizeof id, "%s.slow", self->run_id);
    if (parts_chat (parts, self->body, id,
            json_pack ("{s:s, s:s++, s:s}", "kind", "notice", "text", "\xE2\x8F\xB3 ", words,
                ". /stop ends it.", "run_id", self->run_id)))
        argos_peer_send (self->agent->peer, &parts->parts[0], NULL, NULL);
    free (parts);
}

static void
s_end (turn_t *self, const char *words)
{
    char sentence[400];
    snprintf (sentence, sizeof sentence, "The turn failed: %s", words);
    turn_abort_call (self);
    turn_cancel_tools (self, "Cancelled: it took too long. Its outcome is not known.");
    turn_fail (self, sentence);
}

static void
s_look (turn_t *self, int64_t now)
{
    char words[300];
    int64_t idle_ms = now - s_active_ms (self), abort_ms = s_limit_ms (self, true);
    bool waits = self->call || self->state == ARGOS_TURN_TOOLING;
    int64_t warning_ms = s_limit_ms (self, false);
    s_diagnose (self, idle_ms, words, sizeof words);
    if (waits && abort_ms > 0 && idle_ms >= abort_ms) {
        argos_log (ARGOS_LOG_ERROR, self->agent->name, "turn ended", "run=%s why=\"%s\"",
            self->run_id, words);
        s_end (self, words);
        return;
    }
    if (waits && !self->warned && warning_ms > 0 && idle_ms >= warning_ms) {
        argos_log (ARGOS_LOG_WARN, self->agent->name, "turn is idle", "run=%s why=\"%s\"",
            self->run_id, words);
        self->warned = true;
        s_warn (self, words);
    }
    else if (!waits)
        self->active_ms = now; //  Who waits for the broker has its limits there
    s_set (self);
}

void
agent_watch (agent_t *self, int64_t now)
{
    argos_due_node_t *node;
    while ((node = argos_due_pop (&self->watch, now))) {
        turn_t *turn = (turn_t *) node->owner;
        turn->refs++;
        s_look (turn, now);
        turn_unref (turn);
    }
}
