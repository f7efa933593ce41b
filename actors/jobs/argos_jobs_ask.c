//  argos_jobs_ask - what is asked about jobs, by messages and by the two tools.
//
//  Invariant: each question gets one answer; a job that the asker may not see is answered like one
//  that does not exist. Limits: 256 questions that wait; a wait of 600 s.

#include "argos_jobs_priv.h"

#include "argos_job_format.h"
#include "argos_tool_name.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <utlist.h>

#define WAITS_MAX 256      //  Questions that wait
#define KILL_SLACK_MS 3000 //  A kill takes the grace and this at most
#define STATE_BYTES 8192   //  Of output behind a wait
#define PREVIEW_BYTES 4096 //  Of output in a list and in poll

void
jobs_answer (jobs_t *self, const asker_t *asker, json_t *body)
{
    if (*asker->id && !self->stopping)
        argos_peer_reply_to (self->peer, asker->from, asker->id,
            asker->view == ARGOS_JOBS_RAW ? "job.result" : "tool.result", body);
    else
        json_decref (body);
}

void
jobs_refuse (jobs_t *self, const asker_t *asker, argos_err_t code, const char *reason)
{
    if (asker->view != ARGOS_JOBS_RAW)
        jobs_answer (self, asker, argos_jobs_tool_error (reason));
    else if (*asker->id && !self->stopping)
        argos_peer_reply_to (self->peer, asker->from, asker->id, "error",
            json_pack ("{s:s, s:s}", "code", argos_err_name (code), "reason", reason));
}

//  ------------------------------------------------------------------------------------------------
//  Answers

static char *
s_text (const jobs_t *self, const argos_job_t *job, size_t bytes)
{
    argos_job_piece_t piece;
    argos_job_file_output (self->folder, job->id, -1, bytes, &piece);
    char *text = argos_job_clean (piece.data, piece.size);
    free (piece.data);
    return text;
}

static char *
s_preview (void *arg, const argos_job_t *job)
{
    return s_text (arg, job, PREVIEW_BYTES);
}

//  Who reads the end himself is not told of it as well.

static void
s_seen (jobs_t *self, argos_job_t *job, const asker_t *asker)
{
    if (asker->view == ARGOS_JOBS_RAW || job->status == ARGOS_JOB_RUNNING || job->seen)
        return;
    job->seen = true;
    if (!*job->followup)
        job->followed_up = true;
    if (job->ended_at)
        jobs_store (self, job);
    jobs_arm (self);
}

static const char *
s_outcome (const asker_t *asker, const argos_job_t *job, bool was_over, bool late)
{
    if (asker->op == ARGOS_JOBS_WAIT)
        return late ? "timeout" : "exited";
    if (was_over)
        return "already";
    if (late || job->survivors[0])
        return "survivors";
    return job->killed ? "killed" : "already";
}

static json_t *
s_end_process (jobs_t *self, const asker_t *asker, const argos_job_t *job, bool was_over, bool late)
{
    char *text = s_text (self, job, STATE_BYTES);
    json_t *result = argos_jobs_tool_state (asker->op, job, text,
        late || (was_over && asker->op == ARGOS_JOBS_KILL), argos_shell_wall ());
    free (text);
    if (asker->cut)
        json_object_set_new (result, "timeout_note",
            json_string ("The timeout was limited to 180 seconds; wait again if need be."));
    return result;
}

//  The answer to a wait or a kill. late: before the end.

static void
s_answer_end (jobs_t *self, const asker_t *asker, argos_job_t *job, bool was_over, bool late)
{
    json_t *body;
    if (asker->view == ARGOS_JOBS_RAW)
        body = json_pack ("{s:o, s:s}", "job", argos_job_record (job), "outcome",
            s_outcome (asker, job, was_over, late));
    else if (asker->view == ARGOS_JOBS_PROCESS)
        body = s_end_process (self, asker, job, was_over, late);
    else if (late)
        body = argos_jobs_tool_error ("Could not verify termination of the job.");
    else
        body = argos_jobs_tool_killed (job, was_over);
    jobs_answer (self, asker, body);
    if (!late)
        s_seen (self, job, asker);
}

//  ------------------------------------------------------------------------------------------------
//  Questions that wait

