//  bench_sqlite - the base of everything durable: the same rows in the same tables with the same
//  indexes, by hand, so many a commit.
//
//  WAL, synchronous FULL, exclusive, prepared statements; no savepoints, no checks, no answers, and
//  no index of search, which the store fills later.

#ifndef ARGOS_BENCH_SQLITE_H
#define ARGOS_BENCH_SQLITE_H

#include "bench.h"

typedef struct bench_sqlite bench_sqlite_t;

//  A new database with the tables of the store; it may be used again in the next round.
bench_sqlite_t *bench_sqlite_new (void);
void bench_sqlite_destroy (bench_sqlite_t **self_p);

//  Writes for that long, `batch` accepted messages a commit: a row of queue and one of seen each.
//  Returns messages per second; commits are added to samples (may be NULL).
double bench_sqlite_accepts (
    bench_sqlite_t *self, int64_t nsec, int batch, size_t size, bench_samples_t *samples);

//  The same with a message of a transcript, its session's counts and last activity, and the number
//  of the commit in the row of the lease; to so many sessions in turn (at most
//  BENCH_SQLITE_SESSIONS).
#define BENCH_SQLITE_SESSIONS 256
double bench_sqlite_appends (bench_sqlite_t *self, int64_t nsec, int batch, size_t size,
    int sessions, bench_samples_t *samples);

//  The time of a commit of one row, p50 in msec, from so many.
double bench_sqlite_commit_ms (bench_sqlite_t *self, int count, bench_samples_t *samples);

#endif
