//  argos_access - roles: who may send, serve and read what.
//
//  A role is a list of rules; what no rule allows is denied. The built-in roles are the table in
//  argos_roles.c; `roles:` of the configuration adds to them or replaces them. Pure:
//  the broker asks, nothing here remembers. Read-only once made.

#ifndef ARGOS_ACCESS_H
#define ARGOS_ACCESS_H

#include "argos_header.h"

#include <jansson.h>

#define ARGOS_ROLE_MAX 32     //  Bytes of the name of a role
#define ARGOS_REASON_MAX 256  //  Bytes of a sentence about a wrong configuration
#define ARGOS_PLATFORM_MAX 32 //  Bytes of a platform's name

typedef struct argos_access argos_access_t;
typedef struct argos_role argos_role_t;

//  What the placeholders of a rule stand for: {name}, {platform} and {account}

typedef struct {
    const char *name;     //  Of the key, "" = any
    const char *platform; //  Of its key, "" = any
    const char *account;  //  Of its key, "" = any
} argos_scope_t;

//  The built-in roles and those of the configuration: an object of
//  {"send":["TYPE ADDRESS"],"lease":["SERVICE"],"read":["TOPIC"],"wildcard":bool} by name; NULL =
//  none. ipc_roles (NULL-terminated; NULL = adapter, client, tool) are the roles of a peer of this
//  host that shows nothing. Returns new tables, or NULL with one sentence in reason.
argos_access_t *argos_access_new (
    json_t *roles, const char *const *ipc_roles, char reason[static ARGOS_REASON_MAX]);
void argos_access_destroy (argos_access_t **self_p);

//  The role of that name, NULL = there is none; the one of our own actors; the one of a peer of
//  this host that shows nothing. Borrowed, as long as the tables.
const argos_role_t *argos_access_role (const argos_access_t *self, const char *name);
const argos_role_t *argos_access_core (const argos_access_t *self);
const argos_role_t *argos_access_ipc (const argos_access_t *self);

//  The number of roles, and each by its place; the union of ipc_roles is the last one.
size_t argos_access_count (const argos_access_t *self);
const argos_role_t *argos_access_at (const argos_access_t *self, size_t place);

const char *argos_role_name (const argos_role_t *self);

//  Whether it is the core's own role: everything is allowed and bodies are trusted.
bool argos_role_all (const argos_role_t *self);

//  Whether a message of that type may go to that address (name as in argos_header_t).
bool argos_role_may_send (const argos_role_t *self, const argos_scope_t *scope, const char *type,
    argos_to_t to, const char *name);

//  Whether that service may be served.
bool argos_role_may_serve (
    const argos_role_t *self, const argos_scope_t *scope, const char *service);

//  Whether that topic may be read; with pattern, whether all topics that it matches may be.
bool argos_role_may_read (
    const argos_role_t *self, const argos_scope_t *scope, const char *topic, bool pattern);

//  Whether a peer that is not of the core must not have that name (a base name).
bool argos_access_reserved (const char *base);

#endif
