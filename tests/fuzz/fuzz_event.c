//  fuzz_event - the events of a run as a stream: a log that is nearly always full, and readers that
//  are slow, or are cut after each event and come back.
//
//  Input: two bytes for the limits, then two for each step: what comes (or who reads), and how long
//  its text is. Holds: each frame is one line of JSON with a number that rises; when a segment is
//  complete every reader has exactly its text, whatever it has missed; nothing follows the end.

#include "argos_event.h"
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#define ENTRIES 512    //  Of a run
#define TEXT_MAX 40960 //  Bytes of a segment

typedef struct {
    argos_event_cursor_t cursor; //  How far it is
    int64_t last;                //  Number of the last frame, -1 = none
    char *text;                  //  Of the segment in progress
    size_t size;                 //  Bytes of it
    bool over;                   //  Has seen the end
} reader_t;

typedef struct {
    argos_event_log_t *log; //  What is tried
    int64_t n;              //  Number of the next entry
    char *whole[ENTRIES];   //  TEXT entries: the segment
    char *text;             //  Of the segment in progress
    size_t size;            //  Bytes of it
    int segment;            //  Its number
    bool lost;              //  Something of it did not arrive: the next piece is a key frame
    bool ended;             //  The end has come
    reader_t readers[2];    //  A slow one, and one that comes back after each frame
} world_t;

static void
s_add (world_t *self, const char *type, json_t *body)
{
    argos_event_log_add (self->log, type, body, self->n++, 1700000000000);
    json_decref (body);
}

static void
s_delta (world_t *self, unsigned length, bool arrives)
{
    char piece[65];
    size_t size = length % 64 + 1;
    if (self->size + size >= TEXT_MAX)
        return;
    for (size_t i = 0; i < size; i++)
        piece[i] = (char) ('a' + (self->size + i) % 26);
    piece[size] = 0;
    memcpy (self->text + self->size, piece, size + 1);
    self->size += size;
    if (!arrives) {
        self->lost = true;
        self->n++;
        return;
    }
    bool key = self->lost || length > 200;
    s_add (self, "turn.delta",
        json_pack ("{s:i,s:s,s:s*}", "segment", self->segment, "delta", piece, "text",
            key ? self->text : NULL));
    self->lost = false;
}

static void
s_text (world_t *self)
{
    self->whole[self->n] = strdup (self->text);
    s_add (
        self, "turn.text", json_pack ("{s:i,s:s}", "segment", self->segment++, "text", self->text));
    self->size = 0;
    self->text[0] = 0;
    self->lost = false;
}

static void
s_take (world_t *self, reader_t *reader, const char *frame, size_t size)
{
    const char *data = memmem (frame, size, "data: ", 6), *text;
    FUZZ_CHECK (data && size > 8 && memcmp (frame + size - 2, "\n\n", 2) == 0);
    size_t rest = size - (size_t) (data + 6 - frame) - 2;
    FUZZ_CHECK (!memchr (data, '\n', rest + 6) && !memchr (data, '\r', rest + 6));
    json_t *event = json_loadb (data + 6, rest, 0, NULL);
    const char *name = json_string_value (json_object_get (event, "event"));
    FUZZ_CHECK (name && json_string_value (json_object_get (event, "run_id")));
    if (strcmp (name, "stream.gap") == 0 || strcmp (name, "run.restarted") == 0)
        reader->size = 0;
    if (strcmp (name, "message.delta") == 0) {
        text = json_string_value (json_object_get (event, "delta"));
        FUZZ_CHECK (text && reader->size + strlen (text) < TEXT_MAX);
        memcpy (reader->text + reader->size, text, strlen (text));
        reader->size += strlen (text);
    }
    json_decref (event);
    if (strncmp (frame, "id: ", 4) != 0)
        return;
    int64_t n = strtoll (frame + 4, NULL, 10);
    FUZZ_CHECK (n > reader->last && n < self->n && !reader->over);
    reader->last = n;
    if (!self->whole[n])
        return;
    FUZZ_CHECK (reader->size == strlen (self->whole[n]) &&
                memcmp (reader->text, self->whole[n], reader->size) == 0);
    reader->size = 0;
}

//  At most count frames for a reader

static void
s_read (world_t *self, int who, int count)
{
    reader_t *reader = &self->readers[who];
    const char *frame;
    size_t size;
    while (count-- > 0) {
        int rc = argos_event_next (self->log, &reader->cursor, &frame, &size);
        if (rc <= 0) {
            FUZZ_CHECK (rc == 0 || self->ended);
            reader->over = rc < 0;
            return;
        }
        bool numbered = strncmp (frame, "id: ", 4) == 0;
        s_take (self, reader, frame, size);
        if (who == 1 && numbered)
            argos_event_cursor_init (&reader->cursor, reader->last);
    }
}

static void
s_step (world_t *self, unsigned what, unsigned length)
{
    if (what < 120)
        s_delta (self, length, true);
    else if (what < 130)
        s_delta (self, length, false);
    else if (what < 150)
        s_text (self);
    else if (what < 156) {
        s_add (self, "turn.restarted", json_pack ("{s:i}", "attempt", (int) what));
        self->size = 0;
        self->text[0] = 0;
        self->lost = false;
    }
    else if (what < 170)
        s_add (self, "tool.started", json_pack ("{s:s,s:s}", "tool", "t", "tool_call_id", "c"));
    else if (what < 172 && !self->ended) {
        s_add (self, "run.completed", json_pack ("{s:s}", "output", "x"));
        self->ended = true;
    }
    else
        s_read (self, what & 1, (int) length % 16);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    world_t *self = calloc (1, sizeof *self);
    FUZZ_CHECK (self);
    if (size < 2) {
        free (self);
        return 0;
    }
    self->log = argos_event_log_new ("run_0", 2u + data[0] % 32, 256u + data[1] * 16u);
    self->text = calloc (1, TEXT_MAX);
    for (int i = 0; i < 2; i++) {
        argos_event_cursor_init (&self->readers[i].cursor, -1);
        self->readers[i].last = -1;
        self->readers[i].text = calloc (1, TEXT_MAX);
    }
    for (size_t at = 2; at + 1 < size && self->n < ENTRIES - 1 && !self->ended; at += 2)
        s_step (self, data[at], data[at + 1]);
    for (int i = 0; i < 2; i++) {
        s_read (self, i, 4 * ENTRIES);
        FUZZ_CHECK (self->readers[i].over == self->ended);
        free (self->readers[i].text);
    }
    for (int i = 0; i < ENTRIES; i++)
        free (self->whole[i]);
    argos_event_log_destroy (&self->log);
    free (self->text);
    free (self);
    return 0;
}
