//  script - a scripted broker for tests of the peer.

#include "script.h"

#include "argos_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int s_number; //  Makes endpoints unique

void
script_answer (void *arg, const argos_peer_answer_t *answer)
{
    script_answer_t *told = (script_answer_t *) arg;
    told->count++;
    told->code = answer->code;
    told->part = answer->part;
    told->sent = answer->sent;
    told->seq = answer->seq;
    snprintf (told->type, sizeof told->type, "%s", answer->type);
    const char *echo = json_string_value (json_object_get (answer->body, "echo"));
    snprintf (told->echo, sizeof told->echo, "%s", echo ? echo : "");
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    script_t *self = (script_t *) ctx;
    self->welcomes++;
    self->new_store = new_store;
}

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    script_t *self = (script_t *) ctx;
    self->leases++;
    self->lease = msg->lease;
}

static void
s_on_mail (void *ctx, const argos_peer_msg_t *msg)
{
    script_t *self = (script_t *) ctx;
    self->mails++;
    self->last_seq = msg->seq;
    assert_ptr_equal (msg->lease, self->lease);
}

static void
s_on_lost (void *ctx, argos_lease_t *lease)
{
    script_t *self = (script_t *) ctx;
    self->losts++;
    argos_lease_release (&lease, 0, true, NULL); //  Harmless: it is over
    self->lease = NULL;
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    script_t *self = (script_t *) ctx;
    self->requests++;
    if (!msg->re[0])
        argos_peer_reply (self->peer, msg, "test.reply", json_pack ("{s:s}", "echo", "yes"));
}

static void
s_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    script_t *self = (script_t *) ctx;
    assert_string_equal (topic, "news");
    self->entries++;
    self->last_n = msg->n;
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    script_t *self = (script_t *) ctx;
    (void) n;
    (void) closed;
    assert_string_equal (topic, "news");
    self->ends++;
    argos_peer_unsubscribe (self->peer, "nothing"); //  Idempotent
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    script_t *self = (script_t *) ctx;
    (void) code;
    (void) reason;
    snprintf (self->refused, sizeof self->refused, "%s", id);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    script_t *self = (script_t *) ctx;
    (void) reason;
    self->finals++;
    self->final = code;
}

static void
s_on_socket (void *ctx)
{
    ((script_t *) ctx)->sockets++;
}

//  ------------------------------------------------------------------------------------------------
//  The script's side

void
script_wire_free (script_wire_t *wire)
{
    zframe_destroy (&wire->route);
    json_decref (wire->header);
    json_decref (wire->body);
    zmsg_destroy (&wire->rest);
}

//  One round: the peer's turn, then a short wait for either side. Returns whether the script has
//  input.

static bool
s_round (script_t *self, int64_t deadline)
{
    int64_t due = argos_peer_turn (self->peer);
    int64_t left = deadline - zclock_mono ();
    if (due >= 0 && due < left)
        left = due;
    zmq_pollitem_t items[2] = {
        { .socket = zsock_resolve (self->router), .events = ZMQ_POLLIN },
        { .socket = argos_peer_socket (self->peer), .events = ZMQ_POLLIN },
    };
    zmq_poll (items, 2, left > 0 ? (long) left : 0);
    return items[0].revents != 0;
}

//  A packed message becomes the frames that it stands for.

static void
s_unpack (zmsg_t *msg)
{
    argos_piece_t pieces[ARGOS_PACK_PIECES];
    zframe_t *whole = zmsg_pop (msg);
    size_t count = argos_pack_read (
        zframe_data (whole), zframe_size (whole), pieces, sizeof pieces / sizeof *pieces);
    assert_true (count >= 3);
    zmsg_addstr (msg, "AR1");
    for (size_t i = 0; i < count; i++)
        zmsg_addmem (msg, pieces[i].data, pieces[i].size);
    zframe_destroy (&whole);
}

