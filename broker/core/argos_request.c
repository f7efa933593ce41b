//  argos_request - requests that are not stored: one worker (or actor), one answer, or a refusal
//  with sent or unsent.
//
//  Invariant: a request is in the table until it is answered exactly once: by the reply of the
//  session that it was handed to, by its deadline, by the end of that session, or because nobody
//  has served its service for lease_ms. The end of the requester forgets it. Limits: 4,096 requests
//  and 64 MiB wait for one service.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WAITING_MAX 4096
#define WAITING_BYTES_MAX (64 << 20)
#define TTL_DEFAULT 30000 //  Msec

//  Only the used part of the key is hashed.

static unsigned
s_key_size (const char *id)
{
    return (unsigned) (sizeof (uint64_t) + strlen (id));
}

static request_t *
s_find (argos_core_t *self, uint64_t session, const char *id)
{
    request_t *request, look = { .key.session = session };
    memcpy (look.key.id, id, strlen (id));
    //  NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): only what is set is
    //  hashed
    //  What is hashed has been set, which the analyser can't follow
    //  NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    HASH_FIND (hh, self->requests, &look.key, s_key_size (id), request);
    return request;
}

static void
s_unlink (request_t *request)
{
    session_t *worker = argos_session_find (request->core, request->worker);
    if (worker)
        DL_DELETE (worker->held, request);
    else if (request->service && !request->worker) {
        DL_DELETE (request->service->requests, request);
        request->service->requests_count--;
        request->service->requests_bytes -= (int64_t) request->body->size;
    }
}

void
argos_request_free (request_t *request)
{
    argos_core_t *self = request->core;
    HASH_DEL (self->requests, request);
    argos_timer_clear (&self->timers, &request->timer);
    argos_frame_unref (&request->header);
    argos_frame_unref (&request->body);
    free (request);
}

//  The request is over: take it out of its list, free the worker's slot.

static void
s_finish (request_t *request)
{
    service_t *service = request->service;
    uint64_t worker = request->worker;
    s_unlink (request);
    argos_request_free (request);
    if (service && worker)
        argos_service_free_slot (service, worker);
}

static void
s_refuse (request_t *request, argos_err_t code, const char *reason)
{
    session_t *asker = argos_session_find (request->core, request->key.session);
    if (asker)
        argos_core_refuse (
            request->core, asker->conn, request->key.id, code, reason, -1, request->worker != 0);
    s_finish (request);
}

//  {"from":…,"hops":0} of a message that is handed on

static void
s_meta (argos_core_t *self, const session_t *sender)
{
    argos_writer_clear (&self->text);
    argos_writer_raw (&self->text, "{");
    argos_writer_member_string (&self->text, "from", sender->name);
    argos_writer_member_int (&self->text, "hops", 0);
    argos_writer_raw (&self->text, "}");
}

//  Nobody waits for the answer any more: tell the worker, so that it can stop.

static void
s_cancel (request_t *request)
{
    argos_core_t *self = request->core;
    session_t *asker = argos_session_find (self, request->key.session);
    session_t *worker = argos_session_find (self, request->worker);
    if (!asker || !worker)
        return;
    argos_writer_clear (&self->text);
    argos_writer_raw (&self->text, "{\"type\":\"cancel\"");
    argos_writer_member_string (&self->text, "re", request->key.id);
    argos_writer_raw (&self->text, "}");
    argos_frame_t *header = argos_frame_new (self->text.data, self->text.size);
    s_meta (self, asker);
    argos_core_put (self, worker->conn, header, self->text.data, self->text.size, NULL);
    argos_frame_unref (&header);
}

static void s_arm (request_t *request);

static void
s_expired (void *arg)
{
    request_t *request = arg;
    bool late = request->core->mono >= request->deadline;
    if (!late && (request->worker || request->service->workers))
        s_arm (request); //  Somebody has come meanwhile
    else if (!late)
        s_refuse (request, ARGOS_NO_PEER, "nobody serves that at present");
    else {
        s_cancel (request);
        s_refuse (request, ARGOS_EXPIRED, NULL);
    }
}

