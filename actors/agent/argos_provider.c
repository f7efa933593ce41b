//  argos_provider - calls of a model over HTTP: libcurl multi inside the caller's loop.
//
//  libcurl tells which sockets to watch (they go into one epoll set) and when it wants to be called
//  (due_ms). Invariant: a call is in the list from argos_provider_call until it has ended; the list
//  is in order of the last data event, so the first one is the first to stall. A handle is taken
//  out of the multi only outside of libcurl's own callbacks.

#include "argos_provider.h"

#include "argos_anthropic.h"
#include "argos_openai.h"
#include "argos_sse.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#define ANSWER_MAX 16777216   //  Bytes of an answer
#define PLAIN_MAX 2097152     //  Bytes kept of an answer that is no event stream
#define STALL_MS 180000       //  Longest time without a data event
#define CONNECT_MS 30000      //  Longest time to connect
#define IDLE_HANDLES 64       //  Easy handles kept for the next calls
#define CONNECTIONS_MAX 1024L //  Idle connections kept
#define EVENTS_MAX 256        //  Sockets served in one turn

struct argos_provider {
    argos_provider_settings_t settings; //  Who is called
    CURLM *multi;                       //  All transfers
    int fd;                             //  epoll set of their sockets
    int64_t due_ms;                     //  When libcurl wants to be called, -1 = never
    int64_t now;                        //  Time of this turn, monotonic msec
    int64_t wall;                       //  The same, msec since 1970
    struct curl_slist *headers;         //  Headers of every request
    char url[640];                      //  Of every request
    char host[256];                     //  Host name in it
    bool stalls;                        //  Silence ends a call
    argos_call_t *calls;                //  In flight, the longest silent one first
    size_t count;                       //  How many
    CURL *idle[IDLE_HANDLES];           //  Easy handles to be used again
    size_t idle_count;                  //  How many
};

struct argos_call {
    argos_provider_t *provider;       //  Its provider
    CURL *easy;                       //  Transfer
    char *body;                       //  Request body
    argos_call_handlers_t handlers;   //  Who is told
    void *arg;                        //  With what
    char seed[129];                   //  Makes missing tool call ids
    argos_answer_t *answer;           //  So far
    argos_sse_t sse;                  //  Event reader
    argos_json_carry_t carry;         //  Half pairs between chunks
    argos_text_t plain;               //  Body that is no event stream
    size_t received;                  //  Bytes of the answer
    int64_t data_ms;                  //  Time of the last data event
    int64_t retry_after_ms;           //  What the provider asked for
    bool plain_body;                  //  The answer is no event stream
    bool told_type;                   //  The kind of body has been decided
    bool too_big;                     //  Over the limit
    char curl_error[CURL_ERROR_SIZE]; //  libcurl's words
    argos_call_t *prev, *next;        //  In the list
};

//  ------------------------------------------------------------------------------------------------
//  libcurl's wishes

