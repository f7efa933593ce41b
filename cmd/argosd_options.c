//  argosd_options - see the header.

#include "argosd_options.h"

#include "argos_child.h"
#include "argos_say_words.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "argosd"
#define PORT_MAX 65535
#define EXIT_USAGE 2

enum { HOME = 1, PORT, NODE, ISOLATE, ONLY, BROKER, KEY, CHILD, VERSION, HELP };

static const struct option known[] = { { "home", required_argument, NULL, HOME },
    { "port", required_argument, NULL, PORT }, { "node", required_argument, NULL, NODE },
    { "isolate", no_argument, NULL, ISOLATE }, { "only", required_argument, NULL, ONLY },
    { "broker", required_argument, NULL, BROKER }, { "key", required_argument, NULL, KEY },
    { &ARGOS_CHILD_OPTION[2], no_argument, NULL, CHILD }, { "version", no_argument, NULL, VERSION },
    { "help", no_argument, NULL, HELP }, { NULL, 0, NULL, 0 } };

//  A port number, or -1.

static int
s_port (const char *text)
{
    char *end;
    long port = strtol (text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && port <= PORT_MAX ? (int) port : -1;
}

//  One option. Returns false when it is wrong.

static bool
s_take (argosd_line_t *self, int option, const char **ret_home)
{
    switch (option) {
    case HOME:
        *ret_home = optarg;
        break;
    case PORT:
        self->port = s_port (optarg);
        return self->port >= 0;
    case NODE:
        self->place.node = optarg;
        break;
    case ISOLATE:
        self->place.isolate = true;
        return true;
    case ONLY:
        self->place.only = optarg;
        break;
    case BROKER:
        self->place.broker = optarg;
        break;
    case KEY:
        self->place.key = optarg;
        break;
    case CHILD:
        self->place.child = true;
        return true;
    default:
        return false;
    }
    return *optarg;
}

static int
s_wrong (void)
{
    fputs (argos_say_words_daemon, stderr);
    return EXIT_USAGE;
}

//  Whether the core is among the actors of --only

static bool
s_names_core (const char *list)
{
    for (const char *word = list; word; word = strchr (word, ','), word += word != NULL)
        if (strncmp (word, "core", 4) == 0 && (word[4] == 0 || word[4] == ','))
            return true;
    return false;
}

int
argosd_options_read (argosd_line_t *self, int argc, char **argv)
{
    const char *home = NULL;
    int option;
    *self = (argosd_line_t){ .port = -1 };
    while ((option = getopt_long (argc, argv, "", known, NULL)) != -1) {
        if (option == VERSION) {
            puts (NAME " " ARGOS_VERSION);
            return EXIT_SUCCESS;
        }
        if (option == HELP) {
            fputs (argos_say_words_daemon, stdout);
            return EXIT_SUCCESS;
        }
        if (!s_take (self, option, &home))
            return s_wrong ();
    }
    bool core = !self->place.only || s_names_core (self->place.only);
    if (optind < argc || (core && (self->place.broker || self->place.key)))
        return s_wrong ();
    self->visit = !core;
    int rc = home ? (snprintf (self->home, sizeof self->home, "%s", home) < PATH_MAX ? 0 : -1)
                  : argosd_home_default (self->home, sizeof self->home);
    if (rc == 0)
        return -1;
    fputs (NAME ": no home: name a folder with --home\n", stderr);
    return EXIT_USAGE;
}
