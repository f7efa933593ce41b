//  test_store_lease - leases and commits under them; the store process of tests/model/lane.pml.

#include "store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define W1 "w/1"
#define W2 "w/2"

static void
a_lease_brings_the_message_and_counts_the_attempt (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "k", NULL, "{\"a\":1}");
    int64_t lease = kit_lease (kit, seq, W1);
    assert_true (lease > 0);
    assert_int_equal (kit->ans->attempt, 1);
    assert_int_equal (kit->ans->hops, 0);
    assert_int_equal (kit->ans->at, kit->now);
    assert_string_equal (kit->ans->from, "telegram.main");
    assert_string_equal (kit->ans->cause, "");
    assert_int_equal (kit->ans->part_count, 1);
    assert_memory_equal (kit->ans->parts[0].body->data, "{\"a\":1}", 7);
    assert_non_null (kit->ans->parts[0].header);
    assert_int_equal (kit_lease (kit, seq, W2), 0);
    assert_int_equal (kit->ans->code, ARGOS_CONFLICT);
    assert_null (kit->ans->parts[0].header);
    assert_int_equal (kit_lease (kit, 999, W2), 0);
    assert_int_equal (kit->ans->code, ARGOS_NOT_FOUND);
    kit_free (kit);
}

static void
a_lane_has_one_lease_and_keeps_its_order (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t first = kit_send (kit, "m1", "turn", "k", NULL, NULL);
    int64_t second = kit_send (kit, "m2", "turn", "k", NULL, NULL);
    int64_t other = kit_send (kit, "m3", "turn", "k2", NULL, NULL);
    assert_int_equal (kit_lease (kit, second, W1), 0);
    int64_t lease = kit_lease (kit, first, W1);
    assert_true (lease > 0);
    assert_int_equal (kit_lease (kit, second, W1), 0);
    assert_true (kit_lease (kit, other, W1) > lease);
    assert_int_equal (kit_done (kit, W1, first, lease, 1, 0), ARGOS_OK);
    assert_int_equal (kit->ans->gone_count, 1);
    assert_int_equal (kit->ans->gone[0], first);
    assert_true (kit_lease (kit, second, W1) > lease);
    kit_free (kit);
}

static void
commits_are_numbered_and_a_repeat_changes_nothing (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_write (kit, "gateway", "session.create", "{\"id\":\"s\"}");
    int64_t seq = kit_send (kit, "m1", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, W1);
    const char *append =
        "{\"session_id\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
    assert_int_equal (
        kit_write_leased (kit, W1, seq, lease, 1, "session.append", append), ARGOS_OK);
    assert_int_equal (
        kit_write_leased (kit, W1, seq, lease, 1, "session.append", append), ARGOS_OK);
    assert_true (kit->ans->repeat);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"), 1);
    assert_int_equal (
        kit_write_leased (kit, W1, seq, lease, 3, "session.append", append), ARGOS_FENCED);
    assert_int_equal (kit_done (kit, W1, seq, lease, 1, 0), ARGOS_FENCED); //  1 was no done
    assert_int_equal (kit_done (kit, W1, seq, lease, 2, 0), ARGOS_OK);
    assert_int_equal (kit_done (kit, W1, seq, lease, 2, 0), ARGOS_OK);
    assert_true (kit->ans->repeat);
    assert_int_equal (kit->ans->gone_count, 0);
    assert_int_equal (kit_done (kit, W1, seq, lease, 3, 0), ARGOS_FENCED);
    kit_free (kit);
}

static void
only_the_lease_and_holder_on_record_may_commit (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "s", NULL, NULL);
    int64_t old = kit_lease (kit, seq, W1);
    assert_int_equal (kit_commit_empty (kit, W2, seq, old, 1), ARGOS_FENCED);
    assert_int_equal (kit_release (kit, seq, old, -1, false, NULL), ARGOS_OK);
    assert_int_equal (kit_commit_empty (kit, W1, seq, old, 1), ARGOS_FENCED);
    int64_t lease = kit_lease (kit, seq, W1);
    assert_true (lease > old);
    assert_int_equal (kit->ans->attempt, 2);
    assert_int_equal (kit_commit_empty (kit, W1, seq, old, 1), ARGOS_FENCED);
    assert_int_equal (kit_done (kit, W1, seq, old, 1, 0), ARGOS_FENCED);
    assert_int_equal (kit_commit_empty (kit, W1, seq, lease, 1), ARGOS_OK);
    kit_free (kit);
}

//  A done that was committed is repeated to its holder alone: nobody else is told that his parts
//  were stored.

