//  argos_supervisor - keeps a table of actors running.
//
//  Invariant: a row is down (no actor; due to be started at restart_at, or never), or up. All calls
//  are of the main thread. Limits: ROWS_MAX actors; INTENSITY failures in PERIOD_MS.

#include "argos_supervisor.h"

#include "argos_actor.h"
#include "argos_log.h"
#include "argos_order.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#define NAME "supervisor"
#define ROWS_MAX 64          //  Actors
#define INTENSITY 3          //  Failures that are mended …
#define PERIOD_MS 30000      //  … within this
#define BACKOFF_MIN_MS 100   //  First pause before a restart
#define BACKOFF_MAX_MS 10000 //  Longest one

typedef struct {
    argos_supervised_t spec; //  As in the table
    zactor_t *actor;         //  NULL = down
    int64_t restart_at;      //  When to start it again, mono msec; 0 = not
    int64_t failed_at;       //  Last failure, mono msec; 0 = none
    int backoff_ms;          //  Next pause
    bool draining;           //  It is waited for
} row_t;

struct argos_supervisor {
    row_t rows[ROWS_MAX];        //  In order of starting
    size_t count;                //  How many
    int64_t failures[INTENSITY]; //  Times of the last ones, mono msec; a ring
    size_t failure_next;         //  Its oldest entry
    char reason[256];            //  Of the last failure
    int signal_fd;               //  Where signals arrive
    int signal;                  //  One that has come while an actor was starting, 0 = none
    bool hangup;                 //  SIGHUP has come
    argos_supervisor_handlers_t handlers; //  As given
    char *settings;                       //  The newest, NULL = none yet
};

argos_supervisor_t *
argos_supervisor_new (const argos_supervised_t *table, size_t count)
{
    assert (count <= ROWS_MAX);
    argos_supervisor_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    for (size_t i = 0; i < count; i++)
        self->rows[i] = (row_t){ .spec = table[i], .backoff_ms = BACKOFF_MIN_MS };
    self->count = count;
    return self;
}

void
argos_supervisor_destroy (argos_supervisor_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_supervisor_stop (*self_p);
    free ((*self_p)->settings);
    free (*self_p);
    *self_p = NULL;
}

const char *
argos_supervisor_reason (const argos_supervisor_t *self)
{
    return self->reason;
}

//  ---------------------------------------------------------------------------------------------
//  Up and down

//  A signal that ends the loop, 0 = none has arrived.

static int
s_signal (argos_supervisor_t *self)
{
    struct signalfd_siginfo info;
    while (read (self->signal_fd, &info, sizeof info) == (ssize_t) sizeof info) {
        if (info.ssi_signo != SIGHUP)
            return (int) info.ssi_signo;
        self->hangup = true;
    }
    return 0;
}

static bool
s_is_readable (int fd)
{
    struct pollfd item = { .fd = fd, .events = POLLIN };
    return poll (&item, 1, 0) == 1;
}

//  A pipe that is full belongs to an actor that hears nothing anyway.

static void
s_send (row_t *row, zmsg_t **msg_p)
{
    ARGOS_GIVE ();
    if (row->actor) {
        zsock_set_sndtimeo (zactor_sock (row->actor), 0);
        if (zmsg_send (msg_p, zactor_sock (row->actor)) != 0)
            argos_log (ARGOS_LOG_WARN, NAME, "not told", "name=%s", row->spec.name);
    }
    zmsg_destroy (msg_p);
}

static void
s_send_settings (argos_supervisor_t *self, row_t *row)
{
    if (!self->settings || !row->spec.settings)
        return;
    zmsg_t *msg = zmsg_new ();
    zmsg_addstr (msg, ARGOS_ACTOR_SETTINGS);
    zmsg_addstr (msg, self->settings);
    s_send (row, &msg);
}

void
argos_supervisor_on (argos_supervisor_t *self, const argos_supervisor_handlers_t *handlers)
{
    self->handlers = *handlers;
}

void
argos_supervisor_settings (argos_supervisor_t *self, const char *text)
{
    free (self->settings);
    self->settings = strdup (text);
    if (!self->settings)
        abort ();
    for (size_t i = 0; i < self->count; i++)
        s_send_settings (self, &self->rows[i]);
}

void
argos_supervisor_tell (argos_supervisor_t *self, const char *name, zmsg_t **msg_p)
{
    for (size_t i = 0; i < self->count; i++)
        if (streq (self->rows[i].spec.name, name)) {
            s_send (&self->rows[i], msg_p);
            return;
        }
    zmsg_destroy (msg_p);
}

//  An actor may wait long for its broker: a signal ends that, too. Then self->signal has it.

