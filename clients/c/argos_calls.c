//  argos_calls - libargos: what is sent, the calls that wait, and work in hand.
//
//  Invariant: each send that took an fn is answered exactly once, by the peer; a call that waits
//  leaves its answer, when that comes too late, to free itself. Limits: those of the peer.

#include "argos_peer_priv.h"
#include "argos_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  Who is told the answer to a send

typedef struct {
    argos_result_fn *fn; //  This function
    void *arg;           //  with this
} ask_t;

//  A call that waits

typedef struct {
    argos_t *argos;   //  Ours
    bool there;       //  The answer has come
    bool abandoned;   //  Nobody waits any more: the answer frees this
    argos_err_t code; //  Of the answer
    int64_t seq;      //  .
    char *body;       //  Of a reply
} wait_t;

//  ------------------------------------------------------------------------------------------------
//  Between the two kinds of bodies

static json_t *
s_parse (const char *text, bool *bad)
{
    json_t *body = text && *text ? json_loads (text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (text && *text && !json_is_object (body)) {
        json_decref (body);
        body = NULL;
        *bad = true;
    }
    return body;
}

static argos_peer_part_t
s_part (const argos_part_t *part, bool *bad)
{
    return (argos_peer_part_t){ .type = part->type,
        .to = part->to,
        .id = part->id,
        .key = part->key,
        .re = part->re,
        .durable = part->durable,
        .side = part->side,
        .urgent = part->urgent,
        .keyframe = part->keyframe,
        .last = part->last,
        .ttl_ms = part->ttl_ms,
        .not_before = part->not_before,
        .body = s_parse (part->body, bad) };
}

//  All parts, or ARGOS_INVALID and nothing.

static argos_err_t
s_parts (const argos_part_t *parts, size_t count, argos_peer_part_t *ret_parts)
{
    bool bad = count > ARGOS_PARTS_MAX;
    for (size_t i = 0; i < count && !bad; i++) {
        ret_parts[i] = s_part (&parts[i], &bad);
        for (size_t k = 0; bad && k < i; k++)
            json_decref (ret_parts[k].body);
    }
    return bad ? count > ARGOS_PARTS_MAX ? ARGOS_TOO_BIG : ARGOS_INVALID : ARGOS_OK;
}

//  ------------------------------------------------------------------------------------------------
//  Calls that don't wait

static void
s_on_answer (void *arg, const argos_peer_answer_t *answer)
{
    ask_t *ask = (ask_t *) arg;
    char *body = answer->body ? json_dumps (answer->body, JSON_COMPACT) : NULL;
    argos_result_t result = { .code = answer->code,
        .reason = answer->reason ? answer->reason : "",
        .part = answer->part,
        .sent = answer->sent,
        .seq = answer->seq,
        .type = answer->type ? answer->type : "",
        .body = body ? body : "" };
    ask->fn (ask->arg, &result);
    free (body);
    free (ask);
}

static ask_t *
s_ask_new (argos_result_fn *fn, void *arg)
{
    ask_t *ask = fn ? malloc (sizeof *ask) : NULL;
    if (fn && !ask)
        abort ();
    if (ask)
        *ask = (ask_t){ .fn = fn, .arg = arg };
    return ask;
}

//  What was not taken is never answered

static argos_err_t
s_sent (argos_t *self, argos_err_t code, ask_t *ask)
{
    if (code != ARGOS_OK)
        free (ask);
    argos_touch (self);
    return code;
}

argos_err_t
argos_send (argos_t *self, const argos_part_t *part, argos_result_fn *fn, void *arg)
{
    bool bad = false;
    argos_peer_part_t inner = s_part (part, &bad);
    if (bad)
        return ARGOS_INVALID;
    ask_t *ask = s_ask_new (fn, arg);
    return s_sent (self, argos_peer_send (self->peer, &inner, fn ? s_on_answer : NULL, ask), ask);
}

argos_err_t
argos_commit (argos_t *self, const char *id, const argos_part_t *parts, size_t count,
    argos_result_fn *fn, void *arg)
{
    argos_peer_part_t inner[ARGOS_PARTS_MAX];
    argos_err_t code = s_parts (parts, count, inner);
    if (code != ARGOS_OK)
        return code;
    ask_t *ask = s_ask_new (fn, arg);
    return s_sent (
        self, argos_peer_commit (self->peer, id, inner, count, fn ? s_on_answer : NULL, ask), ask);
}

argos_err_t
argos_publish (argos_t *self, const argos_work_t *work, const argos_part_t *part)
{
    bool bad = false;
    argos_peer_part_t inner = s_part (part, &bad);
    return bad ? ARGOS_INVALID : s_sent (self, argos_peer_publish (self->peer, work, &inner), NULL);
}

argos_err_t
argos_reply_to (argos_t *self, const char *from, const char *id, const char *type, const char *body)
{
    bool bad = false;
    json_t *inner = s_parse (body, &bad);
    return bad ? ARGOS_INVALID
               : s_sent (self, argos_peer_reply_to (self->peer, from, id, type, inner), NULL);
}

argos_err_t
argos_reply (argos_t *self, const argos_msg_t *request, const char *type, const char *body)
{
    return argos_reply_to (self, request->from, request->id, type, body);
}

void
argos_serve (argos_t *self, const char *service, int slots, const char *const *types)
{
    argos_peer_serve (self->peer, service, slots, types);
    argos_touch (self);
}

void
argos_subscribe (argos_t *self, const char *topic, int64_t from)
{
    argos_peer_subscribe (self->peer, topic, from);
    argos_touch (self);
}

void
argos_unsubscribe (argos_t *self, const char *topic)
{
    argos_peer_unsubscribe (self->peer, topic);
    argos_touch (self);
}

//  ------------------------------------------------------------------------------------------------
//  Calls that wait

static int64_t
s_deadline (int64_t timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : argos_peer_now () + timeout_ms;
}

//  One turn of a call that waits. ARGOS_OK, or why it has to end.

static argos_err_t
s_wait (argos_t *self, int64_t deadline)
{
    int64_t left_ms = deadline == INT64_MAX ? -1 : deadline - argos_peer_now ();
    if (left_ms <= 0 && deadline != INT64_MAX) {
        snprintf (self->reason, sizeof self->reason, "no answer came in time");
        return ARGOS_EXPIRED;
    }
    return argos_turn (self, left_ms);
}

argos_err_t
argos_connect (argos_t *self, int64_t timeout_ms)
{
    int64_t deadline = s_deadline (timeout_ms);
    argos_err_t code = self->inside ? ARGOS_BUSY : self->final;
    while (code == ARGOS_OK && !argos_ready (self))
        code = s_wait (self, deadline);
    if (code == ARGOS_EXPIRED)
        snprintf (self->reason, sizeof self->reason,
            "no welcome came: is the broker there, and does it know this key?");
    return code;
}

static void
s_on_waited (void *arg, const argos_result_t *result)
{
    wait_t *wait = (wait_t *) arg;
    if (wait->abandoned) {
        free (wait);
        return;
    }
    wait->there = true;
    wait->code = result->code;
    wait->seq = result->seq;
    wait->body = *result->body ? strdup (result->body) : NULL;
    snprintf (wait->argos->reason, sizeof wait->argos->reason, "%s", result->reason);
}

//  Sends and waits. An answer that comes after the deadline goes nowhere.

static argos_err_t
s_exchange (
    argos_t *self, const argos_part_t *part, int64_t timeout_ms, int64_t *ret_seq, char **ret_body)
{
    int64_t deadline = s_deadline (timeout_ms);
    wait_t *wait = self->inside ? NULL : calloc (1, sizeof *wait);
    if (!wait)
        return ARGOS_BUSY;
    wait->argos = self;
    argos_err_t code = argos_send (self, part, s_on_waited, wait);
    if (code != ARGOS_OK) {
        snprintf (self->reason, sizeof self->reason, "%s", argos_err_text (code));
        free (wait);
        return code;
    }
    while (code == ARGOS_OK && !wait->there)
        code = s_wait (self, deadline);
    if (!wait->there) {
        wait->abandoned = true;
        return code;
    }
    code = wait->code;
    if (ret_seq)
        *ret_seq = wait->seq;
    if (ret_body && code == ARGOS_OK)
        *ret_body = wait->body;
    else
        free (wait->body);
    free (wait);
    return code;
}

argos_err_t
argos_request (argos_t *self, const char *to, const char *type, const char *body,
    int64_t timeout_ms, char **ret_body)
{
    argos_part_t part = {
        .type = type, .to = to, .body = body, .ttl_ms = timeout_ms > 0 ? timeout_ms : 0
    };
    if (ret_body)
        *ret_body = NULL;
    return s_exchange (self, &part, -1, NULL, ret_body); //  The peer keeps the deadline
}

argos_err_t
argos_put (argos_t *self, const argos_part_t *part, int64_t timeout_ms, int64_t *ret_seq)
{
    argos_part_t durable = *part;
    durable.durable = true;
    return s_exchange (self, &durable, timeout_ms, ret_seq, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  Work in hand

int64_t
argos_work_seq (const argos_work_t *self)
{
    return argos_lease_seq (self);
}

int64_t
argos_work_attempt (const argos_work_t *self)
{
    return argos_lease_attempt (self);
}

const char *
argos_work_key (const argos_work_t *self)
{
    return argos_lease_key (self);
}

void *
argos_work_data (const argos_work_t *self)
{
    return argos_lease_data (self);
}

void
argos_work_set_data (argos_work_t *self, void *data)
{
    argos_lease_set_data (self, data);
}

static argos_t *
s_owner (const argos_work_t *work)
{
    return (argos_t *) work->peer->handlers.ctx;
}

argos_err_t
argos_work_commit (argos_work_t *self, const argos_part_t *parts, size_t count, const int64_t *take,
    size_t take_count, argos_result_fn *fn, void *arg)
{
    argos_peer_part_t inner[ARGOS_PARTS_MAX];
    argos_err_t code = s_parts (parts, count, inner);
    if (code != ARGOS_OK)
        return code;
    argos_t *owner = s_owner (self);
    ask_t *ask = s_ask_new (fn, arg);
    code = argos_lease_commit (self, inner, count, take, take_count, fn ? s_on_answer : NULL, ask);
    return s_sent (owner, code, ask);
}

argos_err_t
argos_work_done (argos_work_t *self, const argos_part_t *parts, size_t count, const int64_t *take,
    size_t take_count, argos_result_fn *fn, void *arg)
{
    argos_peer_part_t inner[ARGOS_PARTS_MAX];
    argos_err_t code = s_parts (parts, count, inner);
    if (code != ARGOS_OK)
        return code;
    argos_t *owner = s_owner (self);
    ask_t *ask = s_ask_new (fn, arg);
    code = argos_lease_done (self, inner, count, take, take_count, fn ? s_on_answer : NULL, ask);
    return s_sent (owner, code, ask);
}

void
argos_work_release (argos_work_t **self_p, int64_t delay_ms, bool clean, const char *reject)
{
    argos_t *owner = *self_p ? s_owner (*self_p) : NULL;
    argos_lease_release (self_p, delay_ms, clean, reject);
    if (owner)
        argos_touch (owner);
}
