//  bench_lanes - 10,000 lanes and 100 workers: how many messages, how often a lane comes back to
//  its last worker, and what an idle lane costs in memory.
//
//  Invariant: one thread is all workers, a connection each; a message counts when its `done` has
//  been accepted. Lanes come in an order in which each is met once in 10,000 messages. An idle lane
//  has had a message and has none now; memory is what malloc has handed out, before and after.

#include "bench.h"
#include "bench_core.h"
#include "bench_wire.h"

#include <czmq.h>
#include <malloc.h>
#include <stdatomic.h>

#define WORKERS 100
#define SLOTS 8 //  Of each
#define LANES 10000
#define STEP 7919          //  Prime to LANES: from one lane to the next
#define IDLE_LANES 100000  //  Each used once
#define ON_THE_WAY 512     //  Messages not yet done
#define RUN_NS 10000000000 //  How long lanes are measured
#define SLICE_MS 50        //  How often the workers look whether they are to end

typedef struct {
    wire_t wires[WORKERS];         //  A connection each
    zmq_pollitem_t items[WORKERS]; //  To wait for all
    uint8_t last[LANES];           //  Last worker of a lane, from 1; 0 = none yet
    int64_t again, same;           //  Leases of lanes that had a worker; those to the same one
    atomic_llong done;             //  Accepted
    atomic_bool ready, over;       //  All serve; they are to end
} workers_t;

//  Lease in hand: done at once. Its number is the id.

static void
s_work (workers_t *self, int worker)
{
    wire_t *wire = &self->wires[worker];
    char header[200], key[65];
    if (strcmp (wire->type, "accepted") == 0) {
        atomic_fetch_add (&self->done, 1);
        return;
    }
    if (strcmp (wire->type, "bench.lane") != 0) {
        fprintf (stderr, "bench: %s %s\n", wire->header, wire_body (wire));
        exit (1);
    }
    wire_text (wire->header, "key", key, sizeof key);
    size_t lane = strtoul (key + 1, NULL, 10);
    if (*key == 'l') {
        self->again += self->last[lane] != 0;
        self->same += self->last[lane] == worker + 1;
        self->last[lane] = (uint8_t) (worker + 1);
    }
    int64_t seq = wire_number (wire->meta, "seq");
    snprintf (header, sizeof header,
        "{\"type\":\"done\",\"id\":\"d-%" PRId64 "\",\"seq\":%" PRId64 ",\"lease\":%" PRId64
        ",\"n\":1}",
        seq, seq, wire_number (wire->meta, "lease"));
    wire_send (wire, header, "", 0);
}

static void
s_hire (workers_t *self, void *context)
{
    char name[64], serve[64];
    snprintf (serve, sizeof serve, "{\"service\":\"bench\",\"slots\":%d}", SLOTS);
    for (int i = 0; i < WORKERS; i++) {
        snprintf (name, sizeof name, "bench.worker.%d", i);
        if (wire_open (&self->wires[i], context, bench_core_ipc (), name, NULL) != 0)
            exit (1);
        wire_word (&self->wires[i], "{\"type\":\"serve\",\"id\":\"s\"}", serve);
        if (!wire_expect (&self->wires[i], "accepted"))
            exit (1);
        self->items[i] = (zmq_pollitem_t){ self->wires[i].socket, 0, ZMQ_POLLIN, 0 };
    }
}

static void *
s_workers (void *arg)
{
    workers_t *self = arg;
    void *context = zmq_ctx_new ();
    s_hire (self, context);
    atomic_store (&self->ready, true);
    while (!atomic_load (&self->over)) {
        if (zmq_poll (self->items, WORKERS, SLICE_MS) <= 0)
            continue;
        for (int i = 0; i < WORKERS; i++)
            while ((self->items[i].revents & ZMQ_POLLIN) && wire_recv (&self->wires[i], 0))
                s_work (self, i);
    }
    for (int i = 0; i < WORKERS; i++)
        wire_close (&self->wires[i]);
    zmq_ctx_term (context);
    return NULL;
}

