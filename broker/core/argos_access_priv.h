//  argos_access_priv - the structs that argos_access.c, which makes roles, and argos_match.c, which
//  asks them, share.

#ifndef ARGOS_ACCESS_PRIV_H
#define ARGOS_ACCESS_PRIV_H

#include "argos_access.h"
#include "argos_roles.h"

#define ROLES_MAX 64

//  A rule of a role

typedef struct {
    argos_rule_kind_t kind; //  SEND, LEASE or READ
    argos_to_t to;          //  SEND: kind of the address
    char *type;             //  SEND: pattern of types; ours
    char *pattern;          //  Of names, "" for the store; ours
} rule_t;

struct argos_role {
    char name[ARGOS_ROLE_MAX * 8]; //  Name; of a union, those of its parts
    bool all;                      //  Everything is allowed
    bool wildcard;                 //  May read by pattern
    size_t count;                  //  Rules
    rule_t *rules;                 //  Ours
};

struct argos_access {
    size_t count;                      //  Roles
    argos_role_t roles[ROLES_MAX + 1]; //  By order of their making; the last is that of ipc
};

//  Whether a list, NULL-terminated, has this word.
bool argos_match_listed (const char *const *list, const char *word, size_t size);

#endif
