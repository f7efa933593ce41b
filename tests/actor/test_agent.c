//  test_agent - turns through the real broker, store and rehearsal provider.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent_kit.h"

#include <string.h>

static akit_t *s_kit = NULL;

static void
s_check_transcript (const char *session, const char *expected)
{
    char *transcript = akit_transcript (s_kit, session);
    assert_string_equal (transcript, expected);
    free (transcript);
}

static void
s_a_plain_turn_is_answered (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "plain", "hello there", NULL);
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->delivered, "You said: hello there");
    assert_string_equal (run->kind, "answer");
    assert_string_equal (argos_text_str (&run->log), "turn.text run.completed ");
    assert_string_equal (argos_text_str (&run->delta), "You said: hello there");
    assert_string_equal (
        json_string_value (json_object_get (run->last, "output")), "You said: hello there");
    const json_t *usage = json_object_get (run->last, "usage");
    assert_true (json_integer_value (json_object_get (usage, "total_tokens")) > 0);
    json_t *row = json_object_get (
        akit_request (s_kit, "store", "run.get", json_pack ("{s:s}", "run_id", run->run_id)),
        "run");
    assert_string_equal (json_string_value (json_object_get (row, "state")), "completed");
    s_check_transcript ("plain", "user:hello there|assistant:You said: hello there|");
    run = akit_ask (s_kit, "plain", "again", NULL);
    akit_until_delivered (s_kit, run);
    s_check_transcript ("plain", "user:hello there|assistant:You said: hello there|user:again|"
                                 "assistant:You said: again|");
}

static void
s_a_tool_is_called_after_its_commit (void **state)
{
    (void) state;
    int calls = s_kit->tool_calls;
    akit_run_t *run = akit_ask (s_kit, "tool", "!tool terminal {\"command\":\"date\"}", NULL);
    akit_until_delivered (s_kit, run);
    assert_int_equal (s_kit->tool_calls, calls + 1);
    assert_string_equal (json_string_value (json_object_get (
                             json_object_get (s_kit->tool_body, "arguments"), "command")),
        "date");
    assert_string_equal (
        argos_text_str (&run->log), "tool.started tool.completed turn.text run.completed ");
    assert_non_null (strstr (run->delivered, "tool says hi"));
    s_check_transcript ("tool",
        "user:!tool terminal {\"command\":\"date\"}|assistant:|"
        "tool:{\"output\":\"tool says hi\",\"exit_code\":0,\"error\":null}|"
        "assistant:{\"output\":\"tool says hi\",\"exit_code\":0,\"error\":null}|");
}

static void
s_an_unknown_tool_is_an_error_for_the_model (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "nosuch", "!tool nosuch {}\n!tool terminal {}", NULL);
    akit_until_delivered (s_kit, run);
    assert_non_null (strstr (run->delivered, "There is no tool of that name"));
    assert_non_null (strstr (run->delivered, "tool says hi"));
    assert_string_equal (
        argos_text_str (&run->log), "tool.started tool.completed turn.text run.completed ");
}

static void
s_a_failed_call_is_repeated (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "fail", "!fail 503", NULL);
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->ended, "run.completed");
    assert_string_equal (run->delivered, "You said: !fail 503");
}

static void
s_a_refused_key_is_a_failed_turn (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "auth", "!fail 401", NULL);
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->ended, "run.failed");
    assert_string_equal (run->kind, "error");
    assert_non_null (strstr (run->delivered, "authentication failed"));
    s_check_transcript ("auth", "");
}

static void
s_a_web_page_is_a_failed_turn (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "html", "!html", NULL);
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->ended, "run.failed");
    assert_non_null (strstr (run->delivered, "failed"));
    assert_non_null (strstr (run->delivered, "web page instead of JSON"));
}

static void
s_a_long_answer_is_cut_and_still_delivered (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "big", "!big 1000000", NULL);
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->ended, "run.completed");
    const json_t *output = json_object_get (run->last, "output");
    assert_int_equal (json_string_length (output), 262144);
    assert_string_equal (argos_text_str (&run->delta), json_string_value (output));
}

