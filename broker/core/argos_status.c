//  argos_status - answers broker.status: who is connected, what waits where. For people and tools,
//  not for speed.

#include "argos_core_priv.h"

static json_t *
s_sessions (argos_core_t *self)
{
    json_t *list = json_array (), *peers = json_object ();
    session_t *session, *next;
    HASH_ITER (hh_name, self->names, session, next) {
        json_t *row = json_pack ("{s:s,s:s,s:I,s:I,s:b}", "name", session->name, "role",
            argos_role_name (session->role), "leases", (json_int_t) 0, "idle_ms",
            (json_int_t) (self->mono - session->heard), "drained", session->drained);
        json_object_set (peers, session->name, row);
        json_array_append_new (list, row);
    }
    argos_stats_leases (self, peers);
    json_decref (peers);
    return list;
}

static json_t *
s_services (argos_core_t *self)
{
    json_t *list = json_array ();
    service_t *service, *next;
    HASH_ITER (hh, self->services, service, next) {
        const worker_t *worker;
        json_int_t workers = 0, slots = 0;
        DL_FOREACH (service->workers, worker) {
            workers++;
            slots += worker->slots;
        }
        json_array_append_new (
            list, json_pack ("{s:s,s:I,s:I,s:I,s:I,s:b}", "name", service->name, "waiting",
                      (json_int_t) (service->waiting - service->leased), "leased",
                      (json_int_t) service->leased, "workers", workers, "slots", slots, "paused",
                      service->paused));
    }
    return list;
}

json_t *
argos_status_answer (session_t *session, json_t *asked)
{
    argos_core_t *self = session->core;
    (void) asked;
    json_t *refused = json_object ();
    for (int code = 0; code < ARGOS_ERR_COUNT; code++)
        if (self->refused[code])
            json_object_set_new (refused, argos_err_name ((argos_err_t) code),
                json_integer ((json_int_t) self->refused[code]));
    json_t *cuts = json_pack ("{s:I,s:I,s:I}", "credit", (json_int_t) self->cuts[CUT_CREDIT],
        "slow", (json_int_t) self->cuts[CUT_SLOW], "noise", (json_int_t) self->cuts[CUT_NOISE]);
    return json_pack ("{s:s,s:I,s:I,s:o,s:o,s:I,s:I,s:o,s:o}", "store", self->store_id, "boot",
        (json_int_t) self->config.boot, "uptime_ms", (json_int_t) (self->mono - self->started),
        "sessions", s_sessions (self), "services", s_services (self), "topics",
        (json_int_t) HASH_COUNT (self->topics), "outstanding", (json_int_t) self->outstanding_count,
        "refused", refused, "disconnected", cuts);
}
