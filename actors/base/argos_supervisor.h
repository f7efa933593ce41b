//  argos_supervisor - keeps a table of actors running: in order up, in reverse down, one for one in
//  between.
//
//  An actor that says FAILED, or whose thread leaves, is stopped and started again alone, after 100
//  ms at first and up to 10 s. More than 3 failures in 30 s, or one of an actor that must not be
//  restarted (the core: broker and store), end the whole (a child process is started again for
//  ever): the threads share their memory, and a service manager starts the process cleanly. Runs in
//  the main thread; asleep while nothing happens.

#ifndef ARGOS_SUPERVISOR_H
#define ARGOS_SUPERVISOR_H

#include <czmq.h>

typedef enum {
    ARGOS_RESTART_NEVER, //  Its failure ends the process
    ARGOS_RESTART_ALONE, //  It is started again, the others go on; too often, and the process ends
    ARGOS_RESTART_PATIENTLY, //  It is started again, however often: a process of its own, whose
                             //  failure harms nobody
    ARGOS_RESTART_WHENEVER   //  The same, and even its first start may fail
} argos_restart_t;

typedef struct {
    const char *name;        //  For the log and the thread; borrowed
    zactor_fn *fn;           //  The actor
    void *config;            //  Its config, borrowed: read again at each start
    argos_restart_t restart; //  What its failure means
    int shutdown_ms;         //  Patience when it is stopped
    //  Called with config after each start that went well, before the next actor starts; may read
    //  what the actor has to say (a port, say). Returns 0, or -1 = it did not start after all. NULL
    //  = nothing
    int (*started) (zactor_t *actor, void *config);
    bool settings; //  It is told of new settings (argos_actor.h)
    bool drains;   //  A stop waits until it says DRAINED (argos_actor.h)
} argos_supervised_t;

typedef struct {
    void *arg;                                                  //  Handed to them
    void (*on_hangup) (void *arg);                              //  SIGHUP has come
    void (*on_word) (void *arg, const char *name, zmsg_t *msg); //  That actor says something that
                                                                //  is no failure; borrowed
} argos_supervisor_handlers_t;                                  //  Any may be NULL

typedef struct argos_supervisor argos_supervisor_t;

//  A supervisor of count rows, which are copied; nothing is started. The caller's.
argos_supervisor_t *argos_supervisor_new (const argos_supervised_t *table, size_t count);

//  Frees it; what still runs is stopped. NULL-safe, idempotent.
void argos_supervisor_destroy (argos_supervisor_t **self_p);

//  Calls these from argos_supervisor_run; copied.
void argos_supervisor_on (argos_supervisor_t *self, const argos_supervisor_handlers_t *handlers);

//  Tells new settings (JSON text, copied) to all actors that want them, and to those of them that
//  are started from now on.
void argos_supervisor_settings (argos_supervisor_t *self, const char *text);

//  Sends a message to the actor of that name, if it is up and its pipe takes it. Destroys msg.
void argos_supervisor_tell (argos_supervisor_t *self, const char *name, zmsg_t **msg_p);

//  Starts all in order; each serves before the next begins. signal_fd is a signalfd of blocked
//  signals, borrowed as long as the supervisor lives. Returns 0; -1 when one can't start, and
//  argos_supervisor_reason says which; or the number of a signal (SIGTERM, SIGINT, SIGUSR1) that
//  has come meanwhile. Then those that were up have been stopped.
int argos_supervisor_start (argos_supervisor_t *self, int signal_fd);

//  Watches the actors and the signals until SIGTERM, SIGINT or SIGUSR1 arrives: returns its number.
//  SIGHUP is told to on_hangup. Returns -1 when the process has to end: see
//  argos_supervisor_reason.
int argos_supervisor_run (argos_supervisor_t *self);

//  Ends argos_supervisor_run as this signal would. From a handler.
void argos_supervisor_end (argos_supervisor_t *self, int signal);

//  Before the stop: asks the actors that drain to take nothing new and waits until they have ended
//  what they have, or patience_ms are over, or another signal comes. run_id is not waited for, "" =
//  all are. Returns whether nothing is left.
bool argos_supervisor_drain (argos_supervisor_t *self, int patience_ms, const char *run_id);

//  Stops all in reverse order. Returns 0, or -1 when a thread does not end within its patience:
//  then the process can only be left by _exit.
int argos_supervisor_stop (argos_supervisor_t *self);

//  One sentence about the last failure; "" = none. Borrowed.
const char *argos_supervisor_reason (const argos_supervisor_t *self);

#endif
