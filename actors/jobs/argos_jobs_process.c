//  argos_jobs_process - the process of a job, from its start to its end.
//
//  Invariant: whoever finds a record that runs without a process starts it: argos-job sees to it
//  that it runs once. So a job that was accepted runs, and none runs twice, whenever the daemon is
//  killed.

#include "argos_jobs_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES_MAX 3        //  Starts of argos-job that leave no trace
#define NOTICE_BYTES 65536 //  Of the output, read for a notice

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

void
jobs_spawn (jobs_t *self, argos_job_t *job, const json_t *task)
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
        jobs_spawn (again.jobs, job, task);
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
