//  test_job - the row of a job, and the table of jobs: their limits, who is told, what goes. Pure.
//
//  Which test stands for which line of the specification (D.9 of jobs, C.9 of processes); the
//  words are in test_job_text.c, the tools in test_jobs_tool.c, and those that need a process in
//  tests/system/test_jobs.py and test_job_program.py:
//
//      D.9   1 kill of a running job          test_killed
//            2 unknown id                     test_unknown
//            3 kill of one that is done       test_killed_after_the_end
//            11-14 whose job it is            test_scope
//            26 exit files                    test_exit_records
//            27, 28 timed out, died           test_timed_out, test_died
//            29 twice                         test_ends_once
//            30 what goes and what stays      test_retention
//            31 damaged store                 test_damaged_records
//            33 get, list of a session        test_scope
//            35 pending                       test_pending
//      C.9   1-3 fetch                        test_unknown, test_scope
//            9 an end stays                   test_ends_once
//            27-29 pruning                    test_retention, test_room
//            62, 63, 71-73, 75 notify         test_record

#include "job_kit.h"

#include <stdlib.h>
#include <string.h>

//  ------------------------------------------------------------------------------------------------
//  The row

static void
test_killed (void **state)
{
    (void) state;
    argos_job_t *job = kit_add ("aaaaaaaaaaaa", "s", "");
    job->killing = true;
    kit_end (job, "143\nreason killed\nsignal 15\nended 5000\n", 9000);
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
    argos_job_t *job = kit_add ("aaaaaaaaaaaa", "s", "");
    kit_end (job, "0\nreason exited\n", 9000);
    assert_int_equal (job->status, ARGOS_JOB_DONE);
    json_t *result = argos_jobs_tool_killed (job, true);
    kit_assert_output (result, "Job `aaaaaaaaaaaa` already done (exit 0); nothing to kill.");
    //  It ended by itself while somebody asked for its end: that is told
    argos_job_t *other = kit_add ("bbbbbbbbbbbb", "s", "");
    other->killing = true;
    kit_end (other, "0\nreason exited\n", 9000);
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
        kit_end (job, cases[i].record, 9000);
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
    argos_job_t *job = kit_add ("aaaaaaaaaaaa", "s", "");
    kit_end (job, "143\nreason timed_out\nsignal 15\n", 9000);
    assert_true (job->timed_out && job->status == ARGOS_JOB_FAILED && job->exit_code == -1);
    assert_true (argos_job_pending (job));
}

static void
test_died (void **state)
{
    (void) state;
    argos_job_t *job = kit_add ("aaaaaaaaaaaa", "s", "");
    assert_true (argos_job_lose (job, true, 9000));
    assert_true (job->died && job->status == ARGOS_JOB_FAILED && job->exit_code == -1);
    assert_true (argos_job_pending (job));
    argos_job_t *other = kit_add ("bbbbbbbbbbbb", "s", "");
    assert_true (argos_job_lose (other, false, 9000));
    assert_false (other->died || other->started);
    argos_job_t *killed = kit_add ("cccccccccccc", "s", "");
    killed->killing = true;
    assert_true (argos_job_lose (killed, true, 9000));
    assert_true (killed->killed && !killed->died && killed->followed_up);
}

static void
test_ends_once (void **state)
{
    (void) state;
    argos_job_t *job = kit_add ("aaaaaaaaaaaa", "s", "");
    kit_end (job, "7\nreason exited\n", 9000);
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
    argos_job_t *running = kit_add ("aaaaaaaaaaaa", "s", ""),
                *done = kit_add ("bbbbbbbbbbbb", "s", "");
    argos_job_t *nobody = kit_add ("cccccccccccc", "", ""),
                *seen = kit_add ("dddddddddddd", "s", "");
    seen->seen = true;
    kit_end (done, "0\n", 9000);
    kit_end (nobody, "0\n", 9000);
    kit_end (seen, "1\n", 9000);
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
    kit_end (job, "9\nreason exited\nsignal 1\nleft 2\nsurvivors 11 12\n", 9);
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
    assert_null (argos_jobs_find (&kit_table, "aaaaaaaaaaaa", NULL, NULL));
    assert_null (argos_jobs_find (&kit_table, "", NULL, NULL));
    assert_null (argos_jobs_find (&kit_table, "../../etc", NULL, NULL));
}

static void
test_scope (void **state)
{
    (void) state;
    argos_job_t *a = kit_add ("aaaa00000000", "sess-a", "ann");
    argos_job_t *b = kit_add ("bbbb00000000", "sess-b", "bob");
    kit_add ("cccc00000000", "", "");
    assert_ptr_equal (argos_jobs_find (&kit_table, a->id, "sess-a", NULL), a);
    assert_ptr_equal (argos_jobs_find (&kit_table, "proc_aaaa00000000", "sess-a", NULL), a);
    assert_ptr_equal (argos_jobs_find (&kit_table, "bbbb", NULL, NULL), b);
    assert_null (argos_jobs_find (&kit_table, "bbb", NULL, NULL));
    assert_null (argos_jobs_find (&kit_table, "bbbb", "sess-a", NULL));
    assert_null (argos_jobs_find (&kit_table, b->id, "sess-a", NULL));
    assert_null (argos_jobs_find (&kit_table, b->id, NULL, "ann"));
    assert_ptr_equal (argos_jobs_find (&kit_table, b->id, NULL, "bob"), b);
    //  Nobody's is nobody's: not that of an empty name
    assert_null (argos_jobs_find (&kit_table, "cccc00000000", "", NULL));
    assert_null (argos_jobs_find (&kit_table, "cccc00000000", NULL, ""));
    //  A beginning of two
    kit_add ("aaaa11111111", "sess-a", "ann");
    assert_null (argos_jobs_find (&kit_table, "aaaa", NULL, NULL));
    json_t *unknown = argos_jobs_tool_unknown (ARGOS_JOBS_MANAGE, b->id);
    assert_non_null (strstr (json_string_value (json_object_get (unknown, "error")),
        "There is no background job `bbbb00000000` in this chat."));
    json_decref (unknown);
    unknown = argos_jobs_tool_unknown (ARGOS_JOBS_PROCESS, "x");
    assert_non_null (strstr (kit_output (unknown), "\"status\":\"not_found\""));
    json_decref (unknown);
}

