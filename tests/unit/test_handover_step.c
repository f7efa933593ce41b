//  test_handover_step - who waits for a handoff: two phases, a line now and then, and what is
//  called off or left alone at the end of patience.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argos_handover_step.h"

#define S 1000 //  A second, msec

//  Asked for at 0

static const struct {
    const char *state;          //  Of the row
    bool wait, interrupted;     //  As in the view
    int64_t now, taken, said;   //  The same, seconds; taken -1 = not yet
    argos_handover_step_t step; //  Expected
} s_cases[] = {
    //  60 s for somebody to take it, and then it is called off
    { "pending", false, false, 0, -1, 0, ARGOS_HANDOVER_SLEEP },
    { "pending", false, false, 29, -1, 0, ARGOS_HANDOVER_SLEEP },
    { "pending", false, false, 30, -1, 0, ARGOS_HANDOVER_STILL },
    { "pending", false, false, 60, -1, 31, ARGOS_HANDOVER_SLEEP },
    { "pending", false, false, 61, -1, 31, ARGOS_HANDOVER_CALL_OFF },
    { "pending", false, true, 1, -1, 0, ARGOS_HANDOVER_CALL_OFF },
    //  A turn may take its time
    { "pending", true, false, 61, -1, 31, ARGOS_HANDOVER_STILL },
    { "pending", true, false, 3600, -1, 3599, ARGOS_HANDOVER_SLEEP },
    { "pending", true, false, 3601, -1, 3600, ARGOS_HANDOVER_CALL_OFF },
    { "pending", true, true, 61, -1, 31, ARGOS_HANDOVER_CALL_OFF },
    //  Somebody has it: 900 s from then on, with a line each 30 s, and it is never called off
    { "running", false, false, 59, -1, 31, ARGOS_HANDOVER_TAKEN },
    { "running", false, false, 61, 59, 59, ARGOS_HANDOVER_SLEEP },
    { "running", false, false, 89, 59, 59, ARGOS_HANDOVER_STILL },
    { "running", false, false, 959, 59, 940, ARGOS_HANDOVER_SLEEP },
    { "running", false, false, 960, 59, 940, ARGOS_HANDOVER_LEAVE },
    { "running", true, false, 3700, 3600, 3699, ARGOS_HANDOVER_SLEEP },
    { "running", false, true, 61, 59, 59, ARGOS_HANDOVER_LEAVE },
    { "running", false, true, 1, -1, 0, ARGOS_HANDOVER_LEAVE },
    //  Lost, and to be tried once more: it may be called off again
    { "pending", false, false, 59, 10, 40, ARGOS_HANDOVER_SLEEP },
    { "pending", false, false, 61, 10, 40, ARGOS_HANDOVER_CALL_OFF },
    //  It is over, whatever was wished
    { "completed", false, true, 5000, -1, 0, ARGOS_HANDOVER_DONE },
    { "failed", true, true, 1, 1, 0, ARGOS_HANDOVER_FAILED },
    { "", false, false, 1, -1, 0, ARGOS_HANDOVER_FAILED },
};

static void
s_each_view_has_its_step (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_cases / sizeof *s_cases; i++) {
        const argos_handover_view_t view = { .state = s_cases[i].state,
            .wait = s_cases[i].wait,
            .interrupted = s_cases[i].interrupted,
            .now = 7 + s_cases[i].now * S,
            .asked = 7,
            .taken = s_cases[i].taken < 0 ? -1 : 7 + s_cases[i].taken * S,
            .said = 7 + s_cases[i].said * S };
        if (argos_handover_step (&view) != s_cases[i].step)
            fail_msg ("case %zu: step %d", i, (int) argos_handover_step (&view));
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (s_each_view_has_its_step) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
