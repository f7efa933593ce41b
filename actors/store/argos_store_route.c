//  argos_store_route - routes: which session a message from somewhere belongs to.
//
//  Invariants: a route leads to a session that exists, and changes together with it: the operation
//  that leads it elsewhere ends the session before in the same transaction, at once when its lane
//  is idle, else by a session.end in that lane. A session to which another route leads is not
//  ended. Two routes to one session share its lane, which is named by the session. Limits: 100
//  routes of a list, 1000 of a pruning.

#include "argos_store_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LIST_DEFAULT 20   //  Routes of a page
#define PRUNE_DEFAULT 100 //  Routes of a pruning

static bool
s_no_route (argos_store_unit_t *unit)
{
    return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such route");
}

//  The route that stmt stands on, new.

static json_t *
s_route (argos_sql_row_t *stmt)
{
    static const char *const names[] = { "key", "session_id", "version", "source", "updated_at",
        "suspended", "resume_reason", "resume_at", "previous", "reset_reason", "reset_at" };
    json_t *route = json_object (), *source = argos_store_json (stmt, 3);
    for (int i = 0; i < (int) (sizeof names / sizeof *names); i++) {
        if (i == 3)
            json_object_set_new (route, names[i], source ? source : json_null ());
        else if (i == 5 && argos_sql_int (stmt, i))
            json_object_set_new (route, names[i], json_true ());
        else if (i != 5 && argos_sql_is_int (stmt, i))
            json_object_set_new (route, names[i], json_integer (argos_sql_int (stmt, i)));
        else if (i != 5 && !argos_sql_is_null (stmt, i))
            json_object_set_new (route, names[i], argos_store_string (stmt, i));
    }
    return route;
}

bool
argos_store_route_get (argos_store_t *self, argos_store_unit_t *unit)
{
    json_t *route = NULL, *session = NULL;
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_ROUTE_GET, "s", argos_store_member (unit->body, "key"));
    if (stmt)
        route = s_route (stmt);
    argos_store_end (self, ARGOS_SQL_ROUTE_GET);
    if (route)
        session = argos_store_session (self, argos_store_member (route, "session_id"), "");
    if (json_is_true (json_object_get (session, "continued"))) {
        char tip[ARGOS_STORE_SESSION_MAX];
        argos_store_session_tip (self, argos_store_member (route, "session_id"), tip);
        json_object_set_new (route, "tip", json_string (tip));
    }
    unit->result = json_pack ("{s:o?, s:o?}", "route", route, "session", session);
    if (argos_store_number (
            self, 0, ARGOS_SQL_ROUTE_TASKS, "s", argos_store_member (unit->body, "key")))
        json_object_set_new (unit->result, "tasks", json_true ());
    if (session && !argos_store_number (self, 0, ARGOS_SQL_LANE_COUNT, "ssi", "turn",
                       argos_store_member (route, "session_id"), (int64_t) 1))
        json_object_set_new (unit->result, "idle", json_true ());
    return true;
}

bool
argos_store_route_bind (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *id = argos_store_member (body, "session_id");
    if (!argos_store_number (self, 0, ARGOS_SQL_SESSION_VERSION, "s", id))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    argos_store_run (self, ARGOS_SQL_ROUTE_BIND, "ssji", argos_store_member (body, "key"), id,
        json_object_get (body, "source"), self->now);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Another session

//  The session and the source of a route. False when there is no such route; *ret_source is new,
//  or NULL.

static bool
s_find (argos_store_t *self, const char *key, char id[static ARGOS_STORE_SESSION_MAX],
    json_t **ret_source)
{
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_ROUTE_GET, "s", key);
    if (stmt) {
        argos_store_text (stmt, 1, id, ARGOS_STORE_SESSION_MAX);
        *ret_source = argos_store_json (stmt, 3);
    }
    argos_store_end (self, ARGOS_SQL_ROUTE_GET);
    return stmt != NULL;
}

//  Ends a session that no route leads to any more. One that has work is told by its lane, whose
//  holder ends it.

static void
s_retire (argos_store_t *self, argos_store_unit_t *unit, const char *id, const char *reason)
{
    argos_store_row_t row = { .service = "turn",
        .type = "session.end",
        .side = true,
        .urgent = true,
        .hops = unit->row ? unit->row->hops : 0 };
    if (argos_store_number (self, 0, ARGOS_SQL_ROUTE_OTHER, "s", id))
        return;
    bool busy =
        argos_store_number (self, 0, ARGOS_SQL_LANE_COUNT, "ssi", row.service, id, (int64_t) 1);
    if (!busy || argos_store_own_lane (unit, id)) {
        argos_store_run (self, ARGOS_SQL_SESSION_CLOSE, "sis", id, self->now, reason);
        return;
    }
    argos_store_text_copy (row.key, id, sizeof row.key);
    snprintf (row.id, sizeof row.id, "end.%" PRId64, self->last_seq + 1);
    argos_store_emit (
        self, &row, json_pack ("{s:s, s:s}", "session_id", id, "reason", reason), unit->ans);
}

