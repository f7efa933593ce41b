//  argos_actor - start and stop an actor (the only code that calls zactor).

#ifndef ARGOS_ACTOR_H
#define ARGOS_ACTOR_H

#include <czmq.h>
#include <jansson.h>

//  Starts fn in its own thread, named name (15 bytes are shown), and waits until it has sent READY
//  or FAILED on its pipe. The actor copies config before it says READY. Returns the handle, or NULL
//  when it failed (the thread is gone then).
zactor_t *argos_actor_start (const char *name, zactor_fn *fn, void *config);

//  The same, but gives up when fd becomes readable (which is left as it is): the actor is stopped
//  and NULL returned. -1 = wait for ever. reason (size bytes) is what it gave with FAILED, else "".
zactor_t *argos_actor_start_unless (
    const char *name, zactor_fn *fn, void *config, int fd, char *reason, size_t size);

//  Asks the actor to stop ($TERM, repeated until the pipe takes it) and waits for its thread to
//  finish. Frees the handle. Returns 0, or -1 when it is still running after timeout_ms.
int argos_actor_stop (zactor_t **actor_p, int timeout_ms);

//  For the actor's side: first words on the pipe. ok false says FAILED; the actor function then
//  returns.
void argos_actor_ready (zsock_t *pipe, bool ok);

//  Tell the owner that this actor can't go on (FAILED reason on the pipe); then leave the loop.
void argos_actor_fail (zsock_t *pipe, const char *reason);

//  A snapshot of the settings on the pipe: the word, and its JSON in the second frame.
#define ARGOS_ACTOR_SETTINGS "SETTINGS"

//  Take no new work; say DRAINED once what is in hand is over. The second frame is the id of a run
//  that is not waited for, "" = none.
#define ARGOS_ACTOR_DRAIN "DRAIN"
#define ARGOS_ACTOR_DRAINED "DRAINED"

//  The settings in a command of the owner, new; NULL = it is another command.
json_t *argos_actor_settings (zmsg_t *msg);

#endif