//  To its deadline; while there is nobody who could take it, no longer than a peer may be silent.

static void
s_arm (request_t *request)
{
    argos_core_t *self = request->core;
    int64_t due = request->deadline, patience = self->mono + self->config.lease_ms;
    if (request->service && !request->worker && !request->service->workers && patience < due)
        due = patience;
    argos_timer_set (&self->timers, &request->timer, due, s_expired, request);
}

//  Hand the request to a session. Returns 0, or -1 when its connection takes nothing.

static int
s_hand (request_t *request, session_t *worker, argos_frame_t *header, argos_frame_t *body)
{
    argos_core_t *self = request->core;
    session_t *asker = argos_session_find (self, request->key.session);
    assert (asker);
    s_meta (self, asker);
    if (argos_core_put (self, worker->conn, header, self->text.data, self->text.size, body) != 0)
        return -1;
    request->worker = worker->number;
    argos_stats_note (
        self, (argos_trace_note_t){
                  .event = ARGOS_TRACE_SENT, .id = request->key.id, .peer = worker->name });
    DL_APPEND (worker->held, request);
    return 0;
}

static request_t *
s_new (session_t *session, const argos_header_t *header, service_t *service)
{
    argos_core_t *self = session->core;
    request_t *request = calloc (1, sizeof *request);
    assert (request);
    request->core = self;
    request->service = service;
    request->key.session = session->number;
    memcpy (request->key.id, header->id, strlen (header->id));
    HASH_ADD (hh, self->requests, key, s_key_size (header->id), request);
    if (service)
        service->in++;
    argos_stats_note (self, (argos_trace_note_t){ .event = ARGOS_TRACE_ASKED,
                                .id = header->id,
                                .type = header->type,
                                .peer = session->name });
    request->deadline = self->mono + (header->ttl_ms ? header->ttl_ms : TTL_DEFAULT);
    s_arm (request);
    return request;
}

//  To a service: to a worker with a free slot, else it waits for one.

static void
s_to_service (session_t *session, const argos_header_t *header, argos_frame_t **frames)
{
    argos_core_t *self = session->core;
    service_t *service = argos_service_find (self, header->name);
    if (!service || (!service->workers && !service->stored)) {
        argos_core_refuse (self, session->conn, header->id, ARGOS_NO_SERVICE, NULL, -1, false);
        return;
    }
    if (service->requests_count >= WAITING_MAX ||
        service->requests_bytes + (int64_t) frames[3]->size > WAITING_BYTES_MAX) {
        service->refused++;
        argos_core_refuse (self, session->conn, header->id, ARGOS_BUSY, NULL, -1, false);
        return;
    }
    request_t *request = s_new (session, header, service);
    worker_t *worker = argos_service_pick (service, header->id, header->type);
    if (worker && s_hand (request, worker->session, frames[1], frames[3]) == 0)
        return;
    if (worker)
        worker->used--;
    request->header = argos_frame_ref (frames[1]);
    request->body = argos_frame_ref (frames[3]);
    DL_APPEND (service->requests, request);
    service->requests_count++;
    service->requests_bytes += (int64_t) request->body->size;
}

//  To an actor: to the session of that name, if it has granted credit.

static void
s_to_actor (session_t *session, const argos_header_t *header, argos_frame_t **frames)
{
    argos_core_t *self = session->core;
    session_t *target = argos_session_instance (self, header->name);
    argos_err_t code = ARGOS_OK;
    int64_t bytes = (int64_t) (frames[1]->size + frames[3]->size);
    if (!target || target->quiet)
        code = ARGOS_NO_PEER;
    else if ((target->drained && header->id[0]) ||
             target->sent_messages >= target->credit_messages ||
             target->sent_bytes + bytes > target->credit_bytes)
        code = ARGOS_BUSY;
    if (code == ARGOS_OK && header->id[0]) {
        request_t *request = s_new (session, header, NULL);
        if (s_hand (request, target, frames[1], frames[3]) != 0) {
            argos_request_free (request);
            code = ARGOS_NO_PEER;
        }
    }
    else if (code == ARGOS_OK) {
        s_meta (self, session);
        if (argos_core_put (
                self, target->conn, frames[1], self->text.data, self->text.size, frames[3]) != 0)
            code = ARGOS_NO_PEER;
    }
    if (code != ARGOS_OK)
        argos_core_refuse (self, session->conn, header->id, code, NULL, -1, false);
    else {
        target->sent_messages++;
        target->sent_bytes += bytes;
    }
}