static void
s_move (argos_store_t *self, argos_store_unit_t *unit, const char *from, const char *to,
    const char *reason, const char *reset_reason)
{
    const json_t *body = unit->body;
    argos_store_run (self, ARGOS_SQL_ROUTE_MOVE, "ssjie", argos_store_member (body, "key"), to,
        json_object_get (body, "source"), self->now, reset_reason);
    s_retire (self, unit, from, reason);
}

bool
argos_store_route_switch (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *to = argos_store_member (body, "session_id");
    const char *reason = argos_store_member (body, "reason");
    char from[ARGOS_STORE_SESSION_MAX];
    argos_store_session_t session;
    json_t *source = NULL;
    if (!s_find (self, argos_store_member (body, "key"), from, &source))
        return s_no_route (unit);
    json_decref (source);
    if (!argos_store_session_find (self, to, argos_store_member (body, "owner"), &session))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    if (strcmp (from, to) == 0)
        return true;
    s_move (self, unit, from, to, *reason ? reason : "session_switch", "");
    argos_store_run (self, ARGOS_SQL_SESSION_REOPEN, "s", to);
    return true;
}

bool
argos_store_route_reset (argos_store_t *self, argos_store_unit_t *unit)
{
    json_t *body = unit->body, *source = NULL;
    const char *reason = argos_store_member (body, "reason");
    char from[ARGOS_STORE_SESSION_MAX];
    argos_store_session_t old;
    if (!*reason)
        reason = "session_reset";
    if (!s_find (self, argos_store_member (body, "key"), from, &source))
        return s_no_route (unit);
    if (source && !json_object_get (body, "source"))
        json_object_set (body, "source", source);
    json_decref (source);
    if (!json_object_get (body, "owner") && argos_store_session_find (self, from, "", &old) &&
        *old.owner)
        json_object_set_new (body, "owner", json_string (old.owner));
    if (!argos_store_session_create (self, unit))
        return false;
    s_move (self, unit, from, argos_store_member (body, "id"), reason, reason);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Marks

bool
argos_store_route_suspend (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *key = argos_store_member (unit->body, "key");
    const char *reason = argos_store_member (unit->body, "reason");
    if (json_is_false (json_object_get (unit->body, "on"))) {
        argos_store_run (self, ARGOS_SQL_ROUTE_UNSUSPEND, "ss", key, reason);
        return true;
    }
    argos_store_run (self, ARGOS_SQL_ROUTE_SUSPEND, "se", key, reason);
    return self->failed || argos_store_changed (self) || s_no_route (unit);
}

//  One route: marked unless it is suspended, or its mark taken away.

static bool
s_resume (argos_store_t *self, argos_store_unit_t *unit, const char *key, const char *reason)
{
    if (!argos_store_number (self, 0, ARGOS_SQL_ROUTE_VERSION, "s", key))
        return s_no_route (unit);
    if (json_is_false (json_object_get (unit->body, "on"))) {
        argos_store_run (self, ARGOS_SQL_ROUTE_CLEAR, "s", key);
        return true;
    }
    argos_store_run (
        self, ARGOS_SQL_ROUTE_RESUME, "ssi", key, *reason ? reason : "restart_timeout", self->now);
    return self->failed || argos_store_changed (self) ||
           argos_store_refuse (unit->ans, ARGOS_CONFLICT, "the route is suspended");
}

bool
argos_store_route_resume (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *key = argos_store_member (body, "key");
    const char *reason = argos_store_member (body, "reason");
    int64_t since = argos_store_integer (body, "since", -1);
    if ((*key != 0) == (since >= 0))
        return argos_store_refuse (unit->ans, ARGOS_INVALID, "either key or since is needed");
    if (*key)
        return s_resume (self, unit, key, reason);
    argos_store_run (self, ARGOS_SQL_ROUTE_RESUME_ALL, "isi", since,
        *reason ? reason : "restart_interrupted", self->now);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  All of them

bool
argos_store_route_prune (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_store_run (self, ARGOS_SQL_ROUTE_PRUNE, "ii",
        argos_store_integer (unit->body, "before", 0),
        argos_store_integer (unit->body, "limit", PRUNE_DEFAULT));
    return true;
}

bool
argos_store_route_list (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *id = argos_store_member (unit->body, "session_id");
    int64_t limit = argos_store_integer (unit->body, "limit", LIST_DEFAULT);
    argos_sql_t sql = *id ? ARGOS_SQL_ROUTE_LIST_SESSION : ARGOS_SQL_ROUTE_LIST;
    json_t *routes = json_array (), *next = NULL;
    argos_sql_row_t *stmt = argos_store_query (
        self, sql, "ssi", argos_store_member (unit->body, "after"), id, limit + 1);
    while (stmt && !next) {
        if (json_array_size (routes) < (size_t) limit)
            json_array_append_new (routes, s_route (stmt));
        else
            next = json_incref (
                json_object_get (json_array_get (routes, json_array_size (routes) - 1), "key"));
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, sql);
    unit->result = json_pack ("{s:o}", "routes", routes);
    if (next)
        json_object_set_new (unit->result, "next", next);
    return true;
}
