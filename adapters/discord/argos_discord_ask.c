//  argos_discord_ask - requests: a thread, what a channel is, whether it works.
//
//  A thread: of a message when one is named; in a text channel directly, and when that is refused
//  of a first message; in a forum as a post. Invariant: at most one first message is written, and
//  160004 (there is a thread already) is success: it has the id of its message.

#include "argos_discord_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    discord_t *discord;       //  Whose
    argos_adapter_ask_t *ask; //  To be answered
    char chat[64];            //  The channel, as it was asked for
    char parent[64];          //  Where the thread is made: of a thread its parent
    char seed[64];            //  The message that it is made of, "" = none
    char guild[64];           //  The server, "" = not known
    char *name;               //  Of the thread
    bool written;             //  We have written that message
    bool asked;               //  Whether it is there after all
} s_ask_t;

static void
s_free (s_ask_t *self)
{
    free (self->name);
    free (self);
}

static void
s_refuse (s_ask_t *self, const dc_answer_t *answer)
{
    bool answered = answer->http->phase == ARGOS_HTTP_ANSWERED && answer->wait_ms == 0;
    argos_err_t code = !answered || answer->http->status / 100 == 5 ? ARGOS_BUSY
                       : answer->http->status == 404                ? ARGOS_NOT_FOUND
                                                                    : ARGOS_UNSUPPORTED;
    argos_adapter_answer_error (self->ask, code, answer->why);
}

static void
s_failed (s_ask_t *self, const dc_answer_t *answer)
{
    s_refuse (self, answer);
    s_free (self);
}

static void
s_too_many (s_ask_t *self)
{
    argos_adapter_answer_error (self->ask, ARGOS_BUSY, "too many calls at a time");
    s_free (self);
}

static void
s_made (s_ask_t *self, const char *id)
{
    json_t *channel = json_pack ("{s:s,s:i,s:s,s:s}", "id", id, "type", 11, "parent_id",
        self->parent, "owner_id", self->discord->id);
    dc_know_channel (self->discord, channel);
    json_decref (channel);
    dc_join_thread (self->discord, id);
    argos_adapter_answer (self->ask, "thread.create.result",
        json_pack ("{s:s,s:s,s:{s:s,s:s,s:s,s:s,s:s*}}", "thread_id", id, "chat_id", self->parent,
            "source", "chat_id", self->parent, "thread_id", id, "chat_type", "thread",
            "parent_chat_id", self->parent, "scope_id", *self->guild ? self->guild : NULL));
    s_free (self);
}

//  ------------------------------------------------------------------------------------------------
//  A thread

static void
s_on_looked (void *arg, const dc_answer_t *answer)
{
    s_ask_t *self = arg;
    if (answer->ok && argos_dc_is_thread (answer->body))
        s_made (self, self->seed);
    else
        s_failed (self, answer);
}

static void
s_on_taken_back (void *arg, const dc_answer_t *answer)
{
    (void) answer; //  It stays, then
    s_free (arg);
}

//  No thread: the first message that was written for it goes, too.

static void
s_take_back (s_ask_t *self)
{
    char path[160];
    snprintf (path, sizeof path, "/channels/%s/messages/%s", self->parent, self->seed);
    if (!self->written ||
        !dc_api (self->discord, "DELETE", path, NULL, NULL, s_on_taken_back, self))
        s_free (self);
}

static void
s_on_of_message (void *arg, const dc_answer_t *answer)
{
    s_ask_t *self = arg;
    char path[80];
    if (answer->ok || answer->code == 160004) {
        s_made (self, self->seed);
        return;
    }
    //  Nobody knows whether it was made: a thread of a message has the message's id
    bool unclear = answer->http->phase != ARGOS_HTTP_ANSWERED || answer->http->status / 100 == 5;
    snprintf (path, sizeof path, "/channels/%s", self->seed);
    if (!unclear) {
        s_refuse (self, answer);
        s_take_back (self);
    }
    else if (self->asked || !dc_api (self->discord, "GET", path, NULL, NULL, s_on_looked, self))
        s_failed (self, answer);
    else
        self->asked = true;
}

static void
s_of_message (s_ask_t *self)
{
    char path[160];
    snprintf (path, sizeof path, "/channels/%s/messages/%s/threads", self->parent, self->seed);
    json_t *params = json_pack ("{s:s,s:i}", "name", self->name, "auto_archive_duration", 1440);
    if (!dc_api (self->discord, "POST", path, params, NULL, s_on_of_message, self))
        s_too_many (self);
}

static void
s_on_seed (void *arg, const dc_answer_t *answer)
{
    s_ask_t *self = arg;
    const char *id = dc_member (answer->body, "id");
    if (!answer->ok || !*id) {
        s_failed (self, answer);
        return;
    }
    snprintf (self->seed, sizeof self->seed, "%s", id);
    self->written = true;
    s_of_message (self);
}

