//  bench_load - see the header.
//
//  Invariant: conversations are short (TALK turns), so that the length of a transcript is not what
//  is measured.

#include "bench_load.h"

#include <czmq.h>

#define TALK 8 //  Turns of a conversation; then the chat begins another
#define PING_NS 1000000000

void
load_send (load_t *self, int chat)
{
    char header[256], body[400];
    int64_t number = self->sent++, talk = chat + LOAD_CHATS * (self->turns[chat]++ / TALK);
    self->began[chat] = bench_now ();
    snprintf (header, sizeof header,
        "{\"type\":\"message.inbound\",\"id\":\"%" PRId64 ":%" PRId64
        "\",\"to\":\"service:gateway\",\"key\":\"bench:%s:%" PRId64 "\",\"durable\":true}",
        talk, number, self->account, talk);
    snprintf (body, sizeof body,
        "{\"source\":{\"platform\":\"bench\",\"account\":\"%s\",\"chat_id\":\"%" PRId64
        "\",\"chat_type\":\"dm\",\"user_id\":\"u\"},\"text\":\"hello\",\"message_id\":\"%" PRId64
        "\"}",
        self->account, talk, number);
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
    int chat = found ? (int) (strtoul (found + 11, NULL, 10) % LOAD_CHATS) : 0;
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

int
load_next (load_t *self, long timeout_ms)
{
    char re[65];
    while (wire_recv (&self->wire, timeout_ms)) {
        s_ping (self);
        if (strcmp (self->wire.type, "deliver.request") == 0)
            s_finish (self);
        wire_text (self->wire.header, "re", re, sizeof re);
        if (strcmp (self->wire.type, "refused") == 0) {
            fprintf (stderr, "bench: %s %s\n", self->wire.header, wire_body (&self->wire));
            return -2;
        }
        if (strcmp (self->wire.type, "accepted") != 0 || strncmp (re, "done:", 5) != 0)
            continue;
        int chat = (int) (strtoul (re + 5, NULL, 10) % LOAD_CHATS);
        self->done++;
        bench_sample (&self->latency, bench_now () - self->began[chat]);
        return chat;
    }
    s_ping (self);
    return -1;
}

int
load_open (load_t *self, const bench_daemon_t *daemon, void *context, const char *account)
{
    char name[32], body[100];
    snprintf (self->account, sizeof self->account, "%s", account);
    snprintf (name, sizeof name, "bench.%s", account);
    snprintf (body, sizeof body, "{\"service\":\"deliver.bench.%s\",\"slots\":256}", account);
    if (wire_open (&self->wire, context, daemon->endpoint, name, NULL) != 0)
        return -1;
    wire_word (&self->wire, "{\"type\":\"serve\",\"id\":\"s\"}", body);
    return wire_expect (&self->wire, "accepted") ? 0 : -1;
}

void
load_close (load_t *self)
{
    wire_close (&self->wire);
    bench_samples_clear (&self->latency);
}

void
load_mark (load_t *self)
{
    bench_samples_clear (&self->latency);
    wire_store (&self->wire, &self->commits, &self->requests);
    self->done_then = self->done;
    self->marked = bench_now ();
}

void
load_measure (load_t *self)
{
    int64_t commits = 0, requests = 0;
    double seconds = (double) (bench_now () - self->marked) / 1e9;
    self->rate = (double) (self->done - self->done_then) / seconds;
    if (!wire_store (&self->wire, &commits, &requests) || commits == self->commits)
        return;
    self->batch = (double) (requests - self->requests) / (double) (commits - self->commits);
    self->syncs = (double) (commits - self->commits) / seconds;
}
