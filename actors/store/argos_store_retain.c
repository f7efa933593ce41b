//  argos_store_retain - kept entries of topics that are over their limit of age, bytes or number.
//
//  Invariant: of a topic the oldest entries go, and its newest number is kept, so that numbers
//  never repeat; the first rule that fits a topic is the only one for it. A walk over all topics
//  begins at most once in RETAIN_EVERY of uptime, and only while nothing waits. Limits of a slice:
//  500 entries looked at or removed, 64 topics looked at.

#include "argos_store_priv.h"

#include "argos_trie.h"

#include <string.h>

#define RETAIN_EVERY 60000 //  Uptime between two walks, msec
#define SLICE 500          //  Entries of a slice

void
argos_store_set_keeps (argos_store_t *self, const argos_store_keep_t *keeps, size_t count)
{
    self->keep_count = count < ARGOS_STORE_KEEPS_MAX ? count : ARGOS_STORE_KEEPS_MAX;
    if (count)
        memcpy (self->keeps, keeps, self->keep_count * sizeof *keeps);
}

static const argos_store_keep_t *
s_rule (const argos_store_t *self, const char *name)
{
    for (size_t i = 0; i < self->keep_count; i++)
        if (argos_trie_fits (self->keeps[i].match, name))
            return &self->keeps[i];
    return NULL;
}

//  The next topic that has a rule is at hand then; none when the walk is over.

static void
s_next_topic (argos_store_t *self, argos_store_retain_t *retain)
{
    char name[ARGOS_TO_MAX + 1];
    int rows = 0;
    retain->rule = NULL;
    argos_sql_row_t *row = argos_store_once (self, ARGOS_CHORE_RETAIN_NEXT, "i", retain->topic);
    for (bool more = row; more; more = !retain->rule && argos_store_next (self, row)) {
        rows++;
        retain->topic = argos_sql_int (row, 0);
        argos_store_text (row, 1, name, sizeof name);
        retain->rule = s_rule (self, name);
    }
    argos_store_once_end (row);
    retain->step = RETAIN_OLD;
    retain->from = INT64_MAX;
    retain->entries = retain->bytes = 0;
    retain->running = rows > 0;
}

//  Removes entries up to n, a slice of them. Returns whether there may be more.

static bool
s_remove (argos_store_t *self, int64_t topic, int64_t n)
{
    argos_store_run (self, ARGOS_SQL_TOPIC_NEWEST, "ii", topic, n);
    argos_store_once_run (self, ARGOS_CHORE_RETAIN_DROP, "ii", topic, n);
    return !self->failed && argos_store_changes (self) >= SLICE;
}

static void
s_remove_old (argos_store_t *self, argos_store_retain_t *retain, int64_t now)
{
    int64_t count = 0, last = 0;
    argos_sql_row_t *row = argos_store_once (
        self, ARGOS_CHORE_RETAIN_OLD, "ii", retain->topic, now - retain->rule->keep_ms);
    if (row) {
        count = argos_sql_int (row, 0);
        last = argos_sql_int (row, 1);
    }
    argos_store_once_end (row);
    if (count)
        s_remove (self, retain->topic, last);
    if (count < SLICE)
        retain->step = RETAIN_COUNT;
}

static bool
s_over (const argos_store_retain_t *retain)
{
    const argos_store_keep_t *rule = retain->rule;
    return (rule->keep_entries && retain->entries > rule->keep_entries) ||
           (rule->keep_bytes && retain->bytes > rule->keep_bytes && retain->entries > 1);
}

//  From the newest to the oldest, until there are too many or they are too large.

static void
s_count (argos_store_t *self, argos_store_retain_t *retain)
{
    int rows = 0;
    argos_sql_row_t *row =
        argos_store_once (self, ARGOS_CHORE_RETAIN_SIZES, "ii", retain->topic, retain->from);
    for (bool more = row; more; more = !s_over (retain) && argos_store_next (self, row)) {
        rows++;
        retain->from = argos_sql_int (row, 0);
        retain->bytes += argos_sql_int (row, 1);
        retain->entries++;
    }
    argos_store_once_end (row);
    if (s_over (retain))
        retain->step = RETAIN_CUT;
    else if (rows < SLICE)
        retain->rule = NULL;
}

static void
s_slice (argos_store_t *self, argos_store_retain_t *retain, int64_t now)
{
    if (!retain->rule)
        s_next_topic (self, retain);
    else if (retain->step == RETAIN_OLD && retain->rule->keep_ms)
        s_remove_old (self, retain, now);
    else if (retain->step == RETAIN_CUT) {
        if (!s_remove (self, retain->topic, retain->from))
            retain->rule = NULL;
    }
    else if (retain->rule->keep_entries || retain->rule->keep_bytes)
        s_count (self, retain);
    else
        retain->rule = NULL;
}

bool
argos_store_retain (argos_store_t *self, int64_t now)
{
    argos_store_retain_t *retain = &self->retain;
    if (!retain->running && (!self->keep_count || self->uptime < self->retain_at))
        return false;
    if (!retain->running) {
        *retain = (argos_store_retain_t){ .running = true };
        self->retain_at = self->uptime + RETAIN_EVERY;
    }
    argos_store_exec (self, "BEGIN IMMEDIATE");
    s_slice (self, retain, now);
    argos_store_exec (self, "COMMIT");
    if (self->failed)
        retain->running = false;
    return retain->running;
}
