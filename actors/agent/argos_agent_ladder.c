//  argos_agent_ladder - what to do with an answer that has ended, good or bad.
//
//  A failure goes by argos_reaction: again, otherwise, smaller, elsewhere, or the sentence for
//  people. A text that was cut off is gone on with; a call that was cut off is asked for once more
//  and never run; silence gets a word. Rows that serve only for that (scaffold) are no part of the
//  transcript. Invariant: each of these is bounded, so that a turn ends.

#include "argos_agent_priv.h"
#include "argos_reaction.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTINUE_MAX 3     //  Continuations of one text
#define BEGUN_MAX 196608   //  Bytes of a text that is gone on with
#define STRIKES_MAX 3      //  Answers in a row that call only tools that there are not
#define NUDGE_MAX 2        //  Words to a model that has said nothing
#define LARGE_BYTES 320000 //  From here an unclear refusal may mean the length
#define HUGE_BYTES 480000  //  From here, or so many messages, a connection that breaks off may, too
#define HUGE_ROWS 200      //  Messages
#define CROWD_MAX 8        //  Attempts at an Anthropic provider that has no room

static const char s_go_on_limit[] =
    "Your answer reached the output limit. Go on exactly where it stopped; repeat nothing.";
static const char s_go_on_cut[] = "The connection broke off in the middle of your answer. Go on "
                                  "exactly where it stopped; repeat nothing.";
static const char s_nudge_tools[] =
    "The tools have answered, and you have said nothing. Go on, or give your answer.";
static const char s_nudge_thought[] =
    "You have thought, and given no answer. Give it now, in plain words.";
static const char s_only_thought[] =
    "The model used up its whole output for thinking and gave no answer. Ask for less thinking, or "
    "for a smaller step.";

static void
s_add_row (turn_t *self, const char *role, const char *content)
{
    json_array_append_new (self->rows, json_pack ("{s:s, s:s}", "role", role, "content", content));
    self->scaffold++;
}

void
turn_drop_scaffold (turn_t *self)
{
    for (; self->scaffold; self->scaffold--)
        json_array_remove (self->rows, json_array_size (self->rows) - 1);
}

//  ------------------------------------------------------------------------------------------------
//  Failures

static size_t
s_bytes (const turn_t *self)
{
    size_t i, bytes = 0;
    json_t *row;
    json_array_foreach (self->rows, i, row)
        bytes += json_string_length (json_object_get (row, "content"));
    return bytes;
}

static void
s_say_failure (turn_t *self, const argos_provider_error_t *error)
{
    char sentence[1200];
    argos_provider_error_text (error, sentence, sizeof sentence - 144);
    size_t size = strlen (sentence);
    if (*self->dropped)
        size += (size_t) snprintf (
            sentence + size, sizeof sentence - size, ", in a call of %s", self->dropped);
    if (self->repeats)
        snprintf (sentence + size, sizeof sentence - size, ", after %d repeats", self->repeats);
    turn_fail (self, sentence);
}

static void
s_move (turn_t *self, const argos_provider_error_t *error)
{
    agent_t *agent = self->agent;
    if (argos_react_cools (error->class) && self->moves == 0)
        agent_back_cools (agent, self->back, argos_shell_now ());
    self->back = agent_back_next (agent, self->back);
    self->moves++;
    self->repeats = 0;
    self->adjust = 0;
    argos_log (ARGOS_LOG_WARN, agent->name, "provider stands in", "model=%s class=%s",
        agent->backs[self->back].settings.model, argos_provider_class_name (error->class));
    turn_again (self, 0);
}

static int64_t
s_wait_ms (turn_t *self, const argos_provider_error_t *error)
{
    agent_t *agent = self->agent;
    int64_t base_ms = argos_setting_int (self->settings, NULL, NULL, "agent.api_backoff_ms");
    if (base_ms <= 0)
        base_ms = ARGOS_PROVIDER_BACKOFF_MS;
    if (error->class == ARGOS_PE_EMPTY)
        base_ms = base_ms * 5 / 2;
    agent->entropy = agent->entropy * 1664525u + 1013904223u;
    return argos_provider_backoff (error, self->repeats, base_ms, agent->entropy >> 8);
}

