//  argosd_check_program - the program under test of `argos adapter-check`: its start and its end.
//
//  Invariant: it is a process group of its own, of which nothing is left when it has been killed.

#include "argosd_check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t s_group; //  That is running, 0 = none

//  A signal to us is the end of the program too, which has a group of its own.

static void
s_on_signal (int number)
{
    if (s_group > 0)
        kill (-s_group, SIGKILL);
    signal (number, SIG_DFL);
    raise (number);
}

static void
s_watch_signals (void)
{
    const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    const struct sigaction action = { .sa_handler = s_on_signal };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction (numbers[i], &action, NULL);
}

int
argos_check_start (check_t *self)
{
    int pipes[2];
    char name[140];
    if (!self->command)
        return 0;
    snprintf (name, sizeof name, "%s.%s", self->platform, self->account);
    setenv ("ARGOS_ENDPOINT", self->endpoint, 1);
    setenv ("ARGOS_NAME", name, 1);
    setenv ("ARGOS_PLATFORM", self->platform, 1);
    setenv ("ARGOS_ACCOUNT", self->account, 1);
    unsetenv ("ARGOS_KEY");
    if (pipe2 (pipes, O_CLOEXEC) != 0)
        return argos_check_fail (self, "no pipe: %s", strerror (errno));
    char shell[] = "/bin/sh", option[] = "-c", line[4096];
    snprintf (line, sizeof line, "exec %s", self->command);
    char *const argv[] = { shell, option, line, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset (&none);
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_adddup2 (&actions, pipes[0], STDIN_FILENO);
    if (!self->verbose)
        posix_spawn_file_actions_addopen (&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    else
        posix_spawn_file_actions_adddup2 (&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_init (&attributes);
    posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask (&attributes, &none);
    s_watch_signals ();
    int rc = posix_spawn (&self->pid, shell, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy (&actions);
    posix_spawnattr_destroy (&attributes);
    close (pipes[0]);
    self->input_fd = pipes[1];
    if (rc != 0) {
        self->pid = 0;
        return argos_check_fail (self, "it can't be started: %s", strerror (rc));
    }
    s_group = self->pid;
    self->pid_fd = pidfd_open (self->pid, 0);
    return 0;
}

void
argos_check_kill (check_t *self)
{
    if (self->pid > 0) {
        kill (-self->pid, SIGKILL);
        s_group = 0;
        waitpid (self->pid, NULL, 0);
    }
    if (self->pid_fd >= 0)
        close (self->pid_fd);
    if (self->input_fd >= 0)
        close (self->input_fd);
    self->pid = 0;
    self->pid_fd = self->input_fd = -1;
    self->peer_size = 0;
}

int
argos_check_ended (check_t *self)
{
    siginfo_t info = { .si_pid = 0 };
    waitid (P_PID, (id_t) self->pid, &info, WEXITED | WNOWAIT);
    return argos_check_fail (self,
        info.si_code == CLD_EXITED ? "it has ended with exit code %d" : "it was ended by signal %d",
        info.si_status);
}
