//  argos_sim_fault - what breaks: processes, hosts, connections, links, clocks, the disk.
//
//  Invariant: each fault ends by itself or by argos_sim_fault_heal. A frame is never lost while its
//  connection is there (as with TCP), only late; a link that is cut holds it back.

#include "argos_sim_world.h"

#include <inttypes.h>

#define CUT_MAX (4 * ARGOS_SIM_LEASE_MS) //  Msec of a cut link, at most
#define DELAY_MAX 150                    //  Msec of a slow one
#define FULL_MAX 2000                    //  Msec of a full disk
#define JUMP_MAX 8000                    //  Msec of a jump of the clock
#define WRITES_MAX 40                    //  Writes and syncs before the power goes

static int
s_random (void *arg, int limit)
{
    return argos_sim_random (arg, limit);
}

int64_t
argos_sim_fault_arrival (world_t *self, const peer_t *peer)
{
    return self->net->mono + argos_sim_random (self, self->links[peer->node].delay);
}

//  ------------------------------------------------------------------------------------------------
//  Processes

//  Everybody loses the core. Those in its process go with it; those on its host too when the host
//  does; others notice at once or not.

static void
s_lose_core (world_t *self, bool host)
{
    for (int i = 0; i < self->peer_count; i++) {
        peer_t *peer = self->peers[i];
        if (peer->role == ARGOS_ROLE_CORE || (host && peer->node == 0))
            argos_sim_peer_kill (peer);
        else
            argos_sim_peer_cut (peer, argos_sim_random (self, 2) != 0);
    }
}

static void
s_jump (world_t *self)
{
    int most = self->odds.late > ARGOS_SIM_STARVE ? 2 * ARGOS_SIM_STARVE : JUMP_MAX;
    int ms = argos_sim_random (self, 2 * most) - most;
    argos_sim_trace (self, "** the clock jumps by %d ms", ms);
    self->net->wall += ms;
}

//  kill -9 of the process: some requests may still be executed, their answers are lost. Or the
//  power goes while they are.

static void
s_crash (world_t *self)
{
    bool power = argos_sim_random (self, 100) < self->odds.power;
    for (int i = argos_sim_random (self, 3); i > 0; i--)
        argos_sim_net_batch (self->net, 1 + (size_t) argos_sim_random (self, 8), false);
    argos_sim_trace (self, power ? "** the power goes" : "** kill -9 of the broker");
    self->crashes++;
    s_lose_core (self, power);
    if (argos_sim_chance (self, 150 * self->odds.jump))
        s_jump (self); //  Before a clock that was set to the time of the network
    argos_sim_disk_full (false);
    self->full_until = 0;
    if (power)
        argos_sim_net_power (self->net, (size_t) argos_sim_random (self, 8),
            argos_sim_random (self, WRITES_MAX), s_random, self);
    else
        argos_sim_net_crash (self->net);
    argos_sim_shadow_restarted (self->shadow, self->net);
}

static void
s_break_peer (world_t *self, peer_t *peer)
{
    if (argos_sim_chance (self, self->odds.kill)) {
        argos_sim_trace (self, "** kill -9 of %s", peer->name);
        self->kills++;
        argos_sim_peer_kill (peer);
    }
    if (argos_sim_chance (self, self->odds.cut) && peer->role == ARGOS_ROLE_LOCAL) {
        argos_sim_trace (self, "** %s loses its connection", peer->name);
        argos_sim_peer_cut (peer, argos_sim_random (self, 2) != 0);
    }
    if (argos_sim_chance (self, self->odds.stall)) {
        int ms = argos_sim_random (self, 3 * ARGOS_SIM_LEASE_MS);
        argos_sim_trace (self, "** %s stops for %d ms", peer->name, ms);
        peer->stalled = self->net->mono + ms;
    }
}

//  ------------------------------------------------------------------------------------------------
//  Links, clocks, the disk

//  One way or both; the core's own host has no link that could be cut.

static void
s_break_link (world_t *self, int node)
{
    link_t *link = &self->links[node];
    if (argos_sim_chance (self, self->odds.part)) {
        int ways = 1 + argos_sim_random (self, 3);
        int64_t until = self->net->mono + argos_sim_random (self, CUT_MAX);
        argos_sim_trace (self, "** node %d is cut off%s%s until %" PRId64 " ms", node,
            ways & 1 ? ", up" : "", ways & 2 ? ", down" : "", until - 1000);
        link->up = ways & 1 ? until : link->up;
        link->down = ways & 2 ? until : link->down;
    }
    if (argos_sim_chance (self, self->odds.slow)) {
        link->delay = argos_sim_random (self, 2) * argos_sim_random (self, DELAY_MAX);
        argos_sim_trace (self, "** node %d is %d ms away", node, link->delay);
    }
}

void
argos_sim_fault (world_t *self)
{
    if (argos_sim_chance (self, self->odds.crash))
        s_crash (self);
    s_break_peer (self, self->peers[argos_sim_random (self, self->peer_count)]);
    s_break_link (self, 1 + argos_sim_random (self, ARGOS_SIM_NODES - 1));
    if (argos_sim_chance (self, self->odds.jump))
        s_jump (self);
    if (argos_sim_chance (self, self->odds.full)) {
        argos_sim_trace (self, "** the disk is full");
        argos_sim_disk_full (true);
        self->full_until = self->net->mono + argos_sim_random (self, FULL_MAX);
    }
}

void
argos_sim_fault_pass (world_t *self)
{
    if (self->full_until && self->full_until <= self->net->mono) {
        argos_sim_trace (self, "** there is room again");
        argos_sim_disk_full (false);
        self->full_until = 0;
    }
}

void
argos_sim_fault_heal (world_t *self)
{
    argos_sim_trace (self, "** nothing breaks any more");
    self->calm = true;
    self->full_until = 0;
    argos_sim_disk_full (false);
    for (int i = 0; i < self->peer_count; i++)
        self->peers[i]->stalled = 0;
    for (int i = 0; i < ARGOS_SIM_NODES; i++)
        self->links[i] = (link_t){ 0, 0, 0 };
}
