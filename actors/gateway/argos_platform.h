//  argos_platform - what the core knows of platforms: nothing, but for the rows of one small table.
//
//  A platform is any name of `[a-z][a-z0-9_]{1,31}` (schema/message.inbound); whatever is not in
//  the table is an ordinary chat platform. Pure.

#ifndef ARGOS_PLATFORM_H
#define ARGOS_PLATFORM_H

#include <stdbool.h>

typedef struct {
    const char *name;  //  Of the platform, "" in the row of all others
    const char *owner; //  Base name of the only peer that speaks for it, NULL = its adapters
    bool by_run;       //  It is answered by the row of the run, not by deliver.request, and what it
                       //  says is never a command
    bool webhook;      //  Its ids may have the shape of a webhook delivery (argos_route_key)
    bool trusted;      //  Whoever speaks there has shown at the door that he may (argos_allow)
    bool open_door;    //  Anybody can write there unasked: strangers get no pairing code by default
} argos_platform_t;

//  The row of a platform; never NULL. Borrowed, static. name may be NULL.
const argos_platform_t *argos_platform_find (const char *name);

#endif
