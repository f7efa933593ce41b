//  argos_jobs_start - from job.start to a running process, and from there to its end.
//
//  Invariant: the record of a job is stored before its process is started, and whoever finds a
//  record that runs without a process starts it: argos-job sees to it that it runs once. So a job
//  that was accepted runs, and none runs twice, whenever the daemon is killed.

#include "argos_jobs_priv.h"

#include "argos_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES_MAX 3        //  Starts of argos-job that leave no trace
#define NOTICE_BYTES 65536 //  Of the output, read for a notice
#define RETRY_MS 1000      //  Before a message is tried again when something is not available

//  A start under way

typedef struct {
    jobs_t *jobs;                //  Whose
    asker_t asker;               //  Who waits for it
    argos_lease_t *lease;        //  Of the message, NULL = a request
    char job[ARGOS_JOB_ID_SIZE]; //  Which
    json_t *task;                //  What was asked for
    int reads;                   //  Answers that are outstanding
} start_t;

static void
s_start_destroy (start_t **self_p)
{
    json_decref ((*self_p)->task);
    free (*self_p);
    *self_p = NULL;
}

//  ------------------------------------------------------------------------------------------------
//  The process

//  It was not started: over before it began.

static void
s_fail (argos_job_t *job, int error)
{
    argos_log (ARGOS_LOG_WARN, JOBS_NAME, "job not started", "job=%s reason=\"%s\"", job->id,
        strerror (error));
    argos_job_lose (job, false, argos_shell_wall ());
}

static void
s_tell_people (jobs_t *self, argos_job_t *job)
{
    argos_job_piece_t piece;
    argos_job_file_output (self->folder, job->id, -1, NOTICE_BYTES, &piece);
    char *output = argos_job_clean (piece.data, piece.size);
    jobs_tell_notice (self, job, argos_job_notice_text (job, output));
    free (output);
    free (piece.data);
}

//  What comes behind the end of a job, in this order: those who wait read the end, and what they
//  have read is not told again.

static void
s_over (jobs_t *self, argos_job_t *job)
{
    argos_job_piece_t piece;
    argos_job_file_output (self->folder, job->id, 0, 0, &piece);
    free (piece.data);
    job->total = (int64_t) piece.total;
    job->dropped = (int64_t) piece.dropped;
    argos_log (ARGOS_LOG_INFO, JOBS_NAME, "job over", "job=%s status=%s code=%d", job->id,
        job->status == ARGOS_JOB_DONE ? "done" : "failed", job->exit_code);
    jobs_answer_waits (self, job);
    jobs_tail_end (self, job);
    if (argos_job_pending (job) && !job->notify) {
        if (*job->session && argos_jobs_notices_tell (self->notices, job))
            s_tell_people (self, job);
        job->followed_up = true;
    }
    jobs_store (self, job);
    if (argos_job_pending (job))
        jobs_tell_session (self, job->session);
    jobs_arm (self);
}

static void
s_spawn (jobs_t *self, argos_job_t *job, const json_t *task)
{
    const char *workdir = json_string_value (json_object_get (task, "workdir"));
    const char *input = json_string_value (json_object_get (task, "input"));
    const char *home = getenv ("HOME");
    argos_job_start_t start = { .program = self->program,
        .jobs = self->folder,
        .command = json_string_value (json_object_get (task, "command")),
        .workdir = workdir && *workdir ? workdir
                   : *self->workdir    ? self->workdir
                   : home && *home     ? home
                                       : "/",
        .env = json_object_get (task, "env"),
        .input = input ? input : "none",
        .runtime_ms = job->max_runtime_s * 1000,
        .grace_ms = self->grace_ms,
        .output_max = self->output_max };
    job->tries++;
    int error = start.command ? argos_job_file_start (job, &start) : EINVAL;
    if (error) {
        s_fail (job, error);
        s_over (self, job);
        return;
    }
    job->started = true;
    jobs_watch_process (self, job);
    jobs_tail (self, job, json_object_get (task, "watch_patterns"), 0);
}

//  Of a boot before, nothing says whether it had begun: what it has brought to the disk is its
//  business, what argos-job has is not.

