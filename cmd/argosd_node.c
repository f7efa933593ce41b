//  argosd_node - `argos node add`: a key for another machine, and the one line to run there.
//
//  Invariant: the secret half of the key is in that line only: the bundle is removed before it is
//  printed. Files only; a daemon that runs sees the new key.

#include "argosd_host.h"

#include "argos_config.h"
#include "argos_join.h"
#include "argos_keys.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ACTORS "agent" //  When nothing is said

//  Whether another machine can reach the address: no wildcard.

static bool
s_is_reachable (const char *endpoint)
{
    const char *host = endpoint + strlen ("tcp://");
    return strncmp (endpoint, "tcp://", 6) == 0 && *host != '*' &&
           strncmp (host, "0.0.0.0:", 8) != 0 && strncmp (host, "[::]:", 5) != 0;
}

//  The first address in what the broker listens on that can be told to others, or NULL.

static const char *
s_broker (const argos_config_t *config)
{
    const char **bind = config->bind;
    for (size_t i = 0; i < config->node_count; i++)
        if (config->nodes[i].bind)
            bind = config->nodes[i].bind;
    for (; *bind; bind++)
        if (s_is_reachable (*bind))
            return *bind;
    return NULL;
}

//  What the configuration has for a node, as a list: agent*2,tools. "" = nothing.

static void
s_actors (const argos_config_t *config, const char *name, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < config->node_count; i++)
        for (size_t at = 0; strcmp (config->nodes[i].name, name) == 0 &&
                            at < config->nodes[i].place_count && used < size;
             at++) {
            const argos_config_place_t *place = &config->nodes[i].places[at];
            int length = snprintf (text + used, size - used, "%s%s", used ? "," : "", place->actor);
            if (place->count > 1 && length > 0 && (size_t) length < size - used)
                length += snprintf (
                    text + used + length, size - used - (size_t) length, "*%d", place->count);
            used += (size_t) length;
        }
}

//  Whether the configuration gives that name to the node with the core.

static bool
s_holds_core (const argos_config_t *config, const char *name)
{
    for (size_t i = 0; i < config->node_count; i++)
        for (size_t at = 0; at < config->nodes[i].place_count; at++)
            if (strcmp (config->nodes[i].name, name) == 0 &&
                strcmp (config->nodes[i].places[at].actor, "core") == 0)
                return true;
    return false;
}

//  What the words leave open is taken from the configuration. Returns false with a reason.

static bool
s_complete (argos_cli_t *self, argos_join_t *join, const char *actors, const char *broker)
{
    argos_config_t *config =
        argos_config_load (self->home, NULL, NULL, self->reason, sizeof self->reason);
    if (!config)
        return false;
    s_actors (config, join->node, join->actors, sizeof join->actors);
    if (actors || !*join->actors)
        snprintf (join->actors, sizeof join->actors, "%s", actors ? actors : ACTORS);
    if (!broker)
        broker = s_broker (config);
    snprintf (join->broker, sizeof join->broker, "%s", broker ? broker : "");
    const char *wrong = s_holds_core (config, join->node)
                            ? "that is the name of the node with the core: take another"
                        : broker ? argos_join_wrong (join)
                                 : "argos.yaml binds no tcp address that others can reach: name it "
                                   "with --broker";
    argos_config_destroy (&config);
    if (wrong)
        snprintf (self->reason, sizeof self->reason, "%s", wrong);
    return !wrong;
}

//  Takes the words behind `add`. Returns false with a reason.

static bool
s_read (argos_cli_t *self, argos_join_t *join, int argc, char **argv)
{
    const char *name = NULL, *actors = NULL, *broker = NULL;
    snprintf (self->reason, sizeof self->reason,
        "one name, --actors LIST and --broker tcp://host:port are all that it takes");
    for (int i = 0; i < argc; i++)
        if (strcmp (argv[i], "--actors") == 0 && i + 1 < argc)
            actors = argv[++i];
        else if (strcmp (argv[i], "--broker") == 0 && i + 1 < argc)
            broker = argv[++i];
        else if (*argv[i] == '-' || name)
            return false;
        else
            name = argv[i];
    //  One that is too long is none: argos_join_wrong says so
    if (name && strlen (name) < sizeof join->node)
        snprintf (join->node, sizeof join->node, "%s", name);
    return name && s_complete (self, join, actors, broker);
}

//  Makes the key, and leaves it in join only. Returns 0 or -1 with a reason.

static int
s_make_key (argos_cli_t *self, argos_join_t *join)
{
    char path[PATH_MAX];
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    const argos_keys_new_t wanted = { .name = join->node,
        .role = "core",
        .now = (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000 };
    if (argos_keys_make (
            self->home, &wanted, path, sizeof path, self->reason, sizeof self->reason) != 0 ||
        argos_key_read (&join->key, path, self->reason, sizeof self->reason) != 0)
        return -1;
    if (unlink (path) == 0)
        return 0;
    snprintf (self->reason, sizeof self->reason, "%.400s can't be removed", path);
    return -1;
}

static int
s_add (argos_cli_t *self, int argc, char **argv)
{
    argos_join_t join = { .node = "" };
    if (!s_read (self, &join, argc, argv))
        return argos_cli_usage (self, "node add: %s", self->reason);
    int rc = CLI_OK;
    if (s_make_key (self, &join) == 0) {
        char *ticket = argos_join_ticket (&join);
        if (self->json)
            argos_cli_print (json_pack ("{s:s,s:s,s:s,s:s}", "node", join.node, "broker",
                join.broker, "actors", join.actors, "ticket", ticket));
        else {
            printf ("argosd join %s\n", ticket);
            fprintf (stderr,
                "Run that line on %s. It is shown this once, and whoever has it is that node; "
                "`argos keys revoke %s` takes it back.\n",
                join.node, join.node);
        }
        sodium_memzero (ticket, strlen (ticket));
        free (ticket);
    }
    else
        rc = argos_cli_fail (self, "node add", ARGOS_INVALID);
    argos_join_wipe (&join);
    return rc;
}

int
argosd_command_node (argos_cli_t *self, int argc, char **argv)
{
    if (argc > 1 && strcmp (argv[0], "add") == 0)
        return s_add (self, argc - 1, argv + 1);
    return argos_cli_usage (self, "node add NAME [--actors LIST] [--broker tcp://HOST:PORT]");
}
