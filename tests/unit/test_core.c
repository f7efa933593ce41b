//  test_core - the broker core over the real store, step by step: every word and every answer of
//  docs/protocol.md. Connections below 100 are local peers, from 100 on actors of the core.

#include "argos_sim_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include <cmocka.h>

#define TEXT 4600 //  Bytes of a header or a body that is built here

static argos_sim_net_t *net;
static argos_sim_msg_t *last; //  What came last; freed when the next one comes

static argos_sim_role_t
s_role (uint64_t conn)
{
    return conn < 100 ? ARGOS_ROLE_LOCAL : ARGOS_ROLE_CORE;
}

static int
s_setup (void **state)
{
    (void) state;
    net = argos_sim_net_new ("memory:unit");
    return 0;
}

static int
s_teardown (void **state)
{
    (void) state;
    argos_sim_msg_destroy (&last);
    argos_sim_net_destroy (&net);
    return 0;
}

static void
s_send (uint64_t conn, const char *header, const char *body)
{
    argos_sim_net_send (net, conn, s_role (conn), header, body);
    argos_sim_net_settle (net);
}

static void s_sendf (uint64_t conn, const char *body, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

static void
s_sendf (uint64_t conn, const char *body, const char *format, ...)
{
    char header[TEXT];
    va_list args;
    va_start (args, format);
    vsnprintf (header, sizeof header, format, args);
    va_end (args);
    s_send (conn, header, body);
}

//  The next message of that type; grants of credit in between are let go, anything else is wrong.

static const argos_sim_msg_t *
s_expect (uint64_t conn, const char *type)
{
    argos_sim_msg_destroy (&last);
    while ((last = argos_sim_net_recv (net, conn))) {
        const char *got = argos_sim_text (last->header, "type");
        if (strcmp (got, type) == 0)
            return last;
        if (strcmp (got, "credit") != 0)
            fail_msg ("connection %d: wanted %s, got %s %s", (int) conn, type,
                json_dumps (last->header, 0), json_dumps (last->body, 0));
        argos_sim_msg_destroy (&last);
    }
    fail_msg ("connection %d: wanted %s, got nothing", (int) conn, type);
    return NULL;
}

static void
s_expect_nothing (uint64_t conn)
{
    argos_sim_msg_destroy (&last);
    while ((last = argos_sim_net_recv (net, conn))) {
        if (strcmp (argos_sim_text (last->header, "type"), "credit") != 0)
            fail_msg (
                "connection %d: wanted nothing, got %s", (int) conn, json_dumps (last->header, 0));
        argos_sim_msg_destroy (&last);
    }
}

static void
s_expect_refused (uint64_t conn, const char *re, const char *code)
{
    const argos_sim_msg_t *msg = s_expect (conn, "refused");
    if (strcmp (argos_sim_text (msg->body, "code"), code) != 0)
        fail_msg ("wanted refused %s, got %s", code, json_dumps (msg->body, 0));
    assert_string_equal (argos_sim_text (msg->header, "re"), re);
}

static int64_t
s_expect_accepted (uint64_t conn, const char *re)
{
    const argos_sim_msg_t *msg = s_expect (conn, "accepted");
    assert_string_equal (argos_sim_text (msg->header, "re"), re);
    return argos_sim_int (msg->body, "seq");
}

static json_t *
s_hello (uint64_t conn, const char *name, int64_t instance, const char *leases)
{
    char body[TEXT];
    snprintf (body, sizeof body,
        "{\"name\":\"%s\",\"instance\":%lld,\"protocol\":1,\"leases\":[%s]}", name,
        (long long) instance, leases);
    s_send (conn, "{\"type\":\"hello\",\"id\":\"h\"}", body);
    const argos_sim_msg_t *msg = s_expect (conn, "welcome");
    assert_string_equal (argos_sim_text (msg->header, "re"), "h");
    return json_object_get (msg->body, "leases");
}

static void
s_serve (uint64_t conn, const char *service, int slots)
{
    char body[TEXT];
    snprintf (body, sizeof body, "{\"service\":\"%s\",\"slots\":%d}", service, slots);
    s_send (conn, "{\"type\":\"serve\",\"id\":\"s\"}", body);
    //  Work may come before the answer when the service was known
    argos_sim_msg_t *msg;
    DL_FOREACH (net->sent, msg)
        if (msg->conn == conn && strcmp (argos_sim_text (msg->header, "re"), "s") == 0)
            break;
    assert_non_null (msg);
    assert_string_equal (argos_sim_text (msg->header, "type"), "accepted");
    DL_DELETE (net->sent, msg);
    argos_sim_msg_destroy (&msg);
}

static void
s_grant (uint64_t conn, int messages)
{
    char body[TEXT];
    snprintf (body, sizeof body, "{\"messages\":%d,\"bytes\":4194304}", messages);
    s_send (conn, "{\"type\":\"credit\"}", body);
}

//  A worker of service `work` on 1, a sender on 2.

static void
s_pair (int slots)
{
    s_hello (1, "worker", 10, "");
    s_serve (1, "work", slots);
    s_hello (2, "sender", 10, "");
}

static int64_t
s_put (const char *id, const char *key, const char *more)
{
    s_sendf (2, "{\"text\":\"x\"}",
        "{\"type\":\"job\",\"id\":\"%s\",\"to\":\"service:work\",\"key\":\"%s\",\"durable\":true%"
        "s}",
        id, key, more);
    return s_expect_accepted (2, id);
}

//  A lease that a worker got

typedef struct {
    int64_t seq, lease, attempt; //  As in meta
} lease_t;

static lease_t
s_leased (uint64_t conn, const char *id)
{
    const argos_sim_msg_t *msg = s_expect (conn, "job");
    assert_string_equal (argos_sim_text (msg->header, "id"), id);
    lease_t lease = { argos_sim_int (msg->meta, "seq"), argos_sim_int (msg->meta, "lease"),
        argos_sim_int (msg->meta, "attempt") };
    return lease;
}

static void
s_commit_with (uint64_t conn, const char *word, lease_t lease, int n, const char *more,
    const argos_sim_part_t *parts, size_t count)
{
    char header[TEXT];
    snprintf (header, sizeof header,
        "{\"type\":\"%s\",\"id\":\"c%d\",\"seq\":%lld,\"lease\":%lld,\"n\":%d%s}", word, n,
        (long long) lease.seq, (long long) lease.lease, n, more);
    argos_sim_net_commit (net, conn, s_role (conn), header, parts, count);
    argos_sim_net_settle (net);
}

static void
s_commit (uint64_t conn, const char *word, lease_t lease, int n)
{
    s_commit_with (conn, word, lease, n, "", NULL, 0);
}

static void
s_release (uint64_t conn, lease_t lease, const char *body)
{
    s_sendf (conn, body, "{\"type\":\"release\",\"id\":\"r\",\"seq\":%lld,\"lease\":%lld}",
        (long long) lease.seq, (long long) lease.lease);
}

//  ------------------------------------------------------------------------------------------------
//  Sessions

static void
test_hello (void **state)
{
    (void) state;
    s_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    s_expect_refused (1, "p", "no_session");
    s_hello (1, "worker", 10, "");
    assert_int_equal (argos_sim_int (last->body, "boot"), 1);
    assert_int_equal (argos_sim_int (last->body, "ping_ms"), 2000);
    s_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    assert_string_equal (argos_sim_text (s_expect (1, "pong")->header, "re"), "p");
    s_hello (100, "gateway", 1, "");
    assert_int_equal (argos_sim_int (last->body, "ping_ms"), 0);
    s_send (1, "{\"type\":\"bye\"}", NULL);
    s_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    s_expect_refused (1, "p", "no_session");
}

static void
test_superseded (void **state)
{
    (void) state;
    s_hello (1, "worker", 10, "");
    s_hello (2, "worker", 11, "");
    s_expect_refused (1, "", "superseded");
    s_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    s_expect_refused (1, "p", "no_session");
    s_send (1, "{\"type\":\"hello\",\"id\":\"h\"}",
        "{\"name\":\"worker\",\"instance\":10,\"protocol\":1}");
    s_expect_refused (1, "h", "superseded");
    //  The same instance on a new connection: nobody is told anything
    s_hello (3, "worker", 11, "");
    s_expect_nothing (2);
    s_send (2, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    s_expect_refused (2, "p", "no_session");
}

static void
test_hello_refused (void **state)
{
    (void) state;
    static const char *const bodies[] = { "", "[]", "{\"name\":\"w\",\"instance\":1}",
        "{\"name\":\"W\",\"instance\":1,\"protocol\":1}", "{\"name\":\"w\",\"protocol\":1}",
        "{\"name\":\"w\",\"instance\":1,\"protocol\":2}",
        "{\"name\":\"gateway\",\"instance\":1,\"protocol\":1}",
        "{\"name\":\"gateway.2\",\"instance\":1,\"protocol\":1}",
        "{\"name\":\"w\",\"instance\":1,\"protocol\":1,\"leases\":7}" };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        s_send (1, "{\"type\":\"hello\",\"id\":\"h\"}", bodies[i]);
        s_expect_refused (1, "h", strstr (bodies[i], "gateway") ? "denied" : "invalid");
    }
}

//  ------------------------------------------------------------------------------------------------
//  Durable messages

static void
test_insert_leased (void **state)
{
    (void) state;
    s_pair (1);
    int64_t seq = s_put ("a", "k", "");
    assert_true (seq > 0);
    const argos_sim_msg_t *msg = s_expect (1, "job");
    assert_string_equal (argos_sim_text (msg->body, "text"), "x");
    assert_string_equal (argos_sim_text (msg->meta, "from"), "sender");
    assert_int_equal (argos_sim_int (msg->meta, "seq"), seq);
    assert_int_equal (argos_sim_int (msg->meta, "attempt"), 1);
    assert_int_equal (argos_sim_int (msg->meta, "hops"), 0);
    lease_t lease = { seq, argos_sim_int (msg->meta, "lease"), 1 };
    s_commit (1, "commit", lease, 1);
    assert_int_equal (argos_sim_int (s_expect (1, "accepted")->body, "n"), 1);
    s_commit (1, "commit", lease, 1);
    assert_int_equal (argos_sim_int (s_expect (1, "accepted")->body, "n"), 1);
    s_commit (1, "done", lease, 2);
    s_expect (1, "accepted");
    s_commit (1, "done", lease, 2);
    s_expect (1, "accepted");
    s_commit (1, "done", lease, 3);
    s_expect_refused (1, "c3", "fenced");
    assert_int_equal (argos_sim_net_number (net, "SELECT count (*) FROM queue"), 0);
}

static void
test_repeat (void **state)
{
    (void) state;
    s_pair (1);
    int64_t seq = s_put ("a", "k", "");
    assert_int_equal (s_put ("a", "k", ""), seq);
    s_leased (1, "a");
    s_expect_nothing (1);
    s_sendf (2, "{\"text\":\"other\"}",
        "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:work\",\"key\":\"k\",\"durable\":true}");
    s_expect_refused (2, "a", "conflict");
    argos_sim_net_crash (net);
    s_hello (2, "sender", 10, "");
    assert_int_equal (s_put ("a", "k", ""), seq);
}

static void
test_fifo_and_slots (void **state)
{
    (void) state;
    s_pair (2);
    s_put ("a1", "a", "");
    s_put ("a2", "a", "");
    s_put ("b1", "b", "");
    s_put ("c1", "c", "");
    lease_t a1 = s_leased (1, "a1");
    lease_t b1 = s_leased (1, "b1");
    s_expect_nothing (1); //  Two slots
    s_commit (1, "done", a1, 1);
    s_expect (1, "accepted");
    lease_t c1 = s_leased (1, "c1"); //  It has waited longer than lane a
    s_commit (1, "done", c1, 1);
    s_expect (1, "accepted");
    s_leased (1, "a2");
    s_commit (1, "done", b1, 1);
    s_expect (1, "accepted");
    s_expect_nothing (1);
}

static void
test_busy_lane_keeps_its_turn (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a1", "a", "");
    lease_t a1 = s_leased (1, "a1");
    s_put ("b1", "b", "");
    s_put ("c1", "c", "");
    s_put ("b2", "b", ""); //  Lane b grows while it waits
    s_commit (1, "done", a1, 1);
    s_expect (1, "accepted");
    s_leased (1, "b1");
}

static void
test_urgent (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a1", "a", "");
    lease_t a1 = s_leased (1, "a1");
    s_put ("b1", "b", "");
    s_put ("c1", "c", "");
    s_put ("c2", "c", ",\"urgent\":true");
    s_commit (1, "done", a1, 1);
    s_expect (1, "accepted");
    s_leased (1, "c1"); //  The lane goes first, its order stays
}

static void
test_types (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    s_hello (1, "narrow", 10, "");
    s_hello (3, "wide", 10, "");
    s_send (1, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"work\",\"slots\":1,\"types\":[\"job\"]}");
    s_expect (1, "accepted");
    s_put ("a", "a", "");
    lease_t a = s_leased (1, "a");
    s_send (3, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"work\",\"slots\":1,\"types\":[\"other\"]}");
    s_expect (3, "accepted");
    s_put ("b", "b", ""); //  Who takes it is busy, who is free does not take it
    s_sendf (2, NULL, "{\"type\":\"third\",\"id\":\"t\",\"to\":\"service:work\",\"durable\":true}");
    s_expect_accepted (2, "t");
    s_expect_nothing (3);
    s_commit (1, "done", a, 1);
    s_expect (1, "accepted");
    s_leased (1, "b");
    s_send (3, "{\"type\":\"serve\",\"id\":\"s\"}",
        "{\"service\":\"work\",\"slots\":1,\"types\":[\"other\",\"third\"]}");
    s_expect (3, "accepted");
    s_expect (3, "third");
}

static void
test_not_before (void **state)
{
    (void) state;
    char more[64];
    s_pair (2);
    snprintf (more, sizeof more, ",\"not_before\":%lld", (long long) net->wall + 5000);
    s_put ("a", "k", more);
    s_put ("b", "k", ""); //  Does not wait for it
    lease_t b = s_leased (1, "b");
    s_commit (1, "done", b, 1);
    s_expect (1, "accepted");
    argos_sim_net_sleep (net, 4000);
    s_send (1, "{\"type\":\"ping\"}", NULL);
    s_expect (1, "pong");
    s_expect_nothing (1);
    argos_sim_net_sleep (net, 1001);
    s_leased (1, "a");
    snprintf (more, sizeof more, ",\"not_before\":%lld", (long long) net->wall + 5000);
    s_put ("c", "k2", more); //  Still to come at the end
}

//  A message is on its way to be inserted leased when an older one of its lane comes due.

static void
test_due_while_inserting (void **state)
{
    (void) state;
    char more[64];
    s_pair (2);
    snprintf (more, sizeof more, ",\"not_before\":%lld", (long long) net->wall + 100);
    s_put ("a", "k", more);
    argos_sim_net_send (net, 2, ARGOS_ROLE_LOCAL,
        "{\"type\":\"job\",\"id\":\"b\",\"to\":\"service:work\",\"key\":\"k\",\"durable\":true}",
        NULL);
    net->mono += 200;
    net->wall += 200;
    argos_core_clock (net->core, net->mono, net->wall);
    argos_core_tick (net->core);
    argos_sim_net_settle (net);
    lease_t b = s_leased (1, "b");
    assert_null (argos_sim_net_difference (net));
    s_commit (1, "done", b, 1);
    s_expect (1, "accepted");
    s_leased (1, "a");
    assert_null (argos_sim_net_difference (net));
}

static void
test_expired (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    s_hello (1, "worker", 10, "");
    s_serve (1, "work", 0);
    s_put ("a", "k", ",\"ttl_ms\":3000");
    argos_sim_net_sleep (net, 3001);
    assert_int_equal (argos_sim_net_number (net, "SELECT count (*) FROM queue WHERE id = 'a'"), 0);
    assert_int_equal (
        argos_sim_net_number (net, "SELECT count (*) FROM dead WHERE code = 'expired'"), 1);
    assert_int_equal (
        argos_sim_net_number (net, "SELECT count (*) FROM queue WHERE type = 'message.dead'"), 1);
}

static void
test_no_service (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    s_send (2, "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:wrok\",\"durable\":true}", NULL);
    s_expect_refused (2, "a", "no_service");
    s_hello (1, "worker", 10, "");
    s_serve (1, "work", 1);
    argos_sim_net_crash (net);
    s_hello (2, "sender", 10, "");
    s_put ("a", "k", ""); //  The declaration has survived
}

static void
test_roles (void **state)
{
    (void) state;
    s_hello (1, "worker", 10, "");
    s_send (1, "{\"type\":\"serve\",\"id\":\"s\"}", "{\"service\":\"turn\",\"slots\":1}");
    s_expect_refused (1, "s", "denied");
    s_hello (100, "agent", 10, "");
    s_serve (100, "turn", 1);
    s_send (1, "{\"type\":\"turn.request\",\"id\":\"a\",\"to\":\"service:turn\",\"durable\":true}",
        NULL);
    s_expect_refused (1, "a", "denied");
    s_send (1, "{\"type\":\"turn.stop\",\"id\":\"b\",\"to\":\"service:turn\",\"durable\":true}",
        "{\"reason\":\"r\"}");
    s_expect_accepted (1, "b");
    s_send (1, "{\"type\":\"x\",\"id\":\"c\",\"to\":\"topic:run.1\"}", NULL);
    s_expect_refused (1, "c", "denied");
    argos_sim_part_t part = { "{\"type\":\"route.bind\",\"to\":\"store\"}",
        "{\"key\":\"k\",\"session_id\":\"s\"}" };
    argos_sim_net_commit (net, 1, ARGOS_ROLE_LOCAL, "{\"type\":\"commit\",\"id\":\"d\"}", &part, 1);
    argos_sim_net_settle (net);
    assert_int_equal (argos_sim_int (s_expect (1, "refused")->body, "part"), 0);
    assert_string_equal (argos_sim_text (last->body, "code"), "denied");
}

//  ------------------------------------------------------------------------------------------------
//  Leases

static void
test_commit_emits (void **state)
{
    (void) state;
    s_pair (1);
    s_hello (3, "next", 10, "");
    s_serve (3, "after", 1);
    int64_t seq = s_put ("a", "k", "");
    lease_t a = s_leased (1, "a");
    argos_sim_part_t parts[2] = {
        { "{\"type\":\"job\",\"id\":\"e1\",\"to\":\"service:after\",\"durable\":true}", "{}" },
        { "{\"type\":\"job\",\"id\":\"e2\",\"to\":\"service:wrok\",\"durable\":true}", "{}" }
    };
    s_commit_with (1, "commit", a, 1, "", parts, 2);
    assert_int_equal (argos_sim_int (s_expect (1, "refused")->body, "part"), 1);
    s_expect_nothing (3); //  All or nothing
    s_commit_with (1, "commit", a, 1, "", parts, 1);
    s_expect (1, "accepted");
    s_commit_with (1, "commit", a, 1, "", parts, 1); //  A repeat emits nothing
    s_expect (1, "accepted");
    lease_t e1 = s_leased (3, "e1");
    assert_int_equal (argos_sim_int (last->meta, "hops"), 1);
    assert_string_equal (argos_sim_text (last->meta, "cause"), "a");
    assert_string_equal (argos_sim_text (last->meta, "from"), "worker");
    s_commit (3, "done", e1, 1);
    s_expect (3, "accepted");
    s_expect_nothing (3);
    //  The lease is the same after a restart, also for the chain of what it emits
    argos_sim_net_crash (net);
    char leases[64];
    snprintf (leases, sizeof leases, "{\"seq\":%lld,\"lease\":%lld}", (long long) seq,
        (long long) a.lease);
    s_hello (3, "next", 10, "");
    s_serve (3, "after", 1);
    json_t *verdicts = s_hello (1, "worker", 10, leases);
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 0), "state"), "valid");
    s_commit_with (1, "done", a, 2, "", parts, 1);
    s_expect (1, "accepted");
    s_leased (3, "e1");
    assert_int_equal (argos_sim_int (last->meta, "hops"), 1);
    assert_string_equal (argos_sim_text (last->meta, "cause"), "a");
}

