//  test_peer_broker - argos_peer against the real broker actor and a real store, in this process.
//
//  Invariant: two peers, worker and client, are turned in one thread; broker and store have their
//  own.

#include "argos_actor.h"
#include "argos_broker_actor.h"
#include "argos_peer.h"
#include "argos_store_actor.h"
#include "schema_group.h"

#include <czmq.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WAIT_MS 10000 //  Longest wait for anything

typedef struct {
    argos_peer_t *peer;   //  Ours
    argos_lease_t *lease; //  Newest lease
    char text[300];       //  Member "text" of the newest message of any kind
    char mode;            //  What on_lease does: 'd' done, 'k' keep
    int welcomes, leases, mails, losts, requests, entries, ends, finals; //  Calls
    int64_t last_n;   //  Number of the newest entry
    int answers;      //  Calls of s_answer
    argos_err_t code; //  Of the newest answer
    int64_t seq;      //  Of the newest answer
    json_t *reply;    //  Body of the newest reply
} side_t;

static zactor_t *s_store, *s_broker;
static char s_folder[] = "/tmp/argos-test-XXXXXX";

static void
s_answer (void *arg, const argos_peer_answer_t *answer)
{
    side_t *self = (side_t *) arg;
    self->answers++;
    self->code = answer->code;
    self->seq = answer->seq;
    json_decref (self->reply);
    self->reply = json_incref (answer->body);
}

static void
s_note (side_t *self, const argos_peer_msg_t *msg)
{
    const char *text = json_string_value (json_object_get (msg->body, "text"));
    snprintf (self->text, sizeof self->text, "%s", text ? text : "");
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    assert_false (new_store);
    ((side_t *) ctx)->welcomes++;
}

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    side_t *self = (side_t *) ctx;
    s_note (self, msg);
    self->leases++;
    self->lease = msg->lease;
    if (self->mode == 'd')
        argos_lease_done (msg->lease, NULL, 0, NULL, 0, s_answer, self);
}

static void
s_on_mail (void *ctx, const argos_peer_msg_t *msg)
{
    side_t *self = (side_t *) ctx;
    s_note (self, msg);
    self->mails++;
    self->last_n = msg->seq;
}

static void
s_on_lost (void *ctx, argos_lease_t *lease)
{
    side_t *self = (side_t *) ctx;
    self->losts++;
    assert_ptr_equal (lease, self->lease);
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    side_t *self = (side_t *) ctx;
    self->requests++;
    s_note (self, msg);
    argos_peer_reply (self->peer, msg, "test.reply", json_pack ("{s:s}", "text", self->text));
}

static void
s_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    side_t *self = (side_t *) ctx;
    assert_string_equal (topic, "test.news");
    s_note (self, msg);
    self->entries++;
    self->last_n = msg->n;
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    (void) topic;
    (void) n;
    (void) closed;
    ((side_t *) ctx)->ends++;
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    (void) reason;
    ((side_t *) ctx)->finals++;
    ((side_t *) ctx)->code = code;
}

static side_t *
s_side_new (const char *name, int64_t instance)
{
    side_t *self = calloc (1, sizeof *self);
    assert_non_null (self);
    argos_peer_config_t config = { .name = name,
        .endpoint = ARGOS_BROKER_INPROC,
        .instance = instance,
        .handlers = { .ctx = self,
            .on_welcome = s_on_welcome,
            .on_lease = s_on_lease,
            .on_mail = s_on_mail,
            .on_lost = s_on_lost,
            .on_request = s_on_request,
            .on_entry = s_on_entry,
            .on_end = s_on_end,
            .on_final = s_on_final } };
    self->peer = argos_peer_new (&config);
    assert_non_null (self->peer);
    return self;
}

static void
s_side_free (side_t *self)
{
    argos_peer_destroy (&self->peer);
    json_decref (self->reply);
    free (self);
}

//  Turns both sides until *counter has reached `wanted`

static void
s_until (side_t *one, side_t *other, const int *counter, int wanted)
{
    int64_t deadline = zclock_mono () + WAIT_MS;
    while (*counter < wanted && zclock_mono () < deadline) {
        argos_peer_turn (one->peer);
        argos_peer_turn (other->peer);
        zmq_pollitem_t items[2] = {
            { .socket = argos_peer_socket (one->peer), .events = ZMQ_POLLIN },
            { .socket = argos_peer_socket (other->peer), .events = ZMQ_POLLIN },
        };
        if (*counter < wanted)
            zmq_poll (items, 2, 100);
    }
    assert_int_equal (*counter, wanted);
}

