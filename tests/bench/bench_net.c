//  bench_net - many connections: durable accepts of 1, 32 and 256 senders, and control messages
//  beside peers that send all they may.
//
//  Invariant: a sender has one message on the way. The load beside the control messages is two
//  peers with 64 durable messages on the way and two that fill their windows with entries of a
//  topic, a thread and a context each; base is the same without it.

#include "bench.h"
#include "bench_core.h"
#include "bench_sqlite.h"
#include "bench_wire.h"

#include <czmq.h>
#include <stdatomic.h>

#define SENDERS_MAX 256
#define ROUND_NS 500000000  //  Length of a round of accepts
#define BODY 400            //  Bytes of a body
#define LOADERS 4           //  Peers that send
#define LOAD_DURABLE 2      //  Of them those that send durable messages
#define LOAD_ON_THE_WAY 64  //  Of one that does
#define LOAD_BODY 16384     //  Bytes of an entry
#define ALONE_NS 2000000000 //  How long control messages are sent without a load
#define FULL_NS 6000000000  //  and with it

static char s_body[LOAD_BODY + 1]; //  JSON of spaces

static void
s_fill (void)
{
    memset (s_body, ' ', sizeof s_body - 1);
    s_body[0] = '{';
    s_body[1] = '}';
}

static void
s_die (wire_t *wire)
{
    fprintf (stderr, "bench: %s %s\n", wire->header, wire_body (wire));
    exit (1);
}

//  ------------------------------------------------------------------------------------------------
//  Senders

typedef struct {
    int count;                         //  Senders
    wire_t wires[SENDERS_MAX];         //  A connection each
    zmq_pollitem_t items[SENDERS_MAX]; //  To wait for all
    int64_t sent;                      //  So far, of all
    double batch, syncs;               //  Of the last round
} senders_t;

static void
s_send_one (senders_t *self, int sender)
{
    char header[200];
    snprintf (header, sizeof header,
        "{\"type\":\"bench.store\",\"to\":\"service:bench\",\"durable\":true,"
        "\"id\":\"s-%" PRId64 "\"}",
        self->sent++);
    wire_send (&self->wires[sender], header, s_body, BODY);
}

//  Takes what has come; whoever is answered sends the next one if it may. Returns how many were.

static int
s_take (senders_t *self, bool next)
{
    int taken = 0;
    if (zmq_poll (self->items, self->count, WIRE_WAIT_MS) <= 0)
        s_die (&self->wires[0]);
    for (int i = 0; i < self->count; i++)
        while ((self->items[i].revents & ZMQ_POLLIN) && wire_recv (&self->wires[i], 0)) {
            if (strcmp (self->wires[i].type, "accepted") != 0)
                s_die (&self->wires[i]);
            taken++;
            if (next)
                s_send_one (self, i);
        }
    return taken;
}

static double
s_accepts (senders_t *self)
{
    int64_t start = bench_now (), done = 0, syncs = bench_syncs ();
    for (int i = 0; i < self->count; i++)
        s_send_one (self, i);
    while (bench_now () - start < ROUND_NS)
        done += s_take (self, true);
    double seconds = (double) (bench_now () - start) / 1e9;
    syncs = bench_syncs () - syncs;
    self->batch = syncs ? (double) done / (double) syncs : 0;
    self->syncs = (double) syncs / seconds;
    for (int left = self->count; left > 0;)
        left -= s_take (self, false);
    return (double) done / seconds;
}

static void
s_senders (int count, void *context, bench_sqlite_t *bare)
{
    senders_t *self = calloc (1, sizeof *self);
    double base[BENCH_ROUNDS], ours[BENCH_ROUNDS];
    char name[64];
    if (!self)
        abort ();
    self->count = count;
    for (int i = 0; i < count; i++) {
        snprintf (name, sizeof name, "bench.sender.%d", i);
        if (wire_open (&self->wires[i], context, bench_core_ipc (), name, NULL) != 0)
            exit (1);
        self->items[i] = (zmq_pollitem_t){ self->wires[i].socket, 0, ZMQ_POLLIN, 0 };
    }
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        ours[round] = s_accepts (self);
        int batch = self->batch < 1 ? 1 : (int) (self->batch + 0.5);
        base[round] = bench_sqlite_accepts (bare, ROUND_NS, batch, BODY, NULL);
    }
    snprintf (name, sizeof name, "durable accepts ipc, senders: %d", count);
    bench_print (&(bench_row_t){ .name = name,
        .unit = "msg/s",
        .base = bench_median (base),
        .ours = bench_median (ours),
        .target = 0.6,
        .batch = self->batch,
        .syncs = self->syncs });
    for (int i = 0; i < count; i++)
        wire_close (&self->wires[i]);
    free (self);
}

