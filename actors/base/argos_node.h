//  argos_node - nodes by name, and the services of one of them.
//
//  A task has a home: the node whose files, shells and processes its tools work with (the row of
//  its session, `home`). Tools that touch those (flag `host` of argos_toolset) are served twice: as
//  tool.<name>, by any node, and as tool.<name>@<node>, where a task with that home calls them.

#ifndef ARGOS_NODE_H
#define ARGOS_NODE_H

#include "argos_header.h"
#include "argos_link.h"

#define ARGOS_NODE_CORE "core" //  The node of the broker, whatever the settings call it
#define ARGOS_NODE_SIZE 32     //  Bytes of a name, terminated

//  The node that a link belongs to. Borrowed from self, or static.
const char *argos_node_of (const argos_link_t *self);

//  The name of a service on a node: <service>@<node>.
void argos_node_service (
    const char *service, const char *node, char target[static ARGOS_NAME_MAX + 1]);

#endif