static bool
s_is_of_this_boot (const jobs_t *self, const json_t *task)
{
    const char *boot = json_string_value (json_object_get (task, "boot"));
    return !boot || strcmp (boot, self->boot) == 0;
}

//  What was asked for, of a job whose record alone is at hand

typedef struct {
    jobs_t *jobs;                //  Whose
    char job[ARGOS_JOB_ID_SIZE]; //  Which
} again_t;

static void
s_on_task (void *arg, const argos_peer_answer_t *answer)
{
    again_t again = *(again_t *) arg;
    free (arg);
    argos_job_t *job = again.jobs->stopping ? NULL : jobs_find (again.jobs, again.job);
    if (!job || job->status != ARGOS_JOB_RUNNING)
        return;
    const json_t *task = json_object_get (json_object_get (answer->body, "record"), "value");
    if (answer->code != ARGOS_OK)
        jobs_look (again.jobs, job);
    else if (s_is_of_this_boot (again.jobs, task))
        s_spawn (again.jobs, job, task);
    else {
        argos_job_lose (job, true, argos_shell_wall ());
        s_over (again.jobs, job);
    }
}

static void
s_spawn_again (jobs_t *self, argos_job_t *job)
{
    again_t *again = calloc (1, sizeof *again);
    if (!again)
        abort ();
    again->jobs = self;
    memcpy (again->job, job->id, sizeof again->job);
    argos_peer_part_t part = { .type = "record.get",
        .to = "store",
        .ttl_ms = JOBS_READ_MS,
        .body = json_pack ("{s:s, s:s}", "space", ARGOS_JOB_TASKS, "key", job->id) };
    if (argos_peer_send (self->peer, &part, s_on_task, again) != ARGOS_OK)
        free (again);
}

//  The errno that argos-job has left, when it is our child; 0 = it tells nothing.

