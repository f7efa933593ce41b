//  test_store - opening, admission, batches.

#include "store_kit.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
a_message_is_stored_once_whatever_its_repeats (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "gateway", "k", NULL, "{\"a\":1}");
    assert_int_equal (seq, 1);
    assert_false (kit->ans->repeat);
    assert_int_equal (kit->ans->parts[0].seq, 1);
    assert_int_equal (kit->ans->parts[0].at, kit->now);
    assert_int_equal (kit_send (kit, "m1", "gateway", "k", NULL, "{\"a\":1}"), 1);
    assert_true (kit->ans->repeat);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 1);
    kit_free (kit);
}

static void
the_same_id_with_other_content_is_a_conflict (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_send (kit, "m1", "gateway", "k", NULL, "{\"a\":1}");
    assert_int_equal (kit_send (kit, "m1", "gateway", "k", NULL, "{\"a\":2}"), 0);
    assert_int_equal (kit->ans->code, ARGOS_CONFLICT);
    assert_int_equal (kit_send (kit, "m1", "gateway", "other", NULL, "{\"a\":1}"), 0);
    assert_int_equal (kit->ans->code, ARGOS_CONFLICT);
    assert_int_equal (kit_send (kit, "m1", "turn", "k", NULL, "{\"a\":1}"), 0);
    assert_int_equal (kit->ans->code, ARGOS_CONFLICT);
    kit_free (kit);
}

static void
ids_are_known_under_the_name_without_instance_and_node (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    const char *const names[] = { "telegram.main", "telegram.main@edge", "telegram.main.2@core" };
    for (int i = 0; i < 3; i++) {
        argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
        snprintf (req->from, sizeof req->from, "%s", names[i]);
        snprintf (req->id, sizeof req->id, "m1");
        kit_part (req, 0,
            "{\"type\":\"t.x\",\"id\":\"m1\",\"to\":\"service:turn\",\"durable\":true}", NULL);
        kit_do (kit, req);
        assert_int_equal (kit->ans->code, ARGOS_OK);
        assert_int_equal (kit->ans->repeat, i > 0);
    }
    kit_free (kit);
}

static void
a_refused_unit_leaves_no_trace_and_may_be_sent_again (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    assert_int_equal (kit_send (kit, "m1", "nowhere", "k", NULL, NULL), 0);
    assert_int_equal (kit->ans->code, ARGOS_NO_SERVICE);
    assert_int_equal (kit->ans->part, 0);
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 2);
    snprintf (req->from, sizeof req->from, "telegram.main");
    snprintf (req->id, sizeof req->id, "u1");
    kit_part (
        req, 0, "{\"type\":\"t.x\",\"id\":\"p0\",\"to\":\"service:turn\",\"durable\":true}", NULL);
    kit_part (req, 1, "{\"type\":\"session.create\",\"to\":\"store\"}", "{\"no\":1}");
    kit_do (kit, req);
    assert_int_equal (kit->ans->code, ARGOS_INVALID);
    assert_int_equal (kit->ans->part, 1);
    assert_int_equal (kit->ans->parts[0].seq, 0);
    assert_true (strlen (kit->ans->reason) > 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen"), 0);
    kit_free (kit);
}

static void
parts_are_checked_one_by_one (void **state)
{
    (void) state;
    static const struct {
        const char *header; //  Of the part
        argos_err_t code;   //  Expected
    } cases[] = {
        { "{\"type\":\"t.x\",\"id\":\"a\",\"to\":\"service:turn\"}", ARGOS_INVALID },
        { "{\"type\":\"t.x\",\"id\":\"a\",\"to\":\"topic:x\"}", ARGOS_INVALID },
        { "{\"type\":\"t.x\",\"id\":\"a\",\"to\":\"actor:x\",\"durable\":true}", ARGOS_INVALID },
        { "{\"type\":\"t.x\",\"id\":\"a\",\"durable\":true}", ARGOS_INVALID },
        { "{\"type\":\"t.x\",", ARGOS_INVALID },
        { "{\"type\":\"no.such\",\"to\":\"store\"}", ARGOS_UNKNOWN_TYPE },
        { "{\"type\":\"session.get\",\"to\":\"store\"}", ARGOS_INVALID },
    };
    kit_t *kit = kit_new (false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
        snprintf (req->from, sizeof req->from, "a");
        snprintf (req->id, sizeof req->id, "u%zu", i);
        kit_part (req, 0, cases[i].header, NULL);
        kit_do (kit, req);
        assert_int_equal (kit->ans->code, cases[i].code);
        assert_int_equal (kit->ans->part, 0);
    }
    assert_int_equal (kit_read (kit, "session.create", "{\"id\":\"s\"}"), ARGOS_INVALID);
    kit_free (kit);
}

