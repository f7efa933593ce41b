//  argos_handoff_actor - moves sessions to other platforms.
//
//  In:    leases of service handoff: handoff.begin (a request was made), handoff.check (what became
//         of one that was completed); pipe: $TERM, SETTINGS
//  Out:   READY when the broker has welcomed us, or FAILED; requests to store, broker and adapters
//         (thread.create, chat.info); commits; handoff.changed on topic:handoff.events, passing
//  Timer: every 30 s, for requests that nobody told us of; 1 s before a last commit is tried again
//  Owner: the supervisor
//  Limit: 32 handoffs at a time; a destination that is in use is waited for for 10 minutes
//
//  Nothing is claimed for a platform whose adapter is not here. What is lost before anything was
//  sent is tried once more, by the rules of the store; after that it fails.

#ifndef ARGOS_HANDOFF_ACTOR_H
#define ARGOS_HANDOFF_ACTOR_H

#include "argos_link.h"

#include <czmq.h>

typedef struct {
    argos_link_t link;      //  To the broker; copied before READY
    const json_t *settings; //  The snapshot; copied
} argos_handoff_config_t;

//  The actor; config is an argos_handoff_config_t.
void argos_handoff_actor (zsock_t *pipe, void *config);

#endif
