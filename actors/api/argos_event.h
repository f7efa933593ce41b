//  argos_event - the entries of a run's topic as the events that HTTP clients see, and a bounded
//  log of them that any number of readers walk through. Pure: no socket, no clock.
//
//  A reader that follows from the start, or goes on after the last number it saw, can concatenate
//  the deltas and has the answer: text whose deltas are no longer retained is sent as one delta
//  when its segment is complete. Where that can't be known, one stream.gap tells the reader to drop
//  the text of the segment in progress, which is then sent again.
//
//  Limits: 4096 events and 4 MiB per log by default; deltas of finished segments go first.

#ifndef ARGOS_EVENT_H
#define ARGOS_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_EVENT_MAX 4096         //  Events of a log
#define ARGOS_EVENT_BYTES 4194304    //  Bytes of a log
#define ARGOS_EVENT_TEXT_MAX 1048576 //  Bytes of the text of a segment in progress

typedef struct argos_event_log argos_event_log_t;

//  Where a reader is

typedef struct {
    int64_t after;   //  Only events with a greater number are delivered; -1 = all
    int64_t last;    //  Number of the last event passed, -1 = none
    int64_t segment; //  Segment whose text is in progress, -1 = none
    size_t sent;     //  Bytes of it that the reader has
    bool exact;      //  The event `after` was met, so `sent` is known
} argos_event_cursor_t;

//  Translate an entry: new object with event, run_id, timestamp and its own members; NULL when the
//  entry is not for readers.
json_t *argos_event_translate (
    const char *type, const json_t *body, const char *run_id, int64_t at_ms);

//  Name of the event that an entry of this type becomes; NULL = none.
const char *argos_event_name (const char *type);

//  Whether an event asks people something.
bool argos_event_asks (const json_t *event);

//  Whether an entry of this type is the last of a run.
bool argos_event_terminal (const char *type);

//  A new log for a run; limits of 0 mean the defaults.
argos_event_log_t *argos_event_log_new (const char *run_id, size_t max_events, size_t max_bytes);
void argos_event_log_destroy (argos_event_log_t **self_p);

//  Add the topic entry number n. Entries that are not new, of other types, or after the last one
//  are ignored.
void argos_event_log_add (
    argos_event_log_t *self, const char *type, const json_t *body, int64_t n, int64_t at_ms);

//  Number of the terminal event, -1 = not there yet. Newest number, -1 = none.
int64_t argos_event_log_end (const argos_event_log_t *self);
int64_t argos_event_log_newest (const argos_event_log_t *self);
size_t argos_event_log_count (const argos_event_log_t *self);

//  How many events, and bytes of frames, have come behind number n, whether they are retained or
//  not.
size_t argos_event_log_behind (const argos_event_log_t *self, int64_t n, size_t *ret_bytes);

//  A cursor for a reader that has seen everything up to number `after` (-1 = nothing).
void argos_event_cursor_init (argos_event_cursor_t *self, int64_t after);

//  The next frame for a reader ("id: n\ndata: {...}\n\n"), borrowed until the next call on this
//  log. Returns 1, 0 = nothing more yet, -1 = the terminal event has been passed.
int argos_event_next (argos_event_log_t *self, argos_event_cursor_t *cursor, const char **ret_frame,
    size_t *ret_size);

//  The number in a Last-Event-ID header or argument; -1 when text is NULL or not a number.
int64_t argos_event_number (const char *text);

#endif
