//  test_openai - message repair, the bytes of a request, and the assembly of streamed answers.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_anthropic.h"
#include "argos_args.h"
#include "argos_openai.h"
#include "argos_tool_memo.h"

#include <stdlib.h>
#include <string.h>

static json_t *
s_json (const char *text)
{
    json_error_t error;
    json_t *value = json_loads (text, 0, &error);
    if (!value)
        fail_msg ("%s: %s", error.text, text);
    return value;
}

static void
s_check_repair (const char *rows_text, const char *expected_text)
{
    json_t *rows = s_json (rows_text), *expected = s_json (expected_text);
    json_t *before = json_deep_copy (rows);
    json_t *repaired = argos_messages_repair (rows, NULL);
    char *dump = json_dumps (repaired, JSON_COMPACT);
    if (!json_equal (repaired, expected))
        fail_msg ("got %s", dump);
    assert_true (json_equal (rows, before));
    free (dump);
    json_decref (rows);
    json_decref (before);
    json_decref (expected);
    json_decref (repaired);
}

//  What came with a row by reference is an image when it is at hand, else words, else its note
static void
s_images_stand_behind_their_text (void **state)
{
    json_t *rows = s_json ("[{\"role\":\"user\",\"content\":\"see\",\"attachments\":[{\"blob\":"
                           "\"a\"},{\"blob\":\"b\"},"
                           "{\"blob\":\"c\"}]},{\"role\":\"user\",\"content\":\"and\"}]");
    json_t *images = s_json ("{\"a\":\"data:image/png;base64,AAAA\",\"b\":\"[too large]\"}");
    json_t *words = s_json ("{\"b\":\"[too large]\"}");
    json_t *shown = argos_messages_repair (rows, images);
    json_t *plain = argos_messages_repair (rows, NULL);
    json_t *hidden = argos_messages_repair (rows, words);
    json_t *expected = s_json (
        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},"
        "{\"type\":\"image\",\"url\":\"data:image/png;base64,AAAA\"},"
        "{\"type\":\"text\",\"text\":\"[too large]\"},{\"type\":\"text\",\"text\":\"and\"}]}]");
    (void) state;
    assert_true (json_equal (shown, expected));
    assert_string_equal (
        json_string_value (json_object_get (json_array_get (plain, 0), "content")), "see\n\nand");
    assert_string_equal (
        json_string_value (json_object_get (json_array_get (hidden, 0), "content")),
        "see\n\n[too large]\n\nand");
    argos_request_t request = { .model = "m", .messages = shown };
    char *body = argos_openai_request (&request, NULL);
    assert_non_null (
        strstr (body, "[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"image_url\",\"image_url\":"
                      "{\"url\":\"data:image/png;base64,AAAA\"}},{\"type\":\"text\""));
    free (body);
    body = argos_anthropic_request (&request);
    assert_non_null (strstr (body,
        "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
        "\"data\":\"AAAA\"}},{\"type\":\"text\",\"text\":\"[too large]\"}"));
    free (body);
    json_decref (rows);
    json_decref (images);
    json_decref (words);
    json_decref (shown);
    json_decref (plain);
    json_decref (hidden);
    json_decref (expected);
}

#define CALL(id, name, args)                                                                       \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name                      \
    "\",\"arguments\":\"" args "\"}}"

static void
s_messages_are_repaired (void **state)
{
    (void) state;
    s_check_repair ("[]", "[]");
    s_check_repair ("[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"}]",
        "[{\"role\":\"user\",\"content\":\"a\\n\\nb\"}]");
    s_check_repair ("[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"user\",\"content\":\"b\"}]",
        "[{\"role\":\"user\",\"content\":\"b\"}]");
    s_check_repair ("[{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"stray\"}]", "[]");
    s_check_repair (
        "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"\"},"
        "{\"role\":\"user\",\"content\":\"b\"}]",
        "[{\"role\":\"user\",\"content\":\"a\\n\\nb\"}]");
    s_check_repair ("[{\"role\":\"user\",\"content\":\"a\",\"run_id\":\"r\",\"id\":1},"
                    "{\"role\":\"assistant\",\"content\":\"t\",\"finish_reason\":\"stop\"}]",
        "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"t\"}]");
}

