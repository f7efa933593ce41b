//  argos_terminal - one shell command in the foreground: started, watched, stopped, and told about.
//
//  The command runs under a guard (argos_guard) in a process group of its own, without any
//  descriptor of the daemon, with an environment of a few harmless variables, its input from
//  /dev/null, its output and errors in one pipe. When the shell has ended, what it left running
//  ends too. All calls are of one thread, which must live as long as the object.

#ifndef ARGOS_TERMINAL_H
#define ARGOS_TERMINAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ARGOS_TERMINAL_SURVIVORS 16 //  Processes that are told by number

typedef struct argos_terminal argos_terminal_t;

typedef struct {
    const char *command; //  For /bin/sh -c
    const char *workdir; //  Where; NULL = the home directory
    int64_t timeout_ms;  //  After that the group gets SIGTERM, 2 s later SIGKILL
    size_t output_max;   //  Bytes of output that are kept, see argos_output
} argos_terminal_task_t;

//  Starts the command; its descriptors are put into the epoll set with the object as data. now is
//  monotonic msec. Returns the caller's object, or NULL with a sentence in reason (size bytes).
argos_terminal_t *argos_terminal_new (
    int epoll_fd, const argos_terminal_task_t *task, int64_t now, char *reason, size_t size);

//  Kills the whole group when it still runs, waits for it (at most a second) and frees all.
//  NULL-safe, idempotent.
void argos_terminal_destroy (argos_terminal_t **self_p);

//  One of its descriptors is readable, or it is due: take what is there and do what is to do.
void argos_terminal_turn (argos_terminal_t *self, int64_t now);

//  When argos_terminal_turn has to be called again even if nothing is readable, monotonic msec.
int64_t argos_terminal_due (const argos_terminal_t *self);

//  Kill the whole group at once; argos_terminal_over follows within a few milliseconds. Idempotent.
void argos_terminal_cancel (argos_terminal_t *self, int64_t now);

//  Whether everything has ended and the result is complete.
bool argos_terminal_over (const argos_terminal_t *self);

//  Body of a tool.result: output, exit_code (124 timed out, 130 interrupted), error, status;
//  survivors (pids), when some of its group did not die within a second of SIGKILL. New, the
//  caller's.
json_t *argos_terminal_result (const argos_terminal_t *self);

//  The processes of a group that are alive, as /proc says (zombies are not). Returns how many.
size_t argos_terminal_survivors (pid_t group, pid_t target[static ARGOS_TERMINAL_SURVIVORS]);

//  What it has printed, at most ARGOS_OUTPUT_LIMIT bytes, when that is more than the result tells;
//  else NULL. New, the caller's.
char *argos_terminal_long (const argos_terminal_t *self);

#endif
