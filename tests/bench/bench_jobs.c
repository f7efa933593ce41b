//  bench_jobs - what a background job costs: its start, and its being there.
//
//  The base of a start is a bare loop of posix_spawn: the same shell command, in a session of its
//  own, with nothing to read and with its output in a file of its own, waited for; one after
//  another. It keeps no record, no limit and no exit code. Ours are argos-job alone (which starts
//  that shell, keeps its output, and brings to the disk how it ended), and job.start through the
//  broker, from the request until the answer that it runs: record, folder, process; as many on the
//  way as the service has slots, and while those of before come to their ends on the same
//  processors. Beside it what a job that runs costs the daemon.

#include "bench_daemon.h"
#include "bench_sqlite.h"
#include "bench_wire.h"

#include <czmq.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define STARTS 400    //  Of a round
#define ON_THE_WAY 64 //  Starts that are asked for at once: the slots of the service
#define RUNNING 400   //  Jobs that run while memory is looked at
#define IDLE_MS 5000  //  How long the daemon must do nothing
#define SETTINGS                                                                                   \
    "ipc_roles: [adapter, client, tool, operator]\n"                                               \
    "jobs: {max_tracked: 10000, max_per_session: 10000, max_per_owner: 10000}\n"                   \
    "log: {level: info}\n"

//  Runs a program to its end, with its output in that file. Returns what waitpid says.

static int
s_run (char *const *argv, const char *output)
{
    pid_t pid;
    int status = -1;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_init (&attributes);
    posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_addopen (&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen (
        &actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2 (&actions, STDOUT_FILENO, STDERR_FILENO);
    if (posix_spawn (&pid, argv[0], &actions, &attributes, argv, environ) == 0)
        while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
            continue;
    posix_spawn_file_actions_destroy (&actions);
    posix_spawnattr_destroy (&attributes);
    return status;
}

//  Starts a second of a bare loop.

static double
s_bare (int round)
{
    char shell[] = "/bin/sh", option[] = "-c", command[] = "true", output[PATH_MAX + 64];
    char *const argv[] = { shell, option, command, NULL };
    int64_t start = bench_now ();
    for (int i = 0; i < STARTS; i++) {
        snprintf (output, sizeof output, "%s/bare-%d-%d", bench_folder (), round, i);
        if (s_run (argv, output) != 0)
            return 0;
    }
    return STARTS * 1e9 / (double) (bench_now () - start);
}

//  The same by argos-job, each in a folder of its own.

static double
s_alone (int round)
{
    char program[PATH_MAX + 16], folder[PATH_MAX + 64], job[] = "argos-job", dir[] = "--dir";
    char workdir[] = "--workdir", root[] = "/", runtime[] = "--runtime-ms", hour[] = "3600000";
    char grace[] = "--grace-ms", two[] = "2000", output[] = "--output-max", size[] = "8388608";
    char input[] = "--input", none[] = "none", end[] = "--", command[] = "true";
    char *const argv[] = { program, dir, folder, workdir, root, runtime, hour, grace, two, output,
        size, input, none, end, command, NULL };
    snprintf (program, sizeof program, "%s/%s", bench_build (), job);
    int64_t start = bench_now ();
    for (int i = 0; i < STARTS; i++) {
        snprintf (folder, sizeof folder, "%s/job-%d-%d", bench_folder (), round, i);
        if (mkdir (folder, 0700) != 0 || s_run (argv, "/dev/null") != 0)
            return 0;
    }
    return STARTS * 1e9 / (double) (bench_now () - start);
}

//  ------------------------------------------------------------------------------------------------
//  Through the daemon

static void
s_start (wire_t *wire, int number, const char *command)
{
    char header[160], body[160];
    snprintf (header, sizeof header,
        "{\"type\":\"job.start\",\"id\":\"job:%d\",\"to\":\"service:job\"}", number);
    snprintf (body, sizeof body, "{\"command\":\"%s\",\"notify\":false}", command);
    wire_send (wire, header, body, strlen (body));
}

static double
s_through (void *context, const char *endpoint, int first, int count, const char *command)
{
    wire_t wire; //  Of this round: the broker forgets who is silent, and the others take a while
    int sent = 0, answered = 0;
    if (wire_open (&wire, context, endpoint, "bench-jobs", NULL) != 0)
        return 0;
    int64_t start = bench_now ();
    while (answered < count) {
        while (sent < count && sent - answered < ON_THE_WAY)
            s_start (&wire, first + sent++, command);
        if (!wire_expect (&wire, "job.result"))
            break;
        answered++;
    }
    int64_t taken = bench_now () - start;
    wire_close (&wire);
    return answered < count ? 0 : count * 1e9 / (double) taken;
}

static int
s_open (bench_daemon_t *daemon)
{
    char path[4400];
    snprintf (daemon->home, sizeof daemon->home, "%s/jobs-home", bench_folder ());
    mkdir (daemon->home, 0700);
    snprintf (path, sizeof path, "%s/argos.yaml", daemon->home);
    FILE *file = fopen (path, "w");
    if (!file)
        return -1;
    fputs (SETTINGS, file);
    fclose (file);
    return bench_daemon_start (daemon);
}

static void
s_print_kept (const bench_daemon_t *daemon, void *context)
{
    bench_pause (1000);
    long before = bench_private_dirty (daemon->pid);
    s_through (context, daemon->endpoint, 100000, RUNNING, "exec sleep 30");
    bench_pause (2000);
    long after = bench_private_dirty (daemon->pid), ticks = bench_ticks (daemon->pid);
    bench_print (&(bench_row_t){ .name = "memory of the daemon for a job that runs, target 4 KiB",
        .unit = "KiB",
        .ours = (double) (after - before) / RUNNING,
        .target = 4,
        .at_most = true });
    bench_pause (IDLE_MS);
    long used = bench_ticks (daemon->pid) - ticks;
    bench_print (&(bench_row_t){ .name = "processor time in 5 s while 400 jobs run, target 1 tick",
        .unit = "ticks",
        .ours = used > 0 ? (double) used : 0.001,
        .target = 1,
        .at_most = true });
}

void
bench_jobs (void)
{
    double bare[BENCH_ROUNDS], alone[BENCH_ROUNDS], through[BENCH_ROUNDS];
    bench_daemon_t daemon = { .pid = 0 };
    void *context = zmq_ctx_new ();
    if (s_open (&daemon) != 0) {
        fprintf (stderr, "bench: no daemon for jobs\n");
        bench_daemon_stop (&daemon);
        return;
    }
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        bare[round] = s_bare (round);
        alone[round] = s_alone (round);
        through[round] = s_through (context, daemon.endpoint, round * STARTS, STARTS, "true");
        bench_pause (1000); //  What it has started comes to its end
    }
    bench_print (&(bench_row_t){ .name = "a command kept by argos-job to its end, with its sync",
        .unit = "1/s",
        .base = bench_median (bare),
        .ours = bench_median (alone) });
    bench_print (&(bench_row_t){ .name = "job.start through the broker, and posix_spawn",
        .unit = "1/s",
        .base = bench_median (bare),
        .ours = bench_median (through),
        .target = 0.5 });
    bench_print (&(bench_row_t){ .name = "job.start through the broker, target 200/s",
        .unit = "1/s",
        .ours = bench_median (through),
        .target = 200 });
    s_print_kept (&daemon, context);
    bench_daemon_stop (&daemon);
    zmq_ctx_term (context);
}
