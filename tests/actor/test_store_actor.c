//  test_store_actor - the store's thread behind its PAIR.

#include "argos_actor.h"
#include "argos_schema.h"
#include "argos_storage_wire.h"
#include "argos_store_actor.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ENDPOINT "inproc://argos.store"
#define WAIT_MS 5000 //  For an answer
#define MESSAGES 40  //  That are worth a slice of the indexer
#define TRIES 10     //  To see a chore

typedef struct {
    char dir[64];            //  Of the database
    char path[96];           //  The database
    char reason[256];        //  Why it did not start
    argos_store_info_t info; //  What it said of itself
    zactor_t *actor;         //  The store
    void *pair;              //  Our end
    int asked;               //  Requests with an id of their own
} rig_t;

static void
s_start (rig_t *rig)
{
    argos_store_actor_config_t config = {
        .path = rig->path, .endpoint = ENDPOINT, .info = &rig->info, .reason = rig->reason
    };
    rig->actor = argos_actor_start ("store", argos_store_actor, &config);
    if (!rig->actor)
        return;
    const int zero = 0, wait = WAIT_MS;
    rig->pair = zmq_socket (zsys_init (), ZMQ_PAIR);
    zmq_setsockopt (rig->pair, ZMQ_LINGER, &zero, sizeof zero);
    zmq_setsockopt (rig->pair, ZMQ_SNDHWM, &zero, sizeof zero);
    zmq_setsockopt (rig->pair, ZMQ_RCVHWM, &zero, sizeof zero);
    zmq_setsockopt (rig->pair, ZMQ_RCVTIMEO, &wait, sizeof wait);
    assert_int_equal (zmq_connect (rig->pair, ENDPOINT), 0);
}

static void
s_stop (rig_t *rig)
{
    assert_int_equal (argos_actor_stop (&rig->actor, WAIT_MS), 0);
    zmq_close (rig->pair);
    rig->pair = NULL;
}

static int
s_set_up (void **state)
{
    char reason[256];
    rig_t *rig = calloc (1, sizeof *rig);
    assert_int_equal (argos_schema_init (reason), 0);
    snprintf (rig->dir, sizeof rig->dir, "/tmp/argos-store-XXXXXX");
    assert_non_null (mkdtemp (rig->dir));
    snprintf (rig->path, sizeof rig->path, "%s/argos.db", rig->dir);
    *state = rig;
    return 0;
}

static int
s_tear_down (void **state)
{
    static const char *const suffixes[] = { "", "-wal", "-ballast" };
    rig_t *rig = *state;
    for (int i = 0; i < 3; i++) {
        char path[128];
        snprintf (path, sizeof path, "%s%s", rig->path, suffixes[i]);
        unlink (path);
    }
    rmdir (rig->dir);
    argos_schema_term ();
    free (rig);
    return 0;
}

static argos_frame_t *
s_frame (const char *text)
{
    return argos_frame_new (text, strlen (text));
}

static void
s_send_message (rig_t *rig, int number)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 2);
    req->tag = (uint64_t) number;
    req->now = 1700000000000;
    snprintf (req->from, sizeof req->from, "cli");
    snprintf (req->id, sizeof req->id, "m%d", number);
    req->parts[0].header =
        s_frame ("{\"type\":\"t.x\",\"to\":\"service:turn\",\"key\":\"k\",\"durable\":true}");
    req->parts[0].body = s_frame ("{\"text\":\"hello\"}");
    req->parts[1].header =
        s_frame ("{\"type\":\"t.y\",\"to\":\"service:turn\",\"key\":\"l\",\"durable\":true}");
    assert_int_equal (argos_storage_req_send (rig->pair, req), 0);
    argos_storage_req_destroy (&req);
}

static argos_storage_ans_t *
s_answer (rig_t *rig)
{
    argos_storage_ans_t *ans = argos_storage_ans_recv (rig->pair, 0);
    assert_non_null (ans);
    return ans;
}

static void
s_declare (rig_t *rig)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_SERVICE, 0);
    snprintf (req->name, sizeof req->name, "turn");
    assert_int_equal (argos_storage_req_send (rig->pair, req), 0);
    argos_storage_req_destroy (&req);
    argos_storage_ans_t *ans = s_answer (rig);
    assert_int_equal (ans->code, ARGOS_OK);
    argos_storage_ans_destroy (&ans);
}

static void
requests_are_answered_in_order (void **state)
{
    rig_t *rig = *state;
    s_start (rig);
    s_declare (rig);
    for (int i = 0; i < 300; i++)
        s_send_message (rig, i);
    for (int i = 0; i < 300; i++) {
        argos_storage_ans_t *ans = s_answer (rig);
        assert_int_equal (ans->tag, i);
        assert_int_equal (ans->code, ARGOS_OK);
        assert_int_equal (ans->part_count, 2);
        assert_int_equal (ans->parts[1].seq, ans->seq + 1);
        argos_storage_ans_destroy (&ans);
    }
    s_stop (rig);
}

