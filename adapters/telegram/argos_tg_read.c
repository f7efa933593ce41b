//  argos_tg_read - see the header.
//
//  Invariant: the id of a message is made of account, chat and message id, so that an update that
//  comes twice is one message, whatever its update_id; a chat that has got a new id keeps the one
//  it had first. Members of the wrong type count as absent. Limits: those of message.inbound;
//  longer texts are cut.

#include "argos_tg_read.h"

#include "argos_edit.h"
#include "argos_json_get.h"
#include "argos_setting.h"
#include "argos_text.h"
#include "argos_tg_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANONYMOUS 1087968824LL //  Who writes for an administrator that is not named
#define FORWARDER 777000LL     //  Who brings posts of a channel into its group
#define CUT_UNITS 4000         //  A client cuts longer texts at about this
#define TEXT_MAX 262144        //  Bytes of a text
#define JOINED_MAX 200000      //  Beyond, nothing is folded in
#define FILES_MAX 16           //  Of a message
#define NAME_BYTES 255         //  Of a name

static void
s_put (json_t *object, const char *name, const char *text, size_t max)
{
    if (*text)
        json_object_set_new (
            object, name, json_stringn (text, argos_utf8_cut (text, strlen (text), max)));
}

static void
s_put_int (json_t *object, const char *name, int64_t number)
{
    if (number)
        json_object_set_new (object, name, json_sprintf ("%" PRId64, number));
}

//  The id that a chat had at first.

static int64_t
s_chat (const argos_tg_who_t *who, int64_t chat)
{
    char name[32];
    snprintf (name, sizeof name, "%" PRId64, chat);
    const char *first = argos_json_text (who->aliases, name);
    return *first ? strtoll (first, NULL, 10) : chat;
}

//  Topic of a message: in ordinary groups a chain of replies has such a number, too, and is none.
//  The General topic of a forum has none, and is 1.

static int64_t
s_thread (const argos_tg_who_t *who, const json_t *message)
{
    const json_t *chat = json_object_get (message, "chat");
    //  The first message of a topic that a person has just made in a private chat
    bool first = who->topics && strcmp (argos_json_text (chat, "type"), "private") == 0 &&
                 !json_object_get (message, "reply_to_message");
    if (first || json_is_true (json_object_get (message, "is_topic_message")))
        return argos_json_int (message, "message_thread_id");
    return json_is_true (json_object_get (chat, "is_forum")) ? 1 : 0;
}

static const char *
s_chat_type (const json_t *chat)
{
    const char *type = argos_json_text (chat, "type");
    if (strcmp (type, "private") == 0)
        return "dm";
    if (strcmp (type, "channel") == 0)
        return "channel";
    return json_is_true (json_object_get (chat, "is_forum")) ? "forum" : "group";
}

static void
s_put_name (json_t *source, const json_t *user)
{
    char name[600];
    const char *last = argos_json_text (user, "last_name");
    snprintf (
        name, sizeof name, "%s%s%s", argos_json_text (user, "first_name"), *last ? " " : "", last);
    s_put (source, "user_name", *name ? name : argos_json_text (user, "username"), NAME_BYTES);
}

static json_t *
s_source (const argos_tg_who_t *who, const json_t *message, const json_t *user)
{
    const json_t *chat = json_object_get (message, "chat");
    json_t *source = json_pack ("{s:s,s:s,s:s}", "platform", "telegram", "account", who->account,
        "chat_type", s_chat_type (chat));
    s_put_int (source, "chat_id", s_chat (who, argos_json_int (chat, "id")));
    s_put_int (source, "thread_id", s_thread (who, message));
    s_put_int (source, "user_id", argos_json_int (user, "id"));
    s_put_name (source, user);
    s_put (source, "chat_name", argos_json_text (chat, "title"), NAME_BYTES);
    if (json_is_true (json_object_get (user, "is_bot")))
        json_object_set_new (source, "is_bot", json_true ());
    return source;
}

//  ------------------------------------------------------------------------------------------------
//  Files

