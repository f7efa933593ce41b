//  argos_join - the ticket of a node: what another machine needs to join, as one word.
//
//  `argos node add` prints it, `argosd join` reads it: base64url of a JSON object {"node","broker",
//  "actors","key"}, where key is a key bundle (argos_key.h). Whoever has the word is the node.

#ifndef ARGOS_JOIN_H
#define ARGOS_JOIN_H

#include "argos_key.h"

#define ARGOS_JOIN_ACTORS_MAX 256  //  Bytes of the list of actors
#define ARGOS_JOIN_BROKER_MAX 256  //  Of the address
#define ARGOS_JOIN_TICKET_MAX 4096 //  Of the word

typedef struct {
    char node[32];                      //  Name of the node, and of its key
    char broker[ARGOS_JOIN_BROKER_MAX]; //  tcp://host:port of the core
    char actors[ARGOS_JOIN_ACTORS_MAX]; //  What runs there: agent*2,tools
    argos_key_t key;                    //  Its key
} argos_join_t;

//  Whether the three texts can be a node's; key is not looked at. Returns NULL, or what is wrong.
const char *argos_join_wrong (const argos_join_t *self);

//  The ticket, new; wipe it before you free it.
char *argos_join_ticket (const argos_join_t *self);

//  Reads a ticket. Returns 0, or -1 with one sentence in reason (size bytes): not one, or not
//  whole.
int argos_join_read (argos_join_t *self, const char *ticket, char *reason, size_t size);

//  The first node.json of the node: its name, and where it runs what, until its core says more.
//  New.
char *argos_join_node (const argos_join_t *self);

//  Overwrites the secrets.
void argos_join_wipe (argos_join_t *self);

#endif
