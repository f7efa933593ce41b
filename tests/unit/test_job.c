//  test_job - the row of a job, the table of jobs, the two tools and the words. Pure.
//
//  Which test stands for which line of the specification (D.9 of jobs, C.9 of processes); those
//  that need a process are in tests/system/test_jobs.py and test_job_program.py:
//
//      D.9   1 kill of a running job          test_killed
//            2 unknown id                     test_unknown
//            3 kill of one that is done       test_killed_after_the_end
//            4 text of a killed one           test_result_texts
//            5-9, 11-14 the tool              test_tool_arguments, test_tool_list, test_scope
//            26 exit files                    test_exit_records
//            27, 28 timed out, died           test_timed_out, test_died
//            29 twice                         test_ends_once
//            30 what goes and what stays      test_retention
//            31 damaged store                 test_damaged_records
//            32 long output                   test_middle_cut
//            33 get, list of a session        test_scope
//            34 result texts                  test_result_texts
//            35 pending                       test_pending
//      C.9   1-3 fetch                        test_unknown, test_scope
//            9 an end stays                   test_ends_once
//            13-15 log                        test_log
//            20-23 list                       test_process_list
//            27-29 pruning                    test_retention, test_room
//            51-55 formats                    test_process_words
//            62, 63, 71-73, 75 notify         test_record
//            69 the last 2,000 characters     test_process_words
//            76-77, 83-85, 115-117 arguments  test_launch, test_launched
//            121-126 notices                  test_notices

#include "argos_jobs_tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUN_1 "run_11111111111111111111111111111111"

static argos_jobs_t s_table;

static int
s_setup (void **state)
{
    (void) state;
    s_table = (argos_jobs_t){ .limits = { .tracked = 64,
                                  .per_session = 32,
                                  .per_owner = 48,
                                  .rounds = 12,
                                  .keep_ms = 1800000 } };
    return 0;
}

static int
s_teardown (void **state)
{
    (void) state;
    argos_jobs_clear (&s_table);
    return 0;
}

static argos_job_t *
s_add (const char *id, const char *session, const char *owner)
{
    argos_job_t *job = argos_job_new (id, session, owner, NULL, "make all");
    job->started = true;
    job->started_at = 1000;
    argos_jobs_add (&s_table, job);
    return job;
}

static void
s_end (argos_job_t *job, const char *record, int64_t now)
{
    argos_job_end_t end;
    argos_job_end_read (record, &end);
    argos_job_finish (job, &end, now);
}

static void
s_assert_has (char *text, const char *part)
{
    if (!strstr (text, part))
        fail_msg ("no \"%s\" in \"%s\"", part, text);
    free (text);
}

static const char *
s_output (const json_t *result)
{
    return json_string_value (json_object_get (result, "output"));
}

static void
s_assert_output (json_t *result, const char *part)
{
    assert_non_null (s_output (result));
    if (!strstr (s_output (result), part))
        fail_msg ("no \"%s\" in \"%s\"", part, s_output (result));
    assert_true (json_is_null (json_object_get (result, "error")));
    assert_int_equal (json_integer_value (json_object_get (result, "exit_code")), 0);
    json_decref (result);
}

static char *
s_no_output (void *arg, const argos_job_t *job)
{
    (void) arg;
    (void) job;
    return strdup ("the last words");
}

//  ------------------------------------------------------------------------------------------------
//  The row

static void
test_killed (void **state)
{
    (void) state;
    argos_job_t *job = s_add ("aaaaaaaaaaaa", "s", "");
    job->killing = true;
    s_end (job, "143\nreason killed\nsignal 15\nended 5000\n", 9000);
    assert_int_equal (job->status, ARGOS_JOB_FAILED);
    assert_true (job->killed);
    assert_int_equal (job->exit_code, -1);
    assert_true (job->followed_up);
    assert_int_equal (job->ended_at, 5000);
}

static void
test_killed_after_the_end (void **state)
{
    (void) state;
    argos_job_t *job = s_add ("aaaaaaaaaaaa", "s", "");
    s_end (job, "0\nreason exited\n", 9000);
    assert_int_equal (job->status, ARGOS_JOB_DONE);
    json_t *result = argos_jobs_tool_killed (job, true);
    s_assert_output (result, "Job `aaaaaaaaaaaa` already done (exit 0); nothing to kill.");
    //  It ended by itself while somebody asked for its end: that is told
    argos_job_t *other = s_add ("bbbbbbbbbbbb", "s", "");
    other->killing = true;
    s_end (other, "0\nreason exited\n", 9000);
    assert_int_equal (other->status, ARGOS_JOB_DONE);
    assert_false (other->killed);
    assert_false (other->followed_up);
}

