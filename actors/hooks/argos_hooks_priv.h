//  argos_hooks_priv - the structs that the files of the hooks actor share. Not for users.

#ifndef ARGOS_HOOKS_PRIV_H
#define ARGOS_HOOKS_PRIV_H

#include "argos_header.h"
#include "argos_hook.h"
#include "argos_hooks_actor.h"
#include "argos_log.h"
#include "argos_shell.h"
#include "argos_terminal.h"

#define HOOKS_NAME "hooks"
#define HOOKS_QUEUE_MAX 64 //  Events that wait for one hook

typedef struct hooks hooks_t;

//  A command that hooks are asked about

typedef struct question {
    char from[ARGOS_NAME_MAX + 1]; //  Who asked
    char id[ARGOS_ID_MAX + 1];     //  With which id
    json_t *event;                 //  What the programs get
    size_t hook;                   //  The one that has it, or is next
    int64_t due;                   //  Until then, mono msec
    struct question *prev, *next;  //  In the list
} question_t;

typedef struct job {
    char *input;             //  JSON, for the program
    question_t *question;    //  NULL = an event
    struct job *prev, *next; //  In the queue
} job_t;

typedef struct {
    hooks_t *hooks;             //  Whose
    size_t index;               //  Of its argos_hook_t
    argos_terminal_t *terminal; //  What runs, NULL = nothing
    job_t *jobs;                //  The first one is what runs
    size_t count;               //  How many
    int input_fd;               //  Of what runs, -1 = none
    bool broken;                //  The first job could not be started: it is over at the next turn
} runner_t;

struct hooks {
    zsock_t *pipe;                     //  To the owner
    argos_shell_t *shell;              //  The loop
    char *home;                        //  Folder
    int epoll_fd;                      //  Descriptors of what runs
    bool ready;                        //  READY has been said
    bool live;                         //  What was there before us has been passed over
    bool subscribed;                   //  To the topics
    argos_hook_t *list;                //  The hooks
    size_t count;                      //  How many
    runner_t runners[ARGOS_HOOKS_MAX]; //  One each
    question_t *questions;             //  Under way
    size_t question_count;             //  How many
};

//  argos_hooks_actor.c
//  Sets the timer to what is due next.
void hooks_arm (hooks_t *self);

//  argos_hooks_run.c
//  One more event for a hook, or (question not NULL) a command that it is asked about.
void runner_job (runner_t *self, json_t *event, question_t *question);
void runner_job_free (runner_t *self, job_t *job);
//  The end of what runs, and the next.
void runner_over (runner_t *self, const char *output, bool failed);
void runner_finish (runner_t *self);
//  Ends what runs and drops what waits, for a hook that is no more; its questions stay open.
void runner_clear (runner_t *self);
//  Asks the next hook that wants to hear of it; when there is none, or no time, it may run.
void hooks_ask_next (hooks_t *self, question_t *question);

#endif