static int
s_up (argos_supervisor_t *self, row_t *row)
{
    char why[160];
    row->restart_at = 0;
    do {
        row->actor = argos_actor_start_unless (
            row->spec.name, row->spec.fn, row->spec.config, self->signal_fd, why, sizeof why);
        if (row->actor || !s_is_readable (self->signal_fd))
            break;
        self->signal = s_signal (self);
    } while (!self->signal);
    if (row->actor && row->spec.started && row->spec.started (row->actor, row->spec.config) != 0)
        argos_actor_stop (&row->actor, row->spec.shutdown_ms);
    if (!row->actor) {
        snprintf (self->reason, sizeof self->reason, "%s can't start%s%s", row->spec.name,
            *why ? ": " : "", why);
        return -1;
    }
    argos_log (ARGOS_LOG_DEBUG, NAME, "started", "name=%s", row->spec.name);
    s_send_settings (self, row);
    return 0;
}

static int
s_down (argos_supervisor_t *self, row_t *row)
{
    row->restart_at = 0;
    if (argos_actor_stop (&row->actor, row->spec.shutdown_ms) == 0)
        return 0;
    snprintf (self->reason, sizeof self->reason, "%s does not stop", row->spec.name);
    argos_log (ARGOS_LOG_ERROR, NAME, "hung", "name=%s", row->spec.name);
    return -1;
}

int
argos_supervisor_stop (argos_supervisor_t *self)
{
    int rc = 0;
    for (size_t i = self->count; i > 0; i--)
        if (s_down (self, &self->rows[i - 1]) != 0)
            rc = -1;
    return rc;
}

//  ---------------------------------------------------------------------------------------------
//  Failures

//  Note a failure; whether it is one more than can be mended.

static bool
s_too_many (argos_supervisor_t *self, int64_t now)
{
    int64_t *oldest = &self->failures[self->failure_next];
    bool too_many = *oldest && now - *oldest < PERIOD_MS;
    *oldest = now;
    self->failure_next = (self->failure_next + 1) % INTENSITY;
    return too_many;
}

//  A row has failed. Returns 0 when it will be started again, -1 when the process has to end.

static int
s_failed (argos_supervisor_t *self, row_t *row, const char *why)
{
    int64_t now = zclock_mono ();
    argos_log (ARGOS_LOG_ERROR, NAME, "failed", "name=%s reason=\"%s\"", row->spec.name, why);
    if (row->actor && s_down (self, row) != 0)
        return -1;
    snprintf (self->reason, sizeof self->reason, "%s failed: %s", row->spec.name, why);
    bool patient = row->spec.restart >= ARGOS_RESTART_PATIENTLY;
    if (!patient && (row->spec.restart == ARGOS_RESTART_NEVER || s_too_many (self, now)))
        return -1;
    if (row->failed_at && now - row->failed_at > PERIOD_MS)
        row->backoff_ms = BACKOFF_MIN_MS;
    row->failed_at = now;
    row->restart_at = now + row->backoff_ms;
    row->backoff_ms = row->backoff_ms * 2 < BACKOFF_MAX_MS ? row->backoff_ms * 2 : BACKOFF_MAX_MS;
    return 0;
}

int
argos_supervisor_start (argos_supervisor_t *self, int signal_fd)
{
    self->signal_fd = signal_fd;
    for (size_t i = 0; i < self->count; i++) {
        row_t *row = &self->rows[i];
        if (s_up (self, row) == 0 || (row->spec.restart == ARGOS_RESTART_WHENEVER &&
                                         s_failed (self, row, "it can't start") == 0))
            continue;
        argos_supervisor_stop (self);
        return self->signal ? self->signal : -1;
    }
    return 0;
}

//  One message of a row. Whether it tells of a failure; then why goes to reason.

static bool
s_tells_failure (argos_supervisor_t *self, row_t *row, bool *ret_gone, char *reason, size_t size)
{
    zmsg_t *msg = zmsg_recv (zactor_sock (row->actor));
    if (!msg)
        return false;
    ARGOS_TAKE ();
    *ret_gone = zmsg_signal (msg) >= 0;
    zframe_t *first = *ret_gone ? NULL : zmsg_first (msg);
    bool failed = first && zframe_streq (first, "FAILED");
    if (first && !failed && self->handlers.on_word)
        self->handlers.on_word (self->handlers.arg, row->spec.name, msg);
    char *word = failed ? zmsg_popstr (msg) : NULL, *why = failed ? zmsg_popstr (msg) : NULL;
    snprintf (reason, size, "%s",
        *ret_gone ? "its thread has left"
        : why     ? why
                  : "no reason given");
    free (word);
    free (why);
    zmsg_destroy (&msg);
    return failed || *ret_gone;
}

//  Read what a row has to say. Returns 0, or -1 when the process has to end.

static int
s_hear (argos_supervisor_t *self, row_t *row)
{
    char reason[sizeof self->reason];
    zsock_t *pipe = zactor_sock (row->actor);
    while (zsock_events (pipe) & ZMQ_POLLIN) {
        bool gone = false;
        if (!s_tells_failure (self, row, &gone, reason, sizeof reason))
            continue;
        if (gone) {
            zsock_set_rcvtimeo (pipe, 0); //  Its exit signal has just been read; there is no other
            zactor_destroy (&row->actor);
        }
        return s_failed (self, row, reason);
    }
    return 0;
}

//  Start again what is due. Returns 0, or -1 when the process has to end.

