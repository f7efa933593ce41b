//  argos_http_client - see the header.
//
//  Invariant: a call is in the list from argos_http_client_call until it has ended; handles are
//  taken out of the multi outside of libcurl's callbacks only. The body of a call that is `once` is
//  given by a function that can't go back: when libcurl finds a kept connection dead after it has
//  written to it, it can't send the call again, and the call ends as unknown.

#include "argos_http_client_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <utlist.h>

#define CALLS_MAX 256         //  At a time
#define BUFFER_BYTES 16384L   //  Of a call each way: its own would be four times as large
#define CONNECTIONS_MAX 16L   //  Idle ones kept
#define CONNECTION_AGE_S 30L  //  An idle one that is older is not used: it may be dead
#define TIMEOUT_MS 30000      //  Default for all of a call
#define CONNECT_MS 10000      //  Default to connect
#define ANSWER_MAX 1048576    //  Default of bytes of an answer
#define RETRY_AFTER_MAX 86400 //  Seconds that are believed

argos_http_client_t *
argos_http_client_new (void)
{
    argos_http_client_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    if (argos_curl_init (&self->curl, CONNECTIONS_MAX) < 0)
        argos_http_client_destroy (&self);
    return self;
}

static void
s_free (argos_http_call_t *call)
{
    DL_DELETE (call->client->calls, call);
    call->client->count--;
    curl_multi_remove_handle (call->client->curl.multi, call->easy);
    curl_easy_cleanup (call->easy);
    curl_mime_free (call->mime);
    for (struct curl_slist *at = call->headers; at; at = at->next)
        explicit_bzero (at->data, strlen (at->data)); //  One of them may be a credential
    curl_slist_free_all (call->headers);
    free (call->files);
    free (call->body);
    free (call->answer);
    if (call->secret)
        explicit_bzero (call->secret, strlen (call->secret));
    free (call->secret);
    free (call);
}

void
argos_http_client_destroy (argos_http_client_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_http_client_t *self = *self_p;
    while (self->calls)
        s_free (self->calls);
    argos_curl_clear (&self->curl);
    free (self);
    *self_p = NULL;
}

int
argos_http_client_fd (const argos_http_client_t *self)
{
    return self->curl.fd;
}

int64_t
argos_http_client_due (const argos_http_client_t *self)
{
    return self->curl.due_ms;
}

void
argos_http_call_abort (argos_http_call_t **call_p)
{
    if (!call_p || !*call_p)
        return;
    //  What is under way must not be heard of again: the connection goes with it
    curl_easy_setopt ((*call_p)->easy, CURLOPT_FORBID_REUSE, 1L);
    s_free (*call_p);
    *call_p = NULL;
}

//  ------------------------------------------------------------------------------------------------
//  The beginning

static int
s_add_header (argos_http_call_t *call, const char *line)
{
    struct curl_slist *list = curl_slist_append (call->headers, line);
    if (!list)
        return -1;
    call->headers = list;
    return 0;
}

static void
s_set_headers (argos_http_call_t *call, const argos_http_request_t *request)
{
    char line[256];
    s_add_header (call, "Expect:"); //  Never wait for 100-continue
    if (request->body) {
        snprintf (line, sizeof line, "Content-Type: %.200s",
            request->media_type ? request->media_type : "application/json");
        s_add_header (call, line);
    }
    for (const char *const *header = request->headers; header && *header; header++)
        s_add_header (call, *header);
    curl_easy_setopt (call->easy, CURLOPT_HTTPHEADER, call->headers);
}

static void
s_set_body (argos_http_call_t *call, const argos_http_request_t *request)
{
    call->body = malloc (request->size + 1);
    if (!call->body)
        abort ();
    if (request->size)
        memcpy (call->body, request->body, request->size);
    call->body[request->size] = 0;
    call->body_size = request->size;
    curl_easy_setopt (call->easy, CURLOPT_POST, 1L);
    curl_easy_setopt (call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) request->size);
    if (!request->once) {
        curl_easy_setopt (call->easy, CURLOPT_POSTFIELDS, call->body);
        return;
    }
    curl_easy_setopt (call->easy, CURLOPT_READFUNCTION, argos_http_on_body);
    curl_easy_setopt (call->easy, CURLOPT_READDATA, call);
}

static void
s_set_parts (argos_http_call_t *call, const argos_http_request_t *request)
{
    call->mime = curl_mime_init (call->easy);
    call->files = calloc (request->part_count + 1, sizeof *call->files);
    if (!call->mime || !call->files)
        abort ();
    for (size_t i = 0; i < request->part_count; i++) {
        const argos_http_part_t *given = &request->parts[i];
        curl_mimepart *part = curl_mime_addpart (call->mime);
        curl_mime_name (part, given->name);
        if (given->text) {
            curl_mime_data (part, given->text, CURL_ZERO_TERMINATED);
            continue;
        }
        call->files[i] = (argos_http_file_t){ .fd = given->fd };
        curl_mime_data_cb (part, (curl_off_t) given->size, argos_http_on_file,
            request->once ? NULL : argos_http_on_seek, NULL, &call->files[i]);
        curl_mime_filename (part, given->file_name);
        curl_mime_type (part, given->media_type ? given->media_type : "application/octet-stream");
    }
    curl_easy_setopt (call->easy, CURLOPT_MIMEPOST, call->mime);
}

