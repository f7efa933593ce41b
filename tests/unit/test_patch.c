//  Patches: which place is found, by which rule, and that a wrong one never is.
//
//  E.12 4 (fuzzy): exact, none, empty, identical, several lines; blanks; indentation; replace_all;
//  dashes and quotes; anchors; names of rules; backslashes; closest lines. E.12 5 (V4A): update,
//  several hunks, add, delete, move, without markers, only additions, long files and lines, errors.
//  Faults #93698 and #54572 (similar blocks), #18426 (twice), PR 32579 (overlaps).

#include "argos_patch.h"
#include "argos_v4a.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *name;                  //  Of the case
    const char *text, *old, *new_text; //  Of the call
    bool all;                          //  replace_all
    const char *strategy;              //  That has to find it, NULL = an error
    const char *wanted;                //  New text; of an error a part of the sentence
} case_t;

#define BLOCK                                                                                      \
    "int one (void)\n{\n    int a = 1;\n    return a;\n}\n\n"                                      \
    "int two (void)\n{\n    int a = 2;\n    return a;\n}\n"

static const case_t s_cases[] = {
    { "exact", "a b c", "b", "x", false, "exact", "a x c" },
    { "several lines", "a\nb\nc\n", "a\nb\n", "x\n", false, "exact", "x\nc\n" },
    { "nothing", "a\n", "zzz", "x", false, NULL, "not found" },
    { "empty", "a", "", "x", false, NULL, "empty" },
    { "identical", "a", "a", "a", false, NULL, "the same" },
    { "ambiguous", "a a a", "a", "b", false, NULL, "3 times" },
    { "all", "a a a", "a", "b", true, "exact", "b b b" },
    { "all, growing", "aa", "a", "aa", true, "exact", "aaaa" },
    { "all, overlapping", "aaaa\n", "aa", "b", true, "exact", "bb\n" },
    { "delete", "a\nb\nc\n", "b\n", "", false, "exact", "a\nc\n" },
    { "ends of lines", "if (x) \n    y;\t\n", "if (x)\n    y;\n", "z;\n", false, "line_ends",
        "z;\n" },
    { "runs of blanks", "a  =   1;\nb\n", "a = 1;\n", "a = 2;\n", false, "whitespace_normalised",
        "a = 2;\nb\n" },
    { "indentation", "    if (x)\n        y;\n", "if (x)\n    y;\n", "if (z)\n    y;\n", false,
        "indentation_flexible", "    if (z)\n        y;\n" },
    { "indentation with tabs", "\tif (x)\n", "    if (x)\n", "    if (z)\n", false,
        "indentation_flexible", "\tif (z)\n" },
    { "indentation, mixed", "  a\n      b\n", "a\nb\n", "c\nd\n", false, "line_trimmed",
        "  c\n  d\n" },
    { "dashes and quotes", "say \xe2\x80\x9chi\xe2\x80\x9d \xe2\x80\x93 x\n", "say \"hi\" - x\n",
        "say bye\n", false, "unicode_normalised", "say bye\n" },
    { "backslashes", "a\n\tb\n", "a\\n\\tb", "c", false, "escape_normalised", "c\n" },
    { "blank lines around", "x\nabc\ny\n", "\n\nabc\n", "z", false, "trimmed_boundary",
        "x\nz\ny\n" },
    { "likeness: other signs", "void f (int a)\n{\n    call (a, b);\n}\n",
        "void f (int a)\n{\n    call (a , b);\n}\n", "gone\n", false, "block_anchor", "gone\n" },
    { "a similar block", BLOCK, "int one (void)\n{\n    int a = 3;\n    return a;\n}\n", "x\n",
        false, NULL, "not found" },
    { "another name", BLOCK, "int one (void)\n{\n    int b = 1;\n    return a;\n}\n", "x\n", false,
        NULL, "not found" },
    { "a wrong end", BLOCK, "int one (void)\n{\n    int a = 1;\n    return b;\n}\n", "x\n", false,
        NULL, "not found" },
    { "two that look the same", "  a\n\n    a\n", "a \n", "b\n", false, NULL, "2 times" },
    { "quotes with backslashes", "  say ('x')\n", "say (\\'x\\')", "say (\\'y\\')", false, NULL,
        "backslash" },
    { "backslashes kept", "a \\t b\n", "a \\t b", "c \\t d", false, "exact", "c \\t d\n" },
    { "closest", "int alpha = 1;\nint beta = 2;\n", "int alpha = 3;\n", "x", false, NULL,
        "1|int alpha = 1;" },
};

