//  argos_service - declared work queues, who works for them, and which lane goes to whom.
//
//  Invariant: a worker's `used` is the number of leases and requests that it holds or is reserved
//  for; it never gets more than `slots`. Ready lanes are served in rotation, urgent ones first; a
//  lane goes to its last worker when that has a free slot, else to the one with the least in hand
//  for its weight. Nothing goes to a drained peer, nothing is handed out of a paused service.
//  Limits: 4,096 services; they are forgotten by order only.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SERVICES_MAX 4096
#define TYPES_MAX 64      //  Types that a serve may list
#define SLOTS_MAX 1000000 //  Slots of one serve

service_t *
argos_service_find (argos_core_t *self, const char *name)
{
    service_t *service;
    HASH_FIND_STR (self->services, name, service);
    return service;
}

service_t *
argos_service_declare (argos_core_t *self, const char *name, bool stored)
{
    service_t *service = argos_service_find (self, name);
    if (!service) {
        service = calloc (1, sizeof *service);
        assert (service);
        service->core = self;
        memcpy (service->name, name, strlen (name) + 1);
        argos_limit_service (service);
        HASH_ADD_STR (self->services, name, service);
    }
    service->stored |= stored;
    return service;
}

worker_t *
argos_service_worker (service_t *service, session_t *session)
{
    worker_t *worker;
    LL_FOREACH2 (session->workers, worker, snext)
        if (worker->service == service)
            return worker;
    return NULL;
}

static bool
s_takes (const worker_t *worker, const char *type)
{
    if (!worker->types)
        return true;
    for (char **name = worker->types; *name; name++)
        if (strcmp (*name, type) == 0)
            return true;
    return false;
}

static bool
s_free (const worker_t *worker)
{
    const session_t *session = worker->session;
    return worker->used < worker->slots && session->open && !session->quiet && !session->drained;
}

//  Whether worker has less in hand for its weight than other: used / weight, compared without a
//  division.

bool
argos_service_lighter (const worker_t *worker, const worker_t *other)
{
    return worker->used * other->weight < other->used * worker->weight;
}

//  Where a lane's last worker is remembered. A collision costs a warm cache, nothing else.

static uint64_t *
s_affinity (service_t *service, const char *key)
{
    uint32_t hash = 2166136261U;
    for (const char *c = service->name; *c; c++)
        hash = (hash ^ (unsigned char) *c) * 16777619U;
    for (const char *c = key; *c; c++)
        hash = (hash ^ (unsigned char) *c) * 16777619U;
    return &service->core->affinity[hash % (sizeof service->core->affinity / sizeof (uint64_t))];
}

//  The lane's last worker if it can take this type now.

static worker_t *
s_last (service_t *service, uint64_t number, const char *type)
{
    session_t *session = number ? argos_session_find (service->core, number) : NULL;
    worker_t *worker = session ? argos_service_worker (service, session) : NULL;
    return worker && s_free (worker) && s_takes (worker, type) ? worker : NULL;
}

//  The one with the least in hand; among equals, who has waited longest.

static worker_t *
s_lightest (service_t *service, const char *type)
{
    worker_t *worker, *found = NULL;
    DL_FOREACH (service->workers, worker) {
        if (!s_free (worker) || !s_takes (worker, type) ||
            (found && !argos_service_lighter (worker, found)))
            continue;
        found = worker;
        if (worker->used == 0)
            break; //  Nobody has less
    }
    return found;
}

//  A worker with a free slot that takes this type, the lane's last one if it can; its slot is
//  taken. NULL when there is none.

worker_t *
argos_service_pick (service_t *service, const char *key, const char *type)
{
    uint64_t *last = s_affinity (service, key);
    if (service->paused)
        return NULL;
    worker_t *found = s_last (service, *last, type);
    if (!found)
        found = s_lightest (service, type);
    if (!found)
        return NULL;
    //  To the end of the list: among equals, the next lane goes to someone else
    DL_DELETE (service->workers, found);
    DL_APPEND (service->workers, found);
    *last = found->session->number;
    found->used++;
    return found;
}

//  The lane's last worker has failed it: the next one is chosen anew.

void
argos_service_forget (service_t *service, const char *key)
{
    *s_affinity (service, key) = 0;
}

static bool
s_any_free (const service_t *service)
{
    const worker_t *worker;
    if (service->paused)
        return false;
    DL_FOREACH (service->workers, worker)
        if (s_free (worker))
            return true;
    return false;
}

//  Ask the store for a lease on the head of each ready lane, as far as there are slots.

static void
s_dispatch_lanes (service_t *service)
{
    while (service->ready[0] || service->ready[1]) {
        if (!s_any_free (service))
            return;
        lane_t *lane = service->ready[0] ? service->ready[0] : service->ready[1];
        if (argos_lane_hold_back (lane))
            continue;
        worker_t *worker = argos_service_pick (service, lane->key, lane->entries->type);
        argos_lane_unlink (lane);
        if (worker)
            argos_lease_ask (lane, worker);
        else {
            DL_APPEND (service->unmatched, lane);
            lane->list = &service->unmatched;
        }
    }
}

