//  argos_peer_serve - what this peer is a worker of, and what it tells of itself with that.
//
//  Invariant: the list is told with each welcome, and each change of it at once. A service stays in
//  it: slots 0 is a pause.

#include "argos_peer_priv.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void
argos_peer_send_serve (argos_peer_t *self, const peer_service_t *service)
{
    char id[ARGOS_ID_MAX + 1];
    snprintf (id, sizeof id, "service:%s", service->name);
    peer_head_t head = { .type = "serve", .id = id, .seen = -1 };
    json_t *body = json_pack ("{s:s,s:i}", "service", service->name, "slots", service->slots);
    if (service->types)
        json_object_set (body, "types", service->types);
    if (service->capabilities)
        json_object_set (body, "capabilities", service->capabilities);
    argos_peer_word (self, &head, body);
}

static peer_service_t *
s_service (argos_peer_t *self, const char *service)
{
    const char *name = argos_peer_bare (service, "service:");
    peer_service_t *found;
    LL_FOREACH (self->services, found)
        if (strcmp (found->name, name) == 0)
            return found;
    found = calloc (1, sizeof *found);
    if (!found || !(found->name = strdup (name)))
        abort ();
    LL_APPEND (self->services, found);
    return found;
}

void
argos_peer_capabilities (argos_peer_t *self, const char *service, json_t *capabilities)
{
    peer_service_t *found = s_service (self, service);
    json_decref (found->capabilities);
    found->capabilities = capabilities;
}

void
argos_peer_serve (argos_peer_t *self, const char *service, int slots, const char *const *types)
{
    peer_service_t *found = s_service (self, service);
    found->slots = slots;
    json_decref (found->types);
    found->types = types ? json_array () : NULL;
    for (; types && *types; types++)
        json_array_append_new (found->types, json_string (*types));
    if (self->state == PEER_READY)
        argos_peer_send_serve (self, found);
}
