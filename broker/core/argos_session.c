//  argos_session - a peer that has said hello: what it may do, whether it is alive, how much it may
//  send.
//
//  Invariant: a name has at most one session, and a session belongs to one connection. Leases
//  belong to the session: when it ends, each is released in the store or freed by the next hello of
//  that name. How one begins is in argos_hello.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define WINDOW_WITHHELD 8 //  Messages of a narrow window
#define CLOSE_MS 500      //  For the last word to a connection that is closed behind it

static argos_scope_t
s_scope (const session_t *session)
{
    return (argos_scope_t){ session->key, session->platform, session->account };
}

//  A message with `re` goes nowhere but to who asked, or to who works on it: it needs no rule.

bool
argos_session_may_send (
    const session_t *session, argos_to_t to, const char *name, const argos_header_t *header)
{
    argos_scope_t scope = s_scope (session);
    if (header->re[0] && !header->durable && (to == ARGOS_TO_ACTOR || to == ARGOS_TO_SERVICE))
        return true;
    return argos_role_may_send (session->role, &scope, header->type, to, name);
}

//  Whether it may publish to topics that others have made.

bool
argos_session_any_topic (const session_t *session)
{
    return argos_role_all (session->role) ||
           strcmp (argos_role_name (session->role), "operator") == 0;
}

//  A key for one platform brings no messages of another: the gateway believes what a message says
//  of its source. A body that does not say it is refused by the store.

bool
argos_session_may_say (
    const session_t *session, const argos_header_t *header, const argos_frame_t *frame)
{
    if (!session->platform[0] || strcmp (header->type, "message.inbound") != 0)
        return true;
    json_t *body = json_loadb ((const char *) frame->data, frame->size, 0, NULL);
    const json_t *source = json_object_get (body, "source");
    const char *platform = json_string_value (json_object_get (source, "platform"));
    const char *account = json_string_value (json_object_get (source, "account"));
    bool good = (!platform || strcmp (platform, session->platform) == 0) &&
                (!account || !session->account[0] || strcmp (account, session->account) == 0);
    json_decref (body);
    return good;
}

bool
argos_session_may_serve (const session_t *session, const char *service)
{
    argos_scope_t scope = s_scope (session);
    return argos_role_may_serve (session->role, &scope, service);
}

bool
argos_session_may_read (const session_t *session, const char *topic, bool pattern)
{
    argos_scope_t scope = s_scope (session);
    return argos_role_may_read (session->role, &scope, topic, pattern);
}

session_t *
argos_session_new (argos_core_t *core, uint64_t conn, const char *name)
{
    session_t *session = calloc (1, sizeof *session);
    assert (session);
    session->core = core;
    session->conn = conn;
    session->number = ++core->last_session;
    memcpy (session->name, name, strlen (name) + 1);
    argos_name_base (name, session->base);
    session->heard = core->mono;
    session->ring = CLASS_COUNT;
    HASH_ADD (hh_number, core->numbers, number, sizeof session->number, session);
    return session;
}

void
argos_session_free (session_t *session)
{
    argos_core_t *self = session->core;
    session->open = false; //  Nothing is handed to it any more
    argos_subscribe_leave (session);
    argos_request_leave (session);
    argos_service_leave (session);
    argos_intake_forget (session);
    argos_timer_clear (&self->timers, &session->timer);
    argos_slow_end (session);
    argos_timer_clear (&self->timers, &session->probe);
    HASH_DELETE (hh_number, self->numbers, session);
    session_t *other;
    HASH_FIND (hh, self->sessions, &session->conn, sizeof session->conn, other);
    if (other == session)
        HASH_DELETE (hh, self->sessions, session);
    HASH_FIND (hh_name, self->names, session->name, strlen (session->name), other);
    if (other == session)
        HASH_DELETE (hh_name, self->names, session);
    json_decref (session->capabilities);
    free (session);
}

session_t *
argos_session_find (argos_core_t *self, uint64_t number)
{
    session_t *session;
    HASH_FIND (hh_number, self->numbers, &number, sizeof number, session);
    return session;
}

session_t *
argos_session_named (argos_core_t *self, const char *name)
{
    session_t *session;
    HASH_FIND (hh_name, self->names, name, strlen (name), session);
    return session && session->open ? session : NULL;
}

session_t *
argos_session_instance (argos_core_t *self, const char *name)
{
    session_t *session = argos_session_named (self, name), *next;
    if (session)
        return session;
    HASH_ITER (hh_name, self->names, session, next)
        if (session->open && strcmp (session->base, name) == 0)
            return session;
    return NULL;
}

//  The session is over: its leases end (strikes as for argos_storage_req_t; -2 = leave them on
//  record, the next hello of this name frees them), what it asked for is forgotten, what it worked
//  on is refused to who asked.

void
argos_session_end (session_t **session_p, int strikes)
{
    session_t *session = *session_p;
    argos_core_t *self = session->core;
    uint64_t number = session->number;
    *session_p = NULL;
    argos_session_free (session);
    lane_t *lane, *next;
    HASH_ITER (hh_head, self->heads, lane, next) {
        if (lane->session != number)
            continue;
        lane->session = 0;
        if (strikes == -2)
            argos_lane_lost (lane);
        else
            argos_lease_give_back (self, lane, strikes, false);
    }
}

