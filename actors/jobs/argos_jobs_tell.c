//  argos_jobs_tell - what is told of jobs: to the session, as a turn; to people, as a notice.
//
//  Invariant: the end of a job is told by one turn.request in the lane of its session, which the
//  record names in the same commit (`followup`), so it is told once; its own `done` marks the job
//  as followed up. While one telling of a session is not over the next waits, and takes all that
//  has come to an end meanwhile, at most JOBS_TELL_MAX. What can't be told because the session is
//  gone, or after too many rounds, is kept and listed. Limit: a watch notice that is under way when
//  the daemon is killed is lost.

#include "argos_jobs_priv.h"

#include "argos_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define RETRY_MS 1000           //  First pause, doubled each time ...
#define RETRY_MAX_MS 60000      //  ... up to this
#define TELLS_MAX 1024          //  Under way; beyond, notices are left out
#define OUTPUT_BYTES 65536      //  Of a job, read for its telling
#define OUTPUT_CHARACTERS 16000 //  Of these, told
#define ITERATIONS 12           //  Calls of the model in such a turn
#define PARTS_MAX 16            //  Of a commit

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

static void
s_destroy (tell_t *tell)
{
    DL_DELETE (tell->jobs->tells, tell);
    s_forget (tell);
    free (tell->session);
    free (tell->text);
    free (tell);
}

//  Once more, later.

