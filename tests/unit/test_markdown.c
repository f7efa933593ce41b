//  test_markdown - what a model writes, as each platform is sent it: the cases by number.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_markdown.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMILE "\xF0\x9F\x98\x80"

typedef struct {
    const char *name;     //  Number of the case
    const char *markdown; //  What the model wrote
    const char *expected; //  The messages, " | " between them; entities as [type offset length arg]
} s_case_t;

static void
s_print (json_t *pieces, char *line, size_t room)
{
    FILE *out = fmemopen (line, room, "w");
    assert_non_null (out);
    size_t at = 0;
    json_t *piece = NULL;
    json_array_foreach (pieces, at, piece) {
        fprintf (out, "%s%s", at ? " | " : "", json_string_value (json_object_get (piece, "text")));
        size_t place = 0;
        json_t *entity = NULL;
        json_array_foreach (json_object_get (piece, "entities"), place, entity) {
            const char *arg = json_string_value (json_object_get (entity, "url"));
            if (!arg)
                arg = json_string_value (json_object_get (entity, "language"));
            fprintf (out, " [%s %d %d%s%s]", json_string_value (json_object_get (entity, "type")),
                (int) json_integer_value (json_object_get (entity, "offset")),
                (int) json_integer_value (json_object_get (entity, "length")), arg ? " " : "",
                arg ? arg : "");
        }
    }
    fclose (out);
}

static void
s_check (
    const s_case_t *cases, size_t count, argos_format_t format, argos_unit_t unit, size_t limit)
{
    static char line[65536];
    bool failed = false;
    for (size_t at = 0; at < count; at++) {
        json_t *pieces = argos_markdown_split (cases[at].markdown, format, unit, limit);
        memset (line, 0, sizeof line);
        s_print (pieces, line, sizeof line);
        json_decref (pieces);
        if (strcmp (line, cases[at].expected) != 0) {
            print_error (
                "%s:\n  expected %s\n  found    %s\n", cases[at].name, cases[at].expected, line);
            failed = true;
        }
    }
    assert_false (failed);
}

#define COUNT(table) (sizeof (table) / sizeof (table)[0])

