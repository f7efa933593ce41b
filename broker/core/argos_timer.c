//  argos_timer - a binary heap of times, inside the things that wait for them.
//
//  Invariant: slots[i]->due <= slots[2i]->due and slots[2i+1]->due, and slots[i]->slot == i.
//  Limits: memory only; setting and clearing are O(log n).

#include "argos_timer.h"

#include <assert.h>
#include <stdlib.h>

static void
s_put (argos_timers_t *self, size_t slot, argos_timer_t *timer)
{
    self->slots[slot] = timer;
    timer->slot = slot;
}

static void
s_rise (argos_timers_t *self, size_t slot)
{
    argos_timer_t *timer = self->slots[slot];
    while (slot > 1 && self->slots[slot / 2]->due > timer->due) {
        s_put (self, slot, self->slots[slot / 2]);
        slot /= 2;
    }
    s_put (self, slot, timer);
}

static void
s_sink (argos_timers_t *self, size_t slot)
{
    argos_timer_t *timer = self->slots[slot];
    for (;;) {
        size_t child = slot * 2;
        if (child < self->count && self->slots[child + 1]->due < self->slots[child]->due)
            child++;
        if (child > self->count || self->slots[child]->due >= timer->due)
            break;
        s_put (self, slot, self->slots[child]);
        slot = child;
    }
    s_put (self, slot, timer);
}

void
argos_timer_clear (argos_timers_t *self, argos_timer_t *timer)
{
    size_t slot = timer->slot;
    if (slot == 0)
        return;
    timer->slot = 0;
    argos_timer_t *last = self->slots[self->count--];
    if (last == timer)
        return;
    s_put (self, slot, last);
    s_rise (self, slot);
    s_sink (self, last->slot);
}

void
argos_timer_set (
    argos_timers_t *self, argos_timer_t *timer, int64_t due, void (*fn) (void *), void *arg)
{
    argos_timer_clear (self, timer);
    if (self->count + 2 > self->room) {
        self->room = self->room ? self->room * 2 : 64;
        self->slots = realloc (self->slots, self->room * sizeof (void *));
        assert (self->slots);
    }
    timer->due = due;
    timer->fn = fn;
    timer->arg = arg;
    s_put (self, ++self->count, timer);
    s_rise (self, self->count);
}

int64_t
argos_timers_next (const argos_timers_t *self)
{
    return self->count ? self->slots[1]->due : INT64_MAX;
}

void
argos_timers_run (argos_timers_t *self, int64_t now, int limit)
{
    while (limit-- > 0 && self->count && self->slots[1]->due <= now) {
        argos_timer_t *timer = self->slots[1];
        argos_timer_clear (self, timer);
        timer->fn (timer->arg);
    }
}

void
argos_timers_term (argos_timers_t *self)
{
    free (self->slots);
    self->slots = NULL;
    self->count = self->room = 0;
}
