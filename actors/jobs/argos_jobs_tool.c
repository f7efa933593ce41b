//  argos_jobs_tool - the tools manage_bg_jobs and process: what a model says, and what it reads.
//
//  Invariant: nothing of a job of another session is in any answer; it looks like one that does not
//  exist. Limits: 16,000 characters of output, 200 of a command.

#include "argos_jobs_tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <utlist.h>

#define OUTPUT_CHARACTERS 16000 //  Of manage_bg_jobs output
#define POLL_CHARACTERS 1000    //  Of process poll
#define WAIT_CHARACTERS 2000    //  Of process wait
#define LOG_LINES 200           //  Of process log
#define CODE_KILLED (-15)       //  Exit code of a process that was killed

argos_jobs_notices_t
argos_jobs_notices (const json_t *setting)
{
    static const char *const names[] = { "all", "result", "error", "off" };
    if (json_is_false (setting))
        return ARGOS_JOBS_NOTICES_OFF;
    const char *text = json_string_value (setting);
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strcasecmp (text, names[i]) == 0)
            return (argos_jobs_notices_t) i;
    return ARGOS_JOBS_NOTICES_ALL;
}

bool
argos_jobs_notices_tell (argos_jobs_notices_t mode, const argos_job_t *job)
{
    if (mode == ARGOS_JOBS_NOTICES_OFF)
        return false;
    if (job->status == ARGOS_JOB_RUNNING)
        return mode == ARGOS_JOBS_NOTICES_ALL;
    return mode != ARGOS_JOBS_NOTICES_ERROR || job->exit_code != 0;
}

//  ------------------------------------------------------------------------------------------------
//  What a model says

static const struct {
    const char *word;       //  Action
    argos_jobs_view_t view; //  Of which tool
    argos_jobs_op_t op;     //  What it means
} s_actions[] = {
    { "list", ARGOS_JOBS_MANAGE, ARGOS_JOBS_LIST },
    { "ls", ARGOS_JOBS_MANAGE, ARGOS_JOBS_LIST },
    { "jobs", ARGOS_JOBS_MANAGE, ARGOS_JOBS_LIST },
    { "output", ARGOS_JOBS_MANAGE, ARGOS_JOBS_OUTPUT },
    { "get", ARGOS_JOBS_MANAGE, ARGOS_JOBS_OUTPUT },
    { "read", ARGOS_JOBS_MANAGE, ARGOS_JOBS_OUTPUT },
    { "tail", ARGOS_JOBS_MANAGE, ARGOS_JOBS_OUTPUT },
    { "status", ARGOS_JOBS_MANAGE, ARGOS_JOBS_OUTPUT },
    { "show", ARGOS_JOBS_MANAGE, ARGOS_JOBS_OUTPUT },
    { "kill", ARGOS_JOBS_MANAGE, ARGOS_JOBS_KILL },
    { "stop", ARGOS_JOBS_MANAGE, ARGOS_JOBS_KILL },
    { "cancel", ARGOS_JOBS_MANAGE, ARGOS_JOBS_KILL },
    { "terminate", ARGOS_JOBS_MANAGE, ARGOS_JOBS_KILL },
    { "list", ARGOS_JOBS_PROCESS, ARGOS_JOBS_LIST },
    { "poll", ARGOS_JOBS_PROCESS, ARGOS_JOBS_POLL },
    { "log", ARGOS_JOBS_PROCESS, ARGOS_JOBS_LOG },
    { "wait", ARGOS_JOBS_PROCESS, ARGOS_JOBS_WAIT },
    { "kill", ARGOS_JOBS_PROCESS, ARGOS_JOBS_KILL },
    { "write", ARGOS_JOBS_PROCESS, ARGOS_JOBS_WRITE },
    { "submit", ARGOS_JOBS_PROCESS, ARGOS_JOBS_SUBMIT },
    { "close", ARGOS_JOBS_PROCESS, ARGOS_JOBS_CLOSE },
};

