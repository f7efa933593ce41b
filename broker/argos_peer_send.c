//  argos_peer_send - what goes out: the queue, the window, the table of answers to come, deadlines.
//
//  Invariant: each send that took an fn is answered exactly once: its entry is unlinked before the
//  fn is called. Nothing but hello is written before the welcome, and the queue never overtakes
//  itself. Limits: ARGOS_PEER_OUT_MAX entries of ARGOS_PEER_OUT_BYTES together.

#include "argos_peer_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
argos_peer_make_id (argos_peer_t *self, char *target)
{
    snprintf (
        target, ARGOS_PEER_ID_SIZE, "%s%llu", self->prefix, (unsigned long long) ++self->last_id);
}

//  ------------------------------------------------------------------------------------------------
//  The socket

//  One of the words that are not counted, at once, and always in frames: a broker of another
//  version that has taken the place of ours understands a ping. A connection that can't take even
//  these is given up.

void
argos_peer_word (argos_peer_t *self, const peer_head_t *head, json_t *body)
{
    peer_code_t code = { .code = ARGOS_OK };
    argos_code_head (&code, head);
    argos_code_raw (&code, "", 0);
    argos_code_body (&code, body);
    json_decref (body);
    if (code.code == ARGOS_OK &&
        argos_peer_put (self, code.data, code.sizes, code.frame_count) != 0)
        self->broken = true;
    argos_code_term (&code);
}

//  Whether messages of this kind are counted in the window, and whether it has room for this one

static bool
s_admitted (const argos_peer_t *self, const peer_out_t *out)
{
    return out->kind == OUT_RELEASE ||
           (self->sent_messages < self->window_messages &&
               self->sent_bytes + (int64_t) out->bytes <= self->window_bytes);
}

void
argos_peer_flush (argos_peer_t *self)
{
    self->congested = false;
    while (self->state == PEER_READY && !self->broken && self->unsent) {
        peer_out_t *out = self->unsent;
        if (!s_admitted (self, out))
            return;
        if (argos_peer_put_out (self, out) != 0) {
            self->congested = true;
            return;
        }
        self->unsent = out->next;
        out->sent = true;
        out->boot = self->boot;
        if (out->kind != OUT_RELEASE) {
            self->sent_messages++;
            self->sent_bytes += (int64_t) out->bytes;
        }
        if (out->kind == OUT_FIRE) {
            argos_peer_unlink (self, out);
            free (out);
        }
    }
}

//  ------------------------------------------------------------------------------------------------
//  The queue

//  Puts an encoded message into the queue and sends what can be sent. model has kind, fn, arg,
//  lease, deadline and id.

argos_err_t
argos_peer_queue (
    argos_peer_t *self, peer_code_t *code, const peer_out_t *model, peer_out_t **ret_out)
{
    size_t id_size = strlen (model->id);
    peer_out_t *same = NULL;
    if (code->code != ARGOS_OK)
        return code->code;
    if (self->state == PEER_FINAL)
        return ARGOS_SUPERSEDED;
    bool full = self->out_count >= ARGOS_PEER_OUT_MAX ||
                self->out_bytes + code->size > ARGOS_PEER_OUT_BYTES;
    if (full && model->kind != OUT_RELEASE) //  Releases are bounded by the leases
        return ARGOS_BUSY;
    if (id_size > 0)
        HASH_FIND (hh, self->ids, model->id, id_size, same);
    if (same)
        return ARGOS_BUSY;
    size_t table = code->frame_count * sizeof (uint32_t);
    peer_out_t *out = malloc (sizeof *out + table + code->size + id_size + 1);
    if (!out)
        return ARGOS_BUSY;
    *out = *model;
    memcpy (out->sizes, code->sizes, table);
    char *data = (char *) (out->sizes + code->frame_count);
    memcpy (data, code->data, code->size);
    memcpy (data + code->size, model->id, id_size + 1);
    out->data = data;
    out->id = data + code->size;
    out->bytes = code->size;
    out->frame_count = code->frame_count;
    DL_APPEND (self->outs, out);
    self->out_count++;
    self->out_bytes += out->bytes;
    if (!self->unsent)
        self->unsent = out;
    if (id_size > 0)
        HASH_ADD_KEYPTR (hh, self->ids, out->id, id_size, out);
    if (out->deadline && out->deadline < self->next_deadline)
        self->next_deadline = out->deadline;
    if (ret_out)
        *ret_out = out;
    argos_peer_flush (self);
    return ARGOS_OK;
}

//  Out of list and table; the memory is the caller's now

void
argos_peer_unlink (argos_peer_t *self, peer_out_t *out)
{
    if (self->unsent == out)
        self->unsent = out->next;
    DL_DELETE (self->outs, out);
    if (out->id[0])
        HASH_DEL (self->ids, out);
    self->out_count--;
    self->out_bytes -= out->bytes;
}

