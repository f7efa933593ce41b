//  test_store_io - the n-th write or sync of the database fails, for each n of a busy minute.
//
//  A VFS around the default one counts the writes and syncs and fails the one that was asked for.
//  After each failure: no half-applied commit, what was answered is there, what was refused is not;
//  a failed sync ends the store, and the next start finds all that was answered.

#include "store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BATCH 8  //  Requests of a batch
#define ROUNDS 4 //  Batches of a run

//  A file of the shim; the real one lies behind it

typedef struct {
    sqlite3_file base;  //  First, as SQLite wants it
    sqlite3_file *real; //  The file itself
} shim_file_t;

typedef enum { FAIL_NOTHING, FAIL_FULL, FAIL_WRITE, FAIL_SYNC } fail_t;

static sqlite3_vfs s_vfs;     //  The shim
static sqlite3_vfs *s_real;   //  The default one
static fail_t s_fail;         //  What fails
static int s_countdown;       //  How many go well before
static bool s_lasting;        //  All further ones fail too
static const char *s_ballast; //  As long as this file is there, writes find no room
static int s_failed;          //  How many have failed

static bool
s_now (bool sync)
{
    if (s_fail == FAIL_NOTHING || sync != (s_fail == FAIL_SYNC))
        return false;
    if (s_countdown-- > 0 || (s_countdown < -1 && !s_lasting))
        return false;
    s_failed++;
    return true;
}

static sqlite3_file *
s_file (sqlite3_file *file)
{
    return ((shim_file_t *) file)->real;
}

static int
s_close (sqlite3_file *file)
{
    return s_file (file)->pMethods->xClose (s_file (file));
}

static int
s_read (sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    return s_file (file)->pMethods->xRead (s_file (file), bytes, count, offset);
}

static int
s_write (sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    if (s_ballast && access (s_ballast, F_OK) == 0)
        return SQLITE_FULL;
    if (s_now (false))
        return s_fail == FAIL_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    return s_file (file)->pMethods->xWrite (s_file (file), bytes, count, offset);
}

static int
s_truncate (sqlite3_file *file, sqlite3_int64 size)
{
    return s_file (file)->pMethods->xTruncate (s_file (file), size);
}

static int
s_sync (sqlite3_file *file, int flags)
{
    if (s_now (true))
        return SQLITE_IOERR_FSYNC;
    return s_file (file)->pMethods->xSync (s_file (file), flags);
}

static int
s_size (sqlite3_file *file, sqlite3_int64 *size)
{
    return s_file (file)->pMethods->xFileSize (s_file (file), size);
}

static int
s_lock (sqlite3_file *file, int level)
{
    return s_file (file)->pMethods->xLock (s_file (file), level);
}

static int
s_unlock (sqlite3_file *file, int level)
{
    return s_file (file)->pMethods->xUnlock (s_file (file), level);
}

static int
s_check_lock (sqlite3_file *file, int *ret_locked)
{
    return s_file (file)->pMethods->xCheckReservedLock (s_file (file), ret_locked);
}

static int
s_control (sqlite3_file *file, int op, void *arg)
{
    return s_file (file)->pMethods->xFileControl (s_file (file), op, arg);
}

static int
s_sector (sqlite3_file *file)
{
    return s_file (file)->pMethods->xSectorSize (s_file (file));
}

static int
s_device (sqlite3_file *file)
{
    return s_file (file)->pMethods->xDeviceCharacteristics (s_file (file));
}

//  Version 1: no shared memory, which exclusive locking does not need

static const sqlite3_io_methods s_methods = { .iVersion = 1,
    .xClose = s_close,
    .xRead = s_read,
    .xWrite = s_write,
    .xTruncate = s_truncate,
    .xSync = s_sync,
    .xFileSize = s_size,
    .xLock = s_lock,
    .xUnlock = s_unlock,
    .xCheckReservedLock = s_check_lock,
    .xFileControl = s_control,
    .xSectorSize = s_sector,
    .xDeviceCharacteristics = s_device };

static int
s_open (sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    shim_file_t *shim = (shim_file_t *) file;
    (void) vfs;
    shim->real = (sqlite3_file *) (shim + 1);
    int rc = s_real->xOpen (s_real, name, shim->real, flags, ret_flags);
    shim->base.pMethods = rc == SQLITE_OK ? &s_methods : NULL;
    return rc;
}

static int
s_set_up (void **state)
{
    (void) state;
    if (s_real)
        return 0;
    s_real = sqlite3_vfs_find (NULL);
    s_vfs = *s_real;
    s_vfs.zName = "shim";
    s_vfs.szOsFile = (int) sizeof (shim_file_t) + s_real->szOsFile;
    s_vfs.xOpen = s_open;
    return sqlite3_vfs_register (&s_vfs, 1) == SQLITE_OK ? 0 : -1;
}

//  What a run has been told

typedef struct {
    bool accepted[ROUNDS][BATCH]; //  Answered ok
    bool told[ROUNDS][BATCH];     //  Answered at all
    bool ended;                   //  The store said that it is over
} told_t;