void
argos_service_dispatch (service_t *service)
{
    if (service->dispatching)
        return;
    service->dispatching = true;
    s_dispatch_lanes (service);
    argos_request_dispatch (service);
    service->dispatching = false;
}

//  Lanes that nobody took may be taken now.

static void
s_rematch (service_t *service)
{
    lane_t *lane;
    while ((lane = service->unmatched)) {
        argos_lane_unlink (lane);
        lane->list = &service->ready[lane->urgent ? 0 : 1];
        DL_APPEND (*lane->list, lane);
    }
}

//  One slot is free: one lane that had found nobody free for its type may be taken.

static void
s_rematch_one (service_t *service, const worker_t *worker)
{
    lane_t *lane;
    DL_FOREACH (service->unmatched, lane)
        if (s_takes (worker, lane->entries->type)) {
            argos_lane_unlink (lane);
            lane->list = &service->ready[lane->urgent ? 0 : 1];
            DL_APPEND (*lane->list, lane);
            return;
        }
}

//  A slot of a session is free again (the session may be gone).

void
argos_service_free_slot (service_t *service, uint64_t number)
{
    session_t *session = argos_session_find (service->core, number);
    worker_t *worker = session ? argos_service_worker (service, session) : NULL;
    if (worker) {
        assert (worker->used > 0);
        worker->used--;
        s_rematch_one (service, worker);
    }
    argos_service_dispatch (service);
}

//  A session speaks again after a silence: what waited for its slots may go on.

void
argos_service_woken (session_t *session)
{
    worker_t *worker, *next;
    LL_FOREACH_SAFE2 (session->workers, worker, next, snext) {
        s_rematch (worker->service);
        argos_service_dispatch (worker->service);
    }
}

//  ------------------------------------------------------------------------------------------------
//  serve

static void
s_free_types (worker_t *worker)
{
    for (char **name = worker->types; name && *name; name++)
        free (*name);
    free (worker->types);
    worker->types = NULL;
}

//  Copies the list of types; NULL list = all. Returns false when it is not of the form.

static bool
s_set_types (worker_t *worker, json_t *types)
{
    size_t count = json_array_size (types), i;
    json_t *type;
    if (types && (!json_is_array (types) || count < 1 || count > TYPES_MAX))
        return false;
    json_array_foreach (types, i, type)
        if (!json_is_string (type) || json_string_length (type) > ARGOS_TYPE_MAX)
            return false;
    s_free_types (worker);
    if (!types)
        return true;
    worker->types = calloc (count + 1, sizeof worker->types[0]);
    assert (worker->types);
    json_array_foreach (types, i, type) {
        worker->types[i] = strdup (json_string_value (type));
        assert (worker->types[i]);
    }
    return true;
}

static worker_t *
s_hire (service_t *service, session_t *session)
{
    worker_t *worker = argos_service_worker (service, session);
    if (worker)
        return worker;
    worker = calloc (1, sizeof *worker);
    assert (worker);
    worker->session = session;
    worker->service = service;
    worker->weight = 1;
    DL_APPEND (service->workers, worker);
    LL_PREPEND2 (session->workers, worker, snext);
    //  Leases kept across a reconnect count in the new session's slots
    lane_t *lane, *next;
    HASH_ITER (hh_head, service->core->heads, lane, next)
        if (lane->session == session->number && lane->service == service)
            worker->used++;
    return worker;
}

//  Reads a serve and acts on it. Returns NULL, or what is wrong; *ret_code then says which kind.

static const char *
s_serve (session_t *session, json_t *body, argos_err_t *ret_code, service_t **ret_service)
{
    const char *name = json_string_value (json_object_get (body, "service"));
    json_t *slots = json_object_get (body, "slots");
    *ret_code = ARGOS_INVALID;
    if (!name || !argos_name_valid (name))
        return "serve needs the name of a service";
    if (!json_is_integer (slots) || json_integer_value (slots) < 0 ||
        json_integer_value (slots) > SLOTS_MAX)
        return "serve needs slots, 0 to 1000000";
    *ret_code = ARGOS_DENIED;
    if (!argos_session_may_serve (session, name))
        return "this role may not serve that service";
    *ret_code = ARGOS_BUSY;
    if (!argos_service_find (session->core, name) &&
        HASH_COUNT (session->core->services) >= SERVICES_MAX)
        return "too many services";
    service_t *service = argos_service_declare (session->core, name, false);
    worker_t *worker = s_hire (service, session);
    *ret_code = ARGOS_INVALID;
    if (!s_set_types (worker, json_object_get (body, "types")))
        return "types is a list of 1 to 64 message types";
    worker->slots = json_integer_value (slots);
    json_t *weight = json_object_get (body, "weight");
    worker->weight = weight ? json_integer_value (weight) : 1; //  1 to 100, by its schema
    json_t *capabilities = json_object_get (body, "capabilities");
    if (capabilities) { //  Known members only, by its schema: some hundred bytes
        json_decref (session->capabilities);
        session->capabilities = json_incref (capabilities);
    }
    *ret_code = ARGOS_OK;
    *ret_service = service;
    return NULL;
}

