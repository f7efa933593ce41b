//  argos_jobs_tell - what is told of jobs: to the session, as a turn; to people, as a notice.
//
//  Invariant: the end of a job is told by one turn.request in the lane of its session, which the
//  record names in the same commit (`followup`), so it is told once; its own `done` marks the job
//  as followed up. While one telling of a session is not over the next waits, and takes all that
//  has come to an end meanwhile, at most JOBS_TELL_MAX. When the session has ended and nothing goes
//  on with it (/new), or after too many rounds, the chat is told by a notice in the commit that
//  marks the job. What can't be told because the session is gone is kept and listed. Limit: a watch
//  notice that is under way when the daemon is killed is lost.

#include "argos_jobs_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define RETRY_MS 1000      //  First pause, doubled each time ...
#define RETRY_MAX_MS 60000 //  ... up to this
#define TELLS_MAX 1024     //  Under way; beyond, notices are left out

static void s_go (tell_t *tell);

static tell_t *
s_new (jobs_t *self, tell_kind_t kind, const argos_job_t *job)
{
    tell_t *tell = calloc (1, sizeof *tell);
    if (!tell)
        abort ();
    tell->jobs = self;
    tell->kind = kind;
    tell->session = strdup (job->session);
    if (!tell->session)
        abort ();
    memcpy (tell->job[0], job->id, sizeof tell->job[0]);
    tell->count = 1;
    tell->delay = RETRY_MS;
    DL_APPEND (self->tells, tell);
    return tell;
}

static void
s_forget (tell_t *tell)
{
    json_decref (tell->row);
    tell->row = NULL;
    for (size_t i = 0; i < JOBS_TELL_MAX; i++) {
        json_decref (tell->tasks[i]);
        tell->tasks[i] = NULL;
    }
    tell->asked = 0;
}

void
tell_destroy (tell_t *tell)
{
    DL_DELETE (tell->jobs->tells, tell);
    s_forget (tell);
    free (tell->session);
    free (tell->text);
    free (tell);
}

//  Once more, later.

void
tell_later (tell_t *tell)
{
    jobs_t *self = tell->jobs;
    if (self->stopping) {
        tell_destroy (tell);
        return;
    }
    s_forget (tell);
    tell->due = argos_shell_now () + tell->delay;
    tell->delay = tell->delay * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : tell->delay * 2;
    jobs_arm (self);
}

void
jobs_tell_clear (jobs_t *self)
{
    while (self->tells)
        tell_destroy (self->tells);
}

void
jobs_tell_due (jobs_t *self, int64_t now)
{
    tell_t *tell, *next;
    DL_FOREACH_SAFE (self->tells, tell, next)
        if (tell->due && tell->due <= now) {
            tell->due = 0;
            s_go (tell);
        }
}

int64_t
jobs_tell_next (const jobs_t *self)
{
    const tell_t *tell;
    int64_t due = INT64_MAX;
    DL_FOREACH (self->tells, tell)
        if (tell->due && tell->due < due)
            due = tell->due;
    return due;
}

//  ------------------------------------------------------------------------------------------------
//  Reading

static void
s_on_task (void *arg, const argos_peer_answer_t *answer)
{
    tell_t *tell = arg;
    if (tell->jobs->stopping || answer->code != ARGOS_OK) {
        tell_later (tell);
        return;
    }
    const json_t *record = json_object_get (answer->body, "record");
    json_t *value = json_object_get (record, "value");
    tell->tasks[tell->asked] = value ? json_incref (value) : json_object ();
    tell->asked++;
    s_go (tell);
}

static void
s_on_lineage (void *arg, const argos_peer_answer_t *answer)
{
    tell_t *tell = arg;
    const char *tip = json_string_value (json_object_get (answer->body, "tip"));
    if (tell->jobs->stopping || answer->code != ARGOS_OK)
        tell_later (tell);
    else {
        tell->ended = !tip || strcmp (tip, tell_session (tell)) == 0;
        if (!tell->ended)
            json_object_set_new (tell->row, "id", json_string (tip));
        s_go (tell);
    }
}

static void
s_ask (tell_t *tell, const char *type, json_t *body, argos_peer_answer_fn *fn)
{
    argos_peer_part_t part = { .type = type, .to = "store", .ttl_ms = JOBS_READ_MS, .body = body };
    if (argos_peer_send (tell->jobs->peer, &part, fn, tell) != ARGOS_OK)
        tell_later (tell);
}

static void
s_on_session (void *arg, const argos_peer_answer_t *answer)
{
    tell_t *tell = arg;
    json_t *row = json_object_get (answer->body, "session");
    if (tell->jobs->stopping || answer->code != ARGOS_OK)
        tell_later (tell);
    else if (!json_is_object (row))
        tell_give_up (tell, "there is no such session");
    else {
        tell->row = json_deep_copy (row);
        if (json_is_integer (json_object_get (row, "ended_at")))
            s_ask (tell, "session.lineage", json_pack ("{s:s}", "id", tell->session), s_on_lineage);
        else
            s_go (tell);
    }
}

