//  argos_discord_send - makes the calls of a plan, and says what their ends mean.
//
//  Invariant: each call is answered exactly once. What Discord refuses for a reason that can be
//  helped (a reply to what is gone, a message that can't be edited any more) becomes another call
//  for the same text; nothing is tried the same way twice.

#include "argos_discord_priv.h"

#include "argos_unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 10     //  Of a call
#define DRAFT_MAX 1990   //  Characters of a draft, its beginning
#define CURSOR " \u258C" //  Behind what is still being written
#define ANEW_INDEX 1000  //  In the nonce of what is sent instead of an edit

//  A call under way

typedef struct {
    discord_t *discord;         //  Whose
    argos_delivery_t *delivery; //  What for
    json_t *call;               //  Of the plan
} s_send_t;

//  The text of an edit as a new message: what it was to replace is gone, or too old
static json_t *
s_as_new (const s_send_t *self)
{
    const argos_delivery_t *delivery = self->delivery;
    const char *target = *delivery->thread_id ? delivery->thread_id : delivery->chat_id;
    json_t *params = json_deep_copy (json_object_get (self->call, "params"));
    json_object_set_new (params, "nonce", dc_nonce (delivery->id, ANEW_INDEX + delivery->index));
    json_object_set_new (params, "enforce_nonce", json_true ());
    return json_pack ("[{s:s,s:o,s:o,s:b,s:o}]", "method", "POST", "path",
        json_sprintf ("/channels/%s/messages", target), "params", params, "once", 1, "bucket",
        json_sprintf ("%s/send", target));
}

//  What came back for its nonce is the draft of this answer, whose id nobody knew: it gets the text
static json_t *
s_as_edit (const s_send_t *self, const char *id)
{
    const json_t *params = json_object_get (self->call, "params");
    return json_pack ("[{s:s,s:o,s:{s:O,s:O},s:b,s:O,s:s}]", "method", "PATCH", "path",
        json_sprintf ("%s/%s", dc_member (self->call, "path"), id), "params", "content",
        json_object_get (params, "content"), "allowed_mentions",
        json_object_get (params, "allowed_mentions"), "once", 0, "bucket",
        json_object_get (self->call, "bucket"), "id", id);
}

static bool
s_is_draft (const s_send_t *self, const json_t *message)
{
    const char *content = dc_member (message, "content");
    size_t size = strlen (content), cursor = strlen (CURSOR);
    return self->delivery->index == 0 && strcmp (dc_member (self->call, "method"), "POST") == 0 &&
           size >= cursor && strcmp (content + size - cursor, CURSOR) == 0 &&
           strcmp (content, dc_member (json_object_get (self->call, "params"), "content")) != 0;
}

//  The same message without what it answers
static json_t *
s_without_reference (const s_send_t *self)
{
    json_t *call = json_deep_copy (self->call);
    json_object_del (json_object_get (call, "params"), "message_reference");
    return json_pack ("[o]", call);
}

//  What the ledger of deliveries knows a chat by that takes nothing any more

static const char *
s_word (int code)
{
    static const struct {
        int code;         //  Of Discord
        const char *word; //  In front of its sentence
    } words[] = { { 10003, "not_found: " }, { 10013, "not_found: " }, { 50001, "forbidden: " },
        { 50007, "forbidden: " }, { 50013, "forbidden: " } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].code == code)
            return words[i].word;
    return "";
}

static void
s_refused (s_send_t *self, const dc_answer_t *answer)
{
    const char *method = dc_member (self->call, "method");
    json_t *params = json_object_get (self->call, "params");
    bool edit = strcmp (method, "PATCH") == 0;
    char error[300];
    snprintf (
        error, sizeof error, "%s%.250s (%d)", s_word (answer->code), answer->why, answer->code);
    //  Not there any more: as it should be
    //  10014: there is no such reaction
    if ((answer->code == 10008 || answer->code == 10014) && strcmp (method, "DELETE") == 0)
        argos_delivery_sent (self->delivery, NULL);
    else if (edit && (answer->code == 10008 || answer->code == 30046))
        argos_delivery_replace (self->delivery, s_as_new (self));
    else if ((answer->code == 50035 || answer->code == 10008 || answer->code == 160002) &&
             json_object_get (params, "message_reference"))
        argos_delivery_replace (self->delivery, s_without_reference (self));
    else if (answer->http->status == 401) {
        argos_adapter_problem (self->discord->adapter, argos_dc_gateway_help (4004));
        argos_delivery_unsent (self->delivery, error);
    }
    else
        argos_delivery_refused (self->delivery, error);
}

