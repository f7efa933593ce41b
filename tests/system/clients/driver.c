//  driver - the C client behind a pipe: a command a line in, an event a line out. The same in each
//  language; see test_clients.py.
//
//      client_driver ENDPOINT NAME [KEY]
//
//  Limits: 64 KiB a line, 256 leases and requests in hand; for tests, which trust their driver.

#include "argos.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE 65536
#define HELD_MAX 256
#define PARTS_MAX 16

//  A request that has not been replied to

typedef struct {
    char id[160];   //  Of the request, "" = free
    char from[160]; //  Who asks
} asked_t;

static argos_t *argos;
static argos_work_t *works[HELD_MAX];
static asked_t asked[HELD_MAX];

//  Steals event.

static void
s_tell (json_t *event)
{
    json_dumpf (event, stdout, JSON_COMPACT);
    putchar ('\n');
    fflush (stdout);
    json_decref (event);
}

static json_t *
s_json (const char *text)
{
    return json_loads (text, 0, NULL);
}

static const char *
s_text (const json_t *object, const char *name)
{
    return json_string_value (json_object_get (object, name));
}

static int64_t
s_int (const json_t *object, const char *name)
{
    return json_integer_value (json_object_get (object, name));
}

//  ------------------------------------------------------------------------------------------------
//  What comes

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) ctx;
    s_tell (json_pack ("{s:s,s:b}", "event", "welcome", "new_store", new_store));
}

static void
s_on_work (void *ctx, const argos_msg_t *msg)
{
    size_t i = 0;
    (void) ctx;
    while (works[i])
        i++;
    works[i] = msg->work;
    s_tell (json_pack ("{s:s,s:I,s:I,s:s,s:s,s:s,s:o}", "event", "lease", "seq",
        (json_int_t) msg->seq, "attempt", (json_int_t) msg->attempt, "type", msg->type, "key",
        msg->key, "id", msg->id, "body", s_json (msg->body)));
}

static void
s_on_mail (void *ctx, const argos_msg_t *msg)
{
    (void) ctx;
    s_tell (json_pack ("{s:s,s:I,s:I,s:s,s:o}", "event", "mail", "seq",
        (json_int_t) argos_work_seq (msg->work), "mail", (json_int_t) msg->seq, "type", msg->type,
        "body", s_json (msg->body)));
}

static void
s_forget (const argos_work_t *work)
{
    for (size_t i = 0; i < HELD_MAX; i++)
        if (works[i] == work)
            works[i] = NULL;
}

static void
s_on_lost (void *ctx, argos_work_t *work)
{
    (void) ctx;
    s_forget (work);
    s_tell (json_pack ("{s:s,s:I}", "event", "lost", "seq", (json_int_t) argos_work_seq (work)));
}

static void
s_on_request (void *ctx, const argos_msg_t *msg)
{
    size_t i = 0;
    (void) ctx;
    while (asked[i].id[0])
        i++;
    snprintf (asked[i].id, sizeof asked[i].id, "%s", msg->id);
    snprintf (asked[i].from, sizeof asked[i].from, "%s", msg->from);
    s_tell (json_pack ("{s:s,s:s,s:s,s:o}", "event", "request", "id", msg->id, "type", msg->type,
        "body", s_json (msg->body)));
}

static void
s_on_entry (void *ctx, const argos_msg_t *msg)
{
    (void) ctx;
    s_tell (json_pack ("{s:s,s:s,s:I,s:s,s:o}", "event", "entry", "topic", msg->topic, "n",
        (json_int_t) msg->n, "type", msg->type, "body", s_json (msg->body)));
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    (void) ctx;
    s_tell (json_pack ("{s:s,s:s,s:I,s:b}", "event", "end", "topic", topic, "n", (json_int_t) n,
        "closed", closed));
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    (void) ctx;
    (void) reason;
    s_tell (json_pack (
        "{s:s,s:s,s:s}", "event", "refused", "address", id, "code", argos_err_name (code)));
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    (void) ctx;
    (void) reason;
    s_tell (json_pack ("{s:s,s:s}", "event", "final", "code", argos_err_name (code)));
}

