//  test_store_vfs - what was gathered for the log and could not be written is not taken for
//  written.
//
//  A transaction is so large for its cache that pages go to the log before its commit, and are read
//  from there again: SQLite hears of a write that fails from a read, and may undo a statement only.

#include "argos_store_engine.h"
#include "fault_vfs.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ROWS 300

typedef struct {
    char folder[64], path[80]; //  The database
    sqlite3 *db;               //  Its connection
} disk_t;

static int
s_exec (sqlite3 *db, const char *sql)
{
    return sqlite3_exec (db, sql, NULL, NULL, NULL);
}

static int
s_number (sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int number = -1;
    if (sqlite3_prepare_v2 (db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step (stmt) == SQLITE_ROW)
        number = sqlite3_column_int (stmt, 0);
    sqlite3_finalize (stmt);
    return number;
}

static void
s_connect (disk_t *self)
{
    assert_int_equal (sqlite3_open_v2 (self->path, &self->db,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, argos_store_vfs ()),
        SQLITE_OK);
    assert_int_equal (
        s_exec (self->db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                          "PRAGMA synchronous = FULL; PRAGMA cache_size = 10;"
                          "PRAGMA wal_autocheckpoint = 0"),
        SQLITE_OK);
}

static disk_t
s_disk (void)
{
    disk_t self = { .folder = "/tmp/argos-vfs-XXXXXX" };
    assert_non_null (mkdtemp (self.folder));
    snprintf (self.path, sizeof self.path, "%s/a.db", self.folder);
    fault_set (FAULT_NONE, 0, false);
    s_connect (&self);
    assert_int_equal (
        s_exec (self.db, "CREATE TABLE old (id INTEGER PRIMARY KEY, value, k UNIQUE);"
                         "CREATE TABLE new (a PRIMARY KEY, b);"
                         "WITH r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r LIMIT 300)"
                         " INSERT INTO old SELECT i, hex (zeroblob (700)), i FROM r;"
                         "PRAGMA wal_checkpoint (TRUNCATE)"),
        SQLITE_OK);
    return self;
}

//  As a kill leaves it: the log is not copied back.

static void
s_check (disk_t *self, bool committed)
{
    int wanted = committed ? ROWS : 0;
    for (int again = 0; again < 2; again++) {
        assert_int_equal (
            s_number (self->db, "SELECT count (*) FROM old WHERE value LIKE 'new%'"), wanted);
        assert_int_equal (s_number (self->db, "SELECT count (*) FROM pragma_integrity_check"
                                              " WHERE integrity_check <> 'ok'"),
            0);
        sqlite3_db_config (self->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        assert_int_equal (sqlite3_close (self->db), SQLITE_OK);
        s_connect (self);
    }
}

static void
s_end (disk_t *self)
{
    static const char *const names[] = { "a.db", "a.db-wal" };
    assert_int_equal (sqlite3_close (self->db), SQLITE_OK);
    for (size_t i = 0; i < 2; i++) {
        char path[96];
        snprintf (path, sizeof path, "%s/%s", self->folder, names[i]);
        unlink (path);
    }
    rmdir (self->folder);
}

//  The write at that position fails, once or for good; the transaction goes on as if its owner had
//  not heard of it. Returns whether one did.

static bool
s_try (fault_t fault, int position, bool lasting)
{
    disk_t disk = s_disk ();
    int rc = s_exec (disk.db, "BEGIN; UPDATE old SET value = 'new' || value WHERE id <= 60");
    fault_set (fault, position, lasting);
    if (rc == SQLITE_OK)
        s_exec (disk.db, "INSERT INTO new SELECT id, value FROM old WHERE id <= 50");
    s_exec (disk.db, "UPDATE old SET value = 'new' || value WHERE id > 60");
    bool failed = fault_count () > 0;
    bool committed = !sqlite3_get_autocommit (disk.db) && s_exec (disk.db, "COMMIT") == SQLITE_OK;
    failed = failed || fault_count () > 0;
    fault_set (FAULT_NONE, 0, false);
    if (!sqlite3_get_autocommit (disk.db))
        s_exec (disk.db, "ROLLBACK");
    if (committed)
        s_check (&disk, true);
    else if (s_number (disk.db, "SELECT count (*) FROM old WHERE value LIKE 'new%'") <= 0)
        s_check (&disk, false);
    //  Good for what follows
    assert_int_equal (
        s_exec (disk.db, "UPDATE old SET value = 'new' || value WHERE value NOT LIKE 'new%'"),
        SQLITE_OK);
    s_check (&disk, true);
    s_end (&disk);
    return failed;
}

static void
no_commit_builds_on_lost_pages (void **state)
{
    (void) state;
    static const fault_t faults[] = { FAULT_FULL, FAULT_WRITE };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        for (int lasting = 0; lasting < 2; lasting++) {
            int position = 0;
            while (s_try (faults[i], position, lasting))
                position++;
            assert_true (position > 5); //  More than the commit writes
        }
}

//  A commit that is larger than what is gathered is whole, too.

static void
a_large_commit_is_whole (void **state)
{
    (void) state;
    disk_t disk = s_disk ();
    assert_int_equal (
        s_exec (disk.db, "PRAGMA cache_size = -8192; UPDATE old SET value = 'new' || value"),
        SQLITE_OK);
    s_check (&disk, true);
    s_end (&disk);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (no_commit_builds_on_lost_pages),
        cmocka_unit_test (a_large_commit_is_whole),
    };
    fault_install ();
    return cmocka_run_group_tests (tests, NULL, NULL);
}