static void
s_wait (jobs_t *self, const asker_t *asker, argos_job_t *job, int64_t patience_ms)
{
    wait_t *wait;
    size_t count = 0;
    DL_COUNT (self->waits, wait, count);
    if (count >= WAITS_MAX) {
        jobs_refuse (self, asker, ARGOS_BUSY, "too many questions wait for jobs already");
        return;
    }
    wait = calloc (1, sizeof *wait);
    if (!wait)
        abort ();
    wait->asker = *asker;
    memcpy (wait->job, job->id, sizeof wait->job);
    wait->due = argos_shell_now () + patience_ms;
    DL_APPEND (self->waits, wait);
    jobs_arm (self);
}

void
jobs_answer_waits (jobs_t *self, argos_job_t *job)
{
    wait_t *wait, *next;
    DL_FOREACH_SAFE (self->waits, wait, next) {
        if (strcmp (wait->job, job->id) != 0)
            continue;
        DL_DELETE (self->waits, wait);
        s_answer_end (self, &wait->asker, job, false, false);
        free (wait);
    }
}

void
jobs_answer_late (jobs_t *self, int64_t now)
{
    wait_t *wait, *next;
    DL_FOREACH_SAFE (self->waits, wait, next) {
        if (wait->due > now)
            continue;
        argos_job_t *job = jobs_find (self, wait->job);
        DL_DELETE (self->waits, wait);
        if (job)
            s_answer_end (self, &wait->asker, job, false, true);
        free (wait);
    }
}

//  ------------------------------------------------------------------------------------------------
//  What is done

void
jobs_ask_kill (jobs_t *self, const asker_t *asker, argos_job_t *job)
{
    if (job->status != ARGOS_JOB_RUNNING) {
        s_answer_end (self, asker, job, true, false);
        return;
    }
    //  Stored first: that it was asked for has to be known when its end is seen after a crash
    job->killing = true;
    jobs_store (self, job);
    s_wait (self, asker, job, self->grace_ms + KILL_SLACK_MS);
    jobs_kill (self, job);
}

void
jobs_ask_wait (jobs_t *self, const asker_t *asker, argos_job_t *job, int64_t patience_ms)
{
    if (patience_ms < 0)
        jobs_refuse (self, asker, ARGOS_INVALID, "`timeout` has to be more than 0");
    else if (job->status != ARGOS_JOB_RUNNING)
        s_answer_end (self, asker, job, true, false);
    else
        s_wait (self, asker, job, patience_ms < JOBS_WAIT_MAX_MS ? patience_ms : JOBS_WAIT_MAX_MS);
}

//  Sends a signal to the processes of a job; argos-job passes it on. Returns 0 or an errno.

int
jobs_ask_signal (const argos_job_t *job, int carrier, int number)
{
    siginfo_t info = { .si_signo = carrier };
    info.si_code = SI_QUEUE;
    info.si_value.sival_int = number;
    if (job->pidfd < 0)
        return ESRCH;
    return pidfd_send_signal (job->pidfd, carrier, &info, 0) == 0 ? 0 : errno;
}

void
jobs_ask_write (
    jobs_t *self, const asker_t *asker, argos_job_t *job, const char *data, bool newline)
{
    char *line = NULL;
    ssize_t done = -ENXIO;
    if (asprintf (&line, "%s%s", data, newline ? "\n" : "") < 0)
        abort ();
    if (job->status == ARGOS_JOB_RUNNING && job->input)
        done = argos_job_file_write (self->folder, job->id, line, strlen (line));
    free (line);
    if (asker->view != ARGOS_JOBS_RAW)
        jobs_answer (self, asker,
            argos_jobs_tool_wrote (
                asker->op, done > 0 ? (size_t) done : 0, done < 0 ? (int) -done : 0));
    else if (done < 0)
        jobs_refuse (self, asker, ARGOS_INVALID, "its input is not available");
    else
        jobs_answer (self, asker,
            json_pack ("{s:o, s:I}", "job", argos_job_record (job), "bytes", (json_int_t) done));
}

void
jobs_ask_close (jobs_t *self, const asker_t *asker, argos_job_t *job)
{
    int error = job->input ? jobs_ask_signal (job, SIGUSR2, 0) : ENXIO;
    if (asker->view != ARGOS_JOBS_RAW)
        jobs_answer (self, asker, argos_jobs_tool_wrote (ARGOS_JOBS_CLOSE, 0, error));
    else if (error)
        jobs_refuse (self, asker, ARGOS_INVALID, "its input is not available");
    else
        jobs_answer (self, asker, json_pack ("{s:o}", "job", argos_job_record (job)));
}