static int
s_reap (argos_job_t *job)
{
    siginfo_t info = { .si_pid = 0 };
    int error = 0;
    if (job->pidfd < 0)
        return 0;
    if (waitid (P_PIDFD, (id_t) job->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid &&
        info.si_code == CLD_EXITED)
        error = info.si_status;
    close (job->pidfd); //  Which takes it out of the epoll set
    job->pidfd = -1;
    return error;
}

//  Nobody is at work on it, and it has left no end.

static void
s_look_lost (jobs_t *self, argos_job_t *job, bool was, int error)
{
    if (!was && job->tries < TRIES_MAX && (!error || error == EEXIST)) {
        s_spawn_again (self, job);
        return;
    }
    if (was) {
        argos_job_file_sweep (&job->keeper);
        argos_job_lose (job, true, argos_shell_wall ());
    }
    else
        s_fail (job, error ? error : EIO);
    s_over (self, job);
}

void
jobs_look (jobs_t *self, argos_job_t *job)
{
    argos_job_end_t end;
    int error = s_reap (job);
    bool was = argos_job_file_run (self->folder, job);
    int pidfd = was ? argos_job_file_pidfd (&job->keeper) : -1;
    //  The record is there before the process is gone: so this comes last
    if (argos_job_file_end (self->folder, job->id, &end)) {
        if (pidfd >= 0)
            close (pidfd);
        if (argos_job_finish (job, &end, argos_shell_wall ()))
            s_over (self, job);
        return;
    }
    if (pidfd < 0) {
        s_look_lost (self, job, was, error);
        return;
    }
    job->started = true;
    job->pidfd = pidfd;
    jobs_watch_process (self, job);
    if (job->killing)
        jobs_kill (self, job);
}

void
jobs_kill (jobs_t *self, argos_job_t *job)
{
    (void) self;
    if (job->pidfd >= 0)
        pidfd_send_signal (job->pidfd, SIGTERM, NULL, 0);
}

//  ------------------------------------------------------------------------------------------------
//  The start

static void
s_answer_job (jobs_t *self, const asker_t *asker, const argos_job_t *job, const char *outcome)
{
    if (asker->view == ARGOS_JOBS_LAUNCH)
        jobs_answer (self, asker,
            job->status == ARGOS_JOB_FAILED && !job->started
                ? argos_jobs_tool_error ("The background job could not be started.")
                : argos_jobs_launched (job, asker->unwatched));
    else
        jobs_answer (self, asker,
            json_pack ("{s:o, s:s}", "job", argos_job_record (job), "outcome", outcome));
}

//  The message is given back, or done when there is such a job already.

static void
s_refused_lease (start_t *start, argos_err_t code)
{
    if (!start->lease || code == ARGOS_FENCED || code == ARGOS_GONE)
        return;
    argos_lease_set_data (start->lease, NULL);
    if (code == ARGOS_CONFLICT)
        argos_lease_done (start->lease, NULL, 0, NULL, 0, NULL, NULL);
    else
        argos_lease_release (&start->lease, RETRY_MS, true, NULL);
}

//  The record is stored, or not.

static void
s_on_stored (void *arg, const argos_peer_answer_t *answer)
{
    start_t *start = arg;
    jobs_t *self = start->jobs;
    argos_job_t *job = self->stopping ? NULL : jobs_find (self, start->job);
    if (start->lease && (self->stopping || answer->code == ARGOS_OK))
        argos_lease_set_data (start->lease, NULL); //  on_lost may follow
    if (job && answer->code == ARGOS_OK) {
        s_spawn (self, job, start->task);
        s_answer_job (self, &start->asker, job, "started");
    }
    else if (job) {
        s_refused_lease (start, answer->code);
        argos_jobs_remove (&self->table, &job);
        jobs_refuse (self, &start->asker, answer->code, answer->reason);
    }
    s_start_destroy (&start);
}

void
jobs_on_lost (void *ctx, argos_lease_t *lease)
{
    (void) ctx;
    start_t *start = argos_lease_data (lease);
    if (start)
        start->lease = NULL;
}

static void
s_commit (start_t *start, argos_job_t *job)
{
    jobs_t *self = start->jobs;
    argos_err_t code;
    argos_peer_part_t parts[] = {
        { .type = "record.put",
            .to = "store",
            .body = json_pack ("{s:s, s:s, s:i, s:o}", "space", ARGOS_JOB_SPACE, "key", job->id,
                "version", 0, "value", argos_job_record (job)) },
        { .type = "record.put",
            .to = "store",
            .body = json_pack ("{s:s, s:s, s:i, s:O}", "space", ARGOS_JOB_TASKS, "key", job->id,
                "version", 0, "value", start->task) },
    };
    if (start->lease)
        code = argos_lease_done (start->lease, parts, 2, NULL, 0, s_on_stored, start);
    else
        code = argos_peer_commit (self->peer, NULL, parts, 2, s_on_stored, start);
    if (code != ARGOS_OK) {
        argos_peer_answer_t answer = { .code = code, .reason = "the store takes nothing" };
        s_on_stored (start, &answer);
    }
}

//  Who owns the turn, and where the session is.

static void
s_on_read (void *arg, const argos_peer_answer_t *answer)
{
    start_t *start = arg;
    jobs_t *self = start->jobs;
    argos_job_t *job = self->stopping ? NULL : jobs_find (self, start->job);
    const json_t *run = json_object_get (answer->body, "run");
    const char *owner = json_string_value (json_object_get (run, "owner"));
    const json_t *session = json_object_get (answer->body, "session");
    if (job && owner && !*job->owner) {
        free (job->owner);
        job->owner = strdup (owner);
        if (!job->owner)
            abort ();
    }
    if (json_is_object (json_object_get (session, "source")) &&
        !json_object_get (start->task, "source"))
        json_object_set (start->task, "source", json_object_get (session, "source"));
    if (--start->reads)
        return;
    if (job)
        s_commit (start, job);
    else
        s_start_destroy (&start);
}

static bool
s_read (start_t *start, const char *type, const char *name, const char *value)
{
    if (!*value)
        return false;
    argos_peer_part_t part = { .type = type,
        .to = "store",
        .ttl_ms = JOBS_READ_MS,
        .body = json_pack ("{s:s}", name, value) };
    if (argos_peer_send (start->jobs->peer, &part, s_on_read, start) != ARGOS_OK)
        return false;
    start->reads++;
    return true;
}

static const char *
s_text (const json_t *body, const char *name)
{
    const char *text = json_string_value (json_object_get (body, name));
    return text ? text : "";
}

static argos_job_t *
s_job (jobs_t *self, const json_t *body, const char *id, const char *owner)
{
    const json_t *notify = json_object_get (body, "notify");
    const json_t *runtime = json_object_get (body, "max_runtime_s");
    const char *input = s_text (body, "input");
    argos_job_t *job = argos_job_new (
        id, s_text (body, "session_id"), owner, s_text (body, "run_id"), s_text (body, "command"));
    free (job->workdir);
    job->workdir = strdup (s_text (body, "workdir"));
    if (!job->workdir)
        abort ();
    job->notify = !notify || json_is_true (notify);
    job->process = json_is_true (json_object_get (body, "process"));
    job->input = *input && strcmp (input, "none") != 0;
    job->patterns = json_array_size (json_object_get (body, "watch_patterns")) > 0;
    job->max_runtime_s = runtime ? json_integer_value (runtime) : self->runtime_s;
    job->started_at = argos_shell_wall ();
    job->round = argos_jobs_round (&self->table, job->run);
    argos_jobs_add (&self->table, job);
    return job;
}

//  What stays of the message, for a start after a crash and for the telling.

static json_t *
s_task (const jobs_t *self, const json_t *body)
{
    static const char *const names[] = { "command", "workdir", "env", "input", "watch_patterns",
        "source", "reply_to" };
    json_t *task = json_object ();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get (body, names[i]);
        if (value)
            json_object_set (task, names[i], value);
    }
    json_object_set_new (task, "boot", json_string (self->boot));
    return task;
}

