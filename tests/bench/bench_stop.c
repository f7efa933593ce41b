//  bench_stop - how long a stop takes to reach a turn in the middle of its stream, while the daemon
//  has a thousand turns a second to do.
//
//  Invariant: measured from the sending of turn.stop to the run.cancelled that a reader of the run
//  sees, so the commit of the end is in it. Beside it the time of a commit under the same load:
//  from a durable message to its `accepted`. The load is a thread with a connection of its own.

#include "bench_load.h"
#include "bench_sqlite.h"

#include <czmq.h>
#include <stdatomic.h>

#define STOPS 300
#define TURN_NS 1000000 //  A turn of the load begins each msec
#define BEHIND_MAX 100  //  Turns of the load on the way: their messages are within the window

typedef struct {
    const bench_daemon_t *daemon; //  Under load
    void *context;                //  Of the sockets
    atomic_bool over;             //  Set by the owner
    load_t load;                  //  Read by the owner when the thread has ended
} beside_t;

typedef struct {
    wire_t wire;             //  Our platform
    int number;              //  Of the turn
    char run[48];            //  Its run
    char session[257];       //  Its session
    bench_samples_t latency; //  From stop to run.cancelled
    bench_samples_t commits; //  From a durable message to accepted
} stops_t;

static void
s_begin (stops_t *self)
{
    char header[256], body[400];
    snprintf (self->run, sizeof self->run, "run_%032x", ++self->number);
    snprintf (header, sizeof header,
        "{\"type\":\"subscribe\",\"id\":\"t\",\"to\":\"topic:run.%s\"}", self->run);
    wire_word (&self->wire, header, "{\"from\":0}");
    snprintf (header, sizeof header,
        "{\"type\":\"message.inbound\",\"id\":\"stop:%d\",\"to\":\"service:gateway\","
        "\"key\":\"stop\",\"durable\":true}",
        self->number);
    snprintf (body, sizeof body,
        "{\"source\":{\"platform\":\"bench\",\"account\":\"stop\",\"chat_id\":\"1\","
        "\"chat_type\":\"dm\",\"user_id\":\"u\"},\"text\":\"!slow 200\",\"message_id\":\"%d\","
        "\"run_id\":\"%s\"}",
        self->number, self->run);
    wire_send (&self->wire, header, body, strlen (body));
}

static bool
s_read_session (stops_t *self)
{
    char body[64];
    snprintf (body, sizeof body, "{\"run_id\":\"%s\"}", self->run);
    wire_send (
        &self->wire, "{\"type\":\"run.get\",\"id\":\"get\",\"to\":\"store\"}", body, strlen (body));
    while (wire_expect (&self->wire, "store.result")) {
        wire_text (wire_body (&self->wire), "session_id", self->session, sizeof self->session);
        if (*self->session)
            return true;
    }
    return false;
}

static bool
s_stop_it (stops_t *self)
{
    char header[512], body[160];
    snprintf (header, sizeof header,
        "{\"type\":\"turn.stop\",\"id\":\"halt:%d\",\"to\":\"service:turn\",\"key\":\"%s\","
        "\"durable\":true,\"side\":true,\"urgent\":true}",
        self->number, self->session);
    snprintf (body, sizeof body, "{\"run_id\":\"%s\",\"reason\":\"bench\"}", self->run);
    int64_t start = bench_now ();
    wire_send (&self->wire, header, body, strlen (body));
    if (!wire_expect (&self->wire, "run.cancelled"))
        return false;
    bench_sample (&self->latency, bench_now () - start);
    return true;
}

//  A message that is stored and nothing else

static bool
s_commit (stops_t *self)
{
    char header[160];
    snprintf (header, sizeof header,
        "{\"type\":\"bench.note\",\"id\":\"note:%d\",\"to\":\"service:bench.stop.notes\","
        "\"durable\":"
        "true}",
        self->number);
    int64_t start = bench_now ();
    wire_send (&self->wire, header, "{}", 2);
    if (!wire_expect (&self->wire, "accepted"))
        return false;
    bench_sample (&self->commits, bench_now () - start);
    return true;
}

//  The thread of the load: turns at a steady pace

static void *
s_beside (void *arg)
{
    beside_t *self = arg;
    load_t *load = &self->load;
    if (load_open (load, self->daemon, self->context, "load") != 0)
        return NULL;
    load_mark (load);
    int chat = 0;
    while (!self->over) {
        int64_t due = (bench_now () - load->marked) / TURN_NS;
        while (load->sent < due && load->sent - load->done < BEHIND_MAX) {
            load_send (load, chat);
            chat = (chat + 1) % LOAD_CHATS;
        }
        if (load_next (load, 1) < -1)
            break;
    }
    load_measure (load);
    return NULL;
}

static int
s_open (stops_t *self, const bench_daemon_t *daemon, void *context)
{
    if (wire_open (&self->wire, context, daemon->endpoint, "bench.stop", NULL) != 0)
        return -1;
    wire_word (&self->wire, "{\"type\":\"serve\",\"id\":\"n\"}",
        "{\"service\":\"bench.stop.notes\",\"slots\":0}");
    wire_word (&self->wire, "{\"type\":\"credit\"}", "{\"messages\":1000000,\"bytes\":1000000000}");
    return wire_expect (&self->wire, "accepted") ? 0 : -1;
}

static void
s_print (stops_t *self, const load_t *load, bench_samples_t *bare)
{
    bench_print (&(bench_row_t){ .name = "stop -> run.cancelled p99, target 50 ms",
        .unit = "ms",
        .ours = bench_percentile (&self->latency, 0.99),
        .target = 50,
        .at_most = true,
        .batch = load->batch,
        .syncs = load->syncs });
    bench_print (&(bench_row_t){
        .name = "  p50", .unit = "ms", .ours = bench_percentile (&self->latency, 0.5) });
    bench_print (
        &(bench_row_t){ .name = "  beside it, turns of 1,000", .unit = "/s", .ours = load->rate });
    bench_print (&(bench_row_t){ .name = "  a commit under that load p99",
        .unit = "ms",
        .ours = bench_percentile (&self->commits, 0.99) });
    bench_print (&(bench_row_t){ .name = "  a bare commit of this disk p99",
        .unit = "ms",
        .ours = bench_percentile (bare, 0.99) });
}

void
bench_stop (void)
{
    stops_t stops = { 0 };
    bench_daemon_t daemon = { 0 };
    bench_samples_t bare = { 0 };
    pthread_t thread;
    bench_sqlite_t *database = bench_sqlite_new ();
    bench_sqlite_commit_ms (database, 200, &bare);
    bench_sqlite_destroy (&database);
    if (bench_daemon_start (&daemon) != 0)
        return;
    beside_t beside = { .daemon = &daemon, .context = zmq_ctx_new () };
    bool going = s_open (&stops, &daemon, beside.context) == 0 &&
                 pthread_create (&thread, NULL, s_beside, &beside) == 0;
    bool beside_runs = going;
    for (int i = 0; going && i < STOPS; i++) {
        s_begin (&stops);
        going = wire_expect (&stops.wire, "turn.delta") && s_read_session (&stops) &&
                s_stop_it (&stops) && s_commit (&stops);
    }
    beside.over = true;
    if (beside_runs)
        pthread_join (thread, NULL);
    s_print (&stops, &beside.load, &bare);
    wire_close (&stops.wire);
    load_close (&beside.load);
    zmq_ctx_term (beside.context);
    bench_samples_clear (&stops.latency);
    bench_samples_clear (&stops.commits);
    bench_samples_clear (&bare);
    bench_daemon_stop (&daemon);
}
