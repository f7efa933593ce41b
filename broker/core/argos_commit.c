//  argos_commit - from the frames of a commit to a request to the store, and from its answer to the
//  index.
//
//  Invariant: each part is checked as if it had been sent alone, and what a part refers to
//  (service, lane, topic) is counted from then on until the answer. What comes from outside a lease
//  is bounded, what follows from accepted work is always taken. Limits: those of argos_limit.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

//  What answers a chat. Where nobody has ever served the platform it becomes a dead letter: the
//  turn that it belongs to has been done, and nothing that was accepted may vanish.

static bool
s_is_delivery (const argos_header_t *header)
{
    return strcmp (header->type, "deliver.request") == 0 &&
           strncmp (header->name, "deliver.", 8) == 0;
}

//  One part to a service: it must be declared, and admissions stay below the hard limit.

static fault_t
s_service_part (session_t *session, const argos_header_t *header, bool admission, int64_t bytes,
    int index, part_t *part)
{
    argos_core_t *self = session->core;
    service_t *service = argos_service_find (self, header->name);
    part->undeclared = !service && !admission && s_is_delivery (header);
    if (part->undeclared)
        return s_fault (ARGOS_OK, NULL, -1);
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
        if (!argos_topic_may_make (session, header->name))
            return s_fault (ARGOS_BUSY, ARGOS_TOPICS_FULL, index);
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
        item->req->parts[i].undeclared = part->undeclared;
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
argos_commit_new (
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
        entry_t *entry = argos_entry_insert (part->service, part->key, &row);
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
    argos_intake_unreserve (part);
    argos_lane_settle (lane);
}

//  The store has executed or refused a commit.

void
argos_commit_stored (argos_core_t *self, item_t *item, const argos_storage_ans_t *ans)
{
    int64_t hops = item->seq ? ans->hops + 1 : 0;
    bool applied = ans->code == ARGOS_OK && !ans->repeat;
    for (size_t i = 0; i < item->part_count; i++) {
        part_t *part = &item->parts[i];
        if (!applied)
            argos_intake_drop_part (part);
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
