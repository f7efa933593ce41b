//  argos_slack_api - calls of the Web API.
//
//  Invariant: a call is in the list from sl_api until its function was told. Slack says what is
//  wrong in the body of a 200; a limit is told by 429 and Retry-After, or by a word. Limits:
//  answers of 4 MiB.

#include "argos_slack_priv.h"

#include "argos_json.h"
#include "argos_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define ANSWER_MAX 4194304 //  Bytes of an answer
#define UPLOAD_MS 300000   //  Patience with a file
#define WAIT_MS 10000      //  When a limit does not say how long
#define FORM_MAX 65536     //  Bytes of a form

struct sl_call {
    slack_t *slack;         //  Whose
    sl_fn *fn;              //  Told
    void *arg;              //  Its argument
    bool raw;               //  The answer is no JSON: an upload
    sl_call_t *prev, *next; //  In the list
};

const char *
sl_member (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

void
sl_ignore (void *arg, const sl_answer_t *answer)
{
    (void) arg;
    (void) answer;
}

const char *
sl_help (const char *error)
{
    static const char *const words[][2] = {
        { "invalid_auth",
            "Slack refuses a token; install the app anew and copy it (api.slack.com/apps)" },
        { "not_authed",
            "Slack refuses a token; install the app anew and copy it (api.slack.com/apps)" },
        { "token_revoked", "the token was revoked: install the app anew (api.slack.com/apps)" },
        { "token_expired", "the token has expired: install the app anew (api.slack.com/apps)" },
        { "account_inactive", "the app was removed from its workspace: install it anew" },
        { "not_allowed_token_type",
            "the tokens are in each other's place: token is xoxb-, app_token is xapp-" },
        { "missing_scope", "the app lacks a right: see the scopes in docs/platforms/slack.md" },
        { "link_disabled", "Socket Mode is turned off: turn it on in the settings of the app" },
    };
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        if (strcmp (words[at][0], error) == 0)
            return words[at][1];
    return NULL;
}

static void
s_free (sl_call_t *call)
{
    DL_DELETE (call->slack->calls, call);
    free (call);
}

void
sl_calls_free (slack_t *self)
{
    argos_http_answer_t http = { .phase = ARGOS_HTTP_UNKNOWN, .body = "", .error = "the end" };
    sl_answer_t answer = { .http = &http, .error = http.error };
    while (self->calls) {
        sl_fn *fn = self->calls->fn;
        void *arg = self->calls->arg;
        s_free (self->calls);
        fn (arg, &answer);
    }
}

static void
s_on_answer (void *arg, const argos_http_answer_t *http)
{
    sl_call_t *call = arg;
    bool answered = http->phase == ARGOS_HTTP_ANSWERED;
    json_t *body =
        answered && !call->raw ? argos_json_load_mended (http->body, http->size, 0, NULL) : NULL;
    const char *error = json_string_value (json_object_get (body, "error"));
    sl_answer_t answer = { .http = http,
        .ok = answered && http->status / 100 == 2 &&
              (call->raw || json_is_true (json_object_get (body, "ok"))),
        .body = body,
        .error = error          ? error
                 : *http->error ? http->error
                                : "the answer is none of Slack's API" };
    if (answered && (http->status == 429 || strcmp (answer.error, "ratelimited") == 0 ||
                        strcmp (answer.error, "rate_limited") == 0))
        answer.wait_ms = http->retry_after_ms > 0 ? http->retry_after_ms + 200 : WAIT_MS;
    sl_fn *fn = call->fn;
    void *target = call->arg;
    s_free (call);
    fn (target, &answer);
    json_decref (body);
}

static bool
s_begin (slack_t *self, argos_http_request_t *request, bool raw, sl_fn *fn, void *arg)
{
    sl_call_t *call = calloc (1, sizeof *call);
    if (!call)
        abort ();
    *call = (sl_call_t){ .slack = self, .fn = fn, .arg = arg, .raw = raw };
    request->secret = self->token;
    request->answer_max = ANSWER_MAX;
    DL_APPEND (self->calls, call);
    argos_http_call_t *made = argos_adapter_http (self->adapter, request, s_on_answer, call);
    if (!made)
        s_free (call);
    return made != NULL;
}

//  name=value&..., percent-encoded
static char *
s_form (json_t *params)
{
    argos_text_t out;
    const char *name;
    json_t *value;
    argos_text_init (&out, FORM_MAX);
    json_object_foreach (params, name, value) {
        char *made =
            json_is_string (value) ? NULL : json_dumps (value, JSON_ENCODE_ANY | JSON_COMPACT);
        const char *text = made ? made : json_string_value (value);
        argos_text_add (&out, "&", out.size ? 1 : 0);
        argos_text_add (&out, name, strlen (name));
        argos_text_add (&out, "=", 1);
        for (; text && *text; text++) {
            char code[4];
            snprintf (code, sizeof code, "%%%02X", (unsigned char) *text);
            bool plain = isalnum ((unsigned char) *text) || strchr ("-_.~", *text);
            argos_text_add (&out, plain ? text : code, plain ? 1 : 3);
        }
        free (made);
    }
    char *result = out.data ? out.data : strdup ("");
    if (!result)
        abort ();
    return result;
}

bool
sl_api (
    slack_t *self, const char *method, json_t *params, bool form, bool once, sl_fn *fn, void *arg)
{
    char url[700], authorization[600];
    size_t size = 0;
    char *text = form ? s_form (params) : argos_json_dumps (params, &size);
    if (!text)
        abort ();
    bool app = strcmp (method, "apps.connections.open") == 0;
    snprintf (url, sizeof url, "%s/%s", self->base, method);
    snprintf (authorization, sizeof authorization, "Authorization: Bearer %s",
        app ? self->app_token : self->token);
    const char *headers[] = { authorization, NULL };
    argos_http_request_t request = { .url = url,
        .headers = headers,
        .body = text,
        .size = form ? strlen (text) : size,
        .media_type =
            form ? "application/x-www-form-urlencoded" : "application/json; charset=utf-8",
        .once = once };
    bool begun = s_begin (self, &request, false, fn, arg);
    explicit_bzero (authorization, sizeof authorization);
    free (text);
    json_decref (params);
    return begun;
}

bool
sl_upload (slack_t *self, const char *url, const argos_http_part_t *file, sl_fn *fn, void *arg)
{
    argos_http_request_t request = {
        .url = url, .parts = file, .part_count = 1, .timeout_ms = UPLOAD_MS
    };
    return s_begin (self, &request, true, fn, arg);
}
