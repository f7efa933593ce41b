//  argos_store_open - opening: migrations, identity, the index.
//
//  Invariant: migrations run in the order of their numbers, each once, all in one transaction with
//  the count of the boot; user_version is the number of the last one. A database that is newer than
//  the program, or is none of ours, is left as it is.

#include "argos_store_priv.h"

#include "argos_embedded.h"

#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INDEX_PAGE 512  //  Rows of a page of the index
#define REASON_SIZE 256 //  Bytes of a reason
#define FOLDER "sql/"   //  Where the migrations are among the embedded files

static int64_t
s_pragma (argos_store_t *self, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2 (self->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step (stmt) == SQLITE_ROW)
        value = sqlite3_column_int64 (stmt, 0);
    sqlite3_finalize (stmt);
    return value;
}

//  The number of a migration, 0 when the file is none.

static int64_t
s_number (const argos_embedded_t *file)
{
    if (strncmp (file->name, FOLDER, strlen (FOLDER)) != 0)
        return 0;
    return strtol (file->name + strlen (FOLDER), NULL, 10);
}

int64_t
argos_store_schema (void)
{
    int64_t newest = 0;
    for (const argos_embedded_t *file = argos_embedded_files; file->name; file++)
        if (s_number (file) > newest)
            newest = s_number (file);
    return newest;
}

//  Runs the migration of that number. There is exactly one.

static int
s_migrate_to (argos_store_t *self, int64_t number)
{
    for (const argos_embedded_t *file = argos_embedded_files; file->name; file++)
        if (s_number (file) == number && argos_store_exec (self, file->data) != 0)
            return -1;
    char sql[64];
    snprintf (sql, sizeof sql, "PRAGMA user_version = %lld", (long long) number);
    return argos_store_exec (self, sql);
}

static int
s_migrate (argos_store_t *self, char *reason)
{
    int64_t version = s_pragma (self, "PRAGMA user_version");
    int64_t application = s_pragma (self, "PRAGMA application_id");
    int64_t newest = argos_store_schema ();
    if (version < 0 || application < 0 ||
        (application != ARGOS_STORE_APPLICATION_ID && application != 0) ||
        (application == 0 && s_pragma (self, "SELECT count (*) FROM sqlite_schema") != 0)) {
        snprintf (reason, REASON_SIZE, "the file is not a database of argos");
        return -1;
    }
    if (version > newest) {
        snprintf (reason, REASON_SIZE,
            "the database (schema %lld) is newer than this program (schema %lld)",
            (long long) version, (long long) newest);
        return -1;
    }
    for (int64_t number = version + 1; number <= newest; number++)
        if (s_migrate_to (self, number) != 0)
            return -1;
    char sql[64];
    snprintf (sql, sizeof sql, "PRAGMA application_id = %d", ARGOS_STORE_APPLICATION_ID);
    return application ? 0 : argos_store_exec (self, sql);
}

static int64_t
s_meta (argos_store_t *self, const char *name)
{
    return argos_store_number (self, 0, ARGOS_SQL_META_GET, "s", name);
}

static void
s_load_store_id (argos_store_t *self)
{
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_META_GET, "s", "store_id");
    if (stmt)
        argos_store_text (stmt, 0, self->info.store_id, sizeof self->info.store_id);
    argos_store_end (self, ARGOS_SQL_META_GET);
    if (*self->info.store_id || self->failed)
        return;
    unsigned char bytes[16];
    randombytes_buf (bytes, sizeof bytes);
    sodium_bin2hex (self->info.store_id, sizeof self->info.store_id, bytes, sizeof bytes);
    argos_store_run (
        self, ARGOS_SQL_META_PUT, "ss", "store_id", (const char *) self->info.store_id);
}

static int64_t
s_clock_us (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

//  In the transaction of the migrations: who we are, and what an earlier process left behind.

int
argos_store_start (argos_store_t *self, char *reason)
{
    if (argos_store_exec (self, "BEGIN IMMEDIATE") != 0 || s_migrate (self, reason) != 0)
        return -1;
    s_load_store_id (self);
    self->info.boot = s_meta (self, "boot") + 1;
    argos_store_run (self, ARGOS_SQL_META_PUT, "si", "boot", self->info.boot);
    self->last_lease = self->stored_lease = s_meta (self, "lease");
    self->uptime = self->uptime_stored = s_meta (self, "uptime");
    self->prune_at = s_meta (self, "prune");
    self->last_seq = argos_store_number (self, 0, ARGOS_SQL_SEQUENCE, "");
    argos_store_end_local (self);
    argos_store_load_services (self);
    int64_t began = s_clock_us ();
    int rc = argos_store_exec (self, "COMMIT");
    self->info.commit_us = s_clock_us () - began;
    return rc;
}

int
argos_store_index (
    argos_store_t *self, void (*fn) (void *arg, const argos_storage_row_t *row), void *arg)
{
    argos_storage_ans_t scratch = { .row_count = 0 };
    self->failed = 0;
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_INDEX, "ii", (int64_t) 0, (int64_t) -1);
    while (stmt) {
        argos_store_row_t row;
        argos_store_row_read (stmt, &row);
        scratch.row_count = 0;
        fn (arg, argos_store_entered (&scratch, &row, argos_sql_int (stmt, 20)));
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_INDEX);
    argos_store_clear (&scratch);
    if (self->failed)
        return -1;
    argos_store_service_rows (self, fn, arg);
    return 0;
}

static void
s_append_row (void *arg, const argos_storage_row_t *row)
{
    const argos_store_row_t none = { .seq = 0 };
    *argos_store_entered (arg, &none, 0) = *row;
}

bool
argos_store_index_page (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    memcpy (ans->owner, self->info.store_id, sizeof self->info.store_id);
    ans->boot = self->info.boot;
    if (req->seq == 0)
        argos_store_service_rows (self, s_append_row, ans);
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_INDEX, "ii", req->seq, (int64_t) INDEX_PAGE + 1);
    for (int count = 0; stmt; count++) {
        argos_store_row_t row;
        ans->more = count == INDEX_PAGE;
        if (ans->more)
            break;
        argos_store_row_read (stmt, &row);
        argos_store_entered (ans, &row, argos_sql_int (stmt, 20));
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_INDEX);
    return true;
}
