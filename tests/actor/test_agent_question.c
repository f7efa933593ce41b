//  test_agent_question - a turn that asks people: parked, answered, denied, stopped, killed,
//  through the real broker and store.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent_kit.h"

#include <string.h>

#define ASK "!tool clarify {\"question\":\"Which way?\",\"choices\":[\"left\",\"right\"]}"

static akit_t *s_kit = NULL;

//  The rehearsal model repeats what a tool says, so each result is there twice
static void
s_check_rows (const char *session, const char *wanted, int times)
{
    char *transcript = akit_transcript (s_kit, session);
    int count = 0;
    for (const char *at = transcript; (at = strstr (at, wanted)); at++)
        count++;
    if (count != times)
        fail_msg ("%d times \"%s\" in %s", count, wanted, transcript);
    free (transcript);
}

//  No worker has it: the lease is given back while nobody answers
static void
s_check_parked (const char *session)
{
    int64_t deadline = zclock_mono () + 5000;
    bool leased = true;
    while (leased && zclock_mono () < deadline) {
        const json_t *messages =
            json_object_get (akit_request (s_kit, "store", "lane.list",
                                 json_pack ("{s:s, s:s}", "service", "turn", "key", session)),
                "messages");
        leased = json_is_true (json_object_get (json_array_get (messages, 0), "leased"));
    }
    assert_false (leased);
}

static void
s_an_answer_goes_on_with_the_turn (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "one", ASK, NULL);
    json_t *record = akit_question (s_kit, "one", "open");
    s_check_parked ("one");
    assert_int_equal (akit_answer (s_kit, "one", record, "2", NULL), ARGOS_OK);
    assert_int_equal (akit_answer (s_kit, "one", record, "1", NULL), ARGOS_CONFLICT);
    json_decref (record);
    akit_until_ended (s_kit, run);
    assert_string_equal (run->ended, "run.completed");
    s_check_rows ("one", "user_response\\\":\\\"right", 2);
    assert_string_equal (
        argos_text_str (&run->log), "question.asked question.closed turn.text run.completed ");
    assert_int_equal (run->deliveries, 2); //  The question, and the answer
}

static void
s_a_text_answers_an_open_question (void **state)
{
    (void) state;
    akit_run_t *run =
        akit_ask (s_kit, "open", "!tool clarify {\"question\":\" What is it? \"}", NULL);
    json_t *record = akit_question (s_kit, "open", "open");
    assert_int_equal (akit_answer (s_kit, "open", record, NULL, "a thing"), ARGOS_OK);
    json_decref (record);
    akit_until_ended (s_kit, run);
    s_check_rows ("open", "a thing", 2);
}

static void
s_the_agent_is_killed_while_it_waits (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "killed", ASK, NULL);
    json_t *record = akit_question (s_kit, "killed", "open");
    s_check_parked ("killed");
    akit_agent_stop (s_kit);
    assert_int_equal (akit_answer (s_kit, "killed", record, "1", NULL), ARGOS_OK);
    json_decref (record);
    akit_agent_start (s_kit);
    akit_until_ended (s_kit, run);
    s_check_rows ("killed", "user_response\\\":\\\"left", 2);
    s_check_rows ("killed", "unknown", 0);
}

static void
s_a_stop_cancels_the_question (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "stopped", ASK, NULL);
    json_t *record = akit_question (s_kit, "stopped", "open");
    s_check_parked ("stopped");
    akit_stop (s_kit, "stopped", run);
    akit_until_ended (s_kit, run);
    assert_string_equal (run->ended, "run.cancelled");
    json_t *cancelled = akit_question (s_kit, "stopped", "cancelled");
    assert_int_equal (akit_answer (s_kit, "stopped", record, "1", NULL), ARGOS_CONFLICT);
    s_check_rows ("stopped", "Cancelled. It was not run.", 1);
    json_decref (cancelled);
    json_decref (record);
    run = akit_ask (s_kit, "stopped", "next", NULL);
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->delivered, "You said: next");
}

static void
s_silence_until_the_deadline_is_an_answer (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "silent", ASK, NULL);
    akit_until_ended (s_kit, run);
    json_decref (akit_question (s_kit, "silent", "expired"));
    s_check_rows ("silent", "Decide yourself", 2);
}

static void
s_a_message_for_the_turn_waits_with_it (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "steered", ASK, NULL);
    json_t *record = akit_question (s_kit, "steered", "open");
    s_check_parked ("steered");
    akit_run_t *steer = akit_steer (s_kit, "steered", "be quick");
    assert_int_equal (akit_answer (s_kit, "steered", record, "2", NULL), ARGOS_OK);
    json_decref (record);
    akit_until_ended (s_kit, run);
    akit_until_ended (s_kit, steer);
    s_check_rows ("steered", "user:be quick", 1);
}

#define DANGER "!tool terminal {\"command\":\"rm -rf build\"}"

