//  argos_topic - fan-out with one sequence: kept entries are rows, passing ones live in a bounded
//  ring.
//
//  Invariant: entries go out in the order of their numbers, a kept one only after its commit; a
//  number whose commit failed is skipped. A complete number is base + count: count begins at 0 with
//  each start, base is what earlier starts used up (2^32 each). Readers are served from the ring,
//  and from the journal for what the ring no longer has; passing entries that were dropped are
//  gone, but the ring begins with a key frame then. Limits: ring_entries and 4 MiB a topic,
//  ring_bytes for all.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TOPIC_BYTES_MAX (4 << 20) //  Ring of one topic
#define READS_MAX 1024            //  Subscriptions of one session
#define ENTRY_COST 256            //  Bytes counted for an entry beside its frames

topic_t *
argos_topic_get (argos_core_t *self, const char *name)
{
    topic_t *topic;
    HASH_FIND_STR (self->topics, name, topic);
    if (topic)
        return topic;
    topic = calloc (1, sizeof *topic);
    assert (topic);
    topic->core = self;
    memcpy (topic->name, name, strlen (name) + 1);
    topic->kept = topic->newest = -1;
    HASH_ADD_STR (self->topics, name, topic);
    return topic;
}

static int64_t
s_cost (const ring_entry_t *slot)
{
    return ENTRY_COST + (int64_t) slot->header->size + (int64_t) slot->body->size;
}

static void
s_drop_first (topic_t *topic)
{
    ring_entry_t *slot = topic->ring;
    assert (slot);
    topic->dropped = slot->count + 1;
    topic->entries--;
    topic->bytes -= s_cost (slot);
    topic->core->rings_bytes -= s_cost (slot);
    DL_DELETE (topic->ring, slot);
    argos_frame_unref (&slot->header);
    argos_frame_unref (&slot->body);
    free (slot);
}

void
argos_topic_free (topic_t *topic)
{
    while (topic->ring)
        s_drop_first (topic);
    argos_timer_clear (&topic->core->timers, &topic->timer);
    HASH_DEL (topic->core->topics, topic);
    free (topic);
}

//  A topic is forgotten when nobody refers to it and it can't go on: closed and lingered, or never
//  written to in this start.

static void
s_maybe_free (topic_t *topic)
{
    if (topic->busy || topic->asking || topic->subscriptions || topic->timer.slot)
        return;
    if (topic->closed || topic->counter == 0)
        argos_topic_free (topic);
}

//  Whether the first entry may be dropped: not while its commit is on its way, and not the newest
//  one.

static bool
s_can_drop (const topic_t *topic)
{
    return topic->ring && topic->ring->next && topic->ring->state != SLOT_PENDING;
}

static void
s_lingered (void *arg)
{
    topic_t *topic = arg;
    while (s_can_drop (topic))
        s_drop_first (topic);
    s_maybe_free (topic);
}

//  Drop what is before the last key frame (or everything older when that is not enough).

static void
s_shrink (topic_t *topic, int64_t entries, int64_t bytes)
{
    ring_entry_t *slot, *key = NULL;
    DL_FOREACH (topic->ring, slot)
        if (slot->keyframe && slot->state == SLOT_READY)
            key = slot;
    while (key && topic->ring != key && s_can_drop (topic))
        s_drop_first (topic);
    while ((topic->entries > entries || topic->bytes > bytes) && s_can_drop (topic))
        s_drop_first (topic);
}

//  All rings are over their budget: the largest shrink first.

static void
s_shrink_all (argos_core_t *self)
{
    while (self->rings_bytes > self->config.ring_bytes) {
        topic_t *topic, *next, *largest = NULL;
        HASH_ITER (hh, self->topics, topic, next)
            if (!largest || topic->bytes > largest->bytes)
                largest = topic;
        if (!largest)
            return;
        int64_t before = self->rings_bytes;
        s_shrink (largest, largest->entries / 2, largest->bytes / 2);
        if (self->rings_bytes == before)
            return; //  Only commits on their way are left
    }
}

