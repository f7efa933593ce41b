//  bench_gateway - many sessions, and many turns at a time: what a session costs when nothing
//  happens in it, and what the way to the model and back costs while a thousand turns run.
//
//  Invariant: one platform, a chat of its own for each session, one message of a chat on the way.
//  The first WARM chats fill what has a limit (rings of topics, the trace, the cache of SQLite),
//  and what the next SESSIONS take beyond that is theirs. Then FLIGHT turns are kept open, with
//  answers that take so long that turns end as fast as the cores can (saturated), or at a rate that
//  leaves room. What the gateway takes is from the message as we send it to the entry `queued`,
//  which is a part of the commit that makes the turn; the way in goes on to the entry `running`,
//  which the agent publishes when it has the lease of the turn; the whole goes on to the answer as
//  we have it, less the provider's time, which is that of the pauses between its tokens. So the
//  agent's call, the tokens and the last commit are in it too.

#include "bench_daemon.h"
#include "bench_wire.h"

#include "bench.h"

#include <czmq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARE 96        //  Of the window, for the ends of deliveries
#define MESSAGE_MAX 500 //  Bytes of a message, header and body
#define SESSIONS 10000  //  Chats of the first part
#define WARM 10000      //  Before them
#define CHATS (SESSIONS + WARM)
#define IDLE_S 20    //  Until what is kept of a turn for late readers is let go
#define TOGETHER 256 //  Turns on the way in the first part
#define FLIGHT 1000  //  Turns on the way in the second part

//  A round of the second part

typedef struct {
    const char *name; //  For people
    const char *text; //  What asks for such answers
    int answer_ms;    //  Of the provider: the pauses between its tokens
    int fill_ms;      //  Until it counts
    int round_ms;     //  That it counts
    bool room;        //  There is a target for what is ours
} pace_t;

static const pace_t paces[] = {
    { "1,000 turns at a time, answers of 2 s: saturated", "!slow 40", 1950, 6000, 12000, false },
    { "1,000 turns at a time, answers of 10 s, 20,000 tokens/s", "!slow 200", 9950, 20000, 15000,
        false },
    { "1,000 turns at a time, answers of 10 s, 10,000 tokens/s", "!slow 100 100", 9900, 20000,
        15000, true },
};

typedef struct {
    wire_t wire;               //  Our platform
    int64_t began[CHATS];      //  When the newest message of a chat was sent
    const char *text;          //  Of the messages
    int chats[CHATS];          //  Of the messages asked for, a ring
    int64_t asked, sent, done; //  Messages wanted and sent, turns
    bench_samples_t made;      //  From sent to the turn,
    bench_samples_t in, whole; //  to the agent, and to the answer
} crowd_t;

static void
s_put (crowd_t *self, int chat)
{
    char header[200], body[300];
    self->began[chat] = bench_now ();
    snprintf (header, sizeof header,
        "{\"type\":\"message.inbound\",\"id\":\"c%d:%" PRId64 "\",\"to\":\"service:gateway\","
        "\"key\":\"bench:crowd:%d\",\"durable\":true}",
        chat, self->sent, chat);
    snprintf (body, sizeof body,
        "{\"source\":{\"platform\":\"bench\",\"account\":\"crowd\",\"chat_id\":\"%d\","
        "\"chat_type\":\"dm\",\"user_id\":\"u\"},\"text\":\"%s\",\"message_id\":\"%" PRId64 "\"}",
        chat, self->text, self->sent++);
    wire_send (&self->wire, header, body, strlen (body));
}

//  What the window lets go, in the order in which it was asked for.

static void
s_pump (crowd_t *self)
{
    while (self->asked > self->sent && wire_may (&self->wire, MESSAGE_MAX) &&
           self->wire.granted - self->wire.sent > SPARE)
        s_put (self, self->chats[self->sent % CHATS]);
}

//  A message of that chat, as soon as may be.

static void
s_send (crowd_t *self, int chat)
{
    self->chats[self->asked++ % CHATS] = chat;
    s_pump (self);
}

//  The chat that the body at hand names.

static int
s_chat (crowd_t *self)
{
    char chat[16];
    wire_text (wire_body (&self->wire), "chat_id", chat, sizeof chat);
    int number = (int) strtol (chat, NULL, 10);
    return number >= 0 && number < CHATS ? number : 0;
}

