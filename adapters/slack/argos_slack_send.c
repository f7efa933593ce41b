//  argos_slack_send - makes the calls of a plan, and says what their ends mean.
//
//  Invariant: each call is answered exactly once. internal_error and its like are no refusals: the
//  message may be there, so it is looked for. What can't be edited any more is sent anew; a thread
//  that is gone is a refusal, since elsewhere others would read it. Limits: the newest 100 messages
//  are looked through.

#include "argos_slack_priv.h"

#include "argos_unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAFT_MAX 3800       //  Characters of a draft, its beginning
#define DRAFT_INDEX SIZE_MAX //  In the mark of a draft: no call of a plan has it

//  A call under way

typedef struct {
    slack_t *slack;             //  Whose
    argos_delivery_t *delivery; //  What for
    json_t *call;               //  Of the plan, NULL = its draft is looked for
    char file[64];              //  Of an upload: its id
} s_send_t;

static bool
s_is (const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp (*words, word) == 0)
            return true;
    return false;
}

static void
s_free (s_send_t *self)
{
    json_decref (self->call);
    free (self);
}

//  The text of an edit as a new message
static json_t *
s_as_new (const s_send_t *self)
{
    const argos_delivery_t *delivery = self->delivery;
    char mark[33];
    sl_mark (delivery->id, delivery->index, mark);
    json_t *params = json_deep_copy (json_object_get (self->call, "params"));
    json_object_del (params, "ts");
    json_object_set_new (params, "metadata",
        json_pack ("{s:s,s:{s:s}}", "event_type", SL_EVENT, "event_payload", "mark", mark));
    if (*delivery->thread_id)
        json_object_set_new (params, "thread_ts", json_string (delivery->thread_id));
    return json_pack ("[{s:s,s:o,s:b,s:o}]", "method", "chat.postMessage", "params", params, "once",
        1, "bucket", json_sprintf ("%s/chat.postMessage", delivery->chat_id));
}

//  What the ledger of deliveries knows a chat by that takes nothing any more

static const char *
s_word (const char *error)
{
    static const char *const words[][2] = { { "channel_not_found", "not_found: " },
        { "user_not_found", "not_found: " }, { "is_archived", "forbidden: " },
        { "not_in_channel", "forbidden: " }, { "restricted_action", "forbidden: " },
        { "restricted_action_read_only_channel", "forbidden: " },
        { "messages_tab_disabled", "forbidden: " }, { "user_disabled", "forbidden: " } };
    for (size_t at = 0; at < sizeof words / sizeof *words; at++)
        if (strcmp (words[at][0], error) == 0)
            return words[at][1];
    return "";
}

static void
s_refused (s_send_t *self, const sl_answer_t *answer)
{
    char error[300];
    static const char *const done[] = { "already_reacted", "no_reaction", "message_not_found",
        NULL };
    static const char *const stale[] = { "message_not_found", "cant_update_message",
        "edit_window_closed", NULL };
    static const char *const unclear[] = { "internal_error", "fatal_error", "service_unavailable",
        "request_timeout", NULL };
    const char *method = sl_member (self->call, "method"), *help = sl_help (answer->error);
    bool update = strcmp (method, "chat.update") == 0;
    if (s_is (answer->error, unclear))
        argos_delivery_unknown (self->delivery, answer->error);
    else if (update && s_is (answer->error, stale))
        argos_delivery_replace (self->delivery, s_as_new (self));
    else if (!update && strcmp (method, "chat.postMessage") != 0 && s_is (answer->error, done))
        argos_delivery_sent (self->delivery, NULL);
    else if (help && strcmp (answer->error, "missing_scope") != 0) {
        argos_adapter_problem (self->slack->adapter, help);
        argos_delivery_unsent (self->delivery, answer->error);
    }
    else {
        snprintf (error, sizeof error, "%s%.250s", s_word (answer->error), answer->error);
        argos_delivery_refused (self->delivery, error);
    }
}

//  What is no plain success
static void
s_not_sent (s_send_t *self, const sl_answer_t *answer)
{
    const argos_http_answer_t *http = answer->http;
    if (answer->wait_ms > 0)
        argos_delivery_later (self->delivery, answer->wait_ms);
    else if (argos_delivery_http (self->delivery, http))
        return;
    else if (!answer->body)
        argos_delivery_unknown (self->delivery, answer->error);
    else
        s_refused (self, answer);
}