//  Ask the store for a change of a service; order: an operator waits for the answer.

static void
s_change (session_t *session, service_t *service, const char *id, argos_service_change_t change,
    bool order)
{
    item_t *item = argos_intake_item (session->core, ARGOS_ST_SERVICE, 0);
    memcpy (item->id, id, strlen (id) + 1);
    memcpy (item->req->name, service->name, sizeof service->name);
    item->req->change = change;
    item->n = change;
    item->order = order;
    item->service = service;
    service->busy++;
    argos_intake_queue (session, item);
}

//  A service seen for the first time is put on record before the serve is accepted, so that it is
//  known after a restart.

void
argos_service_serve (session_t *session, const argos_header_t *header, argos_frame_t *frame)
{
    argos_core_t *self = session->core;
    service_t *service = NULL;
    argos_err_t code = ARGOS_INVALID;
    json_t *body = argos_core_body (self, session->conn, header, frame);
    if (!body)
        return;
    const char *wrong = s_serve (session, body, &code, &service);
    if (wrong)
        argos_core_refuse (self, session->conn, header->id, code, wrong, -1, false);
    else if (service->stored)
        argos_core_word (self, session->conn, "accepted", header->id, "{}");
    else
        s_change (session, service, header->id, ARGOS_SERVICE_DECLARE, false);
    json_decref (body);
    if (service) {
        s_rematch (service);
        argos_service_dispatch (service);
    }
}

void
argos_service_leave (session_t *session)
{
    worker_t *worker, *next;
    LL_FOREACH_SAFE2 (session->workers, worker, next, snext) {
        DL_DELETE (worker->service->workers, worker);
        if (!worker->service->workers)
            argos_request_alone (worker->service);
        s_free_types (worker);
        free (worker);
    }
    session->workers = NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Orders

//  The service that an order names; NULL when it has been refused.

static service_t *
s_ordered (session_t *session, const argos_header_t *header, const json_t *body)
{
    const char *name = json_string_value (json_object_get (body, "service"));
    service_t *service = argos_service_find (session->core, name);
    if (!service)
        argos_core_refuse (
            session->core, session->conn, header->id, ARGOS_NO_SERVICE, NULL, -1, false);
    return service;
}

void
argos_service_pause (session_t *session, const argos_header_t *header, const json_t *body)
{
    service_t *service = s_ordered (session, header, body);
    bool on = json_is_true (json_object_get (body, "on"));
    if (service)
        s_change (
            session, service, header->id, on ? ARGOS_SERVICE_PAUSE : ARGOS_SERVICE_RESUME, true);
}

static bool
s_in_use (const service_t *service)
{
    return service->busy || service->workers || service->lanes || service->later ||
           service->requests;
}

void
argos_service_drop (session_t *session, const argos_header_t *header, const json_t *body)
{
    service_t *service = s_ordered (session, header, body);
    if (service && s_in_use (service))
        argos_core_refuse (session->core, session->conn, header->id, ARGOS_BUSY,
            "the service has messages, requests or workers", -1, false);
    else if (service)
        s_change (session, service, header->id, ARGOS_SERVICE_DROP, true);
}

//  The declaration is gone. Who has come meanwhile has it back.

static void
s_dropped (service_t *service)
{
    argos_core_t *self = service->core;
    service->stored = service->paused = false;
    if (!s_in_use (service)) {
        HASH_DEL (self->services, service);
        free (service);
    }
    else if (service->workers)
        s_change (self->self, service, "", ARGOS_SERVICE_DECLARE, false);
}

static void
s_apply (service_t *service, argos_service_change_t change)
{
    switch (change) {
    case ARGOS_SERVICE_DECLARE:
        service->stored = true;
        break;
    case ARGOS_SERVICE_PAUSE:
        service->paused = true;
        break;
    case ARGOS_SERVICE_RESUME:
        service->paused = false;
        s_rematch (service);
        argos_service_dispatch (service);
        break;
    case ARGOS_SERVICE_DROP:
        s_dropped (service);
        break;
    }
}

void
argos_service_changed (argos_core_t *self, item_t *item, const argos_storage_ans_t *ans)
{
    session_t *session = argos_session_find (self, item->session);
    item->service->busy--;
    if (session && session->open && ans->code != ARGOS_OK)
        argos_core_refuse (self, session->conn, item->id, ans->code, ans->reason, -1, false);
    else if (session && session->open && item->order)
        argos_admin_done (session, item->id);
    else if (session && session->open)
        argos_core_word (self, session->conn, "accepted", item->id, "{}");
    if (ans->code == ARGOS_OK)
        s_apply (item->service, (argos_service_change_t) item->n);
}
