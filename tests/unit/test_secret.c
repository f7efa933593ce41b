//  test_secret - references to secrets, and what is none.

#include "argos_secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void
secrets_come_from_variables_and_files (void **state)
{
    (void) state;
    char home[] = "/tmp/argos-test-XXXXXX", path[64], reference[96], reason[256];
    assert_non_null (mkdtemp (home));
    snprintf (path, sizeof path, "%s/secret", home);
    FILE *file = fopen (path, "w");
    fputs ("abc-123 \r\n", file);
    fclose (file);
    setenv ("ARGOS_TEST_SECRET", "from-env", 1);
    snprintf (reference, sizeof reference, "file:%s", path);
    const char *const rows[][2] = { { "env:ARGOS_TEST_SECRET", "from-env" },
        { "file:secret", "abc-123" }, { reference, "abc-123" } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *secret = argos_secret_read (home, rows[i][0], reason, sizeof reason);
        assert_string_equal (secret, rows[i][1]);
        argos_secret_free (&secret);
        assert_null (secret);
    }
    argos_secret_free (NULL);
    unlink (path);
    rmdir (home);
}

static void
what_is_no_secret_has_a_reason_without_it (void **state)
{
    (void) state;
    char reason[256];
    static const char *const values[] = { "", "two words", "line\nbreak", "changeme",
        "Your-Token-Here", "\xc3\xa4" };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        setenv ("ARGOS_TEST_SECRET", values[i], 1);
        *reason = 0;
        assert_null (argos_secret_read ("/", "env:ARGOS_TEST_SECRET", reason, sizeof reason));
        assert_non_null (strstr (reason, "ARGOS_TEST_SECRET"));
        assert_true (!*values[i] || !strstr (reason, values[i]));
    }
    char *large = malloc (ARGOS_SECRET_MAX + 2);
    memset (large, 'x', ARGOS_SECRET_MAX + 1);
    large[ARGOS_SECRET_MAX + 1] = 0;
    setenv ("ARGOS_TEST_SECRET", large, 1);
    assert_null (argos_secret_read ("/", "env:ARGOS_TEST_SECRET", reason, sizeof reason));
    free (large);
    unsetenv ("ARGOS_TEST_SECRET");
    assert_null (argos_secret_read ("/", "env:ARGOS_TEST_SECRET", reason, sizeof reason));
    assert_null (argos_secret_read ("/", "file:no/such/file", reason, sizeof reason));
    assert_null (argos_secret_read ("/", "the secret itself", reason, sizeof reason));
    assert_string_equal (reason, "expected env:NAME or file:PATH");
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (secrets_come_from_variables_and_files),
        cmocka_unit_test (what_is_no_secret_has_a_reason_without_it),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
