//  argos_config_priv - what the parts of argos_config share; private to them.

#ifndef ARGOS_CONFIG_PRIV_H
#define ARGOS_CONFIG_PRIV_H

#include "argos_config.h"

#include <jansson.h>

//  Strings of a snapshot that are not in its tree

typedef struct {
    json_t *tree;                   //  The file with defaults filled in, owned
    char *home;                     //  The folder, owned
    char *key;                      //  The secret, owned; wiped at the end
    char *problem;                  //  Sentence about the provider, owned
    const char **origins;           //  http.cors_origins, owned; the strings are the tree's
    const char **services;          //  services, owned; the strings are the tree's
    const char **ipc_roles;         //  ipc_roles, owned; the strings are the tree's
    char *roles;                    //  roles as text, owned
    argos_config_service_t *limits; //  service_limits, owned; the strings are the tree's
    argos_config_topic_t *topics;   //  topics, owned; the strings are the tree's
    char *base_url;                 //  Without the slash at its end, owned
} argos_config_memory_t;

//  Fills config->provider from the file's block (NULL = there is none) and the environment.
void argos_config_provider (
    argos_config_t *config, argos_config_memory_t *memory, const json_t *block);

//  Told of what is wrong: the path of a key, and what was expected there.
typedef void (argos_config_problem_fn) (
    void *arg, const char *path, const char *expected, bool unknown);

//  Fills bind, nodes and adapters. Returns 0, or -1 when fn has been told of something.
int argos_config_nodes (
    argos_config_t *config, const json_t *tree, argos_config_problem_fn *fn, void *arg);
void argos_config_nodes_free (argos_config_t *config);

#endif
