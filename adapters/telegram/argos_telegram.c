//  argos_telegram - see the header. This file opens and closes the account, and answers requests.
//
//  Invariant: at most one of poll and webhook brings updates. Limits: those of the Bot API, see
//  docs/platforms/telegram.md.

#include "argos_telegram_priv.h"

#include "argos_secret.h"
#include "argos_setting.h"
#include "argos_tg_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPING_MS 4500      //  Its mark lasts five seconds
#define DRAFT_MS 1500       //  Between two edits of a draft
#define FILE_MAX 52428800LL //  Bytes of a file that it takes
#define TOPIC_UNITS 128     //  Of the name of a topic

static json_t *
s_capabilities (void)
{
    return json_pack ("{s:i,s:s,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:s}", "length", 4096, "unit",
        "utf16", "edit", 1, "delete", 1, "threads", 1, "reactions", 1, "typing", 1, "buttons", 1,
        "media", 1, "native_commands", 1, "send_idempotency", "none");
}

//  ------------------------------------------------------------------------------------------------
//  Open and close

static void
s_close (void **self_p)
{
    telegram_t *self = *self_p;
    if (!self)
        return;
    self->closing = true;
    tg_webhook_destroy (&self->webhook);
    tg_calls_free (self);
    tg_batches_free (self);
    argos_adapter_timer (self->adapter, &self->timer, -1);
    json_decref (self->aliases);
    json_decref (self->targets);
    argos_secret_free (&self->token);
    free (self);
    *self_p = NULL;
}

//  A token is put into an address: it must not be able to change it.

static bool
s_is_token (const char *token)
{
    size_t digits = strspn (token, "0123456789"), length = strlen (token);
    return digits > 0 && digits < 20 && token[digits] == ':' && length < 256 && token[digits + 1] &&
           strspn (token + digits + 1,
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
               length - digits - 1;
}

static bool
s_open_webhook (telegram_t *self, char *reason, size_t size)
{
    const json_t *port = argos_adapter_setting (self->adapter, "webhook_port", true);
    if (!argos_adapter_setting (self->adapter, "webhook_url", true))
        return true;
    char *secret = argos_adapter_secret (self->adapter, "webhook_secret", false, reason, size);
    if (!secret)
        return false;
    self->webhook = tg_webhook_new (self, (int) json_integer_value (port), secret, reason, size);
    argos_secret_free (&secret);
    return self->webhook != NULL;
}

static void *
s_open (argos_adapter_t *adapter, char *reason, size_t size)
{
    telegram_t *self = calloc (1, sizeof *self);
    void *opened = self;
    if (!self)
        abort ();
    self->adapter = adapter;
    self->aliases = json_object ();
    self->targets = json_object ();
    self->timer.arg = self;
    const char *base = json_string_value (argos_adapter_setting (adapter, "base_url", true));
    snprintf (self->base, sizeof self->base, "%s", base ? base : ARGOS_TELEGRAM_URL);
    for (size_t end = strlen (self->base); end > 0 && self->base[end - 1] == '/';)
        self->base[--end] = 0;
    self->token = argos_adapter_secret (adapter, "token", true, reason, size);
    if (self->token && !s_is_token (self->token)) {
        snprintf (reason, size, "that is no token of a bot (123456:ABC...)");
        argos_secret_free (&self->token);
    }
    if (!self->token || !s_open_webhook (self, reason, size))
        s_close (&opened);
    return opened;
}

static void
s_start (void *arg)
{
    tg_begin (arg);
}

static void
s_on_ignored (void *arg, const tg_answer_t *answer)
{
    (void) arg;
    (void) answer;
}

static void
s_typing (void *arg, const char *chat_id, const char *thread_id)
{
    telegram_t *self = arg;
    json_t *params =
        json_pack ("{s:o,s:s}", "chat_id", tg_chat (self, chat_id), "action", "typing");
    //  Here the General topic has a name
    if (*thread_id)
        json_object_set_new (
            params, "message_thread_id", json_integer (strtoll (thread_id, NULL, 10)));
    tg_api (self, "sendChatAction", params, false, 0, s_on_ignored, self);
}

//  ------------------------------------------------------------------------------------------------
//  Requests

typedef struct {
    telegram_t *telegram;     //  Whose
    argos_adapter_ask_t *ask; //  To be answered
    json_t *body;             //  What was asked
    int64_t thread;           //  That was made
    bool forum;               //  In a group
} ask_t;

static void
s_ask_free (ask_t *self)
{
    json_decref (self->body);
    free (self);
}

static void
s_ask_failed (ask_t *self, const tg_answer_t *answer)
{
    bool answered = answer->http->phase == ARGOS_HTTP_ANSWERED;
    argos_err_t code = !answered || answer->error == ARGOS_TG_WAIT ? ARGOS_BUSY
                       : answer->error == ARGOS_TG_DEAD            ? ARGOS_NOT_FOUND
                                                                   : ARGOS_UNSUPPORTED;
    argos_adapter_answer_error (self->ask, code, answer->why);
    s_ask_free (self);
}

static void
s_on_probe (void *arg, const tg_answer_t *answer)
{
    ask_t *self = arg;
    const char *name = json_string_value (json_object_get (answer->result, "username"));
    const char *problem = answer->ok ? NULL : answer->why;
    if (answer->ok && self->telegram->conflicts > TG_CONFLICTS_MAX)
        problem = "another process fetches the updates of this bot (conflict)";
    argos_adapter_answer (self->ask, "probe.result",
        json_pack (
            "{s:b,s:s*,s:s*}", "ok", problem == NULL, "user_name", name, "problem", problem));
    s_ask_free (self);
}

static void
s_on_chat (void *arg, const tg_answer_t *answer)
{
    ask_t *self = arg;
    if (!answer->ok) {
        s_ask_failed (self, answer);
        return;
    }
    const json_t *chat = answer->result;
    const char *type = json_string_value (json_object_get (chat, "type"));
    const char *title = json_string_value (json_object_get (chat, "title"));
    const char *name = json_string_value (json_object_get (chat, "first_name"));
    const char *topic = json_string_value (json_object_get (chat, "description"));
    bool forum = json_is_true (json_object_get (chat, "is_forum")); //  "1" is its General topic
    const char *kind = !type                           ? "dm"
                       : strcmp (type, "private") == 0 ? "dm"
                       : strcmp (type, "channel") == 0 ? "channel"
                       : forum                         ? "forum"
                                                       : "group";
    argos_adapter_answer (self->ask, "chat.info.result",
        json_pack ("{s:O,s:s,s:s*,s:s*,s:o*}", "chat_id", json_object_get (self->body, "chat_id"),
            "chat_type", kind, "thread_id", forum ? "1" : NULL, "name", title ? title : name,
            "topic", topic ? json_sprintf ("%.1000s", topic) : NULL));
    s_ask_free (self);
}

//  An empty topic is not shown by some clients: it begins with its name.

static void
s_on_seeded (void *arg, const tg_answer_t *answer)
{
    ask_t *self = arg;
    if (!answer->ok)
        argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->telegram->adapter),
            "topic without a first message", "reason=\"%s\"", answer->why);
    const char *chat = json_string_value (json_object_get (self->body, "chat_id"));
    argos_adapter_answer (self->ask, "thread.create.result",
        json_pack ("{s:o,s:s,s:{s:s}}", "thread_id", json_sprintf ("%" PRId64, self->thread),
            "chat_id", chat, "source", "chat_type", *chat == '-' ? "forum" : "dm"));
    s_ask_free (self);
}