static void
s_finish (crowd_t *self)
{
    static const char *const parts[] = { "{\"type\":\"receipt.put\",\"to\":\"store\","
                                         "\"durable\":true}",
        "{\"state\":\"sent\"}", NULL };
    char header[200];
    snprintf (header, sizeof header,
        "{\"type\":\"done\",\"id\":\"done:%d\",\"seq\":%" PRId64 ",\"lease\":%" PRId64
        ",\"n\":1,\"seen\":0}",
        s_chat (self), wire_number (self->wire.meta, "seq"),
        wire_number (self->wire.meta, "lease"));
    wire_send_parts (&self->wire, header, parts);
}

//  Handles messages until a turn is done; its chat, -1 when none is in time, -2 after a refusal.

static int
s_next (crowd_t *self, long timeout_ms)
{
    char re[65], state[16];
    while (wire_recv (&self->wire, timeout_ms)) {
        s_pump (self);
        const char *type = self->wire.type;
        if (strcmp (type, "deliver.request") == 0) {
            bench_sample (&self->whole, bench_now () - self->began[s_chat (self)]);
            s_finish (self);
        }
        else if (strcmp (type, "out.state") == 0) {
            wire_text (wire_body (&self->wire), "state", state, sizeof state);
            if (strcmp (state, "queued") == 0)
                bench_sample (&self->made, bench_now () - self->began[s_chat (self)]);
            if (strcmp (state, "running") == 0)
                bench_sample (&self->in, bench_now () - self->began[s_chat (self)]);
        }
        wire_text (self->wire.header, "re", re, sizeof re);
        if (strcmp (type, "accepted") == 0 && strncmp (re, "done:", 5) == 0) {
            int chat = (int) strtol (re + 5, NULL, 10);
            self->done++;
            return chat;
        }
        if (strcmp (type, "refused") == 0) {
            fprintf (stderr, "bench: %s %s\n", self->wire.header, wire_body (&self->wire));
            return -2;
        }
    }
    wire_word (&self->wire, "{\"type\":\"ping\",\"id\":\"p\"}", "");
    return -1;
}

//  One message in each of the chats from first to end. Returns turns a second, 0 = it failed.

static double
s_visit (crowd_t *self, int first, int end)
{
    int64_t start = bench_now (), done = self->done;
    self->text = "hello";
    for (int chat = first; self->done - done < end - first;) {
        while (chat < end && chat - first - (self->done - done) < TOGETHER)
            s_send (self, chat++);
        if (s_next (self, WIRE_WAIT_MS) < 0)
            return 0;
    }
    return (double) (end - first) * 1e9 / (double) (bench_now () - start);
}

//  Nothing comes, and it says that we live.

static void
s_rest (crowd_t *self)
{
    for (int i = 0; i < IDLE_S; i++)
        s_next (self, 1000);
}

static void
s_sessions (crowd_t *self, pid_t pid)
{
    long start = bench_rss (pid);
    if (s_visit (self, 0, WARM) <= 0)
        return;
    s_rest (self);
    long rss = bench_rss (pid), dirty = bench_private_dirty (pid);
    double rate = s_visit (self, WARM, CHATS);
    s_rest (self);
    bench_print (&(bench_row_t){
        .name = "10,000 new chats, a turn each, 256 at a time", .unit = "/s", .ours = rate });
    bench_print (&(bench_row_t){ .name = "  RSS more after the 10,000 before them",
        .unit = "MiB",
        .ours = (double) (rss - start) / 1024 });
    bench_print (&(bench_row_t){ .name = "  RSS more for each of these, idle",
        .unit = "KiB",
        .ours = (double) (bench_rss (pid) - rss) / SESSIONS,
        .target = 2,
        .at_most = true });
    bench_print (&(bench_row_t){ .name = "  private dirty memory more for each",
        .unit = "KiB",
        .ours = (double) (bench_private_dirty (pid) - dirty) / SESSIONS });
}

//  Keeps FLIGHT turns open for a round. Returns whether it went well.

