//  argos_provider_read - what a provider sends: event streams, plain bodies, errors.
//
//  Invariant: nothing is kept beyond the limits; what is told to the handlers is valid UTF-8. A
//  stream that has failed is not read on.

#include "argos_anthropic.h"
#include "argos_openai.h"
#include "argos_provider_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANSWER_MAX 16777216 //  Bytes of an answer

//  ------------------------------------------------------------------------------------------------
//  Reading an answer

static bool
s_on_event (void *arg, const char *event, const char *data, size_t size)
{
    (void) event;
    argos_call_t *call = (argos_call_t *) arg;
    argos_provider_t *self = call->provider;
    call->data_ms = self->curl.now;
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

//  A request is as long as its conversation, and nobody reads it any more once an answer comes and
//  all of it was sent
static void
s_drop_request (argos_call_t *call)
{
    curl_off_t sent = 0;
    curl_easy_getinfo (call->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (sent < (curl_off_t) call->body_size)
        return;
    free (call->body);
    call->body = NULL;
}

size_t
argos_call_on_data (char *data, size_t one, size_t count, void *arg)
{
    argos_call_t *call = (argos_call_t *) arg;
    size_t size = one * count;
    call->received += size;
    if (call->received > ANSWER_MAX) {
        call->too_big = true;
        return 0;
    }
    if (!call->told_type) {
        s_decide_kind (call, data, size);
        s_drop_request (call);
    }
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

//  A span ("6m0s", "20"), or a time as seconds or msec since 1970
static int64_t
s_reset_ms (const char *value, int64_t wall)
{
    char sentence[160];
    double number = strtod (value, NULL);
    if (number > 1e11)
        return number > (double) wall && number < 4e12 ? (int64_t) number - wall : 0;
    if (number > 1e9)
        return number * 1000 > (double) wall ? (int64_t) (number * 1000) - wall : 0;
    snprintf (sentence, sizeof sentence, "reset in %s", value + strspn (value, " "));
    return argos_provider_window (sentence);
}

size_t
argos_call_on_header (char *data, size_t one, size_t count, void *arg)
{
    argos_call_t *call = (argos_call_t *) arg;
    size_t size = one * count;
    char line[128];
    if (size >= sizeof line)
        return size;
    memcpy (line, data, size);
    line[size] = 0;
    if (strncasecmp (line, "retry-after:", 12) == 0)
        call->retry_after_ms = argos_provider_retry_after (line + 12, call->provider->wall);
    else if (strncasecmp (line, "x-ratelimit-reset", 17) == 0 && strchr (line, ':'))
        call->reset_ms = s_reset_ms (strchr (line, ':') + 1, call->provider->wall);
    return size;
}

//  Cut to its room and made valid UTF-8: an address is what somebody has typed
static void
s_set_message (argos_provider_error_t *error, const char *message)
{
    argos_text_t clean;
    argos_text_init (&clean, sizeof error->message - 1);
    argos_utf8_add (&clean, message, strlen (message));
    snprintf (error->message, sizeof error->message, "%s", argos_text_str (&clean));
    argos_text_clear (&clean);
}

//  Whether it is certain that the provider has not seen the request
static bool
s_unsent (CURL *easy, CURLcode code)
{
    long sent = 0;
    curl_easy_getinfo (easy, CURLINFO_REQUEST_SIZE, &sent);
    return sent == 0 || code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR;
}

static void
s_network_error (argos_call_t *call, CURLcode code, argos_provider_error_t *error)
{
    error->class = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
                           code == CURLE_PEER_FAILED_VERIFICATION
                       ? ARGOS_PE_FORMAT
                       : ARGOS_PE_TIMEOUT;
    error->unsent = s_unsent (call->easy, code);
    error->cut = code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
                 code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE;
    const char *detail = *call->curl_error ? call->curl_error : curl_easy_strerror (code);
    char message[1024];
    const char *sent =
        error->unsent ? "the request was not sent" : "the request may have been sent";
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST) {
        error->class = ARGOS_PE_UNREACHABLE;
        snprintf (message, sizeof message, "nothing answers at %s: %s (%s)", call->provider->base,
            detail, sent);
        s_set_message (error, message);
    }
    else
        snprintf (error->message, sizeof error->message, "%s (%s)", detail, sent);
}

//  A wrong path is a matter of base_url: say which one was not there
static void
s_name_path (const argos_call_t *call, argos_provider_error_t *error)
{
    char message[1400];
    snprintf (message, sizeof message, "%s answers: %s", call->provider->path, error->message);
    s_set_message (error, message);
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
        if (call->retry_after_ms)
            error->retry_after_ms = call->retry_after_ms;
        else if (!error->retry_after_ms && status == 429)
            error->retry_after_ms = call->reset_ms;
        if (error->class == ARGOS_PE_NOT_FOUND || error->class == ARGOS_PE_MODEL)
            s_name_path (call, error);
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
s_settle (argos_call_t *call, argos_provider_error_t *error)
{
    argos_answer_t *answer = call->answer;
    if (call->plain_body)
        s_read_plain (call);
    argos_answer_kind_t kind = argos_answer_settle (answer, call->seed);
    if (kind == ARGOS_ANSWER_FAILED) {
        error->class = argos_provider_classify (0, answer->error_type, answer->error);
        error->retry_after_ms = argos_provider_window (answer->error);
        snprintf (error->message, sizeof error->message, "%s", answer->error);
    }
    else if (kind == ARGOS_ANSWER_CUT) {
        error->class = ARGOS_PE_TIMEOUT;
        error->cut = true;
        snprintf (error->message, sizeof error->message, "the answer broke off%s%s%s",
            *answer->cut_call ? " in a call of " : "", answer->cut_call,
            !*answer->cut_call && argos_sse_cut (&call->sse) ? " in the middle of a line" : "");
    }
    else if (kind == ARGOS_ANSWER_EMPTY) {
        error->class = ARGOS_PE_EMPTY;
        snprintf (error->message, sizeof error->message, "the answer was empty");
    }
    return kind;
}

argos_answer_kind_t
argos_call_judge (argos_call_t *call, CURLcode code, argos_provider_error_t *error)
{
    *error = (argos_provider_error_t){ .class = ARGOS_PE_TIMEOUT };
    if (s_transfer_error (call, code, error))
        return ARGOS_ANSWER_FAILED;
    return s_settle (call, error);
}