static void
s_on_answer (void *arg, const dc_answer_t *answer)
{
    s_send_t *self = arg;
    const argos_http_answer_t *http = answer->http;
    const char *id = dc_member (answer->body, "id");
    if (answer->ok) {
        bool message = strcmp (dc_member (self->call, "method"), "DELETE") != 0 && *id;
        if (message && *self->delivery->thread_id)
            dc_join_thread (self->discord, self->delivery->thread_id);
        if (s_is_draft (self, answer->body))
            argos_delivery_replace (self->delivery, s_as_edit (self, id));
        else
            argos_delivery_sent (self->delivery, message ? json_string (id) : NULL);
    }
    else if (answer->wait_ms > 0)
        argos_delivery_later (self->delivery, answer->wait_ms);
    else if (http->phase == ARGOS_HTTP_ANSWERED && http->status / 100 == 2)
        argos_delivery_unknown (self->delivery, answer->why);
    else if (!argos_delivery_http (self->delivery, http))
        s_refused (self, answer);
    json_decref (self->call);
    free (self);
}

static bool
s_upload (s_send_t *self, json_t *params)
{
    argos_http_part_t parts[FILES_MAX];
    char names[FILES_MAX][16];
    const json_t *number;
    size_t count = 0, at;
    json_array_foreach (json_object_get (self->call, "files"), at, number) {
        size_t index = (size_t) json_integer_value (number);
        if (index >= self->delivery->file_count || count == FILES_MAX)
            continue;
        const argos_adapter_file_t *file = &self->delivery->files[index];
        snprintf (names[count], sizeof names[count], "files[%zu]", count);
        parts[count] = (argos_http_part_t){ .name = names[count],
            .fd = file->fd,
            .size = file->size,
            .file_name = file->name,
            .media_type = *file->type ? file->type : NULL };
        count++;
    }
    return dc_upload (self->discord, dc_member (self->call, "path"), params, parts, count,
        dc_member (self->call, "bucket"), s_on_answer, self);
}

void
dc_deliver (void *arg, argos_delivery_t *delivery, json_t *call, bool again)
{
    discord_t *discord = arg;
    (void) again; //  Its nonce makes it one message
    int64_t now = argos_shell_now ();
    if (discord->global_ms > now) {
        argos_delivery_later (delivery, discord->global_ms - now);
        return;
    }
    s_send_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (s_send_t){ .discord = discord, .delivery = delivery, .call = json_incref (call) };
    json_t *params = json_incref (json_object_get (call, "params"));
    bool begun = json_object_get (call, "files")
                     ? s_upload (self, params)
                     : dc_api (discord, dc_member (call, "method"), dc_member (call, "path"),
                           params, dc_member (call, "bucket"), s_on_answer, self);
    if (begun)
        return;
    json_decref (self->call);
    free (self);
    argos_delivery_unsent (delivery, "too many calls at a time");
}

//  ------------------------------------------------------------------------------------------------
//  Drafts

typedef struct {
    discord_t *discord; //  Whose
    void *handle;       //  Of the draft
    char id[24];        //  Of its message, "" = a new one
} s_draft_t;

static void
s_on_draft (void *arg, const dc_answer_t *answer)
{
    s_draft_t *self = arg;
    argos_adapter_t *adapter = self->discord->adapter;
    const char *id = answer->ok ? dc_member (answer->body, "id") : self->id;
    bool good = *id && (answer->ok || answer->wait_ms > 0);
    if (!good && argos_http_unclear (answer->http))
        argos_adapter_draft_lost (adapter, self->handle);
    else
        argos_adapter_drafted (adapter, self->handle, good ? id : NULL, answer->wait_ms);
    free (self);
}

void
dc_draft (void *arg, const argos_draft_t *given)
{
    discord_t *discord = arg;
    char path[128];
    const char *target = *given->thread_id ? given->thread_id : given->chat_id;
    s_draft_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (s_draft_t){ .discord = discord, .handle = given->handle };
    snprintf (self->id, sizeof self->id, "%s", given->id);
    size_t size =
        argos_unit_fit (ARGOS_UNIT_CHARACTERS, given->text, strlen (given->text), DRAFT_MAX);
    snprintf (
        path, sizeof path, "/channels/%.24s/messages%s%s", target, *self->id ? "/" : "", self->id);
    json_t *params = json_pack ("{s:o,s:{s:[],s:b}}", "content",
        json_sprintf ("%.*s%s", (int) size, given->text, given->last ? "" : CURSOR),
        "allowed_mentions", "parse", "replied_user", 0);
    //  The nonce of the answer: one that was perhaps sent is found, by the next draft or by it
    if (!*self->id) {
        json_object_set_new (params, "nonce", dc_nonce (given->answer_id, 0));
        json_object_set_new (params, "enforce_nonce", json_true ());
        dc_put_reply (discord, given->thread_id, given->reply_to, 0, params);
    }
    if (!dc_api (discord, *self->id ? "PATCH" : "POST", path, params, NULL, s_on_draft, self)) {
        argos_adapter_drafted (discord->adapter, self->handle, NULL, 0);
        free (self);
    }
}