static void
each_piece_is_found_by_its_rule_or_not_at_all (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_cases / sizeof *s_cases; i++) {
        const case_t *one = &s_cases[i];
        argos_patch_t patch;
        argos_patch_replace (one->text, one->old, one->new_text, one->all, &patch);
        bool good = one->strategy
                        ? patch.text && strcmp (patch.strategy, one->strategy) == 0 &&
                              strcmp (patch.text, one->wanted) == 0
                        : !patch.text && !patch.applied && strstr (patch.error, one->wanted);
        if (!good)
            fail_msg ("%s: by %s: %s (%s)", one->name, patch.strategy ? patch.strategy : "nothing",
                patch.text ? patch.text : "-", patch.error);
        argos_patch_clear (&patch);
    }
}

static void
a_patch_that_was_applied_is_not_applied_again (void **state)
{
    (void) state;
    argos_patch_t patch;
    argos_patch_replace ("a\nnew line\nb\n", "old line\n", "new line\n", false, &patch);
    assert_true (patch.applied);
    assert_null (patch.text);
    argos_patch_clear (&patch);
    argos_patch_clear (&patch);
}

static void
a_diff_shows_each_change_with_what_stands_around_it (void **state)
{
    (void) state;
    static const char *const cases[][3] = {
        { "a\nb\nc\n", "a\nx\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n" },
        { "", "a\n", "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n" },
        { "a\n", "", "--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-a\n" },
        { "a", "b",
            "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n"
            "\\ No newline at end of file\n" },
        { "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "x\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ny\n",
            "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n"
            "@@ -9,4 +9,4 @@\n 9\n 10\n 11\n-12\n+y\n" },
        { "a\nb\n", "a\nb\n", "--- a/f\n+++ b/f\n" },
    };
    for (size_t i = 0; i < 5; i++) {
        char *diff = argos_patch_diff ("f", cases[i][0], cases[i][1]);
        assert_string_equal (diff, cases[i][2]);
        free (diff);
    }
    char *large = malloc (200001);
    assert_non_null (large);
    memset (large, 'x', 200000);
    for (int i = 99; i < 200000; i += 100)
        large[i] = '\n';
    large[200000] = '\0';
    char *diff = argos_patch_diff ("f", large, "");
    assert_true (strlen (diff) <= ARGOS_PATCH_DIFF_MAX + 64);
    assert_non_null (strstr (diff, "left out"));
    free (diff);
    free (large);
}

//  ------------------------------------------------------------------------------------------------
//  V4A

//  What one update makes of a text; new, NULL = an error, which is told.

static char *
s_update (const char *hunks, const char *text, char error[512])
{
    char whole[4096];
    argos_v4a_t patch;
    argos_patch_t result = { .text = NULL };
    snprintf (
        whole, sizeof whole, "*** Begin Patch\n*** Update File: a.c\n%s*** End Patch\n", hunks);
    if (argos_v4a_parse (whole, &patch))
        argos_v4a_apply (patch.ops[0], text, &result);
    snprintf (error, 512, "%.250s%.250s", patch.error, result.error);
    argos_v4a_clear (&patch);
    return result.text;
}

