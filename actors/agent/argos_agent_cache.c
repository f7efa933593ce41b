//  argos_agent_cache - the prompt of a turn: the one that the cache beside us has frozen for this
//  conversation, else the one that is built now, with what was noted of who speaks.
//
//  Invariant: the prompt does not change within a turn, also not when it is loaded anew. A cache
//  that is not there, or silent, counts as a miss. What is told at the end is not waited for.

#include "argos_agent_priv.h"
#include "argos_memo.h"
#include "argos_setting.h"
#include "argos_signature.h"
#include "argos_task_close.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_TTL_MS 1000 //  Patience with it
#define TRIES_MAX 100     //  While it has no room: each is a way to the broker and back

//  A word to the cache

typedef struct {
    agent_t *agent;           //  Whose
    const char *type;         //  Static
    json_t *body;             //  Kept for a repeat
    argos_peer_answer_fn *fn; //  Told the answer; NULL = nobody is
    void *arg;                //  Its argument
    int tries;                //  So far
} s_word_t;

typedef struct {
    turn_t *turn;             //  Holds a reference
    unsigned epoch;           //  Of the turn when it was asked
    argos_turn_event_t event; //  What is told to the turn then
} s_ticket_t;

void
agent_find_cache (agent_t *self)
{
    argos_link_t link = self->config.link;
    argos_peer_config_t peer;
    char name[ARGOS_NAME_MAX + 1];
    link.number = self->config.cache;
    argos_link_apply (&link, "cache", &peer, name);
    snprintf (self->cache, sizeof self->cache, "actor:%s", name);
}

//  The prompt as it is built now, and its hash; made anew only when something it is made of is new.

static void
s_build (agent_t *self, json_t *settings)
{
    const char *system = argos_setting_text (settings, NULL, NULL, "agent.system_prompt");
    if (self->prompt && self->prompt_settings == settings &&
        json_object_get (self->prompt, "tools") == self->tools)
        return;
    json_decref (self->prompt);
    json_decref (self->prompt_settings);
    json_decref (self->keys);
    self->keys = argos_signature_keys (
        settings, argos_toolset_generation (argos_registry_set (self->registry)));
    self->prompt = json_pack ("{s:s, s:O}", "system", system ? system : "", "tools", self->tools);
    self->prompt_settings = json_incref (settings);
    argos_signature_prompt (self->prompt, self->prompt_hash);
}

static json_t *
s_profile (const turn_t *self)
{
    static const char *const kinds[] = { "openai", "anthropic", "rehearsal" };
    static const char *const users[] = { "user_id", "user_id_alt" };
    const argos_provider_settings_t *provider = &self->agent->config.provider;
    const json_t *source = json_object_get (self->body, "source");
    const char *model = json_string_value (json_object_get (self->body, "model"));
    const char *prompt = argos_setting_text (self->settings, NULL, NULL, "agent.system_prompt");
    const char *kind = kinds[provider->kind];
    char key[ARGOS_SHA256_SIZE];
    argos_signature_key (provider->key, key);
    json_t *profile = json_pack ("{s:s, s:s, s:s, s:s, s:s, s:s, s:O}", "model",
        model && *model ? model : provider->model, "key_hash", key, "base_url", provider->base_url,
        "provider", kind, "api_mode", kind, "prompt", prompt ? prompt : "", "keys",
        self->agent->keys);
    for (size_t i = 0; i < sizeof users / sizeof *users; i++)
        if (json_object_get (source, users[i]))
            json_object_set (profile, users[i], json_object_get (source, users[i]));
    return profile;
}

static void
s_word_free (s_word_t *word)
{
    json_decref (word->body);
    free (word);
}

static argos_err_t s_word_send (s_word_t *word);

static void
s_on_word (void *arg, const argos_peer_answer_t *answer)
{
    s_word_t *word = (s_word_t *) arg;
    if (answer->code == ARGOS_BUSY && ++word->tries < TRIES_MAX && s_word_send (word) == ARGOS_OK)
        return;
    if (word->fn)
        word->fn (word->arg, answer);
    s_word_free (word);
}

