//  argos_context - the ØMQ context of the peers of libargos: one for the process, its own.
//
//  A library must not take czmq's, which comes with handlers of signals and of exit.
//  Invariant: there is a context while an argos_t is. It ends with the last of them, which waits
//  until what its socket has still to say is written (LINGER_BYE_MS at most): a program that
//  returns from main at once would else take it along. A program that does not destroy its
//  argos_t waits for nothing.

#include "argos_peer_priv.h"
#include "argos_priv.h"

#include <errno.h>
#include <pthread.h>
#include <zmq.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static size_t users; //  How many argos_t
static void *context;

void
argos_context_hold (void)
{
    pthread_mutex_lock (&mutex);
    if (users++ == 0)
        context = zmq_ctx_new ();
    pthread_mutex_unlock (&mutex);
}

void
argos_context_drop (void)
{
    pthread_mutex_lock (&mutex);
    if (--users == 0)
        while (zmq_ctx_term (context) != 0 && errno == EINTR)
            ;
    pthread_mutex_unlock (&mutex);
}

void *
argos_peer_context (void)
{
    return context; //  The caller is an argos_t's
}
