//  test_log - argos_log: what a line looks like, what it never shows, and how often it is said.

#include "argos_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int s_pipe[2]; //  Stands in for stderr
static int s_stderr;  //  The real one

static int
s_set_up (void **state)
{
    (void) state;
    s_stderr = dup (STDERR_FILENO);
    return pipe (s_pipe) || dup2 (s_pipe[1], STDERR_FILENO) < 0;
}

//  What has been logged since the last call

static const char *
s_logged (void)
{
    static char text[65536];
    ssize_t written = write (STDERR_FILENO, "\n", 1); //  So that read never blocks
    assert_int_equal (written, 1);
    ssize_t size = read (s_pipe[0], text, sizeof text - 1);
    assert_true (size > 0);
    text[size - 1] = '\0';
    return text;
}

static int
s_tear_down (void **state)
{
    (void) state;
    dup2 (s_stderr, STDERR_FILENO);
    close (s_stderr);
    close (s_pipe[0]);
    close (s_pipe[1]);
    return 0;
}

static void
test_a_line_is_logfmt (void **state)
{
    (void) state;
    argos_log (ARGOS_LOG_WARN, "store", "disk is \"full\"", "free=%d note=a\nb", 7);
    const char *line = s_logged ();
    assert_memory_equal (line, "ts=20", 5);
    assert_non_null (strstr (
        line, "Z level=warn actor=store event=\"disk is \\\"full\\\"\" free=7 note=a\\x0ab\n"));
}

static void
test_levels_are_dropped (void **state)
{
    (void) state;
    argos_log (ARGOS_LOG_DEBUG, "store", "chatter", NULL);
    assert_string_equal (s_logged (), "");
    argos_log_level (ARGOS_LOG_DEBUG);
    argos_log (ARGOS_LOG_DEBUG, "store", "chatter", NULL);
    assert_non_null (strstr (s_logged (), "event=chatter\n"));
    argos_log_level (ARGOS_LOG_INFO);
}

static void
test_a_flood_is_counted (void **state)
{
    (void) state;
    for (int i = 0; i < 100; i++)
        argos_log (ARGOS_LOG_INFO, "gateway", "flood", "i=%d", i);
    int lines = 0;
    for (const char *at = s_logged (); *at; at++)
        lines += *at == '\n';
    assert_in_range (lines, 10, 22); //  A second may end in between
}

static void
s_check (const char *in, const char *expected)
{
    char out[300];
    argos_log_redact (in, out, sizeof out);
    assert_string_equal (out, expected);
}

static void
test_secrets_are_masked (void **state)
{
    (void) state;
    s_check ("Authorization: Bearer abc.def-123", "Authorization: ***");
    s_check ("header Bearer abcdef0123.xyz rest", "header Bearer *** rest");
    s_check ("key sk-abcdefghijk123", "key ***");
    s_check ("api_key=hello&x=1", "api_key=***&x=1");
    s_check ("{\"bot_token\":\"1:a\",\"n\":2}", "{\"bot_token\":\"***\",\"n\":2}");
    s_check ("h=0123456789abcdef0123456789abcdef x", "h=*** x");
    s_check ("t=AbCdEfGhIjKlMnOpQrStUv012345", "t=***");
    s_check ("password: hunter2", "password: ***");
}

static void
test_what_is_no_secret_stays (void **state)
{
    (void) state;
    s_check (
        "run=run_0123456789abcdef0123456789abcdef", "run=run_0123456789abcdef0123456789abcdef");
    s_check ("path=/var/lib/argos/argos.db seq=123", "path=/var/lib/argos/argos.db seq=123");
    s_check ("peer=telegram.main@core monkey", "peer=telegram.main@core monkey");
    s_check ("", "");
    char out[6];
    argos_log_redact ("abcdefgh", out, sizeof out);
    assert_string_equal (out, "abcde");
}

//  Two files and no more, each with whole lines; the newest line is in the newest file

static void
test_a_file_that_is_full_becomes_the_one_before (void **state)
{
    char folder[] = "/tmp/argos-log-XXXXXX", path[64], old[80], line[64];
    struct stat info;
    (void) state;
    assert_non_null (mkdtemp (folder));
    snprintf (path, sizeof path, "%s/" ARGOS_LOG_FILE, folder);
    snprintf (old, sizeof old, "%s.1", path);
    assert_int_equal (argos_log_open (folder, 100), 0);
    for (int i = 1; i <= 9; i++) {
        int size = snprintf (line, sizeof line, "line %d, of thirty bytes or so\n", i);
        argos_log_write (line, (unsigned long) size);
    }
    s_logged ();
    assert_int_equal (stat (old, &info), 0);
    assert_int_equal (info.st_size, 3 * 30);
    assert_int_equal (stat (path, &info), 0);
    assert_int_equal (info.st_size, 3 * 30);
    assert_int_equal (info.st_mode & 0777, 0600);
    FILE *file = fopen (path, "re");
    assert_non_null (file);
    assert_non_null (fgets (line, sizeof line, file));
    assert_string_equal (line, "line 7, of thirty bytes or so\n");
    fclose (file);
    //  Where it can't get its other name it begins anew
    assert_int_equal (unlink (old), 0);
    assert_int_equal (mkdir (old, 0700), 0);
    argos_log_write ("line x, of thirty bytes or so\n", 30);
    assert_int_equal (stat (path, &info), 0);
    assert_int_equal (info.st_size, 30);
    argos_log_close ();
    argos_log_write ("for stderr alone\n", 17);
    s_logged ();
    assert_int_equal (stat (path, &info), 0);
    assert_int_equal (info.st_size, 30);
    unlink (path);
    rmdir (old);
    assert_int_equal (rmdir (folder), 0);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_a_line_is_logfmt, s_set_up, s_tear_down),
        cmocka_unit_test_setup_teardown (test_levels_are_dropped, s_set_up, s_tear_down),
        cmocka_unit_test_setup_teardown (test_a_flood_is_counted, s_set_up, s_tear_down),
        cmocka_unit_test_setup_teardown (
            test_a_file_that_is_full_becomes_the_one_before, s_set_up, s_tear_down),
        cmocka_unit_test (test_secrets_are_masked),
        cmocka_unit_test (test_what_is_no_secret_stays),
    };
    return cmocka_run_group_tests_name ("log", tests, NULL, NULL);
}
