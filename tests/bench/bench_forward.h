//  bench_forward - the base of the broker: the least that a ROUTER between two peers can do.
//
//  Frames: route, to, and what follows as it is. A worker says "R"; what comes with an empty `to`
//  goes to the worker under the route of its sender; what comes from the worker goes to the route
//  that it names. No JSON, no state but the worker's route.

#ifndef ARGOS_BENCH_FORWARD_H
#define ARGOS_BENCH_FORWARD_H

#include <stdbool.h>

typedef struct bench_forward bench_forward_t;

//  A forwarder in a thread of its own, bound to endpoint in context; with a CURVE secret (Z85) it
//  lets in whoever encrypts. NULL when it can't.
bench_forward_t *bench_forward_new (void *context, const char *endpoint, const char *secret);
//  Whether a worker has said that it is one; thread-safe.
bool bench_forward_known (const bench_forward_t *self);

void bench_forward_destroy (bench_forward_t **self_p);

#endif
