//  test_core - the door of the broker core: sessions, roles, windows, and everything that is
//  refused there.
//
//  Over the real store, step by step: words and answers of docs/protocol.md.

#include "core_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

//  ------------------------------------------------------------------------------------------------
//  Sessions

static void
test_hello (void **state)
{
    (void) state;
    core_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    core_expect_refused (1, "p", "no_session");
    pair_hello (1, "worker", 10, "");
    assert_int_equal (argos_sim_int (core_kit_last->body, "boot"), core_kit_net->config.boot);
    assert_int_equal (argos_sim_int (core_kit_last->body, "ping_ms"), 2000);
    core_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    assert_string_equal (argos_sim_text (core_expect (1, "pong")->header, "re"), "p");
    pair_hello (100, "gateway", 1, "");
    assert_int_equal (argos_sim_int (core_kit_last->body, "ping_ms"), 0);
    core_send (1, "{\"type\":\"bye\"}", NULL);
    core_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    core_expect_refused (1, "p", "no_session");
}

static void
test_superseded (void **state)
{
    (void) state;
    pair_hello (1, "worker", 10, "");
    pair_hello (2, "worker", 11, "");
    core_expect_refused (1, "", "superseded");
    core_send (1, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    core_expect_refused (1, "p", "no_session");
    core_send (1, "{\"type\":\"hello\",\"id\":\"h\"}",
        "{\"name\":\"worker\",\"instance\":10,\"protocol\":1}");
    core_expect_refused (1, "h", "superseded");
    //  The same instance on a new connection: nobody is told anything
    pair_hello (3, "worker", 11, "");
    core_expect_nothing (2);
    core_send (2, "{\"type\":\"ping\",\"id\":\"p\"}", NULL);
    core_expect_refused (2, "p", "no_session");
}

static void
test_hello_refused (void **state)
{
    (void) state;
    static const char *const bodies[] = { "", "[]", "{\"name\":\"w\",\"instance\":1}",
        "{\"name\":\"W\",\"instance\":1,\"protocol\":1}", "{\"name\":\"w\",\"protocol\":1}",
        "{\"name\":\"w\",\"instance\":1,\"protocol\":3}",
        "{\"name\":\"gateway\",\"instance\":1,\"protocol\":1}",
        "{\"name\":\"gateway.2\",\"instance\":1,\"protocol\":1}",
        "{\"name\":\"w\",\"instance\":1,\"protocol\":1,\"leases\":7}" };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        core_send (1, "{\"type\":\"hello\",\"id\":\"h\"}", bodies[i]);
        core_expect_refused (1, "h", strstr (bodies[i], "gateway") ? "denied" : "invalid");
    }
}

//  The newest version that both speak is taken; when there is none, both hear of both ranges.

static void
test_hello_protocols (void **state)
{
    (void) state;
    core_send (1, "{\"type\":\"hello\",\"id\":\"h\"}",
        "{\"name\":\"w\",\"instance\":1,\"protocol\":4,\"protocols\":[3,4],\"build\":\"new\"}");
    core_expect_refused (1, "h", "invalid");
    const char *reason = argos_sim_text (core_kit_last->body, "reason");
    assert_non_null (strstr (reason, "speaks 1 to 2"));
    assert_non_null (strstr (reason, "says 3 to 4"));
    core_send (1, "{\"type\":\"hello\",\"id\":\"h\"}",
        "{\"name\":\"w\",\"instance\":1,\"protocol\":1,\"protocols\":[2,1]}");
    core_expect_refused (1, "h", "invalid");
    core_send (1, "{\"type\":\"hello\",\"id\":\"h\"}",
        "{\"name\":\"w\",\"instance\":1,\"protocol\":3,\"protocols\":[1,3],\"build\":\"new\"}");
    assert_int_equal (argos_sim_int (core_expect (1, "welcome")->body, "protocol"), 2);
    core_send (
        2, "{\"type\":\"hello\",\"id\":\"h\"}", "{\"name\":\"v\",\"instance\":1,\"protocol\":1}");
    assert_int_equal (argos_sim_int (core_expect (2, "welcome")->body, "protocol"), 1);
}

static void
test_roles (void **state)
{
    (void) state;
    pair_hello (1, "worker", 10, "");
    core_send (1, "{\"type\":\"serve\",\"id\":\"s\"}", "{\"service\":\"turn\",\"slots\":1}");
    core_expect_refused (1, "s", "denied");
    pair_hello (100, "agent", 10, "");
    pair_serve (100, "turn", 1);
    core_send (1,
        "{\"type\":\"turn.request\",\"id\":\"a\",\"to\":\"service:turn\",\"durable\":true}", NULL);
    core_expect_refused (1, "a", "denied");
    core_send (1, "{\"type\":\"turn.stop\",\"id\":\"b\",\"to\":\"service:turn\",\"durable\":true}",
        "{\"reason\":\"r\"}");
    pair_accepted (1, "b");
    core_send (1, "{\"type\":\"x\",\"id\":\"c\",\"to\":\"topic:run.1\"}", NULL);
    core_expect_refused (1, "c", "denied");
    argos_sim_part_t part = { "{\"type\":\"session.create\",\"to\":\"store\"}", "{\"id\":\"s\"}" };
    argos_sim_net_commit (
        core_kit_net, 1, ARGOS_ROLE_LOCAL, "{\"type\":\"commit\",\"id\":\"d\"}", &part, 1);
    argos_sim_net_settle (core_kit_net);
    assert_int_equal (argos_sim_int (core_expect (1, "refused")->body, "part"), 0);
    assert_string_equal (argos_sim_text (core_kit_last->body, "code"), "denied");
}

