//  test_store_topic - topics in the store, what is kept of them, and what goes when it is old.

#include "store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RUN "run_0123456789abcdef0123456789abcdef"

static argos_storage_ans_t *
s_topic (kit_t *kit, const char *name, const char *owner)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_TOPIC, 0);
    snprintf (req->name, sizeof req->name, "%s", name);
    snprintf (req->owner, sizeof req->owner, "%s", owner);
    req->boot = argos_store_info (kit->store)->boot;
    return kit_do (kit, req);
}

static bool s_any_topic = true; //  The sender of an entry may write to the topics of others

static argos_err_t
s_entry (kit_t *kit, const char *topic, int64_t number, const char *members, size_t size)
{
    static int count = 0;
    char header[256], *body = malloc (size + 3);
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    req->trusted = true; //  The body is of no interest here
    req->any_topic = s_any_topic;
    snprintf (req->from, sizeof req->from, "agent.2@muscle");
    snprintf (req->id, sizeof req->id, "e%d", ++count);
    snprintf (header, sizeof header,
        "{\"type\":\"turn.text\",\"to\":\"topic:%s\",\"durable\":true%s}", topic, members);
    memset (body, 'x', size + 2);
    body[0] = body[size + 1] = '"';
    body[size + 2] = 0;
    kit_part (req, 0, header, body);
    req->parts[0].number = number;
    free (body);
    return kit_do (kit, req)->code;
}

static argos_storage_ans_t *
s_journal (kit_t *kit, const char *topic, int64_t from)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_JOURNAL, 0);
    snprintf (req->name, sizeof req->name, "%s", topic);
    req->number = from;
    return kit_do (kit, req);
}

static void
a_topic_keeps_its_owner_and_numbers_never_repeat (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    assert_int_equal (s_topic (kit, "t", "")->code, ARGOS_NOT_FOUND);
    assert_int_equal (s_topic (kit, "t", "me")->number, -1);
    assert_string_equal (kit->ans->owner, "me");
    assert_string_equal (s_topic (kit, "t", "you")->owner, "me");
    s_any_topic = false;
    assert_int_equal (s_entry (kit, "t", 0, "", 5), ARGOS_DENIED);
    assert_int_equal (s_entry (kit, "own", 0, "", 5), ARGOS_OK);
    assert_string_equal (kit->ans->parts[0].from, "agent");
    s_any_topic = true;
    assert_int_equal (s_entry (kit, "t", 0, "", 5), ARGOS_OK);
    assert_string_equal (kit->ans->parts[0].from, "me");
    assert_int_equal (kit->ans->parts[0].number, 0);
    assert_int_equal (kit->ans->seq, 0);
    assert_int_equal (s_entry (kit, "t", 3, "", 5), ARGOS_OK);
    assert_int_equal (s_entry (kit, "t", 3, "", 5), ARGOS_CONFLICT);
    assert_int_equal (s_topic (kit, "t", "")->number, 3);
    kit_reopen (kit);
    assert_int_equal (s_topic (kit, "t", "")->boot, 1);
    assert_int_equal (s_entry (kit, "t", 3, "", 5), ARGOS_OK);
    assert_int_equal (kit->ans->parts[0].number, (1LL << 32) + 3);
    assert_int_equal (s_entry (kit, "t", 4, ",\"last\":true", 5), ARGOS_OK);
    assert_true (s_topic (kit, "t", "")->closed);
    assert_int_equal (s_entry (kit, "t", 5, "", 5), ARGOS_OK); //  Swallowed
    s_journal (kit, "t", 1);
    assert_int_equal (kit->ans->part_count, 3);
    assert_int_equal (kit->ans->parts[0].number, 3);
    assert_string_equal (kit->ans->parts[0].from, "agent.2@muscle");
    assert_int_equal (kit->ans->parts[2].number, (1LL << 32) + 4);
    assert_true (kit->ans->closed);
    assert_false (kit->ans->more);
    assert_int_equal (s_journal (kit, "none", 0)->code, ARGOS_NOT_FOUND);
    kit_free (kit);
}

static void
a_journal_comes_in_pages (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    for (int i = 0; i < 70; i++)
        assert_int_equal (s_entry (kit, "t", i, "", 10), ARGOS_OK);
    s_journal (kit, "t", 0);
    assert_int_equal (kit->ans->part_count, 64);
    assert_true (kit->ans->more);
    s_journal (kit, "t", 64);
    assert_int_equal (kit->ans->part_count, 6);
    assert_false (kit->ans->more);
    s_journal (kit, "t", 70);
    assert_int_equal (kit->ans->part_count, 0);
    assert_int_equal (kit->ans->number, 69);
    for (int i = 0; i < 3; i++)
        s_entry (kit, "big", i, "", 200000);
    s_journal (kit, "big", 0);
    assert_int_equal (kit->ans->part_count, 2);
    assert_true (kit->ans->more);
    kit_free (kit);
}

