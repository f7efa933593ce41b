//  argos_sim_stand - no lane stands still while it has something due.
//
//  Invariant checked: of a lane with a row that is due by the wall clock and not parked, something
//  changes within ARGOS_SIM_STARVE msec of simulated time: its rows, a lease, a commit. Rows that
//  are suspected of crashes have to wait longer.

#include "argos_sim_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRUCK_LANES 8 //  One of them begins every 5 s: so many times the bound

//  service, key, state, whether one has so many strikes that it waits for its turn

static void
s_lane (void *arg, int columns, char **values)
{
    world_t *world = arg;
    char name[sizeof ((standing_t *) 0)->name];
    standing_t *standing;
    (void) columns;
    snprintf (name, sizeof name, "%s %s", values[0], values[1]);
    HASH_FIND_STR (world->standings, name, standing);
    if (!standing) {
        standing = calloc (1, sizeof *standing);
        if (!standing)
            abort ();
        memcpy (standing->name, name, sizeof name);
        HASH_ADD_STR (world->standings, name, standing);
    }
    //  One that was not there in between has begun anew
    if (strcmp (standing->state, values[2]) != 0 || standing->look != world->look - 1) {
        snprintf (standing->state, sizeof standing->state, "%s", values[2]);
        standing->since = world->net->mono;
    }
    standing->look = world->look;
    int64_t bound = (int64_t) ARGOS_SIM_STARVE * (values[3][0] == '1' ? STRUCK_LANES : 1);
    if (world->net->mono - standing->since > bound)
        argos_sim_wrong (world, "lane %s stands still for %" PRId64 " ms: %s", name,
            world->net->mono - standing->since, standing->state);
}

#define LANES                                                                                      \
    "SELECT service, key, count (*) || ' rows from ' || min (seq) || ', lease ' ||"                \
    " ifnull (max (lease), 0) || ', commit ' || max (n), max (strikes) >= 8"                       \
    " FROM queue GROUP BY service, key HAVING min (not_before) <= ?1 AND max (delay_until) <= ?1"

void
argos_sim_stand (world_t *world)
{
    world->look++;
    argos_sim_net_query (world->net, LANES, s_lane, world);
}

void
argos_sim_stand_forget (world_t *world)
{
    standing_t *standing, *next;
    HASH_ITER (hh, world->standings, standing, next) {
        HASH_DEL (world->standings, standing); //  NOLINT(clang-analyzer-unix.Malloc): next is known
        free (standing);
    }
}