//  The next step.

static void
s_go (tell_t *tell)
{
    if (!tell->row)
        s_ask (tell, "session.get", json_pack ("{s:s}", "id", tell->session), s_on_session);
    else if (tell->asked < tell->count)
        s_ask (tell, "record.get",
            json_pack ("{s:s, s:s}", "space", ARGOS_JOB_TASKS, "key", tell->job[tell->asked]),
            s_on_task);
    else
        tell_finish (tell);
}

//  ------------------------------------------------------------------------------------------------

static size_t
s_under_way (const jobs_t *self, const char *session)
{
    const tell_t *tell;
    size_t count = 0;
    DL_FOREACH (self->tells, tell)
        count += !session || (tell->kind == TELL_END && strcmp (tell->session, session) == 0);
    return count;
}

void
jobs_tell_session (jobs_t *self, const char *session)
{
    argos_job_t *list[JOBS_TELL_MAX];
    if (s_under_way (self, session))
        return; //  It comes back here when that is over
    size_t count = argos_jobs_to_tell (&self->table, session, list, JOBS_TELL_MAX);
    if (!count)
        return;
    tell_t *tell = s_new (self, TELL_END, list[0]);
    for (size_t i = 0; i < count; i++)
        memcpy (tell->job[i], list[i]->id, sizeof tell->job[i]);
    tell->count = count;
    s_go (tell);
}

void
jobs_tell_notice (jobs_t *self, argos_job_t *job, char *text)
{
    if (!*job->session || s_under_way (self, NULL) >= TELLS_MAX) {
        free (text);
        return;
    }
    tell_t *tell = s_new (self, TELL_NOTICE, job);
    tell->text = text;
    s_go (tell);
}

void
jobs_tell_watch (jobs_t *self, argos_job_t *job, const char *text)
{
    if (!*job->session || s_under_way (self, NULL) >= TELLS_MAX)
        return;
    tell_t *tell = s_new (self, TELL_WATCH, job);
    tell->text = strdup (text);
    if (!tell->text)
        abort ();
    s_go (tell);
}

//  ------------------------------------------------------------------------------------------------
//  The runs that tell

void
jobs_follow_run (jobs_t *self, const char *run)
{
    char topic[64];
    snprintf (topic, sizeof topic, "run.%s", run);
    argos_peer_subscribe (self->peer, topic, 0);
}

//  A run is over: its jobs are followed up, as its own done has stored in their records.

static void
s_run_over (jobs_t *self, const char *run)
{
    char topic[64];
    char *session = NULL;
    argos_job_t *job;
    DL_FOREACH (self->table.list, job)
        if (argos_job_pending (job) && strcmp (job->followup, run) == 0) {
            job->followed_up = true;
            free (session);
            session = strdup (job->session);
        }
    snprintf (topic, sizeof topic, "run.%s", run);
    argos_peer_unsubscribe (self->peer, topic);
    if (session)
        jobs_tell_session (self, session);
    free (session);
    jobs_arm (self);
}

void
jobs_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    if (msg->last && strncmp (topic, "run.", 4) == 0)
        s_run_over (ctx, topic + 4);
}

typedef struct {
    jobs_t *jobs; //  Whose
    char run[37]; //  Which
} over_t;

static void
s_on_run (void *arg, const argos_peer_answer_t *answer)
{
    over_t over = *(over_t *) arg;
    free (arg);
    const json_t *run = json_object_get (answer->body, "run");
    const char *state = json_string_value (json_object_get (run, "state"));
    if (over.jobs->stopping || answer->code != ARGOS_OK)
        return;
    if (!state || strcmp (state, "completed") == 0 || strcmp (state, "failed") == 0 ||
        strcmp (state, "cancelled") == 0)
        s_run_over (over.jobs, over.run);
}

//  All that is kept of the topic has been read. A run that is over may have left none.

void
jobs_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    (void) n;
    jobs_t *self = ctx;
    if (strncmp (topic, "run.", 4) != 0)
        return;
    if (closed) {
        s_run_over (self, topic + 4);
        return;
    }
    over_t *over = calloc (1, sizeof *over);
    if (!over)
        abort ();
    over->jobs = self;
    snprintf (over->run, sizeof over->run, "%s", topic + 4);
    argos_peer_part_t part = { .type = "run.get",
        .to = "store",
        .ttl_ms = JOBS_READ_MS,
        .body = json_pack ("{s:s}", "run_id", over->run) };
    if (argos_peer_send (self->peer, &part, s_on_run, over) != ARGOS_OK)
        free (over);
}
