//  test_jobs_tool - the two tools: their arguments and answers, and what launches jobs. Pure.
//
//  Lines of the specification (D.9 of jobs, C.9 of processes):
//
//      D.9   5-9, 11-14 the tool              test_tool_arguments, test_tool_list
//      C.9   13-15 log                        test_log
//            20-23 list                       test_process_list
//            76-77, 83-85, 115-117 arguments  test_launch, test_launched

#include "job_kit.h"

#include <stdlib.h>
#include <string.h>

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
    kit_assert_output (
        argos_jobs_tool_list (ARGOS_JOBS_MANAGE, &kit_table, "sess-a", 0, NULL, NULL),
        "No background jobs in this chat.");
    argos_job_t *first = kit_add ("aaaa00000000", "sess-a", "");
    kit_add ("bbbb00000000", "sess-b", "");
    free (first->command);
    first->command = strdup ("");
    kit_add ("aaaa11111111", "sess-a", "");
    json_t *result =
        argos_jobs_tool_list (ARGOS_JOBS_MANAGE, &kit_table, "sess-a", 61000, NULL, NULL);
    assert_string_equal (kit_output (result),
        "2 background job(s):\n[aaaa11111111] running | 1m | make all\n"
        "[aaaa00000000] running | 1m | ");
    json_decref (result);
}

static void
test_tool_output (void **state)
{
    (void) state;
    argos_job_t *job = kit_add ("aaaa00000000", "sess-a", "");
    kit_assert_output (argos_jobs_tool_output (job, "make", "hello from the job", 2000),
        "Job `aaaa00000000` [running, 1s]\nCommand: make\nOutput so far:\nhello from the job");
    kit_assert_output (argos_jobs_tool_output (job, "make", "", 2000), "(no output yet)");
    job->killing = true;
    kit_end (job, "143\nreason killed\n", 9000);
    kit_assert_output (argos_jobs_tool_killed (job, false), "Killed background job `aaaa00000000`");
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
    json_t *object = json_loads (kit_output (result), 0, NULL);
    assert_non_null (object);
    json_decref (result);
    return object;
}

static void
test_process_list (void **state)
{
    (void) state;
    json_t *object = s_process (
        argos_jobs_tool_list (ARGOS_JOBS_PROCESS, &kit_table, "t1", 0, kit_last_words, NULL));
    assert_int_equal (json_array_size (json_object_get (object, "processes")), 0);
    json_decref (object);
    kit_add ("aaaa00000000", "t1", "");
    kit_end (kit_add ("bbbb00000000", "t1", ""), "7\n", 9000);
    kit_add ("cccc00000000", "t2", "");
    object = s_process (
        argos_jobs_tool_list (ARGOS_JOBS_PROCESS, &kit_table, "t1", 0, kit_last_words, NULL));
    json_t *list = json_object_get (object, "processes");
    assert_int_equal (json_array_size (list), 2);
    kit_assert_member (json_array_get (list, 0), "session_id", "\"proc_aaaa00000000\"");
    kit_assert_member (json_array_get (list, 0), "status", "\"running\"");
    kit_assert_member (json_array_get (list, 0), "output_preview", "\"the last words\"");
    assert_null (json_object_get (json_array_get (list, 0), "exit_code"));
    kit_assert_member (json_array_get (list, 1), "status", "\"exited\"");
    kit_assert_member (json_array_get (list, 1), "exit_code", "7");
    json_decref (object);
}

static void
test_process_states (void **state)
{
    (void) state;
    argos_job_t *job = kit_add ("aaaa00000000", "t1", "");
    json_t *object = s_process (argos_jobs_tool_state (ARGOS_JOBS_POLL, job, "out", false, 3000));
    kit_assert_member (object, "status", "\"running\"");
    kit_assert_member (object, "output_preview", "\"out\"");
    kit_assert_member (object, "uptime_seconds", "2");
    json_decref (object);
    object = s_process (argos_jobs_tool_state (ARGOS_JOBS_WAIT, job, "out", true, 3000));
    kit_assert_member (object, "status", "\"timeout\"");
    kit_assert_member (object, "process_running", "true");
    json_decref (object);
    job->killing = true;
    kit_end (job, "143\nreason killed\n", 9000);
    object = s_process (argos_jobs_tool_state (ARGOS_JOBS_KILL, job, "", false, 3000));
    kit_assert_member (object, "status", "\"killed\"");
    kit_assert_member (object, "exit_code", "-15");
    json_decref (object);
    object = s_process (argos_jobs_tool_state (ARGOS_JOBS_KILL, job, "", true, 3000));
    kit_assert_member (object, "status", "\"already_exited\"");
    json_decref (object);
    object = s_process (argos_jobs_tool_wrote (ARGOS_JOBS_WRITE, 5, 0));
    kit_assert_member (object, "bytes_written", "5");
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
    argos_job_t *job = kit_add ("aaaa00000000", "t1", "");
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
        kit_assert_member (object, "total_lines", "100");
        kit_assert_member (object, "showing", cases[i].showing);
        const char *output = json_string_value (json_object_get (object, "output"));
        assert_int_equal (strncmp (output, cases[i].first, strlen (cases[i].first)), 0);
        json_decref (object);
        json_decref (arguments);
    }
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
                kit_assert_member (body, "process", "false");
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
        kit_assert_member (body, "notify", cases[i].notify ? "true" : "false");
        assert_int_equal (json_object_get (body, "watch_patterns") != NULL, cases[i].watched);
        assert_int_equal (unwatched, cases[i].unwatched);
        kit_assert_member (body, "workdir", "\"/tmp\"");
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
    argos_job_t *job = kit_add ("aaaaaaaaaaaa", "s", "");
    json_t *result = argos_jobs_launched (job, false);
    assert_null (json_object_get (result, "hint"));
    kit_assert_member (result, "notify_on_complete", "true");
    kit_assert_member (result, "bg_job_id", "\"aaaaaaaaaaaa\"");
    assert_non_null (strstr (kit_output (result), "called again"));
    assert_non_null (strstr (kit_output (result), "manage_bg_jobs"));
    kit_assert_output (result, "`aaaaaaaaaaaa`");
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

int
main (void)
{
    const struct CMUnitTest tests[] = { KIT_TEST (test_tool_arguments), KIT_TEST (test_tool_list),
        KIT_TEST (test_tool_output), KIT_TEST (test_process_list), KIT_TEST (test_process_states),
        KIT_TEST (test_log), KIT_TEST (test_markers), KIT_TEST (test_launch),
        KIT_TEST (test_launched) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
