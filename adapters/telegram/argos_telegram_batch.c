//  argos_telegram_batch - some updates, from what they say to the commit that stores them.
//
//  They are read and joined, their files are fetched one after the other, and all of it is stored
//  together with the cursor. Invariant: the cursor is behind the last update of the batch, and
//  stored in the commit with the messages; a file that can't be had becomes a sentence in its
//  message, so that nothing holds up the rest. Limits: 50 updates, 20 MB a file, three tries of
//  each.

#include "argos_telegram_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define FILE_MAX 20971520LL //  Bytes that the cloud gives
#define TRIES_MAX 3         //  Of a file
#define AGAIN_MS 1000       //  Between them, times the try

typedef void (done_fn) (void *arg, int64_t last, bool held);

struct tg_batch {
    telegram_t *telegram;                //  Whose
    done_fn *fn;                         //  Told
    void *arg;                           //  Its argument
    json_t *updates;                     //  What the entries borrow from
    argos_tg_in_t entries[TG_BATCH_MAX]; //  Read
    size_t count;                        //  How many
    int64_t last;                        //  Number of the last update
    size_t entry, file;                  //  Which file is being fetched
    int tries;                           //  Of it
    int fd;                              //  Where it goes, -1 = nowhere
    argos_adapter_timer_t timer;         //  The next try
    tg_batch_t *prev, *next;             //  In the list
};

static void s_next_file (void *arg);

static void
s_free (tg_batch_t *self)
{
    DL_DELETE (self->telegram->batches, self);
    argos_adapter_timer (self->telegram->adapter, &self->timer, -1);
    for (size_t i = 0; i < self->count; i++)
        argos_tg_in_clear (&self->entries[i]);
    if (self->fd >= 0)
        close (self->fd);
    json_decref (self->updates);
    free (self);
}

void
tg_batches_free (telegram_t *self)
{
    while (self->batches)
        s_free (self->batches);
}

//  ------------------------------------------------------------------------------------------------
//  Stored

static void
s_on_ignored (void *arg, const tg_answer_t *answer)
{
    (void) arg;
    (void) answer;
}

//  The one who pressed a button sees that it was heard; buttons that were used go away.

static void
s_answer_button (telegram_t *self, const argos_tg_in_t *in)
{
    tg_api (self, "answerCallbackQuery", json_pack ("{s:s}", "callback_query_id", in->query), false,
        0, s_on_ignored, self);
    if (in->chat && in->message)
        tg_api (self, "editMessageReplyMarkup",
            json_pack ("{s:I,s:I}", "chat_id", (json_int_t) in->chat, "message_id",
                (json_int_t) in->message_id),
            false, 0, s_on_ignored, self);
}

static void
s_on_stored (void *arg)
{
    tg_batch_t *self = arg;
    telegram_t *telegram = self->telegram;
    for (size_t i = 0; i < self->count; i++) {
        const argos_tg_in_t *in = &self->entries[i];
        if (in->kind == ARGOS_TG_BUTTON)
            s_answer_button (telegram, in);
        else if (in->kind == ARGOS_TG_MIGRATION)
            tg_migrated (telegram, in->old_chat, in->new_chat);
    }
    done_fn *fn = self->fn;
    void *whose = self->arg;
    int64_t last = self->last;
    s_free (self);
    fn (whose, last, false);
}

static void
s_store (tg_batch_t *self)
{
    telegram_t *telegram = self->telegram;
    json_t *messages = json_array ();
    char cursor[64];
    for (size_t i = 0; i < self->count; i++)
        if (self->entries[i].message)
            json_array_append (messages, self->entries[i].message);
    snprintf (cursor, sizeof cursor, "offset/%" PRId64, telegram->id);
    json_t *value = json_pack (
        "{s:I,s:I}", "offset", (json_int_t) self->last + 1, "at", (json_int_t) argos_shell_wall ());
    argos_adapter_store (
        telegram->adapter, messages, self->last ? cursor : NULL, value, s_on_stored, self);
}

//  ------------------------------------------------------------------------------------------------
//  Files

static json_t *
s_file (const tg_batch_t *self)
{
    return json_array_get (self->entries[self->entry].files, self->file);
}

static const char *
s_member (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

//  The next file, or the same once more.

static void
s_later (tg_batch_t *self, int64_t wait_ms)
{
    self->timer.fn = s_next_file;
    argos_adapter_timer (self->telegram->adapter, &self->timer, argos_shell_now () + wait_ms);
}

//  The message says what it came without.

static void
s_without (tg_batch_t *self, const char *why)
{
    json_t *body = json_object_get (self->entries[self->entry].message, "body");
    const char *text = s_member (body, "text");
    argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->telegram->adapter), "file not fetched",
        "reason=\"%s\"", why);
    json_object_set_new (body, "text",
        json_sprintf ("%s%s[The file %.200s could not be fetched: %s]", text, *text ? "\n" : "",
            s_member (s_file (self), "name"), why));
    self->file++;
    self->tries = 0;
    s_later (self, 0);
}

static void
s_try_again (tg_batch_t *self, const char *why)
{
    if (++self->tries >= TRIES_MAX) {
        s_without (self, why);
        return;
    }
    s_later (self, (int64_t) AGAIN_MS * self->tries);
}

