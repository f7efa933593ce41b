//  test_stats - what the broker says of itself: ages, counters, paths.

#include "core_kit.h"

#include "argos_core_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORKER 1
#define SENDER 2
#define WATCHER 100 //  An actor of the core

//  ------------------------------------------------------------------------------------------------
//  Ages

#define STEPS 20000 //  Of the random walk
#define ITEMS 4096  //  At a time
#define LATE 100    //  How much older than the newest one may be that comes

static uint64_t s_state;

static unsigned
s_random (unsigned below)
{
    s_state = s_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned) (s_state >> 33) % below;
}

static int32_t s_items[ITEMS]; //  What came and has not gone, oldest first as a rule
static size_t s_count;         //  How many

//  Mostly the oldest goes, sometimes any; mostly what comes is new, sometimes it is older.

static void
s_come_or_go (argos_age_t *ages, int32_t now)
{
    if (s_count < ITEMS && (s_count == 0 || s_random (100) < 51)) {
        s_items[s_count] = s_random (50) == 0 ? now - (int32_t) s_random (LATE) : now;
        argos_age_add (ages, s_items[s_count++]);
        return;
    }
    size_t which = s_random (4) ? 0 : s_random ((unsigned) s_count);
    argos_age_remove (ages, s_items[which]);
    memmove (&s_items[which], &s_items[which + 1], (s_count - which - 1) * sizeof s_items[0]);
    s_count--;
}

//  What is said to be the oldest is not younger than it, nor older than by an eighth of the span
//  that there was.

static void
s_expect_oldest (argos_age_t *ages, int32_t *span)
{
    int32_t oldest = INT32_MAX, newest = INT32_MIN, said = 0;
    for (size_t i = 0; i < s_count; i++) {
        oldest = s_items[i] < oldest ? s_items[i] : oldest;
        newest = s_items[i] > newest ? s_items[i] : newest;
    }
    assert_int_equal (argos_age_oldest (ages, &said), s_count > 0);
    if (s_count == 0)
        return;
    assert_true (said <= oldest);
    *span = newest - said > *span ? newest - said : *span;
    if (oldest - said > *span / 8 + LATE)
        fail_msg ("said %d, oldest %d, newest %d", said, oldest, newest);
}