static void
test_resume (void **state)
{
    (void) state;
    char leases[256];
    s_pair (3);
    s_put ("a", "a", "");
    s_put ("b", "b", "");
    s_put ("c", "c", "");
    lease_t a = s_leased (1, "a"), b = s_leased (1, "b"), c = s_leased (1, "c");
    s_commit (1, "done", b, 1);
    s_expect (1, "accepted");
    argos_sim_net_crash (net);
    snprintf (leases, sizeof leases,
        "{\"seq\":%lld,\"lease\":%lld},{\"seq\":%lld,\"lease\":%lld},{\"seq\":%lld,\"lease\":99}",
        (long long) a.seq, (long long) a.lease, (long long) b.seq, (long long) b.lease,
        (long long) c.seq);
    json_t *verdicts = s_hello (1, "worker", 10, leases);
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 0), "state"), "valid");
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 1), "state"), "done");
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 2), "state"), "lost");
    s_serve (1, "work", 2);
    //  c is on record for us and was not listed: freed, and leased again as the second attempt
    lease_t again = s_leased (1, "c");
    assert_int_equal (again.attempt, 2);
    assert_true (again.lease > c.lease);
    s_commit (1, "done", c, 1);
    s_expect_refused (1, "c1", "fenced");
    s_commit (1, "done", a, 1);
    s_expect (1, "accepted");
}

