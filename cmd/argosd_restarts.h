//  argosd_restarts - planned restarts of a home, so that one after the other is seen as what it is.
//
//  HOME/run/restarts has the times of the last ones. Three within a minute are a loop: then no turn
//  is taken up again and nobody may ask for another, until a minute has passed. Crashes are not
//  counted: what kills is found by its strikes.

#ifndef ARGOSD_RESTARTS_H
#define ARGOSD_RESTARTS_H

#include <stdint.h>

//  Notes that this process ends for a restart. A file that can't be written is no reason to stay.
void argosd_restarts_note (const char *home);

//  Until when the restarts of that home are a loop, wall msec; 0 = they are none.
int64_t argosd_restarts_loop (const char *home);

#endif
