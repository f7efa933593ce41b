//  argos_job - one background job: its row, what can happen to it, and the words for it. Pure.
//
//  A job is two records of the store: `job` (this struct, which changes) and `job.task` (what was
//  asked for, which never does). Its process is argos-job (cmd/argos-job.c), its files are in
//  HOME/jobs/<id>. Times are msec since 1970 unless said otherwise.

#ifndef ARGOS_JOB_H
#define ARGOS_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ARGOS_JOB_ID_SIZE 13           //  12 hex digits, terminated
#define ARGOS_JOB_PREVIEW 200          //  Characters of the command in the row
#define ARGOS_JOB_COMMAND_MAX 16384    //  Bytes of a command
#define ARGOS_JOB_RUNTIME_S 3600       //  Longest run when nothing else is asked for
#define ARGOS_JOB_RUNTIME_MAX_S 604800 //  That may be asked for
#define ARGOS_JOB_SURVIVORS 8          //  Pids that are kept
#define ARGOS_JOB_SPACE "job"          //  Records: the rows
#define ARGOS_JOB_TASKS "job.task"     //  Records: what was asked for

typedef enum { ARGOS_JOB_RUNNING, ARGOS_JOB_DONE, ARGOS_JOB_FAILED } argos_job_status_t;

//  Which of a process is meant: a number, and when it was given

typedef struct {
    pid_t pid;      //  0 = none
    uint64_t start; //  Field 22 of /proc/PID/stat
} argos_job_pid_t;

typedef struct argos_job {
    char id[ARGOS_JOB_ID_SIZE];   //  Name
    char *session;                //  Session that started it, "" = none
    char *owner;                  //  Whom it belongs to, "" = nobody
    char *run;                    //  Turn that started it, "" = none
    char *command;                //  The first characters of it
    char *workdir;                //  Where it runs
    char *followup;               //  Run that tells of its end, "" = none yet
    char *node;                   //  Where it runs, "" = not known
    argos_job_status_t status;    //  As it is
    bool process;                 //  Started as a process (terminal), not by a marker
    bool notify;                  //  Its end is told to the session
    bool input;                   //  It can be written to
    bool killing;                 //  Somebody has asked for its end
    bool killed, timed_out, died; //  Why it has failed
    bool started;                 //  It was started; false with FAILED = it could not be
    bool followed_up;             //  Nothing more is to be told of it
    bool seen;                    //  The agent has read its end
    bool patterns;                //  Its output is watched
    int round;                    //  How many jobs in a row led to it, from 1
    int exit_code;                //  When it is over
    int number;                   //  Signal that ended its shell, 0 = none
    int64_t started_at, ended_at; //  0 = not yet
    int64_t max_runtime_s;        //  Longest run
    int64_t total, dropped;       //  Bytes of output, when it is over; those that are not kept
    int64_t left;                 //  Processes that its shell left running
    int survivors[ARGOS_JOB_SURVIVORS]; //  Pids that nothing could end; 0 = no more
    argos_job_pid_t keeper;             //  argos-job
    int pidfd;                          //  Of argos-job, -1 = none
    int tries;                          //  How often argos-job was started here
    struct argos_job *prev, *next;      //  In the table
} argos_job_t;

//  How a job ended, as JOB_EXIT says it

typedef struct {
    int code;                           //  Exit code; 1 when the record can't be read
    char reason[16];                    //  exited, killed, timed_out, not_started
    int number;                         //  Signal
    int64_t ended_at;                   //  0 = not known
    int64_t left;                       //  Processes left running
    int survivors[ARGOS_JOB_SURVIVORS]; //  Pids
} argos_job_end_t;

//  A new running one; id has 12 digits, the other texts are copied, NULL = "". command is cut.
argos_job_t *argos_job_new (
    const char *id, const char *session, const char *owner, const char *run, const char *command);

//  NULL-safe, idempotent. The descriptor is the caller's to close.
void argos_job_destroy (argos_job_t **self_p);

//  Its record, new; and one of it, NULL when it is none.
json_t *argos_job_record (const argos_job_t *self);
argos_job_t *argos_job_load (const json_t *value);

//  Whether text is an id of a job: 12 hex digits, with or without proc_ before. The bare id goes to
//  target.
bool argos_job_id (const char *text, char target[static ARGOS_JOB_ID_SIZE]);

//  Reads a text of JOB_EXIT. What is damaged counts as failed with code 1.
void argos_job_end_read (const char *text, argos_job_end_t *end);

//  It is over. Nothing changes when it was over before; returns whether it was not. A job whose end
//  was asked for has exit code -1 and needs no following up.
bool argos_job_finish (argos_job_t *self, const argos_job_end_t *end, int64_t now);

//  The same without a record of its end: its process is gone, or could not be started.
bool argos_job_lose (argos_job_t *self, bool started, int64_t now);

//  Whether its end is still to be told.
bool argos_job_pending (const argos_job_t *self);

//  What is wrong with what is asked for (body of job.start), NULL = nothing. Static.
const char *argos_job_problem (const json_t *body);

//  ------------------------------------------------------------------------------------------------
//  Words; all new, the caller's

//  killed, timed out, died, done (exit N), failed (exit N), running. target has 32 bytes.
void argos_job_label (const argos_job_t *self, char target[static 32]);

//  How long it ran or runs: Ns, Nm, NhMm, ? when that is not known. target has 32 bytes.
void argos_job_age (const argos_job_t *self, int64_t now, char target[static 32]);

//  How it ended, what it was and what it wrote.
char *argos_job_result_text (const argos_job_t *self, const char *command, const char *output);

//  One line of a list.
char *argos_job_line (const argos_job_t *self, int64_t now);

//  What the model is told of its end; count = how many jobs this message is about.
char *argos_job_followup_text (
    const argos_job_t *self, const char *command, const char *output, size_t count);

//  What people are told of its end, and that it still runs.
char *argos_job_notice_text (const argos_job_t *self, const char *output);

//  What the model is told when it was started.
char *argos_job_launch_text (const argos_job_t *self);

//  The output as a text: no escapes, valid UTF-8, secrets masked.
char *argos_job_clean (const char *data, size_t size);

//  The first and the last half of so many characters of a text, and a line between them; all of it
//  when it has no more.
char *argos_job_middle_cut (const char *text, size_t characters);

//  The same, with fewer characters when they would have more than so many bytes (100 at least).
char *argos_job_middle_fit (const char *text, size_t characters, size_t bytes);

//  The last so many characters of a text, borrowed.
const char *argos_job_tail (const char *text, size_t characters);

#endif