static void
s_set_options (argos_http_call_t *call, const argos_http_request_t *request)
{
    CURL *easy = call->easy;
    int64_t timeout_ms = request->timeout_ms ? request->timeout_ms : TIMEOUT_MS;
    int64_t connect_ms = request->connect_ms ? request->connect_ms : CONNECT_MS;
    curl_easy_setopt (easy, CURLOPT_URL, request->url);
    curl_easy_setopt (easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (easy, CURLOPT_NOPROGRESS, 1L);
    curl_easy_setopt (easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    curl_easy_setopt (easy, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
    curl_easy_setopt (easy, CURLOPT_TIMEOUT_MS, (long) timeout_ms);
    curl_easy_setopt (easy, CURLOPT_CONNECTTIMEOUT_MS, (long) connect_ms);
    curl_easy_setopt (easy, CURLOPT_MAXAGE_CONN, CONNECTION_AGE_S);
    curl_easy_setopt (easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt (easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt (easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt (easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt (easy, CURLOPT_USERAGENT, "argos");
    curl_easy_setopt (easy, CURLOPT_ERRORBUFFER, call->curl_error);
    curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, argos_http_on_data);
    curl_easy_setopt (easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt (easy, CURLOPT_PRIVATE, call);
    if (request->fresh) {
        curl_easy_setopt (easy, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt (easy, CURLOPT_FORBID_REUSE, 1L);
    }
    if (request->guarded)
        curl_easy_setopt (easy, CURLOPT_OPENSOCKETFUNCTION, argos_http_on_open);
    if (request->guarded)
        curl_easy_setopt (easy, CURLOPT_OPENSOCKETDATA, call);
    if (request->guarded) //  A proxy would connect for us
        curl_easy_setopt (easy, CURLOPT_PROXY, "");
    if (request->part_count)
        s_set_parts (call, request);
    else if (request->body)
        s_set_body (call, request);
    if (request->method)
        curl_easy_setopt (easy, CURLOPT_CUSTOMREQUEST, request->method);
    s_set_headers (call, request);
}

argos_http_call_t *
argos_http_client_call (argos_http_client_t *self, const argos_http_request_t *request,
    argos_http_fn *fn, void *arg, int64_t now)
{
    if (self->count >= CALLS_MAX)
        return NULL;
    argos_http_call_t *call = calloc (1, sizeof *call);
    if (!call)
        abort ();
    call->client = self;
    call->fn = fn;
    call->arg = arg;
    call->answer_max = request->answer_max ? request->answer_max : ANSWER_MAX;
    call->answer_fd = request->answer_fd;
    call->secret = request->secret && *request->secret ? strdup (request->secret) : NULL;
    call->easy = curl_easy_init ();
    if (!call->easy)
        abort ();
    DL_APPEND (self->calls, call);
    self->count++;
    self->curl.now = now;
    s_set_options (call, request);
    if (curl_multi_add_handle (self->curl.multi, call->easy) != CURLM_OK) {
        s_free (call);
        return NULL;
    }
    return call;
}

//  ------------------------------------------------------------------------------------------------
//  The end

const char *
argos_http_answer_header (const argos_http_answer_t *answer, const char *name)
{
    struct curl_header *header = NULL;
    if (!answer->handle ||
        curl_easy_header (answer->handle, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return "";
    return header->value;
}

//  What has left us before it failed: the codes that mean nothing has, and otherwise whether a
//  request was ever begun.

static argos_http_phase_t
s_phase (CURL *easy, CURLcode code)
{
    curl_off_t pretransfer_us = 0;
    long sent = 0;
    switch (code) {
    case CURLE_OK:
        return ARGOS_HTTP_ANSWERED;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return ARGOS_HTTP_UNSENT;
    default:
        curl_easy_getinfo (easy, CURLINFO_PRETRANSFER_TIME_T, &pretransfer_us);
        curl_easy_getinfo (easy, CURLINFO_REQUEST_SIZE, &sent);
        return pretransfer_us == 0 && sent == 0 ? ARGOS_HTTP_UNSENT : ARGOS_HTTP_UNKNOWN;
    }
}

//  The sentence of libcurl without what is secret in it.

static void
s_mask (char *text, const char *secret)
{
    size_t size = secret ? strlen (secret) : 0;
    for (char *at; size && (at = strstr (text, secret));)
        memset (at, '*', size);
}

static int64_t
s_retry_after (CURL *easy)
{
    curl_off_t seconds = 0;
    curl_easy_getinfo (easy, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds <= 0)
        return -1;
    return (int64_t) (seconds > RETRY_AFTER_MAX ? RETRY_AFTER_MAX : seconds) * 1000;
}

static void
s_finish (void *transfer, CURLcode code)
{
    argos_http_call_t *call = transfer;
    long status = 0;
    char error[CURL_ERROR_SIZE + 64] = "";
    curl_easy_getinfo (call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK)
        snprintf (error, sizeof error, "%s",
            call->refused       ? "that address is not public"
            : call->too_big     ? "the answer is too large"
            : *call->curl_error ? call->curl_error
                                : curl_easy_strerror (code));
    s_mask (error, call->secret);
    argos_http_answer_t answer = { .phase = s_phase (call->easy, code),
        .status = (int) status,
        .body = call->answer ? call->answer : "",
        .size = call->answer_size,
        .error = error,
        .too_big = call->too_big,
        .retry_after_ms = s_retry_after (call->easy),
        .handle = call->easy };
    call->fn (call->arg, &answer);
    s_free (call);
}

void
argos_http_client_turn (argos_http_client_t *self, int64_t now)
{
    argos_curl_turn (&self->curl, now, s_finish);
}
