//  argos_lease - how a lease comes, goes and shows its side messages: each step is asked of the
//  store and acted on when answered.
//
//  Invariant: a message leaves the broker only under a lease that the store has committed; a lease
//  that can't be handed over is given back uncounted. Limits: none of its own.

#include "argos_buggify.h"
#include "argos_core_priv.h"

#include <assert.h>
#include <string.h>

//  Ask for a lease on the head of the lane for a worker whose slot is taken.

void
argos_lease_ask (lane_t *lane, worker_t *worker)
{
    argos_core_t *self = lane->service->core;
    item_t *item = argos_intake_item (self, ARGOS_ST_LEASE, 0);
    item->lane = lane;
    item->seq = lane->entries->seq;
    item->req->seq = item->seq;
    memcpy (item->req->holder, worker->session->holder, sizeof item->req->holder);
    lane->inserting++;
    lane->state = LANE_ASKED;
    lane->session = item->worker = worker->session->number;
    argos_lane_alone (lane);
    argos_intake_queue (self->self, item);
}

//  {"from":…,"seq":…,"lease":…,…} of a leased message or, with mail, of a side message

static void
s_meta (argos_writer_t *text, const lane_t *lane, const char *from, int64_t seq, int64_t mail)
{
    argos_writer_clear (text);
    argos_writer_raw (text, "{");
    argos_writer_member_string (text, "from", from);
    argos_writer_member_int (text, "seq", seq);
    argos_writer_member_int (text, "lease", lane->lease);
    if (mail)
        argos_writer_member_int (text, "mail", mail);
}

//  The lane is leased to its session: hand the message over, or give the lease back.

void
argos_lease_send (lane_t *lane, const char *from, int64_t attempt, int64_t hops, int64_t at,
    const char *cause, argos_frame_t *header, argos_frame_t *body)
{
    argos_core_t *self = lane->service->core;
    session_t *session = argos_session_find (self, lane->session);
    if (session) {
        s_meta (&self->text, lane, from, lane->head, 0);
        argos_writer_member_int (&self->text, "attempt", attempt);
        argos_writer_member_int (&self->text, "hops", hops);
        argos_writer_member_string (&self->text, "cause", cause);
        argos_writer_member_int (&self->text, "at", at);
        argos_writer_raw (&self->text, "}");
        if (argos_core_put (self, session->conn, header, self->text.data, self->text.size, body) ==
            0) {
            argos_stats_note (self, (argos_trace_note_t){ .event = ARGOS_TRACE_SENT,
                                        .seq = lane->head,
                                        .lease = lane->lease,
                                        .peer = session->name });
            argos_lane_show (lane);
            return;
        }
    }
    argos_lease_give_back (self, lane, 0, true);
}

//  Its id as well: after a restart the trace has not seen it come.

static void
s_note_lease (const lane_t *lane, const argos_storage_ans_t *ans)
{
    const session_t *session = argos_session_find (lane->service->core, lane->session);
    argos_header_t header;
    const argos_frame_t *frame = ans->parts[0].header;
    if (argos_header_read (frame->data, frame->size, &header, NULL) != ARGOS_OK)
        return;
    argos_stats_note (lane->service->core, (argos_trace_note_t){ .event = ARGOS_TRACE_LEASED,
                                               .seq = ans->seq,
                                               .lease = ans->lease,
                                               .id = header.id,
                                               .type = header.type,
                                               .peer = session ? session->name : "",
                                               .cause = ans->cause });
}

void
argos_lease_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans)
{
    lane_t *lane = item->lane;
    service_t *service = lane->service;
    uint64_t session = item->worker;
    //  A message that was on its way when an older one of the lane came due may have been inserted
    //  leased: then the lane is no longer ours to change
    bool asked = lane->state == LANE_ASKED;
    lane->inserting--;
    if (asked) {
        argos_lane_not_alone (lane);
        lane->state = LANE_EMPTY;
        lane->session = 0;
    }
    if (ans->code == ARGOS_OK) {
        argos_lane_leased (lane, ans->seq, ans->lease, session);
        s_note_lease (lane, ans);
        argos_lease_send (lane, ans->from, ans->attempt, ans->hops, ans->at, ans->cause,
            ans->parts[0].header, ans->parts[0].body);
    }
    else {
        //  A disk that is full: not again at once. A row that is gone (expired): the next one
        if (asked && ans->gone_count == 0)
            argos_lane_park (lane, self->mono + 1000);
        argos_lane_consume (lane, ans->gone, ans->gone_count);
        argos_service_free_slot (service, session);
    }
    argos_entry_rows (self, ans);
}

//  ------------------------------------------------------------------------------------------------
//  Release

//  By the broker: the holder is gone or could not be reached.

