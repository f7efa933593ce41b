//  cache_kit - a cache of agents under test: turns begin and end by one call, virtual time.

#ifndef CACHE_KIT_H
#define CACHE_KIT_H

#include "argos_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

//  JSON with ' for ".

static inline json_t *
kit_json (const char *text)
{
    char quoted[2048];
    snprintf (quoted, sizeof quoted, "%s", text);
    for (char *c = quoted; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *json = json_loads (quoted, JSON_DECODE_ANY, NULL);
    assert_non_null (json);
    return json;
}

typedef struct {
    argos_cache_t *cache;         //  It
    argos_cache_entry_t *dropped; //  By the last call
    const char *why;              //  Of the last miss
    int made;                     //  Agents
    char id[ARGOS_CACHE_ID_SIZE]; //  Of the newest
} kit_t;

static inline void
kit_begin (kit_t *kit, size_t max, int64_t idle_ms)
{
    argos_cache_limits_t limits = {
        .max = max, .idle_ms = idle_ms, .hold_ms = 1000000, .pass_max = 16, .protected = 8
    };
    *kit = (kit_t){ .cache = argos_cache_new (&limits) };
}

static inline void
kit_end (kit_t *kit)
{
    argos_cache_free (kit->cache, &kit->dropped);
    argos_cache_destroy (&kit->cache);
    argos_cache_destroy (&kit->cache);
}

static inline argos_cache_ask_t
kit_ask (kit_t *kit, const char *key, int64_t now)
{
    snprintf (kit->id, sizeof kit->id, "ag_%d", ++kit->made);
    return (argos_cache_ask_t){ .key = key,
        .signature = "0123456789abcdef",
        .worker = "w",
        .agent_id = kit->id,
        .count = -1,
        .ended = -1,
        .client = true,
        .now = now };
}

//  Begin a turn; the entry, NULL when something is to be read.

static inline argos_cache_entry_t *
kit_turn (kit_t *kit, const argos_cache_ask_t *ask)
{
    argos_cache_entry_t *entry;
    argos_cache_free (kit->cache, &kit->dropped);
    argos_cache_acquire (kit->cache, ask, &entry, &kit->dropped, &kit->why);
    return entry;
}

static inline argos_cache_entry_t *
kit_run (kit_t *kit, const char *key, int64_t now)
{
    argos_cache_ask_t ask = kit_ask (kit, key, now);
    return kit_turn (kit, &ask);
}

static inline bool
kit_over (kit_t *kit, const char *key, int64_t count, int64_t now)
{
    argos_cache_report_t report = { .agent_id = argos_cache_find (kit->cache, key)->agent_id,
        .count = count,
        .bytes = -1,
        .now = now };
    return argos_cache_release (kit->cache, &report, &kit->dropped);
}

//  An agent that is not running.

static inline void
kit_put (kit_t *kit, const char *key, int64_t now)
{
    assert_non_null (kit_run (kit, key, now));
    assert_true (kit_over (kit, key, -1, now));
}

//  Keys, oldest first, with spaces between.

static inline const char *
kit_keys (const argos_cache_entry_t *entry)
{
    static char text[512];
    *text = 0;
    for (; entry; entry = entry->next)
        snprintf (text + strlen (text), sizeof text - strlen (text), "%s%s", *text ? " " : "",
            entry->key);
    return text;
}

#endif
