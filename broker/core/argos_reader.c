//  argos_reader - how far a reader is: from the ring, from the rows for what the ring no longer
//  has, as fast as it grants credit.
//
//  Invariant: entries of a topic go to a subscription in the order of their numbers; nothing is
//  stored for a reader but its place, so one that grants nothing costs no more than that. A
//  subscription whose next entry can't go stands in its session's stuck list, and ends after
//  slow_ms there. Limits: none of its own.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

//  ------------------------------------------------------------------------------------------------
//  Subscriptions

subscription_t *
argos_reader_new (session_t *session, topic_t *topic, pattern_t *pattern)
{
    subscription_t *sub = calloc (1, sizeof *sub);
    assert (sub);
    sub->session = session;
    sub->topic = topic;
    sub->pattern = pattern;
    sub->live = -1;
    DL_APPEND2 (topic->subscriptions, sub, prev, next_of_topic);
    DL_APPEND2 (session->subscriptions, sub, sprev, snext);
    topic->readers += pattern == NULL;
    session->reads += pattern == NULL;
    return sub;
}

static void
s_unstick (subscription_t *sub)
{
    if (sub->stuck)
        DL_DELETE2 (sub->session->stuck, sub, wprev, wnext);
    sub->stuck = false;
}

//  The topic stays, whoever still refers to it.

void
argos_reader_drop (subscription_t *sub)
{
    topic_t *topic = sub->topic;
    session_t *session = sub->session;
    s_unstick (sub);
    argos_timer_clear (&topic->core->timers, &sub->timer);
    DL_DELETE2 (topic->subscriptions, sub, prev, next_of_topic);
    DL_DELETE2 (session->subscriptions, sub, sprev, snext);
    topic->readers -= sub->pattern == NULL;
    session->reads -= sub->pattern == NULL;
    free (sub);
}

void
argos_reader_free (subscription_t *sub)
{
    topic_t *topic = sub->topic;
    argos_reader_drop (sub);
    argos_topic_maybe_free (topic);
}

//  ------------------------------------------------------------------------------------------------
//  Letting out

//  A reader that took nothing for slow_ms while something waited for it: it may come back and
//  resume where it was. A connection that takes nothing is not told; its session will end.

static void
s_slow (void *arg)
{
    subscription_t *sub = arg;
    argos_core_t *self = sub->topic->core;
    const char *id = sub->pattern ? sub->pattern->id : sub->id;
    if (!sub->stuck)
        return;
    argos_core_refuse (self, sub->session->conn, id, ARGOS_BUSY,
        "entries have waited too long for credit; subscribe again", -1, false);
    if (sub->pattern)
        argos_subscribe_free_pattern (sub->pattern);
    else
        argos_reader_free (sub);
}

//  Something waits for the reader that can't go now: it is looked at again when credit comes. The
//  time runs from the last entry that it took.

static void
s_stick (subscription_t *sub)
{
    argos_core_t *self = sub->topic->core;
    if (!sub->timer.slot)
        argos_timer_set (
            &self->timers, &sub->timer, self->mono + self->config.slow_ms, s_slow, sub);
    if (!sub->stuck)
        DL_APPEND2 (sub->session->stuck, sub, wprev, wnext);
    sub->stuck = true;
}

static bool
s_has_credit (const session_t *session, int64_t bytes)
{
    return !session->quiet && session->sent_messages < session->credit_messages &&
           session->sent_bytes + bytes <= session->credit_bytes;
}

//  One entry to one reader; counts against its credit. Returns false when it can't take it now.

static bool
s_send (subscription_t *sub, int64_t number, const char *from, int64_t at, bool kept,
    argos_frame_t *header, argos_frame_t *body)
{
    argos_core_t *self = sub->topic->core;
    session_t *session = sub->session;
    int64_t bytes = (int64_t) header->size + (int64_t) body->size;
    if (!s_has_credit (session, bytes)) {
        s_stick (sub);
        return false;
    }
    argos_writer_t *text = &self->text;
    argos_writer_clear (text);
    argos_writer_raw (text, "{");
    argos_writer_member_string (text, "from", from);
    argos_writer_member_string (text, "topic", sub->topic->name);
    argos_writer_member_int (text, "n", number);
    argos_writer_member_int (text, "at", at);
    argos_writer_raw (text, kept ? ",\"kept\":true}" : ",\"kept\":false}");
    if (argos_core_put (self, session->conn, header, text->data, text->size, body) != 0) {
        session->quiet = true;
        s_stick (sub);
        return false;
    }
    argos_timer_clear (&self->timers, &sub->timer);
    s_unstick (sub);
    session->sent_messages++;
    session->sent_bytes += bytes;
    sub->next = number + 1;
    return true;
}

//  {"n":…,"closed":…}: the reader has everything there is.

void
argos_reader_say_end (const session_t *session, const char *id, int64_t newest, bool closed)
{
    argos_writer_t body = { .size = 0 };
    argos_writer_raw (&body, "{");
    argos_writer_member_int (&body, "n", newest);
    argos_writer_raw (&body, closed ? ",\"closed\":true}" : ",\"closed\":false}");
    body.data[body.size] = 0;
    argos_core_word (session->core, session->conn, "end", id, body.data);
}

