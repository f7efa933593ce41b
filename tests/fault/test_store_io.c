//  test_store_io - the n-th write or sync of the database fails, for each n of a busy minute.
//
//  After each failure: no half-applied commit, what was answered is there, what was refused is not;
//  a failed sync ends the store, and the next start finds all that was answered.

#include "fault_vfs.h"
#include "store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BATCH 8  //  Requests of a batch
#define ROUNDS 4 //  Batches of a run

//  What a run has been told

typedef struct {
    bool accepted[ROUNDS][BATCH]; //  Answered ok
    bool told[ROUNDS][BATCH];     //  Answered at all
    bool ended;                   //  The store said that it is over
} told_t;

static argos_storage_req_t *
s_unit (const kit_t *kit, int round, int index)
{
    char id[32], header[160], body[1200];
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 2);
    req->now = kit->now;
    snprintf (id, sizeof id, "u%d.%d", round, index);
    snprintf (req->from, sizeof req->from, "cli");
    memcpy (req->id, id, sizeof id);
    snprintf (header, sizeof header,
        "{\"type\":\"t.x\",\"to\":\"service:turn\",\"key\":\"%s\",\"durable\":true}", id);
    snprintf (body, sizeof body, "{\"pad\":\"%01000d\"}", index);
    kit_part (req, 0, header, body);
    snprintf (body, sizeof body, "{\"id\":\"%s\"}", id);
    kit_part (req, 1, "{\"type\":\"session.create\",\"to\":\"store\"}", body);
    return req;
}

static void
s_run (kit_t *kit, told_t *told)
{
    char reason[256];
    for (int round = 0; round < ROUNDS && !told->ended; round++) {
        argos_storage_req_t *requests[BATCH];
        argos_storage_ans_t *answers[BATCH];
        for (int i = 0; i < BATCH; i++)
            requests[i] = s_unit (kit, round, i);
        told->ended = argos_store_batch (kit->store, requests, answers, BATCH, reason) != 0;
        for (int i = 0; i < BATCH; i++) {
            told->told[round][i] = !told->ended;
            told->accepted[round][i] = !told->ended && answers[i]->code == ARGOS_OK;
            argos_storage_req_destroy (&requests[i]);
            argos_storage_ans_destroy (&answers[i]);
        }
        while (!told->ended && argos_store_chore (kit->store, kit->now))
            continue;
    }
}

//  Each unit is wholly there or not at all; what was answered is as it was said.

static void
s_check (kit_t *kit, const told_t *told)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < BATCH; i++) {
            char sql[128];
            snprintf (
                sql, sizeof sql, "SELECT count (*) FROM queue WHERE key = 'u%d.%d'", round, i);
            int64_t rows = kit_number (kit, sql);
            snprintf (sql, sizeof sql, "SELECT count (*) FROM seen WHERE id = 'u%d.%d'", round, i);
            assert_int_equal (kit_number (kit, sql), rows);
            snprintf (
                sql, sizeof sql, "SELECT count (*) FROM sessions WHERE id = 'u%d.%d'", round, i);
            assert_int_equal (kit_number (kit, sql), rows);
            if (told->told[round][i])
                assert_int_equal (rows, told->accepted[round][i]);
        }
}

//  One run with the failure at position n. Returns whether there was one.

static bool
s_try (fault_t fault, int n, bool lasting, bool *ret_ended)
{
    told_t told = { .ended = false };
    fault_set (FAULT_NONE, 0, false);
    kit_t *kit = kit_new (true);
    fault_set (fault, n, lasting);
    s_run (kit, &told);
    int failed = fault_count ();
    fault_set (FAULT_NONE, 0, false);
    *ret_ended = told.ended;
    if (!told.ended)
        s_check (kit, &told);
    kit_reopen (kit);
    s_check (kit, &told);
    kit_free (kit);
    return failed > 0;
}

static void
a_failed_sync_ends_the_store_and_loses_nothing (void **state)
{
    (void) state;
    bool ended = false;
    int n = 0;
    while (s_try (FAULT_SYNC, n, false, &ended)) {
        assert_true (ended);
        n++;
    }
    assert_true (n >= ROUNDS);
}

static void
a_full_disk_refuses_and_halves_nothing (void **state)
{
    (void) state;
    bool ended = false;
    for (int lasting = 0; lasting < 2; lasting++) {
        int n = 0;
        while (s_try (FAULT_FULL, n, lasting, &ended)) {
            assert_false (ended);
            n++;
        }
        assert_true (n >= ROUNDS);
    }
}

static void
a_failed_write_halves_nothing (void **state)
{
    (void) state;
    bool ended = false;
    int n = 0;
    while (s_try (FAULT_WRITE, n, false, &ended))
        n++;
    assert_true (n >= ROUNDS);
}

//  H15: what can't be stored is not begun, but what was begun can be finished.

static void
the_ballast_is_given_up_for_accepted_work_only (void **state)
{
    (void) state;
    char path[128];
    fault_set (FAULT_NONE, 0, false);
    kit_t *kit = kit_new (true);
    snprintf (path, sizeof path, "%s-ballast", kit->path);
    assert_int_equal (access (path, F_OK), 0);
    int64_t seq = kit_send (kit, "m1", "turn", "k", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, "w/1");
    fault_ballast (path);
    assert_int_equal (kit_send (kit, "m2", "turn", "k", NULL, NULL), 0);
    assert_int_equal (kit->ans->code, ARGOS_NO_SPACE);
    assert_int_equal (access (path, F_OK), 0);
    assert_int_equal (kit_done (kit, "w/1", seq, lease, 1, 0), ARGOS_OK);
    assert_int_not_equal (access (path, F_OK), 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM queue"), 0);
    fault_ballast (NULL);
    kit_reopen (kit); //  Made again when there is room
    assert_int_equal (access (path, F_OK), 0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_failed_sync_ends_the_store_and_loses_nothing),
        cmocka_unit_test (a_full_disk_refuses_and_halves_nothing),
        cmocka_unit_test (a_failed_write_halves_nothing),
        cmocka_unit_test (the_ballast_is_given_up_for_accepted_work_only),
    };
    fault_install ();
    return cmocka_run_group_tests (tests, NULL, NULL);
}
