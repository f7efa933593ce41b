//  argos_telegram_api - calls of the Bot API.
//
//  Invariant: a call is in the list from tg_api until its function was told, so that nothing is
//  lost when the actor ends. The token is in the address: neither is ever written down. Limits:
//  answers of 8 MiB.

#include "argos_telegram_priv.h"

#include "argos_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define ANSWER_MAX 8388608 //  Bytes of an answer: 100 updates
#define WAIT_MORE_MS 500   //  Behind what the server asks for
#define WAIT_MS 5000       //  When it does not say how long
#define WAIT_MAX_S 86400   //  Longest that is believed
#define UPLOAD_MS 300000   //  Patience with a file
#define PARTS_MAX 48       //  Of an upload

struct tg_call {
    telegram_t *telegram;   //  Whose
    tg_fn *fn;              //  Told
    void *arg;              //  Its argument
    tg_call_t *prev, *next; //  In the list
};

//  Whoever waits for one is told, and frees what he has for it.

void
tg_calls_free (telegram_t *self)
{
    argos_http_answer_t http = { .phase = ARGOS_HTTP_UNKNOWN, .body = "", .error = "the end" };
    tg_answer_t answer = { .http = &http, .error = ARGOS_TG_BROKEN, .why = http.error };
    while (self->calls) {
        tg_call_t *call = self->calls;
        DL_DELETE (self->calls, call);
        call->fn (call->arg, &answer);
        free (call);
    }
}

static int64_t
s_wait (const json_t *parameters, const argos_http_answer_t *http)
{
    int64_t seconds = json_integer_value (json_object_get (parameters, "retry_after"));
    if (seconds > WAIT_MAX_S)
        seconds = WAIT_MAX_S;
    if (seconds > 0)
        return seconds * 1000 + WAIT_MORE_MS;
    return http->retry_after_ms > 0 ? http->retry_after_ms + WAIT_MORE_MS : WAIT_MS;
}

static void
s_on_answer (void *arg, const argos_http_answer_t *http)
{
    tg_call_t *call = arg;
    json_t *body = http->phase == ARGOS_HTTP_ANSWERED
                       ? argos_json_load_mended (http->body, http->size, 0, NULL)
                       : NULL;
    const char *why = json_string_value (json_object_get (body, "description"));
    const json_t *parameters = json_object_get (body, "parameters");
    int code = (int) json_integer_value (json_object_get (body, "error_code"));
    tg_answer_t answer = { .http = http,
        .ok = http->phase == ARGOS_HTTP_ANSWERED && json_is_true (json_object_get (body, "ok")),
        .result = json_object_get (body, "result"),
        .error = argos_tg_error (code ? code : http->status, why),
        .why = why            ? why
               : *http->error ? http->error
                              : "the answer is none of the Bot API",
        .migrated = json_integer_value (json_object_get (parameters, "migrate_to_chat_id")) };
    //  What is no JSON comes from something in between
    if (!body && http->phase == ARGOS_HTTP_ANSWERED && http->status / 100 == 2)
        answer.error = ARGOS_TG_BROKEN;
    if (answer.error == ARGOS_TG_WAIT)
        answer.wait_ms = s_wait (parameters, http);
    DL_DELETE (call->telegram->calls, call);
    call->fn (call->arg, &answer);
    free (call);
    json_decref (body);
}

static bool
s_begin (telegram_t *self, const char *method, argos_http_request_t *request, tg_fn *fn, void *arg)
{
    char url[1024];
    tg_call_t *call = calloc (1, sizeof *call);
    if (!call)
        abort ();
    *call = (tg_call_t){ .telegram = self, .fn = fn, .arg = arg };
    snprintf (url, sizeof url, "%s/bot%s/%s", self->base, self->token, method);
    request->url = url;
    request->secret = self->token;
    request->answer_max = ANSWER_MAX;
    DL_APPEND (self->calls, call);
    argos_http_call_t *made = argos_adapter_http (self->adapter, request, s_on_answer, call);
    explicit_bzero (url, sizeof url);
    if (!made) {
        DL_DELETE (self->calls, call);
        free (call);
    }
    return made != NULL;
}