//  Take a number and a place in the ring. Kept entries wait there for their commit.

ring_entry_t *
argos_topic_append (topic_t *topic, const session_t *session, const argos_header_t *header,
    argos_frame_t *head, argos_frame_t *body)
{
    argos_core_t *self = topic->core;
    ring_entry_t *slot = calloc (1, sizeof *slot);
    assert (slot);
    slot->count = topic->counter++;
    slot->state = header->durable ? SLOT_PENDING : SLOT_READY;
    slot->kept = header->durable;
    slot->keyframe = header->keyframe;
    slot->last = header->last;
    slot->at = self->wall;
    memcpy (slot->from, session->base, sizeof slot->from);
    slot->header = argos_frame_ref (head);
    slot->body = argos_frame_ref (body);
    DL_APPEND (topic->ring, slot);
    topic->entries++;
    topic->bytes += s_cost (slot);
    self->rings_bytes += s_cost (slot);
    if (topic->entries > self->config.ring_entries || topic->bytes > TOPIC_BYTES_MAX)
        s_shrink (topic, self->config.ring_entries, TOPIC_BYTES_MAX);
    if (self->rings_bytes > self->config.ring_bytes)
        s_shrink_all (self);
    return slot; //  NOLINT(clang-analyzer-unix.Malloc): the newest entry is never dropped
}

//  ------------------------------------------------------------------------------------------------
//  Letting out

//  One entry to one reader; counts against its credit. Returns false when it can't take it now.

static bool
s_send (subscription_t *sub, int64_t number, const char *from, int64_t at, bool kept,
    argos_frame_t *header, argos_frame_t *body)
{
    argos_core_t *self = sub->topic->core;
    session_t *session = sub->session;
    int64_t bytes = (int64_t) header->size + (int64_t) body->size;
    if (session->quiet || session->sent_messages >= session->credit_messages ||
        session->sent_bytes + bytes > session->credit_bytes)
        return false;
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
        return false;
    }
    session->sent_messages++;
    session->sent_bytes += bytes;
    sub->next = number + 1;
    return true;
}

//  The newest number that is out, -1 = none.

static int64_t
s_newest (const topic_t *topic)
{
    const ring_entry_t *slot;
    int64_t newest = topic->newest;
    if (topic->dropped > 0 && topic->base + topic->dropped > newest)
        newest = topic->base + topic->dropped - 1;
    DL_FOREACH (topic->ring, slot) {
        if (slot->state == SLOT_PENDING)
            break;
        if (slot->state == SLOT_READY && topic->base + slot->count > newest)
            newest = topic->base + slot->count;
    }
    return newest;
}

//  {"n":…,"closed":…}: the reader has everything there is.

