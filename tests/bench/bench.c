//  bench - argos-bench [NAME...]: the measurements as a table of ratios. All of them take about
//  four minutes.
//
//  Invariant: exits with 0 whatever the figures are; they are to be read. Limits: needs argosd
//  beside it for turn, http, idle and stop.

#include "bench.h"

#include "argos_schema.h"

#include <czmq.h>
#include <ftw.h>
#include <limits.h>

typedef struct {
    const char *name;  //  Argument that picks it
    void (*fn) (void); //  Runs it
} measure_t;

static const measure_t measures[] = {
    { "broker", bench_broker },
    { "fanout", bench_fanout },
    { "store", bench_store },
    { "append", bench_append },
    { "load", bench_load_rows },
    { "rows", bench_rows },
    { "turn", bench_turn },
    { "gateway", bench_gateway },
    { "http", bench_http },
    { "sse", bench_sse },
    { "streams", bench_streams },
    { "chats", bench_chats },
    { "idle", bench_idle },
    { "stop", bench_stop },
    { "jobs", bench_jobs },
    { "net", bench_net },
    { "control", bench_control },
    { "abuse", bench_abuse },
    { "lanes", bench_lanes },
    { "scale", bench_scale },
};

#define MEASURES (sizeof measures / sizeof *measures)

static char s_build[PATH_MAX];       //  Folder of this program
static char s_folder[PATH_MAX + 32]; //  Folder of the databases, "" = not made

const char *
bench_build (void)
{
    return s_build;
}

const char *
bench_folder (void)
{
    if (!*s_folder) {
        snprintf (s_folder, sizeof s_folder, "%s/bench-XXXXXX", s_build);
        if (!mkdtemp (s_folder)) {
            perror (s_folder);
            exit (1);
        }
    }
    return s_folder;
}

static int
s_remove_one (const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void) status;
    (void) kind;
    (void) walk;
    return remove (path);
}

static void
s_clean (void)
{
    if (*s_folder)
        nftw (s_folder, s_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
s_find_build (void)
{
    ssize_t size = readlink ("/proc/self/exe", s_build, sizeof s_build - 1);
    s_build[size > 0 ? size : 0] = '\0';
    char *slash = strrchr (s_build, '/');
    if (slash)
        *slash = '\0';
}

static const measure_t *
s_find (const char *name)
{
    for (size_t i = 0; i < MEASURES; i++)
        if (streq (measures[i].name, name))
            return &measures[i];
    return NULL;
}

static int
s_usage (void)
{
    fprintf (stderr, "usage: argos-bench [NAME...], names:");
    for (size_t i = 0; i < MEASURES; i++)
        fprintf (stderr, " %s", measures[i].name);
    fprintf (stderr, "\n");
    return 2;
}

int
main (int argc, char **argv)
{
    char reason[256];
    if (argc == 2 && streq (argv[1], "--only-load"))
        return bench_only_load ();
    if (argc == 5 && streq (argv[1], "--idle-peers"))
        return bench_idle_peers (argv[2], argv[3], argv[4]);
    if (argc == 2 && streq (argv[1], "--streams"))
        return bench_streams_server ();
    for (int i = 1; i < argc; i++)
        if (!s_find (argv[i]))
            return s_usage ();
    zsys_handler_set (NULL);
    if (argos_schema_init (reason) != 0) {
        fprintf (stderr, "bench: %s\n", reason);
        return 1;
    }
    s_find_build ();
    atexit (s_clean);
    zsys_set_io_threads (2); //  As argosd
    zsys_init ();
    bench_head ();
    for (size_t i = 0; i < MEASURES; i++) {
        bool wanted = argc == 1;
        for (int k = 1; k < argc; k++)
            wanted = wanted || streq (argv[k], measures[i].name);
        if (wanted)
            measures[i].fn ();
    }
    argos_schema_term ();
    return 0;
}