static argos_err_t
s_word_send (s_word_t *word)
{
    argos_peer_part_t part = { .type = word->type,
        .to = word->agent->cache,
        .ttl_ms = CACHE_TTL_MS,
        .body = json_incref (word->body) };
    return argos_peer_send (word->agent->peer, &part, s_on_word, word);
}

//  body is stolen. Returns false when it can't be sent; then fn is not called.
static bool
s_say (agent_t *agent, const char *type, json_t *body, argos_peer_answer_fn *fn, void *arg)
{
    s_word_t *word = (s_word_t *) malloc (sizeof *word);
    if (!word)
        abort ();
    *word = (s_word_t){ agent, type, body, fn, arg, 0 };
    if (s_word_send (word) == ARGOS_OK)
        return true;
    s_word_free (word);
    return false;
}

static void
s_on_acquired (void *arg, const argos_peer_answer_t *answer)
{
    s_ticket_t ticket = *(s_ticket_t *) arg;
    turn_t *turn = ticket.turn;
    const char *agent_id = json_string_value (json_object_get (answer->body, "agent_id"));
    json_t *prompt = json_object_get (answer->body, "prompt");
    free (arg);
    if (answer->code == ARGOS_OK && agent_id) {
        snprintf (turn->agent_id, sizeof turn->agent_id, "%s", agent_id);
        turn->wanted = json_is_true (json_object_get (answer->body, "want"));
        if (prompt) {
            json_decref (turn->prompt);
            turn->prompt = json_incref (prompt);
        }
    }
    if (turn->state == ARGOS_TURN_OVER)
        turn_let_go (turn);
    else if (ticket.epoch == turn->epoch)
        turn_ready (turn, ticket.event);
    turn_unref (turn);
}

static s_ticket_t *
s_ticket_new (turn_t *turn, argos_turn_event_t event)
{
    s_ticket_t *ticket = (s_ticket_t *) malloc (sizeof *ticket);
    if (!ticket)
        abort ();
    *ticket = (s_ticket_t){ turn, turn->epoch, event };
    turn->refs++;
    return ticket;
}

//  Returns false when it can't be asked
static bool
s_ask (turn_t *self, argos_turn_event_t event)
{
    char signature[ARGOS_SIGNATURE_SIZE], hash[ARGOS_SHA256_SIZE];
    agent_t *agent = self->agent;
    json_t *profile = s_profile (self);
    argos_signature (profile, signature);
    json_decref (profile);
    memcpy (hash, agent->prompt_hash, sizeof hash);
    if (self->prompt != agent->prompt)
        argos_signature_prompt (self->prompt, hash);
    json_t *body = json_pack (
        "{s:s, s:s, s:s}", "session", self->session, "signature", signature, "prompt_hash", hash);
    json_object_set_new (body, "max_iterations",
        json_integer (argos_setting_int (self->settings, NULL, NULL, "agent.max_iterations")));
    if (self->stored_rows >= 0)
        json_object_set_new (body, "message_count", json_integer (self->stored_rows));
    s_ticket_t *ticket = s_ticket_new (self, event);
    if (s_say (agent, "agent.acquire", body, s_on_acquired, ticket))
        return true;
    self->refs--;
    free (ticket);
    return false;
}

//  The prompt as it would be now; the cache may have another one
static void
s_compose (turn_t *self, const json_t *notes, argos_turn_event_t event)
{
    agent_t *agent = self->agent;
    s_build (agent, self->settings);
    self->prompt = json_incref (agent->prompt);
    if (json_object_size (notes)) {
        const char *system = json_string_value (json_object_get (agent->prompt, "system"));
        json_decref (self->prompt);
        self->prompt = json_pack ("{s:o, s:O}", "system", argos_memo_prompt (system, notes),
            "tools", json_object_get (agent->prompt, "tools"));
    }
    if (!s_ask (self, event))
        turn_ready (self, event);
}

