//  argos_store_hermes - see the header.
//
//  Invariant: nothing in the file is trusted: a text that is no UTF-8 is made one, a NUL is
//  dropped, JSON that is none is left out, a time that is none is that of the session, and
//  one that the session lacks that of its messages. A row that can't be used is told and passed
//  over, one by one. Sessions come with their parents first.
//  Limits: TEXT_MAX bytes of a text; what is longer is cut, and told.

#include "argos_store_hermes.h"

#include "argos_store_file.h"
#include "argos_store_hermes_map.h"
#include "argos_store_priv.h"
#include "argos_store_scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REASON ARGOS_STORE_HERMES_REASON
#define SQL_MAX 4096 //  Bytes of a statement that is put together
#define USAGE_MAX 64 //  Lines of usage of a session

typedef struct {
    sqlite3 *db;                         //  The file, or its copy
    sqlite3_stmt *messages;              //  Of a session
    sqlite3_stmt *span;                  //  Their oldest and newest time, NULL = they have none
    sqlite3_stmt *usage;                 //  Of a session, NULL = the file has none
    argos_store_hermes_line_t *line;     //  Who gets the lines
    void *arg;                           //  His argument
    argos_store_hermes_report_t *report; //  To be filled
    bool stopped;                        //  He wants no more
    char *reason;                        //  Why not
} hermes_t;

//  ------------------------------------------------------------------------------------------------
//  Lines

static void
s_give (hermes_t *self, const char *kind, json_t *value)
{
    json_t *line = json_pack ("{s:o}", kind, value);
    if (!self->stopped && !self->line (self->arg, line))
        self->stopped = true;
    json_decref (line);
}

static void
s_skip (hermes_t *self, const char *what, const char *id, const char *why)
{
    json_t *name = argos_store_hermes_text (id, strlen (id), ARGOS_STORE_HERMES_TEXT, NULL);
    self->report->skipped++;
    s_give (self, "skipped", json_pack ("{s:s, s:o, s:s}", "what", what, "id", name, "why", why));
}

//  ------------------------------------------------------------------------------------------------
//  The file

