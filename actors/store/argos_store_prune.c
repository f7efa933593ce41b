//  argos_store_prune - removing what is older than 30 days, a slice at a time.
//
//  Invariant: a pass begins once per day of uptime, counts a table and then removes at most a
//  thirtieth of it (and 64 rows), so that a wrong clock can't empty it. The key of a message that
//  still waits, or lies among the dead, stays. Limit of a slice: 500 rows looked at.

#include "argos_store_priv.h"

#include "argos_buggify.h"

#include <string.h>

#define DAY_MS 86400000LL     //  Uptime between two passes
#define KEEP_MS (30 * DAY_MS) //  Age
#define SLICE 500             //  Rows of a slice
#define SHARE 30              //  Part of a table that a pass may remove
#define ALWAYS 64             //  Rows that it may remove of any table

//  How one table is pruned; seen has its own functions

typedef struct {
    argos_chore_t slice;  //  Rows of the slice and its last number
    argos_chore_t before; //  Runs before remove, ARGOS_CHORE_NONE = nothing
    argos_chore_t remove; //  Removes what is old
} table_t;

static const table_t s_tables[] = {
    { ARGOS_CHORE_NONE, ARGOS_CHORE_NONE, ARGOS_CHORE_NONE },
    { ARGOS_CHORE_FINISHED_SLICE, ARGOS_CHORE_NONE, ARGOS_CHORE_FINISHED_DROP },
    { ARGOS_CHORE_RECEIPTS_SLICE, ARGOS_CHORE_NONE, ARGOS_CHORE_RECEIPTS_DROP },
    { ARGOS_CHORE_RECORDS_SLICE, ARGOS_CHORE_NONE, ARGOS_CHORE_RECORDS_DROP },
    { ARGOS_CHORE_RUNS_SLICE, ARGOS_CHORE_RUNS_UNREF, ARGOS_CHORE_RUNS_DROP },
    { ARGOS_CHORE_TOPICS_SLICE, ARGOS_CHORE_TOPICS_EMPTY, ARGOS_CHORE_TOPICS_DROP },
    //  Old entries of topics that are still open; their newest number is kept
    { ARGOS_CHORE_TOPICS_SLICE, ARGOS_CHORE_ENTRIES_NEWEST, ARGOS_CHORE_ENTRIES_DROP },
};

#define TABLES ((int) (sizeof s_tables / sizeof *s_tables))

static void
s_remove (argos_store_t *self, argos_chore_t sql, int64_t end, int64_t now, int64_t allowed)
{
    argos_store_once_run (self, sql, "iiii", self->prune.cursor, end, now - KEEP_MS, allowed);
}

//  How many rows may still be removed from the table at hand

static int64_t
s_allowed (const argos_store_prune_t *prune)
{
    return prune->counting ? 0 : prune->rows / SHARE + ALWAYS - prune->removed;
}

//  One slice of a table with a number. Returns the rows looked at.

static int64_t
s_slice (argos_store_t *self, const table_t *table, int64_t now)
{
    argos_store_prune_t *prune = &self->prune;
    int64_t rows = 0, end = prune->cursor;
    argos_sql_row_t *slice = argos_store_once (self, table->slice, "i", prune->cursor);
    if (slice) {
        rows = argos_sql_int (slice, 0);
        end = argos_sql_int (slice, 1);
    }
    argos_store_once_end (slice);
    int64_t allowed = s_allowed (prune);
    if (rows && allowed > 0) {
        if (table->before)
            s_remove (self, table->before, end, now, allowed);
        s_remove (self, table->remove, end, now, allowed);
        prune->removed += argos_store_changes (self);
    }
    prune->cursor = end;
    return rows;
}

static void
s_seen_remove_slice (
    argos_store_t *self, const char *sender, const char *id, int64_t now, int64_t allowed)
{
    argos_store_once_run (self, ARGOS_CHORE_SEEN_DROP, "ssssii", self->prune.sender, self->prune.id,
        sender, id, now - KEEP_MS, allowed);
    self->prune.removed += argos_store_changes (self);
}

static int64_t
s_seen_slice_step (argos_store_t *self, int64_t now)
{
    argos_store_prune_t *prune = &self->prune;
    char sender[sizeof prune->sender] = "", id[sizeof prune->id] = "";
    int64_t rows = 0;
    argos_sql_row_t *row =
        argos_store_once (self, ARGOS_CHORE_SEEN_SLICE, "ss", prune->sender, prune->id);
    for (bool more = row != NULL; more; more = argos_store_next (self, row), rows++) {
        argos_store_text (row, 0, sender, sizeof sender);
        argos_store_text (row, 1, id, sizeof id);
    }
    argos_store_once_end (row);
    int64_t allowed = s_allowed (prune);
    if (rows && allowed > 0)
        s_seen_remove_slice (self, sender, id, now, allowed);
    if (rows) {
        memcpy (prune->sender, sender, sizeof sender);
        memcpy (prune->id, id, sizeof id);
    }
    return rows;
}

//  The table has been walked through: count, then remove, then the next table.

static void
s_next_walk (argos_store_prune_t *prune)
{
    prune->cursor = 0;
    prune->sender[0] = prune->id[0] = 0;
    if (prune->counting) {
        prune->counting = false;
        return;
    }
    prune->counting = true;
    prune->rows = prune->removed = 0;
    prune->running = ++prune->table < TABLES;
}

//  Begin a pass. What is stored first is when the next one may begin, so that a crash doesn't
//  repeat this one.

static void
s_start (argos_store_t *self)
{
    self->prune = (argos_store_prune_t){ .running = true, .counting = true };
    self->prune_at = self->uptime + DAY_MS;
    argos_store_run (self, ARGOS_SQL_META_PUT, "si", "prune", self->prune_at);
    argos_store_run (self, ARGOS_SQL_META_PUT, "si", "uptime", self->uptime);
    self->uptime_stored = self->uptime;
}

bool
argos_store_prune (argos_store_t *self, int64_t now)
{
    argos_store_prune_t *prune = &self->prune;
    if (!prune->running && self->uptime < self->prune_at && !ARGOS_BUGGIFY ("store.prune"))
        return false;
    argos_store_exec (self, "BEGIN IMMEDIATE");
    if (!prune->running)
        s_start (self);
    int64_t rows = prune->table == 0 ? s_seen_slice_step (self, now)
                                     : s_slice (self, &s_tables[prune->table], now);
    if (prune->counting)
        prune->rows += rows;
    if (rows < SLICE)
        s_next_walk (prune);
    argos_store_exec (self, "COMMIT");
    if (self->failed)
        prune->running = false;
    return prune->running;
}
