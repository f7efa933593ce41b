//  argos_broker_actor - the broker's thread: sockets, clock and store around argos_core.
//
//  Listens on inproc (our own actors, role core) and ipc (peers on this host, role local). Each
//  listener is a ROUTER of its own, so that who is behind a connection is known by where it came
//  in. tcp with CURVE has its place in the same list. In:    $TERM    Out: READY | FAILED reason
//  Owner: the supervisor. It ends the process when this actor fails. The store actor is up before.
//  Limits: 1 MiB a frame, 133 frames a message; 4,096 messages a connection in the socket, beyond
//  which its session gets nothing new.

#ifndef ARGOS_BROKER_ACTOR_H
#define ARGOS_BROKER_ACTOR_H

#include "argos_core.h"

#include <czmq.h>

#define ARGOS_BROKER_INPROC "inproc://argos.broker" //  Where our own actors connect
#define ARGOS_STORE_INPROC "inproc://argos.store"   //  Where the store is bound

typedef struct {
    argos_core_config_t core; //  Limits; store_id and boot are filled from the store
    const char *ipc;          //  ipc:// endpoint, NULL = none; borrowed until READY
    const char *const
        *services; //  NULL-terminated, declared by configuration; borrowed until READY
} argos_broker_config_t;

//  The actor function; config is an argos_broker_config_t.
void argos_broker_actor (zsock_t *pipe, void *config);

#endif
