//  argos_agent_compress - a turn makes its conversation smaller, before a call or because of one.
//
//  Under the lease of the lane, so nobody else writes: a model sums up the middle, one commit
//  replaces the transcript (the old rows are kept for search). Invariant: until that commit is
//  accepted nothing has changed; a summary that is none, or saves nothing, changes nothing.

#include "argos_agent_priv.h"
#include "argos_compress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUTILE_MS 600000 //  Until a conversation is tried again that was not made smaller by itself
#define FAILED_MS 60000  //  The same when its summary has failed
#define FUTILE_MAX 256   //  Conversations of which that is known
#define SHRINK 3         //  Each further time in a turn so many times fewer messages are kept

//  A summary is asked for once in a while, not in each turn
static void
s_note_futile (turn_t *self, int64_t wait_ms)
{
    agent_t *agent = self->agent;
    if (!agent->futile)
        agent->futile = json_object ();
    json_object_del (agent->futile, self->session);
    json_object_set_new (agent->futile, self->session, json_integer (argos_shell_now () + wait_ms));
    if (json_object_size (agent->futile) > FUTILE_MAX)
        json_object_del (agent->futile, json_object_iter_key (json_object_iter (agent->futile)));
}

static void
s_give_up (turn_t *self, const char *why, int64_t wait_ms)
{
    char sentence[300];
    argos_log (ARGOS_LOG_WARN, self->agent->name, "not made smaller", "why=\"%s\"", why);
    if (self->preflight && !self->compact) {
        self->compressions = 3; //  Not again in this turn
        s_note_futile (self, wait_ms);
        turn_event (self, ARGOS_TURN_SKIP);
        return;
    }
    snprintf (sentence, sizeof sentence,
        self->compact ? "The conversation could not be made smaller: %s"
                      : "The turn failed: context_overflow: the conversation is too long for the "
                        "model, and could not be made smaller: %s. /new begins another one",
        why);
    turn_fail (self, sentence);
}

static void
s_on_summary (void *arg, argos_answer_t *answer, argos_answer_kind_t kind,
    const argos_provider_error_t *error)
{
    turn_t *self = (turn_t *) arg;
    self->call = NULL;
    if (error || kind != ARGOS_ANSWER_TEXT) {
        s_give_up (self, error ? error->message : "the model wanted to call a tool", FAILED_MS);
        return;
    }
    self->input_tokens += answer->input_tokens;
    self->output_tokens += answer->output_tokens;
    json_decref (self->smaller);
    self->smaller = argos_compress_apply (
        self->rows, self->smaller_from, self->smaller_to, argos_text_str (&answer->text));
    if (!self->smaller)
        s_give_up (self, "the summary is no shorter", FUTILE_MS);
    else
        turn_event (self, self->compact ? ARGOS_TURN_TEXT : ARGOS_TURN_SUMMARY);
}

//  The user's message of this turn is in no transcript yet, and will be with the others
static void
s_claim_user (turn_t *self)
{
    for (size_t i = json_array_size (self->rows); i > 0 && !self->user_stored; i--) {
        json_t *row = json_array_get (self->rows, i - 1);
        const char *role = json_string_value (json_object_get (row, "role"));
        if (role && strcmp (role, "user") == 0) {
            json_object_set_new (row, "run_id", json_string (self->run_id));
            return;
        }
    }
}

void
turn_compress (turn_t *self)
{
    static const argos_call_handlers_t handlers = { NULL, s_on_summary };
    size_t tail = ARGOS_COMPRESS_TAIL;
    turn_drop_scaffold (self);
    for (int i = 1; i < self->compressions; i++)
        tail /= SHRINK;
    if (!self->compact)
        s_claim_user (self);
    bool found = argos_compress_split (self->rows, tail, &self->smaller_from, &self->smaller_to);
    while (!found && !self->preflight && (tail /= SHRINK) > 0)
        found = argos_compress_split (self->rows, tail, &self->smaller_from, &self->smaller_to);
    const back_t *back = &self->agent->backs[self->back];
    if (!found || !back->provider || json_is_array (json_object_get (self->body, "history"))) {
        s_give_up (self, "there is too little of it", FAILED_MS);
        return;
    }
    char *prompt = argos_compress_prompt (self->rows, self->smaller_from, self->smaller_to,
        json_string_value (json_object_get (self->body, "focus")));
    json_t *messages = json_pack ("[{s:s, s:s}]", "role", "user", "content", prompt);
    const char *model = argos_setting_text (self->settings, NULL, NULL, "agent.auxiliary_model");
    argos_request_t request = { .model = model && self->back == 0 ? model : NULL,
        .system = argos_compress_system (),
        .messages = messages,
        .adjust = self->adjust };
    self->effects = true;
    self->call = argos_provider_call (
        back->provider, &request, "summary", &handlers, self, argos_shell_now ());
    json_decref (messages);
    free (prompt);
    agent_arm (self->agent);
}

bool
turn_is_long (const turn_t *self)
{
    int64_t context = argos_setting_int (self->settings, NULL, NULL, "compression.context_tokens");
    double threshold =
        json_number_value (argos_setting (self->settings, NULL, NULL, "compression.threshold"));
    int64_t tokens = argos_compress_tokens (self->rows);
    if (self->last_input > tokens)
        tokens = self->last_input;
    int64_t futile_ms = json_integer_value (json_object_get (self->agent->futile, self->session));
    return argos_setting_bool (self->settings, NULL, NULL, "compression.enabled") && context > 0 &&
           argos_shell_now () >= futile_ms && self->compressions == 0 &&
           !json_is_array (json_object_get (self->body, "history")) &&
           (double) tokens >= (double) context * threshold;
}

//  The commit that replaces the transcript was accepted
void
turn_compacted (turn_t *self)
{
    argos_log (ARGOS_LOG_INFO, self->agent->name, "made smaller", "session=%s rows=%zu before=%zu",
        self->session, json_array_size (self->smaller), json_array_size (self->rows));
    json_decref (self->rows);
    self->rows = self->smaller;
    self->smaller = NULL;
    self->user_stored = true;
    self->last_input = 0;
    self->shown = false;
    turn_look_smaller (self);
}

void
parts_compact (parts_t *self, const turn_t *turn)
{
    char id[64];
    parts_store (self, "session.replace",
        json_pack ("{s:s, s:O, s:b}", "session_id", turn->session, "messages", turn->smaller,
            "compact", 1));
    if (turn->shown)
        parts_entry (self, turn->run_id, "turn.restarted", false,
            json_pack ("{s:I}", "attempt", (json_int_t) turn->attempt));
    snprintf (id, sizeof id, "smaller.%lld.%d", (long long) turn->seq, turn->compressions);
    json_t *text =
        json_sprintf ("\xF0\x9F\x97\x9C\xEF\xB8\x8F The conversation was long; its middle is a "
                      "summary now (%zu messages became %zu).",
            json_array_size (turn->rows), json_array_size (turn->smaller));
    json_t *body = json_pack ("{s:s, s:o}", "kind", "notice", "text", text);
    if (*turn->run_id)
        json_object_set_new (body, "run_id", json_string (turn->run_id));
    parts_chat (self, turn->body, id, body);
}

//  The end of a compression that was asked for
void
parts_compacted (parts_t *self, const turn_t *turn)
{
    char id[64];
    if (!turn->error) {
        parts_compact (self, turn);
        return;
    }
    snprintf (id, sizeof id, "smaller.%lld", (long long) turn->seq);
    parts_chat (
        self, turn->body, id, json_pack ("{s:s, s:s}", "kind", "notice", "text", turn->error));
}
