//  argos_guard - the small process between the daemon and a command: no command outlives the
//  daemon.
//
//  The daemon starts itself again as `argosd --exec-guard WORKDIR COMMAND`, in a session of its
//  own, with the command's output as descriptors 1 and 2 and one end of a socket pair, the
//  lifeline, as 3. The guard is a subreaper: whatever the command leaves behind, also in a session
//  of its own, becomes a child of the guard. It starts /bin/sh in a new process group and writes an
//  argos_guard_word_t on the lifeline. When the shell ends, or the lifeline closes (the daemon was
//  killed, or wants it so), it kills the group and every other descendant, waits for them, and
//  exits with the code of the shell.
//
//  The guard runs the daemon's file, so that there is nothing to install and nothing to find; it
//  touches nothing of the daemon but this.

#ifndef ARGOS_GUARD_H
#define ARGOS_GUARD_H

#include <sys/types.h>

#define ARGOS_GUARD_OPTION "--exec-guard" //  First argument that makes a process a guard
#define ARGOS_GUARD_FD 3                  //  Its end of the lifeline

//  What the guard writes on the lifeline, once

typedef struct {
    pid_t group; //  Process group of the command; 0 = it could not be started
    int error;   //  Then why, an errno
} argos_guard_word_t;

//  The whole life of a guard; argv as main got it. Returns the exit code of the process.
int argos_guard_main (int argc, char **argv);

#endif
