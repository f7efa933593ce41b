//  argos_adapter_store - what an adapter stores: messages in with their cursor, and small records.
//
//  Invariant: a task is tried until it is settled, with growing pauses; nothing of it is dropped
//  but a message that the broker refuses for good, with a line in the log. Which message that was
//  the broker says by the number of the part; when it does not, they are sent one by one. Limits:
//  pauses of at most 30 s.

#include "argos_adapter_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define RETRY_MS 500      //  First pause
#define RETRY_MAX 6       //  Doublings of it
#define PARTS_MAX 64      //  Of a commit
#define READ_TTL_MS 10000 //  Patience with the store

static void s_go (void *arg);

static argos_adapter_task_t *
s_new (argos_adapter_t *adapter, void *arg)
{
    argos_adapter_task_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->adapter = adapter;
    self->arg = arg;
    self->timer = (argos_adapter_timer_t){ .fn = s_go, .arg = self };
    DL_APPEND (adapter->tasks, self);
    return self;
}

static void
s_free (argos_adapter_task_t *self)
{
    DL_DELETE (self->adapter->tasks, self);
    argos_due_set (&self->adapter->due, &self->timer.node, -1);
    json_decref (self->messages);
    json_decref (self->value);
    json_decref (self->found);
    free (self->cursor);
    free (self->after);
    free (self);
}

void
argos_adapter_store_free (argos_adapter_t *self)
{
    while (
        self->tasks) //  The freed one has left the list. NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
        s_free (self->tasks);
}

//  At once, but not from within what has just ended

static void
s_on (argos_adapter_task_t *self)
{
    argos_adapter_timer (self->adapter, &self->timer, argos_shell_now ());
}

static void
s_again (argos_adapter_task_t *self)
{
    int64_t wait_ms = RETRY_MS << (self->failures < RETRY_MAX ? self->failures : RETRY_MAX);
    self->failures++;
    argos_adapter_timer (self->adapter, &self->timer, argos_shell_now () + wait_ms);
}

//  ------------------------------------------------------------------------------------------------
//  Messages and a cursor

//  Whether it is refused for good, and not for now.

static bool
s_for_good (argos_err_t code)
{
    return code == ARGOS_INVALID || code == ARGOS_DENIED || code == ARGOS_CONFLICT ||
           code == ARGOS_TOO_BIG || code == ARGOS_LOOP || code == ARGOS_UNKNOWN_TYPE;
}

static void
s_drop (argos_adapter_task_t *self, size_t index, const argos_peer_answer_t *answer)
{
    const json_t *message = json_array_get (self->messages, index);
    argos_log (ARGOS_LOG_ERROR, self->adapter->name, "message dropped",
        "id=\"%s\" code=%s reason=\"%s\"", argos_adapter_member (message, "id"),
        argos_err_name (answer->code), answer->reason);
    json_array_remove (self->messages, index);
    if (self->single > 0)
        self->single--;
}

static void
s_on_stored (void *arg, const argos_peer_answer_t *answer)
{
    argos_adapter_task_t *self = arg;
    size_t count = json_array_size (self->messages);
    if (self->adapter->closing)
        return;
    if (answer->code == ARGOS_OK) {
        self->failures = 0;
        if (self->single) { //  One of several
            self->single--;
            json_array_remove (self->messages, 0);
            s_on (self);
            return;
        }
        if (self->on_stored)
            self->on_stored (self->arg);
        argos_adapter_arm (self->adapter);
        s_free (self);
        return;
    }
    if (!s_for_good (answer->code) || (!count && !self->single)) {
        s_again (self);
        return;
    }
    if (self->single || count == 1)
        s_drop (self, 0, answer);
    else if (answer->part >= 0 && (size_t) answer->part < count)
        s_drop (self, (size_t) answer->part, answer);
    else
        self->single = count;
    s_on (self);
}

static size_t
s_fill (const argos_adapter_task_t *self, argos_peer_part_t parts[PARTS_MAX])
{
    size_t count = 0, i;
    json_t *message;
    json_array_foreach (self->messages, i, message) {
        if (count == PARTS_MAX - 1 || (self->single && count == 1))
            break;
        parts[count++] = (argos_peer_part_t){ .type = "message.inbound",
            .to = "service:gateway",
            .id = argos_adapter_member (message, "id"),
            .key = argos_adapter_member (message, "key"),
            .durable = true,
            .body = json_incref (json_object_get (message, "body")) };
    }
    if (self->cursor && !self->single)
        parts[count++] = (argos_peer_part_t){ .type = "cursor.put",
            .to = "store",
            .durable = true,
            .body = json_pack ("{s:s,s:O}", "name", self->cursor, "value", self->value) };
    return count;
}

static void
s_commit (argos_adapter_task_t *self)
{
    argos_peer_part_t parts[PARTS_MAX];
    size_t count = s_fill (self, parts);
    argos_peer_answer_t answer = { .code = ARGOS_OK, .reason = "", .part = -1, .type = "" };
    if (count)
        answer.code =
            argos_peer_commit (self->adapter->peer, NULL, parts, count, s_on_stored, self);
    if (!count || answer.code != ARGOS_OK)
        s_on_stored (self, &answer);
}

