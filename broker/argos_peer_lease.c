//  argos_peer_lease - leases in hand and their numbered commits.
//
//  Invariant: a lease is in the table while it is ours; one that has ended is `over`: it lives on
//  only for the call that says so. Of each lease one commit is unanswered at a time. Limits: what
//  the broker leases to us (slots).

#include "argos_peer_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GIVE_UP_MS 5000 //  Pause before another attempt at what the core may have ended of

argos_lease_t *
argos_peer_lease_find (argos_peer_t *self, int64_t seq)
{
    argos_lease_t *lease = NULL;
    HASH_FIND (hh, self->leases, &seq, sizeof seq, lease);
    return lease;
}

void
argos_peer_lease_free (argos_lease_t **self_p)
{
    if (*self_p) {
        free (*self_p);
        *self_p = NULL;
    }
}

//  Out of the table, and its unanswered commit is not its own any more

static void
s_end (argos_lease_t *self)
{
    self->over = true;
    HASH_DEL (self->peer->leases, self);
    if (self->commit)
        self->commit->lease = NULL;
    self->commit = NULL;
}

//  The lease has ended by others: what is unanswered fails with code, then the owner is told.

void
argos_peer_lease_lose (argos_lease_t *self, argos_err_t code)
{
    argos_peer_t *peer = self->peer;
    peer_out_t *commit = self->commit;
    s_end (self);
    if (commit)
        argos_peer_fail (peer, commit, code, NULL, false);
    if (peer->handlers.on_lost)
        peer->handlers.on_lost (peer->handlers.ctx, self);
    argos_peer_lease_free (&self);
}

//  A leased message has come: it is ours until we say otherwise.

void
argos_peer_lease_take (argos_peer_t *self, argos_peer_msg_t *msg, int64_t number)
{
    argos_lease_t *lease = argos_peer_lease_find (self, msg->seq);
    if (lease && lease->number == number)
        return; //  Told twice
    if (lease)
        argos_peer_lease_lose (lease, ARGOS_FENCED); //  Ended unseen, and come back to us
    size_t key_size = strlen (msg->key) + 1;
    lease = calloc (1, sizeof *lease + key_size);
    if (!lease)
        abort ();
    lease->peer = self;
    lease->seq = msg->seq;
    lease->number = number;
    lease->attempt = msg->attempt;
    lease->n = 1;
    memcpy (lease->key, msg->key, key_size);
    HASH_ADD (hh, self->leases, seq, sizeof lease->seq, lease);
    msg->lease = lease;
    if (!msg->body)
        argos_lease_release (&msg->lease, 0, false, "invalid");
    else if (self->handlers.on_lease)
        self->handlers.on_lease (self->handlers.ctx, msg);
    else
        argos_lease_release (&msg->lease, 0, true, NULL);
}

//  A commit or done was answered. Returns whether the lease is over: consumed, or lost.

bool
argos_peer_lease_answered (argos_lease_t *self, peer_out_kind_t kind, argos_err_t code)
{
    self->commit = NULL;
    if (code == ARGOS_OK && kind == OUT_COMMIT)
        self->n++;
    bool over = (code == ARGOS_OK && kind == OUT_DONE) || code == ARGOS_FENCED;
    if (over)
        s_end (self);
    return over;
}

//  What we hold, for hello: the leases, and those whose release has not been answered.

json_t *
argos_peer_lease_list (argos_peer_t *self)
{
    json_t *list = json_array ();
    argos_lease_t *lease, *next;
    HASH_ITER (hh, self->leases, lease, next) {
        lease->verdict = 'l';
        json_array_append_new (list, json_pack ("{s:I,s:I}", "seq", (json_int_t) lease->seq,
                                         "lease", (json_int_t) lease->number));
    }
    peer_out_t *out;
    DL_FOREACH (self->outs, out)
        if (out->kind == OUT_RELEASE)
            json_array_append_new (list, json_pack ("{s:I,s:I}", "seq", (json_int_t) out->seq,
                                             "lease", (json_int_t) out->number));
    return list;
}

static void
s_note_verdict (argos_peer_t *self, const json_t *item)
{
    json_int_t seq = json_integer_value (json_object_get (item, "seq"));
    json_int_t number = json_integer_value (json_object_get (item, "lease"));
    const char *state = json_string_value (json_object_get (item, "state"));
    argos_lease_t *lease = argos_peer_lease_find (self, seq);
    if (lease && lease->number == number && state)
        lease->verdict = state[0];
}

static argos_lease_t *
s_ended (const argos_peer_t *self)
{
    argos_lease_t *lease = self->leases;
    while (lease && lease->verdict == 'v') // NOLINT(clang-analyzer-*): taken out before it is freed
        lease = lease->hh.next;
    return lease;
}

//  The broker has looked at what we hold; list NULL: it is another store, and all is lost. Looks
//  anew after each call of the owner, who may have let go of others.

