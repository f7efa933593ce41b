//  test_service - who gets what: load and weight, drain, pause, drop, the cap on holding, strikes.

#include "argos_core_priv.h"
#include "core_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OPERATOR 100 //  An actor of the core may give orders

static void
s_order (const char *type, const char *body)
{
    core_sendf (OPERATOR, body, "{\"type\":\"%s\",\"id\":\"o\",\"to\":\"actor:broker\"}", type);
}

static void
s_ordered (const char *type, const char *body)
{
    s_order (type, body);
    core_expect_re (OPERATOR, "broker.done", "o");
}

static void
s_ping (uint64_t conn)
{
    core_send (conn, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    core_expect_re (conn, "pong", "p");
}

//  Time goes on while these two ping.

static void
s_live (int64_t ms, uint64_t first, uint64_t second)
{
    for (; ms > 0; ms -= 2000) {
        argos_sim_net_sleep (core_kit_net, ms < 2000 ? ms : 2000);
        core_send (first, "{\"type\":\"ping\"}", NULL);
        core_send (second, "{\"type\":\"ping\"}", NULL);
    }
}

//  A new process under a name; what it held is freed.

static void
s_restart (uint64_t conn, const char *name, int instance)
{
    char body[256];
    snprintf (
        body, sizeof body, "{\"name\":\"%s\",\"instance\":%d,\"protocol\":1}", name, instance);
    core_send (conn, "{\"type\":\"hello\",\"id\":\"h\"}", body);
    core_expect_re (conn, "welcome", "h");
}

static int64_t
s_number (const char *sql)
{
    return argos_sim_net_number (core_kit_net, sql);
}

//  ------------------------------------------------------------------------------------------------
//  Load

static void
test_lighter (void **state)
{
    (void) state;
    static const struct {
        int64_t used, weight, other_used, other_weight; //  Of both
        bool lighter;                                   //  The first is
    } rows[] = { { 0, 1, 1, 1, true }, { 1, 1, 0, 1, false }, { 1, 1, 1, 1, false },
        { 2, 3, 1, 1, true }, { 3, 3, 1, 1, false }, { 1, 100, 0, 1, false },
        { 99, 100, 1, 1, true }, { 1000000, 100, 1000000, 99, true } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        worker_t worker = { .used = rows[i].used, .weight = rows[i].weight };
        worker_t other = { .used = rows[i].other_used, .weight = rows[i].other_weight };
        assert_int_equal (argos_service_lighter (&worker, &other), rows[i].lighter);
    }
}

static void
test_least_loaded (void **state)
{
    (void) state;
    int count[3] = { 0 };
    core_hello (1, "small");
    core_hello (2, "large");
    core_hello (3, "sender");
    core_serve (1, "work", 20, 1);
    core_serve (2, "work", 20, 3);
    for (int i = 0; i < 12; i++) {
        char id[16];
        snprintf (id, sizeof id, "m%d", i);
        core_put (3, id, "work", id, "");
    }
    argos_sim_msg_t *msg;
    for (uint64_t conn = 1; conn <= 2; conn++)
        while ((msg = argos_sim_net_recv (core_kit_net, conn))) {
            count[conn]++;
            argos_sim_msg_destroy (&msg);
        }
    assert_int_equal (count[1], 3); //  One to three
    assert_int_equal (count[2], 9);
}

static void
test_affinity_comes_first (void **state)
{
    (void) state;
    core_hello (1, "one");
    core_hello (2, "two");
    core_hello (3, "sender");
    core_serve (1, "work", 2, 1);
    core_put (3, "a", "work", "k", "");
    core_lease_t a = core_leased (1, "a");
    core_put (3, "b", "work", "other", "");
    core_leased (1, "b");
    core_serve (2, "work", 2, 1);
    core_done (1, a);
    core_expect (1, "accepted");
    core_put (3, "c", "work", "k", ""); //  Two is idle, one knows the lane
    core_leased (1, "c");
    core_put (3, "d", "work", "k2", "");
    core_leased (2, "d");
}

//  ------------------------------------------------------------------------------------------------
//  Orders

static void
test_drain (void **state)
{
    (void) state;
    core_hello (OPERATOR, "supervisor");
    core_hello (1, "one");
    core_hello (3, "sender");
    core_serve (1, "work", 4, 1);
    core_put (3, "a", "work", "a", "");
    core_lease_t a = core_leased (1, "a");
    s_ordered ("peer.drain", "{\"name\":\"one\",\"on\":true}");
    core_put (3, "b", "work", "b", "");
    core_send (3, "{\"type\":\"ask\",\"id\":\"q\",\"to\":\"service:work\"}", NULL);
    core_expect_nothing (1);
    core_done (1, a); //  What it has goes on
    core_expect (1, "accepted");
    core_expect_nothing (1);
    core_send (3, "{\"type\":\"ask\",\"id\":\"r\",\"to\":\"actor:one\"}", NULL);
    core_expect_refused (3, "r", "busy");
    s_restart (2, "one", 2); //  Over a reconnect as well
    core_serve (2, "work", 4, 1);
    core_expect_nothing (2);
    core_hello (4, "two");
    core_serve (4, "work", 1, 1);
    core_leased (4, "b");
    s_ordered ("peer.drain", "{\"name\":\"one\",\"on\":false}");
    core_expect (2, "ask");
    s_ordered ("peer.drain", "{\"name\":\"one\",\"on\":false}");
    s_order ("peer.drain", "{\"name\":\"nobody\",\"on\":true}");
    core_expect_refused (OPERATOR, "o", "no_peer");
    s_order ("peer.drain", "{\"name\":\"nobody\",\"on\":false}");
    core_expect_refused (OPERATOR, "o", "no_peer");
    s_ordered ("peer.drain", "{\"name\":\"two\",\"on\":true}");
    core_send (4, "{\"type\":\"bye\"}", NULL);
    s_ordered ("peer.drain", "{\"name\":\"two\",\"on\":false}"); //  It has gone
    s_order ("peer.drain", "{\"name\":\"two\",\"on\":false}");
    core_expect_refused (OPERATOR, "o", "no_peer");
}

static void
test_orders_need_the_role (void **state)
{
    (void) state;
    static const char *const roles[] = { "adapter", "client", "tool", NULL };
    core_kit_net->config.ipc_roles = roles;
    argos_sim_net_crash (core_kit_net);
    core_hello (1, "one");
    core_send (1, "{\"type\":\"peer.drain\",\"id\":\"o\",\"to\":\"actor:broker\"}",
        "{\"name\":\"one\",\"on\":true}");
    core_expect_refused (1, "o", "denied");
}

static void
test_pause (void **state)
{
    (void) state;
    core_hello (OPERATOR, "supervisor");
    core_hello (1, "one");
    core_hello (3, "sender");
    core_serve (1, "work", 4, 1);
    s_ordered ("service.pause", "{\"service\":\"work\",\"on\":true}");
    core_put (3, "a", "work", "a", "");
    core_send (3, "{\"type\":\"ask\",\"id\":\"q\",\"to\":\"service:work\"}", NULL);
    core_expect_nothing (1);
    argos_sim_net_crash (core_kit_net); //  It is stored
    core_hello (OPERATOR, "supervisor");
    core_hello (1, "one");
    core_serve (1, "work", 4, 1);
    core_expect_nothing (1);
    s_ordered ("service.pause", "{\"service\":\"work\",\"on\":false}");
    core_leased (1, "a");
    argos_sim_net_crash (core_kit_net);
    assert_int_equal (s_number ("SELECT paused FROM services WHERE name = 'work'"), 0);
    core_hello (OPERATOR, "supervisor");
    s_order ("service.pause", "{\"service\":\"wrok\",\"on\":true}");
    core_expect_refused (OPERATOR, "o", "no_service");
}

static void
test_drop (void **state)
{
    (void) state;
    core_hello (OPERATOR, "supervisor");
    core_hello (1, "one");
    core_hello (3, "sender");
    core_serve (1, "work", 0, 1);
    s_order ("service.drop", "{\"service\":\"work\"}");
    core_expect_refused (OPERATOR, "o", "busy"); //  A worker
    core_put (3, "a", "work", "a", "");
    core_send (1, "{\"type\":\"bye\"}", NULL);
    s_order ("service.drop", "{\"service\":\"work\"}");
    core_expect_refused (OPERATOR, "o", "busy"); //  A message
    core_hello (1, "one");
    core_serve (1, "work", 1, 1);
    core_done (1, core_leased (1, "a"));
    core_expect (1, "accepted");
    core_send (1, "{\"type\":\"bye\"}", NULL);
    s_ordered ("service.drop", "{\"service\":\"work\"}");
    core_send (3, "{\"type\":\"job\",\"id\":\"b\",\"to\":\"service:work\",\"durable\":true}", NULL);
    core_expect_refused (3, "b", "no_service");
    argos_sim_net_crash (core_kit_net);
    assert_int_equal (s_number ("SELECT count (*) FROM services WHERE name = 'work'"), 0);
    core_hello (1, "one");
    core_hello (3, "sender");
    core_serve (1, "work", 1, 1);
    core_put (3, "c", "work", "c", "");
    core_leased (1, "c");
}

//  A serve comes while the service is being forgotten: it is there for the worker.

static void
test_drop_and_serve (void **state)
{
    (void) state;
    core_hello (OPERATOR, "supervisor");
    core_hello (1, "one");
    core_hello (3, "sender");
    core_serve (1, "work", 1, 1);
    core_send (1, "{\"type\":\"bye\"}", NULL);
    core_hello (1, "one");
    argos_sim_net_send (core_kit_net, OPERATOR, ARGOS_ROLE_CORE,
        "{\"type\":\"service.drop\",\"id\":\"o\",\"to\":\"actor:broker\"}",
        "{\"service\":\"work\"}");
    argos_sim_net_send (core_kit_net, 1, ARGOS_ROLE_LOCAL, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"work\",\"slots\":1}");
    argos_sim_net_settle (core_kit_net);
    core_expect_re (OPERATOR, "broker.done", "o");
    core_expect_re (1, "accepted", "s");
    assert_int_equal (s_number ("SELECT count (*) FROM services WHERE name = 'work'"), 1);
    core_put (3, "a", "work", "a", "");
    core_leased (1, "a");
}

//  ------------------------------------------------------------------------------------------------
//  Leases that end

//  H62: a holder is told at once that its lease was ended, and the message goes to another.

static void
test_h62_hold_max (void **state)
{
    (void) state;
    static const argos_core_service_t limits[] = { { .service = "work", .hold_max_ms = 10000 } };
    core_kit_net->config.services = limits;
    core_kit_net->config.service_count = 1;
    argos_sim_net_crash (core_kit_net);
    core_hello (1, "hangs");
    core_hello (2, "works");
    core_hello (3, "sender");
    core_serve (1, "work", 1, 1);
    core_put (3, "a", "work", "a", "");
    core_lease_t a = core_leased (1, "a");
    core_serve (2, "work", 1, 1);
    s_live (8000, 1, 2);
    core_expect (1, "pong");
    for (int i = 0; i < 3; i++)
        core_expect (1, "pong");
    core_expect_nothing (1);
    argos_sim_net_sleep (core_kit_net, 2001);
    const argos_sim_msg_t *msg = core_expect (1, "refused");
    assert_string_equal (argos_sim_text (msg->header, "re"), "");
    assert_int_equal (argos_sim_int (msg->header, "seq"), a.seq);
    assert_int_equal (argos_sim_int (msg->header, "lease"), a.lease);
    assert_string_equal (argos_sim_text (msg->body, "code"), "fenced");
    core_done (1, a);
    core_expect_refused (1, "d", "fenced");
    for (int i = 0; i < 4; i++)
        core_expect (2, "pong");
    assert_int_equal (core_leased (2, "a").attempt, 2);
    assert_int_equal (s_number ("SELECT strikes FROM queue WHERE id = 'a'"), 4);
    assert_null (argos_sim_net_difference (core_kit_net));
}

//  A worker that hangs (no pings) loses its lease after lease_ms, and the lane goes on elsewhere.

static void
test_hung_worker (void **state)
{
    (void) state;
    core_hello (1, "hangs");
    core_hello (2, "works");
    core_hello (3, "sender");
    core_serve (1, "work", 1, 1);
    core_put (3, "a", "work", "k", "");
    core_put (3, "b", "work", "k", "");
    core_leased (1, "a");
    core_serve (2, "work", 1, 1);
    for (int64_t at = 0; at < 14000; at += 2000) {
        argos_sim_net_sleep (core_kit_net, 2000);
        s_ping (2);
    }
    core_expect_nothing (2);
    argos_sim_net_sleep (core_kit_net, 1001);
    core_lease_t a = core_leased (2, "a");
    assert_int_equal (a.attempt, 2);
    core_done (2, a);
    core_expect (2, "accepted");
    core_leased (2, "b");
}

//  A message that crashes the process beside innocent ones ends dead, and they do not: even when
//  the process takes longer to come back than the suspects wait for their turn.

typedef struct {
    core_lease_t held[4]; //  In hand
    int count;            //  How many
    bool poisoned;        //  The poison is among them
} hand_t;

static hand_t
s_take (uint64_t conn)
{
    hand_t hand = { .count = 0 };
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (core_kit_net, conn))) {
        if (strcmp (argos_sim_text (msg->header, "type"), "job") == 0) {
            assert_true (hand.count < 4);
            hand.held[hand.count++] = (core_lease_t){ argos_sim_int (msg->meta, "seq"),
                argos_sim_int (msg->meta, "lease"), 1 };
            hand.poisoned |= strcmp (argos_sim_text (msg->header, "id"), "poison") == 0;
        }
        argos_sim_msg_destroy (&msg);
    }
    return hand;
}

