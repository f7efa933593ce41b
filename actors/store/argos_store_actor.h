//  argos_store_actor - the thread of the database: argos_store behind the PAIR of the broker.
//
//  In:    requests of argos_storage.h on the PAIR; $TERM on the pipe
//  Out:   their answers, in order, after the commit; READY | FAILED reason on the pipe
//  Timer: the hour, and 20 ms without a request, after which chores run
//  Owner: the supervisor, which ends the process when this actor fails. Limit: 64 requests a
//  commit.

#ifndef ARGOS_STORE_ACTOR_H
#define ARGOS_STORE_ACTOR_H

#include "argos_store.h"

#include <czmq.h>

typedef struct {
    const char *path;     //  Database file, copied before READY
    const char *endpoint; //  Where the PAIR is bound (ARGOS_STORE_INPROC), copied before READY
    const argos_store_blobs_t *blobs; //  Limits of blobs, copied before READY; NULL = the defaults
    const argos_store_keep_t *keeps;  //  Rules of retention, copied before READY; may be NULL
    size_t keep_count;                //  How many
    const char *runs_owner;           //  Whose runs go when they have ended; NULL = all stay
    int64_t runs_keep_ms;             //  after so long
    argos_store_info_t *info;         //  Filled before READY; may be NULL
    char *reason;                     //  Filled before FAILED, 256 bytes; may be NULL
} argos_store_actor_config_t;

//  For argos_actor_start; config is an argos_store_actor_config_t.
void argos_store_actor (zsock_t *pipe, void *config);

#endif
