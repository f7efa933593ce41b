//  argos_rehearsal_script - what the rehearsal provider answers to a chat completion request.
//
//  No clock and no random number. Limits: a reply of 64 MiB; 1,024 texts that have failed once are
//  remembered, then the oldest is forgotten.

#include "argos_rehearsal_script.h"

#include "argos_json.h"
#include "argos_messages.h"
#include "argos_rehearsal_load.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLY_MAX 67108864    //  Bytes of a reply
#define FAILED_MAX 1024       //  Texts remembered
#define CALLS_MAX 16          //  Tool calls of one answer
#define PIECES_MAX 256        //  Text chunks of one answer
#define SLOW_MAX 100000       //  Tokens of a slow answer
#define PAUSE_MAX 3600000     //  Msec between two of them
#define SAY_SIZE ((size_t) 5) //  Bytes of "!say "
#define BIG_MAX 8388608       //  Bytes of a big answer

struct argos_rehearsal_script {
    uint64_t failed[FAILED_MAX]; //  Hashes of texts that have failed once, 0 = free
    size_t next;                 //  Place of the next one
};

typedef struct {
    const char *text; //  Text that decides
    size_t text_size; //  Its bytes
    bool stream;      //  Streamed answer wanted
    bool usage;       //  Usage chunk wanted
    int64_t prompt;   //  Tokens of the prompt, by size
} s_request_t;

static const char s_head[] = "data: {\"id\":\"chatcmpl-rehearsal\",\"object\":"
                             "\"chat.completion.chunk\",\"created\":0,\"model\":\"rehearsal\","
                             "\"choices\":";

argos_rehearsal_script_t *
argos_rehearsal_script_new (void)
{
    argos_rehearsal_script_t *self = (argos_rehearsal_script_t *) calloc (1, sizeof *self);
    if (!self)
        abort ();
    return self;
}

void
argos_rehearsal_script_destroy (argos_rehearsal_script_t **self_p)
{
    if (!self_p)
        return;
    free (*self_p);
    *self_p = NULL;
}

void
argos_rehearsal_reply_clear (argos_rehearsal_reply_t *reply)
{
    argos_text_clear (&reply->text);
    argos_text_clear (&reply->tail);
}

static void
s_add (argos_text_t *target, const char *text)
{
    argos_text_add (target, text, strlen (text));
}