void
argos_peer_lease_verdicts (argos_peer_t *self, const json_t *list)
{
    for (size_t i = 0; i < json_array_size (list); i++)
        s_note_verdict (self, json_array_get (list, i));
    for (argos_lease_t *lease = s_ended (self); lease; lease = s_ended (self)) {
        if (lease->verdict == 'd' && lease->commit && lease->commit->kind == OUT_DONE) {
            argos_peer_answer_t answer = { .code = ARGOS_OK, .reason = "", .part = -1, .type = "" };
            argos_peer_answer (self, lease->commit, &answer);
        }
        else
            argos_peer_lease_lose (lease, ARGOS_FENCED);
    }
}

int64_t
argos_lease_seq (const argos_lease_t *lease)
{
    return lease->seq;
}

int64_t
argos_lease_attempt (const argos_lease_t *lease)
{
    return lease->attempt;
}

const char *
argos_lease_key (const argos_lease_t *lease)
{
    return lease->key;
}

void *
argos_lease_data (const argos_lease_t *lease)
{
    return lease->data;
}

void
argos_lease_set_data (argos_lease_t *lease, void *data)
{
    lease->data = data;
}

static void
s_let_go (const argos_peer_part_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_decref (parts[i].body);
}

static argos_err_t
s_commit (argos_lease_t *self, peer_out_t *model, const argos_peer_part_t *parts, size_t count,
    const int64_t *take, size_t take_count)
{
    char id[ARGOS_PEER_ID_SIZE];
    peer_code_t code = { .code = ARGOS_OK };
    if (self->over || self->commit) {
        s_let_go (parts, count);
        return self->over ? ARGOS_FENCED : ARGOS_BUSY;
    }
    argos_peer_make_id (self->peer, id);
    model->id = id;
    model->lease = self;
    peer_head_t outer = { .type = model->kind == OUT_DONE ? "done" : "commit",
        .id = id,
        .seq = self->seq,
        .lease = self->number,
        .n = self->n,
        .seen = model->kind == OUT_DONE ? self->seen : -1,
        .take = take,
        .take_count = take_count };
    argos_peer_encode (self->peer, &code, &outer, parts, count);
    argos_err_t rc = argos_peer_queue (self->peer, &code, model, &self->commit);
    argos_code_term (&code);
    return rc;
}

argos_err_t
argos_lease_commit (argos_lease_t *lease, const argos_peer_part_t *parts, size_t count,
    const int64_t *take, size_t take_count, argos_peer_answer_fn *fn, void *arg)
{
    peer_out_t model = { .kind = OUT_COMMIT, .fn = fn, .arg = arg };
    return s_commit (lease, &model, parts, count, take, take_count);
}

argos_err_t
argos_lease_done (argos_lease_t *lease, const argos_peer_part_t *parts, size_t count,
    const int64_t *take, size_t take_count, argos_peer_answer_fn *fn, void *arg)
{
    peer_out_t model = { .kind = OUT_DONE, .fn = fn, .arg = arg };
    return s_commit (lease, &model, parts, count, take, take_count);
}

//  Our word that the lease ends; out of the table from here on

static void
s_release (argos_lease_t *self, json_t *body)
{
    char id[ARGOS_PEER_ID_SIZE];
    argos_peer_make_id (self->peer, id);
    peer_out_t model = { .kind = OUT_RELEASE, .id = id, .seq = self->seq, .number = self->number };
    peer_head_t head = {
        .type = "release", .id = id, .seq = self->seq, .lease = self->number, .seen = -1
    };
    peer_code_t code = { .code = ARGOS_OK };
    argos_code_head (&code, &head);
    argos_code_raw (&code, "", 0);
    argos_code_body (&code, body);
    json_decref (body);
    s_end (self);
    argos_peer_queue (self->peer, &code, &model, NULL);
    argos_code_term (&code);
}

void
argos_lease_release (argos_lease_t **lease_p, int64_t delay_ms, bool clean, const char *reject)
{
    argos_lease_t *self = *lease_p;
    *lease_p = NULL;
    if (!self || self->over)
        return;
    s_release (
        self, reject ? json_pack ("{s:s}", "reject", reject)
                     : json_pack ("{s:I,s:b}", "delay_ms", (json_int_t) delay_ms, "clean", clean));
    argos_peer_lease_free (&self);
}

//  The message goes back with a strike, for another attempt or, in the end, to the dead letters.

void
argos_peer_lease_give_up (argos_lease_t *self)
{
    argos_peer_t *peer = self->peer;
    peer_out_t *commit = self->commit;
    s_release (self, json_pack ("{s:i,s:b}", "delay_ms", GIVE_UP_MS, "clean", false));
    argos_peer_fail (peer, commit, ARGOS_FENCED, "the core ended with it again and again", true);
    if (peer->handlers.on_lost)
        peer->handlers.on_lost (peer->handlers.ctx, self);
    argos_peer_lease_free (&self);
}
