//  argos_gateway - what the gateway does with a message.
//
//  Invariant: the parts depend on the case only; the same case gives the same parts, byte for byte.
//  Pure: the time and the entropy are members of the case.

#include "argos_gateway.h"

#include "argos_command.h"
#include "argos_gate.h"
#include "argos_header.h"
#include "argos_incoming.h"
#include "argos_parts.h"
#include "argos_platform.h"
#include "argos_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PREVIEW_SIZE 1025 //  Bytes of the input kept in the run row, terminated

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

//  The command in the message; NULL when it has none (*ret_unknown false) or one that nobody knows
//  (true). What comes through the API is text in any case: a program means what it sends.

static const argos_command_t *
s_command (const argos_gateway_case_t *self, const char **ret_arguments, bool *ret_unknown)
{
    char name[ARGOS_COMMAND_NAME_MAX + 1];
    const char *text = s_text (self, "text");
    *ret_unknown = false;
    if (!text || s_is_api (self) || !argos_command_parse (text, name, ret_arguments))
        return NULL;
    const argos_command_t *command = argos_command_find (name);
    *ret_unknown = !command;
    return command;
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

//  Session ids end up in tools and on disks of people: no path tricks, nothing that does not print.

static bool
s_session_valid (const char *id)
{
    if (strstr (id, "..") || strpbrk (id, "/\\"))
        return false;
    if (((id[0] | 0x20) >= 'a' && (id[0] | 0x20) <= 'z') && id[1] == ':')
        return false;
    for (; *id; id++)
        if ((unsigned char) *id < 0x20 || *id == 0x7F)
            return false;
    return true;
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

unsigned
argos_gateway_needs (const argos_gateway_case_t *self)
{
    char session[ARGOS_SESSION_ID_MAX + 1];
    bool unknown;
    if (self->notice)
        return s_is_inbound (self->notice) ? argos_gate_needs (self) : 0;
    if (!argos_gate_passes (self))
        return argos_gate_needs (self);
    const argos_command_t *command = s_command (self, NULL, &unknown);
    argos_gateway_named (self, session);
    unsigned needs = ARGOS_FACT_BIT (*session ? ARGOS_FACT_SESSION : ARGOS_FACT_ROUTE);
    if (command)
        needs |= command->needs | ARGOS_FACT_BIT (ARGOS_FACT_ROUTE);
    return needs;
}

//  ---------------------------------------------------------------------------------------------
//  Decisions

//  The key of the route, and the version that was read (0 = there is none).

static int64_t
s_route (const argos_gateway_case_t *self, char *key)
{
    if (argos_route_key (s_source (self), &self->policy->route, key, ARGOS_ROUTE_KEY_MAX + 1) != 0)
        *key = 0;
    const json_t *route = json_object_get (self->fact[ARGOS_FACT_ROUTE], "route");
    return json_integer_value (json_object_get (route, "version"));
}

//  Expect the route to be as it was read.

static void
s_expect_route (const argos_gateway_case_t *self, json_t *parts)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    int64_t version = s_route (self, key);
    argos_parts_store_new (parts, "expect",
        json_pack ("{s:s, s:s, s:I}", "row", "route", "key", key, "version", (json_int_t) version));
}

//  A session row for id.

static void
s_create (const argos_gateway_case_t *self, const char *id, json_t *parts)
{
    argos_parts_store_new (
        parts, "session.create", json_pack ("{s:s, s:O}", "id", id, "source", s_source (self)));
}

void
argos_gateway_open (const argos_gateway_case_t *self, char *target, json_t *parts)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    time_t seconds = (time_t) (self->wall / 1000);
    struct tm when;
    gmtime_r (&seconds, &when);
    size_t length = strftime (target, ARGOS_SESSION_ID_MAX, "%Y%m%d_%H%M%S", &when);
    snprintf (target + length, ARGOS_SESSION_ID_MAX + 1 - length, "_%08" PRIx32,
        (uint32_t) (self->entropy ^ (self->entropy >> 32)));
    s_route (self, key);
    s_expect_route (self, parts);
    s_create (self, target, parts);
    argos_parts_store_new (parts, "route.bind",
        json_pack ("{s:s, s:s, s:O}", "key", key, "session_id", target, "source", s_source (self)));
}

