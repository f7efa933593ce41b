//  argos_peer_recv - what comes in: the broker's words, answers, leases, side messages, entries,
//  requests.
//
//  Invariant: a message without `from` in its meta is the broker's own word, one with it is
//  somebody's message: nobody else can speak in the broker's name. A body reaches the owner only
//  when it fits the schema of its type. Limits: PEER_BATCH messages a turn. What can't be read is
//  dropped.

#include "argos_json.h"
#include "argos_json_get.h"
#include "argos_peer_priv.h"
#include "argos_trie.h"

#include "argos_schema.h"

#include <stdlib.h>
#include <string.h>

#define PEER_BATCH 100 //  Messages in one turn
#define REASON_SIZE 256

//  A message as read

typedef struct {
    peer_wire_t wire;         //  As received
    argos_header_t header;    //  Its header, read
    json_t *meta;             //  {} when empty
    json_t *body;             //  Once parsed, else NULL
    char reason[REASON_SIZE]; //  Why there is no body
} incoming_t;

//  ------------------------------------------------------------------------------------------------
//  The broker's words

static peer_out_t *
s_find (argos_peer_t *self, const char *id)
{
    peer_out_t *out = NULL;
    size_t size = strlen (id);
    if (size > 0)
        HASH_FIND (hh, self->ids, id, size, out);
    return out;
}

static void
s_handle_welcome (argos_peer_t *self, incoming_t *msg)
{
    if (self->state != PEER_HELLO || strcmp (msg->header.re, self->hello_id) != 0)
        return;
    const char *store = argos_json_text (msg->body, "store");
    bool new_store = self->store_id[0] && strcmp (self->store_id, store) != 0;
    size_t size = strnlen (store, sizeof self->store_id - 1);
    memcpy (self->store_id, store, size);
    self->store_id[size] = '\0';
    self->boot = argos_json_int (msg->body, "boot");
    self->packs = argos_json_int (msg->body, "protocol") >= ARGOS_PACK_PROTOCOL;
    self->lease_ms = argos_json_int (msg->body, "lease_ms");
    self->ping_ms = argos_json_int (msg->body, "ping_ms");
    self->backoff_ms = 0;
    self->answered_at = self->ping_at = self->hello_at;
    self->got_messages = self->got_bytes = 0;
    argos_peer_lease_verdicts (self, new_store ? NULL : json_object_get (msg->body, "leases"));
    argos_peer_rewind (self);
    const json_t *window = json_object_get (msg->body, "window");
    self->window_messages = argos_json_int (window, "messages");
    self->window_bytes = argos_json_int (window, "bytes");
    if (new_store) {
        peer_sub_t *sub, *next;
        HASH_ITER (hh, self->subs, sub, next) {
            sub->last = -1;
            sub->closed = false;
        }
    }
    self->state = PEER_READY;
    self->shut = NULL;
    argos_peer_announce (self);
    if (self->handlers.on_welcome)
        self->handlers.on_welcome (self->handlers.ctx, new_store);
}

//  The id of a ping says when it was sent

static void
s_handle_pong (argos_peer_t *self, incoming_t *msg)
{
    int64_t at = strtoll (msg->header.re, NULL, 10);
    if (at > self->answered_at && at <= self->ping_at)
        self->answered_at = at;
}

static void
s_handle_accepted (argos_peer_t *self, incoming_t *msg)
{
    peer_out_t *out = s_find (self, msg->header.re);
    if (!out || out->kind == OUT_REQUEST)
        return;
    argos_peer_answer_t answer = { .code = ARGOS_OK,
        .reason = "",
        .part = -1,
        .seq = argos_json_int (msg->body, "seq"),
        .type = "" };
    argos_peer_answer (self, out, &answer);
}

//  Our hello was refused: for good, or come again later

static void
s_hello_refused (argos_peer_t *self, argos_err_t code, const char *reason)
{
    if (code == ARGOS_DENIED || code == ARGOS_INVALID)
        argos_peer_final (self, code, reason);
    else
        argos_peer_lost (self);
}

//  The broker doesn't know this connection: it has started anew. What it refused so was not done,
//  not even begun.

