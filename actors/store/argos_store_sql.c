//  argos_store_sql - the statements of the store (those on sessions, routes and handoffs:
//  argos_store_sql_sessions.c, argos_store_sql_routes.c), and the few calls that run them.
//
//  Invariant: a statement is prepared once, when first used, and is at rest between requests. After
//  a failure self->failed holds the first extended result code until the batch has dealt with it.
//  All binding is by length and without copies.

#include "argos_store_priv.h"

#include "argos_json.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>

#define ROW                                                                                        \
    "seq, service, key, sender, id, type, side, urgent, at, until, not_before, delay_until, "      \
    "hops, cause, origin, attempt, strikes, lease, holder, n"
#define RUN                                                                                        \
    "run_id, owner, session_id, state, created_at, updated_at, output, error, usage, model, "      \
    "kind, input"
#define RECEIPT                                                                                    \
    "number, delivery, service, key, requester, ifnull (op, 'send'), kind, state, at, NULL, "      \
    "run_id, preview, error, platform_ids"
#define GONE "state = 'refused' AND (error LIKE '\"forbidden%' OR error LIKE '\"not_found%')"
#define WAITING                                                                                    \
    "seq, queue.id, service, key, queue.sender, ifnull (CAST (body AS TEXT) ->> '$.op', 'send'), " \
    "CAST (body AS TEXT) ->> '$.kind', 'waiting', queue.at, attempt, CAST (body AS TEXT) ->> "     \
    "'$.run_id', substr (CAST (body AS TEXT) ->> '$.text', 1, 200)"
#define DEAD "seq, service, key, id, type, sender, code, attempt, strikes, died_at"

