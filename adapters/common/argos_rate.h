//  argos_rate - when something may be sent: a schedule, never a sleep.
//
//  Pure; time is an argument (monotonic msec). A bucket is a name (of a chat, of a route): it may
//  be held until a time, as a platform asks for, and may have a pace. Limits: 4,096 buckets, beyond
//  which those that hold nothing back are forgotten.

#ifndef ARGOS_RATE_H
#define ARGOS_RATE_H

#include <stdint.h>

typedef struct argos_rate argos_rate_t;

//  New, the caller's; NULL-safe, idempotent.
argos_rate_t *argos_rate_new (void);
void argos_rate_destroy (argos_rate_t **self_p);

//  Nothing of that bucket before until_ms; a later time that is known stays.
void argos_rate_hold (argos_rate_t *self, const char *bucket, int64_t until_ms);

//  When the next one of that bucket may go; now when it may at once.
int64_t argos_rate_due (argos_rate_t *self, const char *bucket, int64_t now);

//  One goes now; the next one at the earliest gap_ms later (0 = at any time).
void argos_rate_take (argos_rate_t *self, const char *bucket, int64_t gap_ms, int64_t now);

#endif
