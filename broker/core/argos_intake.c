//  argos_intake - from the frames of a commit to a request to the store, and from its answer to the
//  index.
//
//  Invariant: frames of one peer are handed to the store in the order in which they came; among
//  peers, commits under a lease go first, then who has something urgent, then the rest in rotation.
//  What comes from outside a lease is bounded, what follows from accepted work is always taken.
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

static void
s_unreserve (part_t *part)
{
    uint64_t reserved = part->reserved;
    part->reserved = 0;
    if (reserved)
        argos_service_free_slot (part->service, reserved);
}

//  The references of a part end; what it was to become does not come.

static void
s_drop_part (part_t *part)
{
    if (part->service)
        part->service->busy--;
    if (part->lane) {
        part->lane->inserting--;
        s_unreserve (part);
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
            s_drop_part (&item->parts[i]);
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

//  ------------------------------------------------------------------------------------------------
//  Commits

//  What went wrong with a commit before it reached the store

typedef struct {
    argos_err_t code;   //  ARGOS_OK = nothing
    const char *reason; //  Sentence or NULL
    int part;           //  Which part, -1 = the whole
} fault_t;

static fault_t
s_fault (argos_err_t code, const char *reason, int part)
{
    return (fault_t){ code, reason, part };
}

//  One part to a service: it must be declared, and admissions stay below the hard limit.

static fault_t
s_service_part (session_t *session, const argos_header_t *header, bool admission, int64_t bytes,
    int index, part_t *part)
{
    argos_core_t *self = session->core;
    service_t *service = argos_service_find (self, header->name);
    if (!service)
        return s_fault (ARGOS_NO_SERVICE, NULL, index);
    const char *key = header->has_key ? header->key : header->id;
    const char *full =
        admission ? argos_limit_refuses (session, service, key, header->urgent, bytes) : NULL;
    if (full) {
        service->refused++;
        return s_fault (ARGOS_BUSY, full, index);
    }
    part->service = service;
    part->key = strdup (key);
    assert (part->key);
    part->bytes = bytes;
    part->side = header->side;
    part->urgent = header->urgent;
    part->not_before = header->not_before;
    part->until = header->ttl_ms ? self->wall + header->ttl_ms : 0;
    return s_fault (ARGOS_OK, NULL, -1);
}

//  Reads and checks part `index` as if it had been sent alone. What it refers to is counted later,
//  when all parts are good.

static fault_t
s_part (session_t *session, const argos_header_t *header, bool admission, int64_t bytes, int index,
    part_t *part)
{
    if (!argos_session_may_send (session, header->to, header->name, header))
        return s_fault (ARGOS_DENIED, NULL, index);
    memcpy (part->type, header->type, sizeof part->type);
    part->to = header->to;
    switch (header->to) {
    case ARGOS_TO_SERVICE:
        if (!header->durable)
            return s_fault (ARGOS_INVALID, "a part to a service is durable", index);
        return s_service_part (session, header, admission, bytes, index, part);
    case ARGOS_TO_TOPIC:
        if (!header->durable)
            return s_fault (ARGOS_INVALID, "a part to a topic is durable", index);
        if (argos_trie_is_pattern (header->name))
            return s_fault (ARGOS_INVALID, "a pattern can only be read", index);
        break;
    case ARGOS_TO_STORE:
        break;
    case ARGOS_TO_ACTOR:
    case ARGOS_TO_NONE:
        return s_fault (ARGOS_INVALID, "a part goes to a service, a topic or the store", index);
    }
    return s_fault (ARGOS_OK, NULL, -1);
}

//  Fills the item from the pairs. A commit has them behind the body, a durable message alone is its
//  own pair.

static fault_t
s_parts (session_t *session, item_t *item, argos_header_t *headers, argos_frame_t **pairs)
{
    bool admission = item->seq == 0;
    for (size_t i = 0; i < item->part_count; i++) {
        part_t *part = &item->parts[i];
        const char *reason = NULL;
        argos_err_t code =
            argos_header_read (pairs[i * 2]->data, pairs[i * 2]->size, &headers[i], &reason);
        if (code != ARGOS_OK)
            return s_fault (code, reason, (int) i);
        int64_t bytes = (int64_t) (pairs[i * 2]->size + pairs[i * 2 + 1]->size);
        fault_t fault =
            argos_session_may_say (session, &headers[i], pairs[i * 2 + 1])
                ? s_part (session, &headers[i], admission, bytes, (int) i, part)
                : s_fault (ARGOS_DENIED, "the key is for another platform or account", (int) i);
        if (fault.code != ARGOS_OK)
            return fault;
        part->header = argos_frame_ref (pairs[i * 2]);
        part->body = argos_frame_ref (pairs[i * 2 + 1]);
        item->req->parts[i].header = argos_frame_ref (part->header);
        item->req->parts[i].body = argos_frame_ref (part->body);
        if (headers[i].urgent && item->rank == CLASS_NORMAL)
            item->rank = CLASS_URGENT;
    }
    return s_fault (ARGOS_OK, NULL, -1);
}

//  All parts are good: count them where they go; entries of topics get their numbers.

static void
s_refer (session_t *session, item_t *item, const argos_header_t *headers)
{
    argos_core_t *self = session->core;
    for (size_t i = 0; i < item->part_count; i++) {
        part_t *part = &item->parts[i];
        part->trace_key = argos_trace_key (headers[i].id);
        memcpy (part->trace_id, headers[i].id, sizeof part->trace_id);
        if (part->service)
            part->service->busy++;
        if (part->service && part->not_before <= self->wall) {
            part->lane = argos_lane_get (part->service, part->key);
            part->lane->inserting++;
        }
        else if (part->to == ARGOS_TO_TOPIC) {
            part->topic = argos_topic_get (self, headers[i].name);
            part->topic->busy++;
            part->slot =
                argos_topic_append (part->topic, session, &headers[i], part->header, part->body);
            item->req->parts[i].number = part->slot->count;
        }
    }
}

static item_t *
s_commit_item (session_t *session, const argos_header_t *header, size_t part_count)
{
    item_t *item = argos_intake_item (session->core, ARGOS_ST_COMMIT, part_count);
    argos_storage_req_t *req = item->req;
    memcpy (item->id, header->id, sizeof item->id);
    item->seq = header->seq;
    item->lease = header->lease;
    item->n = header->n;
    item->done = strcmp (header->type, "done") == 0;
    item->durable = header->durable;
    item->rank = item->seq ? CLASS_LEASED : CLASS_NORMAL;
    memcpy (item->from, session->base, sizeof item->from);
    memcpy (req->id, header->id, sizeof req->id);
    memcpy (req->from, session->name, sizeof req->from);
    memcpy (req->holder, session->holder, sizeof req->holder);
    req->seq = header->seq;
    req->lease = header->lease;
    req->n = header->n;
    req->seen = header->seen;
    req->done = item->done;
    req->trusted = argos_role_all (session->role);
    req->any_topic = argos_session_any_topic (session);
    req->take_count = header->take_count;
    memcpy (req->take, header->take, header->take_count * sizeof header->take[0]);
    return item;
}

static const char *
s_commit_form (const argos_header_t *header, size_t part_count)
{
    bool word = strcmp (header->type, "commit") == 0 || strcmp (header->type, "done") == 0;
    if (!header->id[0])
        return "a commit needs an id";
    if (word && header->durable)
        return "durable belongs to the parts of a commit";
    if (word && (header->seq || header->lease || header->n) &&
        !(header->seq && header->lease && header->n))
        return "a commit under a lease names seq, lease and n";
    if (word && strcmp (header->type, "done") == 0 && !header->seq)
        return "done needs a lease";
    if (!header->seq && header->take_count)
        return "take needs a lease";
    if (!header->seq && part_count == 0)
        return "a commit without a lease has at least one part";
    return NULL;
}

//  A commit, a done, or a durable message alone. Returns whether it waits for the store now; else
//  it has been refused.

bool
argos_intake_commit (
    session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    argos_frame_t *single[2] = { frames[1], frames[3] };
    size_t part_count = header->durable ? 1 : (count - 4) / 2;
    const char *wrong = s_commit_form (header, part_count);
    if (wrong) {
        argos_core_refuse (
            session->core, session->conn, header->id, ARGOS_INVALID, wrong, -1, false);
        return false;
    }
    item_t *item = s_commit_item (session, header, part_count);
    //  2 KB each, and reading one sets what has to be set: nothing to clear
    argos_header_t *headers = malloc ((part_count ? part_count : 1) * sizeof headers[0]);
    assert (headers);
    fault_t fault = s_parts (session, item, headers, header->durable ? single : frames + 4);
    if (fault.code == ARGOS_OK) {
        item->bytes = 0;
        for (size_t i = 1; i < count; i++)
            item->bytes += (int64_t) frames[i]->size;
        s_refer (session, item, headers);
        argos_intake_queue (session, item);
    }
    else {
        argos_core_refuse (session->core, session->conn, header->id, fault.code, fault.reason,
            header->durable ? -1 : fault.part, false);
        argos_intake_free (item);
    }
    free (headers);
    return fault.code == ARGOS_OK;
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

//  A part to a service has become a row. A side message is shown at once, but not to the holder
//  whose done has emitted it.

static void
s_stored_row (const item_t *item, part_t *part, const argos_storage_part_t *answer, int64_t hops,
    const char *cause)
{
    const char *from = item->from;
    int64_t now = part->service->core->wall;
    if (answer->seq) {
        argos_storage_row_t row = { .seq = answer->seq,
            .not_before = part->not_before,
            .side = part->side,
            .urgent = part->urgent,
            .until = part->until,
            .bytes = part->bytes };
        memcpy (row.type, part->type, sizeof row.type);
        memcpy (row.from, from, strlen (from) + 1);
        entry_t *entry = argos_lane_insert (part->service, part->key, &row);
        part->service->in++;
        argos_stats_note (part->service->core, (argos_trace_note_t){ .event = ARGOS_TRACE_ACCEPTED,
                                                   .seq = answer->seq,
                                                   .key = part->trace_key,
                                                   .id = part->trace_id,
                                                   .type = part->type,
                                                   .peer = from,
                                                   .cause = cause });
        if (!part->lane && entry->lane)
            argos_lane_settle (entry->lane); //  It has come due meanwhile
        else if (part->side && entry->lane && !(item->done && entry->lane->lease == item->lease))
            argos_lease_mail_now (entry, from, hops, cause, now, part->header, part->body);
    }
    lane_t *lane = part->lane;
    if (!lane)
        return;
    part->lane = NULL;
    lane->inserting--;
    if (answer->seq && answer->number && part->reserved) {
        const session_t *holder = argos_session_find (lane->service->core, part->reserved);
        argos_lane_leased (lane, answer->seq, answer->number, part->reserved);
        argos_stats_note (lane->service->core, (argos_trace_note_t){ .event = ARGOS_TRACE_LEASED,
                                                   .seq = answer->seq,
                                                   .lease = answer->number,
                                                   .peer = holder ? holder->name : "" });
        argos_lease_send (lane, from, 1, hops, now, cause, part->header, part->body);
        return;
    }
    s_unreserve (part);
    argos_lane_settle (lane);
}

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

static void
s_committed (argos_core_t *self, item_t *item, const argos_storage_ans_t *ans)
{
    int64_t hops = item->seq ? ans->hops + 1 : 0;
    bool applied = ans->code == ARGOS_OK && !ans->repeat;
    for (size_t i = 0; i < item->part_count; i++) {
        part_t *part = &item->parts[i];
        if (!applied)
            s_drop_part (part);
        else if (part->service) {
            part->service->busy--;
            s_stored_row (item, part, &ans->parts[i], hops, ans->cause);
        }
        else if (part->topic) {
            topic_t *topic = part->topic;
            part->topic = NULL;
            topic->busy--;
            //  The store lets go of what comes after the last entry
            argos_topic_settled (
                topic, part->slot, ans->parts[i].at != 0, ans->parts[i].number, ans->parts[i].from);
        }
    }
    if (applied && item->seq)
        argos_stats_note (
            self, (argos_trace_note_t){ .event = item->done ? ARGOS_TRACE_DONE : ARGOS_TRACE_COMMIT,
                      .seq = item->seq,
                      .lease = item->lease,
                      .id = ans->cause,
                      .peer = item->from });
    if (applied && ans->gone_count) {
        lane_t *lane = argos_lane_of_head (self, item->seq);
        if (lane)
            argos_lane_consume (lane, ans->gone, ans->gone_count);
    }
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
        s_committed (self, item, ans);
    argos_lane_rows (self, ans);
    if (session && item->bytes >= 0)
        argos_session_settle (session, item->bytes);
}
