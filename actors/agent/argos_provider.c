//  argos_provider - calls of a model over HTTP: libcurl multi inside the caller's loop.
//
//  Invariant: a call is in the list from argos_provider_call until it has ended; the list says
//  which are open; a heap says which may have stalled first.

#include "argos_anthropic.h"
#include "argos_openai.h"
#include "argos_provider_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define RECV_BYTES 4096L      //  Buffer of a call for what comes
#define SEND_BYTES 16384L     //  And for what goes
#define PLAIN_MAX 2097152     //  Bytes kept of an answer that is no event stream
#define CONNECT_MS 30000      //  Longest time to connect
#define CONNECTIONS_MAX 1024L //  Idle connections kept

//  ------------------------------------------------------------------------------------------------
//  The end of a call

static void
s_free (argos_call_t *call)
{
    argos_provider_t *self = call->provider;
    DL_DELETE (self->calls, call);
    argos_due_set (&self->stalls, &call->stall, -1);
    self->count--;
    curl_multi_remove_handle (self->curl.multi, call->easy);
    if (self->idle_count < PROVIDER_IDLE) {
        curl_easy_reset (call->easy);
        self->idle[self->idle_count++] = call->easy;
    }
    else
        curl_easy_cleanup (call->easy);
    argos_answer_destroy (&call->answer);
    argos_sse_clear (&call->sse);
    argos_text_clear (&call->plain);
    free (call->body);
    free (call);
}

static void
s_finish (argos_call_t *call, CURLcode code, const char *forced)
{
    argos_provider_error_t error = { .class = ARGOS_PE_TIMEOUT };
    argos_answer_kind_t kind = ARGOS_ANSWER_FAILED;
    if (forced)
        snprintf (error.message, sizeof error.message, "%s", forced);
    else
        kind = argos_call_judge (call, code, &error);
    bool good = kind == ARGOS_ANSWER_TEXT || kind == ARGOS_ANSWER_TOOLS;
    call->handlers.on_end (call->arg, call->answer, kind, good ? NULL : &error);
    s_free (call);
}

//  ------------------------------------------------------------------------------------------------
//  The provider

static bool
s_fits (char *target, size_t size, const char *source)
{
    bool fits = strlen (source) < size;
    snprintf (target, size, "%s", fits ? source : "");
    return fits;
}

void
argos_provider_settings_init (
    argos_provider_settings_t *settings, const argos_config_provider_t *config)
{
    *settings = (argos_provider_settings_t){ .kind = config->kind };
    bool fit = s_fits (settings->base_url, sizeof settings->base_url, config->base_url) &&
               s_fits (settings->model, sizeof settings->model, config->model) &&
               s_fits (settings->key, sizeof settings->key, config->key);
    snprintf (settings->problem, sizeof settings->problem, "%s",
        fit || *config->problem ? config->problem
                                : "the provider's address, model or key is too long");
}

static void
s_get_part (CURLU *url, CURLUPart part, char *target, size_t size)
{
    char *text = NULL;
    if (curl_url_get (url, part, &text, 0) == CURLUE_OK)
        snprintf (target, size, "%s", text);
    curl_free (text);
}

static void
s_set_target (argos_provider_t *self)
{
    const argos_provider_settings_t *settings = &self->settings;
    bool anthropic = settings->kind == ARGOS_PROVIDER_ANTHROPIC;
    snprintf (self->url, sizeof self->url, "%s%s", settings->base_url,
        anthropic ? "/v1/messages" : "/chat/completions");
    CURLU *url = curl_url ();
    if (url && curl_url_set (url, CURLUPART_URL, self->url, 0) == CURLUE_OK) {
        s_get_part (url, CURLUPART_HOST, self->host, sizeof self->host);
        s_get_part (url, CURLUPART_PATH, self->path, sizeof self->path);
    }
    //  Errors name the address; a user and a password in it are nobody's business
    if (url && curl_url_set (url, CURLUPART_URL, settings->base_url, 0) == CURLUE_OK &&
        curl_url_set (url, CURLUPART_USER, NULL, 0) == CURLUE_OK &&
        curl_url_set (url, CURLUPART_PASSWORD, NULL, 0) == CURLUE_OK &&
        curl_url_set (url, CURLUPART_QUERY, NULL, 0) == CURLUE_OK)
        s_get_part (url, CURLUPART_URL, self->base, sizeof self->base);
    curl_url_cleanup (url);
    self->local = argos_provider_is_local (self->host);
    if (!self->settings.connect_ms)
        self->settings.connect_ms = CONNECT_MS;
}

