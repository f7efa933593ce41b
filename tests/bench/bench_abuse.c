//  bench_abuse - what one abusive peer does to the others: the p99 of a well-behaved peer's
//  requests and durable messages.
//
//  Invariant: the well-behaved ask a worker once a millisecond, store a message every other one and
//  publish 2,000 entries a second, all over ipc, never two on the way. In the base the abuser does
//  the same to a ROUTER that throws everything away, so that what it and a bare receiver take of
//  this machine is on both sides. Base and abuse take turns in one run, and the median of the
//  rounds counts.

#include "bench.h"
#include "bench_core.h"
#include "bench_wire.h"

#include <arpa/inet.h>
#include <czmq.h>
#include <stdatomic.h>
#include <sys/un.h>

#define ROUND_MS 2000   //  Of base, and of abuse
#define SETTLE_MS 300   //  From the beginning of the abuse to the first sample
#define ASK_NS 1000000  //  From one request to the next
#define KEEP_NS 2000000 //  From one durable message to the next
#define FEED_NS 500000  //  From one entry to the next
#define BODY 4096       //  Bytes of an entry
#define BURST 512       //  Messages of an abuser between two looks
#define CROWD 128       //  Connections of one that only connects
#define SLICE_MS 50     //  How often a thread looks whether it is to end

typedef struct {
    const char *name;      //  Of the peer
    void *(*fn) (void *);  //  The thread's
    pthread_t thread;      //  It
    bench_samples_t times; //  Of its messages, while s_measuring
} player_t;

//  Whom the abuser abuses

typedef struct {
    bool bare;             //  The one that throws everything away
    char ipc[64], tcp[64]; //  Its doors
    char server_key[41];   //  Its public key
} target_t;

static target_t s_target;       //  Now
static atomic_bool s_over;      //  All are to end
static atomic_bool s_measuring; //  Samples count
static atomic_bool s_abusing;   //  The abuser is to go on
static char s_body[BODY + 1];   //  JSON of spaces