static void
s_a_dangerous_call_runs_once_it_is_allowed (void **state)
{
    (void) state;
    int calls = s_kit->tool_calls;
    akit_run_t *run = akit_ask (s_kit, "danger", DANGER, NULL);
    json_t *record = akit_question (s_kit, "danger", "open");
    s_check_parked ("danger");
    assert_int_equal (s_kit->tool_calls, calls);
    assert_int_equal (akit_answer (s_kit, "danger", record, "once", NULL), ARGOS_OK);
    json_decref (record);
    akit_until_ended (s_kit, run);
    assert_int_equal (s_kit->tool_calls, calls + 1);
    assert_string_equal (argos_text_str (&run->log),
        "question.asked question.closed tool.started tool.completed turn.text run.completed ");
    //  Once is once
    run = akit_ask (s_kit, "danger", DANGER, NULL);
    record = akit_question (s_kit, "danger", "open");
    assert_int_equal (akit_answer (s_kit, "danger", record, "deny", NULL), ARGOS_OK);
    json_decref (record);
    akit_until_ended (s_kit, run);
    assert_int_equal (s_kit->tool_calls, calls + 1);
    s_check_rows ("danger", "The user has denied this", 2);
    assert_string_equal (
        argos_text_str (&run->log), "question.asked question.closed turn.text run.completed ");
}

static void
s_a_grant_covers_the_session_or_all (void **state)
{
    (void) state;
    static const char *const choices[] = { "session", "always" };
    static const char *const sessions[] = { "grant", "other" };
    for (int i = 0; i < 2; i++) {
        int calls = s_kit->tool_calls;
        akit_run_t *run = akit_ask (s_kit, sessions[i], DANGER, NULL);
        json_t *record = akit_question (s_kit, sessions[i], "open");
        assert_int_equal (akit_answer (s_kit, sessions[i], record, choices[i], NULL), ARGOS_OK);
        json_decref (record);
        akit_until_ended (s_kit, run);
        run = akit_ask (s_kit, i ? "third" : sessions[i], DANGER, NULL);
        akit_until_ended (s_kit, run); //  Nobody is asked again
        assert_int_equal (s_kit->tool_calls, calls + 2);
    }
}

static void
s_the_floor_asks_nobody (void **state)
{
    (void) state;
    int calls = s_kit->tool_calls;
    akit_run_t *run = akit_ask (s_kit, "floor", "!tool terminal {\"command\":\"rm -rf /\"}", NULL);
    akit_until_ended (s_kit, run);
    assert_int_equal (s_kit->tool_calls, calls);
    assert_string_equal (argos_text_str (&run->log), "turn.text run.completed ");
    s_check_rows ("floor", "\"status\":\"blocked\"", 2);
}

//  What was allowed and not known to have run is not run again
static void
s_an_answer_is_used_once (void **state)
{
    (void) state;
    s_kit->tool_silent = true;
    int calls = s_kit->tool_calls;
    akit_run_t *run = akit_ask (s_kit, "used", "!tool terminal {\"command\":\"rm -rf x\"}",
        json_pack ("{s:{s:s, s:s, s:s, s:s, s:s}}", "source", "platform", "test", "account", "main",
            "chat_type", "dm", "chat_id", "c1", "user_id", "u1"));
    akit_until (s_kit, &s_kit->tool_calls, calls + 1); //  Granted for good before
    akit_agent_stop (s_kit);
    s_kit->tool_silent = false;
    akit_agent_start (s_kit);
    akit_until_ended (s_kit, run);
    assert_int_equal (s_kit->tool_calls, calls + 1);
    s_check_rows ("used", "The outcome of this call is unknown", 2);
}

static void
s_nobody_can_be_asked (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "nobody", "!tool clarify {\"question\":\" \"}", NULL);
    akit_until_ended (s_kit, run);
    s_check_rows ("nobody", "There is no question", 2);
}

static int
s_start (void **state)
{
    (void) state;
    s_kit = akit_new ();
    return 0;
}

static int
s_start_short (void **state)
{
    (void) state;
    s_kit = akit_new ();
    akit_agent_stop (s_kit);
    s_kit->config.settings =
        json_pack ("{s:{s:i, s:i}}", "agent", "max_iterations", 90, "clarify_timeout_s", 1);
    akit_agent_start (s_kit);
    return 0;
}

static int
s_stop (void **state)
{
    (void) state;
    json_t *settings = s_kit->config.settings;
    akit_destroy (&s_kit);
    json_decref (settings);
    return 0;
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_an_answer_goes_on_with_the_turn),
        cmocka_unit_test (s_a_text_answers_an_open_question),
        cmocka_unit_test (s_the_agent_is_killed_while_it_waits),
        cmocka_unit_test (s_a_stop_cancels_the_question),
        cmocka_unit_test (s_a_message_for_the_turn_waits_with_it),
        cmocka_unit_test (s_nobody_can_be_asked),
        cmocka_unit_test (s_the_floor_asks_nobody),
        cmocka_unit_test (s_a_dangerous_call_runs_once_it_is_allowed),
        cmocka_unit_test (s_a_grant_covers_the_session_or_all),
        cmocka_unit_test (s_an_answer_is_used_once),
    };
    const struct CMUnitTest late[] = {
        cmocka_unit_test (s_silence_until_the_deadline_is_an_answer),
    };
    int failed = cmocka_run_group_tests_name ("answers", tests, s_start, s_stop);
    return failed + cmocka_run_group_tests_name ("deadline", late, s_start_short, s_stop);
}
