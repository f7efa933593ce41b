//  argos_sim_peer - the rules of a peer in small: hello with the leases in hand, everything that
//  was not answered again and in order, the send window, pings.
//
//  Invariant: `pending` is in the order of the first sending; what is in it is sent at most once in
//  a session unless the peer is impatient.

#include "argos_sim_world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELLO_AGAIN_MS 400 //  Without an answer to a hello
#define PATIENCE_MS 100    //  Without an answer to anything

static char *
s_copy (const char *text)
{
    char *copy = text ? strdup (text) : NULL;
    if (text && !copy)
        abort ();
    return copy;
}

frame_t *
argos_sim_frame_new (const char *header, const char *body)
{
    frame_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->header = s_copy (header);
    self->body = s_copy (body);
    return self;
}

void
argos_sim_frame_part (frame_t *self, const char *header, const char *body)
{
    if (self->part_count == ARGOS_SIM_PARTS)
        abort ();
    self->part_headers[self->part_count] = s_copy (header);
    self->part_bodies[self->part_count++] = s_copy (body);
}

void
argos_sim_frame_destroy (frame_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    frame_t *self = *self_p;
    *self_p = NULL;
    for (size_t i = 0; i < self->part_count; i++) {
        free (self->part_headers[i]);
        free (self->part_bodies[i]);
    }
    free (self->header);
    free (self->body);
    free (self);
}

static frame_t *
s_duplicate (const frame_t *frame)
{
    frame_t *copy = argos_sim_frame_new (frame->header, frame->body);
    for (size_t i = 0; i < frame->part_count; i++)
        argos_sim_frame_part (copy, frame->part_headers[i], frame->part_bodies[i]);
    return copy;
}

peer_t *
argos_sim_peer_new (world_t *world, kind_t kind, argos_sim_role_t role, const char *name)
{
    peer_t *self = calloc (1, sizeof *self);
    if (!self || world->peer_count == ARGOS_SIM_PEERS)
        abort ();
    self->world = world;
    self->kind = kind;
    self->role = role;
    snprintf (self->name, sizeof self->name, "%s", name);
    self->instance = 1000;
    self->conn = ++world->last_conn;
    self->slots = 1 + argos_sim_random (world, 3);
    self->node = role == ARGOS_ROLE_LOCAL ? argos_sim_random (world, ARGOS_SIM_NODES) : 0;
    world->peers[world->peer_count++] = self;
    return self;
}

static void
s_clear_out (peer_t *self)
{
    frame_t *frame, *next;
    DL_FOREACH_SAFE (self->out, frame, next) {
        DL_DELETE (self->out, frame);
        argos_sim_frame_destroy (&frame);
    }
}

static void
s_clear_in (peer_t *self)
{
    argos_sim_msg_t *msg, *next;
    DL_FOREACH_SAFE (self->in, msg, next) {
        DL_DELETE (self->in, msg);
        argos_sim_msg_destroy (&msg);
    }
}

void
argos_sim_peer_drop (peer_t *self, pending_t *pending)
{
    DL_DELETE (self->pending, pending);
    argos_sim_frame_destroy (&pending->frame);
    free (pending);
}

static void
s_forget_work (peer_t *self)
{
    while (self->works)
        argos_sim_work_drop (self, self->works);
}

void
argos_sim_peer_destroy (peer_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    peer_t *self = *self_p;
    *self_p = NULL;
    s_clear_out (self);
    s_clear_in (self);
    s_forget_work (self);
    argos_sim_ask_reset (self);
    while (self->pending)
        argos_sim_peer_drop (self, self->pending);
    free (self);
}

void
argos_sim_peer_make_id (peer_t *self, char *target, size_t size)
{
    snprintf (target, size, "%s-%" PRId64 "-%d", self->name, self->instance, self->ids++);
}

//  ------------------------------------------------------------------------------------------------
//  Sending

void
argos_sim_peer_send (peer_t *self, frame_t *frame)
{
    self->pinged = self->world->net->mono;
    frame->at = argos_sim_fault_arrival (self->world, self);
    DL_APPEND (self->out, frame);
}

//  What was not sent in this session yet, in order, as far as the window goes.

static void
s_flush (peer_t *self)
{
    pending_t *pending;
    DL_FOREACH (self->pending, pending) {
        if (pending->sent)
            continue;
        if (pending->counted && self->used >= self->granted)
            return;
        self->used += pending->counted;
        pending->sent = true;
        pending->at = self->world->net->mono;
        argos_sim_peer_send (self, s_duplicate (pending->frame));
    }
}

pending_t *
argos_sim_peer_ask (peer_t *self, ask_t ask, const char *id, frame_t *frame, bool counted)
{
    pending_t *pending = calloc (1, sizeof *pending);
    if (!pending)
        abort ();
    pending->ask = ask;
    snprintf (pending->id, sizeof pending->id, "%s", id);
    pending->frame = frame;
    pending->counted = counted;
    DL_APPEND (self->pending, pending);
    if (self->state == PEER_OPEN)
        s_flush (self);
    return pending;
}

