//  bench_store - durable accepts and session appends, through broker and store, against the same
//  rows by hand in commits of the same size.
//
//  Invariant: what counts is what has been answered, so it is on disk. The batch of the base is the
//  one that Argos had in the round before. The client has one connection over inproc; appends come
//  under 1, 32 and 256 leases, one commit of each on the way, which is what so many clients do. The
//  base moves the time of a session with each append; the store moves it once a second as long as
//  no other one is active, so that it writes two pages of seven less for one client. A round ends
//  before the store would index for search beside the writes (the base never does), and the base
//  begins when the store has done so and is quiet.

#include "bench_core.h"
#include "bench_sqlite.h"
#include "bench_wire.h"

#include <czmq.h>

#define ACCEPTS 64          //  Messages on the way
#define CLIENTS 256         //  Sessions that append, at most
#define ROUND_NS 1000000000 //  Length of a round
#define BODY 400            //  Bytes of a body
#define APPENDS 3000        //  Of a round, at most
#define TURNS 9             //  Rounds of appends: how fast a disk syncs changes within seconds
#define TURN_NS 300000000   //  Length of each

typedef struct {
    int64_t seq, lease, n;   //  The lease, and the commit on the way
    int64_t began;           //  When it was sent
    char session[32];        //  Session id
    char append[BODY + 256]; //  What it sends again and again
} client_t;

typedef struct {
    wire_t wire;               //  Connection
    client_t clients[CLIENTS]; //  Those that append
    int count;                 //  How many do
    char body[BODY + 1];       //  What is stored
    int64_t sent, back;        //  Accepts
    double batch, syncs;       //  Of the last round
    bench_samples_t latency;   //  From sent to accepted
} load_t;

static void
s_die (load_t *self)
{
    fprintf (stderr, "bench: %s %s\n", self->wire.header, wire_body (&self->wire));
    exit (1);
}

//  A text of BODY bytes as the body of a message

static void
s_fill (char *body)
{
    snprintf (body, BODY + 1, "{\"text\":\"%0*d\"}", BODY - 11, 0);
}

static void
s_note (load_t *self, int64_t operations, int64_t syncs, int64_t nsec)
{
    self->batch = syncs ? (double) operations / (double) syncs : 0;
    self->syncs = (double) syncs * 1e9 / (double) nsec;
}

//  ------------------------------------------------------------------------------------------------
//  Accepts

static void
s_accept_send (load_t *self)
{
    char header[200];
    snprintf (header, sizeof header,
        "{\"type\":\"bench.store\",\"to\":\"service:bench\",\"durable\":true,"
        "\"id\":\"bench-%" PRId64 "\"}",
        self->sent++);
    wire_send (&self->wire, header, self->body, BODY);
}

static void
s_accept_take (load_t *self)
{
    long wait = WIRE_WAIT_MS;
    while (self->back < self->sent && wire_recv (&self->wire, wait)) {
        if (strcmp (self->wire.type, "accepted") != 0)
            s_die (self);
        self->back++;
        wait = 0;
    }
}

static double
s_accepts (load_t *self)
{
    int64_t start = bench_now (), first = self->back, syncs = bench_syncs ();
    while (bench_now () - start < ROUND_NS) {
        while (self->sent - self->back < ACCEPTS && wire_may (&self->wire, BODY + 200))
            s_accept_send (self);
        s_accept_take (self);
    }
    int64_t nsec = bench_now () - start;
    s_note (self, self->back - first, bench_syncs () - syncs, nsec);
    double rate = (double) (self->back - first) * 1e9 / (double) nsec;
    while (self->back < self->sent)
        s_accept_take (self);
    return rate;
}

void
bench_store (void)
{
    load_t load = { 0 };
    double base[BENCH_ROUNDS], ours[BENCH_ROUNDS];
    if (bench_core_start () != 0 ||
        wire_open (&load.wire, zsys_init (), BENCH_INPROC, "bench.client", NULL) != 0)
        return;
    s_fill (load.body);
    bench_sqlite_t *bare = bench_sqlite_new ();
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        ours[round] = s_accepts (&load);
        int batch = load.batch < 1 ? 1 : (int) (load.batch + 0.5);
        base[round] = bench_sqlite_accepts (bare, ROUND_NS, batch, BODY, NULL);
    }
    bench_print (&(bench_row_t){ .name = "durable accepts inproc, 64 on the way",
        .unit = "msg/s",
        .base = bench_median (base),
        .ours = bench_median (ours),
        .target = 0.7,
        .batch = load.batch,
        .syncs = load.syncs });
    bench_sqlite_destroy (&bare);
    wire_close (&load.wire);
    bench_core_stop ();
}

//  ------------------------------------------------------------------------------------------------
//  Appends

static void
s_append_send (load_t *self, client_t *client)
{
    char header[160];
    const char *parts[3] = { "{\"type\":\"session.append\",\"to\":\"store\",\"durable\":true}",
        client->append, NULL };
    client->n++;
    snprintf (header, sizeof header,
        "{\"type\":\"commit\",\"id\":\"%d.%" PRId64 "\",\"seq\":%" PRId64 ",\"lease\":%" PRId64
        ",\"n\":%" PRId64 "}",
        (int) (client - self->clients), client->n, client->seq, client->lease, client->n);
    client->began = bench_now ();
    wire_send_parts (&self->wire, header, parts);
}

//  Each client has a lane of `turn` with one message, whose lease it holds

