//  argos_gateway - what the gateway does with a message.
//
//  Invariant: the parts depend on the case only; the same case gives the same parts, byte for byte.
//  Pure: the time and the entropy are members of the case.

#include "argos_gateway.h"

#include "argos_asked.h"
#include "argos_busy.h"
#include "argos_command.h"
#include "argos_edited.h"
#include "argos_expire.h"
#include "argos_first.h"
#include "argos_gate.h"
#include "argos_header.h"
#include "argos_parts.h"
#include "argos_platform.h"
#include "argos_say.h"
#include "argos_setting.h"

#include <stdio.h>
#include <string.h>

void
argos_gateway_policy_init (argos_gateway_policy_t *policy)
{
    *policy = (argos_gateway_policy_t){ .queue_max = 32 };
    argos_route_policy_init (&policy->route);
}

void
argos_gateway_policy_read (argos_gateway_policy_t *policy, const json_t *config)
{
    argos_gateway_policy_init (policy);
    policy->config = config;
    policy->queue_max = (int) argos_setting_int (config, NULL, NULL, "gateway.queue_max");
    policy->route.per_user =
        argos_setting_bool (config, NULL, NULL, "gateway.group_sessions_per_user");
    policy->route.per_user_in_thread =
        argos_setting_bool (config, NULL, NULL, "gateway.thread_sessions_per_user");
}

//  ---------------------------------------------------------------------------------------------
//  What the message says

static const json_t *
s_source (const argos_gateway_case_t *self)
{
    return json_object_get (self->body, "source");
}

//  A text member of the body, NULL when it is absent.

static const char *
s_text (const argos_gateway_case_t *self, const char *name)
{
    return json_string_value (json_object_get (self->body, name));
}

static const argos_platform_t *
s_platform (const argos_gateway_case_t *self)
{
    return argos_platform_find (json_string_value (json_object_get (s_source (self), "platform")));
}

//  Whether it is answered by the run itself, as what comes through the HTTP API is.

static bool
s_is_api (const argos_gateway_case_t *self)
{
    return s_platform (self)->by_run;
}

void
argos_gateway_run (const argos_gateway_case_t *self, char *target)
{
    const char *given = s_text (self, "run_id");
    if (given) {
        argos_parts_cut (given, target, ARGOS_RUN_ID_SIZE);
        return;
    }
    char digest[ARGOS_DIGEST_SIZE];
    argos_parts_digest (self->from, self->id, digest);
    snprintf (target, ARGOS_RUN_ID_SIZE, "run_%s", digest);
}

void
argos_gateway_named (const argos_gateway_case_t *self, char *target)
{
    const char *given = s_text (self, "session_id");
    *target = 0;
    if (given)
        argos_parts_cut (given, target, ARGOS_SESSION_ID_MAX + 1);
    else if (s_is_api (self))
        argos_gateway_run (self, target);
}

//  The session of a read result that can still be used: its id, or NULL.

static const char *
s_open_session (const json_t *result)
{
    const json_t *session = json_object_get (result, "session");
    const json_t *ended = json_object_get (session, "ended_at");
    if (!json_is_object (session) || (ended && !json_is_null (ended)))
        return NULL;
    return json_string_value (json_object_get (session, "id"));
}

void
argos_gateway_session (const argos_gateway_case_t *self, char *target)
{
    argos_gateway_named (self, target);
    const json_t *result = self->fact[*target ? ARGOS_FACT_SESSION : ARGOS_FACT_ROUTE];
    const char *id = s_open_session (result);
    argos_parts_cut (id ? id : "", target, ARGOS_SESSION_ID_MAX + 1);
}

//  Whether a dead letter is a message from outside, whose sender may be nobody we talk to.

static bool
s_is_inbound (const json_t *notice)
{
    const char *type = json_string_value (json_object_get (notice, "type"));
    return type && strcmp (type, "message.inbound") == 0;
}