static void
s_add_header (argos_provider_t *self, const char *name, const char *value)
{
    char line[4200];
    snprintf (line, sizeof line, "%s: %s", name, value);
    struct curl_slist *list = curl_slist_append (self->headers, line);
    if (list)
        self->headers = list;
    explicit_bzero (line, sizeof line);
}

static void
s_set_headers (argos_provider_t *self)
{
    char bearer[4110];
    s_add_header (self, "Content-Type", "application/json");
    s_add_header (self, "Accept", "text/event-stream");
    s_add_header (self, "Expect", ""); //  Never wait for 100-continue
    if (self->settings.kind == ARGOS_PROVIDER_ANTHROPIC) {
        s_add_header (self, "anthropic-version", "2023-06-01");
        s_add_header (self, "x-api-key", self->settings.key);
    }
    else if (*self->settings.key) {
        snprintf (bearer, sizeof bearer, "Bearer %s", self->settings.key);
        s_add_header (self, "Authorization", bearer);
        explicit_bzero (bearer, sizeof bearer);
    }
}

argos_provider_t *
argos_provider_new (const argos_provider_settings_t *settings)
{
    argos_provider_t *self = (argos_provider_t *) calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->settings = *settings;
    if (argos_curl_init (&self->curl, CONNECTIONS_MAX) < 0) {
        argos_provider_destroy (&self);
        return NULL;
    }
    s_set_target (self);
    s_set_headers (self);
    return self;
}

void
argos_provider_destroy (argos_provider_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_provider_t *self = *self_p;
    while (self->calls)
        s_free (self->calls);
    argos_due_clear (&self->stalls);
    argos_tool_memo_clear (&self->tools);
    while (self->idle_count)
        curl_easy_cleanup (self->idle[--self->idle_count]);
    argos_curl_clear (&self->curl);
    for (struct curl_slist *at = self->headers; at; at = at->next)
        explicit_bzero (at->data, strlen (at->data)); //  The key is in one of them
    curl_slist_free_all (self->headers);
    explicit_bzero (self->settings.key, sizeof self->settings.key);
    free (self);
    *self_p = NULL;
}

int
argos_provider_fd (const argos_provider_t *self)
{
    return self->curl.fd;
}

size_t
argos_provider_calls (const argos_provider_t *self)
{
    return self->count;
}

int64_t
argos_provider_due (const argos_provider_t *self)
{
    int64_t stall_ms = argos_due_first (&self->stalls);
    int64_t due_ms = self->curl.due_ms;
    return stall_ms >= 0 && (due_ms < 0 || stall_ms < due_ms) ? stall_ms : due_ms;
}

