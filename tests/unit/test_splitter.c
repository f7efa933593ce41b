//  test_splitter - Markdown in pieces: the cases by number, and what holds of any text.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_splitter.h"

#include "argos_utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMILE "\xF0\x9F\x98\x80"
#define FAMILY "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7"
#define ACUTE "e\xCC\x81"

enum { CP = ARGOS_UNIT_CHARACTERS, U16 = ARGOS_UNIT_UTF16, BYTES = ARGOS_UNIT_BYTES };

typedef struct {
    const char *name;      //  Number of the case
    const char *text;      //  What is split
    size_t limit;          //  Units of a piece
    int unit;              //  What is counted
    bool numbered;         //  With (i/N)
    const char *pieces[8]; //  What comes out, NULL = no more
} s_case_t;

static const s_case_t cases[] = {
    { "S1", "hello world", 11, CP, false, { "hello world" } },
    { "S2", "aaaa bbbb cccc", 9, CP, false, { "aaaa bbbb", "cccc" } },
    { "S3", "one\n\ntwo three four", 12, CP, false, { "one\n\ntwo", "three four" } },
    { "S4", "xxxxxxxxxxxxxxxxxxxxxxxxx", 10, CP, false, { "xxxxxxxxxx", "xxxxxxxxxx", "xxxxx" } },
    { "S5", SMILE SMILE SMILE SMILE SMILE, 4, U16, false, { SMILE SMILE, SMILE SMILE, SMILE } },
    { "S6", "a" SMILE "b", 2, U16, false, { "a", SMILE, "b" } },
    { "S7", FAMILY FAMILY, 10, U16, false, { FAMILY, FAMILY } },
    { "S9", ACUTE ACUTE ACUTE ACUTE, 3, CP, false, { ACUTE, ACUTE, ACUTE, ACUTE } },
    { "S10", "```py\na=1\nb=2\nc=3\nd=4\n```", 20, CP, false,
        { "```py\na=1\nb=2\n```", "```py\nc=3\nd=4\n```" } },
    { "S11", "```py\nif x:\n    y=1\n    z=2\n```\nend", 24, CP, false,
        { "```py\nif x:\n    y=1\n```", "```py\n    z=2\n```\nend" } },
    { "S13", "intro text\n```c\nint a;\nint b;\n```\nout", 24, CP, false,
        { "intro text", "```c\nint a;\nint b;\n```", "out" } },
    { "S14", "~~~\nfoo ``` bar\nbaz qux quux\n~~~", 20, CP, false,
        { "~~~\nfoo ``` bar\n~~~", "~~~\nbaz qux quux\n~~~" } },
    { "S16", "```\nunclosed\nmore\nlines", 16, CP, false,
        { "```\nunclosed\n```", "```\nmore\n```", "```\nlines\n```" } },
    { "S17", "```\nzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\n```", 20, CP, false,
        { "```\nzzzzzzzzzzzz\n```", "```\nzzzzzzzzzzzz\n```", "```\nzzzzzz\n```" } },
    { "S19", "```py\na=1\n```\ntext", 13, CP, false, { "```py\na=1\n```", "text" } },
    { "S20", "```\nfoo\n```\n```\nbar\n```", 12, CP, false, { "```\nfoo\n```", "```\nbar\n```" } },
    { "S21", "```py title=\"a.py\"\nprint(1)\nprint(2)\n```", 34, CP, false,
        { "```py title=\"a.py\"\nprint(1)\n```", "```py title=\"a.py\"\nprint(2)\n```" } },
    { "S22", "see `inline code here` ok", 20, CP, false, { "see", "`inline code here`", "ok" } },
    { "S24", "see https://e.x/aaaaaaaaaa ok", 24, CP, false,
        { "see", "https://e.x/aaaaaaaaaa", "ok" } },
    { "S25", "hi <@123456> you", 9, CP, false, { "hi", "<@123456>", "you" } },
    { "S26", "x &amp; y", 5, CP, false, { "x", "&amp;", "y" } },
    { "S28", "a\r\nb\r\nc", 3, CP, false, { "a\nb", "c" } },
    { "S29", "para one.\n\n\n\npara two is long.", 16, CP, false,
        { "para one.", "para two is", "long." } },
    { "S30", "tail space   \nnext line here", 13, CP, false,
        { "tail space", "next line", "here" } },
    { "S31", "- item one\n- item two\n- item three", 24, CP, false,
        { "- item one\n- item two", "- item three" } },
    { "S32", "> q1 q1 q1\n> q2 q2 q2\n> q3", 22, CP, false, { "> q1 q1 q1\n> q2 q2 q2", "> q3" } },
    { "S33", "aaaa bbbb cccc dddd eeee", 14, CP, true,
        { "aaaa (1/5)", "bbbb (2/5)", "cccc (3/5)", "dddd (4/5)", "eeee (5/5)" } },
    { "S39", "一二三四五六七八九十", 7, BYTES, false, { "一二", "三四", "五六", "七八", "九十" } },
    { "S40", "   x", 2, CP, false, { "x" } },
    { "the number stands below a fence", "```\nabcdefghij\nklmnopqrst\n```", 26, CP, true,
        { "```\nabcdefghij\n```\n(1/2)", "```\nklmnopqrst\n```\n(2/2)" } },
    { "blank", " \n \r\n", 64, CP, false, { NULL } },
};