static void
s_all_senders (void)
{
    static const int counts[] = { 1, 32, SENDERS_MAX };
    if (bench_core_start () != 0)
        return;
    void *context = zmq_ctx_new ();
    bench_sqlite_t *bare = bench_sqlite_new ();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        s_senders (counts[i], context, bare);
    bench_sqlite_destroy (&bare);
    zmq_ctx_term (context);
    bench_core_stop ();
}

void
bench_net (void)
{
    s_fill ();
    bench_tcp ();
    s_all_senders ();
}

//  ------------------------------------------------------------------------------------------------
//  Load

typedef struct {
    int number;       //  Which one
    pthread_t thread; //  It
    int64_t sent;     //  Messages sent
} loader_t;

static atomic_bool s_over;   //  The load is to end
static atomic_int s_loading; //  How many have begun

static void
s_load_send (loader_t *self, wire_t *wire)
{
    char header[200];
    bool durable = self->number < LOAD_DURABLE;
    if (durable)
        snprintf (header, sizeof header,
            "{\"type\":\"bench.store\",\"to\":\"service:bench\",\"durable\":true,"
            "\"id\":\"l-%" PRId64 "\"}",
            self->sent);
    else
        snprintf (header, sizeof header,
            "{\"type\":\"bench.entry\",\"to\":\"topic:bench.load.%d\"}", self->number);
    wire_send (wire, header, s_body, durable ? BODY : LOAD_BODY);
    self->sent++;
}

