//  argos_zframe - frames that are ZeroMQ messages: between a socket and argos_frame_t without a
//  copy.

#ifndef ARGOS_ZFRAME_H
#define ARGOS_ZFRAME_H

#include "argos_frame.h"

//  The next frame of a ZeroMQ socket; new, the caller's. NULL when there is none (ZMQ_DONTWAIT,
//  time-out) or on error.
argos_frame_t *argos_zframe_recv (void *socket, int flags);

//  Sends the frame; it stays the caller's. One that came by argos_zframe_recv shares its bytes, any
//  other is copied; NULL is sent as an empty frame. Returns 0, or -1 (errno) when the socket takes
//  nothing.
int argos_zframe_send (const argos_frame_t *frame, void *socket, int flags);

//  The pieces of a packed message (argos_pack.h) as frames that share its bytes; the first one is
//  the magic, which is before the pieces of it. frame is a whole message, taken over when it is
//  packed. Returns how many were put to frames, at most `most`; 0 when it is not packed.
size_t argos_zframe_unpack (argos_frame_t *frame, argos_frame_t **frames, size_t most);

//  The descriptor of the connection that a frame came by, -1 when it is not known (inproc, a copy).
int argos_zframe_fd (const argos_frame_t *frame);

//  Who sent it, by the word of the auth actor: the name of its CURVE key, "" = nobody knows.
//  Borrowed from the frame. The routing id of a message carries nothing of the kind.
const char *argos_zframe_user (const argos_frame_t *frame);

#endif