static void
what_was_accepted_is_there_after_a_restart (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    char store_id[33];
    memcpy (store_id, argos_store_info (kit->store)->store_id, sizeof store_id);
    assert_int_equal (strlen (store_id), 32);
    assert_int_equal (argos_store_info (kit->store)->boot, 1);
    int64_t seq = kit_send (kit, "m1", "gateway", "k", NULL, "{\"a\":1}");
    int64_t lease = kit_lease (kit, seq, "w/1");
    assert_true (lease > 0);
    kit_reopen (kit);
    assert_string_equal (argos_store_info (kit->store)->store_id, store_id);
    assert_int_equal (argos_store_info (kit->store)->boot, 2);
    assert_int_equal (kit_send (kit, "m1", "gateway", "k", NULL, "{\"a\":1}"), seq);
    assert_true (kit->ans->repeat);
    assert_int_equal (kit_done (kit, "w/1", seq, lease, 1, 0), ARGOS_OK);
    //  Numbers are not used again, though their rows are gone
    kit_reopen (kit);
    int64_t next = kit_send (kit, "m2", "gateway", "k", NULL, NULL);
    assert_true (next > seq);
    assert_true (kit_lease (kit, next, "w/1") > lease);
    kit_free (kit);
}

static void
a_newer_database_is_refused (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    char reason[256];
    assert_int_equal (sqlite3_exec (kit->store->db, "PRAGMA user_version = 9999", 0, 0, 0), 0);
    argos_store_destroy (&kit->store);
    assert_null (argos_store_new (kit->path, kit->now, reason));
    assert_non_null (strstr (reason, "newer"));
    kit_free (kit);
}

static void
a_foreign_database_is_left_as_it_is (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    char reason[256];
    sqlite3_exec (kit->store->db, "PRAGMA application_id = 7", 0, 0, 0);
    argos_store_destroy (&kit->store);
    assert_null (argos_store_new (kit->path, kit->now, reason));
    assert_non_null (strstr (reason, "not a database of argos"));
    kit_free (kit);
}

static void
a_second_process_is_kept_out (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    char reason[256];
    assert_null (argos_store_new (kit->path, kit->now, reason));
    assert_non_null (strstr (reason, "another process"));
    kit_free (kit);
}

//  A batch of count messages with bodies of size bytes; the answers are the caller's.

static void
s_batch (kit_t *kit, const char *prefix, argos_storage_ans_t **answers, size_t count, size_t size)
{
    argos_storage_req_t *requests[64];
    char header[256], reason[256], body[8192] = "{\"pad\":\"";
    size_t used = strlen (body);
    assert_true (size + 16 < sizeof body);
    memset (body + used, 'x', size);
    memcpy (body + used + size, "\"}", 3);
    for (size_t i = 0; i < count; i++) {
        requests[i] = argos_storage_req_new (ARGOS_ST_COMMIT, 2);
        requests[i]->tag = i + 100;
        requests[i]->now = kit->now;
        snprintf (requests[i]->from, sizeof requests[i]->from, "cli");
        snprintf (requests[i]->id, sizeof requests[i]->id, "%s%zu", prefix, i);
        snprintf (header, sizeof header,
            "{\"type\":\"t.x\",\"to\":\"service:turn\",\"key\":\"%s%zu\",\"durable\":true}", prefix,
            i);
        kit_part (requests[i], 0, header, body);
        kit_part (requests[i], 1, header, body);
    }
    assert_int_equal (argos_store_batch (kit->store, requests, answers, count, reason), 0);
    for (size_t i = 0; i < count; i++)
        argos_storage_req_destroy (&requests[i]);
}