static void
s_every_call_gets_exactly_one_result (void **state)
{
    (void) state;
    s_check_repair ("[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CALL (
                        "1", "t", "{}") "," CALL ("2", "t",
                        "{\\\"b\\\": 1, \\\"a\\\": 2}") "]},"
                                                        "{\"role\":\"tool\",\"tool_call_id\":\"2\","
                                                        "\"content\":\"two\"},"
                                                        "{\"role\":\"tool\",\"tool_call_id\":\"2\","
                                                        "\"content\":\"again\"},"
                                                        "{\"role\":\"user\",\"content\":\"go\"},"
                                                        "{\"role\":\"tool\",\"tool_call_id\":\"1\","
                                                        "\"content\":\"late\"}]",
        "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CALL (
            "1", "t", "{}") "," CALL ("2", "t",
            "{\\\"a\\\":2,\\\"b\\\":1}") "]},"
                                         "{\"role\":\"tool\",\"tool_call_id\":\"2\",\"content\":"
                                         "\"two\"},"
                                         "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":"
                                         "\"No result of this call was "
                                         "recorded.\"},{\"role\":\"user\",\"content\":\"go\"}]");
}

static void
s_damaged_arguments_are_marked (void **state)
{
    (void) state;
    s_check_repair ("[{\"role\":\"assistant\",\"content\":\"x\",\"tool_calls\":[" CALL ("1", "t",
                        "{\\\"a") "]},"
                                  "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"out\"}]",
        "[{\"role\":\"assistant\",\"content\":\"x\",\"tool_calls\":[" CALL (
            "1", "t", "{}") "]},"
                            "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"[The stored "
                            "arguments of this call "
                            "were damaged and have been replaced by {}.]\\nout\"}]");
}

static void
s_the_bytes_of_a_request_are_fixed (void **state)
{
    (void) state;
    json_t *messages = s_json ("[{\"role\":\"user\",\"content\":\"hi \\u00e9\"}]");
    json_t *tools = s_json ("[{\"name\":\"t\",\"description\":\"d\",\"parameters\":{}}]");
    argos_request_t request = { .model = "m",
        .system = "be good",
        .extra = "and brief",
        .messages = messages,
        .tools = tools };
    char *body = argos_openai_request (&request, NULL);
    assert_string_equal (body,
        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"be good\\n\\nand "
        "brief\"},{\"role\":\"user\",\"content\":\"hi \xC3\xA9\"}],"
        "\"stream\":true,\"stream_options\":{\"include_usage\":true},\"tools\":[{\"type\":"
        "\"function\",\"function\":{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"type\":"
        "\"object\",\"properties\":{}}}}]}");
    free (body);
    request.tools = NULL;
    request.system = request.extra = NULL;
    request.max_tokens = 9;
    body = argos_openai_request (&request, "api.openai.com");
    assert_non_null (strstr (body, "\"max_completion_tokens\":9"));
    assert_null (strstr (body, "tools"));
    assert_null (strstr (body, "system"));
    assert_null (strstr (body, "reasoning"));
    free (body);
    request.reasoning = "low";
    body = argos_openai_request (&request, NULL);
    assert_non_null (strstr (body, "\"reasoning_effort\":\"low\""));
    free (body);
    request.reasoning = "max";
    body = argos_openai_request (&request, NULL);
    assert_non_null (strstr (body, "\"reasoning_effort\":\"xhigh\""));
    free (body);
    request.reasoning = NULL;
    body = argos_openai_request (&request, "notapi.openai.com");
    assert_non_null (strstr (body, "\"max_tokens\":9"));
    free (body);
    json_decref (messages);
    json_decref (tools);
}

//  The text is made once for the same values, and anew for others or in the other way.

static void
s_tools_are_written_once (void **state)
{
    (void) state;
    static const char *const texts[] = { "a", "b" };
    json_t *tools[2];
    argos_tool_memo_t memo = { .tools = NULL };
    argos_request_t request = { .model = "m", .memo = &memo };
    for (size_t i = 0; i < 2; i++)
        tools[i] = json_pack ("[{s:s, s:s, s:{s:{s:{s:s, s:s}}}}]", "name", texts[i], "description",
            "d", "parameters", "properties", "p", "type", "string", "pattern", "x");
    const char *before = NULL;
    for (int i = 0; i < 6; i++) {
        json_t *list = json_copy (tools[i / 4]); //  Another list of the same values
        request.tools = list;
        request.adjust = i == 3 ? ARGOS_ADJUST_SCHEMA : 0;
        char *body = argos_openai_request (&request, NULL);
        assert_non_null (strstr (body, i < 4 ? "\"name\":\"a\"" : "\"name\":\"b\""));
        assert_int_equal (strstr (body, "pattern") != NULL, i != 3);
        if (i == 1 || i == 2 || i == 5)
            assert_ptr_equal (memo.text, before);
        before = memo.text;
        free (body);
        json_decref (list);
    }
    argos_tool_memo_clear (&memo);
    assert_null (memo.text);
    json_decref (tools[0]);
    json_decref (tools[1]);
}

static argos_answer_t *
s_stream (const char *const *events)
{
    argos_answer_t *answer = argos_answer_new ();
    argos_json_carry_t carry = { 0 };
    for (; *events; events++)
        argos_openai_event (answer, &carry, *events, strlen (*events));
    return answer;
}

#define DELTA(inner) "{\"choices\":[{\"index\":0,\"delta\":{" inner "}}]}"
#define FINISH(reason) "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}"

static void
s_text_is_joined (void **state)
{
    (void) state;
    const char *events[] = { DELTA ("\"role\":\"assistant\",\"content\":\"\""),
        DELTA ("\"content\":\"Hel\""), DELTA ("\"content\":null"),
        DELTA ("\"content\":\"lo \\ud83d\""), DELTA ("\"content\":\"\\ude00\""), FINISH ("stop"),
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}",
        "{\"choices\":null}", "{}", "[DONE]", NULL };
    argos_answer_t *answer = s_stream (events);
    assert_int_equal (argos_answer_settle (answer, "s"), ARGOS_ANSWER_TEXT);
    assert_string_equal (argos_text_str (&answer->text), "Hello \xF0\x9F\x98\x80");
    assert_int_equal (answer->finish, ARGOS_FINISH_STOP);
    assert_int_equal (answer->input_tokens, 7);
    assert_int_equal (answer->output_tokens, 3);
    assert_true (answer->ended);
    argos_answer_destroy (&answer);
}

