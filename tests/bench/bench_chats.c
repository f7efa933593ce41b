//  bench_chats - 1,000 chats at a time whose model streams its answers, end to end: the model is a
//  process of its own (argos-bench --streams), argosd another, and we are the platform that reads
//  the topic of each run.
//
//  Invariant: a delta has the moment of its write in it, and counts when a reader of the topic has
//  it; the server leaves 100 ms between two of a stream, so that none waits to be sent with the
//  next. Memory is what the daemon has more when all of them are half through than with all chats
//  idle. Limits: one round; the conversation of a turn is one word; answers are not delivered, for
//  the one lease that we take stays ours.

#include "bench.h"
#include "bench_daemon.h"
#include "bench_wire.h"

#include <czmq.h>
#include <sys/wait.h>

#define CHATS BENCH_STREAMS            //  At a time
#define DELTAS BENCH_DELTAS            //  Of each
#define MOMENT_BYTES 21                //  Of a moment in the text: '@' and twenty digits
#define ROUND_NS INT64_C (60000000000) //  At most for all of them
#define PING_NS INT64_C (1000000000)

typedef struct {
    wire_t wire;             //  Our platform
    bench_daemon_t daemon;   //  Under test
    bench_samples_t latency; //  From the model's write to us
    int64_t deltas;          //  How many came
    int64_t entries;         //  In so many entries
    int ended;               //  Runs that are over
    int failed;              //  Of these not as wanted
    int64_t pinged;          //  Last sign of life
    long before, during;     //  KiB of the daemon
} chats_t;

static void
s_ping (chats_t *self)
{
    if (bench_now () - self->pinged < PING_NS)
        return;
    self->pinged = bench_now ();
    wire_word (&self->wire, "{\"type\":\"ping\",\"id\":\"p\"}", "");
}

//  The moments in a delta, which may be several
static void
s_count (chats_t *self, int64_t now)
{
    const char *at = strstr (wire_body (&self->wire), "\"delta\":\"");
    const char *end = at ? strchr (at + 9, '"') : NULL;
    self->entries++;
    for (at = at ? strchr (at, '@') : NULL; at && at + MOMENT_BYTES <= end;
         at = strchr (at + 1, '@')) {
        bench_sample (&self->latency, now - strtoll (at + 1, NULL, 10));
        if (++self->deltas == (int64_t) CHATS * DELTAS / 2)
            self->during = bench_private_dirty (self->daemon.pid);
    }
}

//  One message, whatever it is; false when none comes in time
static bool
s_take (chats_t *self, long timeout_ms)
{
    s_ping (self);
    if (!wire_recv (&self->wire, timeout_ms))
        return false;
    if (streq (self->wire.type, "turn.delta"))
        s_count (self, bench_now ());
    else if (strncmp (self->wire.type, "run.", 4) == 0) {
        self->ended +=
            streq (self->wire.type, "run.completed") || streq (self->wire.type, "run.failed");
        if (streq (self->wire.type, "run.failed") && !self->failed++)
            fprintf (stderr, "bench: %s\n", wire_body (&self->wire));
    }
    else if (streq (self->wire.type, "refused"))
        fprintf (stderr, "bench: %s %s\n", self->wire.header, wire_body (&self->wire));
    return true;
}

static void
s_say (chats_t *self, int chat)
{
    char header[256], body[400];
    snprintf (header, sizeof header,
        "{\"type\":\"subscribe\",\"id\":\"t\",\"to\":\"topic:run.run_%032x\"}", chat + 1);
    wire_word (&self->wire, header, "{\"from\":0}");
    snprintf (header, sizeof header,
        "{\"type\":\"message.inbound\",\"id\":\"chats:%d\",\"to\":\"service:gateway\","
        "\"key\":\"bench:chats:%d\",\"durable\":true}",
        chat, chat);
    snprintf (body, sizeof body,
        "{\"source\":{\"platform\":\"bench\",\"account\":\"chats\",\"chat_id\":\"%d\","
        "\"chat_type\":\"dm\",\"user_id\":\"u\"},\"text\":\"hello\",\"message_id\":\"1\","
        "\"run_id\":\"run_%032x\"}",
        chat, chat + 1);
    while (!wire_may (&self->wire, strlen (header) + strlen (body)))
        s_take (self, 10);
    wire_send (&self->wire, header, body, strlen (body));
}

static void
s_print (chats_t *self)
{
    if (self->ended < CHATS || self->failed)
        fprintf (stderr, "bench: %d of %d runs came to their end, %d failed\n", self->ended, CHATS,
            self->failed);
    bench_print (&(bench_row_t){ .name = "1,000 chats stream: delta -> reader of its run, p99",
        .unit = "ms",
        .ours = bench_percentile (&self->latency, 0.99),
        .target = 20,
        .at_most = true,
        .remark = "at 10,000 deltas/s, from the model's write" });
    bench_print (&(bench_row_t){
        .name = "  p50", .unit = "ms", .ours = bench_percentile (&self->latency, 0.5) });
    bench_print (&(bench_row_t){ .name = "  deltas of an entry",
        .unit = "",
        .ours = self->entries ? (double) self->deltas / (double) self->entries : 0 });
    bench_print (&(bench_row_t){ .name = "  memory of the daemon for each of these turns",
        .unit = "KiB",
        .ours = (double) (self->during - self->before) / CHATS,
        .target = 64,
        .at_most = true,
        .remark = "with its entries in the broker, and all else" });
}

static void
s_run (chats_t *self, void *context)
{
    if (wire_open (&self->wire, context, self->daemon.endpoint, "bench.chats", NULL) != 0)
        return;
    wire_word (
        &self->wire, "{\"type\":\"credit\"}", "{\"messages\":1000000000,\"bytes\":1000000000000}");
    wire_word (&self->wire, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"deliver.bench.chats\",\"slots\":1}");
    if (!wire_expect (&self->wire, "accepted"))
        return;
    self->before = bench_private_dirty (self->daemon.pid);
    int64_t until = bench_now () + ROUND_NS;
    for (int chat = 0; chat < CHATS; chat++)
        s_say (self, chat);
    while (self->ended < CHATS && bench_now () < until)
        s_take (self, 1000);
    s_print (self);
    wire_close (&self->wire);
}

void
bench_chats (void)
{
    char program[] = "/proc/self/exe", flag[] = "--streams", port[16] = "";
    char *const argv[] = { program, flag, NULL };
    int in = -1, out = -1;
    chats_t self = { 0 };
    setenv ("OPENAI_API_KEY", "none", 1); //  It is wanted, and not looked at
    pid_t pid = bench_spawn (argv, &in, &out, false);
    if (pid > 0 && read (out, port, sizeof port - 1) > 0)
        self.daemon.provider_port = (int) strtol (port, NULL, 10);
    void *context = zmq_ctx_new ();
    if (self.daemon.provider_port && bench_daemon_start (&self.daemon) == 0) {
        s_run (&self, context);
        bench_daemon_stop (&self.daemon);
    }
    zmq_ctx_term (context);
    bench_samples_clear (&self.latency);
    if (pid > 0) {
        close (in);
        close (out);
        waitpid (pid, NULL, 0);
    }
}
