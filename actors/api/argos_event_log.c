//  argos_event_log - the retained events of one run, in order of their numbers, and the walk of a
//  reader through them.
//
//  Invariant: for the segment in progress `text` is all of its text that has arrived, and each
//  retained delta of it covers text[begin..end). So a delta that is gone can be made up for by the
//  rest of the text, in one piece. Limits: see argos_event.h. When the log is full, deltas of
//  finished segments go first (their whole text is retained), then the older half of the deltas in
//  progress, then the oldest quarter of all.

#include "argos_event.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    S_OTHER,     //  Tools
    S_DELTA,     //  A piece of a segment
    S_TEXT,      //  A whole segment
    S_RESTARTED, //  What is unfinished begins again
    S_END        //  The terminal event
} s_kind_t;

typedef struct {
    int64_t n;         //  Number in the topic
    int64_t at;        //  Msec since 1970
    int64_t segment;   //  DELTA, TEXT: segment
    int64_t attempt;   //  How often the run had been restarted
    size_t begin, end; //  DELTA: its place in the segment. TEXT: 0 and the size
    s_kind_t kind;     //  What it is
    char *frame;       //  Bytes for the reader, ready
    size_t size;       //  How many
    char *text;        //  TEXT: the segment; else NULL
    size_t before;     //  Events that came before it
    size_t bytes;      //  Bytes of their frames
} s_event_t;

struct argos_event_log {
    char *run_id;         //  Whose events
    s_event_t *events;    //  Retained, rising n
    size_t count;         //  How many
    size_t capacity;      //  Room in events
    size_t bytes;         //  Of frames and texts
    size_t come;          //  Events that have come
    size_t come_bytes;    //  Bytes of their frames
    size_t max_events;    //  Limit
    size_t max_bytes;     //  Limit
    int64_t newest;       //  Newest number, -1 = none
    int64_t end;          //  Number of the terminal event, -1
    int64_t evicted;      //  Newest number of an event that is gone and can't be made up for, -1
    int64_t segment;      //  Segment in progress, -1 = none
    int64_t attempt;      //  Restarts so far
    char *text;           //  Its text so far
    size_t text_size;     //  Bytes
    size_t text_capacity; //  Room
    char *scratch;        //  Last frame that was made for one reader only
};

static void *
s_need (void *memory)
{
    if (!memory)
        abort ();
    return memory;
}

argos_event_log_t *
argos_event_log_new (const char *run_id, size_t max_events, size_t max_bytes)
{
    argos_event_log_t *self = s_need (calloc (1, sizeof *self));
    self->run_id = s_need (strdup (run_id));
    self->max_events = max_events ? max_events : ARGOS_EVENT_MAX;
    self->max_bytes = max_bytes ? max_bytes : ARGOS_EVENT_BYTES;
    self->newest = self->end = self->evicted = self->segment = -1;
    return self;
}

static void
s_event_clear (argos_event_log_t *self, s_event_t *event)
{
    self->bytes -= event->size + (event->text ? event->end : 0);
    free (event->frame);
    free (event->text);
}

void
argos_event_log_destroy (argos_event_log_t **self_p)
{
    argos_event_log_t *self = self_p ? *self_p : NULL;
    if (!self)
        return;
    *self_p = NULL;
    for (size_t i = 0; i < self->count; i++)
        s_event_clear (self, &self->events[i]);
    free (self->events);
    free (self->run_id);
    free (self->text);
    free (self->scratch);
    free (self);
}

int64_t
argos_event_log_end (const argos_event_log_t *self)
{
    return self->end;
}

int64_t
argos_event_log_newest (const argos_event_log_t *self)
{
    return self->newest;
}

size_t
argos_event_log_count (const argos_event_log_t *self)
{
    return self->count;
}

//  A frame from an event object (stolen); n < 0 = without an id. New; NULL when it can't be
//  encoded.

static char *
s_frame (json_t *event, int64_t n, size_t *ret_size)
{
    char *json = event ? json_dumps (event, JSON_COMPACT | JSON_REAL_PRECISION (13)) : NULL;
    json_decref (event);
    if (!json)
        return NULL;
    size_t room = strlen (json) + 64;
    char *frame = s_need (malloc (room));
    int size = n < 0 ? snprintf (frame, room, "data: %s\n\n", json)
                     : snprintf (frame, room, "id: %lld\ndata: %s\n\n", (long long) n, json);
    free (json);
    assert (size > 0 && (size_t) size < room);
    *ret_size = (size_t) size;
    return frame;
}

//  --------------------------------------------------------------------------
//  In

static void
s_text_set (argos_event_log_t *self, size_t at, const char *text, size_t size)
{
    if (at + size > ARGOS_EVENT_TEXT_MAX)
        return; //  The whole comes with the end of the segment
    if (at + size > self->text_capacity) {
        self->text_capacity = (at + size) * 2;
        self->text = s_need (realloc (self->text, self->text_capacity));
    }
    memcpy (self->text + at, text, size);
    self->text_size = at + size;
}

