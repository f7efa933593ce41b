//  argos_links - the connections of a ROUTER: which descriptor each has, and when it is lost.
//
//  Follows the socket's monitor and the descriptors that libzmq names in its messages; feeds
//  argos_meter. One thread, the ROUTER's. Limits: that of descriptors.

#ifndef ARGOS_LINKS_H
#define ARGOS_LINKS_H

#include "argos_frame.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct argos_links argos_links_t;

//  A connection is lost.
typedef void argos_links_gone_fn (void *arg, uint64_t conn);

//  Follow the connections of a ROUTER that will be bound; name makes the inproc address unique.
//  gone_fn is told of each that is lost, in the two calls that say so. NULL when it can't.
argos_links_t *argos_links_new (
    void *router, const char *name, argos_links_gone_fn *gone_fn, void *arg);
void argos_links_destroy (argos_links_t **self_p);

//  The socket to poll for events, and the call when there are some; calls gone_fn. A connection
//  that argos_meter has refused is an event too.
void *argos_links_socket (argos_links_t *self);
void argos_links_turn (argos_links_t *self);

//  Shut a connection down: nothing more is read from it, and it is lost soon. Nothing when it is
//  not known.
void argos_links_close (argos_links_t *self, uint64_t conn);

//  A message of conn was heard by a session, or was not. Returns true when so many in a row were
//  not that the connection should be cut.
bool argos_links_heard (argos_links_t *self, uint64_t conn, bool heard);

//  A message of that cost (see argos_meter.h) has come from conn; first is a frame of it, made by
//  argos_zframe_recv, but not the routing id. Calls gone_fn, for others.
void argos_links_given (
    argos_links_t *self, uint64_t conn, const argos_frame_t *first, int64_t cost);

#endif