static void
s_add_file (json_t *files, const json_t *file, const char *kind, const char *name)
{
    const char *own = argos_json_text (file, "file_name");
    if (*argos_json_text (file, "file_id"))
        json_array_append_new (files,
            json_pack ("{s:s,s:I,s:s,s:s,s:s}", "file_id", argos_json_text (file, "file_id"),
                "size", (json_int_t) argos_json_int (file, "file_size"), "kind", kind, "name",
                *own ? own : name, "media_type", argos_json_text (file, "mime_type")));
}

static const struct {
    const char *member;  //  Of the message
    const char *kind;    //  Of the attachment
    const char *message; //  Type of the message
    const char *name;    //  When it has none
} media[] = {
    { "voice", "voice", "voice", "voice.ogg" },
    { "audio", "audio", "audio", "audio.mp3" },
    { "video", "video", "video", "video.mp4" },
    { "video_note", "video", "video", "video.mp4" },
    { "animation", "video", "video", "animation.mp4" },
    { "document", "document", "document", "document" },
};

//  The files of a message; its type. An animation has its document, too: the first that is there.

static json_t *
s_files (const json_t *message, const char **ret_type)
{
    json_t *files = json_array (), *photos = json_object_get (message, "photo");
    if (json_array_size (photos)) {
        s_add_file (
            files, json_array_get (photos, json_array_size (photos) - 1), "image", "photo.jpg");
        *ret_type = "photo";
    }
    for (size_t i = 0; i < sizeof media / sizeof *media && !json_array_size (files); i++) {
        s_add_file (
            files, json_object_get (message, media[i].member), media[i].kind, media[i].name);
        if (json_array_size (files))
            *ret_type = media[i].message;
    }
    return files;
}

//  What has no text and no file, in words. New; NULL = it is nothing of that kind.

static char *
s_in_words (const json_t *message, const char **ret_type)
{
    const json_t *location = json_object_get (message, "location");
    const json_t *sticker = json_object_get (message, "sticker");
    const json_t *contact = json_object_get (message, "contact");
    const json_t *poll = json_object_get (message, "poll");
    char text[1200] = "";
    if (location) {
        snprintf (text, sizeof text, "%s%s%.6f, %.6f",
            argos_json_text (json_object_get (message, "venue"), "title"),
            json_object_get (message, "venue") ? ": " : "",
            json_number_value (json_object_get (location, "latitude")),
            json_number_value (json_object_get (location, "longitude")));
        *ret_type = "location";
    }
    else if (sticker) {
        snprintf (text, sizeof text, "%.64s", argos_json_text (sticker, "emoji"));
        *ret_type = "sticker";
    }
    else if (contact)
        snprintf (text, sizeof text, "Contact: %.200s %.200s %.64s",
            argos_json_text (contact, "first_name"), argos_json_text (contact, "last_name"),
            argos_json_text (contact, "phone_number"));
    else if (poll)
        snprintf (text, sizeof text, "Poll: %.1000s", argos_json_text (poll, "question"));
    else if (json_object_get (message, "dice"))
        snprintf (text, sizeof text, "%.32s %" PRId64,
            argos_json_text (json_object_get (message, "dice"), "emoji"),
            argos_json_int (json_object_get (message, "dice"), "value"));
    return *text ? strdup (text) : NULL;
}

//  ------------------------------------------------------------------------------------------------
//  What it answers

static void
s_put_reply (json_t *body, const json_t *message, const argos_tg_who_t *who)
{
    const json_t *reply = json_object_get (message, "reply_to_message");
    const json_t *user = json_object_get (reply, "from");
    const char *quote = argos_json_text (json_object_get (message, "quote"), "text");
    const char *text = argos_json_text (reply, "text");
    //  In a topic everything answers the message that began it
    if (!reply || json_object_get (reply, "forum_topic_created"))
        return;
    s_put_int (body, "reply_to_message_id", argos_json_int (reply, "message_id"));
    s_put (body, "reply_to_text",
        *quote  ? quote
        : *text ? text
                : argos_json_text (reply, "caption"),
        65536);
    s_put_int (body, "reply_to_author_id", argos_json_int (user, "id"));
    s_put (body, "reply_to_author_name", argos_json_text (user, "first_name"), NAME_BYTES);
    if (user && argos_json_int (user, "id") == who->id)
        json_object_set_new (body, "reply_to_is_own_message", json_true ());
}

