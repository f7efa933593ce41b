//  bench_stop - how long a stop takes to reach a turn in the middle of its stream.
//
//  Invariant: measured from the sending of turn.stop to the run.cancelled that a reader of the run
//  sees, so the commit of the end is in it. Beside it the time of a bare commit.

#include "bench_daemon.h"
#include "bench_sqlite.h"
#include "bench_wire.h"

#include <czmq.h>

#define STOPS 60

typedef struct {
    wire_t wire;             //  Our platform
    int number;              //  Of the turn
    char run[48];            //  Its run
    char session[257];       //  Its session
    bench_samples_t latency; //  From stop to run.cancelled
} load_t;

static void
s_begin (load_t *self)
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
s_read_session (load_t *self)
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
s_stop_it (load_t *self)
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

static int
s_open (load_t *self, const bench_daemon_t *daemon, void *context)
{
    if (wire_open (&self->wire, context, daemon->endpoint, "bench.stop") != 0)
        return -1;
    wire_word (&self->wire, "{\"type\":\"credit\"}", "{\"messages\":1000000,\"bytes\":1000000000}");
    return 0;
}

void
bench_stop (void)
{
    load_t load = { 0 };
    bench_daemon_t daemon = { 0 };
    bench_samples_t commits = { 0 };
    bench_sqlite_t *bare = bench_sqlite_new ();
    bench_sqlite_commit_ms (bare, 200, &commits);
    bench_sqlite_destroy (&bare);
    if (bench_daemon_start (&daemon) != 0)
        return;
    void *context = zmq_ctx_new ();
    bool going = s_open (&load, &daemon, context) == 0;
    for (int i = 0; going && i < STOPS; i++) {
        s_begin (&load);
        going =
            wire_expect (&load.wire, "turn.delta") && s_read_session (&load) && s_stop_it (&load);
    }
    bench_print (&(bench_row_t){ .name = "stop -> run.cancelled p99, target 50 ms",
        .unit = "ms",
        .ours = bench_percentile (&load.latency, 0.99),
        .target = 50,
        .at_most = true });
    bench_print (&(bench_row_t){
        .name = "  p50", .unit = "ms", .ours = bench_percentile (&load.latency, 0.5) });
    bench_print (&(bench_row_t){ .name = "  a bare commit of this disk p99",
        .unit = "ms",
        .ours = bench_percentile (&commits, 0.99) });
    wire_close (&load.wire);
    zmq_ctx_term (context);
    bench_samples_clear (&load.latency);
    bench_samples_clear (&commits);
    bench_daemon_stop (&daemon);
}
