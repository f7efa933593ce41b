//  argos_host - commands of `argos` that the argosd beside it does (cmd/argosd_host.c).
//
//  Limits: WORDS_MAX words.

#include "argos_cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 256

//  What is to be run, and its words

typedef struct {
    char path[PATH_MAX];    //  argosd
    char home[16];          //  --home
    char json[16];          //  --json
    char *words[WORDS_MAX]; //  The line, NULL at its end
} host_t;

//  Fills it: argosd COMMAND --home DIR [--json] WORDS. Returns CLI_OK, or the exit code.

static int
s_fill (argos_cli_t *cli, host_t *self, int count, char **words)
{
    size_t used = 0;
    ssize_t size = readlink ("/proc/self/exe", self->path, sizeof self->path - 8);
    self->path[size < 0 ? 0 : size] = 0;
    char *slash = strrchr (self->path, '/');
    if (!slash)
        return argos_cli_error (cli, CLI_FAILED, "internal", "argos does not know where it is");
    memcpy (slash + 1, "argosd", 7);
    if (count + 5 > WORDS_MAX)
        return argos_cli_usage (cli, "more than %d words", WORDS_MAX - 5);
    snprintf (self->home, sizeof self->home, "--home");
    snprintf (self->json, sizeof self->json, "--json");
    self->words[used++] = slash + 1;
    self->words[used++] = words[0];
    self->words[used++] = self->home;
    self->words[used++] = cli->home;
    if (cli->json)
        self->words[used++] = self->json;
    for (int i = 1; i < count; i++)
        self->words[used++] = words[i];
    self->words[used] = NULL;
    return CLI_OK;
}

static int
s_fail (const argos_cli_t *cli, const host_t *self, int problem)
{
    return argos_cli_error (
        cli, CLI_FAILED, "internal", "%s can't be run: %s", self->path, strerror (problem));
}

int
argos_cli_become (argos_cli_t *self, int count, char **words)
{
    host_t host;
    int rc = s_fill (self, &host, count, words);
    if (rc != CLI_OK)
        return rc;
    //  We read signals from a descriptor, argosd does not: blocked, none would ever end it
    sigset_t none;
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    execv (host.path, host.words);
    return s_fail (self, &host, errno);
}

//  Waits for the end of the child, to which our signals go. Returns its exit code, as shells have
//  it.

static int
s_wait (const argos_cli_t *self, pid_t pid)
{
    struct signalfd_siginfo info;
    siginfo_t end = { .si_pid = 0 };
    int pid_fd = pidfd_open (pid, 0);
    struct pollfd items[] = { { .fd = pid_fd, .events = POLLIN },
        { .fd = self->signal_fd, .events = POLLIN } };
    while (pid_fd >= 0 && !items[0].revents && poll (items, 2, -1) >= 0)
        if (items[1].revents && read (self->signal_fd, &info, sizeof info) == sizeof info)
            kill (pid, (int) info.ssi_signo);
    waitid (P_PID, (id_t) pid, &end, WEXITED);
    if (pid_fd >= 0)
        close (pid_fd);
    if (!end.si_pid)
        return CLI_FAILED;
    return end.si_code == CLD_EXITED ? end.si_status : 128 + end.si_status;
}

int
argos_cli_run (argos_cli_t *self, int count, char **words)
{
    host_t host;
    pid_t pid;
    sigset_t none;
    posix_spawnattr_t attributes;
    int rc = s_fill (self, &host, count, words);
    if (rc != CLI_OK)
        return rc;
    sigemptyset (&none);
    posix_spawnattr_init (&attributes);
    posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask (&attributes, &none);
    rc = posix_spawn (&pid, host.path, NULL, &attributes, host.words, environ);
    posix_spawnattr_destroy (&attributes);
    return rc == 0 ? s_wait (self, pid) : s_fail (self, &host, rc);
}