//  The answer to an entry: out of the table, then told; then the lease that it ended, if it did, is
//  let go.

void
argos_peer_answer (argos_peer_t *self, peer_out_t *out, const argos_peer_answer_t *answer)
{
    argos_lease_t *lease = out->lease;
    argos_peer_unlink (self, out);
    bool over = lease && argos_peer_lease_answered (lease, out->kind, answer->code);
    if (out->fn)
        out->fn (out->arg, answer);
    else if (answer->code != ARGOS_OK && out->kind != OUT_RELEASE && self->handlers.on_refused)
        self->handlers.on_refused (self->handlers.ctx, out->id, answer->code, answer->reason);
    if (over && answer->code != ARGOS_OK && self->handlers.on_lost)
        self->handlers.on_lost (self->handlers.ctx, lease);
    if (over)
        argos_peer_lease_free (&lease);
    free (out);
}

void
argos_peer_fail (
    argos_peer_t *self, peer_out_t *out, argos_err_t code, const char *reason, bool sent)
{
    argos_peer_answer_t answer = { .code = code,
        .reason = reason ? reason : argos_err_text (code),
        .part = -1,
        .sent = sent,
        .type = "" };
    argos_peer_answer (self, out, &answer);
}

//  Requests whose deadline has passed. Those that are over are marked first, for an fn may send and
//  so change the list.

void
argos_peer_expire (argos_peer_t *self, int64_t now)
{
    if (now < self->next_deadline)
        return;
    bool again = true;
    while (again) {
        peer_out_t *out;
        again = false;
        self->next_deadline = INT64_MAX;
        DL_FOREACH (self->outs, out) {
            if (!out->deadline)
                continue;
            if (out->deadline <= now) {
                again = true;
                break;
            }
            if (out->deadline < self->next_deadline)
                self->next_deadline = out->deadline;
        }
        if (again)
            argos_peer_fail (self, out, ARGOS_EXPIRED, NULL, out->sent);
    }
}

//  Counts a start of the core that this entry has outlived unanswered. Lost connections don't
//  count: only what may have ended the core must not be sent to it for ever.

static void
s_count_death (const argos_peer_t *self, peer_out_t *out)
{
    if (out->sent && out->boot != self->boot) {
        out->boot = self->boot;
        out->deaths++;
    }
}

//  Not to be sent again: a request that may have reached a worker, or what the core has died of too
//  often

static bool
s_is_spent (const peer_out_t *out)
{
    return out->sent && (out->kind == OUT_REQUEST ||
                            (out->kind != OUT_RELEASE && out->deaths >= ARGOS_PEER_DEATHS_MAX));
}

//  A new session: what is spent is answered, or its lease given up; all else is sent again, in
//  order. Looks anew after each call of the owner, who may send.

void
argos_peer_rewind (argos_peer_t *self)
{
    peer_out_t *out;
    DL_FOREACH (self->outs, out)
        s_count_death (self, out);
    do {
        for (out = self->outs; out && !s_is_spent (out); out = out->next)
            ;
        if (out && out->lease)
            argos_peer_lease_give_up (out->lease);
        else if (out)
            argos_peer_fail (self, out, ARGOS_GONE, NULL, true);
    } while (out);
    self->unsent = self->outs;
    self->sent_messages = 0;
    self->sent_bytes = 0;
}

//  ------------------------------------------------------------------------------------------------
//  Messages

static bool
s_is_to (const char *to, const char *prefix)
{
    return strncmp (to, prefix, strlen (prefix)) == 0;
}

//  What will answer a message sent alone

static peer_out_kind_t
s_kind (const argos_peer_part_t *part, bool asked)
{
    if (part->durable)
        return OUT_ACCEPT;
    if (s_is_to (part->to, "store"))
        return OUT_REQUEST;
    if ((part->re && *part->re) || s_is_to (part->to, "topic:"))
        return OUT_FIRE;
    if (s_is_to (part->to, "actor:") && !(part->id && *part->id) && !asked)
        return OUT_FIRE;
    return OUT_REQUEST;
}

//  An application message; id "" = none. A lease is named when it is published under one.

static void
s_encode_part (
    peer_code_t *code, const argos_peer_part_t *part, const char *id, const argos_lease_t *lease)
{
    peer_head_t head = { .part = part, .id = id, .seen = -1 };
    if (lease) {
        head.seq = lease->seq;
        head.lease = lease->number;
    }
    argos_code_head (code, &head);
    argos_code_raw (code, "", 0);
    argos_code_body (code, part->body);
}