static void
s_calls_are_put_together (void **state)
{
    (void) state;
    const char *events[] = { DELTA ("\"content\":\"so:\""),
        DELTA ("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":"
               "{\"name\":\"terminal\",\"arguments\":\"{\\\"com\"}}]"),
        DELTA ("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"terminal\","
               "\"arguments\":\"mand\\\":\\\"ls\\\"}\"}}]"),
        DELTA ("\"tool_calls\":[{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"other\","
               "\"arguments\":\"\"}}]"),
        DELTA ("\"tool_calls\":[{\"index\":1,\"function\":{\"name\":\"third\","
               "\"arguments\":\"{\\\"a\\\":[1,]\"}}]"),
        DELTA ("\"content\":\"after\""), FINISH ("tool_calls"), "[DONE]", NULL };
    argos_answer_t *answer = s_stream (events);
    assert_int_equal (answer->visible, 3);
    assert_int_equal (argos_answer_settle (answer, "run"), ARGOS_ANSWER_TOOLS);
    assert_int_equal (answer->call_count, 3);
    assert_string_equal (answer->calls[0].id, "a");
    assert_string_equal (answer->calls[0].name, "terminal");
    assert_string_equal (argos_text_str (&answer->calls[0].args), "{\"command\":\"ls\"}");
    assert_string_equal (answer->calls[1].id, "b");
    assert_string_equal (argos_text_str (&answer->calls[1].args), "{}");
    assert_string_equal (answer->calls[2].id, "call_run_2");
    assert_string_equal (argos_text_str (&answer->calls[2].args), "{\"a\":[1]}");
    argos_answer_destroy (&answer);
}

