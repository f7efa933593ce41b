//  argos_adapter_delivery - one delivery from its lease to its receipt.
//
//  What is known of it is read (record, draft), its files are fetched, the platform makes a plan,
//  and its calls are made one after the other (argos_adapter_call). Invariant: a delivery is freed
//  when its lease is over and no answer is outstanding (`pending`); without a lease it begins
//  nothing. Limits: 16 attachments, as the schema has it.

#include "argos_adapter_priv.h"

#include "argos_media.h"
#include "argos_setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define READ_TTL_MS 10000 //  Patience with the store
#define BUSY_MS 1000      //  Until something that can't be done now is tried again
#define REPORT_TEXT                                                                                \
    "\u26A0\uFE0F A message may be missing here: nobody knows whether it has arrived. "            \
    "`argos deliveries list unknown` shows it."

typedef struct argos_delivery_priv priv_t;

static void s_read (argos_delivery_t *self);
static void s_fetch (argos_delivery_t *self);

//  ------------------------------------------------------------------------------------------------
//  Memory

static void
s_free (argos_delivery_t *self)
{
    priv_t *x = self->x;
    DL_DELETE (self->adapter->deliveries, self);
    argos_due_set (&self->adapter->due, &x->timer.node, -1);
    for (size_t i = 0; i < self->file_count; i++)
        if (self->files[i].fd >= 0)
            close (self->files[i].fd);
    free (self->files);
    json_decref (x->body);
    json_decref (x->calls);
    json_decref (x->ids);
    free (x->id);
    free (x->draft_id);
    free (x);
    free (self);
}

void
argos_delivery_free_all (argos_adapter_t *adapter)
{
    while (adapter->deliveries)
        s_free (adapter->deliveries);
}

static void
s_may_free (argos_delivery_t *self)
{
    if (!self->x->lease && !self->x->pending && !self->adapter->closing)
        s_free (self);
}

void
argos_delivery_unref (argos_delivery_t *self)
{
    self->x->pending--;
    s_may_free (self);
}

void
argos_delivery_lost (argos_adapter_t *adapter, argos_lease_t *lease)
{
    argos_delivery_t *self = argos_lease_data (lease);
    argos_adapter_turn_t *turn, *next;
    if (!self || adapter->closing)
        return;
    self->x->lease = NULL;
    HASH_ITER (hh, adapter->turns, turn, next)
        if (turn->waiter == self)
            turn->waiter = NULL;
    argos_due_set (&adapter->due, &self->x->timer.node, -1);
    s_may_free (self);
}

void
argos_delivery_release (argos_delivery_t *self, int64_t delay_ms)
{
    if (self->x->lease)
        argos_lease_release (&self->x->lease, delay_ms, true, NULL);
    argos_due_set (&self->adapter->due, &self->x->timer.node, -1);
    s_may_free (self);
}

//  ------------------------------------------------------------------------------------------------
//  The end

static void s_done (void *arg);

static void
s_on_done (void *arg, const argos_peer_answer_t *answer)
{
    argos_delivery_t *self = arg;
    if (self->adapter->closing)
        return;
    if (answer->code == ARGOS_OK)
        self->x->lease = NULL;
    else if (answer->code != ARGOS_FENCED && answer->code != ARGOS_GONE && self->x->lease) {
        argos_log (ARGOS_LOG_WARN, self->adapter->name, "receipt refused", "id=\"%s\" code=%s",
            self->id, argos_err_name (answer->code));
        self->x->timer.fn = s_done;
        argos_adapter_timer (self->adapter, &self->x->timer, argos_shell_now () + BUSY_MS);
    }
    argos_delivery_unref (self);
}

static json_t *
s_gone (const argos_adapter_t *adapter, const char *what, const char *id)
{
    return json_pack ("{s:s,s:o}", "space", adapter->space, "key",
        json_sprintf ("%s/%s/%.300s", adapter->account, what, id));
}

