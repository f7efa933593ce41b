//  argos_api_watch - the runs that somebody follows: one subscription each, from entry 0, into one
//  log.
//
//  A watch without readers is kept 30 s (at most 64 of them), for those who reconnect. Invariant: a
//  watch is on `idle` exactly while it has neither a reader nor a request that waits for its end. A
//  run that ended so long ago that its topic is gone gets its last events from its row.

#include "argos_api_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_KEEP_MS 30000 //  A watch without readers is kept
#define S_IDLE_MAX 64   //  Watches without readers
#define S_LIVE_MAX 1000 //  Subscriptions; the broker allows a session 1024

//  --------------------------------------------------------------------------
//  Watches

static void
s_topic (const argos_api_watch_t *watch, char target[64])
{
    (void) snprintf (target, 64, "run.%s", watch->run_id);
}

static void
s_subscribe (argos_api_watch_t *watch)
{
    char topic[64];
    s_topic (watch, topic);
    watch->subscribed = true;
    watch->api->subscriptions++;
    argos_peer_subscribe (argos_shell_peer (watch->api->shell), topic, 0);
}

static void
s_unsubscribe (argos_api_watch_t *watch)
{
    char topic[64];
    s_topic (watch, topic);
    if (!watch->subscribed)
        return;
    watch->subscribed = false;
    watch->api->subscriptions--;
    if (!watch->api->stopping)
        argos_peer_unsubscribe (argos_shell_peer (watch->api->shell), topic);
}

void
argos_api_watch_leave_idle (argos_api_watch_t *watch)
{
    if (watch->drop_at < 0)
        return;
    watch->drop_at = -1;
    DL_DELETE (watch->api->idle, watch);
    watch->api->idle_count--;
}

static void
s_watch_destroy (argos_api_watch_t *watch)
{
    argos_api_t *self = watch->api;
    argos_api_watch_leave_idle (watch);
    HASH_DEL (self->watches, watch);
    s_unsubscribe (watch);
    argos_event_log_destroy (&watch->log);
    free (watch);
}

//  Nobody needs it now: to the end of the idle list.

void
argos_api_watch_enter_idle (argos_api_watch_t *watch)
{
    argos_api_t *self = watch->api;
    if (watch->readers || watch->pending || watch->drop_at >= 0)
        return;
    watch->drop_at = argos_shell_now () + S_KEEP_MS;
    DL_APPEND (self->idle, watch);
    self->idle_count++;
}

//  The watch of a run; NULL when there are too many.

static argos_api_watch_t *
s_watch (argos_api_t *self, const char *run_id)
{
    argos_api_watch_t *watch;
    HASH_FIND_STR (self->watches, run_id, watch);
    if (watch && !watch->subscribed && argos_event_log_end (watch->log) < 0)
        s_subscribe (watch);
    if (watch)
        return watch;
    while (self->subscriptions >= S_LIVE_MAX && self->idle)
        s_watch_destroy (self->idle);
    if (self->subscriptions >= S_LIVE_MAX)
        return NULL;
    watch = calloc (1, sizeof *watch);
    if (!watch)
        abort ();
    watch->api = self;
    watch->drop_at = -1;
    memcpy (watch->run_id, run_id, sizeof watch->run_id);
    watch->log = argos_event_log_new (run_id, 0, 0);
    HASH_ADD_STR (self->watches, run_id, watch);
    s_subscribe (watch);
    return watch;
}

//  Cut off who reads, and forget what was read.

static void
s_reset (argos_api_watch_t *watch)
{
    argos_api_readers_cut (watch);
    argos_api_calls_refuse (&watch->pending, ARGOS_GONE);
    s_unsubscribe (watch);
    argos_event_log_destroy (&watch->log);
    watch->log = argos_event_log_new (watch->run_id, 0, 0);
    watch->caught_up = watch->over = false;
}

void
argos_api_watches_clear (argos_api_t *self)
{
    argos_api_watch_t *watch, *next;
    HASH_ITER (hh, self->watches, watch, next) {
        if (!watch->readers && !watch->pending) {
            s_watch_destroy (watch);
            continue;
        }
        s_reset (watch);
        if (!watch->readers)
            s_watch_destroy (watch);
        else if (!self->stopping)
            s_subscribe (watch);
    }
}

//  --------------------------------------------------------------------------
//  Who reads

//  After a change of who reads.

static void
s_settle (argos_api_watch_t *watch)
{
    argos_api_t *self = watch->api;
    argos_api_watch_enter_idle (watch);
    argos_api_schedule (self);
}

static void
s_attach_pending (argos_api_watch_t *watch)
{
    argos_api_call_t *call, *next;
    argos_api_call_t *pending = watch->pending;
    watch->pending = NULL;
    DL_FOREACH_SAFE (pending, call, next) {
        DL_DELETE (pending, call);
        argos_api_reader_attach (watch, call);
    }
    s_settle (watch);
}

