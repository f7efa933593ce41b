//  What a task has read: E.12 1 (stub, refusal, what resets it), 2 (loops), 3 (staleness), 6 (patch
//  failures).

#include "argos_reads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static argos_reads_t *s_reads;

static argos_reads_verdict_t
s_file (const char *what, int64_t modified)
{
    return argos_reads_begin (s_reads, what, "/f", modified, 10);
}

static argos_reads_verdict_t
s_search (const char *what)
{
    return argos_reads_begin (s_reads, what, NULL, 0, 0);
}

static void
the_same_file_is_read_once_and_then_named (void **state)
{
    (void) state;
    assert_int_equal (s_file ("a", 1), ARGOS_READS_PLAIN);
    assert_int_equal (s_file ("a", 1), ARGOS_READS_STUB_IT);
    assert_int_equal (s_file ("a", 1), ARGOS_READS_REFUSE);
    assert_int_equal (s_file ("a", 1), ARGOS_READS_REFUSE);
    //  It has changed; another range; another tool
    assert_int_equal (s_file ("b", 1), ARGOS_READS_PLAIN);
    assert_int_equal (s_file ("b", 2), ARGOS_READS_PLAIN);
    assert_int_equal (s_file ("a", 2), ARGOS_READS_PLAIN);
    assert_int_equal (s_search (NULL), ARGOS_READS_PLAIN);
    assert_int_equal (s_file ("a", 2), ARGOS_READS_PLAIN);
}

static void
a_search_is_warned_of_at_the_third_and_refused_at_the_fourth_time (void **state)
{
    (void) state;
    assert_int_equal (s_search ("x"), ARGOS_READS_PLAIN);
    assert_int_equal (s_search ("x"), ARGOS_READS_PLAIN);
    assert_int_equal (s_search ("x"), ARGOS_READS_WARN);
    assert_int_equal (s_search ("x"), ARGOS_READS_REFUSE);
    assert_int_equal (s_search ("x"), ARGOS_READS_REFUSE);
    assert_int_equal (s_search ("x, page 2"), ARGOS_READS_PLAIN);
    assert_int_equal (s_search ("x"), ARGOS_READS_PLAIN);
    //  A file that changes each time is read, too, but not for ever
    assert_int_equal (s_file ("c", 1), ARGOS_READS_PLAIN);
    assert_int_equal (s_file ("c", 2), ARGOS_READS_PLAIN);
    assert_int_equal (s_file ("c", 3), ARGOS_READS_WARN);
    assert_int_equal (s_file ("c", 4), ARGOS_READS_REFUSE);
}

static void
a_file_that_changed_since_it_was_seen_is_stale (void **state)
{
    (void) state;
    assert_false (argos_reads_is_stale (s_reads, "/f", 1, 10));
    argos_reads_saw (s_reads, "/f", 1, 10);
    assert_false (argos_reads_is_stale (s_reads, "/f", 1, 10));
    assert_true (argos_reads_is_stale (s_reads, "/f", 2, 10));
    assert_true (argos_reads_is_stale (s_reads, "/f", 1, 11));
    assert_false (argos_reads_is_stale (s_reads, "/g", 2, 10));
    //  Failures alone are no sight
    argos_reads_edited (s_reads, "/h", true);
    assert_false (argos_reads_is_stale (s_reads, "/h", 2, 10));
    for (int i = 0; i < 200; i++) {
        char path[] = { '/', (char) ('A' + i % 26), (char) ('a' + i / 26), 0 };
        argos_reads_saw (s_reads, path, 1, 1);
    }
    assert_false (argos_reads_is_stale (s_reads, "/f", 2, 10));
}

static void
edits_that_fail_are_counted_for_each_file (void **state)
{
    (void) state;
    assert_int_equal (argos_reads_edited (s_reads, "/a", true), 1);
    assert_int_equal (argos_reads_edited (s_reads, "/a", true), 2);
    assert_int_equal (argos_reads_edited (s_reads, "/b", true), 1);
    assert_int_equal (argos_reads_edited (s_reads, "/a", true), 3);
    assert_int_equal (argos_reads_edited (s_reads, "/a", false), 0);
    assert_int_equal (argos_reads_edited (s_reads, "/a", true), 1);
}

static void
the_stub_is_not_written_back (void **state)
{
    (void) state;
    assert_true (argos_reads_is_stub (ARGOS_READS_STUB));
    assert_true (argos_reads_is_stub ("1|" ARGOS_READS_STUB "\n"));
    assert_false (argos_reads_is_stub ("a text"));
    assert_false (argos_reads_is_stub (ARGOS_READS_STUB
        " is what it says, and this file is about that: a longer text which quotes it once, or "
        "twice, and goes on and on."));
}

static int
s_begin (void **state)
{
    (void) state;
    s_reads = argos_reads_new ();
    return 0;
}

static int
s_end (void **state)
{
    (void) state;
    argos_reads_destroy (&s_reads);
    argos_reads_destroy (&s_reads);
    return 0;
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (the_same_file_is_read_once_and_then_named, s_begin, s_end),
        cmocka_unit_test_setup_teardown (
            a_search_is_warned_of_at_the_third_and_refused_at_the_fourth_time, s_begin, s_end),
        cmocka_unit_test_setup_teardown (
            a_file_that_changed_since_it_was_seen_is_stale, s_begin, s_end),
        cmocka_unit_test_setup_teardown (edits_that_fail_are_counted_for_each_file, s_begin, s_end),
        cmocka_unit_test (the_stub_is_not_written_back),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