static void
test_new_instance (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a", "k", "");
    lease_t a = s_leased (1, "a");
    s_hello (3, "worker", 11, "");
    s_expect_refused (1, "", "superseded");
    s_serve (3, "work", 1);
    lease_t again = s_leased (3, "a");
    assert_int_equal (again.attempt, 2);
    assert_int_equal (argos_sim_net_number (net, "SELECT strikes FROM queue"), 4);
    s_commit (3, "done", a, 1);
    s_expect_refused (3, "c1", "fenced");
}

static void
test_silence (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a", "a", "");
    lease_t a = s_leased (1, "a");
    argos_sim_net_sleep (net, 7000);
    s_hello (3, "other", 10, "");
    s_serve (3, "work", 1);
    s_hello (2, "sender", 10, "");
    s_put ("b", "b", ""); //  Not to the silent one
    s_leased (3, "b");
    argos_sim_net_sleep (net, 6000);
    s_send (3, "{\"type\":\"ping\"}", NULL);
    argos_sim_net_sleep (net, 3000);
    s_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    s_expect_refused (1, "p", "no_session");
    assert_int_equal (
        argos_sim_net_number (net, "SELECT count (*) FROM queue WHERE id = 'a' AND lease IS NULL"),
        1);
    char leases[64];
    snprintf (leases, sizeof leases, "{\"seq\":%lld,\"lease\":%lld}", (long long) a.seq,
        (long long) a.lease);
    json_t *verdicts = s_hello (1, "worker", 10, leases);
    assert_string_equal (argos_sim_text (json_array_get (verdicts, 0), "state"), "lost");
}

