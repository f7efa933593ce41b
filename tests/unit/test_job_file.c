//  test_job_file - files of jobs that are damaged, absent, or something else than a file: nothing
//  is believed, nothing waits.

#include "argos_job_file.h"
#include "argos_job_format.h"

#include <fcntl.h>
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

#define ID "0123456789ab"

static char s_jobs[64];
static char s_path[128];

static int
s_setup (void **state)
{
    (void) state;
    snprintf (s_jobs, sizeof s_jobs, "/tmp/argos-job-XXXXXX");
    if (!mkdtemp (s_jobs))
        return -1;
    snprintf (s_path, sizeof s_path, "%s/" ID, s_jobs);
    return mkdir (s_path, 0700);
}

static int
s_teardown (void **state)
{
    (void) state;
    argos_job_file_remove (s_jobs, ID);
    argos_job_file_remove (s_jobs, ID);
    return rmdir (s_jobs);
}

static void
s_write (const char *name, const void *data, size_t size)
{
    char path[192];
    snprintf (path, sizeof path, "%s/%s", s_path, name);
    FILE *file = fopen (path, "w");
    assert_non_null (file);
    assert_int_equal (fwrite (data, 1, size, file), size);
    fclose (file);
}

static void
s_remove (const char *name)
{
    char path[192];
    snprintf (path, sizeof path, "%s/%s", s_path, name);
    assert_int_equal (unlink (path), 0);
}

//  A log with that head, and some data.

static void
s_write_log (const char *magic, uint64_t total, uint64_t size, uint64_t head, const char *data)
{
    char bytes[256] = { 0 };
    argos_job_log_t log = { .total = total, .size = size, .head = head };
    argos_job_file_boot (log.boot);
    memcpy (log.magic, magic, sizeof log.magic);
    memcpy (bytes, &log, sizeof log);
    memcpy (bytes + ARGOS_JOB_LOG_DATA, data, strlen (data));
    s_write (ARGOS_JOB_LOG, bytes, ARGOS_JOB_LOG_DATA + strlen (data));
}

static void
s_assert_output (int64_t from, size_t max, const char *data, uint64_t next)
{
    argos_job_piece_t piece;
    argos_job_file_output (s_jobs, ID, from, max, &piece);
    assert_string_equal (piece.data, data);
    assert_int_equal (piece.size, strlen (data));
    assert_int_equal (piece.next, next);
    free (piece.data);
}

static void
test_logs (void **state)
{
    (void) state;
    s_assert_output (0, 100, "", 0); //  There is none
    s_write_log (ARGOS_JOB_LOG_MAGIC, 5, 16, 4, "hello");
    s_assert_output (0, 100, "hello", 5);
    s_assert_output (2, 2, "ll", 4);
    s_assert_output (-1, 2, "lo", 5);
    s_assert_output (77, 100, "", 5);
    //  abcd stays, of 0123456789ABCDEF the newest 12 are there: byte 4 + 12 has taken the place of
    //  4
    s_write_log (ARGOS_JOB_LOG_MAGIC, 20, 16, 4, "abcdCDEF456789AB");
    s_assert_output (0, 100, "abcd456789ABCDEF", 20);
    s_assert_output (-1, 6, "ABCDEF", 20);
    s_assert_output (5, 3, "", 8); //  All of that is gone
    s_write_log ("OTHER!!\n", 5, 16, 4, "hello");
    s_assert_output (0, 100, "", 0);
    s_write_log (ARGOS_JOB_LOG_MAGIC, 5, 0, 0, "hello");
    s_assert_output (0, 100, "", 0);
    s_write_log (ARGOS_JOB_LOG_MAGIC, 5, 16, 16, "hello");
    s_assert_output (0, 100, "", 0);
    s_write_log (ARGOS_JOB_LOG_MAGIC, 5, UINT64_MAX, 4, "hello");
    s_assert_output (0, 100, "", 0);
    //  It says more than there is
    s_write_log (ARGOS_JOB_LOG_MAGIC, 1000, 4096, 1024, "hello");
    s_assert_output (0, 2000, "hello", 5);
    s_write (ARGOS_JOB_LOG, "ARGJ", 4);
    s_assert_output (0, 100, "", 0);
}

static void
test_ends (void **state)
{
    (void) state;
    argos_job_end_t end;
    char long_text[8192];
    assert_false (argos_job_file_end (s_jobs, ID, &end));
    s_write (ARGOS_JOB_EXIT, "3\nreason exited\nleft 2\nsurvivors 7 8\n", 38);
    assert_true (argos_job_file_end (s_jobs, ID, &end));
    assert_int_equal (end.code, 3);
    assert_int_equal (end.left, 2);
    assert_int_equal (end.survivors[1], 8);
    //  Before it has its name it counts when it is whole
    s_remove (ARGOS_JOB_EXIT);
    s_write (ARGOS_JOB_ENDING, "4\nreason exited\nleft 2\nsurv", 28);
    assert_false (argos_job_file_end (s_jobs, ID, &end));
    s_write (ARGOS_JOB_ENDING, "4\nreason exited\nsurvivors 7", 28);
    assert_false (argos_job_file_end (s_jobs, ID, &end));
    s_write (ARGOS_JOB_ENDING, "4\nreason exited\nsurvivors\n", 27);
    assert_true (argos_job_file_end (s_jobs, ID, &end));
    assert_int_equal (end.code, 4);
    s_write (ARGOS_JOB_ENDING, "", 0);
    assert_false (argos_job_file_end (s_jobs, ID, &end));
    memset (long_text, '9', sizeof long_text);
    s_write (ARGOS_JOB_EXIT, long_text, sizeof long_text);
    assert_true (argos_job_file_end (s_jobs, ID, &end));
    assert_int_equal (end.code, 1);
}