static item_t *
s_give_back (argos_core_t *self, lane_t *lane, int strikes, bool clean)
{
    item_t *item = argos_intake_item (self, ARGOS_ST_RELEASE, 0);
    item->lane = lane;
    item->seq = item->req->seq = lane->head;
    item->lease = item->req->lease = lane->lease;
    item->req->strikes = strikes;
    item->req->clean = clean;
    lane->inserting++;
    argos_intake_queue (self->self, item);
    return item;
}

void
argos_lease_give_back (argos_core_t *self, lane_t *lane, int strikes, bool clean)
{
    s_give_back (self, lane, strikes, clean);
}

//  Its time is over: a holder that is here will be told.

void
argos_lease_end (lane_t *lane)
{
    argos_core_t *self = lane->service->core;
    item_t *item = s_give_back (self, lane, -1, false);
    item->end = lane->session != 0;
}

//  A lease was ended by others while its holder was at work: it must begin no effect any more. The
//  next worker of the lane is another one, if there is another.

static void
s_tell_end (argos_core_t *self, const lane_t *lane, const item_t *item)
{
    const session_t *holder = argos_session_find (self, lane->session);
    argos_service_forget (lane->service, lane->key);
    if (holder)
        argos_core_word_on (self, holder->conn, "refused", "", item->seq, item->lease,
            "{\"code\":\"fenced\",\"reason\":\"the lease was held longer than hold_max_ms of its "
            "service\",\"sent\":false}");
}

//  By the holder. The body was asked for in the protocol: delay_ms, clean, reject.

void
argos_lease_given_back (session_t *session, const argos_header_t *header, argos_frame_t *frame)
{
    argos_core_t *self = session->core;
    json_t *body = argos_core_body (self, session->conn, header, frame);
    if (!body)
        return;
    json_int_t delay = json_integer_value (json_object_get (body, "delay_ms"));
    const char *reject = json_string_value (json_object_get (body, "reject"));
    if (!header->seq || !header->lease ||
        (reject && strlen (reject) >= sizeof ((argos_storage_req_t *) 0)->reject)) {
        argos_core_refuse (self, session->conn, header->id, ARGOS_INVALID,
            "release needs seq and lease, and a code of at most 31 bytes", -1, false);
        json_decref (body);
        return;
    }
    lane_t *lane = argos_lane_of_head (self, header->seq);
    item_t *item = argos_intake_item (self, ARGOS_ST_RELEASE, 0);
    memcpy (item->id, header->id, sizeof item->id);
    item->seq = item->req->seq = header->seq;
    item->lease = item->req->lease = header->lease;
    memcpy (item->req->holder, session->holder, sizeof item->req->holder);
    item->delay = delay;
    item->req->delay_until = delay ? self->wall + delay : 0;
    item->req->clean = json_is_true (json_object_get (body, "clean"));
    if (reject)
        memcpy (item->req->reject, reject, strlen (reject) + 1);
    if (lane && lane->lease == header->lease) {
        item->lane = lane;
        lane->inserting++;
    }
    item->rank = CLASS_LEASED;
    json_decref (body);
    argos_intake_queue (session, item);
}

//  A row whose deadline has passed while nobody holds it.

void
argos_lease_expire (entry_t *entry)
{
    lane_t *lane = entry->lane;
    argos_core_t *self = lane->service->core;
    if ((lane->state == LANE_LEASED && lane->head == entry->seq) ||
        (lane->state == LANE_ASKED && lane->entries == entry))
        return; //  The holder will finish or release it; the store looks at the deadline before a
                //  lease
    item_t *item = argos_intake_item (self, ARGOS_ST_RELEASE, 0);
    item->lane = lane;
    item->seq = item->req->seq = entry->seq;
    memcpy (item->req->reject, "expired", sizeof "expired");
    lane->inserting++;
    argos_intake_queue (self->self, item);
}

//  Until when the lane waits; a side message that nobody has taken ends the delay before it begins.

static int64_t
s_delay (const lane_t *lane, const item_t *item)
{
    const entry_t *entry;
    if (lane->sides)
        DL_FOREACH (lane->entries, entry)
            if (entry->side && entry->seq != item->seq)
                return 0;
    return item->delay ? lane->service->core->mono + item->delay : 0;
}

//  What the end of a lease means for its lane; by is who ended it.

