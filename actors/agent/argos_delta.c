//  argos_delta - when to publish how much of a growing text.
//
//  Invariant: sent never exceeds the size that was taken last. No clock: the time is an argument.

#include "argos_delta.h"

void
argos_delta_init (argos_delta_t *self)
{
    *self = (argos_delta_t){ 0 };
}

int64_t
argos_delta_due (const argos_delta_t *self, size_t size, int64_t now)
{
    if (size <= self->sent)
        return -1;
    if (!self->entries || now - self->last_ms >= ARGOS_DELTA_MS)
        return now;
    return self->last_ms + ARGOS_DELTA_MS;
}

size_t
argos_delta_take (argos_delta_t *self, size_t size, int64_t now, bool *ret_key)
{
    size_t from = self->sent;
    self->sent = size;
    self->last_ms = now;
    self->entries++;
    *ret_key = self->entries % ARGOS_DELTA_KEY == 0;
    return from;
}
