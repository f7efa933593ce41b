//  test_store_faults - rows of docs/store-faults.md: what went wrong in the field with such a
//  store, each by its number, and what must happen here. This half: who has the file, and the disk
//  below it (the rows themselves: test_store_faults_rows.c).
//
//  Files lie in a new folder of /tmp; statfs of this program says what the test wants.

#include "fault_vfs.h"
#include "store_fault.h"

#include <setjmp.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OPEN_ARGUMENT "--open" //  This program as the second one that opens a database

static long s_magic; //  Kind of file system that statfs tells, 0 = the real one

int
statfs (const char *path, struct statfs *info)
{
    int rc = (int) syscall (SYS_statfs, path, info);
    if (s_magic)
        info->f_type = s_magic;
    return rc;
}

//  ------------------------------------------------------------------------------------------------
//  Who opens it

//  Whether another process can open the database.

static bool
s_other_opens (const kit_t *kit)
{
    char program[] = "/proc/self/exe", argument[] = OPEN_ARGUMENT, path[sizeof kit->path];
    char *arguments[] = { program, argument, path, NULL };
    pid_t pid;
    int status;
    memcpy (path, kit->path, sizeof path);
    assert_int_equal (posix_spawn (&pid, program, NULL, NULL, arguments, environ), 0);
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFEXITED (status) && WEXITSTATUS (status) < 2);
    return WEXITSTATUS (status) == 0;
}

static int
s_open_as_other (const char *path)
{
    char reason[256];
    argos_store_t *store = argos_store_new (path, 1, reason);
    int code = store ? 0 : strstr (reason, "another process has it open") ? 1 : 2;
    if (code == 2)
        fprintf (stderr, "%s\n", reason);
    argos_store_destroy (&store);
    return code;
}

//  F4, F5: a second process is refused with a reason. F7: nothing that the store does to its files
//  drops the lock. F1: who was refused can open it later.

static void
one_process_has_it (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    assert_false (s_other_opens (kit));
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    fault_say (kit, "s", "user", "something to index", 40);
    fault_chores (kit);
    argos_store_checkpoint (kit->store);
    argos_store_ballast_drop (kit->store);
    argos_store_ballast_make (kit->store);
    kit->now += 3600000;
    fault_chores (kit);
    assert_false (s_other_opens (kit));
    argos_store_destroy (&kit->store);
    assert_true (s_other_opens (kit));
    kit_reopen (kit);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"), 40);
    kit_free (kit);
}

//  F3: not twice in one process either.

static void
one_connection_in_a_process (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    char reason[256];
    assert_null (argos_store_new (kit->path, kit->now, reason));
    assert_non_null (strstr (reason, "another process has it open"));
    assert_int_equal (kit_write (kit, "g", "session.create", "{\"id\":\"s\"}"), ARGOS_OK);
    assert_false (s_other_opens (kit));
    kit_free (kit);
}

//  F6: with one connection that needs no shared memory there is no log for two to reset.

static void
there_is_no_shared_memory (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    char path[128];
    struct stat info;
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    snprintf (path, sizeof path, "%s-wal", kit->path);
    assert_int_equal (stat (path, &info), 0);
    snprintf (path, sizeof path, "%s-shm", kit->path);
    assert_int_not_equal (stat (path, &info), 0);
    kit_free (kit);
}

//  F23: on NFS and SMB the reason says so. F24: 9p, virtiofs and FUSE have no shared memory, and
//  none is needed.

static void
where_it_lies (void **state)
{
    (void) state;
    static const struct {
        long magic;       //  Of statfs
        const char *name; //  In the reason; NULL = it works
    } places[] = { { 0x6969, "NFS" }, { 0x517b, "SMB" }, { (long) 0xff534d42, "CIFS" },
        { (long) 0xfe534d42, "SMB" }, { 0x01021997, NULL }, { 0x65735546, NULL },
        { 0x2fc12fc1, NULL }, { 0xef53, NULL } };
    kit_t *kit = fault_kit ();
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char reason[256] = "", body[32];
        argos_store_destroy (&kit->store);
        s_magic = places[i].magic;
        kit->store = argos_store_new (kit->path, kit->now, reason);
        s_magic = 0;
        assert_int_equal (kit->store == NULL, places[i].name != NULL);
        if (places[i].name) {
            assert_non_null (strstr (reason, places[i].name));
            continue;
        }
        snprintf (body, sizeof body, "{\"id\":\"s%zu\"}", i);
        assert_int_equal (kit_write (kit, "g", "session.create", body), ARGOS_OK);
    }
    kit_free (kit);
}

