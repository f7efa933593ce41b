//  argos_slack_ask - requests: a thread, what a channel is, whether it works.
//
//  A thread begins with a message: the one that is named, or one that is written for it. Invariant:
//  at most one is written; when nobody knows whether it was, it is looked for by its metadata.

#include "argos_slack_priv.h"

#include "argos_markdown.h"

#include <sodium.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_CHARACTERS 80 //  Of the name of a thread

typedef struct {
    slack_t *slack;           //  Whose
    argos_adapter_ask_t *ask; //  To be answered
    char chat[64];            //  The channel
    char mark[33];            //  Of the message
} s_ask_t;

static void
s_failed (s_ask_t *self, const sl_answer_t *answer)
{
    bool answered =
        answer->http->phase == ARGOS_HTTP_ANSWERED && answer->wait_ms == 0 && answer->body;
    argos_err_t code = !answered                                          ? ARGOS_BUSY
                       : strcmp (answer->error, "channel_not_found") == 0 ? ARGOS_NOT_FOUND
                                                                          : ARGOS_UNSUPPORTED;
    argos_adapter_answer_error (self->ask, code, answer->error);
    free (self);
}

static void
s_made (s_ask_t *self, const char *ts)
{
    sl_join_thread (self->slack, self->chat, ts);
    argos_adapter_answer (self->ask, "thread.create.result",
        json_pack ("{s:s,s:s,s:{s:s,s:s,s:s,s:s}}", "thread_id", ts, "chat_id", self->chat,
            "source", "chat_id", self->chat, "thread_id", ts, "chat_type",
            *self->chat == 'D' ? "dm" : "thread", "scope_id", self->slack->team));
    free (self);
}

static void
s_on_history (void *arg, const sl_answer_t *answer)
{
    s_ask_t *self = arg;
    const json_t *message;
    size_t at;
    json_array_foreach (json_object_get (answer->body, "messages"), at, message) {
        const json_t *payload =
            json_object_get (json_object_get (message, "metadata"), "event_payload");
        if (strcmp (sl_member (payload, "mark"), self->mark) == 0) {
            s_made (self, sl_member (message, "ts"));
            return;
        }
    }
    argos_adapter_answer_error (self->ask, ARGOS_BUSY, "it could not be seen whether it was made");
    free (self);
}

static void
s_on_seed (void *arg, const sl_answer_t *answer)
{
    s_ask_t *self = arg;
    const char *ts = sl_member (answer->body, "ts");
    if (answer->ok && *ts) {
        s_made (self, ts);
        return;
    }
    bool unclear = answer->http->phase == ARGOS_HTTP_UNKNOWN || answer->http->status / 100 == 5 ||
                   strcmp (answer->error, "internal_error") == 0 ||
                   strcmp (answer->error, "fatal_error") == 0;
    if (unclear && sl_api (self->slack, "conversations.history",
                       json_pack ("{s:s,s:i,s:s}", "channel", self->chat, "limit", 20,
                           "include_all_metadata", "true"),
                       true, false, s_on_history, self))
        return;
    s_failed (self, answer);
}

static void
s_on_probe (void *arg, const sl_answer_t *answer)
{
    s_ask_t *self = arg;
    const char *problem = argos_adapter_problem_now (self->slack->adapter);
    const char *help = sl_help (answer->error);
    bool live = self->slack->sockets[0].live || self->slack->sockets[1].live;
    if (!answer->ok)
        problem = help ? help : answer->error;
    else if (!*problem && !live)
        problem = "the API answers, but Socket Mode is not connected";
    argos_adapter_answer (self->ask, "probe.result",
        json_pack ("{s:b,s:o*,s:s*}", "ok", !*problem, "user_name",
            answer->ok ? json_string (sl_member (answer->body, "user")) : NULL, "problem",
            *problem ? problem : NULL));
    free (self);
}

static void
s_on_info (void *arg, const sl_answer_t *answer)
{
    s_ask_t *self = arg;
    if (!answer->ok) {
        s_failed (self, answer);
        return;
    }
    const json_t *channel = json_object_get (answer->body, "channel");
    const char *name = sl_member (channel, "name");
    const char *topic = sl_member (json_object_get (channel, "topic"), "value");
    bool direct = json_is_true (json_object_get (channel, "is_im"));
    argos_adapter_answer (self->ask, "chat.info.result",
        json_pack ("{s:s,s:s,s:o*,s:o*}", "chat_id", self->chat, "chat_type",
            direct ? "dm" : "group", "name", *name ? json_sprintf ("%.250s", name) : NULL, "topic",
            *topic ? json_sprintf ("%.1000s", topic) : NULL));
    free (self);
}

//  ":thread: *name*", without marks and mentions in the name
static json_t *
s_seed (const char *name)
{
    char *copy = strdup (name);
    if (!copy)
        abort ();
    for (char *at = copy; *at; at++)
        if ((unsigned char) *at < 32 || strchr ("<>&*_~`", *at))
            *at = ' ';
    size_t fits = argos_unit_fit (ARGOS_UNIT_CHARACTERS, copy, strlen (copy), NAME_MAX_CHARACTERS);
    fits = argos_unit_grapheme (copy, strlen (copy), 0, fits);
    json_t *text = json_sprintf (":thread: *%.*s*", (int) fits, copy);
    free (copy);
    return text;
}

static bool
s_thread (s_ask_t *self, const json_t *body)
{
    unsigned char random[16];
    randombytes_buf (random, sizeof random);
    sodium_bin2hex (self->mark, sizeof self->mark, random, sizeof random);
    return sl_api (self->slack, "chat.postMessage",
        json_pack ("{s:s,s:o,s:{s:s,s:{s:s}}}", "channel", self->chat, "text",
            s_seed (sl_member (body, "name")), "metadata", "event_type", SL_EVENT, "event_payload",
            "mark", self->mark),
        false, true, s_on_seed, self);
}

void
sl_ask (void *arg, argos_adapter_ask_t *ask, const char *type, const json_t *body)
{
    s_ask_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->slack = arg;
    self->ask = ask;
    snprintf (self->chat, sizeof self->chat, "%.60s", sl_member (body, "chat_id"));
    bool begun = false;
    if (strcmp (type, "probe") == 0)
        begun = sl_api (self->slack, "auth.test", json_object (), true, false, s_on_probe, self);
    else if (strcmp (type, "chat.info") == 0)
        begun = sl_api (self->slack, "conversations.info",
            json_pack ("{s:s}", "channel", self->chat), true, false, s_on_info, self);
    else if (*sl_member (body, "message_id")) {
        s_made (self, sl_member (body, "message_id"));
        return;
    }
    else
        begun = s_thread (self, body);
    if (begun)
        return;
    argos_adapter_answer_error (ask, ARGOS_BUSY, "too many calls at a time");
    free (self);
}
