//  argos_sendfile - files that a text names (file.send) become attachments of a delivery.
//
//  Works where the files are: on the node of the tools that is the home of the session; a message
//  that comes to another one is sent on. Each file is checked by its path after all
//  links were followed (argos_reply_path_problem), put into the store, and sent by op=media; what
//  may not leave, or is none, is said in the chat. All of it is one message in hand: what dies in
//  the middle is done again, and the chat gets it once.

#ifndef ARGOS_SENDFILE_H
#define ARGOS_SENDFILE_H

#include "argos_peer.h"

#include <jansson.h>

#define ARGOS_SENDFILE_SERVICE "tool.files" //  The service
#define ARGOS_SENDFILE_TYPE "file.send"     //  Type of its messages
#define ARGOS_SENDFILE_SLOTS 4              //  Messages in hand

typedef struct argos_sendfile argos_sendfile_t;

//  files is the folder HOME/files, whose parent is the folder of the daemon; node is where that is;
//  peer outlives it.
argos_sendfile_t *argos_sendfile_new (argos_peer_t *peer, const char *files, const char *node);

//  The peer is going away: nothing more is sent.
void argos_sendfile_stop (argos_sendfile_t *self);

//  What is in hand is dropped: its lease ends with the peer. NULL-safe, idempotent; after the peer.
void argos_sendfile_destroy (argos_sendfile_t **self_p);

//  The settings from now on (gateway.strict, gateway.media_delivery_allow_dirs); borrowed for the
//  call.
void argos_sendfile_settings (argos_sendfile_t *self, const json_t *config);

//  A message was leased; a lease was lost.
void argos_sendfile_lease (argos_sendfile_t *self, const argos_peer_msg_t *msg);
void argos_sendfile_lost (argos_sendfile_t *self, argos_lease_t *lease);

#endif