//  ------------------------------------------------------------------------------------------------
//  The tools

//  An output that needs the whole command, which is in another record

typedef struct {
    jobs_t *jobs;                //  Whose
    asker_t asker;               //  Who
    char job[ARGOS_JOB_ID_SIZE]; //  Which
    int64_t from;                //  ARGOS_JOBS_RAW: from where on, < 0 = the end
    int64_t limit;               //  So many bytes
} output_t;

static void
s_answer_raw_output (output_t *output, argos_job_t *job, const char *command)
{
    jobs_t *self = output->jobs;
    argos_job_piece_t piece;
    argos_job_file_output (self->folder, job->id, output->from, (size_t) output->limit, &piece);
    char *text = argos_job_clean (piece.data, piece.size);
    jobs_answer (self, &output->asker,
        json_pack ("{s:o, s:s, s:s, s:I, s:I, s:I, s:I}", "job", argos_job_record (job), "command",
            command, "text", text, "from", (json_int_t) (piece.next - piece.size), "next",
            (json_int_t) piece.next, "total", (json_int_t) piece.total, "dropped",
            (json_int_t) piece.dropped));
    free (text);
    free (piece.data);
}

//  The beginning and the end, which is all that is shown.

static char *
s_ends (const jobs_t *self, const argos_job_t *job)
{
    argos_job_piece_t first;
    argos_job_file_output (self->folder, job->id, 0, JOBS_PIECE, &first);
    char *head = argos_job_clean (first.data, first.size), *all = head;
    if (first.next < first.total) {
        char *tail = s_text (self, job, JOBS_PIECE);
        if (asprintf (&all, "%s%s", head, tail) < 0)
            abort ();
        free (head);
        free (tail);
    }
    free (first.data);
    return all;
}

static void
s_on_task (void *arg, const argos_peer_answer_t *answer)
{
    output_t *output = arg;
    jobs_t *self = output->jobs;
    argos_job_t *job = self->stopping ? NULL : jobs_find (self, output->job);
    const json_t *value = json_object_get (json_object_get (answer->body, "record"), "value");
    const char *command = json_string_value (json_object_get (value, "command"));
    if (job && output->asker.view == ARGOS_JOBS_RAW)
        s_answer_raw_output (output, job, command ? command : job->command);
    else if (job) {
        char *text = s_ends (self, job);
        jobs_answer (self, &output->asker,
            argos_jobs_tool_output (
                job, command ? command : job->command, text, argos_shell_wall ()));
        free (text);
    }
    free (output);
}

void
jobs_ask_output (jobs_t *self, const asker_t *asker, argos_job_t *job, int64_t from, int64_t limit)
{
    output_t *output = calloc (1, sizeof *output);
    if (!output)
        abort ();
    *output = (output_t){ .jobs = self, .asker = *asker, .from = from, .limit = limit };
    memcpy (output->job, job->id, sizeof output->job);
    argos_peer_part_t part = { .type = "record.get",
        .to = "store",
        .ttl_ms = JOBS_READ_MS,
        .body = json_pack ("{s:s, s:s}", "space", ARGOS_JOB_TASKS, "key", job->id) };
    if (argos_peer_send (self->peer, &part, s_on_task, output) != ARGOS_OK) {
        free (output);
        jobs_refuse (self, asker, ARGOS_BUSY, "the store takes nothing");
    }
}

//  poll and log, which are answered at once

static void
s_answer_process (jobs_t *self, const asker_t *asker, argos_job_t *job, const json_t *arguments)
{
    argos_job_piece_t piece;
    if (asker->op == ARGOS_JOBS_LOG)
        argos_job_file_output (self->folder, job->id, 0, (size_t) self->output_max, &piece);
    else
        argos_job_file_output (self->folder, job->id, -1, PREVIEW_BYTES, &piece);
    char *text = argos_job_clean (piece.data, piece.size);
    jobs_answer (self, asker,
        asker->op == ARGOS_JOBS_LOG
            ? argos_jobs_tool_log (job, piece.data, piece.size, arguments)
            : argos_jobs_tool_state (asker->op, job, text, false, argos_shell_wall ()));
    free (text);
    free (piece.data);
    s_seen (self, job, asker);
}

