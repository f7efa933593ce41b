//  bench_core - broker and store in this process.
//
//  Invariant: at most one at a time; each start has a database of its own.

#include "bench_core.h"

#include "argos_actor.h"
#include "argos_broker_actor.h"
#include "argos_store_actor.h"
#include "bench.h"

#include <stdio.h>

#define STOP_MS 10000

static zactor_t *s_store, *s_broker;
static char s_ipc[PATH_MAX + 64];

const char *
bench_core_ipc (void)
{
    return s_ipc;
}

int
bench_core_start (void)
{
    static int number;
    static const char *const services[] = { "bench", NULL };
    static const char *const ipc_roles[] = { "client", "worker", NULL };
    char path[PATH_MAX + 64], reason[256] = "";
    snprintf (path, sizeof path, "%s/core-%d.db", bench_folder (), ++number);
    snprintf (s_ipc, sizeof s_ipc, "ipc://@argos-bench-%d-%d", (int) getpid (), number);
    argos_store_actor_config_t store = {
        .path = path, .endpoint = ARGOS_STORE_INPROC, .reason = reason
    };
    const char *bind[] = { s_ipc, NULL };
    argos_broker_config_t broker = { .bind = bind, .services = services };
    argos_core_config_init (&broker.core);
    broker.core.ipc_roles = ipc_roles;
    s_store = argos_actor_start ("store", argos_store_actor, &store);
    s_broker = s_store ? argos_actor_start ("broker", argos_broker_actor, &broker) : NULL;
    if (s_broker)
        return 0;
    fprintf (stderr, "bench: broker and store do not start %s\n", reason);
    bench_core_stop ();
    return -1;
}

void
bench_core_stop (void)
{
    if (s_broker)
        argos_actor_stop (&s_broker, STOP_MS);
    if (s_store)
        argos_actor_stop (&s_store, STOP_MS);
}