static void
s_end (subscription_t *sub)
{
    const topic_t *topic = sub->topic;
    sub->ended = true;
    argos_reader_say_end (
        sub->session, sub->id, topic->based ? argos_topic_newest (topic) : -1, topic->closed);
}

void
argos_reader_end_all (topic_t *topic)
{
    subscription_t *sub;
    LL_FOREACH2 (topic->subscriptions, sub, next_of_topic)
        if (!sub->ended)
            s_end (sub);
}

//  Ask for the page of the journal that begins with the reader's next number.

static void
s_page (subscription_t *sub)
{
    argos_core_t *self = sub->topic->core;
    item_t *item = argos_intake_item (self, ARGOS_ST_JOURNAL, 0);
    memcpy (item->req->name, sub->topic->name, sizeof sub->topic->name);
    item->req->number = sub->next;
    item->topic = sub->topic;
    item->seq = (int64_t) sub->session->number;
    item->n = sub->next;
    sub->topic->busy++;
    sub->paging = true;
    argos_intake_queue (self->self, item);
}

//  The first entry of the ring that a reader has not got.

static const ring_entry_t *
s_first_for (const subscription_t *sub)
{
    const topic_t *topic = sub->topic;
    const ring_entry_t *slot = topic->ring ? topic->ring->prev : NULL;
    if (!slot || topic->base + slot->count < sub->next)
        return NULL;
    while (slot != topic->ring && topic->base + slot->prev->count >= sub->next)
        slot = slot->prev;
    return slot;
}

//  Whether something for this reader is in the rows only.

static bool
s_behind_ring (const subscription_t *sub)
{
    const topic_t *topic = sub->topic;
    return sub->next < argos_topic_ring_first (topic) &&
           (topic->dropped > 0 || topic->kept >= sub->next);
}

//  Give a reader what it has not got, as far as its credit goes.

void
argos_reader_pump (subscription_t *sub)
{
    topic_t *topic = sub->topic;
    if (!argos_topic_known (topic) || sub->paging || !sub->session->open)
        return;
    if (sub->live >= 0)
        sub->next = topic->base + sub->live;
    sub->live = -1;
    if (s_behind_ring (sub)) {
        if (s_has_credit (sub->session, 0))
            s_page (sub);
        else
            s_stick (sub);
        return;
    }
    for (const ring_entry_t *slot = s_first_for (sub); slot; slot = slot->next) {
        if (slot->state == SLOT_PENDING)
            return;
        if (slot->state == SLOT_READY && !s_send (sub, topic->base + slot->count, slot->from,
                                             slot->at, slot->kept, slot->header, slot->body))
            return;
    }
    if (!sub->ended)
        s_end (sub);
}

void
argos_reader_pump_all (topic_t *topic)
{
    subscription_t *sub, *next;
    LL_FOREACH_SAFE2 (topic->subscriptions, sub, next, next_of_topic)
        argos_reader_pump (sub);
}

//  A page of the journal for one reader: what is before the ring goes out, then the ring goes on. A
//  reader without credit comes back for the rest.

static void
s_paged (subscription_t *sub, const argos_storage_ans_t *ans)
{
    const topic_t *topic = sub->topic;
    bool over = !(ans->more && ans->part_count);
    if (ans->code != ARGOS_OK && ans->code != ARGOS_NOT_FOUND)
        return;
    for (size_t i = 0; i < ans->part_count; i++) {
        const argos_storage_part_t *part = &ans->parts[i];
        if (part->number >= argos_topic_ring_first (topic)) {
            over = true;
            break;
        }
        if (part->number >= sub->next &&
            !s_send (sub, part->number, part->from, part->at, true, part->header,
                part->body ? part->body : topic->core->empty))
            return;
    }
    if (over && sub->next < argos_topic_ring_first (topic))
        sub->next = argos_topic_ring_first (topic);
    argos_reader_pump (sub);
}

static subscription_t *
s_pager (topic_t *topic, const item_t *item)
{
    subscription_t *sub;
    //  Not one that has subscribed anew meanwhile, from another number
    LL_FOREACH2 (topic->subscriptions, sub, next_of_topic)
        if (sub->session->number == (uint64_t) item->seq && sub->paging && sub->next == item->n)
            return sub;
    return NULL;
}

void
argos_reader_paged (argos_core_t *self, item_t *item, argos_storage_ans_t *ans)
{
    topic_t *topic = item->topic;
    subscription_t *sub = s_pager (topic, item);
    (void) self;
    topic->busy--;
    if (sub) {
        sub->paging = false;
        s_paged (sub, ans);
    }
    argos_topic_maybe_free (topic);
}

//  A reader has granted more credit, or is heard again: those that wait get their turn, each once.

void
argos_reader_credit (session_t *session)
{
    subscription_t *sub;
    int count;
    DL_COUNT2 (session->stuck, sub, count, wnext);
    while (count-- > 0 && session->stuck && s_has_credit (session, 0)) {
        sub = session->stuck;
        s_unstick (sub);
        argos_reader_pump (sub);
    }
}
