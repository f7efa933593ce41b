//  argos_asks - the tools that ask others for what they do.
//
//  Invariant: a call is one ticket, which ends with its answer; sessions are those of the owner of
//  the session that asks. Limits: 200 todos; 10 sessions found; 4 pages of a session are
//  read, SEARCHES searches made for one call.

#include "argos_asks.h"

#include "argos_header.h"
#include "argos_json_get.h"
#include "argos_memo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TODO_SPACE "todo"
#define TODOS_MAX 200
#define PAGES 4
#define SEARCHES 100 //  Each ends when its time in the store is used up
#define TTL_MS 20000
#define MEMO_TRIES 5 //  When others write the same notes
#define SNIPPET 1000 //  Bytes of a message that are shown

typedef struct ticket ticket_t;
typedef void (step_fn) (ticket_t *self, const json_t *body);

struct ticket {
    argos_peer_t *peer;            //  Ours
    const bool *stopping;          //  It is going away: nothing is answered
    char from[ARGOS_NAME_MAX + 1]; //  Who asked
    char id[ARGOS_ID_MAX + 1];     //  With which id
    json_t *body;                  //  Body of the call
    json_t *arguments;             //  Its arguments, coerced
    step_fn *next;                 //  What is done with the next answer
    step_fn *again;                //  The same after `conflict`; NULL = that is the end
    int tries;                     //  How often that was
    char owner[513];               //  Of the session that asks
    json_t *messages;              //  Read, or sessions found, so far
    int pages;                     //  How many pages
};

static void
s_end (ticket_t *self, json_t *result)
{
    bool failed = json_object_get (result, "error") != NULL;
    if (*self->stopping)
        json_decref (result);
    else
        argos_peer_reply_to (self->peer, self->from, self->id, "tool.result",
            json_pack ("{s:s, s:s, s:o}", "output", "", "status", failed ? "error" : "ok", "result",
                result));
    json_decref (self->body);
    json_decref (self->arguments);
    json_decref (self->messages);
    free (self);
}

static void
s_fail (ticket_t *self, const char *error)
{
    s_end (self, json_pack ("{s:s}", "error", error));
}

static void
s_on_answer (void *arg, const argos_peer_answer_t *answer)
{
    ticket_t *self = arg;
    char error[400];
    step_fn *again = self->again;
    self->again = NULL;
    if (answer->code == ARGOS_OK) {
        self->next (self, answer->body);
        return;
    }
    if (answer->code == ARGOS_CONFLICT && again && ++self->tries < MEMO_TRIES) {
        again (self, NULL);
        return;
    }
    snprintf (error, sizeof error, "That could not be done (%s): %.300s",
        argos_err_name (answer->code), answer->reason);
    s_fail (self, error);
}

//  Asks; the answer goes to next. body is stolen.

static void
s_ask (ticket_t *self, const char *to, const char *type, json_t *body, step_fn *next)
{
    self->next = next;
    argos_peer_part_t part = { .type = type,
        .to = to,
        .ttl_ms = TTL_MS,
        .body = body,
        .durable = strcmp (type, "record.put") == 0 };
    if (argos_peer_send (self->peer, &part, s_on_answer, self) != ARGOS_OK)
        s_fail (self, "Nobody can be asked at present. Try it again.");
}

static int64_t
s_number (const ticket_t *self, const char *name, int64_t fallback, int64_t min, int64_t max)
{
    const json_t *value = json_object_get (self->arguments, name);
    int64_t number = json_is_integer (value) ? json_integer_value (value) : fallback;
    return number < min ? min : number > max ? max : number;
}

//  ------------------------------------------------------------------------------------------------
//  todo

static const char *const s_states[] = { "pending", "in_progress", "completed", "cancelled" };

static json_t *
s_todo_summary (const json_t *todos)
{
    json_t *summary = json_pack ("{s:I}", "total", (json_int_t) json_array_size (todos));
    for (size_t k = 0; k < 4; k++) {
        json_int_t count = 0;
        size_t i;
        const json_t *todo;
        json_array_foreach (todos, i, todo)
            count += strcmp (argos_json_find_text (todo, "status"), s_states[k]) == 0 ? 1 : 0;
        json_object_set_new (summary, s_states[k], json_integer (count));
    }
    return summary;
}

static bool
s_is_todo (const json_t *todo)
{
    const char *id = argos_json_find_text (todo, "id"),
               *content = argos_json_find_text (todo, "content");
    const char *status = argos_json_find_text (todo, "status");
    for (size_t i = 0; id && *id && strlen (id) <= 64 && content && *content && status && i < 4;
         i++)
        if (strcmp (status, s_states[i]) == 0)
            return true;
    return false;
}