static void
s_the_cases_come_out_as_written (void **state)
{
    (void) state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        const s_case_t *one = &cases[at];
        argos_chunks_t chunks =
            argos_splitter_split (one->text, (argos_unit_t) one->unit, one->limit, one->numbered);
        size_t expected = 0;
        while (expected < 8 && one->pieces[expected])
            expected++;
        bool same = chunks.count == expected;
        for (size_t piece = 0; same && piece < expected; piece++)
            same = strcmp (chunks.items[piece].text, one->pieces[piece]) == 0;
        for (size_t piece = 0; !same && piece < chunks.count; piece++)
            print_error ("%s: [%s]\n", one->name, chunks.items[piece].text);
        argos_chunks_clear (&chunks);
        if (!same)
            fail_msg ("%s differs", one->name);
    }
}

static void
s_check_sizes (const char *unit, size_t count, const char *last, size_t limit, size_t pieces)
{
    char *text = calloc (count + 1, strlen (unit) + strlen (last) + 1);
    assert_non_null (text);
    for (size_t at = 0; at < count; at++)
        memcpy (text + at * strlen (unit), unit, strlen (unit));
    memcpy (text + count * strlen (unit), last, strlen (last));
    argos_chunks_t chunks = argos_splitter_split (text, ARGOS_UNIT_UTF16, limit, false);
    assert_int_equal (chunks.count, pieces);
    for (size_t at = 0; at < chunks.count; at++) {
        size_t size = strlen (chunks.items[at].text);
        assert_true (argos_unit_count (ARGOS_UNIT_UTF16, chunks.items[at].text, size) <= limit);
    }
    argos_chunks_clear (&chunks);
    free (text);
}

static void
s_a_text_at_the_limit_is_cut_behind_it (void **state)
{
    (void) state;
    s_check_sizes ("w", 4097, "", 4096, 2);    //  S35
    s_check_sizes (SMILE, 2049, "", 4096, 2);  //  S36
    s_check_sizes ("a", 4095, SMILE, 4096, 2); //  S38
    s_check_sizes ("w", 4096, "", 4096, 1);
}

static void
s_units_are_counted_as_each_platform_does (void **state)
{
    (void) state;
    static const struct {
        const char *text; //  One grapheme
        size_t counts[3]; //  Characters, UTF-16, bytes
    } table[] = { { "a", { 1, 1, 1 } }, { "é", { 1, 1, 2 } }, { ACUTE, { 2, 2, 3 } },
        { "一", { 1, 1, 3 } }, { "✅", { 1, 1, 3 } }, { "❤️", { 2, 2, 6 } },
        { SMILE, { 1, 2, 4 } }, { "𝒜", { 1, 2, 4 } }, { "👍🏽", { 2, 4, 8 } },
        { "🇫🇷", { 2, 4, 8 } }, { FAMILY, { 5, 8, 18 } } };
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        size_t size = strlen (table[at].text);
        for (int unit = 0; unit < 3; unit++)
            assert_int_equal (argos_unit_count ((argos_unit_t) unit, table[at].text, size),
                table[at].counts[unit]);
        for (size_t place = 1; place < size; place++)
            assert_int_equal (argos_unit_grapheme (table[at].text, size, 0, place), 0);
        assert_int_equal (argos_unit_grapheme (table[at].text, size, 0, size), size);
    }
}

//  ---------------------------------------------------------------------------
//  Any text

static uint64_t s_seed;

static size_t
s_random (size_t below)
{
    s_seed = s_seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t) (s_seed >> 33) % below;
}

