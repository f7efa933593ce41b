//  argos_discord_plan - what has to be called for a delivery. Pure but for settings.
//
//  A call is {"method","path","params"?,"once","bucket","files"?,"ref"?}. Every new message has a
//  nonce made of the delivery's id and its number: Discord makes one message of two with the same.
//  Invariant: no call mentions anybody by itself (allowed_mentions). Limits: 2,000 characters, ten
//  files a message, 25 buttons.

#include "argos_discord_priv.h"

#include "argos_markdown.h"

#include <sodium.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 10   //  Of a message
#define BUTTONS_MAX 25 //  Of a message
#define LABEL_MAX 80   //  Characters of a button

static const char *
s_target (const argos_delivery_t *delivery)
{
    return *delivery->thread_id ? delivery->thread_id : delivery->chat_id;
}

static json_t *
s_mentions (void)
{
    return json_pack ("{s:[],s:b}", "parse", "replied_user", 0);
}

json_t *
dc_nonce (const char *delivery_id, size_t index)
{
    char text[400], hex[25];
    unsigned char hash[12 + 4];
    snprintf (text, sizeof text, "%.300s/%zu", delivery_id, index);
    crypto_generichash (hash, sizeof hash, (const unsigned char *) text, strlen (text), NULL, 0);
    sodium_bin2hex (hex, sizeof hex, hash, 12);
    return json_string (hex);
}

static json_t *
s_call (const argos_delivery_t *delivery, const char *method, const char *what, json_t *path,
    json_t *params, bool once)
{
    json_t *call = json_pack ("{s:s,s:o,s:b,s:o}", "method", method, "path", path, "once", once,
        "bucket", json_sprintf ("%s/%s", s_target (delivery), what));
    if (params)
        json_object_set_new (call, "params", params);
    return call;
}

void
dc_put_reply (
    discord_t *self, const char *thread_id, const char *reply_to, size_t index, json_t *params)
{
    const char *mode =
        json_string_value (argos_adapter_setting (self->adapter, "reply_to_mode", false));
    bool refers = mode && strcmp (mode, "all") == 0;
    if (!mode || strcmp (mode, "first") == 0)
        refers = index == 0 && !*thread_id;
    if (refers && *reply_to)
        json_object_set_new (params, "message_reference",
            json_pack ("{s:s,s:b}", "message_id", reply_to, "fail_if_not_exists", 0));
}

//  A new message with this text (may be empty) at the end of the plan
static json_t *
s_add_message (discord_t *self, const argos_delivery_t *delivery, json_t *plan, const char *text)
{
    size_t index = json_array_size (plan);
    json_t *params = json_pack ("{s:s,s:o,s:o,s:b}", "content", text, "allowed_mentions",
        s_mentions (), "nonce", dc_nonce (delivery->id, index), "enforce_nonce", 1);
    dc_put_reply (self, delivery->thread_id, delivery->reply_to, index, params);
    json_t *call = s_call (delivery, "POST", "send",
        json_sprintf ("/channels/%s/messages", s_target (delivery)), params, true);
    json_array_append_new (plan, call);
    return call;
}

static void
s_add_edit (const argos_delivery_t *delivery, json_t *plan, const char *id, const char *text)
{
    json_t *call = s_call (delivery, "PATCH", "edit",
        json_sprintf ("/channels/%s/messages/%s", s_target (delivery), id),
        json_pack ("{s:s,s:o}", "content", text, "allowed_mentions", s_mentions ()), false);
    json_object_set_new (call, "id", json_string (id));
    json_array_append_new (plan, call);
}

static void
s_add_delete (const argos_delivery_t *delivery, json_t *plan, const char *id)
{
    json_array_append_new (
        plan, s_call (delivery, "DELETE", "delete",
                  json_sprintf ("/channels/%s/messages/%s", s_target (delivery), id), NULL, false));
}

//  The text over the messages that are there (ids; the first of them may be a draft), the rest as
//  new ones; what is too many goes
static void
s_plan_text (discord_t *self, const argos_delivery_t *delivery, json_t *plan, const json_t *ids)
{
    json_t *pieces = argos_markdown_split (
        delivery->text, ARGOS_FORMAT_DISCORD, ARGOS_UNIT_CHARACTERS, DC_TEXT_MAX);
    size_t at;
    const json_t *piece, *id;
    json_array_foreach (pieces, at, piece) {
        const char *known = json_string_value (json_array_get (ids, at));
        const char *text = dc_member (piece, "text");
        if (known)
            s_add_edit (delivery, plan, known, text);
        else
            s_add_message (self, delivery, plan, text);
    }
    json_array_foreach (ids, at, id)
        if (at >= json_array_size (pieces))
            s_add_delete (delivery, plan, json_string_value (id));
    json_decref (pieces);
}