argos_err_t
argos_peer_send (
    argos_peer_t *self, const argos_peer_part_t *part, argos_peer_answer_fn *fn, void *arg)
{
    char made[ARGOS_PEER_ID_SIZE] = "";
    peer_out_t model = { .fn = fn, .arg = arg, .id = made };
    peer_code_t code = { .code = ARGOS_OK };
    if (!part->type || !part->to)
        code.code = ARGOS_INVALID;
    else {
        model.kind = s_kind (part, fn != NULL);
        if (model.kind == OUT_FIRE && fn)
            code.code = ARGOS_INVALID; //  It would never be called
        else if (model.kind != OUT_FIRE && part->id && *part->id)
            model.id = part->id;
        else if (model.kind != OUT_FIRE)
            argos_peer_make_id (self, made);
        if (model.kind == OUT_REQUEST)
            model.deadline =
                argos_peer_now () + (part->ttl_ms > 0 ? part->ttl_ms : ARGOS_PEER_TTL_MS);
        s_encode_part (&code, part, model.id, NULL);
    }
    json_decref (part->body);
    argos_err_t rc = argos_peer_queue (self, &code, &model, NULL);
    argos_code_term (&code);
    return rc;
}

argos_err_t
argos_peer_publish (argos_peer_t *self, const argos_lease_t *lease, const argos_peer_part_t *part)
{
    peer_out_t model = { .kind = OUT_FIRE, .id = "" };
    peer_code_t code = { .code = ARGOS_OK };
    if (!part->type || !part->to || !s_is_to (part->to, "topic:") || part->durable)
        code.code = ARGOS_INVALID;
    else
        s_encode_part (&code, part, "", lease && !lease->over ? lease : NULL);
    json_decref (part->body);
    argos_err_t rc = argos_peer_queue (self, &code, &model, NULL);
    argos_code_term (&code);
    return rc;
}

argos_err_t
argos_peer_reply_to (
    argos_peer_t *self, const char *from, const char *re, const char *type, json_t *body)
{
    char to[ARGOS_TO_MAX + 1];
    snprintf (to, sizeof to, "actor:%s", from);
    argos_peer_part_t part = { .type = type, .to = to, .re = re, .body = body };
    return argos_peer_send (self, &part, NULL, NULL);
}

argos_err_t
argos_peer_reply (
    argos_peer_t *self, const argos_peer_msg_t *request, const char *type, json_t *body)
{
    return argos_peer_reply_to (self, request->from, request->id, type, body);
}

//  ------------------------------------------------------------------------------------------------
//  Commits

//  A commit: its own header, and a pair for each part. The bodies are let go in any case.

argos_err_t
argos_peer_encode (argos_peer_t *self, peer_code_t *code, const peer_head_t *outer,
    const argos_peer_part_t *parts, size_t count)
{
    if (count > ARGOS_PARTS_MAX || outer->take_count > ARGOS_TAKE_MAX)
        code->code = ARGOS_TOO_BIG;
    argos_code_head (code, outer);
    argos_code_raw (code, "", 0);
    argos_code_raw (code, "", 0);
    for (size_t i = 0; i < count; i++) {
        char made[ARGOS_PEER_ID_SIZE] = "";
        const argos_peer_part_t *part = &parts[i];
        if (!part->type || !part->to)
            code->code = ARGOS_INVALID;
        if (code->code == ARGOS_OK) {
            bool queued = !s_is_to (part->to, "store");
            if (queued && !(part->id && *part->id))
                argos_peer_make_id (self, made);
            peer_head_t head = {
                .part = part, .id = made[0] ? made : part->id, .seen = -1, .durable = queued
            };
            argos_code_head (code, &head);
            argos_code_body (code, part->body);
        }
        json_decref (part->body);
    }
    if (code->code == ARGOS_OK && code->size - code->sizes[0] > ARGOS_COMMIT_MAX)
        code->code = ARGOS_TOO_BIG;
    return code->code;
}

argos_err_t
argos_peer_commit (argos_peer_t *self, const char *id, const argos_peer_part_t *parts, size_t count,
    argos_peer_answer_fn *fn, void *arg)
{
    char made[ARGOS_PEER_ID_SIZE];
    peer_out_t model = { .kind = OUT_ACCEPT, .fn = fn, .arg = arg, .id = id };
    peer_code_t code = { .code = ARGOS_OK };
    if (!id) {
        argos_peer_make_id (self, made);
        model.id = made;
    }
    peer_head_t outer = { .type = "commit", .id = model.id, .seen = -1 };
    argos_peer_encode (self, &code, &outer, parts, count);
    argos_err_t rc = argos_peer_queue (self, &code, &model, NULL);
    argos_code_term (&code);
    return rc;
}
