//  argos_peer_door - why a broker on another host does not let us in, as far as can be told.
//
//  Invariant: at most one monitor, of the present socket, over tcp only; it is read when a hello
//  has not been answered in time, never waited for. Limit: ØMQ tells that a handshake failed and,
//  of ours, whether the key was the reason; of a broker that is not there it tells nothing.

#include "argos_peer_priv.h"

#include <stdio.h>
#include <string.h>

#define DOOR_EVENTS (ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)

void
argos_peer_door_watch (argos_peer_t *self)
{
    char address[ARGOS_PEER_ID_SIZE + 16], id[ARGOS_PEER_ID_SIZE];
    int none = 0;
    argos_peer_door_close (self);
    if (!*self->key.server_key || strncmp (self->endpoint, "tcp://", 6) != 0)
        return;
    argos_peer_make_id (self, id); //  Never that of a socket that is just going
    snprintf (address, sizeof address, "inproc://door.%s", id);
    if (zmq_socket_monitor (self->socket, address, DOOR_EVENTS) != 0)
        return;
    self->door = zmq_socket (argos_peer_context (), ZMQ_PAIR);
    if (!self->door)
        return;
    zmq_setsockopt (self->door, ZMQ_LINGER, &none, sizeof none);
    if (zmq_connect (self->door, address) != 0)
        argos_peer_door_close (self);
}

void
argos_peer_door_close (argos_peer_t *self)
{
    if (self->door)
        zmq_close (self->door);
    self->door = NULL;
}

//  The newest event; 0 = none.

static uint16_t
s_newest (const argos_peer_t *self)
{
    uint16_t event = 0;
    unsigned char frame[256];
    int size;
    //  Two frames each: event and value, then the address
    while ((size = zmq_recv (self->door, frame, sizeof frame, ZMQ_DONTWAIT)) >= 0) {
        if (size >= (int) sizeof event)
            memcpy (&event, frame, sizeof event);
        zmq_recv (self->door, frame, sizeof frame, ZMQ_DONTWAIT);
    }
    return event;
}

void
argos_peer_door_ask (argos_peer_t *self)
{
    if (!self->door)
        return;
    switch (s_newest (self)) {
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        self->shut = "it does not know our key, which it never made or has revoked";
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        self->shut = "the handshake fails: another broker's key, or no broker";
        break;
    default:
        self->shut = "nobody answers there";
    }
}

const char *
argos_peer_shut (const argos_peer_t *self)
{
    return self->shut;
}