static void
s_a_long_question_is_stored_first (void **state)
{
    (void) state;
    char *text = (char *) malloc (200001);
    assert_non_null (text);
    memset (text, 'q', 200000);
    text[200000] = 0;
    akit_run_t *run = akit_ask (s_kit, "long", text, NULL);
    free (text);
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->ended, "run.completed");
    char *transcript = akit_transcript (s_kit, "long");
    assert_int_equal (strlen (transcript), 5 + 200000 + 1 + 10 + 10 + 200000 + 1);
    free (transcript);
}

static void
s_history_and_instructions_are_used (void **state)
{
    (void) state;
    json_t *more = json_pack ("{s:[{s:s, s:s}], s:s}", "history", "role", "user", "content",
        "!slow 1", "instructions", "be brief");
    akit_run_t *run = akit_ask (s_kit, "history", "and then?", more);
    akit_until_delivered (s_kit, run);
    assert_string_equal (run->delivered, "token1"); //  Both are one user message now
}

static void
s_a_turn_taken_up_again_does_not_run_the_tool_again (void **state)
{
    (void) state;
    s_kit->tool_silent = true;
    int calls = s_kit->tool_calls;
    akit_run_t *run = akit_ask (s_kit, "again", "!tool terminal {\"command\":\"x\"}", NULL);
    akit_until (s_kit, &s_kit->tool_calls, calls + 1);
    akit_agent_stop (s_kit);
    akit_agent_start (s_kit);
    akit_until_delivered (s_kit, run);
    s_kit->tool_silent = false;
    assert_int_equal (s_kit->tool_calls, calls + 1);
    assert_string_equal (run->ended, "run.completed");
    assert_non_null (strstr (run->delivered, "outcome of this call is unknown"));
    assert_string_equal (argos_text_str (&run->log),
        "tool.started turn.restarted tool.completed turn.text run.completed ");
}

static void
s_a_tool_that_may_run_again_is_run_again (void **state)
{
    (void) state;
    s_kit->tool_silent = true;
    int calls = s_kit->tool_calls;
    akit_run_t *run = akit_ask (s_kit, "twice", "!tool read_file {\"path\":\"x\"}", NULL);
    akit_until (s_kit, &s_kit->tool_calls, calls + 1);
    akit_agent_stop (s_kit);
    s_kit->tool_silent = false;
    akit_agent_start (s_kit);
    akit_until_delivered (s_kit, run);
    assert_int_equal (s_kit->tool_calls, calls + 2);
    assert_non_null (strstr (run->delivered, "tool says hi"));
    assert_null (strstr (run->delivered, "unknown"));
}

//  The answer to one of the calls of the newest answer.

static void
s_answer_call (size_t index)
{
    char id[129];
    snprintf (id, sizeof id, "%s", s_kit->tool_id);
    char *dot = strrchr (id, '.');
    assert_non_null (dot);
    snprintf (dot + 1, sizeof id - (size_t) (dot + 1 - id), "%zu", index);
    argos_peer_reply_to (s_kit->peer, s_kit->tool_from, id, "tool.result",
        json_pack ("{s:s+, s:s}", "output", "call ", index ? "one" : "zero", "status", "ok"));
}

static void
s_calls_run_together_only_when_each_may (void **state)
{
    static const struct {
        const char *text; //  Two calls
        bool together;    //  Expected
    } rows[] = {
        { "!tool read_file {\"path\":\"x\"}\n!tool read_file {\"path\":\"y\"}", true },
        { "!tool read_file {\"path\":\"x\"}\n!tool terminal {\"command\":\"y\"}", false },
        { "!tool terminal {\"command\":\"x\"}\n!tool terminal {\"command\":\"y\"}", false },
    };
    (void) state;
    s_kit->tool_silent = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char session[32];
        int calls = s_kit->tool_calls;
        snprintf (session, sizeof session, "order%zu", i);
        akit_run_t *run = akit_ask (s_kit, session, rows[i].text, NULL);
        akit_until (s_kit, &s_kit->tool_calls, calls + (rows[i].together ? 2 : 1));
        akit_request (s_kit, "actor:agent", "agent.status", NULL); //  It has had its turn
        assert_int_equal (s_kit->tool_calls, calls + (rows[i].together ? 2 : 1));
        s_answer_call (rows[i].together ? 1 : 0);
        if (!rows[i].together)
            akit_until (s_kit, &s_kit->tool_calls, calls + 2);
        s_answer_call (rows[i].together ? 0 : 1);
        akit_until_delivered (s_kit, run);
        const char *zero = strstr (run->delivered, "call zero");
        assert_non_null (zero); //  In the order of the calls, whoever was faster
        assert_non_null (strstr (zero, "call one"));
    }
    s_kit->tool_silent = false;
}

