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

typedef struct {
    const bench_forward_t *forward; //  Bare: it
    bool argos;                     //  The broker, or the forwarder
    bool reply;                     //  Request and reply, or one way
    const char *endpoint;           //  Where both connect
    const char *name;               //  Argos: of the worker and its service
    const argos_key_t *key;         //  Argos: of both, NULL = none
    const char *curve;              //  Bare: public key of the forwarder, NULL = it has none
    void *context;                  //  Of the worker
    size_t size;                    //  Bytes of a body
    int told;                       //  eventfd of the sink
    atomic_bool ready;              //  The worker is up
    atomic_bool over;               //  The worker is to end
} run_t;

//  A pair of its own, as each client of ours has.

static void
s_curve (void *socket, const char *server)
{
    char public_key[41], secret_key[41];
    if (zmq_curve_keypair (public_key, secret_key) != 0)
        abort ();
    zmq_setsockopt (socket, ZMQ_CURVE_SERVERKEY, server, 41);
    zmq_setsockopt (socket, ZMQ_CURVE_PUBLICKEY, public_key, sizeof public_key);
    zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, secret_key, sizeof secret_key);
}

static void *
s_dealer (run_t *run, void *context)
{
    const int hwm = HWM, slice = SLICE_MS, zero = 0;
    void *socket = zmq_socket (context, ZMQ_DEALER);
    zmq_setsockopt (socket, ZMQ_SNDHWM, &hwm, sizeof hwm);
    zmq_setsockopt (socket, ZMQ_RCVHWM, &hwm, sizeof hwm);
    zmq_setsockopt (socket, ZMQ_RCVTIMEO, &slice, sizeof slice);
    zmq_setsockopt (socket, ZMQ_LINGER, &zero, sizeof zero);
    if (run->curve)
        s_curve (socket, run->curve);
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
    char serve[128];
    if (wire_open (&wire, run->context, run->endpoint, run->name, run->key) != 0)
        exit (1);
    wire_word (&wire, "{\"type\":\"credit\"}", "{\"messages\":1000000000,\"bytes\":1000000000000}");
    snprintf (serve, sizeof serve, "{\"service\":\"%s\",\"slots\":1024}", run->name);
    wire_word (&wire, "{\"type\":\"serve\",\"id\":\"s\"}", serve);
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
        zmq_send (client->socket, client->body, run->size, 0);
    }
    else {
        if (run->reply)
            snprintf (header, sizeof header,
                "{\"type\":\"bench.ask\",\"to\":\"service:%s\",\"id\":\"%" PRId64 "\"}", run->name,
                client->sent);
        else
            snprintf (
                header, sizeof header, "{\"type\":\"bench.say\",\"to\":\"actor:%s\"}", run->name);
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
    char name[80];
    snprintf (name, sizeof name, "%s.client", run->name ? run->name : "");
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
    while (run->forward && !bench_forward_known (run->forward))
        bench_pause (1);
    if (!run->argos)
        client.socket = s_dealer (run, context);
    else if (wire_open (&client.wire, context, run->endpoint, name, run->key) != 0)
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
    const char *transport;  //  inproc, ipc or tcp
    const char *endpoint;   //  Of the broker
    const argos_key_t *key; //  That it wants, NULL = none
    void *middle;           //  Context of the forwarder
    void *client, *worker;  //  Their contexts
} place_t;

//  The forwarder, by CURVE or not, at an address of its own: the last one may still be in use.

static double
s_forward (const place_t *place, run_t *run, bool curve)
{
    static int count;
    char endpoint[80], public_key[41], secret_key[41];
    if (streq (place->transport, "tcp"))
        snprintf (endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", bench_port ());
    else
        snprintf (endpoint, sizeof endpoint, "%s://%sbench-forward-%d.%d", place->transport,
            streq (place->transport, "ipc") ? "@argos-" : "", (int) getpid (), ++count);
    if (curve && zmq_curve_keypair (public_key, secret_key) != 0)
        abort ();
    run->endpoint = endpoint;
    run->curve = curve ? public_key : NULL;
    bench_forward_t *forward =
        bench_forward_new (place->middle, endpoint, curve ? secret_key : NULL);
    run->forward = forward;
    double rate = forward ? s_measure (run, place->client) : 0;
    bench_forward_destroy (&forward);
    run->endpoint = run->curve = NULL;
    return rate;
}

static double
s_ours (const place_t *place, bool reply, size_t size)
{
    run_t argos = { .argos = true,
        .reply = reply,
        .endpoint = place->endpoint,
        .name = place->key ? BENCH_REMOTE : "bench",
        .key = place->key,
        .context = place->worker,
        .size = size };
    return s_measure (&argos, place->client);
}

//  Over tcp the base encrypts as ours does. It has two frames, ours one for small messages and four
//  for the others.

static void
s_row (const place_t *place, bool reply, size_t size)
{
    double base[BENCH_ROUNDS], ours[BENCH_ROUNDS];
    char name[64];
    bool curve = place->key != NULL;
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        run_t bare = { .reply = reply, .context = place->worker, .size = size };
        base[round] = s_forward (place, &bare, curve);
        ours[round] = s_ours (place, reply, size);
    }
    snprintf (name, sizeof name, "%s %s%s %zu B, %d on the way",
        reply ? "request/reply" : "one way", place->transport, curve ? "+CURVE" : "", size,
        ON_THE_WAY);
    bench_print (&(bench_row_t){ .name = name,
        .unit = reply ? "req/s" : "msg/s",
        .base = bench_median (base),
        .ours = bench_median (ours),
        .target = streq (place->transport, "inproc") ? 0.4 : 0.6 });
}

static void
s_rows (const place_t *place)
{
    static const size_t sizes[] = { 100, 1024, 16384 };
    for (int reply = 1; reply >= 0; reply--)
        for (size_t size = 0; size < 3; size++)
            s_row (place, reply, sizes[size]);
}

void
bench_broker (void)
{
    void *ours = zsys_init (), *client = zmq_ctx_new (), *worker = zmq_ctx_new ();
    if (bench_core_start () == 0) {
        s_rows (&(place_t){ "inproc", BENCH_INPROC, NULL, ours, ours, ours });
        s_rows (&(place_t){ "ipc", bench_core_ipc (), NULL, ours, client, worker });
        bench_core_stop ();
    }
    zmq_ctx_term (client);
    zmq_ctx_term (worker);
}

//  The forwarder has a context of its own: in ours each CURVE connection asks the auth actor.

void
bench_tcp (void)
{
    void *middle = zmq_ctx_new (), *client = zmq_ctx_new (), *worker = zmq_ctx_new ();
    if (bench_core_start () == 0) {
        s_rows (&(place_t){ "tcp", bench_core_tcp (), bench_core_key (), middle, client, worker });
        bench_core_stop ();
    }
    zmq_ctx_term (middle);
    zmq_ctx_term (client);
    zmq_ctx_term (worker);
}
