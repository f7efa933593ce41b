//  argos_spawn - start a child: this very program again, as a guard or as an actor of its own.

#ifndef ARGOS_SPAWN_H
#define ARGOS_SPAWN_H

#include <sys/types.h>

//  What a program that is not ours needs in its environment (PATH, HOME, the language and the
//  like), nothing that can hold a secret of ours, and then the NAME=value of more (NULL-terminated,
//  may be NULL). New, with new strings; free with argos_spawn_env_free.
char **argos_spawn_env (const char *const *more);
//  The same with all that this process has, for our own program.
char **argos_spawn_env_all (const char *const *more);
void argos_spawn_env_free (char **env);

//  Start this program with these arguments (argv[0] included) and this environment, in a session of
//  its own, no signal blocked: stdin is empty, output_fd is its stdout and stderr, lifeline_fd its
//  ARGOS_GUARD_FD; no other descriptor is handed on. Returns 0 with the pid, or an errno.
int argos_spawn_self (
    char *const *argv, char *const *env, int output_fd, int lifeline_fd, pid_t *ret_pid);

#endif
