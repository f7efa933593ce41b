//  test_limits - what is refused when too much waits, whose window gets narrow, who is put out.

#include "argos_core_priv.h"
#include "core_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SIZE 80 //  Header and body of core_put, about

//  A worker that takes nothing, and two senders.

static void
s_begin (const argos_core_service_t *services, size_t count)
{
    core_kit_net->config.services = services;
    core_kit_net->config.service_count = count;
    argos_sim_net_crash (core_kit_net);
    core_hello (1, "worker");
    core_serve (1, "work", 0, 1);
    core_hello (2, "sender");
    core_hello (3, "other");
}

static void
s_fill (uint64_t conn, const char *prefix, const char *key, int count)
{
    for (int i = 0; i < count; i++) {
        char id[32];
        snprintf (id, sizeof id, "%s%d", prefix, i);
        core_put (conn, id, "work", key ? key : id, "");
    }
}

//  One more is refused, and the sentence has this word.

static void
s_busy (uint64_t conn, const char *key, const char *more, const char *word)
{
    core_sendf (conn, "{\"text\":\"x\"}",
        "{\"type\":\"job\",\"id\":\"over\",\"to\":\"service:work\",\"key\":\"%s\",\"durable\":true%"
        "s}",
        key, more);
    const argos_sim_msg_t *msg = core_expect_re (conn, "refused", "over");
    assert_string_equal (argos_sim_text (msg->body, "code"), "busy");
    assert_non_null (strstr (argos_sim_text (msg->body, "reason"), word));
}

static void
test_service_messages (void **state)
{
    (void) state;
    static const argos_core_service_t limits[] = { { .service = "work", .max = 6 } };
    s_begin (limits, 1);
    s_fill (2, "a", NULL, 6);
    s_busy (3, "k", "", "service");
    core_put (3, "urgent", "work", "k", ",\"urgent\":true"); //  Has a limit of its own
    core_serve (1, "work", 1, 1);
    core_done (1, core_leased (1, NULL));
    core_expect (1, "accepted");
    core_leased (1, NULL);
    core_done (1,
        (core_lease_t){
            argos_sim_net_number (core_kit_net, "SELECT seq FROM queue WHERE lease IS NOT NULL"),
            argos_sim_net_number (core_kit_net, "SELECT lease FROM queue WHERE lease IS NOT NULL"),
            1 });
    core_expect (1, "accepted");
    core_put (3, "room", "work", "k", "");
}

static void
test_service_bytes (void **state)
{
    (void) state;
    core_kit_net->config.service.bytes = 5LL * SIZE + SIZE / 2;
    s_begin (NULL, 0);
    s_fill (2, "a", NULL, 5);
    s_busy (3, "k", "", "service");
}

static void
test_lane (void **state)
{
    (void) state;
    static const argos_core_service_t limits[] = { { .service = "work", .lane_max = 4 } };
    s_begin (limits, 1);
    s_fill (2, "a", "k", 4);
    s_busy (3, "k", "", "lane");
    s_fill (3, "b", "k2", 4); //  Another lane has room
}

static void
test_lane_bytes (void **state)
{
    (void) state;
    core_kit_net->config.lane.bytes = 4LL * SIZE + SIZE / 2;
    s_begin (NULL, 0);
    s_fill (2, "a", "k", 4);
    s_busy (2, "k", "", "lane");
    s_fill (2, "b", "k2", 1);
}

//  All instances of a peer together; others are not concerned. The counts are there after a
//  restart.

static void
test_peer (void **state)
{
    (void) state;
    core_kit_net->config.peer.messages = 5;
    s_begin (NULL, 0);
    s_fill (2, "a", NULL, 5);
    s_busy (2, "k", "", "peer");
    core_hello (4, "sender.2@edge");
    s_busy (4, "k", "", "peer");
    s_fill (3, "b", NULL, 3);
    argos_sim_net_crash (core_kit_net);
    core_hello (2, "sender");
    s_busy (2, "k", "", "peer");
    core_hello (3, "other");
    s_fill (3, "c", NULL, 2);
}

//  What is emitted under a lease is counted and always taken.

