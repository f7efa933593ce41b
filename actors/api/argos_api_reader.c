//  argos_api_reader - who follows a run: as an event stream, as the stream of another form (a
//  view), or to answer once with all of it.
//
//  Readers are cursors into the log of their watch; they read when their sockets can take more, so
//  a slow one delays nobody and holds at most one frame. One that lets more than a window wait is
//  told so and let go, to come back where it was; one that takes nothing at all is cut off after
//  the silence that is allowed to us. Invariant: a reader is on the list of its watch and on
//  `quiet` (streams only) until it is freed. One with a view that leaves before the end gives the
//  run up.

#include "argos_api_priv.h"
#include "argos_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_BYTES_MAX 16777216   //  Of a view that nobody has taken yet
#define S_WINDOW_EVENTS 1024   //  That may have come meanwhile and wait for a reader
#define S_WINDOW_BYTES 1048576 //  Their frames

struct argos_api_reader {
    argos_api_watch_t *watch;        //  What it reads
    argos_http_stream_t *stream;     //  Where it goes, NULL = answered at the end
    argos_http_req_t *req;           //  The same, for that
    argos_event_cursor_t cursor;     //  How far it is
    argos_view_t view;               //  Another form than events
    argos_text_t bytes;              //  Of the view, or the rest of a frame that did not fit
    size_t used;                     //  How much of them has gone
    int64_t written;                 //  Monotonic msec of the last bytes
    int64_t from;                    //  Newest event when it came: it may be as far behind as that
    bool cut;                        //  To be cut off
    bool slow;                       //  To be let go: it is too far behind
    bool greeted, silent, closing;   //  Said hello; owes a comment; has said that it is over
    argos_api_reader_t *prev, *next; //  On its watch
    argos_api_reader_t *quiet_prev, *quiet_next; //  On argos_api.quiet
};

static const char s_hello[] = ": connected\nretry: 2000\n\n";
static const char s_alive[] = ": keepalive\n\n";
static const char s_bye[] = ": stream closed\n\n";

//  --------------------------------------------------------------------------
//  Life

static argos_api_reader_t *
s_reader_new (argos_api_watch_t *watch, argos_api_call_t *call)
{
    argos_api_reader_t *reader = calloc (1, sizeof *reader);
    if (!reader)
        abort ();
    reader->watch = watch;
    reader->req = call->req;
    reader->view = call->view;
    reader->from = argos_event_log_newest (watch->log);
    call->view = (argos_view_t){ .class = NULL };
    watch->api->attended += reader->view.class != NULL;
    reader->written = argos_shell_now ();
    argos_text_init (&reader->bytes, S_BYTES_MAX);
    argos_event_cursor_init (&reader->cursor, call->after);
    argos_api_watch_leave_idle (watch);
    DL_APPEND (watch->readers, reader);
    return reader;
}

//  It has left; complete says whether it has had everything.

static void
s_reader_free (argos_api_reader_t *reader, bool complete)
{
    argos_api_watch_t *watch = reader->watch;
    argos_api_t *self = watch->api;
    bool attended = reader->view.class != NULL;
    bool gives_up = attended && !complete && !reader->cut;
    DL_DELETE (watch->readers, reader);
    if (gives_up)
        argos_api_abandon (self, watch->run_id);
    argos_view_clear (&reader->view);
    argos_text_clear (&reader->bytes);
    free (reader);
    argos_api_watch_enter_idle (watch);
    self->attended -= attended;
    if (attended && self->attended == 0)
        argos_api_drained (self);
}

//  --------------------------------------------------------------------------
//  What comes next

//  The event of a frame of the log, new.

static json_t *
s_event (const char *frame, size_t size)
{
    const char *data = memmem (frame, size, "data: ", 6);
    return data ? json_loadb (data + 6, size - (size_t) (data + 6 - frame), 0, NULL) : NULL;
}

//  Fills bytes from the view: 1, 0 = nothing now, -1 = all has been said.

