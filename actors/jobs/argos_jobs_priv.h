//  argos_jobs_priv - what the files of the jobs actor share. Not for users.
//
//  One thread. A job is in the table from the moment it is asked for; what is under way for it (a
//  start, questions, tellings) names it by id, because it may be gone when an answer comes.

#ifndef ARGOS_JOBS_PRIV_H
#define ARGOS_JOBS_PRIV_H

#include "argos_header.h"
#include "argos_job_file.h"
#include "argos_job_watch.h"
#include "argos_jobs.h"
#include "argos_jobs_actor.h"
#include "argos_jobs_tool.h"
#include "argos_log.h"
#include "argos_node.h"
#include "argos_shell.h"

#include <limits.h>

#define JOBS_NAME "jobs"
#define JOBS_READ_MS 10000      //  Patience with the store
#define JOBS_PIECE 131072       //  Bytes of output in one answer
#define JOBS_WAIT_MAX_MS 600000 //  Longest wait
#define JOBS_TELL_MAX 8         //  Jobs of one telling

typedef struct jobs jobs_t;

//  Where an answer goes

typedef struct {
    char from[ARGOS_NAME_MAX + 1]; //  Who asked
    char id[ARGOS_ID_MAX + 1];     //  With which id, "" = nobody waits
    argos_jobs_view_t view;        //  In which form
    argos_jobs_op_t op;            //  What was asked for
    bool unwatched;                //  Patterns were left out
    bool cut;                      //  Its timeout was limited
} asker_t;

//  A question that waits for the end of a job

typedef struct wait {
    asker_t asker;               //  Who
    char job[ARGOS_JOB_ID_SIZE]; //  Which
    int64_t due;                 //  Answered then all the same, monotonic msec
    struct wait *prev, *next;    //  In the list
} wait_t;

//  A job whose output is looked at

typedef struct tail {
    char job[ARGOS_JOB_ID_SIZE]; //  Which
    argos_job_watch_t *watch;    //  For patterns, or NULL
    uint64_t offset;             //  Read so far
    int wd;                      //  inotify, -1 = it rests
    int64_t due;                 //  End of the rest, monotonic; 0 = it does not rest
    int64_t follow_until;        //  Somebody follows until then, monotonic; 0 = nobody
    int64_t update_due;          //  When people are told that it runs; 0 = never
    uint64_t update_total;       //  Output when they were told last
    struct tail *prev, *next;    //  In the list
} tail_t;

typedef enum { TELL_END, TELL_NOTICE, TELL_WATCH } tell_kind_t;

//  Something to be told to a session

typedef struct tell {
    jobs_t *jobs;                               //  Whose
    tell_kind_t kind;                           //  What
    char job[JOBS_TELL_MAX][ARGOS_JOB_ID_SIZE]; //  Of which
    size_t count;                               //  How many
    char run[37];                               //  Its run
    char *session;                              //  Session, as the jobs name it
    char *text;                                 //  TELL_WATCH, TELL_NOTICE: the words
    json_t *row;                                //  session.get
    bool ended;                                 //  Nothing goes on with the session
    bool people;                                //  The chat is told, not the model
    json_t *tasks[JOBS_TELL_MAX];               //  job.task of each
    size_t asked;                               //  How many of them were asked for
    int64_t delay;                              //  Pause before the next try
    int64_t due;                                //  When that is, monotonic; 0 = it is under way
    struct tell *prev, *next;                   //  In the list
} tell_t;

struct jobs {
    zsock_t *pipe;                  //  Command pipe to our owner
    argos_shell_t *shell;           //  The loop
    argos_peer_t *peer;             //  Its peer
    char workdir[PATH_MAX];         //  Where commands run that name no place
    char folder[PATH_MAX];          //  Of all jobs
    char node[ARGOS_NODE_SIZE];     //  Where that is
    char program[PATH_MAX];         //  argos-job
    char boot[ARGOS_JOB_BOOT_SIZE]; //  This boot of the machine
    int epoll_fd;                   //  All descriptors
    int inotify_fd;                 //  One of them
    argos_jobs_t table;             //  All jobs
    wait_t *waits;                  //  Questions that wait
    tail_t *tails;                  //  Outputs that are looked at
    tell_t *tells;                  //  Tellings under way
    argos_job_breaker_t breaker;    //  Of watch notices
    int64_t runtime_s;              //  Of jobs that state none
    int64_t output_max;             //  Bytes of a log
    int64_t grace_ms;               //  From SIGTERM to SIGKILL
    argos_jobs_notices_t notices;   //  What people are told
    char after[ARGOS_JOB_ID_SIZE];  //  Load: the last record
    bool loaded;                    //  All jobs of before are known
    int64_t load_due;               //  When they are asked for again, monotonic; 0 = not
    bool ready;                     //  READY has been said
    bool stopping;                  //  The peer is going away: send nothing more
};