static void
s_on_notes (void *arg, const argos_peer_answer_t *answer)
{
    s_ticket_t ticket = *(s_ticket_t *) arg;
    turn_t *turn = ticket.turn;
    free (arg);
    bool current = ticket.epoch == turn->epoch && turn->state != ARGOS_TURN_OVER;
    if (current && answer->code != ARGOS_OK)
        turn_event (turn, ARGOS_TURN_REFUSED);
    else if (current)
        s_compose (turn, json_object_get (json_object_get (answer->body, "record"), "value"),
            ticket.event);
    turn_unref (turn);
}

//  A delegate knows what its task says and no more

void
turn_acquire (turn_t *self, argos_turn_event_t event)
{
    char key[ARGOS_MEMO_KEY_SIZE];
    if (self->prompt) {
        turn_ready (self, event);
        return;
    }
    if (json_object_get (self->body, "parent") ||
        argos_memo_key (json_object_get (self->body, "source"), key) != 0) {
        s_compose (self, NULL, event);
        return;
    }
    s_ticket_t *ticket = s_ticket_new (self, event);
    argos_peer_part_t part = { .type = "record.get",
        .to = "store",
        .body = json_pack ("{s:s, s:s}", "space", ARGOS_MEMO_SPACE, "key", key) };
    if (argos_peer_send (self->agent->peer, &part, s_on_notes, ticket) == ARGOS_OK)
        return;
    self->refs--;
    free (ticket);
    turn_event (self, ARGOS_TURN_REFUSED);
}

static bool
s_ends_session (const turn_t *self)
{
    for (size_t i = 0; i < self->mail_count; i++)
        if (self->mails[i].end && self->flying_last == JOB_STOP)
            return true;
    return false;
}

//  Without a cache the tools are told by us
static void
s_on_evicted (void *arg, const argos_peer_answer_t *answer)
{
    turn_t *turn = (turn_t *) arg;
    if (answer->code != ARGOS_OK && answer->code != ARGOS_GONE)
        argos_task_close (
            turn->agent->peer, argos_registry_set (turn->agent->registry), turn->session);
    turn_unref (turn);
}

//  What the cache is told of the turn, new
static json_t *
s_report (const turn_t *self)
{
    json_t *body = json_pack ("{s:s, s:b, s:i, s:{s:I, s:I, s:I}}", "agent_id", self->agent_id,
        "failed", self->error != NULL, "calls", self->iterations, "usage", "input_tokens",
        (json_int_t) self->input_tokens, "output_tokens", (json_int_t) self->output_tokens,
        "cache_read_tokens", (json_int_t) self->cache_read);
    if (self->moves) //  It ended with another provider than it is for
        json_object_set_new (body, "fallback", json_true ());
    if (self->stored_rows >= 0)
        json_object_set_new (body, "message_count", json_integer (self->stored_rows));
    if (self->wanted)
        json_object_set (body, "prompt", self->prompt);
    return body;
}

void
turn_let_go (turn_t *self)
{
    if (s_ends_session (self)) {
        json_t *body = json_pack ("{s:s, s:b}", "session", self->session, "close", 1);
        self->refs++;
        if (!s_say (self->agent, "agent.evict", body, s_on_evicted, self))
            self->refs--;
    }
    else if (*self->agent_id)
        s_say (self->agent, "agent.release", s_report (self), NULL, NULL);
    *self->agent_id = 0;
}

void
agent_fresh (agent_t *self)
{
    s_say (self, "agent.release", json_object (), NULL, NULL);
}

int64_t
turn_rows_of (const parts_t *parts, int64_t before)
{
    for (size_t i = 0; before >= 0 && i < parts->count; i++) {
        size_t rows = json_array_size (json_object_get (parts->parts[i].body, "messages"));
        if (strcmp (parts->parts[i].type, "session.append") == 0)
            before += (int64_t) rows;
        else if (strcmp (parts->parts[i].type, "session.replace") == 0)
            before = (int64_t) rows;
    }
    return before;
}
