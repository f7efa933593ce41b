//  argos_registry - follows the offers of tools: a toolset that is as the store has it.
//
//  Reads the records of the space `tool` at each welcome and whenever topic:tool.offers tells of a
//  change. All calls are of the peer's thread, and it ends before the peer or with it.

#ifndef ARGOS_REGISTRY_H
#define ARGOS_REGISTRY_H

#include "argos_peer.h"
#include "argos_toolset.h"

typedef struct argos_registry argos_registry_t;

//  Told after each change of the set; may be NULL.
typedef void (argos_registry_fn) (void *arg);

//  Begins to follow. Answers of the peer may come after the end of the registry, so the peer has to
//  end before it: destroy the peer first. The caller's.
argos_registry_t *argos_registry_new (argos_peer_t *peer, argos_registry_fn *fn, void *arg);

//  After the end of the peer. NULL-safe, idempotent.
void argos_registry_destroy (argos_registry_t **self_p);

//  To be called from on_welcome, before anything else is asked of the store; and from on_entry:
//  returns whether the entry was for us.
void argos_registry_welcome (argos_registry_t *self);
bool argos_registry_entry (argos_registry_t *self, const char *topic);

//  The set; borrowed.
const argos_toolset_t *argos_registry_set (const argos_registry_t *self);

#endif
