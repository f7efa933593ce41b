//  test_store_calls - each call of the store to its files fails once, and then for good, over a
//  script of operations: F1, F20 and F22 of the list in docs/store-faults.md.
//
//  Whatever fails: a step that was answered is there when the database is opened again, one that
//  was refused is not, none is there in part, a load is whole or refused, and SQLite and both
//  indexes find nothing wrong. ARGOS_FAULT_STRIDE=1 takes every call (./dev storefaults);
//  otherwise the first of a kind and then some.

#include "fault_vfs.h"
#include "store_kit.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HOLDER "agent/1"
#define ALL 4       //  Calls of a kind of which each one fails
#define MESSAGES 12 //  Of an append

typedef enum { NOT_ASKED, DONE, REFUSED, UNKNOWN } outcome_t;

//  One step of the script

typedef struct {
    const char *type;  //  Operation; NULL = see s_special
    const char *body;  //  Its body, NULL = made
    bool leased;       //  Under the lease
    int64_t there;     //  What the query says when it is there; else 0
    const char *query; //  Looks for it
} step_t;

static const step_t s_steps[] = {
    { "session.create", "{\"id\":\"a\",\"owner\":\"ann\"}", false, 1,
        "SELECT count (*) FROM sessions WHERE id = 'a'" },
    { "session.create", "{\"id\":\"b\",\"parent\":\"a\",\"kind\":\"compression\"}", false, 1,
        "SELECT count (*) FROM sessions WHERE id = 'b'" },
    { NULL, NULL, false, 1, "SELECT count (*) FROM seen WHERE id = 'm1'" },
    { NULL, NULL, false, 1, "SELECT sum (attempt) > 0 FROM queue" },
    { "session.append", NULL, true, MESSAGES,
        "SELECT count (*) FROM messages WHERE client_id GLOB 'c4-*'" },
    { "session.append", NULL, true, MESSAGES,
        "SELECT count (*) FROM messages WHERE client_id GLOB 'c5-*'" },
    { "session.rename", "{\"id\":\"a\",\"title\":\"a title\"}", false, 1,
        "SELECT count (*) FROM sessions WHERE title = 'a title'" },
    { "route.bind", "{\"key\":\"k\",\"session_id\":\"a\"}", false, 1,
        "SELECT count (*) FROM routes" },
    { "usage.add", "{\"session_id\":\"a\",\"model\":\"m\",\"input_tokens\":5}", false, 1,
        "SELECT count (*) FROM session_usage JOIN sessions ON id = session_id"
        " WHERE sessions.input_tokens = 5" },
    { "cursor.put", "{\"name\":\"n\",\"value\":[1,2]}", false, 1, "SELECT count (*) FROM cursors" },
    { "session.replace", NULL, true, MESSAGES,
        "SELECT count (*) FROM messages WHERE client_id GLOB 'c10-*'" },
    { "session.update", "{\"id\":\"b\",\"hidden\":true}", false, 1,
        "SELECT count (*) FROM sessions WHERE hidden = 1" },
};

#define STEPS (sizeof s_steps / sizeof *s_steps)
#define SEND 2     //  Step that sends the message
#define LEASE 3    //  Step that leases it
#define APPEND 4   //  Step that appends
#define REPLACE 10 //  Step that replaces the transcript

typedef struct {
    kit_t *kit;               //  Folder, time
    outcome_t outcome[STEPS]; //  Of each step
    int64_t seq, lease, n;    //  Of the message
    bool ended;               //  The store said that it is over
    int refused;              //  Answers that were none
} run_t;

static void
s_made_body (size_t step, char *target, size_t size)
{
    int at = snprintf (target, size, "{\"session_id\":\"a\",\"messages\":[");
    for (int i = 0; i < MESSAGES; i++)
        at += snprintf (target + at, size - (size_t) at,
            "%s{\"role\":\"%s\",\"content\":\"needle 日本語 %0200d\",\"client_id\":\"c%zu-%d\"}",
            i ? "," : "", i % 2 ? "assistant" : "user", i, step, i);
    snprintf (target + at, size - (size_t) at, "]}");
}

static argos_storage_req_t *
s_request (run_t *run, size_t at)
{
    const step_t *step = &s_steps[at];
    argos_storage_req_t *req;
    char header[128], body[8192];
    if (at == LEASE) {
        req = argos_storage_req_new (ARGOS_ST_LEASE, 0);
        req->seq = run->seq;
        snprintf (req->holder, sizeof req->holder, HOLDER);
        return req;
    }
    if (step->leased)
        req = kit_commit (run->kit, HOLDER, run->seq, run->lease, run->n + 1, false, 1);
    else {
        req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
        snprintf (req->from, sizeof req->from, "cli");
        snprintf (req->id, sizeof req->id, at == SEND ? "m1" : "w%zu", at);
    }
    if (at == SEND)
        snprintf (header, sizeof header,
            "{\"type\":\"t.x\",\"to\":\"service:turn\",\"key\":\"a\",\"durable\":true}");
    else
        snprintf (header, sizeof header, "{\"type\":\"%s\",\"to\":\"store\",\"durable\":true}",
            step->type);
    if (step->body || at == SEND)
        snprintf (body, sizeof body, "%s", step->body ? step->body : "{}");
    else
        s_made_body (at, body, sizeof body);
    kit_part (req, 0, header, body);
    return req;
}

