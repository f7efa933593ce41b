//  argos_agent_list - a list of parts under construction: where each goes.
//
//  Pure. Invariant: whatever is added has its address, its key and its id in the list itself.
//  Limits: 64 parts; what is built here is counted by who builds it.

#include "argos_agent_priv.h"
#include "argos_out.h"
#include "argos_route_key.h"

#include <assert.h>
#include <stdio.h>

static argos_peer_part_t *
s_part (parts_t *self, const char *type, json_t *body)
{
    assert (self->count < 64); //  What is built here is counted
    argos_peer_part_t *part = &self->parts[self->count];
    *part = (argos_peer_part_t){ .type = type, .to = self->to[self->count], .body = body };
    self->count++;
    return part;
}

void
parts_lane (
    parts_t *self, const char *session, const char *type, const char *id, bool side, json_t *body)
{
    size_t at = self->count;
    snprintf (self->to[at], sizeof self->to[at], "service:turn");
    snprintf (self->id[at], sizeof self->id[at], "%s", id);
    snprintf (self->key[at], sizeof self->key[at], "%s", session);
    argos_peer_part_t *part = s_part (self, type, body);
    part->durable = true;
    part->side = part->urgent = side;
    part->id = self->id[at];
    part->key = self->key[at];
}

void
parts_store (parts_t *self, const char *type, json_t *body)
{
    snprintf (self->to[self->count], sizeof self->to[0], "store");
    s_part (self, type, body);
}

void
parts_entry (parts_t *self, const char *run_id, const char *type, bool last, json_t *body)
{
    snprintf (self->to[self->count], sizeof self->to[0], "topic:run.%s", run_id);
    argos_peer_part_t *part = s_part (self, type, body);
    part->durable = true;
    part->last = last;
}

void
parts_records (parts_t *self, const json_t *request)
{
    size_t index;
    json_t *record;
    json_array_foreach (json_object_get (request, "settle"), index, record)
        parts_store (self, "record.put", json_incref (record));
}

void
parts_turn (parts_t *self, const char *type, const char *id, const char *session, json_t *body)
{
    size_t at = self->count;
    snprintf (self->to[at], sizeof self->to[at], "service:turn");
    snprintf (self->id[at], sizeof self->id[at], "%s", id);
    snprintf (self->key[at], sizeof self->key[at], "%s", session);
    argos_peer_part_t *part = s_part (self, type, body);
    part->durable = true;
    part->id = self->id[at];
    part->key = self->key[at];
}

void
parts_over (parts_t *self, const json_t *request, const char *run_id, const char *delivery)
{
    size_t at = self->count;
    const char *service = json_string_value (json_object_get (request, "deliver"));
    if (json_object_get (request, "task") ||
        argos_out_topic (service, self->to[at], sizeof self->to[at]) != 0)
        return;
    s_part (self, ARGOS_OUT_TYPE,
        argos_out_body (json_object_get (request, "source"),
            json_string_value (json_object_get (request, "reply_to")), run_id, "done", delivery))
        ->durable = true;
}

static void
s_copy (json_t *target, const char *name, json_t *value)
{
    if (json_is_string (value))
        json_object_set (target, name, value);
}

bool
parts_chat (parts_t *self, const json_t *request, const char *id, json_t *body)
{
    const char *service = json_string_value (json_object_get (request, "deliver"));
    const json_t *source = json_object_get (request, "source");
    size_t at = self->count;
    if (!service || argos_route_lane (source, self->key[at], sizeof self->key[at]) < 0) {
        json_decref (body);
        return false;
    }
    s_copy (body, "chat_id", json_object_get (source, "chat_id"));
    s_copy (body, "thread_id", json_object_get (source, "thread_id"));
    s_copy (body, "reply_to", json_object_get (request, "reply_to"));
    snprintf (self->to[at], sizeof self->to[at], "service:%s", service);
    snprintf (self->id[at], sizeof self->id[at], "%s", id);
    argos_peer_part_t *part = s_part (self, "deliver.request", body);
    part->durable = true;
    part->id = self->id[at];
    part->key = self->key[at];
    return true;
}

bool
parts_files (parts_t *self, const json_t *request, const char *run_id, json_t *files)
{
    static const char *const copied[] = { "chat_id", "thread_id" };
    json_t *service = json_object_get (request, "deliver");
    const json_t *source = json_object_get (request, "source");
    size_t at = self->count;
    if (!service || argos_route_lane (source, self->key[at], sizeof self->key[at]) < 0)
        return false;
    json_t *body = json_pack ("{s:O, s:s, s:s, s:O}", "service", service, "key", self->key[at],
        "run_id", run_id, "files", files);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        s_copy (body, copied[i], json_object_get (source, copied[i]));
    s_copy (body, "reply_to", json_object_get (request, "reply_to"));
    if (json_object_get (request, "session_id"))
        json_object_set (body, "session_id", json_object_get (request, "session_id"));
    snprintf (self->to[at], sizeof self->to[at], "service:tool.files");
    snprintf (self->id[at], sizeof self->id[at], "%s.files", run_id);
    argos_peer_part_t *part = s_part (self, "file.send", body);
    part->durable = true;
    part->id = self->id[at];
    part->key = self->key[at];
    return true;
}
