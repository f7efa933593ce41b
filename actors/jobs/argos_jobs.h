//  argos_jobs - the table of all jobs: who sees which, how many there may be, which goes. Pure.
//
//  Invariant: a running job, and one whose end is still to be told, is never dropped.

#ifndef ARGOS_JOBS_H
#define ARGOS_JOBS_H

#include "argos_job.h"

typedef struct {
    int64_t tracked;     //  Jobs in the table
    int64_t per_session; //  Running ones of a session
    int64_t per_owner;   //  Running ones of an owner
    int64_t rounds;      //  Jobs in a row whose ends lead to turns
    int64_t keep_ms;     //  How long one that is over is kept, from its end
} argos_jobs_limits_t;

typedef struct {
    argos_job_t *list;          //  The oldest start first
    size_t count;               //  How many
    argos_jobs_limits_t limits; //  Settings
} argos_jobs_t;

//  Takes the job over.
void argos_jobs_add (argos_jobs_t *self, argos_job_t *job);

//  Takes it out and destroys it.
void argos_jobs_remove (argos_jobs_t *self, argos_job_t **job_p);

//  Destroys all.
void argos_jobs_clear (argos_jobs_t *self);

//  Whether a job is visible from a session and to an owner; NULL = no matter which.
bool argos_jobs_sees (const argos_job_t *job, const char *session, const char *owner);

//  The job of that id (12 digits, with or without proc_; a unique beginning of at least 4) among
//  those that are visible; NULL = there is none: one of somebody else looks the same.
argos_job_t *argos_jobs_find (
    const argos_jobs_t *self, const char *id, const char *session, const char *owner);

//  Whether there is room for one more of a session and an owner. Returns NULL = there is, after
//  *ret_drop (NULL = nothing) is dropped; else a sentence, static.
const char *argos_jobs_room (const argos_jobs_t *self, const char *session, const char *owner,
    int64_t now, argos_job_t **ret_drop);

//  One that may go now, NULL = none; and when the next may, wall msec, -1 = none.
argos_job_t *argos_jobs_expired (const argos_jobs_t *self, int64_t now);
int64_t argos_jobs_due (const argos_jobs_t *self);

//  How many jobs in a row have led to one that is started by that turn, itself included.
int argos_jobs_round (const argos_jobs_t *self, const char *run);

//  Up to `size` jobs of the session whose ends are to be told now, oldest end first; returns how
//  many. None while another telling of that session is on its way.
size_t argos_jobs_to_tell (
    const argos_jobs_t *self, const char *session, argos_job_t **jobs, size_t size);

//  Whether the telling by that run is not over.
bool argos_jobs_telling (const argos_jobs_t *self, const char *run);

#endif