//  What is no file is not opened, and does not keep us waiting.

static void
test_no_files (void **state)
{
    (void) state;
    char path[192];
    argos_job_end_t end;
    argos_job_t *job = argos_job_new (ID, NULL, NULL, NULL, NULL);
    static const char *const names[] = { ARGOS_JOB_EXIT, ARGOS_JOB_LOG, ARGOS_JOB_ENDING };
    for (size_t i = 0; i < 3; i++) {
        snprintf (path, sizeof path, "%s/%s", s_path, names[i]);
        assert_int_equal (i ? symlink ("/etc/passwd", path) : mkfifo (path, 0600), 0);
    }
    assert_false (argos_job_file_end (s_jobs, ID, &end));
    assert_true (argos_job_file_run (s_jobs, job)); //  It keeps others from the job
    assert_int_equal (job->keeper.pid, 0);
    s_assert_output (0, 100, "", 0);
    s_write (ARGOS_JOB_INPUT, "", 0);
    assert_true (argos_job_file_write (s_jobs, ID, "x", 1) < 0);
    argos_job_destroy (&job);
}

//  Who writes a log, as it says

static void
s_assert_keeper (uint64_t pid, const char *boot, int expected)
{
    argos_job_t *job = argos_job_new (ID, NULL, NULL, NULL, NULL);
    argos_job_log_t log = { .size = 16, .head = 4, .pid = pid, .start = 1 };
    memcpy (log.magic, ARGOS_JOB_LOG_MAGIC, sizeof log.magic);
    memset (log.boot, 'x', sizeof log.boot);
    if (boot)
        snprintf (log.boot, sizeof log.boot, "%s", boot);
    s_write (ARGOS_JOB_LOG, &log, sizeof log);
    assert_true (argos_job_file_run (s_jobs, job));
    assert_int_equal (job->keeper.pid, expected);
    assert_int_equal (argos_job_file_pidfd (&job->keeper), -1);
    argos_job_destroy (&job);
}

static void
test_processes (void **state)
{
    (void) state;
    char boot[ARGOS_JOB_BOOT_SIZE];
    argos_job_t *job = argos_job_new (ID, NULL, NULL, NULL, NULL);
    argos_job_file_boot (boot);
    assert_false (argos_job_file_run (s_jobs, job)); //  There is none
    s_assert_keeper (0, boot, 0);
    s_assert_keeper (1, boot, 1);
    s_assert_keeper ((uint64_t) getpid (), boot, getpid ()); //  Not as old as we are
    s_assert_keeper ((uint64_t) getpid (), "another", 0);
    s_assert_keeper ((uint64_t) getpid (), NULL, 0);
    s_assert_keeper (UINT64_MAX, boot, 0);
    s_assert_keeper (1ULL << 32, boot, 0);
    s_write (ARGOS_JOB_LOG, "", 0);
    assert_true (argos_job_file_run (s_jobs, job));
    assert_int_equal (job->keeper.pid, 0);
    //  Ourselves, but not as old as we are
    argos_job_pid_t process = { .pid = getpid (), .start = 1 };
    assert_int_equal (argos_job_file_pidfd (&process), -1);
    assert_int_equal (argos_job_file_sweep (&(argos_job_pid_t){ .pid = 0 }), 0);
    argos_job_destroy (&job);
}

static void
test_starts (void **state)
{
    (void) state;
    argos_job_t *job = argos_job_new (ID, NULL, NULL, NULL, NULL);
    argos_job_start_t start = { .program = "/nowhere/argos-job",
        .jobs = s_jobs,
        .command = "true",
        .workdir = "/",
        .input = "none",
        .runtime_ms = 1000,
        .grace_ms = 1000,
        .output_max = ARGOS_JOB_OUTPUT_MIN };
    assert_int_not_equal (argos_job_file_start (job, &start), 0);
    assert_int_equal (job->pidfd, -1);
    start.jobs = "/proc/nowhere";
    assert_int_not_equal (argos_job_file_start (job, &start), 0);
    argos_job_destroy (&job);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, s_setup, s_teardown)

int
main (void)
{
    const struct CMUnitTest tests[] = { TEST (test_logs), TEST (test_ends), TEST (test_no_files),
        TEST (test_processes), TEST (test_starts) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
