//  bench - what the measurements share: clocks, samples, the counter of syncs, the table.
//
//  A measurement runs a bare base and Argos in turns, in one run on one machine, and prints both:
//  only the ratio means something elsewhere. Nothing is asserted; what falls short is printed so.

#ifndef ARGOS_BENCH_H
#define ARGOS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_ROUNDS 3 //  Turns of base and Argos; the median counts

//  Monotonic time, nsec.
int64_t bench_now (void);

//  Wait on purpose (for a span in which something else must stay idle), msec.
void bench_pause (int ms);

//  Samples of a latency, in nsec; grows as needed.

typedef struct {
    int64_t *values; //  Owned
    size_t count;    //  How many
    size_t room;     //  Allocated
    bool sorted;     //  Since the last one came
} bench_samples_t;

void bench_sample (bench_samples_t *self, int64_t nsec);
//  The share p (0 to 1) of the samples is at most this many msec; 0 when there are none.
double bench_percentile (bench_samples_t *self, double p);
void bench_samples_clear (bench_samples_t *self);

//  The median of BENCH_ROUNDS values.
double bench_median (const double *values);

//  The median of that many; they are put in order.
double bench_median_of (double *values, int count);

//  How often this process has called fsync or fdatasync.
int64_t bench_syncs (void);

//  A line of the table. Fields that do not apply are 0.

typedef struct {
    const char *name;   //  What is measured
    const char *unit;   //  Of base and ours
    double base, ours;  //  The figures; base 0 = there is none: ours is held against the target
    double target;      //  Wanted ratio, or wanted figure when there is no base; 0 = none
    bool at_most;       //  Less is better
    double batch;       //  Operations of one commit, ours
    double syncs;       //  Syncs per second, ours
    const char *remark; //  NULL = none
} bench_row_t;

void bench_head (void);
void bench_print (const bench_row_t *row);

//  A folder for databases and homes, beside this program (a real disk), removed at the end.
const char *bench_folder (void);

//  The folder of this program.
const char *bench_build (void);

//  The measurements
void bench_broker (void);
void bench_fanout (void);
void bench_store (void);
void bench_append (void);
void bench_load_rows (void);
void bench_rows (void);
void bench_turn (void);
void bench_gateway (void);
void bench_http (void);
void bench_sse (void);
void bench_streams (void);
void bench_chats (void);
void bench_idle (void);
void bench_stop (void);
void bench_jobs (void);
void bench_tcp (void); //  A part of net
void bench_net (void);
void bench_control (void);
void bench_abuse (void);
void bench_lanes (void);
void bench_scale (void);

//  The program that only loads the libraries: says a byte on stdout and waits for the end of stdin.
int bench_only_load (void);

//  The program that is many idle peers: says a byte on stdout when all are in, waits as above.
//  key is the file of a key, "" = none.
int bench_idle_peers (const char *endpoint, const char *count, const char *key);

//  The program that serves the streams: says its port on stdout, ends with stdin. When so many have
//  asked each of them gets so many deltas.
#define BENCH_STREAMS 1000 //  At a time
#define BENCH_DELTAS 30    //  Of each
int bench_streams_server (void);

#endif