//  text as the inside of a JSON string
static void
s_add_escaped (argos_text_t *target, const char *text, size_t size)
{
    for (size_t i = 0, from = 0; i <= size; i++) {
        unsigned char byte = i < size ? (unsigned char) text[i] : 0;
        if (i < size && byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        argos_text_add (target, text + from, i - from);
        from = i + 1;
        if (i == size)
            break;
        char escape[8];
        if (byte == '\n')
            snprintf (escape, sizeof escape, "\\n");
        else if (byte < 0x20)
            snprintf (escape, sizeof escape, "\\u%04x", byte);
        else
            snprintf (escape, sizeof escape, "\\%c", byte);
        s_add (target, escape);
    }
}

static void
s_add_text_chunk (argos_text_t *target, const char *text, size_t size)
{
    s_add (target, s_head);
    s_add (target, "[{\"index\":0,\"delta\":{\"content\":\"");
    s_add_escaped (target, text, size);
    s_add (target, "\"},\"finish_reason\":null}]}\n\n");
}

static void
s_add_start (argos_text_t *target)
{
    s_add (target, s_head);
    s_add (target, "[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
                   "\"finish_reason\":null}]}\n\n");
}

//  The last chunk, the usage when it is wanted, and the end mark
static void
s_add_end (argos_text_t *target, const s_request_t *request, const char *finish, int64_t completion)
{
    s_add (target, s_head);
    s_add (target, "[{\"index\":0,\"delta\":{},\"finish_reason\":\"");
    s_add (target, finish);
    s_add (target, "\"}]}\n\n");
    if (request->usage) {
        char usage[160];
        snprintf (usage, sizeof usage,
            "[],\"usage\":{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld}"
            "}\n\n",
            (long long) request->prompt, (long long) completion,
            (long long) request->prompt + completion);
        s_add (target, s_head);
        s_add (target, usage);
    }
    s_add (target, "data: [DONE]\n\n");
}

static int64_t
s_tokens (size_t size)
{
    return (int64_t) (size / 4 + 1);
}

//  An answer that is not streamed: message is the inside of the message object
static void
s_whole (const s_request_t *request, argos_rehearsal_reply_t *reply, json_t *message,
    const char *finish, int64_t completion)
{
    json_t *body = json_pack ("{s:s, s:s, s:i, s:s, s:[{s:i, s:o, s:s}], s:{s:I, s:I, s:I}}", "id",
        "chatcmpl-rehearsal", "object", "chat.completion", "created", 0, "model", "rehearsal",
        "choices", "index", 0, "message", message, "finish_reason", finish, "usage",
        "prompt_tokens", (json_int_t) request->prompt, "completion_tokens", (json_int_t) completion,
        "total_tokens", (json_int_t) request->prompt + completion);
    char *text = argos_json_dumps (body, NULL);
    reply->content_type = "application/json";
    s_add (&reply->text, text ? text : "{}");
    free (text);
    json_decref (body);
}

//  Text word by word, in at most PIECES_MAX chunks
static void
s_say (const s_request_t *request, argos_rehearsal_reply_t *reply, const char *text, size_t size)
{
    if (!request->stream) {
        s_whole (request, reply,
            json_pack ("{s:s, s:s%}", "role", "assistant", "content", text, size), "stop",
            s_tokens (size));
        return;
    }
    s_add_start (&reply->text);
    size_t least = size / PIECES_MAX + 1, from = 0;
    while (from < size) {
        size_t to = from + least < size ? from + least : size;
        while (to < size && text[to - 1] != ' ' && to - from < least + 64)
            to++;
        to = from + argos_utf8_cut (text + from, size - from, to - from);
        s_add_text_chunk (&reply->text, text + from, to - from);
        from = to;
    }
    s_add_end (&reply->text, request, "stop", s_tokens (size));
}

static void
s_fail (argos_rehearsal_reply_t *reply, int status, const char *type, const char *message)
{
    json_t *body =
        json_pack ("{s:{s:s, s:s, s:n}}", "error", "message", message, "type", type, "code");
    char *text = argos_json_dumps (body, NULL);
    reply->status = status;
    reply->content_type = "application/json";
    s_add (&reply->text, text ? text : "{}");
    free (text);
    json_decref (body);
}

static uint64_t
s_hash (const char *text, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char) text[i]) * 1099511628211u;
    return hash ? hash : 1;
}

//  Whether this text fails now: every first time of two
static bool
s_fails_now (argos_rehearsal_script_t *self, const s_request_t *request)
{
    uint64_t hash = s_hash (request->text, request->text_size);
    for (size_t i = 0; i < FAILED_MAX; i++)
        if (self->failed[i] == hash) {
            self->failed[i] = 0;
            return false;
        }
    self->failed[self->next] = hash;
    self->next = (self->next + 1) % FAILED_MAX;
    return true;
}

typedef struct {
    char name[65];    //  Tool
    const char *args; //  JSON text, inside the request's text
    size_t args_size; //  Its bytes
} s_call_t;

//  The "!tool NAME {json}" lines at the start of the text
static size_t
s_read_calls (const s_request_t *request, s_call_t *calls)
{
    const char *at = request->text, *end = at + request->text_size;
    size_t count = 0;
    while (count < CALLS_MAX && end - at > 6 && strncmp (at, "!tool ", 6) == 0) {
        const char *line_end = (const char *) memchr (at, '\n', (size_t) (end - at));
        if (!line_end)
            line_end = end;
        at += 6;
        s_call_t *call = &calls[count];
        size_t name_size = 0;
        while (at < line_end && *at != ' ' && name_size < sizeof call->name - 1)
            call->name[name_size++] = *at++;
        call->name[name_size] = 0;
        while (at < line_end && *at == ' ')
            at++;
        call->args = at < line_end ? at : "{}";
        call->args_size = at < line_end ? (size_t) (line_end - at) : 2;
        count += name_size > 0;
        at = line_end < end ? line_end + 1 : end;
    }
    return count;
}

