//  argos_jobs_tail - looks at the output of jobs while they run: for patterns, for who follows, for
//  people.
//
//  Invariant: an output is read when it has grown, at most ten times a second. Nobody looks at the
//  output of a job for which nobody has asked. Limits: 1 MiB a look, what is beyond is left for the
//  next; a follower gets pieces of 32 KiB.

#include "argos_jobs_priv.h"

#include "argos_job_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <utlist.h>

#define REST_MS 100        //  Between two looks
#define PIECE 32768        //  Bytes of an entry
#define PIECES 32          //  Of a look
#define UPDATE_MS 60000    //  Between two words to people that it runs
#define PREVIEW_BYTES 4096 //  Of the output in these

static tail_t *
s_find (const jobs_t *self, const char *id)
{
    tail_t *tail;
    DL_FOREACH (self->tails, tail)
        if (strcmp (tail->job, id) == 0)
            return tail;
    return NULL;
}

static void
s_free (jobs_t *self, tail_t *tail)
{
    DL_DELETE (self->tails, tail);
    if (tail->wd >= 0)
        inotify_rm_watch (self->inotify_fd, tail->wd);
    argos_job_watch_destroy (&tail->watch);
    free (tail);
}

void
jobs_tail_clear (jobs_t *self)
{
    while (self->tails)
        s_free (self, self->tails);
}

//  Waits for output: the folder is watched, because the log may not be there yet.

static void
s_wait (jobs_t *self, tail_t *tail)
{
    char path[PATH_MAX + 16];
    snprintf (path, sizeof path, "%s/%s", self->folder, tail->job);
    tail->due = 0;
    tail->wd = inotify_add_watch (self->inotify_fd, path, IN_MODIFY | IN_MOVED_TO | IN_ONLYDIR);
}

typedef struct {
    jobs_t *jobs;     //  Whose
    argos_job_t *job; //  Which
} said_t;

static void
s_on_notice (void *arg, const char *text)
{
    const said_t *said = arg;
    jobs_tell_watch (said->jobs, said->job, text);
}

//  Bytes without the part of a character at their end, if there is one.

static size_t
s_whole (const char *data, size_t size)
{
    for (size_t back = 1; back < 4 && back <= size; back++) {
        unsigned char byte = (unsigned char) data[size - back];
        if ((byte & 0xC0) == 0x80)
            continue;
        size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return length > back ? size - back : size;
    }
    return size;
}

static void
s_publish (jobs_t *self, const argos_job_t *job, const argos_job_piece_t *piece)
{
    char to[64];
    char *text = argos_job_clean (piece->data, piece->size);
    snprintf (to, sizeof to, "topic:job.%s", job->id);
    argos_peer_part_t part = { .type = "job.text",
        .to = to,
        .body = json_pack ("{s:I, s:I, s:s}", "from", (json_int_t) piece->from, "next",
            (json_int_t) piece->next, "text", text) };
    free (text);
    argos_peer_publish (self->peer, NULL, &part);
}

//  What has come since the last look; returns whether there may be more.

static bool
s_look (jobs_t *self, argos_job_t *job, tail_t *tail, int64_t now, bool last)
{
    for (int i = 0; i < PIECES; i++) {
        argos_job_piece_t piece;
        argos_job_file_output (self->folder, job->id, (int64_t) tail->offset, PIECE, &piece);
        size_t whole = piece.size;
        //  Half a character waits for the rest
        if (!last || piece.next < piece.total)
            whole = s_whole (piece.data, piece.size);
        if (whole == 0)
            whole = piece.size;
        piece.next -= piece.size - whole;
        piece.size = whole;
        piece.from = piece.next - whole; //  What is not kept any more is left out
        if (whole && tail->watch) {
            said_t said = { self, job };
            if (argos_job_watch_feed (
                    tail->watch, &self->breaker, piece.data, whole, now, s_on_notice, &said))
                job->notify = true;
        }
        if (whole && tail->follow_until)
            s_publish (self, job, &piece);
        tail->offset = piece.next;
        free (piece.data);
        if (!whole || piece.next >= piece.total)
            return false;
    }
    return true;
}