argos_jobs_op_t
argos_jobs_tool_op (argos_jobs_view_t view, const json_t *arguments)
{
    const json_t *action = json_object_get (arguments, "action");
    const char *word = json_string_value (action);
    if (!action)
        return ARGOS_JOBS_LIST;
    for (size_t i = 0; word && i < sizeof s_actions / sizeof *s_actions; i++)
        if (s_actions[i].view == view && strcasecmp (word, s_actions[i].word) == 0)
            return s_actions[i].op;
    return ARGOS_JOBS_UNKNOWN;
}

const char *
argos_jobs_tool_id (argos_jobs_view_t view, const json_t *arguments, char target[static 65])
{
    static const char *const names[] = { "job_id", "id", "session_id" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *value = json_object_get (arguments, names[i]);
        if (view == ARGOS_JOBS_MANAGE && i == 2)
            break;
        if (json_is_integer (value))
            snprintf (target, 65, "%lld", (long long) json_integer_value (value));
        else if (json_string_length (value))
            snprintf (target, 65, "%.64s", json_string_value (value));
        else
            continue;
        return target;
    }
    return NULL;
}

int64_t
argos_jobs_tool_wait (const json_t *arguments, bool *ret_cut)
{
    const json_t *timeout = json_object_get (arguments, "timeout");
    double seconds = timeout ? json_number_value (timeout) : ARGOS_JOBS_WAIT_MAX_S;
    *ret_cut = seconds > ARGOS_JOBS_WAIT_MAX_S;
    if (!(seconds > 0))
        return -1;
    return *ret_cut ? ARGOS_JOBS_WAIT_MAX_S * 1000 : (int64_t) (seconds * 1000);
}

//  ------------------------------------------------------------------------------------------------
//  What it reads

json_t *
argos_jobs_tool_error (const char *text)
{
    return json_pack (
        "{s:s, s:i, s:s, s:s}", "output", "", "exit_code", 1, "error", text, "status", "error");
}

json_t *
argos_jobs_tool_text (const char *text)
{
    return json_pack (
        "{s:s, s:i, s:n, s:s}", "output", text, "exit_code", 0, "error", "status", "ok");
}

//  The result of process: an object, as text.

static json_t *
s_object (json_t *object)
{
    char *text = json_dumps (object, JSON_COMPACT);
    if (!text)
        abort ();
    json_t *result = argos_jobs_tool_text (text);
    const json_t *error = json_object_get (object, "error");
    if (json_is_string (error)) {
        json_object_set_new (result, "exit_code", json_integer (1));
        json_object_set_new (result, "error", json_string (json_string_value (error)));
        json_object_set_new (result, "status", json_string ("error"));
    }
    free (text);
    json_decref (object);
    return result;
}

json_t *
argos_jobs_tool_unknown (argos_jobs_view_t view, const char *id)
{
    char text[160];
    snprintf (text, sizeof text, "There is no background job `%.64s` in this chat.", id);
    if (view == ARGOS_JOBS_MANAGE)
        return argos_jobs_tool_error (text);
    return s_object (json_pack ("{s:s, s:s}", "status", "not_found", "error", text));
}

static json_t *
s_manage_list (const argos_jobs_t *jobs, const char *session, int64_t now)
{
    size_t count = 0, size = 0;
    const argos_job_t *job;
    char *text = NULL;
    FILE *rows = open_memstream (&text, &size);
    if (!rows)
        abort ();
    //  The newest first: the table has the oldest first
    for (job = jobs->list ? jobs->list->prev : NULL; job;
         job = job == jobs->list ? NULL : job->prev) {
        if (!argos_jobs_sees (job, session, NULL))
            continue;
        char *line = argos_job_line (job, now);
        fprintf (rows, "\n%s", line);
        free (line);
        count++;
    }
    fclose (rows);
    json_t *all = count ? json_sprintf ("%zu background job(s):%s", count, text)
                        : json_string ("No background jobs in this chat.");
    json_t *result = argos_jobs_tool_text (json_string_value (all));
    json_decref (all);
    free (text);
    return result;
}

