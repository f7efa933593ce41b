//  argos_sl_read - see the header.
//
//  Invariant: what two envelopes say of one message has the same id. Members of the wrong type
//  count as absent. Limits: those of message.inbound.

#include "argos_sl_read.h"

#include "argos_commands.h"
#include "argos_edit.h"
#include "argos_json_get.h"
#include "argos_setting.h"
#include "argos_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 262144 //  Bytes of a text
#define NAME_BYTES 255  //  Of a name

static void
s_put (json_t *object, const char *name, const char *text, size_t max)
{
    if (*text)
        json_object_set_new (
            object, name, json_stringn (text, argos_utf8_cut (text, strlen (text), max)));
}

static const json_t *
s_payload (const json_t *envelope)
{
    return json_object_get (envelope, "payload");
}

static const json_t *
s_event (const json_t *envelope)
{
    return json_object_get (s_payload (envelope), "event");
}

//  ------------------------------------------------------------------------------------------------
//  Text

//  Appends the text, its three entities decoded
static void
s_decoded (argos_text_t *out, const char *text, size_t size)
{
    static const char *const entities[][2] = { { "&amp;", "&" }, { "&lt;", "<" }, { "&gt;", ">" } };
    for (size_t at = 0; at < size;) {
        size_t known = 0, length = 1;
        for (; known < 3; known++) {
            length = strlen (entities[known][0]);
            if (size - at >= length && memcmp (text + at, entities[known][0], length) == 0)
                break;
        }
        argos_text_add (out, known < 3 ? entities[known][1] : text + at, 1);
        at += known < 3 ? length : 1;
    }
}

//  <...>: returns what is behind it
static const char *
s_token (argos_text_t *out, const char *at, const char *user)
{
    const char *end = strchr (at, '>');
    if (!end || end - at > 2048) {
        argos_text_add (out, at, 1);
        return at + 1;
    }
    size_t size = (size_t) (end - at) + 1, length = strlen (user);
    if (at[1] == '@' && strncmp (at + 2, user, length) == 0 &&
        (at[2 + length] == '>' || at[2 + length] == '|')) {
        end++;
        return end + (*end == ' ' && (!out->size || out->data[out->size - 1] == ' '));
    }
    //  Mentions stay as they are: so they can be answered in kind
    if (at[1] == '@' || at[1] == '#' || at[1] == '!') {
        argos_text_add (out, at, size);
        return end + 1;
    }
    const char *bar = memchr (at, '|', size);
    const char *stop = bar ? bar : end;
    if (bar) {
        s_decoded (out, bar + 1, (size_t) (end - bar) - 1);
        argos_text_add (out, " (", 2);
    }
    s_decoded (out, at + 1, (size_t) (stop - at) - 1);
    if (bar)
        argos_text_add (out, ")", 1);
    return end + 1;
}

char *
argos_sl_text (const char *text, const char *user)
{
    argos_text_t out;
    argos_text_init (&out, (size_t) TEXT_MAX * 2);
    for (const char *at = text; *at;) {
        size_t plain = strcspn (at, "<");
        s_decoded (&out, at, plain);
        at += plain;
        if (*at)
            at = s_token (&out, at, user);
    }
    while (out.size && (out.data[out.size - 1] == ' ' || out.data[out.size - 1] == '\n'))
        out.data[--out.size] = '\0';
    char *result = out.data ? out.data : strdup ("");
    if (!result)
        abort ();
    return result;
}

//  A command in a thread, where Slack has none, begins with an exclamation mark
static void
s_bang (char *text)
{
    char word[ARGOS_COMMANDS_NAME_MAX + 2];
    if (*text != '!')
        return;
    snprintf (word, sizeof word, "/%.*s", (int) strcspn (text + 1, " \n"), text + 1);
    if (argos_commands_find (word))
        *text = '/';
}

//  ------------------------------------------------------------------------------------------------
//  Where, and who

static json_t *
s_source (const argos_sl_who_t *who, const char *team, const char *channel, const char *thread,
    const char *user)
{
    bool direct = *channel == 'D';
    json_t *source =
        json_pack ("{s:s,s:s,s:s,s:s}", "platform", "slack", "account", who->account, "chat_type",
            direct    ? "dm"
            : *thread ? "thread"
                      : "group",
            "chat_id", channel);
    s_put (source, "thread_id", thread, NAME_BYTES);
    s_put (source, "scope_id", team, NAME_BYTES);
    s_put (source, "user_id", user, NAME_BYTES);
    s_put (source, "user_name", argos_json_text (who->names, user), NAME_BYTES);
    return source;
}