static void
test_exit_records (void **state)
{
    (void) state;
    static const struct {
        const char *record; //  Of argos-job
        int code, status;   //  What it means
    } cases[] = { { "0\nreason exited\n", 0, ARGOS_JOB_DONE },
        { "3\nreason exited\n", 3, ARGOS_JOB_FAILED }, { "0", 0, ARGOS_JOB_DONE },
        { "", 1, ARGOS_JOB_FAILED }, { "\n", 1, ARGOS_JOB_FAILED },
        { "text\n", 1, ARGOS_JOB_FAILED }, { "12x\n", 1, ARGOS_JOB_FAILED },
        { "99999999999\n", 1, ARGOS_JOB_FAILED }, { "-7\n", 1, ARGOS_JOB_FAILED },
        { "0\nreason exited\nsignal 4000\nended x\nleft -3\nsurvivors a b\n", 0, ARGOS_JOB_DONE },
        { "137\nreason exited\nsignal 9\n", 137, ARGOS_JOB_FAILED } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        argos_job_t *job = argos_job_new ("aaaaaaaaaaaa", "s", "", NULL, "x");
        s_end (job, cases[i].record, 9000);
        assert_int_equal (job->exit_code, cases[i].code);
        assert_int_equal ((int) job->status, cases[i].status);
        assert_int_equal (job->ended_at, 9000);
        argos_job_destroy (&job);
        argos_job_destroy (&job);
    }
}

static void
test_timed_out (void **state)
{
    (void) state;
    argos_job_t *job = s_add ("aaaaaaaaaaaa", "s", "");
    s_end (job, "143\nreason timed_out\nsignal 15\n", 9000);
    assert_true (job->timed_out && job->status == ARGOS_JOB_FAILED && job->exit_code == -1);
    assert_true (argos_job_pending (job));
}

static void
test_died (void **state)
{
    (void) state;
    argos_job_t *job = s_add ("aaaaaaaaaaaa", "s", "");
    assert_true (argos_job_lose (job, true, 9000));
    assert_true (job->died && job->status == ARGOS_JOB_FAILED && job->exit_code == -1);
    assert_true (argos_job_pending (job));
    argos_job_t *other = s_add ("bbbbbbbbbbbb", "s", "");
    assert_true (argos_job_lose (other, false, 9000));
    assert_false (other->died || other->started);
    argos_job_t *killed = s_add ("cccccccccccc", "s", "");
    killed->killing = true;
    assert_true (argos_job_lose (killed, true, 9000));
    assert_true (killed->killed && !killed->died && killed->followed_up);
}

static void
test_ends_once (void **state)
{
    (void) state;
    argos_job_t *job = s_add ("aaaaaaaaaaaa", "s", "");
    s_end (job, "7\nreason exited\n", 9000);
    argos_job_end_t end;
    argos_job_end_read ("0\n", &end);
    assert_false (argos_job_finish (job, &end, 9900));
    assert_false (argos_job_lose (job, true, 9900));
    assert_int_equal (job->exit_code, 7);
    assert_int_equal (job->ended_at, 9000);
}

static void
test_pending (void **state)
{
    (void) state;
    argos_job_t *running = s_add ("aaaaaaaaaaaa", "s", ""), *done = s_add ("bbbbbbbbbbbb", "s", "");
    argos_job_t *nobody = s_add ("cccccccccccc", "", ""), *seen = s_add ("dddddddddddd", "s", "");
    seen->seen = true;
    s_end (done, "0\n", 9000);
    s_end (nobody, "0\n", 9000);
    s_end (seen, "1\n", 9000);
    assert_false (argos_job_pending (running));
    assert_true (argos_job_pending (done));
    assert_false (argos_job_pending (nobody));
    assert_false (argos_job_pending (seen));
    done->followed_up = true;
    assert_false (argos_job_pending (done));
}

static void
test_record (void **state)
{
    (void) state;
    argos_job_t *job = argos_job_new ("0123456789ab", "s", "api", RUN_1, "echo ä");
    job->started_at = 5;
    job->notify = false;
    job->process = job->input = job->patterns = true;
    job->round = 3;
    s_end (job, "9\nreason exited\nsignal 1\nleft 2\nsurvivors 11 12\n", 9);
    job->total = 100;
    job->dropped = 40;
    json_t *value = argos_job_record (job);
    argos_job_t *copy = argos_job_load (value);
    json_t *again = argos_job_record (copy);
    assert_true (json_equal (value, again));
    assert_false (copy->notify);
    assert_int_equal (copy->survivors[1], 12);
    //  One of before, without the member
    json_object_del (value, "notify");
    argos_job_t *old = argos_job_load (value);
    assert_false (old->notify);
    argos_job_destroy (&old);
    argos_job_destroy (&copy);
    argos_job_destroy (&job);
    json_decref (value);
    json_decref (again);
}

