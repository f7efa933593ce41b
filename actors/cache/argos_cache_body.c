//  argos_cache_body - the bodies of the cache's messages, read and made. Pure.
//
//  Limits: 1,000 entries (the schema) in one answer, the newest.

#include "argos_cache_priv.h"

#define LIST_DEFAULT 200

const char *
argos_cache_text (const json_t *body, const char *name)
{
    return json_string_value (json_object_get (body, name));
}

static int64_t
s_number (const json_t *body, const char *name, int64_t absent)
{
    const json_t *value = json_object_get (body, name);
    return json_is_integer (value) ? json_integer_value (value) : absent;
}

argos_cache_report_t
argos_cache_report (const json_t *body, int64_t now)
{
    const json_t *usage = json_object_get (body, "usage");
    return (argos_cache_report_t){ .agent_id = argos_cache_text (body, "agent_id"),
        .session_id = argos_cache_text (body, "session_id"),
        .count = s_number (body, "message_count", -1),
        .unflushed = s_number (body, "unflushed", 0),
        .bytes = s_number (body, "bytes", -1),
        .calls = s_number (body, "calls", 0),
        .input_tokens = s_number (usage, "input_tokens", 0),
        .output_tokens = s_number (usage, "output_tokens", 0),
        .cache_read_tokens = s_number (usage, "cache_read_tokens", 0),
        .failed = json_is_true (json_object_get (body, "failed")),
        .fallback = json_is_true (json_object_get (body, "fallback")),
        .now = now };
}

static json_t *
s_row (const argos_cache_entry_t *entry, int64_t now, int64_t wall)
{
    size_t frozen = entry->prompt ? entry->prompt->bytes : 0;
    json_t *row = json_pack ("{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I}", "agent_id",
        entry->agent_id, "session", entry->key, "session_id", entry->session_id, "worker",
        entry->worker, "signature", entry->signature, "running", entry->running, "hits",
        (json_int_t) entry->hits, "turns", (json_int_t) entry->turns, "bytes",
        (json_int_t) entry->bytes + (json_int_t) frozen);
    json_t *usage = json_pack ("{s:I, s:I, s:I}", "input_tokens", (json_int_t) entry->input_tokens,
        "output_tokens", (json_int_t) entry->output_tokens, "cache_read_tokens",
        (json_int_t) entry->cache_read_tokens);
    json_object_set_new (row, "usage", usage);
    if (entry->count >= 0)
        json_object_set_new (row, "message_count", json_integer (entry->count));
    if (entry->active_ms >= 0)
        json_object_set_new (row, "last_activity_at", json_integer (wall - now + entry->active_ms));
    if (entry->activity)
        json_object_set_new (row, "activity", json_string (entry->activity));
    if (entry->prompt)
        json_object_set_new (row, "prompt_hash", json_string (entry->prompt->hash));
    return row;
}

json_t *
argos_cache_listing (const cache_t *self, const json_t *body, int64_t now, int64_t wall)
{
    int64_t limit = s_number (body, "limit", LIST_DEFAULT);
    json_t *rows = json_array ();
    const argos_cache_entry_t *first = argos_cache_first (self->agents);
    const argos_cache_entry_t *entry = first ? first->prev : NULL; //  The newest
    for (; entry && limit > 0; limit--) {
        json_array_append_new (rows, s_row (entry, now, wall));
        entry = entry == first ? NULL : entry->prev;
    }
    return json_pack ("{s:o, s:I, s:I, s:I, s:I, s:I}", "agents", rows, "cached",
        (json_int_t) argos_cache_size (self->agents), "max", (json_int_t) self->max, "hits",
        (json_int_t) self->hits, "misses", (json_int_t) self->misses, "dropped",
        (json_int_t) self->dropped);
}