json_t *
argos_asks_todo (json_t *old, const json_t *given, bool merge, char *reason, size_t size)
{
    json_t *todos = merge && json_is_array (old) ? json_copy (old) : json_array ();
    size_t i, k;
    json_t *todo, *other;
    json_array_foreach (given, i, todo) {
        if (!s_is_todo (todo)) {
            snprintf (reason, size,
                "todo %zu needs `id`, `content` and a `status`: pending, "
                "in_progress, completed or cancelled",
                i + 1);
            json_decref (todos);
            return NULL;
        }
        bool known = false;
        json_array_foreach (todos, k, other)
            if (strcmp (argos_json_find_text (other, "id"), argos_json_find_text (todo, "id")) ==
                0) {
                json_array_set (todos, k, todo);
                known = true;
                break;
            }
        if (!known)
            json_array_append (todos, todo);
    }
    if (json_array_size (todos) <= TODOS_MAX)
        return todos;
    snprintf (reason, size, "more than %d todos", TODOS_MAX);
    json_decref (todos);
    return NULL;
}

static void
s_todo_tell (ticket_t *self, json_t *todos)
{
    s_end (self, json_pack ("{s:o, s:o}", "todos", todos, "summary", s_todo_summary (todos)));
}

static void
s_todo_stored (ticket_t *self, const json_t *body)
{
    (void) body;
    s_todo_tell (self, json_incref (self->messages));
}

static void
s_todo_read (ticket_t *self, const json_t *body)
{
    char reason[200];
    const json_t *record = json_object_get (body, "record");
    json_t *old = json_object_get (json_object_get (record, "value"), "todos");
    const json_t *given = json_object_get (self->arguments, "todos");
    bool merge = json_is_true (json_object_get (self->arguments, "merge"));
    if (!given) {
        s_todo_tell (self, json_is_array (old) ? json_incref (old) : json_array ());
        return;
    }
    self->messages = argos_asks_todo (old, given, merge, reason, sizeof reason);
    if (!json_is_array (given) || !self->messages)
        s_fail (self, json_is_array (given) ? reason : "`todos` is an array");
    else
        s_ask (self, "store", "record.put",
            json_pack ("{s:s, s:s, s:{s:O}}", "space", TODO_SPACE, "key",
                argos_json_find_text (self->body, "session_id"), "value", "todos", self->messages),
            s_todo_stored);
}

static void
s_todo (ticket_t *self)
{
    s_ask (self, "store", "record.get",
        json_pack ("{s:s, s:s}", "space", TODO_SPACE, "key",
            argos_json_find_text (self->body, "session_id")),
        s_todo_read);
}

//  ------------------------------------------------------------------------------------------------
//  memory

static void
s_memo_stored (ticket_t *self, const json_t *body)
{
    (void) body;
    s_end (self, json_incref (self->messages));
}

static void s_memo_begin (ticket_t *self, const json_t *body);

static void
s_memo_read (ticket_t *self, const json_t *body)
{
    char key[ARGOS_MEMO_KEY_SIZE];
    const json_t *record = json_object_get (body, "record");
    json_decref (self->messages);
    json_t *value =
        argos_memo_apply (json_object_get (record, "value"), self->arguments, &self->messages);
    if (!value || argos_memo_key (json_object_get (self->body, "source"), key) != 0) {
        json_decref (value);
        s_memo_stored (self, NULL);
        return;
    }
    self->again = s_memo_begin;
    s_ask (self, "store", "record.put",
        json_pack ("{s:s, s:s, s:o, s:I}", "space", ARGOS_MEMO_SPACE, "key", key, "value", value,
            "version", json_integer_value (json_object_get (record, "version"))),
        s_memo_stored);
}

static void
s_memo_begin (ticket_t *self, const json_t *body)
{
    char key[ARGOS_MEMO_KEY_SIZE];
    (void) body;
    if (argos_memo_key (json_object_get (self->body, "source"), key) != 0)
        s_fail (self, "It is not known who speaks here, so nothing is noted.");
    else
        s_ask (self, "store", "record.get",
            json_pack ("{s:s, s:s}", "space", ARGOS_MEMO_SPACE, "key", key), s_memo_read);
}

