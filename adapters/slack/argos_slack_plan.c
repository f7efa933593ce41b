//  argos_slack_plan - what has to be called for a delivery.
//
//  A call is {"method","params","once","bucket","file"?}. Every new message has metadata with a
//  mark made of the delivery's id and its number, by which it is found when nobody knows whether it
//  was sent. Files go in two steps: each is brought to Slack (its id is kept among the ids), then
//  all are shown by one call. Invariant: all calls go to the same channel and thread. Limits: 3,900
//  characters, 25 buttons.

#include "argos_slack_priv.h"

#include "argos_markdown.h"

#include <sodium.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUTTONS_MAX 25   //  Of a message
#define LABEL_MAX 75     //  Characters of a button
#define SECTION_MAX 2900 //  Characters of a text with buttons below

void
sl_mark (const char *delivery_id, size_t index, char mark[static 33])
{
    char text[400];
    unsigned char hash[16];
    snprintf (text, sizeof text, "%.300s/%zu", delivery_id, index);
    crypto_generichash (hash, sizeof hash, (const unsigned char *) text, strlen (text), NULL, 0);
    sodium_bin2hex (mark, 33, hash, sizeof hash);
}

static json_t *
s_add (
    const argos_delivery_t *delivery, json_t *plan, const char *method, json_t *params, bool once)
{
    json_t *call = json_pack ("{s:s,s:o,s:b,s:o}", "method", method, "params", params, "once", once,
        "bucket", json_sprintf ("%s/%s", delivery->chat_id, method));
    json_array_append_new (plan, call);
    return call;
}

static json_t *
s_add_message (const argos_delivery_t *delivery, json_t *plan, const char *text)
{
    char mark[33];
    sl_mark (delivery->id, json_array_size (plan), mark);
    json_t *params = json_pack ("{s:s,s:s,s:b,s:b,s:{s:s,s:{s:s}}}", "channel", delivery->chat_id,
        "text", text, "unfurl_links", 0, "unfurl_media", 0, "metadata", "event_type", SL_EVENT,
        "event_payload", "mark", mark);
    if (*delivery->thread_id)
        json_object_set_new (params, "thread_ts", json_string (delivery->thread_id));
    return s_add (delivery, plan, "chat.postMessage", params, true);
}

static void
s_plan_text (const argos_delivery_t *delivery, json_t *plan, const json_t *ids, size_t limit)
{
    json_t *pieces =
        argos_markdown_split (delivery->text, ARGOS_FORMAT_SLACK, ARGOS_UNIT_CHARACTERS, limit);
    size_t at;
    const json_t *piece, *id;
    json_array_foreach (pieces, at, piece) {
        const char *known = json_string_value (json_array_get (ids, at));
        if (known)
            s_add (delivery, plan, "chat.update",
                json_pack ("{s:s,s:s,s:s}", "channel", delivery->chat_id, "ts", known, "text",
                    sl_member (piece, "text")),
                false);
        else
            s_add_message (delivery, plan, sl_member (piece, "text"));
    }
    json_array_foreach (ids, at, id)
        if (at >= json_array_size (pieces))
            s_add (delivery, plan, "chat.delete",
                json_pack ("{s:s,s:O}", "channel", delivery->chat_id, "ts", id), false);
    json_decref (pieces);
}

static void
s_plan_send (const argos_delivery_t *delivery, json_t *plan, size_t limit)
{
    json_t *ids = *delivery->draft_id ? json_pack ("[s]", delivery->draft_id) : NULL;
    s_plan_text (delivery, plan, ids, limit);
    json_decref (ids);
}

static void
s_plan_prompt (const argos_delivery_t *delivery, json_t *plan)
{
    const json_t *options = json_object_get (delivery->body, "options"), *option;
    json_t *buttons = json_array ();
    size_t at;
    json_array_foreach (options, at, option) {
        const char *label = sl_member (option, "label");
        size_t size = argos_unit_fit (ARGOS_UNIT_CHARACTERS, label, strlen (label), LABEL_MAX);
        if (at < BUTTONS_MAX)
            json_array_append_new (
                buttons, json_pack ("{s:s,s:{s:s,s:s#},s:o,s:s}", "type", "button", "text", "type",
                             "plain_text", "text", label, size, "action_id",
                             json_sprintf ("option%zu", at), "value", sl_member (option, "id")));
    }
    s_plan_send (delivery, plan, SECTION_MAX);
    json_t *last = json_array_get (plan, json_array_size (plan) - 1);
    if (!last)
        last = s_add_message (delivery, plan, "?");
    json_t *params = json_object_get (last, "params");
    json_object_set_new (params, "blocks",
        json_pack ("[{s:s,s:{s:s,s:O}},{s:s,s:o}]", "type", "section", "text", "type", "mrkdwn",
            "text", json_object_get (params, "text"), "type", "actions", "elements", buttons));
}

