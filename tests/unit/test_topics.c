//  test_topics - who owns a topic, who reads it by which pattern, and what slow readers get.

#include "core_kit.h"

#include "argos_core_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SENDER 2    //  Peers of this host
#define READER 3    //  .
#define OTHER 4     //  .
#define ACTOR 100   //  Actors of the core
#define WATCHER 101 //  .

static void
s_subscribe (uint64_t conn, const char *id, const char *topic)
{
    core_sendf (
        conn, "{}", "{\"type\":\"subscribe\",\"id\":\"%s\",\"to\":\"topic:%s\"}", id, topic);
}

static void
s_publish (uint64_t conn, const char *type, const char *topic)
{
    core_sendf (conn, "{}", "{\"type\":\"%s\",\"id\":\"p\",\"to\":\"topic:%s\"}", type, topic);
}

static void
s_keep (uint64_t conn, const char *id, const char *topic, const char *more)
{
    core_sendf (conn, "{}",
        "{\"type\":\"kept\",\"id\":\"%s\",\"to\":\"topic:%s\",\"durable\":true%s}", id, topic,
        more);
    core_expect_re (conn, "accepted", id);
}

static void
s_expect_entry (uint64_t conn, const char *type, const char *topic, int64_t n)
{
    const argos_sim_msg_t *msg = core_expect (conn, type);
    assert_string_equal (argos_sim_text (msg->meta, "topic"), topic);
    assert_int_equal (argos_sim_int (msg->meta, "n"), n);
}

//  ------------------------------------------------------------------------------------------------
//  Owners

static void
a_topic_belongs_to_who_made_it (void **state)
{
    (void) state;
    core_hello (SENDER, "sender");
    core_hello (OTHER, "stranger");
    core_hello (ACTOR, "gateway");
    core_hello (READER, "sender.2");
    s_keep (SENDER, "k0", "t", "");
    s_publish (OTHER, "p", "t");
    core_expect_refused (OTHER, "p", "denied");
    core_send (OTHER, "{\"type\":\"kept\",\"id\":\"k\",\"to\":\"topic:t\",\"durable\":true}", "{}");
    core_expect_refused (OTHER, "k", "denied");
    s_publish (READER, "p", "t"); //  Another instance of the owner
    core_expect_nothing (READER);
    s_publish (ACTOR, "p", "t");
    core_expect_nothing (ACTOR);
    s_keep (ACTOR, "k1", "t", "");
}

//  Nobody has got what a stranger published before it was known whose the topic is.

static void
what_a_stranger_published_too_early_is_taken_back (void **state)
{
    (void) state;
    core_hello (SENDER, "sender");
    s_keep (SENDER, "k0", "t", "");
    argos_sim_net_crash (core_kit_net);
    core_hello (OTHER, "stranger");
    core_hello (SENDER, "sender");
    core_hello (WATCHER, "api");
    core_grant (WATCHER, 100);
    s_subscribe (WATCHER, "w", ">");
    core_expect_re (WATCHER, "end", "w");
    s_publish (OTHER, "p", "t");
    core_expect_refused (OTHER, "p", "denied");
    core_expect_nothing (WATCHER);
    s_publish (SENDER, "q", "t");
    s_expect_entry (WATCHER, "q", "t", ((int64_t) 1 << 32) + 1);
    //  A topic that nobody reads is looked up as well
    s_keep (SENDER, "k1", "u", "");
    argos_sim_net_crash (core_kit_net);
    core_hello (OTHER, "stranger");
    s_publish (OTHER, "p", "u");
    core_expect_refused (OTHER, "p", "denied");
}

static void
a_passing_entry_makes_an_owner_too (void **state)
{
    (void) state;
    core_hello (SENDER, "sender");
    core_hello (OTHER, "stranger");
    s_publish (SENDER, "p", "t");
    core_expect_nothing (SENDER);
    s_publish (OTHER, "p", "t");
    core_expect_refused (OTHER, "p", "denied");
    core_send (OTHER, "{\"type\":\"x\",\"id\":\"x\",\"to\":\"topic:t.*\"}", NULL);
    core_expect_refused (OTHER, "x", "invalid");
}