static void
a_topic_that_tells_how_things_are_stays_small (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    for (int i = 0; i < 1300; i++) {
        assert_int_equal (s_entry (kit, "out.line.main", i, "", 5), ARGOS_OK);
        assert_int_equal (s_entry (kit, "other", i, "", 5), ARGOS_OK);
    }
    int64_t kept = kit_number (kit, "SELECT count (*) FROM journal, topics"
                                    " WHERE topic = id AND name = 'out.line.main'");
    assert_in_range (kept, 1024, 1024 + 63);
    assert_int_equal (s_topic (kit, "out.line.main", "")->number, 1299);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM journal, topics"
                                       " WHERE topic = id AND name = 'other'"),
        1300);
    kit_free (kit);
}

static void
a_run_brings_its_topic_which_belongs_to_its_owner (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    s_topic (kit, "run." RUN, "stranger");
    kit_write (kit, "api.2@core", "run.create", "{\"run_id\":\"" RUN "\"}");
    assert_string_equal (s_topic (kit, "run." RUN, "x")->owner, "api");
    kit_free (kit);
}

static void
old_runs_topics_and_receipts_go_when_they_are_finished (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_write (kit, "api", "run.create", "{\"run_id\":\"" RUN "\"}");
    kit_write (kit, "api", "run.create", "{\"run_id\":\"run_00000000000000000000000000000000\"}");
    kit_write (kit, "api", "run.finish",
        "{\"run_id\":\"" RUN "\",\"state\":\"completed\",\"output\":\"\"}");
    kit_write (kit, "api", "receipt.put", "{\"state\":\"sent\"}");
    s_entry (kit, "run." RUN, 0, ",\"last\":true", 5);
    s_entry (kit, "open", 7, "", 5);
    kit->now += 40 * 86400000LL;
    s_entry (kit, "open", 8, "", 5);
    kit->store->prune_at = 0;
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM runs"), 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM receipts"), 0);
    assert_int_equal (
        kit_number (kit, "SELECT count (*) FROM topics WHERE name = 'run." RUN "'"), 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM journal"), 1);
    assert_int_equal (s_topic (kit, "open", "")->number, 8);
    kit->now += 40 * 86400000LL;
    kit->store->prune_at = 0;
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM journal"), 0);
    assert_int_equal (s_topic (kit, "open", "")->number, 8); //  Numbers go on where they were
    kit_free (kit);
}

//  Entries of a topic that are left, and the oldest of them

static void
s_expect_kept (kit_t *kit, const char *topic, int64_t count, int64_t oldest)
{
    char sql[160];
    snprintf (sql, sizeof sql,
        "SELECT count (*) FROM journal JOIN topics ON topic = id WHERE name = '%s'", topic);
    assert_int_equal (kit_number (kit, sql), count);
    s_journal (kit, topic, 0);
    assert_int_equal (kit->ans->part_count > 0 ? kit->ans->parts[0].number : -1, oldest);
}

static void
s_walk (kit_t *kit)
{
    kit->store->retain_at = 0;
    while (argos_store_chore (kit->store, kit->now))
        continue;
}

static void
kept_entries_have_limits_of_age_number_and_bytes (void **state)
{
    (void) state;
    static const argos_store_keep_t keeps[] = {
        { .match = "count.*", .keep_entries = 10 },
        { .match = "count.>", .keep_entries = 1 }, //  Fits count.a too, but comes later
        { .match = "bytes", .keep_bytes = 5000 },
        { .match = "age.>", .keep_ms = 60000 },
        { .match = "both", .keep_ms = 60000, .keep_entries = 300 },
    };
    kit_t *kit = kit_new (false);
    argos_store_set_keeps (kit->store, keeps, sizeof keeps / sizeof keeps[0]);
    while (argos_store_chore (kit->store, kit->now)) //  The first pass of everything
        continue;
    for (int i = 0; i < 30; i++) {
        s_entry (kit, "count.a", i, "", 5);
        s_entry (kit, "count.a.b", i, "", 5);
        s_entry (kit, "bytes", i, "", 1000);
        s_entry (kit, "age.a", i, "", 5);
        s_entry (kit, "free", i, "", 5);
    }
    for (int i = 0; i < 1200; i++)
        s_entry (kit, "both", i, "", 5);
    s_walk (kit);
    s_expect_kept (kit, "count.a", 10, 20);
    s_expect_kept (kit, "count.a.b", 1, 29);
    s_expect_kept (kit, "bytes", 4, 26);
    s_expect_kept (kit, "age.a", 30, 0);
    s_expect_kept (kit, "free", 30, 0);
    s_expect_kept (kit, "both", 300, 900);
    kit->now += 59000;
    s_entry (kit, "age.a", 30, "", 5);
    kit->now += 2000;
    s_walk (kit);
    s_expect_kept (kit, "age.a", 1, 30);
    s_expect_kept (kit, "both", 0, -1);
    s_expect_kept (kit, "count.a", 10, 20);
    //  Not again before its time; and numbers go on where they were
    s_entry (kit, "count.a.b", 30, "", 5);
    while (argos_store_chore (kit->store, kit->now))
        continue;
    s_expect_kept (kit, "count.a.b", 2, 29);
    assert_int_equal (s_topic (kit, "both", "")->number, 1199);
    kit_free (kit);
}

