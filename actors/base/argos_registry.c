//  argos_registry - follows the offers of tools.
//
//  Invariant: at most one reading is on its way; a change that is told meanwhile makes another one
//  follow. Limit: ARGOS_TOOLSET_MAX offers, one page of records.

#include "argos_registry.h"

#include <stdlib.h>
#include <string.h>

struct argos_registry {
    argos_peer_t *peer;    //  Whose thread
    argos_registry_fn *fn; //  Told of changes
    void *arg;             //  For it
    argos_toolset_t *set;  //  As it was read
    bool reading;          //  A reading is on its way
    bool again;            //  Something changed since
};

static void s_read (argos_registry_t *self);

static void
s_on_records (void *arg, const argos_peer_answer_t *answer)
{
    argos_registry_t *self = arg;
    self->reading = false;
    if (answer->code == ARGOS_GONE)
        return;
    if (answer->code == ARGOS_OK &&
        argos_toolset_load (self->set, json_object_get (answer->body, "records")) && self->fn)
        self->fn (self->arg);
    if (self->again)
        s_read (self);
}

static void
s_read (argos_registry_t *self)
{
    argos_peer_part_t part = { .type = "record.list",
        .to = "store",
        .body = json_pack ("{s:s, s:i}", "space", ARGOS_TOOLSET_SPACE, "limit", 200) };
    self->again = self->reading;
    if (!self->reading)
        self->reading = argos_peer_send (self->peer, &part, s_on_records, self) == ARGOS_OK;
    else
        json_decref (part.body);
}

argos_registry_t *
argos_registry_new (argos_peer_t *peer, argos_registry_fn *fn, void *arg)
{
    argos_registry_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (argos_registry_t){ .peer = peer, .fn = fn, .arg = arg, .set = argos_toolset_new () };
    argos_peer_subscribe (peer, ARGOS_TOOLSET_TOPIC, 0);
    return self;
}

void
argos_registry_destroy (argos_registry_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_toolset_destroy (&(*self_p)->set);
    free (*self_p);
    *self_p = NULL;
}

void
argos_registry_welcome (argos_registry_t *self)
{
    s_read (self);
}

bool
argos_registry_entry (argos_registry_t *self, const char *topic)
{
    if (strcmp (topic, ARGOS_TOOLSET_TOPIC) != 0)
        return false;
    s_read (self);
    return true;
}

const argos_toolset_t *
argos_registry_set (const argos_registry_t *self)
{
    return self->set;
}