static void
s_telegram_gets_text_and_entities (void **state)
{
    (void) state;
    static const s_case_t cases[] = {
        { "T1", "v2.0 wow!", "v2.0 wow!" },
        { "T2", "**b** and *i*", "b and i [bold 0 1] [italic 6 1]" },
        { "T3", SMILE " **bold** x", SMILE " bold x [bold 3 4]" },
        { "T4", "`C:\\x\\`", "C:\\x\\ [code 0 5]" },
        { "T5", "```py\na = `b`\n```", "a = `b` [pre 0 7 py]" },
        { "T5b", "```\nx\n\n  y\n```\nz", "x\n\n  y\n\nz [pre 0 6]" },
        { "T6", "# **Title**", "Title [bold 0 5]" },
        { "T8", "* a\n* b", "• a\n• b" },
        { "T9", "- item", "• item" },
        { "T10", "2 * 3 * 4", "2 * 3 * 4" },
        { "T12", "~~x~~ ||y|| z", "x y z [strikethrough 0 1] [spoiler 2 1]" },
        { "T12b", "a || b", "a || b" },
        { "T13", "> q", "q [blockquote 0 1]" },
        { "T13b", "> q\n>\n> r\n\ns", "q\n\nr\n\ns [blockquote 0 4]" },
        { "T14", "a > b", "a > b" },
        { "T15", "snake_case_name", "snake_case_name" },
        { "T16", "****", "****" },
        { "T17", "***x***", "x [bold 0 1] [italic 0 1]" },
        { "T19", "|a|bb|\n|-|-|\n|ccc|d|", "a    bb\n---  --\nccc  d [pre 0 22]" },
        { "T19 wide",
            "|Name|Description|\n|-|-|\n|x|a description of more than forty columns|\n|y|z|",
            "x\n• Description: a description of more than forty columns\n\ny\n• Description: z"
            " [bold 0 1] [bold 59 1]" },
        { "T20", "```\n|a|b|\n|-|-|\n```", "|a|b|\n|-|-| [pre 0 11]" },
        { "T21", "a\n\n---\n\nb", "a\n\n———\n\nb" },
        { "T23", "hi @everyone, mail a@b.c", "hi @everyone, mail a@b.c" },
        { "T24", "![alt](http://x/i.png)", "alt [text_link 0 3 http://x/i.png]" },
        { "T25", "- [x] done\n- [ ] not", "☑ done\n☐ not" },
        { "T27", "\xE2\x80\x8B", "" },
        { "link", "see [**b** `c`](https://e.x/?a=1&amp;b=2)",
            "see b c [text_link 4 3 https://e.x/?a=1&b=2] [bold 4 1]" },
        { "its own address", "<https://e.x/a>", "https://e.x/a" },
        { "not opened", "[a](/etc/passwd) [b](#top)", "a (/etc/passwd) b" },
        { "code in bold", "**a `b` c**", "a b c [bold 0 1] [code 2 1] [bold 4 1]" },
        { "unclosed", "**a and `b", "**a and `b" },
        { "unclosed fence", "```sh\nls", "ls [pre 0 2 sh]" },
        { "html", "<b>x</b> &lt;y&gt; &#8217;", "<b>x</b> <y> ’" },
        { "nested list", "1. a\n   - b\n   - c\n2. d", "1. a\n  • b\n  • c\n2. d" },
        { "loose list", "- a\n\n  b\n\n- c\n\nd", "• a\nb\n• c\n\nd" },
        { "code in a list", "- a\n  ```\n  x\n  ```\n- b", "• a\nx\n• b [pre 4 1]" },
        { "line break", "a\nb", "a\nb" },
    };
    s_check (cases, COUNT (cases), ARGOS_FORMAT_TELEGRAM, ARGOS_UNIT_UTF16, 4096);
}

static void
s_html_and_plain_text_say_the_same (void **state)
{
    (void) state;
    static const s_case_t html[] = {
        { "H1", "**b & <c>** [t](https://e.x/?a=\"1\"&b)",
            "<b>b &amp; &lt;c&gt;</b> <a href=\"https://e.x/?a=&quot;1&quot;&amp;b\">t</a>" },
        { "H2", "```py\na<b\n```", "<pre><code class=\"language-py\">a&lt;b</code></pre>" },
        { "H3", "> ~~q~~", "<blockquote><s>q</s></blockquote>" },
    };
    static const s_case_t plain[] = {
        { "T28", "**b** v2.0", "b v2.0" },
        { "W4", "[t](https://u.x)", "t (https://u.x)" },
        { "P3", "> q\n> r", "> q\n> r" },
        { "P4", "`code` and\n```\nblock\n```", "code and\n\nblock" },
    };
    s_check (html, COUNT (html), ARGOS_FORMAT_HTML, ARGOS_UNIT_UTF16, 4096);
    s_check (plain, COUNT (plain), ARGOS_FORMAT_PLAIN, ARGOS_UNIT_BYTES, 4096);
}