static void
test_poison (void **state)
{
    (void) state;
    static const char *const ids[] = { "a", "poison", "b", "c" };
    int done = 0, crashes = 0;
    core_hello (3, "sender");
    core_hello (1, "worker");
    core_serve (1, "work", 0, 1);
    for (size_t i = 0; i < 4; i++)
        core_put (3, ids[i], "work", ids[i], "");
    for (int instance = 2; instance < 20; instance++) {
        uint64_t conn = 8 + (uint64_t) instance;
        argos_core_gone (core_kit_net->core, instance == 2 ? 1 : conn - 1);
        argos_sim_net_sleep (core_kit_net, 6000);
        s_restart (conn, "worker", instance);
        core_serve (conn, "work", 4, 1);
        hand_t hand = s_take (conn);
        while (hand.count && !hand.poisoned) {
            for (int i = 0; i < hand.count; i++, done++)
                core_done (conn, hand.held[i]);
            hand = s_take (conn);
        }
        crashes += hand.poisoned;
    }
    assert_int_equal (done, 3);
    assert_int_equal (crashes, 5);
    assert_int_equal (s_number ("SELECT count (*) FROM dead"), 1);
    assert_int_equal (s_number ("SELECT count (*) FROM dead WHERE id = 'poison'"), 1);
    assert_int_equal (s_number ("SELECT count (*) FROM queue WHERE service = 'work'"), 0);
}

