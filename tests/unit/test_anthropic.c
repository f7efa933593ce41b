//  test_anthropic - the Anthropic messages wire: request and stream.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_anthropic.h"

#include <stdlib.h>
#include <string.h>

static void
s_results_stand_in_one_user_message (void **state)
{
    (void) state;
    json_t *rows = json_loads (
        "[{\"role\":\"system\",\"content\":\"sys\"},{\"role\":\"user\",\"content\":\"q\"},"
        "{\"role\":\"assistant\",\"content\":\"let me\",\"tool_calls\":[{\"id\":\"1\",\"function\":"
        "{\"name\":\"t\",\"arguments\":\"{\\\"a\\\":1}\"}},{\"id\":\"2\",\"function\":{\"name\":"
        "\"t\","
        "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"r1\"},"
        "{\"role\":\"user\",\"content\":\"more\"}]",
        0, NULL);
    json_t *messages = argos_messages_repair (rows, NULL);
    argos_request_t request = {
        .model = "m", .system = "be", .messages = messages, .adjust = ARGOS_ADJUST_CACHE
    };
    char *body = argos_anthropic_request (&request);
    assert_string_equal (body,
        "{\"model\":\"m\",\"max_tokens\":8192,\"system\":\"be\\n\\nsys\",\"messages\":["
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"q\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"let me\"},"
        "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"t\",\"input\":{\"a\":1}},"
        "{\"type\":\"tool_use\",\"id\":\"2\",\"name\":\"t\",\"input\":{}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\","
        "\"content\":"
        "\"r1\"},{\"type\":\"tool_result\",\"tool_use_id\":\"2\",\"content\":\"No result of this "
        "call "
        "was recorded.\"},{\"type\":\"text\",\"text\":\"more\"}]}],\"stream\":true}");
    free (body);
    json_decref (messages);
    json_decref (rows);
}

static argos_answer_t *
s_stream (const char *const *events)
{
    argos_answer_t *answer = argos_answer_new ();
    argos_json_carry_t carry = { 0 };
    for (; *events; events++)
        argos_anthropic_event (answer, &carry, *events, strlen (*events));
    return answer;
}

static void
s_text_and_calls_are_put_together (void **state)
{
    (void) state;
    const char *events[] = {
        "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,"
        "\"cache_read_input_tokens\":2,\"output_tokens\":1}}}",
        "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
        "\"text\":"
        "\"\"}}",
        "{\"type\":\"ping\"}",
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":"
        "\"Hi\"}}",
        "{\"type\":\"content_block_stop\",\"index\":0}",
        "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\","
        "\"id\":"
        "\"tu\",\"name\":\"terminal\",\"input\":{}}}",
        "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\","
        "\"partial_json\":\"{\\\"command\\\":\"}}",
        "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\","
        "\"partial_json\":\"\\\"ls\\\"}\"}}",
        "{\"type\":\"something_new\"}",
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{"
        "\"output_tokens\":9}}",
        "{\"type\":\"message_stop\"}", NULL
    };
    argos_answer_t *answer = s_stream (events);
    assert_int_equal (argos_answer_settle (answer, "s"), ARGOS_ANSWER_TOOLS);
    assert_string_equal (argos_text_str (&answer->text), "Hi");
    assert_string_equal (answer->calls[0].id, "tu");
    assert_string_equal (argos_text_str (&answer->calls[0].args), "{\"command\":\"ls\"}");
    assert_int_equal (answer->input_tokens, 7);
    assert_int_equal (answer->output_tokens, 9);
    argos_answer_destroy (&answer);
}

static void
s_empty_and_failed_answers (void **state)
{
    (void) state;
    const char *empty[] = { "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}",
        "{\"type\":\"message_stop\"}", NULL };
    argos_answer_t *answer = s_stream (empty);
    assert_int_equal (argos_answer_settle (answer, "s"), ARGOS_ANSWER_TEXT);
    argos_answer_destroy (&answer);
    const char *failed[] = { "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                             "\"message\":\"Overloaded\"}}",
        NULL };
    answer = s_stream (failed);
    assert_int_equal (argos_answer_settle (answer, "s"), ARGOS_ANSWER_FAILED);
    assert_string_equal (answer->error_type, "overloaded_error");
    argos_answer_destroy (&answer);
}

static void
s_a_whole_answer_is_read (void **state)
{
    (void) state;
    const char *text = "{\"content\":[{\"type\":\"text\",\"text\":\"yes\"}],\"stop_reason\":"
                       "\"max_tokens\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}";
    argos_answer_t *answer = argos_answer_new ();
    assert_int_equal (argos_anthropic_whole (answer, text, strlen (text)), 0);
    assert_int_equal (argos_answer_settle (answer, "s"), ARGOS_ANSWER_TEXT);
    assert_int_equal (answer->finish, ARGOS_FINISH_LENGTH);
    assert_string_equal (argos_text_str (&answer->text), "yes");
    argos_answer_destroy (&answer);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_results_stand_in_one_user_message),
        cmocka_unit_test (s_text_and_calls_are_put_together),
        cmocka_unit_test (s_empty_and_failed_answers),
        cmocka_unit_test (s_a_whole_answer_is_read),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
