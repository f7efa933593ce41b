//  argos_broker_load - what a broker asks its store before the first message.
//
//  store is the PAIR to the store actor, with a time limit for reads; each call waits for the
//  answers.

#ifndef ARGOS_BROKER_LOAD_H
#define ARGOS_BROKER_LOAD_H

#include "argos_core.h"

//  A new core, the caller's, with all that waits in the store. limits: its configuration but for
//  what the store says itself; io: what it speaks by; mono, wall: the time, msec. NULL when the
//  store doesn't answer.
argos_core_t *argos_broker_load (void *store, const argos_core_config_t *limits,
    const argos_core_io_t *io, int64_t mono, int64_t wall);

//  Makes services (NULL-terminated; NULL = none) in store and core, those that are not there.
//  Returns 0, or -1 as above.
int argos_broker_declare (
    void *store, argos_core_t *core, const char *const *services, int64_t wall);

#endif
