//  test_store_lease_end - how leases end: strikes, burials, delays, hellos, restarts.

#include "store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define W1 "w/1"
#define W2 "w/2"

static void
strikes_are_counted_by_how_a_lease_ends (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "k", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, W1);
    kit_release (kit, seq, lease, 0, true, NULL);
    assert_int_equal (kit->ans->strikes, 0);
    lease = kit_lease (kit, seq, W1);
    assert_int_equal (kit->ans->attempt, 1); //  Clean: the first was not counted
    kit_release (kit, seq, lease, -1, false, NULL);
    assert_int_equal (kit->ans->strikes, 4);
    lease = kit_lease (kit, seq, W1);
    assert_int_equal (kit->ans->attempt, 2);
    assert_int_equal (kit->ans->strikes, 4);
    assert_int_equal (kit_commit_empty (kit, W1, seq, lease, 1), ARGOS_OK);
    kit_release (kit, seq, lease, -1, false, NULL);
    assert_int_equal (kit->ans->strikes, 5);
    assert_int_equal (kit_release (kit, seq, lease, 0, false, NULL), ARGOS_FENCED);
    assert_int_equal (kit_release (kit, 99, 1, 0, false, NULL), ARGOS_NOT_FOUND);
    kit_free (kit);
}

static void
twenty_strikes_bury_and_tell_the_gateway (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "k", NULL, "{\"text\":\"hi\"}");
    int64_t next = kit_send (kit, "m2", "turn", "k", NULL, NULL);
    for (int i = 0; i < 5; i++) {
        assert_false (kit->ans->dead);
        kit_release (kit, seq, kit_lease (kit, seq, W1), -1, false, NULL);
    }
    assert_true (kit->ans->dead);
    assert_int_equal (kit->ans->gone_count, 1);
    assert_int_equal (kit->ans->gone[0], seq);
    assert_int_equal (kit->ans->row_count, 1);
    argos_storage_row_t notice = kit->ans->rows[0];
    assert_string_equal (notice.service, "gateway");
    assert_string_equal (notice.key, "k");
    assert_string_equal (notice.type, "message.dead");
    assert_true (notice.bytes > 0);
    assert_true (kit_lease (kit, next, W1) > 0); //  The lane goes on
    int64_t lease = kit_lease (kit, notice.seq, "gateway/1");
    assert_int_equal (kit->ans->hops, 1);
    assert_string_equal (kit->ans->cause, "m1");
    assert_string_equal (kit->ans->from, "store");
    argos_frame_t *body = kit->ans->parts[0].body;
    json_t *json = NULL;
    char reason[160];
    assert_int_equal (
        argos_schema_parse ("message.dead", body->data, body->size, &json, reason, 160), ARGOS_OK);
    assert_string_equal (json_string_value (json_object_get (json, "code")), "strikes");
    assert_int_equal (json_integer_value (json_object_get (json, "strikes")), 20);
    assert_int_equal (json_integer_value (json_object_get (json, "attempt")), 5);
    assert_string_equal (
        json_string_value (json_object_get (json_object_get (json, "body"), "text")), "hi");
    json_decref (json);
    argos_header_t *header = malloc (sizeof *header);
    assert_int_equal (argos_header_read (kit->ans->parts[0].header->data,
                          kit->ans->parts[0].header->size, header, NULL),
        ARGOS_OK);
    assert_string_equal (header->key, "k");
    free (header);
    //  A dead notice makes no notice
    kit_release (kit, notice.seq, lease, 0, false, "invalid");
    assert_true (kit->ans->dead);
    assert_int_equal (kit->ans->row_count, 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM dead"), 2);
    kit_free (kit);
}

static void
reject_buries_at_once (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "k\\\"\\u0001", NULL, "[1]");
    kit_release (kit, seq, kit_lease (kit, seq, W1), 0, false, "invalid");
    assert_true (kit->ans->dead);
    assert_string_equal (kit->ans->rows[0].key, "k\"\x01");
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM dead WHERE code = 'invalid'"), 1);
    kit_free (kit);
}

