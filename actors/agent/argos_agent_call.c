//  argos_agent_call - the provider call of a turn: request, deltas, end, repeats.
//
//  Invariant: turn->call and turn->answer are set exactly while a call is in flight. The rest of
//  the text is published before the turn goes on, so that the deltas of a segment always make its
//  text.

#include "argos_agent_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLD_MS 500 //  Until the broker is asked again whether it lives

static const char s_last_call[] =
    "The number of steps of this turn is used up and no tool can be called any more. Say what has "
    "been done, and what is left to do.";

static const char s_restarted[] = "This turn was interrupted by a restart and is taken up again. "
                                  "Do not repeat tool calls that may "
                                  "have run already, and do not restart anything. Go on from what "
                                  "is there, or say where it stopped.";

int64_t
turn_max_iterations (const turn_t *self)
{
    int64_t max = argos_setting_int (self->settings, NULL, NULL, "agent.max_iterations");
    int64_t own = json_integer_value (json_object_get (self->body, "max_iterations"));
    return own > 0 && own < max ? own : max;
}

static void
s_publish (turn_t *self, int64_t now)
{
    bool key = false;
    const argos_text_t *text = &self->answer->text;
    size_t size = self->answer->visible;
    size_t from = argos_delta_take (&self->delta, size, now, &key);
    char to[64];
    snprintf (to, sizeof to, "topic:run.%s", self->run_id);
    json_t *body = json_pack ("{s:I, s:s%}", "segment", (json_int_t) self->segment, "delta",
        argos_text_str (text) + from, size - from);
    if (key)
        json_object_set_new (body, "text", json_stringn (argos_text_str (text), size));
    argos_peer_part_t part = { .type = "turn.delta", .to = to, .keyframe = key, .body = body };
    argos_peer_publish (self->agent->peer, self->lease, &part);
    self->shown = true;
}

void
turn_publish (turn_t *self, bool all)
{
    if (!self->answer || !self->lease)
        return;
    int64_t now = argos_shell_now ();
    int64_t due_ms = argos_delta_due (&self->delta, self->answer->visible, now);
    if (due_ms >= 0 && (all || due_ms <= now)) {
        s_publish (self, now);
        due_ms = -1;
    }
    argos_due_set (&self->agent->due, &self->due, due_ms);
}

static void
s_on_text (void *arg, const argos_answer_t *answer)
{
    turn_t *turn = (turn_t *) arg;
    turn->answer = answer;
    if (turn->state == ARGOS_TURN_WAITING)
        turn_event (turn, ARGOS_TURN_DATA);
    turn_publish (turn, false);
}

static void
s_on_end (void *arg, argos_answer_t *answer, argos_answer_kind_t kind,
    const argos_provider_error_t *error)
{
    turn_t *self = (turn_t *) arg;
    self->answer = answer;
    turn_publish (self, true);
    self->call = NULL;
    self->answer = NULL;
    argos_due_set (&self->agent->due, &self->due, -1);
    turn_answered (self, answer, kind, error);
}

void
turn_again (turn_t *self, int64_t wait_ms)
{
    turn_event (self, ARGOS_TURN_RETRY);
    if (self->state == ARGOS_TURN_BACKOFF)
        argos_due_set (&self->agent->due, &self->due, argos_shell_now () + wait_ms);
    agent_arm (self->agent);
}

int64_t
turn_max_tokens (const turn_t *self)
{
    const json_t *sampling = json_object_get (self->body, "sampling");
    return json_integer_value (json_object_get (sampling, "max_tokens"));
}

void
turn_call (turn_t *self)
{
    static const argos_call_handlers_t handlers = { s_on_text, s_on_end };
    agent_t *agent = self->agent;
    if (!argos_peer_live (agent->peer)) {
        turn_event (self, ARGOS_TURN_HOLD);
        return;
    }
    bool last = self->iterations >= turn_max_iterations (self);
    const char *extra = json_string_value (json_object_get (self->body, "instructions"));
    const back_t *back = &agent->backs[self->back];
    if (turn_knows_blind (self))
        self->adjust |= ARGOS_ADJUST_IMAGES;
    json_t *images = turn_images (self);
    json_t *messages = argos_messages_repair (self->rows, images);
    char *note = NULL;
    if (self->attempt > 1 && asprintf (&note, "%s%s%s", extra ? extra : "",
                                 extra && *extra ? "\n\n" : "", s_restarted) < 0)
        abort ();
    json_t *tools = delegate_tools_new (self, turn_tools (self));
    argos_request_t request = { .model = turn_model (self),
        .system = json_string_value (json_object_get (self->prompt, "system")),
        .extra = last   ? s_last_call
                 : note ? note
                        : extra,
        .messages = messages,
        .begun = self->begun,
        .adjust = self->adjust,
        .sampling = json_object_get (self->body, "sampling"),
        .max_tokens = turn_max_tokens (self),
        .reasoning = json_string_value (json_object_get (self->body, "reasoning")),
        .tools = last ? NULL : tools };
    char seed[64];
    snprintf (seed, sizeof seed, "%s_%d", self->run_id + 4, self->iterations);
    turn_clear_tools (self);
    free (self->text);
    self->text = NULL;
    self->shown = false;
    if (!self->begun)
        argos_delta_init (&self->delta);
    self->effects = true;
    self->call =
        argos_provider_call (back->provider, &request, seed, &handlers, self, argos_shell_now ());
    json_decref (messages);
    json_decref (images);
    json_decref (tools);
    free (note);
    agent_arm (agent);
}

//  On HOLD; a repeat sets its own time
void
turn_arm_backoff (turn_t *self)
{
    argos_due_set (&self->agent->due, &self->due, argos_shell_now () + HOLD_MS);
    agent_arm (self->agent);
}

//  What has come stays as the text of the turn
void
turn_abort_call (turn_t *self)
{
    if (self->answer) {
        turn_publish (self, true);
        free (self->text);
        self->text = strndup (argos_text_str (&self->answer->text), self->answer->visible);
    }
    self->answer = NULL;
    argos_call_abort (&self->call);
    argos_due_set (&self->agent->due, &self->due, -1);
}