//  While a suspect is held, no other is leased, however long that takes.

static void
test_suspects_one_at_a_time (void **state)
{
    (void) state;
    core_hello (3, "sender");
    core_hello (1, "worker");
    core_serve (1, "work", 0, 1);
    core_put (3, "a", "work", "a", "");
    core_put (3, "b", "work", "b", "");
    for (int instance = 2; instance <= 4; instance++) {
        s_restart (1, "worker", instance);
        core_serve (1, "work", instance < 4 ? 4 : 2, 1);
        core_leased (1, "a");
        if (instance < 4)
            core_leased (1, "b");
    }
    s_live (20000, 1, 3);
    for (int i = 0; i < 10; i++)
        core_expect (1, "pong");
    core_expect_nothing (1);
    core_done (1, (core_lease_t){ s_number ("SELECT seq FROM queue WHERE id = 'a'"),
                      s_number ("SELECT lease FROM queue WHERE id = 'a'"), 1 });
    core_expect (1, "accepted");
    argos_sim_net_sleep (core_kit_net, 5001);
    core_leased (1, "b");
}

#define SERVICE_TEST(name) cmocka_unit_test_setup_teardown (name, core_kit_setup, core_kit_teardown)

int
main (void)
{
    const struct CMUnitTest tests[] = { SERVICE_TEST (test_lighter),
        SERVICE_TEST (test_least_loaded), SERVICE_TEST (test_affinity_comes_first),
        SERVICE_TEST (test_drain), SERVICE_TEST (test_orders_need_the_role),
        SERVICE_TEST (test_pause), SERVICE_TEST (test_drop), SERVICE_TEST (test_drop_and_serve),
        SERVICE_TEST (test_h62_hold_max), SERVICE_TEST (test_hung_worker),
        SERVICE_TEST (test_poison), SERVICE_TEST (test_suspects_one_at_a_time) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
