//  argos_agent_load - the transcript at the begin of a turn, and what an earlier attempt left in
//  it.
//
//  Invariant: a transcript that can't be loaded is an error, never an empty one. Pages of 512 KiB
//  come one after the other.

#include "argos_agent_priv.h"

#include <stdlib.h>
#include <string.h>

static const char s_unknown_text[] =
    "The outcome of this call is unknown: the turn was interrupted while it ran, and it was not "
    "run again.";

typedef struct {
    turn_t *turn;   //  Holds a reference
    unsigned epoch; //  Of the turn when it was asked
} s_ticket_t;

//  Rows of this run: the user's message, texts, and calls that have no result. Whether there are
//  any.
static bool
s_find_own (turn_t *self)
{
    size_t i, j;
    json_object_clear (self->open);
    json_t *row, *call;
    bool own = false;
    json_array_foreach (self->rows, i, row) {
        const char *run_id = json_string_value (json_object_get (row, "run_id"));
        const char *role = json_string_value (json_object_get (row, "role"));
        if (!run_id || !role || strcmp (run_id, self->run_id) != 0)
            continue;
        own = true;
        if (strcmp (role, "user") == 0)
            self->user_stored = true;
        else if (strcmp (role, "tool") == 0) {
            const char *id = json_string_value (json_object_get (row, "tool_call_id"));
            json_object_del (self->open, id ? id : "");
        }
        else if (strcmp (role, "assistant") == 0) {
            self->iterations++;
            if (json_string_length (json_object_get (row, "content")))
                self->segment++;
            json_array_foreach (json_object_get (row, "tool_calls"), j, call) {
                const char *id = json_string_value (json_object_get (call, "id"));
                const json_t *name = json_object_get (json_object_get (call, "function"), "name");
                if (id && json_is_string (name))
                    json_object_set (self->open, id, call);
            }
        }
    }
    return own;
}

static bool
s_waits (const turn_t *self, const char *id)
{
    for (size_t i = 0; i < self->tool_count; i++)
        if (strcmp (self->tools[i].id, id) == 0)
            return true;
    return false;
}

//  A call that waits for nobody and has no result was under way when the turn was interrupted
static void
s_find_unknown (turn_t *self)
{
    const char *id;
    json_t *call;
    json_array_clear (self->unknown);
    json_object_foreach (self->open, id, call)
        if (!s_waits (self, id) && !turn_runs_again (self, call))
            json_array_append_new (
                self->unknown, json_pack ("{s:s, s:s, s:s, s:O, s:s}", "role", "tool", "content",
                                   s_unknown_text, "tool_call_id", id, "tool_name",
                                   json_object_get (json_object_get (call, "function"), "name"),
                                   "run_id", self->run_id));
}

//  The stored rows are replaced by the history that came with the request; those of this run stay
static void
s_use_history (turn_t *self, json_t *history)
{
    json_t *rows = json_array ();
    size_t i;
    json_t *row;
    json_array_extend (rows, history);
    json_array_foreach (self->rows, i, row) {
        const char *run_id = json_string_value (json_object_get (row, "run_id"));
        if (run_id && strcmp (run_id, self->run_id) == 0)
            json_array_append (rows, row);
    }
    json_decref (self->rows);
    self->rows = rows;
}

//  A turn that was parked goes on as if nothing had happened
void
turn_found (turn_t *self)
{
    json_t *history = json_object_get (self->body, "history");
    self->stored_rows = self->load_after || !history ? (int64_t) json_array_size (self->rows) : -1;
    s_find_unknown (self);
    self->resumed = self->resumed || (self->own_rows && !self->tool_count);
    if (json_is_array (history))
        s_use_history (self, history);
    json_array_extend (self->rows, self->unknown);
    if (!self->user_stored)
        json_array_append_new (
            self->rows, json_pack ("{s:s, s:O, s:O*}", "role", "user", "content", self->user,
                            "attachments", json_object_get (self->body, "attachments")));
    bool long_text = !self->user_stored && json_string_length (self->user) > AGENT_USER_MAX;
    bool open = self->resumed || long_text || json_array_size (self->unknown);
    if (self->compact) {
        self->compressions = 1;
        turn_ready (self, ARGOS_TURN_COMPRESS);
        return;
    }
    turn_fetch_images (self, open               ? ARGOS_TURN_LOADED_OPEN
                             : self->tool_count ? ARGOS_TURN_LOADED_TOOLS
                                                : ARGOS_TURN_LOADED);
}

void
turn_ready (turn_t *self, argos_turn_event_t event)
{
    const mail_t *mail = turn_own_mail (self);
    if (event == ARGOS_TURN_LOADED && turn_is_long (self)) {
        event = ARGOS_TURN_COMPRESS;
        self->preflight = true;
        self->compressions = 1;
    }
    turn_event (self, mail && mail->own ? ARGOS_TURN_STOP : event);
}

static void
s_loaded (turn_t *self)
{
    self->own_rows = s_find_own (self);
    if (json_object_size (self->open))
        turn_find_questions (self);
    else
        turn_found (self);
}

static void
s_on_page (void *arg, const argos_peer_answer_t *answer)
{
    s_ticket_t *ticket = (s_ticket_t *) arg;
    turn_t *turn = ticket->turn;
    bool current = ticket->epoch == turn->epoch && turn->state != ARGOS_TURN_OVER;
    free (ticket);
    json_t *messages = answer->code == ARGOS_OK ? json_object_get (answer->body, "messages") : NULL;
    if (current && !json_is_array (messages)) {
        argos_log (ARGOS_LOG_WARN, turn->agent->name, "load failed", "code=%s",
            argos_err_name (answer->code));
        turn_event (turn, ARGOS_TURN_REFUSED);
    }
    else if (current) {
        size_t count = json_array_size (messages);
        json_array_extend (turn->rows, messages);
        turn->load_after = json_integer_value (
            json_object_get (json_array_get (messages, count ? count - 1 : 0), "id"));
        if (count && json_is_true (json_object_get (answer->body, "more")))
            turn_load (turn);
        else
            s_loaded (turn);
    }
    turn_unref (turn);
}

void
turn_load (turn_t *self)
{
    bool replaced = json_is_array (json_object_get (self->body, "history"));
    if (replaced && self->attempt <= 1 && !self->resumed) {
        s_loaded (self);
        return;
    }
    s_ticket_t *ticket = (s_ticket_t *) malloc (sizeof *ticket);
    if (!ticket)
        abort ();
    *ticket = (s_ticket_t){ self, self->epoch };
    json_t *body = json_pack ("{s:s}", "id", self->session);
    if (self->load_after)
        json_object_set_new (body, "after", json_integer (self->load_after));
    argos_peer_part_t part = { .type = "session.load", .to = "store", .body = body };
    self->refs++;
    if (argos_peer_send (self->agent->peer, &part, s_on_page, ticket) != ARGOS_OK) {
        self->refs--;
        free (ticket);
        turn_event (self, ARGOS_TURN_REFUSED);
    }
}
