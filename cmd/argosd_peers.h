//  argosd_peers - the actors outside of the core: their settings, as threads of this process or as
//  children of it.

#ifndef ARGOSD_PEERS_H
#define ARGOSD_PEERS_H

#include "argos_supervisor.h"
#include "argosd_place.h"

typedef struct argosd_peers argosd_peers_t;

//  The settings for a place. Everything is borrowed until it is destroyed. core_token is what
//  isolated actors show to the broker of this process, adapter_tokens foreign adapters, one each.
argosd_peers_t *argosd_peers_new (const argosd_place_t *place, const argosd_home_t *home,
    const argos_config_t *config, const char *core_token,
    const char (*adapter_tokens)[ARGOS_TOKEN_MAX]);

//  NULL-safe, idempotent. The supervisor has to be gone before.
void argosd_peers_destroy (argosd_peers_t **self_p);

//  Puts their rows into a table, at most room, in the order of starting: rehearsal (only when it is
//  the provider and an agent is here), cache (likewise), tools, agents, gateways, handoff, api,
//  foreign adapters. Returns how many.
size_t argosd_peers_table (argosd_peers_t *self, argos_supervised_t *table, size_t room);

#endif
