//  argos_config_priv - what the parts of argos_config share; private to them.

#ifndef ARGOS_CONFIG_PRIV_H
#define ARGOS_CONFIG_PRIV_H

#include "argos_config.h"

#include <jansson.h>
#include <stdlib.h>

//  Strings of a snapshot that are not in its tree

typedef struct {
    json_t *tree;                   //  The files with defaults filled in, owned
    json_t *origins;                //  Path to where it was set, owned
    char *home;                     //  The folder, owned
    char *key;                      //  The secret, owned; wiped at the end
    char *problem;                  //  Sentence about the provider, owned
    const char **origins_list;      //  http.cors_origins, owned; the strings are the tree's
    const char **services;          //  services, owned; the strings are the tree's
    const char **ipc_roles;         //  ipc_roles, owned; the strings are the tree's
    char *roles;                    //  roles as text, owned
    argos_config_service_t *limits; //  service_limits, owned; the strings are the tree's
    argos_config_topic_t *topics;   //  topics, owned; the strings are the tree's
    char *base_url;                 //  Without the slash at its end, owned
    char *fallback_keys[ARGOS_FALLBACKS_MAX];     //  Secrets of the others, owned; wiped at the end
    char *fallback_urls[ARGOS_FALLBACKS_MAX];     //  Their base_url, owned
    char *fallback_problems[ARGOS_FALLBACKS_MAX]; //  Sentences about them, owned
} argos_config_memory_t;

//  memory, unless there is none: then this process ends.
static inline void *
argos_config_must (void *memory)
{
    if (!memory)
        abort ();
    return memory;
}

//  The tree of argos.yaml, local.yaml (or local, its text, when that is not NULL) and the
//  environment, not checked; new, may be no object. Fills origins (an object): path to
//  "argos.yaml:7" or the name of a variable. NULL with a reason when a file can't be read.
json_t *argos_config_read (
    const char *home, const char *local, json_t *origins, char *reason, size_t size);

//  One file of them alone.
json_t *argos_config_read_one (
    const char *home, const char *name, json_t *origins, char *reason, size_t size);

//  argos_config_load with a text instead of local.yaml.
argos_config_t *argos_config_try (const char *home, const char *local, argos_config_warn_fn *warn,
    void *arg, char *reason, size_t size);

//  The schema of the settings; new, the caller's.
json_t *argos_config_schema (void);

//  What a schema of it stands for, which may be a $ref. Borrowed from root.
const json_t *argos_config_resolve (const json_t *root, const json_t *schema);

//  The text of a local.yaml that holds tree; new, the caller's.
char *argos_config_yaml (json_t *tree);

//  Who stands in for the provider: the list of the file, without what names no vendor.
void argos_config_fallbacks (
    argos_config_t *config, argos_config_memory_t *memory, const json_t *list);

//  Lays the environment over the tree.
void argos_config_environment (json_t *tree, json_t *origins);

//  Notes where path was set.
void argos_config_set_place (json_t *origins, const char *path, const char *origin);

//  Where path was set, or the nearest thing around it. Borrowed from origins, or static.
const char *argos_config_place_of (const json_t *origins, const char *path);

//  Fills config->provider from the file's block (NULL = there is none) and the environment.
void argos_config_provider (
    argos_config_t *config, argos_config_memory_t *memory, const json_t *block);

//  Lays home/node.json under the files' tree, as far as its sections are shared. Returns 0, or -1
//  with a reason.
int argos_config_under (json_t *tree, json_t *origins, const char *home, char *reason, size_t size);

//  Told of what is wrong: the path of a key, and what was expected there.
typedef void (argos_config_problem_fn) (
    void *arg, const char *path, const char *expected, bool unknown);

//  Fills bind, nodes and adapters. Returns 0, or -1 when fn has been told of something.
int argos_config_nodes (
    argos_config_t *config, const json_t *tree, argos_config_problem_fn *fn, void *arg);
void argos_config_nodes_free (argos_config_t *config);

#endif
