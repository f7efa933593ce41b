//  bench_daemon - argosd as a process.
//
//  Invariant: what is started here is stopped here, by its pid. Limits: waits 30 s for `ready`.

#include "bench_daemon.h"

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 30000

static const char settings[] =
    "http: {max_concurrent_runs: 0}\n"
    "gateway: {queue_max: 1000, allow_all_users: true, home_notice: false}\n"
    "display: {busy_input_mode: queue, busy_ack_enabled: false}\n"
    "log: {level: info}\n";

pid_t
bench_spawn (char *const *argv, int *ret_stdin, int *ret_stdout, bool errors)
{
    int in[2], out[2];
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    if (pipe2 (in, O_CLOEXEC) != 0)
        return -1;
    if (pipe2 (out, O_CLOEXEC) != 0) {
        close (in[0]);
        close (in[1]);
        return -1;
    }
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_adddup2 (&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2 (&actions, out[1], errors ? STDERR_FILENO : STDOUT_FILENO);
    if (posix_spawn (&pid, argv[0], &actions, NULL, argv, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy (&actions);
    close (in[0]);
    close (out[1]);
    *ret_stdin = in[1];
    *ret_stdout = out[0];
    return pid;
}

static int
s_make_home (bench_daemon_t *self)
{
    static int number;
    char path[4300];
    if (*self->home)
        return 0;
    snprintf (self->home, sizeof self->home, "%.4000s/home-%d", bench_folder (), ++number);
    snprintf (path, sizeof path, "%s/argos.yaml", self->home);
    if (mkdir (self->home, 0700) != 0)
        return -1;
    FILE *file = fopen (path, "w");
    if (!file)
        return -1;
    fputs (settings, file);
    if (self->provider_port)
        fprintf (file,
            "provider: {kind: openai, model: rehearsal, base_url: 'http://127.0.0.1:%d/v1'}\n",
            self->provider_port);
    else
        fputs ("provider: {kind: rehearsal}\n", file);
    return fclose (file);
}

static void
s_read_file (const bench_daemon_t *self, const char *name, char *target, size_t size)
{
    char path[4400];
    snprintf (path, sizeof path, "%s/%s", self->home, name);
    FILE *file = fopen (path, "r");
    target[0] = '\0';
    if (!file)
        return;
    size_t length = fread (target, 1, size - 1, file);
    target[length] = '\0';
    target[strcspn (target, "\n")] = '\0';
    fclose (file);
}

//  Reads the log until it says `ready`, and which port it was.

static int
s_wait_ready (bench_daemon_t *self, int64_t start)
{
    char text[65536];
    size_t size = 0;
    for (;;) {
        struct pollfd item = { self->log, POLLIN, 0 };
        if (poll (&item, 1, READY_MS) <= 0)
            return -1;
        ssize_t count = read (self->log, text + size, sizeof text - 1 - size);
        if (count <= 0) {
            fprintf (stderr, "bench: argosd has ended:\n%.*s", (int) size, text);
            return -1;
        }
        size += (size_t) count;
        text[size] = '\0';
        const char *port = strstr (text, "event=listening");
        port = port ? strstr (port, "port=") : NULL;
        if (strstr (text, "event=ready")) {
            self->ready_ns = bench_now () - start;
            self->port = port ? (int) strtol (port + 5, NULL, 10) : 0;
            return 0;
        }
    }
}

//  What argosd logs later must not fill the pipe

static void
s_no_more_log (const bench_daemon_t *self)
{
    int flags = fcntl (self->log, F_GETFL);
    fcntl (self->log, F_SETFL, flags | O_NONBLOCK);
    fcntl (self->log, F_SETPIPE_SZ, 1 << 20);
}

int
bench_daemon_start (bench_daemon_t *self)
{
    char program[4200];
    int in = -1;
    if (s_make_home (self) != 0) {
        perror (self->home);
        return -1;
    }
    snprintf (program, sizeof program, "%s/argosd", bench_build ());
    char home_option[] = "--home", port_option[] = "--port", port[] = "0";
    char *const argv[] = { program, home_option, self->home, port_option, port, NULL };
    int64_t start = bench_now ();
    self->pid = bench_spawn (argv, &in, &self->log, true);
    close (in);
    if (self->pid <= 0 || s_wait_ready (self, start) != 0) {
        fprintf (stderr, "bench: %s does not become ready\n", program);
        bench_daemon_stop (self);
        return -1;
    }
    s_no_more_log (self);
    s_read_file (self, "run/broker.endpoint", self->endpoint, sizeof self->endpoint);
    if (!*self->endpoint)
        snprintf (self->endpoint, sizeof self->endpoint, "ipc://%s/run/broker.sock", self->home);
    s_read_file (self, "api-key", self->key, sizeof self->key);
    return 0;
}

void
bench_daemon_stop (bench_daemon_t *self)
{
    if (self->pid > 0) {
        kill (self->pid, SIGTERM);
        while (waitpid (self->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        close (self->log);
    }
    self->pid = 0;
}

//  The number behind a word of a file of /proc

static long
s_proc (pid_t pid, const char *file, const char *word)
{
    char path[64], text[8192];
    snprintf (path, sizeof path, "/proc/%d/%s", (int) pid, file);
    FILE *stream = fopen (path, "r");
    if (!stream)
        return -1;
    size_t size = fread (text, 1, sizeof text - 1, stream);
    fclose (stream);
    text[size] = '\0';
    const char *found = strstr (text, word);
    return found ? strtol (found + strlen (word), NULL, 10) : -1;
}

long
bench_private_dirty (pid_t pid)
{
    return s_proc (pid, "smaps_rollup", "Private_Dirty:");
}

long
bench_rss (pid_t pid)
{
    return s_proc (pid, "status", "VmRSS:");
}

long
bench_ticks (pid_t pid)
{
    char path[64], text[1024];
    snprintf (path, sizeof path, "/proc/%d/stat", (int) pid);
    FILE *stream = fopen (path, "r");
    if (!stream)
        return -1;
    size_t size = fread (text, 1, sizeof text - 1, stream);
    fclose (stream);
    text[size] = '\0';
    //  Behind the name in parentheses: utime and stime are fields 14 and 15 of the whole
    const char *field = strrchr (text, ')');
    for (int i = 0; field && i < 12; i++) {
        field = strchr (field, ' ');
        field = field ? field + 1 : NULL;
    }
    if (!field)
        return -1;
    char *end;
    long user = strtol (field, &end, 10);
    return user + strtol (end, NULL, 10);
}
