//  example_adapter - a complete platform adapter in one file: the platform is this terminal.
//
//      example_adapter ENDPOINT [ACCOUNT]
//
//  Each line read is a message from a person, durable once it is accepted; each answer is leased,
//  printed, and done with a receipt. Kill it at any time: what was accepted is answered at the next
//  start. Invariant: a line is read only after the one before it was accepted. Limits: LINE_MAX
//  bytes a line.

#include "argos.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define PLATFORM "example"
#define LINE_BYTES 4096 //  Longest line; a longer one is cut into several

typedef struct {
    argos_peer_t *peer;    //  Our connection to the broker
    const char *account;   //  Our account on the platform
    long long started;     //  Makes message ids that no other start has used
    long long count;       //  Messages so far
    char line[LINE_BYTES]; //  What has been read
    size_t size;           //  Of it
    int waiting;           //  Messages not accepted yet
    bool ended;            //  End of input, or superseded
} adapter_t;

//  ------------------------------------------------------------------------------------------------
//  In: what people say

static void
s_on_accepted (void *arg, const argos_peer_answer_t *answer)
{
    adapter_t *self = (adapter_t *) arg;
    self->waiting--;
    if (answer->code != ARGOS_OK) //  A real platform would be asked to send it again
        fprintf (stderr, "not accepted: %s\n", answer->reason);
}

static void
s_say (adapter_t *self, const char *text)
{
    char id[96], message_id[64], key[96];
    snprintf (message_id, sizeof message_id, "%lld.%lld", self->started, ++self->count);
    snprintf (id, sizeof id, "%s.1.%s", self->account, message_id);
    snprintf (key, sizeof key, "%s:1", self->account);
    argos_peer_part_t part = { .type = "message.inbound",
        .to = "service:gateway",
        .id = id,
        .key = key,
        .durable = true,
        .body = json_pack ("{s:{s:s,s:s,s:s,s:s,s:s},s:s,s:s}", "source", "platform", PLATFORM,
            "account", self->account, "chat_id", "1", "chat_type", "dm", "user_id", "me", "text",
            text, "message_id", message_id) };
    if (!part.body || argos_peer_send (self->peer, &part, s_on_accepted, self) != ARGOS_OK)
        fprintf (stderr, "can't be sent\n");
    else
        self->waiting++;
}

//  Says the first line that is there. Returns whether there was one.

static bool
s_take_line (adapter_t *self)
{
    char *newline = memchr (self->line, '\n', self->size);
    bool whole = newline || self->size == sizeof self->line || (self->ended && self->size > 0);
    if (!whole || self->waiting > 0)
        return false;
    size_t size = newline ? (size_t) (newline - self->line) : self->size;
    char *text = strndup (self->line, size);
    if (!text)
        abort ();
    self->size -= newline ? size + 1 : size;
    memmove (self->line, self->line + size + (newline ? 1 : 0), self->size);
    if (*text)
        s_say (self, text);
    free (text);
    return true;
}

static void
s_read (adapter_t *self)
{
    ssize_t size = read (STDIN_FILENO, self->line + self->size, sizeof self->line - self->size);
    if (size > 0)
        self->size += (size_t) size;
    else if (size == 0 || (errno != EAGAIN && errno != EINTR))
        self->ended = true;
}

//  ------------------------------------------------------------------------------------------------
//  Out: what is answered

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    adapter_t *self = (adapter_t *) ctx;
    argos_lease_t *lease = msg->lease;
    const char *text = json_string_value (json_object_get (msg->body, "text"));
    if (!argos_peer_live (self->peer)) { //  The lease may have ended: no effect may begin
        argos_lease_release (&lease, 0, true, NULL);
        return;
    }
    if (strcmp (msg->type, "deliver.request") != 0 || !text) {
        argos_lease_release (&lease, 0, false, "unknown_type");
        return;
    }
    //  A real platform is told an id of ours here, so that a second attempt is no second message
    printf ("%s%s\n", msg->attempt > 1 ? "(perhaps again) " : "", text);
    fflush (stdout);
    argos_peer_part_t receipt = {
        .type = "receipt.put", .to = "store", .body = json_pack ("{s:s}", "state", "sent")
    };
    argos_lease_done (lease, &receipt, 1, NULL, 0, NULL, NULL);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    adapter_t *self = (adapter_t *) ctx;
    (void) code;
    fprintf (stderr, "this adapter is over: %s\n", reason);
    self->ended = true;
}

//  ------------------------------------------------------------------------------------------------
//  The loop

static void
s_run (adapter_t *self)
{
    while (!self->ended || self->size > 0 || self->waiting > 0) {
        while (s_take_line (self))
            ;
        int64_t due_ms = argos_peer_turn (self->peer);
        bool listen = !self->ended && self->waiting == 0 && self->size < sizeof self->line;
        zmq_pollitem_t items[2] = {
            { .socket = argos_peer_socket (self->peer), .events = ZMQ_POLLIN },
            { .fd = STDIN_FILENO, .events = ZMQ_POLLIN },
        };
        zmq_poll (items, listen ? 2 : 1, (long) due_ms);
        if (listen && items[1].revents)
            s_read (self);
    }
}

int
main (int argc, char **argv)
{
    char reason[256], name[96], service[96];
    if (argc < 2) {
        fprintf (stderr, "usage: example_adapter ENDPOINT [ACCOUNT]\n");
        return 2;
    }
    if (argos_schema_init (reason) != 0) {
        fprintf (stderr, "%s\n", reason);
        return 1;
    }
    adapter_t self = { .account = argc > 2 ? argv[2] : "main", .started = (long long) time (NULL) };
    snprintf (name, sizeof name, PLATFORM ".%s", self.account);
    snprintf (service, sizeof service, "deliver." PLATFORM ".%s", self.account);
    argos_peer_config_t config = { .name = name,
        .endpoint = argv[1],
        .handlers = { .ctx = &self, .on_lease = s_on_lease, .on_final = s_on_final } };
    self.peer = argos_peer_new (&config);
    if (!self.peer) {
        fprintf (stderr, "can't connect to %s as %s\n", argv[1], name);
        return 1;
    }
    argos_peer_serve (self.peer, service, 4, NULL);
    s_run (&self);
    argos_peer_destroy (&self.peer);
    argos_schema_term ();
    return 0;
}
