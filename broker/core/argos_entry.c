//  argos_entry - the rows of the queue as the index knows them: how they come into their lane, wait
//  for their time, and go.
//
//  Invariant: an entry is in its lane in order of seq, or, while its time is to come, in the list
//  of its service; what has joined its lane stays there. Limits: none of its own.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void
s_expired (void *arg)
{
    argos_lease_expire (arg);
}

static void
s_set_deadline (entry_t *entry, int64_t wall, void (*fn) (void *))
{
    argos_core_t *self = entry->service->core;
    if (!entry->deadline) {
        entry->deadline = calloc (1, sizeof *entry->deadline);
        assert (entry->deadline);
    }
    entry->deadline->wall = wall;
    int64_t wait = wall - self->wall;
    argos_timer_set (
        &self->timers, &entry->deadline->timer, self->mono + (wait > 0 ? wait : 0), fn, entry);
}

//  Put an entry into its lane, in order of seq as the store has it: what was to come later may be
//  older than what waits. A side message ends the lane's delay.

static void
s_join (entry_t *entry, const char *key)
{
    lane_t *lane = argos_lane_get (entry->service, key);
    entry_t *behind = lane->entries ? lane->entries->prev : NULL; //  The last
    entry->lane = lane;
    while (behind && behind->seq > entry->seq)
        behind = behind == lane->entries ? NULL : behind->prev;
    if (behind)
        DL_APPEND_ELEM (lane->entries, behind, entry);
    else
        DL_PREPEND (lane->entries, entry);
    lane->count++;
    lane->bytes += entry->bytes;
    lane->urgent += entry->urgent;
    lane->sides += entry->side;
    if (entry->side && !lane->careful)
        lane->park_until = 0;
    argos_age_add (&entry->service->ages, entry->born);
    if (entry->until)
        s_set_deadline (entry, entry->until, s_expired);
}

static void
s_due (void *arg)
{
    entry_t *entry = arg;
    char *key = entry->key;
    entry->key = NULL;
    entry->born = argos_stats_tick (entry->service->core, 0); //  It could not be served before
    DL_DELETE (entry->service->later, entry);
    s_join (entry, key);
    free (key);
    argos_lane_settle (entry->lane);
}

//  What has joined its lane stays there, even if the clock was set back behind its time.

void
argos_entry_clock_set (argos_core_t *self)
{
    service_t *service, *next;
    lane_t *lane, *next_lane;
    entry_t *entry;
    HASH_ITER (hh, self->services, service, next) {
        DL_FOREACH (service->later, entry)
            s_set_deadline (entry, entry->deadline->wall, s_due);
        HASH_ITER (hh, service->lanes, lane, next_lane) {
            DL_FOREACH (lane->entries, entry)
                if (entry->until)
                    s_set_deadline (entry, entry->until, s_expired);
            if (lane->state == LANE_PARKED && lane->park_wall && !lane->careful) {
                lane->park_until = self->mono + (lane->park_wall - self->wall);
                argos_lane_settle (lane);
            }
        }
    }
}

//  A row that the store has; the lane is not settled yet (its lease may follow).

entry_t *
argos_entry_insert (service_t *service, const char *key, const argos_storage_row_t *row)
{
    argos_core_t *self = service->core;
    entry_t *entry = calloc (1, sizeof *entry);
    assert (entry);
    entry->seq = row->seq;
    entry->service = service;
    entry->type = argos_core_intern (self, row->type);
    entry->until = row->until;
    entry->strikes = (uint8_t) (row->strikes > 255 ? 255 : row->strikes);
    entry->side = row->side;
    entry->urgent = row->urgent;
    entry->born = argos_stats_tick (self, row->at);
    entry->bytes = (uint32_t) (row->bytes > UINT32_MAX ? UINT32_MAX : row->bytes);
    argos_limit_add (entry, row->from);
    if (row->not_before > self->wall && !row->lease) {
        entry->key = strdup (key);
        assert (entry->key);
        DL_APPEND (service->later, entry);
        s_set_deadline (entry, row->not_before, s_due);
        return entry;
    }
    s_join (entry, key);
    if (row->delay_until > self->wall && entry->lane->entries == entry) {
        entry->lane->park_wall = row->delay_until;
        entry->lane->park_until = self->mono + (row->delay_until - self->wall);
    }
    return entry;
}

//  Rows that entered the queue beside what was asked: notices of dead letters, redriven messages.

void
argos_entry_rows (argos_core_t *self, const argos_storage_ans_t *ans)
{
    for (size_t i = 0; i < ans->row_count; i++) {
        const argos_storage_row_t *row = &ans->rows[i];
        service_t *service = argos_service_declare (self, row->service, true);
        entry_t *entry = argos_entry_insert (service, row->key, row);
        if (entry->lane)
            argos_lane_settle (entry->lane);
    }
}

entry_t *
argos_entry_find (entry_t *entries, int64_t seq)
{
    entry_t *entry;
    DL_FOREACH (entries, entry)
        if (entry->seq ==
            seq) //  NOLINT(clang-analyzer-unix.Malloc): what is freed is taken out before
            return entry;
    return NULL;
}

static void
s_take_out (entry_t *entry)
{
    if (!entry->lane) {
        DL_DELETE (entry->service->later, entry);
        return;
    }
    DL_DELETE (entry->lane->entries, entry);
    entry->lane->count--;
    entry->lane->bytes -= entry->bytes;
    entry->lane->urgent -= entry->urgent;
    entry->lane->sides -= entry->side;
}

static void
s_free (entry_t *entry)
{
    if (entry->deadline)
        argos_timer_clear (&entry->service->core->timers, &entry->deadline->timer);
    argos_limit_remove (entry);
    argos_core_forget_type (entry->service->core, entry->type);
    free (entry->deadline);
    free (entry->key);
    free (entry);
}

//  The row is gone.

void
argos_entry_end (entry_t *entry)
{
    if (entry->lane)
        argos_age_remove (&entry->service->ages, entry->born);
    s_take_out (entry);
    s_free (entry);
}
