//  test_store_repair - a damaged database: what can be made again is, after a copy; the rest is
//  refused, once copied; a start of an older file, of every age.

#include "argos_embedded.h"
#include "argos_store_file.h"
#include "store_says.h"

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096 //  Bytes of a page of the database

//  A store with some sessions and messages, closed.

static kit_t *
s_kit (void)
{
    kit_t *kit = kit_new (true);
    for (int i = 0; i < 40; i++) {
        says_write (kit, "session.create", "{'id':'s%d','title':'t%d'}", i, i);
        says_turn (kit, "s0", "session.append",
            "{'session_id':'s0','messages':[{'role':'user','content':'word%d and more'}]}", i);
    }
    while (argos_store_chore (kit->store, kit->now)) {
    }
    argos_store_destroy (&kit->store);
    return kit;
}

//  The first page of a table or an index.

static long
s_root (kit_t *kit, const char *name)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal (sqlite3_open (kit->path, &db), SQLITE_OK);
    sqlite3_prepare_v2 (db, "SELECT rootpage FROM sqlite_schema WHERE name = ?1", -1, &stmt, NULL);
    sqlite3_bind_text (stmt, 1, name, -1, SQLITE_STATIC);
    assert_int_equal (sqlite3_step (stmt), SQLITE_ROW);
    long root = sqlite3_column_int (stmt, 0);
    sqlite3_finalize (stmt);
    sqlite3_exec (
        db, "PRAGMA wal_checkpoint (TRUNCATE); PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    sqlite3_close (db);
    return root;
}

//  Overwrites a page: the beginning of an empty leaf of an index, or nonsense.

static void
s_spoil (kit_t *kit, const char *name, bool empty_index)
{
    unsigned char bytes[PAGE];
    memset (bytes, 0x5a, sizeof bytes);
    if (empty_index) {
        static const unsigned char leaf[] = { 10, 0, 0, 0, 0, PAGE >> 8, 0, 0 };
        memset (bytes, 0, sizeof bytes);
        memcpy (bytes, leaf, sizeof leaf);
    }
    long root = s_root (kit, name);
    int fd = open (kit->path, O_WRONLY | O_CLOEXEC);
    assert_true (fd >= 0);
    assert_int_equal (pwrite (fd, bytes, sizeof bytes, (root - 1) * PAGE), PAGE);
    close (fd);
}

//  Copies that were kept; they are removed.

static size_t
s_kept (kit_t *kit, bool remove)
{
    char pattern[128];
    glob_t found;
    snprintf (pattern, sizeof pattern, "%s.damaged-*", kit->path);
    size_t count = glob (pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    for (size_t i = 0; remove && i < count; i++)
        unlink (found.gl_pathv[i]);
    if (count)
        globfree (&found);
    return count;
}

static bool
s_marked (kit_t *kit)
{
    char mark[128];
    snprintf (mark, sizeof mark, "%s-damaged", kit->path);
    return access (mark, F_OK) == 0;
}

static void
s_open (kit_t *kit)
{
    char reason[256];
    kit->store = argos_store_new (kit->path, kit->now, reason);
    if (!kit->store)
        fprintf (stderr, "%s\n", reason);
    assert_non_null (kit->store);
}

static void
s_assert_whole (kit_t *kit)
{
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM pragma_integrity_check"
                                       " WHERE integrity_check <> 'ok'"),
        0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 40);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"), 40);
    while (argos_store_chore (kit->store, kit->now)) {
    }
    assert_int_equal (says_read (kit, "session.search", "{'text':'word7'}"), ARGOS_OK);
    assert_int_equal (json_array_size (says_get (kit, "hits")), 1);
}

//  F27: an index that disagrees with its table is noticed when it is used; the next start makes it
//  anew.

