//  argos_store_sessions - the rows of sessions: finding, showing, closing.
//
//  Invariant: a session that has work is closed only under the lease of the lane turn/<session>;
//  the first reason wins, unless it was an accident. A session of another owner is answered like
//  one that is not there, by the same statement.

#include "argos_store_priv.h"

#include <string.h>

//  Set a member unless value is NULL; value is stolen.

static void
s_set (json_t *object, const char *name, json_t *value)
{
    if (value)
        json_object_set_new (object, name, value);
}

json_t *
argos_store_session_json (argos_sql_row_t *stmt, int first)
{
    static const struct {
        const char *name; //  Member
        char kind;        //  s text, j JSON, i integer, d number, b flag, left out when 0
    } columns[] = { { "id", 's' }, { "title", 's' }, { "source", 'j' }, { "started_at", 'i' },
        { "ended_at", 'i' }, { "end_reason", 's' }, { "message_count", 'i' }, { "version", 'i' },
        { "owner", 's' }, { "kind", 's' }, { "parent", 's' }, { "platform", 's' }, { "model", 's' },
        { "title_source", 's' }, { "last_activity_at", 'i' }, { "preview", 's' },
        { "tool_call_count", 'i' }, { "rewind_count", 'i' }, { "input_tokens", 'i' },
        { "output_tokens", 'i' }, { "cost_usd", 'd' }, { "continued", 'b' }, { "hidden", 'b' },
        { "archived", 'b' }, { "home", 's' }, { "root", 's' } };
    json_t *session = json_object ();
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        int column = first + (int) i;
        json_t *value = NULL;
        if (argos_sql_is_null (stmt, column))
            continue;
        if (columns[i].kind == 's')
            value = argos_store_string (stmt, column);
        else if (columns[i].kind == 'j')
            value = argos_store_json (stmt, column);
        else if (columns[i].kind == 'i')
            value = json_integer (argos_sql_int (stmt, column));
        else if (columns[i].kind == 'd')
            value = json_real (argos_sql_real (stmt, column));
        else if (argos_sql_int (stmt, column) != 0)
            value = json_true ();
        s_set (session, columns[i].name, value);
    }
    return session;
}

json_t *
argos_store_session (argos_store_t *self, const char *id, const char *owner)
{
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_SESSION_GET, "se", id, owner);
    json_t *session = stmt ? argos_store_session_json (stmt, 0) : NULL;
    argos_store_end (self, ARGOS_SQL_SESSION_GET);
    return session;
}

bool
argos_store_session_find (
    argos_store_t *self, const char *id, const char *owner, argos_store_session_t *ret_session)
{
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_SESSION_ROW, "se", id, owner);
    if (stmt) {
        argos_store_text_copy (ret_session->id, id, sizeof ret_session->id);
        argos_store_text (stmt, 0, ret_session->owner, sizeof ret_session->owner);
        argos_store_text (stmt, 1, ret_session->kind, sizeof ret_session->kind);
        argos_store_text (stmt, 2, ret_session->parent, sizeof ret_session->parent);
        argos_store_text (stmt, 3, ret_session->title, sizeof ret_session->title);
        ret_session->message_count = argos_sql_int (stmt, 4);
    }
    argos_store_end (self, ARGOS_SQL_SESSION_ROW);
    return stmt != NULL;
}

bool
argos_store_session_need (
    argos_store_t *self, argos_store_unit_t *unit, argos_store_session_t *ret_session)
{
    if (argos_store_session_find (self, argos_store_member (unit->body, "id"),
            argos_store_member (unit->body, "owner"), ret_session))
        return true;
    return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
}

bool
argos_store_session_get (argos_store_t *self, argos_store_unit_t *unit)
{
    json_t *session = argos_store_session (
        self, argos_store_member (unit->body, "id"), argos_store_member (unit->body, "owner"));
    unit->result = json_pack ("{s:o?}", "session", session);
    return true;
}

bool
argos_store_own_lane (const argos_store_unit_t *unit, const char *session_id)
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
    if (!argos_store_own_lane (unit, id))
        return argos_store_refuse (
            unit->ans, ARGOS_DENIED, "a session is closed only under the lease of its lane");
    argos_store_run (self, ARGOS_SQL_SESSION_CLOSE, "sis", id, self->now,
        argos_store_member (unit->body, "reason"));
    if (!self->failed && !argos_store_changed (self) && !s_exists (self, id))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    return true;
}