static void
what_was_answered_is_there_after_a_restart_with_its_frames (void **state)
{
    rig_t *rig = *state;
    s_start (rig);
    s_declare (rig);
    s_send_message (rig, 1);
    argos_storage_ans_t *ans = s_answer (rig);
    int64_t seq = ans->seq;
    argos_storage_ans_destroy (&ans);
    s_stop (rig);
    s_start (rig);
    assert_int_equal (rig->info.boot, 2);
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_LEASE, 0);
    req->seq = seq;
    req->now = 1700000000001;
    snprintf (req->holder, sizeof req->holder, "w/1");
    argos_storage_req_send (rig->pair, req);
    argos_storage_req_destroy (&req);
    ans = s_answer (rig);
    assert_int_equal (ans->code, ARGOS_OK);
    assert_int_equal (ans->part_count, 1);
    assert_memory_equal (ans->parts[0].body->data, "{\"text\":\"hello\"}", 16);
    argos_storage_ans_destroy (&ans);
    req = argos_storage_req_new (ARGOS_ST_HELLO, 0);
    req->pairs = calloc (1, sizeof *req->pairs);
    req->pair_count = 1;
    req->pairs[0].seq = seq;
    snprintf (req->holder, sizeof req->holder, "w/2");
    snprintf (req->name, sizeof req->name, "w");
    argos_storage_req_send (rig->pair, req);
    argos_storage_req_destroy (&req);
    ans = s_answer (rig);
    assert_int_equal (ans->pair_count, 1);
    assert_int_equal (ans->pairs[0].verdict, 'l');
    assert_int_equal (ans->freed_count, 1);
    assert_int_equal (ans->freed[0].seq, seq);
    argos_storage_ans_destroy (&ans);
    req = argos_storage_req_new (ARGOS_ST_INDEX, 0);
    argos_storage_req_send (rig->pair, req);
    argos_storage_req_destroy (&req);
    ans = s_answer (rig);
    assert_int_equal (ans->row_count, 3);
    assert_string_equal (ans->rows[0].service, "turn");
    assert_string_equal (ans->owner, rig->info.store_id);
    argos_storage_ans_destroy (&ans);
    s_stop (rig);
}

static void
s_ask (rig_t *rig, argos_storage_op_t op, const char *header, const char *body)
{
    argos_storage_req_t *req = argos_storage_req_new (op, 1);
    req->now = 1700000000000;
    snprintf (req->from, sizeof req->from, "cli");
    snprintf (req->id, sizeof req->id, "a%d", rig->asked++);
    req->parts[0].header = s_frame (header);
    req->parts[0].body = s_frame (body);
    assert_int_equal (argos_storage_req_send (rig->pair, req), 0);
    argos_storage_req_destroy (&req);
    argos_storage_ans_t *ans = s_answer (rig);
    assert_int_equal (ans->code, ARGOS_OK);
    argos_storage_ans_destroy (&ans);
}

//  Messages that are worth a slice of the indexer. Returns the size of the log then.

static off_t
s_write_messages (rig_t *rig, const char *log)
{
    char body[4096];
    struct stat info;
    int size = snprintf (
        body, sizeof body, "{\"id\":\"s\",\"first\":%d,\"messages\":[", rig->asked * MESSAGES);
    for (int i = 0; i < MESSAGES; i++)
        size += snprintf (body + size, sizeof body - (size_t) size,
            "%s{\"role\":\"user\",\"content\":\"hello\"}", i ? "," : "");
    snprintf (body + size, sizeof body - (size_t) size, "]}");
    s_ask (rig, ARGOS_ST_COMMIT, "{\"type\":\"session.import\",\"to\":\"store\",\"durable\":true}",
        body);
    assert_int_equal (stat (log, &info), 0);
    return info.st_size;
}

static bool
s_has_grown (const char *log, off_t before)
{
    struct stat info;
    assert_int_equal (stat (log, &info), 0);
    return info.st_size > before;
}

//  Only a chore writes when nothing but reads is asked for. It may have written before its log was
//  looked at: then there are messages again.

static void
chores_are_done_in_a_pause_and_without_one_too (void **state)
{
    rig_t *rig = *state;
    char log[128];
    bool grown = false;
    snprintf (log, sizeof log, "%s-wal", rig->path);
    s_start (rig);
    for (int tries = 0; !grown && tries < TRIES; tries++) {
        off_t before = s_write_messages (rig, log);
        for (int i = 0; !grown && i < 10000; i++) {
            s_ask (rig, ARGOS_ST_READ, "{\"type\":\"status.get\",\"to\":\"store\"}", "{}");
            grown = s_has_grown (log, before);
        }
    }
    assert_true (grown);
    struct pollfd changes = { inotify_init1 (IN_CLOEXEC | IN_NONBLOCK), POLLIN, 0 };
    assert_true (inotify_add_watch (changes.fd, log, IN_MODIFY) >= 0);
    grown = false;
    for (int tries = 0; !grown && tries < TRIES; tries++) {
        char events[4096];
        off_t before = s_write_messages (rig, log);
        while (read (changes.fd, events, sizeof events) > 0)
            continue;
        grown = s_has_grown (log, before) ||
                (poll (&changes, 1, WAIT_MS / 2) == 1 && s_has_grown (log, before));
    }
    assert_true (grown);
    close (changes.fd);
    s_stop (rig);
}

static void
a_database_that_can_not_be_used_is_said_at_once (void **state)
{
    rig_t *rig = *state;
    FILE *file = fopen (rig->path, "w");
    assert_non_null (file);
    fputs (
        "this is no database, but it is long enough to look like one if nobody reads it\n", file);
    fclose (file);
    s_start (rig);
    assert_null (rig->actor);
    assert_true (strlen (rig->reason) > 0);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (requests_are_answered_in_order, s_set_up, s_tear_down),
        cmocka_unit_test_setup_teardown (
            what_was_answered_is_there_after_a_restart_with_its_frames, s_set_up, s_tear_down),
        cmocka_unit_test_setup_teardown (
            chores_are_done_in_a_pause_and_without_one_too, s_set_up, s_tear_down),
        cmocka_unit_test_setup_teardown (
            a_database_that_can_not_be_used_is_said_at_once, s_set_up, s_tear_down),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
