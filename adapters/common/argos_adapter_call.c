//  argos_adapter_call - the calls of a plan, one after the other, and what their ends mean.
//
//  Invariant: a call that must not happen twice is made only after a record says so, and that
//  record is in the store; what comes back is one of seven ends, each with one meaning for each
//  kind of platform. The lease is asked for (argos_peer_live) right before each call. Limits: three
//  tries of a call whose fate is not known; a wait of more than 5 s gives the lease back until
//  then.

#include "argos_adapter_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 3         //  Of a call whose fate is not known
#define HOLD_MS 500         //  Longest wait with the lease in hand
#define AGAIN_MS 1000       //  Before a call is repeated
#define BACKOFF_MAX 6       //  Doublings of that
#define KEEP_MS 172800000LL //  A record outlives its delivery so long at most

typedef struct argos_delivery_priv priv_t;

static void s_make (argos_delivery_t *self);

static json_t *
s_call (const argos_delivery_t *self)
{
    return json_array_get (self->x->calls, self->index);
}

static void
s_on_time (void *arg)
{
    argos_delivery_step (arg);
}

static void
s_wait (argos_delivery_t *self, int64_t wait_ms)
{
    self->x->timer.fn = s_on_time;
    argos_adapter_timer (self->adapter, &self->x->timer, argos_shell_now () + wait_ms);
}

//  ------------------------------------------------------------------------------------------------
//  The record

static json_t *
s_record (const argos_delivery_t *self, bool sending)
{
    json_t *value = json_pack ("{s:I,s:b,s:i,s:O}", "index", (json_int_t) self->index, "sending",
        sending, "tries", self->x->tries, "ids", self->x->ids);
    return json_pack ("{s:s,s:o,s:o,s:I}", "space", self->adapter->space, "key",
        json_sprintf ("%s/delivery/%.300s", self->adapter->account, self->id), "value", value,
        "expires_at", (json_int_t) (argos_shell_wall () + KEEP_MS));
}

static int
s_commit (argos_delivery_t *self, bool sending, argos_peer_answer_fn *fn)
{
    argos_peer_part_t part = {
        .type = "record.put", .to = "store", .durable = true, .body = s_record (self, sending)
    };
    self->x->pending++;
    if (argos_lease_commit (self->x->lease, &part, 1, NULL, 0, fn, self) == ARGOS_OK)
        return 0;
    self->x->pending--;
    argos_delivery_release (self, AGAIN_MS);
    return -1;
}

static void
s_on_marked (void *arg, const argos_peer_answer_t *answer)
{
    argos_delivery_t *self = arg;
    if (self->adapter->closing)
        return;
    if (answer->code == ARGOS_OK) {
        self->x->written = self->x->marked = true;
        if (self->x->lease)
            s_make (self);
    }
    else if (answer->code != ARGOS_FENCED)
        argos_delivery_release (self, AGAIN_MS);
    argos_delivery_unref (self);
}

//  The time to wait for was in the answer: the lease goes back until then.

static void
s_on_unmarked (void *arg, const argos_peer_answer_t *answer)
{
    argos_delivery_t *self = arg;
    if (self->adapter->closing)
        return;
    if (answer->code != ARGOS_FENCED) {
        int64_t wait_ms = argos_rate_due (self->adapter->rate,
                              argos_adapter_member (s_call (self), "bucket"), argos_shell_now ()) -
                          argos_shell_now ();
        argos_delivery_release (self, wait_ms > AGAIN_MS ? wait_ms : AGAIN_MS);
    }
    argos_delivery_unref (self);
}

static void
s_give_back (argos_delivery_t *self)
{
    if (self->x->marked || self->x->written) {
        self->x->marked = false;
        s_commit (self, false, s_on_unmarked);
        return;
    }
    int64_t wait_ms = argos_rate_due (self->adapter->rate,
                          argos_adapter_member (s_call (self), "bucket"), argos_shell_now ()) -
                      argos_shell_now ();
    argos_delivery_release (self, wait_ms > AGAIN_MS ? wait_ms : AGAIN_MS);
}

//  ------------------------------------------------------------------------------------------------
//  A call

static void
s_make (argos_delivery_t *self)
{
    if (!argos_peer_live (self->adapter->peer)) {
        s_give_back (self);
        return;
    }
    //  Also when a life before this one, or a lease that was given back, has tried it
    bool again = self->x->tries > 0 && self->adapter->kind->send == ARGOS_SEND_NONE &&
                 json_is_true (json_object_get (s_call (self), "once"));
    self->x->pending++;
    self->adapter->kind->call (self->adapter->platform, self, s_call (self), again);
    argos_adapter_arm (self->adapter);
}

//  What to do with a call that may have been made: ask, do it again, or say that nobody knows.

static void
s_unclear (argos_delivery_t *self, const char *error)
{
    priv_t *x = self->x;
    const argos_platform_t *kind = self->adapter->kind;
    const char *wish = argos_delivery_policy (self);
    bool once = json_is_true (json_object_get (s_call (self), "once"));
    bool end = once && kind->send == ARGOS_SEND_NONE && strcmp (wish, "resend_marked") != 0;
    x->unclear = false;
    if (end || x->tries >= TRIES_MAX) {
        argos_delivery_finish (self, "unknown", error);
        return;
    }
    x->tries++;
    if (once && kind->send == ARGOS_SEND_RECONCILE) {
        x->pending++;
        kind->find (self->adapter->platform, self, s_call (self));
    }
    else {
        x->marked = false; //  The number of tries has to be known
        s_wait (self, AGAIN_MS);
    }
}

