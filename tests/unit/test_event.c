//  The events of a run: translation of topic entries, and readers that come early, late, again, or
//  are slow.
//
//  A reader is checked by what it can build: the concatenated deltas, where run.restarted and
//  stream.gap drop the text of what is unfinished.

#include "argos_event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUN "run_00112233445566778899aabbccddeeff"

static void
s_add (argos_event_log_t *log, const char *type, int64_t n, const char *body)
{
    json_t *object = json_loads (body, 0, NULL);
    assert_non_null (object);
    argos_event_log_add (log, type, object, n, 1732752000123);
    json_decref (object);
}

//  Read on until there is nothing more: names, ids and the text go to these.

typedef struct {
    char names[4096]; //  Events, a comma after each
    char ids[4096];   //  Their ids, a comma after each; - = none
    char text[65536]; //  Finished segments and the one in progress
    size_t finished;  //  Bytes of finished segments
    int rc;           //  What ended it
} seen_t;

static void
s_append (char *target, size_t size, const char *text)
{
    size_t used = strlen (target);
    (void) snprintf (target + used, size - used, "%s", text);
}

static void
s_understand (seen_t *seen, const char *frame, size_t size)
{
    char *copy = strndup (frame, size);
    char *data = strstr (copy, "data: ");
    assert_non_null (data);
    assert_string_equal (copy + size - 2, "\n\n");
    char id[32] = "-";
    if (data != copy)
        assert_int_equal (sscanf (copy, "id: %31[0-9]", id), 1);
    copy[size - 2] = 0;
    assert_null (strchr (data, '\n'));
    json_t *event = json_loads (data + 6, 0, NULL);
    assert_non_null (event);
    const char *name = json_string_value (json_object_get (event, "event"));
    assert_string_equal (json_string_value (json_object_get (event, "run_id")), RUN);
    assert_true (json_is_real (json_object_get (event, "timestamp")));
    s_append (seen->names, sizeof seen->names, name);
    s_append (seen->names, sizeof seen->names, ",");
    s_append (seen->ids, sizeof seen->ids, id);
    s_append (seen->ids, sizeof seen->ids, ",");
    if (strcmp (name, "message.delta") == 0)
        s_append (
            seen->text, sizeof seen->text, json_string_value (json_object_get (event, "delta")));
    if (strcmp (name, "message.completed") == 0)
        seen->finished = strlen (seen->text);
    if (strcmp (name, "run.restarted") == 0 || strcmp (name, "stream.gap") == 0)
        seen->text[seen->finished] = 0;
    json_decref (event);
    free (copy);
}

static void
s_read (argos_event_log_t *log, argos_event_cursor_t *cursor, seen_t *seen)
{
    const char *frame;
    size_t size;
    while ((seen->rc = argos_event_next (log, cursor, &frame, &size)) == 1)
        s_understand (seen, frame, size);
}

static void
s_read_from (argos_event_log_t *log, int64_t after, seen_t *seen)
{
    argos_event_cursor_t cursor;
    memset (seen, 0, sizeof *seen);
    argos_event_cursor_init (&cursor, after);
    s_read (log, &cursor, seen);
}

static void
s_hello_run (argos_event_log_t *log)
{
    s_add (log, "turn.delta", 0, "{\"segment\":0,\"delta\":\"Hel\"}");
    s_add (log, "turn.delta", 1, "{\"segment\":0,\"delta\":\"lo\"}");
    s_add (log, "turn.text", 2, "{\"segment\":0,\"text\":\"Hello\"}");
    s_add (log, "tool.started", 3,
        "{\"tool\":\"terminal\",\"tool_call_id\":\"c1\",\"preview\":\"date\"}");
    s_add (log, "tool.completed", 4,
        "{\"tool\":\"terminal\",\"tool_call_id\":\"c1\",\"duration\":0.12345,\"error\":false}");
    s_add (log, "turn.delta", 5, "{\"segment\":1,\"delta\":\" world\"}");
    s_add (log, "turn.text", 6, "{\"segment\":1,\"text\":\" world\"}");
    s_add (log, "run.completed", 7, "{\"output\":\"Hello world\",\"usage\":{\"total_tokens\":3}}");
}