static argos_err_t
s_send (side_t *self, const char *key, const char *text, bool side, bool durable)
{
    argos_peer_part_t part = { .type = "test.note",
        .to = durable ? "service:work" : "service:ask",
        .key = key,
        .durable = durable,
        .side = side,
        .body = json_pack ("{s:s}", "text", text) };
    return argos_peer_send (self->peer, &part, s_answer, self);
}

static int
s_set_up (void **state)
{
    (void) state;
    static char path[64], reason[256];
    static const char *const services[] = { "work", NULL };
    if (!mkdtemp (s_folder))
        return -1;
    snprintf (path, sizeof path, "%s/argos.db", s_folder);
    argos_store_actor_config_t store = {
        .path = path, .endpoint = ARGOS_STORE_INPROC, .reason = reason
    };
    s_store = argos_actor_start ("store", argos_store_actor, &store);
    argos_broker_config_t broker = { .services = services };
    argos_core_config_init (&broker.core);
    s_broker = s_store ? argos_actor_start ("broker", argos_broker_actor, &broker) : NULL;
    return s_broker ? 0 : -1;
}

static int
s_tear_down (void **state)
{
    (void) state;
    int rc = argos_actor_stop (&s_broker, 5000);
    rc |= argos_actor_stop (&s_store, 5000);
    zdir_t *folder = zdir_new (s_folder, NULL);
    zdir_remove (folder, true);
    zdir_destroy (&folder);
    return rc;
}

static void
test_a_durable_message_is_leased_and_done (void **state)
{
    (void) state;
    side_t *client = s_side_new ("client", 1), *worker = s_side_new ("worker", 1);
    worker->mode = 'd';
    argos_peer_serve (worker->peer, "work", 2, NULL);
    for (int i = 1; i <= 50; i++)
        assert_int_equal (s_send (client, i % 2 ? "a" : NULL, "hello", false, true), ARGOS_OK);
    s_until (client, worker, &client->answers, 50);
    assert_int_equal (client->code, ARGOS_OK);
    assert_true (client->seq > 0);
    s_until (client, worker, &worker->answers, 50);
    assert_int_equal (worker->code, ARGOS_OK);
    assert_int_equal (worker->leases, 50);
    assert_string_equal (worker->text, "hello");
    s_side_free (client);
    s_side_free (worker);
}

static void
test_side_messages_reach_the_holder_and_are_taken (void **state)
{
    (void) state;
    side_t *client = s_side_new ("client", 2), *worker = s_side_new ("worker", 2);
    argos_peer_serve (worker->peer, "work", 1, NULL);
    s_send (client, "lane", "head", false, true);
    s_until (client, worker, &worker->leases, 1);
    s_send (client, "lane", "steer", true, true);
    s_until (client, worker, &worker->mails, 1);
    assert_string_equal (worker->text, "steer");
    argos_lease_commit (worker->lease, NULL, 0, NULL, 0, s_answer, worker);
    s_until (client, worker, &worker->answers, 1);
    assert_int_equal (worker->code, ARGOS_OK);
    argos_lease_done (worker->lease, NULL, 0, &worker->last_n, 1, s_answer, worker);
    s_until (client, worker, &worker->answers, 2);
    assert_int_equal (worker->code, ARGOS_OK);
    s_side_free (client);
    s_side_free (worker);
}

static void
test_a_released_message_comes_again (void **state)
{
    (void) state;
    side_t *client = s_side_new ("client", 3), *worker = s_side_new ("worker", 3);
    argos_peer_serve (worker->peer, "work", 1, NULL);
    s_send (client, "again", "x", false, true);
    s_until (client, worker, &worker->leases, 1);
    argos_lease_release (&worker->lease, 0, true, NULL);
    worker->mode = 'd';
    s_until (client, worker, &worker->answers, 1);
    assert_int_equal (worker->code, ARGOS_OK);
    assert_int_equal (worker->leases, 2);
    s_side_free (client);
    s_side_free (worker);
}