void
argos_delivery_step (argos_delivery_t *self)
{
    priv_t *x = self->x;
    int64_t now = argos_shell_now ();
    if (!x->lease)
        return;
    if (self->index >= json_array_size (x->calls)) {
        argos_delivery_finish (self, "sent", NULL);
        return;
    }
    if (x->unclear) {
        s_unclear (self, "the adapter ended while it was sending");
        return;
    }
    const json_t *call = s_call (self);
    int64_t due_ms =
        argos_rate_due (self->adapter->rate, argos_adapter_member (call, "bucket"), now);
    if (due_ms - now > HOLD_MS) {
        s_give_back (self);
        return;
    }
    if (due_ms > now) {
        s_wait (self, due_ms - now);
        return;
    }
    //  Something that may be repeated needs no mark, unless the record speaks of another call
    bool once = json_is_true (json_object_get (call, "once"));
    bool needs = once && (self->adapter->kind->send != ARGOS_SEND_NATIVE || self->index > 0);
    if (x->marked || (!needs && !x->written))
        s_make (self);
    else
        s_commit (self, needs, s_on_marked);
}

//  ------------------------------------------------------------------------------------------------
//  How it ended

//  Whether the delivery goes on; without its lease it only had to be told.

static bool
s_alive (argos_delivery_t *self)
{
    return !self->adapter->closing && self->x->lease;
}

static void
s_leave (argos_delivery_t *self)
{
    if (!self->adapter->closing)
        argos_delivery_unref (self);
}

static void
s_next (argos_delivery_t *self, json_t *ids)
{
    priv_t *x = self->x;
    if (json_is_array (ids))
        json_array_extend (x->ids, ids);
    else if (json_is_string (ids))
        json_array_append (x->ids, ids);
    json_decref (ids);
    self->index++;
    x->tries = 0;
    x->marked = false;
    argos_delivery_step (self);
}

void
argos_delivery_sent (argos_delivery_t *self, json_t *ids)
{
    if (s_alive (self))
        s_next (self, ids);
    else
        json_decref (ids);
    s_leave (self);
}

void
argos_delivery_found (argos_delivery_t *self, json_t *ids)
{
    if (!s_alive (self))
        json_decref (ids);
    else if (ids)
        s_next (self, ids);
    else {
        self->x->marked = false;
        argos_delivery_step (self);
    }
    s_leave (self);
}

void
argos_delivery_refused (argos_delivery_t *self, const char *error)
{
    if (s_alive (self))
        argos_delivery_finish (self, "refused", error);
    s_leave (self);
}

void
argos_delivery_later (argos_delivery_t *self, int64_t wait_ms)
{
    int64_t now = argos_shell_now ();
    if (s_alive (self)) {
        argos_rate_hold (
            self->adapter->rate, argos_adapter_member (s_call (self), "bucket"), now + wait_ms);
        argos_delivery_step (self);
    }
    s_leave (self);
}

void
argos_delivery_unsent (argos_delivery_t *self, const char *error)
{
    int64_t doublings = self->x->attempt < BACKOFF_MAX ? self->x->attempt : BACKOFF_MAX;
    if (s_alive (self)) {
        argos_log (ARGOS_LOG_WARN, self->adapter->name, "not sent yet", "id=\"%s\" reason=\"%s\"",
            self->id, error);
        int64_t wait_ms = (AGAIN_MS << doublings) / 2;
        wait_ms += (int64_t) argos_adapter_random (self->adapter) % wait_ms;
        argos_rate_hold (self->adapter->rate, argos_adapter_member (s_call (self), "bucket"),
            argos_shell_now () + wait_ms);
        s_give_back (self);
    }
    s_leave (self);
}

void
argos_delivery_unknown (argos_delivery_t *self, const char *error)
{
    if (s_alive (self))
        s_unclear (self, error);
    s_leave (self);
}

void
argos_delivery_replace (argos_delivery_t *self, json_t *calls)
{
    size_t i;
    json_t *call;
    if (s_alive (self)) {
        json_array_remove (self->x->calls, self->index);
        json_array_foreach (calls, i, call)
            json_array_insert (self->x->calls, self->index + i, call);
        argos_delivery_step (self);
    }
    json_decref (calls);
    s_leave (self);
}

bool
argos_delivery_http (argos_delivery_t *self, const argos_http_answer_t *answer)
{
    char error[300];
    if (answer->phase == ARGOS_HTTP_UNSENT) {
        argos_delivery_unsent (self, answer->error);
        return true;
    }
    if (answer->phase == ARGOS_HTTP_UNKNOWN) {
        argos_delivery_unknown (self, answer->error);
        return true;
    }
    if (answer->status / 100 != 5)
        return false;
    snprintf (error, sizeof error, "the platform answered %d", answer->status);
    argos_delivery_unknown (self, error);
    return true;
}
