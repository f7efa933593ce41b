//  argos_telegram_poll - from the first call to the last update: who we are, where we left off, and
//  the long poll.
//
//  Invariant: at most one getUpdates is under way, and the next one confirms only what is stored.
//  409 is waited out, longer than the server holds a poll; a token that is no good is looked at
//  every five minutes. Limits: polls of 45 s, given up after 57, so
//  that one whose connection is dead is noticed within a minute.

#include "argos_telegram_priv.h"

#include "argos_commands.h"
#include "argos_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_S 45              //  The server holds a poll so long
#define POLL_MS 57000          //  And we wait for it
#define HOLD_MS 900            //  Until we look whether an album is whole
#define HOLD_MAX_MS 3000       //  Then it is
#define CONFLICT_MS 20000      //  First wait for another poller to go, 10 s more each time
#define FATAL_MS 300000        //  Until a bad token, or somebody who stays, is looked at again
#define STALE_MS 518400000LL   //  After six days without updates their numbers may begin anew
#define FETCH_MAX TG_BATCH_MAX //  Updates of a poll

static void s_begin (void *arg);

void
tg_fail (telegram_t *self, const tg_answer_t *answer, const char *what, void (*again) (void *))
{
    int64_t now = argos_shell_now (), wait_ms;
    char problem[400];
    bool fatal = answer->http->phase == ARGOS_HTTP_ANSWERED &&
                 (answer->error == ARGOS_TG_FATAL || answer->error == ARGOS_TG_REFUSED);
    if (answer->error == ARGOS_TG_WAIT)
        wait_ms = answer->wait_ms;
    else if (fatal) {
        snprintf (problem, sizeof problem, "Telegram refuses %s: %s (is the token right?)", what,
            answer->why);
        argos_adapter_problem (self->adapter, problem);
        wait_ms = FATAL_MS;
    }
    else {
        wait_ms = argos_backoff_failed (&self->backoff, now, argos_adapter_random (self->adapter));
        argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->adapter), "call failed",
            "method=%s wait_ms=%" PRId64 " reason=\"%s\"", what, wait_ms, answer->why);
    }
    self->timer.fn = again;
    argos_adapter_timer (self->adapter, &self->timer, now + wait_ms);
}

//  ------------------------------------------------------------------------------------------------
//  Updates

static void
s_next_poll (telegram_t *self, int64_t wait_ms)
{
    self->timer.fn = tg_poll;
    argos_adapter_timer (self->adapter, &self->timer, argos_shell_now () + wait_ms);
}

//  Either the batch is in the store, or it is held because more may belong to it.

static void
s_on_batch (void *arg, int64_t last, bool held)
{
    telegram_t *self = arg;
    if (held) {
        s_next_poll (self, HOLD_MS);
        return;
    }
    self->held_since = 0;
    if (last) {
        self->offset = last + 1;
        self->offset_at = argos_shell_wall ();
    }
    tg_poll (self);
}

static void
s_take (telegram_t *self, const json_t *updates)
{
    size_t count = json_array_size (updates);
    int64_t now = argos_shell_now ();
    int64_t last = json_integer_value (
        json_object_get (json_array_get (updates, count ? count - 1 : 0), "update_id"));
    //  Nothing new has come since we looked, or it takes too long
    bool final = count >= FETCH_MAX || (self->held_since && last == self->held_last) ||
                 (self->held_since && now - self->held_since > HOLD_MAX_MS);
    if (!self->held_since)
        self->held_since = now;
    self->held_last = last;
    tg_batch (self, updates, final, s_on_batch, self);
}

static void
s_on_deleted (void *arg, const tg_answer_t *answer)
{
    if (answer->ok)
        tg_poll (arg);
    else
        tg_fail (arg, answer, "deleteWebhook", tg_poll);
}

static void
s_on_conflict (telegram_t *self)
{
    int64_t wait_ms = CONFLICT_MS + 10000LL * self->conflicts;
    if (++self->conflicts > TG_CONFLICTS_MAX)
        wait_ms = FATAL_MS;
    argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->adapter), "conflict",
        "times=%d wait_ms=%" PRId64, self->conflicts, wait_ms);
    s_next_poll (self, wait_ms);
}

static void
s_on_updates (void *arg, const tg_answer_t *answer)
{
    telegram_t *self = arg;
    int64_t now = argos_shell_now ();
    bool answered = answer->http->phase == ARGOS_HTTP_ANSWERED;
    if (answer->ok && json_is_array (answer->result)) {
        self->conflicts = 0;
        argos_backoff_good (&self->backoff, now);
        if (*argos_adapter_problem_now (self->adapter)) {
            argos_adapter_problem (self->adapter, NULL);
            argos_adapter_serve (self->adapter);
        }
        if (json_array_size (answer->result))
            s_take (self, answer->result);
        else
            tg_poll (self);
    }
    else if (answered && answer->error == ARGOS_TG_CONFLICT)
        s_on_conflict (self);
    else if (answered && answer->error == ARGOS_TG_WEBHOOK)
        tg_api (self, "deleteWebhook", json_pack ("{s:b}", "drop_pending_updates", 0), false, 0,
            s_on_deleted, self);
    else
        tg_fail (self, answer, "getUpdates", tg_poll);
}

