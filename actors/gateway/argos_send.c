//  argos_send - what somebody who is no chat says to chats.
//
//  Invariant: a list of targets is sent to as a whole or not at all, but for chats that take
//  nothing any more; every id depends on the request only. Pure. Limits: eight chats, a directory
//  of 1,000.

#include "argos_send.h"

#include "argos_gateway.h"
#include "argos_header.h"
#include "argos_home.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_reply.h"
#include "argos_source.h"
#include "argos_target.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PAGES_MAX 5    //  Of the directory
#define PAGE 200       //  Records of one
#define FIRST_PAGE 2   //  Questions before them: homes and aliases
#define NOTE_MAX 32768 //  Bytes of a text in a session

//  ------------------------------------------------------------------------------------------------
//  The directory

static const char *
s_records (json_t **ret_body, const char *space, const json_t *page)
{
    json_t *next = json_object_get (page, "next");
    *ret_body = json_pack ("{s:s, s:i}", "space", space, "limit", PAGE);
    if (next)
        json_object_set (*ret_body, "after", next);
    return "record.list";
}

//  Questions up to the end of the directory.

static size_t
s_directory (const argos_ask_t *self)
{
    size_t count = 1;
    while (count < PAGES_MAX && json_object_get (self->read[FIRST_PAGE + count - 1], "next"))
        count++;
    return FIRST_PAGE + count;
}

const char *
argos_channels_question (const argos_ask_t *self, size_t index, json_t **ret_body)
{
    if (index == 0)
        return s_records (ret_body, ARGOS_TARGET_HOME, NULL);
    if (index == 1)
        return s_records (ret_body, ARGOS_TARGET_ALIAS, NULL);
    return index < s_directory (self) ? s_records (ret_body, ARGOS_TARGET_SPACE,
                                            index == FIRST_PAGE ? NULL : self->read[index - 1])
                                      : NULL;
}

//  All records of the directory, a new array.

static json_t *
s_channels (const argos_ask_t *self)
{
    json_t *channels = json_array ();
    for (size_t i = FIRST_PAGE; i < s_directory (self); i++)
        json_array_extend (channels, json_object_get (self->read[i], "records"));
    return channels;
}

argos_err_t
argos_channels_answer (
    const argos_ask_t *self, json_t **ret_reply, json_t *parts, char reason[ARGOS_ASK_REASON])
{
    (void) parts;
    *reason = 0;
    size_t index;
    json_t *record, *list = json_array (), *channels = s_channels (self), *aliases = json_array ();
    json_array_foreach (channels, index, record) {
        const json_t *value = json_object_get (record, "value");
        json_array_append_new (list,
            json_pack ("{s:O, s:O, s:O}", "source", json_object_get (value, "source"), "name",
                json_object_get (value, "name"), "at", json_object_get (record, "updated_at")));
    }
    json_array_foreach (json_object_get (self->read[1], "records"), index, record)
        json_array_append_new (
            aliases, json_pack ("{s:O, s:O}", "alias", json_object_get (record, "key"), "target",
                         json_object_get (json_object_get (record, "value"), "target")));
    json_decref (channels);
    json_t *homes = json_array ();
    json_array_foreach (json_object_get (self->read[0], "records"), index, record)
        json_array_append_new (
            homes, argos_home (self->policy->config, argos_json_text (record, "key"),
                       json_object_get (record, "value")));
    *ret_reply =
        json_pack ("{s:o, s:o, s:o}", "channels", list, "aliases", aliases, "homes", homes);
    return ARGOS_OK;
}

//  ------------------------------------------------------------------------------------------------
//  channel.send

//  Where it goes, new; NULL with a reason.

static json_t *
s_found (const argos_ask_t *self, char reason[ARGOS_ASK_REASON])
{
    json_t *channels = s_channels (self);
    argos_target_book_t book = { .config = self->policy->config,
        .homes = json_object_get (self->read[0], "records"),
        .channels = channels,
        .aliases = json_object_get (self->read[1], "records"),
        .origin = json_object_get (self->body, "origin") };
    json_t *found = argos_target_resolve (
        &book, argos_json_text (self->body, "target"), reason, ARGOS_ASK_REASON);
    json_decref (channels);
    return found;
}

//  For each chat: its route, and whether it takes anything.

