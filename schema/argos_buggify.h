//  argos_buggify - points at which rare but allowed things can be made frequent: a page of one, a
//  window of one, a send that is refused.
//
//  ARGOS_BUGGIFY ("where.what") is false, and gone from the code, in all builds but those with the
//  option ARGOS_BUGGIFY, in which the simulator sets argos_buggify_fn; without it, false as well.
//  What it guards has to be right in production too.

#ifndef ARGOS_BUGGIFY_H
#define ARGOS_BUGGIFY_H

#include <stdbool.h>
#include <stddef.h>

//  Whether the point of that name acts this time; NULL = none does. One thread only.
extern bool (*argos_buggify_fn) (const char *name);

#ifdef ARGOS_BUGGIFY_ON
#define ARGOS_BUGGIFY(name) (argos_buggify_fn && argos_buggify_fn (name))
#else
#define ARGOS_BUGGIFY(name) false
#endif

#endif
