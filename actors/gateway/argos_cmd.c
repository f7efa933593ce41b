//  argos_cmd - what the handlers of the slash commands share.
//
//  Invariant: what is changed after it was read is changed as it was read only (versions). Pure.

#include "argos_cmd.h"

#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_platform.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREVIEW_CHARACTERS 60 //  Of a preview

static const json_t *
s_source (const argos_gateway_case_t *gateway)
{
    return json_object_get (gateway->body, "source");
}

void
argos_cmd_id (const argos_gateway_case_t *gateway, const char *prefix, char *target)
{
    char digest[ARGOS_DIGEST_SIZE];
    argos_parts_digest (gateway->from, gateway->id, digest);
    snprintf (target, 64, "%.24s_%s", prefix, digest);
}

void
argos_cmd_say (const argos_gateway_case_t *gateway, json_t *parts, const char *format, ...)
{
    char id[64], *text = NULL;
    va_list list;
    va_start (list, format);
    int rc = vasprintf (&text, format, list);
    va_end (list);
    if (rc < 0)
        abort ();
    if (argos_platform_find (argos_json_text (s_source (gateway), "platform"))->by_run) {
        json_t *refusal = argos_gateway_refuse (gateway, text);
        json_array_extend (parts, refusal);
        json_decref (refusal);
    }
    else {
        argos_cmd_id (gateway, "ans", id);
        argos_parts_deliver (parts, s_source (gateway), id, "notice", text,
            json_string_value (json_object_get (gateway->body, "message_id")));
    }
    free (text);
}

void
argos_cmd_count (const argos_gateway_case_t *gateway, int *ret_running, int *ret_queued)
{
    size_t index;
    json_t *message;
    *ret_running = *ret_queued = 0;
    json_array_foreach (
        json_object_get (gateway->fact[ARGOS_FACT_LANE], "messages"), index, message) {
        if (strcmp (argos_json_text (message, "type"), "turn.request") != 0)
            continue;
        if (json_is_true (json_object_get (message, "leased")))
            (*ret_running)++;
        else
            (*ret_queued)++;
    }
}

void
argos_cmd_expect_idle (const char *session, json_t *parts)
{
    argos_parts_store_new (parts, "expect",
        json_pack (
            "{s:s, s:s, s:s, s:i}", "row", "lane", "service", "turn", "key", session, "max", 1));
}

void
argos_cmd_owner (const argos_gateway_case_t *gateway, char *target)
{
    static const char *const who[] = { "user_id_alt", "user_id", "chat_id" };
    const json_t *source = s_source (gateway);
    const char *user = "";
    for (size_t i = 0; !*user && i < sizeof who / sizeof *who; i++)
        user = argos_json_text (source, who[i]);
    snprintf (target, ARGOS_CMD_OWNER_SIZE, "%s:%s:%s", argos_json_text (source, "platform"),
        argos_json_text (source, "account"), user);
}

void
argos_cmd_key (const argos_gateway_case_t *gateway, char *target)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    if (argos_route_key (s_source (gateway), &gateway->policy->route, key, sizeof key) != 0)
        snprintf (key, sizeof key, "-");
    argos_route_record (key, target);
}

const json_t *
argos_cmd_session (const argos_gateway_case_t *gateway)
{
    const json_t *session = json_object_get (gateway->fact[ARGOS_FACT_ROUTE], "session");
    const json_t *ended = json_object_get (session, "ended_at");
    return json_is_object (session) && (!ended || json_is_null (ended)) ? session : NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Settings: {"session": id, "of": {what counts for that session}, "chat": {what counts always}};
//  a handoff leaves what was there before it as "before": {"session", "of"}, should it be taken
//  back

static const json_t *
s_settings (const argos_gateway_case_t *gateway)
{
    return json_object_get (json_object_get (gateway->fact[ARGOS_FACT_SETTING], "record"), "value");
}

//  Those of the session, NULL when they are of another one.

static json_t *
s_of_session (const argos_gateway_case_t *gateway)
{
    const json_t *all = s_settings (gateway), *before = json_object_get (all, "before");
    char session[ARGOS_SESSION_ID_MAX + 1];
    argos_gateway_session (gateway, session);
    if (*session && strcmp (argos_json_text (before, "session"), session) == 0)
        all = before;
    return *session && strcmp (argos_json_text (all, "session"), session) == 0
               ? json_object_get (all, "of")
               : NULL;
}

const json_t *
argos_cmd_setting (const argos_gateway_case_t *gateway, const char *name)
{
    const json_t *value = json_object_get (s_of_session (gateway), name);
    return value ? value : json_object_get (json_object_get (s_settings (gateway), "chat"), name);
}

void
argos_cmd_setting_put (const argos_gateway_case_t *gateway, json_t *parts, const char *name,
    json_t *value, bool of_session)
{
    char key[ARGOS_CMD_KEY_SIZE], session[ARGOS_SESSION_ID_MAX + 1];
    const json_t *record = json_object_get (gateway->fact[ARGOS_FACT_SETTING], "record");
    json_t *of = s_of_session (gateway), *chat = json_object_get (s_settings (gateway), "chat");
    argos_cmd_key (gateway, key);
    argos_gateway_session (gateway, session);
    if (of_session && !*session)
        argos_gateway_open (gateway, "", "", session, parts); //  It counts for the one to come
    of = of ? json_copy (of) : json_object ();
    chat = chat ? json_copy (chat) : json_object ();
    json_t *target = of_session ? of : chat;
    if (value)
        json_object_set_new (target, name, value);
    else
        json_object_del (target, name);
    argos_parts_store_new (parts, "record.put",
        json_pack ("{s:s, s:s, s:{s:s, s:o, s:o}, s:I}", "space", "setting", "key", key, "value",
            "session", session, "of", of, "chat", chat, "version",
            json_integer_value (json_object_get (record, "version"))));
}

//  ------------------------------------------------------------------------------------------------
//  Words

void
argos_cmd_preview (const char *text, char *target)
{
    size_t length = argos_parts_bytes (text, PREVIEW_CHARACTERS);
    for (size_t i = 0; i < length; i++)
        target[i] = iscntrl ((unsigned char) text[i]) ? ' ' : text[i];
    snprintf (target + length, ARGOS_CMD_PREVIEW_SIZE - length, "%s", text[length] ? "..." : "");
}

size_t
argos_cmd_length (const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char) *text & 0xC0) != 0x80;
    return count;
}

int
argos_cmd_number (const char *text)
{
    int number = 0;
    if (!isdigit ((unsigned char) *text) || strlen (text) > 6)
        return -1;
    for (; *text; text++) {
        if (!isdigit ((unsigned char) *text))
            return -1;
        number = number * 10 + (*text - '0');
    }
    return number;
}