static json_t *
s_message (
    const argos_sl_who_t *who, const char *app, const char *team, const char *id, json_t *body)
{
    const json_t *source = json_object_get (body, "source");
    const char *channel = argos_json_text (source, "chat_id"),
               *thread = argos_json_text (source, "thread_id");
    return json_pack ("{s:o,s:o,s:o}", "id",
        json_sprintf ("slack.%s:%s:%s:%s:%s", who->account, app, team, channel, id), "key",
        json_sprintf ("slack.%s:%s%s%s", who->account, channel, *thread ? ":" : "", thread), "body",
        body);
}

const char *
argos_sl_channel (const json_t *envelope)
{
    const json_t *payload = s_payload (envelope);
    const char *id = argos_json_text (s_event (envelope), "channel");
    if (!*id)
        id = argos_json_text (json_object_get (s_event (envelope), "item"), "channel");
    if (!*id)
        id = argos_json_text (payload, "channel_id");
    if (!*id)
        id = argos_json_text (json_object_get (payload, "channel"), "id");
    return id;
}

const char *
argos_sl_needs (const json_t *envelope, const argos_sl_who_t *who)
{
    const json_t *payload = s_payload (envelope);
    const char *user = argos_json_text (s_event (envelope), "user");
    if (!*user)
        user = argos_json_text (json_object_get (s_event (envelope), "message"), "user");
    if (!*user)
        user = argos_json_text (json_object_get (payload, "user"), "id");
    if (!*user)
        user = argos_json_text (payload, "user_id");
    return *user && strcmp (user, who->user) != 0 && !json_object_get (who->names, user) ? user
                                                                                         : "";
}

//  ------------------------------------------------------------------------------------------------
//  A message

static bool
s_listed (const argos_sl_who_t *who, const char *path, const char *text)
{
    return *text && argos_setting_has (who->settings, "slack", NULL, path, text);
}

static bool
s_mentions_us (const json_t *event, const argos_sl_who_t *who)
{
    char mention[64];
    snprintf (mention, sizeof mention, "<@%.40s", who->user);
    for (const char *at = strstr (argos_json_text (event, "text"), mention); at;
         at = strstr (at + 1, mention)) {
        char next = at[strlen (mention)];
        if (next == '>' || next == '|')
            return true;
    }
    return strcmp (argos_json_text (event, "type"), "app_mention") == 0;
}

static bool
s_takes_part (const json_t *event, const argos_sl_who_t *who)
{
    char key[160];
    const char *thread = argos_json_text (event, "thread_ts");
    if (!*thread)
        return false;
    snprintf (key, sizeof key, "%.60s:%.60s", argos_json_text (event, "channel"), thread);
    return strcmp (argos_json_text (event, "parent_user_id"), who->user) == 0 ||
           json_object_get (who->threads, key) != NULL;
}

static bool
s_is_spoken (const char *subtype)
{
    static const char *const spoken[] = { "", "file_share", "thread_broadcast", "me_message",
        "bot_message", NULL };
    for (const char *const *name = spoken; *name; name++)
        if (strcmp (*name, subtype) == 0)
            return true;
    return false;
}

static const char *
s_not_for_us (const json_t *event, const argos_sl_who_t *who)
{
    const char *channel = argos_json_text (event, "channel"),
               *type = argos_json_text (event, "type");
    if (strcmp (type, "message") != 0 && strcmp (type, "app_mention") != 0)
        return "event";
    if (!s_is_spoken (argos_json_text (event, "subtype")) ||
        json_is_true (json_object_get (event, "hidden")))
        return "notice";
    if (strcmp (argos_json_text (event, "user"), who->user) == 0 ||
        (*who->bot && strcmp (argos_json_text (event, "bot_id"), who->bot) == 0))
        return "own";
    if (!*channel || !*argos_json_text (event, "ts") ||
        (!*argos_json_text (event, "user") && !*argos_json_text (event, "bot_id")))
        return "no_message";
    if (*channel == 'D')
        return NULL;
    if (s_listed (who, "ignored_threads", argos_json_text (event, "thread_ts")))
        return "ignored_thread";
    if (s_mentions_us (event, who) || s_takes_part (event, who) ||
        s_listed (who, "free_response_chats", channel))
        return NULL;
    return json_is_false (argos_setting (who->settings, "slack", NULL, "require_mention"))
               ? NULL
               : "not_addressed";
}