static void
hunks_are_applied_in_order_and_only_where_they_fit (void **state)
{
    (void) state;
    static const struct {
        const char *hunks, *text, *wanted; //  wanted NULL = an error
    } cases[] = {
        { "@@\n a\n-b\n+x\n c\n", "a\nb\nc\n", "a\nx\nc\n" },
        { " a\n-b\n+x\n", "a\nb\nc\n", "a\nx\nc\n" },
        { "@@\n-a\n+x\n@@\n-c\n+y\n", "a\nb\nc\n", "x\nb\ny\n" },
        { "@@\n-c\n+y\n@@\n-a\n+x\n", "a\nb\nc\n", NULL },
        { "@@ two\n-v\n+w\n", "one\nv\ntwo\nv\n", "one\nv\ntwo\nw\n" },
        { "@@\n-v\n+w\n", "one\nv\ntwo\nv\n", NULL },
        { "@@ a\n+new\n", "a\nb\n", "a\nnew\nb\n" },
        { "@@\n+new\n", "a\nb\n", "a\nb\nnew\n" },
        { "@@\n-a\n", "a\nb\n", "b\n" },
        { "@@\n-zzz\n+x\n", "a\nb\n", NULL },
        { "@@\n-a\n+x\n", "ba\nb\n", NULL }, //  A line, not a piece of one
        { "@@\n a\n \n-b\n+c\n", "a\n\nb\n", "a\n\nc\n" },
        { "@@\n-  a\n+  b\n", "    a\n", "    b\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[512];
        char *got = s_update (cases[i].hunks, cases[i].text, error);
        if (!got != !cases[i].wanted || (got && strcmp (got, cases[i].wanted) != 0))
            fail_msg ("%s: %s (%s)", cases[i].hunks, got ? got : "-", error);
        assert_true (!got == (*error != '\0'));
        free (got);
    }
}

static void
a_patch_names_files_to_add_delete_and_move (void **state)
{
    (void) state;
    argos_v4a_t patch;
    assert_true (argos_v4a_parse ("*** Add File: new.txt\n+one\n+two\n*** Delete File: old.txt\n"
                                  "*** Move File: a -> b\n*** Update File: c\n*** Move to: d\n",
        &patch));
    assert_int_equal (patch.count, 4);
    assert_int_equal (patch.ops[0]->kind, ARGOS_V4A_ADD);
    assert_string_equal (patch.ops[0]->hunks[0].new_text, "one\ntwo\n");
    assert_int_equal (patch.ops[1]->kind, ARGOS_V4A_DELETE);
    assert_string_equal (patch.ops[1]->path, "old.txt");
    assert_string_equal (patch.ops[2]->path, "a");
    assert_string_equal (patch.ops[2]->target, "b");
    assert_string_equal (patch.ops[3]->target, "d");
    argos_v4a_clear (&patch);
    argos_v4a_clear (&patch);
    static const char *const wrong[] = { "", "*** Begin Patch\n*** End Patch\n",
        "*** Update File: a\n", "*** Move File: a\n", "*** Move File: a -> \n", "words\n",
        "*** Update File:\n@@\n-a\n", "*** Delete File: a\nwords\n" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false (argos_v4a_parse (wrong[i], &patch));
        assert_true (*patch.error);
        argos_v4a_clear (&patch);
    }
}

static void
long_files_and_long_lines_are_handled_whole (void **state)
{
    (void) state;
    char *text = malloc (200000), *at = text, error[512];
    assert_non_null (text);
    for (int i = 0; i < 3000; i++)
        at += snprintf (at, 32, "line %d\n", i);
    memset (at, 'y', 50000);
    stpcpy (at + 50000, "\nend\n");
    char *got = s_update ("@@\n-line 2500\n+changed\n", text, error);
    assert_non_null (got);
    assert_non_null (strstr (got, "line 2499\nchanged\nline 2501\n"));
    assert_int_equal (strlen (got), strlen (text) - 2);
    free (got);
    free (text);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_piece_is_found_by_its_rule_or_not_at_all),
        cmocka_unit_test (a_patch_that_was_applied_is_not_applied_again),
        cmocka_unit_test (a_diff_shows_each_change_with_what_stands_around_it),
        cmocka_unit_test (hunks_are_applied_in_order_and_only_where_they_fit),
        cmocka_unit_test (a_patch_names_files_to_add_delete_and_move),
        cmocka_unit_test (long_files_and_long_lines_are_handled_whole),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
