//  bench_broker - messages through the broker against the bare forwarder: client -> ROUTER ->
//  worker, and back.
//
//  Invariant: client, worker and middle are a thread each on both sides, with as many messages on
//  the way. One way ends in a sink that tells the client every 16 messages by an eventfd; the
//  client of the broker obeys its send window besides. The worker has the name of its service,
//  which is what a role of ours may serve over ipc.

#include "bench.h"
#include "bench_core.h"
#include "bench_forward.h"
#include "bench_wire.h"

#include <czmq.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#define ON_THE_WAY 64      //  Messages sent and not yet answered or received
#define TOLD_EVERY 16      //  The sink tells so many at once
#define ROUND_NS 250000000 //  Length of a round
#define SLICE_MS 50        //  How often a worker looks whether it is to end
#define HWM 100000
#define HEADER                                                                                     \
    "{\"type\":\"bench.ask\",\"to\":\"service:bench\",\"id\":\"1234567\"}" //  As long as ours

typedef struct {
    bool argos;           //  The broker, or the forwarder
    bool reply;           //  Request and reply, or one way
    const char *endpoint; //  Where both connect
    void *context;        //  Of the worker
    size_t size;          //  Bytes of a body
    bool framed;          //  Bare, with as many frames as ARGOS/1 has
    int told;             //  eventfd of the sink
    atomic_bool ready;    //  The worker is up
    atomic_bool over;     //  The worker is to end
} run_t;

static void *
s_dealer (run_t *run, void *context)
{
    const int hwm = HWM, slice = SLICE_MS, zero = 0;
    void *socket = zmq_socket (context, ZMQ_DEALER);
    zmq_setsockopt (socket, ZMQ_SNDHWM, &hwm, sizeof hwm);
    zmq_setsockopt (socket, ZMQ_RCVHWM, &hwm, sizeof hwm);
    zmq_setsockopt (socket, ZMQ_RCVTIMEO, &slice, sizeof slice);
    zmq_setsockopt (socket, ZMQ_LINGER, &zero, sizeof zero);
    zmq_connect (socket, run->endpoint);
    return socket;
}

static void
s_tell (const run_t *run, uint64_t *count)
{
    if (++*count < TOLD_EVERY)
        return;
    if (write (run->told, count, sizeof *count) == sizeof *count)
        *count = 0;
}

//  ------------------------------------------------------------------------------------------------
//  The worker, bare and of Argos

static void
s_bare_work (run_t *run)
{
    void *socket = s_dealer (run, run->context);
    uint64_t count = 0;
    zmq_send (socket, "R", 1, ZMQ_SNDMORE);
    zmq_send (socket, "", 0, 0);
    atomic_store (&run->ready, true);
    while (!atomic_load (&run->over)) {
        zmq_msg_t frame;
        zmq_msg_init (&frame);
        bool found = zmq_msg_recv (&frame, socket, 0) >= 0, more = found;
        while (more) {
            more = zmq_msg_more (&frame);
            if (run->reply)
                zmq_msg_send (&frame, socket, more ? ZMQ_SNDMORE : 0);
            if (more)
                zmq_msg_recv (&frame, socket, 0);
        }
        if (found && !run->reply)
            s_tell (run, &count);
        zmq_msg_close (&frame);
    }
    zmq_close (socket);
}

static void
s_argos_reply (wire_t *wire)
{
    char header[512], id[129], from[65];
    wire_text (wire->header, "id", id, sizeof id);
    wire_text (wire->meta, "from", from, sizeof from);
    snprintf (header, sizeof header, "{\"type\":\"bench.reply\",\"to\":\"actor:%s\",\"re\":\"%s\"}",
        from, id);
    wire_send_msg (wire, header, &wire->body);
}

