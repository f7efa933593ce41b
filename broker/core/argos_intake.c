//  argos_intake - the way to the store and back: whose request is next, and who gets its answer.
//
//  Invariant: frames of one peer are handed to the store in the order in which they came; among
//  peers, commits under a lease go first, then who has something urgent, then the rest in rotation.
//  Limits: 128 requests are with the store at a time, 64 of one peer: then what another one sends
//  is in the next batch but one at the latest.

#include "argos_buggify.h"
#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define OUTSTANDING_MAX 128 //  Requests handed to the store and not answered
#define SHARE_MAX 64 //  Of these, of one peer; our actors work for all and have no such limit

item_t *
argos_intake_item (argos_core_t *self, argos_storage_op_t op, size_t part_count)
{
    item_t *item = calloc (1, sizeof *item);
    assert (item);
    item->op = op;
    item->bytes = -1;
    item->rank = CLASS_LEASED;
    item->req = argos_storage_req_new (op, part_count);
    item->req->now = self->wall;
    item->req->boot = self->config.boot;
    if (part_count) {
        item->parts = calloc (part_count, sizeof item->parts[0]);
        assert (item->parts);
    }
    item->part_count = part_count;
    return item;
}

//  A part lets go of what it refers to. Called once, with the answer or when it is dropped.

static void
s_free_part (part_t *part)
{
    argos_frame_unref (&part->header);
    argos_frame_unref (&part->body);
    free (part->key);
}

void
argos_intake_free (item_t *item)
{
    for (size_t i = 0; i < item->part_count; i++)
        s_free_part (&item->parts[i]);
    free (item->parts);
    argos_storage_req_destroy (&item->req);
    free (item);
}

//  ------------------------------------------------------------------------------------------------
//  The queue to the store

static class_t
s_class (const session_t *session)
{
    class_t rank = CLASS_LEASED;
    if (session->outstanding >= SHARE_MAX && !argos_role_all (session->role))
        return CLASS_COUNT;
    while (rank < CLASS_COUNT && session->waiting[rank] == 0)
        rank++;
    return rank;
}

//  Put the session into the ring of its most urgent item; that item pulls forward what was sent
//  before it. One that has its share with the store stands in none.

static void
s_place (session_t *session)
{
    argos_core_t *self = session->core;
    class_t rank = s_class (session);
    if (rank == session->ring)
        return;
    if (session->ring < CLASS_COUNT)
        DL_DELETE (self->rings[session->ring], session);
    session->ring = rank;
    if (rank < CLASS_COUNT)
        DL_APPEND (self->rings[rank], session);
}

void
argos_intake_queue (session_t *session, item_t *item)
{
    item->session = session->number;
    DL_APPEND (session->items, item);
    session->waiting[item->rank]++;
    s_place (session);
}

static void
s_take_out (session_t *session, item_t *item)
{
    DL_DELETE (session->items, item);
    session->waiting[item->rank]--;
    s_place (session);
}

//  The slot that was taken for a part that will not be stored leased.

void
argos_intake_unreserve (part_t *part)
{
    uint64_t reserved = part->reserved;
    part->reserved = 0;
    if (reserved)
        argos_service_free_slot (part->service, reserved);
}

//  The references of a part end; what it was to become does not come.

void
argos_intake_drop_part (part_t *part)
{
    if (part->service)
        part->service->busy--;
    if (part->lane) {
        part->lane->inserting--;
        argos_intake_unreserve (part);
        argos_lane_settle (part->lane);
        part->lane = NULL;
    }
    if (part->topic) {
        part->topic->busy--;
        argos_topic_settled (part->topic, part->slot, false, 0, "");
        part->topic = NULL;
    }
}

//  The session ends: what it sent and the store has not got is as if it never came.

void
argos_intake_forget (session_t *session)
{
    item_t *item, *next;
    session->open = false;
    DL_FOREACH_SAFE (session->items, item, next) {
        s_take_out (session, item);
        for (size_t i = 0; i < item->part_count; i++)
            argos_intake_drop_part (&item->parts[i]);
        if (item->lane) {
            item->lane->inserting--;
            argos_lane_settle (item->lane);
        }
        if (item->topic)
            item->topic->busy--;
        if (item->service)
            item->service->busy--;
        argos_intake_free (item);
    }
}

//  A message that finds its lane idle and a slot free is inserted already leased. Decided at the
//  last moment; the lane counts as busy from here on.

static void
s_reserve (part_t *part, argos_storage_part_t *target)
{
    lane_t *lane = part->lane;
    if (!lane || lane->entries || lane->inserting > 1 || lane->state != LANE_EMPTY)
        return;
    worker_t *worker = argos_service_pick (part->service, part->key, part->type);
    if (!worker)
        return;
    part->reserved = worker->session->number;
    memcpy (target->holder, worker->session->holder, sizeof target->holder);
}

