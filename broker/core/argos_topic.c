//  argos_topic - a topic's numbers, its owner and its ring: kept entries are rows, passing ones
//  live in the ring only.
//
//  Invariant: entries go out in the order of their numbers, a kept one only after its commit; a
//  number whose commit failed is skipped. A complete number is base + count: count begins at 0 with
//  each start, base is what earlier starts used up (2^32 each). Nothing goes out before base and
//  owner are known, so that what a stranger published can still be taken back. When passing entries
//  are dropped, the ring begins with a key frame then. Limits: ring_entries and 4 MiB a topic,
//  ring_bytes for all; PEER_TOPICS_MAX that a peer has made and not closed, TOPICS_MAX of all.

#include "argos_buggify.h"
#include "argos_core_priv.h"
#include "argos_pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TOPIC_BYTES_MAX (4 << 20) //  Ring of one topic
#define ENTRY_COST 256            //  Bytes counted for an entry beside its frames
#define TOPICS_MAX 65536          //  At a time; actors of the core may make more
#define PEER_TOPICS_MAX 4096      //  Made in a session and not closed

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
    argos_subscribe_join (topic);
    return topic;
}

bool
argos_topic_may_make (const session_t *session, const char *name)
{
    const topic_t *topic;
    HASH_FIND_STR (session->core->topics, name, topic);
    return topic || argos_role_all (session->role) ||
           (session->topics < PEER_TOPICS_MAX && HASH_COUNT (session->core->topics) < TOPICS_MAX);
}

//  It is closed or forgotten: who has made it may make another.

static void
s_unmake (topic_t *topic)
{
    session_t *session = argos_session_find (topic->core, topic->maker);
    topic->maker = 0;
    if (session)
        session->topics--;
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
    if (topic->key == slot)
        topic->key = NULL;
    argos_frame_unref (&slot->header);
    argos_frame_unref (&slot->body);
    free (slot);
}

void
argos_topic_free (topic_t *topic)
{
    argos_subscribe_part (topic);
    s_unmake (topic);
    while (topic->ring)
        s_drop_first (topic);
    argos_timer_clear (&topic->core->timers, &topic->timer);
    HASH_DEL (topic->core->topics, topic);
    free (topic);
}

//  A topic is forgotten when nobody refers to it by its name and it can't go on: closed and
//  lingered, or never written to in this start.

void
argos_topic_maybe_free (topic_t *topic)
{
    if (topic->busy || topic->asking || topic->readers || topic->timer.slot)
        return;
    if (topic->closed || topic->counter == 0)
        argos_topic_free (topic);
}

//  Whether the first entry may be dropped: not while its commit is on its way, and the newest one
//  only in need. While its owner is not known it says who that may be.

static bool
s_can_drop (const topic_t *topic, bool need)
{
    return topic->ring && topic->ring->state != SLOT_PENDING &&
           (topic->ring->next || (need && topic->owner[0]));
}

static void
s_lingered (void *arg)
{
    topic_t *topic = arg;
    while (s_can_drop (topic, false))
        s_drop_first (topic);
    argos_topic_maybe_free (topic);
}

//  Drop what is before the last key frame (or everything older when that is not enough).

static void
s_shrink (topic_t *topic, int64_t entries, int64_t bytes)
{
    while (topic->key && topic->ring != topic->key && s_can_drop (topic, false))
        s_drop_first (topic);
    while ((topic->entries > entries || topic->bytes > bytes) && s_can_drop (topic, false))
        s_drop_first (topic);
}

//  The largest ring from which something may be dropped, NULL = none. Not `but`, whose newest entry
//  is still to go out.

static topic_t *
s_largest (const argos_core_t *self, const topic_t *but, bool need)
{
    topic_t *topic, *next, *largest = NULL;
    HASH_ITER (hh, self->topics, topic, next)
        if (s_can_drop (topic, need && topic != but) && (!largest || topic->bytes > largest->bytes))
            largest = topic;
    return largest;
}

//  All rings are over their budget: the largest shrink first. When each has its newest entry only,
//  these go too.

static void
s_shrink_all (argos_core_t *self, const topic_t *but)
{
    topic_t *largest;
    while (self->rings_bytes > self->config.ring_bytes && (largest = s_largest (self, but, false)))
        s_shrink (largest, largest->entries / 2, largest->bytes / 2);
    while (self->rings_bytes > self->config.ring_bytes && (largest = s_largest (self, but, true)))
        s_drop_first (largest);
}

//  Remembered here, since a ring that is full is looked at with each entry.