static void
a_finished_lease_is_fenced_for_a_stranger (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, W1);
    assert_int_equal (kit_done (kit, W1, seq, lease, 1, 0), ARGOS_OK);
    assert_int_equal (kit_done (kit, W2, seq, lease, 1, 0), ARGOS_FENCED);
    assert_int_equal (kit_done (kit, W1, seq, lease, 1, 0), ARGOS_OK);
    assert_true (kit->ans->repeat);
    kit_free (kit);
}

//  The body of a message of ours has to fit its schema, whoever sends it.

static void
a_stranger_s_body_is_checked_at_the_door (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    snprintf (req->from, sizeof req->from, "test.main");
    snprintf (req->id, sizeof req->id, "m1");
    kit_part (req, 0,
        "{\"type\":\"message.inbound\",\"id\":\"m1\",\"to\":\"service:gateway\",\"durable\":true}",
        "{\"text\":\"no source\"}");
    assert_int_equal (kit_do (kit, req)->code, ARGOS_INVALID);
    assert_non_null (strstr (kit->ans->reason, "source"));
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen"), 0);
    kit_free (kit);
}

//  H22: a refused commit leaves lease and number as they were.

static void
a_refused_commit_leaves_the_lease_as_it_was (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, W1);
    argos_storage_req_t *req = kit_commit (kit, W1, seq, lease, 1, true, 2);
    kit_part (req, 0, "{\"type\":\"t.out\",\"to\":\"service:deliver.t\",\"durable\":true}", NULL);
    kit_part (req, 1, "{\"type\":\"expect\",\"to\":\"store\"}",
        "{\"row\":\"route\",\"key\":\"r\",\"version\":3}");
    assert_int_equal (kit_do (kit, req)->code, ARGOS_CONFLICT);
    assert_int_equal (kit->ans->part, 1);
    assert_int_equal (kit->ans->gone_count, 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 1);
    assert_int_equal (kit_done (kit, W1, seq, lease, 1, 0), ARGOS_OK);
    kit_free (kit);
}

static void
a_done_must_have_seen_the_newest_side_message (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, W1);
    kit_send (kit, "m2", "turn", "s", NULL, NULL);
    int64_t side = kit_send (kit, "m3", "turn", "s", ",\"side\":true", "{\"stop\":1}");
    int64_t later = kit_send (kit, "m4", "turn", "s", ",\"side\":true", NULL);
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_MAIL, 0);
    req->seq = side;
    kit_do (kit, req);
    assert_int_equal (kit->ans->code, ARGOS_OK);
    assert_memory_equal (kit->ans->parts[0].body->data, "{\"stop\":1}", 10);
    assert_int_equal (kit_done (kit, W1, seq, lease, 1, 0), ARGOS_MAIL);
    assert_int_equal (kit_done (kit, W1, seq, lease, 1, side), ARGOS_MAIL);
    req = kit_commit (kit, W1, seq, lease, 1, true, 0);
    req->seen = 0;
    req->take_count = 2;
    req->take[0] = side;
    req->take[1] = later;
    assert_int_equal (kit_do (kit, req)->code, ARGOS_OK);
    assert_int_equal (kit->ans->gone_count, 3);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 1);
    kit_free (kit);
}

static void
what_was_seen_and_not_taken_is_the_next_of_the_lane (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, W1);
    int64_t side = kit_send (kit, "m2", "turn", "s", ",\"side\":true", NULL);
    assert_int_equal (kit_done (kit, W1, seq, lease, 1, side), ARGOS_OK);
    lease = kit_lease (kit, side, W1);
    assert_true (lease > 0);
    assert_int_equal (
        kit_done (kit, W1, side, lease, 1, 0), ARGOS_OK); //  The head itself is no mail
    kit_free (kit);
}

static void
take_takes_only_what_waits_in_the_lane (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "s", NULL, NULL);
    int64_t mine = kit_send (kit, "m2", "turn", "s", NULL, NULL);
    int64_t other = kit_send (kit, "m3", "turn", "s2", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, W1);
    const int64_t wrong[][2] = { { other, 0 }, { seq, 0 }, { 999, 0 }, { mine, mine } };
    for (int i = 0; i < 4; i++) {
        argos_storage_req_t *req = kit_commit (kit, W1, seq, lease, 1, false, 0);
        req->take[0] = wrong[i][0];
        req->take[1] = wrong[i][1];
        req->take_count = wrong[i][1] ? 2 : 1;
        assert_int_equal (kit_do (kit, req)->code, ARGOS_INVALID);
        assert_int_equal (kit->ans->gone_count, 0);
    }
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 3);
    argos_storage_req_t *req = kit_commit (kit, W1, seq, lease, 1, false, 0);
    req->take[0] = mine;
    req->take_count = 1;
    assert_int_equal (kit_do (kit, req)->code, ARGOS_OK);
    assert_int_equal (kit->ans->gone_count, 1);
    assert_int_equal (kit->ans->gone[0], mine);
    kit_free (kit);
}

