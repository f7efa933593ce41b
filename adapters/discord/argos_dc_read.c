//  argos_dc_read - see the header.
//
//  Invariant: the id of a message is made of account, channel and message id, so that an event that
//  is replayed is one message. Members of the wrong type count as absent. Limits: those of
//  message.inbound.

#include "argos_dc_read.h"

#include "argos_edit.h"
#include "argos_json_get.h"
#include "argos_setting.h"
#include "argos_text.h"
#include "argos_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 262144 //  Bytes of a text
#define NAME_BYTES 255  //  Of a name
#define THREAD_NAME 80  //  Characters of the name of a thread

static void
s_put (json_t *object, const char *name, const char *text, size_t max)
{
    if (*text)
        json_object_set_new (
            object, name, json_stringn (text, argos_utf8_cut (text, strlen (text), max)));
}

static bool
s_setting_has (const argos_dc_who_t *who, const char *path, const char *text)
{
    return *text && argos_setting_has (who->settings, "discord", NULL, path, text);
}

bool
argos_dc_is_thread (const json_t *channel)
{
    json_int_t type = json_integer_value (json_object_get (channel, "type"));
    return type >= 10 && type <= 12;
}

static const json_t *
s_channel (const argos_dc_who_t *who, const char *id)
{
    return json_object_get (who->channels, id);
}

const char *
argos_dc_read_needs (const json_t *event, const argos_dc_who_t *who)
{
    const char *id = argos_json_text (event, "channel_id");
    if (!*argos_json_text (event, "guild_id") || !*id || s_channel (who, id))
        return "";
    return id;
}

//  ------------------------------------------------------------------------------------------------
//  Where, and who

//  thread: of the thread that will be made, "" = none
static json_t *
s_source (const json_t *event, const argos_dc_who_t *who, const json_t *user, const char *thread)
{
    const char *id = argos_json_text (event, "channel_id"),
               *guild = argos_json_text (event, "guild_id");
    const json_t *channel = s_channel (who, id), *member = json_object_get (event, "member");
    bool in_thread = argos_dc_is_thread (channel);
    const char *chat = in_thread && *argos_json_text (channel, "parent_id")
                           ? argos_json_text (channel, "parent_id")
                           : id;
    const char *type = !*guild ? "dm" : in_thread || *thread ? "thread" : "group";
    json_t *source = json_pack ("{s:s,s:s,s:s,s:s}", "platform", "discord", "account", who->account,
        "chat_type", type, "chat_id", chat);
    s_put (source, "thread_id", in_thread ? id : thread, NAME_BYTES);
    if (in_thread || *thread)
        s_put (source, "parent_chat_id", chat, NAME_BYTES);
    s_put (source, "scope_id", guild, NAME_BYTES);
    s_put (source, "user_id", argos_json_text (user, "id"), NAME_BYTES);
    const char *nick = argos_json_text (member, "nick"),
               *global = argos_json_text (user, "global_name");
    s_put (source, "user_name",
        *nick     ? nick
        : *global ? global
                  : argos_json_text (user, "username"),
        NAME_BYTES);
    s_put (source, "chat_name", argos_json_text (channel, "name"), NAME_BYTES);
    s_put (source, "chat_topic", argos_json_text (channel, "topic"), 4096);
    if (json_is_true (json_object_get (user, "bot")))
        json_object_set_new (source, "is_bot", json_true ());
    return source;
}

static json_t *
s_message (const argos_dc_who_t *who, const char *channel, const char *id, json_t *body)
{
    const json_t *source = json_object_get (body, "source");
    const char *thread = argos_json_text (source, "thread_id");
    return json_pack ("{s:o,s:o,s:o}", "id",
        json_sprintf ("discord.%s:%s:%s", who->account, channel, id), "key",
        json_sprintf ("discord.%s:%s%s%s", who->account, argos_json_text (source, "chat_id"),
            *thread ? ":" : "", thread),
        "body", body);
}

void
argos_dc_read_flat (json_t *message, const argos_dc_who_t *who)
{
    json_t *source = json_object_get (json_object_get (message, "body"), "source");
    json_object_del (source, "thread_id");
    json_object_del (source, "parent_chat_id");
    json_object_set_new (source, "chat_type", json_string ("group"));
    json_object_set_new (message, "key",
        json_sprintf ("discord.%s:%s", who->account, argos_json_text (source, "chat_id")));
}