static void
a_reader_from_the_start_gets_all_events_in_order (void **state)
{
    (void) state;
    seen_t seen;
    argos_event_log_t *log = argos_event_log_new (RUN, 0, 0);
    s_hello_run (log);
    s_read_from (log, -1, &seen);
    assert_string_equal (seen.ids, "0,1,2,3,4,5,6,7,");
    assert_string_equal (seen.names,
        "message.delta,message.delta,message.completed,tool.started,tool.completed,message.delta,"
        "message.completed,run.completed,");
    assert_string_equal (seen.text, "Hello world");
    assert_int_equal (seen.rc, -1);
    argos_event_log_destroy (&log);
    argos_event_log_destroy (&log);
}

static void
a_reader_cut_after_any_event_goes_on_without_gap_or_repeat (void **state)
{
    (void) state;
    for (int64_t cut = 0; cut < 7; cut++) {
        argos_event_log_t *log = argos_event_log_new (RUN, 0, 0);
        seen_t all, rest;
        s_hello_run (log);
        s_read_from (log, -1, &all);
        s_read_from (log, cut, &rest);
        const char *tail = all.ids + 2 * (cut + 1);
        assert_string_equal (rest.ids, tail);
        assert_null (strstr (rest.names, "stream.gap"));
        argos_event_log_destroy (&log);
    }
}

static void
the_journal_alone_gives_the_whole_answer_as_deltas (void **state)
{
    (void) state;
    seen_t seen;
    argos_event_log_t *log = argos_event_log_new (RUN, 0, 0);
    s_add (log, "turn.text", 2, "{\"segment\":0,\"text\":\"Hello\"}");
    s_add (log, "turn.text", 6, "{\"segment\":1,\"text\":\" world\"}");
    s_add (log, "run.completed", 7, "{\"output\":\"Hello world\"}");
    s_read_from (log, -1, &seen);
    assert_string_equal (seen.names, "message.delta,message.delta,run.completed,");
    assert_string_equal (seen.text, "Hello world");
    argos_event_log_destroy (&log);
}

static void
a_key_frame_makes_up_for_lost_deltas (void **state)
{
    (void) state;
    seen_t seen = { .rc = 0 };
    argos_event_cursor_t cursor;
    argos_event_log_t *log = argos_event_log_new (RUN, 0, 0);
    argos_event_cursor_init (&cursor, -1);
    s_add (log, "turn.delta", 0, "{\"segment\":0,\"delta\":\"a\"}");
    s_read (log, &cursor, &seen);
    s_add (log, "turn.delta", 9, "{\"segment\":0,\"delta\":\"d\",\"text\":\"abcd\"}");
    s_add (log, "turn.delta", 10, "{\"segment\":0,\"delta\":\"e\"}");
    s_read (log, &cursor, &seen);
    assert_string_equal (seen.text, "abcde");
    assert_string_equal (seen.ids, "0,9,10,");
    s_read_from (log, -1, &seen);
    assert_string_equal (seen.text, "abcde");
    argos_event_log_destroy (&log);
}

static void
a_resumed_reader_whose_place_is_lost_is_told_and_begins_the_segment_again (void **state)
{
    (void) state;
    seen_t seen;
    argos_event_log_t *log = argos_event_log_new (RUN, 0, 0);
    s_add (log, "turn.text", 6, "{\"segment\":0,\"text\":\"Hello\"}");
    s_add (log, "run.completed", 7, "{\"output\":\"Hello\"}");
    s_read_from (log, 3, &seen);
    assert_string_equal (seen.names, "stream.gap,message.delta,run.completed,");
    assert_string_equal (seen.ids, "-,6,7,");
    assert_string_equal (seen.text, "Hello");
    argos_event_log_destroy (&log);
}

static void
a_restart_makes_readers_drop_what_is_unfinished (void **state)
{
    (void) state;
    seen_t seen;
    argos_event_log_t *log = argos_event_log_new (RUN, 0, 0);
    s_add (log, "turn.delta", 0, "{\"segment\":0,\"delta\":\"one\"}");
    s_add (log, "turn.text", 1, "{\"segment\":0,\"text\":\"one\"}");
    s_add (log, "turn.delta", 2, "{\"segment\":1,\"delta\":\"tw\"}");
    s_add (log, "turn.restarted", 4294967296, "{\"attempt\":2}");
    s_add (log, "turn.delta", 4294967297, "{\"segment\":1,\"delta\":\"two\"}");
    s_add (log, "run.completed", 4294967298, "{\"output\":\"onetwo\"}");
    s_read_from (log, -1, &seen);
    assert_string_equal (seen.text, "onetwo");
    assert_non_null (strstr (seen.names, "run.restarted"));
    s_read_from (log, 2, &seen);
    assert_string_equal (seen.text, "two");
    s_read_from (log, 3, &seen); //  A delta of the earlier start that is gone: the restart says all
    assert_null (strstr (seen.names, "stream.gap"));
    argos_event_log_destroy (&log);
}

