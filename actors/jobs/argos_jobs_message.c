//  argos_jobs_message - what is asked about jobs by messages.
//
//  Invariant: a job of another session or owner than the one that is named is answered like none.

#include "argos_jobs_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define FOLLOW_MS 60000 //  How long a follower is served, unless he asks again

static void
s_list (jobs_t *self, const asker_t *asker, const json_t *body)
{
    const char *session = json_string_value (json_object_get (body, "session_id"));
    const char *owner = json_string_value (json_object_get (body, "owner"));
    const json_t *limit = json_object_get (body, "limit");
    size_t max = limit ? (size_t) json_integer_value (limit) : 100;
    json_t *list = json_array ();
    //  The newest first
    for (const argos_job_t *job = self->table.list ? self->table.list->prev : NULL;
         job && json_array_size (list) < max; job = job == self->table.list ? NULL : job->prev)
        if (argos_jobs_sees (job, session, owner))
            json_array_append_new (list, argos_job_record (job));
    jobs_list_all (self, asker, body, list);
}

static void
s_raw_output (jobs_t *self, const asker_t *asker, argos_job_t *job, const json_t *body)
{
    const json_t *from = json_object_get (body, "from"), *limit = json_object_get (body, "limit");
    if (json_is_true (json_object_get (body, "follow")))
        jobs_tail (self, job, NULL, FOLLOW_MS);
    jobs_ask_output (self, asker, job, from ? json_integer_value (from) : -1,
        limit ? json_integer_value (limit) : JOBS_PIECE);
}

static void
s_raw_write (jobs_t *self, const asker_t *asker, argos_job_t *job, const json_t *body)
{
    const char *data = json_string_value (json_object_get (body, "data"));
    if (json_is_true (json_object_get (body, "close")))
        jobs_ask_close (self, asker, job);
    else
        jobs_ask_write (self, asker, job, data ? data : "", false);
}

static void
s_raw_signal (jobs_t *self, const asker_t *asker, argos_job_t *job, const json_t *body)
{
    int number = (int) json_integer_value (json_object_get (body, "signal"));
    int error = job->status == ARGOS_JOB_RUNNING ? jobs_ask_signal (job, SIGUSR1, number) : ESRCH;
    if (error)
        jobs_refuse (self, asker, ARGOS_INVALID, "the job does not run");
    else
        jobs_answer (self, asker,
            json_pack ("{s:o, s:s}", "job", argos_job_record (job), "outcome", "sent"));
}

static void
s_raw_kill (jobs_t *self, const asker_t *asker, argos_job_t *job, const json_t *body)
{
    (void) body;
    jobs_ask_kill (self, asker, job);
}

static void
s_raw_wait (jobs_t *self, const asker_t *asker, argos_job_t *job, const json_t *body)
{
    const json_t *timeout = json_object_get (body, "timeout_ms");
    jobs_ask_wait (self, asker, job, timeout ? json_integer_value (timeout) : JOBS_WAIT_MAX_MS);
}

static const struct {
    const char *type;                                                      //  Message
    argos_jobs_op_t op;                                                    //  What it asks for
    void (*fn) (jobs_t *, const asker_t *, argos_job_t *, const json_t *); //  Who does it
} s_messages[] = {
    { "job.output", ARGOS_JOBS_OUTPUT, s_raw_output },
    { "job.kill", ARGOS_JOBS_KILL, s_raw_kill },
    { "job.wait", ARGOS_JOBS_WAIT, s_raw_wait },
    { "job.signal", ARGOS_JOBS_SIGNAL, s_raw_signal },
    { "job.write", ARGOS_JOBS_WRITE, s_raw_write },
};

static void
s_message (jobs_t *self, asker_t *asker, const argos_peer_msg_t *msg)
{
    const char *id = json_string_value (json_object_get (msg->body, "id"));
    for (size_t i = 0; i < sizeof s_messages / sizeof *s_messages; i++) {
        if (strcmp (msg->type, s_messages[i].type) != 0)
            continue;
        argos_job_t *job = id ? argos_jobs_find (&self->table, id,
                                    json_string_value (json_object_get (msg->body, "session_id")),
                                    json_string_value (json_object_get (msg->body, "owner")))
                              : NULL;
        asker->op = s_messages[i].op;
        if (job)
            s_messages[i].fn (self, asker, job, msg->body);
        else
            jobs_ask_others (self, asker, msg->type, msg->body, id);
        return;
    }
    if (strcmp (msg->type, "job.list") == 0)
        s_list (self, asker, msg->body);
    else if (strcmp (msg->type, "job.start") == 0)
        jobs_start (self, msg->body, asker, msg->from, msg->id, NULL);
    else
        jobs_refuse (self, asker, ARGOS_UNKNOWN_TYPE, "no such request");
}

void
jobs_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    jobs_t *self = ctx;
    asker_t asker = { .view = ARGOS_JOBS_RAW };
    snprintf (asker.from, sizeof asker.from, "%s", msg->from);
    snprintf (asker.id, sizeof asker.id, "%s", msg->id);
    if (strcmp (msg->type, "tool.cancel") == 0 || strcmp (msg->type, "cancel") == 0)
        jobs_ask_cancel (self, msg);
    else if (!*msg->id || *msg->re)
        return;
    else if (strcmp (msg->type, "tool.call") == 0)
        jobs_ask_tool (self, &asker, msg);
    else
        s_message (self, &asker, msg);
}