static void
an_index_is_made_anew (void **state)
{
    (void) state;
    char reason[256];
    kit_t *kit = s_kit ();
    s_spoil (kit, "sessions_title", true);
    s_open (kit); //  Nobody has looked at it yet
    assert_string_equal (argos_store_info (kit->store)->repaired, "");
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    argos_storage_ans_t *answer = NULL;
    snprintf (req->from, sizeof req->from, "g");
    snprintf (req->id, sizeof req->id, "w");
    req->now = kit->now;
    kit_part (req, 0, "{\"type\":\"session.rename\",\"to\":\"store\",\"durable\":true}",
        "{\"id\":\"s3\",\"title\":\"other\"}");
    assert_int_equal (argos_store_batch (kit->store, &req, &answer, 1, reason), -1);
    assert_non_null (strstr (reason, "malformed"));
    argos_storage_req_destroy (&req);
    argos_store_destroy (&kit->store);
    assert_true (s_marked (kit));
    s_open (kit);
    assert_non_null (strstr (argos_store_info (kit->store)->repaired, "indexes anew"));
    assert_false (s_marked (kit));
    assert_int_equal (s_kept (kit, true), 1);
    assert_int_equal (says_write (kit, "session.rename", "{'id':'s3','title':'other'}"), ARGOS_OK);
    s_assert_whole (kit);
    kit_reopen (kit); //  The next start has nothing to do
    assert_string_equal (argos_store_info (kit->store)->repaired, "");
    kit_free (kit);
}

//  F28: the index of search, at a place that shows at once.

static void
the_index_of_search_is_made_anew (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_spoil (kit, "message_words_data", false);
    s_open (kit);
    assert_true (s_kept (kit, true) <= 1);
    s_assert_whole (kit);
    kit_free (kit);
}

//  What can't be made again is not: it is refused, with one copy however often it is tried, and a
//  backup can be put in its place.

static void
what_would_be_lost_is_a_persons_decision (void **state)
{
    (void) state;
    char reason[512], backup[128];
    char *aside = NULL;
    kit_t *kit = s_kit ();
    s_root (kit, "messages"); //  Without a log
    snprintf (backup, sizeof backup, "%s/backup.db", kit->dir);
    assert_int_equal (argos_store_file_copy (kit->path, backup, NULL, NULL, reason), 0);
    s_spoil (kit, "messages", false);
    for (int i = 0; i < 3; i++, kit->now += 60000) {
        assert_null (argos_store_new (kit->path, kit->now, reason));
        assert_non_null (strstr (reason, "argos db restore"));
        assert_non_null (strstr (reason, ".damaged-"));
        assert_int_equal (s_kept (kit, false), 1);
    }
    assert_true (s_marked (kit));
    assert_int_equal (
        argos_store_file_restore (backup, kit->path, kit->now, NULL, NULL, &aside, reason), 0);
    unlink (aside);
    unlink (backup);
    free (aside);
    s_open (kit);
    assert_int_equal (s_kept (kit, true), 1);
    s_assert_whole (kit);
    kit_free (kit);
}

