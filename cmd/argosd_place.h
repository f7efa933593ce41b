//  argosd_place - what one argosd runs: the core or not, which actors, and how they find the
//  broker.
//
//  Nothing said: everything in this process, or, when the configuration has nodes, that of the
//  core.
//  --node NAME: what the configuration says for it. --only LIST: these actors, at the broker that
//  --broker, the node or the home names. --isolate: every actor outside the core as a child.

#ifndef ARGOSD_PLACE_H
#define ARGOSD_PLACE_H

#include "argos_config.h"
#include "argos_key.h"
#include "argosd_home.h"

//  What the command line says; NULL or false = nothing

typedef struct {
    const char *node;   //  --node
    const char *only;   //  --only
    const char *broker; //  --broker
    const char *key;    //  --key: path of a key file
    bool isolate;       //  --isolate
    bool child;         //  --child: we have a parent
} argosd_options_t;

typedef struct {
    bool core;                                            //  Broker, store and auth are here
    bool isolate;                                         //  The others are children
    bool child;                                           //  We have a parent
    const char *node;                                     //  Node in names, "" = that of the core
    const char *broker;                                   //  Address, NULL = in this process
    const char *key_path;                                 //  --key, or that of the node; "" = none
    bool keyed;                                           //  There is something to show
    argos_key_t key;                                      //  It
    size_t count;                                         //  Entries of actors, without the core
    argos_config_place_t actors[ARGOS_CONFIG_PLACES_MAX]; //  They
    const char *bind[ARGOS_CONFIG_BIND_MAX + 1];          //  What the broker listens on
    char path[PATH_MAX];                                  //  Behind key_path
} argosd_place_t;

//  Everything is borrowed from options, home and config. Returns 0, or -1 with one sentence in
//  reason.
int argosd_place_make (argosd_place_t *self, const argosd_options_t *options,
    const argosd_home_t *home, const argos_config_t *config, char *reason, size_t size);

#endif
