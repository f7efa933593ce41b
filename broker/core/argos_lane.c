//  argos_lane - the index of the queue: one FIFO per key of a service, at most one of its messages
//  leased.
//
//  Invariant: the entries are the rows that the store has confirmed; `state` is set only in
//  argos_lane_settle, argos_lane_hold_back, argos_lane_leased and argos_lease_ask; a lane is in a
//  ready list exactly when it is READY. A lane without entries exists only while a request to the
//  store refers to it. Limits: 64 side messages are shown to a holder before it takes some.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 64        //  Side messages shown and not yet taken
#define CAREFUL_STRIKES 8   //  From here on a message is leased alone
#define CAREFUL_GAP_MS 5000 //  and so far apart

lane_t *
argos_lane_find (const service_t *service, const char *key)
{
    lane_t *lane;
    HASH_FIND_STR (service->lanes, key, lane);
    return lane;
}

lane_t *
argos_lane_get (service_t *service, const char *key)
{
    lane_t *lane = argos_lane_find (service, key);
    if (lane)
        return lane;
    lane = calloc (1, sizeof *lane);
    assert (lane);
    lane->service = service;
    lane->key = strdup (key);
    assert (lane->key);
    HASH_ADD_KEYPTR (hh, service->lanes, lane->key, strlen (lane->key), lane);
    return lane;
}

lane_t *
argos_lane_of_head (argos_core_t *self, int64_t seq)
{
    lane_t *lane;
    HASH_FIND (hh_head, self->heads, &seq, sizeof seq, lane);
    return lane;
}

void
argos_lane_unlink (lane_t *lane)
{
    if (!lane->list)
        return;
    DL_DELETE (*lane->list, lane);
    lane->list = NULL;
}

static void
s_free_lane (lane_t *lane)
{
    argos_lane_unlink (lane);
    argos_timer_clear (&lane->service->core->timers, &lane->timer);
    HASH_DEL (lane->service->lanes, lane);
    free (lane->key);
    free (lane);
}

static void
s_parked (void *arg)
{
    lane_t *lane = arg;
    lane->park_until = 0;
    argos_lane_settle (lane);
}

//  The head may be what crashes a process: while it is leased, no other such message is.

static bool
s_suspect (const lane_t *lane)
{
    //  NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed is taken out of the list before
    return lane->entries && lane->entries->strikes >= CAREFUL_STRIKES;
}

void
argos_lane_alone (lane_t *lane)
{
    argos_core_t *self = lane->service->core;
    if (lane->alone || !s_suspect (lane))
        return;
    lane->alone = true;
    self->alone++;
    self->careful_until = self->mono + CAREFUL_GAP_MS;
}

void
argos_lane_not_alone (lane_t *lane)
{
    lane->service->core->alone -= lane->alone;
    lane->alone = false;
}

//  It has ended well, so it does not crash anybody: the next one need not wait for the time between
//  two crashes. Or those beside whom a process has died twice would be served 5 s apart.

static void
s_cleared (argos_core_t *self)
{
    lane_t *lane = self->careful;
    self->careful_until = self->mono;
    if (!lane || self->alone)
        return;
    lane->park_until = 0;
    argos_lane_settle (lane);
}

//  A lane that is parked until then; those that wait for the turn of a suspect message stand in a
//  list, in order.

static void
s_park (lane_t *lane)
{
    argos_core_t *self = lane->service->core;
    if (!lane->careful || lane->list != &self->careful)
        argos_lane_unlink (lane);
    if (lane->careful && !lane->list) {
        lane->list = &self->careful;
        DL_APPEND (self->careful, lane);
    }
    lane->state = LANE_PARKED;
    argos_timer_set (&self->timers, &lane->timer, lane->park_until, s_parked, lane);
}

//  Asked when the lane would be leased, since many may have become ready while nobody served them.
//  Returns whether it waits (parked) for its turn.

