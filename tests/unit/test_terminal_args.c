//  What a call of `terminal` asks for: C.9 180 (meanings of exit codes), 181 (what has no place in
//  the foreground, timeouts), and the text of the shell that goes on (C26).

#include "argos_terminal_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
codes_that_are_no_failure_are_said_to_be_none (void **state)
{
    (void) state;
    static const struct {
        const char *command; //  Command line
        int code;            //  Its exit code
        const char *wanted;  //  Part of the meaning, NULL = none
    } cases[] = {
        { "grep x f", 0, NULL },
        { "grep x f", 1, "no match" },
        { "rg x", 1, "no match" },
        { "grep x f", 2, NULL },
        { "diff a b", 1, "differ" },
        { "colordiff a b", 1, "differ" },
        { "diff a b", 2, NULL },
        { "test -f x", 1, "false" },
        { "[ -f x ]", 1, "false" },
        { "find . -name x", 1, "folders" },
        { "curl http://x", 28, "time" },
        { "curl http://x", 7, "connection" },
        { "curl http://x", 22, "error" },
        { "git diff", 1, "differences" },
        { "git status", 1, NULL },
        { "cat f | grep x", 1, "no match" },
        { "make && grep x f", 1, "no match" },
        { "grep x f; ls", 1, NULL },
        { "false || diff a b", 1, "differ" },
        { "/usr/bin/grep x f", 1, "no match" },
        { "LC_ALL=C A=b grep x f", 1, "no match" },
        { "some_program", 1, NULL },
        { "", 1, NULL },
        { "A=b", 1, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = argos_terminal_meaning (cases[i].command, cases[i].code);
        if (!got != !cases[i].wanted || (got && !strstr (got, cases[i].wanted)))
            fail_msg ("%s, %d: %s", cases[i].command, cases[i].code, got ? got : "nothing");
    }
}

static void
what_does_not_end_has_no_place_in_the_foreground (void **state)
{
    (void) state;
    static const char *const endless[] = { "nohup make", "setsid make", "make & disown",
        "npm run dev", "cd app && npm start", "docker compose up", "vite", "uvicorn app:main",
        "python3 -m http.server 8000", "X=1 flask run", "tail -f log" };
    static const char *const fine[] = { "make", "npm run build", "npm install", "vite --version",
        "uvicorn --help", "docker compose up --help", "echo nohup", "grep 'npm run dev' README",
        "invite x", "tail -n 5 log", "sleep 5 & wait", "python3 -m pytest" };
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++)
        if (!argos_terminal_is_endless (endless[i]))
            fail_msg ("%s passes", endless[i]);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (argos_terminal_is_endless (fine[i]))
            fail_msg ("%s is refused", fine[i]);
}

static void
a_timeout_is_within_600_seconds_unless_the_usual_one_is_longer (void **state)
{
    (void) state;
    static const struct {
        const char *body; //  Of the call
        int64_t usual_ms; //  Setting
        int64_t wanted;   //  Msec, -1 = out of range
    } cases[] = {
        { "{\"arguments\":{}}", 180000, 180000 },
        { "{\"arguments\":{\"timeout\":600}}", 180000, 600000 },
        { "{\"arguments\":{\"timeout\":601}}", 180000, -1 },
        { "{\"arguments\":{\"timeout\":0}}", 180000, -1 },
        { "{\"arguments\":{\"timeout\":-1}}", 180000, -1 },
        { "{\"arguments\":{\"timeout\":700}}", 900000, 700000 },
        { "{\"arguments\":{}}", 900000, 900000 },
        { "{\"arguments\":{\"timeout\":1},\"timeout_ms\":50}", 180000, 50 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *body = json_loads (cases[i].body, 0, NULL);
        assert_int_equal (argos_terminal_timeout (body, cases[i].usual_ms), cases[i].wanted);
        json_decref (body);
    }
}

//  One command in the shell that goes on: what it prints, its code.

static int
s_run (const char *command, const char *file, char *out, size_t size)
{
    char *whole = argos_terminal_wrap (command, file, false), line[8192];
    setenv ("ARGOS_TEST_COMMAND", whole, 1);
    snprintf (line, sizeof line, "/bin/sh -c \"$ARGOS_TEST_COMMAND\" 2>&1");
    FILE *pipe = popen (line, "r"); //  NOLINT(cert-env33-c): the command is ours
    assert_non_null (pipe);
    size_t used = fread (out, 1, size - 1, pipe);
    out[used] = '\0';
    int status = pclose (pipe);
    free (whole);
    return status >> 8;
}

static void
the_next_shell_goes_on_where_the_last_one_ended (void **state)
{
    (void) state;
    char folder[] = "/tmp/argos it's XXXXXX", file[64], out[4096], command[256];
    assert_non_null (mkdtemp (folder));
    snprintf (file, sizeof file, "%s/shell", folder);
    snprintf (command, sizeof command,
        "mkdir -p \"%s/a/b\"; cd \"%s/a/b\"; export X='a b'; Y=1; exit 3", folder, folder);
    assert_int_equal (s_run (command, file, out, sizeof out), 3);
    assert_string_equal (out, "");
    assert_int_equal (s_run ("pwd; echo \"$X,$Y\"", file, out, sizeof out), 0);
    assert_non_null (strstr (out, "/a/b\na b,\n"));
    //  A folder that is gone: its parent
    snprintf (command, sizeof command, "rmdir \"%s/a/b\"", folder);
    assert_int_equal (s_run (command, file, out, sizeof out), 0);
    assert_int_equal (s_run ("pwd", file, out, sizeof out), 0);
    assert_non_null (strstr (out, "/a\n"));
    //  Errors of the text itself are told, and change nothing
    assert_int_not_equal (s_run ("if then", file, out, sizeof out), 0);
    assert_true (*out);
    assert_int_equal (s_run ("echo \"$X\"", file, out, sizeof out), 0);
    assert_string_equal (out, "a b\n");
    snprintf (command, sizeof command, "rm -r \"%s\"", folder);
    s_run (command, file, out, sizeof out);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (codes_that_are_no_failure_are_said_to_be_none),
        cmocka_unit_test (what_does_not_end_has_no_place_in_the_foreground),
        cmocka_unit_test (a_timeout_is_within_600_seconds_unless_the_usual_one_is_longer),
        cmocka_unit_test (the_next_shell_goes_on_where_the_last_one_ended),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