static int
s_restart_due (argos_supervisor_t *self)
{
    for (size_t i = 0; i < self->count; i++) {
        row_t *row = &self->rows[i];
        if (!row->restart_at || zclock_mono () < row->restart_at)
            continue;
        if (s_up (self, row) != 0) {
            if (self->signal)
                return 0;
            if (s_failed (self, row, "it can't start") != 0)
                return -1;
            continue;
        }
        argos_log (ARGOS_LOG_WARN, NAME, "restarted", "name=%s", row->spec.name);
    }
    return 0;
}

//  ---------------------------------------------------------------------------------------------
//  The loop

//  How long to sleep: until a restart is due, or for ever.

static long
s_sleep_ms (const argos_supervisor_t *self)
{
    int64_t sleep_ms = -1, now = zclock_mono ();
    for (size_t i = 0; i < self->count; i++) {
        if (!self->rows[i].restart_at)
            continue;
        int64_t left_ms = self->rows[i].restart_at > now ? self->rows[i].restart_at - now : 0;
        if (sleep_ms < 0 || left_ms < sleep_ms)
            sleep_ms = left_ms;
    }
    return (long) sleep_ms;
}

static void
s_hangup (argos_supervisor_t *self)
{
    bool hangup = self->hangup;
    self->hangup = false;
    if (hangup && self->handlers.on_hangup)
        self->handlers.on_hangup (self->handlers.arg);
}

void
argos_supervisor_end (argos_supervisor_t *self, int signal)
{
    self->signal = signal;
}

typedef struct {
    zmq_pollitem_t items[ROWS_MAX + 1]; //  The signals, then the pipes
    row_t *rows[ROWS_MAX + 1];          //  Whose
    int count;                          //  Items
} watch_t;

static void
s_watch (argos_supervisor_t *self, watch_t *watch)
{
    watch->items[0] = (zmq_pollitem_t){ .fd = self->signal_fd, .events = ZMQ_POLLIN };
    watch->count = 1;
    for (size_t i = 0; i < self->count; i++)
        if (self->rows[i].actor) {
            watch->rows[watch->count] = &self->rows[i];
            watch->items[watch->count++] =
                (zmq_pollitem_t){ .socket = zsock_resolve (self->rows[i].actor),
                    .events = ZMQ_POLLIN };
        }
}

//  What a row says while it drains. Whether it is over: it has said so, or has failed.

static bool
s_is_drained (row_t *row)
{
    zsock_t *pipe = zactor_sock (row->actor);
    while (zsock_events (pipe) & ZMQ_POLLIN) {
        zmsg_t *msg = zmsg_recv (pipe);
        zframe_t *word = msg ? zmsg_first (msg) : NULL;
        bool gone = msg && zmsg_signal (msg) >= 0;
        bool over =
            gone ||
            (word && (zframe_streq (word, ARGOS_ACTOR_DRAINED) || zframe_streq (word, "FAILED")));
        zmsg_destroy (&msg);
        ARGOS_TAKE ();
        if (gone) {
            zsock_set_rcvtimeo (pipe, 0); //  Its exit signal has just been read
            zactor_destroy (&row->actor);
        }
        if (over)
            return true;
    }
    return false;
}

bool
argos_supervisor_drain (argos_supervisor_t *self, int patience_ms, const char *run_id)
{
    int64_t deadline = zclock_mono () + patience_ms;
    int left = 0;
    for (size_t i = 0; i < self->count; i++) {
        row_t *row = &self->rows[i];
        row->draining = row->spec.drains && row->actor;
        if (!row->draining)
            continue;
        zmsg_t *msg = zmsg_new ();
        zmsg_addstr (msg, ARGOS_ACTOR_DRAIN);
        zmsg_addstr (msg, run_id);
        s_send (row, &msg);
        left++;
    }
    while (left && zclock_mono () < deadline) {
        watch_t watch;
        s_watch (self, &watch);
        int64_t left_ms = deadline - zclock_mono (); //  Below 0 it would wait for ever
        zmq_poll (watch.items, watch.count, left_ms > 0 ? (long) left_ms : 0);
        if (watch.items[0].revents && s_signal (self))
            break; //  Asked twice: no more waiting
        for (int i = 1; i < watch.count; i++)
            if (watch.items[i].revents && s_is_drained (watch.rows[i]) && watch.rows[i]->draining) {
                watch.rows[i]->draining = false;
                left--;
            }
    }
    return !left;
}

int
argos_supervisor_run (argos_supervisor_t *self)
{
    for (;;) {
        watch_t watch;
        s_watch (self, &watch);
        zmq_pollitem_t *items = watch.items;
        row_t **watched = watch.rows;
        int count = watch.count;
        zmq_poll (items, count, s_sleep_ms (self));
        int signal = items[0].revents ? s_signal (self) : 0;
        if (signal)
            return signal;
        s_hangup (self);
        for (int i = 1; i < count; i++)
            if (items[i].revents && s_hear (self, watched[i]) != 0)
                return -1;
        if (s_restart_due (self) != 0)
            return -1;
        if (self->signal)
            return self->signal;
    }
}
