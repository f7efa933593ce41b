//  argos_buggify - who is asked at the points of ARGOS_BUGGIFY: nobody, unless the simulator is
//  there.
//
//  Invariant: no program but the simulator sets it.

#include "argos_buggify.h"

bool (*argos_buggify_fn) (const char *name) = NULL;