static int
s_open (hermes_t *self, const char *path, bool copy)
{
    char *uri = argos_store_uri (path, copy ? "" : "?immutable=1");
    int flags = (copy ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_URI |
                SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2 (uri, &self->db, flags, NULL);
    free (uri);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec (self->db,
            "PRAGMA trusted_schema = OFF; SELECT count (*) FROM sqlite_schema", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        snprintf (self->reason, REASON, "can't open %.300s: %.100s", path,
            self->db ? sqlite3_errmsg (self->db) : "out of memory");
    return rc == SQLITE_OK ? 0 : -1;
}

//  ------------------------------------------------------------------------------------------------
//  Statements

//  A statement of one value, with a text; the value, or absent.

static int64_t
s_number (hermes_t *self, int64_t absent, const char *sql, const char *text)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2 (self->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_text (stmt, 1, text, -1, SQLITE_STATIC);
        if (sqlite3_step (stmt) == SQLITE_ROW)
            absent = sqlite3_column_int64 (stmt, 0);
    }
    sqlite3_finalize (stmt);
    return absent;
}

static bool
s_has_table (hermes_t *self, const char *table)
{
    return s_number (self, 0, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1",
               table) == 1;
}

//  SELECT of columns, NULL for those that the table lacks; "s." stands before the others.

static sqlite3_stmt *
s_select (
    hermes_t *self, const char *table, const char *const *columns, size_t count, const char *rest)
{
    char sql[SQL_MAX], probe[128];
    sqlite3_stmt *stmt = NULL;
    size_t used = (size_t) snprintf (sql, sizeof sql, "SELECT ");
    snprintf (probe, sizeof probe, "SELECT 1 FROM pragma_table_info ('%s') WHERE name = ?1", table);
    for (size_t i = 0; i < count && used < sizeof sql; i++) {
        bool there = s_number (self, 0, probe, columns[i]) == 1;
        used += (size_t) snprintf (sql + used, sizeof sql - used, "%s%s%s", i ? ", " : "",
            there ? "s." : "NULL AS ", columns[i]);
    }
    if (used < sizeof sql)
        used += (size_t) snprintf (sql + used, sizeof sql - used, " FROM %s s %s", table, rest);
    if (used < sizeof sql && sqlite3_prepare_v2 (self->db, sql, -1, &stmt, NULL) == SQLITE_OK)
        return stmt;
    snprintf (self->reason, REASON, "can't read %s: %.300s", table, sqlite3_errmsg (self->db));
    return NULL;
}

//  The end of a statement; -1 when it was an error.

static int
s_done (hermes_t *self, sqlite3_stmt *stmt, const char *table)
{
    int rc = sqlite3_finalize (stmt);
    if (rc != SQLITE_OK)
        snprintf (self->reason, REASON, "can't read %s: %.300s", table, sqlite3_errstr (rc));
    return rc == SQLITE_OK ? 0 : -1;
}

//  ------------------------------------------------------------------------------------------------
//  Messages and usage

static int
s_messages (hermes_t *self, const char *id, int64_t started_at)
{
    sqlite3_stmt *stmt = self->messages;
    sqlite3_reset (stmt);
    sqlite3_bind_text (stmt, 1, id, -1, SQLITE_STATIC);
    int rc = SQLITE_DONE;
    while (!self->stopped && (rc = sqlite3_step (stmt)) == SQLITE_ROW) {
        argos_store_hermes_note_t note = { NULL, false };
        json_t *message = argos_store_hermes_message (stmt, started_at, &note);
        char place[300];
        snprintf (
            place, sizeof place, "%.200s #%lld", id, (long long) sqlite3_column_int64 (stmt, 0));
        if (note.why)
            s_skip (self, "message", place, note.why);
        if (!message)
            continue;
        self->report->messages++;
        s_give (self, "message", message);
    }
    if (self->stopped || rc == SQLITE_DONE)
        return 0;
    snprintf (self->reason, REASON, "can't read messages: %.300s", sqlite3_errmsg (self->db));
    return -1;
}

//  Adds the usage rows of a session to list. Returns 0, or -1 with a reason.

static int
s_usage (hermes_t *self, const char *id, const json_t *session, json_t *list)
{
    sqlite3_stmt *stmt = self->usage;
    int rc = SQLITE_DONE;
    if (stmt) {
        sqlite3_reset (stmt);
        sqlite3_bind_text (stmt, 1, id, -1, SQLITE_STATIC);
    }
    while (stmt && (rc = sqlite3_step (stmt)) == SQLITE_ROW) {
        json_t *usage = argos_store_hermes_usage (stmt, session);
        if (usage && json_array_size (list) == USAGE_MAX) {
            s_skip (self, "usage", id, "there are more than 64 lines of it");
            json_decref (usage);
            return 0;
        }
        if (usage)
            json_array_append_new (list, usage);
    }
    if (rc == SQLITE_DONE)
        return 0;
    snprintf (
        self->reason, REASON, "can't read session_model_usage: %.300s", sqlite3_errmsg (self->db));
    return -1;
}

//  ------------------------------------------------------------------------------------------------
//  Sessions

//  When its messages are from. Returns 0, or -1 with a reason.

static int
s_span (hermes_t *self, const char *id, argos_store_hermes_span_t *span)
{
    *span = (argos_store_hermes_span_t){ 0, 0 };
    if (!self->span)
        return 0;
    sqlite3_reset (self->span);
    sqlite3_bind_text (self->span, 1, id, -1, SQLITE_STATIC);
    sqlite3_bind_double (self->span, 2, ARGOS_STORE_HERMES_TIME);
    bool known = sqlite3_step (self->span) == SQLITE_ROW;
    if (known)
        argos_store_hermes_span (self->span, span);
    else
        snprintf (self->reason, REASON, "can't read messages: %.300s", sqlite3_errmsg (self->db));
    sqlite3_reset (self->span);
    return known ? 0 : -1;
}

//  The session of a row, with its messages and what it has used. Returns 0, or -1 with a reason.

static int
s_session (hermes_t *self, sqlite3_stmt *row)
{
    argos_store_hermes_note_t note = { NULL, false };
    argos_store_hermes_span_t span;
    const char *id = (const char *) sqlite3_column_text (row, 0);
    bool continued = false;
    if (!id)
        id = ""; //  Left out, and told
    const char *parent = (const char *) sqlite3_column_text (row, 1);
    if (parent)
        continued =
            s_number (self, 0, "SELECT end_reason = 'compression' FROM sessions WHERE id = ?1",
                parent) == 1;
    if (s_span (self, id, &span) != 0)
        return -1;
    json_t *session = argos_store_hermes_session (row, continued, &span, &note);
    if (note.why)
        s_skip (self, "session", id, note.why);
    if (!session)
        return 0;
    json_t *list = json_array ();
    int rc = s_usage (self, id, session, list);
    if (json_array_size (list) == 0)
        argos_store_hermes_own_usage (row, session, list);
    if (json_array_size (list))
        json_object_set (session, "usage", list);
    json_decref (list);
    self->report->sessions++;
    int64_t started_at = json_integer_value (json_object_get (session, "started_at"));
    s_give (self, "session", session);
    return rc == 0 ? s_messages (self, id, started_at) : rc;
}

//  A parent before what came of it. In a ring of parents nobody is the first: those come last, and
//  without one.

#define ORDERED                                                                                    \
    "LEFT JOIN (WITH RECURSIVE d (id, n) AS (SELECT id, 0 FROM sessions r WHERE parent_session_id" \
    " IS NULL OR NOT EXISTS (SELECT 1 FROM sessions p WHERE p.id = r.parent_session_id)"           \
    " UNION ALL SELECT c.id, n + 1 FROM d JOIN sessions c ON c.parent_session_id = d.id) SELECT "  \
    "id, n FROM d) o"                                                                              \
    " ON o.id = s.id ORDER BY o.n IS NULL, o.n, s.started_at, s.id"

//  Returns 0 with the statements that a session needs, or -1 with a reason.

static int
s_prepare (hermes_t *self)
{
    self->messages = s_select (self, "messages", argos_store_hermes_message_columns,
        argos_store_hermes_message_count, "WHERE s.session_id = ?1 ORDER BY s.id");
    //  Without such a column there is no time
    sqlite3_prepare_v2 (self->db,
        "SELECT min (timestamp), max (timestamp) FROM messages WHERE session_id = ?1"
        " AND typeof (timestamp) IN ('integer', 'real') AND timestamp > 0 AND timestamp < ?2",
        -1, &self->span, NULL);
    if (s_has_table (self, "session_model_usage"))
        self->usage = s_select (self, "session_model_usage", argos_store_hermes_usage_columns,
            argos_store_hermes_usage_count, "WHERE s.session_id = ?1");
    return self->messages ? 0 : -1;
}

static int
s_sessions (hermes_t *self)
{
    sqlite3_stmt *rows = s_select (self, "sessions", argos_store_hermes_session_columns,
        argos_store_hermes_session_count, ORDERED);
    int rc = rows ? s_prepare (self) : -1;
    while (rc == 0 && !self->stopped && sqlite3_step (rows) == SQLITE_ROW)
        rc = s_session (self, rows);
    sqlite3_finalize (self->messages);
    sqlite3_finalize (self->span);
    sqlite3_finalize (self->usage);
    int end = s_done (self, rows, "sessions");
    return rc == 0 ? end : rc;
}

//  Messages that belong to no session are told of, session by session.

static int
s_strays (hermes_t *self)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2 (self->db,
            "SELECT session_id, count (*) FROM messages m WHERE NOT EXISTS"
            " (SELECT 1 FROM sessions s WHERE s.id = m.session_id) GROUP BY session_id",
            -1, &stmt, NULL) != SQLITE_OK) {
        snprintf (self->reason, REASON, "can't read messages: %.300s", sqlite3_errmsg (self->db));
        return -1;
    }
    while (!self->stopped && sqlite3_step (stmt) == SQLITE_ROW) {
        const char *id = (const char *) sqlite3_column_text (stmt, 0);
        char why[80];
        snprintf (why, sizeof why, "%lld of them are of a session that is not there",
            (long long) sqlite3_column_int64 (stmt, 1));
        s_skip (self, "messages", id ? id : "", why);
    }
    return s_done (self, stmt, "messages");
}

