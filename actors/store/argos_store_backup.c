//  argos_store_backup - copying and shrinking the database while it is served.
//
//  Invariant: a request only says what is wanted; it is done behind its batch, outside of any
//  transaction, a slice of pages at a time, so that nothing waits long for it. What is written
//  meanwhile goes into the copy as well (SQLite sees to that, as it is the same connection). A copy
//  is not synced here: that is up to who asked for it, in a process of its own. Limits: one copy at
//  a time; one that nobody asks on for IDLE_MS makes room for another.

#include "argos_store_priv.h"

#include "argos_store_file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IDLE_MS 60000     //  Until a copy counts as given up
#define PAGES_DEFAULT 256 //  Of a slice
#define FOLDER "backups"  //  Beside the database

//  ------------------------------------------------------------------------------------------------
//  Copying

//  Ends the copy at hand; the file goes unless it is whole.

static void
s_stop (argos_store_backup_t *self)
{
    if (self->copy)
        sqlite3_backup_finish (self->copy);
    sqlite3_close (self->target);
    if (self->path && !self->finished)
        unlink (self->path);
    free (self->path);
    memset (self, 0, sizeof *self);
}

void
argos_store_backup_end (argos_store_t *self)
{
    s_stop (&self->backup);
}

//  Begins a copy. Returns 0, or -1 with self->backup.failed.

static int
s_start (argos_store_t *self, const char *name)
{
    argos_store_backup_t *backup = &self->backup;
    static const char pragmas[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;";
    const char *slash = strrchr (self->path, '/');
    int length = slash ? (int) (slash - self->path) : 1;
    char *folder = NULL;
    if (asprintf (&folder, "%.*s/" FOLDER, length, slash ? self->path : ".") < 0 ||
        asprintf (&backup->path, "%s/%s.part", folder, name) < 0)
        abort ();
    mkdir (folder, 0700); //  If it can't be made the copy can't either
    free (folder);
    argos_store_text_copy (backup->name, name, sizeof backup->name);
    unlink (backup->path);
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2 (backup->path, &backup->target, flags, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec (backup->target, pragmas, NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        backup->copy = sqlite3_backup_init (backup->target, "main", self->db, "main");
        rc = backup->copy ? SQLITE_OK : sqlite3_extended_errcode (backup->target);
    }
    backup->failed = rc;
    return rc == SQLITE_OK ? 0 : -1;
}

//  One slice.

static void
s_step (argos_store_backup_t *self)
{
    int rc = sqlite3_backup_step (self->copy, self->want);
    self->want = 0;
    if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        return; //  The next one
    self->total = sqlite3_backup_pagecount (self->copy);
    self->done = self->total - sqlite3_backup_remaining (self->copy);
    if (rc == SQLITE_OK)
        return;
    sqlite3_backup_finish (self->copy);
    self->copy = NULL;
    int closed = sqlite3_close (self->target);
    self->target = NULL;
    self->finished = rc == SQLITE_DONE && closed == SQLITE_OK;
    self->failed = rc != SQLITE_DONE ? rc : closed;
}

//  A slice has failed: says why.

static bool
s_refuse (argos_store_unit_t *unit, int code)
{
    return argos_store_refuse (unit->ans,
        (code & 0xff) == SQLITE_FULL ? ARGOS_NO_SPACE : ARGOS_INTERNAL, sqlite3_errstr (code));
}

//  The same of the copy, which is removed.

static bool
s_failed (argos_store_t *self, argos_store_unit_t *unit)
{
    int code = self->backup.failed;
    s_stop (&self->backup);
    return s_refuse (unit, code);
}

bool
argos_store_db_backup (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_store_backup_t *backup = &self->backup;
    const char *name = argos_store_member (unit->body, "name");
    int64_t idle = self->now - backup->touched;
    bool ours = backup->path && strcmp (backup->name, name) == 0;
    if (!self->path)
        return argos_store_refuse (unit->ans, ARGOS_INVALID, "the database is in memory");
    if (json_is_true (json_object_get (unit->body, "drop"))) {
        if (ours)
            s_stop (backup);
        unit->result = json_object ();
        return true;
    }
    if (!ours && backup->copy && idle >= 0 && idle < IDLE_MS)
        return argos_store_refuse (unit->ans, ARGOS_BUSY, "another backup is being made");
    if (!ours) {
        s_stop (backup);
        s_start (self, name);
    }
    if (backup->failed)
        return s_failed (self, unit);
    backup->touched = self->now;
    backup->want = (int) argos_store_integer (unit->body, "pages", PAGES_DEFAULT);
    unit->result =
        json_pack ("{s:s, s:I, s:I, s:b}", "path", backup->path, "done", (json_int_t) backup->done,
            "total", (json_int_t) backup->total, "finished", backup->finished);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Shrinking

static int64_t
s_pragma (argos_store_t *self, const char *sql)
{
    int64_t value = argos_store_file_number (self->db, sql);
    return value < 0 ? 0 : value;
}

bool
argos_store_db_compact (argos_store_t *self, argos_store_unit_t *unit)
{
    bool possible = s_pragma (self, "PRAGMA auto_vacuum") == 2;
    int code = self->compact_failed;
    self->compact_failed = 0;
    if (code)
        return s_refuse (unit, code);
    if (possible)
        self->compact_want = (int) argos_store_integer (unit->body, "pages", PAGES_DEFAULT);
    unit->result = json_pack ("{s:I, s:I, s:I, s:b}", "free",
        (json_int_t) s_pragma (self, "PRAGMA freelist_count"), "total",
        (json_int_t) s_pragma (self, "PRAGMA page_count"), "page_size",
        (json_int_t) s_pragma (self, "PRAGMA page_size"), "possible", possible);
    return true;
}

void
argos_store_between (argos_store_t *self)
{
    if (self->backup.copy && self->backup.want)
        s_step (&self->backup);
    if (self->compact_want) {
        char sql[64];
        snprintf (sql, sizeof sql, "PRAGMA incremental_vacuum (%d)", self->compact_want);
        self->compact_want = 0;
        argos_store_exec (self, sql);
        self->compact_failed = self->failed;
    }
}
