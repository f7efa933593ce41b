//  argos_jobs - the table of all jobs.
//
//  Limit: it is walked from end to end, so it is for thousands, not for millions.

#include "argos_jobs.h"

#include <string.h>
#include <utlist.h>

#define PREFIX_MIN 4 //  Digits of an id that may stand for it

void
argos_jobs_add (argos_jobs_t *self, argos_job_t *job)
{
    DL_APPEND (self->list, job);
    self->count++;
}

void
argos_jobs_remove (argos_jobs_t *self, argos_job_t **job_p)
{
    DL_DELETE (self->list, *job_p);
    self->count--;
    argos_job_destroy (job_p);
}

void
argos_jobs_clear (argos_jobs_t *self)
{
    argos_job_t *job, *next;
    DL_FOREACH_SAFE (self->list, job, next)
        argos_jobs_remove (self, &job);
}

bool
argos_jobs_sees (const argos_job_t *job, const char *session, const char *owner)
{
    return (!session || (*session && strcmp (job->session, session) == 0)) &&
           (!owner || (*owner && strcmp (job->owner, owner) == 0));
}

argos_job_t *
argos_jobs_find (const argos_jobs_t *self, const char *id, const char *session, const char *owner)
{
    char full[ARGOS_JOB_ID_SIZE];
    argos_job_t *job, *found = NULL;
    const char *digits = strncmp (id, "proc_", 5) == 0 ? id + 5 : id;
    size_t length = strlen (digits);
    if (!argos_job_id (id, full) &&
        (length < PREFIX_MIN || strspn (digits, "0123456789abcdef") != length))
        return NULL;
    DL_FOREACH (self->list, job)
        if (strncmp (job->id, digits, length) == 0 && argos_jobs_sees (job, session, owner)) {
            if (found)
                return NULL;
            found = job;
        }
    return found;
}

static bool
s_may_go (const argos_job_t *job)
{
    return job->status != ARGOS_JOB_RUNNING && job->followed_up;
}

//  What has to go for one more: what has expired, else the oldest end.

static argos_job_t *
s_oldest_end (const argos_jobs_t *self)
{
    argos_job_t *job, *oldest = NULL;
    DL_FOREACH (self->list, job)
        if (s_may_go (job) && (!oldest || job->ended_at < oldest->ended_at))
            oldest = job;
    return oldest;
}

const char *
argos_jobs_room (const argos_jobs_t *self, const char *session, const char *owner, int64_t now,
    argos_job_t **ret_drop)
{
    int64_t of_session = 0, of_owner = 0;
    argos_job_t *job;
    *ret_drop = NULL;
    DL_FOREACH (self->list, job) {
        if (job->status != ARGOS_JOB_RUNNING)
            continue;
        of_session += *session && strcmp (job->session, session) == 0;
        of_owner += *owner && strcmp (job->owner, owner) == 0;
    }
    if (of_session >= self->limits.per_session)
        return "too many background jobs of this chat run already";
    if (of_owner >= self->limits.per_owner)
        return "too many background jobs of this owner run already";
    if ((int64_t) self->count < self->limits.tracked)
        return NULL;
    argos_job_t *drop = argos_jobs_expired (self, now);
    *ret_drop = drop ? drop : s_oldest_end (self);
    return *ret_drop ? NULL : "too many background jobs run already";
}

argos_job_t *
argos_jobs_expired (const argos_jobs_t *self, int64_t now)
{
    argos_job_t *job;
    DL_FOREACH (self->list, job)
        if (s_may_go (job) && job->ended_at + self->limits.keep_ms <= now)
            return job;
    return NULL;
}

int64_t
argos_jobs_due (const argos_jobs_t *self)
{
    const argos_job_t *job = s_oldest_end (self);
    return job ? job->ended_at + self->limits.keep_ms : -1;
}

int
argos_jobs_round (const argos_jobs_t *self, const char *run)
{
    const argos_job_t *job;
    int round = 0;
    DL_FOREACH (self->list, job)
        if (*run && strcmp (job->followup, run) == 0 && job->round > round)
            round = job->round;
    return round + 1;
}

size_t
argos_jobs_to_tell (const argos_jobs_t *self, const char *session, argos_job_t **jobs, size_t size)
{
    argos_job_t *job;
    size_t count = 0;
    DL_FOREACH (self->list, job) {
        if (strcmp (job->session, session) != 0 || !job->notify || !argos_job_pending (job))
            continue;
        if (*job->followup)
            return 0;
        size_t place = count < size ? count : size;
        while (place && jobs[place - 1]->ended_at > job->ended_at)
            place--;
        if (place == size)
            continue;
        count += count < size;
        for (size_t i = count - 1; i > place; i--)
            jobs[i] = jobs[i - 1];
        jobs[place] = job;
    }
    return count;
}

bool
argos_jobs_telling (const argos_jobs_t *self, const char *run)
{
    const argos_job_t *job;
    DL_FOREACH (self->list, job)
        if (argos_job_pending (job) && strcmp (job->followup, run) == 0)
            return true;
    return false;
}
