//  bench_fanout - one publisher, READERS readers: a topic against a ROUTER that sends each message
//  to that many DEALERs.
//
//  Invariant: publisher, middle and readers are a thread each on both sides; BATCH messages are on
//  the way, and the next ones go when all readers have all of them. A reader lets frames go as they
//  come.

#include "bench.h"
#include "bench_core.h"
#include "bench_wire.h"

#include <czmq.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#define READERS 100
#define BATCH 32
#define BODY 512
#define ROUND_NS 500000000 //  Length of a round
#define SLICE_MS 50        //  How often a thread looks whether it is to end
#define HWM 100000

typedef struct {
    bool argos;             //  A topic, or the bare ROUTER
    void *context;          //  Of publisher and readers
    const char *endpoint;   //  Where all connect
    int round;              //  Has a topic of its own, so that nothing is left from others
    wire_t wires[READERS];  //  Readers of the topic
    void *sockets[READERS]; //  Of all readers; owned when bare
    void *router;           //  Bare: the middle
    int told;               //  eventfd: a batch has come
    atomic_bool over;       //  The threads are to end
} fan_t;

static void *
s_socket (void *context, int type)
{
    const int hwm = HWM, slice = SLICE_MS, zero = 0;
    void *socket = zmq_socket (context, type);
    zmq_setsockopt (socket, ZMQ_SNDHWM, &hwm, sizeof hwm);
    zmq_setsockopt (socket, ZMQ_RCVHWM, &hwm, sizeof hwm);
    zmq_setsockopt (socket, ZMQ_RCVTIMEO, &slice, sizeof slice);
    zmq_setsockopt (socket, ZMQ_LINGER, &zero, sizeof zero);
    return socket;
}

//  Whole messages that were there, let go of

static uint64_t
s_drain (void *socket)
{
    uint64_t count = 0;
    zmq_msg_t frame;
    zmq_msg_init (&frame);
    while (zmq_msg_recv (&frame, socket, ZMQ_DONTWAIT) >= 0)
        count += !zmq_msg_more (&frame);
    zmq_msg_close (&frame);
    return count;
}

static void *
s_read (void *arg)
{
    fan_t *self = arg;
    zmq_pollitem_t items[READERS];
    uint64_t got = 0;
    for (int i = 0; i < READERS; i++)
        items[i] = (zmq_pollitem_t){ self->sockets[i], 0, ZMQ_POLLIN, 0 };
    while (!atomic_load (&self->over)) {
        if (zmq_poll (items, READERS, SLICE_MS) <= 0)
            continue;
        for (int i = 0; i < READERS; i++)
            if (items[i].revents)
                got += s_drain (self->sockets[i]);
        for (; got >= (uint64_t) BATCH * READERS; got -= (uint64_t) BATCH * READERS)
            if (eventfd_write (self->told, 1) != 0)
                abort ();
    }
    return NULL;
}

static void
s_copy_to (fan_t *self, zmq_msg_t *route, zmq_msg_t *frames, int count)
{
    zmq_msg_t copy;
    zmq_msg_init (&copy);
    zmq_msg_copy (&copy, route);
    zmq_msg_send (&copy, self->router, ZMQ_SNDMORE);
    for (int k = 0; k < count; k++) {
        zmq_msg_copy (&copy, &frames[k]);
        zmq_msg_send (&copy, self->router, k + 1 < count ? ZMQ_SNDMORE : 0);
    }
    zmq_msg_close (&copy);
}

//  The middle of the bare side: READERS say who they are, then each message goes to all of them.

static void *
s_spread (void *arg)
{
    fan_t *self = arg;
    zmq_msg_t routes[READERS], route, frames[4];
    int known = 0;
    while (!atomic_load (&self->over)) {
        zmq_msg_init (&route);
        int count = 0;
        if (zmq_msg_recv (&route, self->router, 0) < 0) {
            zmq_msg_close (&route);
            continue;
        }
        do {
            zmq_msg_init (&frames[count]);
            zmq_msg_recv (&frames[count], self->router, 0);
        } while (zmq_msg_more (&frames[count++]) && count < 4);
        if (count == 1 && known < READERS) {
            zmq_msg_init (&routes[known]);
            zmq_msg_move (&routes[known++], &route);
        }
        for (int i = 0; count > 1 && i < known; i++)
            s_copy_to (self, &routes[i], frames, count);
        for (int k = 0; k < count; k++)
            zmq_msg_close (&frames[k]);
        zmq_msg_close (&route);
    }
    for (int i = 0; i < known; i++)
        zmq_msg_close (&routes[i]);
    return NULL;
}