const char *
argos_delivery_policy (const argos_delivery_t *self)
{
    const argos_adapter_t *adapter = self->adapter;
    const json_t *block = argos_setting_at (adapter->settings, "platforms");
    block = json_object_get (block, adapter->kind->name);
    //  Of the chat, of the account, of the platform: the first that says something decides
    const json_t *chat = json_object_get (json_object_get (block, "chats"), self->chat_id);
    const json_t *account = json_object_get (json_object_get (block, "accounts"), adapter->account);
    const json_t *wish = argos_setting (chat, NULL, NULL, "when_unknown");
    if (!wish)
        wish = argos_setting (account, NULL, NULL, "when_unknown");
    if (!wish)
        wish = argos_setting (block, NULL, NULL, "when_unknown");
    return wish ? json_string_value (wish) : "resend_marked";
}

//  Whether the chat is to hear that something may be missing. A report about a report, or about a
//  change of what is there, would help nobody.

static bool
s_reports (const argos_delivery_t *self)
{
    static const char *const says[] = { "send", "media", "prompt" };
    bool said = false;
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        said = said || strcmp (self->op, says[i]) == 0;
    return said && strcmp (self->x->state, "unknown") == 0 && !self->x->own &&
           strcmp (argos_delivery_policy (self), "report") == 0;
}

static json_t *
s_report (const argos_delivery_t *self)
{
    json_t *body = json_pack (
        "{s:s,s:s,s:s}", "kind", "notice", "text", REPORT_TEXT, "chat_id", self->chat_id);
    if (*self->thread_id)
        json_object_set_new (body, "thread_id", json_string (self->thread_id));
    return body;
}

static void
s_done (void *arg)
{
    argos_delivery_t *self = arg;
    priv_t *x = self->x;
    argos_peer_part_t parts[4];
    size_t count = 0;
    if (!x->lease)
        return;
    json_t *receipt = json_pack ("{s:s,s:s,s:s*}", "state", x->state, "op", self->op, "run_id",
        *self->run_id ? self->run_id : NULL);
    if (json_array_size (x->ids))
        json_object_set (receipt, "platform_ids", x->ids);
    if (*x->error)
        json_object_set_new (receipt, "error", json_string (x->error));
    parts[count++] = (argos_peer_part_t){
        .type = "receipt.put", .to = "store", .durable = true, .body = receipt
    };
    if (x->written)
        parts[count++] = (argos_peer_part_t){ .type = "record.put",
            .to = "store",
            .durable = true,
            .body = s_gone (self->adapter, "delivery", self->id) };
    if (x->draft_kept)
        parts[count++] = (argos_peer_part_t){ .type = "record.put",
            .to = "store",
            .durable = true,
            .body = s_gone (self->adapter, "draft", self->run_id) };
    char to[sizeof self->adapter->service + 16];
    snprintf (to, sizeof to, "service:%s", self->adapter->service);
    if (s_reports (self))
        parts[count++] = (argos_peer_part_t){ .type = "deliver.request",
            .to = to,
            .key = argos_lease_key (x->lease),
            .durable = true,
            .body = s_report (self) };
    x->pending++;
    argos_err_t code = argos_lease_done (x->lease, parts, count, NULL, 0, s_on_done, self);
    if (code != ARGOS_OK) {
        argos_peer_answer_t answer = { .code = code, .reason = "", .part = -1, .type = "" };
        s_on_done (self, &answer);
    }
}

void
argos_delivery_finish (argos_delivery_t *self, const char *state, const char *error)
{
    self->x->state = state;
    //  A receipt names 64 of them
    while (json_array_size (self->x->ids) > 64)
        json_array_remove (self->x->ids, json_array_size (self->x->ids) - 1);
    snprintf (self->x->error, sizeof self->x->error, "%s", error ? error : "");
    if (strcmp (state, "sent") != 0)
        argos_log (ARGOS_LOG_WARN, self->adapter->name, "not delivered",
            "id=\"%s\" state=%s reason=\"%s\"", self->id, state, self->x->error);
    s_done (self);
}

//  ------------------------------------------------------------------------------------------------
//  The plan