//  A lease whose holder does not come back after a restart ends with its time.

static void
test_lease_outlives_restart (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a", "k", "");
    s_leased (1, "a");
    argos_sim_net_crash (net);
    s_hello (3, "other", 10, "");
    s_serve (3, "work", 1);
    s_expect_nothing (3);
    for (int i = 0; i < 4; i++) {
        argos_sim_net_sleep (net, 4000);
        s_send (3, "{\"type\":\"ping\"}", NULL);
    }
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (net, 3))) {
        bool job = strcmp (argos_sim_text (msg->header, "type"), "job") == 0;
        int64_t attempt = argos_sim_int (msg->meta, "attempt");
        argos_sim_msg_destroy (&msg);
        if (job) {
            assert_int_equal (attempt, 2);
            return;
        }
    }
    fail_msg ("the lease did not end");
}

static void
test_in_process_holder (void **state)
{
    (void) state;
    s_hello (100, "agent", 10, "");
    s_serve (100, "turn", 1);
    s_send (100, "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:turn\",\"durable\":true}", NULL);
    s_expect_accepted (100, "a");
    s_leased (100, "a");
    argos_sim_net_crash (net);
    s_hello (101, "agent", 11, "");
    s_serve (101, "turn", 1);
    lease_t a = s_leased (101, "a"); //  At once: its holder died with the process
    assert_int_equal (a.attempt, 2);
}

static bool
s_deaf (void *arg, uint64_t conn)
{
    (void) arg;
    return conn == 1;
}

static void
test_unreachable_worker (void **state)
{
    (void) state;
    s_pair (1);
    net->deaf = s_deaf;
    s_put ("a", "k", "");
    assert_int_equal (
        argos_sim_net_number (net, "SELECT attempt FROM queue WHERE lease IS NULL"), 0);
    net->deaf = NULL;
    s_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    argos_sim_msg_t *msg = argos_sim_net_recv (net, 1);
    argos_sim_msg_destroy (&msg); //  pong and the job come in either order
    msg = argos_sim_net_recv (net, 1);
    assert_non_null (msg);
    argos_sim_msg_destroy (&msg);
}

static void
test_release (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a", "k", "");
    lease_t a = s_leased (1, "a");
    lease_t wrong = { a.seq, a.lease + 1, 1 };
    s_release (1, wrong, NULL);
    s_expect_refused (1, "r", "fenced");
    s_release (2, a, NULL); //  Not its holder
    s_expect_refused (2, "r", "fenced");
    s_release (1, a, "{\"delay_ms\":-1}");
    s_expect_refused (1, "r", "invalid");
    s_release (1, a, "{\"delay_ms\":5000,\"clean\":true}");
    s_expect_accepted (1, "r");
    s_put ("b", "k", ""); //  The lane waits
    s_expect_nothing (1);
    argos_sim_net_sleep (net, 4000);
    s_send (1, "{\"type\":\"ping\"}", NULL);
    s_expect (1, "pong");
    s_expect_nothing (1);
    argos_sim_net_sleep (net, 1001);
    a = s_leased (1, "a");
    assert_int_equal (a.attempt, 1);
    s_release (1, a, "{\"delay_ms\":5000}");
    s_expect_accepted (1, "r");
    s_put ("s", "k", ",\"side\":true"); //  A side message ends the delay
    a = s_leased (1, "a");
    assert_int_equal (a.attempt, 2);
    assert_string_equal (argos_sim_text (s_expect (1, "job")->header, "id"), "s");
    s_release (1, a, "{\"delay_ms\":5000}"); //  It still waits: no delay
    s_expect_accepted (1, "r");
    s_leased (1, "a");
}

static void
test_parked_over_restart (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a", "k", "");
    lease_t a = s_leased (1, "a");
    s_release (1, a, "{\"delay_ms\":5000,\"clean\":true}");
    s_expect_accepted (1, "r");
    argos_sim_net_crash (net);
    s_hello (1, "worker", 10, "");
    s_serve (1, "work", 1);
    s_expect_nothing (1);
    argos_sim_net_sleep (net, 5001);
    assert_int_equal (s_leased (1, "a").attempt, 1);
}

static void
test_reject (void **state)
{
    (void) state;
    s_hello (100, "gateway", 1, "");
    s_serve (100, "gateway", 1);
    s_pair (1);
    s_put ("a", "k", "");
    s_put ("b", "k", "");
    lease_t a = s_leased (1, "a");
    s_release (1, a, "{\"reject\":\"invalid\"}");
    s_expect_accepted (1, "r");
    s_leased (1, "b");
    const argos_sim_msg_t *notice = s_expect (100, "message.dead");
    assert_int_equal (argos_sim_int (notice->body, "seq"), a.seq);
    assert_string_equal (argos_sim_text (notice->body, "code"), "invalid");
}

static void
test_strikes (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a", "k", "");
    for (int64_t instance = 11; instance < 16; instance++) {
        s_leased (1, "a");
        assert_int_equal (argos_sim_int (last->meta, "attempt"), instance - 10);
        s_hello (1, "worker", instance, "");
        s_serve (1, "work", 1);
        if (instance >= 12) //  8 strikes: one lease every 5 s
            argos_sim_net_sleep (net, 5001);
    }
    s_expect_nothing (1);
    assert_int_equal (
        argos_sim_net_number (net, "SELECT count (*) FROM dead WHERE code = 'strikes'"), 1);
    assert_int_equal (
        argos_sim_net_number (net, "SELECT count (*) FROM queue WHERE type = 'message.dead'"), 1);
}