static void
test_room (void **state)
{
    (void) state;
    argos_job_t *drop;
    kit_table.limits = (argos_jobs_limits_t){
        .tracked = 4, .per_session = 2, .per_owner = 3, .rounds = 12, .keep_ms = 1000
    };
    argos_job_t *first = kit_add ("aaaaaaaaaaaa", "s", "o");
    argos_job_t *second = kit_add ("bbbbbbbbbbbb", "s", "o");
    assert_non_null (strstr (argos_jobs_room (&kit_table, "s", "o", 0, &drop), "chat"));
    assert_null (argos_jobs_room (&kit_table, "t", "o", 0, &drop));
    kit_add ("cccccccccccc", "t", "o");
    assert_non_null (strstr (argos_jobs_room (&kit_table, "u", "o", 0, &drop), "owner"));
    kit_add ("dddddddddddd", "u", "p");
    assert_non_null (argos_jobs_room (&kit_table, "v", "q", 0, &drop));
    //  One whose end is not told yet stays as well
    kit_end (second, "0\n", 3000);
    assert_non_null (argos_jobs_room (&kit_table, "v", "q", 3000, &drop));
    second->followed_up = true;
    assert_null (argos_jobs_room (&kit_table, "v", "q", 3000, &drop));
    assert_ptr_equal (drop, second);
    //  The oldest end goes first
    kit_end (first, "0\n", 2500);
    first->followed_up = true;
    assert_null (argos_jobs_room (&kit_table, "v", "q", 3000, &drop));
    assert_ptr_equal (drop, first);
}

static void
test_retention (void **state)
{
    (void) state;
    argos_job_t *told = kit_add ("aaaaaaaaaaaa", "s", ""),
                *waits = kit_add ("bbbbbbbbbbbb", "s", "");
    kit_add ("cccccccccccc", "s", "");
    kit_end (told, "0\n", 10000000);
    kit_end (waits, "0\n", 10000000);
    told->followed_up = true;
    assert_int_equal (argos_jobs_due (&kit_table), 11800000);
    assert_null (argos_jobs_expired (&kit_table, 11799999));
    assert_ptr_equal (argos_jobs_expired (&kit_table, 11800000), told);
    argos_jobs_remove (&kit_table, &told);
    assert_null (told);
    assert_null (argos_jobs_expired (&kit_table, INT64_MAX));
    assert_int_equal (argos_jobs_due (&kit_table), -1);
    assert_int_equal (kit_table.count, 2);
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
        jobs[i] = kit_add (ids[i], i == 3 ? "t" : "s", "");
        kit_end (jobs[i], "0\n", ends[i]);
    }
    assert_int_equal (argos_jobs_to_tell (&kit_table, "s", list, 2), 2);
    assert_ptr_equal (list[0], jobs[2]);
    assert_ptr_equal (list[1], jobs[1]);
    //  One telling at a time
    free (jobs[2]->followup);
    jobs[2]->followup = strdup (RUN_1);
    assert_true (argos_jobs_telling (&kit_table, RUN_1));
    assert_int_equal (argos_jobs_to_tell (&kit_table, "s", list, 2), 0);
    assert_int_equal (argos_jobs_to_tell (&kit_table, "t", list, 2), 1);
    jobs[2]->followed_up = true;
    assert_false (argos_jobs_telling (&kit_table, RUN_1));
    assert_int_equal (argos_jobs_to_tell (&kit_table, "s", list, 2), 2);
    jobs[3]->notify = false;
    assert_int_equal (argos_jobs_to_tell (&kit_table, "t", list, 2), 0);
    //  A job that the telling leads to is one round further
    jobs[2]->round = 4;
    assert_int_equal (argos_jobs_round (&kit_table, RUN_1), 5);
    assert_int_equal (argos_jobs_round (&kit_table, "run_2"), 1);
    assert_int_equal (argos_jobs_round (&kit_table, ""), 1);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { KIT_TEST (test_killed),
        KIT_TEST (test_killed_after_the_end), KIT_TEST (test_exit_records),
        KIT_TEST (test_timed_out), KIT_TEST (test_died), KIT_TEST (test_ends_once),
        KIT_TEST (test_pending), KIT_TEST (test_record), KIT_TEST (test_damaged_records),
        KIT_TEST (test_problems), KIT_TEST (test_unknown), KIT_TEST (test_scope),
        KIT_TEST (test_room), KIT_TEST (test_retention), KIT_TEST (test_tellings) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
