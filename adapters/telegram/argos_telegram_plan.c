//  argos_telegram_plan - what has to be called for a delivery. Pure.
//
//  A call is {"method","params","once","bucket","files"?}; chat ids are those that we know the chat
//  by, files numbers of the delivery's. Invariant: every call of a plan goes to the same chat and
//  topic, whatever it sends. Limits: 4,096 units of UTF-16 of a text, 1,024 of a caption, 64 bytes
//  of what a button says, 10 files of an album.

#include "argos_telegram_priv.h"

#include "argos_markdown.h"
#include "argos_tg_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_UNITS 4096    //  Of a message
#define CAPTION_UNITS 1024 //  Of a file
#define ALBUM_MAX 10       //  Files

json_t *
tg_pieces (const char *text, size_t limit)
{
    return argos_markdown_split (text, ARGOS_FORMAT_TELEGRAM, ARGOS_UNIT_UTF16, limit);
}

json_t *
tg_cut (const char *text, size_t limit)
{
    json_t *pieces = json_array ();
    while (*text) {
        size_t size = argos_tg_offset (text, (int64_t) limit), cut = size;
        if (argos_tg_units (text) > (int64_t) limit)
            while (cut > size / 2 && text[cut - 1] != '\n')
                cut--;
        if (cut <= size / 2)
            cut = size;
        if (strspn (text, " \t\n") < cut)
            json_array_append_new (pieces, json_pack ("{s:s#}", "text", text, cut));
        text += cut;
    }
    return pieces;
}

size_t
tg_half (const char *text)
{
    int64_t units = argos_tg_units (text) / 2 + 1;
    return units > 64 ? (size_t) units : 64;
}

//  Where it goes. The General topic is named by nothing.

static json_t *
s_params (const argos_delivery_t *delivery)
{
    json_t *params = json_pack ("{s:s}", "chat_id", delivery->chat_id);
    if (*delivery->thread_id && strcmp (delivery->thread_id, "1") != 0)
        json_object_set_new (
            params, "message_thread_id", json_integer (strtoll (delivery->thread_id, NULL, 10)));
    return params;
}

//  What it answers: by the setting, and always in a topic of a private chat, where without it a
//  message may be shown elsewhere.

void
tg_put_reply (telegram_t *self, const char *chat_id, const char *thread_id, const char *reply_to,
    size_t index, json_t *params)
{
    const char *mode =
        json_string_value (argos_adapter_setting (self->adapter, "reply_to_mode", false));
    bool private = *chat_id != '-', topic = private && *thread_id;
    bool wanted = !mode ? !private && index == 0 : strcmp (mode, "all") == 0;
    if (mode && strcmp (mode, "first") == 0)
        wanted = index == 0;
    int64_t id = strtoll (reply_to, NULL, 10);
    if (id > 0 && (wanted || topic))
        json_object_set_new (params, "reply_parameters",
            json_pack (
                "{s:I,s:b}", "message_id", (json_int_t) id, "allow_sending_without_reply", 1));
}

static void
s_put_reply (telegram_t *self, const argos_delivery_t *delivery, json_t *params, size_t index)
{
    tg_put_reply (self, delivery->chat_id, delivery->thread_id, delivery->reply_to, index, params);
}

static json_t *
s_call (const argos_delivery_t *delivery, const char *method, json_t *params, bool once)
{
    return json_pack ("{s:s,s:o,s:b,s:s}", "method", method, "params", params, "once", once,
        "bucket", delivery->chat_id);
}

static void
s_add (
    json_t *plan, const argos_delivery_t *delivery, const char *method, json_t *params, bool once)
{
    json_array_append_new (plan, s_call (delivery, method, params, once));
}

static json_t *
s_edit_params (const argos_delivery_t *delivery, const char *id)
{
    return json_pack ("{s:s,s:I}", "chat_id", delivery->chat_id, "message_id",
        (json_int_t) strtoll (id, NULL, 10));
}

static void
s_put_text (json_t *params, const json_t *piece)
{
    json_object_set (params, "text", json_object_get (piece, "text"));
    if (json_object_get (piece, "entities"))
        json_object_set (params, "entities", json_object_get (piece, "entities"));
}