static void
s_hand_over (session_t *session, item_t *item)
{
    argos_core_t *self = session->core;
    session->outstanding++;
    s_take_out (session, item);
    item->tag = ++self->last_tag;
    HASH_ADD (hh, self->outstanding, tag, sizeof item->tag, item);
    self->outstanding_count++;
    argos_storage_req_t *req = item->req;
    item->req = NULL;
    req->tag = item->tag;
    for (size_t i = 0; i < item->part_count; i++)
        s_reserve (&item->parts[i], &req->parts[i]);
    self->io.store (self->io.ctx, req);
}

//  The store has answered: whose it was may have a further one.

void
argos_intake_back (argos_core_t *self, const item_t *item)
{
    session_t *session = argos_session_find (self, item->session);
    if (!session)
        return;
    session->outstanding--;
    s_place (session);
}

void
argos_intake_pump (argos_core_t *self)
{
    while (self->outstanding_count < OUTSTANDING_MAX) {
        if (self->outstanding_count && ARGOS_BUGGIFY ("intake.window"))
            return;
        class_t rank = CLASS_LEASED;
        while (rank < CLASS_COUNT && !self->rings[rank])
            rank++;
        if (rank == CLASS_COUNT)
            return;
        session_t *session = self->rings[rank];
        //  To the end of its ring first, so that the others get their turn
        DL_DELETE (self->rings[rank], session);
        DL_APPEND (self->rings[rank], session);
        s_hand_over (session, session->items);
    }
}

//  A read: a request to the store.

bool
argos_intake_read (session_t *session, const argos_header_t *header, argos_frame_t **frames)
{
    if (!header->id[0]) {
        argos_core_refuse (
            session->core, session->conn, "", ARGOS_INVALID, "a read needs an id", -1, false);
        return false;
    }
    item_t *item = argos_intake_item (session->core, ARGOS_ST_READ, 1);
    memcpy (item->id, header->id, sizeof item->id);
    memcpy (item->req->from, session->name, sizeof item->req->from);
    item->rank = header->urgent ? CLASS_URGENT : CLASS_NORMAL;
    if (argos_role_all (session->role))
        item->rank = CLASS_LEASED; //  Our actors read to finish what they hold
    item->req->parts[0].header = argos_frame_ref (frames[1]);
    item->req->parts[0].body = argos_frame_ref (frames[3]);
    item->bytes = (int64_t) (frames[1]->size + frames[2]->size + frames[3]->size);
    argos_intake_queue (session, item);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Answers

//  Tell the sender. A durable message alone and a unit get the seq of the first queued part, a
//  commit under a lease its number.

static void
s_tell (session_t *session, const item_t *item, const argos_storage_ans_t *ans)
{
    argos_core_t *self = session->core;
    if (ans->code != ARGOS_OK) {
        argos_core_refuse (self, session->conn, item->id, ans->code, ans->reason,
            item->durable ? -1 : ans->part, false);
        return;
    }
    argos_writer_t body = { .size = 0 };
    argos_writer_raw (&body, "{");
    if (item->op == ARGOS_ST_COMMIT && item->seq)
        argos_writer_member_int (&body, "n", item->n);
    else if (item->op == ARGOS_ST_COMMIT)
        argos_writer_member_int (&body, "seq", ans->seq);
    argos_writer_raw (&body, "}");
    body.data[body.size] = 0;
    argos_core_word (self, session->conn, "accepted", item->id, body.data);
}

static void
s_result (session_t *session, const item_t *item, const argos_storage_ans_t *ans)
{
    argos_core_t *self = session->core;
    argos_writer_t *text = &self->text;
    argos_writer_clear (text);
    argos_writer_raw (text, "{\"type\":\"store.result\"");
    argos_writer_member_string (text, "re", item->id);
    argos_writer_raw (text, "}");
    argos_frame_t *header = argos_frame_new (text->data, text->size);
    static const char meta[] = "{\"from\":\"store\"}";
    if (argos_core_put (self, session->conn, header, meta, sizeof meta - 1, ans->parts[0].body) !=
        0)
        argos_slow_begin (session, true);
    argos_frame_unref (&header);
}

void
argos_intake_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans)
{
    session_t *session = argos_session_find (self, item->session);
    if (session && session->open && item->op == ARGOS_ST_READ && ans->code == ARGOS_OK)
        s_result (session, item, ans);
    else if (session && session->open)
        s_tell (session, item, ans);
    if (item->op == ARGOS_ST_COMMIT)
        argos_commit_stored (self, item, ans);
    argos_entry_rows (self, ans);
    if (session && item->bytes >= 0)
        argos_session_settle (session, item->bytes);
}