static void
s_free_lane (lane_t *lane, const item_t *item, const argos_storage_ans_t *ans, const char *by)
{
    argos_core_t *self = lane->service->core;
    lane->inserting--;
    bool ours = lane->state == LANE_LEASED && lane->head == item->seq && lane->lease == item->lease;
    if (ans->code == ARGOS_OK && (ours || ans->dead))
        argos_stats_note (self,
            (argos_trace_note_t){ .event = ans->dead ? ARGOS_TRACE_DEAD : ARGOS_TRACE_RELEASED,
                .seq = item->seq,
                .lease = item->lease,
                .peer = by });
    if (ans->code == ARGOS_OK && ours && item->end)
        s_tell_end (self, lane, item);
    if (ans->code == ARGOS_OK && ans->dead)
        argos_lane_consume (lane, ans->gone, ans->gone_count);
    else if (ans->code == ARGOS_OK && ours) {
        argos_lane_park (lane, s_delay (lane, item));
        argos_lane_freed (lane, ans->strikes);
    }
    else if (ans->code == ARGOS_NO_SPACE && ours && !lane->session)
        argos_lane_lost (lane); //  Tried again when the time is over
    else
        argos_lane_settle (lane);
}

void
argos_lease_released (argos_core_t *self, item_t *item, argos_storage_ans_t *ans)
{
    lane_t *lane = item->lane;
    session_t *session = argos_session_find (self, item->session);
    //  A peer may guess its lease and give it back before it has been told
    if (!lane && (lane = argos_lane_of_head (self, item->seq)))
        lane->inserting++;
    if (session && session != self->self) {
        if (ans->code == ARGOS_OK)
            argos_core_word (self, session->conn, "accepted", item->id, "{}");
        else
            argos_core_refuse (self, session->conn, item->id, ans->code, ans->reason, -1, false);
    }
    if (lane)
        s_free_lane (lane, item, ans, session && session != self->self ? session->name : "broker");
    argos_entry_rows (self, ans);
}

//  ------------------------------------------------------------------------------------------------
//  Side messages

//  What is known of a side message beside its row

typedef struct {
    const char *from;      //  Sender
    int64_t seq, hops, at; //  Row, hops, stored at
    const char *cause;     //  Id of the message whose commit made it, "" = none
} mail_t;

//  To the holder, who is here. When its connection does not take it, it is shown again when the
//  holder speaks.

static void
s_send_mail (
    lane_t *lane, uint64_t conn, const mail_t *mail, argos_frame_t *header, argos_frame_t *body)
{
    argos_core_t *self = lane->service->core;
    s_meta (&self->text, lane, mail->from, mail->seq, lane->head);
    argos_writer_member_int (&self->text, "hops", mail->hops);
    argos_writer_member_string (&self->text, "cause", mail->cause);
    argos_writer_member_int (&self->text, "at", mail->at);
    argos_writer_raw (&self->text, "}");
    if (argos_core_put (self, conn, header, self->text.data, self->text.size, body) != 0)
        argos_lane_unshow (lane, mail->seq);
}

//  One that is being stored is at hand: no need to read it again, behind all that the store has to
//  do. Not when an older one has still to be read, since it would be overtaken.

void
argos_lease_mail_now (entry_t *entry, const char *from, int64_t hops, const char *cause, int64_t at,
    argos_frame_t *header, argos_frame_t *body)
{
    lane_t *lane = entry->lane;
    const session_t *holder = argos_session_find (lane->service->core, lane->session);
    const entry_t *other;
    if (lane->mailing || !argos_lane_may_show (lane) || ARGOS_BUGGIFY ("lease.mail"))
        return;
    DL_FOREACH (lane->entries, other)
        if (other != entry && other->side && !other->shown && other->seq != lane->head)
            return;
    entry->shown = true;
    lane->shown++;
    s_send_mail (lane, holder->conn, &(mail_t){ from, entry->seq, hops, at, cause }, header, body);
}

void
argos_lease_mail (lane_t *lane, entry_t *entry)
{
    argos_core_t *self = lane->service->core;
    item_t *item = argos_intake_item (self, ARGOS_ST_MAIL, 0);
    item->lane = lane;
    item->seq = item->req->seq = entry->seq;
    item->lease = lane->lease;
    lane->inserting++;
    lane->mailing++;
    argos_intake_queue (self->self, item);
}

void
argos_lease_mailed (argos_core_t *self, item_t *item, argos_storage_ans_t *ans)
{
    lane_t *lane = item->lane;
    const session_t *session = argos_session_find (self, lane->session);
    lane->inserting--;
    lane->mailing--;
    bool ours = lane->state == LANE_LEASED && lane->lease == item->lease;
    bool unread = ans->code != ARGOS_OK && ans->code != ARGOS_NOT_FOUND;
    if (ours && (unread || (session && session->quiet)))
        argos_lane_unshow (lane, item->seq); //  Later, and in order
    if (ours && unread)
        return; //  Not at once: the store is in trouble. When the holder speaks again
    if (ans->code == ARGOS_OK && ours && session && !session->quiet)
        s_send_mail (lane, session->conn,
            &(mail_t){ ans->from, item->seq, ans->hops, ans->at, ans->cause }, ans->parts[0].header,
            ans->parts[0].body);
    argos_lane_settle (lane);
}