bool
argos_lane_hold_back (lane_t *lane)
{
    argos_core_t *self = lane->service->core;
    if (!s_suspect (lane) || (!self->alone && self->careful_until <= self->mono))
        return false;
    lane->careful = true;
    lane->park_until = self->alone ? self->mono + CAREFUL_GAP_MS : self->careful_until;
    s_park (lane);
    return true;
}

//  Whether the lane is parked. When what had to wait for its turn is gone (it has expired, say),
//  who comes after it need not wait.

//  A lane that waits for the turn of a suspect message does so while that is its head.

static bool
s_waits (lane_t *lane)
{
    if (lane->careful && !s_suspect (lane)) {
        lane->careful = false;
        lane->park_until = 0;
    }
    return lane->park_until > lane->service->core->mono;
}

//  Into the ready list where it belongs; a lane that stands there keeps its place.

static void
s_line_up (lane_t *lane)
{
    lane_t **list = &lane->service->ready[lane->urgent ? 0 : 1];
    if (lane->list == list)
        return;
    argos_lane_unlink (lane);
    lane->list = list;
    DL_APPEND (*list, lane);
}

//  The one place where it is decided what a lane waits for.

void
argos_lane_settle (lane_t *lane)
{
    argos_core_t *self = lane->service->core;
    if (lane->state == LANE_LEASED) {
        argos_lane_show (lane);
        return;
    }
    if (lane->state == LANE_ASKED)
        return;
    if (!lane->entries) {
        argos_lane_unlink (lane);
        lane->state = LANE_EMPTY;
        lane->park_until = 0;
        argos_timer_clear (&self->timers, &lane->timer);
        if (lane->inserting == 0)
            s_free_lane (lane);
    }
    else if (s_waits (lane))
        s_park (lane);
    else {
        argos_timer_clear (&self->timers, &lane->timer);
        lane->park_until = 0;
        lane->careful = false;
        lane->state = LANE_READY;
        s_line_up (lane);
        argos_service_dispatch (lane->service);
    }
}

void
argos_lane_park (lane_t *lane, int64_t until_mono)
{
    lane->park_until = until_mono;
    lane->park_wall = 0;
    lane->careful = false;
}

//  ------------------------------------------------------------------------------------------------
//  Leases

static void
s_lease_over (void *arg)
{
    argos_lease_end (arg);
}

//  When the lease ends by itself: with the service's cap on holding, or, when the holder is not
//  here, after lease_ms. The cap counts from the lease, or from the return of its holder after a
//  restart.

static void
s_time_lease (lane_t *lane, bool here)
{
    argos_core_t *self = lane->service->core;
    int64_t until = here ? INT64_MAX : self->mono + self->config.lease_ms;
    if (lane->hold_until && lane->hold_until < until)
        until = lane->hold_until;
    if (until == INT64_MAX)
        argos_timer_clear (&self->timers, &lane->timer);
    else
        argos_timer_set (&self->timers, &lane->timer, until, s_lease_over, lane);
}

static void
s_cap (lane_t *lane)
{
    int64_t most = lane->service->hold_max_ms;
    if (most && !lane->hold_until)
        lane->hold_until = lane->service->core->mono + most;
}

//  The head is leased: to a session (its slot is taken), or to one that has not come back yet; then
//  the lease runs on for lease_ms.

void
argos_lane_leased (lane_t *lane, int64_t seq, int64_t lease, uint64_t session)
{
    argos_core_t *self = lane->service->core;
    argos_lane_unlink (lane);
    lane->state = LANE_LEASED;
    lane->head = seq;
    lane->lease = lease;
    lane->session = session;
    lane->shown = 0;
    lane->careful = false;
    lane->park_until = lane->park_wall = 0;
    lane->hold_until = 0;
    argos_lane_alone (lane);
    lane->service->leased++;
    HASH_ADD (hh_head, self->heads, head, sizeof lane->head, lane);
    if (session)
        s_cap (lane);
    s_time_lease (lane, session != 0);
}

//  The holder's session is over, the lease is not: whoever says hello under its name will settle
//  it, or the time does.

