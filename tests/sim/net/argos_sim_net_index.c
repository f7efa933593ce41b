//  argos_sim_net_index - does the core know what the rows say?
//
//  Invariant checked: when nothing is on its way, the entries of the index are the rows of the
//  queue, a lane is leased exactly when a row of it is, and a worker's slots in use are the leases
//  and requests of its session.

#include "argos_sim_net.h"

#include "argos_core_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNDER_WAY 16        //  Entries that wait for their commit, at most, in a simulation
#define ENTRY_BYTES 2048    //  Of an entry there, at most
#define OUTSTANDING_MAX 128 //  Of docs/architecture.md

static char s_text[256]; //  What argos_sim_net_difference says

typedef struct {
    argos_core_t *core; //  The index
    int64_t rows;       //  Seen
    int64_t leased;     //  Rows with a lease
} look_t;

static void
s_differ (const char *what, const char *seq)
{
    if (!*s_text)
        snprintf (s_text, sizeof s_text, "%s (row %s)", what, seq);
}

static const entry_t *
s_entry (const service_t *service, const char *key, int64_t seq)
{
    const entry_t *entry;
    const lane_t *lane = argos_lane_find (service, key);
    if (lane)
        DL_FOREACH (lane->entries, entry)
            if (entry->seq == seq)
                return entry;
    DL_FOREACH (service->later, entry)
        if (entry->seq == seq)
            return entry;
    return NULL;
}

//  seq, service, key, lease, strikes

static void
s_row (void *arg, int columns, char **values)
{
    look_t *look = arg;
    (void) columns;
    int64_t seq = strtoll (values[0], NULL, 10);
    int64_t lease = values[3] ? strtoll (values[3], NULL, 10) : 0;
    const service_t *service = argos_service_find (look->core, values[1]);
    const entry_t *entry = service ? s_entry (service, values[2], seq) : NULL;
    look->rows++;
    look->leased += lease != 0;
    if (!entry) {
        s_differ ("a row is not in the index", values[0]);
        return;
    }
    if (entry->strikes != strtoll (values[4], NULL, 10))
        s_differ ("the index knows other strikes", values[0]);
    const lane_t *lane = argos_lane_of_head (look->core, seq);
    if (lease && (!lane || lane->lease != lease))
        s_differ ("the index does not know a lease", values[0]);
    if (!lease && lane)
        s_differ ("the index has a lease that the row has not", values[0]);
}

static int64_t
s_used (argos_core_t *core, const worker_t *worker)
{
    int64_t used = 0;
    lane_t *lane, *next;
    const request_t *request;
    HASH_ITER (hh_head, core->heads, lane, next) {
        used += lane->session == worker->session->number && lane->service == worker->service;
    }
    DL_FOREACH (worker->session->held, request)
        used += request->service == worker->service;
    return used;
}

static void
s_services (argos_core_t *core, int64_t *ret_waiting)
{
    service_t *service, *next;
    HASH_ITER (hh, core->services, service, next) {
        const worker_t *worker;
        *ret_waiting += service->waiting;
        DL_FOREACH (service->workers, worker)
            if (worker->used != s_used (core, worker))
                s_differ ("a worker's slots in use are not its leases", service->name);
    }
}

const char *
argos_sim_net_difference (argos_sim_net_t *self)
{
    look_t look = { self->core, 0, 0 };
    int64_t waiting = 0;
    *s_text = 0;
    argos_sim_net_query (
        self, "SELECT seq, service, key, lease, strikes FROM queue ORDER BY seq", s_row, &look);
    s_services (self->core, &waiting);
    if (waiting != look.rows)
        s_differ ("the index has more rows than there are", "any");
    if ((int64_t) HASH_CNT (hh_head, self->core->heads) != look.leased)
        s_differ ("the index has more leases than there are", "any");
    return *s_text ? s_text : NULL;
}

const char *
argos_sim_net_excess (const argos_sim_net_t *self)
{
    const argos_core_t *core = self->core;
    const session_t *session;
    const topic_t *topic;
    if (core->outstanding_count > OUTSTANDING_MAX)
        return "more requests are with the store than may be";
    //  The newest entry of each topic stays, and what waits for its commit
    if (core->rings_bytes >
        self->config.ring_bytes + ((int64_t) HASH_COUNT (core->topics) + UNDER_WAY) * ENTRY_BYTES)
        return "the rings of all topics are larger than their budget";
    for (session = core->numbers; session; session = session->hh_number.next)
        if (session->got_messages - session->settled_messages > self->config.window_messages)
            return "a session has more under way than its window";
    for (session = core->numbers; session; session = session->hh_number.next)
        if (session->settled_messages > session->got_messages)
            return "a session has more settled than it has sent";
    for (topic = core->topics; topic; topic = topic->hh.next)
        if (topic->entries > self->config.ring_entries + OUTSTANDING_MAX)
            return "a ring has more entries than it may";
    return NULL;
}

bool
argos_sim_net_quiet (const argos_sim_net_t *self)
{
    const session_t *session;
    if (argos_core_outstanding (self->core) > 0)
        return false;
    for (session = self->core->numbers; session; session = session->hh_number.next)
        if (session->items)
            return false;
    return true;
}