//  Parts that find or make the session of a turn; its id goes to target. Returns NULL, or why there
//  can't be a turn.

static const char *
s_choose (const argos_gateway_case_t *self, char *target, bool *ret_new, json_t *parts)
{
    char named[ARGOS_SESSION_ID_MAX + 1];
    argos_gateway_named (self, named);
    argos_gateway_session (self, target);
    *ret_new = !*target;
    if (!*named) {
        if (*ret_new)
            argos_gateway_open (self, target, parts);
        else
            s_expect_route (self, parts);
        return NULL;
    }
    if (!s_session_valid (named))
        return "the session id is not valid";
    if (*target)
        return NULL;
    if (json_is_object (json_object_get (self->fact[ARGOS_FACT_SESSION], "session")))
        return "that session has ended";
    argos_parts_cut (named, target, ARGOS_SESSION_ID_MAX + 1);
    s_create (self, target, parts);
    return NULL;
}

//  The turn itself: everything of the message that concerns the agent.

json_t *
argos_gateway_turn_new (
    const argos_gateway_case_t *self, const char *run, const char *session, const char *text)
{
    static const char *const copied[] = { "source", "history", "model", "attachments" };
    char service[ARGOS_NAME_MAX + 1], key[ARGOS_ROUTE_KEY_MAX + 1];
    json_t *body =
        json_pack ("{s:s, s:s, s:s}", "run_id", run, "session_id", session, "text", text);
    json_t *instructions = argos_incoming_instructions (self->body);
    s_route (self, key);
    json_object_set_new (body, "route", json_string (key));
    if (instructions)
        json_object_set_new (body, "instructions", instructions);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *value = json_object_get (self->body, copied[i]);
        if (value)
            json_object_set (body, copied[i], value);
    }
    if (argos_parts_service (s_source (self), service))
        json_object_set_new (body, "deliver", json_string (service));
    if (s_text (self, "message_id"))
        json_object_set_new (body, "reply_to", json_string (s_text (self, "message_id")));
    return body;
}

//  The row of the run; the API has made its own already, before it answered its client.

static void
s_run_row (const argos_gateway_case_t *self, const char *run, const char *session, json_t *parts)
{
    if (s_is_api (self)) {
        argos_parts_store_new (
            parts, "run.bind", json_pack ("{s:s, s:s}", "run_id", run, "session_id", session));
        return;
    }
    char owner[ARGOS_NAME_MAX + 1], preview[PREVIEW_SIZE];
    argos_name_base (self->from, owner);
    argos_parts_cut (s_text (self, "text") ? s_text (self, "text") : "", preview, sizeof preview);
    json_t *row = json_pack ("{s:s, s:s, s:s, s:s}", "run_id", run, "owner", owner, "session_id",
        session, "input", preview);
    if (s_text (self, "model"))
        json_object_set_new (row, "model", json_string (s_text (self, "model")));
    argos_parts_store_new (parts, "run.create", row);
}

//  The files of the message: they have to be there, and stay as long as the run.

void
argos_gateway_attachments (const argos_gateway_case_t *self, const char *run, json_t *parts)
{
    const json_t *attachments = json_object_get (self->body, "attachments");
    json_t *blobs = json_array ();
    size_t index;
    json_t *attachment;
    json_array_foreach (attachments, index, attachment)
        json_array_append (blobs, json_object_get (attachment, "blob"));
    if (json_array_size (blobs))
        argos_parts_store_new (
            parts, "blob.ref", json_pack ("{s:s, s:O}", "run_id", run, "blobs", blobs));
    json_decref (blobs);
}

//  Ordinary text: a turn at the end of its session's lane.