//  One run of the API with all that is its own, started at this moment

static void
s_whole_run (kit_t *kit, const char *run, const char *owner, bool ended)
{
    char text[512];
    snprintf (text, sizeof text, "{\"run_id\":\"%s\",\"owner\":\"%s\"}", run, owner);
    kit_write (kit, "api", "run.create", text);
    snprintf (text, sizeof text,
        "{\"space\":\"response\",\"key\":\"%s\",\"value\":{},\"run_id\":\"%s\"}", run, run);
    kit_write (kit, "api", "record.put", text);
    snprintf (text, sizeof text, "run.%s", run);
    s_entry (kit, text, 0, ended ? ",\"last\":true" : "", 5);
    snprintf (text, sizeof text, "{\"run_id\":\"%s\",\"state\":\"completed\"}", run);
    if (ended)
        kit_write (kit, "api", "run.finish", text);
}

static void
s_runs_walk (kit_t *kit)
{
    kit->store->runs.walk_at = 0;
    while (argos_store_chore (kit->store, kit->now))
        continue;
}

static int64_t
s_of_run (kit_t *kit, const char *run)
{
    char sql[640];
    snprintf (sql, sizeof sql,
        "SELECT (SELECT count (*) FROM runs WHERE run_id = '%s')"
        " + (SELECT count (*) FROM records WHERE run_id = '%s')"
        " + (SELECT count (*) FROM journal JOIN topics ON topic = id WHERE name = 'run.%s')"
        " + (SELECT count (*) FROM topics WHERE name = 'run.%s')",
        run, run, run, run);
    return kit_number (kit, sql);
}

static void
runs_of_the_api_go_with_all_that_is_theirs (void **state)
{
    (void) state;
    static const char *const runs[] = { "run_10000000000000000000000000000000",
        "run_20000000000000000000000000000000", "run_30000000000000000000000000000000",
        "run_40000000000000000000000000000000", "run_50000000000000000000000000000000" };
    kit_t *kit = kit_new (false);
    while (argos_store_chore (kit->store, kit->now)) //  The first pass of everything
        continue;
    argos_store_set_runs (kit->store, "api", 60000);
    s_whole_run (kit, runs[0], "api", true);
    s_whole_run (kit, runs[1], "api.other", true);
    s_whole_run (kit, runs[2], "api", false);
    s_whole_run (kit, runs[3], "apiary", true);
    kit->now += 59000;
    s_whole_run (kit, runs[4], "api", true);
    s_runs_walk (kit);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal (s_of_run (kit, runs[i]), 4);
    kit->now += 2000;
    s_runs_walk (kit);
    assert_int_equal (s_of_run (kit, runs[0]), 0);
    assert_int_equal (s_of_run (kit, runs[1]), 0);
    for (size_t i = 2; i < 5; i++) //  Has not ended, is another's, has ended just now
        assert_int_equal (s_of_run (kit, runs[i]), 4);
    //  The end counts, not the beginning
    kit_write (kit, "api", "run.finish",
        "{\"run_id\":\"run_30000000000000000000000000000000\","
        "\"state\":\"cancelled\"}");
    kit->now += 59500;
    s_runs_walk (kit);
    assert_int_equal (s_of_run (kit, runs[2]), 4);
    assert_int_equal (s_of_run (kit, runs[4]), 0);
    kit->now += 1000;
    s_runs_walk (kit);
    assert_int_equal (s_of_run (kit, runs[2]), 0);
    kit_free (kit);
}

static void
a_clock_that_jumps_does_not_take_all_runs (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    while (argos_store_chore (kit->store, kit->now))
        continue;
    argos_store_set_runs (kit->store, "api", 60000);
    for (int i = 0; i < 300; i++) {
        char run[40];
        snprintf (run, sizeof run, "run_%032d", i);
        s_whole_run (kit, run, "api", true);
    }
    kit->now += 3600000;
    s_runs_walk (kit);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM runs"), 300 - 64 - 299 / 30);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_topic_keeps_its_owner_and_numbers_never_repeat),
        cmocka_unit_test (a_journal_comes_in_pages),
        cmocka_unit_test (a_topic_that_tells_how_things_are_stays_small),
        cmocka_unit_test (a_run_brings_its_topic_which_belongs_to_its_owner),
        cmocka_unit_test (old_runs_topics_and_receipts_go_when_they_are_finished),
        cmocka_unit_test (runs_of_the_api_go_with_all_that_is_theirs),
        cmocka_unit_test (a_clock_that_jumps_does_not_take_all_runs),
        cmocka_unit_test (kept_entries_have_limits_of_age_number_and_bytes),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