static void
answers_come_in_order_with_their_tags (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    argos_storage_ans_t *answers[64];
    s_batch (kit, "a", answers, 64, 10);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal (answers[i]->tag, i + 100);
        assert_int_equal (answers[i]->seq, 2 * i + 1);
        assert_int_equal (answers[i]->parts[1].seq, 2 * i + 2);
        argos_storage_ans_destroy (&answers[i]);
    }
    kit_free (kit);
}

//  H13: a full disk in the middle of a batch takes the whole transaction and its savepoints with
//  it.

static void
a_full_disk_in_the_middle_of_a_batch_applies_no_half_commit (void **state)
{
    (void) state;
    for (int on_disk = 0; on_disk < 2; on_disk++) {
        kit_t *kit = kit_new (on_disk);
        argos_storage_ans_t *answers[64];
        char sql[64];
        snprintf (sql, sizeof sql, "PRAGMA max_page_count = %lld",
            (long long) kit_number (kit, "PRAGMA page_count") + 60);
        sqlite3_exec (kit->store->db, sql, 0, 0, 0);
        s_batch (kit, "a", answers, 64, 3000);
        int64_t stored = 0, refused = 0;
        for (size_t i = 0; i < 64; i++) {
            bool ok = answers[i]->code == ARGOS_OK;
            assert_true (ok || answers[i]->code == ARGOS_NO_SPACE);
            stored += ok;
            refused += !ok;
            snprintf (sql, sizeof sql, "SELECT count (*) FROM queue WHERE key = 'a%zu'", i);
            assert_int_equal (kit_number (kit, sql), ok ? 2 : 0);
            snprintf (sql, sizeof sql, "SELECT count (*) FROM seen WHERE id = 'a%zu'", i);
            assert_int_equal (kit_number (kit, sql), ok ? 1 : 0);
            argos_storage_ans_destroy (&answers[i]);
        }
        assert_true (stored > 0 && refused > 0);
        assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 2 * stored);
        assert_true (sqlite3_get_autocommit (kit->store->db));
        //  With room again the refused ones go through and the others are repeats
        sqlite3_exec (kit->store->db, "PRAGMA max_page_count = 100000", 0, 0, 0);
        s_batch (kit, "a", answers, 64, 3000);
        for (size_t i = 0; i < 64; i++) {
            assert_int_equal (answers[i]->code, ARGOS_OK);
            argos_storage_ans_destroy (&answers[i]);
        }
        assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 128);
        kit_free (kit);
    }
}

static void
a_full_disk_refuses_a_lease_and_the_message_stays (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    char sql[64];
    int64_t seq = kit_send (kit, "m1", "turn", "k", NULL, NULL);
    snprintf (sql, sizeof sql, "PRAGMA max_page_count = %lld",
        (long long) kit_number (kit, "PRAGMA page_count"));
    sqlite3_exec (kit->store->db, sql, 0, 0, 0);
    argos_storage_ans_t *answers[32];
    s_batch (kit, "b", answers, 32, 4000);
    for (size_t i = 0; i < 32; i++) {
        assert_int_equal (answers[i]->code, ARGOS_NO_SPACE);
        argos_storage_ans_destroy (&answers[i]);
    }
    assert_true (kit_lease (kit, seq, "w/1") > 0); //  In a page that is there
    kit_free (kit);
}

