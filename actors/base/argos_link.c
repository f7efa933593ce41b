//  argos_link - see the header. Pure. Limit: names are cut at ARGOS_NAME_MAX; the configuration
//  lets none be that long.

#include "argos_link.h"

#include "argos_broker_actor.h"

#include <stdio.h>

void
argos_link_apply (const argos_link_t *self, const char *actor, argos_peer_config_t *peer,
    char name[static ARGOS_NAME_MAX + 1])
{
    bool away = self->node && *self->node;
    char number[16] = "";
    if (self->number)
        snprintf (number, sizeof number, ".%d", self->number);
    snprintf (name, ARGOS_NAME_MAX + 1, "%s%s%s%s", actor, number, away ? "@" : "",
        away ? self->node : "");
    peer->name = name;
    peer->endpoint = self->endpoint ? self->endpoint : ARGOS_BROKER_INPROC;
    peer->key = self->key;
}