//  What we want to hear of: Telegram keeps to the list that it was told last, by whomever

static json_t *
s_allowed (void)
{
    return json_pack ("[s,s,s,s,s,s]", "message", "edited_message", "channel_post",
        "edited_channel_post", "callback_query", "message_reaction");
}

void
tg_poll (void *arg)
{
    telegram_t *self = arg;
    bool stale = self->offset_at && argos_shell_wall () - self->offset_at > STALE_MS;
    bool look = self->held_since > 0;
    json_t *params = json_pack ("{s:i,s:i,s:o}", "timeout", look ? 0 : POLL_S, "limit", FETCH_MAX,
        "allowed_updates", s_allowed ());
    if (self->offset && !stale)
        json_object_set_new (params, "offset", json_integer (self->offset));
    if (!tg_api (self, "getUpdates", params, false, POLL_MS, s_on_updates, self))
        s_next_poll (self, 1000);
}

//  ------------------------------------------------------------------------------------------------
//  The beginning

static void
s_on_ignored (void *arg, const tg_answer_t *answer)
{
    telegram_t *self = arg;
    if (!answer->ok)
        argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->adapter), "call failed",
            "reason=\"%s\"", answer->why);
}

static void
s_send_menu (telegram_t *self)
{
    json_t *list = json_array ();
    char name[ARGOS_COMMANDS_NAME_MAX + 1];
    const argos_commands_row_t *row;
    for (size_t i = 0; i < 100 && (row = argos_commands_menu (i, name)); i++)
        json_array_append_new (list, json_pack ("{s:s,s:s}", "command", name, "description",
                                         *row->description ? row->description : name));
    tg_api (
        self, "setMyCommands", json_pack ("{s:o}", "commands", list), false, 0, s_on_ignored, self);
}

static void
s_on_webhook (void *arg, const tg_answer_t *answer)
{
    telegram_t *self = arg;
    if (answer->ok)
        argos_adapter_serve (self->adapter);
    else
        tg_fail (self, answer, "setWebhook", s_begin);
}

static void
s_set_webhook (telegram_t *self)
{
    char reason[400];
    const json_t *url = argos_adapter_setting (self->adapter, "webhook_url", true);
    char *secret =
        argos_adapter_secret (self->adapter, "webhook_secret", false, reason, sizeof reason);
    if (!secret) {
        argos_adapter_problem (self->adapter, reason);
        return;
    }
    json_t *params = json_pack (
        "{s:O,s:s,s:o}", "url", url, "secret_token", secret, "allowed_updates", s_allowed ());
    explicit_bzero (secret, strlen (secret));
    free (secret);
    tg_api (self, "setWebhook", params, false, 0, s_on_webhook, self);
}

static void
s_on_cursor (void *arg, const json_t *value)
{
    telegram_t *self = arg;
    self->offset = json_integer_value (json_object_get (value, "offset"));
    self->offset_at = json_integer_value (json_object_get (value, "at"));
    self->running = true;
    argos_adapter_serve (self->adapter);
    tg_poll (self);
}

static void
s_on_me (void *arg, const tg_answer_t *answer)
{
    telegram_t *self = arg;
    if (!answer->ok) {
        tg_fail (self, answer, "getMe", s_begin);
        return;
    }
    const char *name = json_string_value (json_object_get (answer->result, "username"));
    self->id = json_integer_value (json_object_get (answer->result, "id"));
    snprintf (self->username, sizeof self->username, "%s", name ? name : "");
    self->topics = json_is_true (json_object_get (answer->result, "has_topics_enabled"));
    argos_adapter_problem (self->adapter, NULL);
    argos_log (ARGOS_LOG_INFO, argos_adapter_name (self->adapter), "connected",
        "bot=@%s id=%" PRId64, self->username, self->id);
    s_send_menu (self);
    if (self->webhook) {
        s_set_webhook (self);
        return;
    }
    char cursor[64];
    snprintf (cursor, sizeof cursor, "offset/%" PRId64, self->id);
    argos_adapter_cursor (self->adapter, cursor, s_on_cursor, self);
}

static void
s_begin (void *arg)
{
    telegram_t *self = arg;
    if (!tg_api (self, "getMe", json_object (), false, 0, s_on_me, self)) {
        self->timer.fn = s_begin;
        argos_adapter_timer (self->adapter, &self->timer, argos_shell_now () + 1000);
    }
}

//  First what is kept: chats that have got another id.

static void
s_on_kept (void *arg, json_t *values)
{
    telegram_t *self = arg;
    const char *key;
    json_t *value;
    json_object_foreach (values, key, value) {
        const char *first = json_string_value (json_object_get (value, "first"));
        if (strncmp (key, "chat/", 5) != 0 || !first)
            continue;
        json_object_set_new (self->aliases, key + 5, json_string (first));
        json_object_set_new (self->targets, first, json_string (key + 5));
    }
    s_begin (self);
}

void
tg_begin (telegram_t *self)
{
    argos_adapter_kept (self->adapter, s_on_kept, self);
}
