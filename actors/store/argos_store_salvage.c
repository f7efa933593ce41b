//  argos_store_salvage - what can be read of a damaged database, in a new one.
//
//  Invariants: the damaged file is read as bytes, once, and never opened; all work is on a copy of
//  it. A row comes over whole or not at all. What is made from the rest (the indexes, search,
//  counts, sessions of which only the messages are left, numbers that are never used twice) is
//  made anew. Each table is read from its beginning to the first damage, then from its end back,
//  then row by row as its indexes name them, which also tell how many are lost.
//  Limits: the schema must be readable. What no index names between two damages is lost; of tables
//  by number without an index PROBES_MAX numbers are tried.

#include "argos_store_file.h"

#include "argos_embedded.h"
#include "argos_store_priv.h"
#include "argos_store_scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REASON ARGOS_STORE_FILE_REASON
#define PROBES_MAX 1000000 //  Numbers tried in a hole
#define PROGRESS_ROWS 1024 //  Rows between two words on how far it is

//  Texts of the statements on a table

enum { WALK, BACK, FETCH, HAS, ADD, KEYS, TEXTS };

typedef struct {
    sqlite3 *source, *target;          //  Copy of the damaged one, and the new one
    argos_store_file_progress_t *tell; //  How far, may be NULL
    void *arg;                         //  Its
    int64_t rows;                      //  Copied so far, of all tables
    int64_t pages;                     //  Of the source
    char *sql[TEXTS];                  //  For the table at hand
    sqlite3_stmt *has, *add, *fetch;   //  For it
    bool by_number;                    //  Its key is a number
    int64_t first, last;               //  Numbers of the hole: behind first, before last
    int64_t refused;                   //  Rows that its new table does not take
    argos_store_salvage_t result;      //  So far
    bool failed;                       //  The new file can't be written, or it was interrupted
} self_t;

//  ------------------------------------------------------------------------------------------------
//  The copy that is worked on

//  Opens a copy of the damaged file. NULL with a sentence in reason.

static sqlite3 *
s_open_source (const char *from, const char *work, char *reason)
{
    sqlite3 *db = NULL;
    if (argos_store_scratch_make (from, work, true, reason) != 0)
        return NULL;
    //  With a schema that may be written, what is wrong in it hides only what it says
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    if (sqlite3_open_v2 (work, &db, flags, NULL) == SQLITE_OK &&
        sqlite3_exec (db,
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF;"
            "PRAGMA cell_size_check = ON; PRAGMA writable_schema = ON;"
            "SELECT count (*) FROM sqlite_schema",
            NULL, NULL, NULL) == SQLITE_OK)
        return db;
    snprintf (reason, REASON, "nothing can be read of %.300s: %.120s: restore a backup", from,
        db ? sqlite3_errmsg (db) : "out of memory");
    sqlite3_close (db);
    return NULL;
}

//  A new database with the tables of that version. NULL with a sentence in reason.