//  ------------------------------------------------------------------------------------------------
//  Patterns

static void
a_pattern_reads_what_is_live (void **state)
{
    (void) state;
    core_hello (SENDER, "sender");
    core_hello (WATCHER, "api");
    core_grant (WATCHER, 100);
    s_keep (SENDER, "k0", "news.a", "");
    s_subscribe (WATCHER, "w", "news.*");
    core_expect_re (WATCHER, "end", "w");
    core_expect_nothing (WATCHER);
    s_keep (SENDER, "k1", "news.a", "");
    s_expect_entry (WATCHER, "kept", "news.a", 1);
    s_publish (SENDER, "p", "news.b"); //  Made later
    s_expect_entry (WATCHER, "p", "news.b", 0);
    s_keep (SENDER, "k2", "news.b", "");
    s_expect_entry (WATCHER, "kept", "news.b", 1);
    s_publish (SENDER, "p", "news");
    s_publish (SENDER, "p", "news.a.b");
    s_publish (SENDER, "p", "other.a");
    core_expect_nothing (WATCHER);
    //  By name as well: each subscription has its own
    s_subscribe (WATCHER, "v", "news.b");
    s_expect_entry (WATCHER, "p", "news.b", 0);
    s_expect_entry (WATCHER, "kept", "news.b", 1);
    core_expect_re (WATCHER, "end", "v");
    s_publish (SENDER, "q", "news.b");
    s_expect_entry (WATCHER, "q", "news.b", 2);
    s_expect_entry (WATCHER, "q", "news.b", 2);
    core_send (WATCHER, "{\"type\":\"unsubscribe\",\"id\":\"u\",\"to\":\"topic:news.*\"}", NULL);
    core_expect_re (WATCHER, "accepted", "u");
    s_publish (SENDER, "q", "news.b");
    s_expect_entry (WATCHER, "q", "news.b", 3);
    core_expect_nothing (WATCHER);
}

//  An old topic that the core has not met in this start: what was kept then is not live.

static void
a_pattern_reads_nothing_of_earlier_starts (void **state)
{
    (void) state;
    core_hello (SENDER, "sender");
    s_keep (SENDER, "k0", "news.a", "");
    argos_sim_net_crash (core_kit_net);
    core_hello (SENDER, "sender");
    core_hello (WATCHER, "api");
    core_grant (WATCHER, 100);
    s_subscribe (WATCHER, "w", "news.>");
    core_expect_re (WATCHER, "end", "w");
    s_keep (SENDER, "k1", "news.a", "");
    s_expect_entry (WATCHER, "kept", "news.a", (int64_t) 1 << 32);
    core_expect_nothing (WATCHER);
}

static void
a_pattern_needs_the_role (void **state)
{
    (void) state;
    static const char *const client[] = { "client", NULL };
    core_kit_net->config.ipc_roles = client;
    argos_sim_net_crash (core_kit_net);
    core_hello (READER, "reader");
    s_subscribe (READER, "w", "news.*");
    core_expect_refused (READER, "w", "denied");
    static const char *const observer[] = { "client", "observer", NULL };
    core_kit_net->config.ipc_roles = observer;
    argos_sim_net_crash (core_kit_net);
    core_hello (READER, "reader");
    core_hello (SENDER, "sender");
    core_grant (READER, 100);
    core_hello (ACTOR, "agent");
    s_subscribe (READER, "w", ">"); //  Fits more than may be read
    core_expect_re (READER, "end", "w");
    s_publish (SENDER, "p", "news.a");
    s_expect_entry (READER, "p", "news.a", 0);
    s_publish (ACTOR, "p", "jobs.a");
    s_expect_entry (READER, "p", "jobs.a", 0);
    s_subscribe (READER, "x", "run..*");
    core_expect_refused (READER, "x", "invalid");
    core_send (
        READER, "{\"type\":\"subscribe\",\"id\":\"y\",\"to\":\"topic:run.*\"}", "{\"from\":7}");
    core_expect_refused (READER, "y", "invalid");
    for (int i = 0; i < 63; i++) {
        char text[32];
        snprintf (text, sizeof text, "many.%d.*", i);
        s_subscribe (READER, "m", text);
        core_expect_re (READER, "end", "m");
    }
    s_subscribe (READER, "z", "one.more.*");
    core_expect_refused (READER, "z", "busy");
}

