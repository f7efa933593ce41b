//  The cache of agents: the begin and the end of a turn, and the prompt that is frozen. The names
//  carry the numbers of the cases.

#include "cache_kit.h"

static void
preparing_a_turn_51_to_57 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 2, 10000000);
    kit_put (&kit, "s", 0);
    argos_cache_entry_t *entry = argos_cache_find (kit.cache, "s");
    entry->calls = 9;
    entry->flushed = 7;
    argos_cache_ask_t ask = kit_ask (&kit, "s", 3600000);
    kit_turn (&kit, &ask);
    assert_int_equal (entry->active_ms, 3600000); //  51
    assert_non_null (strstr (entry->activity, "new turn"));
    assert_int_equal (entry->flushed, 0);
    assert_int_equal (entry->calls, 0); //  56
    entry->activity = "calling the model";
    for (int depth = 1; depth <= 3; depth++) {
        entry->calls = 9;
        entry->flushed = 7;
        ask.depth = depth;
        ask.now = 3600000 + depth * 1000;
        kit_turn (&kit, &ask);
        assert_int_equal (entry->active_ms, 3600000); //  53, 55, 57
        assert_string_equal (entry->activity, "calling the model");
        assert_int_equal (entry->flushed, 7);
        assert_int_equal (entry->calls, 0);
    }
    kit_end (&kit);
}

static void
foreign_messages_are_seen_and_own_ones_are_not_59_60 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 2, 1000);
    kit_run (&kit, "s", 1);
    kit_over (&kit, "s", 4, 2); //  Wrote 4 itself
    argos_cache_ask_t ask = kit_ask (&kit, "s", 3);
    assert_null (kit_turn (&kit, &ask)); //  Has to be counted
    ask.count = 4;
    const argos_cache_entry_t *entry = kit_turn (&kit, &ask);
    assert_int_equal (entry->hits, 1);
    kit_over (&kit, "s", 6, 4);
    ask = kit_ask (&kit, "s", 5);
    ask.count = 7; //  Somebody else wrote one
    entry = kit_turn (&kit, &ask);
    assert_string_equal (kit.why, "stale");
    assert_string_equal (entry->agent_id, ask.agent_id);
    assert_non_null (kit.dropped); //  Let go of after the lookup
    kit_over (&kit, "s", 7, 6);
    ask = kit_ask (&kit, "s", 7);
    ask.unreadable = true; //  No reason to lose it
    assert_int_equal (kit_turn (&kit, &ask)->hits, 1);
    kit_end (&kit);
}

static void
another_session_of_the_conversation_is_no_misfit_unless_the_old_one_ended (void **state)
{
    kit_t kit;
    argos_cache_entry_t *entry;
    (void) state;
    kit_begin (&kit, 2, 1000);
    kit_run (&kit, "chat", 1);
    kit_over (&kit, "chat", 4, 2);
    argos_cache_ask_t ask = kit_ask (&kit, "chat", 3);
    ask.session_id = "s2";
    assert_int_equal (argos_cache_acquire (kit.cache, &ask, &entry, &kit.dropped, &kit.why),
        ARGOS_CACHE_NEED_ENDED);
    ask.ended = 0;
    assert_int_equal (
        argos_cache_acquire (kit.cache, &ask, &entry, &kit.dropped, &kit.why), ARGOS_CACHE_HIT);
    assert_string_equal (entry->session_id, "s2");
    kit_over (&kit, "chat", 4, 4);
    ask = kit_ask (&kit, "chat", 5);
    ask.session_id = "s3";
    ask.ended = 1;
    assert_int_equal (
        argos_cache_acquire (kit.cache, &ask, &entry, &kit.dropped, &kit.why), ARGOS_CACHE_MISS);
    assert_string_equal (kit.why, "ended");
    kit_end (&kit);
}

static void
rebasing_leaves_what_it_does_not_know_61 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 2, 1000);
    argos_cache_rebase (kit.cache, "nobody", "nobody", 4);
    kit_put (&kit, "s", 1);
    argos_cache_rebase (kit.cache, "s", "s", 4); //  It has opted out
    assert_int_equal (argos_cache_find (kit.cache, "s")->count, -1);
    kit_over (&kit, "s", 4, 2);
    argos_cache_rebase (kit.cache, "s", "other", 9);
    argos_cache_rebase (kit.cache, "s", "s", -1); //  The store could not say
    assert_int_equal (argos_cache_find (kit.cache, "s")->count, 4);
    argos_cache_rebase (kit.cache, "s", "s", 6);
    assert_int_equal (argos_cache_find (kit.cache, "s")->count, 6);
    kit_end (&kit);
}

