//  argos_hooks_actor - tells programs of HOME/hooks what happens, and asks them about commands.
//
//  In:    entries of topic:hook.events, request hook.command (as actor:hooks); pipe: $TERM,
//  SETTINGS (reads
//         the folder again)
//  Out:   READY when the broker has welcomed us, or FAILED; replies hook.command.result; entries of
//         topic:hook.events for commands
//  Owner: the supervisor, in the process that has the core
//  Limit: one program of each hook at a time, QUEUE_MAX events behind it, more are dropped with a
//  line
//         in the log; 64 KiB of output; 5 s for a decision
//
//  Nothing waits for a hook but a command, and that for a bounded time: whatever goes wrong here,
//  the answer is allow.

#ifndef ARGOS_HOOKS_ACTOR_H
#define ARGOS_HOOKS_ACTOR_H

#include "argos_link.h"

#include <czmq.h>

#define ARGOS_HOOKS_DECIDE_MS 5000 //  All hooks together, about one command

typedef struct {
    argos_link_t link; //  To the broker; copied before READY
    const char *home;  //  Folder; copied
} argos_hooks_config_t;

//  The actor; config is an argos_hooks_config_t.
void argos_hooks_actor (zsock_t *pipe, void *config);

#endif
