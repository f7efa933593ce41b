//  test_store_faults_rows - rows of docs/store-faults.md: what went wrong in the field with such a
//  store, each by its number, and what must happen here. This half: search, sessions and messages
//  (the file and its disk: test_store_faults.c).

#include "fault_vfs.h"
#include "store_fault.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t
s_hits (kit_t *kit, const char *text)
{
    char body[256];
    snprintf (body, sizeof body, "{\"text\":\"%s\",\"limit\":100}", text);
    assert_int_equal (kit_read (kit, "session.search", body), ARGOS_OK);
    return json_array_size (json_object_get (kit->result, "hits"));
}

//  ------------------------------------------------------------------------------------------------
//  Search

static void
s_many (kit_t *kit, const char *text, const char *role, int count)
{
    char sql[512];
    snprintf (sql, sizeof sql,
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO messages (session_id, role, at, content) SELECT 's', '%s', 1, %s FROM n",
        count, role, text);
    fault_exec (kit, sql);
    kit->store->messages_behind += count;
    kit->store->indexed_all = false;
}

//  F9, F10: the file stays near the size of the texts; of the output of tools the first 8192
//  characters are indexed; Latin text is in one index only.

static void
the_index_stays_small (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    s_many (kit,
        "'the ' || i || ' words of row ' || (i * 7919 % 9973) || ' say ' ||"
        " (i * 31 % 997) || ' and ' || (i % 13) || ' more plain words to read'",
        "assistant", 8000);
    s_many (kit, "printf ('%.*c', 100000, 'z') || ' hidden'", "tool", 20);
    s_many (kit, "printf ('%.*c', 4000, 'w') || ' seen'", "tool", 1);
    fault_chores (kit);
    int64_t texts = kit_number (kit, "SELECT sum (length (content)) FROM messages");
    int64_t file = kit_number (kit, "PRAGMA page_count") * kit_number (kit, "PRAGMA page_size");
    assert_true (file < texts * 2);
    assert_int_equal (s_hits (kit, "hidden"), 0);
    assert_int_equal (s_hits (kit, "seen"), 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM message_trigrams_docsize"), 0);
    kit_free (kit);
}

//  F12: no step of the indexer is large, also when segments are merged: each is a commit of at most
//  so many pages.

static void
indexing_goes_by_small_steps (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    int most = 0, steps = 0;
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    for (int i = 0; i < 8; i++) {
        s_many (kit, "'word' || (i * 7919 % 9973) || ' ' || hex (randomblob (200))", "user", 2500);
        argos_store_checkpoint (kit->store);
        for (bool more = true; more; steps++) {
            int before = kit->store->wal_pages;
            more = argos_store_chore (kit->store, kit->now);
            int pages = kit->store->wal_pages - before;
            most = pages > most ? pages : most;
        }
    }
    assert_true (steps > 40);
    if (most > 1000)
        fail_msg ("a step of %d pages", most);
    kit_free (kit);
}

//  F25: nor does it cost a second commit behind each that writes: it waits until a slice is worth
//  it.

static void
indexing_waits_for_enough (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    assert_int_equal (kit_write (kit, "g", "session.create", "{\"id\":\"s\"}"), ARGOS_OK);
    int slices = 0;
    for (int i = 0; i < 100; i++) {
        fault_say (kit, "s", "user", "a few words", 1);
        int64_t changes = argos_store_changes_all (kit->store);
        argos_store_chore (kit->store, kit->now); //  Only one: then the next writer is there
        slices += argos_store_changes_all (kit->store) != changes;
    }
    assert_in_range (slices, 2, 8);
    fault_chores (kit);
    assert_int_equal (s_hits (kit, "words"), 100);
    kit_free (kit);
}

//  F28: a search that meets a damaged index is answered from the texts; the index is made anew.

static void
a_damaged_index_is_made_anew (void **state)
{
    (void) state;
    static const char *const damage[] = {
        "UPDATE message_words_data SET block = randomblob (length (block)) WHERE id > 10",
        "DELETE FROM message_words_data WHERE id > 10",
        "UPDATE message_words_data SET block = x'ffffffffffffffff' WHERE id = 10",
    };
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        kit_t *kit = fault_kit ();
        kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
        fault_say (kit, "s", "user", "a needle in the hay", 3);
        fault_say (kit, "s", "user", "hay", 50);
        fault_chores (kit);
        assert_int_equal (s_hits (kit, "needle"), 3);
        fault_exec (kit, damage[i]);
        kit_reopen (kit);
        if (s_hits (kit, "needle") != 3)
            fail_msg ("damage %zu: %zu hits", i, s_hits (kit, "needle"));
        fault_say (kit, "s", "user", "another needle", 40);
        fault_chores (kit);
        assert_int_equal (s_hits (kit, "needle"), 43);
        assert_false (kit->store->index_damaged);
        fault_exec (
            kit, "INSERT INTO message_words (message_words, rank) VALUES ('integrity-check', 1)");
        fault_sound (kit);
        kit_free (kit);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Rows

//  F15, F16: what is old goes by its last activity, whether it has ended or not, and per platform.

static void
pruning_asks_for_the_last_activity (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    static const char *const bodies[] = {
        "{\"id\":\"cron\",\"source\":{\"platform\":\"cron\",\"account\":\"a\",\"chat_type\":\"dm\","
        "\"chat_id\":\"c\"}}",
        "{\"id\":\"open\",\"source\":{\"platform\":\"irc\",\"account\":\"a\",\"chat_type\":\"dm\","
        "\"chat_id\":\"c\"}}",
        "{\"id\":\"used\",\"source\":{\"platform\":\"cron\",\"account\":\"a\",\"chat_type\":\"dm\","
        "\"chat_id\":\"c\"}}"
    };
    for (int i = 0; i < 3; i++)
        if (kit_write (kit, "g", "session.create", bodies[i]) != ARGOS_OK)
            fail_msg ("%s", kit->ans->reason);
    kit->now += 1000;
    fault_say (kit, "used", "user", "x", 1);
    char body[128];
    snprintf (body, sizeof body, "{\"before\":%lld,\"platform\":\"cron\"}", (long long) kit->now);
    assert_int_equal (kit_write (kit, "g", "session.prune", body), ARGOS_OK);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 2);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions WHERE id = 'cron'"), 0);
    snprintf (body, sizeof body, "{\"before\":%lld}", (long long) kit->now);
    assert_int_equal (kit_write (kit, "g", "session.prune", body), ARGOS_OK);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions WHERE id = 'used'"), 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 1);
    kit_free (kit);
}

//  F17, F18, F19: a list is a walk along an index and stops at its limit.

static void
lists_walk_along_an_index (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    static const argos_sql_t lists[] = { ARGOS_SQL_SESSION_LIST, ARGOS_SQL_SESSION_LIST_OWNER,
        ARGOS_SQL_SESSION_LIST_ALL };
    for (size_t i = 0; i < 3; i++) {
        char sql[8192];
        sqlite3_stmt *stmt = NULL;
        snprintf (sql, sizeof sql, "EXPLAIN QUERY PLAN %s", argos_store_sql_sessions (lists[i]));
        assert_int_equal (sqlite3_prepare_v2 (kit->store->db, sql, -1, &stmt, NULL), SQLITE_OK);
        bool found = false;
        while (sqlite3_step (stmt) == SQLITE_ROW) {
            const char *step = (const char *) sqlite3_column_text (stmt, 3);
            found = found || strncmp (step, "SEARCH s USING INDEX sessions_", 30) == 0;
            //  Nothing is sorted but the steps of a lineage, and two pages that are merged
            bool all = lists[i] == ARGOS_SQL_SESSION_LIST_ALL;
            if (sqlite3_column_int (stmt, 1) == 0 && !all)
                assert_null (strstr (step, "TEMP B-TREE"));
            assert_int_not_equal (strncmp (step, "SCAN s", 6), 0);
        }
        assert_true (found);
        sqlite3_finalize (stmt);
    }
    kit_free (kit);
}

//  F29: a row that would hide a transcript can't be written. F32: one bad row does not hide the
//  others.

static void
rows_are_what_they_say (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    static const char *const refused[] = { "UPDATE messages SET active = NULL",
        "UPDATE messages SET active = 2", "UPDATE messages SET at = 'yesterday'",
        "UPDATE sessions SET kind = 'odd'", "UPDATE messages SET session_id = NULL" };
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    fault_say (kit, "s", "user", "one", 3);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_not_equal (
            sqlite3_exec (kit->store->db, refused[i], NULL, NULL, NULL), SQLITE_OK);
    fault_exec (kit, "UPDATE messages SET extra = '{\"tool_calls\":[{' WHERE id = 2");
    assert_int_equal (kit_read (kit, "session.load", "{\"id\":\"s\"}"), ARGOS_OK);
    assert_int_equal (json_array_size (json_object_get (kit->result, "messages")), 3);
    fault_chores (kit);
    assert_int_equal (s_hits (kit, "one"), 3);
    kit_free (kit);
}

//  F22, F30: a repeat adds nothing, by its client id nor by the number of its commit; whoever has
//  lost the lease writes nothing.

static void
nothing_is_stored_twice (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    static const char body[] = "{\"session_id\":\"s\",\"messages\":[{\"role\":\"user\","
                               "\"content\":\"x\",\"client_id\":\"c1\"}]}";
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    int64_t seq = kit_send (kit, "m", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, FAULT_HOLDER);
    assert_int_equal (
        kit_write_leased (kit, FAULT_HOLDER, seq, lease, 1, "session.append", body), ARGOS_OK);
    assert_int_equal (
        kit_write_leased (kit, FAULT_HOLDER, seq, lease, 1, "session.append", body), ARGOS_OK);
    assert_true (kit->ans->repeat);
    assert_int_equal (
        kit_write_leased (kit, FAULT_HOLDER, seq, lease, 2, "session.append", body), ARGOS_OK);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"), 1);
    assert_int_equal (kit_number (kit, "SELECT message_count FROM sessions"), 1);
    kit_release (kit, seq, lease, 4, false, NULL);
    int64_t next = kit_lease (kit, seq, "agent/2");
    assert_true (next > lease);
    assert_int_equal (
        kit_write_leased (kit, FAULT_HOLDER, seq, lease, 3, "session.append", body), ARGOS_FENCED);
    kit_free (kit);
}

//  F31: a deliberate end beats an accident and no other; route and session change together or not
//  at all.

static void
ends_and_routes (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    static const struct {
        const char *reason; //  Of the end that is asked for
        const char *after;  //  What stands then
    } ends[] = { { "agent_close", "agent_close" }, { "startup_orphan_reap", "agent_close" },
        { "session_reset", "session_reset" }, { "idle", "session_reset" },
        { "ws_orphan_reap", "session_reset" } };
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    int64_t seq = kit_send (kit, "m", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, FAULT_HOLDER);
    for (int i = 0; i < 5; i++) {
        char body[96];
        snprintf (body, sizeof body, "{\"id\":\"s\",\"reason\":\"%s\"}", ends[i].reason);
        assert_int_equal (
            kit_write_leased (kit, FAULT_HOLDER, seq, lease, i + 1, "session.close", body),
            ARGOS_OK);
        kit_read (kit, "session.get", "{\"id\":\"s\"}");
        const json_t *session = json_object_get (kit->result, "session");
        assert_string_equal (
            json_string_value (json_object_get (session, "end_reason")), ends[i].after);
    }
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 2);
    snprintf (req->from, sizeof req->from, "g");
    snprintf (req->id, sizeof req->id, "both");
    kit_part (req, 0, "{\"type\":\"route.bind\",\"to\":\"store\",\"durable\":true}",
        "{\"key\":\"k\",\"session_id\":\"s\"}");
    kit_part (req, 1, "{\"type\":\"session.create\",\"to\":\"store\",\"durable\":true}",
        "{\"id\":\"s\"}");
    assert_int_equal (kit_do (kit, req)->code, ARGOS_CONFLICT);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM routes"), 0);
    kit_free (kit);
}

