//  argos_store_connect - the connection to the database, and what its failures mean.
//
//  Invariant: one connection, and no other process has the file from the first read to the close.
//  Limits: those of SQLite.

#include "argos_store_priv.h"

#include "argos_store_file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define REASON_SIZE 256 //  Bytes of a reason

static int
s_wal_hook (void *arg, sqlite3 *db, const char *name, int pages)
{
    (void) db;
    (void) name;
    ((argos_store_t *) arg)->wal_pages = pages;
    return SQLITE_OK;
}

//  That what is needed first can be read; the first write is the start itself.

static int
s_probe (argos_store_t *self)
{
    if (argos_store_exec (self, "SELECT count (*) FROM sqlite_schema") != 0)
        return -1;
    if (argos_store_file_number (
            self->db, "SELECT count (*) FROM sqlite_schema WHERE name = 'message_words'") == 0)
        return 0;
    int rc = argos_store_exec (self, "SELECT 1 FROM sessions LIMIT 1; SELECT 1 FROM queue LIMIT 1;"
                                     "SELECT max (id) FROM messages;");
    if (rc == 0 && argos_store_exec (self, "SELECT 1 FROM message_words ('\"\"');"
                                           "SELECT 1 FROM message_trigrams ('\"\"');") != 0)
        rc = argos_store_search_damaged (self) ? 0 : -1;
    return rc;
}

int
argos_store_connect (argos_store_t *self, const char *path, char *reason)
{
    //  The lock is asked for before anything is read, and free pages can go back only in a file
    //  that was made so
    static const char pragmas[] = "PRAGMA locking_mode = EXCLUSIVE;"
                                  "PRAGMA auto_vacuum = INCREMENTAL;"
                                  "PRAGMA journal_mode = WAL;"
                                  "PRAGMA synchronous = FULL;"
                                  "PRAGMA secure_delete = OFF;"
                                  "PRAGMA temp_store = MEMORY;"
                                  "PRAGMA foreign_keys = ON;"
                                  "PRAGMA trusted_schema = OFF;"
                                  "PRAGMA cache_size = -2048;";
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    //  Without its statistics SQLite takes no lock for each allocation. Refused when SQLite is in
    //  use already, which is as well
    sqlite3_config (SQLITE_CONFIG_MEMSTATUS, 0);
    if (strcmp (path, ":memory:") != 0 && !argos_store_place_check (path, reason))
        return -1;
    if (sqlite3_open_v2 (path, &self->db, flags, argos_store_vfs ()) != SQLITE_OK) {
        snprintf (reason, REASON_SIZE, "can't open %.150s: %.60s", path,
            self->db ? sqlite3_errmsg (self->db) : "out of memory");
        return -1;
    }
    if (sqlite3_db_readonly (self->db, "main") == 1) {
        snprintf (reason, REASON_SIZE, "%.150s can't be written: see its permissions and its mount",
            path);
        return -1;
    }
    int rc = argos_store_exec (self, pragmas);
    sqlite3_wal_hook (self->db, s_wal_hook, self); //  Takes the place of SQLite's own checkpoints
    if (rc == 0 && argos_store_rank_init (self) != 0)
        snprintf (reason, REASON_SIZE, "this SQLite (%s) has no FTS5", argos_store_library ());
    else if (rc == 0 && s_probe (self) == 0)
        return 0;
    if (!*reason)
        snprintf (reason, REASON_SIZE, "can't use %.120s: %.100s", path,
            argos_store_fault (self) == ARGOS_FAULT_TAKEN ? "another process has it open"
                                                          : sqlite3_errmsg (self->db));
    return -1;
}

void
argos_store_disconnect (argos_store_t *self, bool settle)
{
    argos_store_finalize (self);
    if (self->db && settle)
        sqlite3_wal_checkpoint_v2 (self->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_close (self->db);
    self->db = NULL;
}

argos_store_fault_t
argos_store_fault (const argos_store_t *self)
{
    switch (self->failed) {
    case SQLITE_OK:
        return ARGOS_FAULT_NONE;
    case SQLITE_CORRUPT_VTAB:
        return ARGOS_FAULT_INDEX;
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
        return ARGOS_FAULT_SYNC;
    default:
        break;
    }
    switch (self->failed & 0xff) {
    case SQLITE_FULL:
        return ARGOS_FAULT_FULL;
    case SQLITE_BUSY:
        return ARGOS_FAULT_TAKEN;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ARGOS_FAULT_DAMAGED;
    default:
        return ARGOS_FAULT_OTHER;
    }
}

bool
argos_store_in_transaction (const argos_store_t *self)
{
    return !sqlite3_get_autocommit (self->db);
}

const char *
argos_store_why (int code)
{
    return sqlite3_errstr (code);
}

const char *
argos_store_library (void)
{
    return sqlite3_libversion ();
}
