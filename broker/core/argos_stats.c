//  argos_stats - answers broker.stats and broker.trace: what each peer and service does, and the
//  path of one message.
//
//  Invariant: the numbers are counted where things happen, O(1) each; an answer reads them and asks
//  nobody. Limits: ROWS_DEFAULT peers and services in an answer, ROWS_MAX when asked for.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_DEFAULT 500 //  Peers and services of an answer
#define AGE_MS 100       //  Unit of the ages

static json_int_t
s_rows (const json_t *asked)
{
    const json_t *limit = json_object_get (asked, "limit");
    return limit ? json_integer_value (limit) : ROWS_DEFAULT;
}

void
argos_stats_note (argos_core_t *self, argos_trace_note_t note)
{
    note.at = self->wall;
    argos_trace_add (self->trace, &note);
}

//  A wall clock time (0 = now) in units of AGE_MS of our own clock since the start; what was stored
//  before a jump of the wall clock is never younger than now.

int32_t
argos_stats_tick (const argos_core_t *self, int64_t wall)
{
    int64_t age = wall && wall < self->wall ? self->wall - wall : 0;
    int64_t tick = (self->mono - self->started - age) / AGE_MS;
    return tick < INT32_MIN ? INT32_MIN : tick > INT32_MAX ? INT32_MAX : (int32_t) tick;
}

//  ------------------------------------------------------------------------------------------------
//  broker.stats

static void
s_add (json_t *object, const char *name, int64_t value)
{
    json_object_set_new (object, name, json_integer ((json_int_t) value));
}

static void
s_add_traffic (json_t *object, const traffic_t *traffic)
{
    s_add (object, "in_messages", traffic->in_messages);
    s_add (object, "in_bytes", traffic->in_bytes);
    s_add (object, "out_messages", traffic->out_messages);
    s_add (object, "out_bytes", traffic->out_bytes);
}

static json_t *
s_peer (const session_t *session)
{
    static const char *const vias[] = { "inproc", "ipc", "tcp" };
    const argos_core_t *self = session->core;
    json_t *peer = json_pack ("{s:s,s:s,s:s,s:I}", "name", session->name, "role",
        argos_role_name (session->role), "via", vias[session->via], "leases", (json_int_t) 0);
    s_add (peer, "credit", session->credit_messages - session->sent_messages);
    s_add (peer, "window_used", session->got_messages - session->settled_messages);
    s_add_traffic (peer, &session->traffic);
    s_add (peer, "idle_ms", self->mono - session->heard);
    if (*session->build)
        json_object_set_new (peer, "build", json_string (session->build));
    if (session->capabilities)
        json_object_set (peer, "capabilities", session->capabilities);
    json_object_set_new (peer, "muted", json_boolean (session->quiet));
    json_object_set_new (peer, "drained", json_boolean (session->drained));
    return peer;
}

void
argos_stats_leases (argos_core_t *self, json_t *peers)
{
    lane_t *lane, *next;
    HASH_ITER (hh_head, self->heads, lane, next) {
        const session_t *session = argos_session_find (self, lane->session);
        json_t *peer = session ? json_object_get (peers, session->name) : NULL;
        json_t *count = json_object_get (peer, "leases");
        json_integer_set (count, json_integer_value (count) + 1);
    }
}

static json_t *
s_peers (argos_core_t *self, json_int_t rows)
{
    json_t *list = json_array (), *peers = json_object ();
    session_t *session, *next;
    HASH_ITER (hh_name, self->names, session, next) {
        if (rows-- <= 0)
            break;
        json_array_append_new (list, s_peer (session));
        json_object_set (peers, session->name, json_array_get (list, json_array_size (list) - 1));
    }
    argos_stats_leases (self, peers);
    json_decref (peers);
    return list;
}

