//  argos_cache_priv - what the files of the cache actor share. Not for users.

#ifndef ARGOS_CACHE_PRIV_H
#define ARGOS_CACHE_PRIV_H

#include "argos_cache.h"
#include "argos_header.h"
#include "argos_registry.h"
#include "argos_shell.h"

#include <utlist.h>

typedef struct {
    zsock_t *pipe;                 //  To the owner
    argos_shell_t *shell;          //  Loop
    argos_cache_t *agents;         //  What is kept
    argos_registry_t *tools;       //  Who is told when a task is over
    char name[ARGOS_NAME_MAX + 1]; //  Ours
    bool ready;                    //  READY has been said
    bool live;                     //  What was told before us has been passed over
    bool armed;                    //  The timer is set
    bool stopping;                 //  The peer is going away
    int64_t sweep_ms;              //  Between two sweeps
    int64_t budget;                //  Bytes of memory, 0 = any
    int64_t warned_ms;             //  When something was warned of
    size_t max;                    //  Limit of entries
    size_t looks;                  //  Lookups that wait for the store
    unsigned boot, made;           //  Part of agent ids: of this start, and a count
    int64_t hits, misses, dropped; //  Since the start
} cache_t;

//  A member of a body that is a text; NULL = there is none. Borrowed.
const char *argos_cache_text (const json_t *body, const char *name);

//  What the body of agent.release says; agent_id NULL = all of the sender. Borrows from body.
argos_cache_report_t argos_cache_report (const json_t *body, int64_t now);

//  The answer to agent.list, new; now is monotonic, wall msec since 1970.
json_t *argos_cache_listing (const cache_t *self, const json_t *body, int64_t now, int64_t wall);

#endif
