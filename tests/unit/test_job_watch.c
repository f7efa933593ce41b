//  test_job_watch - patterns in the output of jobs, and how often people hear of them. Pure.
//
//  Lines of C.9: 92-94 test_nothing, 95-96 and 98 test_match, 99 and 113 test_over, 100 and 106
//  test_clean_window, 101 test_many_lines, 102-104 test_window, 105 test_strikes, 107
//  test_suppressed, 119-120 test_breaker; 52-54 are the words in these.

#include "argos_job_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char s_said[64][4096];
static size_t s_count;
static argos_job_breaker_t s_breaker;
static argos_job_watch_t *s_watch;

static void
s_on_notice (void *arg, const char *text)
{
    (void) arg;
    assert_true (s_count < 64);
    snprintf (s_said[s_count++], sizeof s_said[0], "%s", text);
}

static bool
s_feed (const char *text, int64_t now)
{
    return argos_job_watch_feed (s_watch, &s_breaker, text, strlen (text), now, s_on_notice, NULL);
}

static argos_job_watch_t *
s_new (const char *json)
{
    json_t *patterns = json_loads (json, 0, NULL);
    argos_job_watch_t *watch = argos_job_watch_new ("0123456789ab", patterns);
    json_decref (patterns);
    return watch;
}

static int
s_setup (void **state)
{
    (void) state;
    s_count = 0;
    s_breaker = (argos_job_breaker_t){ 0 };
    s_watch = s_new ("[\"ERROR\", \"WARN\"]");
    return 0;
}

static int
s_teardown (void **state)
{
    (void) state;
    argos_job_watch_destroy (&s_watch);
    argos_job_watch_destroy (&s_watch);
    return 0;
}

static void
test_nothing (void **state)
{
    (void) state;
    argos_job_watch_state_t now = argos_job_watch_state (s_watch);
    assert_int_equal (now.hits + now.suppressed + now.strikes, 0);
    assert_false (now.disabled);
    argos_job_watch_destroy (&s_watch);
    s_watch = s_new ("[]");
    assert_false (s_feed ("ERROR\n", 1000));
    assert_int_equal (s_count, 0);
}

static void
test_match (void **state)
{
    (void) state;
    s_feed ("all is well\nERR", 1000);
    assert_int_equal (s_count, 0);
    s_feed ("OR: disk ", 1001);
    s_feed ("full\nmore\n", 1002);
    assert_int_equal (s_count, 1);
    assert_string_equal (s_said[0],
        "[IMPORTANT: Background process proc_0123456789ab matched watch pattern \"ERROR\".\n"
        "Matched output:\nERROR: disk full]");
    argos_job_watch_destroy (&s_watch);
    s_watch = s_new ("[\"ERROR\", \"WARN\"]");
    s_feed ("WARN: first\nERROR: second\n", 1000);
    assert_non_null (strstr (s_said[1], "pattern \"WARN\""));
    assert_non_null (strstr (s_said[1], "WARN: first\nERROR: second]"));
}

static void
test_window (void **state)
{
    (void) state;
    s_feed ("ERROR 1\n", 1000);
    for (int i = 0; i < 10; i++)
        s_feed ("ERROR again\n", 1001 + i);
    argos_job_watch_state_t now = argos_job_watch_state (s_watch);
    assert_int_equal (s_count, 1);
    assert_int_equal (now.hits, 1);
    assert_int_equal (now.suppressed, 10);
    assert_int_equal (now.strikes, 1);
}

static void
test_suppressed (void **state)
{
    (void) state;
    s_feed ("ERROR 1\n", 1000);
    s_feed ("ERROR 2\nERROR 3\nERROR 4\n", 2000);
    s_feed ("ERROR 5\n", 16000);
    assert_int_equal (s_count, 2);
    assert_non_null (strstr (s_said[1], "3 earlier matches were suppressed"));
    assert_int_equal (argos_job_watch_state (s_watch).suppressed, 0);
}

static void
test_clean_window (void **state)
{
    (void) state;
    s_feed ("ERROR 1\n", 1000);
    s_feed ("ERROR 2\n", 2000);
    s_feed ("ERROR 3\n", 16000);
    assert_int_equal (argos_job_watch_state (s_watch).strikes, 1);
    s_feed ("ERROR 4\n", 40000);
    assert_int_equal (argos_job_watch_state (s_watch).strikes, 0);
    assert_int_equal (argos_job_watch_state (s_watch).hits, 3);
}

static void
test_strikes (void **state)
{
    (void) state;
    int64_t now = 1000;
    bool ended = false;
    for (int window = 0; window < 3; window++, now += 15000) {
        assert_false (ended);
        s_feed ("ERROR\n", now);
        ended = s_feed ("ERROR\n", now + 10);
    }
    assert_true (ended);
    assert_true (argos_job_watch_state (s_watch).disabled);
    assert_int_equal (s_count, 4); //  Three matches, and the end
    assert_non_null (strstr (s_said[3], "[IMPORTANT: "));
    assert_non_null (strstr (s_said[3], "notify_on_complete"));
    assert_false (s_feed ("ERROR\n", now + 60000));
    assert_int_equal (s_count, 4);
}

static void
test_over (void **state)
{
    (void) state;
    int64_t now = 1000;
    for (int i = 0; i < ARGOS_JOB_WATCH_NOTICES; i++, now += 20000)
        s_feed ("ERROR\n", now);
    assert_true (argos_job_watch_state (s_watch).disabled);
    assert_int_equal (s_count, ARGOS_JOB_WATCH_NOTICES + 1);
}

static void
test_many_lines (void **state)
{
    (void) state;
    char text[8192] = "";
    size_t size = 0, lines = 0;
    for (int i = 0; i < 100; i++)
        size += (size_t) snprintf (text + size, sizeof text - size, "ERROR %d of a hundred\n", i);
    s_feed (text, 1000);
    for (const char *next = s_said[0]; (next = strstr (next, "ERROR ")); next++)
        lines++;
    assert_int_equal (lines, ARGOS_JOB_WATCH_LINES);
    memset (text, 'x', 5000);
    memcpy (text, "ERROR", 5);
    text[5000] = '\n';
    text[5001] = 0;
    s_feed (text, 100000);
    assert_true (strlen (s_said[1]) < ARGOS_JOB_WATCH_BYTES + 200);
}

static void
test_breaker (void **state)
{
    (void) state;
    argos_job_watch_t *watches[20];
    for (int i = 0; i < 20; i++) {
        watches[i] = s_new ("[\"ERROR\"]");
        argos_job_watch_feed (
            watches[i], &s_breaker, "ERROR\n", 6, 1000 + 10 * i, s_on_notice, NULL);
    }
    assert_int_equal (s_count, ARGOS_JOB_BREAKER_COUNT + 1);
    assert_non_null (strstr (s_said[15], "Too many watch notices"));
    argos_job_watch_feed (watches[19], &s_breaker, "ERROR\n", 6, 40000, s_on_notice, NULL);
    assert_int_equal (s_count, ARGOS_JOB_BREAKER_COUNT + 3);
    assert_non_null (strstr (s_said[16], "5 matches were not told"));
    assert_non_null (strstr (s_said[17], "matched watch pattern"));
    for (int i = 0; i < 20; i++)
        argos_job_watch_destroy (&watches[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, s_setup, s_teardown)

int
main (void)
{
    const struct CMUnitTest tests[] = { TEST (test_nothing), TEST (test_match), TEST (test_window),
        TEST (test_suppressed), TEST (test_clean_window), TEST (test_strikes), TEST (test_over),
        TEST (test_many_lines), TEST (test_breaker) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