//  ------------------------------------------------------------------------------------------------
//  Windows and bad input

static void
test_window (void **state)
{
    (void) state;
    core_kit_net->config.window_messages = 8;
    argos_sim_net_crash (core_kit_net);
    pair_hello (1, "worker", 10, "");
    pair_serve (1, "work", 0);
    pair_hello (2, "sender", 10, "");
    char header[CORE_TEXT];
    for (int i = 0; i < 9; i++) {
        snprintf (header, sizeof header,
            "{\"type\":\"job\",\"id\":\"i%d\",\"to\":\"service:work\",\"durable\":true}", i);
        argos_sim_net_send (core_kit_net, 2, ARGOS_ROLE_LOCAL, header, NULL);
    }
    core_expect_refused (2, "i8", "credit");
    argos_sim_net_settle (core_kit_net);
    int accepted = 0;
    int64_t granted = 0;
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (core_kit_net, 2))) {
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
    pair_begin (1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        core_send (2, bad[i].header, NULL);
        core_expect_refused (2, bad[i].re, bad[i].code);
    }
    char *large = malloc (8192);
    memset (large, ' ', 8191);
    large[8191] = 0;
    memcpy (large, "{\"id\":\"x\",\"type\":\"job\"", 22);
    large[8190] = '}';
    core_send (2, large, NULL);
    free (large);
    core_expect (2, "refused");
    pair_put ("a", "k", ""); //  Nothing is disturbed
    pair_leased (1, "a");
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
    pair_begin (1);
    for (size_t i = 0; i < 140; i++) {
        frames[i] = header;
        sizes[i] = strlen (header);
    }
    argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 0);
    core_expect_refused (2, "", "invalid");
    argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 4);
    core_expect_refused (2, "", "invalid");
    frames[0] = "AR1";
    sizes[0] = 3;
    argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 1);
    core_expect_refused (2, "", "invalid");
    for (size_t count = 2; count < 6; count++) { //  Too few, a meta, parts that don't belong
        argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, count);
        core_expect_refused (2, "x", "invalid");
    }
    sizes[2] = 0;
    argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 6);
    core_expect_refused (2, "x", "invalid");
    frames[1] = commit;
    sizes[1] = strlen (commit);
    argos_sim_net_frames (
        core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 6); //  A body beside parts
    core_expect_refused (2, "x", "invalid");
    sizes[3] = 0;
    argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 7);
    core_expect_refused (2, "x", "invalid");
    argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 134);
    core_expect_refused (2, "x", "invalid");
    char *large = calloc (1, ARGOS_PART_MAX + 1);
    frames[5] = large;
    sizes[5] = ARGOS_PART_MAX + 1;
    argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 6);
    core_expect_refused (2, "x", "invalid");
    frames[7] = frames[9] = large;
    sizes[5] = sizes[7] = sizes[9] = ARGOS_PART_MAX;
    argos_sim_net_frames (core_kit_net, 2, ARGOS_ROLE_LOCAL, frames, sizes, 10);
    core_expect_refused (2, "x", "invalid");
    free (large);
}

static void
test_commit_without_lease (void **state)
{
    (void) state;
    pair_begin (4);
    argos_sim_part_t parts[3] = {
        { "{\"type\":\"job\",\"id\":\"a\",\"to\":\"service:work\",\"key\":\"a\",\"durable\":true}",
            NULL },
        { "{\"type\":\"cursor.put\",\"to\":\"store\"}", "{\"name\":\"offset\",\"value\":7}" },
        { "{\"type\":\"job\",\"id\":\"b\",\"to\":\"service:work\",\"key\":\"b\",\"durable\":true}",
            NULL },
    };
    argos_sim_net_commit (
        core_kit_net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"commit\",\"id\":\"u\"}", parts, 3);
    argos_sim_net_settle (core_kit_net);
    int64_t seq = pair_accepted (2, "u");
    assert_int_equal (pair_leased (1, "a").seq, seq);
    pair_leased (1, "b");
    argos_sim_net_commit (
        core_kit_net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"commit\",\"id\":\"u\"}", parts, 3);
    argos_sim_net_settle (core_kit_net);
    assert_int_equal (pair_accepted (2, "u"), seq);
    core_expect_nothing (1);
    parts[1].body = "{\"name\":7}";
    argos_sim_net_commit (
        core_kit_net, 2, ARGOS_ROLE_LOCAL, "{\"type\":\"commit\",\"id\":\"v\"}", parts, 3);
    argos_sim_net_settle (core_kit_net);
    assert_int_equal (argos_sim_int (core_expect (2, "refused")->body, "part"), 1);
    core_expect_nothing (1);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { PAIR_TEST (test_hello), PAIR_TEST (test_superseded),
        PAIR_TEST (test_hello_refused), PAIR_TEST (test_hello_protocols), PAIR_TEST (test_roles),
        PAIR_TEST (test_window), PAIR_TEST (test_bad_headers), PAIR_TEST (test_bad_frames),
        PAIR_TEST (test_commit_without_lease) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
