//  argos_listener - a ROUTER that the broker listens on: its making, and messages to and from it.
//
//  A connection is a number: the listener's place in the upper half, in the lower one the routing
//  id that the ROUTER has made. Connections of other processes are followed (argos_links.h). One
//  thread, the broker's. Limits: 4,096 messages a connection in the socket, 1 MiB a frame.

#ifndef ARGOS_LISTENER_H
#define ARGOS_LISTENER_H

#include "argos_core.h"
#include "argos_key.h"
#include "argos_links.h"
#include "argos_pack.h"

#include <sys/types.h>

#define ARGOS_LISTENER_FRAMES (1 + ARGOS_PACK_PIECES) //  Of a message behind the routing id
#define ARGOS_LISTENER_REASON 512                     //  Bytes of why it is not bound

typedef struct {
    argos_via_t via;              //  What it is
    size_t place;                 //  Which of the broker's
    argos_links_gone_fn *gone_fn; //  Told of connections that are lost (argos_links.h)
    void *gone_arg;               //  Its argument
    void *socket;                 //  ROUTER
    argos_links_t *links;         //  Its connections; NULL = not followed (inproc)
} argos_listener_t;

//  A message that came in

typedef struct {
    uint64_t conn;                                //  Connection
    argos_frame_t *frames[ARGOS_LISTENER_FRAMES]; //  Behind the routing id; ours
    size_t there;                                 //  How many
    size_t count;                                 //  How many are for the core
} argos_listener_msg_t;

//  Makes the socket and binds it; via, place and gone_fn are set. server is our own CURVE pair, for
//  tcp; group (0 = none) may connect by ipc too. It accepts while fewer than so many connections
//  are open, over tcp three quarters of them: strangers can't keep out who is here. Returns NULL,
//  or why it is not bound: a constant, or reason. Close it in any case.
const char *argos_listener_open (argos_listener_t *self, const char *endpoint,
    const argos_key_t *server, gid_t group, int connections,
    char reason[static ARGOS_LISTENER_REASON]);
void argos_listener_close (argos_listener_t *self);

//  Sends frames (borrowed) to a connection without blocking, packed (argos_pack.h) when it reads
//  that and they are small. Returns 0, or -1 when it can't take them.
int argos_listener_send (
    argos_listener_t *self, uint64_t conn, bool packs, argos_frame_t **frames, size_t count);

//  Reads the next message, in either form, without waiting; may call gone_fn. Returns 1 with msg
//  filled, to be given to argos_listener_done; 0 when nothing is there; -1 when one came that was
//  refused here, since its sender had set a routing id. A message of too many frames is read to its
//  end, and count made such that the core refuses it.
int argos_listener_recv (argos_listener_t *self, argos_listener_msg_t *msg);
void argos_listener_done (argos_listener_msg_t *msg);

//  Sets an option that can be set for that kind of socket.
void argos_listener_set (void *socket, int option, int value);

#endif
