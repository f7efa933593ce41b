//  argos_child - a process of its own, as an actor of this one: an isolated actor, or a foreign
//  adapter.
//
//  In:    $TERM: SIGTERM to the child, after grace_ms SIGKILL. SETTINGS: SIGHUP, to our own program
//         DRAIN run: SIGTERM too, and the end of the thread says that it is over
//  Out:   READY when the child serves (a line of its log with `ready` in it) or, when no such text
//  is
//         named, runs; FAILED reason when it ends by itself
//  Owner: the supervisor, which starts it again
//
//  An isolated actor is argosd itself with other arguments; it dies with this process. A foreign
//  command runs under a guard (argos_guard.h): it and all that it leaves behind die with this
//  process. Lines that the child writes come out in our log.

#ifndef ARGOS_CHILD_H
#define ARGOS_CHILD_H

#include <czmq.h>

#define ARGOS_CHILD_OPTION "--child" //  Argument of an argosd that has a parent

typedef struct {
    const char *name;       //  For the log
    char *const *argv;      //  Arguments of argosd, argv[0] first; NULL = a foreign command
    const char *command;    //  Foreign: for /bin/sh; NULL = argv
    const char *const *env; //  NAME=value for it, NULL-terminated; NULL = none
    const char *ready;      //  What a line holds when it serves; NULL = it need not say so
    int grace_ms;           //  From SIGTERM to SIGKILL
} argos_child_config_t;     //  All borrowed, as long as the actor lives

//  The actor; config is an argos_child_config_t.
void argos_child_actor (zsock_t *pipe, void *config);

//  In a child, before its first thread: take over the lifeline, and die when the parent does.
//  Returns 0, or -1 when there is no parent any more.
int argos_child_begin (void);

//  In a child that was told to end: the run that it need not wait for, "" = it waits for all. size
//  is that of run_id.
void argos_child_spared (char *run_id, size_t size);

#endif