static void
s_plan_send (discord_t *self, const argos_delivery_t *delivery, json_t *plan)
{
    json_t *ids = *delivery->draft_id ? json_pack ("[s]", delivery->draft_id) : NULL;
    s_plan_text (self, delivery, plan, ids);
    json_decref (ids);
}

static void
s_plan_prompt (discord_t *self, const argos_delivery_t *delivery, json_t *plan)
{
    const json_t *options = json_object_get (delivery->body, "options"), *option;
    json_t *rows = json_array ();
    size_t at;
    json_array_foreach (options, at, option) {
        const char *label = dc_member (option, "label");
        size_t size = argos_unit_fit (ARGOS_UNIT_CHARACTERS, label, strlen (label), LABEL_MAX);
        if (at == BUTTONS_MAX)
            break;
        if (at % 5 == 0)
            json_array_append_new (rows, json_pack ("{s:i,s:[]}", "type", 1, "components"));
        json_array_append_new (
            json_object_get (json_array_get (rows, json_array_size (rows) - 1), "components"),
            json_pack ("{s:i,s:i,s:s#,s:s}", "type", 2, "style", 2, "label", label, size,
                "custom_id", dc_member (option, "id")));
    }
    s_plan_send (self, delivery, plan);
    json_t *last = json_array_get (plan, json_array_size (plan) - 1);
    if (!last)
        last = s_add_message (self, delivery, plan, "?");
    json_object_set_new (json_object_get (last, "params"), "components", rows);
}

//  A reaction, percent-encoded
static json_t *
s_emoji (const char *emoji)
{
    char text[3 * 64 + 1];
    size_t used = 0;
    for (; *emoji && used + 3 < sizeof text; emoji++)
        used += (size_t) snprintf (text + used, 4, "%%%02X", (unsigned char) *emoji);
    return json_stringn (text, used);
}

//  Only one that is named can be taken away: without a name those that we put there

static void
s_plan_react (const argos_delivery_t *delivery, json_t *plan)
{
    static const char *const ours[] = { "\U0001F440", "\u2705", "\u274C", NULL };
    const char *emoji = dc_member (delivery->body, "emoji");
    const char *const named[] = { emoji, NULL };
    const json_t *id;
    size_t at;
    json_array_foreach (json_object_get (delivery->body, "message_ids"), at, id)
        for (const char *const *one = *emoji ? named : ours; *one; one++) {
            json_t *code = s_emoji (*one);
            json_t *path = json_sprintf ("/channels/%s/messages/%s/reactions/%s/@me",
                s_target (delivery), json_string_value (id), json_string_value (code));
            json_array_append_new (
                plan, s_call (delivery, *emoji ? "PUT" : "DELETE", "react", path, NULL, false));
            json_decref (code);
        }
}

static void
s_plan_media (discord_t *self, const argos_delivery_t *delivery, json_t *plan)
{
    s_plan_send (self, delivery, plan);
    for (size_t from = 0; from < delivery->file_count; from += FILES_MAX) {
        json_t *last = json_array_get (plan, json_array_size (plan) - 1);
        bool fits = from == 0 && last && strcmp (dc_member (last, "method"), "POST") == 0;
        json_t *call = fits ? last : s_add_message (self, delivery, plan, "");
        json_t *files = json_array ();
        json_t *named = json_array ();
        for (size_t at = from; at < delivery->file_count && at < from + FILES_MAX; at++) {
            json_array_append_new (files, json_integer ((json_int_t) at));
            json_array_append_new (named, json_pack ("{s:I,s:s}", "id", (json_int_t) (at - from),
                                              "filename", delivery->files[at].name));
        }
        json_object_set_new (call, "files", files);
        json_object_set_new (json_object_get (call, "params"), "attachments", named);
    }
}

json_t *
dc_plan (void *arg, const argos_delivery_t *delivery, char *error, size_t size)
{
    discord_t *self = arg;
    if (!*delivery->chat_id) {
        snprintf (error, size, "no chat is named");
        return NULL;
    }
    json_t *plan = json_array ();
    const json_t *ids = json_object_get (delivery->body, "message_ids"), *id;
    size_t at;
    if (strcmp (delivery->op, "edit") == 0)
        s_plan_text (self, delivery, plan, ids);
    else if (strcmp (delivery->op, "delete") == 0)
        json_array_foreach (ids, at, id)
            s_add_delete (delivery, plan, json_string_value (id));
    else if (strcmp (delivery->op, "react") == 0)
        s_plan_react (delivery, plan);
    else if (strcmp (delivery->op, "prompt") == 0)
        s_plan_prompt (self, delivery, plan);
    else if (delivery->file_count)
        s_plan_media (self, delivery, plan);
    else
        s_plan_send (self, delivery, plan);
    return plan;
}