static void
s_end (subscription_t *sub)
{
    topic_t *topic = sub->topic;
    argos_writer_t body = { .size = 0 };
    sub->ended = true;
    argos_writer_raw (&body, "{");
    argos_writer_member_int (&body, "n", topic->based ? s_newest (topic) : -1);
    argos_writer_raw (&body, topic->closed ? ",\"closed\":true}" : ",\"closed\":false}");
    body.data[body.size] = 0;
    argos_core_word (topic->core, sub->session->conn, "end", sub->id, body.data);
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

//  Ask the store what it knows of a topic; one that has entries is made when it isn't there.

static void
s_look (topic_t *topic)
{
    argos_core_t *self = topic->core;
    item_t *item = argos_intake_item (self, ARGOS_ST_TOPIC, 0);
    memcpy (item->req->name, topic->name, sizeof topic->name);
    if (topic->counter > 0) {
        const char *owner = topic->ring ? topic->ring->from : "broker";
        memcpy (item->req->owner, owner, strlen (owner) + 1);
        item->done = true;
    }
    item->topic = topic;
    topic->busy++;
    topic->asking = true;
    argos_intake_queue (self->self, item);
}

//  First complete number that the ring still has, or will have.

static int64_t
s_ring_first (const topic_t *topic)
{
    return topic->base + topic->dropped;
}

//  Whether it is known what the topic held before this start.

static bool
s_known (const topic_t *topic)
{
    return topic->based && (topic->base == 0 || topic->looked);
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

//  Give a reader what it has not got, as far as its credit goes.

static void
s_pump (subscription_t *sub)
{
    topic_t *topic = sub->topic;
    if (!s_known (topic) || sub->paging || !sub->session->open)
        return;
    if (sub->next < s_ring_first (topic) && (topic->dropped > 0 || topic->kept >= sub->next)) {
        if (!sub->session->quiet && sub->session->sent_messages < sub->session->credit_messages)
            s_page (sub);
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

static void
s_pump_all (topic_t *topic)
{
    subscription_t *sub, *next;
    LL_FOREACH_SAFE2 (topic->subscriptions, sub, next, next_of_topic)
        s_pump (sub);
}

//  Entries before the first pending one are out; a last entry among them closes the topic.

static void
s_close_if_last (topic_t *topic)
{
    argos_core_t *self = topic->core;
    if (topic->closed)
        return;
    topic->closed = true;
    argos_timer_set (
        &self->timers, &topic->timer, self->mono + self->config.linger_ms, s_lingered, topic);
}

void
argos_topic_settled (topic_t *topic, ring_entry_t *slot, bool stored, int64_t number)
{
    slot->state = stored ? SLOT_READY : SLOT_SKIPPED;
    if (stored && !topic->based) {
        topic->base = number - slot->count;
        topic->based = true;
    }
    if (stored && slot->last)
        s_close_if_last (topic);
    s_pump_all (topic);
    s_maybe_free (topic);
}

//  A passing entry. Nothing is answered unless it is refused.

void
argos_topic_publish (session_t *session, const argos_header_t *header, argos_frame_t **frames)
{
    argos_core_t *self = session->core;
    if (header->seq) {
        lane_t *lane = argos_lane_of_head (self, header->seq);
        if (!lane || lane->lease != header->lease || lane->session != session->number) {
            argos_core_refuse (self, session->conn, header->id, ARGOS_FENCED, NULL, -1, false);
            return;
        }
    }
    topic_t *topic = argos_topic_get (self, header->name);
    if (topic->closed || header->last) {
        argos_core_refuse (self, session->conn, header->id, ARGOS_CONFLICT,
            header->last ? "only a durable entry can be the last" : "the topic is closed", -1,
            false);
        s_maybe_free (topic);
        return;
    }
    argos_topic_append (topic, session, header, frames[1], frames[3]);
    if (!topic->based && topic->subscriptions && !topic->asking)
        s_look (topic);
    s_pump_all (topic);
}

//  ------------------------------------------------------------------------------------------------
//  Readers

static subscription_t *
s_find (session_t *session, const topic_t *topic)
{
    subscription_t *sub;
    DL_FOREACH2 (session->subscriptions, sub, snext)
        if (sub->topic == topic)
            return sub;
    return NULL;
}

static void
s_free_subscription (subscription_t *sub)
{
    topic_t *topic = sub->topic;
    DL_DELETE2 (topic->subscriptions, sub, prev, next_of_topic);
    DL_DELETE2 (sub->session->subscriptions, sub, sprev, snext);
    free (sub);
    s_maybe_free (topic);
}

void
argos_topic_subscribe (session_t *session, const argos_header_t *header, argos_frame_t *frame)
{
    argos_core_t *self = session->core;
    json_t *body = argos_core_body (self, session->conn, header, frame);
    if (!body)
        return;
    bool form = header->id[0] && header->to == ARGOS_TO_TOPIC;
    json_int_t next = json_integer_value (json_object_get (body, "from"));
    json_decref (body);
    subscription_t *sub;
    int count;
    DL_COUNT2 (session->subscriptions, sub, count, snext);
    if (!form || count >= READS_MAX) {
        argos_core_refuse (self, session->conn, header->id, form ? ARGOS_BUSY : ARGOS_INVALID,
            "subscribe goes to a topic, with an id; at most 1024 topics", -1, false);
        return;
    }
    if (!argos_session_may_read (session, header->name, false)) {
        argos_core_refuse (self, session->conn, header->id, ARGOS_DENIED,
            "this role may not read that topic", -1, false);
        return;
    }
    topic_t *topic = argos_topic_get (self, header->name);
    topic->busy++; //  It stays while the old subscription is replaced
    sub = s_find (session, topic);
    if (sub)
        s_free_subscription (sub);
    topic->busy--;
    sub = calloc (1, sizeof *sub);
    assert (sub);
    sub->session = session;
    sub->topic = topic;
    sub->next = next;
    memcpy (sub->id, header->id, sizeof sub->id);
    DL_APPEND2 (topic->subscriptions, sub, prev, next_of_topic);
    DL_APPEND2 (session->subscriptions, sub, sprev, snext);
    if (!s_known (topic) && !topic->asking)
        s_look (topic);
    s_pump (sub);
}

void
argos_topic_unsubscribe (session_t *session, const argos_header_t *header)
{
    topic_t *topic;
    HASH_FIND_STR (session->core->topics, header->name, topic);
    subscription_t *sub = topic ? s_find (session, topic) : NULL;
    if (sub)
        s_free_subscription (sub);
    if (header->id[0])
        argos_core_word (session->core, session->conn, "accepted", header->id, "{}");
}

//  What the store knows of a topic. One that is not there yet begins at 0 when it is made in this
//  start.

void
argos_topic_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans)
{
    topic_t *topic = item->topic;
    topic->busy--;
    topic->asking = false;
    topic->looked = true;
    if (ans->code == ARGOS_OK) {
        topic->base = (self->config.boot - ans->boot) * ((int64_t) 1 << 32);
        topic->based = true;
        topic->newest = ans->number;
        topic->kept = ans->number < topic->base ? ans->number : topic->base - 1;
        if (ans->closed)
            s_close_if_last (topic);
    }
    else if (topic->counter > 0 && topic->subscriptions && !topic->based && !item->done) {
        s_look (topic);
        return;
    }
    else {
        //  Nothing yet: readers are told so and wait for the first entry
        subscription_t *sub;
        LL_FOREACH2 (topic->subscriptions, sub, next_of_topic)
            if (!sub->ended)
                s_end (sub);
    }
    s_pump_all (topic);
    s_maybe_free (topic);
}

static subscription_t *
s_reader (topic_t *topic, uint64_t session)
{
    subscription_t *sub;
    LL_FOREACH2 (topic->subscriptions, sub, next_of_topic)
        if (sub->session->number == session)
            return sub;
    return NULL;
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
        if (part->number >= s_ring_first (topic)) {
            over = true;
            break;
        }
        if (part->number >= sub->next &&
            !s_send (sub, part->number, part->from, part->at, true, part->header,
                part->body ? part->body : topic->core->empty))
            return;
    }
    if (over && sub->next < s_ring_first (topic))
        sub->next = s_ring_first (topic);
    s_pump (sub);
}

void
argos_topic_paged (argos_core_t *self, item_t *item, argos_storage_ans_t *ans)
{
    topic_t *topic = item->topic;
    subscription_t *sub = s_reader (topic, (uint64_t) item->seq);
    (void) self;
    topic->busy--;
    //  Not when it has subscribed anew meanwhile, from another number
    if (sub && sub->paging && sub->next == item->n) {
        sub->paging = false;
        s_paged (sub, ans);
    }
    s_maybe_free (topic);
}

//  A reader has granted more credit.

void
argos_topic_credit (session_t *session)
{
    subscription_t *sub, *next;
    DL_FOREACH_SAFE2 (session->subscriptions, sub, next, snext)
        s_pump (sub);
}

void
argos_topic_leave (session_t *session)
{
    subscription_t *sub, *next;
    DL_FOREACH_SAFE2 (session->subscriptions, sub, next, snext)
        s_free_subscription (sub);
}
