//  argos_discord - see the header. This file opens and closes the account: who we are, where we
//  left off, which commands Discord offers.
//
//  Invariant: the gateway is connected to only when our id and the stored place are known. Limits:
//  those of the API, see docs/platforms/discord.md.

#include "argos_discord_priv.h"

#include "argos_commands.h"
#include "argos_secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPING_MS 8000      //  Its mark lasts ten seconds
#define DRAFT_MS 1500       //  Between two edits of a draft
#define FILE_MAX 10485760LL //  Bytes of a file that it takes everywhere
#define FATAL_MS 300000     //  Until a bad token is looked at again

static void s_begin (void *arg);

static json_t *
s_capabilities (void)
{
    return json_pack ("{s:i,s:s,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:s}", "length", DC_TEXT_MAX,
        "unit", "characters", "edit", 1, "delete", 1, "threads", 1, "reactions", 1, "typing", 1,
        "buttons", 1, "media", 1, "native_commands", 1, "send_idempotency", "native");
}

static void
s_close (void **self_p)
{
    discord_t *self = *self_p;
    if (!self)
        return;
    argos_adapter_timer (self->adapter, &self->state_timer, -1);
    argos_adapter_timer (self->adapter, &self->live_timer, -1);
    self->closing = true;
    dc_leave (self);
    dc_calls_free (self);
    argos_inbox_destroy (&self->inbox);
    json_decref (self->channels);
    json_decref (self->roles);
    json_decref (self->threads);
    argos_secret_free (&self->token);
    free (self);
    *self_p = NULL;
}

//  A token is put into a header: it must not be able to end it.
static bool
s_is_token (const char *token)
{
    size_t length = strlen (token);
    return length > 20 && length < 500 &&
           strspn (token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
               length;
}

//  Files come from Discord's own hosts, or from where the API is
static bool
s_file_allowed (void *arg, const char *url)
{
    static const char *const hosts[] = { "https://cdn.discordapp.com/",
        "https://media.discordapp.net/", NULL };
    const discord_t *self = arg;
    for (const char *const *host = hosts; *host; host++)
        if (strncmp (url, *host, strlen (*host)) == 0)
            return true;
    //  Another base than Discord's: its own host gives the files, too
    const char *end = strstr (self->base, "://");
    size_t size = end ? (size_t) (end + 3 - self->base) + strcspn (end + 3, "/") : 0;
    return size && strcmp (self->base, ARGOS_DISCORD_URL) != 0 &&
           strncmp (url, self->base, size) == 0 && url[size] == '/';
}

static void *
s_open (argos_adapter_t *adapter, char *reason, size_t size)
{
    discord_t *self = calloc (1, sizeof *self);
    void *opened = self;
    if (!self)
        abort ();
    self->adapter = adapter;
    self->channels = json_object ();
    self->roles = json_object ();
    self->threads = json_object ();
    self->state = DC_PAUSED;
    self->beat_timer.arg = self->state_timer.arg = self->socket_timer.arg = self->live_timer.arg =
        self;
    const char *base = json_string_value (argos_adapter_setting (adapter, "base_url", true));
    snprintf (self->base, sizeof self->base, "%s", base ? base : ARGOS_DISCORD_URL);
    for (size_t end = strlen (self->base); end > 0 && self->base[end - 1] == '/';)
        self->base[--end] = 0;
    self->token = argos_adapter_secret (adapter, "token", true, reason, size);
    if (self->token && !s_is_token (self->token)) {
        snprintf (reason, size, "that is no token of a bot (developer portal, page Bot)");
        argos_secret_free (&self->token);
    }
    if (!self->token)
        s_close (&opened);
    return opened;
}

//  ------------------------------------------------------------------------------------------------
//  Commands

//  What Discord is to offer, in the form in which it says what it has
static json_t *
s_commands (void)
{
    json_t *list = json_array ();
    char name[ARGOS_COMMANDS_NAME_MAX + 1];
    const argos_commands_row_t *row;
    for (size_t at = 0; (row = argos_commands_menu (at, name)); at++) {
        json_t *command = json_pack ("{s:s,s:o,s:i,s:[]}", "name", name, "description",
            json_sprintf ("%.100s", row->description), "type", 1, "options");
        if (*row->arguments)
            json_array_append_new (json_object_get (command, "options"),
                json_pack ("{s:i,s:s,s:o}", "type", 3, "name", "arguments", "description",
                    json_sprintf ("%.100s", row->arguments)));
        json_array_append_new (list, command);
    }
    return list;
}

static bool
s_same_command (const json_t *ours, const json_t *theirs)
{
    const json_t *one = json_object_get (ours, "options"),
                 *other = json_object_get (theirs, "options");
    return strcmp (dc_member (ours, "name"), dc_member (theirs, "name")) == 0 &&
           strcmp (dc_member (ours, "description"), dc_member (theirs, "description")) == 0 &&
           json_array_size (one) == json_array_size (other) &&
           strcmp (dc_member (json_array_get (one, 0), "description"),
               dc_member (json_array_get (other, 0), "description")) == 0;
}

//  In any order
static bool
s_same_commands (const json_t *ours, const json_t *theirs)
{
    const json_t *one, *other;
    size_t at, place;
    if (json_array_size (ours) != json_array_size (theirs))
        return false;
    json_array_foreach (ours, at, one) {
        bool found = false;
        json_array_foreach (theirs, place, other)
            found = found || s_same_command (one, other);
        if (!found)
            return false;
    }
    return true;
}

static void
s_on_registered (void *arg, const dc_answer_t *answer)
{
    discord_t *self = arg;
    if (!answer->ok)
        argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->adapter), "commands not registered",
            "reason=\"%.150s\"", answer->why);
}