//  ------------------------------------------------------------------------------------------------
//  Side messages

static void
test_side (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a", "k", "");
    lease_t a = s_leased (1, "a");
    int64_t side = s_put ("s", "k", ",\"side\":true");
    const argos_sim_msg_t *msg = s_expect (1, "job");
    assert_string_equal (argos_sim_text (msg->header, "id"), "s");
    assert_int_equal (argos_sim_int (msg->meta, "seq"), side);
    assert_int_equal (argos_sim_int (msg->meta, "mail"), a.seq);
    assert_int_equal (argos_sim_int (msg->meta, "lease"), a.lease);
    s_commit (1, "done", a, 1);
    s_expect_refused (1, "c1", "mail");
    char more[96];
    snprintf (more, sizeof more, ",\"take\":[%lld]", (long long) side);
    s_commit_with (1, "commit", a, 1, more, NULL, 0);
    s_expect (1, "accepted");
    int64_t second = s_put ("s2", "k", ",\"side\":true");
    s_expect (1, "job");
    snprintf (more, sizeof more, ",\"seen\":%lld", (long long) second);
    s_commit_with (1, "done", a, 2, more, NULL, 0);
    s_expect (1, "accepted");
    lease_t next = s_leased (1, "s2"); //  Never taken: it is the head now
    s_commit (1, "done", next, 1);
    s_expect (1, "accepted");
    assert_int_equal (argos_sim_net_number (net, "SELECT count (*) FROM queue"), 0);
}

static void
test_side_waits_with_the_lane (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    s_hello (1, "worker", 10, "");
    s_serve (1, "work", 0);
    s_put ("a", "k", "");
    s_put ("s", "k", ",\"side\":true");
    s_serve (1, "work", 1);
    s_leased (1, "a");
    assert_string_equal (argos_sim_text (s_expect (1, "job")->header, "id"), "s");
    //  Again to the next holder
    s_hello (1, "worker", 11, "");
    s_serve (1, "work", 1);
    s_leased (1, "a");
    assert_string_equal (argos_sim_text (s_expect (1, "job")->header, "id"), "s");
}

static void
test_side_after_resume (void **state)
{
    (void) state;
    char leases[64];
    s_pair (1);
    s_put ("a", "k", "");
    lease_t a = s_leased (1, "a");
    s_put ("s", "k", ",\"side\":true");
    s_expect (1, "job");
    argos_sim_net_crash (net);
    snprintf (leases, sizeof leases, "{\"seq\":%lld,\"lease\":%lld}", (long long) a.seq,
        (long long) a.lease);
    s_hello (1, "worker", 10, leases);
    assert_string_equal (argos_sim_text (s_expect (1, "job")->header, "id"), "s");
}

static void
test_side_to_a_deaf_holder (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a", "k", "");
    s_leased (1, "a");
    net->deaf = s_deaf;
    s_put ("s", "k", ",\"side\":true");
    net->deaf = NULL;
    s_send (1, "{\"type\":\"ping\"}", NULL);
    s_expect (1, "pong");
    assert_string_equal (argos_sim_text (s_expect (1, "job")->header, "id"), "s");
}

//  ------------------------------------------------------------------------------------------------
//  Requests

static void
s_ask (const char *id, const char *more)
{
    s_sendf (
        2, "{\"q\":1}", "{\"type\":\"ask\",\"id\":\"%s\",\"to\":\"service:work\"%s}", id, more);
}

static void
test_request (void **state)
{
    (void) state;
    s_pair (1);
    s_ask ("q", "");
    assert_string_equal (argos_sim_text (s_expect (1, "ask")->meta, "from"), "sender");
    s_ask ("q", "");
    s_expect_refused (2, "q", "conflict");
    s_ask ("q2", ""); //  Waits for the slot
    s_expect_nothing (1);
    s_send (2, "{\"type\":\"work.stop\",\"re\":\"q\",\"to\":\"service:work\"}", NULL);
    s_expect (1, "work.stop");
    s_send (1, "{\"type\":\"answer\",\"re\":\"q\",\"to\":\"actor:sender\"}", "{\"a\":1}");
    assert_string_equal (argos_sim_text (s_expect (2, "answer")->meta, "from"), "worker");
    assert_string_equal (argos_sim_text (s_expect (1, "ask")->header, "id"), "q2");
    s_send (1, "{\"type\":\"answer\",\"id\":\"x\",\"re\":\"q\",\"to\":\"actor:sender\"}", NULL);
    s_expect_refused (1, "x", "expired");
    s_ask ("q3", "");
    s_send (2, "{\"type\":\"work.stop\",\"re\":\"q3\",\"to\":\"service:work\"}", NULL);
    s_expect_refused (2, "q3", "gone");
    assert_false (json_is_true (json_object_get (last->body, "sent")));
    s_send (1, "{\"type\":\"bye\"}", NULL);
    s_expect_refused (2, "q2", "gone");
    assert_true (json_is_true (json_object_get (last->body, "sent")));
}

static void
test_request_expires (void **state)
{
    (void) state;
    s_pair (1);
    s_ask ("q", ",\"ttl_ms\":1000");
    s_expect (1, "ask");
    s_ask ("q2", ",\"ttl_ms\":500");
    argos_sim_net_sleep (net, 600);
    s_expect_refused (2, "q2", "expired");
    assert_false (json_is_true (json_object_get (last->body, "sent")));
    argos_sim_net_sleep (net, 500);
    s_expect_refused (2, "q", "expired");
    assert_true (json_is_true (json_object_get (last->body, "sent")));
    assert_string_equal (argos_sim_text (s_expect (1, "cancel")->header, "re"), "q");
    s_put ("a", "k", ""); //  The slot is free again
    s_leased (1, "a");
}

static void
test_the_worker_is_told_when_the_requester_is_gone (void **state)
{
    (void) state;
    s_pair (1);
    s_ask ("q", "");
    s_expect (1, "ask");
    s_send (2, "{\"type\":\"bye\"}", NULL);
    assert_string_equal (argos_sim_text (s_expect (1, "cancel")->header, "re"), "q");
    assert_string_equal (argos_sim_text (last->meta, "from"), "sender");
}

static void
test_requests_of_a_leaving_worker (void **state)
{
    (void) state;
    s_pair (2);
    s_ask ("q1", "");
    s_ask ("q2", "");
    s_ask ("q3", "");
    s_put ("a", "k", "");
    s_send (1, "{\"type\":\"bye\"}", NULL);
    s_expect_refused (2, "q1", "gone");
    s_expect_refused (2, "q2", "gone");
    s_expect_nothing (2);
    s_hello (3, "other", 10, "");
    s_serve (3, "work", 2);
    assert_string_equal (argos_sim_text (s_expect (3, "ask")->header, "id"), "q3");
    s_leased (3, "a");
}

