//  argos_handover_step - see the header.
//
//  Invariant: what nobody has taken is called off before it is given up, so that it is not done
//  behind the back of who asked; what somebody has is left alone.

#include "argos_handover_step.h"

#include <string.h>

argos_handover_step_t
argos_handover_step (const argos_handover_view_t *view)
{
    int64_t patience_ms = view->wait ? ARGOS_HANDOVER_WAIT_MS : ARGOS_HANDOVER_CLAIM_MS;
    bool running = strcmp (view->state, "running") == 0;
    if (strcmp (view->state, "completed") == 0)
        return ARGOS_HANDOVER_DONE;
    if (!running && strcmp (view->state, "pending") != 0)
        return ARGOS_HANDOVER_FAILED;
    if (!running && (view->interrupted || view->now - view->asked > patience_ms))
        return ARGOS_HANDOVER_CALL_OFF;
    if (view->interrupted)
        return ARGOS_HANDOVER_LEAVE;
    if (running && view->taken < 0)
        return ARGOS_HANDOVER_TAKEN;
    if (running && view->now - view->taken > ARGOS_HANDOVER_DONE_MS)
        return ARGOS_HANDOVER_LEAVE;
    return view->now - view->said >= ARGOS_HANDOVER_LINE_MS ? ARGOS_HANDOVER_STILL
                                                            : ARGOS_HANDOVER_SLEEP;
}
