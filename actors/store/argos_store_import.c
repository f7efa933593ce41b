//  argos_store_import - sessions from elsewhere: an export, or another program's database.
//
//  Invariant: a session that is being brought in is hidden and has the end reason `importing`;
//  nobody but this operation adds to it, and a message is added once for its place, so that an
//  import that was cut off goes on. The piece with the row of the session makes it one like any
//  other. What exists is never changed. Limits: those of a part: 256 messages, 1 MiB.

#include "argos_store_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t
s_flag (const json_t *object, const char *name, bool absent)
{
    const json_t *value = json_object_get (object, name);
    return value ? json_is_true (value) : absent;
}

//  What has no column, new; NULL when nothing is left.

static json_t *
s_extra (json_t *message)
{
    static const char *const columns[] = { "role", "client_id", "id", "at", "active", "compacted",
        "rewound" };
    json_t *extra = json_copy (message);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        json_object_del (extra, columns[i]);
    if (json_is_string (json_object_get (message, "content")))
        json_object_del (extra, "content");
    if (json_object_size (extra) == 0) {
        json_decref (extra);
        extra = NULL;
    }
    return extra;
}

static void
s_add (argos_store_t *self, const char *id, json_t *messages, int64_t first)
{
    size_t index;
    json_t *message;
    json_array_foreach (messages, index, message) {
        char place[40];
        json_t *extra = s_extra (message);
        char *tools = argos_store_message_tools (message);
        snprintf (place, sizeof place, "import.%lld", (long long) first + (long long) index);
        argos_store_run (self, ARGOS_SQL_MESSAGE_IMPORT, "ssisjsiiie", id,
            argos_store_member (message, "role"), argos_store_integer (message, "at", self->now),
            json_string_value (json_object_get (message, "content")), extra, (const char *) place,
            s_flag (message, "active", true), s_flag (message, "compacted", false),
            argos_store_integer (message, "rewound", 0), (const char *) tools);
        json_decref (extra);
        free (tools);
        self->messages_behind += !self->failed && argos_store_changed (self);
    }
}

static void
s_usage (argos_store_t *self, const char *id, const json_t *list)
{
    size_t index;
    json_t *row;
    json_array_foreach (list, index, row) {
        int64_t last = argos_store_integer (row, "last_at", self->now);
        argos_store_run (self, ARGOS_SQL_USAGE_IMPORT, "ssssssiiiiiidjeeiij", id,
            argos_store_member (row, "model"), argos_store_member (row, "provider"),
            argos_store_member (row, "base_url"), argos_store_member (row, "mode"),
            argos_store_member (row, "task"), argos_store_integer (row, "calls", 1),
            argos_store_integer (row, "input_tokens", 0),
            argos_store_integer (row, "output_tokens", 0),
            argos_store_integer (row, "cache_read_tokens", 0),
            argos_store_integer (row, "cache_write_tokens", 0),
            argos_store_integer (row, "reasoning_tokens", 0),
            json_number_value (json_object_get (row, "estimated_usd")),
            json_object_get (row, "actual_usd"), argos_store_member (row, "cost_status"),
            argos_store_member (row, "cost_source"), argos_store_integer (row, "first_at", last),
            last, json_object_get (row, "cost_usd"));
    }
}

//  The title as given, its beginning when it is too long, or with the next number when it is
//  somebody else's.

static void
s_title (argos_store_t *self, const argos_store_session_t *session, const char *given,
    char title[static ARGOS_STORE_TITLE_MAX])
{
    size_t count;
    argos_store_title_clean (given, title, &count);
    if (*title &&
        argos_store_number (self, 0, ARGOS_SQL_TITLE_TAKEN, "sss", (const char *) session->owner,
            (const char *) title, (const char *) session->id)) {
        char taken[ARGOS_STORE_TITLE_MAX];
        memcpy (taken, title, sizeof taken);
        argos_store_title_next (self, session->owner, taken, title);
    }
}

//  The row, when all messages are there.

static void
s_finish (argos_store_t *self, const char *id, const json_t *row)
{
    argos_store_session_t session = { .kind = "" }, parent;
    char title[ARGOS_STORE_TITLE_MAX];
    int64_t started = argos_store_integer (row, "started_at", self->now);
    const char *kind = argos_store_member (row, "kind");
    const char *parent_id = argos_store_member (row, "parent");
    if (!*parent_id || strcmp (parent_id, id) == 0 ||
        !argos_store_session_find (self, parent_id, "", &parent))
        parent_id = "";
    if (!*parent_id || !*kind)
        kind = *parent_id ? "branch" : "root";
    argos_store_text_copy (session.id, id, sizeof session.id);
    argos_store_session_owner (row, NULL, session.owner);
    s_title (self, &session, argos_store_member (row, "title"), title);
    const char *title_source = argos_store_member (row, "title_source");
    argos_store_session_recount (self, id);
    argos_store_run (self, ARGOS_SQL_SESSION_IMPORTED, "seeiieeeeiiidiisj", id, parent_id,
        (const char *) title, started, argos_store_integer (row, "ended_at", 0),
        argos_store_member (row, "end_reason"),
        !*title         ? ""
        : *title_source ? title_source
                        : "user",
        argos_store_member (row, "model"), (const char *) session.owner,
        argos_store_integer (row, "last_activity_at", 0),
        argos_store_integer (row, "input_tokens", 0), argos_store_integer (row, "output_tokens", 0),
        json_number_value (json_object_get (row, "cost_usd")), s_flag (row, "hidden", false),
        s_flag (row, "archived", false), kind, json_object_get (row, "source"));
    argos_store_run (
        self, ARGOS_SQL_SESSION_REWINDS, "si", id, argos_store_integer (row, "rewind_count", 0));
    if (strcmp (kind, "compression") == 0)
        argos_store_run (self, ARGOS_SQL_SESSION_CONTINUED, "s", parent_id);
}

bool
argos_store_session_import (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body, *row = json_object_get (body, "session");
    const char *id = argos_store_member (body, "id");
    argos_store_run (self, ARGOS_SQL_SESSION_IMPORT, "si", id, self->now);
    if (!self->failed && !argos_store_changed (self) &&
        !argos_store_number (self, 0, ARGOS_SQL_SESSION_IMPORTING, "s", id))
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, "a session of that id exists");
    s_add (self, id, json_object_get (body, "messages"), argos_store_integer (body, "first", 0));
    if (row) {
        s_usage (self, id, json_object_get (body, "usage"));
        s_finish (self, id, row);
    }
    return true;
}
