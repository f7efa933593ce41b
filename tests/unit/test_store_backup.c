//  test_store_backup - a copy that is made while the database is written to; pages that are given
//  back; what the files of copies do.

#include "argos_store_file.h"
#include "store_says.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void
s_fill (kit_t *kit, int from, int count)
{
    char text[4001];
    memset (text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (int i = from; i < from + count; i++) {
        says_write (kit, "session.create", "{'id':'s%d'}", i);
        says_turn (kit, "s0", "session.append",
            "{'session_id':'s0','messages':[{'role':'user','content':'%s'}]}", text);
    }
}

static void
s_ignore (void *arg, const char *finding)
{
    (void) arg;
    fprintf (stderr, "%s\n", finding);
}

static void
s_count (void *arg, json_t *row)
{
    *(int64_t *) arg = json_integer_value (json_object_get (row, "n"));
}

static void
s_remove (kit_t *kit, const char *path)
{
    char folder[128];
    unlink (path);
    snprintf (folder, sizeof folder, "%s/backups", kit->dir);
    assert_int_equal (rmdir (folder), 0);
}

//  What is committed while the copy is made is in it; each slice is short.

static void
a_copy_has_all_that_was_committed_before_its_end (void **state)
{
    (void) state;
    char reason[ARGOS_STORE_FILE_REASON], path[256];
    kit_t *kit = kit_new (true);
    s_fill (kit, 0, 20);
    int64_t done = 0, count = 0, schema;
    int slices = 0, made = 20;
    for (bool finished = false; !finished; slices++) {
        assert_int_equal (says_read (kit, "db.backup", "{'name':'one.db','pages':4}"), ARGOS_OK);
        assert_true (says_number (kit, "done") >= done || slices == 0);
        done = says_number (kit, "done");
        finished = json_is_true (says_get (kit, "finished"));
        if (!finished && slices < 10)
            s_fill (kit, made++, 1);
    }
    assert_true (slices > 5);
    snprintf (path, sizeof path, "%s", says_text (kit, "path"));
    assert_non_null (strstr (path, "/backups/one.db.part"));
    //  It stays finished, and nobody else has to wait
    says_read (kit, "db.backup", "{'name':'one.db'}");
    assert_true (json_is_true (says_get (kit, "finished")));
    assert_int_equal (argos_store_file_settle (path, reason), 0);
    assert_int_equal (
        argos_store_file_check (path, false, true, s_ignore, NULL, &schema, reason), 0);
    assert_int_equal (schema, kit_number (kit, "PRAGMA user_version"));
    assert_int_equal (argos_store_file_query (
                          path, "SELECT count (*) AS n FROM sessions", s_count, &count, reason),
        0);
    assert_int_equal (count, made);
    s_remove (kit, path);
    kit_free (kit);
}

//  Without its log it would lack what was committed last.

static void
a_file_with_a_log_is_no_copy (void **state)
{
    (void) state;
    char reason[ARGOS_STORE_FILE_REASON], log[128], target[128], *aside = NULL;
    int64_t count = 0, schema;
    kit_t *kit = kit_new (true);
    s_fill (kit, 0, 2);
    argos_store_destroy (&kit->store);
    snprintf (log, sizeof log, "%s-journal", kit->path);
    snprintf (target, sizeof target, "%s/other.db", kit->dir);
    for (int round = 0; round < 2; round++) {
        FILE *file = fopen (log, "we");
        assert_true (fputs (round ? "a log" : "", file) >= 0 && fclose (file) == 0);
        int rc = round ? -1 : 0;
        *reason = 0;
        assert_int_equal (
            argos_store_file_check (kit->path, false, false, s_ignore, NULL, &schema, reason), rc);
        assert_int_equal (argos_store_file_query (kit->path, "SELECT count (*) AS n FROM sessions",
                              s_count, &count, reason),
            rc);
        assert_int_equal (strstr (reason, "log") != NULL, round);
    }
    assert_int_equal (
        argos_store_file_restore (kit->path, target, 1, NULL, NULL, &aside, reason), -1);
    assert_int_not_equal (access (target, F_OK), 0);
    unlink (log);
    kit_free (kit);
}

static void
one_copy_at_a_time (void **state)
{
    (void) state;
    char path[256];
    kit_t *kit = kit_new (true);
    s_fill (kit, 0, 2);
    says_read (kit, "db.backup", "{'name':'one.db','pages':1}");
    snprintf (path, sizeof path, "%s", says_text (kit, "path"));
    assert_int_equal (says_read (kit, "db.backup", "{'name':'two.db'}"), ARGOS_BUSY);
    assert_int_equal (says_read (kit, "db.backup", "{'name':'two.db','drop':true}"), ARGOS_OK);
    assert_int_equal (access (path, F_OK), 0);
    //  Who does not ask on has given up
    kit->now += 60000;
    assert_int_equal (says_read (kit, "db.backup", "{'name':'two.db','pages':1}"), ARGOS_OK);
    assert_int_not_equal (access (path, F_OK), 0);
    snprintf (path, sizeof path, "%s", says_text (kit, "path"));
    assert_int_equal (access (path, F_OK), 0);
    assert_int_equal (says_read (kit, "db.backup", "{'name':'two.db','drop':true}"), ARGOS_OK);
    assert_int_not_equal (access (path, F_OK), 0);
    says_read (kit, "db.backup", "{'name':'three.db','pages':1}");
    snprintf (path, sizeof path, "%s", says_text (kit, "path"));
    kit_reopen (kit); //  The end of the store is that of its copy
    assert_int_not_equal (access (path, F_OK), 0);
    assert_int_equal (says_read (kit, "db.backup", "{'name':'../x'}"), ARGOS_INVALID);
    s_remove (kit, path);
    kit_free (kit);
    kit = kit_new (false);
    assert_int_equal (says_read (kit, "db.backup", "{'name':'one.db'}"), ARGOS_INVALID);
    kit_free (kit);
}

static void
free_pages_are_given_back (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    s_fill (kit, 0, 60);
    assert_int_equal (says_write (kit, "session.delete", "{'id':'s0'}"), ARGOS_OK);
    while (argos_store_chore (kit->store, kit->now)) {
    }
    assert_int_equal (says_read (kit, "db.compact", "{'pages':8}"), ARGOS_OK);
    int64_t free_pages = says_number (kit, "free"), total = says_number (kit, "total");
    assert_true (json_is_true (says_get (kit, "possible")));
    assert_true (free_pages > 0);
    while (says_number (kit, "free") > 0)
        assert_int_equal (says_read (kit, "db.compact", "{'pages':8}"), ARGOS_OK);
    assert_int_equal (says_number (kit, "total"), total - free_pages);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM pragma_integrity_check"
                                       " WHERE integrity_check <> 'ok'"),
        0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_copy_has_all_that_was_committed_before_its_end),
        cmocka_unit_test (a_file_with_a_log_is_no_copy),
        cmocka_unit_test (one_copy_at_a_time),
        cmocka_unit_test (free_pages_are_given_back),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
