//  argos_jobs_node - the jobs of other nodes: each runs those of the tasks that are at home there.
//
//  A job is started, watched and ended by the jobs actor of its node alone; its record names it.
//  Who is asked for one of another node finds that in the records and passes the question on.
//  Limit: a list tells of the others what their records say.

#include "argos_jobs_priv.h"

#include "argos_json_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES "job.node" //  Space of the records that say which nodes have jobs
#define PAGE 200         //  Records of a page

//  A look into the records

typedef struct {
    jobs_t *jobs;                  //  Whose
    asker_t asker;                 //  Who waits
    char type[ARGOS_TYPE_MAX + 1]; //  What was asked for
    json_t *body;                  //  Its body
    json_t *list;                  //  job.list: what is here
    argos_jobs_t others;           //  Those of other nodes
    char after[ARGOS_JOB_ID_SIZE]; //  The last record
} look_t;

bool
jobs_is_here (const jobs_t *self, const argos_job_t *job)
{
    char path[PATH_MAX + 64];
    if (*job->node)
        return strcmp (job->node, self->node) == 0;
    //  One of a time when there was one node with jobs
    snprintf (path, sizeof path, "%s/%s", self->folder, job->id);
    return strcmp (self->node, ARGOS_NODE_CORE) == 0 || access (path, F_OK) == 0;
}