//  ------------------------------------------------------------------------------------------------
//  Whether it is for us

static bool
s_listed (const argos_tg_who_t *who, const char *path, int64_t number)
{
    char text[32];
    snprintf (text, sizeof text, "%" PRId64, number);
    return argos_setting_has (who->settings, "telegram", NULL, path, text);
}

//  NULL = it is; else a word that says why not.

static const char *
s_not_for_us (const argos_tg_who_t *who, const json_t *message, const argos_tg_said_t *said)
{
    const json_t *chat = json_object_get (message, "chat");
    const json_t *reply = json_object_get (message, "reply_to_message");
    int64_t id = s_chat (who, argos_json_int (chat, "id")), thread = s_thread (who, message);
    const json_t *wish = argos_setting (who->settings, "telegram", NULL, "require_mention");
    bool answers = argos_json_int (json_object_get (reply, "from"), "id") == who->id && reply &&
                   !json_object_get (reply, "forum_topic_created");
    if (said->foreign)
        return "other_command";
    if (strcmp (argos_json_text (chat, "type"), "private") == 0)
        return NULL;
    if (thread && s_listed (who, "ignored_threads", thread))
        return "ignored_thread";
    if (argos_setting (who->settings, "telegram", NULL, "allowed_topics") &&
        !s_listed (who, "allowed_topics", thread))
        return "other_topic";
    if (argos_setting_bool (who->settings, "telegram", NULL, "exclusive_mentions") &&
        said->others && !said->ours)
        return "other_bot";
    if (json_is_false (wish) || said->ours || answers || s_listed (who, "free_response_chats", id))
        return NULL;
    return "not_addressed";
}

//  ------------------------------------------------------------------------------------------------
//  A message

//  Its id is made of the chat's present id: numbers begin anew when that changes.

static json_t *
s_message (
    const argos_tg_who_t *who, const json_t *source, int64_t chat, const char *what, json_t *body)
{
    const char *first = argos_json_text (source, "chat_id"),
               *thread = argos_json_text (source, "thread_id");
    return json_pack ("{s:o,s:o,s:o}", "id",
        json_sprintf ("telegram.%s:%" PRId64 ":%.80s", who->account, chat, what), "key",
        json_sprintf ("telegram.%s:%s%s%s", who->account, first, *thread ? ":" : "", thread),
        "body", body);
}

//  Of a text that its client has cut, or of words that are ours (a place that moves), an edit does
//  not say what the whole is.

static void
s_make_edit (const json_t *message, bool written, argos_tg_in_t *in)
{
    char when[32];
    snprintf (when, sizeof when, "%" PRId64, argos_json_int (message, "edit_date"));
    json_decref (in->files); //  Those of before stay
    in->files = NULL;
    in->group = "";
    if (written && !in->whole && argos_edit_make (in->message, when))
        return;
    argos_tg_in_clear (in);
    in->why = "edited";
    in->whole = false;
}

