//  argos_store_sessions - routes, sessions and transcripts.
//
//  Invariant: a transcript is written, and a session closed, only under the lease of the lane
//  turn/<session>. A failed load is a refusal, never an empty transcript.
//  Limits: a page of a transcript has at most ARGOS_STORE_PAGE_BYTES, but at least one message.

#include "argos_store_priv.h"

#include <string.h>

//  Set a member unless value is NULL; value is stolen.

static void
s_set (json_t *object, const char *name, json_t *value)
{
    if (value)
        json_object_set_new (object, name, value);
}

//  The session, new, or NULL when there is none.

static json_t *
s_session (argos_store_t *self, const char *id)
{
    json_t *session = NULL;
    sqlite3_stmt *stmt = argos_store_query (self, ARGOS_SQL_SESSION_GET, "s", id);
    if (stmt) {
        session = json_object ();
        s_set (session, "id", argos_store_string (stmt, 0));
        s_set (session, "title", argos_store_string (stmt, 1));
        s_set (session, "source", argos_store_json (stmt, 2));
        s_set (session, "started_at", json_integer (sqlite3_column_int64 (stmt, 3)));
        if (sqlite3_column_type (stmt, 4) != SQLITE_NULL)
            s_set (session, "ended_at", json_integer (sqlite3_column_int64 (stmt, 4)));
        s_set (session, "end_reason", argos_store_string (stmt, 5));
        s_set (session, "message_count", json_integer (sqlite3_column_int64 (stmt, 6)));
        s_set (session, "version", json_integer (sqlite3_column_int64 (stmt, 7)));
    }
    argos_store_end (self, ARGOS_SQL_SESSION_GET);
    return session;
}

bool
argos_store_route_get (argos_store_t *self, argos_store_unit_t *unit)
{
    json_t *route = NULL, *session = NULL;
    sqlite3_stmt *stmt =
        argos_store_query (self, ARGOS_SQL_ROUTE_GET, "s", argos_store_member (unit->body, "key"));
    if (stmt) {
        char id[ARGOS_KEY_MAX + 1];
        argos_store_text (stmt, 1, id, sizeof id);
        route = json_object ();
        s_set (route, "key", argos_store_string (stmt, 0));
        s_set (route, "session_id", argos_store_string (stmt, 1));
        s_set (route, "version", json_integer (sqlite3_column_int64 (stmt, 2)));
        json_t *source = argos_store_json (stmt, 3);
        s_set (route, "source", source ? source : json_null ());
        s_set (route, "updated_at", json_integer (sqlite3_column_int64 (stmt, 4)));
        session = s_session (self, id);
    }
    argos_store_end (self, ARGOS_SQL_ROUTE_GET);
    unit->result = json_pack ("{s:o?, s:o?}", "route", route, "session", session);
    return true;
}

bool
argos_store_route_bind (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    argos_store_run (self, ARGOS_SQL_ROUTE_BIND, "ssji", argos_store_member (body, "key"),
        argos_store_member (body, "session_id"), json_object_get (body, "source"), self->now);
    return true;
}

bool
argos_store_session_get (argos_store_t *self, argos_store_unit_t *unit)
{
    json_t *session = s_session (self, argos_store_member (unit->body, "id"));
    unit->result = json_pack ("{s:o?}", "session", session);
    return true;
}

bool
argos_store_session_create (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    argos_store_run (self, ARGOS_SQL_SESSION_ADD, "sjei", argos_store_member (body, "id"),
        json_object_get (body, "source"), argos_store_member (body, "parent"), self->now);
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, "a session of that id exists");
    return true;
}

//  Whether the commit runs under the lease of the session's own lane

static bool
s_own_lane (const argos_store_unit_t *unit, const char *session_id)
{
    return unit->row && strcmp (unit->row->service, "turn") == 0 &&
           strcmp (unit->row->key, session_id) == 0;
}

static bool
s_exists (argos_store_t *self, const char *session_id)
{
    return argos_store_number (self, 0, ARGOS_SQL_SESSION_VERSION, "s", session_id) != 0;
}

bool
argos_store_session_close (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *id = argos_store_member (unit->body, "id");
    if (!s_own_lane (unit, id))
        return argos_store_refuse (
            unit->ans, ARGOS_DENIED, "a session is closed only under the lease of its lane");
    argos_store_run (self, ARGOS_SQL_SESSION_CLOSE, "sis", id, self->now,
        argos_store_member (unit->body, "reason"));
    if (!self->failed && !argos_store_changed (self) && !s_exists (self, id))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    return true;
}

//  One message of the page, new; *bytes grows by its size.

static json_t *
s_message (sqlite3_stmt *stmt, size_t *bytes)
{
    json_t *message = argos_store_json (stmt, 3);
    if (!message)
        message = json_object ();
    s_set (message, "id", json_integer (sqlite3_column_int64 (stmt, 0)));
    s_set (message, "role", argos_store_string (stmt, 1));
    s_set (message, "content", argos_store_string (stmt, 2));
    *bytes +=
        (size_t) sqlite3_column_bytes (stmt, 2) + (size_t) sqlite3_column_bytes (stmt, 3) + 64;
    return message;
}

bool
argos_store_session_load (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *id = argos_store_member (unit->body, "id");
    int64_t limit = argos_store_integer (unit->body, "limit_bytes", ARGOS_STORE_PAGE_BYTES);
    if (limit < 1 || limit > ARGOS_STORE_PAGE_BYTES)
        limit = ARGOS_STORE_PAGE_BYTES;
    if (!s_exists (self, id))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    json_t *messages = json_array ();
    size_t bytes = 0;
    bool more = false;
    sqlite3_stmt *stmt = argos_store_query (
        self, ARGOS_SQL_MESSAGE_PAGE, "si", id, argos_store_integer (unit->body, "after", 0));
    while (stmt && !more) {
        json_t *message = s_message (stmt, &bytes);
        more = bytes > (size_t) limit && json_array_size (messages) > 0;
        if (more)
            json_decref (message);
        else
            json_array_append_new (messages, message);
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_MESSAGE_PAGE);
    unit->result = json_pack ("{s:o, s:b}", "messages", messages, "more", more);
    return true;
}

//  A message without what has columns of its own, new; NULL when nothing is left.

static json_t *
s_extra (json_t *message)
{
    json_t *extra = json_copy (message);
    json_object_del (extra, "role");
    if (json_is_string (json_object_get (message, "content")))
        json_object_del (extra, "content");
    if (json_object_size (extra) == 0) {
        json_decref (extra);
        return NULL;
    }
    return extra;
}

bool
argos_store_session_append (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *id = argos_store_member (unit->body, "session_id");
    if (!s_own_lane (unit, id))
        return argos_store_refuse (
            unit->ans, ARGOS_DENIED, "a transcript is written only under the lease of its lane");
    const json_t *messages = json_object_get (unit->body, "messages");
    argos_store_run (self, ARGOS_SQL_SESSION_COUNT, "si", id, (int64_t) json_array_size (messages));
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    size_t index;
    json_t *message;
    json_array_foreach (messages, index, message) {
        json_t *extra = s_extra (message);
        const char *content = json_string_value (json_object_get (message, "content"));
        argos_store_run (self, ARGOS_SQL_MESSAGE_ADD, "ssisj", id,
            argos_store_member (message, "role"), self->now, content, extra);
        json_decref (extra);
    }
    return true;
}