bool
tg_api (telegram_t *self, const char *method, json_t *params, bool once, int64_t timeout_ms,
    tg_fn *fn, void *arg)
{
    size_t size = 0;
    char *text = argos_json_dumps (params, &size);
    if (!text)
        abort ();
    argos_http_request_t request = {
        .body = text, .size = size, .once = once, .timeout_ms = timeout_ms
    };
    bool begun = s_begin (self, method, &request, fn, arg);
    free (text);
    json_decref (params);
    return begun;
}

bool
tg_upload (telegram_t *self, const char *method, json_t *params, const argos_http_part_t *files,
    size_t count, tg_fn *fn, void *arg)
{
    argos_http_part_t parts[PARTS_MAX];
    char *texts[PARTS_MAX];
    size_t used = 0;
    const char *name;
    json_t *value;
    json_object_foreach (params, name, value) {
        if (used == PARTS_MAX)
            break;
        texts[used] = json_is_string (value) ? strdup (json_string_value (value))
                                             : json_dumps (value, JSON_COMPACT | JSON_ENCODE_ANY);
        if (!texts[used])
            abort ();
        parts[used] = (argos_http_part_t){ .name = name, .text = texts[used] };
        used++;
    }
    size_t named = used;
    for (size_t i = 0; i < count && used < PARTS_MAX; i++)
        parts[used++] = files[i];
    argos_http_request_t request = {
        .parts = parts, .part_count = used, .once = true, .timeout_ms = UPLOAD_MS
    };
    bool begun = s_begin (self, method, &request, fn, arg);
    for (size_t i = 0; i < named; i++)
        free (texts[i]);
    json_decref (params);
    return begun;
}

argos_http_call_t *
tg_download (telegram_t *self, const char *path, int fd, int64_t max, argos_http_fn *fn, void *arg)
{
    char url[1536];
    snprintf (url, sizeof url, "%s/file/bot%s/%.500s", self->base, self->token, path);
    argos_http_request_t request = { .url = url,
        .secret = self->token,
        .answer_fd = fd,
        .answer_max = (size_t) max,
        .timeout_ms = UPLOAD_MS };
    argos_http_call_t *call = argos_adapter_http (self->adapter, &request, fn, arg);
    explicit_bzero (url, sizeof url);
    return call;
}

//  ------------------------------------------------------------------------------------------------
//  Chats that have got another id

json_t *
tg_chat (const telegram_t *self, const char *chat_id)
{
    const char *newest = json_string_value (json_object_get (self->targets, chat_id));
    const char *text = newest ? newest : chat_id;
    char *end = NULL;
    int64_t number = strtoll (text, &end, 10);
    return *text && !*end ? json_integer (number) : json_string (text);
}

void
tg_migrated (telegram_t *self, int64_t old_chat, int64_t new_chat)
{
    char first[32], newest[32];
    snprintf (first, sizeof first, "%" PRId64, old_chat);
    snprintf (newest, sizeof newest, "%" PRId64, new_chat);
    //  Of several migrations the first id stays
    const char *before = json_string_value (json_object_get (self->aliases, first));
    if (before)
        snprintf (first, sizeof first, "%.31s", before);
    if (!new_chat || json_object_get (self->aliases, newest))
        return;
    json_object_set_new (self->aliases, newest, json_string (first));
    json_object_set_new (self->targets, first, json_string (newest));
    char key[64];
    snprintf (key, sizeof key, "chat/%s", newest);
    argos_adapter_keep (self->adapter, key, json_pack ("{s:s}", "first", first));
    argos_log (ARGOS_LOG_INFO, argos_adapter_name (self->adapter), "group migrated",
        "first=%s now=%s", first, newest);
}
