//  bench_core - the real broker, store and auth actor in this process.

#ifndef ARGOS_BENCH_CORE_H
#define ARGOS_BENCH_CORE_H

#include "argos_key.h"

#define BENCH_INPROC "inproc://argos.broker" //  Where it is reached in process
#define BENCH_REMOTE "remote"                //  Name of the key, and of a service

//  Starts all on a new database, or again on the one that it had before. Returns 0, or -1 with a
//  sentence on stderr.
int bench_core_start (void);
int bench_core_again (void);
void bench_core_stop (void);

//  Where it is reached over ipc, and over tcp with that key: it bears the name BENCH_REMOTE and
//  what begins with it and a dot, role worker.
const char *bench_core_ipc (void);
const char *bench_core_tcp (void);
const argos_key_t *bench_core_key (void);
const char *bench_core_key_file (void);

//  A TCP port that was free just now, 0 = none.
int bench_port (void);

#endif
