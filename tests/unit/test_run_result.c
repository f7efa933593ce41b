//  test_run_result - what events come to, and how a chat completion tells it.

#include "argos_chat_view.h"
#include "argos_run_result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RUN "run_0123456789abcdef0123456789abcdef"

static json_t *
s_event (const char *text)
{
    json_t *event = json_loads (text, 0, NULL);
    assert_non_null (event);
    return event;
}

//  Takes events; what each adds, joined.

static void
s_told (const char *const *events, const char *expected)
{
    argos_run_result_t result;
    char told[256] = "";
    size_t used = 0;
    argos_run_result_init (&result);
    for (; *events; events++) {
        json_t *event = s_event (*events);
        used += (size_t) snprintf (
            told + used, sizeof told - used, "%s", argos_run_result_take (&result, event));
        json_decref (event);
    }
    assert_string_equal (told, expected);
    assert_string_equal (argos_text_str (&result.told), expected);
    argos_run_result_clear (&result);
    argos_run_result_clear (&result);
}

#define DELTA(text) "{\"event\":\"message.delta\",\"delta\":\"" text "\"}"
#define DONE(text) "{\"event\":\"run.completed\",\"output\":\"" text "\"}"
#define AGAIN "{\"event\":\"run.restarted\"}"
#define TOOL "{\"event\":\"tool.started\",\"tool\":\"t\",\"tool_call_id\":\"c\"}"

static void
nothing_is_told_twice (void **state)
{
    (void) state;
    s_told ((const char *const[]){ DELTA ("ab"), DELTA ("c"), DONE ("abc"), NULL }, "abc");
    s_told ((const char *const[]){ DONE ("only at the end"), NULL }, "only at the end");
    s_told ((const char *const[]){ DELTA ("look"), TOOL, DELTA ("found"), DONE ("found"), NULL },
        "look\n\nfound");
    s_told ((const char *const[]){ DELTA ("ab"), AGAIN, DELTA ("a"), DELTA ("bcd"), DONE ("abcd"),
                NULL },
        "abcd");
    s_told (
        (const char *const[]){ DELTA ("ab"), AGAIN, DELTA ("ax"), DELTA ("y"), DONE ("axy"), NULL },
        "ab\n\naxy");
    s_told ((const char *const[]){ DELTA ("ab"), AGAIN, DELTA ("ab"), DONE ("ab"), NULL }, "ab");
    s_told ((const char *const[]){ AGAIN, DELTA ("x"), DONE ("x"), DELTA ("late"), NULL }, "x");
}

static void
only_whole_tool_calls_are_shown (void **state)
{
    (void) state;
    static const char *const events[] = {
        "{\"event\":\"tool.completed\",\"tool\":\"t\",\"tool_call_id\":\"orphan\"}",
        "{\"event\":\"tool.started\",\"tool\":\"_thinking\",\"tool_call_id\":\"i\"}",
        "{\"event\":\"tool.started\",\"tool\":\"t\"}", TOOL, TOOL,
        "{\"event\":\"tool.completed\",\"tool\":\"t\",\"tool_call_id\":\"c\"}",
        "{\"event\":\"tool.completed\",\"tool\":\"t\",\"tool_call_id\":\"c\"}", NULL
    };
    argos_text_t out;
    argos_text_init (&out, 65536);
    argos_view_t view = argos_chat_view_new (RUN, "m", true, false, true, 7);
    for (const char *const *each = events; *each; each++) {
        json_t *event = s_event (*each);
        view.class->event (view.self, event, &out);
        json_decref (event);
    }
    const char *text = argos_text_str (&out);
    assert_int_equal (strncmp (text, "event: hermes.tool.progress\ndata: {", 35), 0);
    const char *second = strstr (text + 1, "event: ");
    assert_non_null (second);
    assert_null (strstr (second + 1, "event: "));
    assert_non_null (strstr (second, "\"status\":\"completed\""));
    argos_view_clear (&view);
    argos_view_clear (&view);
    argos_text_clear (&out);
}

static json_t *
s_answer (const char *last, unsigned status)
{
    argos_text_t out;
    argos_view_answer_t answer;
    argos_text_init (&out, 65536);
    argos_view_t view = argos_chat_view_new (RUN, "m", false, false, false, 7);
    json_t *delta = s_event (DELTA ("part")), *event = s_event (last);
    if (strstr (last, "part"))
        view.class->event (view.self, delta, &out);
    view.class->event (view.self, event, &out);
    view.class->answer (view.self, &answer);
    assert_int_equal (answer.status, status);
    argos_view_clear (&view);
    argos_text_clear (&out);
    json_decref (delta);
    json_decref (event);
    return answer.body;
}

static const char *
s_finish (const json_t *body)
{
    const json_t *choice = json_array_get (json_object_get (body, "choices"), 0);
    return json_string_value (json_object_get (choice, "finish_reason"));
}

static void
answers_say_how_it_ended (void **state)
{
    (void) state;
    json_t *body = s_answer (DONE ("fine"), 200);
    assert_string_equal (s_finish (body), "stop");
    assert_null (json_object_get (body, "hermes"));
    json_decref (body);
    //  C093
    body = s_answer (
        "{\"event\":\"run.completed\",\"output\":\"part\",\"finish_reason\":\"length\"}", 200);
    assert_string_equal (s_finish (body), "length");
    const json_t *hermes = json_object_get (body, "hermes");
    assert_true (json_is_true (json_object_get (hermes, "partial")));
    assert_string_equal (
        json_string_value (json_object_get (hermes, "error_code")), "output_truncated");
    json_decref (body);
    body = s_answer ("{\"event\":\"run.failed\",\"error\":\"part\"}", 200);
    assert_string_equal (s_finish (body), "error");
    json_decref (body);
    body = s_answer ("{\"event\":\"run.failed\",\"error\":\"why\"}", 502);
    assert_non_null (json_object_get (body, "error"));
    json_decref (body);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (nothing_is_told_twice),
        cmocka_unit_test (only_whole_tool_calls_are_shown),
        cmocka_unit_test (answers_say_how_it_ended),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