//  A pattern keeps no topic in memory.

static void
a_closed_topic_goes_though_a_pattern_fits (void **state)
{
    (void) state;
    core_hello (SENDER, "sender");
    core_hello (WATCHER, "api");
    core_grant (WATCHER, 1000);
    s_subscribe (WATCHER, "w", "run.*");
    core_expect_re (WATCHER, "end", "w");
    core_hello (ACTOR, "agent");
    for (int i = 0; i < 50; i++) {
        char topic[32], id[32];
        snprintf (topic, sizeof topic, "run.%d", i);
        snprintf (id, sizeof id, "k%d", i);
        s_keep (ACTOR, id, topic, ",\"last\":true");
        s_expect_entry (WATCHER, "kept", topic, 0);
    }
    assert_int_equal (HASH_COUNT (core_kit_net->core->topics), 50);
    argos_sim_net_sleep (core_kit_net, core_kit_net->config.linger_ms + 1);
    assert_int_equal (HASH_COUNT (core_kit_net->core->topics), 0);
}

//  ------------------------------------------------------------------------------------------------
//  Slow readers

//  What waits for a reader is its place in the topic: the ring is the same with and without it.

static void
a_reader_without_credit_costs_its_place_only (void **state)
{
    (void) state;
    core_hello (SENDER, "sender");
    for (uint64_t conn = 10; conn < 60; conn++) {
        char name[32];
        snprintf (name, sizeof name, "reader.%d", (int) conn);
        core_hello (conn, name);
        s_subscribe (conn, "r", "t");
        core_expect_re (conn, "end", "r");
    }
    for (int i = 0; i < 100; i++)
        s_publish (SENDER, "p", "t");
    argos_core_t *core = core_kit_net->core;
    topic_t *topic;
    HASH_FIND_STR (core->topics, "t", topic);
    if (!topic) {
        fail_msg ("the topic is gone");
        return;
    }
    assert_int_equal (topic->entries, 100);
    assert_int_equal (topic->bytes, core->rings_bytes);
    for (const ring_entry_t *slot = topic->ring; slot; slot = slot->next)
        assert_int_equal (slot->header->refs, 1);
    for (uint64_t conn = 10; conn < 60; conn++)
        core_expect_nothing (conn);
    assert_int_equal (core->outstanding_count, 0);
}