//  ------------------------------------------------------------------------------------------------
//  Routes

static void
s_entry (hermes_t *self, const char *key, const json_t *entry)
{
    argos_store_hermes_note_t note = { NULL, false };
    json_t *route = argos_store_hermes_route (entry, &note);
    const char *id = json_string_value (json_object_get (route, "session_id"));
    if (route && s_number (self, 0, "SELECT 1 FROM sessions WHERE id = ?1", id) != 1) {
        note.why = "it leads to a session that is not there";
        json_decref (route);
        route = NULL;
    }
    if (note.why)
        s_skip (self, "route", key, note.why);
    if (!route)
        return;
    self->report->routes++;
    s_give (self, "route", route);
}

//  The file in which routes were before schema 23, new. NULL = it is not beside path.

static json_t *
s_load_routes (const char *path)
{
    const char *slash = strrchr (path, '/');
    char *name = NULL;
    int length = slash ? (int) (slash - path) : 1;
    if (asprintf (&name, "%.*s/sessions/sessions.json", length, slash ? path : ".") < 0)
        abort ();
    json_t *routes = json_load_file (name, 0, NULL);
    free (name);
    return routes;
}

//  Since schema 23 in a table, before in a file beside the database; of that what the table lacks.
//  A gateway looks for it where it looks for its database: that may be a link.

