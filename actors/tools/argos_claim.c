//  argos_claim - see the header.
//
//  Invariant: each request is answered once, after the store has.

#include "argos_claim.h"

#include "argos_node.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    argos_peer_t *peer;            //  Ours
    char from[ARGOS_NAME_MAX + 1]; //  Who asks
    char id[ARGOS_ID_MAX + 1];     //  Of its request
    char node[ARGOS_NODE_SIZE];    //  For which node
} s_claim_t;

void
argos_claim_serve (argos_peer_t *peer, const char *service, const char *node, int slots)
{
    char own[ARGOS_NAME_MAX + 1];
    argos_node_service (service, node, own);
    argos_peer_serve (peer, service, slots, NULL);
    argos_peer_serve (peer, own, slots, NULL);
}

static void
s_refuse (s_claim_t *self, argos_err_t code, const char *reason)
{
    argos_peer_reply_to (self->peer, self->from, self->id, "error",
        json_pack ("{s:s, s:s}", "code", argos_err_name (code), "reason", reason));
}

static void
s_on_stored (void *arg, const argos_peer_answer_t *answer)
{
    s_claim_t *self = arg;
    if (answer->code == ARGOS_OK)
        argos_peer_reply_to (self->peer, self->from, self->id, "task.home.result",
            json_pack ("{s:s}", "home", self->node));
    else if (answer->code != ARGOS_GONE)
        s_refuse (self, answer->code, answer->reason);
    free (self);
}

void
argos_claim_take (argos_peer_t *peer, const argos_peer_msg_t *msg, const char *node)
{
    s_claim_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (s_claim_t){ .peer = peer };
    snprintf (self->from, sizeof self->from, "%s", msg->from);
    snprintf (self->id, sizeof self->id, "%s", msg->id);
    snprintf (self->node, sizeof self->node, "%s", node);
    argos_peer_part_t part = { .type = "session.home",
        .to = "store",
        .durable = true,
        .body = json_pack (
            "{s:O, s:s}", "id", json_object_get (msg->body, "session_id"), "home", node) };
    argos_err_t code = argos_peer_send (peer, &part, s_on_stored, self);
    if (code == ARGOS_OK)
        return;
    s_refuse (self, code, "the store can't be asked; ask again later");
    free (self);
}