static void *
s_load (void *arg)
{
    loader_t *self = arg;
    wire_t wire;
    char name[64];
    void *context = zmq_ctx_new ();
    int64_t back = 0;
    bool durable = self->number < LOAD_DURABLE;
    snprintf (name, sizeof name, "bench.load.%d", self->number);
    if (wire_open (&wire, context, bench_core_ipc (), name, NULL) != 0)
        exit (1);
    atomic_fetch_add (&s_loading, 1);
    while (!atomic_load (&s_over)) {
        while (
            wire_may (&wire, LOAD_BODY + 200) && (!durable || self->sent - back < LOAD_ON_THE_WAY))
            s_load_send (self, &wire);
        for (long wait = 1; wire_recv (&wire, wait); wait = 0) {
            if (strcmp (wire.type, "accepted") != 0)
                s_die (&wire);
            back++;
        }
    }
    wire_close (&wire);
    zmq_ctx_term (context);
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Control

typedef struct {
    wire_t holder, stopper;   //  Has the lease; sends
    int64_t seq, lease, n;    //  The lease, and the number of its last commit
    int64_t stops;            //  Sent so far
    bench_samples_t pings;    //  To the pong
    bench_samples_t stopped;  //  From sent to shown to the holder
    bench_samples_t accepted; //  From sent to accepted
} control_t;

//  A lane whose message the holder has.

static void
s_control_open (control_t *self, void *context)
{
    if (wire_open (&self->holder, context, bench_core_ipc (), "bench.holder", NULL) != 0 ||
        wire_open (&self->stopper, context, bench_core_ipc (), "bench.stopper", NULL) != 0)
        exit (1);
    wire_word (&self->holder, "{\"type\":\"serve\",\"id\":\"serve\"}",
        "{\"service\":\"control\",\"slots\":1}");
    if (!wire_expect (&self->holder, "accepted"))
        exit (1);
    wire_send (&self->stopper,
        "{\"type\":\"bench.turn\",\"to\":\"service:control\",\"durable\":true,"
        "\"key\":\"chat\",\"id\":\"turn\"}",
        "{}", 2);
    if (!wire_expect (&self->stopper, "accepted") || !wire_expect (&self->holder, "bench.turn"))
        exit (1);
    self->seq = wire_number (self->holder.meta, "seq");
    self->lease = wire_number (self->holder.meta, "lease");
}

static void
s_ping (control_t *self)
{
    int64_t began = bench_now ();
    wire_word (&self->stopper, "{\"type\":\"ping\",\"id\":\"p\"}", "{}");
    if (!wire_expect (&self->stopper, "pong"))
        exit (1);
    bench_sample (&self->pings, bench_now () - began);
}

//  A stop that overtakes, and is taken by a commit of the holder as the agent does.

static void
s_stop (control_t *self)
{
    char header[256];
    int64_t began = bench_now ();
    snprintf (header, sizeof header,
        "{\"type\":\"bench.stop\",\"to\":\"service:control\",\"durable\":true,\"side\":true,"
        "\"urgent\":true,\"key\":\"chat\",\"id\":\"stop-%" PRId64 "\"}",
        self->stops++);
    wire_send (&self->stopper, header, "{}", 2);
    if (!wire_expect (&self->holder, "bench.stop"))
        exit (1);
    bench_sample (&self->stopped, bench_now () - began);
    int64_t stop = wire_number (self->holder.meta, "seq");
    if (!wire_expect (&self->stopper, "accepted"))
        exit (1);
    self->n++;
    snprintf (header, sizeof header,
        "{\"type\":\"commit\",\"id\":\"c-%" PRId64 "\",\"seq\":%" PRId64 ",\"lease\":%" PRId64
        ",\"n\":%" PRId64 ",\"take\":[%" PRId64 "]}",
        self->n, self->seq, self->lease, self->n, stop);
    began = bench_now ();
    wire_send (&self->holder, header, "", 0);
    if (!wire_expect (&self->holder, "accepted"))
        exit (1);
    bench_sample (&self->accepted, bench_now () - began);
}

static void
s_control_run (control_t *self, int64_t nsec)
{
    bench_samples_clear (&self->pings);
    bench_samples_clear (&self->stopped);
    bench_samples_clear (&self->accepted);
    for (int64_t start = bench_now (); bench_now () - start < nsec;) {
        s_ping (self);
        s_stop (self);
    }
}

//  Prints the p99 of each, base first measured alone.

static void
s_control_print (control_t *self, const double *alone)
{
    bench_samples_t *samples[] = { &self->pings, &self->stopped, &self->accepted };
    static const char *const names[] = { "ping to pong p99, full load, target 50 ms",
        "stop to its holder p99, full load, 50 ms", "  a commit of the holder p99, full load" };
    for (int i = 0; i < 3; i++)
        bench_print (&(bench_row_t){ .name = names[i],
            .unit = "ms",
            .base = alone[i],
            .ours = bench_percentile (samples[i], 0.99),
            .target = i < 2 && alone[i] > 0 ? 50 / alone[i] : 0,
            .at_most = true,
            .remark = "base: without load" });
}

void
bench_control (void)
{
    control_t control = { .seq = 0 };
    loader_t loaders[LOADERS] = { { .number = 0 } };
    s_fill ();
    if (bench_core_start () != 0)
        return;
    void *context = zmq_ctx_new ();
    s_control_open (&control, context);
    s_control_run (&control, ALONE_NS);
    double alone[] = { bench_percentile (&control.pings, 0.99),
        bench_percentile (&control.stopped, 0.99), bench_percentile (&control.accepted, 0.99) };
    for (int i = 0; i < LOADERS; i++) {
        loaders[i].number = i;
        if (pthread_create (&loaders[i].thread, NULL, s_load, &loaders[i]) != 0)
            abort ();
    }
    while (atomic_load (&s_loading) < LOADERS)
        bench_pause (1);
    s_control_run (&control, FULL_NS);
    atomic_store (&s_over, true);
    int64_t stored = 0, entries = 0;
    for (int i = 0; i < LOADERS; i++) {
        pthread_join (loaders[i].thread, NULL);
        *(i < LOAD_DURABLE ? &stored : &entries) += loaders[i].sent;
    }
    s_control_print (&control, alone);
    bench_print (&(bench_row_t){ .name = "  stop to its holder p50, full load",
        .unit = "ms",
        .ours = bench_percentile (&control.stopped, 0.5) });
    bench_print (&(bench_row_t){ .name = "  that load: durable messages",
        .unit = "msg/s",
        .ours = (double) stored * 1e9 / FULL_NS });
    bench_print (&(bench_row_t){ .name = "  and entries of 16 KiB",
        .unit = "msg/s",
        .ours = (double) entries * 1e9 / FULL_NS });
    bench_samples_clear (&control.pings);
    bench_samples_clear (&control.stopped);
    bench_samples_clear (&control.accepted);
    wire_close (&control.holder);
    wire_close (&control.stopper);
    zmq_ctx_term (context);
    bench_core_stop ();
}