//  ------------------------------------------------------------------------------------------------

typedef struct {
    wire_t wire;   //  Who sends
    int64_t sent;  //  So far
    int64_t first; //  Of those, before this run
} sender_t;

static void
s_send (sender_t *self, char kind, int64_t lane)
{
    char header[200];
    snprintf (header, sizeof header,
        "{\"type\":\"bench.lane\",\"to\":\"service:bench\",\"durable\":true,"
        "\"key\":\"%c%" PRId64 "\",\"id\":\"m-%" PRId64 "\"}",
        kind, lane, self->sent++);
    wire_send (&self->wire, header, "{}", 2);
}

//  Takes what has come; false when nothing comes any more.

static bool
s_take (sender_t *self, long timeout_ms)
{
    bool found = wire_recv (&self->wire, timeout_ms);
    for (bool more = found; more; more = wire_recv (&self->wire, 0))
        if (strcmp (self->wire.type, "accepted") != 0) {
            fprintf (stderr, "bench: %s %s\n", self->wire.header, wire_body (&self->wire));
            exit (1);
        }
    return found;
}

//  Until count messages have been sent, or nsec have passed (0 = no matter), and all are done.

static void
s_run (sender_t *self, workers_t *workers, char kind, int64_t count, int64_t nsec)
{
    int64_t start = bench_now (), given = bench_now () + 60000000000, first = self->sent;
    while (self->sent - first < count && (!nsec || bench_now () - start < nsec)) {
        while (self->sent - first < count &&
               self->sent - atomic_load (&workers->done) < ON_THE_WAY &&
               wire_may (&self->wire, 300))
            s_send (self, kind, kind == 'l' ? self->sent * STEP % LANES : self->sent);
        s_take (self, 1);
    }
    while (atomic_load (&workers->done) < self->sent && bench_now () < given)
        s_take (self, 1);
}

static void
s_print_lanes (const workers_t *workers, double seconds, int64_t syncs)
{
    double done = (double) atomic_load (&workers->done);
    bench_print (&(bench_row_t){ .name = "10,000 lanes, 100 workers, done",
        .unit = "msg/s",
        .ours = done / seconds,
        .batch = syncs ? done / (double) syncs : 0,
        .syncs = (double) syncs / seconds });
    bench_print (&(bench_row_t){ .name = "  lanes back to their last worker, of 100",
        .unit = "%",
        .ours = workers->again ? 100.0 * (double) workers->same / (double) workers->again : 0,
        .remark = "by chance 1 %" });
}

static void
s_print_idle (size_t before, size_t after)
{
    double bytes = after > before ? (double) (after - before) / IDLE_LANES : 0;
    bench_print (&(bench_row_t){ .name = "memory of an idle lane, 100,000, target 0",
        .unit = "B",
        .ours = bytes > 0.001 ? bytes : 0.001,
        .target = 0.5,
        .at_most = true });
}

void
bench_lanes (void)
{
    sender_t sender = { .sent = 0 };
    workers_t *workers = calloc (1, sizeof *workers);
    pthread_t thread;
    if (!workers)
        abort ();
    if (bench_core_start () != 0) {
        free (workers);
        return;
    }
    if (pthread_create (&thread, NULL, s_workers, workers) != 0)
        abort ();
    while (!atomic_load (&workers->ready))
        bench_pause (1);
    if (wire_open (&sender.wire, zsys_init (), BENCH_INPROC, "bench.client", NULL) != 0)
        exit (1);
    int64_t start = bench_now (), syncs = bench_syncs ();
    s_run (&sender, workers, 'l', INT64_MAX, RUN_NS);
    s_print_lanes (workers, (double) (bench_now () - start) / 1e9, bench_syncs () - syncs);
    size_t before = mallinfo2 ().uordblks;
    s_run (&sender, workers, 'i', IDLE_LANES, 0);
    s_print_idle (before, mallinfo2 ().uordblks);
    atomic_store (&workers->over, true);
    pthread_join (thread, NULL);
    wire_close (&sender.wire);
    bench_core_stop ();
    free (workers);
}