static void
s_on_answer (void *arg, const sl_answer_t *answer)
{
    s_send_t *self = arg;
    bool post = strcmp (sl_member (self->call, "method"), "chat.postMessage") == 0;
    bool update = strcmp (sl_member (self->call, "method"), "chat.update") == 0;
    const char *ts = sl_member (answer->body, "ts");
    if (answer->ok) {
        if (post)
            sl_join_thread (self->slack, self->delivery->chat_id, self->delivery->thread_id);
        argos_delivery_sent (self->delivery, (post || update) && *ts ? json_string (ts) : NULL);
    }
    else
        s_not_sent (self, answer);
    s_free (self);
}

//  ------------------------------------------------------------------------------------------------
//  Files

static void
s_on_uploaded (void *arg, const sl_answer_t *answer)
{
    s_send_t *self = arg;
    if (answer->ok)
        argos_delivery_sent (self->delivery, json_string (self->file));
    else if (!argos_delivery_http (self->delivery, answer->http))
        argos_delivery_unsent (self->delivery, answer->error);
    s_free (self);
}

static void
s_on_upload_url (void *arg, const sl_answer_t *answer)
{
    s_send_t *self = arg;
    const char *url = sl_member (answer->body, "upload_url");
    size_t at = (size_t) json_integer_value (json_object_get (self->call, "file"));
    snprintf (self->file, sizeof self->file, "%s", sl_member (answer->body, "file_id"));
    if (!answer->ok || !*url || !*self->file || at >= self->delivery->file_count) {
        s_not_sent (self, answer);
        s_free (self);
        return;
    }
    const argos_adapter_file_t *file = &self->delivery->files[at];
    argos_http_part_t part = { .name = "file",
        .fd = file->fd,
        .size = file->size,
        .file_name = file->name,
        .media_type = *file->type ? file->type : NULL };
    if (sl_upload (self->slack, url, &part, s_on_uploaded, self))
        return;
    argos_delivery_unsent (self->delivery, "too many calls at a time");
    s_free (self);
}

//  The ids of the files that the calls before have brought: those that are no time stamps
static json_t *
s_files (const argos_delivery_t *delivery)
{
    json_t *files = json_array ();
    const json_t *id;
    size_t at;
    json_array_foreach (delivery->ids, at, id)
        if (json_string_value (id)[0] == 'F')
            json_array_append_new (files, json_pack ("{s:O}", "id", id));
    return files;
}

void
sl_deliver (void *arg, argos_delivery_t *delivery, json_t *call, bool again)
{
    slack_t *slack = arg;
    (void) again; //  It was looked for
    s_send_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (s_send_t){ .slack = slack, .delivery = delivery, .call = json_incref (call) };
    const char *method = sl_member (call, "method");
    json_t *params = json_deep_copy (json_object_get (call, "params"));
    bool upload = json_object_get (call, "file") != NULL;
    if (strcmp (method, "files.completeUploadExternal") == 0)
        json_object_set_new (params, "files", s_files (delivery));
    if (sl_api (slack, method, params, upload, json_is_true (json_object_get (call, "once")),
            upload ? s_on_upload_url : s_on_answer, self))
        return;
    s_free (self);
    argos_delivery_unsent (delivery, "too many calls at a time");
}

//  ------------------------------------------------------------------------------------------------
//  Was it sent?

//  Whether this message is the one of the call: by its mark, or by a file in it
static bool
s_is_ours (const s_send_t *self, const json_t *message, const char *mark)
{
    const json_t *metadata = json_object_get (message, "metadata"), *file, *id;
    size_t at, place;
    if (strcmp (sl_member (json_object_get (metadata, "event_payload"), "mark"), mark) == 0)
        return true;
    if (strcmp (sl_member (self->call, "method"), "files.completeUploadExternal") != 0)
        return false;
    json_array_foreach (json_object_get (message, "files"), at, file)
        json_array_foreach (self->delivery->ids, place, id)
            if (strcmp (sl_member (file, "id"), json_string_value (id)) == 0)
                return true;
    return false;
}