static json_t *
s_files (const json_t *event, const char **ret_type)
{
    json_t *files = json_array ();
    const json_t *file;
    size_t at;
    json_array_foreach (json_object_get (event, "files"), at, file) {
        const char *mime = argos_json_text (file, "mimetype"),
                   *url = argos_json_text (file, "url_private_download");
        const char *kind = strncmp (mime, "image/", 6) == 0   ? "image"
                           : strncmp (mime, "video/", 6) == 0 ? "video"
                           : strncmp (mime, "audio/", 6) == 0 ? "audio"
                                                              : "document";
        if (!*url)
            url = argos_json_text (file, "url_private");
        if (!*url)
            continue;
        json_array_append_new (
            files, json_pack ("{s:s,s:s,s:s,s:s}", "url", url, "kind", kind, "name",
                       *argos_json_text (file, "name") ? argos_json_text (file, "name") : "file",
                       "media_type", mime));
        *ret_type = strcmp (kind, "image") == 0 ? "photo" : kind;
    }
    return files;
}

static void
s_read_message (
    const json_t *payload, const json_t *event, const argos_sl_who_t *who, argos_sl_in_t *in)
{
    in->why = s_not_for_us (event, who);
    if (in->why)
        return;
    const char *type = "text", *channel = argos_json_text (event, "channel"),
               *ts = argos_json_text (event, "ts");
    const char *thread = argos_json_text (event, "thread_ts"),
               *user = argos_json_text (event, "user");
    const json_t *wish = argos_setting (who->settings, "slack", NULL, "auto_thread");
    //  What is asked in a channel is answered in a thread that begins with it
    in->begins = !*thread && *channel != 'D' && !json_is_false (wish) &&
                 !s_listed (who, "free_response_chats", channel);
    json_t *files = s_files (event, &type);
    char *text = argos_sl_text (argos_json_text (event, "text"), who->user);
    s_bang (text);
    if (!*text && !json_array_size (files) && !s_mentions_us (event, who)) {
        in->why = "empty";
        in->begins = false;
        json_decref (files);
        free (text);
        return;
    }
    const char *team = argos_json_text (payload, "team_id");
    json_t *source = s_source (who, team, channel, in->begins ? ts : thread,
        *user ? user : argos_json_text (event, "bot_id"));
    if (*argos_json_text (event, "bot_id"))
        json_object_set_new (source, "is_bot", json_true ());
    json_t *body = json_pack ("{s:o,s:s#,s:s,s:s}", "source", source, "text", text,
        argos_utf8_cut (text, strlen (text), TEXT_MAX), "message_type",
        *text == '/' ? "command" : type, "message_id", ts);
    in->message = s_message (who, argos_json_text (payload, "api_app_id"), team, ts, body);
    in->files = files;
    free (text);
}

//  The message as it is now, in the place that it was heard in: in the thread that began with it
static json_t *
s_changed (const json_t *event, const argos_sl_who_t *who)
{
    char key[160];
    json_t *now = json_deep_copy (json_object_get (event, "message"));
    const char *ts = argos_json_text (now, "ts"), *channel = argos_json_text (event, "channel");
    json_object_set_new (now, "type", json_string ("message"));
    json_object_set (now, "channel", json_object_get (event, "channel"));
    snprintf (key, sizeof key, "%.60s:%.60s", channel, ts);
    if (!*argos_json_text (now, "thread_ts") && json_object_get (who->threads, key))
        json_object_set_new (now, "thread_ts", json_string (ts));
    return now;
}

//  It is told, too, when a preview of a link has come: then the text is the same
static void
s_read_edit (
    const json_t *payload, const json_t *event, const argos_sl_who_t *who, argos_sl_in_t *in)
{
    const json_t *before = json_object_get (event, "previous_message");
    const json_t *edited = json_object_get (json_object_get (event, "message"), "edited");
    in->why = "edited";
    if (!json_is_object (edited) ||
        strcmp (argos_json_text (before, "text"),
            argos_json_text (json_object_get (event, "message"), "text")) == 0)
        return;
    json_t *now = s_changed (event, who);
    s_read_message (payload, now, who, in);
    json_decref (in->files);
    in->files = NULL;
    in->begins = false;
    if (in->message && !argos_edit_make (in->message, argos_json_text (edited, "ts"))) {
        json_decref (in->message);
        in->message = NULL;
        in->why = "edited";
    }
    json_decref (now);
}