static void
an_expired_message_is_buried_when_its_turn_comes (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "k", ",\"ttl_ms\":1000", NULL);
    kit->now += 1001;
    assert_int_equal (kit_lease (kit, seq, W1), 0);
    assert_int_equal (kit->ans->code, ARGOS_EXPIRED);
    assert_int_equal (kit->ans->gone_count, 1);
    assert_int_equal (kit->ans->row_count, 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM dead WHERE code = 'expired'"), 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 1); //  The notice
    kit_free (kit);
}

static void
a_side_message_does_not_expire_under_the_holder_of_its_lane (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "k", NULL, NULL);
    int64_t side = kit_send (kit, "m2", "turn", "k", ",\"side\":true", NULL);
    int64_t lease = kit_lease (kit, seq, W1);
    for (int i = 0; i < 2; i++) {
        argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_RELEASE, 0);
        req->seq = side;
        memcpy (req->reject, "expired", sizeof "expired");
        kit_do (kit, req);
        assert_int_equal (kit->ans->code, i == 0 ? ARGOS_CONFLICT : ARGOS_OK);
        if (i == 0)
            kit_do (kit, kit_commit (kit, W1, seq, lease, 1, false, 0));
        req = argos_storage_req_new (ARGOS_ST_RELEASE, 0);
        req->seq = seq;
        req->lease = lease;
        if (i == 0)
            kit_do (kit, req);
        else
            argos_storage_req_destroy (&req);
    }
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM dead WHERE code = 'expired'"), 1);
    kit_free (kit);
}

static void
a_delay_is_kept_until_a_side_message_comes (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "m1", "turn", "k", NULL, NULL);
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_RELEASE, 0);
    req->seq = seq;
    req->lease = kit_lease (kit, seq, W1);
    req->delay_until = kit->now + 5000;
    req->clean = true;
    kit_do (kit, req);
    assert_int_equal (kit->ans->code, ARGOS_OK);
    assert_int_equal (kit_number (kit, "SELECT max (delay_until) FROM queue"), kit->now + 5000);
    kit_send (kit, "m2", "turn", "k", ",\"side\":true", NULL);
    assert_int_equal (kit_number (kit, "SELECT max (delay_until) FROM queue"), 0);
    assert_true (kit_lease (kit, seq, W1) > 0);
    kit_free (kit);
}

static void
s_hello (kit_t *kit, const char *name, const char *holder, const argos_storage_pair_t *pairs,
    size_t count)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_HELLO, 0);
    snprintf (req->name, sizeof req->name, "%s", name);
    snprintf (req->holder, sizeof req->holder, "%s", holder);
    if (count) {
        req->pairs = malloc (count * sizeof *pairs);
        memcpy (req->pairs, pairs, count * sizeof *pairs);
        req->pair_count = count;
    }
    kit_do (kit, req);
    assert_int_equal (kit->ans->code, ARGOS_OK);
}

static void
a_hello_says_of_each_lease_valid_done_or_lost (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq[4], lease[4];
    for (int i = 0; i < 4; i++) {
        char id[16];
        snprintf (id, sizeof id, "m%d", i);
        seq[i] = kit_send (kit, id, "turn", id, NULL, NULL);
        lease[i] = kit_lease (kit, seq[i], W1);
    }
    kit_done (kit, W1, seq[1], lease[1], 1, 0);
    kit_release (kit, seq[2], lease[2], 4, false, NULL);
    argos_storage_pair_t pairs[] = { { seq[0], lease[0], 0 }, { seq[1], lease[1], 0 },
        { seq[2], lease[2], 0 }, { 777, 5, 0 } };
    s_hello (kit, "w", W1, pairs, 4);
    assert_int_equal (kit->ans->pair_count, 4);
    assert_int_equal (kit->ans->pairs[0].verdict, 'v');
    assert_int_equal (kit->ans->pairs[1].verdict, 'd');
    assert_int_equal (kit->ans->pairs[2].verdict, 'l');
    assert_int_equal (kit->ans->pairs[3].verdict, 'l');
    //  The fourth was on record and not declared: free again, without a strike
    assert_int_equal (kit->ans->freed_count, 1);
    assert_int_equal (kit->ans->freed[0].seq, seq[3]);
    assert_true (kit_lease (kit, seq[3], W2) > 0);
    assert_int_equal (kit->ans->strikes, 0);
    assert_int_equal (kit_commit_empty (kit, W1, seq[0], lease[0], 1), ARGOS_OK);
    kit_free (kit);
}

