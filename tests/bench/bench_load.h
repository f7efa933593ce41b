//  bench_load - a platform with many chats, as a load: message.inbound out, deliver.request in,
//  done.
//
//  A turn counts when its `done` has been accepted. One thread.

#ifndef ARGOS_BENCH_LOAD_H
#define ARGOS_BENCH_LOAD_H

#include "bench.h"
#include "bench_daemon.h"
#include "bench_wire.h"

#define LOAD_CHATS 128 //  At most; each can have several messages on the way

typedef struct {
    wire_t wire;               //  Our platform
    char account[16];          //  Its account
    int64_t sent, done;        //  Turns
    int64_t began[LOAD_CHATS]; //  When the newest turn of a chat was sent
    int64_t turns[LOAD_CHATS]; //  Turns of a chat so far
    int64_t pinged;            //  Last sign of life
    int64_t commits, requests; //  Of the store, when load_mark was called
    int64_t marked, done_then; //  Then
    double rate, batch, syncs; //  Since then: turns/s, requests of a commit, syncs/s
    bench_samples_t latency;   //  From sent to done
} load_t;

//  Connect as bench.<account> and serve its deliveries. Returns 0 or -1.
int load_open (load_t *self, const bench_daemon_t *daemon, void *context, const char *account);
void load_close (load_t *self);

//  A message of that chat.
void load_send (load_t *self, int chat);

//  Handles messages until a turn is done; returns its chat, -1 when none is within timeout_ms, -2
//  after a refusal.
int load_next (load_t *self, long timeout_ms);

//  Begin to measure; and fill rate, batch and syncs. What is on the way meanwhile may be lost to
//  the load, so both stand outside of a round.
void load_mark (load_t *self);
void load_measure (load_t *self);

#endif
