//  The shell tool with real processes: what it prints, how it stops, and that nothing of it stays.
//
//  The test is its own guard: argos_terminal starts /proc/self/exe.

#include "argos_guard.h"
#include "argos_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define DEADLINE_MS 20000              //  Nothing here takes longer
#define OWNER_OPTION "--own-a-command" //  Makes this program the owner that is killed

static int64_t
s_now (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

typedef struct {
    int epoll_fd;               //  Set of the command
    argos_terminal_t *terminal; //  The command
} run_t;

static run_t
s_start (const char *command, int64_t timeout_ms)
{
    char reason[256] = "";
    run_t run = { .epoll_fd = epoll_create1 (EPOLL_CLOEXEC) };
    argos_terminal_task_t task = { command, "/tmp", timeout_ms, 50000 };
    run.terminal = argos_terminal_new (run.epoll_fd, &task, s_now (), reason, sizeof reason);
    assert_string_equal (reason, "");
    assert_non_null (run.terminal);
    return run;
}

//  Wait for the next event or deadline of the command and let it have its turn.

static void
s_turn (run_t *run)
{
    struct epoll_event event;
    int64_t wait_ms = argos_terminal_due (run->terminal) - s_now ();
    if (epoll_wait (run->epoll_fd, &event, 1, wait_ms < 0 ? 0 : (int) wait_ms) == -1)
        assert_int_equal (errno, EINTR);
    argos_terminal_turn (run->terminal, s_now ());
}

//  Let it run to its end; returns its result.

static json_t *
s_finish (run_t *run)
{
    int64_t deadline = s_now () + DEADLINE_MS;
    while (!argos_terminal_over (run->terminal)) {
        assert_true (s_now () < deadline);
        s_turn (run);
    }
    json_t *result = argos_terminal_result (run->terminal);
    argos_terminal_destroy (&run->terminal);
    close (run->epoll_fd);
    return result;
}

static const char *
s_text (const json_t *result, const char *name)
{
    const char *text = json_string_value (json_object_get (result, name));
    return text ? text : "";
}

static int
s_code (const json_t *result)
{
    return (int) json_integer_value (json_object_get (result, "exit_code"));
}

//  Whether a process is alive (a zombie is not), by the pid written in a text.

static bool
s_alive (const char *pid)
{
    char path[64], line[256] = "";
    snprintf (path, sizeof path, "/proc/%ld/stat", strtol (pid, NULL, 10));
    FILE *file = fopen (path, "re");
    if (!file)
        return false;
    char *read = fgets (line, sizeof line, file);
    fclose (file);
    const char *state = read ? strrchr (line, ')') : NULL;
    return state && state[2] != 'Z';
}

//  Wait until the file at path has a whole line, and return it.

static void
s_await_line (const char *path, char *line, size_t size)
{
    int64_t deadline = s_now () + DEADLINE_MS;
    for (*line = 0; !strchr (line, '\n');) {
        assert_true (s_now () < deadline);
        poll (NULL, 0, 5);
        FILE *file = fopen (path, "re");
        if (file) {
            if (!fgets (line, (int) size, file))
                *line = 0;
            fclose (file);
        }
    }
}

static void
s_await_death (const char *pid)
{
    int64_t deadline = s_now () + DEADLINE_MS;
    while (s_alive (pid)) {
        assert_true (s_now () < deadline);
        poll (NULL, 0, 5);
    }
}

static void
output_errors_and_code_come_back (void **state)
{
    (void) state;
    run_t run = s_start ("echo out; echo err >&2; pwd; exit 3", 60000);
    json_t *result = s_finish (&run);
    assert_string_equal (s_text (result, "output"), "out\nerr\n/tmp\n");
    assert_int_equal (s_code (result), 3);
    assert_string_equal (s_text (result, "status"), "ok");
    assert_true (json_is_null (json_object_get (result, "error")));
    json_decref (result);
    run = s_start ("kill -9 $$", 60000);
    result = s_finish (&run);
    assert_int_equal (s_code (result), 137);
    json_decref (result);
}

static void
input_is_empty_and_nothing_is_inherited (void **state)
{
    (void) state;
    int leak = open ("/dev/null", O_RDONLY); //  Without CLOEXEC, on purpose
    setenv ("MY_API_KEY", "do-not-show", 1);
    run_t run = s_start ("cat; ls /proc/$$/fd; env", 60000);
    json_t *result = s_finish (&run);
    //  0, 1, 2 only
    assert_int_equal (strncmp (s_text (result, "output"), "0\n1\n2\n", 6), 0);
    assert_null (strstr (s_text (result, "output"), "do-not-show"));
    assert_null (strstr (s_text (result, "output"), "\n3\n"));
    assert_non_null (strstr (s_text (result, "output"), "PATH="));
    json_decref (result);
    unsetenv ("MY_API_KEY");
    close (leak);
}

static void
a_timeout_keeps_what_was_printed (void **state)
{
    (void) state;
    run_t run = s_start ("echo begun; sleep 300", 1000);
    int64_t begun = s_now ();
    json_t *result = s_finish (&run);
    assert_int_equal (s_code (result), 124);
    assert_string_equal (s_text (result, "status"), "timeout");
    assert_string_equal (s_text (result, "output"), "begun\n");
    assert_string_equal (s_text (result, "error"), "timed out after 1 s");
    assert_true (s_now () - begun < 2500);
    json_decref (result);
}

static void
who_ignores_the_first_signal_gets_the_second (void **state)
{
    (void) state;
    run_t run = s_start ("trap '' TERM; echo $$; while :; do sleep 1; done", 1000);
    json_t *result = s_finish (&run);
    assert_int_equal (s_code (result), 124);
    assert_false (s_alive (s_text (result, "output")));
    json_decref (result);
}

static void
a_cancel_kills_the_whole_group_at_once (void **state)
{
    (void) state;
    char path[] = "/tmp/argos_terminal_XXXXXX", command[512], line[64], deep[64];
    close (mkstemp (path));
    //  A child in the group, and one that has left it
    snprintf (command, sizeof command,
        "sleep 301 & setsid sh -c 'echo $$ > %s.deep; exec sleep 302' & "
        "while ! [ -s %s.deep ]; do sleep 0.01; done; echo $! $$ > %s; wait",
        path, path, path);
    run_t run = s_start (command, 60000);
    s_await_line (path, line, sizeof line);
    char deep_path[64];
    snprintf (deep_path, sizeof deep_path, "%s.deep", path);
    s_await_line (deep_path, deep, sizeof deep);
    assert_true (s_alive (deep));
    int64_t begun = s_now ();
    argos_terminal_cancel (run.terminal, s_now ());
    argos_terminal_cancel (run.terminal, s_now ());
    json_t *result = s_finish (&run);
    assert_true (s_now () - begun < 1000);
    assert_int_equal (s_code (result), 130);
    assert_string_equal (s_text (result, "status"), "interrupted");
    assert_false (s_alive (deep));
    assert_false (s_alive (strchr (line, ' ')));
    json_decref (result);
    unlink (path);
    unlink (deep_path);
}

//  182, 183: whatever form sends it to the background, it holds nothing, and does not outlive the
//  command. So a chain before `&` needs no other words than its own.

static void
what_is_left_running_ends_with_the_command (void **state)
{
    (void) state;
    static const char *const forms[] = { "sleep 303 & echo $!", "true && sleep 303 & echo $!",
        "false || sleep 303 & echo $!", "cd / && sleep 303 2>&1 & echo $!",
        "{ true; sleep 303; } & echo $!", "(true; sleep 303) & echo $!",
        "true && { sleep 303 & } && echo $!", "sh -c 'sleep 303 & echo $!'",

        "sleep 303 &> /dev/null & echo $!" };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        run_t run = s_start (forms[i], 60000);
        int64_t begun = s_now ();
        json_t *result = s_finish (&run);
        assert_true (s_now () - begun < 5000);
        assert_int_equal (s_code (result), 0);
        assert_true (atoi (s_text (result, "output")) > 1);
        assert_false (s_alive (s_text (result, "output")));
        json_decref (result);
    }
}