static void
a_new_instance_takes_over_no_lease (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t a = kit_send (kit, "a", "turn", "a", NULL, NULL);
    int64_t b = kit_send (kit, "b", "turn", "b", NULL, NULL);
    int64_t c = kit_send (kit, "c", "turn", "c", NULL, NULL);
    int64_t lease = kit_lease (kit, a, W1);
    kit_lease (kit, b, W1);
    kit_lease (kit, c, "w.2/1"); //  Another name
    argos_storage_pair_t pair = { a, lease, 0 };
    s_hello (kit, "w", W2, &pair, 1);
    assert_int_equal (kit->ans->pairs[0].verdict, 'l');
    assert_int_equal (kit->ans->freed_count, 2);
    kit_lease (kit, a, W2);
    assert_int_equal (kit->ans->strikes, 4);
    assert_int_equal (kit->ans->attempt, 2);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue WHERE lease IS NOT NULL"), 2);
    kit_free (kit);
}

static void
a_hello_buries_what_has_too_many_strikes (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "a", "turn", "a", NULL, NULL);
    for (int i = 1; i <= 5; i++) {
        char holder[24];
        snprintf (holder, sizeof holder, "w/%d", i);
        kit_lease (kit, seq, holder);
        snprintf (holder, sizeof holder, "w/%d", i + 1);
        s_hello (kit, "w", holder, NULL, 0);
        assert_int_equal (kit->ans->freed_count, i < 5);
    }
    assert_int_equal (kit->ans->gone_count, 1);
    assert_int_equal (kit->ans->row_count, 1);
    kit_free (kit);
}

static void
leases_of_in_process_sessions_end_with_the_process (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    int64_t a = kit_send (kit, "a", "turn", "a", NULL, NULL);
    int64_t b = kit_send (kit, "b", "turn", "b", NULL, NULL);
    int64_t lease = kit_lease (kit, a, "agent/1/1");
    int64_t outside = kit_lease (kit, b, W1);
    assert_int_equal (kit_commit_empty (kit, "agent/1/1", a, lease, 1), ARGOS_OK);
    kit_reopen (kit);
    assert_int_equal (kit_commit_empty (kit, "agent/1/1", a, lease, 2), ARGOS_FENCED);
    assert_int_equal (kit_commit_empty (kit, W1, b, outside, 1), ARGOS_OK); //  Outlives us
    kit_lease (kit, a, "agent/2/2");
    assert_int_equal (kit->ans->strikes, 1);
    for (int i = 0; i < 5; i++) {
        kit_reopen (kit);
        kit_lease (kit, a, "agent/3/3");
    }
    assert_int_equal (kit->ans->code, ARGOS_NOT_FOUND);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM dead"), 1);
    assert_int_equal (
        kit_number (kit, "SELECT count (*) FROM queue WHERE type = 'message.dead'"), 1);
    kit_free (kit);
}

