//  argos_telegram_draft - the text of a run while it is being written.
//
//  In a private chat a preview (sendMessageDraft): Telegram takes it away by itself, so nothing of
//  it is ever left over, and it costs no edits. In groups, and where the server does not know
//  previews, a message that is edited until it becomes the answer. Invariant: a message that was
//  perhaps sent is followed by no second one. Limit: of a text that is too long for one message the
//  beginning is shown.

#include "argos_telegram_priv.h"

#include <sodium.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAFT_UNITS 4000    //  Of a draft
#define CURSOR " \u258C"    //  Behind what is still being written
#define GROUP_DRAFT_MS 3000 //  Between edits in a group

typedef struct {
    telegram_t *telegram; //  Whose
    void *handle;         //  Of the draft
    bool group;           //  Edits are dearer there
    bool preview;         //  It goes by itself
    char id[24];          //  Of its message, "" = a new one
    json_t *given;        //  Of a preview: all of it, for another try
} s_draft_t;

static const char *
s_member (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

static void
s_on_preview (s_draft_t *self, const tg_answer_t *answer)
{
    telegram_t *telegram = self->telegram;
    bool refused = !answer->ok && answer->http->phase == ARGOS_HTTP_ANSWERED &&
                   (answer->http->status == 400 || answer->http->status == 404);
    if (!refused) {
        argos_adapter_drafted (
            telegram->adapter, self->handle, answer->ok ? "" : NULL, answer->wait_ms);
        return;
    }
    telegram->no_previews = true;
    argos_draft_t draft = { .chat_id = s_member (self->given, "chat"),
        .thread_id = s_member (self->given, "thread"),
        .reply_to = s_member (self->given, "reply"),
        .run_id = s_member (self->given, "run"),
        .text = s_member (self->given, "text"),
        .answer_id = "",
        .id = "",
        .unclear = json_is_true (json_object_get (self->given, "unclear")),
        .handle = self->handle };
    tg_draft (telegram, &draft);
}

static void
s_on_message (s_draft_t *self, const tg_answer_t *answer)
{
    argos_adapter_t *adapter = self->telegram->adapter;
    json_t *ids = answer->ok && !*self->id ? tg_ids (answer->result) : NULL;
    const char *made = json_string_value (json_array_get (ids, 0));
    const char *id = made ? made : *self->id ? self->id : NULL;
    bool good = answer->ok || answer->error == ARGOS_TG_SAME;
    int64_t wait_ms = answer->wait_ms > 0 ? answer->wait_ms : self->group ? GROUP_DRAFT_MS : 0;
    if (!good && !id && argos_http_unclear (answer->http))
        argos_adapter_draft_lost (adapter, self->handle);
    else
        argos_adapter_drafted (adapter, self->handle, good || answer->wait_ms ? id : NULL, wait_ms);
    json_decref (ids);
}

static void
s_on_draft (void *arg, const tg_answer_t *answer)
{
    s_draft_t *self = arg;
    if (self->preview)
        s_on_preview (self, answer);
    else
        s_on_message (self, answer);
    json_decref (self->given);
    free (self);
}

//  The same number for the same run, and never 0

static json_int_t
s_number (const char *run_id)
{
    uint32_t hash;
    unsigned char bytes[crypto_generichash_BYTES_MIN];
    crypto_generichash (
        bytes, sizeof bytes, (const unsigned char *) run_id, strlen (run_id), NULL, 0);
    memcpy (&hash, bytes, sizeof hash);
    return (json_int_t) (hash & 0x7FFFFFFF) + 1;
}

static void
s_put_place (telegram_t *telegram, const argos_draft_t *given, json_t *params)
{
    if (*given->thread_id && strcmp (given->thread_id, "1") != 0)
        json_object_set_new (
            params, "message_thread_id", json_integer (strtoll (given->thread_id, NULL, 10)));
    json_object_set_new (params, "chat_id", tg_chat (telegram, given->chat_id));
}

//  Which call shows it; params has the text

static const char *
s_method (s_draft_t *self, const argos_draft_t *given, json_t *params)
{
    telegram_t *telegram = self->telegram;
    if (self->preview) {
        s_put_place (telegram, given, params);
        json_object_set_new (params, "draft_id", json_integer (s_number (given->run_id)));
        return "sendMessageDraft";
    }
    if (!given->last)
        json_object_set_new (params, "text", json_sprintf ("%s" CURSOR, s_member (params, "text")));
    if (*self->id) {
        json_object_set_new (params, "chat_id", tg_chat (telegram, given->chat_id));
        json_object_set_new (params, "message_id", json_integer (strtoll (self->id, NULL, 10)));
        return "editMessageText";
    }
    s_put_place (telegram, given, params);
    tg_put_reply (telegram, given->chat_id, given->thread_id, given->reply_to, 0, params);
    return "sendMessage";
}

void
tg_draft (void *arg, const argos_draft_t *given)
{
    telegram_t *telegram = arg;
    bool group = *given->chat_id == '-', preview = !group && !*given->id && !telegram->no_previews;
    if (given->unclear && !preview) {
        argos_adapter_drafted (telegram->adapter, given->handle, NULL, 0);
        return;
    }
    s_draft_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (s_draft_t){
        .telegram = telegram, .handle = given->handle, .group = group, .preview = preview
    };
    snprintf (self->id, sizeof self->id, "%s", given->id);
    if (preview)
        self->given = json_pack ("{s:s,s:s,s:s,s:s,s:s,s:b}", "chat", given->chat_id, "thread",
            given->thread_id, "reply", given->reply_to, "run", given->run_id, "text", given->text,
            "unclear", given->unclear);
    json_t *pieces = tg_pieces (given->text, DRAFT_UNITS), *params = json_object ();
    json_object_update (params, json_array_get (pieces, 0));
    json_decref (pieces);
    const char *method = s_method (self, given, params);
    if (!tg_api (telegram, method, params, !preview, 0, s_on_draft, self)) {
        argos_adapter_drafted (telegram->adapter, self->handle, NULL, 0);
        json_decref (self->given);
        free (self);
    }
}
