//  argos_gateway_ask - the shell around argos_ask: reads, writes, answers.

#ifndef ARGOS_GATEWAY_ASK_H
#define ARGOS_GATEWAY_ASK_H

#include "argos_gateway.h"
#include "argos_peer.h"

//  Takes a request to actor:gateway and sees to its answer; peer, and the profile of the policy,
//  have to outlive it. One of a type that is not in the table is answered `unknown_type`.
void argos_gateway_ask (
    argos_peer_t *peer, const argos_gateway_policy_t *policy, const argos_peer_msg_t *request);

#endif
