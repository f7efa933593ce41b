//  argos_zframe - frames that are ZeroMQ messages.
//
//  Invariant: a frame whose free_fn is s_free is the head of a zframe_t, one whose free_fn is
//  s_free_piece that of a piece_t. The bytes of the former are shared by libzmq's own (atomic)
//  counter, so a frame stays in its thread although its bytes may not; a piece is copied. Limits:
//  those of the socket; a piece holds its whole message, ARGOS_PACK_MAX bytes.

#include "argos_zframe.h"

#include "argos_order.h"
#include "argos_pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

typedef struct {
    argos_frame_t frame; //  What others see; first
    zmq_msg_t msg;       //  Holds the bytes
} zframe_t;

typedef struct parcel parcel_t;

typedef struct {
    argos_frame_t frame; //  What others see; first
    parcel_t *parcel;    //  What it is a part of
} piece_t;

//  A packed message that has been taken apart

struct parcel {
    argos_frame_t *whole; //  As it came; ours
    size_t left;          //  Pieces that somebody owns
    piece_t pieces[];     //  All
};

static void
s_free (argos_frame_t *frame)
{
    zframe_t *self = (zframe_t *) (void *) frame;
    zmq_msg_close (&self->msg);
    free (self);
}

static void
s_free_piece (argos_frame_t *frame)
{
    parcel_t *parcel = ((piece_t *) (void *) frame)->parcel;
    if (--parcel->left > 0)
        return;
    argos_frame_unref (&parcel->whole);
    free (parcel);
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

//  The message that a frame came in.

static zmq_msg_t *
s_source (const argos_frame_t *frame)
{
    bool part = frame->free_fn == s_free_piece;
    return s_msg (part ? ((const piece_t *) (const void *) frame)->parcel->whole : frame);
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

size_t
argos_zframe_unpack (argos_frame_t *frame, argos_frame_t **frames, size_t most)
{
    argos_piece_t pieces[1 + ARGOS_PACK_PIECES];
    size_t room = most < 1 + ARGOS_PACK_PIECES ? most : 1 + ARGOS_PACK_PIECES;
    size_t count = argos_pack_read (frame->data, frame->size, pieces + 1, room - 1);
    if (count == 0)
        return 0;
    pieces[0] = (argos_piece_t){ frame->data, ARGOS_PACK_MAGIC };
    count++;
    parcel_t *parcel = malloc (sizeof *parcel + count * sizeof parcel->pieces[0]);
    assert (parcel);
    parcel->whole = frame;
    parcel->left = count;
    for (size_t i = 0; i < count; i++) {
        parcel->pieces[i].frame =
            (argos_frame_t){ pieces[i].data, pieces[i].size, 1, s_free_piece };
        parcel->pieces[i].parcel = parcel;
        frames[i] = &parcel->pieces[i].frame;
    }
    //  NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed by the last of its pieces
    return count;
}

int
argos_zframe_fd (const argos_frame_t *frame)
{
    const zmq_msg_t *msg = s_source (frame);
    return msg ? zmq_msg_get (msg, ZMQ_SRCFD) : -1;
}

const char *
argos_zframe_user (const argos_frame_t *frame)
{
    zmq_msg_t *msg = s_source (frame);
    const char *user = msg ? zmq_msg_gets (msg, "User-Id") : NULL;
    return user ? user : "";
}
