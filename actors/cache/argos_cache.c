//  argos_cache - see the header.
//
//  Invariant: each entry is in the list and in the index, or in a list of dropped ones; a prompt
//  lives as long as an entry has it. Limits: entries that are mid-turn are not bounded here: there
//  are at most as many as turns.

#include "argos_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct argos_cache {
    argos_cache_limits_t limits;   //  See there
    argos_cache_entry_t *list;     //  Oldest first
    argos_cache_entry_t *index;    //  By key
    argos_cache_entry_t *agents;   //  By agent
    argos_cache_prompt_t *prompts; //  By hash
    size_t size;                   //  Entries
};

argos_cache_t *
argos_cache_new (const argos_cache_limits_t *limits)
{
    argos_cache_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->limits = *limits;
    return self;
}

static void
s_drop_prompt (argos_cache_t *self, argos_cache_entry_t *entry)
{
    argos_cache_prompt_t *prompt = entry->prompt;
    entry->prompt = NULL;
    if (!prompt || --prompt->refs)
        return;
    HASH_DEL (self->prompts, prompt);
    json_decref (prompt->prompt);
    free (prompt);
}

void
argos_cache_free (argos_cache_t *self, argos_cache_entry_t **dropped)
{
    argos_cache_entry_t *entry, *next;
    LL_FOREACH_SAFE (*dropped, entry, next) {
        s_drop_prompt (self, entry);
        free (entry);
    }
    *dropped = NULL;
}

static void
s_take_out (
    argos_cache_t *self, argos_cache_entry_t *entry, const char *why, argos_cache_entry_t **dropped)
{
    HASH_DEL (self->index, entry);
    HASH_DELETE (hh_agent, self->agents, entry);
    DL_DELETE (self->list, entry);
    self->size--;
    entry->why = why;
    entry->client = entry->client && entry->running;
    entry->prev = entry->next = NULL;
    LL_APPEND (*dropped, entry);
}

void
argos_cache_destroy (argos_cache_t **self_p)
{
    argos_cache_t *self = *self_p;
    argos_cache_entry_t *dropped = NULL;
    if (!self)
        return;
    while (self->list)
        s_take_out (self, self->list, "end", &dropped);
    argos_cache_free (self, &dropped);
    free (self);
    *self_p = NULL;
}

void
argos_cache_set_limits (argos_cache_t *self, const argos_cache_limits_t *limits)
{
    self->limits = *limits;
}

static void
s_touch (argos_cache_t *self, argos_cache_entry_t *entry)
{
    DL_DELETE (self->list, entry);
    DL_APPEND (self->list, entry);
}

//  ------------------------------------------------------------------------------------------------
//  Lookup

//  Whether the entry still fits the conversation; NULL = it does, else why it does not. *ret_need
//  is set when that is not known yet.

static const char *
s_misfit (
    const argos_cache_entry_t *entry, const argos_cache_ask_t *ask, argos_cache_verdict_t *ret_need)
{
    const char *session = ask->session_id ? ask->session_id : ask->key;
    if (strcmp (entry->signature, ask->signature) != 0)
        return "signature";
    if (entry->count < 0 || ask->unreadable)
        return NULL;
    if (strcmp (entry->session_id, session) != 0) {
        if (ask->ended < 0)
            *ret_need = ARGOS_CACHE_NEED_ENDED;
        return ask->ended > 0 ? "ended" : NULL;
    }
    if (ask->count < 0)
        *ret_need = ARGOS_CACHE_NEED_COUNT;
    return ask->count >= 0 && ask->count != entry->count ? "stale" : NULL;
}

static argos_cache_entry_t *
s_insert (argos_cache_t *self, const argos_cache_ask_t *ask)
{
    argos_cache_entry_t *entry = calloc (1, sizeof *entry);
    if (!entry)
        abort ();
    snprintf (entry->key, sizeof entry->key, "%s", ask->key);
    snprintf (entry->agent_id, sizeof entry->agent_id, "%s", ask->agent_id);
    snprintf (entry->signature, sizeof entry->signature, "%s", ask->signature);
    entry->count = -1;
    HASH_ADD_STR (self->index, key, entry);
    HASH_ADD (hh_agent, self->agents, agent_id, strlen (entry->agent_id), entry);
    DL_APPEND (self->list, entry);
    self->size++;
    return entry;
}

