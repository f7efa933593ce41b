//  argos_claim - tools are served where their tasks are at home, and tasks get a home.

#ifndef ARGOS_CLAIM_H
#define ARGOS_CLAIM_H

#include "argos_peer.h"

//  Serves a tool that works with this host: for whoever has no task, and for the tasks that are at
//  home here (argos_node); so many calls of either kind at a time.
void argos_claim_serve (argos_peer_t *peer, const char *service, const char *node, int slots);

//  A request task.home: claims the session for the node and answers it. The store lets the first
//  one win; who was slower answers `conflict`.
void argos_claim_take (argos_peer_t *peer, const argos_peer_msg_t *msg, const char *node);

#endif