static void
test_actor (void **state)
{
    (void) state;
    s_pair (1);
    s_send (2, "{\"type\":\"ask\",\"id\":\"q\",\"to\":\"actor:nobody\"}", NULL);
    s_expect_refused (2, "q", "no_peer");
    s_send (2, "{\"type\":\"ask\",\"id\":\"q\",\"to\":\"actor:worker\"}", NULL);
    s_expect_refused (2, "q", "busy"); //  No credit
    s_grant (1, 1);
    s_send (2, "{\"type\":\"ask\",\"id\":\"q\",\"to\":\"actor:worker\"}", NULL);
    s_expect (1, "ask");
    s_send (2, "{\"type\":\"ask\",\"id\":\"q2\",\"to\":\"actor:worker\"}", NULL);
    s_expect_refused (2, "q2", "busy");
    s_send (1, "{\"type\":\"answer\",\"re\":\"q\",\"to\":\"actor:sender\"}", NULL);
    s_expect (2, "answer");
    s_send (2, "{\"type\":\"broker.status\",\"id\":\"s\",\"to\":\"actor:broker\"}", NULL);
    const argos_sim_msg_t *status = s_expect (2, "broker.status.result");
    assert_int_equal (json_array_size (json_object_get (status->body, "sessions")), 2);
}

static void
test_read (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    s_send (2, "{\"type\":\"status.get\",\"id\":\"q\",\"to\":\"store\"}", NULL);
    assert_string_equal (argos_sim_text (s_expect (2, "store.result")->header, "re"), "q");
    s_send (2, "{\"type\":\"no.such\",\"id\":\"q\",\"to\":\"store\"}", NULL);
    s_expect_refused (2, "q", "denied"); //  No role names it
    s_send (2, "{\"type\":\"status.get\",\"to\":\"store\"}", NULL);
    s_expect_refused (2, "", "invalid");
}

//  ------------------------------------------------------------------------------------------------
//  Topics

#define LIFT ((int64_t) 1 << 32) //  Numbers of one start

static void
s_subscribe (uint64_t conn, const char *topic, int64_t from)
{
    char body[64];
    snprintf (body, sizeof body, "{\"from\":%lld}", (long long) from);
    s_sendf (conn, body, "{\"type\":\"subscribe\",\"id\":\"sub\",\"to\":\"topic:%s\"}", topic);
}

static void
s_publish (const char *type, const char *topic, const char *more)
{
    s_sendf (2, "{\"text\":\"x\"}", "{\"type\":\"%s\",\"id\":\"e\",\"to\":\"topic:%s\"%s}", type,
        topic, more);
}

static void
s_keep (const char *id, const char *type, const char *topic, const char *more)
{
    s_sendf (2, "{\"text\":\"x\"}",
        "{\"type\":\"%s\",\"id\":\"%s\",\"to\":\"topic:%s\",\"durable\":true%s}", type, id, topic,
        more);
    s_expect_accepted (2, id);
}

static void
s_expect_entry (uint64_t conn, const char *type, int64_t n, bool kept)
{
    const argos_sim_msg_t *msg = s_expect (conn, type);
    assert_int_equal (argos_sim_int (msg->meta, "n"), n);
    assert_int_equal (json_is_true (json_object_get (msg->meta, "kept")), kept);
}

static void
s_expect_end (uint64_t conn, int64_t n, bool closed)
{
    const argos_sim_msg_t *msg = s_expect (conn, "end");
    assert_int_equal (argos_sim_int (msg->body, "n"), n);
    assert_int_equal (json_is_true (json_object_get (msg->body, "closed")), closed);
}

static void
test_topic (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    s_hello (3, "reader", 10, "");
    s_hello (4, "late", 10, "");
    s_grant (3, 100);
    s_grant (4, 100);
    s_subscribe (3, "t", 0);
    argos_sim_msg_destroy (&last);
    assert_int_equal (argos_sim_int (s_expect (3, "end")->body, "closed"), -1);
    s_publish ("p0", "t", "");
    s_keep ("k1", "k1", "t", "");
    s_publish ("p2", "t", "");
    s_expect_entry (3, "p0", 0, false);
    s_expect_entry (3, "k1", 1, true);
    s_expect_entry (3, "p2", 2, false);
    s_subscribe (4, "t", 1);
    s_expect_entry (4, "k1", 1, true);
    s_expect_entry (4, "p2", 2, false);
    s_expect_end (4, 2, false);
    s_keep ("k3", "k3", "t", ",\"last\":true");
    s_expect_entry (3, "k3", 3, true);
    s_expect_entry (4, "k3", 3, true);
    s_publish ("p4", "t", "");
    s_expect_refused (2, "e", "conflict");
    s_subscribe (4, "t", 0);
    s_expect_entry (4, "p0", 0, false);
    s_expect_entry (4, "k1", 1, true);
    s_expect_entry (4, "p2", 2, false);
    s_expect_entry (4, "k3", 3, true);
    s_expect_end (4, 3, true);
    //  After a restart only what was kept, and later entries are refused or let go
    argos_sim_net_crash (net);
    s_hello (3, "reader", 10, "");
    s_grant (3, 100);
    s_subscribe (3, "t", 0);
    s_expect_entry (3, "k1", 1, true);
    s_expect_entry (3, "k3", 3, true);
    s_expect_end (3, 3, true);
    s_hello (2, "sender", 10, "");
    s_keep ("k4", "k4", "t", "");
    s_expect_nothing (3);
    argos_sim_net_sleep (net, 1000);
}

static void
test_topic_numbers_after_restarts (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    s_keep ("k0", "k", "t", "");
    argos_sim_net_crash (net);
    s_hello (2, "sender", 10, "");
    s_publish ("p", "t", "");
    argos_sim_net_crash (net);
    s_hello (2, "sender", 10, "");
    s_hello (3, "reader", 10, "");
    s_grant (3, 100);
    s_publish ("p", "t", "");
    s_keep ("k1", "k", "t", "");
    s_subscribe (3, "t", 0); //  Known by its own entries of this start, not by the earlier ones
    s_expect_entry (3, "k", 0, true);
    s_expect_entry (3, "p", 2 * LIFT, false);
    s_expect_entry (3, "k", 2 * LIFT + 1, true);
    s_expect_end (3, 2 * LIFT + 1, false);
    argos_sim_net_crash (net);
    s_hello (3, "reader", 10, "");
    s_grant (3, 100);
    s_subscribe (3, "t", 1);
    s_expect_entry (3, "k", 2 * LIFT + 1, true);
    s_expect_end (3, 2 * LIFT + 1, false);
}

//  A passing entry waits for the commit of a kept one before it; a number whose commit fails is
//  skipped.

static void
test_topic_order (void **state)
{
    (void) state;
    s_hello (1, "sender.2", 10, ""); //  Of the same base name, so that the topic is its own
    s_serve (1, "work", 1);
    s_hello (2, "sender", 10, "");
    s_hello (3, "reader", 10, "");
    s_grant (3, 100);
    s_subscribe (3, "t", 0);
    s_expect (3, "end");
    s_put ("a", "k", "");
    lease_t a = s_leased (1, "a");
    argos_sim_net_send (net, 2, ARGOS_ROLE_LOCAL,
        "{\"type\":\"k0\",\"id\":\"k0\",\"to\":\"topic:t\",\"durable\":true}", NULL);
    argos_sim_net_send (net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"p1\",\"to\":\"topic:t\"}", NULL);
    s_expect_nothing (3);
    argos_sim_net_settle (net);
    s_expect_entry (3, "k0", 0, true);
    s_expect_entry (3, "p1", 1, false);
    argos_sim_part_t parts[2] = { { "{\"type\":\"k2\",\"to\":\"topic:t\",\"durable\":true}", NULL },
        { "{\"type\":\"job\",\"to\":\"service:wrok\",\"durable\":true}", NULL } };
    s_commit_with (1, "commit", a, 2, "", parts, 1); //  n does not follow: refused by the store
    s_expect_refused (1, "c2", "fenced");
    s_commit_with (1, "commit", a, 1, "", parts, 1);
    s_expect (1, "accepted");
    s_expect_entry (3, "k2", 3, true);
}