//  What was said before stands, with a word about the call that came to nothing (parts_answer);
//  silence is no failure, and is told as what it is
static void
s_give_up (turn_t *self, const argos_provider_error_t *error)
{
    turn_drop_scaffold (self);
    if (self->begun) {
        free (self->text);
        self->text = self->begun;
        self->begun = NULL;
        self->finish = "length";
        self->shown = false;
    }
    else if (*self->dropped && self->text && *self->text) {
        self->finish = "length";
        self->shown = false;
    }
    else if (error->class != ARGOS_PE_EMPTY) {
        s_say_failure (self, error);
        return;
    }
    turn_event (self, ARGOS_TURN_TEXT);
}

static void
s_failed (turn_t *self, const argos_provider_error_t *error)
{
    int64_t most = argos_setting_int (self->settings, NULL, NULL, "agent.api_max_retries");
    size_t bytes = s_bytes (self), next = agent_back_next (self->agent, self->back);
    if (most <= 0)
        most = ARGOS_PROVIDER_RETRIES;
    if (error->class == ARGOS_PE_OVERLOADED && next >= self->agent->back_count &&
        most == ARGOS_PROVIDER_RETRIES &&
        self->agent->backs[self->back].settings.kind == ARGOS_PROVIDER_ANTHROPIC)
        most = CROWD_MAX - 1;
    argos_react_state_t state = { .repeats = self->repeats,
        .repeats_max = (int) most,
        .fallback = next < self->agent->back_count,
        .adjusted = self->adjust,
        .compressions = self->compressions,
        .images = turn_has_images (self) && !(self->adjust & ARGOS_ADJUST_IMAGES),
        .huge = bytes > HUGE_BYTES || json_array_size (self->rows) > HUGE_ROWS,
        .large = bytes > LARGE_BYTES };
    argos_log (ARGOS_LOG_WARN, self->agent->name, "provider", "class=%s status=%d repeat=%d",
        argos_provider_class_name (error->class), error->status, self->repeats);
    switch (argos_react (error, &state, &self->adjust)) {
    case ARGOS_REACT_ADJUST:
        if (error->class == ARGOS_PE_NO_IMAGES)
            turn_is_blind (self);
        turn_again (self, 0);
        break;
    case ARGOS_REACT_FALLBACK:
        s_move (self, error);
        break;
    case ARGOS_REACT_RETRY: {
        int64_t wait_ms = s_wait_ms (self, error);
        self->repeats++;
        turn_again (self, wait_ms);
        break;
    }
    case ARGOS_REACT_COMPRESS:
        self->compressions++;
        self->preflight = false;
        turn_event (self, ARGOS_TURN_COMPRESS);
        break;
    default:
        s_give_up (self, error);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Answers

static void
s_keep (turn_t *self, const argos_answer_t *answer)
{
    free (self->text);
    self->text = strndup (argos_text_str (&answer->text), answer->text.size);
    self->finish = argos_finish_name (answer->finish);
    json_decref (self->thought);
    self->thought = json_object ();
    if (answer->thinking)
        json_object_set (self->thought, "_thinking", answer->thinking);
    else if (answer->reasoning.size)
        json_object_set_new (self->thought, "reasoning_content",
            json_stringn (argos_text_str (&answer->reasoning), answer->reasoning.size));
}

//  What its provider takes; NULL = that is not known
static const json_t *
s_prices (const turn_t *self)
{
    if (self->back == 0)
        return argos_setting (self->settings, NULL, NULL, "prices");
    const json_t *list = argos_setting (self->settings, NULL, NULL, "fallback_providers");
    const json_t *block = json_array_get (list, self->back - 1);
    const char *model = json_string_value (json_object_get (block, "model"));
    bool same = model && strcmp (model, self->agent->backs[self->back].settings.model) == 0;
    return same ? json_object_get (block, "prices") : NULL;
}

//  US dollars, or a word that what was used has no price
static void
s_cost (turn_t *self, int64_t plain, const argos_answer_t *answer)
{
    const struct {
        const char *name; //  Of the price
        int64_t tokens;   //  That it is for
    } uses[] = { { "input", plain }, { "output", answer->output_tokens },
        { "cache_read", answer->cache_read_tokens },
        { "cache_write", answer->cache_write_tokens } };
    const json_t *prices = s_prices (self);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        const json_t *price = json_object_get (prices, uses[i].name);
        if (price)
            self->usd += json_number_value (price) * (double) uses[i].tokens / 1e6;
        else if (uses[i].tokens)
            self->unpriced = true;
    }
}

static void
s_count (turn_t *self, const argos_answer_t *answer)
{
    int64_t cached = answer->cache_read_tokens + answer->cache_write_tokens;
    int64_t plain = answer->input_tokens > cached ? answer->input_tokens - cached : 0;
    self->last_input = answer->input_tokens;
    self->input_tokens += answer->input_tokens;
    self->output_tokens += answer->output_tokens;
    self->cache_read += answer->cache_read_tokens;
    self->cache_write += answer->cache_write_tokens;
    self->reasoning_tokens += answer->reasoning_tokens;
    s_cost (self, plain, answer);
}

//  The text so far stands; the model goes on with it
static bool
s_go_on (turn_t *self, const char *words)
{
    if (self->continued >= CONTINUE_MAX || strlen (self->text) > BEGUN_MAX)
        return false;
    turn_drop_scaffold (self);
    s_add_row (self, "assistant", self->text);
    s_add_row (self, "user", words);
    free (self->begun);
    self->begun = strdup (self->text);
    self->continued++;
    turn_again (self, 0);
    return true;
}

//  What it has said beside calls that only note something is its answer, when nothing else comes
static bool
s_said_before (turn_t *self)
{
    static const char *const names[] = { "memory", "todo", "session_search" };
    const json_t *row = NULL;
    for (size_t i = json_array_size (self->rows); i > 0; i--) {
        row = json_array_get (self->rows, i - 1);
        if (!json_object_get (row, "tool_call_id"))
            break;
    }
    size_t at;
    const json_t *call, *calls = json_object_get (row, "tool_calls");
    json_array_foreach (calls, at, call) {
        const char *name =
            json_string_value (json_object_get (json_object_get (call, "function"), "name"));
        bool notes = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            notes = notes || (name && strcmp (name, names[i]) == 0);
        if (!notes)
            return false;
    }
    const char *said = json_string_value (json_object_get (row, "content"));
    if (!calls || !said || !*said)
        return false;
    self->text = strdup (said);
    return true;
}

static bool
s_nudge (turn_t *self, const argos_answer_t *answer)
{
    const json_t *last = json_array_get (self->rows, json_array_size (self->rows) - 1);
    const char *role = json_string_value (json_object_get (last, "role"));
    bool tools = role && strcmp (role, "tool") == 0;
    if (self->nudges >= NUDGE_MAX || (!tools && !answer->reasoning.size))
        return false;
    self->nudges++;
    s_add_row (self, "user", tools ? s_nudge_tools : s_nudge_thought);
    turn_again (self, 0);
    return true;
}

static void
s_silent (turn_t *self, const argos_answer_t *answer)
{
    bool valid = self->agent->backs[self->back].settings.kind == ARGOS_PROVIDER_ANTHROPIC &&
                 answer->ended && answer->finish == ARGOS_FINISH_STOP;
    argos_provider_error_t error = { .class = ARGOS_PE_EMPTY };
    snprintf (error.message, sizeof error.message, "the answer was empty");
    if (answer->finish == ARGOS_FINISH_FILTER) {
        error.class = ARGOS_PE_POLICY;
        snprintf (error.message, sizeof error.message, "the provider has withheld the answer");
        s_failed (self, &error);
    }
    else if (answer->finish == ARGOS_FINISH_LENGTH) {
        self->text = strdup (answer->reasoning.size ? s_only_thought : "");
        turn_event (self, ARGOS_TURN_TEXT);
    }
    else if (s_said_before (self)) {
        self->finish = argos_finish_name (ARGOS_FINISH_STOP);
        turn_event (self, ARGOS_TURN_TEXT);
    }
    else if (s_nudge (self, answer))
        return;
    else if (valid)
        turn_event (self, ARGOS_TURN_TEXT);
    else
        s_failed (self, &error);
}

static void
s_cut_call (turn_t *self, const argos_answer_t *answer)
{
    char sentence[200];
    if (!self->recalled) {
        self->recalled = true;
        turn_again (self, 0);
        return;
    }
    snprintf (sentence, sizeof sentence,
        "The turn failed: Response truncated due to output length limit, in a call of %s",
        answer->cut_call);
    turn_fail (self, sentence);
}

static void
s_text (turn_t *self, const argos_answer_t *answer)
{
    if (*answer->cut_call) {
        s_cut_call (self, answer);
        return;
    }
    bool wanted = turn_max_tokens (self) > 0; //  As long as was asked for
    if (answer->finish == ARGOS_FINISH_LENGTH && *self->text && !answer->text_full && !wanted) {
        self->shown = false;
        if (s_go_on (self, s_go_on_limit))
            return;
    }
    if (!*self->text) {
        free (self->text);
        self->text = NULL;
        s_silent (self, answer);
        return;
    }
    turn_drop_scaffold (self);
    self->shown = false; //  It stands; nothing is to be dropped
    turn_event (self, ARGOS_TURN_TEXT);
}

static void
s_tools (turn_t *self, const argos_answer_t *answer)
{
    turn_drop_scaffold (self);
    free (self->begun);
    self->begun = NULL;
    self->continued = self->nudges = 0;
    self->recalled = self->shown = false;
    if (self->iterations > turn_max_iterations (self))
        turn_fail (self, "The turn failed: it needs more steps than are allowed");
    else {
        turn_take_calls (self, answer);
        if (self->strikes < STRIKES_MAX)
            turn_event (self, ARGOS_TURN_TOOLS);
        else
            turn_fail (self, "The turn failed: the model only calls tools that there are not");
    }
}

//  What broke off after text was shown is no failure: it is gone on with
static bool
s_broken (turn_t *self, const argos_answer_t *answer)
{
    if (!answer->visible || answer->call_count)
        return false;
    s_keep (self, answer);
    self->shown = false;
    self->finish = "length";
    if (s_go_on (self, s_go_on_cut))
        return true;
    turn_drop_scaffold (self);
    turn_event (self, ARGOS_TURN_TEXT);
    return true;
}

static bool
s_is_break (const argos_provider_error_t *error)
{
    return error->class == ARGOS_PE_TIMEOUT || error->class == ARGOS_PE_SERVER ||
           error->class == ARGOS_PE_OVERLOADED;
}

//  A connection that broke off in a call: its tool, and what was said before
static void
s_note_drop (turn_t *self, const argos_answer_t *answer, const argos_provider_error_t *error)
{
    *self->dropped = 0;
    if (!error || !s_is_break (error) || !answer->call_count)
        return;
    snprintf (self->dropped, sizeof self->dropped, "%s", answer->calls[0].name);
    free (self->text);
    self->text = strndup (argos_text_str (&answer->text), answer->visible);
}

void
turn_answered (turn_t *self, argos_answer_t *answer, argos_answer_kind_t kind,
    const argos_provider_error_t *error)
{
    s_note_drop (self, answer, error);
    if (error) {
        if (!(s_is_break (error) && s_broken (self, answer)))
            s_failed (self, error);
        return;
    }
    self->iterations++;
    if (answer->text.size || answer->call_count)
        self->repeats = 0;
    agent_back_works (self->agent, self->back);
    s_count (self, answer);
    s_keep (self, answer);
    if (kind == ARGOS_ANSWER_TEXT)
        s_text (self, answer);
    else
        s_tools (self, answer);
}
