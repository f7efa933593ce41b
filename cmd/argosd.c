//  argosd - the daemon: a process with the broker, the store and all actors, or some of them.
//
//  argosd [--home DIR] [--port N] [--node NAME | --only LIST] [--isolate]: runs in the foreground,
//  logs to stderr, writes one line with the word `ready` when everything serves (`joined`, when it
//  is a child of another argosd). `argosd join` makes a home for a node, and ends; so do
//  the commands of `argos` that argosd does (argosd_host.h). Exit codes: 0
//  after SIGTERM or SIGINT, 75 after SIGUSR1 (a planned restart), 78 for a bad configuration, 2 for
//  a wrong command line, 1 for everything else, with one sentence. A node that has joined starts
//  its actors anew, in the same process, when its core has other settings (argosd_follow.h).
//
//  Invariant: signals are blocked before the first thread exists and are read from one signalfd.

#include "argos_child.h"
#include "argos_guard.h"
#include "argos_schema.h"
#include "argos_setting.h"
#include "argosd_actors.h"
#include "argosd_host.h"
#include "argosd_join.h"
#include "argosd_options.h"
#include "argosd_reload.h"
#include "argosd_restarts.h"
#include "argosd_scratch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>

#define NAME "argosd"
#define SOCKETS_MAX 8192 //  Of ØMQ; the default of czmq is 1024
#define IO_THREADS 2     //  Of ØMQ; the second is that of the listeners on tcp
#define FILES_MAX 65536  //  Descriptors, if the hard limit allows
#define EXIT_RESTART 75  //  EX_TEMPFAIL: the service manager starts us again
#define EXIT_CONFIG 78   //  EX_CONFIG
#define STOP_S 30        //  For the stop behind a drain
#define AGAIN (-1)       //  No exit: there are other settings

//  ---------------------------------------------------------------------------------------------
//  The process

//  Descriptors 0, 1 and 2 have to be there: a socket that got one of them would be written to as
//  stderr.

