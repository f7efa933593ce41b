//  argos_trace - two walks through the ring find a path: back from the message to what led to it,
//  then on to all that followed.
//
//  Invariant: a record is written in one go and never changed; the oldest makes room. What follows
//  a message comes after it, so each walk is one pass. Limits: FOLLOWED messages of one path.

#include "argos_trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FOLLOWED 256 //  Messages of one path

struct argos_trace {
    size_t room;                   //  Records of the ring
    uint64_t written;              //  Records so far
    argos_trace_record_t *records; //  room of them
};

argos_trace_t *
argos_trace_new (int64_t entries)
{
    const int64_t most = ARGOS_TRACE_BYTES / (int64_t) sizeof (argos_trace_record_t);
    if (entries <= 0)
        return NULL;
    argos_trace_t *self = calloc (1, sizeof *self);
    assert (self);
    self->room = (size_t) (entries < most ? entries : most);
    self->records = calloc (self->room, sizeof *self->records);
    assert (self->records);
    return self;
}

void
argos_trace_destroy (argos_trace_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    free ((*self_p)->records);
    free (*self_p);
    *self_p = NULL;
}

//  Eight bytes at a time: ids are long, and this runs for each message.

uint64_t
argos_trace_key (const char *id)
{
    size_t left = id ? strlen (id) : 0;
    uint64_t key = 0x9e3779b97f4a7c15ULL ^ left;
    if (left == 0)
        return 0;
    while (left > 0) {
        uint64_t word = 0;
        size_t size = left < sizeof word ? left : sizeof word;
        memcpy (&word, id, size);
        key = (key ^ word) * 0xff51afd7ed558ccdULL;
        key ^= key >> 32;
        id += size;
        left -= size;
    }
    return key ? key : 1;
}

static void
s_copy (char target[ARGOS_TRACE_TEXT], const char *text)
{
    size_t size = text ? strnlen (text, ARGOS_TRACE_TEXT) : 0;
    if (size)
        memcpy (target, text, size);
    if (size < ARGOS_TRACE_TEXT)
        target[size] = 0;
}

void
argos_trace_add (argos_trace_t *self, const argos_trace_note_t *note)
{
    if (!self)
        return;
    argos_trace_record_t *record = &self->records[self->written++ % self->room];
    record->at = note->at;
    record->seq = note->seq;
    record->lease = note->lease;
    record->key = note->key ? note->key : argos_trace_key (note->id);
    record->cause = argos_trace_key (note->cause);
    s_copy (record->id, note->id);
    s_copy (record->type, note->type);
    s_copy (record->peer, note->peer);
    record->event = (uint8_t) note->event;
    record->code = (uint8_t) note->code;
    record->depth = 0;
}

//  ------------------------------------------------------------------------------------------------
//  Paths

//  The messages of a path, known by id, by seq, or by both

typedef struct {
    size_t count; //  How many
    struct {
        uint64_t key;  //  Hash of the id, 0 = not known
        int64_t seq;   //  0 = not known
        uint8_t depth; //  Steps from the root
    } messages[FOLLOWED];
} path_t;

static int
s_of_key (const path_t *path, uint64_t key)
{
    for (size_t i = 0; key && i < path->count; i++)
        if (path->messages[i].key == key)
            return (int) i;
    return -1;
}

//  The message of a record, -1 = not of this path

static int
s_of (const path_t *path, const argos_trace_record_t *record)
{
    for (size_t i = 0; i < path->count; i++)
        if ((record->key && path->messages[i].key == record->key) ||
            (record->seq && path->messages[i].seq == record->seq))
            return (int) i;
    return -1;
}

static void
s_follow (path_t *path, uint64_t key, int64_t seq, uint8_t depth)
{
    if (path->count == FOLLOWED)
        return;
    path->messages[path->count].key = key;
    path->messages[path->count].seq = seq;
    path->messages[path->count++].depth = depth;
}

//  What is learned of a message that is followed

static void
s_learn (path_t *path, int message, const argos_trace_record_t *record)
{
    if (record->key)
        path->messages[message].key = record->key;
    if (record->seq)
        path->messages[message].seq = record->seq;
}

static uint64_t
s_first (const argos_trace_t *self)
{
    return self->written > self->room ? self->written - self->room : 0;
}

static const argos_trace_record_t *
s_at (const argos_trace_t *self, uint64_t number)
{
    return &self->records[number % self->room];
}

//  The id of the first message of the chain

static uint64_t
s_root (const argos_trace_t *self, uint64_t key)
{
    path_t path = { .count = 1, .messages = { { .key = key } } };
    for (uint64_t number = self->written; number-- > s_first (self);) {
        const argos_trace_record_t *record = s_at (self, number);
        int message = s_of (&path, record);
        if (message < 0)
            continue;
        s_learn (&path, message, record);
        if (record->cause && record->cause != path.messages[message].key) {
            path.messages[0].key = record->cause;
            path.messages[0].seq = 0;
        }
    }
    return path.messages[0].key;
}

size_t
argos_trace_path (
    const argos_trace_t *self, const char *id, argos_trace_record_t *records, bool *ret_more)
{
    size_t count = 0;
    *ret_more = false;
    uint64_t key = argos_trace_key (id);
    if (!self || !key)
        return 0;
    path_t path = { .count = 1, .messages = { { .key = s_root (self, key) } } };
    for (uint64_t number = s_first (self); number < self->written; number++) {
        const argos_trace_record_t *record = s_at (self, number);
        int message = s_of (&path, record), parent = s_of_key (&path, record->cause);
        if (message < 0 && parent < 0)
            continue;
        if (count == ARGOS_TRACE_PATH_MAX || (message < 0 && path.count == FOLLOWED)) {
            *ret_more = true;
            break;
        }
        if (message < 0) {
            message = (int) path.count;
            s_follow (&path, 0, 0, (uint8_t) (path.messages[parent].depth + 1));
        }
        s_learn (&path, message, record);
        records[count] = *record;
        records[count++].depth = path.messages[message].depth;
    }
    return count;
}

const char *
argos_trace_word (argos_trace_event_t event)
{
    static const char *const words[] = { "accepted", "asked", "leased", "sent", "commit", "done",
        "released", "replied", "refused", "dead" };
    return words[event];
}
