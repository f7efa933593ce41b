//  argos_job_watch - looks for patterns in the output of a job, and says so, not too often. Pure.
//
//  Patterns are plain texts; a line that has one is a match. Per job one notice in 15 s; what
//  matches in between is counted and told with the next. Three windows in a row with such drops, or
//  eight notices, end the watch; from then on the end of the job is told. Over all jobs at most 15
//  notices in 10 s, then none for 30 s. Times are monotonic msec.

#ifndef ARGOS_JOB_WATCH_H
#define ARGOS_JOB_WATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_JOB_WATCH_LINES 20        //  Of a notice
#define ARGOS_JOB_WATCH_BYTES 2000      //  Of a notice
#define ARGOS_JOB_WATCH_MS 15000        //  From a notice to the next
#define ARGOS_JOB_WATCH_STRIKES 3       //  Windows with drops in a row
#define ARGOS_JOB_WATCH_NOTICES 8       //  Of a job
#define ARGOS_JOB_BREAKER_COUNT 15      //  Notices of all jobs ...
#define ARGOS_JOB_BREAKER_MS 10000      //  ... in this time
#define ARGOS_JOB_BREAKER_REST_MS 30000 //  Then none for so long

//  All jobs together

typedef struct {
    int64_t since;   //  Begin of the window, 0 = none
    int count;       //  Notices in it
    int64_t until;   //  Tripped until, 0 = not
    int64_t dropped; //  Since it has tripped
} argos_job_breaker_t;

typedef struct argos_job_watch argos_job_watch_t;

typedef struct {
    int hits;       //  Matches that were told
    int suppressed; //  Matches since, that were not
    int strikes;    //  Windows with drops in a row
    bool disabled;  //  Over
} argos_job_watch_state_t;

//  What is to be told, a text; borrowed.
typedef void (argos_job_watch_fn) (void *arg, const char *text);

//  Watches for a list of texts, checked by argos_job_problem. The caller's.
argos_job_watch_t *argos_job_watch_new (const char *id, const json_t *patterns);
void argos_job_watch_destroy (argos_job_watch_t **self_p);

//  More output. fn is called for each notice. Returns whether the watch has ended by this.
bool argos_job_watch_feed (argos_job_watch_t *self, argos_job_breaker_t *breaker, const char *data,
    size_t size, int64_t now, argos_job_watch_fn *fn, void *arg);

argos_job_watch_state_t argos_job_watch_state (const argos_job_watch_t *self);

#endif