static bool
s_fly (crowd_t *self, const pace_t *pace, int64_t *ret_turns, long *ret_ticks, pid_t pid)
{
    const int64_t start = bench_now (), spread = pace->answer_ms * INT64_C (1000000) / FLIGHT;
    const int64_t fill = start + pace->fill_ms * INT64_C (1000000);
    const int64_t end = fill + pace->round_ms * INT64_C (1000000);
    int begun = 0;
    bool counts = false;
    self->text = pace->text;
    while (bench_now () < end) {
        bool due = begun < FLIGHT && bench_now () - start >= begun * spread;
        if (due)
            s_send (self, begun++);
        int chat = s_next (self, begun < FLIGHT ? (due ? 0 : 1) : WIRE_WAIT_MS);
        if (chat >= 0)
            s_send (self, chat);
        else if (begun == FLIGHT || chat < -1)
            return false;
        if (!counts && bench_now () >= fill) {
            counts = true;
            bench_samples_clear (&self->made);
            bench_samples_clear (&self->in);
            bench_samples_clear (&self->whole);
            *ret_ticks = bench_ticks (pid);
        }
    }
    *ret_ticks = bench_ticks (pid) - *ret_ticks;
    *ret_turns = (int64_t) self->whole.count;
    return true;
}

//  Takes what is on the way. Returns whether it ended.

static bool
s_land (crowd_t *self)
{
    while (self->done < self->sent)
        if (s_next (self, WIRE_WAIT_MS) < -1)
            return false;
    return true;
}

static void
s_print_ms (const char *name, bench_samples_t *samples, double share, int less_ms, double target)
{
    bench_print (&(bench_row_t){ .name = name,
        .unit = "ms",
        .ours = bench_percentile (samples, share) - less_ms,
        .target = target,
        .at_most = true });
}

static void
s_flight (crowd_t *self, const pace_t *pace, pid_t pid)
{
    int64_t turns = 0;
    long rss = bench_rss (pid), ticks = 0;
    if (!s_fly (self, pace, &turns, &ticks, pid)) {
        fprintf (stderr, "bench: no turn is done\n");
        return;
    }
    double seconds = pace->round_ms / 1e3;
    bench_print (
        &(bench_row_t){ .name = pace->name, .unit = "/s", .ours = (double) turns / seconds });
    bench_print (&(bench_row_t){ .name = "  of the two cores, the daemon",
        .unit = "%",
        .ours = (double) ticks / seconds / 2 });
    s_print_ms ("  from the message to its turn, p50", &self->made, 0.5, 0, 0);
    s_print_ms ("  p99", &self->made, 0.99, 0, pace->room ? 10 : 0);
    s_print_ms ("  to the agent that has it, p50", &self->in, 0.5, 0, 0);
    s_print_ms ("  p99", &self->in, 0.99, 0, 0);
    s_print_ms (
        "  the whole way without the provider's time, p50", &self->whole, 0.5, pace->answer_ms, 0);
    s_print_ms ("  p99", &self->whole, 0.99, pace->answer_ms, 0);
    bench_print (&(bench_row_t){ .name = "  RSS more for each turn that runs",
        .unit = "KiB",
        .ours = (double) (bench_rss (pid) - rss) / FLIGHT });
    bench_print (
        &(bench_row_t){ .name = "  RSS", .unit = "MiB", .ours = (double) bench_rss (pid) / 1024 });
}

static bool
s_open (crowd_t *self, const bench_daemon_t *daemon, void *context)
{
    if (wire_open (&self->wire, context, daemon->endpoint, "bench.crowd", NULL) != 0)
        return false;
    wire_word (&self->wire, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"deliver.bench.crowd\",\"slots\":64}");
    if (!wire_expect (&self->wire, "accepted"))
        return false;
    wire_word (
        &self->wire, "{\"type\":\"credit\"}", "{\"messages\":1000000000,\"bytes\":1000000000000}");
    wire_word (&self->wire,
        "{\"type\":\"subscribe\",\"id\":\"o\",\"to\":\"topic:out.bench.crowd\"}", "{\"from\":0}");
    return true;
}

void
bench_gateway (void)
{
    bench_daemon_t daemon = { 0 };
    crowd_t *self = calloc (1, sizeof *self);
    if (!self || bench_daemon_start (&daemon) != 0) {
        free (self);
        return;
    }
    void *context = zmq_ctx_new ();
    if (s_open (self, &daemon, context)) {
        s_sessions (self, daemon.pid);
        for (size_t i = 0; i < sizeof paces / sizeof *paces && s_land (self); i++)
            s_flight (self, &paces[i], daemon.pid);
        wire_close (&self->wire);
    }
    bench_samples_clear (&self->made);
    bench_samples_clear (&self->in);
    bench_samples_clear (&self->whole);
    zmq_ctx_term (context);
    bench_daemon_stop (&daemon);
    free (self);
}