//  ------------------------------------------------------------------------------------------------
//  Whether it is for us

static bool
s_mentions_us (const json_t *event, const argos_dc_who_t *who)
{
    size_t at;
    const json_t *entry;
    json_array_foreach (json_object_get (event, "mentions"), at, entry)
        if (strcmp (argos_json_text (entry, "id"), who->id) == 0)
            return true;
    const char *ours = argos_json_text (who->roles, argos_json_text (event, "guild_id"));
    json_array_foreach (json_object_get (event, "mention_roles"), at, entry) {
        const char *role = json_string_value (entry);
        if (role && *ours && strcmp (role, ours) == 0)
            return true;
    }
    return false;
}

static bool
s_replies_to_us (const json_t *event, const argos_dc_who_t *who)
{
    const json_t *other = json_object_get (event, "referenced_message");
    return strcmp (argos_json_text (json_object_get (other, "author"), "id"), who->id) == 0;
}

//  In a thread of ours, or where everything is for us
static bool
s_at_home (const char *id, const json_t *channel, const argos_dc_who_t *who)
{
    const char *parent = argos_dc_is_thread (channel) ? argos_json_text (channel, "parent_id") : "";
    if (s_setting_has (who, "free_response_chats", id) ||
        s_setting_has (who, "free_response_chats", parent))
        return true;
    return argos_dc_is_thread (channel) &&
           (json_object_get (who->threads, id) ||
               strcmp (argos_json_text (channel, "owner_id"), who->id) == 0);
}

static const char *
s_not_for_us (const json_t *event, const argos_dc_who_t *who, bool *ret_addressed)
{
    const char *id = argos_json_text (event, "channel_id");
    const json_t *channel = s_channel (who, id), *author = json_object_get (event, "author");
    json_int_t type = json_integer_value (json_object_get (event, "type"));
    *ret_addressed = s_mentions_us (event, who) || s_replies_to_us (event, who);
    if (strcmp (argos_json_text (author, "id"), who->id) == 0)
        return "own";
    if (json_object_get (event, "webhook_id") &&
        !json_is_null (json_object_get (event, "webhook_id")))
        return "webhook";
    if (type != 0 && type != 19)
        return "notice";
    if (!*argos_json_text (author, "id") || !*argos_json_text (event, "id") || !*id)
        return "no_message";
    if (!*argos_json_text (event, "guild_id"))
        return NULL;
    if (s_setting_has (who, "ignored_threads", id))
        return "ignored_thread";
    if (*ret_addressed || s_at_home (id, channel, who))
        return NULL;
    return json_is_false (argos_setting (who->settings, "discord", NULL, "require_mention"))
               ? NULL
               : "not_addressed";
}

//  ------------------------------------------------------------------------------------------------
//  What it says

//  The text without what calls us; <@!1> is an older form of <@1>. New.
static char *
s_without_mention (const char *text, const char *id)
{
    char *out = malloc (strlen (text) + 1);
    if (!out)
        abort ();
    size_t length = strlen (id), used = 0;
    for (const char *at = text; *at;) {
        const char *name = at[0] == '<' && at[1] == '@' ? at + 2 + (at[2] == '!') : NULL;
        if (name && strncmp (name, id, length) == 0 && name[length] == '>') {
            at = name + length + 1;
            if (used == 0 || out[used - 1] == ' ')
                at += *at == ' ';
            continue;
        }
        out[used++] = *at++;
    }
    while (used && (out[used - 1] == ' ' || out[used - 1] == '\n'))
        used--;
    out[used] = '\0';
    return out;
}

static const char *
s_kind (const json_t *file)
{
    const char *type = argos_json_text (file, "content_type");
    if (strncmp (type, "image/", 6) == 0)
        return "image";
    if (strncmp (type, "video/", 6) == 0)
        return "video";
    if (strncmp (type, "audio/", 6) == 0)
        return json_object_get (file, "waveform") ? "voice" : "audio";
    return "document";
}