static int
s_routes (hermes_t *self, const char *path, const char *given)
{
    static const char *const columns[] = { "session_key", "entry_json" };
    static const char in_table[] = "SELECT 1 FROM gateway_routing WHERE session_key = ?1";
    const char *key;
    json_t *entry;
    bool table = s_has_table (self, "gateway_routing");
    if (table) {
        sqlite3_stmt *stmt =
            s_select (self, "gateway_routing", columns, 2, "ORDER BY s.session_key");
        while (stmt && !self->stopped && sqlite3_step (stmt) == SQLITE_ROW) {
            const char *name = (const char *) sqlite3_column_text (stmt, 0);
            entry = argos_store_json ((argos_sql_row_t *) stmt, 1);
            s_entry (self, name ? name : "", entry);
            json_decref (entry);
        }
        if (!stmt || s_done (self, stmt, "gateway_routing") != 0)
            return -1;
    }
    json_t *routes = s_load_routes (path);
    if (!routes)
        routes = s_load_routes (given);
    json_object_foreach (routes, key, entry)
        if (*key != '_' && (!table || s_number (self, 0, in_table, key) != 1))
            s_entry (self, key, entry);
    json_decref (routes);
    return 0;
}

//  ------------------------------------------------------------------------------------------------

static int
s_read (hermes_t *self, const char *path, const char *given)
{
    if (!s_has_table (self, "sessions") || !s_has_table (self, "messages")) {
        snprintf (self->reason, REASON, "%.300s is not a state.db of Hermes", given);
        return -1;
    }
    self->report->schema = s_number (self, 0, "SELECT max (version) FROM schema_version", "");
    int rc = s_sessions (self);
    if (rc == 0)
        rc = s_strays (self);
    return rc == 0 ? s_routes (self, path, given) : rc;
}

int
argos_store_hermes_read (const char *given, const char *scratch, argos_store_hermes_line_t *line,
    void *arg, argos_store_hermes_report_t *report, char *reason)
{
    hermes_t self = { .line = line, .arg = arg, .report = report, .reason = reason };
    memset (report, 0, sizeof *report);
    //  A log is beside the file itself, not beside a link to it
    char *path = realpath (given, NULL);
    bool copy = false;
    int rc = -1;
    if (!path || access (path, R_OK) != 0)
        snprintf (reason, REASON, "%.400s: %s", given, strerror (errno));
    else if (!argos_store_scratch_in_use (path, reason)) {
        copy = argos_store_scratch_needed (path);
        rc = copy ? argos_store_scratch_make (path, scratch, false, reason) : 0;
    }
    if (rc == 0)
        rc = s_open (&self, copy ? scratch : path, copy);
    if (rc == 0)
        rc = s_read (&self, path, given);
    sqlite3_close (self.db);
    if (copy)
        argos_store_scratch_remove (scratch);
    free (path);
    return rc;
}