//  What is set at each turn. A turn that was interrupted and goes on keeps its clock, so that a
//  stuck one still reaches the limit of its inactivity.

static void
s_prepare (argos_cache_entry_t *entry, const argos_cache_ask_t *ask, bool hit)
{
    if (ask->depth == 0) {
        entry->active_ms = ask->now;
        entry->activity = hit ? "starting new turn (cached)" : "starting new turn";
        entry->flushed = 0;
    }
    entry->calls = 0;
    entry->max_iterations = ask->max_iterations;
    entry->running = true;
    entry->held_ms = ask->now;
    entry->client = ask->client;
    snprintf (entry->worker, sizeof entry->worker, "%s", ask->worker ? ask->worker : "");
    snprintf (entry->session_id, sizeof entry->session_id, "%s",
        ask->session_id ? ask->session_id : ask->key);
}

argos_cache_verdict_t
argos_cache_acquire (argos_cache_t *self, const argos_cache_ask_t *ask,
    argos_cache_entry_t **ret_entry, argos_cache_entry_t **dropped, const char **ret_why)
{
    argos_cache_verdict_t need = ARGOS_CACHE_HIT;
    argos_cache_entry_t *entry = argos_cache_find (self, ask->key);
    bool hit = entry != NULL;
    *ret_why = entry ? s_misfit (entry, ask, &need) : NULL;
    *ret_entry = NULL;
    if (need != ARGOS_CACHE_HIT)
        return need;
    if (*ret_why) {
        s_take_out (self, entry, *ret_why, dropped);
        hit = false;
    }
    if (hit)
        s_touch (self, entry);
    else
        entry = s_insert (self, ask);
    entry->hits += hit;
    s_prepare (entry, ask, hit);
    if (ask->prompt_hash && !entry->prompt)
        argos_cache_use (self, entry, ask->prompt_hash);
    *ret_entry = entry;
    return hit ? ARGOS_CACHE_HIT : ARGOS_CACHE_MISS;
}

//  ------------------------------------------------------------------------------------------------
//  The end of a turn

bool
argos_cache_release (
    argos_cache_t *self, const argos_cache_report_t *report, argos_cache_entry_t **dropped)
{
    argos_cache_entry_t *entry = argos_cache_agent (self, report->agent_id);
    if (!entry || (report->worker && strcmp (report->worker, entry->worker) != 0))
        return false;
    s_touch (self, entry);
    entry->running = false;
    entry->active_ms = report->now;
    entry->activity = report->failed ? "turn failed" : "turn ended";
    entry->turns++;
    entry->calls = report->calls;
    entry->input_tokens += report->input_tokens;
    entry->output_tokens += report->output_tokens;
    entry->cache_read_tokens += report->cache_read_tokens;
    if (report->bytes >= 0)
        entry->bytes = report->bytes;
    if (report->session_id)
        snprintf (entry->session_id, sizeof entry->session_id, "%s", report->session_id);
    if (report->count >= 0)
        entry->count = report->count;
    entry->flushed = entry->count - report->unflushed;
    if (report->fallback && !report->failed)
        s_take_out (self, entry, "fallback", dropped);
    return argos_cache_agent (self, report->agent_id) != NULL;
}

void
argos_cache_forget (argos_cache_t *self, const char *worker)
{
    argos_cache_entry_t *entry;
    DL_FOREACH (self->list, entry)
        if (strcmp (entry->worker, worker) == 0)
            entry->running = entry->client = false;
}

void
argos_cache_rebase (argos_cache_t *self, const char *key, const char *session_id, int64_t count)
{
    argos_cache_entry_t *entry = argos_cache_find (self, key);
    if (entry && entry->count >= 0 && count >= 0 && strcmp (entry->session_id, session_id) == 0)
        entry->count = entry->flushed = count;
}

