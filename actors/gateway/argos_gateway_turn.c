//  argos_gateway_turn - the turn of a message: its session, its run, what the agent gets.
//
//  Invariant: session, route, run and turn are parts of one done, with the expectations they were
//  decided on. Pure. Limit: the turns that wait in one session (policy->queue_max).

#include "argos_cmd.h"
#include "argos_expire.h"
#include "argos_gateway.h"
#include "argos_header.h"
#include "argos_incoming.h"
#include "argos_life.h"
#include "argos_parts.h"
#include "argos_platform.h"
#include "argos_say.h"
#include "argos_target.h"
#include "argos_tier.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PREVIEW_SIZE 1025 //  Bytes of the input kept in the run row, terminated

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

static bool
s_is_api (const argos_gateway_case_t *self)
{
    const char *platform = json_string_value (json_object_get (s_source (self), "platform"));
    return argos_platform_find (platform)->by_run;
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

//  ---------------------------------------------------------------------------------------------
//  The session

//  The key of the route, and the version that was read (0 = there is none).

static int64_t
s_route (const argos_gateway_case_t *self, char *key)
{
    if (argos_route_key (s_source (self), &self->policy->route, key, ARGOS_ROUTE_KEY_MAX + 1) != 0)
        *key = 0;
    const json_t *route = json_object_get (self->fact[ARGOS_FACT_ROUTE], "route");
    return json_integer_value (json_object_get (route, "version"));
}

bool
argos_gateway_expect_route (const argos_gateway_case_t *self, char *target, json_t *parts)
{
    int64_t version = s_route (self, target);
    argos_parts_store_new (parts, "expect",
        json_pack (
            "{s:s, s:s, s:I}", "row", "route", "key", target, "version", (json_int_t) version));
    return version != 0;
}

//  A session row for id.

static void
s_create (const argos_gateway_case_t *self, const char *id, json_t *parts)
{
    argos_parts_store_new (
        parts, "session.create", json_pack ("{s:s, s:O}", "id", id, "source", s_source (self)));
}

void
argos_gateway_fresh (const argos_gateway_case_t *self, char *target)
{
    time_t seconds = (time_t) (self->wall / 1000);
    struct tm when;
    gmtime_r (&seconds, &when);
    size_t length = strftime (target, ARGOS_SESSION_ID_MAX, "%Y%m%d_%H%M%S", &when);
    snprintf (target + length, ARGOS_SESSION_ID_MAX + 1 - length, "_%08" PRIx32,
        (uint32_t) (self->entropy ^ (self->entropy >> 32)));
}

void
argos_gateway_open (const argos_gateway_case_t *self, const char *reason, const char *title,
    char *target, json_t *parts)
{
    static const char taken[] = "that title can't be used: another session of yours has it, or it "
                                "is longer than 100 characters";
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    argos_gateway_fresh (self, target);
    bool routed = argos_gateway_expect_route (self, key, parts);
    json_t *body = json_pack ("{s:s, s:O}", "id", target, "source", s_source (self));
    if (*title)
        json_object_set_new (body, "title", json_string (title));
    if (routed) {
        json_object_set_new (body, "key", json_string (key));
        json_object_set_new (body, "reason", json_string (*reason ? reason : "session_reset"));
    }
    argos_parts_store_new (parts, routed ? "route.reset" : "session.create", body);
    if (*title)
        json_object_set_new (
            json_array_get (parts, json_array_size (parts) - 1), "refusal", json_string (taken));
    if (!routed)
        argos_parts_store_new (parts, "route.bind",
            json_pack (
                "{s:s, s:s, s:O}", "key", key, "session_id", target, "source", s_source (self)));
    json_t *record = argos_target_record (s_source (self));
    if (record)
        argos_parts_store_new (parts, "record.put", record);
    argos_expire_arm (self, target, self->wall, parts);
}

//  Tells people that the session has begun anew, once.

static void
s_tell (const argos_gateway_case_t *self, argos_life_t life, bool lost, json_t *parts)
{
    char text[512], id[64], key[ARGOS_ROUTE_KEY_MAX + 1];
    argos_life_policy_t policy;
    argos_gateway_life (self, &policy);
    s_route (self, key);
    argos_parts_store_new (parts, "route.resume", json_pack ("{s:s, s:b}", "key", key, "on", 0));
    const char *moved =
        life == ARGOS_LIFE_SUSPENDED ? argos_life_moved (self->fact[ARGOS_FACT_ROUTE]) : NULL;
    if (moved) {
        const json_t *session = json_object_get (self->fact[ARGOS_FACT_ROUTE], "session");
        const char *title = json_string_value (json_object_get (session, "title"));
        snprintf (text, sizeof text, SAY_MOVED, moved,
            title ? title : json_string_value (json_object_get (session, "id")));
    }
    if (moved || argos_life_notice (life, &policy, lost, text, sizeof text)) {
        argos_cmd_id (self, "life", id);
        argos_parts_deliver (
            parts, s_source (self), id, "notice", text, s_text (self, "message_id"));
    }
}

//  The session for a turn of the route, when the one before is over: a new one is opened, or was
//  while nobody looked. Returns whether it is so; else nothing was added.

static bool
s_reset (const argos_gateway_case_t *self, char *target, json_t *parts)
{
    const json_t *session = json_object_get (self->fact[ARGOS_FACT_ROUTE], "session");
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    argos_life_t life = argos_gateway_life (self, NULL);
    argos_life_t begun = argos_life_begun (self->fact[ARGOS_FACT_ROUTE]);
    bool works = json_array_size (json_object_get (self->fact[ARGOS_FACT_LANE], "messages")) > 0;
    if (life != ARGOS_LIFE_KEEP && (life == ARGOS_LIFE_SUSPENDED || !works)) {
        argos_gateway_open (self, argos_life_reason (life), "", target, parts);
        s_tell (self, life, json_integer_value (json_object_get (session, "message_count")), parts);
        return true;
    }
    if (begun == ARGOS_LIFE_KEEP || works)
        return false;
    argos_gateway_expect_route (self, key, parts);
    s_tell (self, begun, true, parts);
    return true;
}

//  The session of the route goes on, and what a restart has interrupted is over with this turn.

static void
s_go_on (const argos_gateway_case_t *self, json_t *parts)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    const json_t *route = json_object_get (self->fact[ARGOS_FACT_ROUTE], "route");
    argos_gateway_expect_route (self, key, parts);
    if (json_object_get (route, "resume_at"))
        argos_parts_store_new (
            parts, "route.resume", json_pack ("{s:s, s:b}", "key", key, "on", 0));
}