static void
s_on_direct (void *arg, const dc_answer_t *answer)
{
    s_ask_t *self = arg;
    char path[96];
    const char *id = dc_member (answer->body, "id");
    if (answer->ok && *id) {
        s_made (self, id);
        return;
    }
    //  A first message only when it is sure that no thread was made
    if (answer->http->phase != ARGOS_HTTP_ANSWERED || answer->http->status != 403) {
        s_failed (self, answer);
        return;
    }
    snprintf (path, sizeof path, "/channels/%s/messages", self->parent);
    json_t *params = json_pack ("{s:o,s:{s:[]}}", "content",
        json_sprintf ("\U0001F4CC %s", self->name), "allowed_mentions", "parse");
    if (!dc_api (self->discord, "POST", path, params, NULL, s_on_seed, self))
        s_too_many (self);
}

static void
s_direct (s_ask_t *self, bool forum)
{
    char path[96];
    snprintf (path, sizeof path, "/channels/%s/threads", self->parent);
    json_t *params = json_pack ("{s:s,s:i}", "name", self->name, "auto_archive_duration", 1440);
    //  Without its type it would be a private one, which nobody sees
    if (forum)
        json_object_set_new (params, "message",
            json_pack ("{s:o}", "content", json_sprintf ("\U0001F4CC %s", self->name)));
    else
        json_object_set_new (params, "type", json_integer (11));
    if (!dc_api (self->discord, "POST", path, params, NULL, s_on_direct, self))
        s_too_many (self);
}

static void
s_on_parent (void *arg, const dc_answer_t *answer)
{
    s_ask_t *self = arg;
    if (!answer->ok) {
        s_failed (self, answer);
        return;
    }
    dc_know_channel (self->discord, answer->body);
    snprintf (self->guild, sizeof self->guild, "%.60s", dc_member (answer->body, "guild_id"));
    json_int_t type = json_integer_value (json_object_get (answer->body, "type"));
    const char *parent = dc_member (answer->body, "parent_id");
    if (argos_dc_is_thread (answer->body) && *parent)
        snprintf (self->parent, sizeof self->parent, "%s", parent);
    else if (type != 0 && type != 5 && type != 15 && type != 16) {
        argos_adapter_answer_error (
            self->ask, ARGOS_UNSUPPORTED, "this kind of channel has no threads");
        s_free (self);
        return;
    }
    if (*self->seed)
        s_of_message (self);
    else
        s_direct (self, type == 15 || type == 16);
}

//  ------------------------------------------------------------------------------------------------
//  The others

static void
s_on_probe (void *arg, const dc_answer_t *answer)
{
    s_ask_t *self = arg;
    const char *problem = argos_adapter_problem_now (self->discord->adapter);
    if (!answer->ok)
        problem = answer->why;
    else if (!*problem && self->discord->state != DC_LIVE)
        problem = "the API answers, but the gateway is not connected";
    argos_adapter_answer (self->ask, "probe.result",
        json_pack ("{s:b,s:o*,s:s*}", "ok", !*problem, "user_name",
            answer->ok ? json_string (dc_member (answer->body, "username")) : NULL, "problem",
            *problem ? problem : NULL));
    s_free (self);
}

static void
s_on_info (void *arg, const dc_answer_t *answer)
{
    s_ask_t *self = arg;
    if (!answer->ok) {
        s_failed (self, answer);
        return;
    }
    dc_know_channel (self->discord, answer->body);
    json_int_t type = json_integer_value (json_object_get (answer->body, "type"));
    const char *name = dc_member (answer->body, "name"), *topic = dc_member (answer->body, "topic");
    const char *kind = type == 1                           ? "dm"
                       : argos_dc_is_thread (answer->body) ? "thread"
                       : type == 15 || type == 16          ? "forum"
                                                           : "group";
    argos_adapter_answer (self->ask, "chat.info.result",
        json_pack ("{s:s,s:s,s:o*,s:o*}", "chat_id", self->chat, "chat_type", kind, "name",
            *name ? json_sprintf ("%.250s", name) : NULL, "topic",
            *topic ? json_sprintf ("%.1000s", topic) : NULL));
    s_free (self);
}

void
dc_ask (void *arg, argos_adapter_ask_t *ask, const char *type, const json_t *body)
{
    char path[96] = "/users/@me";
    dc_fn *fn = s_on_probe;
    s_ask_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->discord = arg;
    self->ask = ask;
    self->name = argos_dc_thread_name (dc_member (body, "name"));
    snprintf (self->chat, sizeof self->chat, "%.60s", dc_member (body, "chat_id"));
    snprintf (self->parent, sizeof self->parent, "%s", self->chat);
    snprintf (self->seed, sizeof self->seed, "%.60s", dc_member (body, "message_id"));
    if (strcmp (type, "probe") != 0) {
        const char *thread = dc_member (body, "thread_id");
        snprintf (path, sizeof path, "/channels/%.60s", *thread ? thread : self->chat);
        fn = strcmp (type, "thread.create") == 0 ? s_on_parent : s_on_info;
    }
    if (!dc_api (self->discord, "GET", path, NULL, NULL, fn, self))
        s_too_many (self);
}
