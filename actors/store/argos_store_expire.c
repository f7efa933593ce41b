//  argos_store_expire - runs of one owner that have ended go after a time of their own, with all
//  that is theirs: their topic, their records, their hold on files, and the ids that started them,
//  so that such an id may start a run again.
//
//  Invariant: a run that has not ended is never touched, and what belongs to a run goes in the same
//  transaction as its row. A walk goes by the number and ends where the runs are too young to be
//  old; it begins at most 168 times in the time that is kept, and removes at most a thirtieth of
//  all runs (and 64), so that a wrong clock can't empty the table. Limit of a slice: 100 runs.

#include "argos_store_priv.h"

#include <stdio.h>

#define WALKS 168           //  In the time that is kept
#define WALK_MIN_MS 1000    //  Uptime between two walks
#define WALK_MAX_MS 3600000 //  The same
#define SLICE 100           //  Runs of a slice
#define SHARE 30            //  Part of the runs that a walk may remove
#define ALWAYS 64           //  Runs that it may remove anyway

static const argos_chore_t s_remove_sql[] = { ARGOS_CHORE_EXPIRE_JOURNAL, ARGOS_CHORE_EXPIRE_TOPICS,
    ARGOS_CHORE_EXPIRE_RECORDS, ARGOS_CHORE_EXPIRE_REFS, ARGOS_CHORE_EXPIRE_ROWS };

void
argos_store_set_runs (argos_store_t *self, const char *owner, int64_t keep_ms)
{
    argos_store_text_copy (self->runs.owner, owner, sizeof self->runs.owner);
    self->runs.keep_ms = keep_ms;
}

static void
s_start (argos_store_t *self, argos_store_runs_t *runs)
{
    int64_t every = runs->keep_ms / WALKS;
    every = every < WALK_MIN_MS ? WALK_MIN_MS : every > WALK_MAX_MS ? WALK_MAX_MS : every;
    argos_sql_row_t *row = argos_store_once (self, ARGOS_CHORE_EXPIRE_COUNT, "");
    runs->allowed = (row ? argos_sql_int (row, 0) : 0) / SHARE + ALWAYS;
    argos_store_once_end (row);
    runs->walk_at = self->uptime + every;
    runs->cursor = 0;
    runs->running = true;
}

static void
s_slice (argos_store_t *self, argos_store_runs_t *runs, int64_t oldest)
{
    int64_t rows = 0, old = 0, end = runs->cursor;
    argos_sql_row_t *row =
        argos_store_once (self, ARGOS_CHORE_EXPIRE_SLICE, "ii", runs->cursor, oldest);
    if (row) {
        rows = argos_sql_int (row, 0);
        end = argos_sql_int (row, 1);
        old = argos_sql_int (row, 2);
    }
    argos_store_once_end (row);
    for (size_t i = 0; old && i < sizeof s_remove_sql / sizeof *s_remove_sql; i++)
        argos_store_once_run (self, s_remove_sql[i], "iiiis", runs->cursor, end, oldest,
            runs->allowed, (const char *) runs->owner);
    if (old)
        runs->allowed -= argos_store_changes (self);
    runs->cursor = end;
    runs->running = rows == SLICE && old == rows && runs->allowed > 0;
}

bool
argos_store_expire (argos_store_t *self, int64_t now)
{
    argos_store_runs_t *runs = &self->runs;
    if (!runs->keep_ms || (!runs->running && self->uptime < runs->walk_at))
        return false;
    argos_store_exec (self, "BEGIN IMMEDIATE");
    if (!runs->running)
        s_start (self, runs);
    s_slice (self, runs, now - runs->keep_ms);
    argos_store_exec (self, "COMMIT");
    if (self->failed)
        runs->running = false;
    return runs->running;
}