//  Clocks go back: order is that of the rows, lists and pruning stay sane.

static void
the_clock_goes_back (void **state)
{
    (void) state;
    kit_t *kit = fault_kit ();
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    fault_say (kit, "s", "user", "first", 1);
    int64_t latest = kit->now;
    kit->now -= 86400000LL * 400;
    fault_say (kit, "s", "assistant", "second", 1);
    fault_chores (kit);
    kit_read (kit, "session.load", "{\"id\":\"s\"}");
    const json_t *messages = json_object_get (kit->result, "messages");
    assert_string_equal (
        json_string_value (json_object_get (json_array_get (messages, 1), "content")), "second");
    assert_int_equal (kit_number (kit, "SELECT last_activity_at FROM sessions"), latest);
    kit->now = latest + 86400000LL * 400; //  And forward: nothing goes because of it
    int64_t seen = kit_number (kit, "SELECT count (*) FROM seen");
    fault_chores (kit);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen"), seen);
    kit_free (kit);
}

//  The id of a message that came in is remembered for at least 7 days: a repeat gets the first
//  answer, whatever was pruned meanwhile. (It is kept for 30.)

static void
ids_are_remembered (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    char id[32];
    int64_t seq = kit_send (kit, "first", "turn", "k", NULL, "{}");
    assert_int_equal (
        kit_done (kit, FAULT_HOLDER, seq, kit_lease (kit, seq, FAULT_HOLDER), 1, seq), ARGOS_OK);
    for (int hour = 0; hour < 40 * 24; hour++) {
        kit->now += 3600000;
        snprintf (id, sizeof id, "m%d", hour);
        kit_send (kit, id, "gateway", id, NULL, "{}");
        fault_chores (kit);
        if (hour != 7 * 24 && hour != 29 * 24)
            continue;
        assert_int_equal (kit_send (kit, "first", "turn", "k", NULL, "{}"), seq);
        assert_true (kit->ans->repeat);
        assert_int_equal (kit_send (kit, "first", "turn", "k", NULL, "{\"a\":1}"), 0);
        assert_int_equal (kit->ans->code, ARGOS_CONFLICT);
    }
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen WHERE id = 'first'"), 0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_index_stays_small),
        cmocka_unit_test (indexing_goes_by_small_steps),
        cmocka_unit_test (indexing_waits_for_enough),
        cmocka_unit_test (a_damaged_index_is_made_anew),
        cmocka_unit_test (pruning_asks_for_the_last_activity),
        cmocka_unit_test (lists_walk_along_an_index),
        cmocka_unit_test (rows_are_what_they_say),
        cmocka_unit_test (nothing_is_stored_twice),
        cmocka_unit_test (ends_and_routes),
        cmocka_unit_test (the_clock_goes_back),
        cmocka_unit_test (ids_are_remembered),
    };
    fault_install ();
    return cmocka_run_group_tests (tests, NULL, NULL);
}