static const char *
s_process_status (const argos_job_t *job)
{
    return job->status == ARGOS_JOB_RUNNING ? "running" : "exited";
}

//  What every form of a process has.

static json_t *
s_process (const argos_job_t *job, int64_t now)
{
    int64_t end = job->status == ARGOS_JOB_RUNNING ? now : job->ended_at;
    json_t *object = json_pack ("{s:o, s:s, s:s, s:i, s:I}", "session_id",
        json_sprintf ("proc_%s", job->id), "command", job->command, "status",
        s_process_status (job), "pid", (int) job->keeper.pid, "uptime_seconds",
        (json_int_t) (end > job->started_at ? (end - job->started_at) / 1000 : 0));
    if (job->status != ARGOS_JOB_RUNNING)
        json_object_set_new (
            object, "exit_code", json_integer (job->killed ? CODE_KILLED : job->exit_code));
    if (job->survivors[0]) {
        json_t *list = json_array ();
        for (size_t i = 0; i < ARGOS_JOB_SURVIVORS && job->survivors[i]; i++)
            json_array_append_new (list, json_integer (job->survivors[i]));
        json_object_set_new (object, "survivors", list);
    }
    return object;
}

static json_t *
s_process_list (
    const argos_jobs_t *jobs, const char *session, int64_t now, argos_jobs_output_fn *fn, void *arg)
{
    const argos_job_t *job;
    json_t *list = json_array ();
    DL_FOREACH (jobs->list, job) {
        if (!argos_jobs_sees (job, session, NULL))
            continue;
        json_t *entry = s_process (job, now);
        char *output = fn (arg, job);
        json_object_set_new (entry, "cwd", json_string (job->workdir));
        json_object_set_new (entry, "started_at", json_integer ((json_int_t) job->started_at));
        json_object_set_new (
            entry, "output_preview", json_string (argos_job_tail (output, ARGOS_JOB_PREVIEW)));
        json_object_set_new (entry, "session_scoped", json_true ());
        free (output);
        json_array_append_new (list, entry);
    }
    return s_object (json_pack ("{s:o}", "processes", list));
}

json_t *
argos_jobs_tool_list (argos_jobs_view_t view, const argos_jobs_t *jobs, const char *session,
    int64_t now, argos_jobs_output_fn *fn, void *arg)
{
    return view == ARGOS_JOBS_MANAGE ? s_manage_list (jobs, session, now)
                                     : s_process_list (jobs, session, now, fn, arg);
}

//  The state of a job for machines, beside the text.

static void
s_add_state (json_t *result, const argos_job_t *job)
{
    static const char *const names[] = { "running", "done", "failed" };
    json_object_set_new (result, "job",
        json_pack ("{s:s, s:s, s:o, s:b, s:b, s:b}", "id", job->id, "status", names[job->status],
            "exit_code",
            job->status == ARGOS_JOB_RUNNING ? json_null () : json_integer (job->exit_code),
            "timed_out", job->timed_out, "killed", job->killed, "died", job->died));
}

json_t *
argos_jobs_tool_output (const argos_job_t *job, const char *command, const char *text, int64_t now)
{
    char label[32], age[32];
    char *cut = argos_job_middle_cut (text, OUTPUT_CHARACTERS);
    argos_job_label (job, label);
    argos_job_age (job, now, age);
    json_t *all = json_sprintf ("Job `%s` [%s, %s]\nCommand: %s\nOutput so far:\n%s", job->id,
        label, age, command, *cut ? cut : "(no output yet)");
    json_t *result = argos_jobs_tool_text (json_string_value (all));
    s_add_state (result, job);
    json_decref (all);
    free (cut);
    return result;
}

