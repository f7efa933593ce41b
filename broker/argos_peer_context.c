//  argos_peer_context - the ØMQ context of the peers of this process: czmq's, as that of the
//  actors.
//
//  In a file of its own because libargos has another one (clients/c/argos_context.c).

#include "argos_peer_priv.h"

#include <czmq.h>

void *
argos_peer_context (void)
{
    return zsys_init ();
}