static int
s_next_of_view (argos_api_reader_t *reader)
{
    const char *frame;
    size_t size;
    int rc = 1;
    argos_text_reset (&reader->bytes);
    reader->used = 0;
    if (!reader->greeted && reader->view.stream)
        reader->view.class->begin (reader->view.self, &reader->bytes);
    reader->greeted = true;
    while (!reader->bytes.size && rc > 0) {
        rc = argos_event_next (reader->watch->log, &reader->cursor, &frame, &size);
        json_t *event = rc > 0 ? s_event (frame, size) : NULL;
        if (event)
            reader->view.class->event (reader->view.self, event, &reader->bytes);
        if (event && argos_event_asks (event))
            argos_api_decline (reader->watch->api, reader->watch->run_id);
        if (!reader->view.stream)
            argos_text_reset (&reader->bytes);
        json_decref (event);
    }
    if (rc == 0 && !reader->bytes.size && reader->silent)
        (void) argos_text_add (&reader->bytes, s_alive, sizeof s_alive - 1);
    reader->silent = false;
    reader->closing = rc < 0;
    return reader->bytes.size ? 1 : rc;
}

static int
s_keep (argos_api_reader_t *reader, const char *bytes, size_t size)
{
    argos_text_reset (&reader->bytes);
    reader->used = 0;
    return argos_text_add (&reader->bytes, bytes, size) == 0 ? 1 : -2;
}

//  The last frame of a reader that is too far behind. It has no id, so that the client comes back
//  behind what it has taken.

static int
s_tell_slow (argos_api_reader_t *reader)
{
    char text[256];
    int size = snprintf (text, sizeof text,
        "data: {\"event\":\"stream.overflow\",\"run_id\":\"%s\",\"timestamp\":%.3f,"
        "\"reason\":\"slow_reader\"}\n\n",
        reader->watch->run_id, (double) argos_shell_wall () / 1000.0);
    reader->closing = true;
    return s_keep (reader, text, (size_t) size);
}

//  The same for a stream of events: at most one frame.

static int
s_next_of_events (argos_api_reader_t *reader)
{
    const char *frame;
    size_t size;
    if (!reader->greeted) {
        reader->greeted = true;
        return s_keep (reader, s_hello, sizeof s_hello - 1);
    }
    if (reader->closing)
        return -1;
    if (reader->slow)
        return s_tell_slow (reader);
    int rc = argos_event_next (reader->watch->log, &reader->cursor, &frame, &size);
    if (rc > 0)
        return s_keep (reader, frame, size);
    if (rc == 0 && !reader->silent)
        return 0;
    reader->closing = rc < 0;
    reader->silent = false;
    return rc < 0 ? s_keep (reader, s_bye, sizeof s_bye - 1)
                  : s_keep (reader, s_alive, sizeof s_alive - 1);
}

static void
s_touch (argos_api_reader_t *reader)
{
    argos_api_t *self = reader->watch->api;
    reader->written = argos_shell_now ();
    //  The analyser does not know that the list has its members.
    //  NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
    DL_DELETE2 (self->quiet, reader, quiet_prev, quiet_next);
    DL_APPEND2 (self->quiet, reader, quiet_prev, quiet_next);
}

static ssize_t
s_fill (void *arg, char *buffer, size_t max)
{
    argos_api_reader_t *reader = arg;
    if (reader->cut)
        return -2;
    if (reader->used == reader->bytes.size) {
        int rc = reader->view.class ? s_next_of_view (reader) : s_next_of_events (reader);
        if (rc <= 0)
            return rc;
    }
    s_touch (reader);
    size_t left = reader->bytes.size - reader->used;
    size_t size = left < max ? left : max;
    memcpy (buffer, reader->bytes.data + reader->used, size);
    reader->used += size;
    if (reader->used == reader->bytes.size) {
        argos_text_clear (&reader->bytes);
        reader->used = 0;
    }
    return (ssize_t) size;
}

static void
s_closed (void *arg)
{
    argos_api_reader_t *reader = arg;
    argos_api_t *self = reader->watch->api;
    DL_DELETE2 (self->quiet, reader, quiet_prev, quiet_next);
    s_reader_free (reader, reader->closing);
}

//  --------------------------------------------------------------------------
//  Answers at the end

static void
s_answer (argos_api_reader_t *reader)
{
    argos_view_answer_t answer;
    reader->view.class->answer (reader->view.self, &answer);
    if (answer.error) {
        char text[201];
        size_t used = 0;
        for (const char *each = answer.error; *each && used + 1 < sizeof text; each++)
            if (*each >= 32 && *each < 127)
                text[used++] = *each;
        text[used] = 0;
        argos_http_set (reader->req, "X-Hermes-Completed", "false");
        argos_http_set (reader->req, "X-Hermes-Partial", answer.partial ? "true" : "false");
        argos_http_set (reader->req, "X-Hermes-Error", text);
    }
    if (answer.status >= 500)
        argos_http_set (reader->req, "x-should-retry", "false");
    argos_http_json (reader->req, answer.status, answer.body);
}

