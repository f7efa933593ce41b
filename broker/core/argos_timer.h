//  argos_timer - a heap of times, inside the things that wait for them. Pure: the time is an
//  argument.

#ifndef ARGOS_TIMER_H
#define ARGOS_TIMER_H

#include <stddef.h>
#include <stdint.h>

typedef struct argos_timer argos_timer_t;

struct argos_timer {
    int64_t due;            //  Mono msec
    size_t slot;            //  Place in the heap from 1; 0 = not set
    void (*fn) (void *arg); //  Called when due; the timer is not set any more then
    void *arg;              //  Handed to fn
};

typedef struct {
    argos_timer_t **slots; //  Binary heap, slots[1] first
    size_t count;          //  Timers that are set
    size_t room;           //  Slots allocated
} argos_timers_t;

//  Set (or move) a timer. The timer stays where it is in memory until it fires or is cleared.
void argos_timer_set (
    argos_timers_t *self, argos_timer_t *timer, int64_t due, void (*fn) (void *), void *arg);

//  Clear it; harmless when it is not set.
void argos_timer_clear (argos_timers_t *self, argos_timer_t *timer);

//  When the first is due; INT64_MAX = never.
int64_t argos_timers_next (const argos_timers_t *self);

//  Fire what is due at `now`, at most `limit` of them (a timer set by fn to `now` may fire again).
void argos_timers_run (argos_timers_t *self, int64_t now, int limit);

//  Free the heap, not the timers.
void argos_timers_term (argos_timers_t *self);

#endif