static void
s_memo (ticket_t *self)
{
    s_memo_begin (self, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  session_search

static json_t *
s_message (const json_t *row)
{
    const char *text = argos_json_find_text (row, "content");
    json_t *message = json_object ();
    json_object_set (message, "id", json_object_get (row, "id"));
    json_object_set (message, "role", json_object_get (row, "role"));
    size_t size = text ? strlen (text) : 0, shown = size > SNIPPET ? SNIPPET : size;
    while (shown && shown < size && (text[shown] & 0xC0) == 0x80)
        shown--;
    json_object_set_new (message, "content", json_stringn (text ? text : "", shown));
    return message;
}

//  Messages around one: the window of each side, and how many there are beyond.

static void
s_scroll_tell (ticket_t *self)
{
    json_int_t around = json_integer_value (json_object_get (self->arguments, "around_message_id"));
    size_t window = (size_t) s_number (self, "window", 5, 1, 20);
    size_t count = json_array_size (self->messages), at = count;
    for (size_t i = 0; i < count; i++)
        if (json_integer_value (json_object_get (json_array_get (self->messages, i), "id")) ==
            around)
            at = i;
    if (at == count) {
        s_fail (self, "That session has no such message.");
        return;
    }
    size_t from = at > window ? at - window : 0;
    size_t to = at + window + 1 < count ? at + window + 1 : count;
    json_t *list = json_array ();
    for (size_t i = from; i < to; i++)
        json_array_append_new (list, s_message (json_array_get (self->messages, i)));
    s_end (self,
        json_pack ("{s:s, s:o, s:I, s:I}", "session_id",
            argos_json_find_text (self->arguments, "session_id"), "messages", list,
            "messages_before", (json_int_t) from, "messages_after", (json_int_t) (count - to)));
}

static void
s_scroll_page (ticket_t *self, const json_t *body)
{
    json_t *rows = json_object_get (body, "messages");
    if (!self->messages)
        self->messages = json_array ();
    json_array_extend (self->messages, rows);
    const json_t *last = json_array_get (rows, json_array_size (rows) - 1);
    if (!json_is_true (json_object_get (body, "more")) || ++self->pages == PAGES || !last)
        s_scroll_tell (self);
    else
        s_ask (self, "store", "session.load",
            json_pack ("{s:s, s:s, s:O}", "id",
                argos_json_find_text (self->arguments, "session_id"), "owner", self->owner, "after",
                json_object_get (last, "id")),
            s_scroll_page);
}

static void
s_browsed (ticket_t *self, const json_t *body)
{
    json_t *list = json_array (), *row;
    size_t i;
    json_array_foreach (json_object_get (body, "sessions"), i, row) {
        json_t *session = json_pack ("{s:O}", "session_id", json_object_get (row, "id"));
        static const char *const copied[] = { "title", "last_activity_at", "platform", "preview",
            "message_count" };
        for (size_t k = 0; k < 5; k++)
            if (json_object_get (row, copied[k]))
                json_object_set (session, copied[k], json_object_get (row, copied[k]));
        json_array_append_new (list, session);
    }
    s_end (self, json_pack ("{s:o}", "sessions", list));
}

//  Whether the session of a hit is in the list already.

static bool
s_is_listed (const json_t *list, const char *session)
{
    size_t i;
    json_t *row;
    json_array_foreach (list, i, row)
        if (strcmp (argos_json_text (row, "session_id"), session) == 0)
            return true;
    return false;
}

//  The best hit of each session that is not the one that asks.

static void
s_take_hits (ticket_t *self, const json_t *hits, size_t limit)
{
    size_t i;
    json_t *hit;
    json_array_foreach (hits, i, hit) {
        const char *session = argos_json_find_text (hit, "session_id"),
                   *role = argos_json_find_text (hit, "role");
        bool told = role && (strcmp (role, "user") == 0 || strcmp (role, "assistant") == 0 ||
                                argos_json_find_text (self->arguments, "role_filter"));
        if (!session || !told || s_is_listed (self->messages, session) ||
            json_array_size (self->messages) == limit ||
            strcmp (session, argos_json_find_text (self->body, "session_id")) == 0)
            continue;
        json_t *row = json_pack ("{s:s, s:O, s:O, s:O, s:s, s:O}", "session_id", session, "when",
            json_object_get (hit, "at"), "source", json_object_get (hit, "platform"), "snippet",
            json_object_get (hit, "snippet"), "role", role, "match_message_id",
            json_object_get (hit, "id"));
        if (json_object_get (hit, "title"))
            json_object_set (row, "title", json_object_get (hit, "title"));
        json_array_append_new (self->messages, row);
    }
}

static void s_discovered (ticket_t *self, const json_t *body);

//  Searches messages before one; NULL: all.

static void
s_discover (ticket_t *self, json_t *before)
{
    const char *role = argos_json_find_text (self->arguments, "role_filter");
    json_t *search = json_pack ("{s:s, s:s, s:i}", "text",
        argos_json_find_text (self->arguments, "query"), "owner", self->owner, "limit", 100);
    if (role)
        json_object_set_new (search, "role", json_string (role));
    if (before)
        json_object_set (search, "before", before);
    s_ask (self, "store", "session.search", search, s_discovered);
}

//  A search that was cut off is gone on with.

static void
s_discovered (ticket_t *self, const json_t *body)
{
    json_t *next = json_object_get (body, "next");
    size_t limit = (size_t) s_number (self, "limit", 3, 1, 10);
    if (!self->messages)
        self->messages = json_array ();
    s_take_hits (self, json_object_get (body, "hits"), limit);
    size_t count = json_array_size (self->messages);
    if (next && count < limit && ++self->pages < SEARCHES) {
        s_discover (self, next);
        return;
    }
    const char *hint =
        count  ? "Read around a hit with session_id and around_message_id."
        : next ? "Nothing was found in the newest messages; there are too many older ones to look "
                 "at. Try rarer words."
               : "Nothing was found. Try other words.";
    s_end (self, json_pack ("{s:O, s:s}", "results", self->messages, "hint", hint));
}

static void
s_search_owned (ticket_t *self, const json_t *body)
{
    const char *owner = argos_json_find_text (json_object_get (body, "session"), "owner");
    const char *query = argos_json_find_text (self->arguments, "query");
    const char *session = argos_json_find_text (self->arguments, "session_id");
    snprintf (self->owner, sizeof self->owner, "%s", owner ? owner : "");
    if (!*self->owner)
        s_fail (self, "This session has no owner whose sessions could be searched.");
    else if (session && json_object_get (self->arguments, "around_message_id"))
        s_ask (self, "store", "session.load",
            json_pack ("{s:s, s:s}", "id", session, "owner", self->owner), s_scroll_page);
    else if (query && query[strspn (query, " \t\r\n")])
        s_discover (self, NULL);
    else
        s_ask (self, "store", "session.list",
            json_pack ("{s:s, s:I}", "owner", self->owner, "limit",
                (json_int_t) s_number (self, "limit", 3, 1, 10)),
            s_browsed);
}

static void
s_search (ticket_t *self)
{
    s_ask (self, "store", "session.get",
        json_pack ("{s:s}", "id", argos_json_find_text (self->body, "session_id")), s_search_owned);
}

//  ------------------------------------------------------------------------------------------------
//  send_message

static void
s_sent (ticket_t *self, const json_t *body)
{
    json_t *result = json_deep_copy (body);
    json_object_set_new (
        result, "success", json_boolean (!json_array_size (json_object_get (result, "failed"))));
    s_end (self, result);
}

static void
s_listed (ticket_t *self, const json_t *body)
{
    s_end (self, json_deep_copy (body));
}

static void
s_send (ticket_t *self)
{
    const char *action = argos_json_find_text (self->arguments, "action");
    const char *target = argos_json_find_text (self->arguments, "target");
    const char *message = argos_json_find_text (self->arguments, "message");
    json_t *source = json_object_get (self->body, "source");
    if (action && strcmp (action, "list") == 0)
        s_ask (self, "actor:gateway", "channel.list", NULL, s_listed);
    else if (!target || !*target || !message || !*message)
        s_fail (self, "`target` and `message` are needed; action list tells the targets");
    else {
        json_t *body = json_pack ("{s:s, s:s}", "target", target, "text", message);
        if (source)
            json_object_set (body, "origin", source);
        s_ask (self, "actor:gateway", "channel.send", body, s_sent);
    }
}

//  ------------------------------------------------------------------------------------------------

static const struct {
    const char *name;           //  Tool
    void (*begin) (ticket_t *); //  Its first step
} s_rows[] = { { "todo", s_todo }, { "memory", s_memo }, { "session_search", s_search },
    { "send_message", s_send } };

void
argos_asks_serve (argos_peer_t *peer)
{
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        char service[64];
        snprintf (service, sizeof service, "tool.%s", s_rows[i].name);
        argos_peer_serve (peer, service, 8, NULL);
    }
}

bool
argos_asks_take (argos_peer_t *peer, const argos_peer_msg_t *msg, const argos_toolset_t *set,
    const bool *stopping)
{
    const char *name = argos_json_find_text (msg->body, "name");
    for (size_t i = 0; name && i < sizeof s_rows / sizeof *s_rows; i++) {
        if (strcmp (s_rows[i].name, name) != 0)
            continue;
        ticket_t *self = calloc (1, sizeof *self);
        if (!self)
            abort ();
        *self = (ticket_t){ .peer = peer,
            .stopping = stopping,
            .body = json_incref (msg->body),
            .arguments = json_deep_copy (json_object_get (msg->body, "arguments")) };
        snprintf (self->from, sizeof self->from, "%s", msg->from);
        snprintf (self->id, sizeof self->id, "%s", msg->id);
        argos_toolset_coerce (
            json_object_get (argos_toolset_find (set, name), "parameters"), self->arguments);
        s_rows[i].begin (self);
        return true;
    }
    return false;
}