static const char *const s_sql[ARGOS_SQL_STATEMENTS] = {
    [ARGOS_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [ARGOS_SQL_COMMIT] = "COMMIT",
    [ARGOS_SQL_ROLLBACK] = "ROLLBACK",
    [ARGOS_SQL_SAVEPOINT] = "SAVEPOINT request",
    [ARGOS_SQL_UNDO] = "ROLLBACK TO request",
    [ARGOS_SQL_KEEP] = "RELEASE request",
    [ARGOS_SQL_META_GET] = "SELECT value FROM meta WHERE name = ?1",
    [ARGOS_SQL_META_PUT] = "INSERT INTO meta (name, value) VALUES (?1, ?2)"
                           " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    [ARGOS_SQL_SERVICE_ADD] = "INSERT INTO services (name, declared_at) VALUES (?1, ?2)"
                              " ON CONFLICT DO NOTHING",
    [ARGOS_SQL_SERVICE_ALL] = "SELECT name, paused FROM services ORDER BY name",
    [ARGOS_SQL_SERVICE_PAUSE] = "UPDATE services SET paused = ?2 WHERE name = ?1",
    [ARGOS_SQL_SERVICE_DROP] = "DELETE FROM services WHERE name = ?1",
    [ARGOS_SQL_SERVICE_ROW] = "SELECT 1 FROM queue WHERE service = ?1 LIMIT 1",
    [ARGOS_SQL_SEQUENCE] =
        "SELECT max (ifnull ((SELECT seq FROM sqlite_sequence WHERE name = 'queue'), 0),"
        " ifnull ((SELECT max (seq) FROM dead), 0))",
    [ARGOS_SQL_INDEX] = "SELECT " ROW ", length (header) + ifnull (length (body), 0)"
                        " FROM queue WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    [ARGOS_SQL_SEEN_ADD] = "INSERT INTO seen (sender, id, seq, last, hash, at)"
                           " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
    [ARGOS_SQL_SEEN_GET] = "SELECT seq, hash FROM seen WHERE sender = ?1 AND id = ?2",
    [ARGOS_SQL_SEEN_SEQ] = "UPDATE seen SET seq = ?3 WHERE sender = ?1 AND id = ?2",
    [ARGOS_SQL_ROW_ADD] = "INSERT INTO queue (" ROW ", header, body) VALUES"
                          " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
                          " nullif (?15, 0), ?16, ?17, nullif (?18, 0), ?19, ?20, ?21, ?22)",
    [ARGOS_SQL_ROW_GET] = "SELECT " ROW ", header, body FROM queue WHERE seq = ?1",
    [ARGOS_SQL_ROW_HEAD] = "SELECT " ROW " FROM queue WHERE seq = ?1",
    [ARGOS_SQL_ROW_N] = "UPDATE queue SET n = ?2 WHERE seq = ?1",
    [ARGOS_SQL_ROW_LEASE] = "UPDATE queue SET lease = ?2, holder = ?3, n = 0, delay_until = 0,"
                            " attempt = attempt + 1 WHERE seq = ?1",
    [ARGOS_SQL_ROW_RELEASE] = "UPDATE queue SET lease = NULL, holder = NULL, n = 0, attempt = ?2,"
                              " strikes = ?3, delay_until = ?4 WHERE seq = ?1",
    [ARGOS_SQL_ROW_DROP] = "DELETE FROM queue WHERE seq = ?1",
    [ARGOS_SQL_ROW_TAKE] = "DELETE FROM queue WHERE seq = ?1 AND service = ?2 AND key = ?3"
                           " AND lease IS NULL",
    [ARGOS_SQL_ROW_WAKE] = "UPDATE queue SET delay_until = 0"
                           " WHERE service = ?1 AND key = ?2 AND delay_until > 0",
    //  '0' follows '/': the range is every holder of that name
    [ARGOS_SQL_ROW_HELD] = "SELECT " ROW " FROM queue"
                           " WHERE holder > ?1 || '/' AND holder < ?1 || '0'"
                           " AND seq > ?2 ORDER BY seq LIMIT 1",
    [ARGOS_SQL_ROW_LEASED] = "SELECT " ROW " FROM queue WHERE holder IS NOT NULL"
                             " AND holder LIKE '%/%/%' LIMIT 1",
    [ARGOS_SQL_LANE_BUSY] = "SELECT 1 FROM queue WHERE service = ?1 AND key = ?2"
                            " AND (lease IS NOT NULL OR not_before <= ?3) LIMIT 1",
    [ARGOS_SQL_LANE_LEASED] = "SELECT 1 FROM queue WHERE service = ?1 AND key = ?2"
                              " AND lease IS NOT NULL LIMIT 1",
    [ARGOS_SQL_LANE_AHEAD] = "SELECT 1 FROM queue WHERE service = ?1 AND key = ?2 AND seq < ?3"
                             " AND not_before <= ?4 LIMIT 1",
    [ARGOS_SQL_LANE_MAIL] = "SELECT seq FROM queue WHERE service = ?1 AND key = ?2 AND side = 1"
                            " AND seq > ?3 AND not_before <= ?4 ORDER BY seq",
    [ARGOS_SQL_LANE_COUNT] = "SELECT count (*) FROM"
                             " (SELECT 1 FROM queue WHERE service = ?1 AND key = ?2 LIMIT ?3)",
    [ARGOS_SQL_LANE_LIST] = "SELECT " ROW ", body FROM queue WHERE service = ?1 AND key = ?2"
                            " AND seq <= ?3 ORDER BY seq LIMIT 64",
    [ARGOS_SQL_FINISHED_ADD] = "INSERT INTO finished (lease, seq, holder, n, at)"
                               " VALUES (?1, ?2, ?3, ?4, ?5)",
    [ARGOS_SQL_FINISHED_GET] = "SELECT n FROM finished WHERE lease = ?1 AND seq = ?2"
                               " AND holder = ?3",
    [ARGOS_SQL_DEAD_ADD] =
        "INSERT INTO dead (seq, service, key, sender, id, type, side, urgent,"
        " at, hops, cause, origin, attempt, strikes, code, died_at, header, body)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
        " nullif (?12, 0), ?13, ?14, ?15, ?16, ?17, ?18)",
    [ARGOS_SQL_DEAD_BURY] = "INSERT INTO dead (seq, service, key, sender, id, type, side, urgent,"
                            " at, hops, cause, origin, attempt, strikes, code, died_at, header,"
                            " body) SELECT seq, service, key, sender, id, type, side, urgent, at,"
                            " hops, cause, origin, attempt, ?2, ?3, ?4, header, body"
                            " FROM queue WHERE seq = ?1",
    [ARGOS_SQL_DEAD_LIST] = "SELECT " DEAD " FROM dead ORDER BY seq DESC LIMIT ?1",
    [ARGOS_SQL_DEAD_GET] = "SELECT " DEAD ", header, body, side, urgent, hops, cause, origin"
                           " FROM dead WHERE seq = ?1",
    [ARGOS_SQL_DEAD_DROP] = "DELETE FROM dead WHERE seq = ?1",
    [ARGOS_SQL_DEAD_REDRIVE] = "INSERT INTO queue (" ROW ", header, body)"
                               " SELECT ?2, service, key, sender, id, type, side, urgent, ?3, 0,"
                               " 0, 0, 0, cause, ifnull (origin, seq), attempt, 0, NULL, NULL,"
                               " 0, header, body FROM dead WHERE seq = ?1",
    [ARGOS_SQL_TOPIC_GET] = "SELECT id, owner, boot, closed_at, max (newest,"
                            " ifnull ((SELECT max (n) FROM journal WHERE topic = topics.id), -1))"
                            " FROM topics WHERE name = ?1",
    [ARGOS_SQL_TOPIC_ADD] = "INSERT INTO topics (name, owner, boot, newest, closed_at, made_at)"
                            " VALUES (?1, ?2, ?3, -1, 0, ?4)",
    [ARGOS_SQL_TOPIC_OWN] = "INSERT INTO topics (name, owner, boot, newest, closed_at, made_at)"
                            " VALUES (?1, ?2, ?3, -1, 0, ?4)"
                            " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner",
    [ARGOS_SQL_TOPIC_CLOSE] = "UPDATE topics SET closed_at = ?2 WHERE id = ?1",
    [ARGOS_SQL_TOPIC_NEWEST] = "UPDATE topics SET newest = max (newest, ?2) WHERE id = ?1",
    [ARGOS_SQL_JOURNAL_ADD] = "INSERT INTO journal (topic, n, type, sender, at, header, body)"
                              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
    [ARGOS_SQL_JOURNAL_PAGE] = "SELECT n, sender, at, header, body FROM journal"
                               " WHERE topic = ?1 AND n >= ?2 ORDER BY n LIMIT 65",
    [ARGOS_SQL_JOURNAL_TRIM] =
        "DELETE FROM journal WHERE topic = ?1 AND n <= (SELECT n FROM journal"
        " WHERE topic = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2)",
    [ARGOS_SQL_RUN_ADD] = "INSERT INTO runs (run_id, owner, session_id, created_at, updated_at,"
                          " model, input, kind, origin) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8)"
                          " ON CONFLICT DO NOTHING",
    [ARGOS_SQL_RUN_BIND] = "UPDATE runs SET session_id = ?2, updated_at = ?3,"
                           " kind = ifnull (?4, kind) WHERE run_id = ?1",
    [ARGOS_SQL_RUN_FINISH] = "UPDATE runs SET state = ifnull (state, ?2),"
                             " output = iif (state IS NULL, ?3, output),"
                             " error = iif (state IS NULL, ?4, error),"
                             " usage = iif (state IS NULL, ?5, usage),"
                             " updated_at = iif (state IS NULL, ?6, updated_at)"
                             " WHERE run_id = ?1",
    [ARGOS_SQL_RUN_GET] = "SELECT " RUN " FROM runs WHERE run_id = ?1",
    [ARGOS_SQL_RUN_LIST] = "SELECT " RUN " FROM runs ORDER BY number DESC LIMIT ?1",
    [ARGOS_SQL_RUN_LIST_OWNER] = "SELECT " RUN " FROM runs WHERE owner = ?2"
                                 " ORDER BY number DESC LIMIT ?1",
    [ARGOS_SQL_RUN_LIST_ORIGIN] = "SELECT " RUN " FROM runs WHERE origin = ?2"
                                  " ORDER BY number DESC LIMIT ?1",
    [ARGOS_SQL_RUN_OPEN] = "SELECT count (*) FROM"
                           " (SELECT 1 FROM runs WHERE kind = ?1 AND state IS NULL LIMIT ?2)",
    [ARGOS_SQL_RUN_ROW] = "SELECT lease IS NOT NULL FROM queue"
                          " WHERE service = 'turn' AND key = ?1 AND id = ?2 LIMIT 1",
    [ARGOS_SQL_RUN_STOP] = "SELECT 1 FROM queue WHERE service = 'turn' AND key = ?1 AND side = 1"
                           " AND type = 'turn.stop' AND ?2 = ifnull (json_extract (CAST (body AS"
                           " TEXT), '$.run_id'), ?2) AND not_before <= ?3 LIMIT 1",
    [ARGOS_SQL_RUN_EVENT] = "SELECT type FROM journal WHERE topic ="
                            " (SELECT id FROM topics WHERE name = 'run.' || ?1)"
                            " ORDER BY n DESC LIMIT 1",
    //  The delivery is in the queue until the end of this transaction
    [ARGOS_SQL_RECEIPT_ADD] =
        "INSERT INTO receipts (seq, sender, run_id, state, platform_ids, error, at, op, requester,"
        " delivery, service, key, kind, preview, body) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
        " ?10, service, key, text ->> '$.kind', substr (text ->> '$.text', 1, 200),"
        " CASE ?4 WHEN 'sent' THEN NULL ELSE text END FROM (SELECT 1) LEFT JOIN (SELECT service,"
        " key, CAST (body AS TEXT) AS text FROM queue WHERE seq = ?1 AND type = 'deliver.request')",
    [ARGOS_SQL_DELIVERY_LIST] =
        "SELECT " RECEIPT " FROM receipts WHERE service IS NOT NULL AND ?1 IN ('', service)"
        " AND ?2 IN ('', key) AND ?3 IN ('', state) AND (?4 = 0 OR number < ?4)"
        " ORDER BY number DESC LIMIT ?5",
    [ARGOS_SQL_DELIVERY_GONE] =
        "SELECT " RECEIPT " FROM receipts AS r WHERE service IS NOT NULL AND ?1 IN ('', service)"
        " AND ?2 IN ('', key) AND ?3 = '' AND " GONE " AND (?4 = 0 OR number < ?4)"
        " AND NOT EXISTS (SELECT 1 FROM receipts WHERE service = r.service AND key = r.key"
        " AND number > r.number AND (state = 'sent' OR (" GONE ")))"
        " ORDER BY number DESC LIMIT ?5",
    [ARGOS_SQL_DELIVERY_WAITING] =
        "SELECT " WAITING " FROM queue WHERE service >= 'deliver.' AND service < 'deliver/'"
        " AND ?1 IN ('', service) AND ?2 IN ('', key) AND ?3 = '' AND ?4 = 0"
        " AND type = 'deliver.request' ORDER BY service, key, seq LIMIT ?5",
    [ARGOS_SQL_DELIVERY_QUEUED] =
        "SELECT " WAITING ", CAST (body AS TEXT) FROM queue WHERE service >= 'deliver.'"
        " AND service < 'deliver/' AND id = ?1 AND type = 'deliver.request' LIMIT 1",
    [ARGOS_SQL_DELIVERY_ENDED] = "SELECT " RECEIPT ", body FROM receipts WHERE delivery = ?1"
                                 " AND service IS NOT NULL ORDER BY number DESC LIMIT 1",
    [ARGOS_SQL_RECEIPT_GET] = "SELECT ifnull (op, 'send'), state, run_id, platform_ids, error, at"
                              " FROM receipts WHERE requester = ?1 AND delivery = ?2"
                              " ORDER BY number DESC LIMIT 1",
    [ARGOS_SQL_CURSOR_PUT] = "INSERT INTO cursors (sender, name, value, at) VALUES (?1, ?2, ?3, ?4)"
                             " ON CONFLICT DO UPDATE SET value = excluded.value, at = excluded.at",
    [ARGOS_SQL_CURSOR_GET] = "SELECT value FROM cursors WHERE sender = ?1 AND name = ?2",
    [ARGOS_SQL_RECORD_GET] = "SELECT key, value, number, updated_at, expires_at FROM records"
                             " WHERE space = ?1 AND key = ?2"
                             " AND (expires_at = 0 OR expires_at > ?3)",
    [ARGOS_SQL_RECORD_PUT] = "REPLACE INTO records (space, key, updated_at, expires_at, value,"
                             " run_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [ARGOS_SQL_RECORD_DROP] = "DELETE FROM records WHERE space = ?1 AND key = ?2",
    [ARGOS_SQL_RECORD_LIST] =
        "SELECT key, value, number, updated_at, expires_at FROM records"
        " WHERE space = ?1 AND key >= ?3 AND key < ?3 || char (0x10FFFF) AND key > ?4"
        " AND (expires_at = 0 OR expires_at > ?2) ORDER BY key LIMIT ?5",
    [ARGOS_SQL_BLOB_FIND] = "SELECT number, size, have, media_type, name, state FROM blobs"
                            " WHERE blob = ?1 AND sender = ?2",
    [ARGOS_SQL_BLOB_PARTIAL] = "SELECT size FROM blobs WHERE number = ?1 AND state IS NOT NULL",
    [ARGOS_SQL_BLOB_ADD] = "INSERT INTO blobs (blob, sender, size, have, touched, media_type, name,"
                           " state) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7)",
    [ARGOS_SQL_BLOB_GROW] = "UPDATE blobs SET have = ?2, touched = ?3, state = ?4"
                            " WHERE number = ?1",
    [ARGOS_SQL_BLOB_COMPLETE] = "UPDATE blobs SET have = size, touched = ?2, state = NULL,"
                                " sender = '' WHERE number = ?1",
    [ARGOS_SQL_BLOB_TOUCH] = "UPDATE blobs SET touched = ?2 WHERE number = ?1",
    [ARGOS_SQL_BLOB_DROP] = "DELETE FROM blobs WHERE number = ?1",
    [ARGOS_SQL_BLOB_REF] = "INSERT INTO blob_refs (run_id, blob) VALUES (?1, ?2)"
                           " ON CONFLICT DO NOTHING",
    [ARGOS_SQL_BLOB_WALK] = "SELECT number, size, touched < ?2 AND NOT EXISTS"
                            " (SELECT 1 FROM blob_refs WHERE blob_refs.blob = blobs.number)"
                            " FROM blobs WHERE number > ?1 ORDER BY number",
    [ARGOS_SQL_BLOB_TRASH] = "INSERT INTO blob_trash (number) VALUES (?1)",
    [ARGOS_SQL_CHUNK_ADD] = "INSERT INTO blob_chunks (blob, at, data) VALUES (?1, ?2, ?3)",
    [ARGOS_SQL_CHUNK_PAGE] = "SELECT at, data FROM blob_chunks"
                             " WHERE blob = ?1 AND at > ?2 AND at < ?3 ORDER BY at",
    [ARGOS_SQL_CHUNK_DROP] = "DELETE FROM blob_chunks WHERE id IN"
                             " (SELECT id FROM blob_chunks WHERE blob = ?1 LIMIT 4)",
    [ARGOS_SQL_TRASH_FIRST] = "SELECT number FROM blob_trash LIMIT 1",
    [ARGOS_SQL_TRASH_DROP] = "DELETE FROM blob_trash WHERE number = ?1",
    [ARGOS_SQL_FREE_PAGES] = "PRAGMA freelist_count",
    [ARGOS_SQL_ALL_PAGES] = "PRAGMA page_count",
    [ARGOS_SQL_STATUS] = "SELECT (SELECT user_version FROM pragma_user_version),"
                         " (SELECT count (*) FROM queue), (SELECT count (*) FROM dead),"
                         " (SELECT count (*) FROM sessions), (SELECT count (*) FROM runs),"
                         " (SELECT page_count FROM pragma_page_count)"
                         " * (SELECT page_size FROM pragma_page_size)",
};

static void
s_fail (argos_store_t *self)
{
    if (!self->failed)
        self->failed = sqlite3_extended_errcode (self->db);
    if (!self->failed)
        self->failed = SQLITE_ERROR;
    //  A damaged index of search is another matter: it is made anew while we run
    if (((self->failed & 0xff) == SQLITE_CORRUPT && self->failed != SQLITE_CORRUPT_VTAB) ||
        self->failed == SQLITE_NOTADB)
        self->damaged = true;
}

static sqlite3_stmt *
s_statement (argos_store_t *self, argos_sql_t sql)
{
    if (self->failed)
        return NULL;
    if (!self->statements[sql]) {
        const char *text = s_sql[sql];
        if (!text)
            text = argos_store_sql_sessions (sql);
        if (!text)
            text = argos_store_sql_routes (sql);
        int rc = sqlite3_prepare_v3 (
            self->db, text, -1, SQLITE_PREPARE_PERSISTENT, &self->statements[sql], NULL);
        if (rc != SQLITE_OK)
            s_fail (self);
    }
    return self->statements[sql];
}

static int
s_bind_json (sqlite3_stmt *stmt, int index, const json_t *value)
{
    if (!value || json_is_null (value))
        return sqlite3_bind_null (stmt, index);
    size_t size = 0;
    char *text = argos_json_dumps (value, &size);
    if (!text)
        return SQLITE_NOMEM;
    return sqlite3_bind_text (stmt, index, text, (int) size, free);
}

static int
s_bind_text (sqlite3_stmt *stmt, int index, const char *text, bool nullable)
{
    if (!text || (nullable && !*text))
        return sqlite3_bind_null (stmt, index);
    return sqlite3_bind_text (stmt, index, text, (int) strlen (text), SQLITE_STATIC);
}

//  Bind in the order of format. Returns SQLITE_OK or the first failure.

static int
s_bind (sqlite3_stmt *stmt, const char *format, va_list args)
{
    int rc = SQLITE_OK;
    for (int index = 1; *format && rc == SQLITE_OK; format++, index++) {
        if (*format == 'i')
            rc = sqlite3_bind_int64 (stmt, index, va_arg (args, int64_t));
        else if (*format == 'd')
            rc = sqlite3_bind_double (stmt, index, va_arg (args, double));
        else if (*format == 's' || *format == 'e')
            rc = s_bind_text (stmt, index, va_arg (args, const char *), *format == 'e');
        else if (*format == 'j')
            rc = s_bind_json (stmt, index, va_arg (args, const json_t *));
        else {
            assert (*format == 'b');
            const void *bytes = va_arg (args, const void *);
            size_t size = va_arg (args, size_t);
            rc = sqlite3_bind_blob64 (stmt, index, bytes, size, SQLITE_STATIC);
        }
    }
    return rc;
}

//  Bind and go to the first row; false when there is none.

static bool
s_first (argos_store_t *self, sqlite3_stmt *stmt, const char *format, va_list args)
{
    if (s_bind (stmt, format, args) != SQLITE_OK) {
        s_fail (self);
        return false;
    }
    return argos_store_next (self, (argos_sql_row_t *) stmt);
}

static sqlite3_stmt *
s_begin (argos_store_t *self, argos_sql_t sql, const char *format, va_list args)
{
    sqlite3_stmt *stmt = s_statement (self, sql);
    if (!stmt || s_first (self, stmt, format, args))
        return stmt;
    sqlite3_reset (stmt);
    return NULL;
}

static sqlite3_stmt *
s_begin_once (argos_store_t *self, const char *text, const char *format, va_list args)
{
    sqlite3_stmt *stmt = NULL;
    if (self->failed)
        return NULL;
    if (sqlite3_prepare_v2 (self->db, text, -1, &stmt, NULL) != SQLITE_OK)
        s_fail (self);
    else if (s_first (self, stmt, format, args))
        return stmt;
    sqlite3_finalize (stmt);
    return NULL;
}

int
argos_store_run (argos_store_t *self, argos_sql_t sql, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    sqlite3_stmt *stmt = s_begin (self, sql, format, args);
    va_end (args);
    sqlite3_reset (stmt);
    return self->failed ? -1 : 0;
}

argos_sql_row_t *
argos_store_query (argos_store_t *self, argos_sql_t sql, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    sqlite3_stmt *stmt = s_begin (self, sql, format, args);
    va_end (args);
    return (argos_sql_row_t *) stmt;
}

bool
argos_store_next (argos_store_t *self, argos_sql_row_t *row)
{
    int rc = sqlite3_step ((sqlite3_stmt *) row);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        s_fail (self);
    return rc == SQLITE_ROW;
}

void
argos_store_end (argos_store_t *self, argos_sql_t sql)
{
    if (self->statements[sql])
        sqlite3_reset (self->statements[sql]);
}

int
argos_store_once_run (argos_store_t *self, argos_chore_t chore, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    sqlite3_finalize (s_begin_once (self, argos_store_sql_chore (chore), format, args));
    va_end (args);
    return self->failed ? -1 : 0;
}

argos_sql_row_t *
argos_store_once (argos_store_t *self, argos_chore_t chore, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    sqlite3_stmt *stmt = s_begin_once (self, argos_store_sql_chore (chore), format, args);
    va_end (args);
    return (argos_sql_row_t *) stmt;
}

void
argos_store_once_end (argos_sql_row_t *row)
{
    sqlite3_finalize ((sqlite3_stmt *) row);
}

int64_t
argos_store_number (argos_store_t *self, int64_t absent, argos_sql_t sql, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    sqlite3_stmt *stmt = s_begin (self, sql, format, args);
    va_end (args);
    int64_t number = stmt ? sqlite3_column_int64 (stmt, 0) : absent;
    argos_store_end (self, sql);
    return number;
}

int
argos_store_exec (argos_store_t *self, const char *sql)
{
    if (!self->failed && sqlite3_exec (self->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        s_fail (self);
    return self->failed ? -1 : 0;
}

bool
argos_store_changed (const argos_store_t *self)
{
    return sqlite3_changes (self->db) > 0;
}

int64_t
argos_store_changes (const argos_store_t *self)
{
    return sqlite3_changes (self->db);
}

int64_t
argos_store_changes_all (const argos_store_t *self)
{
    return sqlite3_total_changes (self->db);
}

int64_t
argos_store_last_number (const argos_store_t *self)
{
    return sqlite3_last_insert_rowid (self->db);
}

void
argos_store_finalize (argos_store_t *self)
{
    for (int i = 0; i < ARGOS_SQL_STATEMENTS; i++) {
        sqlite3_finalize (self->statements[i]);
        self->statements[i] = NULL;
    }
}