void
argos_lane_lost (lane_t *lane)
{
    s_time_lease (lane, false);
}

//  No side message counts as shown any more. A lane may be long, and has none most of the time.

static void
s_unshow_all (lane_t *lane)
{
    entry_t *entry;
    if (lane->shown)
        DL_FOREACH (lane->entries, entry)
            entry->shown = false;
    lane->shown = 0;
}

//  A session that is here again holds this lease.

void
argos_lane_adopt (lane_t *lane, uint64_t session)
{
    lane->session = session;
    s_cap (lane);
    s_time_lease (lane, true);
    s_unshow_all (lane);
}

//  The lease is over in the index. The slot is freed last, since that dispatches.

static uint64_t
s_unlease (lane_t *lane)
{
    argos_core_t *self = lane->service->core;
    uint64_t session = lane->session;
    HASH_DELETE (hh_head, self->heads, lane);
    argos_timer_clear (&self->timers, &lane->timer);
    argos_lane_not_alone (lane);
    lane->service->leased--;
    lane->state = LANE_EMPTY;
    lane->session = 0;
    lane->head = lane->lease = 0;
    s_unshow_all (lane);
    return session;
}

//  The head waits again, with so many strikes.

void
argos_lane_freed (lane_t *lane, int strikes)
{
    service_t *service = lane->service;
    entry_t *entry = argos_entry_find (lane->entries, lane->head);
    if (entry)
        entry->strikes = (uint8_t) (strikes > 255 ? 255 : strikes);
    uint64_t session = s_unlease (lane);
    argos_lane_settle (lane);
    if (session)
        argos_service_free_slot (service, session);
}

//  Rows of this lane are consumed: the head, or side messages that were taken; also one that, after
//  a restart with an earlier clock, is still to come.

void
argos_lane_consume (lane_t *lane, const int64_t *gone, size_t count)
{
    service_t *service = lane->service;
    uint64_t session = 0;
    bool alone = lane->alone, cleared = false;
    for (size_t i = 0; i < count; i++) {
        //  NOLINTBEGIN(clang-analyzer-unix.Malloc): what is freed is taken out of its list before
        entry_t *entry = argos_entry_find (lane->entries, gone[i]);
        if (!entry)
            entry = argos_entry_find (service->later, gone[i]);
        //  NOLINTEND(clang-analyzer-unix.Malloc)
        if (!entry)
            continue;
        if (lane->state == LANE_LEASED && lane->head == entry->seq) {
            session = s_unlease (lane);
            cleared = alone;
        }
        if (entry->shown && lane->shown > 0)
            lane->shown--;
        service->done++;
        argos_entry_end (entry);
    }
    argos_lane_settle (lane);
    if (session)
        argos_service_free_slot (service, session);
    if (cleared)
        s_cleared (service->core);
}

//  Whether one more side message may be shown to the holder. A silent one gets it when it speaks
//  again.

bool
argos_lane_may_show (const lane_t *lane)
{
    const session_t *session = argos_session_find (lane->service->core, lane->session);
    return lane->state == LANE_LEASED && session && session->open && !session->quiet &&
           lane->shown < SHOWN_MAX;
}

//  Show the waiting side messages to the holder, if it is here.

void
argos_lane_show (lane_t *lane)
{
    entry_t *entry;
    if (!lane->sides || !argos_lane_may_show (lane))
        return;
    DL_FOREACH (lane->entries, entry) {
        if (!entry->side || entry->shown || entry->seq == lane->head)
            continue;
        if (lane->shown >= SHOWN_MAX)
            return;
        entry->shown = true;
        lane->shown++;
        argos_lease_mail (lane, entry);
    }
}

//  A side message did not reach the holder: it is shown when the holder speaks again.

void
argos_lane_unshow (lane_t *lane, int64_t seq)
{
    entry_t *entry;
    DL_FOREACH (lane->entries, entry)
        if (entry->seq == seq && entry->shown) {
            entry->shown = false;
            lane->shown--;
        }
}
