//  test_agent_stop - stops of turns, queued runs and sessions, through the real broker and store.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent_kit.h"

#include <string.h>

static akit_t *s_kit = NULL;

//  Stops run (NULL = all) and waits for the end of watched; returns the msec that it took
static int64_t
s_stop (const char *session, const akit_run_t *run, akit_run_t *watched)
{
    int64_t start = zclock_mono ();
    akit_stop (s_kit, session, run);
    akit_until_ended (s_kit, watched);
    return zclock_mono () - start;
}

static void
s_check_empty (const char *session)
{
    int64_t deadline = zclock_mono () + 2000;
    size_t count = 1;
    while (count && zclock_mono () < deadline)
        count = json_array_size (
            json_object_get (akit_request (s_kit, "store", "lane.list",
                                 json_pack ("{s:s, s:s}", "service", "turn", "key", session)),
                "messages"));
    assert_int_equal (count, 0);
}

static void
s_a_stream_is_stopped_at_once (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "stream", "!slow 1000", NULL);
    akit_until_deltas (s_kit, run, 3);
    int64_t msec = s_stop ("stream", run, run);
    print_message ("stop of a stream: %d msec\n", (int) msec);
    assert_in_range (msec, 0, 500);
    assert_string_equal (run->ended, "run.cancelled");
    assert_string_equal (json_string_value (json_object_get (run->last, "reason")), "test");
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->delivered, "Stopped.");
    assert_string_equal (run->kind, "notice");
    char expected[4096];
    snprintf (
        expected, sizeof expected, "user:!slow 1000|assistant:%s|", argos_text_str (&run->delta));
    char *transcript = akit_transcript (s_kit, "stream");
    assert_string_equal (transcript, expected);
    free (transcript);
    s_check_empty ("stream");
    run = akit_ask (s_kit, "stream", "next", NULL);
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->delivered, "You said: next");
}

static void
s_a_silent_provider_is_stopped_at_once (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "silent", "!hang", NULL);
    for (int i = 0; i < 5; i++)
        akit_turn (s_kit, 20);
    int64_t msec = s_stop ("silent", NULL, run);
    print_message ("stop of a silent provider: %d msec\n", (int) msec);
    assert_in_range (msec, 0, 500);
    assert_string_equal (run->ended, "run.cancelled");
    s_check_empty ("silent");
}

static void
s_a_stream_that_breaks_is_gone_on_with (void **state)
{
    (void) state;
    static const char begin[] = "This answer is cut";
    akit_run_t *run = akit_ask (s_kit, "cut", "!cut", NULL);
    akit_until_delivered (s_kit, run);
    assert_string_equal (argos_text_str (&run->log), "turn.text run.completed ");
    assert_int_equal (strncmp (argos_text_str (&run->delta), begin, strlen (begin)), 0);
    assert_true (strlen (run->delivered) > strlen (begin));
    assert_string_equal (argos_text_str (&run->delta), run->delivered);
    char *transcript = akit_transcript (s_kit, "cut");
    assert_null (strstr (transcript, "user:The connection"));
    free (transcript);
    s_check_empty ("cut");
}

static void
s_a_running_tool_is_cancelled (void **state)
{
    (void) state;
    s_kit->tool_silent = true;
    int calls = s_kit->tool_calls, cancels = s_kit->tool_cancels;
    akit_run_t *run = akit_ask (s_kit, "tool", "!tool terminal {\"command\":\"sleep\"}", NULL);
    akit_until (s_kit, &s_kit->tool_calls, calls + 1);
    int64_t msec = s_stop ("tool", run, run);
    akit_until (s_kit, &s_kit->tool_cancels, cancels + 1);
    print_message ("stop of a tool: %d msec\n", (int) msec);
    assert_string_equal (argos_text_str (&run->log), "tool.started tool.completed run.cancelled ");
    argos_peer_reply_to (s_kit->peer, s_kit->tool_from, s_kit->tool_id, "tool.result",
        json_pack ("{s:s}", "output", "late"));
    s_kit->tool_silent = false;
    char *transcript = akit_transcript (s_kit, "tool");
    assert_non_null (strstr (transcript, "Cancelled by the user"));
    free (transcript);
    s_check_empty ("tool");
}

static void
s_a_stop_of_all_reaches_what_is_queued (void **state)
{
    (void) state;
    enum { QUEUED = 40 };
    akit_run_t *first = akit_ask (s_kit, "all", "!slow 1000", NULL), *queued[QUEUED];
    for (int i = 0; i < QUEUED; i++)
        queued[i] = akit_ask (s_kit, "all", "queued", NULL);
    akit_until_deltas (s_kit, first, 1);
    s_stop ("all", NULL, first);
    akit_run_t *later = akit_ask (s_kit, "all", "later", NULL);
    for (int i = 0; i < QUEUED; i++) {
        akit_until_delivered (s_kit, queued[i]);
        assert_string_equal (queued[i]->ended, "run.cancelled");
        assert_string_equal (queued[i]->delivered, "Stopped.");
    }
    akit_until_delivered (s_kit, later);
    assert_string_equal (later->delivered, "You said: later");
    s_check_empty ("all");
}