void
jobs_tell_node (jobs_t *self)
{
    argos_peer_part_t part = { .type = "record.put",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:s, s:s, s:{}}", "space", NODES, "key", self->node, "value") };
    argos_peer_send (self->peer, &part, NULL, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  Passing on

typedef struct {
    jobs_t *jobs;               //  Whose
    asker_t asker;              //  Who waits
    char node[ARGOS_NODE_SIZE]; //  Who was asked
} pass_t;

static void
s_on_passed (void *arg, const argos_peer_answer_t *answer)
{
    pass_t pass = *(pass_t *) arg;
    char reason[160];
    free (arg);
    snprintf (reason, sizeof reason, "the node %s, where that runs, is not there", pass.node);
    if (answer->code == ARGOS_OK)
        jobs_answer (pass.jobs, &pass.asker, json_incref (answer->body));
    else
        jobs_refuse (pass.jobs, &pass.asker, answer->code,
            answer->code == ARGOS_NO_PEER || answer->code == ARGOS_GONE ? reason : answer->reason);
}

void
jobs_pass_on (jobs_t *self, const asker_t *asker, const char *node, const char *type, json_t *body)
{
    char job[ARGOS_NAME_MAX + 1], to[ARGOS_TO_MAX + 1];
    pass_t *pass = calloc (1, sizeof *pass);
    if (!pass)
        abort ();
    *pass = (pass_t){ .jobs = self, .asker = *asker };
    snprintf (pass->node, sizeof pass->node, "%s", node);
    argos_node_service ("job", node, job);
    snprintf (to, sizeof to, "service:%s", job);
    argos_peer_part_t part = {
        .type = type, .to = to, .ttl_ms = JOBS_WAIT_MAX_MS + JOBS_READ_MS, .body = body
    };
    argos_err_t code = argos_peer_send (self->peer, &part, s_on_passed, pass);
    if (code != ARGOS_OK)
        s_on_passed (pass, &(argos_peer_answer_t){ .code = code, .reason = argos_err_text (code) });
}

//  ------------------------------------------------------------------------------------------------
//  Looking

static void s_page (look_t *self);

//  The newest of both, as many as were asked for.

static void
s_merge (look_t *self)
{
    const json_t *limit = json_object_get (self->body, "limit");
    size_t max = limit ? (size_t) json_integer_value (limit) : 100;
    const char *session = argos_json_find_text (self->body, "session_id"),
               *owner = argos_json_find_text (self->body, "owner");
    size_t at = 0;
    //  Both are in order of their starts; the table begins with the oldest
    for (const argos_job_t *job = self->others.list ? self->others.list->prev : NULL; job;
         job = job == self->others.list ? NULL : job->prev) {
        if (!argos_jobs_sees (job, session, owner))
            continue;
        while (at < json_array_size (self->list) &&
               json_integer_value (json_object_get (
                   json_array_get (self->list, at), "started_at")) >= job->started_at)
            at++;
        if (at >= max)
            break;
        json_array_insert_new (self->list, at, argos_job_record (job));
    }
    while (json_array_size (self->list) > max)
        json_array_remove (self->list, max);
    jobs_answer (self->jobs, &self->asker, json_pack ("{s:O}", "jobs", self->list));
}

static void
s_find (look_t *self)
{
    const char *id = argos_json_find_text (self->body, "id");
    argos_job_t *job =
        argos_jobs_find (&self->others, id, argos_json_find_text (self->body, "session_id"),
            argos_json_find_text (self->body, "owner"));
    if (job)
        jobs_pass_on (self->jobs, &self->asker, job->node, self->type, json_incref (self->body));
    else
        jobs_refuse (self->jobs, &self->asker, ARGOS_NOT_FOUND, "there is no such job");
}

static void
s_end (look_t *self)
{
    json_decref (self->body);
    json_decref (self->list);
    argos_jobs_clear (&self->others);
    free (self);
}

static void
s_on_page (void *arg, const argos_peer_answer_t *answer)
{
    look_t *self = arg;
    size_t index;
    const json_t *record;
    json_array_foreach (json_object_get (answer->body, "records"), index, record) {
        argos_job_t *job = argos_job_load (json_object_get (record, "value"));
        if (job && *job->node && !jobs_is_here (self->jobs, job))
            argos_jobs_add (&self->others, job);
        else
            argos_job_destroy (&job);
        snprintf (self->after, sizeof self->after, "%s", argos_json_find_text (record, "key"));
    }
    if (self->jobs->stopping)
        s_end (self);
    else if (answer->code == ARGOS_OK && json_object_get (answer->body, "next"))
        s_page (self);
    else {
        if (answer->code != ARGOS_OK)
            jobs_refuse (self->jobs, &self->asker, answer->code, answer->reason);
        else if (self->list)
            s_merge (self);
        else
            s_find (self);
        s_end (self);
    }
}

static void
s_read (look_t *self, const char *space, argos_peer_answer_fn *fn)
{
    argos_peer_part_t part = { .type = "record.list",
        .to = "store",
        .ttl_ms = JOBS_READ_MS,
        .body = json_pack ("{s:s, s:i}", "space", space, "limit", PAGE) };
    if (*self->after)
        json_object_set_new (part.body, "after", json_string (self->after));
    argos_err_t code = argos_peer_send (self->jobs->peer, &part, fn, self);
    if (code != ARGOS_OK)
        fn (self, &(argos_peer_answer_t){ .code = code, .reason = argos_err_text (code) });
}

static void
s_page (look_t *self)
{
    s_read (self, ARGOS_JOB_SPACE, s_on_page);
}

static void
s_on_nodes (void *arg, const argos_peer_answer_t *answer)
{
    look_t *self = arg;
    if (answer->code == ARGOS_OK && !self->jobs->stopping &&
        json_array_size (json_object_get (answer->body, "records")) > 1) {
        s_page (self);
        return;
    }
    jobs_answer (self->jobs, &self->asker, json_pack ("{s:O}", "jobs", self->list));
    s_end (self);
}

static look_t *
s_new (jobs_t *jobs, const asker_t *asker, const json_t *body)
{
    look_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (look_t){ .jobs = jobs, .asker = *asker, .body = json_deep_copy (body) };
    return self;
}

void
jobs_list_all (jobs_t *self, const asker_t *asker, const json_t *body, json_t *list)
{
    look_t *look = s_new (self, asker, body);
    look->list = list;
    s_read (look, NODES, s_on_nodes);
}

void
jobs_ask_others (
    jobs_t *self, const asker_t *asker, const char *type, const json_t *body, const char *id)
{
    if (!id) {
        jobs_refuse (self, asker, ARGOS_NOT_FOUND, "there is no such job");
        return;
    }
    look_t *look = s_new (self, asker, body);
    snprintf (look->type, sizeof look->type, "%s", type);
    s_page (look);
}