static void
s_say_hello (peer_t *self)
{
    char header[ARGOS_SIM_TEXT], body[ARGOS_SIM_TEXT];
    const work_t *work;
    argos_sim_peer_make_id (self, self->hello, sizeof self->hello);
    snprintf (header, sizeof header, "{\"type\":\"hello\",\"id\":\"%s\"}", self->hello);
    int size = snprintf (body, sizeof body,
        "{\"name\":\"%s\",\"instance\":%" PRId64 ",\"protocol\":1,\"leases\":[", self->name,
        self->instance);
    DL_FOREACH (self->works, work)
        size += snprintf (body + size, sizeof body - (size_t) size,
            "%s{\"seq\":%" PRId64 ",\"lease\":%" PRId64 "}", work == self->works ? "" : ",",
            work->seq, work->lease);
    snprintf (body + size, sizeof body - (size_t) size, "]}");
    self->state = PEER_HELLO;
    self->hello_at = self->world->net->mono;
    argos_sim_trace (self->world, "%s: hello on %" PRIu64, self->name, self->conn);
    argos_sim_peer_send (self, argos_sim_frame_new (header, body));
}

void
argos_sim_peer_cut (peer_t *self, bool noticed)
{
    s_clear_out (self);
    if (noticed || argos_sim_random (self->world, 2))
        s_clear_in (self); //  Else it was in the peer's socket already
    self->conn = ++self->world->last_conn;
    if (noticed)
        self->state = PEER_DOWN;
}

void
argos_sim_peer_kill (peer_t *self)
{
    pending_t *pending, *next;
    argos_sim_peer_cut (self, true);
    self->instance++;
    self->stalled = 0;
    s_forget_work (self);
    argos_sim_ask_reset (self);
    //  A sender knows from its source what was not accepted
    DL_FOREACH_SAFE (self->pending, pending, next)
        if (self->kind != KIND_SENDER && self->kind != KIND_OPERATOR)
            argos_sim_peer_drop (self, pending);
}

//  ------------------------------------------------------------------------------------------------
//  Receiving

static void
s_serve (peer_t *self)
{
    for (int i = 0; i < 2 && self->services[i]; i++) {
        char header[96], body[96];
        snprintf (header, sizeof header, "{\"type\":\"serve\",\"id\":\"serve%d\"}", i);
        snprintf (
            body, sizeof body, "{\"service\":\"%s\",\"slots\":%d}", self->services[i], self->slots);
        argos_sim_peer_send (self, argos_sim_frame_new (header, body));
    }
}

static void
s_welcome (peer_t *self, const argos_sim_msg_t *msg)
{
    pending_t *pending;
    json_t *leases = json_object_get (msg->body, "leases"), *lease;
    size_t i;
    self->state = PEER_OPEN;
    self->used = 0;
    self->granted = argos_sim_int (json_object_get (msg->body, "window"), "messages");
    json_array_foreach (leases, i, lease)
        argos_sim_work_verdict (
            self, argos_sim_int (lease, "lease"), argos_sim_text (lease, "state"));
    s_serve (self);
    argos_sim_ask_reset (self);
    argos_sim_reader_reset (self);
    DL_FOREACH (self->pending, pending)
        pending->sent = false;
    s_flush (self);
}

static void
s_answered (peer_t *self, pending_t *pending, const argos_sim_msg_t *msg)
{
    if (self->kind == KIND_SENDER)
        argos_sim_sender_answered (self, pending, msg);
    else if (self->kind == KIND_OPERATOR)
        argos_sim_operator_answered (self, pending, msg);
    else
        argos_sim_work_answered (self, pending, msg);
}

//  Refusals that belong to the session. Returns whether it was one.

static bool
s_session_refusal (peer_t *self, const char *re, const char *code)
{
    if (strcmp (code, "no_session") == 0) {
        if (self->state == PEER_OPEN)
            s_say_hello (self);
        return true;
    }
    if (strcmp (code, "no_space") == 0 && strncmp (re, "serve", 5) == 0) {
        self->state = PEER_DOWN; //  From the beginning
        return true;
    }
    if (strncmp (re, "sub.", 4) == 0) {
        if (strcmp (code, "no_space") != 0)
            argos_sim_wrong (self->world, "%s: refused %s to %s", self->name, code, re);
        argos_sim_reader_refused (self, re + 4);
        return true;
    }
    if (strcmp (code, "credit") == 0 || strcmp (code, "superseded") == 0 ||
        strcmp (re, self->hello) == 0 || strncmp (re, "serve", 5) == 0)
        argos_sim_wrong (self->world, "%s: refused %s to %s", self->name, code, re);
    return false;
}