static void
s_plan (argos_delivery_t *self)
{
    char error[512] = "";
    priv_t *x = self->x;
    if (!x->lease)
        return;
    x->calls = self->adapter->kind->plan (self->adapter->platform, self, error, sizeof error);
    if (!x->calls)
        argos_delivery_finish (self, "refused", error);
    else
        argos_delivery_step (self);
}

//  ------------------------------------------------------------------------------------------------
//  Files

static void
s_on_file (void *arg, const char *problem, const char *blob, int fd, int64_t size)
{
    argos_delivery_t *self = arg;
    (void) blob;
    if (self->adapter->closing)
        return;
    argos_adapter_file_t *file = &self->files[self->x->files_done];
    if (!*problem) {
        file->fd = fd;
        file->size = size;
        self->x->files_done++;
        s_fetch (self);
    }
    else if (strstr (problem, "larger"))
        argos_delivery_finish (self, "refused", problem);
    else {
        argos_log (ARGOS_LOG_WARN, self->adapter->name, "file not fetched",
            "id=\"%s\" reason=\"%s\"", self->id, problem);
        if (self->x->attempt > 4) //  It may have been removed
            argos_delivery_finish (self, "refused", problem);
        else
            argos_delivery_release (self, BUSY_MS << self->x->attempt);
    }
    argos_delivery_unref (self);
}

static void
s_fetch (argos_delivery_t *self)
{
    const json_t *list = json_object_get (self->body, "attachments");
    size_t at = self->x->files_done;
    if (!self->x->lease)
        return;
    if (at == self->file_count) {
        s_plan (self);
        return;
    }
    self->x->pending++;
    argos_media_get (self->adapter->peer, argos_adapter_member (json_array_get (list, at), "blob"),
        self->adapter->kind->file_max, s_on_file, self);
}

static void
s_name_files (argos_delivery_t *self)
{
    const json_t *list = json_object_get (self->body, "attachments"), *item;
    size_t i;
    self->files = calloc (json_array_size (list) + 1, sizeof *self->files);
    if (!self->files)
        abort ();
    self->file_count = json_array_size (list);
    json_array_foreach (list, i, item) {
        const char *name = argos_adapter_member (item, "name");
        self->files[i] = (argos_adapter_file_t){ .fd = -1,
            .kind = argos_adapter_member (item, "kind"),
            .name = *name ? name : "file",
            .type = argos_adapter_member (item, "media_type") };
    }
}

//  ------------------------------------------------------------------------------------------------
//  What is known of it

void
argos_delivery_go (argos_delivery_t *self)
{
    s_read (self);
}

static void
s_take_draft (argos_delivery_t *self, const char *id, bool kept)
{
    self->x->draft_id = argos_adapter_copy (id);
    self->x->draft_kept = kept;
    self->draft_id = self->x->draft_id;
}

void
argos_delivery_draft (argos_delivery_t *self, const char *id)
{
    if (self->adapter->closing)
        return;
    if (id && *id)
        s_take_draft (self, id, false);
    s_fetch (self);
    argos_delivery_unref (self);
}

static void
s_on_draft (void *arg, const argos_peer_answer_t *answer)
{
    argos_delivery_t *self = arg;
    const argos_adapter_t *adapter = self->adapter;
    if (adapter->closing)
        return;
    const json_t *record = json_object_get (answer->body, "record");
    const char *id = argos_adapter_member (json_object_get (record, "value"), "id");
    bool known = answer->code == ARGOS_OK && *id;
    if (known)
        s_take_draft (self, id, true);
    if (known || !adapter->kind->find_draft || answer->code == ARGOS_NO_PEER)
        s_fetch (self);
    else {
        self->x->pending++;
        adapter->kind->find_draft (adapter->platform, self);
    }
    argos_delivery_unref (self);
}

static void
s_ask (argos_delivery_t *self, const char *what, const char *id, argos_peer_answer_fn *fn)
{
    argos_peer_part_t part = { .type = "record.get",
        .to = "store",
        .ttl_ms = READ_TTL_MS,
        .body = s_gone (self->adapter, what, id) };
    self->x->pending++;
    argos_err_t code = argos_peer_send (self->adapter->peer, &part, fn, self);
    if (code != ARGOS_OK) {
        argos_peer_answer_t answer = { .code = code, .reason = "", .part = -1, .type = "" };
        fn (self, &answer);
    }
}

