//  argosd_follow - a node that has joined: it starts with the settings that its core gives it, and
//  starts its actors anew when they change.
//
//  HOME/node.json holds them as they came last (and first what `argosd join` knew); argos.yaml of
//  the node wins over it. Nothing but the follower is started before the core has spoken: an agent
//  must not answer with what was good yesterday.

#ifndef ARGOSD_FOLLOW_H
#define ARGOSD_FOLLOW_H

#include "argos_link.h"
#include "argosd_home.h"

#include <czmq.h>
#include <signal.h>

#define ARGOSD_FOLLOW_SIGNAL SIGUSR2 //  To our own process: there are other settings

typedef struct {
    const argosd_home_t *home; //  Borrowed
    char node[32];             //  Name of the node, "" = this home is none that has joined
    argos_link_t link;         //  To the broker; filled before the actor is started
    bool known;                //  node.json is what the core says
} argosd_follow_t;

//  Reads the name of the node, if the home is one's. Returns 0, or -1 with a reason.
int argosd_follow_open (
    argosd_follow_t *self, const argosd_home_t *home, char *reason, size_t size);

//  The actor function; config is an argosd_follow_t. In: $TERM. Out: READY | FAILED reason. Owner:
//  the supervisor. Writes node.json, sets known and sends the signal when the core has spoken and
//  known was false, or it says something else than before.
void argosd_follow_actor (zsock_t *pipe, void *config);

#endif