static void
test_topic_fenced (void **state)
{
    (void) state;
    s_pair (1);
    s_put ("a", "k", "");
    lease_t a = s_leased (1, "a");
    s_sendf (1, NULL,
        "{\"type\":\"p\",\"id\":\"e\",\"to\":\"topic:t\",\"seq\":%lld,\"lease\":%lld}",
        (long long) a.seq, (long long) a.lease);
    s_expect_nothing (1);
    s_sendf (1, NULL,
        "{\"type\":\"p\",\"id\":\"e\",\"to\":\"topic:t\",\"seq\":%lld,\"lease\":%lld}",
        (long long) a.seq, (long long) a.lease + 1);
    s_expect_refused (1, "e", "fenced");
    //  A kept entry under a lease is a part of a commit
    s_sendf (1, NULL,
        "{\"type\":\"p\",\"id\":\"e\",\"to\":\"topic:t\",\"durable\":true,\"seq\":%lld,\"lease\":%"
        "lld}",
        (long long) a.seq, (long long) a.lease);
    s_expect_refused (1, "e", "invalid");
}

static void
test_topic_trimmed (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    s_hello (3, "reader", 10, "");
    s_grant (3, 10000);
    for (int i = 0; i < 5000; i++) {
        char more[64], id[32];
        snprintf (id, sizeof id, "k%d", i);
        snprintf (more, sizeof more, "%s", i % 64 == 40 ? ",\"keyframe\":true" : "");
        if (i % 32 == 0)
            s_keep (id, "k", "t", "");
        else
            s_publish ("p", "t", more);
    }
    s_subscribe (3, "t", 0);
    int64_t n = -1, kept = 0;
    bool ring = false;
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (net, 3))) {
        if (json_object_get (msg->meta, "n")) {
            assert_true (argos_sim_int (msg->meta, "n") > n);
            n = argos_sim_int (msg->meta, "n");
            kept += json_is_true (json_object_get (msg->meta, "kept"));
            if (!json_is_true (json_object_get (msg->meta, "kept")) && !ring) {
                ring = true; //  The first passing one has the whole text
                assert_true (json_is_true (json_object_get (msg->header, "keyframe")));
            }
        }
        argos_sim_msg_destroy (&msg);
    }
    assert_int_equal (n, 4999);
    assert_int_equal (kept, 5000 / 32 + 1);
}

static void
test_topic_credit (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    s_hello (3, "reader", 10, "");
    s_subscribe (3, "t", 0);
    s_expect (3, "end");
    for (int i = 0; i < 100; i++)
        s_keep ((char[]){ 'k', (char) ('0' + i / 10), (char) ('0' + i % 10), 0 }, "k", "t", "");
    s_expect_nothing (3);
    s_grant (3, 2);
    s_expect_entry (3, "k", 0, true);
    s_expect_entry (3, "k", 1, true);
    s_expect_nothing (3);
    argos_sim_net_crash (net);
    s_hello (3, "reader", 10, "");
    s_grant (3, 70);
    s_subscribe (3, "t", 1);
    for (int i = 1; i < 71; i++)
        s_expect_entry (3, "k", i, true);
    s_expect_nothing (3);
    s_send (3, "{\"type\":\"credit\",\"id\":\"c\"}", "{\"messages\":69,\"bytes\":1}");
    s_expect_refused (3, "c", "credit");
    s_grant (3, 200);
    for (int i = 71; i < 100; i++)
        s_expect_entry (3, "k", i, true);
    s_expect_end (3, 99, false);
    s_send (3, "{\"type\":\"unsubscribe\",\"id\":\"u\",\"to\":\"topic:t\"}", NULL);
    s_expect_accepted (3, "u");
    s_hello (2, "sender", 10, "");
    s_keep ("l", "k", "t", "");
    s_expect_nothing (3);
}

static void
test_topic_two_readers_before_it_exists (void **state)
{
    (void) state;
    s_hello (2, "sender", 10, "");
    for (uint64_t conn = 3; conn < 5; conn++) {
        s_hello (conn, conn == 3 ? "r3" : "r4", 10, "");
        s_grant (conn, 10);
        s_subscribe (conn, "t", 0);
        s_expect_end (conn, -1, false);
    }
    assert_int_equal (argos_sim_net_number (net, "SELECT count (*) FROM topics"), 0);
    s_publish ("p", "t", "");
    s_expect_entry (3, "p", 0, false);
    s_expect_entry (4, "p", 0, false);
}

//  ------------------------------------------------------------------------------------------------
//  Windows and bad input

static void
test_window (void **state)
{
    (void) state;
    net->config.window_messages = 8;
    argos_sim_net_crash (net);
    s_hello (1, "worker", 10, "");
    s_serve (1, "work", 0);
    s_hello (2, "sender", 10, "");
    char header[TEXT];
    for (int i = 0; i < 9; i++) {
        snprintf (header, sizeof header,
            "{\"type\":\"job\",\"id\":\"i%d\",\"to\":\"service:work\",\"durable\":true}", i);
        argos_sim_net_send (net, 2, ARGOS_ROLE_LOCAL, header, NULL);
    }
    s_expect_refused (2, "i8", "credit");
    argos_sim_net_settle (net);
    int accepted = 0;
    int64_t granted = 0;
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (net, 2))) {
        accepted += strcmp (argos_sim_text (msg->header, "type"), "accepted") == 0;
        if (strcmp (argos_sim_text (msg->header, "type"), "credit") == 0)
            granted = argos_sim_int (msg->body, "messages");
        argos_sim_msg_destroy (&msg);
    }
    assert_int_equal (accepted, 8);
    assert_in_range (granted, 13, 17);
}

typedef struct {
    const char *header; //  Sent
    const char *re;     //  Refused with this id
    const char *code;   //  and this code
} bad_t;

