//  test_store_restore - a database is put in the place of another: at no moment is there none, and
//  no log of the old one is beside the new one.
//
//  rename and link of this program look before and after, and fail when the test wants it.

#include "argos_store_file.h"
#include "store_says.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

//  What the calls have seen

static struct {
    const char *path; //  Of the database, NULL = they don't look
    bool no_links;    //  The file system has none: it may be missing for a moment
    bool full;        //  The last rename fails
    int placed;       //  How often something was put at path
    bool missing;     //  There was no database between two calls
    bool log;         //  A log was there as the new one came
} s_seen;

static bool
s_there (const char *path, const char *suffix)
{
    char name[160];
    snprintf (name, sizeof name, "%s%s", path, suffix);
    return access (name, F_OK) == 0;
}

int
link (const char *from, const char *to)
{
    if (s_seen.no_links) {
        errno = EPERM;
        return -1;
    }
    return (int) syscall (SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
rename (const char *from, const char *to)
{
    bool looks = s_seen.path != NULL;
    if (looks && strcmp (to, s_seen.path) == 0) {
        s_seen.log = s_seen.log || s_there (to, "-wal") || s_there (to, "-journal");
        if (s_seen.placed++ == 0 && s_seen.full) {
            s_seen.log = false;
            errno = ENOSPC;
            return -1;
        }
    }
    int rc = (int) syscall (SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    int code = errno;
    if (looks && !s_there (s_seen.path, ""))
        s_seen.missing = true;
    errno = code;
    return rc;
}

//  ------------------------------------------------------------------------------------------------

static void
s_write (const char *path, const char *suffix, const char *text)
{
    char name[160];
    snprintf (name, sizeof name, "%s%s", path, suffix);
    int fd = open (name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal (write (fd, text, strlen (text)), (ssize_t) strlen (text));
    close (fd);
}

//  A log that can't be opened, so that it can't be brought into its file.

static void
s_log (const kit_t *kit, const char *suffix)
{
    char name[160];
    snprintf (name, sizeof name, "%s%s", kit->path, suffix);
    assert_int_equal (mkdir (name, 0700), 0);
}

static void
s_assert_begins (const char *path, const char *text)
{
    char found[64] = "";
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    assert_true (read (fd, found, strlen (text)) == (ssize_t) strlen (text));
    close (fd);
    assert_string_equal (found, text);
}

//  A closed store with the session `old`, and a backup with the session `new`.

static kit_t *
s_kit (char backup[static 128])
{
    char reason[ARGOS_STORE_FILE_REASON];
    kit_t *kit = kit_new (true);
    snprintf (backup, 128, "%s/backup.db", kit->dir);
    says_write (kit, "session.create", "{'id':'new'}");
    argos_store_destroy (&kit->store);
    assert_int_equal (argos_store_file_copy (kit->path, backup, NULL, NULL, reason), 0);
    assert_int_equal (argos_store_file_settle (backup, reason), 0);
    kit_reopen (kit);
    says_write (kit, "session.delete", "{'id':'new'}");
    says_write (kit, "session.create", "{'id':'old'}");
    argos_store_destroy (&kit->store);
    memset (&s_seen, 0, sizeof s_seen);
    return kit;
}

static int
s_restore (kit_t *kit, const char *backup, char **ret_aside)
{
    char reason[ARGOS_STORE_FILE_REASON] = "";
    s_seen.path = kit->path;
    int rc = argos_store_file_restore (backup, kit->path, kit->now, NULL, NULL, ret_aside, reason);
    s_seen.path = NULL;
    assert_false (s_there (kit->path, ".restore"));
    assert_true (rc == 0 || *reason);
    return rc;
}

static void
s_assert_new (kit_t *kit)
{
    kit_reopen (kit);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions WHERE id = 'new'"), 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 1);
}

static void
s_end (kit_t *kit, const char *backup, char *aside)
{
    char pattern[160];
    glob_t found;
    snprintf (pattern, sizeof pattern, "%s.before-*", kit->path);
    if (glob (pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            remove (found.gl_pathv[i]);
        globfree (&found);
    }
    free (aside);
    unlink (backup);
    kit_free (kit);
}

//  ------------------------------------------------------------------------------------------------

static void
there_is_a_database_at_any_moment (void **state)
{
    (void) state;
    for (int round = 0; round < 2; round++) {
        char backup[128], *aside = NULL;
        kit_t *kit = s_kit (backup);
        s_seen.no_links = round == 1;
        assert_int_equal (s_restore (kit, backup, &aside), 0);
        assert_int_equal (s_seen.placed, 1);
        assert_int_equal (s_seen.missing, s_seen.no_links);
        assert_true (s_there (aside, ""));
        s_assert_new (kit);
        s_end (kit, backup, aside);
    }
}

//  It goes with its file.

static void
an_old_log_is_never_beside_the_new_one (void **state)
{
    (void) state;
    char backup[128], *aside = NULL;
    kit_t *kit = s_kit (backup);
    s_write (kit->path, "", "no database");
    s_log (kit, "-wal");
    s_log (kit, "-journal");
    s_write (kit->path, "-shm", "of somebody who has looked");
    assert_int_equal (s_restore (kit, backup, &aside), 0);
    assert_false (s_seen.missing);
    assert_false (s_seen.log);
    assert_false (s_there (kit->path, "-shm"));
    s_assert_begins (aside, "no database");
    assert_true (s_there (aside, "-wal"));
    assert_true (s_there (aside, "-journal"));
    s_assert_new (kit);
    s_end (kit, backup, aside);
}

static void
what_fails_leaves_all_as_it_was (void **state)
{
    (void) state;
    for (int round = 0; round < 2; round++) {
        char backup[128], *aside = NULL;
        kit_t *kit = s_kit (backup);
        s_write (kit->path, "", "no database");
        s_log (kit, "-wal");
        s_seen.full = true;
        s_seen.no_links = round == 1;
        assert_int_equal (s_restore (kit, backup, &aside), -1);
        assert_null (aside);
        s_assert_begins (kit->path, "no database");
        assert_true (s_there (kit->path, "-wal"));
        //  The same name is free again
        s_seen.full = false;
        assert_int_equal (s_restore (kit, backup, &aside), 0);
        s_assert_new (kit);
        s_end (kit, backup, aside);
    }
}

//  Only a log is there: it is kept, too, and there is no file to tell of.

static void
where_no_database_is (void **state)
{
    (void) state;
    char backup[128], *aside = NULL;
    kit_t *kit = s_kit (backup);
    unlink (kit->path);
    s_log (kit, "-wal");
    assert_int_equal (s_restore (kit, backup, &aside), 0);
    assert_null (aside);
    assert_false (s_seen.log);
    s_assert_new (kit);
    s_end (kit, backup, NULL);
}

//  Whoever has it open would go on writing to a file that is the database no longer.

static void
one_in_use_stays (void **state)
{
    (void) state;
    char backup[128], *aside = NULL;
    kit_t *kit = s_kit (backup);
    kit_reopen (kit);
    assert_int_equal (s_restore (kit, backup, &aside), -1);
    assert_null (aside);
    assert_int_equal (s_seen.placed, 0);
    says_write (kit, "session.create", "{'id':'later'}");
    argos_store_destroy (&kit->store);
    kit_reopen (kit);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions WHERE id <> 'new'"), 2);
    s_end (kit, backup, NULL);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (there_is_a_database_at_any_moment),
        cmocka_unit_test (an_old_log_is_never_beside_the_new_one),
        cmocka_unit_test (what_fails_leaves_all_as_it_was),
        cmocka_unit_test (where_no_database_is),
        cmocka_unit_test (one_in_use_stays),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
