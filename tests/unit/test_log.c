//  test_log - argos_log: what a line looks like, what it never shows, and how often it is said.

#include "argos_log.h"

#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

//  ------------------------------------------------------------------------------------------------
//  The sentences of our own program

//  Copies the string literals that stand behind one another at `at` as one text, without escapes.
//  Returns where the source goes on.

static const char *
s_take_literal (const char *at, char *text, size_t size)
{
    size_t used = 0;
    while (*at == '"') {
        for (at++; *at && *at != '"'; at++) {
            at += *at == '\\';
            if (used + 1 < size)
                text[used++] = *at;
        }
        at += 1 + strspn (at + 1, " \n");
    }
    text[used] = '\0';
    return at;
}

//  Whether it is for people. JSON is not, nor is a header of HTTP or a word alone.

static bool
s_is_sentence (const char *text)
{
    return *text != '{' && strchr (text, ' ') && !strstr (text, "Authorization: ") &&
           !strstr (text, "HTTP/1.1");
}

//  Says which sentences of this source the redactor changes. Returns how many.

static int
s_count_masked (const char *path, const char *source)
{
    char text[4096], out[8192];
    int masked = 0;
    for (const char *at = source; *at;) {
        if (*at == '\'')
            at += at[1] == '\\' ? 4 : 3;
        else if (*at != '"')
            at += strncmp (at, "//", 2) == 0 ? strcspn (at, "\n") : 1;
        else {
            at = s_take_literal (at, text, sizeof text);
            argos_log_redact (text, out, sizeof out);
            bool same = !s_is_sentence (text) || strcmp (text, out) == 0;
            if (!same)
                print_error ("%s: a log shows \"%s\"\n", path, out);
            masked += !same;
        }
    }
    return masked;
}

static int s_masked;  //  Sentences that the log would not show as they are
static int s_sources; //  Files that were looked at

static int
s_look_at_source (const char *path, const struct stat *info, int kind, struct FTW *place)
{
    size_t length = strlen (path);
    //  The help of `argos` goes to people only
    if (kind != FTW_F || strcmp (path + length - 2, ".c") != 0 ||
        strcmp (path + place->base, "argos_say_words.c") == 0)
        return 0;
    char *source = calloc (1, (size_t) info->st_size + 1);
    FILE *file = fopen (path, "re");
    assert_non_null (source);
    assert_non_null (file);
    assert_int_equal (fread (source, 1, (size_t) info->st_size, file), info->st_size);
    s_masked += s_count_masked (path, source);
    s_sources++;
    fclose (file);
    free (source);
    return 0;
}

//  "our key: none that it made" would be shown as "our key: *** that it made"

static void
test_our_own_sentences_stay (void **state)
{
    static const char *const layers[] = { "broker", "actors", "adapters", "cmd" };
    char path[PATH_MAX];
    (void) state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        snprintf (path, sizeof path, "%s/%s", getenv ("ARGOS_SOURCE"), layers[i]);
        assert_int_equal (nftw (path, s_look_at_source, 8, FTW_PHYS), 0);
    }
    assert_true (s_sources > 100);
    assert_int_equal (s_masked, 0);
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
        cmocka_unit_test (test_our_own_sentences_stay),
    };
    return cmocka_run_group_tests_name ("log", tests, NULL, NULL);
}