const char *
argos_send_question (const argos_ask_t *self, size_t index, json_t **ret_body)
{
    char reason[ARGOS_ASK_REASON], key[ARGOS_ROUTE_KEY_MAX + 1], service[ARGOS_NAME_MAX + 1];
    const char *type = argos_channels_question (self, index, ret_body);
    if (type)
        return type;
    size_t number = index - s_directory (self);
    json_t *found = s_found (self, reason);
    const json_t *source = json_array_get (found, number / 2);
    if (source && number % 2 == 0 &&
        argos_route_key (source, &self->policy->route, key, sizeof key) == 0) {
        *ret_body = json_pack ("{s:s}", "key", key);
        type = "route.get";
    }
    else if (source && argos_parts_service (source, service) &&
             argos_route_lane (source, key, sizeof key) == 0) {
        *ret_body = json_pack (
            "{s:s, s:s, s:s, s:i}", "state", "gone", "service", service, "key", key, "limit", 1);
        type = "delivery.list";
    }
    json_decref (found);
    return type;
}

//  Why what is said there can't be noted, NULL = it can.

static const char *
s_unnoted (const argos_ask_t *self, const json_t *source)
{
    const json_t *mirror = json_object_get (self->body, "mirror");
    if (mirror && !json_is_true (mirror))
        return "not asked for";
    if (!*argos_json_text (self->body, "text"))
        return "there is no text";
    if (!*argos_json_text (source, "chat_type"))
        return "nobody has spoken from there yet";
    if (!argos_source_is_direct (source) && !argos_route_is_shared (source, &self->policy->route))
        return "everybody there has a session of his own";
    return NULL;
}

//  Notes what is said in the session of the chat, which goes to session (ARGOS_SESSION_ID_MAX + 1
//  bytes).

static void
s_note (const argos_ask_t *self, json_t *source, const json_t *route, size_t number, char *session,
    json_t *parts)
{
    char id[64], digest[ARGOS_DIGEST_SIZE], text[NOTE_MAX];
    const char *from = argos_json_text (json_object_get (self->body, "origin"), "platform");
    json_t *body = json_pack ("{s:O}", "source", source);
    argos_gateway_case_t gateway = { .policy = self->policy,
        .from = self->from,
        .id = self->id,
        .body = body,
        .wall = self->wall,
        .entropy = self->entropy + number,
        .have = ARGOS_FACT_BIT (ARGOS_FACT_ROUTE) };
    gateway.fact[ARGOS_FACT_ROUTE] = route;
    argos_gateway_session (&gateway, session);
    if (!*session)
        argos_gateway_open (&gateway, "", "", session, parts);
    json_decref (body);
    argos_parts_digest (self->from, self->id, digest);
    snprintf (id, sizeof id, "note_%s.%zu", digest, number);
    argos_parts_cut (argos_json_text (self->body, "text"), text, sizeof text);
    argos_parts_turn_new (parts, "session.note", id, session, false,
        json_pack ("{s:s, s:s, s:s}", "session_id", session, "text", text, "origin",
            *from ? from : "cli"));
}

//  The files behind it.

static void
s_files (const argos_ask_t *self, const json_t *source, const char *id, json_t *parts)
{
    static const char *const copied[] = { "chat_id", "thread_id" };
    char service[ARGOS_NAME_MAX + 1], key[ARGOS_ROUTE_KEY_MAX + 1], own[64 + 8];
    size_t index;
    json_t *path, *files = json_array ();
    argos_parts_service (source, service);
    argos_route_lane (source, key, sizeof key);
    snprintf (own, sizeof own, "%s.files", id);
    json_array_foreach (json_object_get (self->body, "files"), index, path)
        json_array_append_new (files, json_pack ("{s:O, s:s}", "path", path, "kind",
                                          argos_reply_kind (json_string_value (path))));
    json_t *body = json_pack ("{s:s, s:s, s:o}", "service", service, "key", key, "files", files);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (json_object_get (source, copied[i]))
            json_object_set (body, copied[i], json_object_get (source, copied[i]));
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:s, s:s, s:b, s:o}", "type", "file.send", "to",
                   "service:tool.files", "id", own, "key", key, "durable", 1, "body", body));
}

//  The message itself. Its id goes to id (64 bytes).

