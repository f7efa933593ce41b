//  argos_cmd_session - the commands on sessions: new, resume, sessions, title, branch.
//
//  Invariant: the route is left as it was read, or everything is decided again. A session of
//  somebody else is answered exactly as one that is not there. Pure.

#include "argos_asked.h"
#include "argos_cmd.h"
#include "argos_expire.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_say.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE 128  //  Bytes of a title or preview in a list, terminated
#define LIST_SIZE 8192 //  Bytes of a list, terminated

//  The text of the store's refusal, when it is the title

static const char s_taken[] = "that title can't be used: another session of yours has it, or it is "
                              "longer than 100 characters";

//  A part that may fail because of its title: then that is what people read.

static void
s_titled (json_t *parts, const char *title)
{
    if (*title)
        json_object_set_new (
            json_array_get (parts, json_array_size (parts) - 1), "refusal", json_string (s_taken));
}

void
argos_cmd_new (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    char fresh[ARGOS_SESSION_ID_MAX + 1];
    argos_asked_cancel (gateway, parts);
    argos_gateway_open (gateway, "session_reset", arguments, fresh, parts);
    if (*arguments)
        argos_cmd_say (gateway, parts, SAY_NEW_TITLED, fresh, arguments);
    else
        argos_cmd_say (gateway, parts, SAY_NEW, fresh);
}

//  One session a line: number, title or what was said first, id.

static void
s_list (const argos_gateway_case_t *gateway, bool numbered, char *target)
{
    char current[ARGOS_SESSION_ID_MAX + 1], name[NAME_SIZE], mark[32] = "·";
    size_t index, length = 0;
    json_t *session;
    *target = 0;
    argos_gateway_session (gateway, current);
    json_array_foreach (
        json_object_get (gateway->fact[ARGOS_FACT_LIST], "sessions"), index, session) {
        const char *title = argos_json_text (session, "title"),
                   *id = argos_json_text (session, "id");
        argos_parts_cut (*title ? title : argos_json_text (session, "preview"), name, sizeof name);
        if (numbered)
            snprintf (mark, sizeof mark, "%zu.", index + 1);
        int written = snprintf (target + length, LIST_SIZE - length, "%s%s %s `%s` (%lld)%s",
            index ? "\n" : "", mark, *name ? name : "(nothing said)", id,
            (long long) json_integer_value (json_object_get (session, "message_count")),
            strcmp (id, current) == 0 ? " ← here" : "");
        if (written < 0 || length + (size_t) written >= LIST_SIZE)
            break;
        length += (size_t) written;
    }
    target[length] = 0;
}

//  Leads the route to the session, whose row was read.

static void
s_switch (const argos_gateway_case_t *gateway, const char *id, const char *reason, json_t *parts)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    const json_t *source = json_object_get (gateway->body, "source");
    bool routed = argos_gateway_expect_route (gateway, key, parts);
    argos_expire_arm (gateway, id, gateway->wall, parts);
    if (routed) {
        argos_parts_store_new (parts, "route.switch",
            json_pack ("{s:s, s:s, s:s}", "key", key, "session_id", id, "reason", reason));
        return;
    }
    argos_parts_store_new (parts, "session.reopen", json_pack ("{s:s}", "id", id));
    argos_parts_store_new (parts, "route.bind",
        json_pack ("{s:s, s:s, s:O}", "key", key, "session_id", id, "source", source));
}

