//  argos_link - where an actor finds the broker, and what it is called there.
//
//  In the broker's process and on its node an actor has its plain name; elsewhere
//  <actor>[.<n>]@<node>. Which it is, is configuration: no actor's code knows.

#ifndef ARGOS_LINK_H
#define ARGOS_LINK_H

#include "argos_peer.h"

typedef struct {
    const char *endpoint; //  inproc://, ipc:// or tcp:// address; NULL = the broker of this process
    const argos_key_t *key; //  What to show; NULL = nothing
    const char *node;       //  Node; NULL or "" = that of the core
    int number;             //  Which of several on the node, from 1; 0 = the only one
} argos_link_t;

//  Fills endpoint, key and name of a peer's settings. Room for the name is the caller's, and has to
//  live until the peer is made. Everything else is borrowed from self likewise.
void argos_link_apply (const argos_link_t *self, const char *actor, argos_peer_config_t *peer,
    char name[static ARGOS_NAME_MAX + 1]);

#endif