static void
parts_become_messages_with_cause_and_hops (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "gateway", "k", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, "gateway.1@core/1/1");
    argos_storage_req_t *req = kit_commit (kit, "gateway.1@core/1/1", seq, lease, 1, true, 2);
    kit_part (req, 0, "{\"type\":\"t.a\",\"to\":\"service:turn\",\"durable\":true}", "{}");
    kit_part (req, 1,
        "{\"type\":\"t.b\",\"to\":\"service:turn\",\"id\":\"x\",\"key\":\"K\",\"durable\":true,"
        "\"not_before\":1700000009000}",
        NULL);
    kit_do (kit, req);
    assert_int_equal (kit->ans->code, ARGOS_OK);
    assert_int_equal (kit->ans->hops, 0);
    assert_string_equal (kit->ans->cause, "m1"); //  For those that were inserted leased
    int64_t a = kit->ans->parts[0].seq, b = kit->ans->parts[1].seq;
    assert_true (a > seq && b == a + 1);
    assert_true (kit_lease (kit, a, W1) > 0);
    assert_string_equal (kit->ans->from, "gateway");
    assert_string_equal (kit->ans->cause, "m1");
    assert_int_equal (kit->ans->hops, 1);
    char sql[256];
    snprintf (sql, sizeof sql,
        "SELECT count (*) FROM queue WHERE seq = %d AND id = '%d.%d.1.0' AND key = id", (int) a,
        (int) seq, (int) lease);
    assert_int_equal (kit_number (kit, sql), 1);
    //  When it is due is for the core to say; until then it holds nobody up
    int64_t c = kit_send (kit, "m2", "turn", "K", NULL, NULL);
    int64_t late = kit_lease (kit, c, W1);
    assert_true (late > 0);
    kit_do (kit, kit_commit (kit, W1, c, late, 1, true, 0));
    assert_true (kit_lease (kit, b, W1) > 0);
    kit_free (kit);
}

static void
a_message_can_be_inserted_already_leased (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    for (int i = 0; i < 2; i++) {
        argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
        snprintf (req->from, sizeof req->from, "cli");
        snprintf (req->id, sizeof req->id, "u%d", i);
        snprintf (req->parts[0].holder, sizeof req->parts[0].holder, W1);
        kit_part (req, 0,
            "{\"type\":\"t.a\",\"to\":\"service:turn\",\"key\":\"k\",\"durable\":true}", NULL);
        kit_do (kit, req);
        assert_int_equal (kit->ans->code, ARGOS_OK);
        //  The second finds the lane leased and waits (H57)
        assert_int_equal (kit->ans->parts[0].number > 0, i == 0);
        if (i == 0) {
            int64_t seq = kit->ans->seq, lease = kit->ans->parts[0].number;
            assert_int_equal (kit_commit_empty (kit, W1, seq, lease, 1), ARGOS_OK);
            assert_int_equal (kit_number (kit, "SELECT attempt FROM queue"), 1);
        }
    }
    kit_free (kit);
}

static void
a_lane_with_a_waiting_message_leases_nothing_on_insert (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_send (kit, "m1", "turn", "k", NULL, NULL);
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    snprintf (req->from, sizeof req->from, "cli");
    snprintf (req->id, sizeof req->id, "u");
    snprintf (req->parts[0].holder, sizeof req->parts[0].holder, W1);
    kit_part (
        req, 0, "{\"type\":\"t.a\",\"to\":\"service:turn\",\"key\":\"k\",\"durable\":true}", NULL);
    kit_do (kit, req);
    assert_int_equal (kit->ans->parts[0].number, 0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_lease_brings_the_message_and_counts_the_attempt),
        cmocka_unit_test (a_lane_has_one_lease_and_keeps_its_order),
        cmocka_unit_test (commits_are_numbered_and_a_repeat_changes_nothing),
        cmocka_unit_test (only_the_lease_and_holder_on_record_may_commit),
        cmocka_unit_test (a_finished_lease_is_fenced_for_a_stranger),
        cmocka_unit_test (a_stranger_s_body_is_checked_at_the_door),
        cmocka_unit_test (a_refused_commit_leaves_the_lease_as_it_was),
        cmocka_unit_test (a_done_must_have_seen_the_newest_side_message),
        cmocka_unit_test (what_was_seen_and_not_taken_is_the_next_of_the_lane),
        cmocka_unit_test (take_takes_only_what_waits_in_the_lane),
        cmocka_unit_test (parts_become_messages_with_cause_and_hops),
        cmocka_unit_test (a_message_can_be_inserted_already_leased),
        cmocka_unit_test (a_lane_with_a_waiting_message_leases_nothing_on_insert),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