//  A connection whose last word is on its way

struct closing {
    struct closing *prev, *next; //  Others
    argos_core_t *core;          //  Ours
    uint64_t conn;               //  Its number
    argos_timer_t timer;         //  Until it is closed
};

static void
s_close (void *arg)
{
    struct closing *closing = arg;
    argos_core_t *self = closing->core;
    self->io.close (self->io.ctx, closing->conn);
    argos_session_closing_free (self, closing);
}

void
argos_session_closing_free (argos_core_t *self, struct closing *closing)
{
    argos_timer_clear (&self->timers, &closing->timer);
    DL_DELETE (self->closings, closing);
    free (closing);
}

void
argos_session_close_soon (argos_core_t *self, uint64_t conn)
{
    if (!self->io.close)
        return;
    struct closing *closing = calloc (1, sizeof *closing);
    if (!closing)
        abort ();
    closing->core = self;
    closing->conn = conn;
    DL_APPEND (self->closings, closing);
    argos_timer_set (&self->timers, &closing->timer, self->mono + CLOSE_MS, s_close, closing);
}

//  The peer is put out: told why if it can be, and its connection ended. Strikes as above.

void
argos_session_cut (session_t *session, cut_t why, int strikes)
{
    static const struct {
        argos_err_t code;   //  Told
        const char *reason; //  Told, and written down
    } reasons[CUT_COUNT] = {
        [CUT_CREDIT] = { ARGOS_CREDIT, "disconnected: 64 messages beyond the window" },
        [CUT_SLOW] = { ARGOS_BUSY, "disconnected: the connection has taken nothing for too long" },
        [CUT_NOISE] = { ARGOS_CREDIT, "disconnected: too much in 10 s that counts in no window" },
    };
    argos_core_t *self = session->core;
    uint64_t conn = session->conn;
    char name[ARGOS_NAME_MAX + 1];
    memcpy (name, session->name, sizeof name);
    self->cuts[why]++;
    argos_core_refuse (self, conn, "", reasons[why].code, reasons[why].reason, -1, false);
    argos_session_end (&session, strikes);
    if (why != CUT_SLOW)
        argos_penalty_begin (self, name);
    argos_session_close_soon (self, conn);
    if (self->io.put_out)
        self->io.put_out (self->io.ctx, name, reasons[why].reason);
}

//  Look for silence. Any traffic counts, so the timer is not moved by it; it looks again when it
//  fires.

static void
s_watch (void *arg)
{
    session_t *session = arg;
    argos_core_t *self = session->core;
    int64_t silent = self->mono - session->heard;
    if (silent >= self->config.lease_ms) {
        argos_session_end (&session, -1);
        return;
    }
    if (silent >= self->config.quiet_ms)
        session->quiet = true;
    int64_t wait = silent >= self->config.quiet_ms ? self->config.lease_ms : self->config.quiet_ms;
    argos_timer_set (&self->timers, &session->timer, session->heard + wait, s_watch, session);
}

void
argos_session_watch (session_t *session)
{
    argos_core_t *self = session->core;
    argos_timer_set (
        &self->timers, &session->timer, self->mono + self->config.quiet_ms, s_watch, session);
}

void
argos_session_heard (session_t *session)
{
    session->heard = session->core->mono;
    if (session->quiet && !session->slow)
        argos_session_wake (session);
}

//  It may get something new again, unless it is silent.

void
argos_session_wake (session_t *session)
{
    argos_core_t *self = session->core;
    bool silent = self->mono - session->heard >= self->config.quiet_ms;
    if (session->via != ARGOS_VIA_INPROC && silent)
        return;
    session->quiet = false;
    argos_service_woken (session);
    argos_reader_credit (session);
    lane_t *lane, *next;
    HASH_ITER (hh_head, session->core->heads, lane, next)
        if (lane->session == session->number)
            argos_lane_show (lane);
}

//  Say how much may be sent in all.

void
argos_session_tell_grant (session_t *session)
{
    argos_writer_t body = { .size = 0 };
    argos_writer_raw (&body, "{");
    argos_writer_member_int (&body, "messages", session->granted_messages);
    argos_writer_member_int (&body, "bytes", session->granted_bytes);
    argos_writer_raw (&body, "}");
    body.data[body.size] = 0;
    argos_core_word (session->core, session->conn, "credit", "", body.data);
}

//  Tell the peer its window: what is settled, plus a window that is narrow while it sends to where
//  half of a limit is used.

void
argos_session_grant (session_t *session)
{
    argos_core_t *self = session->core;
    int64_t window = self->config.window_messages;
    if (session->pressed && window > WINDOW_WITHHELD)
        window = WINDOW_WITHHELD;
    int64_t messages = session->settled_messages + window;
    int64_t bytes = session->settled_bytes + self->config.window_bytes;
    if (messages - session->granted_messages < (window + 1) / 2 &&
        bytes - session->granted_bytes < self->config.window_bytes / 2)
        return;
    if (messages < session->granted_messages)
        messages = session->granted_messages;
    session->granted_messages = messages;
    session->granted_bytes = bytes;
    if (session->open)
        argos_session_tell_grant (session);
}

void
argos_session_settle (session_t *session, int64_t bytes)
{
    session->settled_messages++;
    session->settled_bytes += bytes;
    argos_session_grant (session);
}