static void
s_lease_all (load_t *self)
{
    char header[256], body[400], key[65];
    wire_word (&self->wire, "{\"type\":\"serve\",\"id\":\"serve\"}",
        "{\"service\":\"turn\",\"slots\":256,\"types\":[\"turn.bench\"]}");
    for (int i = 0; i < CLIENTS; i++) {
        client_t *client = &self->clients[i];
        snprintf (client->session, sizeof client->session, "session-%d", i);
        snprintf (client->append, sizeof client->append,
            "{\"session_id\":\"session-%d\","
            "\"messages\":[{\"role\":\"user\",\"content\":\"%.*s\"}]}",
            i, BODY - 12, self->body + 9);
        snprintf (header, sizeof header,
            "{\"type\":\"session.create\",\"to\":\"store\",\"durable\":true,\"id\":\"c%d\"}", i);
        snprintf (body, sizeof body, "{\"id\":\"%s\"}", client->session);
        wire_send (&self->wire, header, body, strlen (body));
        snprintf (header, sizeof header,
            "{\"type\":\"turn.bench\",\"to\":\"service:turn\",\"durable\":true,\"key\":\"%s\","
            "\"id\":\"t%d\"}",
            client->session, i);
        wire_send (&self->wire, header, "{}", 2);
        //  One after the other, so that the window of this peer is enough
        do
            if (!wire_recv (&self->wire, WIRE_WAIT_MS) || strcmp (self->wire.type, "refused") == 0)
                s_die (self);
        while (strcmp (self->wire.type, "turn.bench") != 0);
        wire_text (self->wire.header, "key", key, sizeof key);
        client = &self->clients[strtoul (key + 8, NULL, 10) % CLIENTS];
        client->seq = wire_number (self->wire.meta, "seq");
        client->lease = wire_number (self->wire.meta, "lease");
    }
}

static client_t *
s_append_take (load_t *self)
{
    char re[65];
    do
        if (!wire_recv (&self->wire, WIRE_WAIT_MS) || strcmp (self->wire.type, "refused") == 0)
            s_die (self);
    while (strcmp (self->wire.type, "accepted") != 0);
    wire_text (self->wire.header, "re", re, sizeof re);
    client_t *client = &self->clients[strtoul (re, NULL, 10) % CLIENTS];
    bench_sample (&self->latency, bench_now () - client->began);
    return client;
}

//  As many on the way as there are clients, or as the window of this peer takes.

static double
s_appends (load_t *self)
{
    client_t *idle[CLIENTS];
    int waiting = self->count, sent = 0;
    int64_t start = bench_now (), count = 0, syncs = bench_syncs ();
    for (int i = 0; i < waiting; i++)
        idle[i] = &self->clients[i];
    while (bench_now () - start < TURN_NS && count < APPENDS) {
        for (; waiting > 0 && wire_may (&self->wire, BODY + 400); sent++)
            s_append_send (self, idle[--waiting]);
        idle[waiting++] = s_append_take (self);
        count++;
    }
    int64_t nsec = bench_now () - start;
    s_note (self, count, bench_syncs () - syncs, nsec);
    for (int64_t left = sent - count; left > 0; left--)
        s_append_take (self);
    return (double) count * 1e9 / (double) nsec;
}

//  Until nothing is synced any more

static void
s_settle (void)
{
    for (int64_t syncs = -1; syncs != bench_syncs ();) {
        syncs = bench_syncs ();
        bench_pause (200);
    }
}

static void
s_append_rounds (load_t *self, bench_sqlite_t *bare, int clients)
{
    bench_samples_t commits = { 0 };
    double base[TURNS], ours[TURNS];
    char name[64];
    self->count = clients;
    for (int round = 0; round < TURNS; round++) {
        ours[round] = s_appends (self);
        s_settle ();
        int batch = self->batch < 1 ? 1 : (int) (self->batch + 0.5);
        base[round] = bench_sqlite_appends (bare, TURN_NS, batch, BODY, clients, &commits);
    }
    snprintf (
        name, sizeof name, "session appends inproc, %d client%s", clients, clients > 1 ? "s" : "");
    bench_print (&(bench_row_t){ .name = name,
        .unit = "msg/s",
        .base = bench_median_of (base, TURNS),
        .ours = bench_median_of (ours, TURNS),
        .target = 0.7,
        .batch = self->batch,
        .syncs = self->syncs });
    bench_print (&(bench_row_t){ .name = "  p99 from sent to accepted, target 10 ms for 32",
        .unit = "ms",
        .ours = bench_percentile (&self->latency, 0.99),
        .target = clients == 32 ? 10 : 0,
        .at_most = true });
    bench_print (&(bench_row_t){ .name = "  p99 of a bare commit of that size",
        .unit = "ms",
        .ours = bench_percentile (&commits, 0.99) });
    bench_samples_clear (&self->latency);
    bench_samples_clear (&commits);
}

void
bench_append (void)
{
    static load_t load;
    if (bench_core_start () != 0 ||
        wire_open (&load.wire, zsys_init (), BENCH_INPROC, "bench.agent", NULL) != 0)
        return;
    s_fill (load.body);
    s_lease_all (&load);
    bench_sqlite_t *bare = bench_sqlite_new ();
    s_append_rounds (&load, bare, 1);
    s_append_rounds (&load, bare, 32);
    s_append_rounds (&load, bare, 256);
    bench_sqlite_destroy (&bare);
    wire_close (&load.wire);
    bench_core_stop ();
}