static void
test_emitted (void **state)
{
    (void) state;
    static const argos_core_service_t limits[] = { { .service = "work", .max = 2 } };
    s_begin (limits, 1);
    s_fill (2, "a", NULL, 2);
    core_serve (1, "work", 1, 1);
    core_lease_t lease = core_leased (1, "a0");
    argos_sim_part_t part = {
        "{\"type\":\"job\",\"id\":\"e\",\"to\":\"service:work\",\"durable\":true}", "{}"
    };
    char header[128];
    snprintf (header, sizeof header,
        "{\"type\":\"commit\",\"id\":\"c\",\"seq\":%lld,\"lease\":%lld,\"n\":1}",
        (long long) lease.seq, (long long) lease.lease);
    argos_sim_net_commit (core_kit_net, 1, ARGOS_ROLE_LOCAL, header, &part, 1);
    argos_sim_net_settle (core_kit_net);
    core_expect_re (1, "accepted", "c");
    s_busy (3, "k", "", "service");
}

static void
test_urgent (void **state)
{
    (void) state;
    s_begin (NULL, 0);
    for (int i = 0; i < 1024; i++) {
        char id[32];
        snprintf (id, sizeof id, "u%d", i);
        core_put (2, id, "work", id, ",\"urgent\":true");
    }
    s_busy (3, "k", ",\"urgent\":true", "urgent");
    core_put (3, "plain", "work", "k", "");
}

//  H31: a stop waits behind others at no place: the service is full, two peers have filled their
//  windows for the store, and yet it is taken, is in the next batch but one at the latest, and is
//  then before its holder. That its lane is served first when nobody holds it is tested in
//  test_core_lane.

static void
test_stop_under_load (void **state)
{
    (void) state;
    static const argos_core_service_t limits[] = { { .service = "work", .max = 6 } };
    s_begin (limits, 1);
    core_hello (4, "third");
    core_serve (1, "calm", 0, 1);
    core_serve (1, "work", 1, 1);
    core_put (2, "turn", "work", "chat", "");
    core_lease_t lease = core_leased (1, "turn");
    s_fill (2, "a", NULL, 5);
    s_busy (3, "chat", "", "service");
    for (int i = 0; i < 2 * 200; i++) {
        char header[160];
        snprintf (header, sizeof header,
            "{\"type\":\"job\",\"id\":\"f%d\",\"to\":\"service:calm\",\"durable\":true}", i);
        argos_sim_net_send (
            core_kit_net, (uint64_t) (2 + 2 * (i % 2)), ARGOS_ROLE_LOCAL, header, "{}");
    }
    assert_int_equal (argos_core_outstanding (core_kit_net->core), 128);
    argos_sim_net_send (core_kit_net, 3, ARGOS_ROLE_LOCAL,
        "{\"type\":\"job\",\"id\":\"stop\",\"to\":\"service:work\",\"key\":\"chat\",\"durable\":"
        "true,"
        "\"side\":true,\"urgent\":true}",
        "{\"text\":\"x\"}");
    argos_sim_net_batch (core_kit_net, 64, true); //  Two were with the store before it came
    argos_sim_net_batch (core_kit_net, 64, true);
    core_expect_nothing (1);
    argos_sim_net_batch (core_kit_net, 64, true);
    const argos_sim_msg_t *msg = core_expect (1, "job");
    assert_string_equal (argos_sim_text (msg->header, "id"), "stop");
    assert_int_equal (argos_sim_int (msg->meta, "mail"), lease.seq);
}

//  The newest grant that a connection got, 0 = none

static int64_t
s_granted (uint64_t conn)
{
    int64_t granted = 0;
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (core_kit_net, conn))) {
        if (strcmp (argos_sim_text (msg->header, "type"), "credit") == 0)
            granted = argos_sim_int (msg->body, "messages");
        argos_sim_msg_destroy (&msg);
    }
    return granted;
}

//  From half of a limit on the window of who sends there is narrow, and nobody else's.

