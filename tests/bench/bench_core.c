//  bench_core - broker, store and auth actor in this process.
//
//  Invariant: at most one at a time; each start but bench_core_again has a database of its own. The
//  keys are those of one home, the bench's folder. Over ipc nobody needs one.

#include "bench_core.h"

#include "argos_actor.h"
#include "argos_auth_actor.h"
#include "argos_broker_actor.h"
#include "argos_keys.h"
#include "argos_store_actor.h"
#include "bench.h"

#include <arpa/inet.h>
#include <stdio.h>

#define STOP_MS 10000

static zactor_t *s_store, *s_auth, *s_broker;
static char s_ipc[PATH_MAX + 64], s_tcp[64];
static argos_key_t s_key, s_server;
static char s_key_file[PATH_MAX + 64];
static int s_number; //  Of the database

const char *
bench_core_ipc (void)
{
    return s_ipc;
}

const char *
bench_core_tcp (void)
{
    return s_tcp;
}

const argos_key_t *
bench_core_key (void)
{
    return &s_key;
}

const char *
bench_core_key_file (void)
{
    return s_key_file;
}

int
bench_port (void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;
    //  Through void: the two structs share their beginning by contract
    void *plain = &address;
    if (fd >= 0 && bind (fd, plain, size) == 0 && getsockname (fd, plain, &size) == 0)
        port = ntohs (address.sin_port);
    if (fd >= 0)
        close (fd);
    return port;
}

//  The broker's pair and the key of who comes over tcp, once. Returns 0, or -1 with a reason.

static int
s_make_keys (char *reason, size_t size)
{
    argos_keys_new_t wanted = { BENCH_REMOTE, "worker", NULL, NULL, 1 };
    if (*s_key.name)
        return 0;
    return argos_keys_server (bench_folder (), &s_server, reason, size) == 0 &&
                   argos_keys_make (bench_folder (), &wanted, s_key_file, sizeof s_key_file, reason,
                       size) == 0 &&
                   argos_key_read (&s_key, s_key_file, reason, size) == 0
               ? 0
               : -1;
}

static int
s_start_broker (void)
{
    static const char *const services[] = { "bench", BENCH_REMOTE, NULL };
    static const char *const ipc_roles[] = { "client", "worker", NULL };
    const char *bind[] = { s_ipc, s_tcp, NULL };
    argos_broker_config_t broker = {
        .bind = bind, .services = services, .auth = ARGOS_AUTH_INPROC, .server = &s_server
    };
    argos_core_config_init (&broker.core);
    broker.core.ipc_roles = ipc_roles;
    s_broker = argos_actor_start ("broker", argos_broker_actor, &broker);
    return s_broker ? 0 : -1;
}

int
bench_core_again (void)
{
    char path[PATH_MAX + 64], keys[PATH_MAX + 64], reason[512] = "";
    snprintf (path, sizeof path, "%s/core-%d.db", bench_folder (), s_number);
    snprintf (keys, sizeof keys, "%s/%s", bench_folder (), ARGOS_KEY_FOLDER);
    snprintf (s_ipc, sizeof s_ipc, "ipc://@argos-bench-%d-%d", (int) getpid (), s_number);
    snprintf (s_tcp, sizeof s_tcp, "tcp://127.0.0.1:%d", bench_port ());
    argos_store_actor_config_t store = {
        .path = path, .endpoint = ARGOS_STORE_INPROC, .reason = reason
    };
    argos_auth_config_t auth = { .folder = keys };
    if (s_make_keys (reason, sizeof reason) == 0 &&
        (s_store = argos_actor_start ("store", argos_store_actor, &store)) &&
        (s_auth = argos_actor_start ("auth", argos_auth_actor, &auth)) && s_start_broker () == 0)
        return 0;
    fprintf (stderr, "bench: broker, store and auth do not start %s\n", reason);
    bench_core_stop ();
    return -1;
}

int
bench_core_start (void)
{
    s_number++;
    return bench_core_again ();
}

void
bench_core_stop (void)
{
    zactor_t **actors[] = { &s_broker, &s_auth, &s_store };
    for (size_t i = 0; i < sizeof actors / sizeof *actors; i++)
        if (*actors[i])
            argos_actor_stop (actors[i], STOP_MS);
}