static void
s_add_call_chunks (argos_text_t *target, const s_call_t *call, size_t index)
{
    char lead[128];
    size_t from = 0;
    for (bool first = true; first || from < call->args_size; first = false) {
        s_add (target, s_head);
        snprintf (
            lead, sizeof lead, "[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%zu,", index);
        s_add (target, lead);
        if (first) {
            snprintf (lead, sizeof lead, "\"id\":\"call_%zu\",\"type\":\"function\",", index);
            s_add (target, lead);
        }
        s_add (target, "\"function\":{");
        if (first) {
            s_add (target, "\"name\":\"");
            s_add_escaped (target, call->name, strlen (call->name));
            s_add (target, "\",");
        }
        s_add (target, "\"arguments\":\"");
        if (!first) {
            size_t piece =
                argos_utf8_cut (call->args + from, call->args_size - from, call->args_size / 3 + 4);
            s_add_escaped (target, call->args + from, piece);
            from += piece;
        }
        s_add (target, "\"}}]},\"finish_reason\":null}]}\n\n");
    }
}

static void
s_call_tools (
    const s_request_t *request, argos_rehearsal_reply_t *reply, const s_call_t *calls, size_t count)
{
    if (request->stream) {
        s_add_start (&reply->text);
        for (size_t i = 0; i < count; i++)
            s_add_call_chunks (&reply->text, &calls[i], i);
        s_add_end (&reply->text, request, "tool_calls", (int64_t) count * 10);
        return;
    }
    json_t *list = json_array ();
    for (size_t i = 0; i < count; i++)
        json_array_append_new (
            list, json_pack ("{s:o, s:s, s:{s:s, s:s%}}", "id", json_sprintf ("call_%zu", i),
                      "type", "function", "function", "name", calls[i].name, "arguments",
                      calls[i].args, calls[i].args_size));
    s_whole (request, reply,
        json_pack ("{s:s, s:n, s:o}", "role", "assistant", "content", "tool_calls", list),
        "tool_calls", (int64_t) count * 10);
}

//  The number from *at, from 0 to max; *at is behind it then
static int64_t
s_next_number (const s_request_t *request, size_t *at, int64_t max)
{
    int64_t value = 0;
    while (*at < request->text_size && request->text[*at] == ' ')
        ++*at;
    for (; *at < request->text_size; ++*at) {
        char digit = request->text[*at];
        if (digit < '0' || digit > '9')
            break;
        value = value * 10 + (digit - '0');
        value = value > max ? max : value;
    }
    return value;
}

//  The number behind a word
static int64_t
s_number (const s_request_t *request, size_t word, int64_t max)
{
    return s_next_number (request, &word, max);
}

static bool
s_word (const s_request_t *request, const char *word)
{
    size_t size = strlen (word);
    return request->text_size >= size && memcmp (request->text, word, size) == 0 &&
           (request->text_size == size || strchr (" \r\n", request->text[size]));
}

void
argos_rehearsal_script_token (int64_t n, argos_text_t *target)
{
    char token[32];
    snprintf (token, sizeof token, "%stoken%lld", n ? " " : "", (long long) n + 1);
    s_add_text_chunk (target, token, strlen (token));
}

static void
s_slow (const s_request_t *request, argos_rehearsal_reply_t *reply)
{
    size_t at = strlen ("!slow");
    reply->pace = ARGOS_REHEARSAL_SLOW;
    reply->tokens = s_next_number (request, &at, SLOW_MAX);
    reply->token_ms = s_next_number (request, &at, PAUSE_MAX);
    if (!reply->token_ms)
        reply->token_ms = ARGOS_REHEARSAL_TOKEN_MS;
    s_add_start (&reply->text);
    s_add_end (&reply->tail, request, "stop", reply->tokens);
}

static void
s_big (const s_request_t *request, argos_rehearsal_reply_t *reply)
{
    size_t size = (size_t) s_number (request, 4, BIG_MAX);
    char *text = (char *) malloc (size + 1);
    if (!text)
        abort ();
    for (size_t i = 0; i < size; i++)
        text[i] = "abcdefg "[i % 8];
    text[size] = 0;
    s_say (request, reply, text, size);
    free (text);
}

static void
s_cut (argos_rehearsal_reply_t *reply)
{
    reply->pace = ARGOS_REHEARSAL_CUT;
    s_add_start (&reply->text);
    s_add_text_chunk (&reply->text, "This answer is cut", 18);
    s_add (&reply->text, s_head);
    s_add (&reply->text, "[{\"index\":0,\"del");
}