//  ------------------------------------------------------------------------------------------------
//  Letting go

bool
argos_cache_evict (argos_cache_t *self, const char *key, argos_cache_entry_t **dropped)
{
    argos_cache_entry_t *entry = argos_cache_find (self, key);
    if (entry)
        s_take_out (self, entry, "evicted", dropped);
    return entry != NULL;
}

size_t
argos_cache_enforce (argos_cache_t *self, argos_cache_entry_t **dropped)
{
    size_t excess = self->size > self->limits.max ? self->size - self->limits.max : 0, left = 0;
    argos_cache_entry_t *entry = self->list, *next;
    for (; excess && entry; excess--, entry = next) {
        next = entry->next;
        if (entry->running)
            left++;
        else
            s_take_out (self, entry, "cap", dropped);
    }
    return left;
}

size_t
argos_cache_sweep (argos_cache_t *self, int64_t now, argos_cache_entry_t **dropped)
{
    size_t count = 0;
    argos_cache_entry_t *entry, *next;
    DL_FOREACH_SAFE (self->list, entry, next) {
        if (now - entry->held_ms > self->limits.hold_ms)
            entry->running = false; //  Its worker is gone
        if (entry->running || entry->active_ms < 0 ||
            now - entry->active_ms <= self->limits.idle_ms)
            continue;
        s_take_out (self, entry, "idle", dropped);
        count++;
    }
    return count;
}

size_t
argos_cache_shed (argos_cache_t *self, argos_cache_entry_t **dropped)
{
    size_t half = self->size / 2, count = 0;
    size_t keep = self->limits.protected < half ? self->limits.protected : half;
    size_t candidates = self->size - keep;
    argos_cache_entry_t *entry = self->list, *next;
    for (; candidates && entry && count < self->limits.pass_max; candidates--, entry = next) {
        next = entry->next;
        if (entry->running || entry->flushed < entry->count)
            continue;
        s_take_out (self, entry, "memory", dropped);
        count++;
    }
    return count;
}

//  ------------------------------------------------------------------------------------------------
//  Prompts

bool
argos_cache_use (argos_cache_t *self, argos_cache_entry_t *entry, const char *hash)
{
    argos_cache_prompt_t *prompt;
    HASH_FIND_STR (self->prompts, hash, prompt);
    if (!prompt)
        return false;
    prompt->refs++;
    s_drop_prompt (self, entry);
    entry->prompt = prompt;
    return true;
}

void
argos_cache_freeze (argos_cache_t *self, argos_cache_entry_t *entry, json_t *prompt)
{
    char hash[ARGOS_SHA256_SIZE];
    if (entry->prompt)
        return;
    argos_signature_prompt (prompt, hash);
    if (argos_cache_use (self, entry, hash))
        return;
    argos_cache_prompt_t *frozen = calloc (1, sizeof *frozen);
    if (!frozen)
        abort ();
    memcpy (frozen->hash, hash, sizeof hash);
    frozen->prompt = json_incref (prompt);
    frozen->bytes = json_dumpb (prompt, NULL, 0, JSON_COMPACT);
    frozen->refs = 1;
    HASH_ADD_STR (self->prompts, hash, frozen);
    entry->prompt = frozen;
}

//  ------------------------------------------------------------------------------------------------

argos_cache_entry_t *
argos_cache_find (const argos_cache_t *self, const char *key)
{
    argos_cache_entry_t *entry;
    HASH_FIND_STR (self->index, key, entry);
    return entry;
}

argos_cache_entry_t *
argos_cache_agent (const argos_cache_t *self, const char *agent_id)
{
    argos_cache_entry_t *entry;
    HASH_FIND (hh_agent, self->agents, agent_id, strlen (agent_id), entry);
    return entry;
}

argos_cache_entry_t *
argos_cache_first (const argos_cache_t *self)
{
    return self->list;
}

size_t
argos_cache_size (const argos_cache_t *self)
{
    return self->size;
}