static void
the_oldest_is_known_to_an_eighth_of_the_span (void **state)
{
    (void) state;
    int32_t now = -1000, span = 0;
    argos_age_t ages = { .used = 0 };
    s_state = 7;
    s_count = 0;
    for (int step = 0; step < STEPS; step++) {
        now += (int32_t) s_random (20);
        s_come_or_go (&ages, now);
        s_expect_oldest (&ages, &span);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Paths

static argos_trace_record_t s_records[ARGOS_TRACE_PATH_MAX];
static bool s_more;

static void
s_accept (argos_trace_t *trace, const char *id, int64_t seq, const char *cause)
{
    argos_trace_add (
        trace, &(argos_trace_note_t){
                   .event = ARGOS_TRACE_ACCEPTED, .id = id, .seq = seq, .cause = cause });
}

static size_t
s_path (const argos_trace_t *trace, const char *id)
{
    return argos_trace_path (trace, id, s_records, &s_more);
}

static void
a_path_goes_back_and_on (void **state)
{
    (void) state;
    argos_trace_t *trace = argos_trace_new (100);
    s_accept (trace, "telegram.main:42:first", 1, "");
    s_accept (trace, "other", 2, "");
    s_accept (trace, "run", 3, "telegram.main:42:first");
    argos_trace_add (trace, &(argos_trace_note_t){ .event = ARGOS_TRACE_LEASED, .seq = 3 });
    argos_trace_add (trace, &(argos_trace_note_t){ .event = ARGOS_TRACE_LEASED, .seq = 2 });
    s_accept (trace, "", 4, "run"); //  Without an id of its own
    argos_trace_add (trace, &(argos_trace_note_t){ .event = ARGOS_TRACE_DONE, .seq = 4 });
    for (int i = 0; i < 2; i++) {
        assert_int_equal (s_path (trace, i ? "run" : "telegram.main:42:first"), 5);
        assert_int_equal (s_records[0].seq, 1);
        assert_int_equal (s_records[1].seq, 3);
        assert_int_equal (s_records[1].depth, 1);
        assert_int_equal (s_records[2].event, ARGOS_TRACE_LEASED);
        assert_int_equal (s_records[2].depth, 1);
        assert_int_equal (s_records[3].seq, 4);
        assert_int_equal (s_records[4].event, ARGOS_TRACE_DONE);
        assert_int_equal (s_records[4].depth, 2);
        assert_false (s_more);
    }
    assert_int_equal (s_path (trace, "other"), 2);
    assert_int_equal (s_path (trace, "telegram.main:42:firs"), 0);
    assert_int_equal (s_path (trace, ""), 0);
    argos_trace_destroy (&trace);
}

static void
the_ring_is_bounded_and_so_is_a_path (void **state)
{
    (void) state;
    argos_trace_t *none = argos_trace_new (0), *trace = argos_trace_new (1000000);
    char id[32];
    s_accept (none, "a", 1, "");
    assert_int_equal (s_path (none, "a"), 0);
    s_accept (trace, "root", 1, "");
    for (int i = 0; i < 1000; i++) {
        snprintf (id, sizeof id, "child.%d", i);
        s_accept (trace, id, i + 2, "root");
    }
    assert_true (s_path (trace, "root") <= ARGOS_TRACE_PATH_MAX);
    assert_true (s_more);
    for (int i = 0; i < (ARGOS_TRACE_BYTES / (int) sizeof (argos_trace_record_t)); i++)
        s_accept (trace, "late", 5000, "");
    assert_int_equal (s_path (trace, "root"), 0); //  Overwritten
    assert_int_equal (s_path (trace, "late"), ARGOS_TRACE_PATH_MAX);
    argos_trace_destroy (&trace);
}

//  ------------------------------------------------------------------------------------------------
//  Answers of the broker

static const argos_sim_msg_t *
s_ask (const char *type, const char *body)
{
    core_sendf (WATCHER, body, "{\"type\":\"%s\",\"id\":\"q\",\"to\":\"actor:broker\"}", type);
    char result[64];
    snprintf (result, sizeof result, "%s.result", type);
    return core_expect_re (WATCHER, result, "q");
}

//  The row of that name of a list of the answer

static const json_t *
s_row (const argos_sim_msg_t *msg, const char *list, const char *name)
{
    size_t i;
    json_t *row;
    json_array_foreach (json_object_get (msg->body, list), i, row)
        if (strcmp (argos_sim_text (row, "name"), name) == 0)
            return row;
    fail_msg ("%s has no %s", list, name);
    return NULL;
}

static void
s_put (const char *id, const char *more)
{
    core_sendf (SENDER, "{\"text\":\"x\"}",
        "{\"type\":\"job\",\"id\":\"%s\",\"to\":\"service:work\",\"durable\":true%s}", id, more);
    core_expect_re (SENDER, "accepted", id);
}

static void
s_serve (int slots)
{
    char body[64];
    snprintf (body, sizeof body, "{\"service\":\"work\",\"slots\":%d}", slots);
    core_send (WORKER, "{\"type\":\"serve\",\"id\":\"s\"}", body);
    core_expect_re (WORKER, "accepted", "s");
}

static void
peers_and_services_are_counted (void **state)
{
    (void) state;
    core_hello (WORKER, "worker");
    core_hello (SENDER, "sender");
    core_hello (WATCHER, "api");
    core_grant (WORKER, 7);
    s_serve (0);
    s_put ("a", "");
    argos_sim_net_sleep (core_kit_net, 3000);
    s_put ("b", "");
    s_put ("c", "");
    const argos_sim_msg_t *msg = s_ask ("broker.stats", NULL);
    const json_t *work = s_row (msg, "services", "work"), *totals;
    assert_int_equal (argos_sim_int (work, "waiting"), 3);
    assert_int_equal (argos_sim_int (work, "leased"), 0);
    assert_int_equal (argos_sim_int (work, "oldest_ms"), 3000);
    assert_int_equal (argos_sim_int (work, "in"), 3);
    assert_int_equal (argos_sim_int (work, "done"), 0);
    const json_t *sender = s_row (msg, "peers", "sender");
    assert_int_equal (argos_sim_int (sender, "in_messages"), 3);  //  After its hello
    assert_int_equal (argos_sim_int (sender, "out_messages"), 4); //  welcome, accepted
    assert_true (argos_sim_int (sender, "in_bytes") > 200);
    assert_string_equal (argos_sim_text (sender, "via"), "ipc");
    assert_int_equal (argos_sim_int (sender, "window_used"), 0);
    assert_int_equal (argos_sim_int (s_row (msg, "peers", "worker"), "credit"), 7);
    s_serve (2);
    core_expect (WORKER, "job");
    const argos_sim_msg_t *job = core_expect (WORKER, "job");
    int64_t seq = argos_sim_int (job->meta, "seq"), lease = argos_sim_int (job->meta, "lease");
    core_sendf (WORKER, NULL,
        "{\"type\":\"done\",\"id\":\"d\",\"seq\":%lld,\"lease\":%lld,\"n\":1}", (long long) seq,
        (long long) lease);
    msg = s_ask ("broker.stats", NULL);
    work = s_row (msg, "services", "work");
    assert_int_equal (argos_sim_int (work, "waiting"), 0);
    assert_int_equal (argos_sim_int (work, "leased"), 2);
    assert_int_equal (argos_sim_int (work, "done"), 1);
    assert_int_equal (argos_sim_int (work, "oldest_ms"), 3000);
    assert_int_equal (argos_sim_int (s_row (msg, "peers", "worker"), "leases"), 2);
    totals = json_object_get (msg->body, "totals");
    assert_int_equal (argos_sim_int (totals, "leases"), 2);
    assert_int_equal (argos_sim_int (totals, "peers"), 3);
    assert_true (argos_sim_int (totals, "stored") > 5);
    msg = s_ask ("broker.stats", "{\"limit\":1}");
    assert_int_equal (json_array_size (json_object_get (msg->body, "peers")), 1);
}

//  What waits keeps its age over a restart; what was to come later is as old as it is due.

static void
ages_outlive_a_restart (void **state)
{
    (void) state;
    char more[64];
    core_hello (WORKER, "worker");
    core_hello (SENDER, "sender");
    s_serve (0);
    snprintf (more, sizeof more, ",\"not_before\":%lld", (long long) core_kit_net->wall + 60000);
    s_put ("later", more);
    s_put ("a", "");
    argos_sim_net_sleep (core_kit_net, 5000);
    argos_sim_net_crash (core_kit_net);
    core_hello (WATCHER, "api");
    const json_t *work = s_row (s_ask ("broker.stats", NULL), "services", "work");
    assert_in_range (argos_sim_int (work, "oldest_ms"), 5000, 5200);
    core_hello (WORKER, "worker");
    s_serve (1);
    const argos_sim_msg_t *job = core_expect (WORKER, "job");
    core_sendf (WORKER, NULL,
        "{\"type\":\"done\",\"id\":\"d\",\"seq\":%lld,\"lease\":%lld,\"n\":1}",
        (long long) argos_sim_int (job->meta, "seq"),
        (long long) argos_sim_int (job->meta, "lease"));
    core_expect_re (WORKER, "accepted", "d");
    work = s_row (s_ask ("broker.stats", NULL), "services", "work");
    assert_int_equal (argos_sim_int (work, "waiting"), 1);
    assert_int_equal (argos_sim_int (work, "oldest_ms"), 0);
    s_serve (0);
    for (int i = 0; i < 62; i++) {
        argos_sim_net_sleep (core_kit_net, 1000);
        core_send (WORKER, "{\"type\":\"ping\"}", NULL);
    }
    work = s_row (s_ask ("broker.stats", NULL), "services", "work");
    assert_in_range (argos_sim_int (work, "oldest_ms"), 5000, 8000);
}

static void
s_expect_record (const argos_sim_msg_t *msg, size_t place, const char *event, const char *id,
    const char *peer, int depth)
{
    const json_t *record = json_array_get (json_object_get (msg->body, "records"), place);
    assert_string_equal (argos_sim_text (record, "event"), event);
    assert_string_equal (argos_sim_text (record, "id"), id);
    assert_string_equal (argos_sim_text (record, "peer"), peer);
    assert_int_equal (argos_sim_int (record, "depth"), depth);
}

static void
a_trace_shows_each_hop (void **state)
{
    (void) state;
    core_hello (WORKER, "worker");
    core_hello (SENDER, "sender");
    core_hello (WATCHER, "api");
    s_serve (1);
    s_put ("a", "");
    const argos_sim_msg_t *job = core_expect (WORKER, "job");
    char header[256];
    snprintf (header, sizeof header,
        "{\"type\":\"done\",\"id\":\"d\",\"seq\":%lld,\"lease\":%lld,\"n\":1}",
        (long long) argos_sim_int (job->meta, "seq"),
        (long long) argos_sim_int (job->meta, "lease"));
    const argos_sim_part_t part = {
        "{\"type\":\"next\",\"id\":\"b\",\"to\":\"service:work\",\"durable\":true}", NULL
    };
    argos_sim_net_commit (core_kit_net, WORKER, ARGOS_ROLE_LOCAL, header, &part, 1);
    argos_sim_net_settle (core_kit_net);
    core_expect_re (WORKER, "accepted", "d");
    core_expect (WORKER, "next");
    core_send (
        WORKER, "{\"type\":\"x\",\"id\":\"b\",\"to\":\"service:nobody\",\"durable\":true}", NULL);
    core_expect_refused (WORKER, "b", "no_service");
    for (int i = 0; i < 2; i++) {
        const argos_sim_msg_t *msg =
            s_ask ("broker.trace", i ? "{\"id\":\"b\"}" : "{\"id\":\"a\"}");
        assert_int_equal (json_array_size (json_object_get (msg->body, "records")), 8);
        s_expect_record (msg, 0, "accepted", "a", "sender", 0);
        s_expect_record (msg, 1, "leased", "", "worker", 0);
        s_expect_record (msg, 2, "sent", "", "worker", 0);
        s_expect_record (msg, 3, "accepted", "b", "worker", 1);
        s_expect_record (msg, 4, "done", "a", "worker", 0);
        s_expect_record (msg, 5, "leased", "b", "worker", 1);
        s_expect_record (msg, 6, "sent", "", "worker", 1);
        s_expect_record (msg, 7, "refused", "b", "worker", 1);
    }
    const argos_sim_msg_t *msg = s_ask ("broker.trace", "{\"id\":\"nobody\"}");
    assert_int_equal (json_array_size (json_object_get (msg->body, "records")), 0);
    //  A request
    core_send (SENDER, "{\"type\":\"ask\",\"id\":\"r\",\"to\":\"service:free\"}", NULL);
    core_expect_refused (SENDER, "r", "no_service");
    core_grant (WORKER, 10);
    core_send (SENDER, "{\"type\":\"ask\",\"id\":\"r2\",\"to\":\"actor:worker\"}", NULL);
    core_expect (WORKER, "ask");
    core_send (WORKER, "{\"type\":\"answer\",\"re\":\"r2\",\"to\":\"actor:sender\"}", NULL);
    msg = s_ask ("broker.trace", "{\"id\":\"r2\"}");
    s_expect_record (msg, 0, "asked", "r2", "sender", 0);
    s_expect_record (msg, 1, "sent", "r2", "worker", 0);
    s_expect_record (msg, 2, "replied", "r2", "worker", 0);
}

#define CORE_TEST(name) cmocka_unit_test_setup_teardown (name, core_kit_setup, core_kit_teardown)

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_oldest_is_known_to_an_eighth_of_the_span),
        cmocka_unit_test (a_path_goes_back_and_on),
        cmocka_unit_test (the_ring_is_bounded_and_so_is_a_path),
        CORE_TEST (peers_and_services_are_counted),
        CORE_TEST (ages_outlive_a_restart),
        CORE_TEST (a_trace_shows_each_hop),
    };
    return cmocka_run_group_tests_name ("stats", tests, NULL, NULL);
}