static void
s_receive_open (peer_t *self, const argos_sim_msg_t *msg)
{
    const char *type = argos_sim_text (msg->header, "type");
    const char *re = argos_sim_text (msg->header, "re");
    pending_t *pending;
    if (argos_sim_ask_receive (self, msg))
        return;
    if (strcmp (type, "refused") == 0 &&
        s_session_refusal (self, re, argos_sim_text (msg->body, "code")))
        return;
    if (strncmp (re, "vain", 4) == 0 && strcmp (type, "refused") != 0)
        argos_sim_wrong (self->world, "%s: a lost lease was written under (%s)", self->name, re);
    else if (*re) {
        DL_FOREACH (self->pending, pending)
            if (strcmp (pending->id, re) == 0)
                break;
        if (pending)
            s_answered (self, pending, msg);
    }
    else if (strcmp (type, "credit") == 0) {
        self->granted = argos_sim_int (msg->body, "messages");
        s_flush (self);
    }
    else if (json_object_get (msg->meta, "topic"))
        argos_sim_reader_entry (self, msg);
    else if (json_object_get (msg->meta, "mail"))
        argos_sim_work_mail (self, msg);
    else if (json_object_get (msg->meta, "lease"))
        argos_sim_work_new (self, msg);
}

void
argos_sim_peer_receive (peer_t *self, argos_sim_msg_t *msg)
{
    const char *type = argos_sim_text (msg->header, "type");
    bool ours = strcmp (argos_sim_text (msg->header, "re"), self->hello) == 0;
    self->heard = self->world->net->mono;
    self->pings = 0;
    if (self->state == PEER_OPEN)
        s_receive_open (self, msg);
    else if (self->state == PEER_HELLO && ours && strcmp (type, "welcome") == 0)
        s_welcome (self, msg);
    else if (self->state == PEER_HELLO && ours && strcmp (type, "refused") == 0 &&
             strcmp (argos_sim_text (msg->body, "code"), "no_space") != 0)
        argos_sim_wrong (
            self->world, "%s: hello refused %s", self->name, argos_sim_text (msg->body, "code"));
    argos_sim_msg_destroy (&msg);
}

//  ------------------------------------------------------------------------------------------------
//  Acting

//  Something has waited too long: the same once more, or a new connection.

static void
s_impatient (peer_t *self)
{
    pending_t *pending;
    int64_t now = self->world->net->mono;
    DL_FOREACH (self->pending, pending) {
        if (!pending->sent || now - pending->at < PATIENCE_MS)
            continue;
        if (pending->counted && self->used >= self->granted)
            return;
        self->used += pending->counted;
        pending->at = now;
        argos_sim_trace (self->world, "%s: again %s", self->name, pending->id);
        argos_sim_peer_send (self, s_duplicate (pending->frame));
    }
}

static void
s_act_open (peer_t *self)
{
    int64_t now = self->world->net->mono;
    //  No answer to its pings: another connection
    if (self->pings > 1 && !self->in && now - self->heard > ARGOS_SIM_LEASE_MS) {
        argos_sim_trace (self->world, "%s: hears nothing", self->name);
        argos_sim_peer_cut (self, true);
        return;
    }
    if (self->role == ARGOS_ROLE_LOCAL && now - self->pinged >= ARGOS_SIM_PING_MS) {
        self->pings++;
        argos_sim_peer_send (self, argos_sim_frame_new ("{\"type\":\"ping\"}", NULL));
    }
    if (argos_sim_chance (self->world, 500))
        s_impatient (self);
    if (self->kind == KIND_SENDER)
        argos_sim_sender_act (self);
    else if (self->kind == KIND_READER)
        argos_sim_reader_act (self);
    else if (self->kind == KIND_ASKER)
        argos_sim_asker_act (self);
    else if (self->kind == KIND_ANSWERER)
        argos_sim_answerer_act (self);
    else if (self->kind == KIND_OPERATOR)
        argos_sim_operator_act (self);
    else
        argos_sim_work_act (self);
}

void
argos_sim_peer_act (peer_t *self)
{
    int64_t now = self->world->net->mono;
    if (self->state == PEER_DOWN ||
        (self->state == PEER_HELLO && now - self->hello_at > HELLO_AGAIN_MS))
        s_say_hello (self);
    else if (self->state == PEER_OPEN)
        s_act_open (self);
}

bool
argos_sim_peer_idle (const peer_t *self)
{
    if (self->state != PEER_OPEN || self->pending || self->works || argos_sim_ask_open (self) ||
        self->questions_left)
        return false;
    for (int i = 0; i < self->stream_count; i++)
        if (self->streams[i].next < self->streams[i].total)
            return false;
    return self->kind != KIND_READER || argos_sim_reader_done (self);
}