static void
a_reader_that_takes_nothing_is_let_go (void **state)
{
    (void) state;
    core_hello (SENDER, "sender");
    core_hello (READER, "reader");
    core_hello (OTHER, "other");
    core_hello (WATCHER, "api");
    s_subscribe (READER, "r", "t");
    core_expect_re (READER, "end", "r");
    s_subscribe (OTHER, "o", "idle"); //  Nothing waits for it
    core_expect_re (OTHER, "end", "o");
    s_subscribe (WATCHER, "w", "t*");
    core_expect_re (WATCHER, "end", "w");
    s_subscribe (WATCHER, "w", "*");
    core_expect_re (WATCHER, "end", "w");
    s_keep (SENDER, "k0", "t", "");
    for (int64_t ms = 0; ms < core_kit_net->config.slow_ms; ms += 2000) {
        core_expect_nothing (READER);
        core_expect_nothing (WATCHER);
        argos_sim_net_sleep (core_kit_net, 2000);
        for (uint64_t conn = SENDER; conn <= OTHER; conn++) {
            core_send (conn, "{\"type\":\"ping\",\"id\":\"i\"}", NULL);
            if (ms + 2000 < core_kit_net->config.slow_ms)
                core_expect_re (conn, "pong", "i");
        }
    }
    core_expect_refused (READER, "r", "busy");
    core_expect_refused (WATCHER, "w", "busy");
    core_expect_re (OTHER, "pong", "i");
    core_expect_nothing (OTHER);
    core_grant (READER, 10);
    core_expect_re (READER, "pong", "i");
    core_expect_nothing (READER);
    s_subscribe (READER, "r", "t"); //  It may come back
    s_expect_entry (READER, "kept", "t", 0);
    core_expect_re (READER, "end", "r");
}

//  One that takes a little from time to time may go on for ever.

