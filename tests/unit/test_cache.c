//  The cache of agents: found again, growth, silence, memory. The names carry the numbers of the
//  cases (A.8); 1 to 6, 36 to 50 and 58 are in test_cache_signature.c, 51 to 61, 63 and 67 in
//  test_cache_turn.c.
//
//  By construction: 13 (what is set anew at each turn is not part of an entry), 19 (the list is
//  always ordered), 24 (an agent that is being built is no entry), 62 and 64 (there is no provider
//  of memory to be told of an end: notes are records of the store), 65 (tools are offers; another
//  set of them is another signature: 42, 48).
//
//  With everything around it, in tests/system/test_cache.py: 7 and 59 (two turns), 10 and 60, 16,
//  23, 28 and 29 (eight peers), 17 and 25, 31, 32, 34 and 67 (what tools hold; a shell:
//  test_tools.py). 66 is test_nothing_happens_for_too_long and
//  test_without_a_warning_there_is_none_66 of tests/system/test_provider_faults.py.

#include "cache_kit.h"

static void
the_same_agent_is_found_again_7_8_12 (void **state)
{
    kit_t kit;
    char id[ARGOS_CACHE_ID_SIZE];
    (void) state;
    kit_begin (&kit, 8, 1000);
    argos_cache_entry_t *entry = kit_run (&kit, "s", 1);
    assert_null (kit.why);
    snprintf (id, sizeof id, "%s", entry->agent_id);
    json_t *prompt = kit_json ("{'system':'be brief','tools':[{'name':'b'},{'name':'a'}]}");
    argos_cache_freeze (kit.cache, entry, prompt);
    const json_t *frozen = entry->prompt->prompt;
    kit_over (&kit, "s", -1, 2);
    entry = kit_run (&kit, "s", 3);
    assert_string_equal (entry->agent_id, id);
    assert_string_equal (entry->signature, "0123456789abcdef");
    assert_ptr_equal (entry->prompt->prompt, frozen);
    assert_int_equal (entry->hits, 1);
    kit_over (&kit, "s", -1, 4);
    argos_cache_ask_t ask = kit_ask (&kit, "s", 5);
    ask.signature = "fedcba9876543210"; //  Another model
    entry = kit_turn (&kit, &ask);
    assert_string_equal (kit.why, "signature");
    assert_string_not_equal (entry->agent_id, id);
    assert_string_equal (kit.dropped->agent_id, id);
    json_decref (prompt);
    kit_end (&kit);
}

static void
eviction_takes_one_and_leaves_the_others_9_10 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 8, 1000);
    kit_put (&kit, "A", 1);
    kit_put (&kit, "B", 1);
    assert_true (argos_cache_evict (kit.cache, "A", &kit.dropped));
    assert_null (argos_cache_find (kit.cache, "A"));
    assert_non_null (argos_cache_find (kit.cache, "B"));
    assert_false (argos_cache_evict (kit.cache, "A", &kit.dropped)); //  Repeatable
    kit_end (&kit);
}

static void
settings_of_a_turn_leave_the_agent_11_13 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 8, 1000);
    argos_cache_entry_t *entry = kit_run (&kit, "s", 1);
    json_t *prompt = kit_json ("{'system':'s'}");
    argos_cache_freeze (kit.cache, entry, prompt);
    kit_over (&kit, "s", -1, 1);
    argos_cache_ask_t ask = kit_ask (&kit, "s", 2);
    ask.max_iterations = 7;
    ask.worker = "other";
    const argos_cache_entry_t *again = kit_turn (&kit, &ask);
    assert_ptr_equal (again, entry);
    assert_int_equal (again->max_iterations, 7);
    assert_string_equal (again->worker, "other");
    assert_ptr_equal (again->prompt->prompt, prompt);
    assert_null (kit.dropped);
    json_decref (prompt);
    kit_end (&kit);
}

static void
the_oldest_goes_14_16_27 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 3, 1000);
    kit_put (&kit, "s0", 1);
    kit_put (&kit, "s1", 2);
    kit_put (&kit, "s2", 3);
    kit_put (&kit, "s3", 4);
    assert_int_equal (argos_cache_enforce (kit.cache, &kit.dropped), 0);
    assert_string_equal (kit_keys (argos_cache_first (kit.cache)), "s1 s2 s3");
    assert_string_equal (kit_keys (kit.dropped), "s0");
    assert_string_equal (kit.dropped->why, "cap");
    assert_null (kit.dropped->next);
    kit_end (&kit);
}