static int
s_on_socket (CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    (void) easy;
    argos_provider_t *self = (argos_provider_t *) arg;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl (self->fd, EPOLL_CTL_DEL, fd, NULL);
        curl_multi_assign (self->multi, fd, NULL);
        return 0;
    }
    struct epoll_event event = { .data.fd = fd };
    if (what != CURL_POLL_OUT)
        event.events |= EPOLLIN;
    if (what != CURL_POLL_IN)
        event.events |= EPOLLOUT;
    int rc = epoll_ctl (self->fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
    if (rc < 0) //  The number was closed and came back without a word
        epoll_ctl (self->fd, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    curl_multi_assign (self->multi, fd, self);
    return 0;
}

static int
s_on_timer (CURLM *multi, long timeout_ms, void *arg)
{
    (void) multi;
    argos_provider_t *self = (argos_provider_t *) arg;
    self->due_ms = timeout_ms < 0 ? -1 : self->now + timeout_ms;
    return 0;
}

//  ------------------------------------------------------------------------------------------------
//  Reading an answer

static bool
s_on_event (void *arg, const char *event, const char *data, size_t size)
{
    (void) event;
    argos_call_t *call = (argos_call_t *) arg;
    argos_provider_t *self = call->provider;
    call->data_ms = self->now;
    DL_DELETE (self->calls, call);
    DL_APPEND (self->calls, call);
    if (self->settings.kind == ARGOS_PROVIDER_ANTHROPIC)
        argos_anthropic_event (call->answer, &call->carry, data, size);
    else
        argos_openai_event (call->answer, &call->carry, data, size);
    return !call->answer->failed;
}

//  An event stream is one by its type; servers that forget the type are known by the first bytes
static void
s_decide_kind (argos_call_t *call, const char *data, size_t size)
{
    char *type = NULL;
    long status = 0;
    curl_easy_getinfo (call->easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo (call->easy, CURLINFO_RESPONSE_CODE, &status);
    bool typed = type && strncasecmp (type, "text/event-stream", 17) == 0;
    bool looks = (size >= 5 && memcmp (data, "data:", 5) == 0) ||
                 (size >= 6 && memcmp (data, "event:", 6) == 0) || (size && *data == ':');
    call->plain_body = status != 200 || !(typed || looks);
    call->told_type = true;
}

static size_t
s_on_data (char *data, size_t one, size_t count, void *arg)
{
    argos_call_t *call = (argos_call_t *) arg;
    size_t size = one * count;
    call->received += size;
    if (call->received > ANSWER_MAX) {
        call->too_big = true;
        return 0;
    }
    if (!call->told_type)
        s_decide_kind (call, data, size);
    if (call->plain_body) {
        size_t left = call->plain.max - call->plain.size;
        argos_text_add (&call->plain, data, size < left ? size : left);
        return size;
    }
    size_t text = call->answer->text.size;
    if (argos_sse_feed (&call->sse, data, size, s_on_event, call) < 0)
        argos_answer_fail (call->answer, "format_error", "the provider sent a line over 1 MiB");
    if (call->answer->failed)
        return 0; //  Nothing that follows can mend it
    if (call->handlers.on_text && call->answer->text.size > text)
        call->handlers.on_text (call->arg, call->answer);
    return size;
}

static size_t
s_on_header (char *data, size_t one, size_t count, void *arg)
{
    argos_call_t *call = (argos_call_t *) arg;
    size_t size = one * count;
    static const char name[] = "retry-after:";
    if (size > sizeof name - 1 && size < 128 && strncasecmp (data, name, sizeof name - 1) == 0) {
        char value[128];
        size_t length = size - (sizeof name - 1);
        memcpy (value, data + sizeof name - 1, length);
        value[length] = 0;
        call->retry_after_ms = argos_provider_retry_after (value, call->provider->wall);
    }
    return size;
}

//  ------------------------------------------------------------------------------------------------
//  The end of a call

static void
s_free (argos_call_t *call)
{
    argos_provider_t *self = call->provider;
    DL_DELETE (self->calls, call);
    self->count--;
    curl_multi_remove_handle (self->multi, call->easy);
    if (self->idle_count < IDLE_HANDLES) {
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

//  Whether it is certain that the provider has not seen the request
static bool
s_unsent (CURL *easy, CURLcode code)
{
    long sent = 0;
    curl_easy_getinfo (easy, CURLINFO_REQUEST_SIZE, &sent);
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
           code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR ||
           code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_URL_MALFORMAT ||
           code == CURLE_UNSUPPORTED_PROTOCOL || sent == 0;
}

static void
s_network_error (argos_call_t *call, CURLcode code, argos_provider_error_t *error)
{
    error->class = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
                           code == CURLE_PEER_FAILED_VERIFICATION
                       ? ARGOS_PE_FORMAT
                       : ARGOS_PE_TIMEOUT;
    error->unsent = s_unsent (call->easy, code);
    const char *detail = *call->curl_error ? call->curl_error : curl_easy_strerror (code);
    snprintf (error->message, sizeof error->message, "%s (%s)", detail,
        error->unsent ? "the request was not sent" : "the request may have been sent");
}

//  What went wrong before or instead of an answer; false when nothing did
static bool
s_transfer_error (argos_call_t *call, CURLcode code, argos_provider_error_t *error)
{
    long status = 0;
    curl_easy_getinfo (call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->too_big) {
        error->class = ARGOS_PE_FORMAT;
        snprintf (error->message, sizeof error->message, "the answer is larger than 16 MiB");
        return true;
    }
    if (call->answer->failed)
        return false; //  The stream said it better
    if (status && status != 200) {
        argos_provider_error_http (
            error, (int) status, argos_text_str (&call->plain), call->plain.size);
        error->retry_after_ms = call->retry_after_ms;
        return true;
    }
    if (code != CURLE_OK && !(call->answer->ended && code == CURLE_PARTIAL_FILE)) {
        s_network_error (call, code, error);
        return true;
    }
    return false;
}

static void
s_read_plain (argos_call_t *call)
{
    const char *data = argos_text_str (&call->plain);
    const char *first = data + strspn (data, " \t\r\n");
    if (*first == '<')
        argos_answer_fail (
            call->answer, "format_error", "the provider answered with a web page instead of JSON");
    else if (call->provider->settings.kind == ARGOS_PROVIDER_ANTHROPIC)
        argos_anthropic_whole (call->answer, data, call->plain.size);
    else
        argos_openai_whole (call->answer, data, call->plain.size);
    if (call->handlers.on_text && call->answer->text.size)
        call->handlers.on_text (call->arg, call->answer);
}

static argos_answer_kind_t
s_judge (argos_call_t *call, argos_provider_error_t *error)
{
    argos_answer_t *answer = call->answer;
    if (call->plain_body)
        s_read_plain (call);
    argos_answer_kind_t kind = argos_answer_settle (answer, call->seed);
    if (kind == ARGOS_ANSWER_FAILED) {
        error->class = argos_provider_classify (0, answer->error_type, answer->error);
        snprintf (error->message, sizeof error->message, "%s", answer->error);
    }
    else if (kind == ARGOS_ANSWER_CUT) {
        error->class = ARGOS_PE_TIMEOUT;
        snprintf (error->message, sizeof error->message, "the answer broke off%s",
            argos_sse_cut (&call->sse) ? " in the middle of a line" : "");
    }
    else if (kind == ARGOS_ANSWER_EMPTY) {
        error->class = ARGOS_PE_UNKNOWN;
        snprintf (error->message, sizeof error->message, "the answer was empty");
    }
    return kind;
}

static void
s_finish (argos_call_t *call, CURLcode code, const char *forced)
{
    argos_provider_error_t error = { .class = ARGOS_PE_TIMEOUT };
    argos_answer_kind_t kind = ARGOS_ANSWER_FAILED;
    if (forced)
        snprintf (error.message, sizeof error.message, "%s", forced);
    else if (!s_transfer_error (call, code, &error))
        kind = s_judge (call, &error);
    bool good = kind == ARGOS_ANSWER_TEXT || kind == ARGOS_ANSWER_TOOLS;
    call->handlers.on_end (call->arg, call->answer, kind, good ? NULL : &error);
    s_free (call);
}

//  ------------------------------------------------------------------------------------------------
//  The provider

static bool
s_is_loopback (const char *host)
{
    return strcmp (host, "localhost") == 0 || strncmp (host, "127.", 4) == 0 ||
           strcmp (host, "[::1]") == 0 || strcmp (host, "::1") == 0;
}

static void
s_set_target (argos_provider_t *self)
{
    const argos_provider_settings_t *settings = &self->settings;
    bool anthropic = settings->kind == ARGOS_PROVIDER_ANTHROPIC;
    snprintf (self->url, sizeof self->url, "%s%s", settings->base_url,
        anthropic ? "/v1/messages" : "/chat/completions");
    CURLU *url = curl_url ();
    char *host = NULL;
    if (url && curl_url_set (url, CURLUPART_URL, self->url, 0) == CURLUE_OK &&
        curl_url_get (url, CURLUPART_HOST, &host, 0) == CURLUE_OK)
        snprintf (self->host, sizeof self->host, "%s", host);
    curl_free (host);
    curl_url_cleanup (url);
    self->stalls = settings->stall_ms > 0 || !s_is_loopback (self->host);
    if (!self->settings.stall_ms)
        self->settings.stall_ms = STALL_MS;
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
    self->due_ms = -1;
    self->fd = epoll_create1 (EPOLL_CLOEXEC);
    self->multi = self->fd < 0 ? NULL : curl_multi_init ();
    if (!self->multi) {
        argos_provider_destroy (&self);
        return NULL;
    }
    curl_multi_setopt (self->multi, CURLMOPT_SOCKETFUNCTION, s_on_socket);
    curl_multi_setopt (self->multi, CURLMOPT_SOCKETDATA, self);
    curl_multi_setopt (self->multi, CURLMOPT_TIMERFUNCTION, s_on_timer);
    curl_multi_setopt (self->multi, CURLMOPT_TIMERDATA, self);
    curl_multi_setopt (self->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX);
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
    while (self->idle_count)
        curl_easy_cleanup (self->idle[--self->idle_count]);
    if (self->multi)
        curl_multi_cleanup (self->multi);
    for (struct curl_slist *at = self->headers; at; at = at->next)
        explicit_bzero (at->data, strlen (at->data)); //  The key is in one of them
    curl_slist_free_all (self->headers);
    if (self->fd >= 0)
        close (self->fd);
    explicit_bzero (self->settings.key, sizeof self->settings.key);
    free (self);
    *self_p = NULL;
}

int
argos_provider_fd (const argos_provider_t *self)
{
    return self->fd;
}

size_t
argos_provider_calls (const argos_provider_t *self)
{
    return self->count;
}

int64_t
argos_provider_due (const argos_provider_t *self)
{
    int64_t due_ms = self->due_ms;
    if (self->stalls && self->calls) {
        int64_t stall_ms = self->calls->data_ms + self->settings.stall_ms;
        if (due_ms < 0 || stall_ms < due_ms)
            due_ms = stall_ms;
    }
    return due_ms;
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
    curl_easy_setopt (easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) strlen (call->body));
    curl_easy_setopt (easy, CURLOPT_POSTFIELDS, call->body);
    curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (easy, CURLOPT_NOPROGRESS, 1L);
    curl_easy_setopt (easy, CURLOPT_CONNECTTIMEOUT_MS, (long) self->settings.connect_ms);
    curl_easy_setopt (easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt (easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt (easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt (easy, CURLOPT_USERAGENT, "argos");
    curl_easy_setopt (easy, CURLOPT_ERRORBUFFER, call->curl_error);
    curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, s_on_data);
    curl_easy_setopt (easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt (easy, CURLOPT_HEADERFUNCTION, s_on_header);
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
    if (!full.model)
        full.model = self->settings.model;
    *call = (argos_call_t){ .provider = self,
        .easy = easy,
        .handlers = *handlers,
        .arg = arg,
        .answer = argos_answer_new (),
        .data_ms = now };
    snprintf (call->seed, sizeof call->seed, "%s", seed);
    argos_sse_init (&call->sse);
    argos_text_init (&call->plain, PLAIN_MAX);
    call->body = self->settings.kind == ARGOS_PROVIDER_ANTHROPIC
                     ? argos_anthropic_request (&full)
                     : argos_openai_request (&full, self->host);
    if (!call->body)
        abort ();
    DL_APPEND (self->calls, call);
    self->count++;
    self->now = now;
    s_set_options (call);
    curl_multi_add_handle (self->multi, easy);
    return call;
}

void
argos_call_abort (argos_call_t **call_p)
{
    if (*call_p)
        s_free (*call_p);
    *call_p = NULL;
}

static void
s_serve_sockets (argos_provider_t *self)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait (self->fd, events, EVENTS_MAX, 0);
    int running;
    for (int i = 0; i < count; i++) {
        int mask = 0;
        if (events[i].events & EPOLLIN)
            mask |= CURL_CSELECT_IN;
        if (events[i].events & EPOLLOUT)
            mask |= CURL_CSELECT_OUT;
        if (events[i].events & (EPOLLERR | EPOLLHUP))
            mask |= CURL_CSELECT_ERR;
        curl_multi_socket_action (self->multi, events[i].data.fd, mask, &running);
    }
}

static void
s_collect (argos_provider_t *self)
{
    int left;
    for (CURLMsg *msg; (msg = curl_multi_info_read (self->multi, &left));) {
        if (msg->msg != CURLMSG_DONE)
            continue;
        CURLcode code = msg->data.result;
        char *private_data = NULL;
        curl_easy_getinfo (msg->easy_handle, CURLINFO_PRIVATE, &private_data);
        s_finish ((argos_call_t *) (void *) private_data, code, NULL);
    }
}

void
argos_provider_turn (argos_provider_t *self, int64_t now, int64_t wall)
{
    int running;
    self->now = now;
    self->wall = wall;
    s_serve_sockets (self);
    if (self->due_ms >= 0 && self->due_ms <= now) {
        self->due_ms = -1;
        curl_multi_socket_action (self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    s_collect (self);
    while (self->stalls && self->calls && self->calls->data_ms + self->settings.stall_ms <= now)
        s_finish (self->calls, CURLE_OK, "the provider was silent for too long");
}