static argos_storage_req_t *
s_unit (const kit_t *kit, int round, int index)
{
    char id[32], header[160], body[1200];
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 2);
    req->now = kit->now;
    snprintf (id, sizeof id, "u%d.%d", round, index);
    snprintf (req->from, sizeof req->from, "cli");
    memcpy (req->id, id, sizeof id);
    snprintf (header, sizeof header,
        "{\"type\":\"t.x\",\"to\":\"service:turn\",\"key\":\"%s\",\"durable\":true}", id);
    snprintf (body, sizeof body, "{\"pad\":\"%01000d\"}", index);
    kit_part (req, 0, header, body);
    snprintf (body, sizeof body, "{\"id\":\"%s\"}", id);
    kit_part (req, 1, "{\"type\":\"session.create\",\"to\":\"store\"}", body);
    return req;
}

static void
s_run (kit_t *kit, told_t *told)
{
    char reason[256];
    for (int round = 0; round < ROUNDS && !told->ended; round++) {
        argos_storage_req_t *requests[BATCH];
        argos_storage_ans_t *answers[BATCH];
        for (int i = 0; i < BATCH; i++)
            requests[i] = s_unit (kit, round, i);
        told->ended = argos_store_batch (kit->store, requests, answers, BATCH, reason) != 0;
        for (int i = 0; i < BATCH; i++) {
            told->told[round][i] = !told->ended;
            told->accepted[round][i] = !told->ended && answers[i]->code == ARGOS_OK;
            argos_storage_req_destroy (&requests[i]);
            argos_storage_ans_destroy (&answers[i]);
        }
        while (!told->ended && argos_store_chore (kit->store, kit->now))
            continue;
    }
}

//  Each unit is wholly there or not at all; what was answered is as it was said.

static void
s_check (kit_t *kit, const told_t *told)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < BATCH; i++) {
            char sql[128];
            snprintf (
                sql, sizeof sql, "SELECT count (*) FROM queue WHERE key = 'u%d.%d'", round, i);
            int64_t rows = kit_number (kit, sql);
            snprintf (sql, sizeof sql, "SELECT count (*) FROM seen WHERE id = 'u%d.%d'", round, i);
            assert_int_equal (kit_number (kit, sql), rows);
            snprintf (
                sql, sizeof sql, "SELECT count (*) FROM sessions WHERE id = 'u%d.%d'", round, i);
            assert_int_equal (kit_number (kit, sql), rows);
            if (told->told[round][i])
                assert_int_equal (rows, told->accepted[round][i]);
        }
}

//  One run with the failure at position n. Returns whether there was one.

static bool
s_try (fail_t fail, int n, bool lasting, bool *ret_ended)
{
    told_t told = { .ended = false };
    s_fail = FAIL_NOTHING;
    kit_t *kit = kit_new (true);
    s_failed = 0;
    s_countdown = n;
    s_lasting = lasting;
    s_fail = fail;
    s_run (kit, &told);
    s_fail = FAIL_NOTHING;
    *ret_ended = told.ended;
    if (!told.ended)
        s_check (kit, &told);
    kit_reopen (kit);
    s_check (kit, &told);
    kit_free (kit);
    return s_failed > 0;
}

static void
a_failed_sync_ends_the_store_and_loses_nothing (void **state)
{
    (void) state;
    bool ended = false;
    int n = 0;
    while (s_try (FAIL_SYNC, n, false, &ended)) {
        assert_true (ended);
        n++;
    }
    assert_true (n >= ROUNDS);
}

static void
a_full_disk_refuses_and_halves_nothing (void **state)
{
    (void) state;
    bool ended = false;
    for (int lasting = 0; lasting < 2; lasting++) {
        int n = 0;
        while (s_try (FAIL_FULL, n, lasting, &ended)) {
            assert_false (ended);
            n += 4;
        }
        assert_true (n > 10);
    }
}

static void
a_failed_write_halves_nothing (void **state)
{
    (void) state;
    bool ended = false;
    int n = 0;
    while (s_try (FAIL_WRITE, n, false, &ended))
        n += 4;
    assert_true (n > 10);
}

//  H15: what can't be stored is not begun, but what was begun can be finished.

static void
the_ballast_is_given_up_for_accepted_work_only (void **state)
{
    (void) state;
    char path[128];
    s_fail = FAIL_NOTHING;
    kit_t *kit = kit_new (true);
    snprintf (path, sizeof path, "%s-ballast", kit->path);
    assert_int_equal (access (path, F_OK), 0);
    int64_t seq = kit_send (kit, "m1", "turn", "k", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, "w/1");
    s_ballast = path;
    assert_int_equal (kit_send (kit, "m2", "turn", "k", NULL, NULL), 0);
    assert_int_equal (kit->ans->code, ARGOS_NO_SPACE);
    assert_int_equal (access (path, F_OK), 0);
    assert_int_equal (kit_done (kit, "w/1", seq, lease, 1, 0), ARGOS_OK);
    assert_int_not_equal (access (path, F_OK), 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 0);
    s_ballast = NULL;
    kit_reopen (kit); //  Made again when there is room
    assert_int_equal (access (path, F_OK), 0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_failed_sync_ends_the_store_and_loses_nothing),
        cmocka_unit_test (a_full_disk_refuses_and_halves_nothing),
        cmocka_unit_test (a_failed_write_halves_nothing),
        cmocka_unit_test (the_ballast_is_given_up_for_accepted_work_only),
    };
    return cmocka_run_group_tests (tests, s_set_up, NULL);
}