//  A segment of count deltas "x", numbered from n.

static int64_t
s_add_many (argos_event_log_t *log, int64_t n, int segment, int count)
{
    char body[64];
    for (int i = 0; i < count; i++) {
        (void) snprintf (
            body, sizeof body, "{\"segment\":%d,\"delta\":\"%c\"}", segment, 'a' + i % 26);
        s_add (log, "turn.delta", n++, body);
    }
    return n;
}

static void
a_slow_reader_misses_events_but_no_text (void **state)
{
    (void) state;
    seen_t slow = { .rc = 0 }, late;
    argos_event_cursor_t cursor;
    argos_event_log_t *log = argos_event_log_new (RUN, 64, 0);
    argos_event_cursor_init (&cursor, -1);
    int64_t n = s_add_many (log, 0, 0, 10);
    s_read (log, &cursor, &slow);
    (void) s_add_many (log, n, 0, 500);
    assert_true (argos_event_log_count (log) <= 64);
    s_read (log, &cursor, &slow);
    s_read_from (log, -1, &late);
    assert_int_equal (strlen (slow.text), 510);
    assert_string_equal (slow.text, late.text);
    assert_null (strstr (slow.names, "stream.gap"));
    argos_event_log_destroy (&log);
}

static void
c028_a_full_log_drops_deltas_of_finished_segments_first (void **state)
{
    (void) state;
    seen_t seen;
    argos_event_log_t *log = argos_event_log_new (RUN, 64, 0);
    int64_t n = s_add_many (log, 0, 0, 40);
    char text[128] = "{\"segment\":0,\"text\":\"abcdefghijklmnopqrstuvwxyzabcdefghijklmn\"}";
    s_add (log, "turn.text", n++, text);
    (void) s_add_many (log, n, 1, 40);
    s_read_from (log, -1, &seen);
    assert_int_equal (strlen (seen.text), 80);
    assert_null (strstr (seen.names, "stream.gap"));
    argos_event_log_destroy (&log);
}

static void
kept_events_that_had_to_go_are_announced_as_one_gap (void **state)
{
    (void) state;
    seen_t seen;
    argos_event_log_t *log = argos_event_log_new (RUN, 64, 0);
    for (int64_t n = 0; n < 200; n++)
        s_add (log, "tool.started", n, "{\"tool\":\"t\",\"tool_call_id\":\"c\",\"preview\":\"\"}");
    s_add (log, "run.completed", 200, "{\"output\":\"\"}");
    s_read_from (log, -1, &seen);
    assert_int_equal (strncmp (seen.names, "stream.gap,tool.started,", 24), 0);
    assert_null (strstr (seen.names + 10, "stream.gap"));
    assert_non_null (strstr (seen.names, "run.completed"));
    assert_int_equal (seen.rc, -1);
    argos_event_log_destroy (&log);
}

static void
the_byte_limit_holds (void **state)
{
    (void) state;
    char body[2100];
    argos_event_log_t *log = argos_event_log_new (RUN, 0, 65536);
    for (int64_t n = 0; n < 1000; n++) {
        (void) snprintf (body, sizeof body, "{\"segment\":0,\"delta\":\"%02000d\"}", (int) n);
        s_add (log, "turn.delta", n, body);
        assert_true (argos_event_log_count (log) < 65);
    }
    argos_event_log_destroy (&log);
}

static void
nothing_follows_the_terminal_event (void **state)
{
    (void) state;
    seen_t seen;
    argos_event_log_t *log = argos_event_log_new (RUN, 0, 0);
    s_add (log, "run.cancelled", 4, "{\"reason\":\"stop\"}");
    s_add (log, "turn.delta", 5, "{\"segment\":0,\"delta\":\"late\"}");
    s_read_from (log, -1, &seen);
    assert_string_equal (seen.names, "run.cancelled,");
    assert_int_equal (argos_event_log_end (log), 4);
    assert_int_equal (argos_event_log_newest (log), 4);
    s_read_from (log, 1000, &seen);
    assert_int_equal (seen.rc, -1);
    argos_event_log_destroy (&log);
}