static void
s_on_commands (void *arg, const dc_answer_t *answer)
{
    discord_t *self = arg;
    char path[128];
    json_t *ours = s_commands ();
    snprintf (path, sizeof path, "/applications/%s/commands", self->app);
    if (answer->ok && !s_same_commands (ours, answer->body))
        dc_api (self, "PUT", path, json_incref (ours), NULL, s_on_registered, self);
    json_decref (ours);
}

//  ------------------------------------------------------------------------------------------------
//  The beginning

static void
s_on_kept (void *arg, json_t *values)
{
    discord_t *self = arg;
    char path[128];
    const char *key;
    json_t *value;
    json_object_foreach (values, key, value)
        if (strncmp (key, "thread/", 7) == 0)
            json_object_set_new (self->threads, key + 7, json_true ());
    snprintf (path, sizeof path, "/applications/%s/commands", self->app);
    dc_api (self, "GET", path, NULL, NULL, s_on_commands, self);
    dc_begin (self);
}

static void
s_on_cursor (void *arg, const json_t *value)
{
    discord_t *self = arg;
    snprintf (self->session, sizeof self->session, "%s", dc_member (value, "session"));
    snprintf (self->resume_url, sizeof self->resume_url, "%s", dc_member (value, "url"));
    snprintf (self->app, sizeof self->app, "%s",
        *dc_member (value, "app") ? dc_member (value, "app") : self->id);
    self->seq = json_integer_value (json_object_get (value, "seq"));
    argos_adapter_kept (self->adapter, s_on_kept, self);
}

static void
s_on_user (void *arg, const dc_answer_t *answer)
{
    discord_t *self = arg;
    int64_t now = argos_shell_now (), wait_ms = answer->wait_ms;
    if (answer->ok && *dc_member (answer->body, "id")) {
        snprintf (self->id, sizeof self->id, "%s", dc_member (answer->body, "id"));
        snprintf (
            self->username, sizeof self->username, "%s", dc_member (answer->body, "username"));
        snprintf (self->cursor, sizeof self->cursor, "gateway.%s", self->id);
        argos_inbox_config_t config = { .adapter = self->adapter,
            .cursor = self->cursor,
            .fn = dc_stored,
            .arg = self,
            .file_allowed = s_file_allowed };
        self->inbox = argos_inbox_new (&config);
        argos_adapter_cursor (self->adapter, self->cursor, s_on_cursor, self);
        return;
    }
    if (answer->http->phase == ARGOS_HTTP_ANSWERED && answer->http->status == 401) {
        argos_adapter_problem (self->adapter, argos_dc_gateway_help (4004));
        wait_ms = FATAL_MS;
    }
    else if (wait_ms <= 0)
        wait_ms = argos_backoff_failed (&self->backoff, now, argos_adapter_random (self->adapter));
    self->state_timer.fn = s_begin;
    argos_adapter_timer (self->adapter, &self->state_timer, now + wait_ms);
}

static void
s_begin (void *arg)
{
    discord_t *self = arg;
    if (dc_api (self, "GET", "/users/@me", NULL, NULL, s_on_user, self))
        return;
    self->state_timer.fn = s_begin;
    argos_adapter_timer (self->adapter, &self->state_timer, argos_shell_now () + 1000);
}

static void
s_typing (void *arg, const char *chat_id, const char *thread_id)
{
    char path[64];
    snprintf (path, sizeof path, "/channels/%.24s/typing", *thread_id ? thread_id : chat_id);
    dc_api (arg, "POST", path, NULL, NULL, dc_ignore, NULL);
}

const argos_platform_t argos_discord = {
    .name = "discord",
    .send = ARGOS_SEND_NATIVE,
    .typing_ms = TYPING_MS,
    .draft_ms = DRAFT_MS,
    .file_max = FILE_MAX,
    .capabilities = s_capabilities,
    .open = s_open,
    .close = s_close,
    .start = s_begin,
    .plan = dc_plan,
    .call = dc_deliver,
    .typing = s_typing,
    .draft = dc_draft,
    .ask = dc_ask,
};