static void
s_no_session (argos_peer_t *self, const char *re)
{
    peer_out_t *out = s_find (self, re);
    if (out)
        out->sent = false;
    if (self->state == PEER_READY)
        argos_peer_hello (self);
}

//  A serve or subscribe was refused: its id is made up, so the owner is told the address

static void
s_word_refused (argos_peer_t *self, const char *re, argos_err_t code, const char *reason)
{
    peer_sub_t *sub = NULL;
    char address[ARGOS_TO_MAX + 16];
    HASH_FIND (hh_id, self->sub_ids, re, strlen (re), sub);
    if (sub)
        snprintf (address, sizeof address, "topic:%s", sub->topic);
    else if (strncmp (re, "service:", 8) == 0)
        snprintf (address, sizeof address, "%s", re);
    else
        return;
    if (self->handlers.on_refused)
        self->handlers.on_refused (self->handlers.ctx, address, code, reason);
}

static void
s_handle_refused (argos_peer_t *self, incoming_t *msg)
{
    const char *re = msg->header.re;
    argos_err_t code = argos_err_from_name (argos_json_text (msg->body, "code"));
    const char *reason = argos_json_text (msg->body, "reason");
    if (code == ARGOS_OK)
        code = ARGOS_INTERNAL;
    argos_lease_t *lease = msg->header.seq ? argos_peer_lease_find (self, msg->header.seq) : NULL;
    peer_out_t *out = s_find (self, re);
    //  Unasked: another instance is there, or the key has been revoked
    if ((code == ARGOS_SUPERSEDED || (code == ARGOS_DENIED && !re[0])) && !msg->header.seq)
        argos_peer_final (self, code, reason);
    else if (self->state == PEER_HELLO && strcmp (re, self->hello_id) == 0)
        s_hello_refused (self, code, reason);
    else if (code == ARGOS_NO_SESSION)
        s_no_session (self, re);
    else if (out) {
        const json_t *part = json_object_get (msg->body, "part");
        argos_peer_answer_t answer = { .code = code,
            .reason = reason,
            .part = json_is_integer (part) ? (int) json_integer_value (part) : -1,
            .sent = json_is_true (json_object_get (msg->body, "sent")),
            .type = "" };
        argos_peer_answer (self, out, &answer);
    }
    else if (lease && !re[0] && lease->number == msg->header.lease)
        argos_peer_lease_lose (lease, code);
    else
        s_word_refused (self, re, code, reason);
}

static void
s_handle_credit (argos_peer_t *self, incoming_t *msg)
{
    int64_t messages = argos_json_int (msg->body, "messages"),
            bytes = argos_json_int (msg->body, "bytes");
    if (messages > self->window_messages)
        self->window_messages = messages;
    if (bytes > self->window_bytes)
        self->window_bytes = bytes;
}

static void
s_handle_end (argos_peer_t *self, incoming_t *msg)
{
    peer_sub_t *sub = NULL;
    HASH_FIND (hh_id, self->sub_ids, msg->header.re, strlen (msg->header.re), sub);
    if (!sub)
        return;
    char topic[ARGOS_TO_MAX + 1]; //  A copy: the owner may unsubscribe in the call
    snprintf (topic, sizeof topic, "%s", sub->topic);
    int64_t number = argos_json_int (msg->body, "n");
    bool closed = json_is_true (json_object_get (msg->body, "closed"));
    if (number > sub->last)
        sub->last = number;
    sub->closed |= closed;
    if (self->handlers.on_end)
        self->handlers.on_end (self->handlers.ctx, topic, number, closed);
}

static const struct {
    const char *type;                              //  Word
    bool always;                                   //  Also before the welcome
    void (*handle) (argos_peer_t *, incoming_t *); //  What it does
} words[] = {
    { "welcome", true, s_handle_welcome },
    { "refused", true, s_handle_refused },
    { "accepted", true, s_handle_accepted },
    { "pong", false, s_handle_pong },
    { "credit", false, s_handle_credit },
    { "end", false, s_handle_end },
};

//  ------------------------------------------------------------------------------------------------
//  Messages

//  The body, when it fits its schema; of a type that this program does not know, any object.

