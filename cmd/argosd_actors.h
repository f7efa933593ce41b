//  argosd_actors - which actors one argosd has, in which order, with which settings.
//
//  Order of starting: store, broker, rehearsal (only when it is the provider), tools, agent,
//  gateway, api. Stopping is the reverse, so that nothing new comes in while what is there comes to
//  its end. Store and broker are the core: when one of them fails, the process ends.

#ifndef ARGOSD_ACTORS_H
#define ARGOSD_ACTORS_H

#include "argos_config.h"
#include "argos_supervisor.h"
#include "argosd_follow.h"
#include "argosd_place.h"

typedef struct argosd_actors argosd_actors_t;

//  The table for this place, home and settings, all borrowed until it is destroyed. follow NULL: no
//  node that has joined; else there is its follower, and nothing beside it before its core is
//  known. The caller's. NULL with a sentence in reason when a key can't be read.
argosd_actors_t *argosd_actors_new (const argosd_place_t *place, const argosd_home_t *home,
    const argos_config_t *config, argosd_follow_t *follow, char *reason, size_t size);

//  NULL-safe, idempotent. The supervisor has to be gone before.
void argosd_actors_destroy (argosd_actors_t **self_p);

//  A supervisor of the table; the caller's.
argos_supervisor_t *argosd_actors_supervisor (argosd_actors_t *self);

//  Why an actor could not start, as far as it has left a sentence; "" = unknown. Borrowed.
const char *argosd_actors_reason (const argosd_actors_t *self);

#endif
