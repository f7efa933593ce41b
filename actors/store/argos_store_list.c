//  argos_store_list - sessions as people look at them: lists, lineages, numbers, usage.
//
//  Invariant: everything a list shows stands in the row of the session, so that a page costs its
//  rows and not the transcripts. Pages go on behind a place, not behind a count, so that nothing is
//  shown twice or left out when sessions move. Limits: 100 sessions of a page, 100 steps of a
//  lineage, 100 lines of each table of numbers.

#include "argos_store_priv.h"

#include <string.h>

#define PAGE_DEFAULT 20   //  Sessions of a page
#define AT_LAST INT64_MAX //  Later than any activity
#define STEPS_MAX 100     //  Of a lineage

//  The members of a row by name: s text, i integer, d number. Left out when NULL.

static json_t *
s_object (argos_sql_row_t *stmt, const char *const *names, const char *kinds)
{
    json_t *object = json_object ();
    for (int i = 0; kinds[i]; i++) {
        json_t *value = NULL;
        if (argos_sql_is_null (stmt, i))
            continue;
        if (kinds[i] == 's')
            value = argos_store_string (stmt, i);
        else if (kinds[i] == 'd')
            value = json_real (argos_sql_real (stmt, i));
        else
            value = json_integer (argos_sql_int (stmt, i));
        json_object_set_new (object, names[i], value);
    }
    return object;
}

//  All rows of a begun statement as objects, a new array.

static json_t *
s_objects (argos_store_t *self, argos_sql_t sql, argos_sql_row_t *stmt, const char *const *names,
    const char *kinds)
{
    json_t *list = json_array ();
    while (stmt) {
        json_array_append_new (list, s_object (stmt, names, kinds));
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, sql);
    return list;
}

//  ------------------------------------------------------------------------------------------------
//  Lists

static argos_sql_row_t *
s_begin_list (argos_store_t *self, const json_t *body, int64_t limit, argos_sql_t *ret_sql)
{
    const char *owner = argos_store_member (body, "owner");
    const char *platform = argos_store_member (body, "platform");
    const json_t *after = json_object_get (body, "after");
    int64_t before = argos_store_integer (body, "prunable_before", -1);
    if (before >= 0) {
        *ret_sql = ARGOS_SQL_SESSION_PRUNABLE;
        return argos_store_query (self, *ret_sql, "ieeii", before, platform, owner, limit,
            (int64_t) ARGOS_STORE_FAMILY_MAX);
    }
    *ret_sql = json_is_true (json_object_get (body, "all")) ? ARGOS_SQL_SESSION_LIST_ALL
               : *owner                                     ? ARGOS_SQL_SESSION_LIST_OWNER
                                                            : ARGOS_SQL_SESSION_LIST;
    return argos_store_query (self, *ret_sql, "eeisi", owner, platform,
        argos_store_integer (after, "at", AT_LAST), argos_store_member (after, "id"), limit + 1);
}