static void
s_repeat (const s_request_t *request, argos_rehearsal_reply_t *reply)
{
    size_t skip = request->text_size < SAY_SIZE ? request->text_size : SAY_SIZE;
    s_say (request, reply, request->text + skip, request->text_size - skip);
}

static void
s_play (argos_rehearsal_script_t *self, const s_request_t *request, argos_rehearsal_reply_t *reply)
{
    s_call_t calls[CALLS_MAX];
    size_t call_count = s_read_calls (request, calls);
    int64_t code = s_word (request, "!fail") ? s_number (request, 5, 999) : 0;
    if (call_count)
        s_call_tools (request, reply, calls, call_count);
    else if (code >= 400 && code <= 599 && s_fails_now (self, request)) {
        char message[64];
        snprintf (message, sizeof message, "rehearsed failure %d", (int) code);
        s_fail (reply, (int) code, code < 500 ? "invalid_request_error" : "server_error", message);
    }
    else if (s_word (request, "!slow"))
        s_slow (request, reply);
    else if (s_word (request, "!hang"))
        reply->pace = ARGOS_REHEARSAL_HANG;
    else if (s_word (request, "!html")) {
        reply->content_type = "text/html";
        s_add (&reply->text, "<!doctype html><title>rehearsal</title><p>This is no JSON.\n");
    }
    else if (s_word (request, "!cut"))
        s_cut (reply);
    else if (s_word (request, "!big"))
        s_big (request, reply);
    else if (s_word (request, "!say"))
        s_repeat (request, reply);
    else {
        argos_text_t echo;
        argos_text_init (&echo, REPLY_MAX);
        s_add (&echo, "You said: ");
        argos_text_add (&echo, request->text, request->text_size);
        s_say (request, reply, argos_text_str (&echo), echo.size);
        argos_text_clear (&echo);
    }
}

//  The text of the last user message; or, when tool results stand behind it, all of these with
//  *ret_result set. New.
static char *
s_last_text (const json_t *messages, bool *ret_result)
{
    argos_text_t results;
    argos_text_init (&results, REPLY_MAX);
    size_t count = json_array_size (messages), first = count;
    const char *role = NULL;
    while (first) {
        role = json_string_value (json_object_get (json_array_get (messages, first - 1), "role"));
        if (!role || strcmp (role, "tool") != 0)
            break;
        first--;
    }
    *ret_result = first < count;
    for (size_t i = first; i < count; i++) {
        char *text =
            argos_messages_text (json_object_get (json_array_get (messages, i), "content"));
        if (i > first)
            s_add (&results, "\n");
        s_add (&results, text ? text : "");
        free (text);
    }
    char *last = *ret_result ? strdup (argos_text_str (&results)) : NULL;
    argos_text_clear (&results);
    for (size_t i = first; i > 0 && !last; i--) {
        const json_t *message = json_array_get (messages, i - 1);
        role = json_string_value (json_object_get (message, "role"));
        if (role && strcmp (role, "user") == 0)
            last = argos_messages_text (json_object_get (message, "content"));
    }
    return last;
}

void
argos_rehearsal_script_answer (
    argos_rehearsal_script_t *self, const char *body, size_t size, argos_rehearsal_reply_t *reply)
{
    *reply = (argos_rehearsal_reply_t){ .status = 200, .content_type = "text/event-stream" };
    argos_text_init (&reply->text, REPLY_MAX);
    argos_text_init (&reply->tail, REPLY_MAX);
    json_t *value = argos_rehearsal_load (body, size);
    const json_t *messages = json_object_get (value, "messages");
    bool result = false;
    char *text = json_is_array (messages) ? s_last_text (messages, &result) : NULL;
    if (!text) {
        s_fail (reply, 400, "invalid_request_error", "expected JSON with a user message");
        json_decref (value);
        return;
    }
    s_request_t request = { .text = text,
        .text_size = strlen (text),
        .stream = json_is_true (json_object_get (value, "stream")),
        .usage = json_is_true (
            json_object_get (json_object_get (value, "stream_options"), "include_usage")),
        .prompt = s_tokens (size) };
    if (result)
        s_say (&request, reply, text, request.text_size);
    else
        s_play (self, &request, reply);
    free (text);
    json_decref (value);
}