//  argos_jobs_actor.c
//  Sets the timer to what is due next.
void jobs_arm (jobs_t *self);
//  Watches the process of a job.
void jobs_watch_process (jobs_t *self, argos_job_t *job);
//  Stores the row of a job as it is now.
void jobs_store (jobs_t *self, argos_job_t *job);
argos_job_t *jobs_find (const jobs_t *self, const char *id);
//  Drops a job that is over, with its records and its files.
void jobs_drop (jobs_t *self, argos_job_t *job);

//  argos_jobs_start.c
//  A request or a leased message job.start; lease may be NULL.
void jobs_start (jobs_t *self, const json_t *body, const asker_t *asker, const char *from,
    const char *id, argos_lease_t *lease);
//  A lease is lost: its start goes on without.
void jobs_on_lost (void *ctx, argos_lease_t *lease);

//  argos_jobs_process.c
//  Starts the process of a job whose record is stored; task is what was asked for.
void jobs_spawn (jobs_t *self, argos_job_t *job, const json_t *task);
//  Looks what has become of a running job, and does what is to be done.
void jobs_look (jobs_t *self, argos_job_t *job);
//  Asks argos-job for its end.
void jobs_kill (jobs_t *self, argos_job_t *job);

//  argos_jobs_node.c
//  Whether a job that was loaded is one of this node.
bool jobs_is_here (const jobs_t *self, const argos_job_t *job);
//  Tells the other nodes that there are jobs here.
void jobs_tell_node (jobs_t *self);
//  A list, with what the jobs of other nodes are, and a question about a job that is not here: each
//  answers the asker. list is stolen.
void jobs_list_all (jobs_t *self, const asker_t *asker, const json_t *body, json_t *list);
void jobs_ask_others (
    jobs_t *self, const asker_t *asker, const char *type, const json_t *body, const char *id);
//  Sends a request on to the jobs of a node, and the answer to the asker.
void jobs_pass_on (
    jobs_t *self, const asker_t *asker, const char *node, const char *type, json_t *body);

//  argos_jobs_message.c
void jobs_on_request (void *ctx, const argos_peer_msg_t *msg);

//  argos_jobs_ask.c: each answers the asker, now or later
void jobs_ask_tool (jobs_t *self, asker_t *asker, const argos_peer_msg_t *msg);
void jobs_ask_kill (jobs_t *self, const asker_t *asker, argos_job_t *job);
void jobs_ask_wait (jobs_t *self, const asker_t *asker, argos_job_t *job, int64_t patience_ms);
//  from < 0: the last `limit` bytes.
void jobs_ask_output (
    jobs_t *self, const asker_t *asker, argos_job_t *job, int64_t from, int64_t limit);
void jobs_ask_write (
    jobs_t *self, const asker_t *asker, argos_job_t *job, const char *data, bool newline);
void jobs_ask_close (jobs_t *self, const asker_t *asker, argos_job_t *job);
//  Sends a signal to argos-job, with a number for it. Returns 0 or an errno.
int jobs_ask_signal (const argos_job_t *job, int carrier, int number);
//  tool.cancel, or the broker's cancel.
void jobs_ask_cancel (jobs_t *self, const argos_peer_msg_t *msg);
//  The job is over: those who wait for that are answered.
void jobs_answer_waits (jobs_t *self, argos_job_t *job);
//  Those whose patience is over.
void jobs_answer_late (jobs_t *self, int64_t now);
void jobs_answer (jobs_t *self, const asker_t *asker, json_t *body);
void jobs_refuse (jobs_t *self, const asker_t *asker, argos_err_t code, const char *reason);

//  argos_jobs_tail.c
//  Looks at the output of a job, when something asks for it.
void jobs_tail (jobs_t *self, argos_job_t *job, const json_t *patterns, int64_t follow_ms);
void jobs_tail_events (jobs_t *self);
void jobs_tail_due (jobs_t *self, int64_t now);
int64_t jobs_tail_next (const jobs_t *self);
//  The last of the output, and the end.
void jobs_tail_end (jobs_t *self, argos_job_t *job);
void jobs_tail_clear (jobs_t *self);

//  argos_jobs_tell.c
//  Something of that session may be to be told.
void jobs_tell_session (jobs_t *self, const char *session);
//  The end of a job that people are told of.
void jobs_tell_notice (jobs_t *self, argos_job_t *job, char *text);
void jobs_tell_watch (jobs_t *self, argos_job_t *job, const char *text);
void jobs_tell_due (jobs_t *self, int64_t now);
int64_t jobs_tell_next (const jobs_t *self);
void jobs_tell_clear (jobs_t *self);
//  Follows the run that tells of jobs until it is over.
void jobs_follow_run (jobs_t *self, const char *run);
void jobs_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg);
void jobs_on_end (void *ctx, const char *topic, int64_t n, bool closed);

//  Try it again after a pause; be done with it.
void tell_later (tell_t *tell);
void tell_destroy (tell_t *tell);

//  argos_jobs_tell_commit.c
//  Everything is known: commit.
void tell_finish (tell_t *tell);
//  Its jobs are handled without it.
void tell_give_up (tell_t *tell, const char *why);
//  The session where it goes on: that of the job, or what continues it. Borrowed.
const char *tell_session (const tell_t *tell);

#endif