static void
test_requests_are_answered (void **state)
{
    (void) state;
    side_t *client = s_side_new ("client", 4), *worker = s_side_new ("worker", 4);
    argos_peer_serve (worker->peer, "ask", 1, NULL);
    s_until (client, worker, &worker->welcomes, 1);
    s_until (client, worker, &client->welcomes, 1);
    //  Once the broker has answered the worker, it has the worker's credit, too
    argos_peer_part_t status = { .type = "broker.status", .to = "actor:broker" };
    argos_peer_send (worker->peer, &status, s_answer, worker);
    s_until (client, worker, &worker->answers, 1);
    argos_peer_part_t direct = {
        .type = "test.note", .to = "actor:worker", .body = json_pack ("{s:s}", "text", "to you")
    };
    argos_peer_send (client->peer, &direct, s_answer, client);
    s_until (client, worker, &client->answers, 1);
    assert_int_equal (client->code, ARGOS_OK);
    assert_string_equal (worker->text, "to you");
    for (int i = 0; i < 200; i++)
        assert_int_equal (s_send (client, NULL, "ping", false, false), ARGOS_OK);
    s_until (client, worker, &client->answers, 201);
    assert_int_equal (client->code, ARGOS_OK);
    assert_int_equal (worker->requests, 201);
    argos_peer_part_t nobody = { .type = "test.note", .to = "actor:nobody" };
    argos_peer_send (client->peer, &nobody, s_answer, client);
    s_until (client, worker, &client->answers, 202);
    assert_int_equal (client->code, ARGOS_NO_PEER);
    s_side_free (client);
    s_side_free (worker);
}

static void
test_the_store_and_the_broker_answer (void **state)
{
    (void) state;
    side_t *client = s_side_new ("client", 5), *other = s_side_new ("other", 5);
    argos_peer_part_t status = { .type = "status.get", .to = "store" };
    argos_peer_send (client->peer, &status, s_answer, client);
    s_until (client, other, &client->answers, 1);
    assert_int_equal (client->code, ARGOS_OK);
    assert_true (json_is_string (json_object_get (client->reply, "store")));
    argos_peer_part_t broker = { .type = "broker.status", .to = "actor:broker" };
    argos_peer_send (client->peer, &broker, s_answer, client);
    s_until (client, other, &client->answers, 2);
    assert_int_equal (client->code, ARGOS_OK);
    assert_true (json_is_array (json_object_get (client->reply, "services")));
    argos_peer_part_t bind = { .type = "route.bind",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:s,s:s}", "key", "k", "session_id", "none") };
    argos_peer_send (client->peer, &bind, s_answer, client);
    s_until (client, other, &client->answers, 3);
    s_side_free (client);
    s_side_free (other);
}

static void
test_topics_are_read_from_the_beginning_and_live (void **state)
{
    (void) state;
    side_t *writer = s_side_new ("writer", 6), *reader = s_side_new ("reader", 6);
    argos_peer_part_t kept = { .type = "test.item",
        .to = "topic:test.news",
        .durable = true,
        .body = json_pack ("{s:s}", "text", "kept") };
    argos_peer_send (writer->peer, &kept, s_answer, writer);
    s_until (writer, reader, &writer->answers, 1);
    assert_int_equal (writer->code, ARGOS_OK);
    argos_peer_subscribe (reader->peer, "topic:test.news", 0);
    s_until (writer, reader, &reader->ends, 1);
    assert_int_equal (reader->entries, 1);
    for (int i = 0; i < 200; i++) {
        argos_peer_part_t passing = { .type = "test.item",
            .to = "topic:test.news",
            .body = json_pack ("{s:s}", "text", "passing") };
        assert_int_equal (argos_peer_publish (writer->peer, NULL, &passing), ARGOS_OK);
    }
    s_until (writer, reader, &reader->entries, 201);
    assert_string_equal (reader->text, "passing");
    argos_peer_unsubscribe (reader->peer, "test.news");
    s_side_free (writer);
    s_side_free (reader);
}

static void
test_a_newer_instance_supersedes (void **state)
{
    (void) state;
    side_t *old = s_side_new ("twin", 7), *young = NULL, *client = s_side_new ("client", 7);
    argos_peer_serve (old->peer, "work", 1, NULL);
    s_send (client, "twin", "x", false, true);
    s_until (client, old, &old->leases, 1);
    young = s_side_new ("twin", 8);
    argos_peer_serve (young->peer, "work", 1, NULL);
    s_until (young, old, &old->finals, 1);
    assert_int_equal (old->code, ARGOS_SUPERSEDED);
    assert_int_equal (old->losts, 1);
    young->mode = 'd';
    s_until (young, client, &young->answers, 1);
    assert_int_equal (young->code, ARGOS_OK);
    s_side_free (old);
    s_side_free (young);
    s_side_free (client);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_a_durable_message_is_leased_and_done),
        cmocka_unit_test (test_side_messages_reach_the_holder_and_are_taken),
        cmocka_unit_test (test_a_released_message_comes_again),
        cmocka_unit_test (test_requests_are_answered),
        cmocka_unit_test (test_the_store_and_the_broker_answer),
        cmocka_unit_test (test_topics_are_read_from_the_beginning_and_live),
        cmocka_unit_test (test_a_newer_instance_supersedes),
    };
    return SCHEMA_GROUP ("peer_broker", tests, s_set_up, s_tear_down);
}