static void
test_narrow_window (void **state)
{
    (void) state;
    static const argos_core_service_t limits[] = { { .service = "work", .max = 100 } };
    core_kit_net->config.window_messages = 20;
    s_begin (limits, 1);
    core_serve (1, "calm", 0, 1);
    for (int i = 0; i < 80; i++) {
        char header[160];
        snprintf (header, sizeof header,
            "{\"type\":\"job\",\"id\":\"a%d\",\"to\":\"service:work\",\"durable\":true}", i);
        core_send (2, header, NULL);
        snprintf (header, sizeof header,
            "{\"type\":\"job\",\"id\":\"b%d\",\"to\":\"service:calm\",\"durable\":true}", i);
        core_send (3, header, NULL);
    }
    assert_in_range (s_granted (2), 80 + 4, 80 + 8);
    assert_in_range (s_granted (3), 80 + 10, 80 + 20);
}

//  ------------------------------------------------------------------------------------------------
//  Who is put out

static void
s_flood (uint64_t conn, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        char header[160];
        snprintf (header, sizeof header,
            "{\"type\":\"job\",\"id\":\"f%d\",\"to\":\"service:work\",\"durable\":true}", i);
        argos_sim_net_send (core_kit_net, conn, ARGOS_ROLE_LOCAL, header, NULL);
    }
}

//  One peer sends without looking at its window. It costs the others no more than its window, and
//  it is put out: counted in requests to the store and answers, not in time.

static void
test_one_abuser (void **state)
{
    (void) state;
    s_begin (NULL, 0);
    s_flood (2, 0, 10000); //  A window of 256, 64 beyond it; the rest is not heard
    argos_sim_net_send (core_kit_net, 3, ARGOS_ROLE_LOCAL,
        "{\"type\":\"job\",\"id\":\"good\",\"to\":\"service:work\",\"durable\":true}", NULL);
    size_t before = 0;
    argos_sim_msg_t *msg = NULL;
    while (!msg && core_kit_net->count) {
        before += argos_sim_net_batch (core_kit_net, 64, true);
        msg = argos_sim_net_recv (core_kit_net, 3);
    }
    if (!msg) {
        fail_msg ("no answer came");
        return; //  Not reached, but gcc does not know
    }
    assert_string_equal (argos_sim_text (msg->header, "type"), "accepted");
    argos_sim_msg_destroy (&msg);
    assert_in_range (before, 1, 128); //  The abuser's share, and its own batch
    int64_t credit = 0;
    while ((msg = argos_sim_net_recv (core_kit_net, 2))) {
        credit += strcmp (argos_sim_text (msg->body, "code"), "credit") == 0;
        argos_sim_msg_destroy (&msg);
    }
    assert_int_equal (credit, 64 + 1);
    assert_int_equal (core_kit_net->core->cuts[CUT_CREDIT], 1);
}

//  What is no message is refused, and words count in no window; who sends very many of either is
//  put out, and can't come back for a while. Others are not concerned.

static void
test_noise (void **state)
{
    (void) state;
    static const char *const none[] = { "AR1", "{\"type\":", "", "" };
    static const size_t sizes[] = { 3, 8, 0, 0 };
    s_begin (NULL, 0);
    for (int i = 0; i < 1000; i++) {
        argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, none, sizes, 4);
        core_expect_refused (2, "", "invalid");
    }
    argos_sim_net_sleep (core_kit_net, 11000);
    for (int i = 0; i < 1000; i++)
        argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, none, sizes, 4);
    assert_int_equal (core_kit_net->core->cuts[CUT_NOISE], 0);
    for (int i = 0; i < 2001; i++)
        argos_sim_net_send (core_kit_net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"ping\"}", NULL);
    assert_int_equal (core_kit_net->core->cuts[CUT_NOISE], 1);
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (core_kit_net, 2)))
        argos_sim_msg_destroy (&msg);
    core_send (9, "{\"type\":\"hello\",\"id\":\"h\"}",
        "{\"name\":\"sender\",\"instance\":2,\"protocol\":1}");
    core_expect_refused (9, "h", "busy");
    core_hello (2, "somebody");
    core_put (3, "other", "work", "k", "");
    argos_sim_net_sleep (core_kit_net, 5001);
    core_hello (9, "sender");
}

//  Each hello is a commit: another one on the same connection does not clear the account.

