//  argos_offers - takes offers of tools from other peers.
//
//  Invariant: each request is answered once. What is stored is decided on the record that was read,
//  and stored only if it is still that one. Limits: ARGOS_TOOLSET_MAX offers, about, when several
//  come at the same time.

#include "argos_offers.h"

#include "argos_header.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    argos_peer_t *peer;            //  Ours
    char from[ARGOS_NAME_MAX + 1]; //  Who offers
    char id[ARGOS_ID_MAX + 1];     //  Of its request
    char by[ARGOS_NAME_MAX + 1];   //  Its base name
    json_t *offer;                 //  Body of the request
    bool full;                     //  No more are taken
} s_offer_t;

static void
s_end (s_offer_t *self)
{
    json_decref (self->offer);
    free (self);
}

static void
s_refuse (s_offer_t *self, argos_err_t code, const char *reason)
{
    argos_peer_reply_to (self->peer, self->from, self->id, "error",
        json_pack ("{s:s, s:s}", "code", argos_err_name (code), "reason", reason));
    s_end (self);
}

static void
s_accept (s_offer_t *self, bool changed)
{
    argos_peer_reply_to (self->peer, self->from, self->id, "tool.offer.result",
        json_pack ("{s:b}", "changed", changed));
    s_end (self);
}

static void
s_on_stored (void *arg, const argos_peer_answer_t *answer)
{
    s_offer_t *self = arg;
    if (answer->code == ARGOS_GONE)
        s_end (self);
    else if (answer->code == ARGOS_OK)
        s_accept (self, true);
    else
        s_refuse (self, answer->code, answer->reason);
}

//  The record and the entry that tells of it; value is stolen, NULL = the tool is withdrawn.

static void
s_store (s_offer_t *self, json_t *value, json_int_t version)
{
    const char *name = json_string_value (json_object_get (self->offer, "name"));
    bool gone = !value;
    json_t *put = json_pack (
        "{s:s, s:s, s:I}", "space", ARGOS_TOOLSET_SPACE, "key", name, "version", version);
    if (value)
        json_object_set_new (put, "value", value);
    const argos_peer_part_t parts[] = { { .type = "record.put", .to = "store", .body = put },
        { .type = "tool.offered",
            .to = "topic:" ARGOS_TOOLSET_TOPIC,
            .durable = true,
            .body = json_pack ("{s:s, s:b}", "name", name, "withdrawn", gone) } };
    argos_err_t code = argos_peer_commit (self->peer, NULL, parts, 2, s_on_stored, self);
    if (code != ARGOS_OK)
        s_refuse (self, code, "the offer could not be stored; offer it again later");
}

static void
s_on_record (void *arg, const argos_peer_answer_t *answer)
{
    s_offer_t *self = arg;
    const json_t *record = json_object_get (answer->body, "record");
    json_t *old = json_object_get (record, "value");
    const char *owner = json_string_value (json_object_get (old, "by"));
    json_int_t version = json_integer_value (json_object_get (record, "version"));
    bool withdraw = argos_toolset_flag (self->offer, "withdraw");
    if (answer->code == ARGOS_GONE) {
        s_end (self);
        return;
    }
    if (answer->code != ARGOS_OK) {
        s_refuse (self, answer->code, answer->reason);
        return;
    }
    if (owner && strcmp (owner, self->by) != 0) {
        s_refuse (self, ARGOS_CONFLICT, "another peer has offered a tool of that name");
        return;
    }
    if (!old && self->full && !withdraw) {
        s_refuse (self, ARGOS_BUSY, "too many tools are offered");
        return;
    }
    json_t *value = withdraw ? NULL : argos_toolset_value (self->offer, self->by);
    if (json_equal (value, old) || (!value && !old)) {
        json_decref (value);
        s_accept (self, false);
    }
    else
        s_store (self, value, version);
}

void
argos_offers_take (argos_peer_t *peer, const argos_peer_msg_t *msg, const argos_toolset_t *set)
{
    char reason[200];
    s_offer_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (s_offer_t){ .peer = peer,
        .offer = json_incref (msg->body),
        .full = argos_toolset_offers (set) >= ARGOS_TOOLSET_MAX };
    snprintf (self->from, sizeof self->from, "%s", msg->from);
    snprintf (self->id, sizeof self->id, "%s", msg->id);
    argos_name_base (msg->from, self->by);
    const char *name = json_string_value (json_object_get (msg->body, "name"));
    const json_t *tool = argos_toolset_find (set, name);
    const char *by = json_string_value (json_object_get (tool, "by"));
    if (!argos_toolset_check (msg->body, reason, sizeof reason))
        s_refuse (self, ARGOS_INVALID, reason);
    else if (tool && (!by || strcmp (by, "agent") == 0))
        s_refuse (self, ARGOS_CONFLICT, "a tool of that name comes with Argos");
    else {
        argos_peer_part_t part = { .type = "record.get",
            .to = "store",
            .body = json_pack ("{s:s, s:s}", "space", ARGOS_TOOLSET_SPACE, "key", name) };
        argos_err_t code = argos_peer_send (peer, &part, s_on_record, self);
        if (code != ARGOS_OK)
            s_refuse (self, code, "the store can't be asked; offer it again later");
    }
}