static void
s_open_readers (fan_t *self)
{
    char subscribe[96];
    snprintf (subscribe, sizeof subscribe,
        "{\"type\":\"subscribe\",\"id\":\"s\",\"to\":\"topic:bench.fan.%d\"}", self->round);
    for (int i = 0; i < READERS; i++) {
        char name[32];
        snprintf (name, sizeof name, "bench.reader.%d", i);
        if (!self->argos) {
            self->sockets[i] = s_socket (self->context, ZMQ_DEALER);
            zmq_connect (self->sockets[i], self->endpoint);
            zmq_send (self->sockets[i], "R", 1, 0);
            continue;
        }
        if (wire_open (&self->wires[i], self->context, self->endpoint, name, NULL) != 0)
            exit (1);
        wire_word (&self->wires[i], "{\"type\":\"credit\"}",
            "{\"messages\":1000000000,\"bytes\":1000000000000}");
        wire_word (&self->wires[i], subscribe, "{}");
        if (!wire_expect (&self->wires[i], "end"))
            exit (1);
        self->sockets[i] = self->wires[i].socket;
    }
}

static void
s_publish (const fan_t *self, wire_t *wire, void *socket, const char *body)
{
    char header[96];
    size_t size = (size_t) snprintf (header, sizeof header,
        "{\"type\":\"bench.entry\",\"to\":\"topic:bench.fan.%d\"}", self->round);
    if (!self->argos) {
        zmq_send (socket, "AR1", 3, ZMQ_SNDMORE);
        zmq_send (socket, header, size, ZMQ_SNDMORE);
        zmq_send (socket, "", 0, ZMQ_SNDMORE);
        zmq_send (socket, body, BODY, 0);
        return;
    }
    while (!wire_may (wire, BODY + size))
        wire_recv (wire, 1);
    wire_send (wire, header, body, BODY);
}

//  Deliveries per second

static double
s_run (fan_t *self)
{
    wire_t wire = { 0 };
    void *socket = NULL;
    char body[BODY];
    memset (body, ' ', sizeof body);
    body[0] = '{';
    body[1] = '}';
    if (!self->argos) {
        socket = s_socket (self->context, ZMQ_DEALER);
        zmq_connect (socket, self->endpoint);
    }
    else if (wire_open (&wire, self->context, self->endpoint, "bench.publisher", NULL) != 0)
        exit (1);
    int64_t start = bench_now (), deliveries = 0;
    while (bench_now () - start < ROUND_NS) {
        eventfd_t batches;
        for (int i = 0; i < BATCH; i++)
            s_publish (self, &wire, socket, body);
        if (eventfd_read (self->told, &batches) != 0)
            abort ();
        deliveries += (int64_t) BATCH * READERS;
    }
    double rate = (double) deliveries * 1e9 / (double) (bench_now () - start);
    if (self->argos)
        wire_close (&wire);
    else
        zmq_close (socket);
    return rate;
}

static double
s_measure (bool argos, void *context, const char *endpoint, int round)
{
    fan_t *self = calloc (1, sizeof *self);
    pthread_t middle, reader;
    if (!self)
        abort ();
    self->argos = argos;
    self->context = context;
    self->endpoint = endpoint;
    self->round = round;
    self->told = eventfd (0, 0);
    if (!argos) {
        self->router = s_socket (zsys_init (), ZMQ_ROUTER);
        if (zmq_bind (self->router, endpoint) != 0 ||
            pthread_create (&middle, NULL, s_spread, self) != 0)
            abort ();
    }
    s_open_readers (self);
    if (!argos)
        bench_pause (100); //  The ROUTER may not have read who they are
    if (pthread_create (&reader, NULL, s_read, self) != 0)
        abort ();
    double rate = s_run (self);
    atomic_store (&self->over, true);
    pthread_join (reader, NULL);
    if (!argos)
        pthread_join (middle, NULL);
    for (int i = 0; i < READERS; i++)
        if (argos)
            wire_close (&self->wires[i]);
        else
            zmq_close (self->sockets[i]);
    if (!argos)
        zmq_close (self->router);
    close (self->told);
    free (self);
    return rate;
}

void
bench_fanout (void)
{
    double base[BENCH_ROUNDS], ours[BENCH_ROUNDS];
    void *context = zmq_ctx_new ();
    if (bench_core_start () != 0)
        return;
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        char bare[64];
        snprintf (bare, sizeof bare, "ipc://@argos-bench-fan-%d-%d", (int) getpid (), round);
        base[round] = s_measure (false, context, bare, round);
        ours[round] = s_measure (true, context, bench_core_ipc (), round);
    }
    bench_print (&(bench_row_t){ .name = "fan-out 1 to 100 ipc 512 B",
        .unit = "msg/s",
        .base = bench_median (base),
        .ours = bench_median (ours),
        .target = 0.6,
        .remark = "base: a ROUTER that sends to 100 DEALERs" });
    bench_core_stop ();
    zmq_ctx_term (context);
}
