//  argos_node - see the header. Pure. Limit: what is longer than a name is cut; no service of ours
//  is.

#include "argos_node.h"

#include <stdio.h>

const char *
argos_node_of (const argos_link_t *self)
{
    return self->node && *self->node ? self->node : ARGOS_NODE_CORE;
}

void
argos_node_service (const char *service, const char *node, char target[static ARGOS_NAME_MAX + 1])
{
    snprintf (target, ARGOS_NAME_MAX + 1, "%.31s@%.31s", service, node);
}