script_wire_t
script_read (script_t *self)
{
    script_wire_t wire = { .size = 0 };
    zmsg_t *msg = zmsg_recv (self->router);
    assert_non_null (msg);
    wire.route = zmsg_pop (msg);
    wire.packed = zmsg_size (msg) == 1;
    if (wire.packed)
        s_unpack (msg);
    wire.size = zmsg_size (msg);
    assert_true (wire.size >= 4);
    wire.bytes = zmsg_content_size (msg) - 3;
    zframe_t *frame = zmsg_pop (msg);
    assert_true (zframe_streq (frame, "AR1"));
    zframe_destroy (&frame);
    frame = zmsg_pop (msg);
    wire.header = json_loadb ((char *) zframe_data (frame), zframe_size (frame), 0, NULL);
    assert_non_null (wire.header);
    zframe_destroy (&frame);
    frame = zmsg_pop (msg);
    assert_int_equal (zframe_size (frame), 0);
    zframe_destroy (&frame);
    frame = zmsg_pop (msg);
    wire.body = json_loadb ((char *) zframe_data (frame), zframe_size (frame), 0, NULL);
    zframe_destroy (&frame);
    wire.rest = msg;
    return wire;
}

const char *
script_head (const script_wire_t *wire, const char *name)
{
    const char *value = json_string_value (json_object_get (wire->header, name));
    return value ? value : "";
}

int64_t
script_head_int (const script_wire_t *wire, const char *name)
{
    return json_integer_value (json_object_get (wire->header, name));
}

//  The next message of this type; every other one is an error, but for credit and pings.

script_wire_t
script_expect_within (script_t *self, const char *type, int64_t timeout_ms)
{
    int64_t deadline = zclock_mono () + timeout_ms;
    while (zclock_mono () < deadline) {
        if (!s_round (self, deadline))
            continue;
        script_wire_t wire = script_read (self);
        if (streq (script_head (&wire, "type"), type))
            return wire;
        if (!streq (script_head (&wire, "type"), "credit") &&
            !streq (script_head (&wire, "type"), "ping"))
            fail_msg ("expected %s, got %s", type, script_head (&wire, "type"));
        script_wire_free (&wire);
    }
    fail_msg ("no %s came", type);
    return (script_wire_t){ .size = 0 };
}

script_wire_t
script_expect (script_t *self, const char *type)
{
    return script_expect_within (self, type, SCRIPT_WAIT_MS);
}

void
script_send_to (script_t *self, const char *header, const char *meta, const char *body)
{
    zmsg_t *msg = zmsg_new ();
    zframe_t *route = zframe_dup (self->route);
    zmsg_append (msg, &route);
    if (self->packs) {
        const argos_piece_t pieces[3] = { { header, strlen (header) }, { meta, strlen (meta) },
            { body, strlen (body) } };
        char packed[ARGOS_PACK_MAX];
        size_t size = argos_pack_size (3, strlen (header) + strlen (meta) + strlen (body));
        assert_int_not_equal (size, 0);
        argos_pack_write (packed, pieces, 3);
        zmsg_addmem (msg, packed, size);
        assert_int_equal (zmsg_send (&msg, self->router), 0);
        return;
    }
    zmsg_addstr (msg, "AR1");
    zmsg_addstr (msg, header);
    zmsg_addstr (msg, meta);
    zmsg_addstr (msg, body);
    assert_int_equal (zmsg_send (&msg, self->router), 0);
}

void
script_word (script_t *self, const char *type, const char *re, const char *body)
{
    char header[300];
    if (*re)
        snprintf (header, sizeof header, "{\"type\":\"%s\",\"re\":\"%s\"}", type, re);
    else
        snprintf (header, sizeof header, "{\"type\":\"%s\"}", type);
    script_send_to (self, header, "{}", body);
}

//  Turns the peer until *counter is `wanted`

void
script_until (script_t *self, const int *counter, int wanted)
{
    int64_t deadline = zclock_mono () + SCRIPT_WAIT_MS;
    while (*counter < wanted && zclock_mono () < deadline)
        argos_peer_turn (self->peer);
    assert_int_equal (*counter, wanted);
}

//  Proves that the peer has nothing (more) to say: after some turns the script has no input.