static void
test_damaged_records (void **state)
{
    (void) state;
    static const char *const cases[] = { "null", "[]", "7", "{}", "{\"id\":\"x\"}",
        "{\"id\":\"0123456789ab\"}", "{\"id\":7,\"status\":\"done\"}" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = json_loads (cases[i], JSON_DECODE_ANY, NULL);
        assert_null (argos_job_load (value));
        json_decref (value);
    }
    json_t *value = json_loads (
        "{\"id\":\"0123456789ab\",\"status\":\"later\",\"survivors\":7,\"command\":[]}", 0, NULL);
    argos_job_t *job = argos_job_load (value);
    assert_non_null (job);
    assert_string_equal (job->command, "");
    argos_job_destroy (&job);
    json_decref (value);
}

static void
test_problems (void **state)
{
    (void) state;
    static const struct {
        const char *body; //  job.start
        const char *word; //  Of what is said, NULL = nothing
    } cases[] = { { "{\"command\":\"true\"}", NULL }, { "{}", "missing" },
        { "{\"command\":\"\"}", "missing" }, { "{\"command\":\" \\t\\n\"}", "missing" },
        { "{\"command\":7}", "missing" }, { "{\"command\":\"a\\u0000b\"}", "NUL" },
        { "{\"command\":\"x\",\"max_runtime_s\":0}", "range" },
        { "{\"command\":\"x\",\"max_runtime_s\":604801}", "range" },
        { "{\"command\":\"x\",\"max_runtime_s\":\"1\"}", "range" },
        { "{\"command\":\"x\",\"workdir\":7}", "path" },
        { "{\"command\":\"x\",\"watch_patterns\":\"E\"}", "list" },
        { "{\"command\":\"x\",\"watch_patterns\":[\"\"]}", "pattern" },
        { "{\"command\":\"x\",\"watch_patterns\":[7]}", "pattern" },
        { "{\"command\":\"x\",\"watch_patterns\":[\"E\"]}", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *body = json_loads (cases[i].body, JSON_ALLOW_NUL, NULL);
        const char *problem = argos_job_problem (body);
        if (cases[i].word)
            assert_non_null (problem);
        if (cases[i].word && !strstr (problem, cases[i].word))
            fail_msg ("%s: %s", cases[i].body, problem);
        if (!cases[i].word)
            assert_null (problem);
        json_decref (body);
    }
    char *longest = calloc (1, ARGOS_JOB_COMMAND_MAX + 2);
    memset (longest, 'x', ARGOS_JOB_COMMAND_MAX + 1);
    json_t *body = json_pack ("{s:s}", "command", longest);
    assert_non_null (strstr (argos_job_problem (body), "too long"));
    longest[ARGOS_JOB_COMMAND_MAX] = 0;
    json_object_set_new (body, "command", json_string (longest));
    assert_null (argos_job_problem (body));
    json_decref (body);
    free (longest);
}

//  ------------------------------------------------------------------------------------------------
//  The table

static void
test_unknown (void **state)
{
    (void) state;
    assert_null (argos_jobs_find (&s_table, "aaaaaaaaaaaa", NULL, NULL));
    assert_null (argos_jobs_find (&s_table, "", NULL, NULL));
    assert_null (argos_jobs_find (&s_table, "../../etc", NULL, NULL));
}

static void
test_scope (void **state)
{
    (void) state;
    argos_job_t *a = s_add ("aaaa00000000", "sess-a", "ann");
    argos_job_t *b = s_add ("bbbb00000000", "sess-b", "bob");
    s_add ("cccc00000000", "", "");
    assert_ptr_equal (argos_jobs_find (&s_table, a->id, "sess-a", NULL), a);
    assert_ptr_equal (argos_jobs_find (&s_table, "proc_aaaa00000000", "sess-a", NULL), a);
    assert_ptr_equal (argos_jobs_find (&s_table, "bbbb", NULL, NULL), b);
    assert_null (argos_jobs_find (&s_table, "bbb", NULL, NULL));
    assert_null (argos_jobs_find (&s_table, "bbbb", "sess-a", NULL));
    assert_null (argos_jobs_find (&s_table, b->id, "sess-a", NULL));
    assert_null (argos_jobs_find (&s_table, b->id, NULL, "ann"));
    assert_ptr_equal (argos_jobs_find (&s_table, b->id, NULL, "bob"), b);
    //  Nobody's is nobody's: not that of an empty name
    assert_null (argos_jobs_find (&s_table, "cccc00000000", "", NULL));
    assert_null (argos_jobs_find (&s_table, "cccc00000000", NULL, ""));
    //  A beginning of two
    s_add ("aaaa11111111", "sess-a", "ann");
    assert_null (argos_jobs_find (&s_table, "aaaa", NULL, NULL));
    json_t *unknown = argos_jobs_tool_unknown (ARGOS_JOBS_MANAGE, b->id);
    assert_non_null (strstr (json_string_value (json_object_get (unknown, "error")),
        "There is no background job `bbbb00000000` in this chat."));
    json_decref (unknown);
    unknown = argos_jobs_tool_unknown (ARGOS_JOBS_PROCESS, "x");
    assert_non_null (strstr (s_output (unknown), "\"status\":\"not_found\""));
    json_decref (unknown);
}

static void
test_room (void **state)
{
    (void) state;
    argos_job_t *drop;
    s_table.limits = (argos_jobs_limits_t){
        .tracked = 4, .per_session = 2, .per_owner = 3, .rounds = 12, .keep_ms = 1000
    };
    argos_job_t *first = s_add ("aaaaaaaaaaaa", "s", "o");
    argos_job_t *second = s_add ("bbbbbbbbbbbb", "s", "o");
    assert_non_null (strstr (argos_jobs_room (&s_table, "s", "o", 0, &drop), "chat"));
    assert_null (argos_jobs_room (&s_table, "t", "o", 0, &drop));
    s_add ("cccccccccccc", "t", "o");
    assert_non_null (strstr (argos_jobs_room (&s_table, "u", "o", 0, &drop), "owner"));
    s_add ("dddddddddddd", "u", "p");
    assert_non_null (argos_jobs_room (&s_table, "v", "q", 0, &drop));
    //  One whose end is not told yet stays as well
    s_end (second, "0\n", 3000);
    assert_non_null (argos_jobs_room (&s_table, "v", "q", 3000, &drop));
    second->followed_up = true;
    assert_null (argos_jobs_room (&s_table, "v", "q", 3000, &drop));
    assert_ptr_equal (drop, second);
    //  The oldest end goes first
    s_end (first, "0\n", 2500);
    first->followed_up = true;
    assert_null (argos_jobs_room (&s_table, "v", "q", 3000, &drop));
    assert_ptr_equal (drop, first);
}

static void
test_retention (void **state)
{
    (void) state;
    argos_job_t *told = s_add ("aaaaaaaaaaaa", "s", ""), *waits = s_add ("bbbbbbbbbbbb", "s", "");
    s_add ("cccccccccccc", "s", "");
    s_end (told, "0\n", 10000000);
    s_end (waits, "0\n", 10000000);
    told->followed_up = true;
    assert_int_equal (argos_jobs_due (&s_table), 11800000);
    assert_null (argos_jobs_expired (&s_table, 11799999));
    assert_ptr_equal (argos_jobs_expired (&s_table, 11800000), told);
    argos_jobs_remove (&s_table, &told);
    assert_null (told);
    assert_null (argos_jobs_expired (&s_table, INT64_MAX));
    assert_int_equal (argos_jobs_due (&s_table), -1);
    assert_int_equal (s_table.count, 2);
}

static void
test_tellings (void **state)
{
    (void) state;
    argos_job_t *list[2], *jobs[4];
    static const char *const ids[] = { "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc",
        "dddddddddddd" };
    static const int64_t ends[] = { 400, 300, 200, 100 };
    for (size_t i = 0; i < 4; i++) {
        jobs[i] = s_add (ids[i], i == 3 ? "t" : "s", "");
        s_end (jobs[i], "0\n", ends[i]);
    }
    assert_int_equal (argos_jobs_to_tell (&s_table, "s", list, 2), 2);
    assert_ptr_equal (list[0], jobs[2]);
    assert_ptr_equal (list[1], jobs[1]);
    //  One telling at a time
    free (jobs[2]->followup);
    jobs[2]->followup = strdup (RUN_1);
    assert_true (argos_jobs_telling (&s_table, RUN_1));
    assert_int_equal (argos_jobs_to_tell (&s_table, "s", list, 2), 0);
    assert_int_equal (argos_jobs_to_tell (&s_table, "t", list, 2), 1);
    jobs[2]->followed_up = true;
    assert_false (argos_jobs_telling (&s_table, RUN_1));
    assert_int_equal (argos_jobs_to_tell (&s_table, "s", list, 2), 2);
    jobs[3]->notify = false;
    assert_int_equal (argos_jobs_to_tell (&s_table, "t", list, 2), 0);
    //  A job that the telling leads to is one round further
    jobs[2]->round = 4;
    assert_int_equal (argos_jobs_round (&s_table, RUN_1), 5);
    assert_int_equal (argos_jobs_round (&s_table, "run_2"), 1);
    assert_int_equal (argos_jobs_round (&s_table, ""), 1);
}

//  ------------------------------------------------------------------------------------------------
//  Words

static void
test_labels_and_ages (void **state)
{
    (void) state;
    char text[32];
    argos_job_t *job = s_add ("aaaaaaaaaaaa", "s", "");
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
    s_end (job, "4\n", 9000);
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
    argos_job_t *job = s_add ("aaaaaaaaaaaa", "s", "");
    s_end (job, "3\n", 9000);
    s_assert_has (argos_job_result_text (job, "make", ""), "(no output)");
    s_assert_has (argos_job_result_text (job, "make", "x"),
        "The job finished with exit code 3.\nCommand: make\nOutput:\nx");
    job->died = true;
    s_assert_has (argos_job_result_text (job, "make", "x"), "died unexpectedly");
    job->timed_out = true;
    s_assert_has (argos_job_result_text (job, "make", "x"), "timed out after 3600 s");
    job->killed = true;
    s_assert_has (argos_job_result_text (job, "make", "x"), "killed");
    s_assert_has (
        argos_job_followup_text (job, "make", "x", 1), "[Background job aaaaaaaaaaaa finished]\n");
    s_assert_has (argos_job_followup_text (job, "make", "x", 1), "without repeating");
}

static void
test_process_words (void **state)
{
    (void) state;
    char output[2102], *text;
    argos_job_t *job = s_add ("aaaaaaaaaaaa", "s", "");
    job->process = true;
    s_end (job, "0\n", 9000);
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
    s_assert_has (argos_job_followup_text (job, "m", "", 1), "exited (exit code 137, SIGKILL)");
    job->timed_out = true;
    s_assert_has (argos_job_followup_text (job, "m", "", 1), "terminated by its time limit");
    argos_job_t *running = s_add ("bbbbbbbbbbbb", "s", "");
    running->process = true;
    s_assert_has (argos_job_notice_text (running, "12 %"), "is still running");
    job->timed_out = false;
    s_assert_has (argos_job_notice_text (job, "bad"), "finished with exit code 137");
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
    free (text);
    cut = argos_job_clean ("a\xFF\x1b[31mb\0c", 10);
    assert_string_equal (cut, "a\xEF\xBF\xBD"
                              "bc");
    free (cut);
}

//  ------------------------------------------------------------------------------------------------
//  The tools

static void
test_tool_arguments (void **state)
{
    (void) state;
    static const struct {
        argos_jobs_view_t view; //  Tool
        const char *arguments;  //  As the model writes them
        argos_jobs_op_t op;     //  What is meant
    } cases[] = { { ARGOS_JOBS_MANAGE, "{}", ARGOS_JOBS_LIST },
        { ARGOS_JOBS_MANAGE, "{\"action\":\"jobs\"}", ARGOS_JOBS_LIST },
        { ARGOS_JOBS_MANAGE, "{\"action\":\"ls\"}", ARGOS_JOBS_LIST },
        { ARGOS_JOBS_MANAGE, "{\"action\":\"read\"}", ARGOS_JOBS_OUTPUT },
        { ARGOS_JOBS_MANAGE, "{\"action\":\"status\"}", ARGOS_JOBS_OUTPUT },
        { ARGOS_JOBS_MANAGE, "{\"action\":\"tail\"}", ARGOS_JOBS_OUTPUT },
        { ARGOS_JOBS_MANAGE, "{\"action\":\"Stop\"}", ARGOS_JOBS_KILL },
        { ARGOS_JOBS_MANAGE, "{\"action\":\"terminate\"}", ARGOS_JOBS_KILL },
        { ARGOS_JOBS_MANAGE, "{\"action\":\"frobnicate\"}", ARGOS_JOBS_UNKNOWN },
        { ARGOS_JOBS_MANAGE, "{\"action\":\"submit\"}", ARGOS_JOBS_UNKNOWN },
        { ARGOS_JOBS_MANAGE, "{\"action\":7}", ARGOS_JOBS_UNKNOWN },
        { ARGOS_JOBS_MANAGE, "[]", ARGOS_JOBS_LIST },
        { ARGOS_JOBS_PROCESS, "{\"action\":\"poll\"}", ARGOS_JOBS_POLL },
        { ARGOS_JOBS_PROCESS, "{\"action\":\"submit\"}", ARGOS_JOBS_SUBMIT },
        { ARGOS_JOBS_PROCESS, "{\"action\":\"frobnicate\"}", ARGOS_JOBS_UNKNOWN } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *arguments = json_loads (cases[i].arguments, 0, NULL);
        assert_int_equal (argos_jobs_tool_op (cases[i].view, arguments), cases[i].op);
        json_decref (arguments);
    }
    char id[65];
    json_t *arguments = json_loads ("{\"session_id\":4321,\"job_id\":\"\"}", 0, NULL);
    assert_string_equal (argos_jobs_tool_id (ARGOS_JOBS_PROCESS, arguments, id), "4321");
    assert_null (argos_jobs_tool_id (ARGOS_JOBS_MANAGE, arguments, id));
    json_decref (arguments);
    bool cut;
    arguments = json_loads ("{\"timeout\":1000}", 0, NULL);
    assert_int_equal (argos_jobs_tool_wait (arguments, &cut), 180000);
    assert_true (cut);
    json_object_set_new (arguments, "timeout", json_integer (0));
    assert_int_equal (argos_jobs_tool_wait (arguments, &cut), -1);
    json_object_set_new (arguments, "timeout", json_string ("x"));
    assert_int_equal (argos_jobs_tool_wait (arguments, &cut), -1);
    json_decref (arguments);
}

static void
test_tool_list (void **state)
{
    (void) state;
    s_assert_output (argos_jobs_tool_list (ARGOS_JOBS_MANAGE, &s_table, "sess-a", 0, NULL, NULL),
        "No background jobs in this chat.");
    argos_job_t *first = s_add ("aaaa00000000", "sess-a", "");
    s_add ("bbbb00000000", "sess-b", "");
    free (first->command);
    first->command = strdup ("");
    s_add ("aaaa11111111", "sess-a", "");
    json_t *result =
        argos_jobs_tool_list (ARGOS_JOBS_MANAGE, &s_table, "sess-a", 61000, NULL, NULL);
    assert_string_equal (s_output (result),
        "2 background job(s):\n[aaaa11111111] running | 1m | make all\n"
        "[aaaa00000000] running | 1m | ");
    json_decref (result);
}

static void
test_tool_output (void **state)
{
    (void) state;
    argos_job_t *job = s_add ("aaaa00000000", "sess-a", "");
    s_assert_output (argos_jobs_tool_output (job, "make", "hello from the job", 2000),
        "Job `aaaa00000000` [running, 1s]\nCommand: make\nOutput so far:\nhello from the job");
    s_assert_output (argos_jobs_tool_output (job, "make", "", 2000), "(no output yet)");
    job->killing = true;
    s_end (job, "143\nreason killed\n", 9000);
    s_assert_output (argos_jobs_tool_killed (job, false), "Killed background job `aaaa00000000`");
    job->survivors[0] = 4321;
    json_t *result = argos_jobs_tool_killed (job, false);
    assert_non_null (strstr (
        json_string_value (json_object_get (result, "error")), "Could not verify termination"));
    assert_int_equal (json_integer_value (json_object_get (result, "exit_code")), 1);
    json_decref (result);
}

static json_t *
s_process (json_t *result)
{
    json_t *object = json_loads (s_output (result), 0, NULL);
    assert_non_null (object);
    json_decref (result);
    return object;
}

static void
s_assert_member (json_t *object, const char *name, const char *value)
{
    char *text = json_dumps (json_object_get (object, name), JSON_ENCODE_ANY);
    assert_non_null (text);
    assert_string_equal (text, value);
    free (text);
}

static void
test_process_list (void **state)
{
    (void) state;
    json_t *object =
        s_process (argos_jobs_tool_list (ARGOS_JOBS_PROCESS, &s_table, "t1", 0, s_no_output, NULL));
    assert_int_equal (json_array_size (json_object_get (object, "processes")), 0);
    json_decref (object);
    s_add ("aaaa00000000", "t1", "");
    s_end (s_add ("bbbb00000000", "t1", ""), "7\n", 9000);
    s_add ("cccc00000000", "t2", "");
    object =
        s_process (argos_jobs_tool_list (ARGOS_JOBS_PROCESS, &s_table, "t1", 0, s_no_output, NULL));
    json_t *list = json_object_get (object, "processes");
    assert_int_equal (json_array_size (list), 2);
    s_assert_member (json_array_get (list, 0), "session_id", "\"proc_aaaa00000000\"");
    s_assert_member (json_array_get (list, 0), "status", "\"running\"");
    s_assert_member (json_array_get (list, 0), "output_preview", "\"the last words\"");
    assert_null (json_object_get (json_array_get (list, 0), "exit_code"));
    s_assert_member (json_array_get (list, 1), "status", "\"exited\"");
    s_assert_member (json_array_get (list, 1), "exit_code", "7");
    json_decref (object);
}

static void
test_process_states (void **state)
{
    (void) state;
    argos_job_t *job = s_add ("aaaa00000000", "t1", "");
    json_t *object = s_process (argos_jobs_tool_state (ARGOS_JOBS_POLL, job, "out", false, 3000));
    s_assert_member (object, "status", "\"running\"");
    s_assert_member (object, "output_preview", "\"out\"");
    s_assert_member (object, "uptime_seconds", "2");
    json_decref (object);
    object = s_process (argos_jobs_tool_state (ARGOS_JOBS_WAIT, job, "out", true, 3000));
    s_assert_member (object, "status", "\"timeout\"");
    s_assert_member (object, "process_running", "true");
    json_decref (object);
    job->killing = true;
    s_end (job, "143\nreason killed\n", 9000);
    object = s_process (argos_jobs_tool_state (ARGOS_JOBS_KILL, job, "", false, 3000));
    s_assert_member (object, "status", "\"killed\"");
    s_assert_member (object, "exit_code", "-15");
    json_decref (object);
    object = s_process (argos_jobs_tool_state (ARGOS_JOBS_KILL, job, "", true, 3000));
    s_assert_member (object, "status", "\"already_exited\"");
    json_decref (object);
    object = s_process (argos_jobs_tool_wrote (ARGOS_JOBS_WRITE, 5, 0));
    s_assert_member (object, "bytes_written", "5");
    json_decref (object);
    json_t *result = argos_jobs_tool_wrote (ARGOS_JOBS_WRITE, 0, 6);
    assert_true (json_is_string (json_object_get (result, "error")));
    json_decref (result);
}

static void
test_log (void **state)
{
    (void) state;
    char data[2048];
    size_t size = 0;
    for (int i = 0; i < 100; i++)
        size += (size_t) snprintf (data + size, sizeof data - size, "line %d\n", i);
    argos_job_t *job = s_add ("aaaa00000000", "t1", "");
    static const struct {
        const char *arguments; //  Of the call
        const char *showing;   //  How many
        const char *first;     //  The first line
    } cases[] = { { "{}", "\"100 lines\"", "line 0" },
        { "{\"limit\":10}", "\"10 lines\"", "line 90" },
        { "{\"offset\":10,\"limit\":5}", "\"5 lines\"", "line 10" },
        { "{\"offset\":0,\"limit\":2}", "\"2 lines\"", "line 0" },
        { "{\"offset\":1000}", "\"0 lines\"", "" },
        { "{\"limit\":-1}", "\"1 lines\"", "line 99" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *arguments = json_loads (cases[i].arguments, 0, NULL);
        json_t *object = s_process (argos_jobs_tool_log (job, data, size, arguments));
        s_assert_member (object, "total_lines", "100");
        s_assert_member (object, "showing", cases[i].showing);
        const char *output = json_string_value (json_object_get (object, "output"));
        assert_int_equal (strncmp (output, cases[i].first, strlen (cases[i].first)), 0);
        json_decref (object);
        json_decref (arguments);
    }
}

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
    argos_job_t *run = s_add ("aaaaaaaaaaaa", "s", ""), *zero = s_add ("bbbbbbbbbbbb", "s", "");
    argos_job_t *one = s_add ("cccccccccccc", "s", "");
    s_end (zero, "0\n", 9000);
    s_end (one, "1\n", 9000);
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

//  ------------------------------------------------------------------------------------------------
//  Launching

static void
test_markers (void **state)
{
    (void) state;
    static const struct {
        const char *command; //  As the model writes it
        const char *rest;    //  What runs; NULL = it is not for the background
    } cases[] = { { "#!bg\nmake", "make" }, { "#bg\nmake\nmake install", "make\nmake install" },
        { "# bg\nx", "x" }, { "#background\nx", "x" }, { "# Background\nx", "x" },
        { "@background\nx", "x" }, { "# @background\nx", "x" }, { "\n  \n  #!BG  \r\nx", "x" },
        { "#!bg", "" }, { "#!bgx\nmake", NULL }, { "make #!bg", NULL }, { "make\n#!bg", NULL },
        { "", NULL }, { "\n\n", NULL }, { "#!/bin/sh\nmake", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool marked, unwatched;
        const char *problem;
        json_t *call = json_pack ("{s:s, s:s, s:{s:s}}", "session_id", "s", "run_id", RUN_1,
            "arguments", "command", cases[i].command);
        assert_int_equal (argos_jobs_is_background (json_object_get (call, "arguments"), &marked),
            cases[i].rest != NULL);
        if (cases[i].rest) {
            json_t *body = argos_jobs_launch (call, "/tmp", &unwatched, &problem);
            assert_int_equal (body != NULL, *cases[i].rest != 0);
            if (body)
                s_assert_member (body, "process", "false");
            if (body)
                assert_string_equal (
                    json_string_value (json_object_get (body, "command")), cases[i].rest);
            json_decref (body);
        }
        json_decref (call);
    }
}

static void
test_launch (void **state)
{
    (void) state;
    static const struct {
        const char *arguments; //  Of terminal
        bool notify, watched;  //  What the job gets
        bool unwatched;        //  And what is said
    } cases[] = { { "{\"command\":\"x\",\"background\":true}", true, false, false },
        { "{\"command\":\"x\",\"background\":true,\"notify_on_complete\":true}", true, false,
            false },
        { "{\"command\":\"x\",\"background\":true,\"notify_on_complete\":false}", false, false,
            false },
        { "{\"command\":\"x\",\"background\":true,\"watch_patterns\":[\"E\"]}", false, true,
            false },
        { "{\"command\":\"x\",\"background\":true,\"watch_patterns\":[]}", true, false, false },
        { "{\"command\":\"x\",\"background\":true,\"watch_patterns\":[\"E\"],"
          "\"notify_on_complete\":true}",
            true, false, true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool unwatched;
        const char *problem;
        json_t *arguments = json_loads (cases[i].arguments, 0, NULL);
        json_t *call = json_pack ("{s:s, s:o}", "session_id", "s", "arguments", arguments);
        json_t *body = argos_jobs_launch (call, "/tmp", &unwatched, &problem);
        assert_non_null (body);
        s_assert_member (body, "notify", cases[i].notify ? "true" : "false");
        assert_int_equal (json_object_get (body, "watch_patterns") != NULL, cases[i].watched);
        assert_int_equal (unwatched, cases[i].unwatched);
        s_assert_member (body, "workdir", "\"/tmp\"");
        json_decref (body);
        json_object_del (call, "session_id");
        assert_null (argos_jobs_launch (call, "/tmp", &unwatched, &problem));
        assert_non_null (strstr (problem, "session"));
        json_decref (call);
    }
}

static void
test_launched (void **state)
{
    (void) state;
    argos_job_t *job = s_add ("aaaaaaaaaaaa", "s", "");
    json_t *result = argos_jobs_launched (job, false);
    assert_null (json_object_get (result, "hint"));
    s_assert_member (result, "notify_on_complete", "true");
    s_assert_member (result, "bg_job_id", "\"aaaaaaaaaaaa\"");
    assert_non_null (strstr (s_output (result), "called again"));
    assert_non_null (strstr (s_output (result), "manage_bg_jobs"));
    s_assert_output (result, "`aaaaaaaaaaaa`");
    job->notify = false;
    result = argos_jobs_launched (job, false);
    assert_non_null (
        strstr (json_string_value (json_object_get (result, "hint")), "notify_on_complete"));
    json_decref (result);
    job->patterns = true;
    result = argos_jobs_launched (job, true);
    assert_null (json_object_get (result, "hint"));
    assert_non_null (json_object_get (result, "note"));
    json_decref (result);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, s_setup, s_teardown)

int
main (void)
{
    const struct CMUnitTest tests[] = { TEST (test_killed), TEST (test_killed_after_the_end),
        TEST (test_exit_records), TEST (test_timed_out), TEST (test_died), TEST (test_ends_once),
        TEST (test_pending), TEST (test_record), TEST (test_damaged_records), TEST (test_problems),
        TEST (test_unknown), TEST (test_scope), TEST (test_room), TEST (test_retention),
        TEST (test_tellings), TEST (test_labels_and_ages), TEST (test_result_texts),
        TEST (test_process_words), TEST (test_middle_cut), TEST (test_tool_arguments),
        TEST (test_tool_list), TEST (test_tool_output), TEST (test_process_list),
        TEST (test_process_states), TEST (test_log), TEST (test_notices), TEST (test_markers),
        TEST (test_launch), TEST (test_launched) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