//  ------------------------------------------------------------------------------------------------
//  Text

static void
s_plan_text (telegram_t *self, const argos_delivery_t *delivery, json_t *plan)
{
    json_t *pieces = tg_pieces (delivery->text, TEXT_UNITS), *piece;
    size_t i;
    json_array_foreach (pieces, i, piece) {
        bool edits = i == 0 && *delivery->draft_id;
        json_t *params = edits ? s_edit_params (delivery, delivery->draft_id) : s_params (delivery);
        if (!edits)
            s_put_reply (self, delivery, params, i);
        s_put_text (params, piece);
        s_add (plan, delivery, edits ? "editMessageText" : "sendMessage", params, !edits);
    }
    json_decref (pieces);
}

//  The new text over the messages that showed the old one; what is too many goes.

static void
s_plan_edit (const argos_delivery_t *delivery, json_t *plan)
{
    const json_t *ids = json_object_get (delivery->body, "message_ids"), *id;
    json_t *pieces = tg_pieces (delivery->text, TEXT_UNITS), *piece;
    size_t i, count = json_array_size (ids);
    json_array_foreach (pieces, i, piece) {
        const char *known = json_string_value (json_array_get (ids, i));
        json_t *params = known ? s_edit_params (delivery, known) : s_params (delivery);
        s_put_text (params, piece);
        s_add (plan, delivery, known ? "editMessageText" : "sendMessage", params, !known);
    }
    json_array_foreach (ids, i, id)
        if (i >= json_array_size (pieces) && i < count)
            s_add (plan, delivery, "deleteMessage",
                s_edit_params (delivery, json_string_value (id)), false);
    json_decref (pieces);
}

static void
s_plan_prompt (telegram_t *self, const argos_delivery_t *delivery, json_t *plan)
{
    const json_t *options = json_object_get (delivery->body, "options"), *option;
    json_t *rows = json_array ();
    size_t i;
    json_array_foreach (options, i, option)
        json_array_append_new (
            rows, json_pack ("[{s:O,s:O}]", "text", json_object_get (option, "label"),
                      "callback_data", json_object_get (option, "id")));
    s_plan_text (self, delivery, plan);
    json_t *last = json_array_get (plan, json_array_size (plan) - 1);
    if (!last) {
        json_t *params = s_params (delivery);
        json_object_set_new (params, "text", json_string ("?"));
        s_add (plan, delivery, "sendMessage", params, true);
        last = json_array_get (plan, 0);
    }
    json_object_set_new (json_object_get (last, "params"), "reply_markup",
        json_pack ("{s:o}", "inline_keyboard", rows));
}

//  ------------------------------------------------------------------------------------------------
//  Marks

static void
s_plan_delete (const argos_delivery_t *delivery, json_t *plan)
{
    const json_t *ids = json_object_get (delivery->body, "message_ids"), *id;
    size_t i;
    json_array_foreach (ids, i, id)
        s_add (plan, delivery, "deleteMessage", s_edit_params (delivery, json_string_value (id)),
            false);
}

//  Reactions are of a fixed set: two that people think of are not in it, and the heart is bare.

static const char *
s_reaction (const char *emoji)
{
    static const char *const others[][2] = { { "\u2705", "\U0001F44D" },
        { "\u2714\uFE0F", "\U0001F44D" }, { "\u274C", "\U0001F44E" }, { "\u2764\uFE0F", "\u2764" },
        { "\u2611\uFE0F", "\U0001F44D" } };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp (others[i][0], emoji) == 0)
            return others[i][1];
    return emoji;
}