static void
s_deliver (const argos_ask_t *self, const json_t *source, size_t number, char *id, json_t *parts)
{
    char digest[ARGOS_DIGEST_SIZE];
    argos_parts_digest (self->from, self->id, digest);
    snprintf (id, 64, "snd_%s.%zu", digest, number);
    if (*argos_json_text (self->body, "text"))
        argos_parts_deliver (
            parts, source, id, "notice", argos_json_text (self->body, "text"), NULL);
    if (json_object_get (self->body, "files"))
        s_files (self, source, id, parts);
}

//  Whether it is known that nobody delivers there.

static bool
s_is_missing (const argos_ask_t *self, const json_t *source)
{
    char service[ARGOS_NAME_MAX + 1], to[ARGOS_TO_MAX + 1];
    argos_parts_service (source, service);
    snprintf (to, sizeof to, "service:%s", service);
    return argos_list_has (self->missing, to);
}

//  Why a chat was left out, new.

static json_t *
s_failure (const argos_ask_t *self, json_t *source, const json_t *gone)
{
    json_t *row = json_pack ("{s:O}", "source", source), *error = json_object_get (gone, "error");
    const char *reason = s_is_missing (self, source) ? "no adapter has served that account yet"
                                                     : "it takes nothing any more";
    json_object_set_new (row, "reason", json_string (reason));
    if (error)
        json_object_set (row, "error", error);
    return row;
}

argos_err_t
argos_send_answer (
    const argos_ask_t *self, json_t **ret_reply, json_t *parts, char reason[ARGOS_ASK_REASON])
{
    json_t *found = s_found (self, reason), *source, *sent = json_array (), *failed = json_array ();
    size_t index, base = s_directory (self);
    bool force = json_is_true (json_object_get (self->body, "force"));
    json_array_foreach (found, index, source) {
        char id[64], session[ARGOS_SESSION_ID_MAX + 1];
        const json_t *gone =
            json_array_get (json_object_get (self->read[base + 2 * index + 1], "deliveries"), 0);
        if (s_is_missing (self, source) || (gone && !force)) {
            json_array_append_new (failed, s_failure (self, source, gone));
            continue;
        }
        s_deliver (self, source, index, id, parts);
        const char *why = s_unnoted (self, source);
        json_t *row =
            json_pack ("{s:O, s:s, s:b}", "source", source, "delivery", id, "mirrored", !why);
        if (why)
            json_object_set_new (row, "why", json_string (why));
        else {
            s_note (self, source, self->read[base + 2 * index], index, session, parts);
            json_object_set_new (row, "session_id", json_string (session));
        }
        json_array_append_new (sent, row);
    }
    *ret_reply = json_pack ("{s:o, s:o}", "sent", sent, "failed", failed);
    bool good = found != NULL;
    json_decref (found);
    return good ? ARGOS_OK : ARGOS_NOT_FOUND;
}

//  ------------------------------------------------------------------------------------------------
//  channel.alias

argos_err_t
argos_alias_answer (
    const argos_ask_t *self, json_t **ret_reply, json_t *parts, char reason[ARGOS_ASK_REASON])
{
    char key[ARGOS_ASK_REASON];
    const char *alias = argos_json_text (self->body, "alias");
    const char *target = argos_json_text (self->body, "target");
    json_t *found = *target ? s_found (self, reason) : NULL;
    bool good = !*target || json_array_size (found) == 1;
    if (*target && found && !good)
        snprintf (reason, ARGOS_ASK_REASON, "an alias is for one chat");
    json_decref (found);
    if (good && !argos_target_alias_valid (alias)) {
        snprintf (reason, ARGOS_ASK_REASON, "an alias is one word that means nothing else");
        return ARGOS_INVALID;
    }
    if (!good)
        return ARGOS_NOT_FOUND;
    snprintf (key, sizeof key, "%s", alias);
    for (char *c = key; *c; c++)
        *c = (char) tolower ((unsigned char) *c);
    json_t *put = json_pack ("{s:s, s:s}", "space", ARGOS_TARGET_ALIAS, "key", key);
    if (*target)
        json_object_set_new (put, "value", json_pack ("{s:s}", "target", target));
    argos_parts_store_new (parts, "record.put", put);
    *ret_reply = json_pack ("{s:s}", "alias", key);
    return ARGOS_OK;
}