void
script_expect_nothing (script_t *self)
{
    for (int i = 0; i < 20; i++)
        argos_peer_turn (self->peer);
    while (zsock_events (self->router) & ZMQ_POLLIN) {
        script_wire_t wire = script_read (self);
        if (!streq (script_head (&wire, "type"), "credit"))
            fail_msg ("unexpected %s", script_head (&wire, "type"));
        script_wire_free (&wire);
    }
}

script_wire_t
script_hello (script_t *self)
{
    script_wire_t hello = script_expect (self, "hello");
    zframe_destroy (&self->route);
    self->route = zframe_dup (hello.route);
    return hello;
}

void
script_welcome (script_t *self, const char *store, int ping_ms, int messages, const char *leases)
{
    char body[1024];
    script_wire_t hello = script_hello (self);
    snprintf (body, sizeof body,
        "{\"store\":\"%s\",\"boot\":1,\"lease_ms\":15000,\"ping_ms\":%d,"
        "\"window\":{\"messages\":%d,\"bytes\":1000000},\"leases\":%s}",
        store, ping_ms, messages, leases);
    int welcomes = self->welcomes;
    script_word (self, "welcome", script_head (&hello, "id"), body);
    script_wire_free (&hello);
    script_until (self, &self->welcomes, welcomes + 1);
}

void
script_refuse (script_t *self, const char *re, const char *code)
{
    char body[200];
    snprintf (body, sizeof body,
        "{\"code\":\"%s\",\"reason\":\"because\",\"part\":1,\"sent\":false}", code);
    script_word (self, "refused", re, body);
}

//  ------------------------------------------------------------------------------------------------
//  Set up

script_t *
script_begin (void)
{
    script_t *self = calloc (1, sizeof *self);
    assert_non_null (self);
    snprintf (self->endpoint, sizeof self->endpoint, "inproc://test.peer.%d", ++s_number);
    self->router = zsock_new (ZMQ_ROUTER);
    zsock_set_router_mandatory (self->router, 1);
    assert_int_equal (zsock_bind (self->router, "%s", self->endpoint), 0);
    argos_peer_config_t config = { .name = "test.1@core",
        .endpoint = self->endpoint,
        .instance = 42,
        .handlers = { .ctx = self,
            .on_welcome = s_on_welcome,
            .on_lease = s_on_lease,
            .on_mail = s_on_mail,
            .on_lost = s_on_lost,
            .on_request = s_on_request,
            .on_entry = s_on_entry,
            .on_end = s_on_end,
            .on_refused = s_on_refused,
            .on_final = s_on_final } };
    self->peer = argos_peer_new (&config);
    assert_non_null (self->peer);
    argos_peer_on_socket (self->peer, s_on_socket);
    return self;
}

void
script_end (script_t *self)
{
    argos_peer_destroy (&self->peer);
    argos_peer_destroy (&self->peer);
    zframe_destroy (&self->route);
    zsock_destroy (&self->router);
    free (self);
}

argos_err_t
script_durable (script_t *self, const char *id, script_answer_t *answer)
{
    argos_peer_part_t part = { .type = "test.note",
        .to = "service:test",
        .id = id,
        .durable = true,
        .body = json_pack ("{s:s}", "text", "x") };
    return argos_peer_send (self->peer, &part, answer ? script_answer : NULL, answer);
}

argos_err_t
script_request (script_t *self, const char *id, int64_t ttl_ms, script_answer_t *answer)
{
    argos_peer_part_t part = {
        .type = "test.ask", .to = "actor:other", .id = id, .ttl_ms = ttl_ms
    };
    return argos_peer_send (self->peer, &part, script_answer, answer);
}

void
script_give_lease (script_t *self, int seq, int lease)
{
    char meta[200];
    int before = self->leases;
    snprintf (meta, sizeof meta,
        "{\"from\":\"gateway\",\"seq\":%d,\"lease\":%d,\"attempt\":2,\"hops\":1,\"cause\":\"\","
        "\"at\":7}",
        seq, lease);
    script_send_to (self,
        "{\"type\":\"test.work\",\"id\":\"w\",\"to\":\"service:test\",\"key\":\"k\\\"1\","
        "\"durable\":true}",
        meta, "{}");
    script_until (self, &self->leases, before + 1);
}