static argos_err_t
s_read_body (incoming_t *msg)
{
    const void *data = msg->wire.body.data;
    size_t size = msg->wire.body.size;
    if (argos_schema_known (msg->header.type))
        return argos_schema_parse (
            msg->header.type, data, size, &msg->body, msg->reason, sizeof msg->reason);
    msg->body =
        size > 0 ? argos_json_load (data, size, JSON_REJECT_DUPLICATES, NULL) : json_object ();
    if (json_is_object (msg->body))
        return ARGOS_OK;
    json_decref (msg->body);
    msg->body = NULL;
    snprintf (msg->reason, sizeof msg->reason, "the body is not a JSON object");
    return ARGOS_INVALID;
}

//  What the owner is shown

static argos_peer_msg_t
s_view (const incoming_t *msg)
{
    const argos_header_t *header = &msg->header;
    return (argos_peer_msg_t){ .type = header->type,
        .id = header->id,
        .re = header->re,
        .key = header->key,
        .from = argos_json_text (msg->meta, "from"),
        .meta = msg->meta,
        .body = msg->body,
        .keyframe = header->keyframe,
        .last = header->last,
        .side = header->side,
        .seq = argos_json_int (msg->meta, "seq"),
        .n = argos_json_int (msg->meta, "n"),
        .at = argos_json_int (msg->meta, "at"),
        .attempt = argos_json_int (msg->meta, "attempt"),
        .hops = argos_json_int (msg->meta, "hops") };
}

//  A side message. One that doesn't fit its schema is not shown: it is rejected when it has become
//  the head.

static void
s_handle_mail (argos_peer_t *self, incoming_t *msg)
{
    argos_lease_t *lease = argos_peer_lease_find (self, argos_json_int (msg->meta, "mail"));
    argos_peer_msg_t view = s_view (msg);
    if (!lease || lease->number != argos_json_int (msg->meta, "lease"))
        return;
    if (view.seq > lease->seen)
        lease->seen = view.seq;
    view.lease = lease;
    if (msg->body && self->handlers.on_mail)
        self->handlers.on_mail (self->handlers.ctx, &view);
}

//  Whether a pattern is read that the topic fits.

static bool
s_reads_pattern (const argos_peer_t *self, const char *topic)
{
    for (const peer_sub_t *sub = self->subs; sub; sub = sub->hh.next)
        if (argos_trie_is_pattern (sub->topic) && argos_trie_fits (sub->topic, topic))
            return true;
    return false;
}

//  An entry is that of its topic, unless that one has had it; else of a pattern, which keeps no
//  number, as the topics that fit it have their own.

static void
s_handle_entry (argos_peer_t *self, incoming_t *msg)
{
    const char *topic = argos_peer_bare (argos_json_text (msg->meta, "topic"), "topic:");
    peer_sub_t *sub = NULL;
    HASH_FIND (hh, self->subs, topic, strlen (topic), sub);
    argos_peer_msg_t view = s_view (msg);
    if (sub && view.n > sub->last) {
        sub->last = view.n;
        sub->closed |= view.last;
    }
    else if (!s_reads_pattern (self, topic))
        return;
    if (msg->body && self->handlers.on_entry)
        self->handlers.on_entry (self->handlers.ctx, topic, &view);
}

//  A reply. One of type `error` is the refusal of the worker itself.

static void
s_handle_reply (argos_peer_t *self, incoming_t *msg)
{
    peer_out_t *out = s_find (self, msg->header.re);
    if (!out || out->kind != OUT_REQUEST)
        return;
    argos_peer_answer_t answer = { .code = ARGOS_OK,
        .reason = "",
        .part = -1,
        .sent = true,
        .body = msg->body,
        .type = msg->header.type };
    if (!msg->body) {
        answer.code = ARGOS_INVALID;
        answer.reason = msg->reason;
    }
    else if (strcmp (msg->header.type, "error") == 0) {
        answer.code = argos_err_from_name (argos_json_text (msg->body, "code"));
        answer.reason = argos_json_text (msg->body, "reason");
        if (answer.code == ARGOS_OK)
            answer.code = ARGOS_INTERNAL;
    }
    argos_peer_answer (self, out, &answer);
}