json_t *
argos_jobs_tool_killed (const argos_job_t *job, bool was_over)
{
    char label[32];
    json_t *text, *result;
    argos_job_label (job, label);
    if (was_over || !job->killed)
        text = json_sprintf ("Job `%s` already %s; nothing to kill.", job->id, label);
    else if (job->survivors[0])
        text = json_sprintf ("Could not verify termination of job `%s`: process %d is still there.",
            job->id, job->survivors[0]);
    else
        text = json_sprintf ("Killed background job `%s` (%.*s).", job->id,
            (int) strcspn (job->command, "\r\n"), job->command);
    result = job->killed && job->survivors[0] && !was_over
                 ? argos_jobs_tool_error (json_string_value (text))
                 : argos_jobs_tool_text (json_string_value (text));
    s_add_state (result, job);
    json_decref (text);
    return result;
}

json_t *
argos_jobs_tool_state (
    argos_jobs_op_t op, const argos_job_t *job, const char *text, bool late, int64_t now)
{
    json_t *object = s_process (job, now);
    bool over = job->status != ARGOS_JOB_RUNNING;
    if (op == ARGOS_JOBS_POLL)
        json_object_set_new (
            object, "output_preview", json_string (argos_job_tail (text, POLL_CHARACTERS)));
    else if (op == ARGOS_JOBS_WAIT) {
        json_object_set_new (object, "output",
            json_string (argos_job_tail (text, late ? POLL_CHARACTERS : WAIT_CHARACTERS)));
        if (late) {
            json_object_set_new (object, "status", json_string ("timeout"));
            json_object_set_new (object, "process_running", json_true ());
        }
    }
    else if (!over || job->survivors[0]) {
        json_object_set_new (object, "status", json_string ("error"));
        json_object_set_new (object, "error", json_string ("some processes could not be ended"));
    }
    else
        json_object_set_new (
            object, "status", json_string (job->killed && !late ? "killed" : "already_exited"));
    return s_object (object);
}

json_t *
argos_jobs_tool_wrote (argos_jobs_op_t op, size_t bytes, int error)
{
    if (error)
        return s_object (json_pack ("{s:s, s:s}", "status", "error", "error",
            error == ENXIO || error == ENOENT || error == EPIPE
                ? "its input is not available (start it with pty, or it is closed)"
                : strerror (error)));
    if (op == ARGOS_JOBS_CLOSE)
        return s_object (json_pack ("{s:s, s:s}", "status", "ok", "message", "input closed"));
    return s_object (json_pack ("{s:s, s:I}", "status", "ok", "bytes_written", (json_int_t) bytes));
}

//  ------------------------------------------------------------------------------------------------
//  process log

//  The begin of line number n (from 0) of some bytes; the end of them when there are fewer.

static const char *
s_line (const char *data, const char *end, int64_t n)
{
    while (n-- > 0 && data < end) {
        const char *next = memchr (data, '\n', (size_t) (end - data));
        data = next ? next + 1 : end;
    }
    return data;
}

static int64_t
s_count_lines (const char *data, size_t size)
{
    int64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    return size && data[size - 1] != '\n' ? lines + 1 : lines;
}

json_t *
argos_jobs_tool_log (const argos_job_t *job, const char *data, size_t size, const json_t *arguments)
{
    const json_t *stated = json_object_get (arguments, "limit");
    int64_t limit = json_is_integer (stated) ? json_integer_value (stated) : LOG_LINES;
    int64_t offset = json_integer_value (json_object_get (arguments, "offset"));
    int64_t total = s_count_lines (data, size);
    if (limit < 1)
        limit = 1;
    //  Without an offset the last lines
    if (!json_object_get (arguments, "offset") || offset < 0)
        offset = total > limit ? total - limit : 0;
    const char *end = data + size, *from = s_line (data, end, offset);
    const char *to = s_line (from, end, limit);
    char *text = argos_job_clean (from, (size_t) (to - from));
    json_t *object = json_pack ("{s:o, s:s, s:s, s:I, s:o}", "session_id",
        json_sprintf ("proc_%s", job->id), "status", s_process_status (job), "output", text,
        "total_lines", (json_int_t) total, "showing",
        json_sprintf ("%lld lines", (long long) s_count_lines (from, (size_t) (to - from))));
    free (text);
    return s_object (object);
}