static void
ten_megabytes_are_capped (void **state)
{
    (void) state;
    run_t run = s_start ("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end", 60000);
    json_t *result = s_finish (&run);
    const char *output = s_text (result, "output");
    assert_true (strlen (output) <= 50000);
    assert_true (strlen (output) > 45000);
    assert_non_null (strstr (output, "bytes left out"));
    assert_string_equal (output + strlen (output) - 5, "\nend\n");
    json_decref (result);
}

static void
a_command_without_end_of_output_does_not_starve (void **state)
{
    (void) state;
    run_t run = s_start ("yes", 1000);
    json_t *result = s_finish (&run);
    assert_int_equal (s_code (result), 124);
    assert_true (strlen (s_text (result, "output")) <= 50000);
    json_decref (result);
}

static void
a_command_that_closes_its_output_runs_on (void **state)
{
    (void) state;
    run_t run = s_start ("exec >/dev/null 2>&1; sleep 0.3; exit 5", 60000);
    json_t *result = s_finish (&run);
    assert_int_equal (s_code (result), 5);
    json_decref (result);
}

static void
a_command_that_kills_its_guard_is_killed (void **state)
{
    (void) state;
    run_t run = s_start ("echo $$; kill -9 $PPID; sleep 304", 60000);
    json_t *result = s_finish (&run);
    s_await_death (s_text (result, "output"));
    assert_int_equal (s_code (result), 137);
    json_decref (result);
}

//  A process that is traced to its exit is one that SIGKILL does not end.