static void
s_take_delta (argos_event_log_t *self, const json_t *body, s_event_t *event)
{
    const json_t *delta = json_object_get (body, "delta");
    const json_t *whole = json_object_get (body, "text");
    size_t size = json_string_length (delta);
    event->kind = S_DELTA;
    if (event->segment != self->segment) {
        self->segment = event->segment;
        self->text_size = 0;
    }
    if (json_is_string (whole) && json_string_length (whole) >= size) //  A key frame
        s_text_set (self, 0, json_string_value (whole), json_string_length (whole));
    else
        s_text_set (self, self->text_size, json_string_value (delta), size);
    event->end = self->text_size;
    event->begin = self->text_size >= size ? self->text_size - size : 0;
}

static void
s_classify (argos_event_log_t *self, const char *type, const json_t *body, s_event_t *event)
{
    event->segment = json_integer_value (json_object_get (body, "segment"));
    if (strcmp (type, "turn.delta") == 0)
        s_take_delta (self, body, event);
    else if (strcmp (type, "turn.text") == 0) {
        const json_t *text = json_object_get (body, "text");
        event->kind = S_TEXT;
        event->end = json_string_length (text);
        event->text = s_need (malloc (event->end + 1));
        memcpy (event->text, json_is_string (text) ? json_string_value (text) : "", event->end);
        self->segment = -1;
        self->text_size = 0;
    }
    else if (strcmp (type, "turn.restarted") == 0) {
        event->kind = S_RESTARTED;
        self->attempt++;
        self->segment = -1;
        self->text_size = 0;
    }
    else {
        event->kind = argos_event_terminal (type) ? S_END : S_OTHER;
        event->segment = self->segment;
        event->begin = event->end = self->text_size;
    }
    event->attempt = self->attempt;
}

//  Remove what `gone` says, keeping the order.

static void
s_remove (argos_event_log_t *self,
    bool (*gone) (const argos_event_log_t *, const s_event_t *, size_t), size_t arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->count; i++) {
        s_event_t *event = &self->events[i];
        if (gone (self, event, i < arg ? 1 : 0)) {
            if (event->kind != S_DELTA && event->n > self->evicted)
                self->evicted = event->n;
            s_event_clear (self, event);
        }
        else
            self->events[kept++] = *event;
    }
    self->count = kept;
}

static bool
s_is_finished_delta (const argos_event_log_t *self, const s_event_t *event, size_t in_range)
{
    (void) in_range;
    return event->kind == S_DELTA &&
           (event->segment != self->segment || event->attempt != self->attempt);
}

static bool
s_is_delta_in_range (const argos_event_log_t *self, const s_event_t *event, size_t in_range)
{
    (void) self;
    return event->kind == S_DELTA && in_range;
}

static bool
s_is_in_range (const argos_event_log_t *self, const s_event_t *event, size_t in_range)
{
    (void) self;
    return event->kind != S_END && in_range;
}

static bool
s_is_full (const argos_event_log_t *self)
{
    return self->count > self->max_events || self->bytes > self->max_bytes;
}

static void
s_evict (argos_event_log_t *self)
{
    if (s_is_full (self))
        s_remove (self, s_is_finished_delta, 0);
    if (s_is_full (self))
        s_remove (self, s_is_delta_in_range, self->count - self->count / 2);
    while (s_is_full (self) && self->count > 1)
        s_remove (self, s_is_in_range, self->count / 4 + 1);
}

void
argos_event_log_add (
    argos_event_log_t *self, const char *type, const json_t *body, int64_t n, int64_t at_ms)
{
    if (n <= self->newest || self->end >= 0)
        return;
    s_event_t event = { .n = n, .at = at_ms };
    event.frame = s_frame (argos_event_translate (type, body, self->run_id, at_ms), n, &event.size);
    if (!event.frame)
        return;
    s_classify (self, type, body, &event);
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? self->capacity * 2 : 16;
        self->events = s_need (realloc (self->events, self->capacity * sizeof *self->events));
    }
    event.before = self->come++;
    event.bytes = self->come_bytes;
    self->come_bytes += event.size;
    self->events[self->count++] = event;
    self->bytes += event.size + (event.text ? event.end : 0);
    self->newest = n;
    if (event.kind == S_END)
        self->end = n;
    s_evict (self);
}

//  --------------------------------------------------------------------------
//  Out

void
argos_event_cursor_init (argos_event_cursor_t *self, int64_t after)
{
    *self = (argos_event_cursor_t){ .after = after, .last = -1, .segment = -1, .exact = after < 0 };
}

//  Index of the first event with a number greater than n.

static size_t
s_find (const argos_event_log_t *self, int64_t n)
{
    size_t low = 0, high = self->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->events[middle].n > n)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

size_t
argos_event_log_behind (const argos_event_log_t *self, int64_t n, size_t *ret_bytes)
{
    size_t at = s_find (self, n);
    *ret_bytes = at < self->count ? self->come_bytes - self->events[at].bytes : 0;
    return at < self->count ? self->come - self->events[at].before : 0;
}

//  What a reader has after an event.