static void
s_later (tell_t *tell)
{
    jobs_t *self = tell->jobs;
    if (self->stopping) {
        s_destroy (tell);
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
        s_destroy (self->tells);
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
//  The words

static const char *
s_command (const tell_t *tell, size_t index, const argos_job_t *job)
{
    const char *command = json_string_value (json_object_get (tell->tasks[index], "command"));
    return command ? command : job->command;
}

static char *
s_output (const jobs_t *self, const argos_job_t *job)
{
    argos_job_piece_t first, last;
    argos_job_file_output (self->folder, job->id, 0, OUTPUT_BYTES, &first);
    char *text;
    if (first.next >= first.total)
        text = argos_job_clean (first.data, first.size);
    else {
        argos_job_file_output (self->folder, job->id, -1, OUTPUT_BYTES, &last);
        char *head = argos_job_clean (first.data, first.size);
        char *tail = argos_job_clean (last.data, last.size);
        if (asprintf (&text, "%s%s", head, tail) < 0)
            abort ();
        free (head);
        free (tail);
        free (last.data);
    }
    free (first.data);
    char *cut = argos_job_middle_cut (text, OUTPUT_CHARACTERS);
    free (text);
    return cut;
}

//  What the model is told.

static char *
s_words (const tell_t *tell)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream (&text, &size);
    if (!out)
        abort ();
    if (tell->count > 1)
        fprintf (out, "[%zu background jobs have ended]\n\n", tell->count);
    for (size_t i = 0; i < tell->count; i++) {
        const argos_job_t *job = jobs_find (tell->jobs, tell->job[i]);
        if (!job)
            continue;
        char *output = s_output (tell->jobs, job);
        char *words = argos_job_followup_text (job, s_command (tell, i, job), output, tell->count);
        fprintf (out, "%s%s", i ? "\n\n" : "", words);
        free (words);
        free (output);
    }
    fclose (out);
    return text;
}

//  ------------------------------------------------------------------------------------------------
//  The commit

static void
s_mark (jobs_t *self, argos_job_t *job)
{
    job->followed_up = true;
    jobs_store (self, job);
}

//  The jobs of a telling are handled without it.

static void
s_give_up (tell_t *tell, const char *why)
{
    jobs_t *self = tell->jobs;
    for (size_t i = 0; i < tell->count; i++) {
        argos_job_t *job = jobs_find (self, tell->job[i]);
        argos_log (ARGOS_LOG_WARN, JOBS_NAME, "not told", "job=%s session=\"%s\" reason=\"%s\"",
            tell->job[i], tell->session, why);
        if (job && tell->kind == TELL_END)
            s_mark (self, job);
    }
    s_destroy (tell);
    jobs_arm (self);
}

static void
s_on_committed (void *arg, const argos_peer_answer_t *answer)
{
    tell_t *tell = arg;
    jobs_t *self = tell->jobs;
    if (self->stopping || answer->code != ARGOS_OK) {
        if (!self->stopping)
            argos_log (ARGOS_LOG_WARN, JOBS_NAME, "telling refused", "job=%s reason=\"%s\"",
                tell->job[0], answer->reason);
        //  An id that is used was told before, by a commit whose answer was lost
        if (answer->code == ARGOS_CONFLICT || answer->code == ARGOS_INVALID ||
            answer->code == ARGOS_DENIED || answer->code == ARGOS_NO_SERVICE)
            s_give_up (tell, answer->reason);
        else
            s_later (tell);
        return;
    }
    for (size_t i = 0; tell->kind == TELL_END && i < tell->count; i++) {
        argos_job_t *job = jobs_find (self, tell->job[i]);
        if (!job)
            continue;
        free (job->followup);
        job->followup = strdup (tell->run);
        if (!job->followup)
            abort ();
    }
    if (tell->kind == TELL_END)
        jobs_follow_run (self, tell->run);
    s_destroy (tell);
}

static void
s_commit (tell_t *tell, json_t *parts)
{
    argos_peer_part_t list[PARTS_MAX];
    size_t count = json_array_size (parts);
    for (size_t i = 0; i < count && i < PARTS_MAX; i++) {
        const json_t *part = json_array_get (parts, i);
        list[i] = (argos_peer_part_t){
            .type = json_string_value (json_object_get (part, "type")),
            .to = json_string_value (json_object_get (part, "to")),
            .id = json_string_value (json_object_get (part, "id")),
            .key = json_string_value (json_object_get (part, "key")),
            .durable = json_is_true (json_object_get (part, "durable")),
            .body = json_incref (json_object_get (part, "body")),
        };
    }
    argos_err_t code =
        argos_peer_commit (tell->jobs->peer, NULL, list, count, s_on_committed, tell);
    json_decref (parts);
    if (code != ARGOS_OK)
        s_later (tell);
}

//  Where the job was started from, or else where its session is.

static json_t *
s_source (const tell_t *tell)
{
    json_t *source = json_object_get (tell->tasks[0], "source");
    return json_is_object (source) ? source : json_object_get (tell->row, "source");
}

static const char *
s_reply_to (const tell_t *tell)
{
    return json_string_value (json_object_get (tell->tasks[0], "reply_to"));
}

//  The session where it goes on: that of the job, or what continues it.

static const char *
s_session (const tell_t *tell)
{
    const char *id = json_string_value (json_object_get (tell->row, "id"));
    return id ? id : tell->session;
}

//  The rows of the jobs as they are when their telling is on its way, and, for the turn, as they
//  are when it is over.

static json_t *
s_rows (tell_t *tell, json_t *parts)
{
    json_t *settle = json_array ();
    for (size_t i = 0; i < tell->count; i++) {
        argos_job_t *job = jobs_find (tell->jobs, tell->job[i]);
        json_t *value = job ? argos_job_record (job) : NULL;
        if (!value)
            continue;
        json_object_set_new (value, "followup", json_string (tell->run));
        argos_parts_store_new (parts, "record.put",
            json_pack (
                "{s:s, s:s, s:O}", "space", ARGOS_JOB_SPACE, "key", job->id, "value", value));
        json_t *later = json_copy (value);
        json_object_set_new (later, "followed_up", json_true ());
        json_array_append_new (settle, json_pack ("{s:s, s:s, s:o}", "space", ARGOS_JOB_SPACE,
                                           "key", job->id, "value", later));
        json_decref (value);
    }
    return settle;
}

//  A turn in the lane of the session, with its run.

static void
s_commit_turn (tell_t *tell, const char *text)
{
    char service[ARGOS_NAME_MAX + 1], input[256], digest[ARGOS_DIGEST_SIZE], id[96];
    const argos_job_t *job = jobs_find (tell->jobs, tell->job[0]);
    json_t *parts = json_array (), *source = s_source (tell);
    //  The same for the same job at every attempt; a watch has many
    if (tell->kind == TELL_WATCH)
        snprintf (id, sizeof id, "watch.%s.%lld", tell->job[0], (long long) argos_shell_wall ());
    else
        snprintf (id, sizeof id, "over.%s", tell->job[0]);
    argos_parts_digest (JOBS_NAME, id, digest);
    snprintf (tell->run, sizeof tell->run, "run_%s", digest);
    json_t *settle = tell->kind == TELL_END ? s_rows (tell, parts) : NULL;
    argos_parts_cut (text, input, sizeof input);
    json_t *row = json_pack ("{s:s, s:s, s:s, s:s}", "run_id", tell->run, "session_id",
        s_session (tell), "input", input, "kind", "job");
    if (job && *job->owner)
        json_object_set_new (row, "owner", json_string (job->owner));
    argos_parts_store_new (parts, "run.create", row);
    json_t *body = json_pack ("{s:s, s:s, s:s, s:O, s:i}", "run_id", tell->run, "session_id",
        s_session (tell), "text", text, "source", source, "max_iterations", ITERATIONS);
    if (argos_parts_service (source, service))
        json_object_set_new (body, "deliver", json_string (service));
    if (s_reply_to (tell))
        json_object_set_new (body, "reply_to", json_string (s_reply_to (tell)));
    if (settle)
        json_object_set_new (body, "settle", settle);
    argos_parts_turn_new (parts, "turn.request", tell->run, s_session (tell), false, body);
    argos_parts_out (parts, source, s_reply_to (tell), tell->run, "queued", NULL);
    s_commit (tell, parts);
}

//  A word to the chat itself.

static void
s_commit_notice (tell_t *tell, const char *text)
{
    char id[96];
    json_t *parts = json_array ();
    snprintf (id, sizeof id, "job.%s.%lld", tell->job[0], (long long) argos_shell_wall ());
    argos_parts_deliver (parts, s_source (tell), id, "notice", text, s_reply_to (tell));
    if (json_array_size (parts)) {
        s_commit (tell, parts);
        return;
    }
    json_decref (parts);
    s_destroy (tell); //  A chat that nothing is delivered to
}

//  Everything is known.

static void
s_finish (tell_t *tell)
{
    jobs_t *self = tell->jobs;
    argos_job_t *job = jobs_find (self, tell->job[0]);
    if (!json_is_object (s_source (tell))) {
        s_give_up (tell, "nobody knows where its session is");
        return;
    }
    if (tell->kind == TELL_NOTICE)
        s_commit_notice (tell, tell->text);
    else if (tell->kind == TELL_WATCH)
        s_commit_turn (tell, tell->text);
    else if (job && job->round > self->table.limits.rounds) {
        char *words = s_words (tell);
        for (size_t i = 0; i < tell->count; i++)
            if ((job = jobs_find (self, tell->job[i])))
                s_mark (self, job);
        tell->kind = TELL_NOTICE;
        s_commit_notice (tell, words);
        free (words);
    }
    else {
        char *words = s_words (tell);
        s_commit_turn (tell, words);
        free (words);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Reading

static void
s_on_task (void *arg, const argos_peer_answer_t *answer)
{
    tell_t *tell = arg;
    if (tell->jobs->stopping || answer->code != ARGOS_OK) {
        s_later (tell);
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
        s_later (tell);
    else if (!tip || strcmp (tip, s_session (tell)) == 0)
        s_give_up (tell, "its session has ended");
    else {
        json_object_set_new (tell->row, "id", json_string (tip));
        s_go (tell);
    }
}

static void
s_ask (tell_t *tell, const char *type, json_t *body, argos_peer_answer_fn *fn)
{
    argos_peer_part_t part = { .type = type, .to = "store", .ttl_ms = JOBS_READ_MS, .body = body };
    if (argos_peer_send (tell->jobs->peer, &part, fn, tell) != ARGOS_OK)
        s_later (tell);
}

static void
s_on_session (void *arg, const argos_peer_answer_t *answer)
{
    tell_t *tell = arg;
    json_t *row = json_object_get (answer->body, "session");
    if (tell->jobs->stopping || answer->code != ARGOS_OK)
        s_later (tell);
    else if (!json_is_object (row))
        s_give_up (tell, "there is no such session");
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
        s_finish (tell);
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