//  Slack calls them by name
static const char *
s_reaction (const char *emoji)
{
    static const char *const names[][2] = { { "\U0001F440", "eyes" },
        { "\u2705", "white_check_mark" }, { "\u274C", "x" }, { "\U0001F44D", "+1" },
        { "\U0001F44E", "-1" }, { "\u2764\uFE0F", "heart" }, { "\u2764", "heart" },
        { "\U0001F389", "tada" }, { "\U0001F914", "thinking_face" }, { "\u26A0\uFE0F", "warning" },
        { "\U0001F525", "fire" }, { "\U0001F44B", "wave" } };
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        if (strcmp (names[at][0], emoji) == 0)
            return names[at][1];
    //  A name already
    return (unsigned char) emoji[0] < 0x80 ? emoji : NULL;
}

static bool
s_plan_react (const argos_delivery_t *delivery, json_t *plan)
{
    static const char *const ours[] = { "eyes", "white_check_mark", "x", NULL };
    const char *emoji = sl_member (delivery->body, "emoji"), *name = s_reaction (emoji);
    const json_t *id;
    size_t at;
    if (!name)
        return false;
    json_array_foreach (json_object_get (delivery->body, "message_ids"), at, id) {
        if (*emoji)
            s_add (delivery, plan, "reactions.add",
                json_pack (
                    "{s:s,s:O,s:s}", "channel", delivery->chat_id, "timestamp", id, "name", name),
                false);
        for (const char *const *one = ours; !*emoji && *one; one++)
            s_add (delivery, plan, "reactions.remove",
                json_pack (
                    "{s:s,s:O,s:s}", "channel", delivery->chat_id, "timestamp", id, "name", *one),
                false);
    }
    return true;
}

static void
s_plan_media (const argos_delivery_t *delivery, json_t *plan)
{
    s_plan_send (delivery, plan, SL_TEXT_MAX);
    for (size_t at = 0; at < delivery->file_count; at++) {
        json_t *params = json_pack ("{s:s,s:I}", "filename", delivery->files[at].name, "length",
            (json_int_t) delivery->files[at].size);
        json_t *call = s_add (delivery, plan, "files.getUploadURLExternal", params, false);
        json_object_set_new (call, "file", json_integer ((json_int_t) at));
    }
    json_t *params = json_pack ("{s:s}", "channel_id", delivery->chat_id);
    if (*delivery->thread_id)
        json_object_set_new (params, "thread_ts", json_string (delivery->thread_id));
    s_add (delivery, plan, "files.completeUploadExternal", params, true);
}

json_t *
sl_plan (void *arg, const argos_delivery_t *delivery, char *error, size_t size)
{
    (void) arg;
    if (!*delivery->chat_id) {
        snprintf (error, size, "no chat is named");
        return NULL;
    }
    json_t *plan = json_array ();
    const json_t *ids = json_object_get (delivery->body, "message_ids"), *id;
    size_t at;
    bool good = true;
    if (strcmp (delivery->op, "edit") == 0)
        s_plan_text (delivery, plan, ids, SL_TEXT_MAX);
    else if (strcmp (delivery->op, "delete") == 0)
        json_array_foreach (ids, at, id)
            s_add (delivery, plan, "chat.delete",
                json_pack ("{s:s,s:O}", "channel", delivery->chat_id, "ts", id), false);
    else if (strcmp (delivery->op, "react") == 0)
        good = s_plan_react (delivery, plan);
    else if (strcmp (delivery->op, "prompt") == 0)
        s_plan_prompt (delivery, plan);
    else if (delivery->file_count)
        s_plan_media (delivery, plan);
    else
        s_plan_send (delivery, plan, SL_TEXT_MAX);
    if (good)
        return plan;
    snprintf (error, size, "unsupported");
    json_decref (plan);
    return NULL;
}
