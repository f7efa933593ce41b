//  test_job_text - the words about jobs: results, follow-ups, notices, ages, and cuts. Pure.
//
//  Lines of the specification (D.9 of jobs, C.9 of processes):
//
//      D.9   4 text of a killed one           test_result_texts
//            32 long output                   test_middle_cut
//            34 result texts                  test_result_texts
//      C.9   51-55 formats                    test_process_words
//            69 the last 2,000 characters     test_process_words
//            121-126 notices                  test_notices

#include "job_kit.h"

#include <stdlib.h>
#include <string.h>

//  ------------------------------------------------------------------------------------------------
//  Words

static void
test_labels_and_ages (void **state)
{
    (void) state;
    char text[32];
    argos_job_t *job = kit_add ("aaaaaaaaaaaa", "s", "");
    static const struct {
        int64_t start, now; //  Times
        const char *age;    //  As it reads
    } ages[] = { { 1000, 1999, "0s" }, { 1000, 60999, "59s" }, { 1000, 61000, "1m" },
        { 1000, 3600999, "59m" }, { 1000, 3601000, "1h0m" }, { 1000, 9000000, "2h29m" },
        { 0, 9000, "?" }, { 9000, 1000, "0s" } };
    for (size_t i = 0; i < sizeof ages / sizeof *ages; i++) {
        job->started_at = ages[i].start;
        argos_job_age (job, ages[i].now, text);
        assert_string_equal (text, ages[i].age);
    }
    argos_job_label (job, text);
    assert_string_equal (text, "running");
    kit_end (job, "4\n", 9000);
    argos_job_label (job, text);
    assert_string_equal (text, "failed (exit 4)");
    job->died = true;
    argos_job_label (job, text);
    assert_string_equal (text, "died");
    job->timed_out = true;
    argos_job_label (job, text);
    assert_string_equal (text, "timed out");
    job->killed = true;
    argos_job_label (job, text);
    assert_string_equal (text, "killed");
}

static void
test_result_texts (void **state)
{
    (void) state;
    argos_job_t *job = kit_add ("aaaaaaaaaaaa", "s", "");
    kit_end (job, "3\n", 9000);
    kit_assert_has (argos_job_result_text (job, "make", ""), "(no output)");
    kit_assert_has (argos_job_result_text (job, "make", "x"),
        "The job finished with exit code 3.\nCommand: make\nOutput:\nx");
    job->died = true;
    kit_assert_has (argos_job_result_text (job, "make", "x"), "died unexpectedly");
    job->timed_out = true;
    kit_assert_has (argos_job_result_text (job, "make", "x"), "timed out after 3600 s");
    job->killed = true;
    kit_assert_has (argos_job_result_text (job, "make", "x"), "killed");
    kit_assert_has (
        argos_job_followup_text (job, "make", "x", 1), "[Background job aaaaaaaaaaaa finished]\n");
    kit_assert_has (argos_job_followup_text (job, "make", "x", 1), "without repeating");
}

static void
test_process_words (void **state)
{
    (void) state;
    char output[2102], *text;
    argos_job_t *job = kit_add ("aaaaaaaaaaaa", "s", "");
    job->process = true;
    kit_end (job, "0\n", 9000);
    text = argos_job_followup_text (job, "make", "all good", 1);
    assert_string_equal (text, "[IMPORTANT: Background process proc_aaaaaaaaaaaa completed "
                               "normally (exit code 0).\nCommand: make\nOutput:\nall good]");
    free (text);
    memset (output, 'x', sizeof output);
    output[100] = 'y';
    output[101] = 'z';
    output[2101] = 0;
    text = argos_job_followup_text (job, "make", output, 1);
    assert_int_equal (strlen (strstr (text, "Output:\n") + 8), 2001);
    assert_non_null (strstr (text, "Output:\nzx"));
    free (text);
    job->exit_code = 137;
    job->number = 9;
    kit_assert_has (argos_job_followup_text (job, "m", "", 1), "exited (exit code 137, SIGKILL)");
    job->timed_out = true;
    kit_assert_has (argos_job_followup_text (job, "m", "", 1), "terminated by its time limit");
    argos_job_t *running = kit_add ("bbbbbbbbbbbb", "s", "");
    running->process = true;
    kit_assert_has (argos_job_notice_text (running, "12 %"), "is still running");
    job->timed_out = false;
    kit_assert_has (argos_job_notice_text (job, "bad"), "finished with exit code 137");
}

static void
test_middle_cut (void **state)
{
    (void) state;
    char *text = calloc (1, 40001), *cut;
    memset (text, 'a', 10000);
    memset (text + 10000, 'b', 10000);
    cut = argos_job_middle_cut (text, 16000);
    assert_int_equal (strspn (cut, "a"), 8000);
    assert_non_null (strstr (cut, "\n…[truncated]…\n"));
    assert_int_equal (strlen (strrchr (cut, '\n') + 1), 8000);
    free (cut);
    text[16000] = 0;
    cut = argos_job_middle_cut (text, 16000);
    assert_string_equal (cut, text);
    free (cut);
    for (size_t i = 0; i < 20000; i++)
        memcpy (text + 2 * i, "ä", 2);
    cut = argos_job_middle_cut (text, 4);
    assert_string_equal (cut, "ää\n…[truncated]…\nää");
    free (cut);
    cut = argos_job_middle_fit (text, 16000, 30000);
    assert_in_range (strlen (cut), 14000, 30000);
    free (cut);
    cut = argos_job_middle_fit (text, 16000, 40000);
    assert_int_equal (strlen (cut), 32000 + strlen ("\n…[truncated]…\n"));
    free (cut);
    free (text);
    cut = argos_job_clean ("a\xFF\x1b[31mb\0c", 10);
    assert_string_equal (cut, "a\xEF\xBF\xBD"
                              "bc");
    free (cut);
}

//  ------------------------------------------------------------------------------------------------
//  Notices

static void
test_notices (void **state)
{
    (void) state;
    static const struct {
        const char *setting; //  JSON
        bool run, zero, one; //  Told that it runs, of exit 0, of exit 1
    } cases[] = { { "\"all\"", true, true, true }, { "\"result\"", false, true, true },
        { "\"error\"", false, false, true }, { "\"off\"", false, false, false },
        { "false", false, false, false }, { "true", true, true, true },
        { "\"whatever\"", true, true, true }, { "\"ERROR\"", false, false, true } };
    argos_job_t *run = kit_add ("aaaaaaaaaaaa", "s", ""), *zero = kit_add ("bbbbbbbbbbbb", "s", "");
    argos_job_t *one = kit_add ("cccccccccccc", "s", "");
    kit_end (zero, "0\n", 9000);
    kit_end (one, "1\n", 9000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *setting = json_loads (cases[i].setting, JSON_DECODE_ANY, NULL);
        argos_jobs_notices_t mode = argos_jobs_notices (setting);
        assert_int_equal (argos_jobs_notices_tell (mode, run), cases[i].run);
        assert_int_equal (argos_jobs_notices_tell (mode, zero), cases[i].zero);
        assert_int_equal (argos_jobs_notices_tell (mode, one), cases[i].one);
        json_decref (setting);
    }
    assert_int_equal (argos_jobs_notices (NULL), ARGOS_JOBS_NOTICES_ALL);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { KIT_TEST (test_labels_and_ages),
        KIT_TEST (test_result_texts), KIT_TEST (test_process_words), KIT_TEST (test_middle_cut),
        KIT_TEST (test_notices) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