//  Whether this is the answer of a run, or why it has none: its draft becomes it.

static void
s_read (argos_delivery_t *self)
{
    const char *id = NULL;
    bool answer = *self->run_id && strcmp (self->kind, "notice") != 0 &&
                  strcmp (self->op, "send") == 0 && argos_adapter_drafts (self->adapter);
    int known = answer ? argos_adapter_turns_take (self->adapter, self->run_id, self, &id) : 1;
    if (known == 0)
        return; //  argos_delivery_go
    if (known < 0) {
        s_ask (self, "draft", self->run_id, s_on_draft);
        return;
    }
    if (id)
        s_take_draft (self, id, true);
    s_fetch (self);
}

//  What a lease before this one has left: also one that was given back, which counts as no attempt.

static void
s_on_progress (void *arg, const argos_peer_answer_t *answer)
{
    argos_delivery_t *self = arg;
    priv_t *x = self->x;
    if (self->adapter->closing)
        return;
    const json_t *record = json_object_get (answer->body, "record");
    const json_t *value = json_object_get (record, "value");
    if (answer->code != ARGOS_OK && answer->code != ARGOS_NO_PEER) {
        argos_delivery_release (self, BUSY_MS);
        argos_delivery_unref (self);
        return;
    }
    if (answer->code != ARGOS_OK) //  There is no store (argos adapter-check)
        x->unclear = x->attempt > 1;
    else if (json_is_object (value)) {
        x->written = true;
        self->index = (size_t) json_integer_value (json_object_get (value, "index"));
        x->tries = (int) json_integer_value (json_object_get (value, "tries"));
        x->marked = x->unclear = json_is_true (json_object_get (value, "sending"));
        json_array_extend (x->ids, json_object_get (value, "ids"));
    }
    s_read (self);
    argos_delivery_unref (self);
}

//  ------------------------------------------------------------------------------------------------
//  The beginning

static argos_delivery_t *
s_new (argos_adapter_t *adapter, const argos_peer_msg_t *msg)
{
    argos_delivery_t *self = calloc (1, sizeof *self);
    priv_t *x = calloc (1, sizeof *x);
    if (!self || !x)
        abort ();
    x->lease = msg->lease;
    x->body = json_incref (msg->body);
    x->id = argos_adapter_copy (msg->id);
    x->attempt = argos_lease_attempt (msg->lease);
    x->own = strcmp (msg->from, adapter->name) == 0;
    x->ids = json_array ();
    x->timer.arg = self;
    const char *op = argos_adapter_member (x->body, "op");
    *self = (argos_delivery_t){ .adapter = adapter,
        .id = x->id,
        .op = *op ? op : "send",
        .kind = argos_adapter_member (x->body, "kind"),
        .chat_id = argos_adapter_member (x->body, "chat_id"),
        .thread_id = argos_adapter_member (x->body, "thread_id"),
        .reply_to = argos_adapter_member (x->body, "reply_to"),
        .run_id = argos_adapter_member (x->body, "run_id"),
        .text = argos_adapter_member (x->body, "text"),
        .draft_id = "",
        .body = x->body,
        .ids = x->ids,
        .x = x };
    argos_lease_set_data (msg->lease, self);
    DL_APPEND (adapter->deliveries, self);
    s_name_files (self);
    return self;
}

void
argos_delivery_begin (argos_adapter_t *adapter, const argos_peer_msg_t *msg)
{
    argos_lease_t *lease = msg->lease;
    if (strcmp (msg->type, "deliver.request") != 0) {
        argos_lease_release (&lease, 0, false, "unknown_type");
        return;
    }
    if (!adapter->platform || *adapter->problem) {
        argos_lease_release (&lease, BUSY_MS, true, NULL);
        return;
    }
    argos_delivery_t *self = s_new (adapter, msg);
    s_ask (self, "delivery", self->id, s_on_progress);
}