static void
s_slack_gets_mrkdwn (void **state)
{
    (void) state;
    static const s_case_t cases[] = {
        { "K1", "a < b & c", "a &lt; b &amp; c" },
        { "K2", "**b** *i* ~~s~~", "*b* _i_ ~s~" },
        { "K3", "[x|y](http://u/?a=1&b=2)", "<http://u/?a=1&amp;b=2|x¦y>" },
        { "K4", "# **T**", "*T*" },
        { "K5", "`<b>`", "`&lt;b&gt;`" },
        { "K6", "&amp;", "&amp;" },
        { "K7", "<!channel>", "&lt;!channel&gt;" },
        { "K8", "hi <@U123> in <#C12|x>", "hi <@U123> in <#C12|x>" },
        { "K9", "***x***", "*_x_*" },
        { "K10", "```py\na\n```", "```\na\n```" },
        { "within a word", "a**b**c",
            "a\xE2\x80\x8B*b*\xE2\x80\x8B"
            "c" },
        { "quote", "> a\n> b\n\nc", "> a\n> b\n\nc" },
        { "list", "- a\n- b", "• a\n• b" },
        { "image", "![alt](http://x/i.png)", "<http://x/i.png|alt>" },
        { "table", "|a|b|\n|-|-|\n|c|d|", "```\na  b\n-  -\nc  d\n```" },
        { "bold link", "[a **b** c](http://x/)", "<http://x/|a b c>" },
    };
    s_check (cases, COUNT (cases), ARGOS_FORMAT_SLACK, ARGOS_UNIT_CHARACTERS, 39000);
}

static void
s_discord_gets_markdown (void **state)
{
    (void) state;
    static const s_case_t cases[] = {
        { "D1", "@everyone hi", "@everyone hi" },
        { "D2", "x\n\n|a|b|\n|-|-|\n|c|d|\n\ny", "x\n\n```\na  b\n-  -\nc  d\n```\n\ny" },
        { "D3", "# H", "# H" },
        { "D5", "[t](https://u.x) ![i](https://u.x/i)", "[t](https://u.x) [i](https://u.x/i)" },
        { "D6", "<https://x>", "<https://x>" },
        { "D7", "```\n|a|b|\n|-|-|\n![x](y)\n```\n**z**",
            "```\n|a|b|\n|-|-|\n![x](y)\n```\n**z**" },
    };
    s_check (cases, COUNT (cases), ARGOS_FORMAT_DISCORD, ARGOS_UNIT_CHARACTERS, 2000);
    char text[2002];
    memset (text, 'x', 2001);
    text[2001] = '\0';
    json_t *pieces = argos_markdown_split (text, ARGOS_FORMAT_DISCORD, ARGOS_UNIT_CHARACTERS, 2000);
    assert_int_equal (json_array_size (pieces), 2); //  D4
    json_decref (pieces);
}

