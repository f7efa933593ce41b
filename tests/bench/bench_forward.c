//  bench_forward - the least that a ROUTER between two peers can do.
//
//  Invariant: frames are handed on as they are, without a copy.

#include "bench_forward.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define HWM 100000
#define SLICE_MS 50 //  How often the thread looks whether it is to end

struct bench_forward {
    void *router;      //  Its socket; of the thread once that runs
    zmq_msg_t worker;  //  Route of the worker
    atomic_bool known; //  There is one
    atomic_bool over;  //  The thread is to end
    pthread_t thread;  //  It
};

//  The rest of the message as it is.

static void
s_rest (bench_forward_t *self, zmq_msg_t *frame)
{
    for (;;) {
        int more = zmq_msg_more (frame);
        zmq_msg_send (frame, self->router, more ? ZMQ_SNDMORE : 0);
        if (!more)
            return;
        zmq_msg_recv (frame, self->router, 0);
    }
}

static void
s_to_worker (bench_forward_t *self, zmq_msg_t *route, zmq_msg_t *frame)
{
    zmq_msg_t target;
    zmq_msg_init (&target);
    zmq_msg_copy (&target, &self->worker);
    zmq_msg_send (&target, self->router, ZMQ_SNDMORE);
    zmq_msg_send (route, self->router, ZMQ_SNDMORE);
    s_rest (self, frame);
    zmq_msg_close (&target);
}

static void
s_to_client (bench_forward_t *self, zmq_msg_t *to, zmq_msg_t *frame)
{
    zmq_msg_send (to, self->router, ZMQ_SNDMORE);
    zmq_send (self->router, "", 0, ZMQ_SNDMORE);
    s_rest (self, frame);
}

static void
s_meet (bench_forward_t *self, zmq_msg_t *route)
{
    zmq_msg_copy (&self->worker, route);
    atomic_store (&self->known, true);
}

static void
s_turn (bench_forward_t *self)
{
    zmq_msg_t route, to, frame;
    zmq_msg_init (&route);
    zmq_msg_init (&to);
    zmq_msg_init (&frame);
    if (zmq_msg_recv (&route, self->router, 0) >= 0) {
        zmq_msg_recv (&to, self->router, 0);
        zmq_msg_recv (&frame, self->router, 0);
        if (zmq_msg_size (&to) == 0)
            s_to_worker (self, &route, &frame);
        else if (zmq_msg_size (&to) == 1)
            s_meet (self, &route);
        else
            s_to_client (self, &to, &frame);
    }
    zmq_msg_close (&route);
    zmq_msg_close (&to);
    zmq_msg_close (&frame);
}

static void *
s_run (void *arg)
{
    bench_forward_t *self = arg;
    while (!atomic_load (&self->over))
        s_turn (self);
    return NULL;
}

bench_forward_t *
bench_forward_new (void *context, const char *endpoint, const char *secret)
{
    const int hwm = HWM, slice = SLICE_MS, one = 1, zero = 0;
    bench_forward_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    zmq_msg_init (&self->worker);
    self->router = zmq_socket (context, ZMQ_ROUTER);
    zmq_setsockopt (self->router, ZMQ_SNDHWM, &hwm, sizeof hwm);
    zmq_setsockopt (self->router, ZMQ_RCVHWM, &hwm, sizeof hwm);
    zmq_setsockopt (self->router, ZMQ_RCVTIMEO, &slice, sizeof slice);
    zmq_setsockopt (self->router, ZMQ_ROUTER_MANDATORY, &one, sizeof one);
    zmq_setsockopt (self->router, ZMQ_LINGER, &zero, sizeof zero);
    if (secret) {
        zmq_setsockopt (self->router, ZMQ_CURVE_SERVER, &one, sizeof one);
        zmq_setsockopt (self->router, ZMQ_CURVE_SECRETKEY, secret, strlen (secret) + 1);
    }
    if (zmq_bind (self->router, endpoint) == 0 &&
        pthread_create (&self->thread, NULL, s_run, self) == 0)
        return self;
    zmq_close (self->router);
    free (self);
    return NULL;
}

bool
bench_forward_known (const bench_forward_t *self)
{
    return atomic_load (&self->known);
}

void
bench_forward_destroy (bench_forward_t **self_p)
{
    bench_forward_t *self = *self_p;
    if (!self)
        return;
    atomic_store (&self->over, true);
    pthread_join (self->thread, NULL);
    zmq_msg_close (&self->worker);
    zmq_close (self->router);
    free (self);
    *self_p = NULL;
}