argos_life_t
argos_gateway_life (const argos_gateway_case_t *self, argos_life_policy_t *ret_policy)
{
    argos_life_policy_t policy;
    const json_t *session = json_object_get (self->fact[ARGOS_FACT_ROUTE], "session");
    if (!ret_policy && !json_is_object (session))
        return ARGOS_LIFE_KEEP; //  Asked with each fact: nothing is there that could be over
    argos_life_policy (self->policy->config, s_source (self), &policy);
    if (ret_policy)
        *ret_policy = policy;
    return argos_life (&policy, self->fact[ARGOS_FACT_ROUTE], self->wall);
}

unsigned
argos_gateway_needs (const argos_gateway_case_t *self)
{
    char session[ARGOS_SESSION_ID_MAX + 1];
    if (argos_expire_is (self))
        return argos_expire_needs (self);
    if (self->notice)
        return s_is_inbound (self->notice) ? argos_gate_needs (self) : 0;
    if (!argos_gate_passes (self))
        return argos_gate_needs (self);
    if (argos_edited_is (self))
        return argos_edited_needs (self);
    argos_gateway_named (self, session);
    unsigned needs = ARGOS_FACT_BIT (*session ? ARGOS_FACT_SESSION : ARGOS_FACT_ROUTE);
    unsigned command = argos_command_needs (self);
    needs |= command;
    if (command & ~self->have || argos_command_is (self))
        return needs;
    if (!s_is_api (self))
        needs |= ARGOS_FACT_BIT (ARGOS_FACT_SETTING) | argos_asked_needs (self) |
                 argos_busy_needs (self) | argos_first_needs (self);
    if (!*session && (argos_gateway_life (self, NULL) != ARGOS_LIFE_KEEP ||
                         argos_life_begun (self->fact[ARGOS_FACT_ROUTE]) != ARGOS_LIFE_KEEP))
        needs |= ARGOS_FACT_BIT (ARGOS_FACT_LANE); //  A session that works is alive
    return needs;
}

//  ---------------------------------------------------------------------------------------------
//  Dead letters

//  An answer that could not be delivered is told where it was to go, once: what tells it is no
//  answer. An adapter that is not there could say nothing either.

static void
s_dead_delivery (json_t *parts, const json_t *notice, const char *id, const char *reason)
{
    static const char *const copied[] = { "chat_id", "thread_id", "reply_to" };
    char to[ARGOS_TO_MAX + 1], text[512];
    const json_t *body = json_object_get (notice, "body");
    const char *kind = json_string_value (json_object_get (body, "kind"));
    const char *service = json_string_value (json_object_get (notice, "service"));
    const char *code = json_string_value (json_object_get (notice, "code"));
    if (!kind || strcmp (kind, "answer") != 0 || !service ||
        (code && strcmp (code, argos_err_name (ARGOS_NO_SERVICE)) == 0))
        return;
    snprintf (to, sizeof to, "service:%s", service);
    snprintf (text, sizeof text, "⚠️ An answer could not be delivered: %s.", reason);
    json_t *told = json_pack ("{s:s, s:s}", "kind", "error", "text", text);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (json_object_get (body, copied[i]))
            json_object_set (told, copied[i], json_object_get (body, copied[i]));
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:s, s:O*, s:b, s:o}", "type", "deliver.request", "to", to,
                   "id", id, "key", json_object_get (notice, "key"), "durable", 1, "body", told));
}

//  The parts that tell about it.

