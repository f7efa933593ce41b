//  test_think - what people see of a text with thoughts in it (B63), however it is cut into pieces.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_think.h"

#include <string.h>

typedef struct {
    argos_text_t shown, hidden; //  What came
} sides_t;

static void
s_on_shown (void *arg, const char *text, size_t size)
{
    argos_text_add (&((sides_t *) arg)->shown, text, size);
}

static void
s_on_hidden (void *arg, const char *text, size_t size)
{
    argos_text_add (&((sides_t *) arg)->hidden, text, size);
}

static const argos_text_t *
s_so_far (void *arg)
{
    return &((sides_t *) arg)->shown;
}

static const argos_think_sink_t s_sink = { s_on_shown, s_on_hidden, s_so_far };

static void
s_part (const char *text, size_t step, const char *shown, const char *hidden)
{
    argos_think_t think;
    sides_t sides;
    size_t size = strlen (text);
    argos_think_init (&think);
    argos_text_init (&sides.shown, 1000000);
    argos_text_init (&sides.hidden, 1000000);
    for (size_t at = 0; at < size; at += step)
        argos_think_add (&think, text + at, size - at < step ? size - at : step, &s_sink, &sides);
    argos_think_end (&think, &s_sink, &sides);
    assert_string_equal (argos_text_str (&sides.shown), shown);
    if (hidden)
        assert_string_equal (argos_text_str (&sides.hidden), hidden);
    argos_text_clear (&sides.shown);
    argos_text_clear (&sides.hidden);
    argos_think_clear (&think);
}

static void
s_check (const char *text, const char *shown, const char *hidden)
{
    for (size_t step = 1; step <= strlen (text) + 1; step++)
        s_part (text, step, shown, hidden);
}

static void
test_blocks (void **state)
{
    (void) state;
    s_check ("<think>so</think>\n\nHello", "Hello", "so");
    s_check ("<THINKING>so\n<b>bold</b></Thinking> Hello", "Hello", "so\n<b>bold</b>");
    s_check ("Yes.\n  <reasoning>a</reasoning>\nNo.", "Yes.\n  No.", "a");
    s_check ("<thought>one</thought><think>two</think>three", "three", "onetwo");
    s_check ("so <think>x</think> it is", "so it is", "x");
    s_check ("so<think>x</think> it is", "so it is", "x");
    s_check ("a\n<tool_call>{\"name\":\"t\"}</tool_call>", "a\n", "{\"name\":\"t\"}");
    s_check ("<function_calls>x</function_calls>y", "y", "x");
}

static void
test_without_an_end (void **state)
{
    (void) state;
    s_check ("<think>for ever </thin", "", "for ever </thin");
    s_check ("one\n<think>two\nthree", "one\n", "two\nthree");
}

static void
test_mentions (void **state)
{
    (void) state;
    s_check ("The tag <think> begins it", "The tag <think> begins it", "");
    s_check ("`<think>` and `</think>`", "`<think>` and `</think>`", "");
    s_check ("say \"<think>\" and </think>", "say \"<think>\" and </think>", "");
    s_check ("```\n<think>\nx\n</think>\n```\n<think>y</think>z",
        "```\n<think>\nx\n</think>\n```\nz", "y");
    s_check ("a < b, <thinker>, <think again>, <thi", "a < b, <thinker>, <think again>, <thi", "");
    s_check ("\xC3\xA9<\xC3\xA9</think>", "\xC3\xA9<\xC3\xA9</think>", "");
}

//  A tag in a line whose end is too far away is a mention, in one piece or in many
static void
test_far_away (void **state)
{
    (void) state;
    static char text[3 * ARGOS_THINK_HELD];
    memset (text, 'x', sizeof text - 1);
    memcpy (text, "a <think>", 9);
    memcpy (text + 2 * ARGOS_THINK_HELD, "</think>", 8);
    for (size_t step = 1; step < sizeof text; step = step * 3 + 1)
        s_part (text, step, text, "");
    s_part (text, sizeof text, text, "");
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_blocks),
        cmocka_unit_test (test_without_an_end), cmocka_unit_test (test_mentions),
        cmocka_unit_test (test_far_away) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
