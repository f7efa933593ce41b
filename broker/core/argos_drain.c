//  argos_drain - peers that get nothing new by order of an operator.
//
//  Invariant: a drained name has nothing leased to it or asked of it, whatever session bears it;
//  what it has in hand goes on. Held in memory only: a broker that starts anew knows of none, so
//  that a drain never outlives the reason for it unseen. Limits: 4,096 names.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DRAINED_MAX 4096

static drained_t *
s_find (argos_core_t *self, const char *name)
{
    drained_t *drained;
    HASH_FIND_STR (self->drained, name, drained);
    return drained;
}

bool
argos_drain_holds (argos_core_t *self, const char *name)
{
    return s_find (self, name) != NULL;
}

static void
s_drain (argos_core_t *self, const char *name)
{
    drained_t *drained = calloc (1, sizeof *drained);
    assert (drained);
    memcpy (drained->name, name, strlen (name) + 1);
    HASH_ADD_STR (self->drained, name, drained);
}

static void
s_undrain (argos_core_t *self, drained_t *drained)
{
    HASH_DEL (self->drained, drained);
    free (drained);
}

void
argos_drain_free (argos_core_t *self)
{
    drained_t *drained, *next;
    HASH_ITER (hh, self->drained, drained, next)
        s_undrain (self, drained);
}

//  peer.drain: a name that nobody bears is a typo, but for one that was drained and has gone.

void
argos_drain_order (session_t *session, const argos_header_t *header, const json_t *body)
{
    argos_core_t *self = session->core;
    const char *name = json_string_value (json_object_get (body, "name"));
    bool on = json_is_true (json_object_get (body, "on"));
    session_t *peer = argos_session_named (self, name);
    drained_t *drained = s_find (self, name);
    if (!drained && !peer) {
        argos_core_refuse (
            self, session->conn, header->id, ARGOS_NO_PEER, "no such peer is here", -1, false);
        return;
    }
    if (on && !drained && HASH_COUNT (self->drained) >= DRAINED_MAX) {
        argos_core_refuse (
            self, session->conn, header->id, ARGOS_BUSY, "4096 peers are drained", -1, false);
        return;
    }
    if (on && !drained)
        s_drain (self, name);
    else if (!on && drained)
        s_undrain (self, drained);
    if (peer)
        peer->drained = on;
    argos_admin_done (session, header->id);
    if (peer && !on)
        argos_service_woken (peer);
}