static void
who_survives_is_told (void **state)
{
    (void) state;
    char path[] = "/tmp/argos_terminal_XXXXXX", command[128], line[64], *guard;
    close (mkstemp (path));
    snprintf (command, sizeof command, "echo $$ $PPID > %s; exec sleep 306", path);
    run_t run = s_start (command, 60000);
    s_await_line (path, line, sizeof line);
    unlink (path);
    pid_t pid = (pid_t) strtol (line, &guard, 10), found[ARGOS_TERMINAL_SURVIVORS];
    assert_int_equal (argos_terminal_survivors (pid, found), 1);
    assert_int_equal (found[0], pid);
    bool held = ptrace (PTRACE_SEIZE, pid, NULL, (void *) PTRACE_O_TRACEEXIT) == 0;
    int64_t begun = s_now ();
    kill ((pid_t) strtol (guard, NULL, 10), SIGKILL);
    json_t *result = s_finish (&run);
    assert_true (s_now () - begun < 3000);
    assert_int_equal (s_code (result), 137);
    const json_t *left = json_object_get (result, "survivors");
    if (held) {
        assert_int_equal (json_array_size (left), 1);
        assert_int_equal (json_integer_value (json_array_get (left, 0)), pid);
        assert_non_null (strstr (s_text (result, "error"), "could not be killed"));
        while (waitpid (pid, NULL, __WALL) == pid && ptrace (PTRACE_CONT, pid, NULL, NULL) == 0)
            ;
    }
    else
        assert_null (left);
    s_await_death (line);
    assert_int_equal (argos_terminal_survivors (pid, found), 0);
    json_decref (result);
}

static void
a_place_that_is_not_there_is_said (void **state)
{
    (void) state;
    char reason[256] = "";
    run_t run = { .epoll_fd = epoll_create1 (EPOLL_CLOEXEC) };
    argos_terminal_task_t task = { "true", "/does/not/exist", 60000, 50000 };
    run.terminal = argos_terminal_new (run.epoll_fd, &task, s_now (), reason, sizeof reason);
    assert_non_null (run.terminal);
    json_t *result = s_finish (&run);
    assert_int_equal (s_code (result), 127);
    assert_string_equal (s_text (result, "status"), "error");
    assert_non_null (strstr (s_text (result, "error"), "No such file"));
    json_decref (result);
    char *command = malloc (200001);
    assert_non_null (command);
    memset (command, ' ', 200000);
    command[200000] = 0;
    task = (argos_terminal_task_t){ command, NULL, 1000, 50000 };
    assert_null (argos_terminal_new (0, &task, 0, reason, sizeof reason));
    assert_non_null (strstr (reason, "131071"));
    free (command);
}

static void
destroying_a_running_command_kills_it (void **state)
{
    (void) state;
    char path[] = "/tmp/argos_terminal_XXXXXX", command[128], line[64];
    close (mkstemp (path));
    snprintf (command, sizeof command, "echo $$ > %s; exec sleep 305", path);
    run_t run = s_start (command, 60000);
    s_await_line (path, line, sizeof line);
    argos_terminal_destroy (&run.terminal);
    assert_false (s_alive (line));
    close (run.epoll_fd);
    unlink (path);
}

//  Body of the owner: start a command that writes its pid to a file, then wait to be killed.

static int
s_own (const char *path)
{
    char command[256], reason[256];
    snprintf (command, sizeof command, "sleep 306 & echo $! > %s; wait", path);
    argos_terminal_task_t task = { command, "/tmp", 60000, 50000 };
    int epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    if (!argos_terminal_new (epoll_fd, &task, s_now (), reason, sizeof reason))
        return 1;
    for (;;)
        pause ();
}

static void
nothing_outlives_an_owner_that_is_killed (void **state)
{
    (void) state;
    char path[] = "/tmp/argos_terminal_XXXXXX", line[64];
    char self[] = "/proc/self/exe", option[] = OWNER_OPTION;
    char *argv[] = { self, option, path, NULL };
    pid_t owner;
    close (mkstemp (path));
    assert_int_equal (posix_spawn (&owner, self, NULL, NULL, argv, environ), 0);
    s_await_line (path, line, sizeof line);
    assert_true (s_alive (line));
    kill (owner, SIGKILL);
    waitpid (owner, NULL, 0);
    s_await_death (line);
    unlink (path);
}

int
main (int argc, char **argv)
{
    if (argc > 1 && strcmp (argv[1], ARGOS_GUARD_OPTION) == 0)
        return argos_guard_main (argc, argv);
    if (argc > 2 && strcmp (argv[1], OWNER_OPTION) == 0)
        return s_own (argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (output_errors_and_code_come_back),
        cmocka_unit_test (input_is_empty_and_nothing_is_inherited),
        cmocka_unit_test (a_timeout_keeps_what_was_printed),
        cmocka_unit_test (who_ignores_the_first_signal_gets_the_second),
        cmocka_unit_test (a_cancel_kills_the_whole_group_at_once),
        cmocka_unit_test (what_is_left_running_ends_with_the_command),
        cmocka_unit_test (ten_megabytes_are_capped),
        cmocka_unit_test (a_command_without_end_of_output_does_not_starve),
        cmocka_unit_test (a_command_that_closes_its_output_runs_on),
        cmocka_unit_test (a_command_that_kills_its_guard_is_killed),
        cmocka_unit_test (who_survives_is_told),
        cmocka_unit_test (a_place_that_is_not_there_is_said),
        cmocka_unit_test (destroying_a_running_command_kills_it),
        cmocka_unit_test (nothing_outlives_an_owner_that_is_killed),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
