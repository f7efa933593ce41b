//  bench_daemon - a real argosd as a process of its own, on a new home in the bench's folder.

#ifndef ARGOS_BENCH_DAEMON_H
#define ARGOS_BENCH_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;           //  Process, 0 = none
    int log;             //  Read end of its stderr
    char home[4200];     //  Its home
    char endpoint[4352]; //  Its broker
    int port;            //  Its HTTP API
    char key[129];       //  Bearer key
    int provider_port;   //  A provider on this host, wanted before its home is made; 0 = its own
    int64_t ready_ns;    //  From start to the line with `ready`
} bench_daemon_t;

//  Start on a home of its own (made when self->home is "") and wait until it serves. Returns 0, or
//  -1 with a sentence on stderr.
int bench_daemon_start (bench_daemon_t *self);

//  SIGTERM, and wait for the end.
void bench_daemon_stop (bench_daemon_t *self);

//  Start `program argument` with a pipe as stdout and, as long as the caller keeps ret_stdin open,
//  one as stdin. Returns the process, or -1.
pid_t bench_spawn (char *const *argv, int *ret_stdin, int *ret_stdout, bool errors);

//  Of a process, from /proc, in KiB and in ticks of 10 ms; -1 when it can't be read.
long bench_private_dirty (pid_t pid);
long bench_rss (pid_t pid);
long bench_ticks (pid_t pid);

#endif