static void
s_marks_are_closed_and_opened_at_cuts (void **state)
{
    (void) state;
    static const s_case_t markdown[] = { { "Design-3", "a **bold words here** z",
        "a **bold** | **words here** | z" } };
    static const s_case_t slack[] = {
        { "code", "```\nline one\nline two\n```", "```\nline one\n``` | ```\nline two\n```" },
        { "style", "**one two three four**", "*one two three* | *four*" },
    };
    static const s_case_t telegram[] = {
        { "entities", "**one two three four**", "one two three [bold 0 13] | four [bold 0 4]" },
        { "whole", "aa bb `cc dd ee ff gg`", "aa bb | cc dd ee ff gg [code 0 14]" },
    };
    s_check (markdown, COUNT (markdown), ARGOS_FORMAT_MARKDOWN, ARGOS_UNIT_CHARACTERS, 14);
    s_check (slack, COUNT (slack), ARGOS_FORMAT_SLACK, ARGOS_UNIT_CHARACTERS, 18);
    s_check (telegram, COUNT (telegram), ARGOS_FORMAT_TELEGRAM, ARGOS_UNIT_UTF16, 16);
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

//  Entities lie in the text and in each other, and cut no surrogate pair
static void
s_check_entities (const json_t *piece)
{
    const char *text = json_string_value (json_object_get (piece, "text"));
    size_t units = argos_unit_count (ARGOS_UNIT_UTF16, text, strlen (text));
    const json_t *entities = json_object_get (piece, "entities");
    assert_true (json_array_size (entities) <= 100);
    size_t at = 0;
    const json_t *entity = NULL;
    size_t last = 0;
    json_array_foreach (entities, at, entity) {
        size_t offset = (size_t) json_integer_value (json_object_get (entity, "offset"));
        size_t length = (size_t) json_integer_value (json_object_get (entity, "length"));
        assert_true (length > 0 && offset + length <= units && offset >= last);
        last = offset;
        size_t start = argos_unit_fit (ARGOS_UNIT_UTF16, text, strlen (text), offset);
        size_t end = argos_unit_fit (ARGOS_UNIT_UTF16, text, strlen (text), offset + length);
        assert_int_equal (argos_unit_count (ARGOS_UNIT_UTF16, text, start), offset);
        assert_int_equal (argos_unit_count (ARGOS_UNIT_UTF16, text, end), offset + length);
    }
}

static void
s_any_text_fits_its_messages (void **state)
{
    (void) state;
    static const char *const parts[] = { "word ", "**", "*", "_", "~~", "||", "`", "```\n", "\n",
        "\n\n", "> ", "- ", "1. ", "# ", SMILE, "[a](https://e.x/", ")", "|a|b|\n|-|-|\n|c|d|\n",
        "&amp;", "<", "一二", "    ", "\n---\n", "<@U123>", "https://e.x/path " };
    static char text[8192];
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        s_seed = seed;
        size_t used = 0;
        for (size_t count = 20 + s_random (200); count; count--) {
            const char *part = parts[s_random (sizeof parts / sizeof parts[0])];
            memcpy (text + used, part, strlen (part) + 1);
            used += strlen (part);
        }
        for (int format = ARGOS_FORMAT_PLAIN; format <= ARGOS_FORMAT_MARKDOWN; format++) {
            size_t limit = 100 + s_random (400);
            argos_unit_t unit = (argos_unit_t) (seed % 3);
            json_t *pieces = argos_markdown_split (text, (argos_format_t) format, unit, limit);
            size_t at = 0;
            json_t *piece = NULL;
            json_array_foreach (pieces, at, piece) {
                const char *out = json_string_value (json_object_get (piece, "text"));
                assert_non_null (out);
                assert_true (strspn (out, " \n") < strlen (out));
                if (format != ARGOS_FORMAT_HTML)
                    assert_true (argos_unit_count (unit, out, strlen (out)) <= limit);
                if (format == ARGOS_FORMAT_TELEGRAM)
                    s_check_entities (piece);
            }
            json_decref (pieces);
        }
    }
}

//  Each of these took seconds, and sixteen times as many at four times the length, when a cell, a
//  bracket or a style looked at all others.

static void
a_long_text_is_laid_out_in_the_time_of_its_length (void **state)
{
    (void) state;
    static const char *const units[] = { "|aa|b|\n", "[", "![", "x`", "*a* ", "**a `b` c** " };
    static char text[20000];
    for (size_t i = 0; i < COUNT (units); i++) {
        size_t size = strlen (units[i]);
        char *at = stpcpy (text, i ? "" : "|a|b|\n|-|-|\n");
        while (at + size < text + sizeof text)
            at = stpcpy (at, units[i]);
        json_t *pieces = argos_markdown_split (text, ARGOS_FORMAT_DISCORD, ARGOS_UNIT_UTF16, 2000);
        assert_true (json_array_size (pieces) > 5);
        json_decref (pieces);
        pieces = argos_markdown_split (text, ARGOS_FORMAT_TELEGRAM, ARGOS_UNIT_UTF16, 4096);
        assert_true (json_array_size (pieces) > 0);
        json_decref (pieces);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_telegram_gets_text_and_entities),
        cmocka_unit_test (s_html_and_plain_text_say_the_same),
        cmocka_unit_test (s_slack_gets_mrkdwn),
        cmocka_unit_test (s_discord_gets_markdown),
        cmocka_unit_test (s_marks_are_closed_and_opened_at_cuts),
        cmocka_unit_test (s_any_text_fits_its_messages),
        cmocka_unit_test (a_long_text_is_laid_out_in_the_time_of_its_length),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
