//  argosd_join - see the header.
//
//  Invariant: nothing that is there is overwritten, and the key is written last. Limit: a home on
//  which no argosd runs.

#include "argosd_join.h"

#include "argos_config.h"
#include "argos_join.h"
#include "argos_keys.h"
#include "argos_schema.h"
#include "argosd_home.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_USAGE 2

//  Reads the words behind join. Returns false when they are wrong.

static bool
s_read_line (int argc, char **argv, const char **ret_ticket, const char **ret_home)
{
    *ret_ticket = *ret_home = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp (argv[i], "--home") == 0 && i + 1 < argc)
            *ret_home = argv[++i];
        else if (!*ret_ticket && (*argv[i] != '-' || argv[i][1] == 0))
            *ret_ticket = argv[i];
        else
            return false;
    return *ret_ticket;
}

//  A ticket that is `-` is read from stdin, so that it is in no list of processes.

static int
s_read_ticket (argos_join_t *join, const char *ticket, char *reason, size_t size)
{
    char line[ARGOS_JOIN_TICKET_MAX];
    if (strcmp (ticket, "-") != 0)
        return argos_join_read (join, ticket, reason, size);
    if (!fgets (line, sizeof line, stdin))
        line[0] = 0;
    line[strcspn (line, " \t\r\n")] = 0;
    int rc = argos_join_read (join, line, reason, size);
    sodium_memzero (line, sizeof line);
    return rc;
}

//  The text of a new argos.yaml

static const char settings[] =
    "# A node that has joined: its settings come from its core, and change with them.\n"
    "# What is written here wins. All that can be set: argos.example.yaml\n";

//  Writes node.json and the key. Returns 0, or -1 with a reason; then neither was written.

static int
s_write_node (const argosd_home_t *home, const argos_join_t *join, char *reason, size_t size)
{
    if (argosd_home_has (home, ARGOS_CONFIG_NODE)) {
        snprintf (reason, size,
            "%s/" ARGOS_CONFIG_NODE " is there already: another node lives here", home->path);
        return -1;
    }
    char *node = argos_join_node (join);
    int rc = argosd_home_put (home, ARGOS_CONFIG_NODE, node);
    free (node);
    if (rc != 0)
        snprintf (reason, size, "%s/" ARGOS_CONFIG_NODE ": %s", home->path, strerror (errno));
    else if ((rc = argos_keys_put (home->path, &join->key, reason, size)) != 0)
        argosd_home_remove (home, ARGOS_CONFIG_NODE);
    return rc;
}

static int
s_write (const argos_join_t *join, const char *path, char *reason, size_t size)
{
    argosd_home_t home;
    int rc = argosd_home_open (&home, path, settings, reason, size);
    if (rc == 0) {
        rc = s_write_node (&home, join, reason, size);
        if (rc == 0)
            printf ("The key of %s is in %s/" ARGOS_KEY_FOLDER ". Start it with:\nargosd --home %s "
                    "--node %s\n",
                join->node, home.path, home.path, join->node);
        argosd_home_close (&home);
    }
    return rc;
}

int
argosd_join (int argc, char **argv)
{
    argos_join_t join = { .node = "" };
    const char *ticket, *named;
    char path[PATH_MAX], reason[PATH_MAX + 256];
    if (!s_read_line (argc, argv, &ticket, &named)) {
        fputs ("usage: argosd join TICKET [--home DIR]\n"
               "  TICKET  what `argos node add` has printed; - = read it from stdin\n",
            stderr);
        return EXIT_USAGE;
    }
    umask (0077);
    int rc = -1;
    if (sodium_init () < 0)
        snprintf (reason, sizeof reason, "a library can't be initialised");
    else if (named ? snprintf (path, sizeof path, "%s", named) >= (int) sizeof path
                   : argosd_home_default (path, sizeof path) != 0)
        snprintf (reason, sizeof reason, "no home: name a folder with --home");
    else if ((rc = s_read_ticket (&join, ticket, reason, sizeof reason)) == 0)
        rc = s_write (&join, path, reason, sizeof reason);
    argos_join_wipe (&join);
    if (rc != 0)
        fprintf (stderr, "argosd: join: %s\n", reason);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
