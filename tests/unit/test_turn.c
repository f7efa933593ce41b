//  test_turn - every cell of the turn's table, the pace of deltas, the timer heap.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_delta.h"
#include "argos_due.h"
#include "argos_turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  Whether OVER can be reached from state by events that the outside can't withhold
static int
s_ends (argos_turn_state_t state)
{
    return argos_turn_step (&state, ARGOS_TURN_LOST) == ARGOS_TURN_DO_FREE &&
           state == ARGOS_TURN_OVER;
}

static void
s_every_cell_is_sane (void **context)
{
    (void) context;
    int reached[ARGOS_TURN_STATES] = { 1 }, used[ARGOS_TURN_ACTIONS] = { 0 };
    for (int state = 0; state < ARGOS_TURN_STATES; state++)
        for (int event = 0; event < ARGOS_TURN_EVENTS; event++) {
            argos_turn_state_t next = (argos_turn_state_t) state;
            argos_turn_action_t action = argos_turn_step (&next, (argos_turn_event_t) event);
            assert_true (next < ARGOS_TURN_STATES && action < ARGOS_TURN_ACTIONS);
            assert_non_null (argos_turn_state_name (next));
            assert_non_null (argos_turn_event_name ((argos_turn_event_t) event));
            assert_non_null (argos_turn_action_name (action));
            if (action == ARGOS_TURN_IGNORE)
                assert_int_equal (next, state);
            else
                reached[next] = 1;
            used[action] = 1;
            if (state == ARGOS_TURN_OVER)
                assert_int_equal (action, ARGOS_TURN_IGNORE);
            //  A commit is sent only where none is in flight, or its answer has just come
            int commits = action == ARGOS_TURN_DO_OPEN || action == ARGOS_TURN_DO_CALLS ||
                          action == ARGOS_TURN_DO_STORE || action == ARGOS_TURN_DO_FINISH ||
                          action == ARGOS_TURN_DO_CANCEL || action == ARGOS_TURN_DO_STOP;
            if (commits) {
                assert_true (argos_turn_commits (next));
                assert_false (argos_turn_commits ((argos_turn_state_t) state));
            }
        }
    for (int state = 0; state < ARGOS_TURN_STATES; state++)
        assert_true (reached[state]);
    for (int action = 0; action < ARGOS_TURN_ACTIONS; action++)
        assert_true (used[action]);
}

static void
s_a_lost_lease_and_a_stop_end_every_state (void **context)
{
    (void) context;
    for (int i = 0; i < ARGOS_TURN_OVER; i++) {
        argos_turn_state_t state = (argos_turn_state_t) i;
        assert_true (s_ends (state));
        argos_turn_action_t action = argos_turn_step (&state, ARGOS_TURN_STOP);
        assert_true (action == ARGOS_TURN_NOTE || action == ARGOS_TURN_DO_HALT ||
                     action == ARGOS_TURN_DO_LIST);
    }
}

static void
s_walk (const argos_turn_event_t *events, const char *expected)
{
    argos_turn_state_t state = ARGOS_TURN_LOADING;
    char log[512] = "";
    for (; *events != ARGOS_TURN_EVENTS; events++) {
        argos_turn_action_t action = argos_turn_step (&state, *events);
        size_t used = strlen (log);
        snprintf (log + used, sizeof log - used, "%s ", argos_turn_action_name (action));
    }
    assert_string_equal (log, expected);
    assert_int_equal (state, ARGOS_TURN_OVER);
}

