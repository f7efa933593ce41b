//  argos_handoff_ask - what each step of a job asks: the bodies.

#include "argos_handoff_priv.h"

#include "argos_json_get.h"

#include <string.h>

#define LEASE_MS 60000 //  Longer than any step

json_t *
job_ask_session (const job_t *self)
{
    return json_pack ("{s:s}", "id", argos_json_text (self->body, "session_id"));
}

json_t *
job_ask_row (const job_t *self)
{
    return json_pack ("{s:s}", "session_id", argos_json_text (self->body, "session_id"));
}

json_t *
job_ask_home (const job_t *self)
{
    return json_pack (
        "{s:s, s:s}", "space", "home", "key", argos_json_text (job_row (self), "platform"));
}

json_t *
job_ask_nothing (const job_t *self)
{
    (void) self;
    return json_object ();
}

json_t *
job_ask_lane (const job_t *self)
{
    return json_pack ("{s:s, s:s, s:b}", "service", "turn", "key",
        argos_json_text (self->body, "session_id"), "brief", 1);
}

json_t *
job_ask_claim (const job_t *self)
{
    const json_t *row = job_row (self);
    return json_pack ("{s:O, s:O, s:i}", "id", json_object_get (row, "id"), "epoch",
        json_object_get (row, "epoch"), "lease_ms", LEASE_MS);
}

json_t *
job_ask_sent (const job_t *self)
{
    json_t *body = job_ask_claim (self);
    json_object_set_new (body, "sent", json_true ());
    return body;
}

json_t *
job_ask_chat (const job_t *self)
{
    json_t *body = json_pack ("{s:O}", "chat_id", json_object_get (self->place, "chat_id"));
    if (*argos_json_text (self->place, "thread_id"))
        json_object_set (body, "thread_id", json_object_get (self->place, "thread_id"));
    return body;
}

json_t *
job_ask_thread (const job_t *self)
{
    char name[ARGOS_HANDOFF_NAME_SIZE];
    const argos_handoff_case_t facts = job_case (self);
    argos_handoff_name (&facts, name);
    return json_pack (
        "{s:O, s:s}", "chat_id", json_object_get (self->place, "chat_id"), "name", name);
}

json_t *
job_ask_route (const job_t *self)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    argos_route_key (self->source, &self->handoff->policy, key, sizeof key);
    return json_pack ("{s:s}", "key", key);
}

json_t *
job_ask_routes (const job_t *self)
{
    return json_pack ("{s:s, s:i}", "session_id", argos_json_text (self->body, "session_id"),
        "limit", ARGOS_HANDOFF_ROUTES_MAX);
}

//  The record of settings of a conversation; of none there is none.

static json_t *
s_ask_record (const char *key)
{
    char record[ARGOS_ROUTE_RECORD_SIZE];
    argos_route_record (key ? key : "-", record);
    return json_pack ("{s:s, s:s}", "space", "setting", "key", record);
}

json_t *
job_ask_setting (const job_t *self)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    const argos_handoff_case_t facts = job_case (self);
    argos_route_key (self->source, &self->handoff->policy, key, sizeof key);
    return s_ask_record (argos_handoff_from (&facts, key));
}

json_t *
job_ask_there (const job_t *self)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    argos_route_key (self->source, &self->handoff->policy, key, sizeof key);
    return s_ask_record (key);
}

json_t *
job_ask_run (const job_t *self)
{
    return json_pack ("{s:s}", "run_id", argos_json_text (self->body, "run_id"));
}

json_t *
job_ask_delivery (const job_t *self)
{
    return json_pack ("{s:s+}", "id", argos_json_text (self->body, "run_id"), ".answer");
}
