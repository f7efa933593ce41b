//  argos_gateway_actor - takes what people and programs say, and makes turns, commands and answers
//  of it.
//
//  Serves: `gateway` (message.inbound, message.dead), 64 at a time
//  Asks:   store (route.get, session.get, lane.list), actor:agent (agent.status, 1 s)
//  Sends:  turn.request, turn.stop, session.end, deliver.request, run entries; all of them in the
//  `done` of a message Pipe:   READY once the service is declared; FAILED reason Owner:  the
//  supervisor. In: SETTINGS; a message in hand keeps those that it began with. No state outlives a
//  message, so any number of gateways may serve side by side.

#ifndef ARGOS_GATEWAY_ACTOR_H
#define ARGOS_GATEWAY_ACTOR_H

#include "argos_gateway.h"
#include "argos_link.h"

#include <czmq.h>

typedef struct {
    argos_link_t link;             //  To the broker; copied before READY
    argos_gateway_policy_t policy; //  Settings; copied, route.profile too; config too
} argos_gateway_config_t;

//  The actor; config is an argos_gateway_config_t.
void argos_gateway_actor (zsock_t *pipe, void *config);

#endif