static void
s_on_history (void *arg, const sl_answer_t *answer)
{
    s_send_t *self = arg;
    char mark[33];
    const json_t *message, *found = NULL;
    size_t at;
    sl_mark (self->delivery->id, self->call ? self->delivery->index : DRAFT_INDEX, mark);
    json_array_foreach (json_object_get (answer->body, "messages"), at, message)
        if (s_is_ours (self, message, mark))
            found = message;
    if (!self->call)
        argos_delivery_draft (self->delivery, found ? sl_member (found, "ts") : NULL);
    else if (found)
        argos_delivery_found (self->delivery, json_string (sl_member (found, "ts")));
    else if (answer->ok)
        argos_delivery_found (self->delivery, NULL);
    else
        argos_delivery_unknown (self->delivery, "it can't be seen whether it was sent");
    s_free (self);
}

static bool
s_find (slack_t *slack, argos_delivery_t *delivery, json_t *call)
{
    s_send_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (s_send_t){ .slack = slack, .delivery = delivery, .call = json_incref (call) };
    json_t *params = json_pack ("{s:s,s:i,s:s}", "channel", delivery->chat_id, "limit", 100,
        "include_all_metadata", "true");
    if (*delivery->thread_id)
        json_object_set_new (params, "ts", json_string (delivery->thread_id));
    if (sl_api (slack, *delivery->thread_id ? "conversations.replies" : "conversations.history",
            params, true, false, s_on_history, self))
        return true;
    s_free (self);
    return false;
}

void
sl_find (void *arg, argos_delivery_t *delivery, json_t *call)
{
    if (!s_find (arg, delivery, call))
        argos_delivery_unknown (delivery, "too many calls at a time");
}

void
sl_find_draft (void *arg, argos_delivery_t *delivery)
{
    if (!s_find (arg, delivery, NULL))
        argos_delivery_draft (delivery, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  Drafts

typedef struct {
    slack_t *slack; //  Whose
    void *handle;   //  Of the draft
    char id[64];    //  Of its message, "" = a new one
} s_draft_t;

static void
s_on_draft (void *arg, const sl_answer_t *answer)
{
    s_draft_t *self = arg;
    argos_adapter_t *adapter = self->slack->adapter;
    const char *id = answer->ok ? sl_member (answer->body, "ts") : self->id;
    bool good = *id && (answer->ok || answer->wait_ms > 0);
    if (!good && argos_http_unclear (answer->http))
        argos_adapter_draft_lost (adapter, self->handle);
    else
        argos_adapter_drafted (adapter, self->handle, good ? id : NULL, answer->wait_ms);
    free (self);
}

void
sl_draft (void *arg, const argos_draft_t *given)
{
    slack_t *slack = arg;
    //  One that is perhaps there is found with the answer; a second one would stay
    if (given->unclear) {
        argos_adapter_drafted (slack->adapter, given->handle, NULL, 0);
        return;
    }
    s_draft_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    *self = (s_draft_t){ .slack = slack, .handle = given->handle };
    snprintf (self->id, sizeof self->id, "%.60s", given->id);
    size_t size =
        argos_unit_fit (ARGOS_UNIT_CHARACTERS, given->text, strlen (given->text), DRAFT_MAX);
    //  As it is: marks would be half written
    json_t *params = json_pack ("{s:s,s:o,s:b}", "channel", given->chat_id, "text",
        json_sprintf ("%.*s%s", (int) size, given->text, given->last ? "" : " \u258C"), "mrkdwn",
        0);
    if (*self->id)
        json_object_set_new (params, "ts", json_string (self->id));
    else {
        char mark[33];
        sl_mark (given->answer_id, DRAFT_INDEX, mark);
        json_object_set_new (params, "metadata",
            json_pack ("{s:s,s:{s:s}}", "event_type", SL_EVENT, "event_payload", "mark", mark));
        if (*given->thread_id)
            json_object_set_new (params, "thread_ts", json_string (given->thread_id));
    }
    if (!sl_api (slack, *self->id ? "chat.update" : "chat.postMessage", params, false, true,
            s_on_draft, self)) {
        argos_adapter_drafted (slack->adapter, self->handle, NULL, 0);
        free (self);
    }
}
