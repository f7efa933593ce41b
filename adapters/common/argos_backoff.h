//  argos_backoff - how long to wait before the next try. Pure.
//
//  1 s, doubled for each failure up to 60 s, of that a random part (at least a half). Success
//  counts only once it has lasted for 60 s: a connection that is made and lost again is no success.

#ifndef ARGOS_BACKOFF_H
#define ARGOS_BACKOFF_H

#include <stdint.h>

typedef struct {
    int failures;       //  In a row
    int64_t good_since; //  Since when it goes well (monotonic msec), 0 = it does not
} argos_backoff_t;      //  All zero at first

//  It has failed at now; returns msec to wait. random is any number.
int64_t argos_backoff_failed (argos_backoff_t *self, int64_t now, uint32_t random);

//  It goes well at now.
void argos_backoff_good (argos_backoff_t *self, int64_t now);

#endif