static void
s_on_put (void *arg, const char *problem, const char *blob, int fd, int64_t size)
{
    tg_batch_t *self = arg;
    (void) fd;
    json_t *body = json_object_get (self->entries[self->entry].message, "body");
    json_t *list = json_object_get (body, "attachments");
    const json_t *file = s_file (self);
    if (*problem) {
        s_try_again (self, problem);
        return;
    }
    if (!list)
        json_object_set_new (body, "attachments", list = json_array ());
    json_t *entry = json_pack ("{s:s,s:s,s:o,s:I}", "blob", blob, "kind", s_member (file, "kind"),
        "name", json_sprintf ("%.250s", s_member (file, "name")), "size", (json_int_t) size);
    if (*s_member (file, "media_type"))
        json_object_set (entry, "media_type", json_object_get (file, "media_type"));
    json_array_append_new (list, entry);
    self->file++;
    self->tries = 0;
    s_next_file (self);
}

static void
s_on_downloaded (void *arg, const argos_http_answer_t *answer)
{
    tg_batch_t *self = arg;
    const json_t *file = s_file (self);
    if (answer->too_big)
        s_without (self, "it is too large");
    else if (answer->phase == ARGOS_HTTP_ANSWERED && answer->status == 200)
        argos_adapter_put (self->telegram->adapter, self->fd, s_member (file, "name"),
            s_member (file, "media_type"), s_on_put, self);
    else
        s_try_again (self, *answer->error ? answer->error : "the platform does not give it");
}

static void
s_on_path (void *arg, const tg_answer_t *answer)
{
    tg_batch_t *self = arg;
    const char *path = s_member (answer->result, "file_path");
    bool answered = answer->http->phase == ARGOS_HTTP_ANSWERED;
    if (self->telegram->closing)
        return;
    if (answer->ok && *path && *path != '/' && !strstr (path, "..")) {
        if (self->fd >= 0)
            close (self->fd);
        self->fd = argos_media_temporary ();
        if (self->fd < 0 ||
            !tg_download (self->telegram, path, self->fd, FILE_MAX, s_on_downloaded, self))
            s_try_again (self, "there is no place for it");
    }
    else if (answered && (answer->ok || answer->error == ARGOS_TG_REFUSED))
        s_without (self, answer->ok ? "the platform names no path" : answer->why);
    else
        s_try_again (self, answer->why);
}

static void
s_next_file (void *arg)
{
    tg_batch_t *self = arg;
    while (self->entry < self->count &&
           self->file >= json_array_size (self->entries[self->entry].files)) {
        self->entry++;
        self->file = 0;
    }
    if (self->entry >= self->count) {
        s_store (self);
        return;
    }
    const json_t *file = s_file (self);
    if (json_integer_value (json_object_get (file, "size")) > FILE_MAX)
        s_without (self, "it is larger than 20 MB");
    else if (!tg_api (self->telegram, "getFile",
                 json_pack ("{s:s}", "file_id", s_member (file, "file_id")), false, 0, s_on_path,
                 self))
        s_try_again (self, "too many calls");
}

//  ------------------------------------------------------------------------------------------------
//  Reading

static void
s_read (tg_batch_t *self, const json_t *update)
{
    telegram_t *telegram = self->telegram;
    argos_tg_in_t in;
    argos_tg_who_t who = { .account = argos_adapter_account (telegram->adapter),
        .id = telegram->id,
        .username = telegram->username,
        .topics = telegram->topics,
        .settings = argos_adapter_settings (telegram->adapter),
        .aliases = telegram->aliases };
    argos_tg_read (update, &who, &in);
    int64_t number = json_integer_value (json_object_get (update, "update_id"));
    self->last = number > self->last ? number : self->last;
    if (in.kind == ARGOS_TG_NOTHING) {
        argos_log (ARGOS_LOG_DEBUG, argos_adapter_name (telegram->adapter), "update left out",
            "reason=%s", in.why ? in.why : "");
        return;
    }
    for (size_t i = self->count; i > 0; i--)
        if (argos_tg_join (&self->entries[i - 1], &in))
            return;
    self->entries[self->count++] = in;
}

//  Parts of albums that nobody was addressed by

static void
s_drop_loose (tg_batch_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->entries[i].loose)
            argos_tg_in_clear (&self->entries[i]);
}

void
tg_batch (telegram_t *telegram, const json_t *updates, bool final, done_fn *fn, void *arg)
{
    tg_batch_t *self = calloc (1, sizeof *self);
    size_t i;
    json_t *update;
    bool open = false;
    if (!self)
        abort ();
    self->telegram = telegram;
    self->fn = fn;
    self->arg = arg;
    self->fd = -1;
    self->timer.arg = self;
    self->updates = json_deep_copy (updates);
    DL_APPEND (telegram->batches, self);
    json_array_foreach (self->updates, i, update)
        if (self->count < TG_BATCH_MAX)
            s_read (self, update);
    for (i = 0; i < self->count; i++)
        open |= argos_tg_open (&self->entries[i]);
    if (open && !final) {
        s_free (self);
        fn (arg, 0, true);
        return;
    }
    s_drop_loose (self);
    s_next_file (self);
}