static json_t *
s_files (const json_t *event, const char **ret_type)
{
    json_t *files = json_array ();
    const json_t *file;
    size_t at;
    json_array_foreach (json_object_get (event, "attachments"), at, file) {
        const char *name = argos_json_text (file, "filename");
        if (!*argos_json_text (file, "url"))
            continue;
        const char *kind = s_kind (file);
        json_array_append_new (
            files, json_pack ("{s:s,s:s,s:s,s:s}", "url", argos_json_text (file, "url"), "kind",
                       kind, "name", *name ? name : "file", "media_type",
                       argos_json_text (file, "content_type")));
        *ret_type = strcmp (kind, "image") == 0 ? "photo" : kind;
    }
    return files;
}

//  A message that was passed on has its text in a snapshot
static const char *
s_content (const json_t *event)
{
    const char *text = argos_json_text (event, "content");
    const json_t *first = json_array_get (json_object_get (event, "message_snapshots"), 0);
    return *text ? text : argos_json_text (json_object_get (first, "message"), "content");
}

static void
s_put_reply (json_t *body, const json_t *event, const argos_dc_who_t *who)
{
    const json_t *other = json_object_get (event, "referenced_message");
    const json_t *author = json_object_get (other, "author");
    if (!json_is_object (other) || json_integer_value (json_object_get (event, "type")) != 19)
        return;
    s_put (body, "reply_to_message_id", argos_json_text (other, "id"), 128);
    s_put (body, "reply_to_text", argos_json_text (other, "content"), 65536);
    s_put (body, "reply_to_author_id", argos_json_text (author, "id"), NAME_BYTES);
    s_put (body, "reply_to_author_name", argos_json_text (author, "username"), NAME_BYTES);
    if (strcmp (argos_json_text (author, "id"), who->id) == 0)
        json_object_set_new (body, "reply_to_is_own_message", json_true ());
}

//  A mention in a text channel becomes a thread: not an answer, not where everything is for us
static bool
s_wants_thread (const json_t *event, const argos_dc_who_t *who, bool addressed)
{
    const char *id = argos_json_text (event, "channel_id");
    const json_t *channel = s_channel (who, id);
    json_int_t kind = json_integer_value (json_object_get (channel, "type"));
    const json_t *wish = argos_setting (who->settings, "discord", NULL, "auto_thread");
    return addressed && !json_is_false (wish) && *argos_json_text (event, "guild_id") &&
           (kind == 0 || kind == 5) && json_integer_value (json_object_get (event, "type")) == 0 &&
           !s_setting_has (who, "free_response_chats", id);
}

//  thread: of the thread that was made of it, "" = none
static void
s_read (const json_t *event, const argos_dc_who_t *who, const char *thread, argos_dc_in_t *ret_in)
{
    *ret_in = (argos_dc_in_t){ 0 };
    bool addressed = false;
    ret_in->why = s_not_for_us (event, who, &addressed);
    if (ret_in->why)
        return;
    const char *type = "text";
    json_t *files = s_files (event, &type);
    char *text = s_without_mention (s_content (event), who->id);
    if (!*text && !json_array_size (files) && !addressed) {
        ret_in->why = "empty";
        json_decref (files);
        free (text);
        return;
    }
    ret_in->new_thread = !*thread && s_wants_thread (event, who, addressed);
    json_t *source = s_source (event, who, json_object_get (event, "author"),
        ret_in->new_thread ? argos_json_text (event, "id") : thread);
    json_t *body = json_pack ("{s:o,s:s#,s:s,s:s}", "source", source, "text", text,
        argos_utf8_cut (text, strlen (text), TEXT_MAX), "message_type",
        *text == '/' ? "command" : type, "message_id", argos_json_text (event, "id"));
    s_put_reply (body, event, who);
    ret_in->message =
        s_message (who, argos_json_text (event, "channel_id"), argos_json_text (event, "id"), body);
    ret_in->files = files;
    free (text);
}

void
argos_dc_read_message (const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in)
{
    s_read (event, who, "", ret_in);
}

//  It is told, too, when a preview of a link has come: then there is no time of an edit
void
argos_dc_read_edit (const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in)
{
    const char *id = argos_json_text (event, "id"),
               *when = argos_json_text (event, "edited_timestamp");
    s_read (event, who, json_object_get (who->threads, id) ? id : "", ret_in);
    json_decref (ret_in->files);
    ret_in->files = NULL;
    ret_in->new_thread = false;
    if (ret_in->message && *when && argos_edit_make (ret_in->message, when))
        return;
    json_decref (ret_in->message);
    ret_in->message = NULL;
    if (!ret_in->why)
        ret_in->why = "edited";
}

