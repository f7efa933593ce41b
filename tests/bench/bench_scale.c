//  bench_scale - what much of something costs in memory and at the start: idle peers and a million
//  queued messages.
//
//  Invariant: the core is in this process, the idle peers are another, so that RSS here is what
//  they cost the broker; before each base what was freed is given back. A million comes in commits
//  of 64 durable messages of 400 bytes for 10,000 lanes.

#include "bench.h"
#include "bench_core.h"
#include "bench_daemon.h"
#include "bench_wire.h"

#include <czmq.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define PEERS 4000       //  The broker takes 4,096 sessions
#define SPARE 400        //  Descriptors for something else
#define TOGETHER 64      //  Hellos on the way
#define SETTLE_MS 30000  //  From the last hello to the look at the memory
#define MESSAGES 1000000 //  Queued
#define PARTS 64         //  Of a commit
#define COMMITS 16       //  On the way
#define LANES 10000
#define BODY 400             //  Bytes of a body
#define HEADER 128           //  At most of a header
#define FILL_NS 120000000000 //  At most for all of them

//  ------------------------------------------------------------------------------------------------
//  Idle peers

static void
s_more_descriptors (void)
{
    struct rlimit limit;
    if (getrlimit (RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit (RLIMIT_NOFILE, &limit);
    }
}

//  How many peers a process can be: each has two descriptors there.

static int
s_peers (void)
{
    struct rlimit limit;
    getrlimit (RLIMIT_NOFILE, &limit);
    rlim_t most = limit.rlim_cur > SPARE ? (limit.rlim_cur - SPARE) / 2 : 1;
    return most < PEERS ? (int) most : PEERS;
}

//  Opens some of them, all hellos at once. Returns 0 or -1.

static int
s_open_peers (
    wire_t *wires, int first, int end, void *context, const char *endpoint, const argos_key_t *key)
{
    char name[64];
    int rc = 0;
    for (int i = first; rc == 0 && i < end; i++) {
        snprintf (name, sizeof name, "%s.idle.%d", key ? BENCH_REMOTE : "bench", i);
        rc = wire_hello (&wires[i], context, endpoint, name, key);
    }
    for (int i = first; rc == 0 && i < end; i++)
        rc = wire_welcome (&wires[i]);
    return rc;
}

int
bench_idle_peers (const char *endpoint, const char *count, const char *key_file)
{
    argos_key_t key;
    char reason[256], byte = '.';
    int peers = (int) strtol (count, NULL, 10), rc = 0;
    s_more_descriptors ();
    if (*key_file && argos_key_read (&key, key_file, reason, sizeof reason) != 0)
        return 1;
    void *context = zmq_ctx_new ();
    wire_t *wires = calloc ((size_t) peers, sizeof *wires);
    zmq_ctx_set (context, ZMQ_MAX_SOCKETS, peers + 16);
    for (int first = 0; rc == 0 && first < peers; first += TOGETHER) {
        int end = first + TOGETHER < peers ? first + TOGETHER : peers;
        rc = s_open_peers (wires, first, end, context, endpoint, *key_file ? &key : NULL);
    }
    if (rc == 0 && write (STDOUT_FILENO, &byte, 1) == 1)
        rc = read (STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
    //  Ends as a killed process does: nothing is closed
    _exit (rc == 0 ? 0 : 1);
}

static void
s_idle_peers (const char *transport, const char *endpoint, const char *key)
{
    char program[] = "/proc/self/exe", option[] = "--idle-peers", count[16], byte, name[64];
    char where[PATH_MAX + 64], key_file[PATH_MAX + 64];
    int peers = s_peers (), in, out;
    snprintf (count, sizeof count, "%d", peers);
    snprintf (where, sizeof where, "%s", endpoint);
    snprintf (key_file, sizeof key_file, "%s", key);
    char *const argv[] = { program, option, where, count, key_file, NULL };
    malloc_trim (0);
    size_t heap = mallinfo2 ().uordblks;
    long before = bench_rss (getpid ());
    pid_t pid = bench_spawn (argv, &in, &out, false);
    if (pid <= 0 || read (out, &byte, 1) != 1) {
        fprintf (stderr, "bench: the idle peers do not come in\n");
        return;
    }
    bench_pause (SETTLE_MS);
    snprintf (name, sizeof name, "RSS of an idle peer, %s, %d of them", transport, peers);
    bench_print (&(bench_row_t){ .name = name,
        .unit = "KiB",
        .ours = (double) (bench_rss (getpid ()) - before) / peers,
        .target = 32,
        .at_most = true });
    bench_print (&(bench_row_t){ .name = "  of that allocated",
        .unit = "KiB",
        .ours = (double) (mallinfo2 ().uordblks - heap) / 1024 / peers });
    close (in);
    close (out);
    waitpid (pid, NULL, 0);
}

static void
s_all_idle_peers (void)
{
    s_more_descriptors ();
    zsys_set_max_sockets (0);
    for (int i = 0; i < 2; i++) {
        if (bench_core_start () != 0)
            return;
        if (i == 0)
            s_idle_peers ("ipc", bench_core_ipc (), "");
        else
            s_idle_peers ("tcp+CURVE", bench_core_tcp (), bench_core_key_file ());
        bench_core_stop ();
    }
}

//  ------------------------------------------------------------------------------------------------
//  A million messages

typedef struct {
    wire_t wire;                      //  Who sends
    char headers[PARTS][HEADER];      //  Of a commit
    char body[BODY + 1];              //  Of each part
    const char *parts[2 * PARTS + 1]; //  Both
    int64_t sent, back;               //  Commits
} filler_t;

static void
s_fill_send (filler_t *self)
{
    char header[64];
    const char **part = self->parts;
    for (int i = 0; i < PARTS; i++) {
        int64_t number = self->sent * PARTS + i;
        snprintf (self->headers[i], HEADER,
            "{\"type\":\"bench.store\",\"to\":\"service:bench\",\"durable\":true,"
            "\"key\":\"lane-%" PRId64 "\",\"id\":\"f-%" PRId64 "\"}",
            number % LANES, number);
        *part++ = self->headers[i];
        *part++ = self->body;
    }
    snprintf (header, sizeof header, "{\"type\":\"commit\",\"id\":\"f%" PRId64 "\"}", self->sent++);
    wire_send_parts (&self->wire, header, self->parts);
}

//  Queues messages until so many have been accepted.

static void
s_fill (filler_t *self, int64_t messages)
{
    int64_t commits = messages / PARTS, limit = bench_now () + FILL_NS;
    while (self->back < commits && bench_now () < limit) {
        while (self->sent < commits && self->sent - self->back < COMMITS &&
               wire_may (&self->wire, (size_t) PARTS * (BODY + HEADER)))
            s_fill_send (self);
        if (!wire_recv (&self->wire, WIRE_WAIT_MS) || strcmp (self->wire.type, "accepted") != 0) {
            fprintf (stderr, "bench: %s %s\n", self->wire.header, wire_body (&self->wire));
            exit (1);
        }
        self->back++;
    }
}

//  How many wait, as the broker says.

static int64_t
s_waiting (wire_t *wire)
{
    wire_send (wire, "{\"type\":\"broker.status\",\"id\":\"w\",\"to\":\"actor:broker\"}", "{}", 2);
    if (!wire_recv (wire, WIRE_WAIT_MS))
        return 0;
    const char *bench = strstr (wire_body (wire), "\"bench\"");
    return bench ? wire_number (bench, "waiting") : 0;
}

static void
s_reload (int64_t queued)
{
    wire_t wire;
    int64_t start = bench_now ();
    malloc_trim (0);
    long before = bench_rss (getpid ());
    if (bench_core_again () != 0)
        return;
    double seconds = (double) (bench_now () - start) / 1e9;
    bench_print (&(bench_row_t){ .name = "start with 1,000,000 waiting, target 5 s",
        .unit = "s",
        .ours = seconds,
        .target = 5,
        .at_most = true });
    bench_print (&(bench_row_t){ .name = "  RSS that it took",
        .unit = "MiB",
        .ours = (double) (bench_rss (getpid ()) - before) / 1024 });
    if (wire_open (&wire, zsys_init (), BENCH_INPROC, "bench.client", NULL) == 0) {
        int64_t waiting = s_waiting (&wire);
        if (waiting != queued)
            fprintf (stderr, "bench: %" PRId64 " of %" PRId64 " are waiting\n", waiting, queued);
        wire_close (&wire);
    }
    bench_core_stop ();
}

static void
s_million (void)
{
    filler_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    snprintf (self->body, sizeof self->body, "{\"text\":\"%0*d\"}", BODY - 11, 0);
    malloc_trim (0);
    if (bench_core_start () != 0 ||
        wire_open (&self->wire, zsys_init (), BENCH_INPROC, "bench.client", NULL) != 0)
        return;
    long before = bench_rss (getpid ());
    int64_t start = bench_now ();
    s_fill (self, MESSAGES / 2);
    long half = bench_rss (getpid ());
    s_fill (self, MESSAGES);
    long all = bench_rss (getpid ());
    double seconds = (double) (bench_now () - start) / 1e9;
    int64_t queued = s_waiting (&self->wire);
    bench_print (&(bench_row_t){ .name = "queueing 1,000,000 of 400 B, 64 a commit",
        .unit = "msg/s",
        .ours = (double) queued / seconds });
    bench_print (&(bench_row_t){
        .name = "  RSS that they took", .unit = "MiB", .ours = (double) (all - before) / 1024 });
    bench_print (&(bench_row_t){ .name = "  of it each of the second half, no body in it",
        .unit = "B",
        .ours = (double) (all - half) * 1024 * 2 / MESSAGES,
        .target = BODY,
        .at_most = true });
    wire_close (&self->wire);
    bench_core_stop ();
    free (self);
    s_reload (queued);
}

void
bench_scale (void)
{
    s_all_idle_peers ();
    s_million ();
}