static void
s_read_message (const json_t *message, const argos_tg_who_t *who, argos_tg_in_t *in)
{
    const json_t *user = json_object_get (message, "from");
    const json_t *text = json_object_get (message, "text");
    const char *type = "text", *written = argos_json_text (message, text ? "text" : "caption");
    json_t *files = s_files (message, &type);
    char *words = *written || json_array_size (files) ? NULL : s_in_words (message, &type);
    argos_tg_said_t said = argos_tg_said (words ? words : written,
        json_object_get (message, text ? "entities" : "caption_entities"), who);
    in->why = s_not_for_us (who, message, &said);
    in->loose = !in->edited && in->why && strcmp (in->why, "not_addressed") == 0 &&
                *argos_json_text (message, "media_group_id") && json_array_size (files);
    if (in->loose)
        in->why = NULL;
    if (!*said.text && !json_array_size (files) && !in->why)
        in->why = said.ours && *written ? NULL : "empty";
    if (!in->why) {
        json_t *source = s_source (who, message, user);
        json_t *body = json_pack ("{s:o,s:s#,s:s,s:o}", "source", source, "text", said.text,
            argos_utf8_cut (said.text, strlen (said.text), TEXT_MAX), "message_type",
            *said.text == '/' ? "command" : type, "message_id",
            json_sprintf ("%" PRId64, argos_json_int (message, "message_id")));
        s_put_reply (body, message, who);
        in->message =
            s_message (who, source, argos_json_int (json_object_get (message, "chat"), "id"),
                argos_json_text (body, "message_id"), body);
        in->kind = ARGOS_TG_MESSAGE;
        in->whole = text && argos_tg_units (written) >= CUT_UNITS && *written != '/';
        in->group = argos_json_text (message, "media_group_id");
        in->files = json_array_size (files) ? json_incref (files) : NULL;
        if (in->edited)
            s_make_edit (message, *written, in);
    }
    json_decref (files);
    free (words);
    free (said.text);
}

static void
s_read_any (const json_t *message, const argos_tg_who_t *who, argos_tg_in_t *in)
{
    const json_t *user = json_object_get (message, "from");
    int64_t chat = argos_json_int (json_object_get (message, "chat"), "id");
    if (argos_json_int (message, "migrate_to_chat_id")) {
        in->kind = ARGOS_TG_MIGRATION;
        in->old_chat = s_chat (who, chat);
        in->new_chat = argos_json_int (message, "migrate_to_chat_id");
    }
    else if (!chat || !argos_json_int (message, "message_id"))
        in->why = "no_message";
    else if (user && argos_json_int (user, "id") == who->id)
        in->why = "own";
    else if (argos_json_int (user, "id") == ANONYMOUS || argos_json_int (user, "id") == FORWARDER ||
             json_is_true (json_object_get (message, "is_automatic_forward")))
        in->why = "nobody";
    else
        s_read_message (message, who, in);
}

//  ------------------------------------------------------------------------------------------------
//  A button

static void
s_read_button (const json_t *query, const argos_tg_who_t *who, argos_tg_in_t *in)
{
    const json_t *message = json_object_get (query, "message");
    const json_t *user = json_object_get (query, "from");
    const char *data = argos_json_text (query, "data");
    in->query = argos_json_text (query, "id");
    in->kind = ARGOS_TG_BUTTON;
    in->chat = argos_json_int (json_object_get (message, "chat"), "id");
    in->message_id = argos_json_int (message, "message_id");
    if (!*data || !in->chat || !user)
        return; //  The query is answered all the same
    json_t *source = s_source (who, message, user);
    json_t *body = json_pack ("{s:o,s:s,s:o}", "source", source, "text", data, "message_id",
        json_sprintf ("%" PRId64, in->message_id));
    char what[80];
    snprintf (what, sizeof what, "button:%.64s", in->query);
    in->message = s_message (who, source, in->chat, what, body);
}

//  ------------------------------------------------------------------------------------------------
//  A reaction

static const char *
s_emoji (const json_t *reaction)
{
    const char *custom = argos_json_text (reaction, "custom_emoji_id");
    return *custom ? custom : argos_json_text (reaction, "emoji");
}

//  The first emoji of one list that is not in the other, "" = there is none.

static const char *
s_emoji_only_in (const json_t *list, const json_t *other)
{
    size_t i, j;
    const json_t *one, *two;
    json_array_foreach (list, i, one) {
        bool known = false;
        json_array_foreach (other, j, two)
            known = known || strcmp (s_emoji (one), s_emoji (two)) == 0;
        if (!known && *s_emoji (one))
            return s_emoji (one);
    }
    return "";
}

//  Telegram does not say whose message it is: of groups only those that are wholly for us.