static json_t *
s_dead (const json_t *notice)
{
    const char *type = json_string_value (json_object_get (notice, "type"));
    const char *code = json_string_value (json_object_get (notice, "code"));
    const char *own = json_string_value (json_object_get (notice, "id"));
    const json_t *body = json_object_get (notice, "body");
    char reason[256], text[2560], id[64];
    json_t *parts = json_array ();
    if (!type || !own)
        return parts;
    bool turn = strcmp (type, "turn.request") == 0;
    snprintf (reason, sizeof reason, "given up after %" JSON_INTEGER_FORMAT " attempts: %.64s",
        json_integer_value (json_object_get (notice, "attempt")), code ? code : "internal");
    snprintf (id, sizeof id, "dead_%" JSON_INTEGER_FORMAT,
        json_integer_value (json_object_get (notice, "seq")));
    if (strcmp (type, "deliver.request") == 0)
        s_dead_delivery (parts, notice, id, reason);
    if (!turn && strcmp (type, "message.inbound") != 0)
        return parts; //  It stays to be seen among the dead letters
    const json_t *task = json_object_get (body, "task");
    const char *run = turn ? own : json_string_value (json_object_get (body, "run_id"));
    if (run)
        argos_parts_failed (parts, run, task, reason);
    const char *before = json_string_value (json_object_get (task, "failed"));
    snprintf (text, sizeof text, "%s%s.", before ? before : "⚠️ Your message failed: ", reason);
    const char *reply_to =
        json_string_value (json_object_get (body, turn ? "reply_to" : "message_id"));
    const json_t *source = json_object_get (body, "source");
    argos_parts_deliver (parts, source, id, "error", text, reply_to);
    if (turn && !task)
        argos_parts_out (parts, source, reply_to, run, "done", id);
    return parts;
}

//  ---------------------------------------------------------------------------------------------
//  All together

json_t *
argos_gateway_decide (const argos_gateway_case_t *self)
{
    char service[ARGOS_NAME_MAX + 1], key[ARGOS_ROUTE_KEY_MAX + 1];
    const char *text = s_text (self, "text");
    if (argos_expire_is (self))
        return argos_expire_decide (self);
    if (self->notice)
        return s_is_inbound (self->notice) && !argos_gate_passes (self) ? json_array ()
                                                                        : s_dead (self->notice);
    if (!s_is_api (self) && !argos_parts_service (s_source (self), service))
        return NULL;
    if (argos_route_key (s_source (self), &self->policy->route, key, sizeof key) != 0)
        return NULL;
    if (!argos_gate_passes (self))
        return argos_gate_parts (self, !argos_edited_is (self));
    json_t *parts = json_array ();
    if (argos_edited_is (self))
        argos_edited_step (self, parts);
    else if (!argos_command_step (self, parts) &&
             (s_is_api (self) || !argos_asked_step (self, parts))) {
        //  Ordinary text: a turn at the end of its lane
        argos_first_step (self, parts);
        argos_busy_step (self, text ? text : "", parts);
    }
    return parts;
}

json_t *
argos_gateway_refuse (const argos_gateway_case_t *self, const char *reason)
{
    char run[ARGOS_RUN_ID_SIZE], digest[ARGOS_DIGEST_SIZE], id[ARGOS_DIGEST_SIZE + 8];
    char cut[900], text[1024];
    if (!argos_gate_passes (self))
        return argos_gate_parts (self, false);
    json_t *parts = json_array ();
    if (s_is_api (self)) {
        argos_gateway_run (self, run);
        argos_parts_failed (parts, run, NULL, reason);
        return parts;
    }
    argos_parts_digest (self->from, self->id, digest);
    snprintf (id, sizeof id, "ref_%s", digest);
    argos_parts_cut (reason, cut, sizeof cut);
    snprintf (text, sizeof text, "⚠️ Not accepted: %s.", cut);
    argos_parts_deliver (parts, s_source (self), id, "error", text, s_text (self, "message_id"));
    return parts;
}

const char *
argos_gateway_full (const json_t *parts, int index)
{
    const json_t *part = index < 0 ? NULL : json_array_get (parts, (size_t) index);
    const char *type = json_string_value (json_object_get (part, "type"));
    const char *row = json_string_value (json_object_get (json_object_get (part, "body"), "row"));
    if (!type || !row || strcmp (type, "expect") != 0)
        return NULL;
    if (strcmp (row, "lane") == 0)
        return "too many messages wait in this session already";
    return strcmp (row, "runs") == 0 ? "too many background tasks are running already" : NULL;
}
