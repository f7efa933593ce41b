//  bench_idle - what argosd costs when nothing happens: memory, processor, start.
//
//  Invariant: the base is this program with --only-load: the same libraries, nothing done.

#include "bench_daemon.h"
#include "bench_sqlite.h"

#include <czmq.h>
#include <poll.h>
#include <sys/wait.h>

#define IDLE_MS 10000  //  How long it must do nothing
#define SETTLE_MS 1000 //  After the start

int
bench_only_load (void)
{
    char byte = '.';
    if (write (STDOUT_FILENO, &byte, 1) != 1)
        return 1;
    return read (STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
}

typedef struct {
    pid_t pid;        //  It
    int in, out;      //  Its pipes
    int64_t ready_ns; //  From start to its first byte
} only_load_t;

static int
s_start (only_load_t *self)
{
    char program[] = "/proc/self/exe", option[] = "--only-load", byte;
    char *const argv[] = { program, option, NULL };
    int64_t start = bench_now ();
    self->pid = bench_spawn (argv, &self->in, &self->out, false);
    if (self->pid <= 0 || read (self->out, &byte, 1) != 1)
        return -1;
    self->ready_ns = bench_now () - start;
    return 0;
}

static void
s_stop (only_load_t *self)
{
    close (self->in);
    close (self->out);
    waitpid (self->pid, NULL, 0);
}

static void
s_memory (pid_t bare, pid_t ours)
{
    bench_print (&(bench_row_t){ .name = "private dirty memory, idle, target 6 MiB",
        .unit = "KiB",
        .ours = (double) bench_private_dirty (ours),
        .target = 6144,
        .at_most = true });
    bench_print (&(bench_row_t){ .name = "  of the program that only loads the libraries",
        .unit = "KiB",
        .ours = (double) bench_private_dirty (bare) });
    double base = (double) bench_rss (bare);
    bench_print (&(bench_row_t){ .name = "RSS, idle, target 4 MiB over the base",
        .unit = "KiB",
        .base = base,
        .ours = (double) bench_rss (ours),
        .target = (base + 4096) / base,
        .at_most = true });
}

static void
s_start_times (bench_daemon_t *daemon)
{
    double base[BENCH_ROUNDS], ours[BENCH_ROUNDS];
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        only_load_t bare;
        base[round] = s_start (&bare) == 0 ? (double) bare.ready_ns / 1e6 : 0;
        s_stop (&bare);
        ours[round] = bench_daemon_start (daemon) == 0 ? (double) daemon->ready_ns / 1e6 : 0;
        bench_daemon_stop (daemon);
    }
    bench_print (&(bench_row_t){ .name = "start to ready, target 60 ms",
        .unit = "ms",
        .ours = bench_median (ours),
        .target = 60,
        .at_most = true });
    bench_print (&(bench_row_t){ .name = "  of the program that only loads the libraries",
        .unit = "ms",
        .ours = bench_median (base) });
}

void
bench_idle (void)
{
    bench_daemon_t daemon = { 0 };
    only_load_t bare;
    if (bench_daemon_start (&daemon) != 0)
        return;
    if (s_start (&bare) == 0) {
        bench_pause (SETTLE_MS);
        s_memory (bare.pid, daemon.pid);
        s_stop (&bare);
    }
    long before = bench_ticks (daemon.pid);
    bench_pause (IDLE_MS);
    long ticks = bench_ticks (daemon.pid) - before;
    bench_print (&(bench_row_t){ .name = "processor time in 10 s idle, target 1 tick",
        .unit = "ticks",
        .ours = ticks > 0 ? (double) ticks : 0.001,
        .target = 1,
        .at_most = true });
    bench_daemon_stop (&daemon);
    s_start_times (&daemon);
}
