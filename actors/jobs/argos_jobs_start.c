//  argos_jobs_start - from job.start to a record of the job.
//
//  Invariant: the record of a job is stored before its process is started (argos_jobs_process). A
//  job of a session is begun where that is at home; one of a session that is at home nowhere makes
//  that this node, in the same commit.

#include "argos_jobs_priv.h"

#include "argos_json_get.h"
#include "argos_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOME_PART 2   //  Which part of the commit claims the session
#define RETRY_MS 1000 //  Before a message is tried again when something is not available

//  A start under way

typedef struct {
    jobs_t *jobs;                //  Whose
    asker_t asker;               //  Who waits for it
    argos_lease_t *lease;        //  Of the message, NULL = a request
    char job[ARGOS_JOB_ID_SIZE]; //  Which
    json_t *task;                //  What was asked for
    json_t *body;                //  In these words
    char id[ARGOS_ID_MAX + 1];   //  Of the message
    char home[ARGOS_NODE_SIZE];  //  Where the session is at home, "" = nowhere or not known
    bool claims;                 //  It is to be at home here
    int reads;                   //  Answers that are outstanding
} start_t;

static void
s_start_destroy (start_t **self_p)
{
    json_decref ((*self_p)->task);
    json_decref ((*self_p)->body);
    free (*self_p);
    *self_p = NULL;
}

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

static bool s_read (start_t *start, const char *type, const char *name, const char *value);

static void
s_on_stored (void *arg, const argos_peer_answer_t *answer)
{
    start_t *start = arg;
    jobs_t *self = start->jobs;
    argos_job_t *job = self->stopping ? NULL : jobs_find (self, start->job);
    //  Another node was faster with the session
    if (job && answer->code == ARGOS_CONFLICT && answer->part == HOME_PART &&
        s_read (start, "session.get", "id", job->session))
        return;
    if (start->lease && (self->stopping || answer->code == ARGOS_OK))
        argos_lease_set_data (start->lease, NULL); //  on_lost may follow
    if (job && answer->code == ARGOS_OK) {
        jobs_spawn (self, job, start->task);
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
    size_t count = start->claims ? HOME_PART + 1 : HOME_PART;
    argos_peer_part_t parts[HOME_PART + 1] = {
        { .type = "record.put",
            .to = "store",
            .body = json_pack ("{s:s, s:s, s:i, s:o}", "space", ARGOS_JOB_SPACE, "key", job->id,
                "version", 0, "value", argos_job_record (job)) },
        { .type = "record.put",
            .to = "store",
            .body = json_pack ("{s:s, s:s, s:i, s:O}", "space", ARGOS_JOB_TASKS, "key", job->id,
                "version", 0, "value", start->task) },
    };
    if (start->claims)
        parts[HOME_PART] = (argos_peer_part_t){ .type = "session.home",
            .to = "store",
            .body = json_pack ("{s:s, s:s}", "id", job->session, "home", self->node) };
    if (start->lease)
        code = argos_lease_done (start->lease, parts, count, NULL, 0, s_on_stored, start);
    else
        code = argos_peer_commit (self->peer, NULL, parts, count, s_on_stored, start);
    if (code != ARGOS_OK) {
        argos_peer_answer_t answer = { .code = code, .reason = "the store takes nothing" };
        s_on_stored (start, &answer);
    }
}

//  The session is at home on another node: the job is begun there, under the same name.

static void
s_send_on (start_t *start, argos_job_t *job)
{
    jobs_t *self = start->jobs;
    char own[ARGOS_NAME_MAX + 1], to[ARGOS_TO_MAX + 1];
    json_t *body = json_copy (start->body);
    json_object_set_new (body, "id", json_string (job->id));
    argos_node_service ("job", start->home, own);
    snprintf (to, sizeof to, "service:%s", own);
    if (start->lease) {
        argos_peer_part_t part = { .type = "job.start",
            .to = to,
            .id = start->id,
            .key = job->session,
            .durable = true,
            .body = body };
        argos_lease_set_data (start->lease, NULL);
        argos_lease_done (start->lease, &part, 1, NULL, 0, NULL, NULL);
    }
    else
        jobs_pass_on (self, &start->asker, start->home, "job.start", body);
    argos_jobs_remove (&self->table, &job);
    s_start_destroy (&start);
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
    if (session) {
        const char *home = json_string_value (json_object_get (session, "home"));
        snprintf (start->home, sizeof start->home, "%s", home ? home : "");
        start->claims = json_is_object (session) && !home;
    }
    if (--start->reads)
        return;
    if (job && *start->home && strcmp (start->home, self->node) != 0)
        s_send_on (start, job);
    else if (job)
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

static argos_job_t *
s_job (jobs_t *self, const json_t *body, const char *id, const char *owner)
{
    const json_t *notify = json_object_get (body, "notify");
    const json_t *runtime = json_object_get (body, "max_runtime_s");
    const char *input = argos_json_text (body, "input");
    argos_job_t *job = argos_job_new (id, argos_json_text (body, "session_id"), owner,
        argos_json_text (body, "run_id"), argos_json_text (body, "command"));
    free (job->workdir);
    job->workdir = strdup (argos_json_text (body, "workdir"));
    if (!job->workdir)
        abort ();
    job->notify = !notify || json_is_true (notify);
    job->process = json_is_true (json_object_get (body, "process"));
    job->input = *input && strcmp (input, "none") != 0;
    job->patterns = json_array_size (json_object_get (body, "watch_patterns")) > 0;
    job->max_runtime_s = runtime ? json_integer_value (runtime) : self->runtime_s;
    job->started_at = argos_shell_wall ();
    job->round = argos_jobs_round (&self->table, job->run);
    free (job->node);
    job->node = strdup (self->node);
    if (!job->node)
        abort ();
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
    const char *own = argos_json_text (body, "id");
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
    const char *problem = argos_job_problem (body), *session = argos_json_text (body, "session_id");
    const char *owner = argos_json_text (body, "owner");
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
    start->body = json_deep_copy (body);
    snprintf (start->id, sizeof start->id, "%s", id);
    if (lease)
        argos_lease_set_data (lease, start);
    memcpy (start->job, job->id, sizeof start->job);
    bool run = s_read (start, "run.get", "run_id", job->run);
    bool row = s_read (start, "session.get", "id", job->session);
    if (!run && !row)
        s_commit (start, job);
}