static json_t *
s_ordinary (const argos_gateway_case_t *self)
{
    char run[ARGOS_RUN_ID_SIZE], session[ARGOS_SESSION_ID_MAX + 1];
    bool fresh;
    json_t *parts = json_array ();
    argos_gateway_run (self, run);
    json_t *text = argos_incoming_text (
        self->body, argos_route_is_shared (s_source (self), &self->policy->route));
    const char *problem =
        text ? s_choose (self, session, &fresh, parts) : "the message is too long";
    if (problem) {
        json_decref (text);
        json_decref (parts);
        return argos_gateway_refuse (self, problem);
    }
    s_run_row (self, run, session, parts);
    argos_gateway_attachments (self, run, parts);
    argos_parts_store_new (parts, "expect",
        json_pack ("{s:s, s:s, s:s, s:i}", "row", "lane", "service", "turn", "key", session, "max",
            self->policy->queue_max));
    json_t *turn = argos_gateway_turn_new (self, run, session, json_string_value (text));
    json_decref (text);
    if (fresh)
        json_object_set_new (turn, "new_session", json_true ());
    argos_parts_turn_new (parts, "turn.request", run, session, false, turn);
    argos_parts_out (parts, s_source (self), s_text (self, "message_id"), run, "queued", NULL);
    return parts;
}

//  A command that is not in the table is said so, and never shown to a model.

static json_t *
s_unknown (const argos_gateway_case_t *self)
{
    char name[ARGOS_COMMAND_NAME_MAX + 1], reason[128];
    argos_command_parse (s_text (self, "text"), name, NULL);
    snprintf (reason, sizeof reason, "there is no command /%s; /help lists them", name);
    return argos_gateway_refuse (self, reason);
}

//  ---------------------------------------------------------------------------------------------
//  Dead letters

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
    if (!turn && strcmp (type, "message.inbound") != 0)
        return parts; //  Nobody waits for it; it stays to be seen among the dead letters
    snprintf (reason, sizeof reason, "given up after %" JSON_INTEGER_FORMAT " attempts: %.64s",
        json_integer_value (json_object_get (notice, "attempt")), code ? code : "internal");
    const json_t *task = json_object_get (body, "task");
    const char *run = turn ? own : json_string_value (json_object_get (body, "run_id"));
    if (run)
        argos_parts_failed (parts, run, task, reason);
    snprintf (id, sizeof id, "dead_%" JSON_INTEGER_FORMAT,
        json_integer_value (json_object_get (notice, "seq")));
    const char *before = json_string_value (json_object_get (task, "failed"));
    snprintf (text, sizeof text, "%s%s.", before ? before : "⚠️ Your message failed: ", reason);
    const char *reply_to =
        json_string_value (json_object_get (body, turn ? "reply_to" : "message_id"));
    const json_t *source = json_object_get (body, "source");
    argos_parts_deliver (parts, source, id, "error", text, reply_to);
    if (turn)
        argos_parts_out (parts, source, reply_to, run, "done", id);
    return parts;
}

//  ---------------------------------------------------------------------------------------------
//  All together

json_t *
argos_gateway_decide (const argos_gateway_case_t *self)
{
    char service[ARGOS_NAME_MAX + 1], key[ARGOS_ROUTE_KEY_MAX + 1];
    const char *arguments = "";
    bool unknown;
    if (self->notice)
        return s_is_inbound (self->notice) && !argos_gate_passes (self) ? json_array ()
                                                                        : s_dead (self->notice);
    if (!s_is_api (self) && !argos_parts_service (s_source (self), service))
        return NULL;
    if (argos_route_key (s_source (self), &self->policy->route, key, sizeof key) != 0)
        return NULL;
    if (!argos_gate_passes (self))
        return argos_gate_parts (self, true);
    const argos_command_t *command = s_command (self, &arguments, &unknown);
    if (unknown)
        return s_unknown (self);
    if (!command)
        return s_ordinary (self);
    json_t *parts = json_array ();
    command->handler (self, arguments, parts);
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