void
argos_cmd_resume (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    const json_t *target = json_object_get (gateway->fact[ARGOS_FACT_TARGET], "session");
    const char *id = argos_json_text (target, "id"), *title = argos_json_text (target, "title");
    char current[ARGOS_SESSION_ID_MAX + 1], list[LIST_SIZE], cut[NAME_SIZE];
    if (!*arguments) {
        s_list (gateway, true, list);
        argos_cmd_say (
            gateway, parts, "%s%s", *list ? list : SAY_NO_SESSIONS, *list ? SAY_RESUME_HOW : "");
        return;
    }
    argos_gateway_session (gateway, current);
    argos_parts_cut (arguments, cut, sizeof cut);
    if (!*id)
        argos_cmd_say (gateway, parts, SAY_NOT_FOUND, cut);
    else if (strcmp (id, current) == 0)
        argos_cmd_say (gateway, parts, SAY_RESUME_SAME);
    else {
        s_switch (gateway, id, "session_switch", parts);
        argos_cmd_say (gateway, parts, SAY_RESUMED, id, *title ? " " : "", title,
            (long long) json_integer_value (json_object_get (target, "message_count")));
    }
}

//  What was found, one message a line.

static void
s_hits (const argos_gateway_case_t *gateway, char *target)
{
    size_t index, length = 0;
    json_t *hit;
    *target = 0;
    json_array_foreach (json_object_get (gateway->fact[ARGOS_FACT_SEARCH], "hits"), index, hit) {
        int written =
            snprintf (target + length, LIST_SIZE - length, "%s· %.300s `%.256s`", index ? "\n" : "",
                argos_json_text (hit, "snippet"), argos_json_text (hit, "session_id"));
        if (written < 0 || length + (size_t) written >= LIST_SIZE)
            break;
        length += (size_t) written;
    }
    target[length] = 0;
}

void
argos_cmd_sessions (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    char list[LIST_SIZE], cut[NAME_SIZE];
    if (strncmp (arguments, "search", 6) != 0) {
        s_list (gateway, false, list);
        argos_cmd_say (gateway, parts, "%s", *list ? list : SAY_NO_SESSIONS);
        return;
    }
    s_hits (gateway, list);
    argos_parts_cut (arguments + 6 + strspn (arguments + 6, " \t\n"), cut, sizeof cut);
    if (*list)
        argos_cmd_say (gateway, parts, "%s", list);
    else if (json_object_get (gateway->fact[ARGOS_FACT_SEARCH], "next"))
        argos_cmd_say (gateway, parts, SAY_NO_HITS_YET, cut);
    else
        argos_cmd_say (gateway, parts, SAY_NO_HITS, cut);
}

void
argos_cmd_title (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    const json_t *session = argos_cmd_session (gateway);
    const char *title = argos_json_text (session, "title");
    if (!session)
        argos_cmd_say (gateway, parts, SAY_NO_SESSION);
    else if (!*arguments && *title)
        argos_cmd_say (gateway, parts, SAY_TITLE_IS, title);
    else if (!*arguments)
        argos_cmd_say (gateway, parts, SAY_TITLE_NONE);
    else if (argos_cmd_length (arguments) > 100)
        argos_cmd_say (gateway, parts, SAY_TITLE_LONG);
    else {
        argos_parts_store_new (parts, "session.rename",
            json_pack ("{s:s, s:s}", "id", argos_json_text (session, "id"), "title", arguments));
        s_titled (parts, arguments);
        argos_cmd_say (gateway, parts, SAY_TITLE_SET, arguments);
    }
}

void
argos_cmd_branch (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    const json_t *session = argos_cmd_session (gateway);
    const char *from = argos_json_text (session, "id");
    char fresh[ARGOS_SESSION_ID_MAX + 1];
    if (!session) {
        argos_cmd_say (gateway, parts, SAY_NO_SESSION);
        return;
    }
    argos_gateway_fresh (gateway, fresh);
    json_t *body = json_pack ("{s:s, s:s}", "id", fresh, "from", from);
    if (*arguments)
        json_object_set_new (body, "title", json_string (arguments));
    argos_cmd_expect_idle (from, parts);
    argos_parts_store_new (parts, "session.branch", body);
    s_titled (parts, arguments);
    s_switch (gateway, fresh, "branched", parts);
    argos_cmd_say (gateway, parts, SAY_BRANCHED, from, fresh, from);
}
