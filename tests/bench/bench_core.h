//  bench_core - the real broker and the real store as actors of this process, on a new database.

#ifndef ARGOS_BENCH_CORE_H
#define ARGOS_BENCH_CORE_H

#include <limits.h>

#define BENCH_INPROC "inproc://argos.broker" //  Where it is reached in process

//  Starts both; the ipc endpoint is bench_core_ipc. Returns 0, or -1 with a sentence on stderr.
int bench_core_start (void);
void bench_core_stop (void);
const char *bench_core_ipc (void);

#endif
