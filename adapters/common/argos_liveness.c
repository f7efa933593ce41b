//  argos_liveness - see the header.
//
//  Invariant: behind each answer other than ARGOS_LIVE the next due time is later than now. Limit:
//  a sleep is seen at the next look, at most a minute after it.

#include "argos_liveness.h"

#define LOOK_MS 60000 //  Longest time between two looks

void
argos_liveness_event (argos_liveness_t *self, int64_t now)
{
    self->event_ms = now;
    self->probed = false;
    if (!self->look_ms)
        self->look_ms = now;
}

int64_t
argos_liveness_due (const argos_liveness_t *self)
{
    int64_t due = self->event_ms + (self->probed ? self->dead_ms : self->quiet_ms);
    int64_t look = self->look_ms + LOOK_MS;
    return due < look ? due : look;
}

argos_liveness_act_t
argos_liveness_look (argos_liveness_t *self, int64_t now)
{
    int64_t late = now - argos_liveness_due (self);
    self->look_ms = now;
    if (late > self->jump_ms || now - self->event_ms >= self->dead_ms) {
        argos_liveness_event (self, now);
        return ARGOS_RECONNECT;
    }
    if (self->probed || now - self->event_ms < self->quiet_ms)
        return ARGOS_LIVE;
    self->probed = true;
    return ARGOS_PROBE;
}
