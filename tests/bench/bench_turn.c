//  bench_turn - a whole chat turn: message.inbound -> gateway -> agent -> rehearsal provider ->
//  deliver.request -> done, against a real argosd over ipc.
//
//  Invariant: a turn counts when its `done` has been accepted. The load is one platform with many
//  chats; each chat has one message on the way. The base of a turn alone is one bare commit; that
//  of many is what the disk alone would do: as many bare rows as the store got requests, in commits
//  of the same size.

#include "bench_load.h"
#include "bench_sqlite.h"

#include <czmq.h>

#define ROUND_NS 5000000000 //  Length of a round when saturated
#define ALONE 200           //  Turns one after the other
#define BARE_NS 1000000000  //  Length of a round of bare rows
#define BODY 400            //  Bytes of a bare row

//  One after the other

static void
s_alone (load_t *self, double commit_ms)
{
    load_mark (self);
    for (int i = 0; i < ALONE; i++) {
        load_send (self, 0);
        if (load_next (self, WIRE_WAIT_MS) < 0) {
            fprintf (stderr, "bench: no turn is done\n");
            return;
        }
    }
    load_measure (self);
    bench_print (&(bench_row_t){ .name = "chat turn alone p50, target 1.5 ms + 4 commits",
        .unit = "ms",
        .base = commit_ms,
        .ours = bench_percentile (&self->latency, 0.5),
        .target = (1.5 + 4 * commit_ms) / commit_ms,
        .at_most = true,
        .batch = self->batch,
        .syncs = self->syncs,
        .remark = "base: one bare commit" });
    bench_print (&(bench_row_t){
        .name = "  p99", .unit = "ms", .ours = bench_percentile (&self->latency, 0.99) });
}

//  Turns per second if a turn were its rows and nothing else.

static double
s_bare (const load_t *self, bench_sqlite_t *bare)
{
    double requests = self->rate > 0 ? self->batch * self->syncs / self->rate : 0;
    int batch = self->batch < 1 ? 1 : (int) (self->batch + 0.5);
    return requests > 0 ? bench_sqlite_accepts (bare, BARE_NS, batch, BODY, NULL) / requests : 0;
}

static void
s_saturated (load_t *self, bench_sqlite_t *bare)
{
    load_mark (self);
    for (int chat = 0; chat < LOAD_CHATS; chat++)
        load_send (self, chat);
    while (bench_now () - self->marked < ROUND_NS) {
        int chat = load_next (self, WIRE_WAIT_MS);
        if (chat < 0) {
            fprintf (stderr, "bench: no turn is done\n");
            return;
        }
        load_send (self, chat);
    }
    load_measure (self);
    double base = s_bare (self, bare);
    bench_print (&(bench_row_t){ .name = "chat turns, 128 chats, target 2,500/s",
        .unit = "/s",
        .base = base,
        .ours = self->rate,
        .target = base > 0 ? 2500 / base : 2500,
        .batch = self->batch,
        .syncs = self->syncs,
        .remark = "base: as many bare rows" });
    bench_print (&(bench_row_t){ .name = "  p50 under that load",
        .unit = "ms",
        .ours = bench_percentile (&self->latency, 0.5) });
    bench_print (&(bench_row_t){ .name = "  p99 under that load",
        .unit = "ms",
        .ours = bench_percentile (&self->latency, 0.99) });
}

void
bench_turn (void)
{
    load_t load = { 0 };
    bench_daemon_t daemon = { 0 };
    bench_sqlite_t *bare = bench_sqlite_new ();
    double commit_ms = bench_sqlite_commit_ms (bare, 100, NULL);
    if (bench_daemon_start (&daemon) != 0)
        return;
    void *context = zmq_ctx_new ();
    if (load_open (&load, &daemon, context, "main") == 0) {
        s_alone (&load, commit_ms);
        s_saturated (&load, bare);
    }
    load_close (&load);
    zmq_ctx_term (context);
    bench_daemon_stop (&daemon);
    bench_sqlite_destroy (&bare);
}