static void
a_slow_reader_that_goes_on_is_not (void **state)
{
    (void) state;
    core_hello (ACTOR, "agent");
    core_hello (WATCHER, "api");
    s_subscribe (WATCHER, "w", "t");
    core_expect_re (WATCHER, "end", "w");
    for (int i = 0; i < 20; i++) {
        char id[32];
        snprintf (id, sizeof id, "k%d", i);
        s_keep (ACTOR, id, "t", "");
    }
    for (int i = 0; i < 20; i++) {
        argos_sim_net_sleep (core_kit_net, core_kit_net->config.slow_ms - 1);
        core_grant (WATCHER, i + 1);
        s_expect_entry (WATCHER, "kept", "t", i);
        core_expect_nothing (WATCHER);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Rings

//  A budget of 1 MiB, and entries of 16 KiB: `count` to each of `topics` topics, in turns.

static void
s_fill (uint64_t conn, int topics, int count)
{
    char *body = malloc (16384);
    memset (body, 'x', 16384);
    body[0] = body[16382] = '"';
    body[16383] = 0;
    for (int i = 0; i < count * topics; i++) {
        core_sendf (conn, body, "{\"type\":\"p\",\"to\":\"topic:fill.%d\"%s}", i % topics,
            i % (3 * topics) < topics ? ",\"keyframe\":true" : "");
        assert_true (core_kit_net->core->rings_bytes <= 1 << 20);
    }
    free (body);
}

static void
all_rings_share_one_budget (void **state)
{
    (void) state;
    core_kit_net->config.ring_bytes = 1 << 20;
    argos_sim_net_crash (core_kit_net);
    core_hello (ACTOR, "agent");
    core_hello (WATCHER, "api");
    s_fill (ACTOR, 16, 25);
    int64_t bytes = 0;
    topic_t *topic, *next;
    HASH_ITER (hh, core_kit_net->core->topics, topic, next) {
        bytes += topic->bytes;
        assert_true (topic->entries > 0); //  Each keeps what is newest
    }
    assert_int_equal (HASH_COUNT (core_kit_net->core->topics), 16);
    assert_int_equal (bytes, core_kit_net->core->rings_bytes);
    //  Who comes now gets a key frame first
    core_grant (WATCHER, 1000);
    s_subscribe (WATCHER, "w", "fill.3");
    const argos_sim_msg_t *msg = core_expect (WATCHER, "p");
    assert_true (json_is_true (json_object_get (msg->header, "keyframe")));
}

static void
newest_entries_go_too_when_nothing_else_is_left (void **state)
{
    (void) state;
    core_kit_net->config.ring_bytes = 1 << 20;
    argos_sim_net_crash (core_kit_net);
    core_hello (SENDER, "sender");
    core_hello (WATCHER, "api");
    core_grant (WATCHER, 1000);
    s_subscribe (WATCHER, "w", "fill.99");
    core_expect_re (WATCHER, "end", "w");
    s_fill (SENDER, 100, 2);
    s_expect_entry (WATCHER, "p", "fill.99", 0);
    s_expect_entry (WATCHER, "p", "fill.99", 1);
}

//  What a peer makes and never closes does not add up, and takes nothing from others.

static void
topics_that_nobody_closes_have_a_limit (void **state)
{
    (void) state;
    core_hello (SENDER, "sender");
    core_hello (OTHER, "other");
    core_hello (ACTOR, "agent");
    for (int i = 0; i < 4096; i++)
        core_sendf (SENDER, "{}", "{\"type\":\"p\",\"id\":\"p\",\"to\":\"topic:t.%d\"}", i);
    core_expect_nothing (SENDER);
    s_publish (SENDER, "p", "more");
    core_expect_refused (SENDER, "p", "busy");
    core_send (
        SENDER, "{\"type\":\"kept\",\"id\":\"k\",\"to\":\"topic:more\",\"durable\":true}", "{}");
    core_expect_refused (SENDER, "k", "busy");
    s_publish (SENDER, "p", "t.1"); //  What is there goes on
    s_publish (OTHER, "p", "u");
    s_publish (ACTOR, "p", "v");
    core_expect_nothing (SENDER);
    core_expect_nothing (OTHER);
    s_keep (SENDER, "last", "t.1", ",\"last\":true");
    s_publish (SENDER, "p", "more");
    core_expect_nothing (SENDER);
}

//  Who asks for what has been removed begins with the oldest that is kept.

static void
a_reader_begins_with_the_oldest_kept_entry (void **state)
{
    (void) state;
    static const argos_store_keep_t keep = { .match = "news.*", .keep_entries = 5 };
    core_hello (ACTOR, "agent");
    for (int i = 0; i < 20; i++) {
        char id[32];
        snprintf (id, sizeof id, "k%d", i);
        s_keep (ACTOR, id, "news.a", "");
    }
    argos_sim_net_crash (core_kit_net); //  The ring would still have them
    argos_store_set_keeps (core_kit_net->store, &keep, 1);
    while (argos_store_chore (core_kit_net->store, core_kit_net->wall))
        continue;
    core_hello (READER, "reader");
    core_grant (READER, 100);
    s_subscribe (READER, "r", "news.a");
    for (int i = 15; i < 20; i++)
        s_expect_entry (READER, "kept", "news.a", i);
    assert_int_equal (argos_sim_int (core_expect_re (READER, "end", "r")->body, "n"), 19);
}

#define TOPIC_TEST(name) cmocka_unit_test_setup_teardown (name, core_kit_setup, core_kit_teardown)

int
main (void)
{
    const struct CMUnitTest tests[] = {
        TOPIC_TEST (a_topic_belongs_to_who_made_it),
        TOPIC_TEST (what_a_stranger_published_too_early_is_taken_back),
        TOPIC_TEST (a_passing_entry_makes_an_owner_too),
        TOPIC_TEST (a_pattern_reads_what_is_live),
        TOPIC_TEST (a_pattern_reads_nothing_of_earlier_starts),
        TOPIC_TEST (a_pattern_needs_the_role),
        TOPIC_TEST (a_closed_topic_goes_though_a_pattern_fits),
        TOPIC_TEST (a_reader_without_credit_costs_its_place_only),
        TOPIC_TEST (a_reader_that_takes_nothing_is_let_go),
        TOPIC_TEST (a_slow_reader_that_goes_on_is_not),
        TOPIC_TEST (all_rings_share_one_budget),
        TOPIC_TEST (newest_entries_go_too_when_nothing_else_is_left),
        TOPIC_TEST (topics_that_nobody_closes_have_a_limit),
        TOPIC_TEST (a_reader_begins_with_the_oldest_kept_entry),
    };
    return cmocka_run_group_tests_name ("topics", tests, NULL, NULL);
}