static void
a_newer_schema_is_left_alone (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    char reason[256];
    fault_exec (kit, "PRAGMA user_version = 9999");
    argos_store_destroy (&kit->store);
    assert_null (argos_store_new (kit->path, kit->now, reason));
    assert_non_null (strstr (reason, "9999"));
    assert_non_null (strstr (reason, "newer than this program (schema "));
    kit_free (kit);
}

//  ------------------------------------------------------------------------------------------------
//  The disk

//  A mount that is read-only, at the start and later; F1: it is tried again, and works when it can.

static void
a_read_only_mount (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    char reason[256] = "";
    argos_store_destroy (&kit->store);
    fault_read_only (true);
    kit->store = argos_store_new (kit->path, kit->now, reason);
    fault_read_only (false);
    assert_null (kit->store);
    assert_non_null (strstr (reason, "can't be written"));
    kit_reopen (kit);
    fault_set (FAULT_WRITE, 0, true);
    argos_storage_ans_destroy (&kit->ans);
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_SERVICE, 0);
    req->now = kit->now;
    snprintf (req->name, sizeof req->name, "late");
    int rc = argos_store_batch (kit->store, &req, &kit->ans, 1, reason);
    argos_storage_req_destroy (&req);
    fault_set (FAULT_NONE, 0, false);
    assert_int_equal (rc, -1); //  Whether the commit is on the disk is not known
    assert_non_null (strstr (reason, "disk I/O error"));
    kit_reopen (kit);
    assert_int_equal (kit_write (kit, "g", "session.create", "{\"id\":\"s\"}"), ARGOS_OK);
    kit_free (kit);
}

//  Disk full is a state: refused with a reason, told by status.get, over when there is room. F1.

static void
a_full_disk_is_a_state (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    fault_set (FAULT_FULL, 0, true);
    assert_int_equal (kit_write (kit, "g", "session.create", "{\"id\":\"s\"}"), ARGOS_NO_SPACE);
    assert_int_equal (kit_read (kit, "status.get", "{}"), ARGOS_OK);
    assert_string_equal (
        json_string_value (json_object_get (kit->result, "trouble")), "database or disk is full");
    fault_set (FAULT_NONE, 0, false);
    assert_int_equal (kit_write (kit, "g", "session.create", "{\"id\":\"s\"}"), ARGOS_OK);
    assert_int_equal (kit_read (kit, "status.get", "{}"), ARGOS_OK);
    assert_null (json_object_get (kit->result, "trouble"));
    kit_free (kit);
}

//  That many messages with bodies of that size in one batch

static void
s_batch (kit_t *kit, const char *prefix, size_t count, const char *body)
{
    argos_storage_req_t *requests[64];
    argos_storage_ans_t *answers[64];
    char reason[256];
    assert_true (count <= 64);
    for (size_t i = 0; i < count; i++) {
        requests[i] = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
        requests[i]->now = kit->now;
        snprintf (requests[i]->from, sizeof requests[i]->from, "cli");
        snprintf (requests[i]->id, sizeof requests[i]->id, "%s%zu", prefix, i);
        kit_part (requests[i], 0,
            "{\"type\":\"t.x\",\"to\":\"service:turn\",\"key\":\"k\",\"durable\":true}", body);
    }
    assert_int_equal (argos_store_batch (kit->store, requests, answers, count, reason), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal (answers[i]->code, ARGOS_OK);
        argos_storage_req_destroy (&requests[i]);
        argos_storage_ans_destroy (&answers[i]);
    }
}

//  F25: many writers cost one sync. And one write, until there is more than is gathered.

static void
a_batch_is_one_sync (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    int syncs = fault_syncs (), writes = fault_writes ();
    s_batch (kit, "b", 16, "{}");
    assert_int_equal (fault_syncs () - syncs, 1);
    assert_int_equal (fault_writes () - writes, 1);
    s_batch (kit, "c", 64, "{}");
    assert_int_equal (fault_syncs () - syncs, 2);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 80);
    kit_free (kit);
}

//  F2: the log stays small though nobody is ever idle: at what is copied when there is one client
//  (4 MB), and under load (32 MB). F26: it is not cut then but used again, and cut when the store
//  is closed.

