//  argos_jobs_tell_commit - the words and the commit of a telling.
//
//  Invariant: the rows of the jobs, the run and the turn are parts of one commit, so there is all
//  of it or nothing; the ids are made of the job, so it is the same at every attempt.

#include "argos_jobs_priv.h"

#include "argos_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_BYTES 65536      //  Of a job, read for its telling
#define OUTPUT_CHARACTERS 16000 //  Of these, told
#define ITERATIONS 12           //  Calls of the model in such a turn
#define PARTS_MAX 16            //  Of a commit
#define TEXT_MAX 262144         //  Bytes of the text of a turn, for all jobs of a telling
#define WORDS_MAX 1024          //  Of these, for what stands around the output of a job

//  ------------------------------------------------------------------------------------------------
//  The words

static const char *
s_command (const tell_t *tell, size_t index, const argos_job_t *job)
{
    const char *command = json_string_value (json_object_get (tell->tasks[index], "command"));
    return command ? command : job->command;
}

static char *
s_output (const jobs_t *self, const argos_job_t *job, size_t bytes)
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
    char *cut = argos_job_middle_fit (text, OUTPUT_CHARACTERS, bytes);
    free (text);
    return cut;
}

//  What is told: people how each job has ended, the model also what to do about it.

static char *
s_words (const tell_t *tell)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream (&text, &size);
    if (!out)
        abort ();
    if (tell->count > 1 && !tell->people)
        fprintf (out, "[%zu background jobs have ended]\n\n", tell->count);
    for (size_t i = 0; i < tell->count; i++) {
        const argos_job_t *job = jobs_find (tell->jobs, tell->job[i]);
        if (!job)
            continue;
        const char *command = s_command (tell, i, job);
        size_t room = TEXT_MAX / tell->count - WORDS_MAX - strlen (command);
        char *output = s_output (tell->jobs, job, room);
        char *words = tell->people ? argos_job_notice_text (job, output)
                                   : argos_job_followup_text (job, command, output, tell->count);
        fprintf (out, "%s%s", i ? "\n\n" : "", words);
        free (words);
        free (output);
    }
    fclose (out);
    return text;
}

//  ------------------------------------------------------------------------------------------------
//  The commit

//  It is over; what has ended meanwhile is next.

static void
s_over (tell_t *tell)
{
    jobs_t *self = tell->jobs;
    char *session = strdup (tell->session);
    if (!session)
        abort ();
    tell_destroy (tell);
    jobs_tell_session (self, session);
    free (session);
    jobs_arm (self);
}

//  The jobs of a telling are handled without it.

void
tell_give_up (tell_t *tell, const char *why)
{
    jobs_t *self = tell->jobs;
    for (size_t i = 0; i < tell->count; i++) {
        argos_job_t *job = jobs_find (self, tell->job[i]);
        argos_log (ARGOS_LOG_WARN, JOBS_NAME, "not told", "job=%s session=\"%s\" reason=\"%s\"",
            tell->job[i], tell->session, why);
        if (job && tell->kind == TELL_END) {
            job->followed_up = true;
            jobs_store (self, job);
        }
    }
    s_over (tell);
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
            tell_give_up (tell, answer->reason);
        else
            tell_later (tell);
        return;
    }
    for (size_t i = 0; tell->kind == TELL_END && i < tell->count; i++) {
        argos_job_t *job = jobs_find (self, tell->job[i]);
        if (!job)
            continue;
        job->followed_up = tell->people;
        if (tell->people)
            continue;
        free (job->followup);
        job->followup = strdup (tell->run);
        if (!job->followup)
            abort ();
    }
    if (tell->people) {
        s_over (tell);
        return;
    }
    if (tell->kind == TELL_END)
        jobs_follow_run (self, tell->run);
    tell_destroy (tell);
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
        tell_later (tell);
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

const char *
tell_session (const tell_t *tell)
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
        tell_session (tell), "input", input, "kind", "job");
    if (job && *job->owner)
        json_object_set_new (row, "owner", json_string (job->owner));
    argos_parts_store_new (parts, "run.create", row);
    json_t *body = json_pack ("{s:s, s:s, s:s, s:O, s:i}", "run_id", tell->run, "session_id",
        tell_session (tell), "text", text, "source", source, "max_iterations", ITERATIONS);
    if (argos_parts_service (source, service))
        json_object_set_new (body, "deliver", json_string (service));
    if (s_reply_to (tell))
        json_object_set_new (body, "reply_to", json_string (s_reply_to (tell)));
    if (settle)
        json_object_set_new (body, "settle", settle);
    argos_parts_turn_new (parts, "turn.request", tell->run, tell_session (tell), false, body);
    argos_parts_out (parts, source, s_reply_to (tell), tell->run, "queued", NULL);
    s_commit (tell, parts);
}

//  The rows of jobs that nobody has to be told of any more.

static void
s_done_rows (tell_t *tell, json_t *parts)
{
    for (size_t i = 0; i < tell->count; i++) {
        const argos_job_t *job = jobs_find (tell->jobs, tell->job[i]);
        json_t *value = job ? argos_job_record (job) : NULL;
        if (!value)
            continue;
        json_object_set_new (value, "followed_up", json_true ());
        argos_parts_store_new (parts, "record.put",
            json_pack (
                "{s:s, s:s, s:o}", "space", ARGOS_JOB_SPACE, "key", job->id, "value", value));
    }
}

//  A word to the chat itself, once for the end of a job.

static void
s_commit_notice (tell_t *tell, const char *text)
{
    char id[96];
    json_t *parts = json_array ();
    if (tell->kind == TELL_END) {
        s_done_rows (tell, parts);
        snprintf (id, sizeof id, "job.%s.over", tell->job[0]);
    }
    else
        snprintf (id, sizeof id, "job.%s.%lld", tell->job[0], (long long) argos_shell_wall ());
    argos_parts_deliver (parts, s_source (tell), id, "notice", text, s_reply_to (tell));
    if (json_array_size (parts)) {
        s_commit (tell, parts);
        return;
    }
    json_decref (parts);
    tell_destroy (tell); //  A chat that nothing is delivered to
}

//  Everything is known.

void
tell_finish (tell_t *tell)
{
    jobs_t *self = tell->jobs;
    const argos_job_t *job = jobs_find (self, tell->job[0]);
    if (!json_is_object (s_source (tell))) {
        tell_give_up (tell, "nobody knows where its session is");
        return;
    }
    bool rounds = tell->kind == TELL_END && job && job->round > self->table.limits.rounds;
    tell->people = tell->kind == TELL_NOTICE || tell->ended || rounds;
    char *words = tell->kind == TELL_END ? s_words (tell) : NULL;
    if (tell->people)
        s_commit_notice (tell, words ? words : tell->text);
    else
        s_commit_turn (tell, words ? words : tell->text);
    free (words);
}