static void
a_hit_makes_it_the_newest_15_20 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 3, 1000);
    kit_put (&kit, "s0", 1);
    kit_put (&kit, "s1", 2);
    kit_put (&kit, "s2", 3);
    kit_run (&kit, "s0", 4);
    assert_string_equal (kit_keys (argos_cache_first (kit.cache)), "s1 s2 s0");
    kit_over (&kit, "s0", -1, 5);
    kit_put (&kit, "s3", 6);
    argos_cache_enforce (kit.cache, &kit.dropped);
    assert_string_equal (kit_keys (argos_cache_first (kit.cache)), "s2 s0 s3");
    kit_end (&kit);
}

static void
silence_ends_it_17_18_25 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 8, 50);
    kit_put (&kit, "stale", 0);
    kit_put (&kit, "fresh", 10000);
    assert_int_equal (argos_cache_sweep (kit.cache, 10001, &kit.dropped), 1);
    assert_string_equal (kit_keys (kit.dropped), "stale");
    assert_string_equal (kit.dropped->why, "idle");
    argos_cache_free (kit.cache, &kit.dropped);
    argos_cache_find (kit.cache, "fresh")->active_ms = -1; //  18
    assert_int_equal (argos_cache_sweep (kit.cache, 99999, &kit.dropped), 0);
    kit_run (&kit, "busy", 0); //  25
    assert_int_equal (argos_cache_sweep (kit.cache, 99999, &kit.dropped), 0);
    assert_int_equal (argos_cache_size (kit.cache), 2);
    assert_int_equal (argos_cache_sweep (kit.cache, 1000001, &kit.dropped), 1); //  Worker is gone
    kit_end (&kit);
}

static void
what_is_mid_turn_stays_21_22_23_26 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 2, 1000);
    kit_run (&kit, "s0", 1);
    kit_put (&kit, "s1", 2);
    kit_put (&kit, "s2", 3);
    assert_int_equal (argos_cache_enforce (kit.cache, &kit.dropped), 1);
    assert_string_equal (kit_keys (argos_cache_first (kit.cache)), "s0 s1 s2"); //  21
    assert_null (kit.dropped);
    assert_true (argos_cache_find (kit.cache, "s0")->client); //  26
    kit_put (&kit, "s3", 4);
    assert_int_equal (argos_cache_enforce (kit.cache, &kit.dropped), 1);
    assert_string_equal (kit_keys (argos_cache_first (kit.cache)), "s0 s2 s3"); //  22
    assert_string_equal (kit_keys (kit.dropped), "s1");
    kit_end (&kit);
    kit_begin (&kit, 1, 1000); //  23
    kit_run (&kit, "a", 1);
    kit_run (&kit, "b", 1);
    kit_run (&kit, "c", 1);
    assert_int_equal (argos_cache_enforce (kit.cache, &kit.dropped), 2); //  The caller warns
    assert_int_equal (argos_cache_size (kit.cache), 3);
    assert_null (kit.dropped);
    kit_end (&kit);
}

static void
what_is_being_built_is_not_running_24 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 2, 1000);
    kit_put (&kit, "old", 1);
    kit_put (&kit, "third", 2);
    kit_over (&kit, "third", 4, 2);
    argos_cache_ask_t ask = kit_ask (&kit, "third", 3); //  It waits for the store
    assert_null (kit_turn (&kit, &ask));
    argos_cache_set_limits (kit.cache, &(argos_cache_limits_t){ .max = 1 });
    assert_int_equal (argos_cache_enforce (kit.cache, &kit.dropped), 0);
    assert_string_equal (kit_keys (kit.dropped), "old");
    kit_end (&kit);
}