static void
test_many_hellos (void **state)
{
    (void) state;
    s_begin (NULL, 0);
    for (int i = 0; i < 200; i++)
        argos_sim_net_send (core_kit_net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"hello\",\"id\":\"h\"}",
            i % 2 ? "{\"name\":\"one\",\"instance\":1,\"protocol\":1}"
                  : "{\"name\":\"two\",\"instance\":1,\"protocol\":1}");
    argos_sim_net_settle (core_kit_net);
    assert_int_equal (core_kit_net->core->cuts[CUT_NOISE], 1);
    core_put (3, "other", "work", "k", "");
}

static bool
s_deaf (void *arg, uint64_t conn)
{
    (void) arg;
    return conn == 2;
}

//  A connection that takes nothing: its session gets nothing new, and is over after slow_ms.

static void
test_slow_is_put_out (void **state)
{
    (void) state;
    s_begin (NULL, 0);
    core_serve (2, "slow", 4, 1);
    core_kit_net->deaf = s_deaf;
    core_put (3, "a", "slow", "a", "");
    for (int i = 0; i < 14; i++) {
        argos_sim_net_sleep (core_kit_net, 2000);
        core_send (2, "{\"type\":\"ping\"}", NULL); //  It lives
        assert_int_equal (core_kit_net->core->cuts[CUT_SLOW], 0);
        assert_int_equal (argos_sim_net_number (
                              core_kit_net, "SELECT count (*) FROM queue WHERE lease IS NOT NULL"),
            0);
    }
    argos_sim_net_sleep (core_kit_net, 2001);
    assert_int_equal (core_kit_net->core->cuts[CUT_SLOW], 1);
    core_kit_net->deaf = NULL;
    core_send (2, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    core_expect_refused (2, "p", "no_session");
    assert_int_equal (core_kit_net->core->slow_sessions, 0);
}

//  It takes something again in time: nothing is lost, and it goes on.

static void
test_slow_recovers (void **state)
{
    (void) state;
    s_begin (NULL, 0);
    core_serve (2, "slow", 4, 1);
    core_kit_net->deaf = s_deaf;
    core_put (3, "a", "slow", "a", "");
    argos_sim_net_sleep (core_kit_net, 2000);
    core_kit_net->deaf = NULL;
    argos_sim_net_sleep (core_kit_net, 1001); //  By itself, without a word of the peer
    assert_int_equal (core_leased (2, "a").attempt, 1);
    assert_int_equal (core_kit_net->core->slow_sessions, 0);
}

//  An answer was lost: the peer has to say hello again, and repeats what was not answered.

static void
test_slow_has_lost_an_answer (void **state)
{
    (void) state;
    s_begin (NULL, 0);
    core_kit_net->deaf = s_deaf;
    core_send (2, "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:work\",\"durable\":true}", NULL);
    core_kit_net->deaf = NULL;
    argos_sim_net_sleep (core_kit_net, 1001);
    core_expect_refused (2, "", "no_session");
    core_hello (2, "sender");
    core_send (2, "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:work\",\"durable\":true}", NULL);
    core_expect_re (2, "accepted", "a");
    assert_int_equal (
        argos_sim_net_number (core_kit_net, "SELECT count (*) FROM queue WHERE id = 'a'"), 1);
}

#define LIMIT_TEST(name) cmocka_unit_test_setup_teardown (name, core_kit_setup, core_kit_teardown)

int
main (void)
{
    const struct CMUnitTest tests[] = { LIMIT_TEST (test_service_messages),
        LIMIT_TEST (test_service_bytes), LIMIT_TEST (test_lane), LIMIT_TEST (test_lane_bytes),
        LIMIT_TEST (test_peer), LIMIT_TEST (test_emitted), LIMIT_TEST (test_urgent),
        LIMIT_TEST (test_stop_under_load), LIMIT_TEST (test_narrow_window),
        LIMIT_TEST (test_one_abuser), LIMIT_TEST (test_noise), LIMIT_TEST (test_many_hellos),
        LIMIT_TEST (test_slow_is_put_out), LIMIT_TEST (test_slow_recovers),
        LIMIT_TEST (test_slow_has_lost_an_answer) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