static void
s_cut_arguments_are_never_run (void **state)
{
    (void) state;
    const char *events[] = {
        DELTA ("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":"
               "{\"name\":\"terminal\",\"arguments\":\"{\\\"command\\\":\\\"rm -rf /tmp/x\"}}]"),
        FINISH ("tool_calls"), "[DONE]", NULL
    };
    argos_answer_t *answer = s_stream (events);
    assert_int_equal (argos_answer_settle (answer, "run"), ARGOS_ANSWER_TEXT);
    assert_int_equal (answer->finish, ARGOS_FINISH_LENGTH);
    assert_int_equal (answer->call_count, 0);
    argos_answer_destroy (&answer);
}

static void
s_repeated_calls_run_once (void **state)
{
    (void) state;
    const char *events[] = { DELTA ("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":"
                                    "{\"name\":\"t\",\"arguments\":\"{}\"}},{\"index\":1,\"id\":"
                                    "\"b\",\"function\":{\"name\":\"t\",\"arguments\":\"\"}},"
                                    "{\"index\":2,\"id\":\"c\",\"function\":{}}]"),
        FINISH ("tool_calls"), NULL };
    argos_answer_t *answer = s_stream (events);
    assert_int_equal (argos_answer_settle (answer, "run"), ARGOS_ANSWER_TOOLS);
    assert_int_equal (answer->call_count, 1);
    assert_string_equal (answer->calls[0].id, "a");
    argos_answer_destroy (&answer);
}

static argos_answer_kind_t
s_kind (const char *event)
{
    const char *events[] = { event, NULL };
    argos_answer_t *answer = s_stream (events);
    argos_answer_kind_t kind = argos_answer_settle (answer, "s");
    if (kind == ARGOS_ANSWER_FAILED)
        assert_true (*answer->error);
    argos_answer_destroy (&answer);
    return kind;
}

static void
s_bad_streams_have_a_name (void **state)
{
    (void) state;
    assert_int_equal (s_kind (NULL), ARGOS_ANSWER_EMPTY);
    assert_int_equal (s_kind ("[DONE]"), ARGOS_ANSWER_EMPTY);
    assert_int_equal (s_kind (DELTA ("\"content\":\"x\"")), ARGOS_ANSWER_CUT);
    assert_int_equal (s_kind ("{\"error\":{\"message\":\"overloaded\"}}"), ARGOS_ANSWER_FAILED);
    assert_int_equal (s_kind ("{\"error\":\"no\"}"), ARGOS_ANSWER_FAILED);
    assert_int_equal (s_kind ("<html>"), ARGOS_ANSWER_FAILED);
    assert_int_equal (s_kind ("[1]"), ARGOS_ANSWER_FAILED);
    assert_int_equal (
        s_kind ("{\"choices\":[{\"delta\":7,\"finish_reason\":\"stop\"}]}"), ARGOS_ANSWER_TEXT);
    char bomb[512];
    memset (bomb, '[', sizeof bomb - 1);
    bomb[sizeof bomb - 1] = 0;
    assert_int_equal (s_kind (bomb), ARGOS_ANSWER_FAILED);
}