static void
all_are_running_and_one_more_comes_28 (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 4, 1000);
    for (int i = 0; i < 5; i++) {
        char key[16];
        snprintf (key, sizeof key, "s%d", i);
        kit_run (&kit, key, i);
    }
    assert_int_equal (argos_cache_enforce (kit.cache, &kit.dropped), 1);
    assert_int_equal (argos_cache_size (kit.cache), 5);
    for (argos_cache_entry_t *entry = argos_cache_first (kit.cache); entry; entry = entry->next)
        assert_true (entry->client);
    kit_over (&kit, "s0", -1, 9);
    kit_over (&kit, "s1", -1, 9);
    assert_int_equal (argos_cache_enforce (kit.cache, &kit.dropped), 1); //  s2 is the oldest
    assert_int_equal (argos_cache_size (kit.cache), 5);
    kit_end (&kit);
}

static void
who_comes_back_gets_a_new_one_30_33_35 (void **state)
{
    kit_t kit;
    char id[ARGOS_CACHE_ID_SIZE];
    (void) state;
    kit_begin (&kit, 2, 1000);
    kit_put (&kit, "sA", 1);
    snprintf (id, sizeof id, "%s", argos_cache_find (kit.cache, "sA")->agent_id);
    kit_put (&kit, "sB", 2);
    kit_put (&kit, "sC", 3);
    argos_cache_enforce (kit.cache, &kit.dropped);
    assert_string_equal (kit.dropped->agent_id, id);
    assert_false (kit.dropped->client); //  33
    assert_string_equal (kit.dropped->session_id, "sA");
    const argos_cache_entry_t *entry = kit_run (&kit, "sA", 4);
    assert_string_not_equal (entry->agent_id, id);
    assert_string_equal (entry->session_id, "sA"); //  35: the task is the session
    assert_true (entry->client);
    kit_end (&kit);
}

static void
memory_is_given_back_from_the_old_end (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 128, 1000);
    for (int i = 0; i < 40; i++) {
        char key[16];
        snprintf (key, sizeof key, "s%d", i);
        kit_put (&kit, key, i);
    }
    argos_cache_find (kit.cache, "s0")->running = true;
    argos_cache_find (kit.cache, "s1")->count = 5; //  Not all of it is stored
    assert_int_equal (argos_cache_shed (kit.cache, &kit.dropped), 16);
    assert_non_null (argos_cache_find (kit.cache, "s0"));
    assert_non_null (argos_cache_find (kit.cache, "s1"));
    assert_null (argos_cache_find (kit.cache, "s2"));
    assert_null (argos_cache_find (kit.cache, "s17"));
    assert_non_null (argos_cache_find (kit.cache, "s18"));
    argos_cache_free (kit.cache, &kit.dropped);
    assert_int_equal (argos_cache_shed (kit.cache, &kit.dropped), 14); //  8 of 24 are protected
    assert_int_equal (argos_cache_shed (kit.cache, &kit.dropped), 3);  //  5 of 10
    for (argos_cache_entry_t *entry = argos_cache_first (kit.cache); entry; entry = entry->next)
        entry->running = true;
    assert_int_equal (argos_cache_shed (kit.cache, &kit.dropped), 0); //  The caller warns
    assert_int_equal (argos_cache_size (kit.cache), 7);
    kit_end (&kit);
}

static void
of_a_few_half_is_protected (void **state)
{
    kit_t kit;
    (void) state;
    kit_begin (&kit, 128, 1000);
    kit_put (&kit, "a", 1);
    kit_put (&kit, "b", 2);
    assert_int_equal (argos_cache_shed (kit.cache, &kit.dropped), 1);
    assert_string_equal (kit_keys (kit.dropped), "a");
    kit_end (&kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_same_agent_is_found_again_7_8_12),
        cmocka_unit_test (eviction_takes_one_and_leaves_the_others_9_10),
        cmocka_unit_test (settings_of_a_turn_leave_the_agent_11_13),
        cmocka_unit_test (the_oldest_goes_14_16_27),
        cmocka_unit_test (a_hit_makes_it_the_newest_15_20),
        cmocka_unit_test (silence_ends_it_17_18_25),
        cmocka_unit_test (what_is_mid_turn_stays_21_22_23_26),
        cmocka_unit_test (what_is_being_built_is_not_running_24),
        cmocka_unit_test (all_are_running_and_one_more_comes_28),
        cmocka_unit_test (who_comes_back_gets_a_new_one_30_33_35),
        cmocka_unit_test (memory_is_given_back_from_the_old_end),
        cmocka_unit_test (of_a_few_half_is_protected),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