static sqlite3 *
s_make_target (const char *path, int64_t version, char *reason)
{
    sqlite3 *db = NULL;
    char last[128];
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    unlink (path);
    int rc = sqlite3_open_v2 (path, &db, flags, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec (db,
            "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = OFF;"
            "PRAGMA synchronous = OFF; PRAGMA trusted_schema = OFF; BEGIN",
            NULL, NULL, NULL);
    for (const argos_embedded_t *file = argos_embedded_files; file->name; file++)
        if (rc == SQLITE_OK && strncmp (file->name, "sql/", 4) == 0 &&
            strtol (file->name + 4, NULL, 10) <= version)
            rc = sqlite3_exec (db, file->data, NULL, NULL, NULL);
    snprintf (last, sizeof last, "PRAGMA user_version = %lld; PRAGMA application_id = %d",
        (long long) version, ARGOS_STORE_APPLICATION_ID);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec (db, last, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return db;
    snprintf (
        reason, REASON, "can't make %.300s: %.120s", path, db ? sqlite3_errmsg (db) : "no memory");
    sqlite3_close (db);
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  A table

static sqlite3_stmt *
s_prepare (sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    return sqlite3_prepare_v2 (db, sql, -1, &stmt, NULL) == SQLITE_OK ? stmt : NULL;
}

//  The statements on a table, out of its new form. A generated column is none to be copied.

static bool
s_begin_table (self_t *self, const char *name)
{
    static const char texts[] =
        "WITH c (name, type, pk) AS (SELECT '\"' || name || '\"', type, pk"
        " FROM pragma_table_xinfo (?1) WHERE hidden = 0 ORDER BY cid),"
        " k (name, type) AS (SELECT name, type FROM c WHERE pk > 0 ORDER BY pk),"
        " l (cols, marks) AS (SELECT group_concat (name, ', '), group_concat ('?', ', ') FROM c),"
        " p (keys, back, fits) AS (SELECT group_concat (name, ', '),"
        " group_concat (name || ' DESC', ', '), group_concat (name || ' = ?', ' AND ') FROM k)"
        " SELECT 'SELECT ' || cols || ' FROM ' || ?1 || ' ORDER BY ' || keys,"
        " 'SELECT ' || cols || ' FROM ' || ?1 || ' ORDER BY ' || back,"
        " 'SELECT ' || cols || ' FROM ' || ?1 || ' WHERE ' || fits,"
        " 'SELECT 1 FROM ' || ?1 || ' WHERE ' || fits,"
        " 'INSERT INTO ' || ?1 || ' (' || cols || ') VALUES (' || marks || ')',"
        " 'SELECT ' || keys || ' FROM ' || ?1 || ' INDEXED BY ',"
        " (SELECT count (*) = 1 AND max (type) = 'INTEGER' FROM k) FROM l, p";
    sqlite3_stmt *stmt = s_prepare (self->target, texts);
    sqlite3_bind_text (stmt, 1, name, -1, SQLITE_STATIC);
    if (sqlite3_step (stmt) == SQLITE_ROW) {
        for (int i = 0; i < TEXTS; i++)
            self->sql[i] = strdup ((const char *) sqlite3_column_text (stmt, i));
        self->by_number = sqlite3_column_int (stmt, TEXTS) != 0;
    }
    sqlite3_finalize (stmt);
    self->result = (argos_store_salvage_t){ .copied = 0 };
    snprintf (self->result.name, sizeof self->result.name, "%s", name);
    self->first = INT64_MIN;
    self->last = INT64_MAX;
    self->add = self->sql[ADD] ? s_prepare (self->target, self->sql[ADD]) : NULL;
    self->has = self->sql[HAS] ? s_prepare (self->target, self->sql[HAS]) : NULL;
    self->fetch = self->sql[FETCH] ? s_prepare (self->source, self->sql[FETCH]) : NULL;
    return self->add && self->has && self->fetch;
}

static void
s_end_table (self_t *self)
{
    sqlite3_finalize (self->add);
    sqlite3_finalize (self->has);
    sqlite3_finalize (self->fetch);
    self->add = self->has = self->fetch = NULL;
    for (int i = 0; i < TEXTS; i++) {
        free (self->sql[i]);
        self->sql[i] = NULL;
    }
}

//  Now and then: how far it is, in pages of a file that has fewer in the end.

static void
s_tell (self_t *self)
{
    if (++self->rows % PROGRESS_ROWS || !self->tell)
        return;
    int64_t done = argos_store_file_number (self->target, "PRAGMA page_count");
    if (!self->tell (self->arg, done < self->pages ? done : self->pages - 1, self->pages))
        self->failed = true;
}

//  The row that a statement stands on comes over. Returns false when it was there already.

static bool
s_add_row (self_t *self, sqlite3_stmt *row)
{
    for (int i = 0; i < sqlite3_column_count (row); i++)
        sqlite3_bind_value (self->add, i + 1, sqlite3_column_value (row, i));
    int rc = sqlite3_step (self->add);
    sqlite3_reset (self->add);
    if (rc == SQLITE_DONE) {
        self->result.copied++;
        s_tell (self);
        return true;
    }
    if (rc == SQLITE_CONSTRAINT_PRIMARYKEY || rc == SQLITE_CONSTRAINT_ROWID)
        return false;
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        self->refused++;
    else
        self->failed = true;
    return true;
}

//  From the beginning, or from the end back to what is there. Returns whether it was all.

static bool
s_walk (self_t *self, bool back)
{
    sqlite3_stmt *stmt = s_prepare (self->source, self->sql[back ? BACK : WALK]);
    int rc = stmt ? SQLITE_ROW : SQLITE_CORRUPT;
    while (!self->failed && rc == SQLITE_ROW) {
        rc = sqlite3_step (stmt);
        if (rc != SQLITE_ROW)
            break;
        if (!s_add_row (self, stmt) && back)
            break;
        *(back ? &self->last : &self->first) = sqlite3_column_int64 (stmt, 0);
    }
    sqlite3_finalize (stmt);
    return rc == SQLITE_DONE || rc == SQLITE_ROW;
}

//  Looks for one row by its key. Returns whether it is over there in the end.

static bool
s_fetch (self_t *self, sqlite3_stmt *keys)
{
    for (int i = 0; i < sqlite3_column_count (keys); i++) {
        sqlite3_bind_value (self->has, i + 1, sqlite3_column_value (keys, i));
        sqlite3_bind_value (self->fetch, i + 1, sqlite3_column_value (keys, i));
    }
    bool there = sqlite3_step (self->has) == SQLITE_ROW;
    sqlite3_reset (self->has);
    if (there)
        return true;
    int64_t before = self->result.copied;
    if (sqlite3_step (self->fetch) == SQLITE_ROW)
        s_add_row (self, self->fetch);
    sqlite3_reset (self->fetch);
    return self->result.copied > before;
}

//  All rows that an index names. Returns whether the whole of it could be read; *ret_lost counts
//  those that are not to be had.

static bool
s_walk_index (self_t *self, const char *index, int64_t *ret_lost)
{
    char *sql = sqlite3_mprintf ("%s\"%w\"", self->sql[KEYS], index);
    sqlite3_stmt *keys = sql ? s_prepare (self->source, sql) : NULL;
    int rc = SQLITE_CORRUPT;
    *ret_lost = 0;
    while (keys && !self->failed && (rc = sqlite3_step (keys)) == SQLITE_ROW)
        *ret_lost += !s_fetch (self, keys);
    sqlite3_finalize (keys);
    sqlite3_free (sql);
    return rc == SQLITE_DONE;
}

//  By its indexes, until one could be read to its end. Returns whether one could.

static bool
s_walk_indexes (self_t *self)
{
    bool whole = false;
    sqlite3_stmt *list = s_prepare (self->target,
        "SELECT name FROM pragma_index_list (?1) WHERE origin <> 'pk' AND partial = 0");
    sqlite3_bind_text (list, 1, self->result.name, -1, SQLITE_STATIC);
    while (!whole && sqlite3_step (list) == SQLITE_ROW) {
        int64_t lost;
        whole = s_walk_index (self, (const char *) sqlite3_column_text (list, 0), &lost);
        if (whole || lost > self->result.lost)
            self->result.lost = lost;
    }
    sqlite3_finalize (list);
    return whole;
}

//  The numbers of a hole, one after the other.

static void
s_probe (self_t *self)
{
    int64_t from = self->first == INT64_MIN ? 0 : self->first;
    sqlite3_stmt *number = s_prepare (self->target, "SELECT ?1");
    for (int64_t i = from + 1; i < self->last && i - from <= PROBES_MAX && !self->failed; i++) {
        sqlite3_bind_int64 (number, 1, i);
        if (sqlite3_step (number) == SQLITE_ROW)
            s_fetch (self, number);
        sqlite3_reset (number);
    }
    sqlite3_finalize (number);
}

static void
s_salvage_table (self_t *self, const char *name)
{
    self->refused = 0;
    if (!s_begin_table (self, name)) {
        self->result.more = true;
        s_end_table (self);
        return;
    }
    bool whole = s_walk (self, false);
    if (!whole)
        s_walk (self, true);
    bool known = s_walk_indexes (self);
    if (!whole && !known && self->by_number)
        s_probe (self);
    self->result.more = !whole && !known;
    if (!known && self->refused > self->result.lost)
        self->result.lost = self->refused;
    s_end_table (self);
}

//  The numbers that were given out last. What can't be read follows from the rows.

static void
s_copy_sequences (self_t *self)
{
    static const char put[] = "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2"
                              " WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)";
    static const char raise[] = "UPDATE sqlite_sequence SET seq = max (seq, ?2) WHERE name = ?1";
    sqlite3_stmt *stmts[] = { s_prepare (self->target, raise), s_prepare (self->target, put) };
    sqlite3_stmt *rows = s_prepare (self->source, "SELECT name, seq FROM sqlite_sequence");
    while (rows && sqlite3_step (rows) == SQLITE_ROW)
        for (int i = 0; i < 2; i++) {
            sqlite3_bind_value (stmts[i], 1, sqlite3_column_value (rows, 0));
            sqlite3_bind_int64 (stmts[i], 2, sqlite3_column_int64 (rows, 1));
            sqlite3_step (stmts[i]);
            sqlite3_reset (stmts[i]);
        }
    sqlite3_finalize (rows);
    sqlite3_finalize (stmts[0]);
    sqlite3_finalize (stmts[1]);
}

//  All tables of the new file but those that are made again from others.

static size_t
s_salvage_tables (self_t *self, argos_store_salvage_t results[static ARGOS_STORE_SALVAGE_MAX])
{
    size_t count = 0;
    sqlite3_stmt *list = s_prepare (self->target,
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite%' ORDER BY name");
    while (!self->failed && count < ARGOS_STORE_SALVAGE_MAX && sqlite3_step (list) == SQLITE_ROW) {
        s_salvage_table (self, (const char *) sqlite3_column_text (list, 0));
        results[count++] = self->result;
    }
    sqlite3_finalize (list);
    return count;
}

//  The rows, and what they need; in one transaction, without a log.

static int
s_salvage (self_t *self, int64_t version, argos_store_file_salvaged_t *table, void *arg)
{
    argos_store_salvage_t results[ARGOS_STORE_SALVAGE_MAX];
    int64_t sessions = 0, blobs = 0;
    size_t count = s_salvage_tables (self, results);
    s_copy_sequences (self);
    if (self->failed || argos_store_mend (self->target, version, &sessions, &blobs) != 0 ||
        sqlite3_exec (self->target, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (strcmp (results[i].name, "sessions") == 0)
            results[i].made = sessions;
        if (strcmp (results[i].name, "blobs") == 0) {
            results[i].copied -= blobs;
            results[i].lost += blobs;
        }
        table (arg, &results[i]);
    }
    if (self->tell)
        self->tell (self->arg, self->pages, self->pages);
    return 0;
}

int
argos_store_file_salvage (const char *from, const char *to, argos_store_file_progress_t *progress,
    void *arg, argos_store_file_salvaged_t *table, char *reason)
{
    self_t self = { .tell = progress, .arg = arg };
    char *work = argos_store_file_beside (to, ".work");
    int rc = -1;
    self.source = s_open_source (from, work, reason);
    int64_t version =
        self.source ? argos_store_file_number (self.source, "PRAGMA user_version") : 0;
    if (self.source && argos_store_file_number (self.source, "PRAGMA application_id") !=
                           ARGOS_STORE_APPLICATION_ID)
        snprintf (reason, REASON, "%.400s is not a database of argos", from);
    else if (self.source && (version < 1 || version > argos_store_schema ()))
        snprintf (reason, REASON,
            "%.300s (schema %lld) is none that this program (schema %lld) knows", from,
            (long long) version, (long long) argos_store_schema ());
    else if (self.source)
        self.target = s_make_target (to, version, reason);
    if (self.target) {
        self.pages = argos_store_file_number (self.source, "PRAGMA page_count");
        rc = s_salvage (&self, version, table, arg);
        if (rc != 0)
            snprintf (
                reason, REASON, "can't write %.300s: %.120s", to, sqlite3_errmsg (self.target));
    }
    sqlite3_close (self.source);
    sqlite3_close (self.target);
    argos_store_scratch_remove (work);
    free (work);
    if (rc != 0)
        unlink (to);
    return rc;
}