static void
s_open_standard (void)
{
    int fd = open ("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open ("/dev/null", O_RDWR);
    if (fd >= 0)
        close (fd);
}

//  Everything that must be done before the first thread. Returns a signalfd, or -1 with a sentence
//  in reason.

static int
s_set_up (char *reason, size_t size)
{
    struct rlimit files;
    sigset_t set;
    zsys_handler_set (NULL);
    sigemptyset (&set);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGHUP);
    sigaddset (&set, SIGUSR1);
    sigaddset (&set, ARGOSD_FOLLOW_SIGNAL);
    pthread_sigmask (SIG_BLOCK, &set, NULL);
    signal (SIGPIPE, SIG_IGN);
    umask (0077);
    if (getrlimit (RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_MAX) {
        files.rlim_cur = files.rlim_max < FILES_MAX ? files.rlim_max : FILES_MAX;
        setrlimit (RLIMIT_NOFILE, &files);
    }
    json_object_seed (0);
    snprintf (reason, size, "a library can't be initialised");
    if (sodium_init () < 0 || curl_global_init (CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        argos_schema_init (reason) != 0)
        return -1;
    zsys_set_max_sockets (SOCKETS_MAX);
    zsys_set_io_threads (IO_THREADS);
    zsys_set_logstream (stderr);
    zsys_init ();
    int signal_fd = signalfd (-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signal_fd < 0)
        snprintf (reason, size, "signalfd: %s", strerror (errno));
    return signal_fd;
}

//  A line of the log as it is

static void s_say (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

static void
s_say (const char *format, ...)
{
    char line[3 * PATH_MAX];
    va_list list;
    va_start (list, format);
    int size = vsnprintf (line, sizeof line - 1, format, list); // NOLINT(clang-analyzer-valist.*)
    va_end (list);
    size_t used = strlen (line);
    line[used++] = '\n';
    if (size > 0)
        argos_log_write (line, used);
}

//  The time as in the other lines of the log

static void
s_stamp (char stamp[static 32])
{
    struct timespec now;
    struct tm parts;
    clock_gettime (CLOCK_REALTIME, &now);
    gmtime_r (&now.tv_sec, &parts);
    size_t size = strftime (stamp, 32, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf (stamp + size, 32 - size, ".%03dZ", (int) (now.tv_nsec / 1000000));
}

//  Say that we serve; not by the logger, whose level may be lower.

static void
s_say_ready (const argosd_place_t *place, const argosd_home_t *home, const argos_config_t *config)
{
    char http[320] = "";
    //  With port 0 the API itself says which one it has got
    if (!place->child && config->http.enabled && config->http.port)
        snprintf (http, sizeof http, " http=http://%s:%d", config->http.host, config->http.port);
    char stamp[32];
    s_stamp (stamp);
    s_say ("ts=%s level=info actor=" NAME " event=%s pid=%ld home=\"%s\" endpoint=\"%s\"%s", stamp,
        place->child ? "joined" : "ready", (long) getpid (), home->path,
        place->broker ? place->broker : home->endpoint, http);
    if (!place->child)
        sd_notify (0, "READY=1");
}

//  Turns that run may end first, if the settings say so. The service manager is told that it takes
//  time.

static void
s_drain (argos_supervisor_t *supervisor, argosd_reload_t *reload, bool child)
{
    int64_t seconds = argos_setting_int (reload->settings, NULL, NULL, "gateway.drain_timeout_s");
    if (seconds <= 0)
        return;
    if (child)
        argos_child_spared (reload->run_id, sizeof reload->run_id);
    sd_notifyf (0, "EXTEND_TIMEOUT_USEC=%" PRId64, (seconds + STOP_S) * 1000000);
    bool empty = argos_supervisor_drain (supervisor, (int) seconds * 1000, reload->run_id);
    argos_log (ARGOS_LOG_INFO, NAME, "drained", "left=%s", empty ? "nothing" : "turns");
}

//  The exit code of an end by a signal

static int
s_code (const argosd_follow_t *follow, int signal)
{
    if (signal == ARGOSD_FOLLOW_SIGNAL && follow)
        return AGAIN;
    argos_log (ARGOS_LOG_INFO, NAME, "stopping", "signal=%d", signal);
    return signal == SIGUSR1 ? EXIT_RESTART : EXIT_SUCCESS;
}

//  Start everything, serve until told otherwise, stop everything. Returns the exit code, or AGAIN.

static int
s_serve (const argosd_place_t *place, const argosd_home_t *home, const argos_config_t *config,
    argosd_follow_t *follow, int signal_fd)
{
    char reason[512];
    argosd_actors_t *actors =
        argosd_actors_new (place, home, config, follow, reason, sizeof reason);
    if (!actors) {
        s_say (NAME ": %s", reason);
        return EXIT_CONFIG;
    }
    argos_supervisor_t *supervisor = argosd_actors_supervisor (actors);
    argosd_reload_t reload;
    argosd_reload_begin (&reload, config, supervisor);
    int code = EXIT_FAILURE;
    int signal = argos_supervisor_start (supervisor, signal_fd);
    if (signal == 0) {
        if (!follow || follow->known)
            s_say_ready (place, home, config);
        signal = argos_supervisor_run (supervisor);
    }
    if (signal > 0)
        code = s_code (follow, signal);
    if (!place->child && code != AGAIN)
        sd_notify (0, "STOPPING=1");
    if (signal > 0)
        s_drain (supervisor, &reload, place->child);
    if (code == EXIT_RESTART && !place->child)
        argosd_restarts_note (home->path);
    if (code == EXIT_FAILURE) {
        const char *why = argosd_actors_reason (actors);
        s_say (NAME ": %s%s%s", argos_supervisor_reason (supervisor), *why ? ": " : "", why);
    }
    //  A thread that does not end may hold anything: leave without touching it
    if (argos_supervisor_stop (supervisor) != 0) {
        s_say (NAME ": %s", argos_supervisor_reason (supervisor));
        _exit (EXIT_FAILURE);
    }
    argos_supervisor_destroy (&supervisor);
    argosd_reload_end (&reload);
    argosd_actors_destroy (&actors);
    return code;
}

//  ---------------------------------------------------------------------------------------------
//  The life of the daemon

static void
s_warn (void *arg, const char *sentence)
{
    (void) arg;
    argos_log (ARGOS_LOG_WARN, NAME, "warning", "reason=\"%s\"", sentence);
}

//  Read the settings and serve with them. Returns the exit code, or AGAIN.

static int
s_configure_once (
    argosd_home_t *home, const argosd_line_t *line, argosd_follow_t *follow, int signal_fd)
{
    static argosd_place_t place;
    char reason[1024] = "";
    argos_config_t *config = argos_config_load (home->path, s_warn, NULL, reason, sizeof reason);
    if (!config) {
        s_say (NAME ": %s", reason);
        return EXIT_CONFIG;
    }
    if (line->port >= 0)
        config->http.port = line->port;
    argos_log_level (config->log_level);
    if (*config->provider.problem && (!follow || follow->known))
        argos_log (ARGOS_LOG_WARN, NAME, "provider", "problem=\"%s\"", config->provider.problem);
    int code = EXIT_CONFIG;
    if ((line->visit || argosd_home_share (home, config->ipc_group, reason, sizeof reason) == 0) &&
        argosd_place_make (&place, &line->place, home, config, reason, sizeof reason) == 0) {
        if (!place.core)
            argosd_home_elsewhere (home, place.node, place.broker);
        code = s_serve (&place, home, config, follow, signal_fd);
    }
    else
        s_say (NAME ": %s", reason);
    argos_key_wipe (&place.key);
    argos_config_destroy (&config);
    return code;
}

//  A home that has joined is a node by itself; its children have its settings from it.

static int
s_configure (argosd_home_t *home, argosd_line_t *line, int signal_fd)
{
    char reason[PATH_MAX + 64];
    static argosd_follow_t follow; //  As long as what points to it
    if (argosd_follow_open (&follow, home, reason, sizeof reason) != 0) {
        s_say (NAME ": %s", reason);
        return EXIT_CONFIG;
    }
    if (!*follow.node || line->place.child || line->place.only)
        return s_configure_once (home, line, NULL, signal_fd);
    if (!line->place.node)
        line->place.node = follow.node;
    bool other = strcmp (line->place.node, follow.node) != 0;
    int code;
    do
        code = s_configure_once (home, line, other ? NULL : &follow, signal_fd);
    while (code == AGAIN);
    return code;
}

static int
s_open_home (argosd_home_t *home, const argosd_line_t *line, char *reason, size_t size)
{
    return line->visit
               ? argosd_home_visit (home, line->home, reason, size)
               : argosd_home_open (home, line->home, argos_config_template (), reason, size);
}

int
main (int argc, char **argv)
{
    argosd_line_t line;
    argosd_home_t home;
    char reason[PATH_MAX + 256];
    if (argc > 1 && streq (argv[1], ARGOS_GUARD_OPTION))
        return argos_guard_main (argc, argv);
    s_open_standard ();
    if (argc > 1 && streq (argv[1], ARGOSD_JOIN))
        return argosd_join (argc - 1, argv + 1);
    if (argc > 1 && argosd_host_knows (argv[1]))
        return argosd_host (argc - 1, argv + 1);
    int code = argosd_options_read (&line, argc, argv);
    if (code >= 0)
        return code;
    code = EXIT_FAILURE;
    if (line.place.child && argos_child_begin () != 0)
        return code;
    int signal_fd = s_set_up (reason, sizeof reason);
    if (signal_fd >= 0 && s_open_home (&home, &line, reason, sizeof reason) == 0) {
        if (!line.visit && argos_log_open (home.path, 0) != 0)
            s_warn (NULL, "there is no file for the log in the home");
        if (!line.visit)
            argosd_scratch_sweep (home.path, true);
        code = s_configure (&home, &line, signal_fd);
        argos_log_close ();
        argosd_home_close (&home);
    }
    else
        s_say (NAME ": %s", reason);
    if (signal_fd >= 0)
        close (signal_fd);
    zsys_shutdown ();
    argos_schema_term ();
    curl_global_cleanup ();
    return code;
}