static void
s_long_text_is_cut_at_the_limit (void **state)
{
    (void) state;
    argos_answer_t *answer = argos_answer_new ();
    char piece[1000];
    memset (piece, '"', sizeof piece);
    for (int i = 0; i < 200; i++)
        argos_answer_add_text (answer, piece, sizeof piece);
    assert_int_equal (answer->text.size, ARGOS_ANSWER_TEXT_MAX / 2);
    answer->ended = true;
    assert_int_equal (argos_answer_settle (answer, "s"), ARGOS_ANSWER_TEXT);
    assert_int_equal (answer->finish, ARGOS_FINISH_LENGTH);
    argos_answer_destroy (&answer);
}

static void
s_a_whole_answer_is_read (void **state)
{
    (void) state;
    argos_answer_t *answer = argos_answer_new ();
    const char *text =
        "{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],"
        "\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"t\",\"arguments\":"
        "{\"b\":1}}}]},\"finish_reason\":\"tool_calls\"}]}";
    assert_int_equal (argos_openai_whole (answer, text, strlen (text)), 0);
    assert_int_equal (argos_answer_settle (answer, "s"), ARGOS_ANSWER_TOOLS);
    assert_string_equal (argos_text_str (&answer->calls[0].args), "{\"b\":1}");
    argos_answer_destroy (&answer);
    answer = argos_answer_new ();
    argos_openai_whole (answer, "{}", 2);
    assert_int_equal (argos_answer_settle (answer, "s"), ARGOS_ANSWER_FAILED);
    argos_answer_destroy (&answer);
}

static void
s_arguments_are_repaired (void **state)
{
    (void) state;
    static const struct {
        const char *given;    //  By the model
        const char *expected; //  NULL = can't be repaired
    } cases[] = { { "", "{}" }, { "  ", "{}" }, { "null", "{}" }, { "None", "{}" },
        { "{\"b\": 1, \"a\": 2}", "{\"a\":2,\"b\":1}" }, { "{\"a\":1,}", "{\"a\":1}" },
        { "{\"a\":[1,2,],}", "{\"a\":[1,2]}" }, { "{\"a\":[1,2]", "{\"a\":[1,2]}" },
        { "{\"a\":1}}", "{\"a\":1}" }, { "{\"a\":\"x\ny\"}", "{\"a\":\"x\\ny\"}" },
        { "\"{\\\"a\\\":1}\"", "{\"a\":1}" }, { "{\"a\":\"x", NULL }, { "{\"a\":1", NULL },
        { "[1]", NULL }, { "garbage", NULL }, { "7", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        argos_text_t args;
        argos_text_init (&args, 1000);
        argos_text_add (&args, cases[i].given, strlen (cases[i].given));
        int rc = argos_args_repair (&args);
        assert_int_equal (rc, cases[i].expected ? 0 : -1);
        assert_string_equal (
            argos_text_str (&args), cases[i].expected ? cases[i].expected : cases[i].given);
        argos_text_clear (&args);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_messages_are_repaired),
        cmocka_unit_test (s_images_stand_behind_their_text),
        cmocka_unit_test (s_every_call_gets_exactly_one_result),
        cmocka_unit_test (s_damaged_arguments_are_marked),
        cmocka_unit_test (s_the_bytes_of_a_request_are_fixed),
        cmocka_unit_test (s_tools_are_written_once),
        cmocka_unit_test (s_text_is_joined),
        cmocka_unit_test (s_calls_are_put_together),
        cmocka_unit_test (s_cut_arguments_are_never_run),
        cmocka_unit_test (s_repeated_calls_run_once),
        cmocka_unit_test (s_bad_streams_have_a_name),
        cmocka_unit_test (s_long_text_is_cut_at_the_limit),
        cmocka_unit_test (s_a_whole_answer_is_read),
        cmocka_unit_test (s_arguments_are_repaired),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