static void
s_note_key (topic_t *topic, ring_entry_t *slot)
{
    if (slot->keyframe && slot->state == SLOT_READY &&
        (!topic->key || topic->key->count < slot->count))
        topic->key = slot;
}

//  What a ring keeps of a frame. A piece of a packed commit would hold all of that, which the ring
//  does not count; small ones are copied, whether they are pieces or not.

static argos_frame_t *
s_keep (const ring_entry_t *slot, argos_frame_t *frame)
{
    bool copied = slot->kept && frame && frame->size < ARGOS_PACK_MAX;
    return copied ? argos_frame_new (frame->data, frame->size) : argos_frame_ref (frame);
}

//  Take a number and a place in the ring. Kept entries wait there for their commit.

ring_entry_t *
argos_topic_append (topic_t *topic, session_t *session, const argos_header_t *header,
    argos_frame_t *head, argos_frame_t *body)
{
    argos_core_t *self = topic->core;
    if (topic->counter == 0 && !topic->maker) {
        topic->maker = session->number;
        session->topics++;
    }
    ring_entry_t *slot = calloc (1, sizeof *slot);
    assert (slot);
    slot->count = topic->counter++;
    slot->state = header->durable ? SLOT_PENDING : SLOT_READY;
    slot->kept = header->durable;
    slot->keyframe = header->keyframe;
    slot->last = header->last;
    slot->at = self->wall;
    slot->session = argos_session_any_topic (session) ? 0 : session->number;
    memcpy (slot->from, session->base, sizeof slot->from);
    slot->header = s_keep (slot, head);
    slot->body = s_keep (slot, body);
    DL_APPEND (topic->ring, slot);
    s_note_key (topic, slot);
    topic->entries++;
    topic->bytes += s_cost (slot);
    self->rings_bytes += s_cost (slot);
    if (ARGOS_BUGGIFY ("topic.ring"))
        s_shrink (topic, 1, TOPIC_BYTES_MAX);
    if (topic->entries > self->config.ring_entries || topic->bytes > TOPIC_BYTES_MAX)
        s_shrink (topic, self->config.ring_entries, TOPIC_BYTES_MAX);
    if (self->rings_bytes > self->config.ring_bytes)
        s_shrink_all (self, topic);
    return slot; //  NOLINT(clang-analyzer-unix.Malloc): the newest entry is never dropped
}

//  ------------------------------------------------------------------------------------------------
//  What the store knows

//  Ask the store what it knows of a topic; one that has entries is made when it isn't there, if
//  someone reads it: its numbers must not be used again after a restart.

void
argos_topic_look (topic_t *topic)
{
    argos_core_t *self = topic->core;
    item_t *item = argos_intake_item (self, ARGOS_ST_TOPIC, 0);
    memcpy (item->req->name, topic->name, sizeof topic->name);
    if (topic->counter > 0 && topic->subscriptions) {
        const char *first = topic->ring ? topic->ring->from : "broker";
        const char *owner = topic->owner[0] ? topic->owner : first;
        memcpy (item->req->owner, owner, strlen (owner) + 1);
        item->done = true;
    }
    item->topic = topic;
    topic->busy++;
    topic->asking = true;
    argos_intake_queue (self->self, item);
}

//  Whether it is known what the topic held before this start, and whose it is.

bool
argos_topic_known (const topic_t *topic)
{
    return topic->based && (topic->base == 0 || topic->looked);
}

//  First complete number that the ring still has, or will have.

int64_t
argos_topic_ring_first (const topic_t *topic)
{
    return topic->base + topic->dropped;
}

//  The newest number that is out, -1 = none.

int64_t
argos_topic_newest (const topic_t *topic)
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

//  A passing entry of someone whose topic it turned out not to be: nobody has got it yet.

static void
s_take_back (topic_t *topic, ring_entry_t *slot)
{
    argos_core_t *self = topic->core;
    argos_header_t header;
    session_t *session = argos_session_find (self, slot->session);
    slot->state = SLOT_SKIPPED;
    if (topic->key == slot)
        topic->key = NULL;
    if (session &&
        argos_header_read (slot->header->data, slot->header->size, &header, NULL) == ARGOS_OK)
        argos_core_refuse (self, session->conn, header.id, ARGOS_DENIED,
            "the topic belongs to another", -1, false);
}

//  The topic has an owner; what others have published before that was known is taken back.