bool
argos_api_watch_is_read (const argos_api_t *self, const char *run_id)
{
    argos_api_watch_t *watch;
    HASH_FIND_STR (self->watches, run_id, watch);
    return watch && (watch->readers || watch->pending);
}

void
argos_api_watch_join (argos_api_call_t *call, bool over)
{
    argos_api_watch_t *watch = s_watch (call->api, call->run_id);
    if (!watch) {
        argos_api_unavailable (call->req, ARGOS_BUSY);
        argos_api_call_destroy (&call);
        return;
    }
    watch->over = watch->over || over;
    if (call->after >= 0 && watch->over && !watch->caught_up &&
        argos_event_log_end (watch->log) < 0) {
        argos_api_watch_leave_idle (watch);
        DL_APPEND (watch->pending, call);
    }
    else {
        argos_api_reader_attach (watch, call);
        s_settle (watch);
    }
}

//  --------------------------------------------------------------------------
//  Entries

static argos_api_watch_t *
s_watch_of (argos_api_t *self, const char *topic)
{
    argos_api_watch_t *watch = NULL;
    if (strncmp (topic, "topic:", 6) == 0)
        topic += 6;
    if (strncmp (topic, "run.", 4) == 0)
        HASH_FIND_STR (self->watches, topic + 4, watch);
    return watch;
}

static void
s_ended (argos_api_watch_t *watch)
{
    argos_api_slot_free (watch->api, watch->run_id);
    s_unsubscribe (watch);
    argos_api_readers_wake (watch);
    s_attach_pending (watch);
}

void
argos_api_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    argos_api_watch_t *watch = s_watch_of (ctx, topic);
    if (!watch || argos_event_log_end (watch->log) >= 0)
        return;
    argos_event_log_add (watch->log, msg->type, msg->body, msg->n, msg->at);
    if (argos_event_log_end (watch->log) >= 0)
        s_ended (watch);
    else
        argos_api_readers_wake (watch);
}

void
argos_api_events_refused (argos_api_t *self, const char *topic)
{
    argos_api_watch_t *watch = s_watch_of (self, topic);
    if (!watch)
        return;
    s_reset (watch);
    if (!watch->readers && watch->drop_at < 0)
        s_watch_destroy (watch);
}

//  The run is over but its topic holds no end: say what its row says.

static void
s_make_up (argos_api_watch_t *watch, const json_t *row)
{
    char type[32];
    const char *state = json_string_value (json_object_get (row, "state"));
    int64_t at = (int64_t) json_number_value (json_object_get (row, "updated_at"));
    const json_t *output = json_object_get (row, "output");
    int64_t n = argos_event_log_newest (watch->log);
    if (n < 0 && json_is_string (output)) {
        json_t *text = json_pack ("{s:i,s:O}", "segment", 0, "text", output);
        argos_event_log_add (watch->log, "turn.text", text, ++n, at);
        json_decref (text);
    }
    (void) snprintf (type, sizeof type, "run.%s", state);
    argos_event_log_add (watch->log, type, row, n + 1, at);
}

static void
s_on_ended_row (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    argos_api_watch_t *watch;
    const json_t *row = argos_api_row (answer, NULL);
    HASH_FIND_STR (call->api->watches, call->run_id, watch);
    if (watch && argos_event_log_end (watch->log) < 0 && !call->api->stopping) {
        if (row && argos_api_row_terminal (row))
            s_make_up (watch, row);
        s_ended (watch);
    }
    argos_api_call_destroy (&call);
}

void
argos_api_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    (void) n;
    argos_api_t *self = ctx;
    argos_api_watch_t *watch = s_watch_of (self, topic);
    if (!watch)
        return;
    watch->caught_up = true;
    if (argos_event_log_end (watch->log) >= 0 || !(closed || watch->over)) {
        s_attach_pending (watch);
        return;
    }
    argos_api_call_t *call = argos_api_call_new (self, NULL);
    memcpy (call->run_id, watch->run_id, sizeof call->run_id);
    argos_api_read (
        self, "run.get", json_pack ("{s:s}", "run_id", call->run_id), s_on_ended_row, call);
}

//  --------------------------------------------------------------------------
//  Time

void
argos_api_watch_tick (argos_api_t *self, int64_t now)
{
    //  The destroyed one has left the list. NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
    while (self->idle && (now >= self->idle->drop_at || self->idle_count > S_IDLE_MAX))
        s_watch_destroy (self->idle);
}

int64_t
argos_api_watch_due (const argos_api_t *self)
{
    return self->idle_count > S_IDLE_MAX ? 0 : self->idle ? self->idle->drop_at : -1;
}
