//  bench_turn - a whole chat turn: message.inbound -> gateway -> agent -> rehearsal provider ->
//  deliver.request -> done, against a real argosd over ipc.
//
//  Invariant: a turn counts when its `done` has been accepted. The load is one platform with many
//  chats; each chat has one message on the way.

#include "bench_daemon.h"
#include "bench_sqlite.h"
#include "bench_wire.h"

#include <czmq.h>

#define CHATS 128           //  When saturated
#define ROUND_NS 5000000000 //  Length of a round when saturated
#define ALONE 200           //  Turns one after the other
#define TALK 8              //  Turns of a conversation; then the chat begins another
#define PING_NS 1000000000

typedef struct {
    wire_t wire;             //  Our platform
    int64_t sent, done;      //  Turns
    int64_t began[CHATS];    //  When the turn of a chat was sent
    int64_t turns[CHATS];    //  Turns of a chat so far
    int64_t pinged;          //  Last sign of life
    bench_samples_t latency; //  From sent to done
} load_t;

static void
s_send (load_t *self, int chat)
{
    char header[256], body[400];
    int64_t number = self->sent++, talk = chat + CHATS * (self->turns[chat]++ / TALK);
    self->began[chat] = bench_now ();
    snprintf (header, sizeof header,
        "{\"type\":\"message.inbound\",\"id\":\"bench:%" PRId64 ":%" PRId64
        "\",\"to\":\"service:gateway\",\"key\":\"bench:%" PRId64 "\",\"durable\":true}",
        talk, number, talk);
    snprintf (body, sizeof body,
        "{\"source\":{\"platform\":\"bench\",\"account\":\"main\",\"chat_id\":\"%" PRId64
        "\",\"chat_type\":\"dm\",\"user_id\":\"u\"},\"text\":\"hello\",\"message_id\":\"%" PRId64
        "\"}",
        talk, number);
    wire_send (&self->wire, header, body, strlen (body));
}

static void
s_finish (load_t *self)
{
    static const char *const parts[] = { "{\"type\":\"receipt.put\",\"to\":\"store\","
                                         "\"durable\":true}",
        "{\"state\":\"sent\"}", NULL };
    char header[200];
    const char *found = strstr (wire_body (&self->wire), "\"chat_id\":\"");
    int chat = found ? (int) (strtoul (found + 11, NULL, 10) % CHATS) : 0;
    snprintf (header, sizeof header,
        "{\"type\":\"done\",\"id\":\"done:%d\",\"seq\":%" PRId64 ",\"lease\":%" PRId64
        ",\"n\":1,\"seen\":0}",
        chat, wire_number (self->wire.meta, "seq"), wire_number (self->wire.meta, "lease"));
    wire_send_parts (&self->wire, header, parts);
}

static void
s_ping (load_t *self)
{
    if (bench_now () - self->pinged < PING_NS)
        return;
    self->pinged = bench_now ();
    wire_word (&self->wire, "{\"type\":\"ping\",\"id\":\"p\"}", "");
}

//  Handles messages until a turn is done; returns its chat, -1 when nothing comes.

static int
s_next (load_t *self)
{
    char re[65];
    while (wire_recv (&self->wire, WIRE_WAIT_MS)) {
        s_ping (self);
        if (strcmp (self->wire.type, "deliver.request") == 0)
            s_finish (self);
        wire_text (self->wire.header, "re", re, sizeof re);
        if (strcmp (self->wire.type, "refused") == 0) {
            fprintf (stderr, "bench: %s %s\n", self->wire.header, wire_body (&self->wire));
            return -1;
        }
        if (strcmp (self->wire.type, "accepted") != 0 || strncmp (re, "done:", 5) != 0)
            continue;
        int chat = (int) (strtoul (re + 5, NULL, 10) % CHATS);
        self->done++;
        bench_sample (&self->latency, bench_now () - self->began[chat]);
        return chat;
    }
    fprintf (stderr, "bench: no turn is done\n");
    return -1;
}

static int
s_open (load_t *self, const bench_daemon_t *daemon, void *context)
{
    if (wire_open (&self->wire, context, daemon->endpoint, "bench.main") != 0)
        return -1;
    wire_word (&self->wire, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"deliver.bench.main\",\"slots\":256}");
    return wire_expect (&self->wire, "accepted") ? 0 : -1;
}

//  One after the other

static void
s_alone (load_t *self, double commit_ms)
{
    for (int i = 0; i < ALONE; i++) {
        s_send (self, 0);
        if (s_next (self) < 0)
            return;
    }
    bench_print (&(bench_row_t){ .name = "chat turn alone p50, target 1.5 ms + 4 commits",
        .unit = "ms",
        .ours = bench_percentile (&self->latency, 0.5),
        .target = 1.5 + 4 * commit_ms,
        .at_most = true });
    bench_print (&(bench_row_t){ .name = "chat turn alone p99",
        .unit = "ms",
        .ours = bench_percentile (&self->latency, 0.99) });
    bench_print (&(bench_row_t){
        .name = "  a bare commit of this disk p50", .unit = "ms", .ours = commit_ms });
}

static void
s_saturated (load_t *self)
{
    bench_samples_clear (&self->latency);
    int64_t start = bench_now (), first = self->done;
    for (int chat = 0; chat < CHATS; chat++)
        s_send (self, chat);
    while (bench_now () - start < ROUND_NS) {
        int chat = s_next (self);
        if (chat < 0)
            return;
        s_send (self, chat);
    }
    double rate = (double) (self->done - first) * 1e9 / (double) (bench_now () - start);
    bench_print (&(bench_row_t){ .name = "chat turns, 128 chats, target 2,500/s",
        .unit = "/s",
        .ours = rate,
        .target = 2500 });
    bench_print (&(bench_row_t){ .name = "  p50 under that load",
        .unit = "ms",
        .ours = bench_percentile (&self->latency, 0.5) });
    bench_print (&(bench_row_t){ .name = "  p99 under that load",
        .unit = "ms",
        .ours = bench_percentile (&self->latency, 0.99) });
}

void
bench_turn (void)
{
    load_t load = { 0 };
    bench_daemon_t daemon = { 0 };
    bench_sqlite_t *bare = bench_sqlite_new ();
    double commit_ms = bench_sqlite_commit_ms (bare, 100, NULL);
    bench_sqlite_destroy (&bare);
    if (bench_daemon_start (&daemon) != 0)
        return;
    void *context = zmq_ctx_new ();
    if (s_open (&load, &daemon, context) == 0) {
        s_alone (&load, commit_ms);
        s_saturated (&load);
    }
    wire_close (&load.wire);
    zmq_ctx_term (context);
    bench_samples_clear (&load.latency);
    bench_daemon_stop (&daemon);
}
