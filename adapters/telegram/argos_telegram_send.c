//  argos_telegram_send - makes the calls of a plan, and says what their ends mean.
//
//  Invariant: each call of argos_platform_t is answered exactly once. What Telegram refuses for a
//  reason that can be helped (a topic, a reply, marks, a length, an id) becomes another call for
//  the same message; nothing is tried the same way twice but a topic that was not found, once.
//  Limits: those of the plan.

#include "argos_telegram_priv.h"

#include "argos_tg_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_TEXT "\u267B\uFE0F (this may be a repetition) " //  Before what was perhaps sent
#define THREAD_MS 300                                         //  Before a topic is tried again
#define PARTS_MAX 16                                          //  Files of a call

//  A call under way

typedef struct {
    telegram_t *telegram;       //  Whose
    argos_delivery_t *delivery; //  What for
    json_t *call;               //  Of the plan
    bool again;                 //  It was marked
} send_t;

static const char *
s_member (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

//  ------------------------------------------------------------------------------------------------
//  What was sent

json_t *
tg_ids (const json_t *result)
{
    json_t *ids = json_array ();
    const json_t *message;
    size_t i;
    if (json_is_object (result))
        json_array_append_new (
            ids, json_sprintf ("%" PRId64,
                     (int64_t) json_integer_value (json_object_get (result, "message_id"))));
    json_array_foreach (result, i, message)
        json_array_append_new (
            ids, json_sprintf ("%" PRId64,
                     (int64_t) json_integer_value (json_object_get (message, "message_id"))));
    return ids;
}

//  A topic of a private chat that is gone swallows what is sent to it without a word: the answer
//  names another topic, or none.

static bool
s_is_lost (const send_t *self, const json_t *result)
{
    json_int_t wanted = json_integer_value (
        json_object_get (json_object_get (self->call, "params"), "message_thread_id"));
    const json_t *chat = json_object_get (result, "chat");
    return wanted && json_is_object (result) && strcmp (s_member (chat, "type"), "private") == 0 &&
           json_integer_value (json_object_get (result, "message_thread_id")) != wanted;
}

static void
s_sent (send_t *self, const json_t *result)
{
    const char *method = s_member (self->call, "method");
    bool makes = strncmp (method, "send", 4) == 0;
    bool edits = strcmp (method, "editMessageText") == 0;
    if (makes && s_is_lost (self, result))
        argos_delivery_refused (self->delivery, "the topic is gone");
    else if (makes)
        argos_delivery_sent (self->delivery, tg_ids (result));
    else if (edits)
        argos_delivery_sent (self->delivery,
            json_sprintf ("%" PRId64, (int64_t) json_integer_value (json_object_get (
                                          json_object_get (self->call, "params"), "message_id"))));
    else
        argos_delivery_sent (self->delivery, json_array ());
}

//  ------------------------------------------------------------------------------------------------
//  What is done about a refusal

//  The same call once more, changed: without a parameter.

static void
s_without (send_t *self, const char *name)
{
    json_t *call = json_deep_copy (self->call);
    json_object_del (json_object_get (call, "params"), name);
    argos_delivery_replace (self->delivery, json_pack ("[o]", call));
}

//  The message that was to be edited is not there: a new one.

static void
s_anew (send_t *self)
{
    const argos_delivery_t *delivery = self->delivery;
    json_t *call = json_deep_copy (self->call), *params = json_object_get (call, "params");
    json_object_del (params, "message_id");
    json_object_set_new (call, "method", json_string ("sendMessage"));
    json_object_set_new (call, "once", json_true ());
    if (*delivery->thread_id && strcmp (delivery->thread_id, "1") != 0)
        json_object_set_new (
            params, "message_thread_id", json_integer (strtoll (delivery->thread_id, NULL, 10)));
    argos_delivery_replace (self->delivery, json_pack ("[o]", call));
}

static void
s_shorter (send_t *self)
{
    const json_t *params = json_object_get (self->call, "params");
    const char *text = s_member (params, "text");
    json_t *pieces = tg_cut (text, tg_half (text)), *piece, *calls = json_array ();
    size_t i;
    if (json_array_size (pieces) < 2) {
        json_decref (pieces);
        json_decref (calls);
        argos_delivery_refused (self->delivery, "Telegram takes no text of that length");
        return;
    }
    json_array_foreach (pieces, i, piece) {
        json_t *call = json_deep_copy (self->call), *own = json_object_get (call, "params");
        json_object_del (own, "entities");
        json_object_update (own, piece);
        if (i > 0) {
            json_object_set_new (call, "method", json_string ("sendMessage"));
            json_object_set_new (call, "once", json_true ());
            json_object_del (own, "message_id");
        }
        json_array_append_new (calls, call);
    }
    json_decref (pieces);
    argos_delivery_replace (self->delivery, calls);
}

//  Once more to the same topic; then a group gets it outside of it, with a word, and a private chat
//  does not: it would be in another conversation.

static void
s_no_thread (send_t *self)
{
    json_t *call = json_deep_copy (self->call), *params = json_object_get (call, "params");
    if (!json_object_get (call, "tried")) {
        json_object_set_new (call, "tried", json_true ());
        argos_rate_hold (argos_adapter_rate (self->telegram->adapter), s_member (call, "bucket"),
            argos_shell_now () + THREAD_MS);
        argos_delivery_replace (self->delivery, json_pack ("[o]", call));
        return;
    }
    const char *text = s_member (params, "text");
    if (self->delivery->chat_id[0] != '-' || !*text) {
        json_decref (call);
        argos_delivery_refused (self->delivery, "the topic is gone");
        return;
    }
    json_object_del (params, "message_thread_id");
    json_object_del (params, "entities");
    json_object_set_new (params, "text",
        json_sprintf ("(for topic %s, which is gone)\n%.*s", self->delivery->thread_id,
            (int) argos_tg_offset (text, 4000), text));
    argos_delivery_replace (self->delivery, json_pack ("[o]", call));
}

static void
s_as (send_t *self, const char *method, const char *field)
{
    json_t *call = json_deep_copy (self->call);
    const char *now = s_member (call, "method");
    if (strcmp (now, method) == 0 || strcmp (now, "sendMediaGroup") == 0) {
        json_decref (call);
        argos_delivery_refused (self->delivery, "Telegram does not take the file");
        return;
    }
    json_object_set_new (call, "method", json_string (method));
    json_object_set_new (call, "field", json_string (field));
    argos_delivery_replace (self->delivery, json_pack ("[o]", call));
}

static void
s_migrate (send_t *self, const tg_answer_t *answer)
{
    int64_t old_chat = strtoll (self->delivery->chat_id, NULL, 10);
    tg_migrated (self->telegram, old_chat, answer->migrated);
    if (json_object_get (self->call, "migrated") || !answer->migrated) {
        argos_delivery_refused (self->delivery, answer->why);
        return;
    }
    json_t *call = json_deep_copy (self->call);
    json_object_set_new (call, "migrated", json_true ());
    argos_delivery_replace (self->delivery, json_pack ("[o]", call));
}

//  Nobody there takes anything from us: the ledger of deliveries knows it by its first word

static void
s_dead (send_t *self, const tg_answer_t *answer)
{
    char error[512];
    const char *why = answer->why ? answer->why : "";
    bool absent = strcasestr (why, "not found") || strcasestr (why, "peer_id_invalid");
    snprintf (error, sizeof error, "%s: %.480s", absent ? "not_found" : "forbidden", why);
    argos_delivery_refused (self->delivery, error);
}

static void
s_help (send_t *self, const tg_answer_t *answer)
{
    const char *method = s_member (self->call, "method");
    switch (answer->error) {
    case ARGOS_TG_WAIT:
        argos_delivery_later (self->delivery, answer->wait_ms);
        break;
    case ARGOS_TG_FATAL:
        argos_adapter_problem (self->telegram->adapter, "Telegram refuses the token");
        argos_delivery_unsent (self->delivery, answer->why);
        tg_begin (self->telegram);
        break;
    case ARGOS_TG_SAME:
    case ARGOS_TG_IGNORE:
        s_sent (self, NULL);
        break;
    case ARGOS_TG_EMPTY:
        argos_delivery_sent (self->delivery, json_array ());
        break;
    case ARGOS_TG_GONE:
        if (strcmp (method, "editMessageText") == 0 && *self->delivery->draft_id)
            s_anew (self);
        else
            argos_delivery_refused (self->delivery, answer->why);
        break;
    case ARGOS_TG_NO_REPLY:
        s_without (self, "reply_parameters");
        break;
    case ARGOS_TG_NO_ENTITIES:
        s_without (self, json_object_get (json_object_get (self->call, "params"), "entities")
                             ? "entities"
                             : "caption_entities");
        break;
    case ARGOS_TG_NO_THREAD:
        s_no_thread (self);
        break;
    case ARGOS_TG_TOO_LONG:
        s_shorter (self);
        break;
    case ARGOS_TG_MIGRATED:
        s_migrate (self, answer);
        break;
    case ARGOS_TG_FILE:
        s_as (self, "sendDocument", "document");
        break;
    case ARGOS_TG_VOICE:
        s_as (self, "sendAudio", "audio");
        break;
    case ARGOS_TG_DEAD:
        s_dead (self, answer);
        break;
    default:
        argos_delivery_refused (self->delivery, answer->why);
    }
}

static void
s_on_answer (void *arg, const tg_answer_t *answer)
{
    send_t *self = arg;
    bool answered = answer->http->phase == ARGOS_HTTP_ANSWERED;
    if (answer->ok)
        s_sent (self, answer->result);
    else if (answered && answer->error == ARGOS_TG_BROKEN && answer->http->status / 100 != 5)
        argos_delivery_unknown (self->delivery, answer->why);
    else if (!argos_delivery_http (self->delivery, answer->http))
        s_help (self, answer);
    json_decref (self->call);
    free (self);
}

//  ------------------------------------------------------------------------------------------------
//  Making a call

//  What may be a repetition says so; the places of its marks move.

static void
s_mark (json_t *params)
{
    const char *name = json_object_get (params, "text") ? "text" : "caption";
    json_t *entities = json_object_get (params, *name == 't' ? "entities" : "caption_entities");
    const char *text = s_member (params, name);
    int64_t shift = argos_tg_units (AGAIN_TEXT);
    json_t *entity;
    size_t i;
    if (*name == 't' && argos_tg_units (text) + shift > 4096)
        return; //  No room: an empty mark is better than a cut text
    if (!json_object_get (params, name) && json_object_get (params, "media"))
        return;
    json_object_set_new (params, name, json_sprintf ("%s%s", AGAIN_TEXT, text));
    json_array_foreach (entities, i, entity)
        json_object_set_new (entity, "offset",
            json_integer (json_integer_value (json_object_get (entity, "offset")) + shift));
}

static bool
s_upload (send_t *self, const char *method, json_t *params)
{
    const json_t *numbers = json_object_get (self->call, "files"), *number;
    argos_http_part_t parts[PARTS_MAX];
    char names[PARTS_MAX][32];
    size_t count = 0, i;
    bool one = json_array_size (numbers) == 1;
    json_array_foreach (numbers, i, number) {
        size_t at = (size_t) json_integer_value (number);
        if (at >= self->delivery->file_count || count == PARTS_MAX)
            continue;
        const argos_adapter_file_t *file = &self->delivery->files[at];
        snprintf (names[count], sizeof names[count], "file%zu", at);
        parts[count] =
            (argos_http_part_t){ .name = one ? s_member (self->call, "field") : names[count],
                .fd = file->fd,
                .size = file->size,
                .file_name = file->name,
                .media_type = *file->type ? file->type : NULL };
        count++;
    }
    return tg_upload (self->telegram, method, params, parts, count, s_on_answer, self);
}

void
tg_deliver (void *arg, argos_delivery_t *delivery, json_t *call, bool again)
{
    telegram_t *telegram = arg;
    const char *method = s_member (call, "method");
    json_t *params = json_deep_copy (json_object_get (call, "params"));
    send_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (send_t){
        .telegram = telegram, .delivery = delivery, .call = json_incref (call), .again = again
    };
    json_object_set_new (params, "chat_id", tg_chat (telegram, delivery->chat_id));
    if (again)
        s_mark (params);
    bool once = json_is_true (json_object_get (call, "once"));
    bool begun = json_object_get (call, "files")
                     ? s_upload (self, method, params)
                     : tg_api (telegram, method, params, once, 0, s_on_answer, self);
    if (begun)
        return;
    json_decref (self->call);
    free (self);
    argos_delivery_unsent (delivery, "too many calls at a time");
}