static void
the_log_stays_small (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    char path[128], prefix[16], text[2001], body[2100];
    struct stat info;
    int longest = 0;
    memset (text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    snprintf (path, sizeof path, "%s-wal", kit->path);
    snprintf (body, sizeof body, "{\"text\":\"%s\"}", text);
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    for (int i = 0; i < 400; i++) {
        fault_say (kit, "s", "user", text, 10);
        longest = kit->store->wal_pages > longest ? kit->store->wal_pages : longest;
    }
    assert_in_range (longest, ARGOS_STORE_WAL_PAGES_LONE, ARGOS_STORE_WAL_PAGES_LONE + 500);
    longest = 0;
    for (int i = 0; i < 600; i++) {
        snprintf (prefix, sizeof prefix, "l%d.", i);
        s_batch (kit, prefix, 64, body);
        longest = kit->store->wal_pages > longest ? kit->store->wal_pages : longest;
    }
    assert_in_range (longest, ARGOS_STORE_WAL_PAGES_BUSY, ARGOS_STORE_WAL_PAGES_BUSY + 500);
    assert_int_equal (stat (path, &info), 0);
    assert_in_range (info.st_size, ARGOS_STORE_WAL_PAGES_BUSY * 4096L, 40 * ARGOS_STORE_MIB);
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_true (kit->store->wal_pages < ARGOS_STORE_WAL_PAGES);
    assert_int_equal (stat (path, &info), 0);
    assert_true (info.st_size > ARGOS_STORE_WAL_PAGES_BUSY * 4096L);
    argos_store_destroy (&kit->store);
    assert_true (stat (path, &info) != 0 || info.st_size == 0);
    kit_reopen (kit);
    kit_free (kit);
}

//  F13, F14: pages that are free go back by slices, without VACUUM.

static void
free_pages_go_back (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    char text[4001];
    memset (text, 'y', sizeof text - 1);
    text[sizeof text - 1] = 0;
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    kit_write (kit, "g", "session.create", "{\"id\":\"t\"}");
    fault_say (kit, "s", "user", text, 400);
    fault_say (kit, "t", "user", text, 20);
    fault_chores (kit);
    int64_t before = kit_number (kit, "PRAGMA page_count");
    assert_int_equal (kit_write (kit, "g", "session.delete", "{\"id\":\"s\"}"), ARGOS_OK);
    fault_chores (kit);
    assert_true (kit_number (kit, "PRAGMA page_count") < before / 2);
    fault_sound (kit);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"), 20);
    kit_free (kit);
}

//  A full disk takes no pages back: who asked hears it, instead of asking for ever.

static void
a_full_disk_can_not_be_compacted (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    char text[4001];
    memset (text, 'y', sizeof text - 1);
    text[sizeof text - 1] = 0;
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    kit_write (kit, "g", "session.create", "{\"id\":\"t\"}");
    fault_say (kit, "s", "user", text, 40);
    fault_say (kit, "t", "user", text, 400);
    assert_int_equal (kit_write (kit, "g", "session.delete", "{\"id\":\"s\"}"), ARGOS_OK);
    fault_chores (kit);
    int64_t unused = kit_number (kit, "PRAGMA freelist_count");
    assert_true (unused > 8);
    fault_set (FAULT_FULL, 0, true);
    assert_int_equal (kit_read (kit, "db.compact", "{\"pages\":8}"), ARGOS_OK);
    assert_int_equal (kit_read (kit, "db.compact", "{\"pages\":8}"), ARGOS_NO_SPACE);
    assert_int_equal (kit_number (kit, "PRAGMA freelist_count"), unused);
    fault_set (FAULT_NONE, 0, false);
    assert_int_equal (kit_read (kit, "db.compact", "{\"pages\":8}"), ARGOS_OK);
    assert_int_equal (kit_read (kit, "db.compact", "{\"pages\":8}"), ARGOS_OK);
    assert_true (kit_number (kit, "PRAGMA freelist_count") < unused);
    fault_sound (kit);
    kit_free (kit);
}

int
main (int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (one_process_has_it),
        cmocka_unit_test (one_connection_in_a_process),
        cmocka_unit_test (there_is_no_shared_memory),
        cmocka_unit_test (where_it_lies),
        cmocka_unit_test (a_newer_schema_is_left_alone),
        cmocka_unit_test (a_read_only_mount),
        cmocka_unit_test (a_full_disk_is_a_state),
        cmocka_unit_test (a_batch_is_one_sync),
        cmocka_unit_test (the_log_stays_small),
        cmocka_unit_test (free_pages_go_back),
        cmocka_unit_test (a_full_disk_can_not_be_compacted),
    };
    if (argc == 3 && strcmp (argv[1], OPEN_ARGUMENT) == 0)
        return s_open_as_other (argv[2]);
    fault_install ();
    return cmocka_run_group_tests (tests, NULL, NULL);
}
