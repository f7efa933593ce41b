//  argos_sim - runs seeds: argos-sim --seeds A-B [--disk DIR] [--trace]
//
//  Exit 0 when all are well, 1 with a line that repeats the first one that is not, 2 for wrong
//  usage.

#include "argos_sim_world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    uint64_t first, last; //  Seeds
    const char *disk;     //  Folder, NULL = in memory
    bool trace;           //  Print what happens
} options_t;

static int
s_usage (void)
{
    fprintf (stderr, "usage: argos-sim --seeds A-B [--disk DIR] [--trace]\n");
    return 2;
}

static bool
s_seeds (const char *text, options_t *options)
{
    char *end = NULL;
    errno = 0;
    options->first = options->last = strtoull (text, &end, 10);
    if (end != text && *end == '-')
        options->last = strtoull (end + 1, &end, 10);
    return errno == 0 && end != text && *end == 0 && options->first <= options->last;
}

static bool
s_read (int argc, char **argv, options_t *options)
{
    bool seeds = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp (argv[i], "--trace") == 0)
            options->trace = true;
        else if (strcmp (argv[i], "--seeds") == 0 && i + 1 < argc)
            seeds = s_seeds (argv[++i], options);
        else if (strcmp (argv[i], "--disk") == 0 && i + 1 < argc)
            options->disk = argv[++i];
        else
            return false;
    }
    return seeds;
}

typedef struct {
    int64_t steps, crashes, kills, messages; //  Over all seeds
} totals_t;

static bool
s_run (const options_t *options, uint64_t seed, totals_t *totals)
{
    char path[200];
    if (options->disk)
        snprintf (path, sizeof path, "%.150s/sim-%ld-%" PRIu64 ".db", options->disk,
            (long) getpid (), seed);
    else
        snprintf (path, sizeof path, "memory");
    world_t *world = argos_sim_world_new (seed, path, options->trace);
    bool well = argos_sim_world_run (world);
    totals->steps += world->step;
    totals->crashes += world->crashes;
    totals->kills += world->kills;
    totals->messages += HASH_COUNT (world->messages);
    argos_sim_world_destroy (&world);
    return well;
}

int
main (int argc, char **argv)
{
    options_t options = { 0, 0, NULL, false };
    totals_t totals = { 0, 0, 0, 0 };
    struct timespec begin, end;
    if (!s_read (argc, argv, &options))
        return s_usage ();
    if (options.disk && mkdir (options.disk, 0700) != 0 && errno != EEXIST) {
        fprintf (stderr, "argos-sim: %s: %s\n", options.disk, strerror (errno));
        return 2;
    }
    clock_gettime (CLOCK_MONOTONIC, &begin);
    for (uint64_t seed = options.first; seed <= options.last; seed++) {
        if (s_run (&options, seed, &totals))
            continue;
        printf ("repeat it: %s --seeds %" PRIu64 "%s%s --trace\n", argv[0], seed,
            options.disk ? " --disk " : "", options.disk ? options.disk : "");
        return 1;
    }
    clock_gettime (CLOCK_MONOTONIC, &end);
    double seconds =
        (double) (end.tv_sec - begin.tv_sec) + (double) (end.tv_nsec - begin.tv_nsec) / 1e9;
    printf ("%" PRIu64 " seeds, %" PRId64 " steps, %" PRId64 " messages, %" PRId64
            " crashes of the broker, %" PRId64 " of peers: all well in %.1f s\n",
        options.last - options.first + 1, totals.steps, totals.messages, totals.crashes,
        totals.kills, seconds);
    return 0;
}