static void
s_set_options (argos_call_t *call)
{
    argos_provider_t *self = call->provider;
    CURL *easy = call->easy;
    curl_easy_setopt (easy, CURLOPT_URL, self->url);
    curl_easy_setopt (easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt (easy, CURLOPT_HTTPHEADER, self->headers);
    curl_easy_setopt (easy, CURLOPT_POST, 1L);
    curl_easy_setopt (easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) call->body_size);
    curl_easy_setopt (easy, CURLOPT_POSTFIELDS, call->body);
    curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
    //  Its own buffers would be 16 and 64 KiB of each of a thousand turns
    curl_easy_setopt (easy, CURLOPT_BUFFERSIZE, RECV_BYTES);
    curl_easy_setopt (easy, CURLOPT_UPLOAD_BUFFERSIZE, SEND_BYTES);
    curl_easy_setopt (easy, CURLOPT_NOPROGRESS, 1L);
    curl_easy_setopt (easy, CURLOPT_CONNECTTIMEOUT_MS, (long) self->settings.connect_ms);
    curl_easy_setopt (easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt (easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt (easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt (easy, CURLOPT_USERAGENT, "argos");
    curl_easy_setopt (easy, CURLOPT_ERRORBUFFER, call->curl_error);
    curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, argos_call_on_data);
    curl_easy_setopt (easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt (easy, CURLOPT_HEADERFUNCTION, argos_call_on_header);
    curl_easy_setopt (easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt (easy, CURLOPT_PRIVATE, call);
}

argos_call_t *
argos_provider_call (argos_provider_t *self, const argos_request_t *request, const char *seed,
    const argos_call_handlers_t *handlers, void *arg, int64_t now)
{
    assert (handlers->on_end);
    argos_call_t *call = (argos_call_t *) calloc (1, sizeof *call);
    CURL *easy = self->idle_count ? self->idle[--self->idle_count] : curl_easy_init ();
    if (!call || !easy)
        abort ();
    argos_request_t full = *request;
    full.memo = &self->tools;
    if (!full.model)
        full.model = self->settings.model;
    *call = (argos_call_t){ .provider = self,
        .easy = easy,
        .handlers = *handlers,
        .arg = arg,
        .answer = argos_answer_new (),
        .data_ms = now };
    if (full.begun)
        argos_answer_add_text (call->answer, full.begun, strlen (full.begun));
    snprintf (call->seed, sizeof call->seed, "%s", seed);
    argos_sse_init (&call->sse);
    argos_text_init (&call->plain, PLAIN_MAX);
    call->body = self->settings.kind == ARGOS_PROVIDER_ANTHROPIC
                     ? argos_anthropic_request (&full)
                     : argos_openai_request (&full, self->host);
    if (!call->body)
        abort ();
    call->body_size = strlen (call->body);
    call->stall_ms = argos_provider_stall_ms (
        self->settings.stall_ms, self->local, call->body_size, full.adjust & ARGOS_ADJUST_STREAM);
    call->stall.owner = call;
    if (call->stall_ms)
        argos_due_set (&self->stalls, &call->stall, now + call->stall_ms);
    DL_APPEND (self->calls, call);
    self->count++;
    self->curl.now = now;
    s_set_options (call);
    curl_multi_add_handle (self->curl.multi, easy);
    return call;
}

int64_t
argos_call_data_ms (const argos_call_t *call)
{
    return call->data_ms;
}

void
argos_call_abort (argos_call_t **call_p)
{
    if (*call_p)
        s_free (*call_p);
    *call_p = NULL;
}

static void
s_on_ended (void *transfer, CURLcode code)
{
    s_finish ((argos_call_t *) transfer, code, NULL);
}

static bool
s_is_connected (const argos_call_t *call)
{
    curl_off_t msec = 0;
    curl_easy_getinfo (call->easy, CURLINFO_PRETRANSFER_TIME_T, &msec);
    return msec > 0;
}

//  A node says when a call would be silent for too long if nothing came since it was set
static void
s_end_stalled (argos_provider_t *self)
{
    for (argos_due_node_t *node; (node = argos_due_pop (&self->stalls, self->curl.now));) {
        argos_call_t *call = (argos_call_t *) node->owner;
        int64_t due_ms = call->data_ms + call->stall_ms;
        if (!s_is_connected (call)) //  That has a limit of its own
            due_ms += self->settings.connect_ms;
        if (due_ms > self->curl.now)
            argos_due_set (&self->stalls, node, due_ms);
        else
            s_finish (call, CURLE_OK, "the provider was silent for too long");
    }
}

void
argos_provider_turn (argos_provider_t *self, int64_t now, int64_t wall)
{
    self->wall = wall;
    argos_curl_turn (&self->curl, now, s_on_ended);
    s_end_stalled (self);
}