static void
s_read_reaction (const json_t *event, const argos_tg_who_t *who, argos_tg_in_t *in)
{
    const json_t *chat = json_object_get (event, "chat"), *user = json_object_get (event, "user");
    const json_t *before = json_object_get (event, "old_reaction");
    const json_t *after = json_object_get (event, "new_reaction");
    const char *put = s_emoji_only_in (after, before), *taken = s_emoji_only_in (before, after);
    argos_tg_said_t said = { 0 };
    char what[32], when[32];
    snprintf (what, sizeof what, "%" PRId64, argos_json_int (event, "message_id"));
    snprintf (when, sizeof when, "%" PRId64, argos_json_int (event, "date"));
    in->why = !argos_json_int (chat, "id") || !argos_json_int (user, "id") || !(*put || *taken)
                  ? "no_reaction"
                  : s_not_for_us (who, event, &said);
    if (in->why)
        return;
    json_t *source = s_source (who, event, user);
    json_t *body = json_pack ("{s:o,s:s}", "source", source, "message_id", what);
    in->message = s_message (who, source, argos_json_int (chat, "id"), what, body);
    argos_edit_reaction (in->message, *put ? put : taken, *put, when);
    in->kind = ARGOS_TG_MESSAGE;
}

void
argos_tg_read (const json_t *update, const argos_tg_who_t *who, argos_tg_in_t *ret_in)
{
    static const struct {
        const char *name; //  Of a member of the update
        bool edited;      //  Of the message in it
    } members[] = { { "message", false }, { "channel_post", false }, { "edited_message", true },
        { "edited_channel_post", true } };
    *ret_in = (argos_tg_in_t){ .why = "unknown", .group = "", .query = "" };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_get (update, members[i].name)) {
            ret_in->edited = members[i].edited;
            s_read_any (json_object_get (update, members[i].name), who, ret_in);
            return;
        }
    if (json_object_get (update, "callback_query"))
        s_read_button (json_object_get (update, "callback_query"), who, ret_in);
    else if (json_object_get (update, "message_reaction"))
        s_read_reaction (json_object_get (update, "message_reaction"), who, ret_in);
}

void
argos_tg_in_clear (argos_tg_in_t *self)
{
    json_decref (self->message);
    json_decref (self->files);
    self->message = self->files = NULL;
    self->kind = ARGOS_TG_NOTHING;
}

//  ------------------------------------------------------------------------------------------------
//  Messages that are one

static bool
s_same_writer (const json_t *a, const json_t *b)
{
    return strcmp (argos_json_text (a, "user_id"), argos_json_text (b, "user_id")) == 0;
}

bool
argos_tg_open (const argos_tg_in_t *self)
{
    return self->kind == ARGOS_TG_MESSAGE && (*self->group || self->whole);
}

bool
argos_tg_join (argos_tg_in_t *first, argos_tg_in_t *next)
{
    if (!argos_tg_open (first) || next->kind != ARGOS_TG_MESSAGE)
        return false;
    json_t *body = json_object_get (first->message, "body");
    json_t *more = json_object_get (next->message, "body");
    const char *text = argos_json_text (body, "text"), *behind = argos_json_text (more, "text");
    bool album = *first->group && strcmp (first->group, next->group) == 0 &&
                 json_array_size (first->files) + json_array_size (next->files) <= FILES_MAX;
    bool cut = first->whole && !*next->group && !next->files && *behind != '/' &&
               !json_object_get (more, "reply_to_message_id") &&
               strlen (text) + strlen (behind) < JOINED_MAX;
    if (strcmp (argos_json_text (first->message, "key"), argos_json_text (next->message, "key")) !=
            0 ||
        !s_same_writer (json_object_get (body, "source"), json_object_get (more, "source")) ||
        !(album || cut))
        return false;
    json_object_set_new (
        body, "text", json_sprintf ("%s%s%s", text, album && *text && *behind ? "\n" : "", behind));
    if (next->files && !first->files)
        first->files = json_array ();
    json_array_extend (first->files, next->files);
    first->whole = cut && next->whole;
    first->loose = first->loose && next->loose;
    argos_tg_in_clear (next);
    return true;
}
