//  argosd_peers_priv - a row of argosd_peers, and what makes children of rows.

#ifndef ARGOSD_PEERS_PRIV_H
#define ARGOSD_PEERS_PRIV_H

#include "argos_adapter.h"
#include "argos_agent_actor.h"
#include "argos_api_actor.h"
#include "argos_cache_actor.h"
#include "argos_child.h"
#include "argos_gateway_actor.h"
#include "argos_handoff_actor.h"
#include "argos_jobs_actor.h"
#include "argos_rehearsal_actor.h"
#include "argos_tools_actor.h"
#include "argosd_peers.h"

#define PEERS_MAX 56  //  Rows of the supervisor that the core leaves
#define STOP_MS 10000 //  Patience with an actor at the end
#define WORDS_MAX 16  //  Of the command line of a child

typedef struct {
    char name[48];     //  Of the row
    zactor_fn *fn;     //  Actor
    argos_link_t link; //  To the broker
    const char *kind;  //  Which actor; NULL = a foreign adapter
    bool hears;        //  It is told of new settings
    union {
        argos_tools_config_t tools;     //  .
        argos_jobs_config_t jobs;       //  .
        argos_agent_config_t agent;     //  .
        argos_cache_config_t cache;     //  .
        argos_gateway_config_t gateway; //  .
        argos_handoff_config_t handoff; //  .
        argos_api_config_t api;         //  .
        argos_adapter_config_t adapter; //  .
    } config;                           //  Its settings, as a thread
    argos_child_config_t child;         //  Its settings, as a child
    char *words[WORDS_MAX];             //  Command line of a child, ours
    char only[48];                      //  A word of it; of a foreign adapter a variable
    char port[16];                      //  .
    const char **env;                   //  Its variables; ours, the strings are not
    char token[ARGOS_TOKEN_MAX + 16];   //  One of them
    char endpoint[PATH_MAX + 32];       //  .
    char account[96];                   //  .
    const argos_platform_t *platform;   //  Of an adapter of ours; NULL = it is none
    char whose[48];                     //  Its account; of a foreign adapter a variable
    char *command;                      //  Of a foreign adapter; ours
    char *secret;                       //  Variable with the token of its account; ours, wiped
} peer_t;

struct argosd_peers {
    const argosd_place_t *place;                   //  What runs here
    const argosd_home_t *home;                     //  Folder
    const argos_config_t *config;                  //  Settings
    const char *core_token;                        //  For children
    const char (*adapter_tokens)[ARGOS_TOKEN_MAX]; //  For foreign adapters
    char files[PATH_MAX];                          //  Folder of the tool attachment
    char job_program[PATH_MAX];                    //  Program that keeps a job
    json_t *settings;                              //  At the start; ours
    int cache;                                     //  Number of the cache beside them
    argos_rehearsal_config_t rehearsal;            //  Its settings
    size_t count;                                  //  Peers
    peer_t peers[PEERS_MAX];                       //  They
};

//  argosd_peers_child.c

//  Makes the row argosd again, for its one actor.
void argosd_peers_child (argosd_peers_t *self, peer_t *peer);

//  Makes the row the program of somebody else, which shows that token.
void argosd_peers_foreign (
    argosd_peers_t *self, peer_t *peer, const argos_config_adapter_t *adapter, const char *token);

#endif