static void
s_known_walks (void **context)
{
    (void) context;
    const argos_turn_event_t plain[] = { ARGOS_TURN_LOADED, ARGOS_TURN_DATA, ARGOS_TURN_TEXT,
        ARGOS_TURN_ACCEPTED, ARGOS_TURN_EVENTS };
    s_walk (plain, "call note finish free ");
    const argos_turn_event_t tools[] = { ARGOS_TURN_LOADED_OPEN, ARGOS_TURN_ACCEPTED,
        ARGOS_TURN_TOOLS, ARGOS_TURN_DECIDED, ARGOS_TURN_ACCEPTED, ARGOS_TURN_RESULT,
        ARGOS_TURN_RESULT, ARGOS_TURN_ACCEPTED, ARGOS_TURN_RESULT, ARGOS_TURN_ACCEPTED,
        ARGOS_TURN_STORED_ALL, ARGOS_TURN_RETRY, ARGOS_TURN_TIMER, ARGOS_TURN_TEXT, ARGOS_TURN_MAIL,
        ARGOS_TURN_STOP, ARGOS_TURN_LISTED_MORE, ARGOS_TURN_ACCEPTED, ARGOS_TURN_LISTED,
        ARGOS_TURN_MAIL, ARGOS_TURN_CLEAR, ARGOS_TURN_ACCEPTED, ARGOS_TURN_EVENTS };
    s_walk (tools,
        "open call decide calls run store note check store check call arm call finish await "
        "halt cancel list stop await stop free ");
    const argos_turn_event_t parks[] = { ARGOS_TURN_LOADED, ARGOS_TURN_TOOLS, ARGOS_TURN_DECIDED,
        ARGOS_TURN_ACCEPTED, ARGOS_TURN_PARK, ARGOS_TURN_EVENTS };
    s_walk (parks, "call decide calls run park ");
    const argos_turn_event_t answered[] = { ARGOS_TURN_LOADED_TOOLS, ARGOS_TURN_RESULT,
        ARGOS_TURN_ACCEPTED, ARGOS_TURN_STORED_ALL, ARGOS_TURN_TEXT, ARGOS_TURN_ACCEPTED,
        ARGOS_TURN_EVENTS };
    s_walk (answered, "check store check call finish free ");
}

static void
s_the_first_delta_goes_at_once (void **context)
{
    (void) context;
    argos_delta_t delta;
    argos_delta_init (&delta);
    bool key = true;
    assert_int_equal (argos_delta_due (&delta, 0, 1000), -1);
    assert_int_equal (argos_delta_due (&delta, 5, 1000), 1000);
    assert_int_equal (argos_delta_take (&delta, 5, 1000, &key), 0);
    assert_false (key);
    assert_int_equal (argos_delta_due (&delta, 5, 1001), -1);
    assert_int_equal (argos_delta_due (&delta, 9, 1001), 1050);
    assert_int_equal (argos_delta_due (&delta, 9, 1050), 1050);
    assert_int_equal (argos_delta_due (&delta, 9, 1060), 1060);
    assert_int_equal (argos_delta_take (&delta, 9, 1060, &key), 5);
}

static void
s_at_most_twenty_deltas_a_second_and_a_key_frame_each_64 (void **context)
{
    (void) context;
    argos_delta_t delta;
    argos_delta_init (&delta);
    int entries = 0, since_key = 0;
    for (int64_t now = 0; now < 10000; now++)
        if (argos_delta_due (&delta, (size_t) now + 1, now) == now) {
            bool key;
            argos_delta_take (&delta, (size_t) now + 1, now, &key);
            entries++;
            since_key = key ? 0 : since_key + 1;
            assert_true (since_key < 64);
        }
    assert_int_equal (entries, 200);
}

static void
s_the_heap_gives_nodes_in_order (void **context)
{
    (void) context;
    argos_due_t heap = { 0 };
    argos_due_node_t nodes[500] = { 0 };
    unsigned seed = 1;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < 500; i++) {
            seed = seed * 1103515245 + 12345;
            argos_due_set (&heap, &nodes[i], seed % 7 ? (int64_t) (seed >> 16) % 1000 : -1);
        }
    int64_t last = -1;
    size_t inside = heap.count, popped = 0;
    assert_null (argos_due_pop (&heap, -1));
    for (argos_due_node_t *node; (node = argos_due_pop (&heap, 1000)); popped++) {
        assert_true (node->due_ms >= last);
        assert_int_equal (node->place, 0);
        last = node->due_ms;
    }
    assert_int_equal (popped, inside);
    assert_int_equal (argos_due_first (&heap), -1);
    argos_due_clear (&heap);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (s_every_cell_is_sane),
        cmocka_unit_test (s_a_lost_lease_and_a_stop_end_every_state),
        cmocka_unit_test (s_known_walks),
        cmocka_unit_test (s_the_first_delta_goes_at_once),
        cmocka_unit_test (s_at_most_twenty_deltas_a_second_and_a_key_frame_each_64),
        cmocka_unit_test (s_the_heap_gives_nodes_in_order),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