static void
s_pass (argos_event_cursor_t *cursor, const s_event_t *event)
{
    cursor->last = event->n;
    if (event->kind == S_DELTA || event->kind == S_TEXT) {
        if (cursor->segment != event->segment || event->end > cursor->sent)
            cursor->sent = event->end;
        cursor->segment = event->segment;
    }
    if (event->kind == S_RESTARTED)
        cursor->segment = -1;
}

//  A frame for one reader.

static int
s_special (
    argos_event_log_t *self, json_t *event, int64_t n, const char **ret_frame, size_t *ret_size)
{
    char *frame = s_frame (event, n, ret_size);
    if (!frame)
        return 0;
    free (self->scratch);
    *ret_frame = self->scratch = frame;
    return 1;
}

static int
s_rest (argos_event_log_t *self, const s_event_t *event, const char *text, size_t from,
    const char **ret_frame, size_t *ret_size)
{
    json_t *delta = json_stringn (text + from, event->end - from);
    json_t *object =
        delta ? json_pack ("{s:s,s:s,s:f,s:o}", "event", "message.delta", "run_id", self->run_id,
                    "timestamp", (double) event->at / 1000.0, "delta", delta)
              : NULL;
    return s_special (self, object, event->n, ret_frame, ret_size);
}

//  Whether the reader has missed something that what follows does not make up for; then it is told,
//  and begins the segment in progress again.

static bool
s_has_gap (
    const argos_event_log_t *self, const argos_event_cursor_t *cursor, const s_event_t *event)
{
    int64_t position = cursor->last > cursor->after ? cursor->last : cursor->after;
    if (self->evicted > position && event->n > position)
        return true;
    bool matters = event->kind == S_DELTA || event->kind == S_TEXT;
    return !cursor->exact && matters;
}

static int
s_gap (argos_event_log_t *self, argos_event_cursor_t *cursor, const s_event_t *event,
    const char **ret_frame, size_t *ret_size)
{
    int64_t from = cursor->last > cursor->after ? cursor->last + 1
                   : cursor->after < 0          ? 0
                                                : cursor->after;
    cursor->segment = -1;
    cursor->exact = true;
    cursor->last = event->n - 1;
    return s_special (self,
        json_pack ("{s:s,s:s,s:f,s:I,s:I}", "event", "stream.gap", "run_id", self->run_id,
            "timestamp", (double) event->at / 1000.0, "from", (json_int_t) from, "to",
            (json_int_t) (event->n - 1)),
        -1, ret_frame, ret_size);
}

//  Whether the reader came away in the middle of a segment by an event that is no text, and how
//  much of the text it had then is not known any more.

static bool
s_is_unsure (const argos_event_cursor_t *cursor, const s_event_t *event)
{
    size_t sent = cursor->segment == event->segment ? cursor->sent : 0;
    return event->kind == S_OTHER && event->segment >= 0 && event->end > sent;
}

//  The text of the segment of a delta, at least up to there: it is in progress, or its end is
//  retained. NULL = neither.

static const char *
s_text_at (const argos_event_log_t *self, const s_event_t *event)
{
    if (event->segment == self->segment && event->attempt == self->attempt)
        return event->end <= self->text_size ? self->text : NULL;
    for (size_t i = s_find (self, event->n); i < self->count; i++) {
        const s_event_t *end = &self->events[i];
        if (end->kind == S_TEXT && end->segment == event->segment && end->attempt == event->attempt)
            return event->end <= end->end ? end->text : NULL;
    }
    return NULL;
}

//  One event for a reader, who may have more or less of its segment than what the event continues.
//  0 = nothing to say.

static int
s_deliver (argos_event_log_t *self, argos_event_cursor_t *cursor, const s_event_t *event,
    const char **ret_frame, size_t *ret_size)
{
    size_t sent = cursor->segment == event->segment ? cursor->sent : 0;
    *ret_frame = event->frame;
    *ret_size = event->size;
    if (event->kind == S_TEXT && sent < event->end) {
        s_pass (cursor, event);
        return s_rest (self, event, event->text, sent, ret_frame, ret_size);
    }
    if (event->kind == S_DELTA && event->begin != sent) {
        const char *text = s_text_at (self, event);
        if (event->end <= sent || !text) {
            cursor->last = event->n;
            return 0; //  A repeat; or the end of the segment brings it
        }
        s_pass (cursor, event);
        return s_rest (self, event, text, sent, ret_frame, ret_size);
    }
    s_pass (cursor, event);
    return 1;
}

int
argos_event_next (
    argos_event_log_t *self, argos_event_cursor_t *cursor, const char **ret_frame, size_t *ret_size)
{
    for (size_t i = s_find (self, cursor->last); i < self->count; i++) {
        const s_event_t *event = &self->events[i];
        if (event->n <= cursor->after) {
            cursor->exact = event->n == cursor->after && !s_is_unsure (cursor, event);
            s_pass (cursor, event);
            continue;
        }
        if (s_has_gap (self, cursor, event))
            return s_gap (self, cursor, event, ret_frame, ret_size);
        cursor->exact = cursor->exact || event->kind == S_RESTARTED;
        if (s_deliver (self, cursor, event, ret_frame, ret_size))
            return 1;
    }
    return self->end >= 0 && cursor->last >= self->end ? -1 : 0;
}