static void
the_broker_ends_a_lease_without_its_number (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "a", "turn", "a", NULL, NULL);
    kit_lease (kit, seq, W1);
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_RELEASE, 0);
    req->seq = seq;
    snprintf (req->holder, sizeof req->holder, W2);
    assert_int_equal (kit_do (kit, req)->code, ARGOS_FENCED);
    req = argos_storage_req_new (ARGOS_ST_RELEASE, 0);
    req->seq = seq;
    req->strikes = -1;
    snprintf (req->holder, sizeof req->holder, W1);
    assert_int_equal (kit_do (kit, req)->code, ARGOS_OK);
    assert_int_equal (kit->ans->strikes, 4);
    kit_free (kit);
}

static void
the_broker_rejects_what_nobody_holds (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "a", "turn", "a", NULL, NULL);
    assert_int_equal (kit_release (kit, seq, 0, 0, false, NULL), ARGOS_FENCED);
    int64_t lease = kit_lease (kit, seq, W1);
    assert_int_equal (kit_release (kit, seq, 0, 0, false, "expired"), ARGOS_FENCED);
    kit_release (kit, seq, lease, 0, true, NULL);
    assert_int_equal (kit_release (kit, seq, 0, 0, false, "expired"), ARGOS_OK);
    assert_true (kit->ans->dead);
    assert_int_equal (kit->ans->gone_count, 1);
    assert_int_equal (kit->ans->row_count, 1);
    kit_free (kit);
}

//  H25: chains end after 64 hops, also those that go through notices.

static void
a_chain_of_messages_ends_as_a_dead_letter (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "a", "turn", "a", NULL, NULL);
    int64_t notice = 0;
    for (int hop = 1; hop <= 65; hop++) {
        int64_t lease = kit_lease (kit, seq, W1);
        assert_int_equal (kit->ans->hops, hop - 1);
        argos_storage_req_t *req = kit_commit (kit, W1, seq, lease, 1, true, 1);
        kit_part (req, 0, "{\"type\":\"t.a\",\"to\":\"service:turn\",\"durable\":true}", NULL);
        kit_do (kit, req);
        assert_int_equal (kit->ans->code, ARGOS_OK);
        seq = kit->ans->parts[0].seq;
        notice = kit->ans->row_count ? kit->ans->rows[0].seq : 0;
        assert_int_equal (seq == 0, hop == 65);
        assert_int_equal (notice != 0, hop == 65);
    }
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM dead WHERE code = 'loop'"), 1);
    //  What the notice causes ends there, without another notice
    int64_t lease = kit_lease (kit, notice, "gateway/1");
    assert_int_equal (kit->ans->hops, 64);
    argos_storage_req_t *req = kit_commit (kit, "gateway/1", notice, lease, 1, true, 1);
    kit_part (req, 0, "{\"type\":\"t.a\",\"to\":\"service:turn\",\"durable\":true}", NULL);
    kit_do (kit, req);
    assert_int_equal (kit->ans->code, ARGOS_OK);
    assert_int_equal (kit->ans->row_count, 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (strikes_are_counted_by_how_a_lease_ends),
        cmocka_unit_test (twenty_strikes_bury_and_tell_the_gateway),
        cmocka_unit_test (reject_buries_at_once),
        cmocka_unit_test (an_expired_message_is_buried_when_its_turn_comes),
        cmocka_unit_test (a_side_message_does_not_expire_under_the_holder_of_its_lane),
        cmocka_unit_test (a_delay_is_kept_until_a_side_message_comes),
        cmocka_unit_test (a_hello_says_of_each_lease_valid_done_or_lost),
        cmocka_unit_test (a_new_instance_takes_over_no_lease),
        cmocka_unit_test (a_hello_buries_what_has_too_many_strikes),
        cmocka_unit_test (leases_of_in_process_sessions_end_with_the_process),
        cmocka_unit_test (the_broker_ends_a_lease_without_its_number),
        cmocka_unit_test (the_broker_rejects_what_nobody_holds),
        cmocka_unit_test (a_chain_of_messages_ends_as_a_dead_letter),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