static void
s_make (char *text, size_t room)
{
    static const char *const parts[] = { "word", " ", " ", "\n", "\n\n", "```\n", "```py\n",
        "~~~\n", "\n```\n", "\n~~~~\n", "    indented", SMILE, FAMILY, ACUTE, "一二三", "`code x`",
        "[a link](https://e.x/long/path)", "<@12345>", "&lt;", "\\*", "https://e.x/a?b=c#d", "`",
        "[", "- item ", "\r\n",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };
    size_t used = 0;
    text[0] = '\0';
    for (size_t count = 20 + s_random (150); count; count--) {
        const char *part = parts[s_random (sizeof parts / sizeof parts[0])];
        if (used + strlen (part) >= room)
            break;
        memcpy (text + used, part, strlen (part) + 1);
        used += strlen (part);
    }
}

//  Is every block of code closed?
static bool
s_balanced (const char *text)
{
    size_t count = 0;
    argos_fence_t *fences = argos_splitter_fences (text, strlen (text), &count);
    bool closed = count == 0 || fences[count - 1].close < strlen (text);
    free (fences);
    return closed;
}

//  Between two parts are only blanks, or the line that closes a block
static bool
s_nothing_lost (const char *lines, size_t from, size_t to)
{
    for (size_t at = from; at < to; at++)
        if (!isspace ((unsigned char) lines[at]) && lines[at] != '`' && lines[at] != '~')
            return false;
    return true;
}

static void
s_check_pieces (const char *lines, const argos_chunks_t *chunks, argos_unit_t unit, size_t limit)
{
    size_t size = strlen (lines);
    size_t at = 0;
    for (size_t piece = 0; piece < chunks->count; piece++) {
        const argos_chunk_t *chunk = &chunks->items[piece];
        assert_true (argos_unit_count (unit, chunk->text, strlen (chunk->text)) <= limit);
        assert_true (strspn (chunk->text, " \t\r\n") < strlen (chunk->text));
        assert_true (chunk->from >= at && chunk->to > chunk->from);
        assert_true (s_nothing_lost (lines, at, chunk->from));
        char *part = strndup (lines + chunk->from, chunk->to - chunk->from);
        assert_non_null (part);
        assert_non_null (strstr (chunk->text, part));
        free (part);
        if (chunks->count > 1)
            assert_true (s_balanced (chunk->text));
        for (size_t byte = 0; byte < strlen (chunk->text);) {
            size_t length = argos_utf8_length (
                (const unsigned char *) chunk->text + byte, strlen (chunk->text) - byte);
            assert_true (length > 0);
            byte += length;
        }
        //  No grapheme is cut: from the start of the part its end is a boundary
        assert_int_equal (argos_unit_grapheme (lines, size, chunk->from, chunk->to), chunk->to);
        at = chunk->to;
    }
    assert_true (s_nothing_lost (lines, at, size));
}

static void
s_any_text_comes_out_whole_and_balanced (void **state)
{
    (void) state;
    static char text[8192];
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        s_seed = seed;
        s_make (text, sizeof text);
        char *lines = argos_splitter_lines (text);
        argos_unit_t unit = (argos_unit_t) (seed % 3);
        size_t limit = 64 + s_random (300);
        argos_chunks_t chunks = argos_splitter_split (text, unit, limit, false);
        s_check_pieces (lines, &chunks, unit, limit);
        argos_chunks_clear (&chunks);
        chunks = argos_splitter_split (text, unit, limit, true);
        for (size_t at = 0; at < chunks.count; at++) {
            const char *piece = chunks.items[at].text;
            assert_true (argos_unit_count (unit, piece, strlen (piece)) <= limit);
        }
        argos_chunks_clear (&chunks);
        free (lines);
    }
}

static void
s_a_hostile_text_ends (void **state)
{
    (void) state;
    static const char *const parts[] = { "```", "`", "[", "[a](", "<", "\n", "&", "\\",
        "~~~ info " };
    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        size_t size = strlen (parts[part]);
        char *text = malloc (20000 + size + 1);
        assert_non_null (text);
        size_t used = 0;
        for (; used < 20000; used += size)
            memcpy (text + used, parts[part], size);
        text[used] = '\0';
        argos_chunks_t chunks = argos_splitter_split (text, ARGOS_UNIT_BYTES, 64, false);
        for (size_t at = 0; at < chunks.count; at++)
            assert_true (strlen (chunks.items[at].text) <= 64);
        argos_chunks_clear (&chunks);
        free (text);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_the_cases_come_out_as_written),
        cmocka_unit_test (s_a_text_at_the_limit_is_cut_behind_it),
        cmocka_unit_test (s_units_are_counted_as_each_platform_does),
        cmocka_unit_test (s_any_text_comes_out_whole_and_balanced),
        cmocka_unit_test (s_a_hostile_text_ends),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
