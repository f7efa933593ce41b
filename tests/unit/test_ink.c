//  test_ink - Markdown on a terminal: what each mark becomes, and what holds of any text.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_ink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OFF "\033[0m"
#define BOLD "\033[1m"
#define DIM "\033[2m"
#define ITALIC "\033[3m"
#define UNDER "\033[4m"
#define STRIKE "\033[9m"
#define CODE "\033[36m"
#define TEXT_MAX 2048

static const struct {
    const char *text, *shown; //  What is fed, what stands on the terminal
} s_cases[] = {
    { "plain", "plain" },
    { "a\033[31m\x7f\xc2\x9b"
      "31mb\xc2\xa0 c",
        "a[31m31mb\xc2\xa0 c" },
    { "a **b** c", "a " BOLD "b" OFF " c" },
    { "__b__ *i* _i_", BOLD "b" OFF " " ITALIC "i" OFF " " ITALIC "i" OFF },
    { "***both***!", BOLD ITALIC "both" OFF "!" },
    { "~~no~~ ~5", STRIKE "no" OFF " ~5" },
    { "run `ls *` now", "run " CODE "ls *" OFF " now" },
    { "``a`b``", CODE "a`b" OFF },
    { "**see `x`**", BOLD "see " OFF BOLD CODE "x" OFF },
    { "**a *b* c**", BOLD "a " OFF BOLD ITALIC "b" OFF BOLD " c" OFF },
    { "\xe8\xbf\x99**\xe6\x98\xaf**", "\xe8\xbf\x99" BOLD "\xe6\x98\xaf" OFF },
    //  What is no mark stays
    { "2 * 3 * 4", "2 * 3 * 4" },
    { "2*3*4", "2*3*4" },
    { "snake_case_name", "snake_case_name" },
    { "_private_name and _x", "_private_name and _x" },
    { "https://x.y/_a_/*b*", "https://x.y/_a_/*b*" },
    { "**open", "**open" },
    { "**open\nclosed**", "**open\nclosed**" },
    { "a ` b", "a ` b" },
    { "\\*no\\* \\n", "*no* \\n" },
    { "#no #heading", "#no #heading" },
    { "-no - list", "-no - list" },
    { "1. one\n2) two", "1. one\n2) two" },
    { "a **** b", "a **** b" },
    //  Lines
    { "# One\nand", BOLD UNDER "One" OFF "\nand" },
    { "### Three *x*\n", BOLD "Three " OFF BOLD ITALIC "x" OFF "\n" },
    { "- a\n  * **b**\n+ c", "\xe2\x80\xa2 a\n  \xe2\x80\xa2 " BOLD "b" OFF "\n\xe2\x80\xa2 c" },
    { "> said\n>no", DIM "\xe2\x94\x82 " OFF "said\n" DIM "\xe2\x94\x82 " OFF "no" },
    { "---\nx", DIM "---" OFF "\nx" },
    { "***\n", DIM "***" OFF "\n" },
    { "--- a", "--- a" },
    { "```c\na *b* # c\n\n  - d\n```\n*e*",
        DIM "```c" OFF "\n" CODE "a *b* # c" OFF "\n\n" CODE "  - d" OFF "\n" DIM "```" OFF
            "\n" ITALIC "e" OFF },
    { "~~~\n```\n~~~~\nx", DIM "~~~" OFF "\n" CODE "```" OFF "\n" DIM "~~~~" OFF "\nx" },
    { "````\n```\n````", DIM "````" OFF "\n" CODE "```" OFF "\n" DIM "````" OFF },
    { "```a```", CODE "a" OFF },
    { "  ```\n  x\n  ```", DIM "  ```" OFF "\n" CODE "  x" OFF "\n" DIM "  ```" OFF },
    //  A terminal is not told what to do
    { "a\033[31mb\x7f\x01", "a[31mb" },
    { "`\033c`", CODE "c" OFF },
};

//  What is shown of text, fed in pieces of at most `piece` bytes; between pieces nothing is left
//  on.

static void
s_show (const char *text, size_t size, size_t piece, char *target)
{
    argos_ink_t *ink = argos_ink_new ();
    size_t length = 0, some;
    for (size_t at = 0; at < size; at += piece) {
        const char *out =
            argos_ink_feed (ink, text + at, size - at < piece ? size - at : piece, &some);
        if (some)
            memcpy (target + length, out, some);
        length += some;
    }
    const char *out = argos_ink_end (ink, &some);
    if (some)
        memcpy (target + length, out, some);
    target[length + some] = 0;
    argos_ink_destroy (&ink);
    argos_ink_destroy (&ink);
}

