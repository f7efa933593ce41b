//  argos_agent_note - what was said beside a session (session.note) becomes a row of its
//  transcript.
//
//  Invariant: a note is one row, once: its id is that of the message. No turn runs. Limits: those
//  of the slots, as a turn.

#include "argos_agent_priv.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define AGAIN_MS 1000 //  Pause before one is tried again

struct note {
    agent_t *agent;           //  Whose
    argos_lease_t *lease;     //  NULL once it is lost
    struct note *prev, *next; //  In the agent's list
};

static void
s_on_answer (void *arg, const argos_peer_answer_t *answer)
{
    note_t *self = (note_t *) arg;
    bool gone =
        answer->code == ARGOS_OK || answer->code == ARGOS_FENCED || answer->code == ARGOS_GONE;
    bool never = answer->code == ARGOS_NOT_FOUND || answer->code == ARGOS_INVALID;
    if (self->lease && !gone)
        argos_lease_release (&self->lease, never ? 0 : AGAIN_MS, !never,
            never ? argos_err_name (answer->code) : NULL);
    DL_DELETE (self->agent->notes, self);
    free (self);
}

void
agent_note (agent_t *agent, const argos_peer_msg_t *msg)
{
    note_t *self = (note_t *) calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (note_t){ .agent = agent, .lease = msg->lease };
    DL_APPEND (agent->notes, self);
    const char *origin = json_string_value (json_object_get (msg->body, "origin"));
    const char *text = json_string_value (json_object_get (msg->body, "text"));
    argos_peer_part_t part = { .type = "session.append",
        .to = "store",
        .body = json_pack ("{s:O, s:[{s:s, s:o, s:s}]}", "session_id",
            json_object_get (msg->body, "session_id"), "messages", "role", "assistant", "content",
            json_sprintf ("[Delivered from %s] %s", origin ? origin : "", text ? text : ""),
            "client_id", msg->id) };
    argos_err_t code = argos_lease_done (msg->lease, &part, 1, NULL, 0, s_on_answer, self);
    if (code != ARGOS_OK)
        s_on_answer (self, &(argos_peer_answer_t){ .code = code, .part = -1 });
}

bool
agent_note_lost (agent_t *agent, const argos_lease_t *lease)
{
    note_t *note;
    DL_FOREACH (agent->notes, note)
        if (note->lease == lease) {
            note->lease = NULL;
            return true;
        }
    return false;
}
