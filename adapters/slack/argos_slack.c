//  argos_slack - see the header. This file opens and closes the account.
//
//  Invariant: Socket Mode is connected to only when we know who we are. Limits: those of the API,
//  see docs/platforms/slack.md.

#include "argos_slack_priv.h"

#include "argos_secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPING_MS 30000      //  Its status is shown so long
#define DRAFT_MS 1500        //  Between two edits of a draft
#define FILE_MAX 104857600LL //  Bytes of a file that we send
#define FATAL_MS 300000      //  Until a bad token is looked at again

static void s_begin (void *arg);

static json_t *
s_capabilities (void)
{
    return json_pack ("{s:i,s:s,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:s}", "length", SL_TEXT_MAX,
        "unit", "characters", "edit", 1, "delete", 1, "threads", 1, "reactions", 1, "typing", 1,
        "buttons", 1, "media", 1, "native_commands", 1, "send_idempotency", "reconcile");
}

static void
s_close (void **self_p)
{
    slack_t *self = *self_p;
    if (!self)
        return;
    self->closing = true;
    argos_adapter_timer (self->adapter, &self->timer, -1);
    argos_adapter_timer (self->adapter, &self->live_timer, -1);
    sl_disconnect (self);
    sl_calls_free (self);
    argos_inbox_destroy (&self->inbox);
    json_decref (self->threads);
    json_decref (self->names);
    argos_secret_free (&self->token);
    argos_secret_free (&self->app_token);
    free (self);
    *self_p = NULL;
}

//  A token is put into a header: it must not be able to end it.
static bool
s_is_token (const char *token, const char *prefix)
{
    size_t length = strlen (token);
    return strncmp (token, prefix, strlen (prefix)) == 0 && length < 500 &&
           strspn (token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_%") ==
               length;
}

static bool
s_is_base (const slack_t *self, const char *url)
{
    const char *end = strstr (self->base, "://");
    size_t size = end ? (size_t) (end + 3 - self->base) + strcspn (end + 3, "/") : 0;
    return size && strcmp (self->base, ARGOS_SLACK_URL) != 0 &&
           strncmp (url, self->base, size) == 0 && url[size] == '/';
}

//  Files come from Slack's own host, or from where the API is: the token goes there
static bool
s_file_allowed (void *arg, const char *url)
{
    return strncmp (url, "https://files.slack.com/", 24) == 0 || s_is_base (arg, url);
}

static const char *const *
s_file_headers (void *arg, const char *url)
{
    static _Thread_local char authorization[600];
    static _Thread_local const char *headers[2];
    const slack_t *self = arg;
    (void) url;
    snprintf (authorization, sizeof authorization, "Authorization: Bearer %s", self->token);
    headers[0] = authorization;
    return headers;
}

static void *
s_open (argos_adapter_t *adapter, char *reason, size_t size)
{
    slack_t *self = calloc (1, sizeof *self);
    void *opened = self;
    if (!self)
        abort ();
    self->adapter = adapter;
    self->threads = json_object ();
    self->names = json_object ();
    self->timer.arg = self->live_timer.arg = self;
    const char *base = json_string_value (argos_adapter_setting (adapter, "base_url", true));
    snprintf (self->base, sizeof self->base, "%s", base ? base : ARGOS_SLACK_URL);
    for (size_t end = strlen (self->base); end > 0 && self->base[end - 1] == '/';)
        self->base[--end] = 0;
    self->token = argos_adapter_secret (adapter, "token", true, reason, size);
    if (self->token)
        self->app_token = argos_adapter_secret (adapter, "app_token", false, reason, size);
    bool good = self->token && self->app_token;
    if (good && (!s_is_token (self->token, "xoxb-") || !s_is_token (self->app_token, "xapp-"))) {
        snprintf (reason, size, "token begins with xoxb-, app_token with xapp-");
        good = false;
    }
    if (!good)
        s_close (&opened);
    return opened;
}

//  ------------------------------------------------------------------------------------------------
//  The beginning

static void
s_on_kept (void *arg, json_t *values)
{
    slack_t *self = arg;
    const char *key;
    json_t *value;
    json_object_foreach (values, key, value)
        if (strncmp (key, "thread/", 7) == 0)
            json_object_set_new (self->threads, key + 7, json_true ());
    sl_connect (self);
}

static void
s_on_auth (void *arg, const sl_answer_t *answer)
{
    slack_t *self = arg;
    int64_t now = argos_shell_now (), wait_ms = answer->wait_ms;
    const char *user = sl_member (answer->body, "user_id"), *help = sl_help (answer->error);
    if (answer->ok && *user) {
        snprintf (self->user, sizeof self->user, "%.60s", user);
        snprintf (self->bot, sizeof self->bot, "%.60s", sl_member (answer->body, "bot_id"));
        snprintf (self->team, sizeof self->team, "%.60s", sl_member (answer->body, "team_id"));
        snprintf (self->name, sizeof self->name, "%.120s", sl_member (answer->body, "user"));
        argos_inbox_config_t config = { .adapter = self->adapter,
            .fn = sl_stored,
            .arg = self,
            .file_headers = s_file_headers,
            .file_allowed = s_file_allowed };
        self->inbox = argos_inbox_new (&config);
        argos_adapter_kept (self->adapter, s_on_kept, self);
        return;
    }
    if (help && !answer->ok) {
        argos_adapter_problem (self->adapter, help);
        wait_ms = FATAL_MS;
    }
    else if (wait_ms <= 0)
        wait_ms = argos_backoff_failed (&self->backoff, now, argos_adapter_random (self->adapter));
    self->timer.fn = s_begin;
    argos_adapter_timer (self->adapter, &self->timer, now + wait_ms);
}

static void
s_begin (void *arg)
{
    slack_t *self = arg;
    if (sl_api (self, "auth.test", json_object (), true, false, s_on_auth, self))
        return;
    self->timer.fn = s_begin;
    argos_adapter_timer (self->adapter, &self->timer, argos_shell_now () + 1000);
}

static void
s_on_status (void *arg, const sl_answer_t *answer)
{
    slack_t *self = arg;
    self->no_status = self->no_status || (answer->body && !answer->ok && answer->wait_ms == 0);
}

//  In threads only; it goes with the next message there
static void
s_typing (void *arg, const char *chat_id, const char *thread_id)
{
    slack_t *self = arg;
    if (*thread_id && !self->no_status)
        sl_api (self, "assistant.threads.setStatus",
            json_pack ("{s:s,s:s,s:s}", "channel_id", chat_id, "thread_ts", thread_id, "status",
                "is writing..."),
            false, false, s_on_status, self);
}

const argos_platform_t argos_slack = {
    .name = "slack",
    .send = ARGOS_SEND_RECONCILE,
    .typing_ms = TYPING_MS,
    .draft_ms = DRAFT_MS,
    .file_max = FILE_MAX,
    .capabilities = s_capabilities,
    .open = s_open,
    .close = s_close,
    .start = s_begin,
    .plan = sl_plan,
    .call = sl_deliver,
    .find = sl_find,
    .find_draft = sl_find_draft,
    .typing = s_typing,
    .draft = sl_draft,
    .ask = sl_ask,
};