static void
s_step (run_t *run, size_t at)
{
    char reason[256];
    argos_storage_ans_t *ans = NULL;
    argos_storage_req_t *req = s_request (run, at);
    req->now = run->kit->now;
    run->ended = argos_store_batch (run->kit->store, &req, &ans, 1, reason) != 0;
    run->outcome[at] = run->ended ? UNKNOWN : ans->code == ARGOS_OK ? DONE : REFUSED;
    if (run->outcome[at] == DONE && at == SEND)
        run->seq = ans->seq;
    else if (run->outcome[at] == DONE && at == LEASE)
        run->lease = ans->lease;
    else if (run->outcome[at] == DONE && s_steps[at].leased)
        run->n++;
    else if (run->outcome[at] == REFUSED) {
        assert_true (*ans->reason);
        run->refused++;
    }
    argos_storage_ans_destroy (&ans);
    argos_storage_req_destroy (&req);
}

//  A read: the number of members of its list, -1 = refused or over.

static int64_t
s_read (run_t *run, const char *type, const char *body, const char *list)
{
    char reason[256], header[128];
    argos_storage_ans_t *ans = NULL;
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_READ, 1);
    int64_t count = -1;
    req->now = run->kit->now;
    snprintf (req->from, sizeof req->from, "cli");
    snprintf (header, sizeof header, "{\"type\":\"%s\",\"id\":\"r\",\"to\":\"store\"}", type);
    kit_part (req, 0, header, body);
    run->ended = argos_store_batch (run->kit->store, &req, &ans, 1, reason) != 0;
    if (!run->ended && ans->code == ARGOS_OK) {
        json_t *result = json_loadb (ans->parts[0].body->data, ans->parts[0].body->size, 0, NULL);
        count = (int64_t) json_array_size (json_object_get (result, list));
        json_decref (result);
    }
    else if (!run->ended)
        run->refused++;
    argos_storage_ans_destroy (&ans);
    argos_storage_req_destroy (&req);
    return count;
}

//  What a load has to find: the last transcript that was written.

static int64_t
s_loaded (const run_t *run)
{
    if (run->outcome[REPLACE] == DONE)
        return MESSAGES;
    return MESSAGES * ((run->outcome[APPEND] == DONE) + (run->outcome[APPEND + 1] == DONE));
}

static void
s_read_back (run_t *run)
{
    if (run->outcome[0] != DONE)
        return;
    int64_t count = s_read (run, "session.load", "{\"id\":\"a\"}", "messages");
    if (count >= 0)
        assert_int_equal (count, s_loaded (run));
    if (!run->ended)
        count = s_read (run, "session.search", "{\"text\":\"needle\",\"limit\":100}", "hits");
    if (!run->ended && count >= 0)
        assert_int_equal (count, s_loaded (run));
}

static void
s_chores (run_t *run)
{
    for (int i = 0; i < 100 && argos_store_chore (run->kit->store, run->kit->now); i++)
        continue;
}

static void
s_script (run_t *run)
{
    for (size_t i = 0; i < STEPS && !run->ended; i++) {
        s_step (run, i);
        if (i % 3 == 0)
            s_chores (run);
    }
    for (int i = 0; i < 2 && !run->ended; i++) {
        s_read_back (run);
        run->kit->store->messages_behind += 100; //  Worth a slice
        s_chores (run);
    }
}