static void
s_until (int64_t due)
{
    struct timespec at = { due / 1000000000, due % 1000000000 };
    while (clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

static void
s_open (wire_t *wire, void *context, const char *name)
{
    if (wire_open (wire, context, bench_core_ipc (), name, NULL) != 0)
        exit (1);
}

//  ------------------------------------------------------------------------------------------------
//  The well-behaved

//  One message after the other, each when its time has come and the one before is answered.

static void *
s_pace (player_t *self, bool durable)
{
    wire_t wire;
    char header[160];
    void *context = zmq_ctx_new ();
    s_open (&wire, context, self->name);
    int64_t due = bench_now (), pace = durable ? KEEP_NS : ASK_NS;
    for (long long number = 0; !atomic_load (&s_over); number++) {
        snprintf (header, sizeof header, "{\"type\":\"bench.%s\",\"id\":\"%c-%lld\",\"to\":%s}",
            durable ? "store" : "ask", durable ? 'k' : 'a', number,
            durable ? "\"service:bench\",\"durable\":true" : "\"service:bench.echo\"");
        bool counts = atomic_load (&s_measuring);
        int64_t began = bench_now ();
        wire_send (&wire, header, "{}", 2);
        if (!wire_expect (&wire, durable ? "accepted" : "bench.reply"))
            exit (1);
        if (counts)
            bench_sample (&self->times, bench_now () - began);
        due = due + pace > bench_now () ? due + pace : bench_now ();
        s_until (due);
    }
    wire_close (&wire);
    zmq_ctx_term (context);
    return NULL;
}

static void *
s_ask (void *arg)
{
    return s_pace (arg, false);
}

static void *
s_keep (void *arg)
{
    return s_pace (arg, true);
}

static void *
s_echo (void *arg)
{
    const player_t *self = arg;
    wire_t wire;
    char header[256], id[129], from[65];
    void *context = zmq_ctx_new ();
    s_open (&wire, context, self->name);
    wire_word (
        &wire, "{\"type\":\"serve\",\"id\":\"s\"}", "{\"service\":\"bench.echo\",\"slots\":16}");
    if (!wire_expect (&wire, "accepted"))
        exit (1);
    while (!atomic_load (&s_over)) {
        if (!wire_recv (&wire, SLICE_MS))
            continue;
        wire_text (wire.header, "id", id, sizeof id);
        wire_text (wire.meta, "from", from, sizeof from);
        snprintf (header, sizeof header,
            "{\"type\":\"bench.reply\",\"to\":\"actor:%s\",\"re\":\"%s\"}", from, id);
        wire_send (&wire, header, "{}", 2);
    }
    wire_close (&wire);
    zmq_ctx_term (context);
    return NULL;
}

static void *
s_feed (void *arg)
{
    const player_t *self = arg;
    wire_t wire;
    void *context = zmq_ctx_new ();
    s_open (&wire, context, self->name);
    for (int64_t due = bench_now (); !atomic_load (&s_over); due += FEED_NS) {
        if (wire_may (&wire, BODY + 100))
            wire_send (
                &wire, "{\"type\":\"bench.entry\",\"to\":\"topic:bench.feed\"}", s_body, BODY);
        while (wire_recv (&wire, 0))
            ;
        s_until (due);
    }
    wire_close (&wire);
    zmq_ctx_term (context);
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  The abusers: each does it once, more or less, and is called again and again

//  A session, however long it takes; false when it is over before. The bare one answers nothing.

static bool
s_enter (wire_t *wire, void *context)
{
    if (wire_hello (wire, context, s_target.ipc, "bench.abuser", NULL) != 0)
        return false;
    while (atomic_load (&s_abusing) && !s_target.bare)
        if (wire_recv (wire, SLICE_MS) && strcmp (wire->type, "welcome") == 0) {
            wire->granted = wire_number (wire_body (wire), "messages");
            wire->bytes_ok = wire_number (wire_body (wire), "bytes");
            return true;
        }
    return s_target.bare;
}

//  Not at once: libzmq 4.3.4 ends the process when a connection is lost just as its socket is
//  closed, with half a message sent.

static void
s_leave (wire_t *wire)
{
    const int linger = 100;
    zmq_setsockopt (wire->socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_close (wire->socket);
    zmq_msg_close (&wire->body);
}

static void
s_store_one (wire_t *wire)
{
    static int64_t number;
    char header[160];
    snprintf (header, sizeof header,
        "{\"type\":\"bench.store\",\"to\":\"service:bench\",\"durable\":true,\"id\":\"x-%" PRId64
        "\"}",
        number++);
    wire_send (wire, header, s_body, 400);
}

//  Always as much as it may.

static void
s_greedy (void *context)
{
    wire_t wire;
    bool in = s_enter (&wire, context);
    while (in && atomic_load (&s_abusing)) {
        while (wire_may (&wire, 600))
            s_store_one (&wire);
        for (long wait = 1; wire_recv (&wire, wait); wait = 0)
            ;
    }
    s_leave (&wire);
}

//  Twice as much as it may, until it is put out.

static void
s_beyond (void *context)
{
    wire_t wire;
    if (s_enter (&wire, context))
        for (int i = 0; i < BURST; i++)
            s_store_one (&wire);
    int answers = 0;
    while (atomic_load (&s_abusing) && answers < BURST && wire_recv (&wire, SLICE_MS))
        answers++;
    s_leave (&wire);
}

static void
s_oversize (void *context)
{
    wire_t wire;
    static char large[2 << 20];
    if (s_enter (&wire, context))
        zmq_send (wire.socket, large, sizeof large, 0);
    wire_recv (&wire, 1);
    s_leave (&wire);
}

//  Headers that are none, and it reads what it is told.

static void
s_garbage (void *context)
{
    wire_t wire;
    bool in = s_enter (&wire, context);
    for (int i = 0; in && atomic_load (&s_abusing); i++) {
        wire_word (&wire, "{\"type\":\"bench.store\",\"id\":\"g\",\"to\":", "{}");
        while (i % BURST == 0 && wire_recv (&wire, 0))
            ;
    }
    s_leave (&wire);
}

//  Says that it lives, as fast as it can.

static void
s_chatter (void *context)
{
    wire_t wire;
    bool in = s_enter (&wire, context);
    for (int i = 0; in && atomic_load (&s_abusing); i++) {
        wire_word (&wire, "{\"type\":\"ping\",\"id\":\"p\"}", "{}");
        while (i % BURST == 0 && wire_recv (&wire, 0))
            ;
    }
    s_leave (&wire);
}

//  Has promised to take everything, and takes nothing.

static void
s_slow (void *context)
{
    wire_t wire;
    if (s_enter (&wire, context)) {
        wire_word (
            &wire, "{\"type\":\"credit\"}", "{\"messages\":1000000000,\"bytes\":1000000000000}");
        wire_word (&wire, "{\"type\":\"subscribe\",\"id\":\"f\",\"to\":\"topic:bench.feed\"}",
            "{\"from\":0}");
    }
    while (atomic_load (&s_abusing))
        bench_pause (SLICE_MS);
    s_leave (&wire);
}

//  Connections that say nothing, to the one door and the other.

static void
s_knock (void *context)
{
    (void) context;
    int fds[CROWD];
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    struct sockaddr_in remote = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
    const char *name = s_target.ipc + strlen ("ipc://@");
    memcpy (local.sun_path + 1, name, strlen (name));
    remote.sin_port = htons ((uint16_t) strtoul (strrchr (s_target.tcp, ':') + 1, NULL, 10));
    for (int i = 0; i < CROWD; i++) {
        //  Through void: the structs share their beginning by contract
        const void *address = i % 2 ? (const void *) &local : (const void *) &remote;
        socklen_t size = i % 2 ? (socklen_t) (sizeof local.sun_family + 1 + strlen (name))
                               : (socklen_t) sizeof remote;
        fds[i] = socket (i % 2 ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fds[i] >= 0 && connect (fds[i], address, size) != 0 && errno != EINPROGRESS)
            bench_pause (1); //  The queue is full
    }
    for (int i = 0; i < CROWD; i++)
        if (fds[i] >= 0)
            close (fds[i]);
}

//  Handshakes with a key that nobody knows.

static void
s_unknown (void *context)
{
    void *sockets[CROWD / 8];
    const int zero = 0;
    char public_key[41], secret_key[41];
    if (zmq_curve_keypair (public_key, secret_key) != 0)
        abort ();
    for (int i = 0; i < CROWD / 8; i++) {
        sockets[i] = zmq_socket (context, ZMQ_DEALER);
        zmq_setsockopt (sockets[i], ZMQ_LINGER, &zero, sizeof zero);
        zmq_setsockopt (
            sockets[i], ZMQ_CURVE_SERVERKEY, s_target.server_key, sizeof s_target.server_key);
        zmq_setsockopt (sockets[i], ZMQ_CURVE_PUBLICKEY, public_key, sizeof public_key);
        zmq_setsockopt (sockets[i], ZMQ_CURVE_SECRETKEY, secret_key, sizeof secret_key);
        zmq_connect (sockets[i], s_target.tcp);
    }
    bench_pause (4);
    for (int i = 0; i < CROWD / 8; i++)
        zmq_close (sockets[i]);
}

static const struct {
    const char *name;    //  In the table
    void (*fn) (void *); //  Does it once; a context
    bool fair;           //  Is no abuse, and there for comparison
} abuses[] = {
    { "a busy peer: its window is always full", s_greedy, true },
    { "sends beyond its window", s_beyond, false },
    { "sends parts of 2 MiB", s_oversize, false },
    { "sends garbage for headers", s_garbage, false },
    { "pings without end", s_chatter, false },
    { "reads no entry of its topic", s_slow, false },
    { "connects and says nothing", s_knock, false },
    { "shows keys that nobody knows", s_unknown, false },
};

static void *
s_abuse (void *arg)
{
    void (*const *fn) (void *) = arg;
    void *context = zmq_ctx_new ();
    while (atomic_load (&s_abusing))
        (*fn) (context);
    zmq_ctx_term (context);
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  The bare one

static target_t s_bare = { .bare = true };

static void *
s_throw_away (void *arg)
{
    (void) arg;
    char public_key[41], secret_key[41];
    const int64_t max = 1 << 20;
    const int slice = SLICE_MS, one = 1;
    void *context = zmq_ctx_new (), *local = zmq_socket (context, ZMQ_ROUTER),
         *remote = zmq_socket (context, ZMQ_ROUTER);
    if (zmq_curve_keypair (public_key, secret_key) != 0)
        abort ();
    zmq_setsockopt (remote, ZMQ_CURVE_SERVER, &one, sizeof one);
    zmq_setsockopt (remote, ZMQ_CURVE_SECRETKEY, secret_key, sizeof secret_key);
    zmq_setsockopt (local, ZMQ_MAXMSGSIZE, &max, sizeof max);
    memcpy (s_bare.server_key, public_key, sizeof public_key);
    snprintf (s_bare.ipc, sizeof s_bare.ipc, "ipc://@argos-bench-bare-%d", (int) getpid ());
    snprintf (s_bare.tcp, sizeof s_bare.tcp, "tcp://127.0.0.1:%d", bench_port ());
    if (zmq_bind (local, s_bare.ipc) != 0 || zmq_bind (remote, s_bare.tcp) != 0)
        exit (1);
    zmq_setsockopt (local, ZMQ_RCVTIMEO, &slice, sizeof slice);
    while (!atomic_load (&s_over)) {
        zmq_msg_t frame;
        zmq_msg_init (&frame);
        zmq_msg_recv (&frame, local, 0); //  Nobody gets as far over tcp
        zmq_msg_close (&frame);
    }
    zmq_close (local);
    zmq_close (remote);
    zmq_ctx_term (context);
    return NULL;
}

//  ------------------------------------------------------------------------------------------------

//  The p99 of what the players have measured in one round.

static void
s_round (player_t *players, double *ret_p99)
{
    for (size_t i = 0; i < 2; i++)
        bench_samples_clear (&players[i].times);
    atomic_store (&s_measuring, true);
    bench_pause (ROUND_MS);
    atomic_store (&s_measuring, false);
    bench_pause (SLICE_MS);
    for (size_t i = 0; i < 2; i++)
        ret_p99[i * BENCH_ROUNDS] = bench_percentile (&players[i].times, 0.99);
}

//  One round with an abuser.

static void
s_abused (player_t *players, size_t abuse, const target_t *target, double *ret_p99)
{
    pthread_t thread;
    void (*fn) (void *) = abuses[abuse].fn;
    s_target = *target;
    atomic_store (&s_abusing, true);
    if (pthread_create (&thread, NULL, s_abuse, &fn) != 0)
        abort ();
    bench_pause (SETTLE_MS);
    s_round (players, ret_p99);
    atomic_store (&s_abusing, false);
    pthread_join (thread, NULL);
    bench_pause (SETTLE_MS);
}

static void
s_measure (player_t *players, size_t abuse)
{
    double base[2][BENCH_ROUNDS], ours[2][BENCH_ROUNDS];
    target_t core = { .bare = false };
    snprintf (core.ipc, sizeof core.ipc, "%s", bench_core_ipc ());
    snprintf (core.tcp, sizeof core.tcp, "%s", bench_core_tcp ());
    memcpy (core.server_key, bench_core_key ()->server_key, sizeof core.server_key);
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        s_abused (players, abuse, &s_bare, &base[0][round]);
        s_abused (players, abuse, &core, &ours[0][round]);
    }
    for (int i = 0; i < 2; i++)
        bench_print (&(bench_row_t){ .name = i ? "  p99 of durable messages" : abuses[abuse].name,
            .unit = "ms",
            .base = bench_median (base[i]),
            .ours = bench_median (ours[i]),
            .target = abuses[abuse].fair ? 0 : 2,
            .at_most = true });
}

static void
s_print_alone (player_t *players)
{
    double alone[2][BENCH_ROUNDS];
    for (int round = 0; round < BENCH_ROUNDS; round++)
        s_round (players, &alone[0][round]);
    for (int i = 0; i < 2; i++)
        bench_print (
            &(bench_row_t){ .name = i ? "  p99 of durable messages" : "p99 of requests, no abuser",
                .unit = "ms",
                .ours = bench_median (alone[i]) });
}

void
bench_abuse (void)
{
    player_t players[] = { { "bench.asks", s_ask, 0, { 0 } }, { "bench.keeps", s_keep, 0, { 0 } },
        { "bench.echo", s_echo, 0, { 0 } }, { "bench.feed", s_feed, 0, { 0 } },
        { "", s_throw_away, 0, { 0 } } };
    const int count = sizeof players / sizeof *players;
    memset (s_body, ' ', sizeof s_body - 1);
    s_body[0] = '{';
    s_body[1] = '}';
    if (bench_core_start () != 0)
        return;
    for (int i = count - 1; i >= 0; i--) { //  Who serves first
        if (pthread_create (&players[i].thread, NULL, players[i].fn, &players[i]) != 0)
            abort ();
        bench_pause (SLICE_MS);
    }
    s_print_alone (players);
    for (size_t abuse = 0; abuse < sizeof abuses / sizeof *abuses; abuse++)
        s_measure (players, abuse);
    atomic_store (&s_over, true);
    for (int i = 0; i < count; i++) {
        pthread_join (players[i].thread, NULL);
        bench_samples_clear (&players[i].times);
    }
    bench_core_stop ();
}
