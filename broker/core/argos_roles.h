//  argos_roles - the built-in roles, as data: who may send, serve and read what, and what is the
//  core's.
//
//  The configuration adds roles or replaces them (argos_access.h). Patterns as in argos_access.c.

#ifndef ARGOS_ROLES_H
#define ARGOS_ROLES_H

typedef enum {
    ARGOS_RULE_SEND,       //  A type to an address
    ARGOS_RULE_LEASE,      //  From a service
    ARGOS_RULE_READ,       //  A topic
    ARGOS_RULE_WILDCARD,   //  Topics by pattern
    ARGOS_RULE_EVERYTHING, //  Nothing is denied
    ARGOS_RULE_LIKE        //  All that another role may
} argos_rule_kind_t;

//  One rule of a built-in role

typedef struct {
    const char *role;       //  Who; NULL behind the last rule
    argos_rule_kind_t kind; //  What it allows
    const char *type;       //  SEND: pattern of types
    const char *pattern;    //  Address, service, topic or role
} argos_roles_rule_t;

//  All rules of a role stand together; what a role is LIKE stands before it.
extern const argos_roles_rule_t argos_roles_builtin[];

//  The roles of a peer of this host that shows nothing, unless the configuration names others.
//  NULL-terminated, as are the following.
extern const char *const argos_roles_ipc[];

//  What is the core's: first parts of services and topics, base names of actors.
extern const char *const argos_roles_core_services[];
extern const char *const argos_roles_core_topics[];
extern const char *const argos_roles_core_actors[];

#endif