static json_t *
s_topic_name (const json_t *body)
{
    const char *name = json_string_value (json_object_get (body, "name"));
    size_t size = argos_tg_offset (name, TOPIC_UNITS);
    char *copy = strndup (name, size);
    if (!copy)
        abort ();
    for (char *at = copy; *at; at++)
        if ((unsigned char) *at < 32)
            *at = ' ';
    json_t *text = json_string (copy);
    free (copy);
    return text;
}

static void
s_on_topic (void *arg, const tg_answer_t *answer)
{
    ask_t *self = arg;
    self->thread = json_integer_value (json_object_get (answer->result, "message_thread_id"));
    if (!answer->ok || !self->thread) {
        s_ask_failed (self, answer);
        return;
    }
    const char *chat = json_string_value (json_object_get (self->body, "chat_id"));
    json_t *name = s_topic_name (self->body);
    json_t *params = json_pack ("{s:o,s:I,s:o}", "chat_id", tg_chat (self->telegram, chat),
        "message_thread_id", (json_int_t) self->thread, "text",
        json_sprintf ("\U0001F4CC %s", json_string_value (name)));
    json_decref (name);
    if (!tg_api (self->telegram, "sendMessage", params, true, 0, s_on_seeded, self)) {
        tg_answer_t none = { .why = "too many calls" };
        s_on_seeded (self, &none);
    }
}

static void
s_ask (void *arg, argos_adapter_ask_t *ask, const char *type, const json_t *body)
{
    telegram_t *telegram = arg;
    const char *chat = json_string_value (json_object_get (body, "chat_id"));
    const char *method = "getMe";
    tg_fn *fn = s_on_probe;
    json_t *params = json_object ();
    ask_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (ask_t){ .telegram = telegram, .ask = ask, .body = json_deep_copy (body) };
    if (chat)
        json_object_set_new (params, "chat_id", tg_chat (telegram, chat));
    if (strcmp (type, "chat.info") == 0) {
        method = "getChat";
        fn = s_on_chat;
    }
    else if (strcmp (type, "thread.create") == 0) {
        method = "createForumTopic";
        fn = s_on_topic;
        json_object_set_new (params, "name", s_topic_name (body));
    }
    if (!tg_api (telegram, method, params, fn == s_on_topic, 0, fn, self)) {
        argos_adapter_answer_error (ask, ARGOS_BUSY, "too many calls at a time");
        s_ask_free (self);
    }
}

const argos_platform_t argos_telegram = {
    .name = "telegram",
    .send = ARGOS_SEND_NONE,
    .typing_ms = TYPING_MS,
    .draft_ms = DRAFT_MS,
    .file_max = FILE_MAX,
    .capabilities = s_capabilities,
    .open = s_open,
    .close = s_close,
    .start = s_start,
    .plan = tg_plan,
    .call = tg_deliver,
    .typing = s_typing,
    .draft = tg_draft,
    .ask = s_ask,
};