static void
s_refuse (
    jobs_t *self, const asker_t *asker, argos_lease_t *lease, argos_err_t code, const char *reason)
{
    jobs_refuse (self, asker, code, reason);
    if (lease && code == ARGOS_BUSY)
        argos_lease_release (&lease, RETRY_MS, true, NULL);
    else if (lease)
        argos_lease_release (&lease, 0, false, "invalid");
}

//  The id that is asked for, else one made of who asks and the id of the message.

static void
s_id (const json_t *body, const char *from, const char *id, char target[static ARGOS_DIGEST_SIZE])
{
    const char *own = s_text (body, "id");
    argos_parts_digest (from, id, target);
    if (argos_job_id (own, target))
        return;
    target[ARGOS_JOB_ID_SIZE - 1] = 0;
}

void
jobs_start (jobs_t *self, const json_t *body, const asker_t *asker, const char *from,
    const char *id, argos_lease_t *lease)
{
    char name[ARGOS_DIGEST_SIZE], base[ARGOS_NAME_MAX + 1];
    argos_job_t *drop;
    const char *problem = argos_job_problem (body), *session = s_text (body, "session_id");
    const char *owner = s_text (body, "owner");
    s_id (body, from, id, name);
    argos_name_base (from, base);
    argos_job_t *known = jobs_find (self, name);
    if (problem) {
        s_refuse (self, asker, lease, ARGOS_INVALID, problem);
        return;
    }
    if (known) {
        s_answer_job (self, asker, known, "exists");
        if (lease)
            argos_lease_done (lease, NULL, 0, NULL, 0, NULL, NULL);
        return;
    }
    //  Who asks for himself owns it; for a session it is whoever owns the turn
    if (!*owner && !*session)
        owner = base;
    problem = argos_jobs_room (&self->table, session, owner, argos_shell_wall (), &drop);
    if (problem) {
        s_refuse (self, asker, lease, ARGOS_BUSY, problem);
        return;
    }
    if (drop)
        jobs_drop (self, drop);
    start_t *start = calloc (1, sizeof *start);
    if (!start)
        abort ();
    argos_job_t *job = s_job (self, body, name, owner);
    *start =
        (start_t){ .jobs = self, .asker = *asker, .lease = lease, .task = s_task (self, body) };
    if (lease)
        argos_lease_set_data (lease, start);
    memcpy (start->job, job->id, sizeof start->job);
    bool run = s_read (start, "run.get", "run_id", job->run);
    bool row = s_read (start, "session.get", "id", job->session);
    if (!run && !row)
        s_commit (start, job);
}