static void
s_sound (kit_t *kit)
{
    static const char *const indexes[] = { "message_words", "message_trigrams" };
    sqlite3_stmt *stmt = NULL;
    sqlite3_prepare_v2 (kit->store->db, "PRAGMA integrity_check", -1, &stmt, NULL);
    assert_int_equal (sqlite3_step (stmt), SQLITE_ROW);
    assert_string_equal ((const char *) sqlite3_column_text (stmt, 0), "ok");
    sqlite3_finalize (stmt);
    for (size_t i = 0; i < 2; i++) {
        char sql[128];
        snprintf (sql, sizeof sql, "INSERT INTO %s (%s) VALUES ('integrity-check')", indexes[i],
            indexes[i]);
        assert_int_equal (sqlite3_exec (kit->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
}

static void
s_check (run_t *run)
{
    for (size_t i = 0; i < STEPS; i++) {
        int64_t found = kit_number (run->kit, s_steps[i].query);
        bool replaced = s_steps[i].leased && i < REPLACE && run->outcome[REPLACE] != REFUSED &&
                        run->outcome[REPLACE] != NOT_ASKED;
        if (found != 0 && found != s_steps[i].there)
            fail_msg ("step %zu is there in part: %d", i, (int) found);
        if (run->outcome[i] == DONE && found == 0 && !replaced)
            fail_msg ("step %zu was answered and is not there", i);
        if (run->outcome[i] == REFUSED && found != 0)
            fail_msg ("step %zu was refused and is there", i);
    }
    s_sound (run->kit);
}

//  ------------------------------------------------------------------------------------------------
//  A database that is there already, so that making it does not take all the time

static unsigned char s_image[1 << 20]; //  Of a new database with the services
static size_t s_image_size;            //  Bytes
static kit_t *s_shared;                //  One folder for all runs

static int
s_set_up (void **state)
{
    (void) state;
    s_shared = kit_new (true);
    argos_store_destroy (&s_shared->store);
    FILE *file = fopen (s_shared->path, "r");
    assert_non_null (file);
    s_image_size = fread (s_image, 1, sizeof s_image, file);
    fclose (file);
    return s_image_size > 0 && s_image_size < sizeof s_image ? 0 : -1;
}

static int
s_tear_down (void **state)
{
    (void) state;
    kit_free (s_shared);
    return 0;
}

//  The folder with a database as at the beginning, closed

static kit_t *
s_kit (bool made)
{
    char path[128];
    snprintf (path, sizeof path, "%s-wal", s_shared->path);
    unlink (path);
    FILE *file = fopen (s_shared->path, "w");
    assert_non_null (file);
    if (made)
        assert_int_equal (fwrite (s_image, 1, s_image_size, file), s_image_size);
    fclose (file);
    return s_shared;
}

//  One run; the n-th call of that kind fails. Returns whether there was one.

static bool
s_try (fault_t kind, int n, bool lasting, bool made)
{
    char reason[256] = "";
    run_t run = { .kit = s_kit (made) };
    kit_t *kit = run.kit;
    fault_set (kind, n, lasting);
    kit->store = argos_store_new (kit->path, kit->now, reason);
    if (kit->store && made)
        s_script (&run);
    else if (!kit->store)
        assert_true (*reason);
    argos_store_destroy (&kit->store);
    bool failed = fault_count () > 0;
    fault_set (FAULT_NONE, 0, false);
    kit->store = argos_store_new (kit->path, kit->now, reason);
    if (!kit->store)
        fail_msg ("after call %d of kind %d: %s", n, (int) kind, reason);
    if (made)
        s_check (&run);
    else
        s_sound (kit);
    if (!failed)
        assert_int_equal (run.refused, 0);
    argos_store_destroy (&kit->store);
    return failed;
}

static void
s_each_call (bool made)
{
    const char *stride = getenv ("ARGOS_FAULT_STRIDE");
    int step = stride ? atoi (stride) : 97;
    for (int kind = FAULT_OPEN; kind < FAULT_KINDS; kind++)
        for (int lasting = 0; lasting < 2; lasting++)
            for (int n = 0; s_try ((fault_t) kind, n, lasting, made);)
                n += n < ALL ? 1 : step;
}

static void
each_call_of_a_script_fails (void **state)
{
    (void) state;
    s_each_call (true);
}

static void
each_call_of_making_a_database_fails (void **state)
{
    (void) state;
    s_each_call (false);
}

//  ------------------------------------------------------------------------------------------------
//  The power fails somewhere: what was synced is there, of the rest some

static unsigned
s_seeds (void)
{
    return getenv ("ARGOS_FAULT_STRIDE") ? 1000 : 15;
}

static void
the_power_fails (void **state)
{
    (void) state;
    for (unsigned seed = 1; seed <= s_seeds (); seed++) {
        char reason[256] = "";
        unsigned dice = seed;
        run_t run = { .kit = s_kit (true) };
        fault_watch (true);
        run.kit->store = argos_store_new (run.kit->path, run.kit->now, reason);
        assert_non_null (run.kit->store);
        size_t steps = (size_t) rand_r (&dice) % STEPS + 1;
        for (size_t i = 0; i < steps; i++) {
            s_step (&run, i);
            if (rand_r (&dice) % 2)
                s_chores (&run);
            if (rand_r (&dice) % 4 == 0)
                argos_store_checkpoint (run.kit->store);
        }
        fault_power_off (seed);
        argos_store_destroy (&run.kit->store);
        fault_power_on ();
        fault_watch (false);
        run.kit->store = argos_store_new (run.kit->path, run.kit->now, reason);
        if (!run.kit->store)
            fail_msg ("seed %u: %s", seed, reason);
        s_check (&run);
        argos_store_destroy (&run.kit->store);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_call_of_a_script_fails),
        cmocka_unit_test (each_call_of_making_a_database_fails),
        cmocka_unit_test (the_power_fails),
    };
    fault_install ();
    return cmocka_run_group_tests (tests, s_set_up, s_tear_down);
}