bool
argos_store_session_list (argos_store_t *self, argos_store_unit_t *unit)
{
    int64_t limit = argos_store_integer (unit->body, "limit", PAGE_DEFAULT);
    json_t *sessions = json_array (), *next = NULL;
    argos_sql_t sql;
    argos_sql_row_t *stmt = s_begin_list (self, unit->body, limit, &sql);
    while (stmt && !next) {
        json_t *session = argos_store_session_json (stmt, 0);
        if (json_array_size (sessions) < (size_t) limit)
            json_array_append_new (sessions, session);
        else {
            const json_t *last = json_array_get (sessions, json_array_size (sessions) - 1);
            next = json_pack ("{s:O, s:O}", "at", json_object_get (last, "last_activity_at"), "id",
                json_object_get (last, "id"));
            json_decref (session);
        }
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, sql);
    unit->result = json_pack ("{s:o}", "sessions", sessions);
    if (next)
        json_object_set_new (unit->result, "next", next);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Lineages

void
argos_store_session_tip (
    argos_store_t *self, const char *id, char target[static ARGOS_STORE_SESSION_MAX])
{
    argos_store_text_copy (target, id, ARGOS_STORE_SESSION_MAX);
    for (int i = 0; i < STEPS_MAX; i++) {
        char from[ARGOS_STORE_SESSION_MAX];
        memcpy (from, target, sizeof from);
        argos_sql_row_t *stmt =
            argos_store_query (self, ARGOS_SQL_SESSION_TIP, "s", (const char *) from);
        if (stmt)
            argos_store_text (stmt, 0, target, ARGOS_STORE_SESSION_MAX);
        argos_store_end (self, ARGOS_SQL_SESSION_TIP);
        if (!stmt)
            break;
    }
}

bool
argos_store_session_lineage (argos_store_t *self, argos_store_unit_t *unit)
{
    static const char *const names[] = { "id", "kind", "title", "started_at", "ended_at",
        "message_count" };
    const char *owner = argos_store_member (unit->body, "owner");
    argos_store_session_t session, last;
    char tip[ARGOS_STORE_SESSION_MAX];
    if (!argos_store_session_need (self, unit, &session))
        return false;
    argos_store_session_tip (self, session.id, tip);
    if (!argos_store_session_find (self, tip, owner, &last))
        memcpy (tip, session.id, sizeof tip);
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_SESSION_UP, "see", (const char *) session.id, "", owner);
    json_t *ancestors = s_objects (self, ARGOS_SQL_SESSION_UP, stmt, names, "sssiii");
    stmt = argos_store_query (
        self, ARGOS_SQL_SESSION_CHILDREN, "se", (const char *) session.id, owner);
    json_t *children = s_objects (self, ARGOS_SQL_SESSION_CHILDREN, stmt, names, "sssiii");
    size_t steps = json_array_size (ancestors);
    const char *root =
        steps ? argos_store_member (json_array_get (ancestors, steps - 1), "id") : session.id;
    unit->result = json_pack ("{s:s, s:s, s:o, s:o}", "root", root, "tip", tip, "ancestors",
        ancestors, "children", children);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Numbers

bool
argos_store_session_stats (argos_store_t *self, argos_store_unit_t *unit)
{
    static const char *const of_platform[] = { "platform", "sessions", "messages", "tool_calls",
        "input_tokens", "output_tokens", "cost_usd", "last_activity_at" };
    static const char *const of_model[] = { "model", "provider", "calls", "input_tokens",
        "output_tokens", "cost_usd" };
    const char *owner = argos_store_member (unit->body, "owner");
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_SESSION_PLATFORMS, "e", owner);
    json_t *platforms =
        s_objects (self, ARGOS_SQL_SESSION_PLATFORMS, stmt, of_platform, "siiiiidi");
    stmt = argos_store_query (self, ARGOS_SQL_USAGE_MODELS, "e", owner);
    json_t *models = s_objects (self, ARGOS_SQL_USAGE_MODELS, stmt, of_model, "ssiiid");
    json_int_t sessions = 0, messages = 0;
    size_t index;
    json_t *line;
    json_array_foreach (platforms, index, line) {
        sessions += argos_store_integer (line, "sessions", 0);
        messages += argos_store_integer (line, "messages", 0);
    }
    unit->result = json_pack ("{s:I, s:I, s:o, s:o}", "sessions", sessions, "messages", messages,
        "platforms", platforms, "models", models);
    return true;
}

static double
s_number (const json_t *body, const char *name)
{
    return json_number_value (json_object_get (body, name));
}

bool
argos_store_usage_add (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *id = argos_store_member (body, "session_id");
    const char *model = argos_store_member (body, "model");
    const json_t *actual = json_object_get (body, "actual_usd");
    int64_t input = argos_store_integer (body, "input_tokens", 0);
    int64_t output = argos_store_integer (body, "output_tokens", 0);
    argos_store_run (self, ARGOS_SQL_USAGE_SUM, "siids", id, input, output,
        actual ? json_number_value (actual) : s_number (body, "estimated_usd"), model);
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    argos_store_run (self, ARGOS_SQL_USAGE_ADD, "ssssssiiiiiidjeei", id, model,
        argos_store_member (body, "provider"), argos_store_member (body, "base_url"),
        argos_store_member (body, "mode"), argos_store_member (body, "task"),
        argos_store_integer (body, "calls", 1), input, output,
        argos_store_integer (body, "cache_read_tokens", 0),
        argos_store_integer (body, "cache_write_tokens", 0),
        argos_store_integer (body, "reasoning_tokens", 0), s_number (body, "estimated_usd"), actual,
        argos_store_member (body, "cost_status"), argos_store_member (body, "cost_source"),
        self->now);
    return true;
}

bool
argos_store_usage_get (argos_store_t *self, argos_store_unit_t *unit)
{
    static const char *const names[] = { "model", "provider", "base_url", "mode", "task", "calls",
        "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
        "reasoning_tokens", "estimated_usd", "actual_usd", "cost_usd", "cost_status", "cost_source",
        "first_at", "last_at" };
    argos_store_session_t session;
    if (!argos_store_session_need (self, unit, &session))
        return false;
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_USAGE_GET, "s", (const char *) session.id);
    unit->result = json_pack (
        "{s:o}", "usage", s_objects (self, ARGOS_SQL_USAGE_GET, stmt, names, "sssssiiiiiidddssii"));
    return true;
}
