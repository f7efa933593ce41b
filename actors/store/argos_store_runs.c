//  argos_store_runs - runs: made, bound, finished, listed.
//
//  Invariant: a finished run stays as it is. Whether an unfinished one is queued, running or
//  stopping is not stored: it is read from the lane of its session. Limits: a list has at most 200
//  runs or ARGOS_STORE_PAGE_BYTES.

#include "argos_store_priv.h"

#include <stdio.h>
#include <string.h>

#define LIST_MAX 200 //  Runs of a list

static bool
s_no_run (argos_store_unit_t *unit)
{
    return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such run");
}

bool
argos_store_run_create (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *run_id = argos_store_member (body, "run_id");
    const char *owner = argos_store_member (body, "owner");
    if (!*owner)
        owner = unit->sender;
    argos_store_run (self, ARGOS_SQL_RUN_ADD, "sseieeee", run_id, owner,
        argos_store_member (body, "session_id"), self->now, argos_store_member (body, "model"),
        argos_store_member (body, "input"), argos_store_member (body, "kind"),
        argos_store_member (body, "origin"));
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, "a run of that id exists");
    char topic[ARGOS_TO_MAX + 1];
    snprintf (topic, sizeof topic, "run.%.100s", run_id);
    argos_store_topic_make (self, topic, owner);
    return true;
}

bool
argos_store_run_bind (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_store_run (self, ARGOS_SQL_RUN_BIND, "ssis", argos_store_member (unit->body, "run_id"),
        argos_store_member (unit->body, "session_id"), self->now,
        json_string_value (json_object_get (unit->body, "kind")));
    return self->failed || argos_store_changed (self) || s_no_run (unit);
}

bool
argos_store_run_finish (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    argos_store_run (self, ARGOS_SQL_RUN_FINISH, "sssjji", argos_store_member (body, "run_id"),
        argos_store_member (body, "state"), json_string_value (json_object_get (body, "output")),
        json_object_get (body, "error"), json_object_get (body, "usage"), self->now);
    return self->failed || argos_store_changed (self) || s_no_run (unit);
}

//  State of an unfinished run, from the lane of its session

static const char *
s_derived_state (argos_store_t *self, const char *run_id, const char *session_id)
{
    if (!*session_id)
        return "queued";
    if (!argos_store_number (self, 0, ARGOS_SQL_RUN_ROW, "ss", session_id, run_id))
        return "queued";
    //  A stop that names a run is for that run only, and one that is due later is none yet
    return argos_store_number (self, 0, ARGOS_SQL_RUN_STOP, "ssi", session_id, run_id, self->now)
               ? "stopping"
               : "running";
}

static void
s_set (json_t *object, const char *name, json_t *value)
{
    if (value)
        json_object_set_new (object, name, value);
}

//  The run that stmt stands on, new.

static json_t *
s_run (argos_store_t *self, argos_sql_row_t *stmt)
{
    char run_id[ARGOS_ID_MAX + 1], session_id[ARGOS_KEY_MAX + 1], state[16];
    argos_store_text (stmt, 0, run_id, sizeof run_id);
    argos_store_text (stmt, 2, session_id, sizeof session_id);
    argos_store_text (stmt, 3, state, sizeof state);
    json_t *run = json_object ();
    s_set (run, "run_id", json_string (run_id));
    s_set (run, "owner", argos_store_string (stmt, 1));
    s_set (run, "session_id", *session_id ? json_string (session_id) : json_null ());
    s_set (run, "state", json_string (*state ? state : s_derived_state (self, run_id, session_id)));
    s_set (run, "created_at", json_integer (argos_sql_int (stmt, 4)));
    s_set (run, "updated_at", json_integer (argos_sql_int (stmt, 5)));
    s_set (run, "output", argos_store_string (stmt, 6));
    s_set (run, "error", argos_store_json (stmt, 7));
    s_set (run, "usage", argos_store_json (stmt, 8));
    s_set (run, "model", argos_store_string (stmt, 9));
    s_set (run, "kind", argos_store_string (stmt, 10));
    s_set (run, "input", argos_store_string (stmt, 11));
    argos_sql_row_t *event =
        argos_store_query (self, ARGOS_SQL_RUN_EVENT, "s", (const char *) run_id);
    if (event)
        s_set (run, "last_event", argos_store_string (event, 0));
    argos_store_end (self, ARGOS_SQL_RUN_EVENT);
    return run;
}

bool
argos_store_run_get (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_RUN_GET, "s", argos_store_member (unit->body, "run_id"));
    unit->result = json_pack ("{s:o?}", "run", stmt ? s_run (self, stmt) : NULL);
    argos_store_end (self, ARGOS_SQL_RUN_GET);
    return true;
}

bool
argos_store_run_list (argos_store_t *self, argos_store_unit_t *unit)
{
    int64_t limit = argos_store_integer (unit->body, "limit", 50);
    if (limit < 1 || limit > LIST_MAX)
        limit = LIST_MAX;
    const char *owner = argos_store_member (unit->body, "owner");
    const char *origin = argos_store_member (unit->body, "origin");
    const char *of = *origin ? origin : owner;
    argos_sql_t sql = *origin  ? ARGOS_SQL_RUN_LIST_ORIGIN
                      : *owner ? ARGOS_SQL_RUN_LIST_OWNER
                               : ARGOS_SQL_RUN_LIST;
    json_t *runs = json_array ();
    int64_t bytes = 0;
    argos_sql_row_t *stmt = *of ? argos_store_query (self, sql, "is", limit, of)
                                : argos_store_query (self, sql, "i", limit);
    while (stmt) {
        for (int column = 6; column < 9; column++)
            bytes += (int64_t) argos_sql_size (stmt, column);
        if (bytes > ARGOS_STORE_PAGE_BYTES && json_array_size (runs) > 0)
            break;
        json_array_append_new (runs, s_run (self, stmt));
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, sql);
    unit->result = json_pack ("{s:o}", "runs", runs);
    return true;
}
