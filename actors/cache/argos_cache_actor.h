//  argos_cache_actor - keeps agents between turns: who asks gets the one of its conversation, or
//  hears that it has to build one.
//
//  In:    requests agent.acquire, agent.release, agent.evict, agent.list (as the actor of its
//         name); replies to session.get; entries of the tool registry and of
//         topic:agent.sessions (session.ended); pipe: $TERM, SETTINGS
//  Out:   READY when the broker has welcomed us, or FAILED; the results of these; agent.dropped on
//         topic:agent.events, passing; task.close to tools that asked for it
//  Timer: the sweep, every 300 s or agent.cache.idle_ttl_s, while something is cached
//  Owner: the supervisor, in each process that has agents
//  Limit: agent.cache.max_size entries that are not mid-turn; 256 lookups that wait for the store
//
//  Nothing is kept here only: when this actor is gone, every turn counts as a miss.

#ifndef ARGOS_CACHE_ACTOR_H
#define ARGOS_CACHE_ACTOR_H

#include "argos_link.h"

#include <czmq.h>

typedef struct {
    argos_link_t link;      //  To the broker; copied before READY
    const json_t *settings; //  The whole snapshot; copied
} argos_cache_config_t;

//  The actor; config is an argos_cache_config_t.
void argos_cache_actor (zsock_t *pipe, void *config);

#endif