static void
little_space_refuses_admissions_but_not_accepted_work (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    int64_t seq = kit_send (kit, "m1", "turn", "k", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, "w/1");
    kit->store->space_min = INT64_MAX;
    kit->now += 500;
    assert_true (kit_send (kit, "m2", "turn", "k", NULL, NULL) > 0); //  Not looked at yet
    kit->now += 1000;
    assert_int_equal (kit_send (kit, "m3", "turn", "k", NULL, NULL), 0);
    assert_int_equal (kit->ans->code, ARGOS_NO_SPACE);
    assert_int_equal (
        kit_send (kit, "m1", "turn", "k", NULL, NULL), seq); //  The first answer again
    assert_true (kit->ans->repeat);
    assert_int_equal (kit_done (kit, "w/1", seq, lease, 1, 0), ARGOS_OK);
    kit->store->space_min = 0;
    kit->now += 1000;
    assert_true (kit_send (kit, "m3", "turn", "k", NULL, NULL) > 0);
    kit_free (kit);
}

static void
a_refusal_in_a_batch_undoes_itself_alone (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    argos_storage_req_t *requests[3];
    argos_storage_ans_t *answers[3];
    char reason[256];
    for (size_t i = 0; i < 3; i++) {
        requests[i] = argos_storage_req_new (ARGOS_ST_COMMIT, 2);
        requests[i]->now = kit->now;
        snprintf (requests[i]->from, sizeof requests[i]->from, "gateway");
        snprintf (requests[i]->id, sizeof requests[i]->id, "u%zu", i);
        kit_part (requests[i], 0,
            "{\"type\":\"t.x\",\"to\":\"service:turn\",\"key\":\"k\",\"durable\":true}", NULL);
        kit_part (requests[i], 1, "{\"type\":\"session.create\",\"to\":\"store\"}",
            i == 2 ? "{\"id\":\"s2\"}" : "{\"id\":\"s1\"}");
    }
    assert_int_equal (argos_store_batch (kit->store, requests, answers, 3, reason), 0);
    assert_int_equal (answers[0]->code, ARGOS_OK);
    assert_int_equal (answers[1]->code, ARGOS_CONFLICT);
    assert_int_equal (answers[1]->part, 1);
    assert_int_equal (answers[2]->code, ARGOS_OK);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 2);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 2);
    for (size_t i = 0; i < 3; i++) {
        argos_storage_req_destroy (&requests[i]);
        argos_storage_ans_destroy (&answers[i]);
    }
    kit_free (kit);
}

static void
s_collect (void *arg, const argos_storage_row_t *row)
{
    argos_storage_row_t *rows = arg;
    int i = 0;
    while (rows[i].service[0])
        i++;
    rows[i] = *row;
}

static void
the_index_lists_rows_and_then_services (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    int64_t a = kit_send (kit, "a", "turn", "k\\u00e9", ",\"side\":true,\"urgent\":true", "{}");
    int64_t b = kit_send (kit, "b", "turn", "k2", ",\"ttl_ms\":1000", NULL);
    int64_t lease = kit_lease (kit, b, "w/1");
    kit_reopen (kit);
    argos_storage_row_t *rows = calloc (16, sizeof *rows);
    assert_int_equal (argos_store_index (kit->store, s_collect, rows), 0);
    assert_int_equal (rows[0].seq, a);
    assert_true (rows[0].side && rows[0].urgent);
    assert_string_equal (rows[0].key, "k\xc3\xa9");
    assert_string_equal (rows[0].type, "t.msg");
    assert_true (rows[0].bytes > 2);
    assert_int_equal (rows[1].seq, b);
    assert_int_equal (rows[1].lease, lease);
    assert_string_equal (rows[1].holder, "w/1");
    assert_int_equal (rows[1].until, kit->now + 1000);
    assert_string_equal (rows[2].service, "deliver.t");
    assert_int_equal (rows[2].seq, 0);
    assert_string_equal (rows[4].service, "turn");
    assert_string_equal (rows[5].service, "");
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_INDEX, 0);
    kit_do (kit, req);
    assert_int_equal (kit->ans->row_count, 5);
    assert_false (kit->ans->more);
    assert_int_equal (kit->ans->boot, 2);
    assert_string_equal (kit->ans->owner, argos_store_info (kit->store)->store_id);
    req = argos_storage_req_new (ARGOS_ST_INDEX, 0);
    req->seq = a;
    kit_do (kit, req);
    assert_int_equal (kit->ans->row_count, 1);
    free (rows);
    kit_free (kit);
}

