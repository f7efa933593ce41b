//  argos_peer_form - messages on the socket, in either form: frames, or packed as one
//  (argos_pack.h).
//
//  Invariant: what is sent is a whole message or nothing, but when memory is out in the middle of
//  one; then the socket is given up. Who reads finds the same pieces in both forms. Limits: only
//  header, meta and body of what comes are kept.

#include "argos_order.h"
#include "argos_peer_priv.h"

#include <string.h>

int
argos_peer_put (argos_peer_t *self, const char *data, const uint32_t *sizes, size_t count)
{
    ARGOS_GIVE ();
    if (zmq_send_const (self->socket, "AR1", 3, ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0);
        if (zmq_send (self->socket, data, sizes[i], flags) < 0) {
            self->broken = true; //  Only a new socket helps
            return -1;
        }
        data += sizes[i];
    }
    return 0;
}

int
argos_peer_put_out (argos_peer_t *self, const peer_out_t *out)
{
    argos_piece_t pieces[ARGOS_PACK_PIECES];
    const char *data = out->data;
    zmq_msg_t msg;
    size_t size = self->packs ? argos_pack_size (out->frame_count, out->bytes) : 0;
    if (size == 0)
        return argos_peer_put (self, data, out->sizes, out->frame_count);
    if (zmq_msg_init_size (&msg, size) != 0)
        return -1;
    for (size_t i = 0; i < out->frame_count; data += out->sizes[i++])
        pieces[i] = (argos_piece_t){ data, out->sizes[i] };
    argos_pack_write (zmq_msg_data (&msg), pieces, out->frame_count);
    ARGOS_GIVE ();
    if (zmq_msg_send (&msg, self->socket, ZMQ_DONTWAIT) >= 0)
        return 0;
    zmq_msg_close (&msg);
    return -1;
}

//  Takes the frames of one message off the socket. False when there is none.

static bool
s_recv_frames (peer_wire_t *self, void *socket)
{
    int more = 1;
    self->frame_count = 0;
    while (more) {
        zmq_msg_t frame;
        zmq_msg_init (&frame);
        if (zmq_msg_recv (&frame, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close (&frame);
            //  A message is there as a whole, so this is the first frame
            return self->frame_count > 0;
        }
        ARGOS_TAKE ();
        more = zmq_msg_more (&frame);
        if (self->frame_count < PEER_FRAMES) {
            zmq_msg_init (&self->frames[self->frame_count]);
            zmq_msg_move (&self->frames[self->frame_count], &frame);
        }
        zmq_msg_close (&frame);
        self->frame_count++;
    }
    return true;
}

static argos_piece_t
s_piece (zmq_msg_t *frame)
{
    return (argos_piece_t){ zmq_msg_data (frame), zmq_msg_size (frame) };
}

//  Finds the pieces. False when the message has neither form.

static bool
s_split (peer_wire_t *self, argos_piece_t *pieces)
{
    argos_piece_t first = s_piece (&self->frames[0]);
    if (self->frame_count == 1)
        return argos_pack_read (first.data, first.size, pieces, PEER_FRAMES - 1) == PEER_FRAMES - 1;
    if (self->frame_count != PEER_FRAMES || first.size != ARGOS_PACK_MAGIC ||
        memcmp (first.data, "AR1", first.size) != 0)
        return false;
    for (int i = 1; i < PEER_FRAMES; i++)
        pieces[i - 1] = s_piece (&self->frames[i]);
    return true;
}

bool
argos_peer_take (peer_wire_t *self, void *socket)
{
    argos_piece_t pieces[PEER_FRAMES - 1];
    if (!s_recv_frames (self, socket))
        return false;
    self->good = s_split (self, pieces);
    if (self->good) {
        self->header = pieces[0];
        self->meta = pieces[1];
        self->body = pieces[2];
        self->bytes =
            (int64_t) (ARGOS_PACK_MAGIC + pieces[0].size + pieces[1].size + pieces[2].size);
    }
    return true;
}

void
argos_peer_let_go (peer_wire_t *self)
{
    for (size_t i = 0; i < self->frame_count && i < PEER_FRAMES; i++)
        zmq_msg_close (&self->frames[i]);
    self->frame_count = 0;
}