static void
s_own (topic_t *topic, const char *owner)
{
    ring_entry_t *slot;
    if (!*owner || strcmp (topic->owner, owner) == 0)
        return;
    memcpy (topic->owner, owner, strlen (owner) + 1);
    DL_FOREACH (topic->ring, slot)
        if (slot->state == SLOT_READY && !slot->kept && slot->session &&
            strcmp (slot->from, owner) != 0)
            s_take_back (topic, slot);
}

static void
s_close (topic_t *topic)
{
    argos_core_t *self = topic->core;
    if (topic->closed)
        return;
    topic->closed = true;
    s_unmake (topic);
    argos_timer_set (
        &self->timers, &topic->timer, self->mono + self->config.linger_ms, s_lingered, topic);
}

//  What the store knows of a topic. One that is not there yet begins at 0 when it is made in this
//  start, and belongs to who published first.

void
argos_topic_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans)
{
    topic_t *topic = item->topic;
    topic->busy--;
    topic->asking = false;
    topic->looked = true;
    if (ans->code == ARGOS_OK) {
        s_own (topic, ans->owner);
        topic->base = (self->config.boot - ans->boot) * ((int64_t) 1 << 32);
        topic->based = true;
        topic->newest = ans->number;
        topic->kept = ans->number < topic->base ? ans->number : topic->base - 1;
        if (ans->closed)
            s_close (topic);
    }
    else if (topic->counter > 0 && topic->subscriptions && !topic->based && !item->done) {
        argos_topic_look (topic);
        return;
    }
    else {
        if (ans->code == ARGOS_NOT_FOUND && topic->ring && !topic->owner[0])
            s_own (topic, topic->ring->from);
        argos_reader_end_all (topic);
    }
    argos_reader_pump_all (topic);
    argos_topic_maybe_free (topic);
}

//  ------------------------------------------------------------------------------------------------
//  Entries

//  A kept entry has become a row, or not; the store says whose the topic is.

void
argos_topic_settled (
    topic_t *topic, ring_entry_t *slot, bool stored, int64_t number, const char *owner)
{
    slot->state = stored ? SLOT_READY : SLOT_SKIPPED;
    s_note_key (topic, slot);
    if (stored) {
        s_own (topic, owner);
        if (!topic->based)
            topic->base = number - slot->count;
        topic->based = true;
    }
    if (stored && slot->last)
        s_close (topic);
    if (stored && topic->subscriptions && !argos_topic_known (topic) && !topic->asking)
        argos_topic_look (topic);
    argos_reader_pump_all (topic);
    argos_topic_maybe_free (topic);
}

//  Whether a passing entry may be taken. Returns ARGOS_OK, or why not with a sentence.

static argos_err_t
s_may_publish (const session_t *session, const argos_header_t *header, const topic_t *topic,
    const char **ret_reason)
{
    argos_core_t *self = session->core;
    if (header->seq) {
        const lane_t *lane = argos_lane_of_head (self, header->seq);
        if (!lane || lane->lease != header->lease || lane->session != session->number)
            return ARGOS_FENCED;
    }
    *ret_reason = "a pattern can only be read";
    if (argos_trie_is_pattern (header->name))
        return ARGOS_INVALID;
    *ret_reason = "only a durable entry can be the last";
    if (header->last)
        return ARGOS_CONFLICT;
    *ret_reason = "the topic is closed";
    if (topic && topic->closed)
        return ARGOS_CONFLICT;
    *ret_reason = "the topic belongs to another";
    if (topic && topic->owner[0] && strcmp (topic->owner, session->base) != 0 &&
        !argos_session_any_topic (session))
        return ARGOS_DENIED;
    *ret_reason = ARGOS_TOPICS_FULL;
    return argos_topic_may_make (session, header->name) ? ARGOS_OK : ARGOS_BUSY;
}

//  A passing entry. Nothing is answered unless it is refused.

void
argos_topic_publish (session_t *session, const argos_header_t *header, argos_frame_t **frames)
{
    argos_core_t *self = session->core;
    const char *reason = NULL;
    topic_t *topic;
    HASH_FIND_STR (self->topics, header->name, topic);
    argos_err_t code = s_may_publish (session, header, topic, &reason);
    if (code != ARGOS_OK) {
        argos_core_refuse (self, session->conn, header->id, code, reason, -1, false);
        return;
    }
    topic = topic ? topic : argos_topic_get (self, header->name);
    ring_entry_t *slot = argos_topic_append (topic, session, header, frames[1], frames[3]);
    bool whose = slot->session && !topic->owner[0];
    if (!topic->asking && (whose || (topic->subscriptions && !argos_topic_known (topic))))
        argos_topic_look (topic);
    argos_reader_pump_all (topic);
}