//  arg carries the tag.

static void
s_on_answer (void *arg, const argos_result_t *result)
{
    json_t *event =
        json_pack ("{s:s,s:I,s:s,s:s}", "event", "answer", "tag", (json_int_t) (intptr_t) arg,
            "code", argos_err_name (result->code), "reason", result->reason);
    if (*result->type)
        json_object_update_new (
            event, json_pack ("{s:s,s:o}", "type", result->type, "body", s_json (result->body)));
    else
        json_object_set_new (event, "seq", json_integer (result->seq));
    s_tell (event);
}

//  ------------------------------------------------------------------------------------------------
//  What is told

static argos_work_t *
s_work (int64_t seq)
{
    for (size_t i = 0; i < HELD_MAX; i++)
        if (works[i] && argos_work_seq (works[i]) == seq)
            return works[i];
    fprintf (stderr, "driver: no lease %lld\n", (long long) seq);
    exit (1);
}

//  The texts live in json: bodies are freed with s_parts_free.

static argos_part_t
s_part (const json_t *json)
{
    const json_t *body = json_object_get (json, "body");
    return (argos_part_t){ .type = s_text (json, "type"),
        .to = s_text (json, "to"),
        .id = s_text (json, "id"),
        .key = s_text (json, "key"),
        .side = json_is_true (json_object_get (json, "side")),
        .ttl_ms = s_int (json, "timeout_ms"),
        .body = body ? json_dumps (body, JSON_COMPACT) : NULL };
}

static size_t
s_parts (const json_t *command, argos_part_t *parts)
{
    const json_t *list = json_object_get (command, "parts");
    size_t count = json_array_size (list);
    for (size_t i = 0; i < count && i < PARTS_MAX; i++)
        parts[i] = s_part (json_array_get (list, i));
    return count;
}

static void
s_parts_free (argos_part_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        union {
            const char *text;
            void *data;
        } body = { parts[i].body };
        free (body.data);
    }
}

static void
s_do_reply (const json_t *command)
{
    argos_part_t part = s_part (command);
    for (size_t i = 0; i < HELD_MAX; i++)
        if (strcmp (asked[i].id, s_text (command, "re")) == 0) {
            argos_reply_to (argos, asked[i].from, asked[i].id, part.type, part.body);
            asked[i].id[0] = '\0';
        }
    s_parts_free (&part, 1);
}

static argos_err_t
s_do_lease (const char *verb, const json_t *command, void *tag)
{
    argos_part_t parts[PARTS_MAX];
    int64_t take[PARTS_MAX];
    argos_work_t *work = s_work (s_int (command, "seq"));
    argos_err_t code = ARGOS_OK;
    size_t count = s_parts (command, parts), taken = 0;
    const json_t *list = json_object_get (command, "take");
    for (; taken < json_array_size (list); taken++)
        take[taken] = json_integer_value (json_array_get (list, taken));
    if (strcmp (verb, "lease.commit") == 0)
        code = argos_work_commit (work, parts, count, take, taken, s_on_answer, tag);
    else {
        s_forget (work);
        code = argos_work_done (work, parts, count, take, taken, s_on_answer, tag);
    }
    s_parts_free (parts, count);
    return code;
}

static void
s_do_release (const json_t *command)
{
    argos_work_t *work = s_work (s_int (command, "seq"));
    s_forget (work);
    argos_work_release (&work, s_int (command, "delay_ms"),
        json_is_true (json_object_get (command, "clean")), s_text (command, "reject"));
}

