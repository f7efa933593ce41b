//  argos_spawn - see the header.
//
//  Invariant: a child gets three descriptors and the lifeline, whatever this process has open.
//  Reads the environment of this process, which nothing here changes.

#include "argos_spawn.h"

#include "argos_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = { "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ",
    "TMPDIR" };

static const struct {
    const char *name, *value; //  What stands for one that is not set
} defaults[] = { { "PATH", "/usr/local/bin:/usr/bin:/bin" }, { "HOME", "/" },
    { "LANG", "C.UTF-8" } };

static char *
s_must (char *text)
{
    if (!text)
        abort ();
    return text;
}

//  A new list with the variables of more, and room for count others behind them: the first of a
//  name counts.

static char **
s_with (const char *const *more, size_t count)
{
    size_t extra = 0;
    while (more && more[extra])
        extra++;
    char **env = calloc (count + extra + 1, sizeof *env);
    if (!env)
        abort ();
    for (size_t i = 0; i < extra; i++)
        env[i] = s_must (strdup (more[i]));
    return env;
}

//  Whether a list sets the variable of that name (size bytes).

static bool
s_sets (const char *const *list, const char *name, size_t size)
{
    for (; list && *list; list++)
        if (strncmp (*list, name, size) == 0 && (*list)[size] == '=')
            return true;
    return false;
}

static size_t
s_count (char *const *env)
{
    size_t count = 0;
    while (env[count])
        count++;
    return count;
}

char **
argos_spawn_env (const char *const *more)
{
    char **env = s_with (more, sizeof names / sizeof *names);
    size_t count = s_count (env);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv (names[i]);
        for (size_t j = 0; !value && j < sizeof defaults / sizeof *defaults; j++)
            if (strcmp (names[i], defaults[j].name) == 0)
                value = defaults[j].value;
        if (!value || s_sets (more, names[i], strlen (names[i])))
            continue;
        if (asprintf (&env[count++], "%s=%s", names[i], value) == -1)
            abort ();
    }
    return env;
}

char **
argos_spawn_env_all (const char *const *more)
{
    char **env = s_with (more, s_count (environ));
    size_t count = s_count (env);
    for (char **variable = environ; *variable; variable++)
        if (!s_sets (more, *variable, strcspn (*variable, "=")))
            env[count++] = s_must (strdup (*variable));
    return env;
}

void
argos_spawn_env_free (char **env)
{
    for (char **variable = env; variable && *variable; variable++)
        free (*variable);
    free (env);
}

int
argos_spawn_self (
    char *const *argv, char *const *env, int output_fd, int lifeline_fd, pid_t *ret_pid)
{
    //  This very program, also when the file has been replaced meanwhile: so it is named by a
    //  descriptor; by ours, because the child's are closed before it begins. (/proc/self/exe would
    //  do, but is another program under valgrind.)
    char program[64];
    int program_fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (program_fd < 0)
        return errno;
    snprintf (program, sizeof program, "/proc/%d/fd/%d", (int) getpid (), program_fd);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none, all;
    sigemptyset (&none);
    sigfillset (&all);
    posix_spawnattr_init (&attributes);
    posix_spawnattr_setflags (
        &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask (&attributes, &none);
    posix_spawnattr_setsigdefault (&attributes, &all);
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_addopen (&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2 (&actions, output_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2 (&actions, output_fd, STDERR_FILENO);
    posix_spawn_file_actions_adddup2 (&actions, lifeline_fd, ARGOS_GUARD_FD);
    posix_spawn_file_actions_addclosefrom_np (&actions, ARGOS_GUARD_FD + 1);
    int error = posix_spawn (ret_pid, program, &actions, &attributes, argv, env);
    posix_spawn_file_actions_destroy (&actions);
    posix_spawnattr_destroy (&attributes);
    close (program_fd);
    return error;
}