//  In servers only those on what we have said, when the event says whose it is
void
argos_dc_read_reaction (const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in)
{
    const json_t *emoji = json_object_get (event, "emoji");
    const json_t *user = json_object_get (json_object_get (event, "member"), "user");
    const char *by = argos_json_text (event, "user_id"), *name = argos_json_text (emoji, "name");
    const char *id = argos_json_text (event, "message_id"),
               *channel = argos_json_text (event, "channel_id");
    *ret_in = (argos_dc_in_t){ .why = "no_reaction" };
    if (!*by || !*id || !*channel || !*name || strcmp (by, who->id) == 0 ||
        (*argos_json_text (event, "guild_id") &&
            strcmp (argos_json_text (event, "message_author_id"), who->id) != 0))
        return;
    json_t *other = user ? NULL : json_pack ("{s:s}", "id", by);
    json_t *body = json_pack (
        "{s:o,s:s}", "source", s_source (event, who, user ? user : other, ""), "message_id", id);
    json_decref (other);
    ret_in->message = s_message (who, channel, id, body);
    argos_edit_reaction (
        ret_in->message, name, !json_is_true (json_object_get (event, "removed")), who->place);
    ret_in->why = NULL;
}

//  /name and the values of its options, also of nested ones
static json_t *
s_command (const json_t *data)
{
    argos_text_t text;
    argos_text_init (&text, TEXT_MAX);
    argos_text_add (&text, "/", 1);
    argos_text_add (&text, argos_json_text (data, "name"), strlen (argos_json_text (data, "name")));
    for (const json_t *options = json_object_get (data, "options"); options;) {
        const json_t *option, *deeper = NULL;
        size_t at;
        json_array_foreach (options, at, option) {
            const json_t *value = json_object_get (option, "value");
            char *shown = value ? json_dumps (value, JSON_ENCODE_ANY) : NULL;
            const char *word = json_is_string (value) ? json_string_value (value) : shown;
            if (!word)
                word = argos_json_text (option, "name");
            argos_text_add (&text, " ", 1);
            argos_text_add (&text, word, strlen (word));
            free (shown);
            deeper = json_object_get (option, "options");
        }
        options = deeper;
    }
    json_t *made = json_string (argos_text_str (&text));
    argos_text_clear (&text);
    return made;
}

void
argos_dc_read_interaction (const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in)
{
    *ret_in = (argos_dc_in_t){ .why = "no_interaction" };
    json_int_t type = json_integer_value (json_object_get (event, "type"));
    const json_t *data = json_object_get (event, "data");
    const json_t *user = json_object_get (json_object_get (event, "member"), "user");
    if (!user)
        user = json_object_get (event, "user");
    if ((type != 2 && type != 3) || !*argos_json_text (user, "id") ||
        !*argos_json_text (event, "channel_id"))
        return;
    const char *pressed = argos_json_text (data, "custom_id");
    json_t *text = type == 2 ? s_command (data) : json_string (pressed);
    json_t *body = json_pack ("{s:o,s:o,s:s,s:s}", "source", s_source (event, who, user, ""),
        "text", text, "message_type", type == 2 ? "command" : "text", "message_id",
        argos_json_text (event, "id"));
    ret_in->message =
        s_message (who, argos_json_text (event, "channel_id"), argos_json_text (event, "id"), body);
    ret_in->why = NULL;
}

char *
argos_dc_thread_name (const char *text)
{
    char *name = malloc (strlen (text) + 16);
    if (!name)
        abort ();
    size_t used = 0;
    for (const char *at = text; *at; at++) {
        if (*at == '<' && (at[1] == '@' || at[1] == '#')) {
            const char *end = strchr (at, '>');
            if (end && end - at < 64) {
                at = end;
                continue;
            }
        }
        bool blank = (unsigned char) *at <= 32;
        if (!blank || (used && name[used - 1] != ' '))
            memcpy (name + used++, blank ? " " : at, 1);
    }
    while (used && name[used - 1] == ' ')
        used--;
    size_t fits = argos_unit_fit (ARGOS_UNIT_CHARACTERS, name, used, THREAD_NAME);
    fits = argos_unit_grapheme (name, used, 0, fits);
    name[fits] = '\0';
    if (!fits)
        snprintf (name, 16, "Conversation");
    return name;
}