static argos_err_t
s_do_send (const char *verb, const json_t *command, void *tag)
{
    argos_part_t parts[PARTS_MAX] = { s_part (command) };
    char to[200];
    argos_err_t code = ARGOS_OK;
    size_t count = 1;
    parts[0].durable = strcmp (verb, "send") == 0;
    if (strcmp (verb, "commit") == 0) {
        s_parts_free (parts, 1);
        count = s_parts (command, parts);
        code = argos_commit (argos, s_text (command, "id"), parts, count, s_on_answer, tag);
    }
    else if (strcmp (verb, "publish") == 0) {
        snprintf (to, sizeof to, "topic:%s", s_text (command, "topic"));
        parts[0].to = to;
        code = argos_publish (argos, NULL, &parts[0]);
    }
    else
        code = argos_send (argos, &parts[0], s_on_answer, tag);
    s_parts_free (parts, count);
    return code;
}

static void
s_do (const json_t *command)
{
    const char *verb = s_text (command, "do");
    void *tag = (void *) (intptr_t) s_int (command, "tag"); // NOLINT(performance-no-int-to-ptr)
    argos_err_t code = ARGOS_OK;
    if (strcmp (verb, "connect") == 0) {
        code = argos_connect (argos, s_int (command, "timeout_ms"));
        s_on_answer (tag, &(argos_result_t){ .code = code,
                              .reason = code == ARGOS_OK ? "" : argos_reason (argos),
                              .type = "",
                              .body = "" });
        return;
    }
    if (strcmp (verb, "subscribe") == 0)
        argos_subscribe (argos, s_text (command, "topic"), s_int (command, "from"));
    else if (strcmp (verb, "unsubscribe") == 0)
        argos_unsubscribe (argos, s_text (command, "topic"));
    else if (strcmp (verb, "serve") == 0)
        argos_serve (argos, s_text (command, "service"), (int) s_int (command, "slots"), NULL);
    else if (strcmp (verb, "release") == 0)
        s_do_release (command);
    else if (strcmp (verb, "reply") == 0)
        s_do_reply (command);
    else if (strncmp (verb, "lease.", 6) == 0)
        code = s_do_lease (verb, command, tag);
    else
        code = s_do_send (verb, command, tag);
    if (code != ARGOS_OK)
        s_on_answer (tag, &(argos_result_t){ .code = code, .reason = "", .type = "", .body = "" });
}

//  Whole lines of what has been read. Returns false at the end of input.

static bool
s_read (void)
{
    static char line[LINE_SIZE];
    static size_t size;
    ssize_t got = read (STDIN_FILENO, line + size, sizeof line - size);
    if (got <= 0)
        return false;
    size += (size_t) got;
    for (char *end = memchr (line, '\n', size); end; end = memchr (line, '\n', size)) {
        json_t *command = json_loadb (line, (size_t) (end - line), 0, NULL);
        s_do (command);
        json_decref (command);
        size -= (size_t) (end + 1 - line);
        memmove (line, end + 1, size);
    }
    return true;
}

int
main (int argc, char **argv)
{
    char reason[512];
    argos_options_t options = { .endpoint = argc > 1 ? argv[1] : NULL,
        .name = argc > 2 ? argv[2] : NULL,
        .key_file = argc > 3 ? argv[3] : NULL,
        .handlers = { .on_welcome = s_on_welcome,
            .on_work = s_on_work,
            .on_mail = s_on_mail,
            .on_lost = s_on_lost,
            .on_request = s_on_request,
            .on_entry = s_on_entry,
            .on_end = s_on_end,
            .on_refused = s_on_refused,
            .on_final = s_on_final } };
    argos = argos_new (&options, reason, sizeof reason);
    if (!argos) {
        fprintf (stderr, "driver: %s\n", reason);
        return 1;
    }
    struct pollfd items[] = { { .fd = argos_fd (argos), .events = POLLIN },
        { .fd = STDIN_FILENO, .events = POLLIN } };
    bool open = true;
    while (open) {
        poll (items, 2, -1);
        if (items[1].revents)
            open = s_read ();
        if (open && items[0].revents)
            open = argos_turn (argos, 0) == ARGOS_OK;
    }
    argos_destroy (&argos);
    return 0;
}
