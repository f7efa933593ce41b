//  argos_broker_actor - the broker's thread: sockets, clock and store around argos_core.
//
//  Listens on inproc (our own actors, role core), on ipc (peers on this host) and on tcp (peers
//  that have a key, by CURVE). Each listener is a ROUTER of its own, so that who is behind a
//  connection is known by where it came in; over tcp the auth actor says whose key it was, and what
//  comes without a known key is cut.
//
//  In:    $TERM | SNAPSHOT text (argos_core_snapshot)
//
//  Out:   READY | FAILED reason
//
//  Owner: the supervisor. It ends the process when this actor fails. Store and auth actor are up
//  before.
//
//  Limits: 1 MiB a frame, 133 frames a message; 4,096 messages a connection in the socket, beyond
//  which its session gets nothing new.

#ifndef ARGOS_BROKER_ACTOR_H
#define ARGOS_BROKER_ACTOR_H

#include "argos_core.h"
#include "argos_key.h"

#include <czmq.h>
#include <sys/types.h>

#define ARGOS_BROKER_INPROC "inproc://argos.broker" //  Where our own actors connect
#define ARGOS_STORE_INPROC "inproc://argos.store"   //  Where the store is bound
#define ARGOS_BIND_MAX 16                           //  Endpoints

//  A peer has been put out: its name ("" when it has told none, or none is meant) and why. Called
//  from the broker's thread; for the log.
typedef void (argos_broker_cut_fn) (const char *name, const char *reason);

typedef struct {
    argos_core_config_t core; //  Limits; store_id and boot are filled from the store
    const char *const *bind; //  ipc:// and tcp:// endpoints, NULL-terminated; NULL = none; borrowed
                             //  until READY
    const char *auth;        //  Where the auth actor is (ARGOS_AUTH_INPROC), NULL = there is none,
                             //  and so no keys and no tcp; borrowed until READY
    const argos_key_t *server; //  Our own CURVE pair, needed by tcp; borrowed until READY
    gid_t group;               //  That may connect by ipc too; 0 = none
    int connections;           //  Of other processes at a time; 0 = see argos_meter_admit
    const char *const
        *services; //  NULL-terminated, declared by configuration; borrowed until READY
    argos_broker_cut_fn *on_cut; //  Told of peers that are put out; NULL = nobody
} argos_broker_config_t;

//  The actor function; config is an argos_broker_config_t.
void argos_broker_actor (zsock_t *pipe, void *config);

#endif
