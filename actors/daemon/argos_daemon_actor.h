//  argos_daemon_actor - what can be asked of the process itself.
//
//  In:    request config.reload (as actor:daemon); leases of service `daemon`: daemon.restart,
//  daemon.home (which it writes into local.yaml, then RELOAD).
//  Pipe: $TERM; RELOADED json (the result, in the
//         order of the RELOADs)
//  Out:   READY when the broker has welcomed us, or FAILED; an entry gateway:startup. Pipe: RELOAD;
//  then the owner reads the
//         settings again; RESTART run_id: then it restarts the process
//  Owner: the supervisor, in the process that has the core
//  A daemon.restart is held until the process has ended. So it comes again to the next one, which
//  tells the chat: no memory but the lane.
//  Limit: WAITING_MAX requests wait for the owner, more are refused `busy`

#ifndef ARGOS_DAEMON_ACTOR_H
#define ARGOS_DAEMON_ACTOR_H

#include "argos_link.h"

#include <czmq.h>

#define ARGOS_DAEMON_RELOAD "RELOAD"     //  To the owner
#define ARGOS_DAEMON_RESTART "RESTART"   //  To the owner, with the run that asks (may be "")
#define ARGOS_DAEMON_RELOADED "RELOADED" //  From it, with the body of a config.reload.result

typedef struct {
    argos_link_t link;     //  To the broker; copied before READY
    const char *home;      //  Folder of the settings; copied before READY
    int64_t looping_until; //  Three planned restarts within a minute: not a fourth, wall msec
    json_t *platforms;     //  Names of those that are configured, an array; copied before READY
} argos_daemon_config_t;

//  The actor; config is an argos_daemon_config_t.
void argos_daemon_actor (zsock_t *pipe, void *config);

#endif