static void
test_bad_headers (void **state)
{
    (void) state;
    static const bad_t bad[] = {
        { "", "", "invalid" },
        { "{", "", "invalid" },
        { "[]", "", "invalid" },
        { "{\"type\":\"job\",\"id\":\"x\",\"to\":\"service:work\",\"type\":\"a\"}", "x",
            "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"more\":1}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"key\":{}}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"key\":\"\\u0000\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"key\":\"\\ud800\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"key\":\"\xff\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"n\":9007199254740993}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"ttl_ms\":0}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"Job\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"to\":\"queue:work\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"to\":\"service:work\",\"seq\":1,\"lease\":1}", "x",
            "invalid" },
        { "{\"type\":\"job\",\"to\":\"service:work\",\"durable\":true}", "", "invalid" },
        { "{\"type\":\"job\",\"to\":\"service:work\"}", "", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"to\":\"actor:work\",\"durable\":true}", "x",
            "invalid" },
        { "{\"id\":\"x\",\"type\":\"accepted\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"welcome\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"commit\"}", "x", "invalid" },
        { "{\"type\":\"commit\",\"seq\":1,\"lease\":1,\"n\":1}", "", "invalid" },
        { "{\"id\":\"x\",\"type\":\"commit\",\"seq\":1,\"lease\":1}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"commit\",\"seq\":1,\"lease\":1,\"n\":1}", "x", "fenced" },
        { "{\"id\":\"x\",\"type\":\"done\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"done\",\"durable\":true,\"to\":\"service:work\",\"seq\":1,"
          "\"lease\":1}",
            "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"commit\",\"durable\":true,\"to\":\"service:work\"}", "x",
            "invalid" },
        { "{\"id\":\"x\",\"type\":\"release\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"release\",\"seq\":1,\"lease\":1}", "x", "not_found" },
        { "{\"id\":\"x\",\"type\":\"serve\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"credit\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"subscribe\"}", "x", "invalid" },
        { "{\"type\":\"subscribe\",\"to\":\"topic:t\"}", "", "invalid" },
        { "{\"id\":\"x\",\"type\":\"hello\"}", "x", "invalid" },
        { "{\"id\":\"x\",\"type\":\"job\",\"to\":\"store\",\"durable\":true}", "x", "denied" },
    };
    s_pair (1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        s_send (2, bad[i].header, NULL);
        s_expect_refused (2, bad[i].re, bad[i].code);
    }
    char *large = malloc (8192);
    memset (large, ' ', 8191);
    large[8191] = 0;
    memcpy (large, "{\"id\":\"x\",\"type\":\"job\"", 22);
    large[8190] = '}';
    s_send (2, large, NULL);
    free (large);
    s_expect (2, "refused");
    s_put ("a", "k", ""); //  Nothing is disturbed
    s_leased (1, "a");
}

static void
test_bad_frames (void **state)
{
    (void) state;
    static const char header[] =
        "{\"type\":\"job\",\"id\":\"x\",\"to\":\"service:work\",\"durable\":true}";
    static const char commit[] = "{\"type\":\"commit\",\"id\":\"x\"}";
    const char *frames[140];
    size_t sizes[140];
    s_pair (1);
    for (size_t i = 0; i < 140; i++) {
        frames[i] = header;
        sizes[i] = strlen (header);
    }
    argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 0);
    s_expect_refused (2, "", "invalid");
    argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 4);
    s_expect_refused (2, "", "invalid");
    frames[0] = "AR1";
    sizes[0] = 3;
    argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 1);
    s_expect_refused (2, "", "invalid");
    for (size_t count = 2; count < 6; count++) { //  Too few, a meta, parts that don't belong
        argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, count);
        s_expect_refused (2, "x", "invalid");
    }
    sizes[2] = 0;
    argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 6);
    s_expect_refused (2, "x", "invalid");
    frames[1] = commit;
    sizes[1] = strlen (commit);
    argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 6); //  A body beside parts
    s_expect_refused (2, "x", "invalid");
    sizes[3] = 0;
    argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 7);
    s_expect_refused (2, "x", "invalid");
    argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 134);
    s_expect_refused (2, "x", "invalid");
    char *large = calloc (1, ARGOS_PART_MAX + 1);
    frames[5] = large;
    sizes[5] = ARGOS_PART_MAX + 1;
    argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 6);
    s_expect_refused (2, "x", "invalid");
    frames[7] = frames[9] = large;
    sizes[5] = sizes[7] = sizes[9] = ARGOS_PART_MAX;
    argos_sim_net_frames (net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 10);
    s_expect_refused (2, "x", "invalid");
    free (large);
}

static void
test_commit_without_lease (void **state)
{
    (void) state;
    s_pair (4);
    argos_sim_part_t parts[3] = {
        { "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:work\",\"key\":\"a\",\"durable\":true}",
            NULL },
        { "{\"type\":\"cursor.put\",\"to\":\"store\"}", "{\"name\":\"offset\",\"value\":7}" },
        { "{\"type\":\"job\",\"id\":\"b\",\"to\":\"service:work\",\"key\":\"b\",\"durable\":true}",
            NULL },
    };
    argos_sim_net_commit (net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"commit\",\"id\":\"u\"}", parts, 3);
    argos_sim_net_settle (net);
    int64_t seq = s_expect_accepted (2, "u");
    assert_int_equal (s_leased (1, "a").seq, seq);
    s_leased (1, "b");
    argos_sim_net_commit (net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"commit\",\"id\":\"u\"}", parts, 3);
    argos_sim_net_settle (net);
    assert_int_equal (s_expect_accepted (2, "u"), seq);
    s_expect_nothing (1);
    parts[1].body = "{\"name\":7}";
    argos_sim_net_commit (net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"commit\",\"id\":\"v\"}", parts, 3);
    argos_sim_net_settle (net);
    assert_int_equal (argos_sim_int (s_expect (2, "refused")->body, "part"), 1);
    s_expect_nothing (1);
}

#define CORE_TEST(name) cmocka_unit_test_setup_teardown (name, s_setup, s_teardown)

int
main (void)
{
    const struct CMUnitTest tests[] = { CORE_TEST (test_hello), CORE_TEST (test_superseded),
        CORE_TEST (test_hello_refused), CORE_TEST (test_insert_leased), CORE_TEST (test_repeat),
        CORE_TEST (test_fifo_and_slots), CORE_TEST (test_busy_lane_keeps_its_turn),
        CORE_TEST (test_urgent), CORE_TEST (test_types), CORE_TEST (test_not_before),
        CORE_TEST (test_due_while_inserting), CORE_TEST (test_expired), CORE_TEST (test_no_service),
        CORE_TEST (test_roles), CORE_TEST (test_commit_emits), CORE_TEST (test_resume),
        CORE_TEST (test_new_instance), CORE_TEST (test_silence),
        CORE_TEST (test_lease_outlives_restart), CORE_TEST (test_in_process_holder),
        CORE_TEST (test_unreachable_worker), CORE_TEST (test_release),
        CORE_TEST (test_parked_over_restart), CORE_TEST (test_reject), CORE_TEST (test_strikes),
        CORE_TEST (test_side), CORE_TEST (test_side_waits_with_the_lane),
        CORE_TEST (test_side_after_resume), CORE_TEST (test_side_to_a_deaf_holder),
        CORE_TEST (test_request), CORE_TEST (test_request_expires),
        CORE_TEST (test_the_worker_is_told_when_the_requester_is_gone),
        CORE_TEST (test_requests_of_a_leaving_worker), CORE_TEST (test_actor),
        CORE_TEST (test_read), CORE_TEST (test_topic),
        CORE_TEST (test_topic_numbers_after_restarts), CORE_TEST (test_topic_order),
        CORE_TEST (test_topic_fenced), CORE_TEST (test_topic_trimmed),
        CORE_TEST (test_topic_credit), CORE_TEST (test_topic_two_readers_before_it_exists),
        CORE_TEST (test_window), CORE_TEST (test_bad_headers), CORE_TEST (test_bad_frames),
        CORE_TEST (test_commit_without_lease) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