static void
s_a_stop_of_a_queued_run_leaves_the_running_one (void **state)
{
    (void) state;
    akit_run_t *first = akit_ask (s_kit, "other", "!slow 15", NULL);
    akit_run_t *second = akit_ask (s_kit, "other", "second", NULL);
    akit_run_t *third = akit_ask (s_kit, "other", "third", NULL);
    akit_until_deltas (s_kit, first, 1);
    s_stop ("other", second, second);
    assert_string_equal (second->ended, "run.cancelled");
    assert_string_equal (first->ended, "");
    akit_until_delivered (s_kit, first);
    assert_string_equal (first->ended, "run.completed");
    akit_until_delivered (s_kit, third);
    assert_string_equal (third->delivered, "You said: third");
    s_check_empty ("other");
}

static void
s_a_stop_of_a_finished_run_is_just_taken (void **state)
{
    (void) state;
    akit_run_t *first = akit_ask (s_kit, "late", "one", NULL);
    akit_until_delivered (s_kit, first);
    akit_stop (s_kit, "late", first);
    akit_stop (s_kit, "late", NULL);
    s_check_empty ("late");
    akit_run_t *second = akit_ask (s_kit, "late", "!slow 6", NULL);
    akit_until_deltas (s_kit, second, 1);
    akit_stop (s_kit, "late", first);
    akit_until_delivered (s_kit, second);
    assert_string_equal (second->ended, "run.completed");
    s_check_empty ("late");
}

static void
s_the_end_of_a_session_closes_it (void **state)
{
    (void) state;
    akit_run_t *first = akit_ask (s_kit, "end", "!slow 1000", NULL);
    akit_run_t *second = akit_ask (s_kit, "end", "queued", NULL);
    akit_until_deltas (s_kit, first, 1);
    akit_end (s_kit, "end");
    akit_until_ended (s_kit, first);
    akit_until_ended (s_kit, second);
    assert_string_equal (first->ended, "run.cancelled");
    assert_string_equal (second->ended, "run.cancelled");
    s_check_empty ("end");
    json_t *session = json_object_get (
        akit_request (s_kit, "store", "session.get", json_pack ("{s:s}", "id", "end")), "session");
    assert_string_equal (json_string_value (json_object_get (session, "end_reason")), "new");
    akit_run_t *idle = akit_ask (s_kit, "idle", "hello", NULL);
    akit_until_delivered (s_kit, idle);
    akit_end (s_kit, "idle");
    s_check_empty ("idle");
    session = json_object_get (
        akit_request (s_kit, "store", "session.get", json_pack ("{s:s}", "id", "idle")), "session");
    assert_string_equal (json_string_value (json_object_get (session, "end_reason")), "new");
}

static void
s_stops_at_any_moment_leave_nothing_behind (void **state)
{
    (void) state;
    static const char *const texts[] = { "quick", "!slow 3", "!tool terminal {\"command\":\"x\"}",
        "!hang" };
    for (int i = 0; i < 60; i++) {
        char session[32];
        snprintf (session, sizeof session, "any%d", i % 7);
        akit_run_t *run = akit_ask (s_kit, session, texts[i % 4], NULL);
        for (int turns = 0; turns < i % 9; turns++)
            akit_turn (s_kit, 1);
        if (i % 3 == 0)
            akit_stop (s_kit, session, NULL);
        akit_stop (s_kit, session, run);
        akit_until_delivered (s_kit, run);
        assert_true (*run->ended);
    }
    for (int i = 0; i < 7; i++) {
        char session[32];
        snprintf (session, sizeof session, "any%d", i);
        s_check_empty (session);
    }
    for (size_t i = 0; i < s_kit->run_count; i++)
        assert_int_equal (s_kit->runs[i].deliveries, 1);
}

static int
s_set_up (void **state)
{
    (void) state;
    s_kit = akit_new ();
    return 0;
}

static int
s_tear_down (void **state)
{
    (void) state;
    akit_destroy (&s_kit);
    return 0;
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_a_stream_is_stopped_at_once),
        cmocka_unit_test (s_a_silent_provider_is_stopped_at_once),
        cmocka_unit_test (s_a_stream_that_breaks_is_gone_on_with),
        cmocka_unit_test (s_a_running_tool_is_cancelled),
        cmocka_unit_test (s_a_stop_of_all_reaches_what_is_queued),
        cmocka_unit_test (s_a_stop_of_a_queued_run_leaves_the_running_one),
        cmocka_unit_test (s_a_stop_of_a_finished_run_is_just_taken),
        cmocka_unit_test (s_the_end_of_a_session_closes_it),
        cmocka_unit_test (s_stops_at_any_moment_leave_nothing_behind),
    };
    return cmocka_run_group_tests (tests, s_set_up, s_tear_down);
}
