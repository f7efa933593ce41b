//  argos_discord_api - calls of the REST API, and the limits that its answers tell.
//
//  Invariant: a call is in the list from dc_api until its function was told. What the headers say
//  of a route is kept in argos_rate under the bucket that the caller named; 401, 403 and 429 are
//  counted, because 10,000 of them in ten minutes shut the host out: at a thousand nothing is
//  called for ten minutes. Limits: answers of 4 MiB.

#include "argos_discord_priv.h"

#include "argos_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define ANSWER_MAX 4194304    //  Bytes of an answer
#define UPLOAD_MS 300000      //  Patience with a file
#define INVALID_MAX 1000      //  Answers 401, 403, 429 in INVALID_MS
#define INVALID_MS 600000     //  .
#define BANNED_MS 60000       //  When a proxy says 429 and not for how long
#define WAIT_MAX_MS 3600000.0 //  Longest that is believed
#define PARTS_MAX 11          //  Of an upload

struct dc_call {
    discord_t *discord;     //  Whose
    char *bucket;           //  NULL = none
    dc_fn *fn;              //  Told
    void *arg;              //  Its argument
    dc_call_t *prev, *next; //  In the list
};

const char *
dc_member (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

void
dc_ignore (void *arg, const dc_answer_t *answer)
{
    (void) arg;
    (void) answer;
}

static void
s_free (dc_call_t *call)
{
    DL_DELETE (call->discord->calls, call);
    free (call->bucket);
    free (call);
}

void
dc_calls_free (discord_t *self)
{
    argos_http_answer_t http = { .phase = ARGOS_HTTP_UNKNOWN, .body = "", .error = "the end" };
    dc_answer_t answer = { .http = &http, .why = http.error };
    while (self->calls) {
        dc_fn *fn = self->calls->fn;
        void *arg = self->calls->arg;
        s_free (self->calls);
        fn (arg, &answer);
    }
}

static int64_t
s_ms (double seconds)
{
    double ms = seconds * 1000.0;
    return ms > WAIT_MAX_MS ? (int64_t) WAIT_MAX_MS : ms > 0 ? (int64_t) ms + 1 : 0;
}

static void
s_count_invalid (discord_t *self, int status, const argos_http_answer_t *http, int64_t now)
{
    bool shared = strcmp (argos_http_answer_header (http, "X-RateLimit-Scope"), "shared") == 0;
    if (status != 401 && status != 403 && (status != 429 || shared))
        return;
    if (now - self->invalid_since > INVALID_MS) {
        self->invalid_since = now;
        self->invalid = 0;
    }
    if (++self->invalid < INVALID_MAX)
        return;
    self->global_ms = now + INVALID_MS;
    self->invalid = 0;
    argos_log (ARGOS_LOG_ERROR, argos_adapter_name (self->adapter), "too many refusals",
        "limit=%d hint=\"nothing is sent for ten minutes: more would shut this host out\"",
        INVALID_MAX);
}

//  What the headers and a 429 say about the next call
static void
s_limits (dc_call_t *call, const argos_http_answer_t *http, const json_t *body, dc_answer_t *answer)
{
    discord_t *self = call->discord;
    int64_t now = argos_shell_now ();
    s_count_invalid (self, http->status, http, now);
    const char *left = argos_http_answer_header (http, "X-RateLimit-Remaining");
    if (call->bucket && strcmp (left, "0") == 0) {
        double after = strtod (argos_http_answer_header (http, "X-RateLimit-Reset-After"), NULL);
        argos_rate_hold (argos_adapter_rate (self->adapter), call->bucket, now + s_ms (after));
    }
    if (http->status != 429)
        return;
    const json_t *retry = json_object_get (body, "retry_after");
    if (json_is_number (retry))
        answer->wait_ms = s_ms (json_number_value (retry));
    else
        answer->wait_ms = http->retry_after_ms > 0 ? http->retry_after_ms : BANNED_MS;
    if (answer->wait_ms < 1)
        answer->wait_ms = 1;
    //  What is no JSON comes from the proxy in front, and is about all of us
    if (!body || json_is_true (json_object_get (body, "global")))
        self->global_ms = now + answer->wait_ms;
}

static void
s_on_answer (void *arg, const argos_http_answer_t *http)
{
    dc_call_t *call = arg;
    bool answered = http->phase == ARGOS_HTTP_ANSWERED;
    json_t *body =
        answered && http->size ? argos_json_load_mended (http->body, http->size, 0, NULL) : NULL;
    const char *why = json_string_value (json_object_get (body, "message"));
    dc_answer_t answer = { .http = http,
        .ok = answered && http->status / 100 == 2 && (body || !http->size),
        .body = body,
        .code = (int) json_integer_value (json_object_get (body, "code")),
        .why = why            ? why
               : *http->error ? http->error
                              : "the answer is none of Discord's API" };
    if (answered)
        s_limits (call, http, body, &answer);
    dc_fn *fn = call->fn;
    void *target = call->arg;
    s_free (call);
    fn (target, &answer);
    json_decref (body);
}

static bool
s_begin (discord_t *self, const char *path, argos_http_request_t *request, const char *bucket,
    dc_fn *fn, void *arg)
{
    char url[1536], authorization[600];
    dc_call_t *call = calloc (1, sizeof *call);
    if (!call)
        abort ();
    *call = (dc_call_t){ .discord = self, .fn = fn, .arg = arg };
    if (bucket && !(call->bucket = strdup (bucket)))
        abort ();
    snprintf (url, sizeof url, "%s%s", self->base, path);
    snprintf (authorization, sizeof authorization, "Authorization: Bot %s", self->token);
    //  A callback of an interaction is authorized by its token
    bool open = strncmp (path, "/interactions/", 14) == 0;
    const char *headers[] = { "User-Agent: " DC_AGENT, open ? NULL : authorization, NULL };
    request->url = url;
    request->headers = headers;
    request->secret = self->token;
    request->answer_max = ANSWER_MAX;
    DL_APPEND (self->calls, call);
    argos_http_call_t *made = argos_adapter_http (self->adapter, request, s_on_answer, call);
    explicit_bzero (authorization, sizeof authorization);
    if (!made)
        s_free (call);
    return made != NULL;
}

bool
dc_api (discord_t *self, const char *method, const char *path, json_t *params, const char *bucket,
    dc_fn *fn, void *arg)
{
    size_t size = 0;
    char *text = params ? argos_json_dumps (params, &size) : NULL;
    argos_http_request_t request = { .method = method,
        .body = text                          ? text
                : strcmp (method, "GET") == 0 ? NULL
                                              : "",
        .size = size,
        .once = strcmp (method, "POST") == 0 };
    bool begun = s_begin (self, path, &request, bucket, fn, arg);
    free (text);
    json_decref (params);
    return begun;
}

bool
dc_upload (discord_t *self, const char *path, json_t *params, const argos_http_part_t *files,
    size_t count, const char *bucket, dc_fn *fn, void *arg)
{
    argos_http_part_t parts[PARTS_MAX];
    size_t size = 0;
    char *text = argos_json_dumps (params, &size);
    if (!text)
        abort ();
    parts[0] = (argos_http_part_t){ .name = "payload_json", .text = text };
    size_t used = 1;
    for (size_t at = 0; at < count && used < PARTS_MAX; at++)
        parts[used++] = files[at];
    argos_http_request_t request = {
        .parts = parts, .part_count = used, .once = true, .timeout_ms = UPLOAD_MS
    };
    bool begun = s_begin (self, path, &request, bucket, fn, arg);
    free (text);
    json_decref (params);
    return begun;
}