//  In channels only those on what we have said
static void
s_read_reaction (
    const json_t *payload, const json_t *event, const argos_sl_who_t *who, argos_sl_in_t *in)
{
    const json_t *item = json_object_get (event, "item");
    const char *channel = argos_json_text (item, "channel"), *ts = argos_json_text (item, "ts");
    const char *user = argos_json_text (event, "user"),
               *emoji = argos_json_text (event, "reaction");
    const char *team = argos_json_text (payload, "team_id");
    in->why = "no_reaction";
    if (!*channel || !*ts || !*user || !*emoji || strcmp (user, who->user) == 0 ||
        (*channel != 'D' && strcmp (argos_json_text (event, "item_user"), who->user) != 0))
        return;
    json_t *body = json_pack (
        "{s:o,s:s}", "source", s_source (who, team, channel, "", user), "message_id", ts);
    in->message = s_message (who, argos_json_text (payload, "api_app_id"), team, ts, body);
    argos_edit_reaction (in->message, emoji,
        strcmp (argos_json_text (event, "type"), "reaction_added") == 0,
        argos_json_text (event, "event_ts"));
    in->why = NULL;
}

static void
s_read_event (const json_t *payload, const argos_sl_who_t *who, argos_sl_in_t *in)
{
    const json_t *event = json_object_get (payload, "event");
    const char *type = argos_json_text (event, "type");
    if (strcmp (type, "reaction_added") == 0 || strcmp (type, "reaction_removed") == 0)
        s_read_reaction (payload, event, who, in);
    else if (strcmp (argos_json_text (event, "subtype"), "message_changed") == 0)
        s_read_edit (payload, event, who, in);
    else
        s_read_message (payload, event, who, in);
}

//  ------------------------------------------------------------------------------------------------
//  Commands and buttons

static void
s_read_command (const json_t *payload, const argos_sl_who_t *who, argos_sl_in_t *in)
{
    const char *command = argos_json_text (payload, "command"),
               *text = argos_json_text (payload, "text");
    const char *team = argos_json_text (payload, "team_id"),
               *channel = argos_json_text (payload, "channel_id");
    if (!*command || !*channel || !*argos_json_text (payload, "user_id") ||
        !*argos_json_text (payload, "trigger_id"))
        return;
    //  Either it is one of ours, or it is the app's own word with ours behind it
    bool ours = argos_commands_find (command) != NULL;
    json_t *said = ours           ? json_sprintf ("%s%s%s", command, *text ? " " : "", text)
                   : *text == '/' ? json_string (text)
                   : *text        ? json_sprintf ("/%s", text)
                                  : json_string ("/help");
    json_t *body = json_pack ("{s:o,s:o,s:s,s:s}", "source",
        s_source (who, team, channel, "", argos_json_text (payload, "user_id")), "text", said,
        "message_type", "command", "message_id", argos_json_text (payload, "trigger_id"));
    in->message = s_message (who, argos_json_text (payload, "api_app_id"), team,
        argos_json_text (payload, "trigger_id"), body);
    in->why = NULL;
}

static void
s_read_button (const json_t *payload, const argos_sl_who_t *who, argos_sl_in_t *in)
{
    const json_t *action = json_array_get (json_object_get (payload, "actions"), 0);
    const json_t *message = json_object_get (payload, "message");
    const json_t *user = json_object_get (payload, "user");
    const char *channel = argos_json_text (json_object_get (payload, "channel"), "id");
    const char *team = argos_json_text (json_object_get (payload, "team"), "id");
    if (!*team)
        team = argos_json_text (user, "team_id");
    if (strcmp (argos_json_text (payload, "type"), "block_actions") != 0 || !*channel ||
        !*argos_json_text (user, "id") || !*argos_json_text (action, "value") ||
        !*argos_json_text (action, "action_ts"))
        return;
    json_t *body = json_pack ("{s:o,s:s,s:s}", "source",
        s_source (who, team, channel, argos_json_text (message, "thread_ts"),
            argos_json_text (user, "id")),
        "text", argos_json_text (action, "value"), "message_id", argos_json_text (message, "ts"));
    in->message = s_message (who, argos_json_text (payload, "api_app_id"), team,
        argos_json_text (action, "action_ts"), body);
    in->why = NULL;
}

void
argos_sl_read (const json_t *envelope, const argos_sl_who_t *who, argos_sl_in_t *ret_in)
{
    const char *type = argos_json_text (envelope, "type");
    *ret_in = (argos_sl_in_t){ .why = "envelope" };
    if (strcmp (type, "events_api") == 0)
        s_read_event (s_payload (envelope), who, ret_in);
    else if (strcmp (type, "slash_commands") == 0)
        s_read_command (s_payload (envelope), who, ret_in);
    else if (strcmp (type, "interactive") == 0)
        s_read_button (s_payload (envelope), who, ret_in);
}