//  Parts that find or make the session of a turn; its id goes to target. *ret_reset = the one
//  before has ended by itself. Returns NULL, or why there can't be a turn.

static const char *
s_choose (
    const argos_gateway_case_t *self, char *target, bool *ret_new, bool *ret_reset, json_t *parts)
{
    char named[ARGOS_SESSION_ID_MAX + 1];
    *ret_reset = false;
    argos_gateway_named (self, named);
    argos_gateway_session (self, target);
    *ret_new = !*target;
    if (!*named) {
        *ret_reset = s_reset (self, target, parts);
        *ret_new = *ret_new || *ret_reset;
        if (*ret_new && !*ret_reset)
            argos_gateway_open (self, "", "", target, parts);
        else if (!*ret_new)
            s_go_on (self, parts);
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

//  What was set for the session, unless the message says otherwise.

static void
s_settings (const argos_gateway_case_t *self, json_t *turn)
{
    static const char *const names[] = { "model", "reasoning" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = json_string_value (argos_cmd_setting (self, names[i]));
        if (value && !json_object_get (turn, names[i]))
            json_object_set_new (turn, names[i], json_string (value));
    }
    if (json_is_true (argos_cmd_setting (self, "yolo")))
        json_object_set_new (turn, "yolo", json_true ());
}

//  The turn itself: everything of the message that concerns the agent.

json_t *
argos_gateway_turn_new (
    const argos_gateway_case_t *self, const char *run, const char *session, const char *text)
{
    static const char *const copied[] = { "source", "history", "model", "sampling", "attachments",
        "edits" };
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
    s_settings (self, body);
    if (argos_parts_service (s_source (self), service))
        json_object_set_new (body, "deliver", json_string (service));
    if (s_text (self, "message_id"))
        json_object_set_new (body, "reply_to", json_string (s_text (self, "message_id")));
    if (argos_tier (self->policy->config, s_source (self)) == ARGOS_TIER_USER)
        json_object_set_new (body, "restricted", json_true ());
    return body;
}

//  The model knows nothing of the session before, and is told so.

static void
s_tell_model (json_t *turn)
{
    const char *given = json_string_value (json_object_get (turn, "instructions"));
    json_object_set_new (turn, "instructions",
        json_sprintf ("%s%s%s", given ? given : "", given ? "\n" : "", SAY_RESET_NOTE));
}

//  The row of the run; the API has made its own already, before it answered its client.

static void
s_run_row (const argos_gateway_case_t *self, const char *run, const char *session, const char *text,
    json_t *parts)
{
    if (s_is_api (self)) {
        argos_parts_store_new (
            parts, "run.bind", json_pack ("{s:s, s:s}", "run_id", run, "session_id", session));
        return;
    }
    char owner[ARGOS_NAME_MAX + 1], preview[PREVIEW_SIZE];
    argos_name_base (self->from, owner);
    argos_parts_cut (text, preview, sizeof preview);
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

//  What the model reads: what is said, with all that belongs to the message around it; a text that
//  was stored has that already. A new JSON string, NULL = too long.

static json_t *
s_read_text (const argos_gateway_case_t *self, const char *text, bool stored)
{
    if (stored)
        return json_string (text);
    bool shared = argos_route_is_shared (s_source (self), &self->policy->route);
    if (s_text (self, "text") == text)
        return argos_incoming_text (self->body, shared);
    json_t *body = json_deep_copy (self->body);
    json_object_set_new (body, "text", json_string (text));
    json_t *read = argos_incoming_text (body, shared);
    json_decref (body);
    return read;
}

void
argos_gateway_turn (const argos_gateway_case_t *self, const char *text, bool stored, json_t *parts)
{
    char run[ARGOS_RUN_ID_SIZE], session[ARGOS_SESSION_ID_MAX + 1];
    bool fresh = false, reset = false;
    argos_gateway_run (self, run);
    json_t *chosen = json_array (), *read = s_read_text (self, text, stored);
    const char *problem =
        read ? s_choose (self, session, &fresh, &reset, chosen) : "the message is too long";
    if (problem) {
        json_decref (chosen);
        chosen = argos_gateway_refuse (self, problem);
    }
    json_array_extend (parts, chosen);
    json_decref (chosen);
    if (problem) {
        json_decref (read);
        return;
    }
    s_run_row (self, run, session, text, parts);
    argos_gateway_attachments (self, run, parts);
    argos_parts_store_new (parts, "expect",
        json_pack ("{s:s, s:s, s:s, s:i}", "row", "lane", "service", "turn", "key", session, "max",
            self->policy->queue_max));
    json_t *turn = argos_gateway_turn_new (self, run, session, json_string_value (read));
    json_decref (read);
    if (fresh)
        json_object_set_new (turn, "new_session", json_true ());
    if (reset)
        s_tell_model (turn);
    argos_parts_turn_new (parts, "turn.request", run, session, false, turn);
    argos_parts_out (parts, s_source (self), s_text (self, "message_id"), run, "queued", NULL);
}
