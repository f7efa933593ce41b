//  argos_offers - takes offers of tools from other peers: the request tool.offer.
//
//  An offer becomes a record of the space `tool`, in one commit with an entry of topic:tool.offers.
//  A name belongs to the peer (base name) that has offered it first. All calls are of the peer's
//  thread.

#ifndef ARGOS_OFFERS_H
#define ARGOS_OFFERS_H

#include "argos_peer.h"
#include "argos_toolset.h"

//  Handles the request and answers it, now or when the store has answered. set: the tools that
//  there are, for the names of ours and the number of offers.
void argos_offers_take (
    argos_peer_t *peer, const argos_peer_msg_t *msg, const argos_toolset_t *set);

#endif