void
argos_request_new (session_t *session, const argos_header_t *header, argos_frame_t **frames)
{
    argos_core_t *self = session->core;
    if (header->id[0] && s_find (self, session->number, header->id))
        argos_core_refuse (self, session->conn, header->id, ARGOS_CONFLICT,
            "a request with that id is under way", -1, false);
    else if (header->to == ARGOS_TO_ACTOR)
        s_to_actor (session, header, frames);
    else if (!header->id[0])
        argos_core_refuse (self, session->conn, "", ARGOS_INVALID,
            "a request to a service needs an id", -1, false);
    else
        s_to_service (session, header, frames);
}

//  A message with `re`: the answer of the worker (to the asker), or a word of the asker to the
//  worker (to the service).

void
argos_request_reply (session_t *session, const argos_header_t *header, argos_frame_t **frames)
{
    argos_core_t *self = session->core;
    bool word = header->to == ARGOS_TO_SERVICE;
    session_t *asker = word ? session : argos_session_named (self, header->name);
    request_t *request = asker ? s_find (self, asker->number, header->re) : NULL;
    session_t *other = NULL;
    if (request && word)
        other = argos_session_find (self, request->worker);
    else if (request && request->worker == session->number)
        other = asker;
    if (!other) {
        //  A word on a request that still waits takes it back
        if (request && word && !request->worker)
            s_refuse (request, ARGOS_GONE, "taken back before a worker had it");
        else if (header->id[0])
            argos_core_refuse (self, session->conn, header->id, ARGOS_EXPIRED,
                "there is no such request any more", -1, false);
        return;
    }
    s_meta (self, session);
    if (argos_core_put (
            self, other->conn, frames[1], self->text.data, self->text.size, frames[3]) != 0)
        argos_slow_begin (other, !word);
    if (word)
        return;
    if (request->service)
        request->service->done++;
    argos_stats_note (self, (argos_trace_note_t){ .event = ARGOS_TRACE_REPLIED,
                                .id = header->re,
                                .type = header->type,
                                .peer = session->name });
    s_finish (request);
}

//  Requests that wait for a worker, in order, as far as there are slots.

void
argos_request_dispatch (service_t *service)
{
    while (service->requests) {
        request_t *request = service->requests;
        argos_header_t header;
        argos_err_t read =
            argos_header_read (request->header->data, request->header->size, &header, NULL);
        assert (read == ARGOS_OK); //  It was read when it came
        worker_t *worker = argos_service_pick (service, header.id, header.type);
        if (!worker)
            return;
        s_unlink (request);
        if (s_hand (request, worker->session, request->header, request->body) == 0) {
            argos_frame_unref (&request->header);
            argos_frame_unref (&request->body);
            continue;
        }
        worker->used--;
        DL_PREPEND (service->requests, request);
        service->requests_count++;
        service->requests_bytes += (int64_t) request->body->size;
    }
}

//  The last worker has left: what waits has a while for another one.

void
argos_request_alone (service_t *service)
{
    request_t *request;
    DL_FOREACH (service->requests, request)
        s_arm (request);
}

//  A session ends: who asked it is told, what it asked is forgotten.

void
argos_request_leave (session_t *session)
{
    argos_core_t *self = session->core;
    request_t *request, *next;
    DL_FOREACH_SAFE (session->held, request, next)
        s_refuse (request, ARGOS_GONE, NULL);
    HASH_ITER (hh, self->requests, request, next)
        if (request->key.session == session->number) {
            s_cancel (request);
            s_finish (request);
        }
}