void
argos_adapter_store (argos_adapter_t *self, json_t *messages, const char *cursor, json_t *value,
    argos_adapter_stored_fn *fn, void *arg)
{
    argos_adapter_task_t *task = s_new (self, arg);
    task->messages = messages ? messages : json_array ();
    task->cursor = argos_adapter_copy (cursor);
    task->value = value;
    task->on_stored = fn;
    if (!self->closing)
        s_go (task);
}

//  ------------------------------------------------------------------------------------------------
//  Reading

static void
s_on_cursor (void *arg, const argos_peer_answer_t *answer)
{
    argos_adapter_task_t *self = arg;
    if (self->adapter->closing)
        return;
    if (answer->code != ARGOS_OK) {
        s_again (self);
        return;
    }
    const json_t *value = json_object_get (answer->body, "value");
    self->on_cursor (self->arg, json_is_null (value) ? NULL : value);
    argos_adapter_arm (self->adapter);
    s_free (self);
}

//  Keys without what is in front of all of them

static void
s_on_kept (void *arg, const argos_peer_answer_t *answer)
{
    argos_adapter_task_t *self = arg;
    size_t i, skip = strlen (self->adapter->account) + strlen ("/kept/");
    const json_t *record;
    if (self->adapter->closing)
        return;
    if (answer->code != ARGOS_OK) {
        s_again (self);
        return;
    }
    json_array_foreach (json_object_get (answer->body, "records"), i, record) {
        const char *key = argos_adapter_member (record, "key");
        if (strlen (key) > skip)
            json_object_set (self->found, key + skip, json_object_get (record, "value"));
    }
    const char *next = json_string_value (json_object_get (answer->body, "next"));
    free (self->after);
    self->after = argos_adapter_copy (next);
    if (next) {
        s_on (self);
        return;
    }
    self->on_kept (self->arg, self->found);
    argos_adapter_arm (self->adapter);
    s_free (self);
}

static void
s_read (argos_adapter_task_t *self)
{
    argos_peer_answer_fn *fn = self->on_cursor ? s_on_cursor : s_on_kept;
    argos_peer_part_t part = { .to = "store", .ttl_ms = READ_TTL_MS };
    if (self->on_cursor) {
        part.type = "cursor.get";
        part.body = json_pack ("{s:s}", "name", self->cursor);
    }
    else {
        char prefix[64];
        snprintf (prefix, sizeof prefix, "%s/kept/", self->adapter->account);
        part.type = "record.list";
        part.body = json_pack ("{s:s,s:s,s:s*,s:i}", "space", self->adapter->space, "prefix",
            prefix, "after", self->after, "limit", 200);
    }
    if (argos_peer_send (self->adapter->peer, &part, fn, self) != ARGOS_OK)
        s_again (self);
}

static void
s_go (void *arg)
{
    argos_adapter_task_t *self = arg;
    if (self->messages)
        s_commit (self);
    else
        s_read (self);
}

void
argos_adapter_cursor (
    argos_adapter_t *self, const char *name, argos_adapter_cursor_fn *fn, void *arg)
{
    argos_adapter_task_t *task = s_new (self, arg);
    task->cursor = argos_adapter_copy (name);
    task->on_cursor = fn;
    s_go (task);
}

void
argos_adapter_kept (argos_adapter_t *self, argos_adapter_kept_fn *fn, void *arg)
{
    argos_adapter_task_t *task = s_new (self, arg);
    task->found = json_object ();
    task->on_kept = fn;
    s_go (task);
}

void
argos_adapter_keep (argos_adapter_t *self, const char *key, json_t *value)
{
    char name[400];
    snprintf (name, sizeof name, "%s/kept/%s", self->account, key);
    argos_peer_part_t part = { .type = "record.put",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:s,s:s,s:o*}", "space", self->space, "key", name, "value", value) };
    argos_peer_send (self->peer, &part, NULL, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  Files

typedef struct {
    argos_adapter_t *adapter; //  Whose
    argos_media_fn *fn;       //  Told
    void *arg;                //  Its argument
} put_t;

static void
s_on_put (void *arg, const char *problem, const char *blob, int fd, int64_t size)
{
    put_t *self = arg;
    if (!self->adapter->closing) {
        self->fn (self->arg, problem, blob, fd, size);
        argos_adapter_arm (self->adapter);
    }
    free (self);
}

void
argos_adapter_put (argos_adapter_t *self, int fd, const char *name, const char *media_type,
    argos_media_fn *fn, void *arg)
{
    put_t *put = calloc (1, sizeof *put);
    if (!put)
        abort ();
    *put = (put_t){ .adapter = self, .fn = fn, .arg = arg };
    argos_media_put (self->peer, fd, name, media_type, s_on_put, put);
}
