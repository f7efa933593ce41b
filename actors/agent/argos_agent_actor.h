//  argos_agent_actor - runs turns: leases `turn.*`, calls the provider, has tools run, commits
//  every step.
//
//  In:    $TERM; SETTINGS, for turns that begin from then on; DRAIN. Leases of service `turn`:
//  turn.request, turn.stop, session.end; the last two as side
//         messages too. Request agent.status (as the actor of its name)
//  Out:   READY when the broker has welcomed us, or FAILED; DRAINED. Numbered commits
//  (session.append, run.finish, entries of topic:run.<id>,
//         deliver.request); passing turn.delta entries; requests session.load, lane.list,
//         tool.call, agent.acquire, agent.release, agent.evict
//  Timer: deltas, backoff and libcurl's; none when idle
//  Limit: config.slots turns at a time; 16 tool calls of one answer; 60 side messages of one turn
//
//  A turn that is leased again continues from its commits and says turn.restarted. A tool call
//  without a stored result is told to the model as unknown; it is never run again.

#ifndef ARGOS_AGENT_ACTOR_H
#define ARGOS_AGENT_ACTOR_H

#include "argos_link.h"
#include "argos_provider.h"

#include <czmq.h>

typedef struct {
    argos_link_t link;                                        //  To the broker; copied before READY
    argos_provider_settings_t provider;                       //  Who answers
    argos_provider_settings_t fallbacks[ARGOS_FALLBACKS_MAX]; //  Who answers when that one can't
    size_t fallback_count;                                    //  How many
    json_t *settings;      //  All of them; NULL = the next two alone. Copied
    char *system_prompt;   //  First message of each conversation; NULL = none. Copied
    int max_iterations;    //  Calls of the model in one turn; 0 = 90
    int slots;             //  Turns at a time; 0 = 1000
    int cache;             //  Number of the cache beside us, 0 = it has none
    int64_t looping_until; //  Restart after restart: no turn is taken up again before, wall msec
} argos_agent_config_t;

//  The actor; config is an argos_agent_config_t, copied before READY.
void argos_agent_actor (zsock_t *pipe, void *config);

#endif