static void
what_is_no_database_is_left_as_it_is (void **state)
{
    (void) state;
    char reason[256];
    kit_t *kit = s_kit ();
    int fd = open (kit->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal (write (fd, "no database at all, but a text of some length", 45), 45);
    close (fd);
    assert_null (argos_store_new (kit->path, kit->now, reason));
    assert_non_null (strstr (reason, "restore"));
    assert_int_equal (s_kept (kit, true), 1);
    char mark[128];
    snprintf (mark, sizeof mark, "%s-damaged", kit->path);
    unlink (mark);
    kit_free (kit);
}

//  ------------------------------------------------------------------------------------------------
//  Migrations: a file of each earlier schema, with a row of what it had, is brought to this one.

static int64_t
s_version (const argos_embedded_t *file)
{
    return strncmp (file->name, "sql/", 4) == 0 ? strtol (file->name + 4, NULL, 10) : 0;
}

static void
s_make (const char *path, int64_t version)
{
    static const char rows[] =
        "INSERT INTO sessions (id, title, source, parent, started_at, message_count, version)"
        " VALUES ('a', 'Plan', '{\"platform\":\"telegram\",\"account\":\"m\",\"user_id\":\"7\"}', "
        "NULL,"
        " 5, 2, 1), ('b', NULL, NULL, 'a', 6, 0, 1);"
        "INSERT INTO messages (session_id, role, at, content) VALUES ('a', 'user', 7, 'hello'),"
        " ('a', 'assistant', 8, 'hi');"
        "INSERT INTO routes (key, session_id, version, updated_at) VALUES ('k', 'a', 3, 9);"
        "INSERT INTO services (name, declared_at) VALUES ('turn', 1);"
        "INSERT INTO runs (run_id, owner, created_at, updated_at) VALUES ('run_1', 'o', 1, 1);"
        "INSERT INTO receipts (seq, sender, state, at) VALUES (1, 'telegram.m', 'sent', 1);";
    char sql[96];
    sqlite3 *db = NULL;
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    for (int64_t at = 1; at <= version; at++) {
        for (const argos_embedded_t *file = argos_embedded_files; file->name; file++)
            if (s_version (file) == at)
                assert_int_equal (sqlite3_exec (db, file->data, NULL, NULL, NULL), SQLITE_OK);
        if (at == 1)
            assert_int_equal (sqlite3_exec (db, rows, NULL, NULL, NULL), SQLITE_OK);
    }
    snprintf (sql, sizeof sql, "PRAGMA user_version = %lld; PRAGMA application_id = %d",
        (long long) version, ARGOS_STORE_APPLICATION_ID);
    sqlite3_exec (db, sql, NULL, NULL, NULL);
    sqlite3_close (db);
}

//  The text of the schema without what is not said by it: internal names and their order.

static void
s_schema (kit_t *kit, char *target, size_t size)
{
    sqlite3_stmt *stmt = NULL;
    size_t used = 0;
    sqlite3_prepare_v2 (kit->store->db,
        "SELECT m.name || ':' || group_concat (c.name || ' ' || c.type || ' ' || c.\"notnull\")"
        " FROM sqlite_schema m JOIN pragma_table_xinfo (m.name) c GROUP BY m.name ORDER BY m.name",
        -1, &stmt, NULL);
    while (sqlite3_step (stmt) == SQLITE_ROW && used < size)
        used +=
            (size_t) snprintf (target + used, size - used, "%s\n", sqlite3_column_text (stmt, 0));
    sqlite3_finalize (stmt);
    assert_in_range (used, 500, size - 1);
}

static void
a_file_of_every_age_is_brought_to_this_one (void **state)
{
    (void) state;
    static char fresh[65536], grown[65536];
    char reason[256];
    kit_t *kit = kit_new (true);
    int64_t newest = argos_store_schema ();
    s_schema (kit, fresh, sizeof fresh);
    for (int64_t version = 1; version < newest; version++) {
        argos_store_destroy (&kit->store);
        unlink (kit->path);
        s_make (kit->path, version);
        s_open (kit);
        assert_int_equal (kit_number (kit, "PRAGMA user_version"), newest);
        s_schema (kit, grown, sizeof grown);
        assert_string_equal (grown, fresh);
        says_read (kit, "session.get", "{'id':'a'}");
        assert_string_equal (says_text (kit, "session.title"), "Plan");
        assert_int_equal (says_number (kit, "session.message_count"), 2);
        says_read (kit, "session.load", "{'id':'a'}");
        assert_int_equal (json_array_size (says_get (kit, "messages")), 2);
        says_read (kit, "route.get", "{'key':'k'}");
        assert_int_equal (says_number (kit, "route.version"), 3);
        assert_int_equal (says_write (kit, "session.rename", "{'id':'b','title':'x'}"), ARGOS_OK);
        assert_int_equal (kit_number (kit, "SELECT count (*) FROM pragma_integrity_check"
                                           " WHERE integrity_check <> 'ok'"),
            0);
    }
    //  One that is newer is left as it is, and both numbers are said
    char sql[64], numbers[128];
    snprintf (sql, sizeof sql, "PRAGMA user_version = %lld", (long long) newest + 3);
    kit_number (kit, sql);
    argos_store_destroy (&kit->store);
    assert_null (argos_store_new (kit->path, kit->now, reason));
    snprintf (numbers, sizeof numbers, "schema %lld) is newer than this program (schema %lld",
        (long long) newest + 3, (long long) newest);
    assert_non_null (strstr (reason, numbers));
    assert_int_equal (s_kept (kit, false), 0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (an_index_is_made_anew),
        cmocka_unit_test (the_index_of_search_is_made_anew),
        cmocka_unit_test (what_would_be_lost_is_a_persons_decision),
        cmocka_unit_test (what_is_no_database_is_left_as_it_is),
        cmocka_unit_test (a_file_of_every_age_is_brought_to_this_one),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