//  Takes what there is; answers when that is all, and then the reader is gone.

static void
s_collect (argos_api_reader_t *reader)
{
    if (reader->cut) {
        argos_http_set (reader->req, "x-should-retry", "false");
        argos_api_unavailable (reader->req, ARGOS_GONE);
    }
    else if (s_next_of_view (reader) >= 0)
        return;
    else
        s_answer (reader);
    s_reader_free (reader, true);
}

//  Whoever waits for the answer has hung up.

static void
s_hung_up (void *arg)
{
    argos_api_reader_t *reader = arg;
    argos_api_unavailable (reader->req, ARGOS_GONE);
    s_reader_free (reader, false);
}

//  --------------------------------------------------------------------------
//  Slow readers

static void
s_note_slow (argos_api_reader_t *reader, const char *what)
{
    size_t bytes, events = argos_event_log_behind (reader->watch->log, reader->cursor.last, &bytes);
    reader->watch->api->slow_readers++;
    argos_log (ARGOS_LOG_WARN, "api", "stream_cut", "run=%s reason=\"%s\" behind=%zu bytes=%zu",
        reader->watch->run_id, what, events, bytes);
}

//  Whether more waits for it than may, counted from where it came in; and that is not our fault.

static void
s_judge (argos_api_reader_t *reader)
{
    size_t bytes;
    int64_t at =
        reader->cursor.last > reader->cursor.after ? reader->cursor.last : reader->cursor.after;
    size_t events =
        argos_event_log_behind (reader->watch->log, at > reader->from ? at : reader->from, &bytes);
    if (reader->slow || reader->view.class ||
        (events <= S_WINDOW_EVENTS && bytes <= S_WINDOW_BYTES) ||
        !argos_http_is_stuck (reader->stream))
        return;
    reader->slow = true;
    s_note_slow (reader, "it is too far behind");
}

//  --------------------------------------------------------------------------
//  For the watch

void
argos_api_readers_wake (argos_api_watch_t *watch)
{
    argos_api_reader_t *reader, *next;
    DL_FOREACH_SAFE (watch->readers, reader, next) {
        if (reader->stream) {
            s_judge (reader);
            argos_http_wake (reader->stream);
        }
        else
            s_collect (reader);
    }
}

void
argos_api_readers_cut (argos_api_watch_t *watch)
{
    argos_api_reader_t *reader;
    DL_FOREACH (watch->readers, reader)
        reader->cut = true;
    argos_api_readers_wake (watch);
}

//  Says 204 to a browser that comes back after the last event, else it would do so for ever.

void
argos_api_reader_attach (argos_api_watch_t *watch, argos_api_call_t *call)
{
    argos_api_t *self = watch->api;
    int64_t end = argos_event_log_end (watch->log);
    if (end >= 0 && call->after >= end)
        argos_http_json (call->req, 204, NULL);
    else {
        argos_api_reader_t *reader = s_reader_new (watch, call);
        if (!reader->view.class || reader->view.stream) {
            DL_APPEND2 (self->quiet, reader, quiet_prev, quiet_next);
            reader->stream = argos_http_stream (call->req, s_fill, s_closed, reader);
        }
        else {
            argos_http_on_hangup (call->req, s_hung_up, reader);
            s_collect (reader);
        }
    }
    argos_api_call_destroy (&call);
}

//  --------------------------------------------------------------------------
//  Time

void
argos_api_readers_tick (argos_api_t *self, int64_t now)
{
    argos_api_reader_t *reader = self->quiet;
    while (reader && now - reader->written >= self->keepalive_ms) {
        s_touch (reader);
        if (argos_http_is_stuck (reader->stream)) {
            s_note_slow (reader, "it takes nothing");
            argos_http_cut (reader->stream);
        }
        else {
            reader->silent = true;
            argos_http_wake (reader->stream);
        }
        reader = self->quiet;
    }
}

int64_t
argos_api_readers_due (const argos_api_t *self)
{
    return self->quiet ? self->quiet->written + self->keepalive_ms : -1;
}
