//  argos_zframe - frames that are ZeroMQ messages.
//
//  Invariant: a frame whose free_fn is s_free is the head of a zframe_t. The bytes are shared by
//  libzmq's own (atomic) counter, so a frame stays in its thread although its bytes may not.
//  Limits: those of the socket.

#include "argos_zframe.h"

#include "argos_order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

typedef struct {
    argos_frame_t frame; //  What others see; first
    zmq_msg_t msg;       //  Holds the bytes
} zframe_t;

static void
s_free (argos_frame_t *frame)
{
    zframe_t *self = (zframe_t *) (void *) frame;
    zmq_msg_close (&self->msg);
    free (self);
}

//  The message inside. Not const: libzmq's readers take what they only look at as it is.

static zmq_msg_t *
s_msg (const argos_frame_t *frame)
{
    union {
        const argos_frame_t *in; //  As given
        zframe_t *out;           //  As libzmq wants it
    } cast = { .in = frame };
    return frame->free_fn == s_free ? &cast.out->msg : NULL;
}

argos_frame_t *
argos_zframe_recv (void *socket, int flags)
{
    zframe_t *self = malloc (sizeof *self);
    assert (self);
    zmq_msg_init (&self->msg);
    if (zmq_msg_recv (&self->msg, socket, flags) < 0) {
        zmq_msg_close (&self->msg);
        free (self);
        return NULL;
    }
    ARGOS_TAKE ();
    self->frame = (argos_frame_t){ .data = zmq_msg_data (&self->msg),
        .size = zmq_msg_size (&self->msg),
        .refs = 1,
        .free_fn = s_free };
    return &self->frame;
}

int
argos_zframe_send (const argos_frame_t *frame, void *socket, int flags)
{
    zmq_msg_t *shared = frame ? s_msg (frame) : NULL;
    ARGOS_GIVE ();
    if (!shared)
        return zmq_send (socket, frame ? frame->data : "", frame ? frame->size : 0, flags) < 0 ? -1
                                                                                               : 0;
    zmq_msg_t copy;
    zmq_msg_init (&copy);
    zmq_msg_copy (&copy, shared);
    if (zmq_msg_send (&copy, socket, flags) >= 0)
        return 0;
    zmq_msg_close (&copy);
    return -1;
}

int
argos_zframe_fd (const argos_frame_t *frame)
{
    const zmq_msg_t *msg = s_msg (frame);
    return msg ? zmq_msg_get (msg, ZMQ_SRCFD) : -1;
}

const char *
argos_zframe_user (const argos_frame_t *frame)
{
    zmq_msg_t *msg = s_msg (frame);
    const char *user = msg ? zmq_msg_gets (msg, "User-Id") : NULL;
    return user ? user : "";
}