//  A style that goes off and on again at once is the same: the cut of a piece

static void
s_join (char *text)
{
    unsigned on[8], again[8];
    size_t count = 0, more;
    char *to = text;
    for (const char *from = text; *from;) {
        const char *next;
        if (strncmp (from, OFF, 4) == 0) {
            more = 0;
            for (next = from + 4; more < 8 && strncmp (next, "\033[", 2) == 0 && next[2] != '0';
                 next = strchr (next, 'm') + 1)
                again[more++] = (unsigned) strtoul (next + 2, NULL, 10);
            if (more > 0 && more == count && memcmp (on, again, count * sizeof *on) == 0) {
                from = next;
                continue;
            }
            count = 0;
        }
        else if (strncmp (from, "\033[", 2) == 0 && count < 8)
            on[count++] = (unsigned) strtoul (from + 2, NULL, 10);
        if (*from == '\033')
            while (*from != 'm')
                *to++ = *from++;
        *to++ = *from++;
    }
    *to = 0;
}

static void
s_marks_become_what_they_mean (void **state)
{
    char shown[TEXT_MAX];
    (void) state;
    for (size_t i = 0; i < sizeof s_cases / sizeof *s_cases; i++)
        for (size_t piece = 1; piece < 12; piece++) {
            s_show (s_cases[i].text, strlen (s_cases[i].text), piece, shown);
            s_join (shown);
            assert_string_equal (shown, s_cases[i].shown);
        }
}

static void
s_a_plain_word_is_not_held_back (void **state)
{
    size_t size;
    (void) state;
    argos_ink_t *ink = argos_ink_new ();
    argos_ink_feed (ink, "so ", 3, &size);
    assert_int_equal (size, 3);
    argos_ink_feed (ink, "**far", 5, &size);
    assert_int_equal (size, 0);
    const char *out = argos_ink_feed (ink, "** and", 6, &size);
    assert_memory_equal (out, BOLD "far" OFF " and", size);
    argos_ink_destroy (&ink);
}

static void
s_a_mark_is_held_back_for_so_many_bytes (void **state)
{
    char text[ARGOS_INK_HELD + 8], shown[2 * ARGOS_INK_HELD];
    (void) state;
    memset (text, 'x', sizeof text);
    text[0] = '`';
    text[ARGOS_INK_HELD - 1] = '`';
    s_show (text, ARGOS_INK_HELD, 7, shown);
    assert_memory_equal (shown, CODE, strlen (CODE));
    text[ARGOS_INK_HELD - 1] = 'x';
    text[ARGOS_INK_HELD] = '`';
    s_show (text, sizeof text, 7, shown);
    assert_int_equal (strlen (shown), sizeof text);
    assert_memory_equal (shown, text, sizeof text);
}

//  What a text says is there, in its order: letters are never lost, nor is anything made of them

static void
s_any_text_is_shown_whole_however_it_is_cut (void **state)
{
    static const char alphabet[] = "ab *_`~#->\n\\1.";
    char text[200], whole[4 * TEXT_MAX], pieces[8 * TEXT_MAX];
    uint32_t seed = 1;
    (void) state;
    for (int round = 0; round < 4000; round++) {
        size_t size = 1 + (size_t) round % sizeof text, letters = 0, kept = 0;
        for (size_t i = 0; i < size; i++) {
            seed = seed * 1664525 + 1013904223;
            text[i] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
            letters += text[i] == 'a' || text[i] == 'b' || text[i] == '\n';
        }
        s_show (text, size, size, whole);
        s_show (text, size, 1 + (size_t) round % 5, pieces);
        for (const char *c = whole; *c; c++)
            kept += *c == 'a' || *c == 'b' || *c == '\n';
        assert_int_equal (kept, letters);
        s_join (whole);
        s_join (pieces);
        assert_string_equal (pieces, whole);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_marks_become_what_they_mean),
        cmocka_unit_test (s_a_plain_word_is_not_held_back),
        cmocka_unit_test (s_a_mark_is_held_back_for_so_many_bytes),
        cmocka_unit_test (s_any_text_is_shown_whole_however_it_is_cut),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
