//  argos_context - the ØMQ context of the peers of libargos: one for the process, its own.
//
//  A library must not take czmq's, which comes with handlers of signals and of exit. It is never
//  ended: that would wait for the sockets of a program that exits without closing them.

#include "argos_peer_priv.h"

#include <pthread.h>
#include <zmq.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *context;

static void
s_open (void)
{
    context = zmq_ctx_new ();
}

void *
argos_peer_context (void)
{
    pthread_once (&once, s_open);
    return context;
}