static void
a_fallback_that_answered_is_let_go_63 (void **state)
{
    static const struct {
        bool failed, fallback, kept; //  How it ended; expected
    } rows[] = { { true, true, true }, { false, true, false }, { false, false, true },
        { true, false, true } };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kit_t kit;
        kit_begin (&kit, 2, 1000);
        argos_cache_report_t report = { .agent_id = kit_run (&kit, "s", 1)->agent_id,
            .count = -1,
            .bytes = -1,
            .failed = rows[i].failed,
            .fallback = rows[i].fallback };
        char id[ARGOS_CACHE_ID_SIZE];
        snprintf (id, sizeof id, "%s", report.agent_id);
        report.agent_id = id;
        assert_int_equal (argos_cache_release (kit.cache, &report, &kit.dropped), rows[i].kept);
        assert_int_equal (argos_cache_find (kit.cache, "s") != NULL, rows[i].kept);
        kit_end (&kit);
    }
}

static void
a_running_one_that_is_evicted_keeps_what_it_has_67 (void **state)
{
    kit_t kit;
    char id[ARGOS_CACHE_ID_SIZE];
    (void) state;
    kit_begin (&kit, 2, 1000);
    snprintf (id, sizeof id, "%s", kit_run (&kit, "s", 1)->agent_id);
    assert_true (argos_cache_evict (kit.cache, "s", &kit.dropped));
    assert_true (kit.dropped->running);
    assert_true (kit.dropped->client);
    argos_cache_report_t report = { .agent_id = id, .count = -1, .bytes = -1 };
    assert_false (argos_cache_release (kit.cache, &report, &kit.dropped)); //  Its worker lets go
    kit_end (&kit);
}

static void
only_its_worker_ends_a_turn (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 2, 1000);
    const argos_cache_entry_t *entry = kit_run (&kit, "s", 1);
    argos_cache_report_t report = {
        .agent_id = entry->agent_id, .worker = "late", .count = -1, .bytes = -1
    };
    assert_false (argos_cache_release (kit.cache, &report, &kit.dropped));
    assert_true (entry->running);
    argos_cache_forget (kit.cache, "late");
    assert_true (entry->running);
    argos_cache_forget (kit.cache, "w"); //  It has started again
    assert_false (entry->running);
    kit_end (&kit);
}

static void
one_prompt_is_shared_and_goes_with_the_last (void **state)
{
    kit_t kit;
    char hash[ARGOS_SHA256_SIZE];
    (void) state;
    kit_begin (&kit, 8, 1000);
    json_t *one = kit_json ("{'system':'x','tools':[]}"), *same = json_deep_copy (one);
    json_t *other = kit_json ("{'tools':[],'system':'x'}"); //  Other bytes
    argos_signature_prompt (one, hash);
    argos_cache_freeze (kit.cache, kit_run (&kit, "a", 1), one);
    argos_cache_ask_t ask = kit_ask (&kit, "b", 2);
    ask.prompt_hash = hash;
    argos_cache_entry_t *b = kit_turn (&kit, &ask);
    assert_ptr_equal (b->prompt->prompt, one); //  Known already: not wanted again
    argos_cache_freeze (kit.cache, b, other);  //  What is frozen stays
    assert_ptr_equal (b->prompt->prompt, one);
    argos_cache_entry_t *c = kit_run (&kit, "c", 3);
    argos_cache_freeze (kit.cache, c, same);
    assert_ptr_equal (c->prompt, b->prompt);
    argos_cache_entry_t *d = kit_run (&kit, "d", 4);
    argos_cache_freeze (kit.cache, d, other);
    assert_ptr_not_equal (d->prompt, b->prompt);
    argos_cache_evict (kit.cache, "a", &kit.dropped);
    argos_cache_evict (kit.cache, "b", &kit.dropped);
    argos_cache_evict (kit.cache, "c", &kit.dropped);
    argos_cache_free (kit.cache, &kit.dropped);
    assert_false (argos_cache_use (kit.cache, d, hash));
    json_decref (one);
    json_decref (same);
    json_decref (other);
    kit_end (&kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (preparing_a_turn_51_to_57),
        cmocka_unit_test (foreign_messages_are_seen_and_own_ones_are_not_59_60),
        cmocka_unit_test (
            another_session_of_the_conversation_is_no_misfit_unless_the_old_one_ended),
        cmocka_unit_test (rebasing_leaves_what_it_does_not_know_61),
        cmocka_unit_test (a_fallback_that_answered_is_let_go_63),
        cmocka_unit_test (a_running_one_that_is_evicted_keeps_what_it_has_67),
        cmocka_unit_test (only_its_worker_ends_a_turn),
        cmocka_unit_test (one_prompt_is_shared_and_goes_with_the_last),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