static void
repeated_and_foreign_entries_are_ignored (void **state)
{
    (void) state;
    argos_event_log_t *log = argos_event_log_new (RUN, 0, 0);
    s_add (log, "turn.delta", 3, "{\"segment\":0,\"delta\":\"a\"}");
    s_add (log, "turn.delta", 3, "{\"segment\":0,\"delta\":\"a\"}");
    s_add (log, "turn.delta", 2, "{\"segment\":0,\"delta\":\"a\"}");
    s_add (log, "turn.delta", 4, "{\"segment\":0,\"delta\":null}");
    s_add (log, "something.else", 5, "{}");
    assert_int_equal (argos_event_log_count (log), 1);
    argos_event_log_destroy (&log);
}

static void
text_with_line_ends_and_beyond_stays_one_line_and_comes_back (void **state)
{
    (void) state;
    const char *text = "a\nb\rc\xE2\x80\xA8"
                       "d\xF0\x9F\x98\x80\"\\";
    argos_event_log_t *log = argos_event_log_new (RUN, 0, 0);
    seen_t seen;
    json_t *body = json_pack ("{s:i,s:s}", "segment", 0, "delta", text);
    argos_event_log_add (log, "turn.delta", body, 0, 1);
    json_decref (body);
    s_read_from (log, -1, &seen);
    assert_string_equal (seen.text, text);
    argos_event_log_destroy (&log);
}

static void
translation_keeps_only_what_readers_get (void **state)
{
    (void) state;
    json_t *body = json_loads (
        "{\"tool\":\"t\",\"tool_call_id\":\"c\",\"duration\":1.23456,\"error\":true,\"x\":1}", 0,
        NULL);
    json_t *event = argos_event_translate ("tool.completed", body, RUN, 1500);
    json_t *expected = json_loads ("{\"event\":\"tool.completed\",\"run_id\":\"" RUN
                                   "\",\"timestamp\":1.5,\"tool\":\"t\",\"tool_call_id\":\"c\","
                                   "\"duration\":1.235,\"error\":true}",
        0, NULL);
    assert_true (json_equal (event, expected));
    json_decref (event);
    json_decref (expected);
    json_decref (body);
    body = json_loads ("{\"error\":\"it broke\"}", 0, NULL);
    event = argos_event_translate ("run.failed", body, RUN, 0);
    assert_string_equal (json_string_value (json_object_get (event, "error")), "it broke");
    json_decref (event);
    json_decref (body);
}

static void
numbers_of_last_event_id (void **state)
{
    (void) state;
    assert_int_equal (argos_event_number (NULL), -1);
    assert_int_equal (argos_event_number (""), -1);
    assert_int_equal (argos_event_number ("-1"), -1);
    assert_int_equal (argos_event_number ("x"), -1);
    assert_int_equal (argos_event_number ("1x"), -1);
    assert_int_equal (argos_event_number ("99999999999999999999"), -1);
    assert_int_equal (argos_event_number ("0"), 0);
    assert_int_equal (argos_event_number ("4294967297"), 4294967297);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_reader_from_the_start_gets_all_events_in_order),
        cmocka_unit_test (a_reader_cut_after_any_event_goes_on_without_gap_or_repeat),
        cmocka_unit_test (the_journal_alone_gives_the_whole_answer_as_deltas),
        cmocka_unit_test (a_key_frame_makes_up_for_lost_deltas),
        cmocka_unit_test (
            a_resumed_reader_whose_place_is_lost_is_told_and_begins_the_segment_again),
        cmocka_unit_test (a_restart_makes_readers_drop_what_is_unfinished),
        cmocka_unit_test (a_slow_reader_misses_events_but_no_text),
        cmocka_unit_test (c028_a_full_log_drops_deltas_of_finished_segments_first),
        cmocka_unit_test (kept_events_that_had_to_go_are_announced_as_one_gap),
        cmocka_unit_test (the_byte_limit_holds),
        cmocka_unit_test (nothing_follows_the_terminal_event),
        cmocka_unit_test (repeated_and_foreign_entries_are_ignored),
        cmocka_unit_test (text_with_line_ends_and_beyond_stays_one_line_and_comes_back),
        cmocka_unit_test (translation_keeps_only_what_readers_get),
        cmocka_unit_test (numbers_of_last_event_id),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