static void
s_argos_work (run_t *run)
{
    wire_t wire;
    uint64_t count = 0;
    if (wire_open (&wire, run->context, run->endpoint, "bench") != 0)
        exit (1);
    wire_word (&wire, "{\"type\":\"credit\"}", "{\"messages\":1000000000,\"bytes\":1000000000000}");
    wire_word (
        &wire, "{\"type\":\"serve\",\"id\":\"s\"}", "{\"service\":\"bench\",\"slots\":1024}");
    if (!wire_expect (&wire, "accepted"))
        exit (1);
    atomic_store (&run->ready, true);
    while (!atomic_load (&run->over)) {
        if (!wire_recv (&wire, SLICE_MS))
            continue;
        if (run->reply)
            s_argos_reply (&wire);
        else
            s_tell (run, &count);
    }
    wire_close (&wire);
}

static void *
s_worker (void *arg)
{
    run_t *run = arg;
    if (run->argos)
        s_argos_work (run);
    else
        s_bare_work (run);
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  The client: returns messages per second

typedef struct {
    void *socket; //  Bare
    wire_t wire;  //  Argos
    char *body;   //  What is sent
    int64_t sent; //  So far
    int64_t back; //  Answered or received
} client_t;

static void
s_client_send (const run_t *run, client_t *client)
{
    char header[160];
    if (!run->argos) {
        zmq_send (client->socket, "", 0, ZMQ_SNDMORE);
        if (run->framed) {
            zmq_send (client->socket, HEADER, sizeof HEADER - 1, ZMQ_SNDMORE);
            zmq_send (client->socket, "", 0, ZMQ_SNDMORE);
        }
        zmq_send (client->socket, client->body, run->size, 0);
    }
    else {
        if (run->reply)
            snprintf (header, sizeof header,
                "{\"type\":\"bench.ask\",\"to\":\"service:bench\",\"id\":\"%" PRId64 "\"}",
                client->sent);
        else
            snprintf (header, sizeof header, "{\"type\":\"bench.say\",\"to\":\"actor:bench\"}");
        wire_send (&client->wire, header, client->body, run->size);
    }
    client->sent++;
}

static bool
s_bare_answer (client_t *client, int flags)
{
    zmq_msg_t frame;
    zmq_msg_init (&frame);
    bool found = zmq_msg_recv (&frame, client->socket, flags) >= 0;
    while (found && zmq_msg_more (&frame))
        zmq_msg_recv (&frame, client->socket, 0);
    zmq_msg_close (&frame);
    return found;
}

static bool
s_argos_answer (client_t *client, long timeout_ms)
{
    if (!wire_recv (&client->wire, timeout_ms))
        return false;
    if (strcmp (client->wire.type, "refused") == 0) {
        fprintf (stderr, "bench: %s %s\n", client->wire.header, wire_body (&client->wire));
        exit (1);
    }
    return true;
}

//  Waits for answers, and takes all that are there

static void
s_await_replies (const run_t *run, client_t *client)
{
    bool found = run->argos ? s_argos_answer (client, WIRE_WAIT_MS) : s_bare_answer (client, 0);
    while (found) {
        client->back++;
        found = client->back < client->sent &&
                (run->argos ? s_argos_answer (client, 0) : s_bare_answer (client, ZMQ_DONTWAIT));
    }
}

static void
s_await_sink (const run_t *run, client_t *client)
{
    uint64_t count = 0;
    if (run->argos)
        s_argos_answer (client, 0); //  Takes in the window
    if (read (run->told, &count, sizeof count) == sizeof count)
        client->back += (int64_t) count;
}

static double
s_client_run (const run_t *run, client_t *client)
{
    int64_t start = bench_now (), first = client->back;
    while (bench_now () - start < ROUND_NS) {
        while (client->sent - client->back < ON_THE_WAY &&
               (!run->argos || wire_may (&client->wire, run->size + 160)))
            s_client_send (run, client);
        if (client->sent - client->back < ON_THE_WAY)
            s_argos_answer (client, 1); //  The window is closed: it opens by a word of the broker
        else if (run->reply)
            s_await_replies (run, client);
        else
            s_await_sink (run, client);
    }
    double rate = (double) (client->back - first) * 1e9 / (double) (bench_now () - start);
    while (run->reply && client->back < client->sent)
        s_await_replies (run, client);
    return rate;
}

static double
s_measure (run_t *run, void *context)
{
    pthread_t worker;
    client_t client = { 0 };
    atomic_store (&run->ready, false);
    atomic_store (&run->over, false);
    run->told = eventfd (0, 0);
    client.body = calloc (1, run->size);
    memset (client.body, ' ', run->size);
    memcpy (client.body, "{}", 2);
    if (pthread_create (&worker, NULL, s_worker, run) != 0)
        abort ();
    while (!atomic_load (&run->ready))
        bench_pause (1);
    bench_pause (20); //  The forwarder may not have read who the worker is
    if (!run->argos)
        client.socket = s_dealer (run, context);
    else if (wire_open (&client.wire, context, run->endpoint, "bench.client") != 0)
        exit (1);
    double rate = s_client_run (run, &client);
    atomic_store (&run->over, true);
    pthread_join (worker, NULL);
    if (run->argos)
        wire_close (&client.wire);
    else
        zmq_close (client.socket);
    close (run->told);
    free (client.body);
    return rate;
}

//  ------------------------------------------------------------------------------------------------

typedef struct {
    const char *transport; //  inproc or ipc
    const char *bare;      //  Endpoint of the forwarder
    void *middle;          //  Context of forwarder and broker
    void *client, *worker; //  Their contexts
} place_t;

static double
s_forward (const place_t *place, run_t *run)
{
    static int count; //  An address of its own: the last one may still be in use
    char endpoint[80];
    snprintf (endpoint, sizeof endpoint, "%s.%d", place->bare, ++count);
    run->endpoint = endpoint;
    bench_forward_t *forward = bench_forward_new (place->middle, endpoint);
    double rate = forward ? s_measure (run, place->client) : 0;
    bench_forward_destroy (&forward);
    run->endpoint = NULL;
    return rate;
}

static void
s_row (const place_t *place, bool reply, size_t size)
{
    double base[BENCH_ROUNDS], framed[BENCH_ROUNDS], ours[BENCH_ROUNDS];
    char name[64];
    bool inproc = streq (place->transport, "inproc");
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        run_t bare = { .reply = reply, .context = place->worker, .size = size };
        base[round] = s_forward (place, &bare);
        bare.framed = true;
        framed[round] = s_forward (place, &bare);
        run_t argos = { .argos = true,
            .reply = reply,
            .endpoint = inproc ? BENCH_INPROC : bench_core_ipc (),
            .context = place->worker,
            .size = size };
        ours[round] = s_measure (&argos, place->client);
    }
    snprintf (name, sizeof name, "%s %s %zu B, %d on the way", reply ? "request/reply" : "one way",
        place->transport, size, ON_THE_WAY);
    bench_print (&(bench_row_t){ .name = name,
        .unit = reply ? "req/s" : "msg/s",
        .base = bench_median (base),
        .ours = bench_median (ours),
        .target = inproc ? 0.4 : 0.6 });
    bench_print (&(bench_row_t){ .name = "  forwarder with as many frames",
        .unit = reply ? "req/s" : "msg/s",
        .base = bench_median (framed),
        .ours = bench_median (ours) });
}

void
bench_broker (void)
{
    static const size_t sizes[] = { 100, 1024, 16384 };
    char forward[64];
    snprintf (forward, sizeof forward, "ipc://@argos-bench-forward-%d", (int) getpid ());
    void *ours = zsys_init (), *client = zmq_ctx_new (), *worker = zmq_ctx_new ();
    place_t places[] = {
        { "inproc", "inproc://bench.forward", ours, ours, ours },
        { "ipc", forward, ours, client, worker },
    };
    if (bench_core_start () != 0)
        return;
    for (size_t place = 0; place < 2; place++)
        for (int reply = 1; reply >= 0; reply--)
            for (size_t size = 0; size < 3; size++)
                s_row (&places[place], reply, sizes[size]);
    bench_core_stop ();
    zmq_ctx_term (client);
    zmq_ctx_term (worker);
}