static void
s_a_stream_taken_up_again_says_so (void **state)
{
    (void) state;
    akit_run_t *run = akit_ask (s_kit, "restart", "!slow 12", NULL);
    akit_until_deltas (s_kit, run, 3);
    akit_agent_stop (s_kit);
    akit_agent_start (s_kit);
    akit_until_delivered (s_kit, run);
    assert_string_equal (argos_text_str (&run->log), "turn.restarted turn.text run.completed ");
    assert_string_equal (
        argos_text_str (&run->delta), json_string_value (json_object_get (run->last, "output")));
}

static void
s_no_key_is_said_in_one_message (void **state)
{
    (void) state;
    akit_agent_stop (s_kit);
    snprintf (s_kit->config.provider.problem, sizeof s_kit->config.provider.problem,
        "no provider credentials configured: X_KEY is not set");
    akit_agent_start (s_kit);
    json_t *status = akit_request (s_kit, "actor:agent", "agent.status", NULL);
    assert_true (json_is_true (json_object_get (status, "rehearsal")));
    assert_true (json_is_string (json_object_get (status, "problem")));
    akit_run_t *run = akit_ask (s_kit, "nokey", "hello", NULL);
    akit_until_delivered (s_kit, run);
    akit_agent_stop (s_kit);
    *s_kit->config.provider.problem = 0;
    akit_agent_start (s_kit);
    assert_string_equal (run->ended, "run.failed");
    assert_non_null (strstr (run->delivered, "failed"));
    assert_non_null (strstr (run->delivered, "no provider credentials configured"));
    assert_int_equal (run->deliveries, 1);
}

static void
s_many_turns_run_at_once (void **state)
{
    (void) state;
    enum { TURNS = 300 };
    akit_run_t *runs[TURNS];
    int64_t start = zclock_mono ();
    for (int i = 0; i < TURNS; i++) {
        char session[32];
        snprintf (session, sizeof session, "many%d", i);
        runs[i] = akit_ask (s_kit, session, i % 2 ? "!slow 20" : "quick", NULL);
    }
    for (int i = 0; i < TURNS; i++)
        akit_until_delivered (s_kit, runs[i]);
    for (int i = 0; i < TURNS; i++) {
        assert_string_equal (runs[i]->ended, "run.completed");
        assert_int_equal (runs[i]->deliveries, 1);
        assert_string_equal (argos_text_str (&runs[i]->delta),
            json_string_value (json_object_get (runs[i]->last, "output")));
    }
    print_message ("%d turns in %d msec\n", TURNS, (int) (zclock_mono () - start));
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
        cmocka_unit_test (s_a_plain_turn_is_answered),
        cmocka_unit_test (s_a_tool_is_called_after_its_commit),
        cmocka_unit_test (s_an_unknown_tool_is_an_error_for_the_model),
        cmocka_unit_test (s_a_failed_call_is_repeated),
        cmocka_unit_test (s_a_refused_key_is_a_failed_turn),
        cmocka_unit_test (s_a_web_page_is_a_failed_turn),
        cmocka_unit_test (s_a_long_answer_is_cut_and_still_delivered),
        cmocka_unit_test (s_a_long_question_is_stored_first),
        cmocka_unit_test (s_history_and_instructions_are_used),
        cmocka_unit_test (s_a_turn_taken_up_again_does_not_run_the_tool_again),
        cmocka_unit_test (s_a_tool_that_may_run_again_is_run_again),
        cmocka_unit_test (s_calls_run_together_only_when_each_may),
        cmocka_unit_test (s_a_stream_taken_up_again_says_so),
        cmocka_unit_test (s_no_key_is_said_in_one_message),
        cmocka_unit_test (s_many_turns_run_at_once),
    };
    return cmocka_run_group_tests (tests, s_set_up, s_tear_down);
}