static void
s_tool_job (jobs_t *self, const asker_t *asker, argos_job_t *job, const json_t *arguments)
{
    const char *data = json_string_value (json_object_get (arguments, "data"));
    asker_t waiting = *asker;
    int64_t patience_ms;
    switch (asker->op) {
    case ARGOS_JOBS_KILL:
        jobs_ask_kill (self, asker, job);
        break;
    case ARGOS_JOBS_WAIT:
        patience_ms = argos_jobs_tool_wait (arguments, &waiting.cut);
        jobs_ask_wait (self, &waiting, job, patience_ms);
        break;
    case ARGOS_JOBS_WRITE:
    case ARGOS_JOBS_SUBMIT:
        jobs_ask_write (self, asker, job, data ? data : "", asker->op == ARGOS_JOBS_SUBMIT);
        break;
    case ARGOS_JOBS_CLOSE:
        jobs_ask_close (self, asker, job);
        break;
    case ARGOS_JOBS_OUTPUT:
        jobs_ask_output (self, asker, job, 0, JOBS_PIECE);
        s_seen (self, job, asker);
        break;
    default:
        s_answer_process (self, asker, job, arguments);
    }
}

static void
s_launch (jobs_t *self, asker_t *asker, const argos_peer_msg_t *msg)
{
    const char *problem;
    asker->view = ARGOS_JOBS_LAUNCH;
    json_t *body = argos_jobs_launch (msg->body, self->workdir, &asker->unwatched, &problem);
    if (body)
        jobs_start (self, body, asker, msg->from, msg->id, NULL);
    else
        jobs_refuse (self, asker, ARGOS_INVALID, problem);
    json_decref (body);
}

void
jobs_ask_tool (jobs_t *self, asker_t *asker, const argos_peer_msg_t *msg)
{
    char text[65];
    const json_t *arguments = json_object_get (msg->body, "arguments");
    const char *name = json_string_value (json_object_get (msg->body, "name"));
    const char *session = json_string_value (json_object_get (msg->body, "session_id"));
    const char *tool = argos_tool_name (name ? name : "");
    if (strcmp (tool, "process") == 0)
        asker->view = ARGOS_JOBS_PROCESS;
    else if (strcmp (tool, "manage_bg_jobs") == 0)
        asker->view = ARGOS_JOBS_MANAGE;
    else {
        s_launch (self, asker, msg);
        return;
    }
    asker->op = argos_jobs_tool_op (asker->view, arguments);
    const char *id = argos_jobs_tool_id (asker->view, arguments, text);
    argos_job_t *job = id && session ? argos_jobs_find (&self->table, id, session, NULL) : NULL;
    if (!session || !*session)
        jobs_refuse (
            self, asker, ARGOS_INVALID, "background jobs belong to a session: there is none");
    else if (asker->op == ARGOS_JOBS_UNKNOWN)
        jobs_refuse (self, asker, ARGOS_INVALID,
            asker->view == ARGOS_JOBS_MANAGE
                ? "unknown action: use list, output or kill"
                : "unknown action: use list, poll, log, wait, kill, write, submit or close");
    else if (asker->op == ARGOS_JOBS_LIST)
        jobs_answer (self, asker,
            argos_jobs_tool_list (
                asker->view, &self->table, session, argos_shell_wall (), s_preview, self));
    else if (!id)
        jobs_refuse (self, asker, ARGOS_INVALID,
            asker->view == ARGOS_JOBS_MANAGE ? "`job_id` is missing" : "`session_id` is missing");
    else if (!job)
        jobs_answer (self, asker, argos_jobs_tool_unknown (asker->view, id));
    else
        s_tool_job (self, asker, job, arguments);
}

//  Who has asked waits no longer.

void
jobs_ask_cancel (jobs_t *self, const argos_peer_msg_t *msg)
{
    wait_t *wait, *next;
    DL_FOREACH_SAFE (self->waits, wait, next) {
        if (strcmp (wait->asker.id, msg->re) != 0 || strcmp (wait->asker.from, msg->from) != 0)
            continue;
        DL_DELETE (self->waits, wait);
        if (strcmp (msg->type, "tool.cancel") == 0)
            jobs_answer (self, &wait->asker,
                json_pack ("{s:s, s:s, s:s}", "output", "", "error",
                    "Interrupted; the process was left alone.", "status", "interrupted"));
        free (wait);
    }
}
