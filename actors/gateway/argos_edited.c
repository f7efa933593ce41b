//  argos_edited - see the header.
//
//  Invariant: a message is answered by one turn, whatever becomes of its text; the turn that is
//  called off is one that nobody has seen begin. Limit: 64 messages of a lane are looked at.

#include "argos_edited.h"

#include "argos_cmd.h"
#include "argos_gate.h"
#include "argos_hook_event.h"
#include "argos_json_get.h"
#include "argos_parts.h"

#include <stdio.h>
#include <string.h>

bool
argos_edited_is (const argos_gateway_case_t *self)
{
    return !self->notice &&
           (json_object_get (self->body, "edits") || json_object_get (self->body, "reaction"));
}

unsigned
argos_edited_needs (const argos_gateway_case_t *self)
{
    return json_object_get (self->body, "edits")
               ? ARGOS_FACT_BIT (ARGOS_FACT_ROUTE) | ARGOS_FACT_BIT (ARGOS_FACT_LANE) |
                     ARGOS_FACT_BIT (ARGOS_FACT_SETTING)
               : 0;
}

//  Whether a stop for this run waits in the lane.

static bool
s_is_called_off (const argos_gateway_case_t *self, const char *run)
{
    size_t index;
    json_t *message;
    json_array_foreach (json_object_get (self->fact[ARGOS_FACT_LANE], "messages"), index, message)
        if (strcmp (argos_json_text (message, "type"), "turn.stop") == 0 &&
            strcmp (argos_json_text (json_object_get (message, "body"), "run_id"), run) == 0)
            return true;
    return false;
}

//  Whether that is the turn of the message as it is now, and nobody has begun it or called it off.

static bool
s_is_waiting (const argos_gateway_case_t *self, json_t *message, const char *run, const char *edits)
{
    const json_t *body = json_object_get (message, "body");
    const char *id = argos_json_text (message, "id");
    bool ours = strcmp (id, run) == 0 || strcmp (argos_json_text (body, "edits"), edits) == 0;
    return ours && body && json_integer_value (json_object_get (message, "attempt")) == 0 &&
           !json_is_true (json_object_get (message, "side")) && !s_is_called_off (self, id);
}

//  The turn that waits for the message, made of it or of an edit of it; NULL = there is none.

static const json_t *
s_waiting (const argos_gateway_case_t *self)
{
    argos_gateway_case_t before = *self;
    char run[ARGOS_RUN_ID_SIZE];
    size_t index;
    json_t *message;
    before.id = json_string_value (json_object_get (self->body, "edits"));
    if (!before.id)
        return NULL;
    argos_gateway_run (&before, run);
    json_array_foreach (json_object_get (self->fact[ARGOS_FACT_LANE], "messages"), index, message)
        if (s_is_waiting (self, message, run, before.id))
            return message;
    return NULL;
}

//  The turn of the new text, with the files of the old one, in place of that one.

void
argos_edited_step (const argos_gateway_case_t *self, json_t *parts)
{
    char id[64];
    const json_t *waiting = s_waiting (self), *old = json_object_get (waiting, "body");
    if (!waiting)
        return;
    json_t *body = json_deep_copy (self->body), *made = json_array ();
    if (json_object_get (old, "attachments"))
        json_object_set (body, "attachments", json_object_get (old, "attachments"));
    argos_gateway_case_t now = *self;
    now.body = body;
    argos_gateway_turn (&now, argos_json_text (body, "text"), false, made);
    const json_t *request = argos_parts_request (made);
    const char *text = argos_json_text (json_object_get (request, "body"), "text");
    //  Platforms tell of an edit also when a preview of a link has come
    if (request && strcmp (text, argos_json_text (old, "text")) != 0) {
        json_array_extend (parts, made);
        argos_cmd_id (self, "edit", id);
        argos_parts_turn_new (parts, "turn.stop", id, argos_json_text (request, "key"), true,
            json_pack ("{s:s, s:s, s:b}", "run_id", argos_json_text (waiting, "id"), "reason",
                "the message was edited", "quiet", 1));
    }
    json_decref (made);
    json_decref (body);
}

json_t *
argos_edited_event (const argos_gateway_case_t *self, const json_t *parts)
{
    const json_t *reaction = json_object_get (self->body, "reaction");
    if (!argos_edited_is (self) || !argos_gate_passes (self))
        return NULL;
    json_t *event = argos_hook_event_new (
        reaction ? "message:reaction" : "message:edited", json_object_get (self->body, "source"));
    argos_hook_event_text (event, "message_id", argos_json_text (self->body, "message_id"));
    if (reaction) {
        argos_hook_event_text (event, "emoji", argos_json_text (reaction, "emoji"));
        argos_hook_event_text (
            event, "state", json_is_true (json_object_get (reaction, "on")) ? "added" : "removed");
        return event;
    }
    argos_hook_event_text (event, "message", argos_json_text (self->body, "text"));
    argos_hook_event_text (event, "run_id", argos_json_text (argos_parts_request (parts), "id"));
    return event;
}