static json_t *
s_service (argos_core_t *self, const service_t *service)
{
    const worker_t *worker;
    int64_t workers = 0, slots = 0;
    int32_t oldest = 0;
    DL_FOREACH (service->workers, worker) {
        workers++;
        slots += worker->slots;
    }
    bool any = argos_age_oldest (&service->ages, &oldest);
    json_t *row = json_pack ("{s:s}", "name", service->name);
    s_add (row, "waiting", service->waiting - service->leased);
    s_add (row, "leased", service->leased);
    s_add (row, "requests", service->requests_count);
    s_add (row, "workers", workers);
    s_add (row, "slots", slots);
    s_add (row, "oldest_ms",
        any ? ((int64_t) argos_stats_tick (self, 0) - (int64_t) oldest) * AGE_MS : 0);
    s_add (row, "in", service->in);
    s_add (row, "done", service->done);
    s_add (row, "refused", service->refused);
    json_object_set_new (row, "paused", json_boolean (service->paused));
    return row;
}

static json_t *
s_services (argos_core_t *self, json_int_t rows)
{
    json_t *list = json_array ();
    service_t *service, *next;
    HASH_ITER (hh, self->services, service, next) {
        if (rows-- <= 0)
            break;
        json_array_append_new (list, s_service (self, service));
    }
    return list;
}

static json_t *
s_totals (argos_core_t *self)
{
    json_t *totals = json_object ();
    s_add_traffic (totals, &self->traffic);
    s_add (totals, "peers", HASH_CNT (hh_name, self->names));
    s_add (totals, "services", HASH_COUNT (self->services));
    s_add (totals, "leases", HASH_CNT (hh_head, self->heads));
    s_add (totals, "requests", HASH_COUNT (self->requests));
    s_add (totals, "topics", HASH_COUNT (self->topics));
    s_add (totals, "ring_bytes", self->rings_bytes);
    s_add (totals, "outstanding", (int64_t) self->outstanding_count);
    s_add (totals, "stored", self->stored);
    return totals;
}

json_t *
argos_stats_answer (session_t *session, json_t *asked)
{
    argos_core_t *self = session->core;
    json_t *refused = json_object ();
    for (int code = 0; code < ARGOS_ERR_COUNT; code++)
        if (self->refused[code])
            s_add (refused, argos_err_name ((argos_err_t) code), self->refused[code]);
    return json_pack ("{s:s,s:I,s:I,s:I,s:o,s:o,s:o,s:o}", "store", self->store_id, "boot",
        (json_int_t) self->config.boot, "at", (json_int_t) self->wall, "uptime_ms",
        (json_int_t) (self->mono - self->started), "totals", s_totals (self), "peers",
        s_peers (self, s_rows (asked)), "services", s_services (self, s_rows (asked)), "refused",
        refused);
}

//  ------------------------------------------------------------------------------------------------
//  broker.trace

//  A text that may fill its field: then it has been cut, or is just as long.

static void
s_add_text (json_t *object, const char *name, const char text[ARGOS_TRACE_TEXT])
{
    size_t size = strnlen (text, ARGOS_TRACE_TEXT);
    if (size)
        json_object_set_new (object, name, json_stringn (text, size));
}

static json_t *
s_record (const argos_trace_record_t *record)
{
    json_t *row = json_pack ("{s:I,s:s,s:I}", "at", (json_int_t) record->at, "event",
        argos_trace_word ((argos_trace_event_t) record->event), "depth",
        (json_int_t) record->depth);
    s_add_text (row, "id", record->id);
    s_add_text (row, "type", record->type);
    s_add_text (row, "peer", record->peer);
    if (record->seq)
        s_add (row, "seq", record->seq);
    if (record->lease)
        s_add (row, "lease", record->lease);
    if (record->code)
        json_object_set_new (
            row, "code", json_string (argos_err_name ((argos_err_t) record->code)));
    return row;
}

json_t *
argos_stats_trace (session_t *session, json_t *asked)
{
    argos_trace_record_t *records = calloc (ARGOS_TRACE_PATH_MAX, sizeof *records);
    assert (records);
    bool more = false;
    json_t *list = json_array ();
    size_t count = argos_trace_path (
        session->core->trace, json_string_value (json_object_get (asked, "id")), records, &more);
    for (size_t i = 0; i < count; i++)
        json_array_append_new (list, s_record (&records[i]));
    free (records);
    return json_pack ("{s:o,s:b}", "records", list, "more", more);
}