void
jobs_tail (jobs_t *self, argos_job_t *job, const json_t *patterns, int64_t follow_ms)
{
    tail_t *tail = s_find (self, job->id);
    int64_t now = argos_shell_now ();
    bool update = !job->notify && *job->session && self->notices == ARGOS_JOBS_NOTICES_ALL;
    if (job->status != ARGOS_JOB_RUNNING || (!json_array_size (patterns) && !follow_ms && !update))
        return;
    if (!tail) {
        tail = calloc (1, sizeof *tail);
        if (!tail)
            abort ();
        memcpy (tail->job, job->id, sizeof tail->job);
        tail->wd = -1;
        tail->update_due = update ? now + UPDATE_MS : 0;
        DL_APPEND (self->tails, tail);
    }
    if (json_array_size (patterns) && !tail->watch)
        tail->watch = argos_job_watch_new (job->id, patterns);
    if (follow_ms) {
        argos_job_piece_t piece;
        argos_job_file_output (self->folder, job->id, -1, 0, &piece);
        free (piece.data);
        if (!tail->follow_until && !tail->watch)
            tail->offset = piece.total;
        tail->follow_until = now + follow_ms;
    }
    if ((tail->watch || tail->follow_until) && tail->wd < 0 && !tail->due)
        tail->due = now; //  Looks at once: something may have come already
    jobs_arm (self);
}

void
jobs_tail_events (jobs_t *self)
{
    char buffer[4096] __attribute__ ((aligned (__alignof__(struct inotify_event))));
    ssize_t size;
    while ((size = read (self->inotify_fd, buffer, sizeof buffer)) > 0) {
        const struct inotify_event *event;
        for (const char *next = buffer; next < buffer + size; next += sizeof *event + event->len) {
            tail_t *tail;
            event = (const struct inotify_event *) (const void *) next;
            DL_FOREACH (self->tails, tail)
                if (tail->wd == event->wd && !(event->mask & IN_IGNORED)) {
                    //  Not again before it has rested
                    inotify_rm_watch (self->inotify_fd, tail->wd);
                    tail->wd = -1;
                    tail->due = argos_shell_now () + REST_MS;
                }
        }
    }
    jobs_arm (self);
}

//  People are told that it still runs, when it has written something.

static void
s_update (jobs_t *self, argos_job_t *job, tail_t *tail, int64_t now)
{
    argos_job_piece_t piece;
    tail->update_due = now + UPDATE_MS;
    argos_job_file_output (self->folder, job->id, -1, PREVIEW_BYTES, &piece);
    char *text = argos_job_clean (piece.data, piece.size);
    if (piece.total > tail->update_total && argos_jobs_notices_tell (self->notices, job))
        jobs_tell_notice (self, job, argos_job_notice_text (job, text));
    tail->update_total = piece.total;
    free (text);
    free (piece.data);
}

static void
s_turn (jobs_t *self, argos_job_t *job, tail_t *tail, int64_t now)
{
    if (tail->update_due && tail->update_due <= now)
        s_update (self, job, tail, now);
    if (!tail->due || tail->due > now)
        return;
    bool was_told = job->notify;
    //  Watched before it is read, so that nothing is missed between the two
    s_wait (self, tail);
    if (s_look (self, job, tail, now, false) && tail->wd >= 0) {
        inotify_rm_watch (self->inotify_fd, tail->wd);
        tail->wd = -1;
        tail->due = now + REST_MS;
    }
    if (job->notify != was_told)
        jobs_store (self, job);
    if (tail->follow_until && tail->follow_until <= now)
        tail->follow_until = 0;
}

void
jobs_tail_due (jobs_t *self, int64_t now)
{
    tail_t *tail, *next;
    DL_FOREACH_SAFE (self->tails, tail, next) {
        argos_job_t *job = jobs_find (self, tail->job);
        if (job && job->status == ARGOS_JOB_RUNNING)
            s_turn (self, job, tail, now);
        else
            s_free (self, tail);
    }
}

int64_t
jobs_tail_next (const jobs_t *self)
{
    const tail_t *tail;
    int64_t due = INT64_MAX;
    DL_FOREACH (self->tails, tail) {
        if (tail->due && tail->due < due)
            due = tail->due;
        if (tail->update_due && tail->update_due < due)
            due = tail->update_due;
    }
    return due;
}

void
jobs_tail_end (jobs_t *self, argos_job_t *job)
{
    tail_t *tail = s_find (self, job->id);
    char to[64];
    if (!tail)
        return;
    bool followed = tail->follow_until != 0;
    //  No watch notices behind the end, which is told anyway
    argos_job_watch_destroy (&tail->watch);
    while (followed && s_look (self, job, tail, argos_shell_now (), true))
        ;
    snprintf (to, sizeof to, "topic:job.%s", job->id);
    argos_peer_part_t part = { .type = "job.ended",
        .to = to,
        .body = followed ? json_pack ("{s:o}", "job", argos_job_record (job)) : NULL };
    if (followed)
        argos_peer_publish (self->peer, NULL, &part);
    s_free (self, tail);
}