static void
old_keys_go_but_not_those_of_living_messages (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t alive = kit_send (kit, "alive", "turn", "k", NULL, NULL);
    int64_t dead = kit_send (kit, "dead", "turn", "k2", NULL, NULL);
    int64_t gone = kit_send (kit, "gone", "turn", "k3", NULL, NULL);
    kit_release (kit, dead, kit_lease (kit, dead, "w/1"), 0, false, "invalid");
    assert_int_equal (kit_done (kit, "w/1", gone, kit_lease (kit, gone, "w/1"), 1, 0), ARGOS_OK);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM finished"), 1);
    kit->store->prune_at = 0;
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen"), 3);
    kit->now += 31 * 86400000LL;
    kit->store->prune_at = 0;
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen"), 2);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen WHERE id = 'gone'"), 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM finished"), 0);
    assert_int_equal (kit_send (kit, "alive", "turn", "k", NULL, NULL), alive);
    assert_true (kit->ans->repeat);
    kit_free (kit);
}

static void
a_pass_removes_at_most_a_thirtieth_of_a_table (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    sqlite3_exec (kit->store->db,
        "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 6000)"
        " INSERT INTO seen SELECT 'a', printf ('%06d', x), 0, 0, x'00', 1 FROM c;"
        "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 6000)"
        " INSERT INTO finished SELECT x, x, 'h', 1, 1 FROM c",
        0, 0, 0);
    kit->store->prune_at = 0;
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen"), 6000 - 200 - 64);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM finished"), 6000 - 200 - 64);
    //  The next pass is a day of uptime away, whatever the clock says
    kit->now += 1000LL * 86400000LL;
    assert_false (argos_store_chore (kit->store, kit->now));
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen"), 6000 - 200 - 64);
    kit_free (kit);
}

static void
the_log_is_checkpointed_when_idle (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    argos_storage_ans_t *answers[64];
    for (int i = 0; i < 40 && kit->store->wal_pages < ARGOS_STORE_WAL_PAGES; i++) {
        char prefix[16];
        snprintf (prefix, sizeof prefix, "p%d.", i);
        s_batch (kit, prefix, answers, 64, 7000);
        for (size_t j = 0; j < 64; j++)
            argos_storage_ans_destroy (&answers[j]);
    }
    assert_true (kit->store->wal_pages >= ARGOS_STORE_WAL_PAGES);
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_true (kit->store->wal_pages < 10);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_message_is_stored_once_whatever_its_repeats),
        cmocka_unit_test (the_same_id_with_other_content_is_a_conflict),
        cmocka_unit_test (ids_are_known_under_the_name_without_instance_and_node),
        cmocka_unit_test (a_refused_unit_leaves_no_trace_and_may_be_sent_again),
        cmocka_unit_test (parts_are_checked_one_by_one),
        cmocka_unit_test (what_was_accepted_is_there_after_a_restart),
        cmocka_unit_test (a_newer_database_is_refused),
        cmocka_unit_test (a_foreign_database_is_left_as_it_is),
        cmocka_unit_test (a_second_process_is_kept_out),
        cmocka_unit_test (answers_come_in_order_with_their_tags),
        cmocka_unit_test (a_full_disk_in_the_middle_of_a_batch_applies_no_half_commit),
        cmocka_unit_test (a_full_disk_refuses_a_lease_and_the_message_stays),
        cmocka_unit_test (little_space_refuses_admissions_but_not_accepted_work),
        cmocka_unit_test (a_refusal_in_a_batch_undoes_itself_alone),
        cmocka_unit_test (the_index_lists_rows_and_then_services),
        cmocka_unit_test (old_keys_go_but_not_those_of_living_messages),
        cmocka_unit_test (a_pass_removes_at_most_a_thirtieth_of_a_table),
        cmocka_unit_test (the_log_is_checkpointed_when_idle),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