static void
s_handle_request (argos_peer_t *self, incoming_t *msg)
{
    argos_peer_msg_t view = s_view (msg);
    bool asked = view.id[0] && !view.re[0];
    if (msg->body && self->handlers.on_request) {
        self->handlers.on_request (self->handlers.ctx, &view);
        return;
    }
    if (!asked)
        return;
    argos_err_t code = msg->body ? ARGOS_UNKNOWN_TYPE : ARGOS_INVALID;
    argos_peer_reply (self, &view, "error",
        json_pack ("{s:s,s:s}", "code", argos_err_name (code), "reason",
            msg->body ? argos_err_text (code) : msg->reason));
}

//  Credit is renewed when half of it is used, so that the sender does not stop

static void
s_renew_credit (argos_peer_t *self, int64_t bytes)
{
    self->got_messages++;
    self->got_bytes += bytes;
    if (self->state != PEER_READY ||
        (self->granted_messages - self->got_messages > ARGOS_PEER_CREDIT_MESSAGES / 2 &&
            self->granted_bytes - self->got_bytes > ARGOS_PEER_CREDIT_BYTES / 2))
        return;
    self->granted_messages = self->got_messages + ARGOS_PEER_CREDIT_MESSAGES;
    self->granted_bytes = self->got_bytes + ARGOS_PEER_CREDIT_BYTES;
    peer_head_t head = { .type = "credit", .seen = -1 };
    argos_peer_word (self, &head,
        json_pack ("{s:I,s:I}", "messages", (json_int_t) self->granted_messages, "bytes",
            (json_int_t) self->granted_bytes));
}

//  The broker speaks: one of its words, or its own answer to a request

static void
s_dispatch_word (argos_peer_t *self, incoming_t *msg)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp (words[i].type, msg->header.type) == 0) {
            msg->body = argos_json_load (
                msg->wire.body.data, msg->wire.body.size, JSON_REJECT_DUPLICATES, NULL);
            if (words[i].always || self->state == PEER_READY)
                words[i].handle (self, msg);
            return;
        }
    if (msg->header.re[0] && self->state == PEER_READY) {
        s_read_body (msg);
        s_handle_reply (self, msg);
    }
}

static void
s_dispatch_message (argos_peer_t *self, incoming_t *msg)
{
    if (self->state != PEER_READY)
        return; //  Of a session that is over
    s_read_body (msg);
    if (json_object_get (msg->meta, "mail"))
        s_handle_mail (self, msg);
    else if (json_object_get (msg->meta, "lease")) {
        argos_peer_msg_t view = s_view (msg);
        argos_peer_lease_take (self, &view, argos_json_int (msg->meta, "lease"));
    }
    else {
        if (json_object_get (msg->meta, "topic"))
            s_handle_entry (self, msg);
        else if (msg->header.re[0] && msg->header.to != ARGOS_TO_SERVICE) //  The store names nobody
            s_handle_reply (self, msg);
        else
            s_handle_request (self, msg);
        s_renew_credit (self, msg->wire.bytes);
    }
}

//  ------------------------------------------------------------------------------------------------
//  The socket

static void
s_dispatch (argos_peer_t *self, incoming_t *msg)
{
    const peer_wire_t *wire = &msg->wire;
    if (!wire->good ||
        argos_header_read (wire->header.data, wire->header.size, &msg->header, NULL) != ARGOS_OK)
        return;
    msg->body = NULL;
    msg->reason[0] = '\0';
    msg->meta = wire->meta.size > 0 ? argos_json_load (wire->meta.data, wire->meta.size, 0, NULL)
                                    : json_object ();
    self->heard_at = argos_peer_now ();
    if (json_is_object (msg->meta)) {
        if (json_object_get (msg->meta, "from"))
            s_dispatch_message (self, msg);
        else
            s_dispatch_word (self, msg);
    }
    json_decref (msg->meta);
    json_decref (msg->body);
}

//  Handles what has come, at most PEER_BATCH messages. Returns whether there may be more.

bool
argos_peer_receive (argos_peer_t *self)
{
    for (int i = 0; i < PEER_BATCH; i++) {
        incoming_t msg;
        if (self->state == PEER_FINAL || !argos_peer_take (&msg.wire, self->socket))
            return false;
        s_dispatch (self, &msg);
        argos_peer_let_go (&msg.wire);
    }
    return true;
}