static void
s_plan_react (const argos_delivery_t *delivery, json_t *plan)
{
    const char *emoji = json_string_value (json_object_get (delivery->body, "emoji"));
    const json_t *ids = json_object_get (delivery->body, "message_ids"), *id;
    size_t i;
    json_array_foreach (ids, i, id) {
        json_t *params = s_edit_params (delivery, json_string_value (id)), *list = json_array ();
        if (emoji && *emoji)
            json_array_append_new (
                list, json_pack ("{s:s,s:s}", "type", "emoji", "emoji", s_reaction (emoji)));
        json_object_set_new (params, "reaction", list);
        s_add (plan, delivery, "setMessageReaction", params, false);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Files

static const struct {
    const char *kind;   //  Of the attachment
    const char *method; //  That sends one
    const char *field;  //  Its parameter
    bool album;         //  Several go together
} senders[] = {
    { "image", "sendPhoto", "photo", true },
    { "video", "sendVideo", "video", true },
    { "voice", "sendVoice", "voice", false },
    { "audio", "sendAudio", "audio", false },
    { "document", "sendDocument", "document", false },
};

static size_t
s_sender (const argos_adapter_file_t *file)
{
    size_t last = sizeof senders / sizeof *senders - 1;
    for (size_t i = 0; i < last; i++)
        if (strcmp (senders[i].kind, file->kind) == 0)
            return i;
    return last;
}

static json_t *
s_file_call (telegram_t *self, const argos_delivery_t *delivery, size_t from, size_t count)
{
    json_t *params = s_params (delivery), *files = json_array (), *media = json_array ();
    size_t sender = s_sender (&delivery->files[from]);
    s_put_reply (self, delivery, params, from);
    for (size_t i = from; i < from + count; i++) {
        size_t kind = s_sender (&delivery->files[i]);
        json_array_append_new (files, json_integer ((json_int_t) i));
        json_array_append_new (media, json_pack ("{s:s,s:o}", "type", senders[kind].field, "media",
                                          json_sprintf ("attach://file%zu", i)));
    }
    if (count > 1)
        json_object_set (params, "media", media);
    json_decref (media);
    json_t *call =
        s_call (delivery, count > 1 ? "sendMediaGroup" : senders[sender].method, params, true);
    json_object_set_new (call, "files", files);
    json_object_set_new (call, "field", json_string (senders[sender].field));
    return call;
}

//  The caption belongs to the first file.

static void
s_put_caption (json_t *call, const char *text)
{
    json_t *params = json_object_get (call, "params");
    json_t *first = json_array_get (json_object_get (params, "media"), 0);
    json_t *pieces = tg_pieces (text, CAPTION_UNITS);
    const json_t *piece = json_array_get (pieces, 0);
    json_t *target = first ? first : params;
    json_object_set (target, "caption", json_object_get (piece, "text"));
    if (json_object_get (piece, "entities"))
        json_object_set (target, "caption_entities", json_object_get (piece, "entities"));
    json_decref (pieces);
}

static void
s_plan_files (telegram_t *self, const argos_delivery_t *delivery, json_t *plan, bool caption)
{
    for (size_t at = 0; at < delivery->file_count;) {
        size_t count = 1;
        while (at + count < delivery->file_count && count < ALBUM_MAX &&
               senders[s_sender (&delivery->files[at])].album &&
               senders[s_sender (&delivery->files[at + count])].album)
            count++;
        json_t *call = s_file_call (self, delivery, at, count);
        if (caption && at == 0)
            s_put_caption (call, delivery->text);
        json_array_append_new (plan, call);
        at += count;
    }
}

static void
s_plan_media (telegram_t *self, const argos_delivery_t *delivery, json_t *plan)
{
    json_t *pieces = tg_pieces (delivery->text, CAPTION_UNITS);
    bool caption = json_array_size (pieces) == 1 && !*delivery->draft_id;
    if (!caption)
        s_plan_text (self, delivery, plan);
    s_plan_files (self, delivery, plan, caption);
    json_decref (pieces);
}

json_t *
tg_plan (void *arg, const argos_delivery_t *delivery, char *error, size_t size)
{
    telegram_t *self = arg;
    json_t *plan = json_array ();
    if (!*delivery->chat_id) {
        snprintf (error, size, "no chat is named");
        json_decref (plan);
        return NULL;
    }
    if (strcmp (delivery->op, "edit") == 0)
        s_plan_edit (delivery, plan);
    else if (strcmp (delivery->op, "delete") == 0)
        s_plan_delete (delivery, plan);
    else if (strcmp (delivery->op, "react") == 0)
        s_plan_react (delivery, plan);
    else if (strcmp (delivery->op, "prompt") == 0)
        s_plan_prompt (self, delivery, plan);
    else if (delivery->file_count)
        s_plan_media (self, delivery, plan);
    else
        s_plan_text (self, delivery, plan);
    return plan;
}
