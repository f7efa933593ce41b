//  argos_provider_error - what went wrong with a provider call, and whether to try again.
//
//  Tables of phrases, looked for in the lower-cased message; the status decides first where it is
//  clear. Money is never retried; a refused key neither.

#include "argos_provider_error.h"

#include "argos_answer.h"
#include "argos_json_text.h"

#include <ctype.h>
#include <curl/curl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_MAX_MS 60000      //  Longest wait of our own
#define RETRY_AFTER_MAX_MS 600000 //  Longest wait that a provider can ask for
#define CROWD_REPEATS 3           //  Short waits for a provider without room; then
#define CROWD_MS 15000            //  so long, and twice as long each time, up to
#define CROWD_MAX_MS 120000       //  this

static const char *const s_billing[] = { "insufficient credits", "insufficient_quota",
    "insufficient balance", "credit balance", "credits exhausted", "payment required",
    "billing hard limit", "exceeded your current quota", "account is deactivated",
    "plan does not include", "out of funds", "balance_depleted", "not available on the free tier",
    "key limit exceeded", "spending limit", "\xE4\xBD\x99\xE9\xA2\x9D\xE4\xB8\x8D\xE8\xB6\xB3",
    NULL }; //  "Balance too small" in Chinese
static const char *const s_rate[] = { "rate limit", "rate_limit", "ratelimit", "too many requests",
    "throttled", "requests per minute", "tokens per minute", "requests per day", "try again in",
    "please retry after", "resource_exhausted", "rate increased too quickly",
    "too many concurrent requests", NULL };
static const char *const s_overload[] = { "overloaded", "at capacity", "over capacity", NULL };
static const char *const s_overflow[] = { "context length", "context_length", "context size",
    "maximum context", "token limit", "too many tokens", "reduce the length", "exceeds the limit",
    "context window", "prompt is too long", "prompt exceeds max length", "maximum number of tokens",
    "max_model_len", "prompt length", "input is too long", "maximum model length",
    "truncating input", "slot context", "input token",
    "\xE8\xB6\x85\xE8\xBF\x87\xE6\x9C\x80\xE5\xA4\xA7\xE9\x95\xBF\xE5\xBA\xA6",
    "\xE4\xB8\x8A\xE4\xB8\x8B\xE6\x96\x87\xE9\x95\xBF\xE5\xBA\xA6",
    NULL }; //  The last two: "over the greatest length", "length of the context" in Chinese
static const char *const s_model[] = { "is not a valid model", "invalid model", "model not found",
    "model_not_found", "does not exist", "no such model", "unknown model", "unsupported model",
    NULL };
static const char *const s_network[] = { "server disconnected", "peer closed connection",
    "connection reset", "connection was closed", "connection closed", "network connection lost",
    "unexpected eof", "incomplete chunked read", "broken pipe", "upstream connect error",
    "terminated", "timed out", "deadline exceeded", "bad record mac", "ssl alert", "tls alert",
    "handshake failure", "bad_record_mac", "ssl_alert", "tls_alert", "handshake_failure",
    "[ssl:", NULL };
static const char *const s_policy[] = { "content policy", "content_policy", "content filter",
    "safety system", "violates our usage policies", "content management policy", NULL };
static const char *const s_data_policy[] = { "data policy", "privacy settings", NULL };
static const char *const s_streaming[] = { "streaming is not supported", "streaming not supported",
    "does not support streaming", "stream is not supported", "stream not supported", NULL };
static const char *const s_grammar[] = { "unable to generate parser", "failed to parse grammar",
    "error parsing grammar", "json schema conversion failed", NULL };
static const char *const s_parameter[] = { "unsupported parameter", "unsupported_parameter",
    "unknown parameter", "unknown_parameter", "unrecognized request argument",
    "is not supported with this model", "unsupported value", "unsupported_value",
    "is deprecated for this model", "extra inputs are not permitted", NULL };
//  Members of our requests that a server may not know
static const char *const s_members[] = { "max_completion_tokens", "max_tokens", "stream_options",
    "reasoning_effort", "temperature", "cache_control", "thinking", "output_config", "top_p",
    "presence_penalty", "frequency_penalty", "seed", "stop", NULL };
static const char *const s_request[] = { "unknown parameter", "unsupported parameter",
    "unrecognized request argument", "invalid_request_error", NULL };
static const char *const s_bad_image[] = { "image exceeds", "image_too_large", "image too large",
    "image is too large", "image size", "image dimensions", "could not process image",
    "unable to process input image", "invalid image data", "invalid_image", "image_parse_error",
    "unsupported image", NULL };
static const char *const s_no_images[] = { "image input", "image_url", "support image",
    "support vision", "not a multimodal model", "not a vision model", "content must be a string",
    NULL };
static const char *const s_limit[] = { "usage limit", "quota", "limit exceeded", NULL };
static const char *const s_transient[] = { "try again", "retry", "resets at", "reset in", "wait",
    "requests remaining", "periodic", "window", NULL };
static const char *const s_auth[] = { "invalid api key", "invalid_api_key", "incorrect api key",
    "authentication_error", "unauthorized", NULL };

static bool
s_has (const char *text, const char *const *phrases)
{
    for (; *phrases; phrases++)
        if (strstr (text, *phrases))
            return true;
    return false;
}

//  By words alone, where the status says nothing or too little
static argos_provider_class_t
s_by_words (const char *text, argos_provider_class_t otherwise)
{
    static const struct {
        const char *const *phrases;   //  Any of these
        argos_provider_class_t class; //  Says this
    } rules[] = { { s_billing, ARGOS_PE_BILLING }, { s_rate, ARGOS_PE_RATE_LIMIT },
        { s_overload, ARGOS_PE_OVERLOADED }, { s_overflow, ARGOS_PE_CONTEXT_OVERFLOW },
        { s_policy, ARGOS_PE_POLICY }, { s_auth, ARGOS_PE_AUTH }, { s_model, ARGOS_PE_MODEL },
        { s_network, ARGOS_PE_TIMEOUT } };
    if (s_has (text, s_limit) && s_has (text, s_transient))
        return ARGOS_PE_RATE_LIMIT;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (s_has (text, rules[i].phrases))
            return rules[i].class;
    return otherwise;
}

//  What was refused in the request, from the most to the least particular
static argos_provider_class_t
s_by_bad_request (int status, const char *text)
{
    bool thinking = strstr (text, "thinking") || strstr (text, "invalid_encrypted_content");
    if (thinking && (strstr (text, "signature") || strstr (text, "encrypted_content")))
        return ARGOS_PE_THINKING;
    if (s_has (text, s_data_policy))
        return ARGOS_PE_DATA_POLICY;
    if (s_has (text, s_streaming))
        return ARGOS_PE_STREAMING;
    if (s_has (text, s_grammar))
        return ARGOS_PE_GRAMMAR;
    if (s_has (text, s_parameter) && s_has (text, s_members))
        return ARGOS_PE_PARAMETER;
    if (status != 400)
        return ARGOS_PE_FORMAT;
    argos_provider_class_t class = s_by_words (text, ARGOS_PE_FORMAT);
    return class == ARGOS_PE_TIMEOUT ? ARGOS_PE_FORMAT : class;
}

static argos_provider_class_t
s_by_not_found (const char *text)
{
    return s_has (text, s_data_policy) ? ARGOS_PE_DATA_POLICY
           : s_has (text, s_billing)   ? ARGOS_PE_BILLING
           : s_has (text, s_model)     ? ARGOS_PE_MODEL
                                       : ARGOS_PE_NOT_FOUND;
}

static argos_provider_class_t
s_by_too_many (const char *text)
{
    if (strstr (text, "extra usage") && strstr (text, "long context"))
        return ARGOS_PE_LONG_CONTEXT;
    return s_has (text, s_billing)    ? ARGOS_PE_BILLING
           : s_has (text, s_overload) ? ARGOS_PE_OVERLOADED
                                      : ARGOS_PE_RATE_LIMIT;
}

static argos_provider_class_t
s_by_client_status (int status, const char *text)
{
    bool again = s_has (text, s_limit) && s_has (text, s_transient);
    switch (status) {
    case 401:
        return ARGOS_PE_AUTH;
    case 402:
        return again ? ARGOS_PE_RATE_LIMIT : ARGOS_PE_BILLING;
    case 403:
        return s_has (text, s_billing)  ? ARGOS_PE_BILLING
               : s_has (text, s_policy) ? ARGOS_PE_POLICY
                                        : ARGOS_PE_AUTH;
    case 404:
        return s_by_not_found (text);
    case 408:
        return ARGOS_PE_TIMEOUT;
    case 413:
        return ARGOS_PE_PAYLOAD;
    case 429:
        return s_by_too_many (text);
    case 400:
    case 422:
        return s_by_bad_request (status, text);
    default:
        return ARGOS_PE_FORMAT;
    }
}

//  Such words mean that also with a status of the server's own failures
static bool
s_by_image (int status, const char *text, argos_provider_class_t *ret_class)
{
    bool told = status == 400 || status == 404 || status == 413 || status == 415 || status == 422 ||
                status == 500 || status == 501;
    *ret_class = s_has (text, s_bad_image) ? ARGOS_PE_IMAGE : ARGOS_PE_NO_IMAGES;
    return told && (*ret_class == ARGOS_PE_IMAGE || s_has (text, s_no_images));
}

argos_provider_class_t
argos_provider_classify (int status, const char *type, const char *message)
{
    char text[1024];
    int length = snprintf (text, sizeof text, "%s %s", type, message);
    for (int i = 0; i < length && text[i]; i++)
        text[i] = (char) tolower ((unsigned char) text[i]);
    argos_provider_class_t class;
    if (status < 100 || status > 599)
        status = 0;
    if (s_by_image (status, text, &class))
        return class;
    if (status == 503 || status == 529)
        return ARGOS_PE_OVERLOADED;
    if (status >= 500)
        return s_has (text, s_request) ? ARGOS_PE_FORMAT : ARGOS_PE_SERVER;
    if (status >= 400)
        return s_by_client_status (status, text);
    if (strcmp (type, "format_error") == 0)
        return ARGOS_PE_FORMAT;
    return s_by_words (text, ARGOS_PE_UNKNOWN);
}

const char *
argos_provider_class_name (argos_provider_class_t class)
{
    static const char *const names[ARGOS_PE_COUNT] = { "auth", "billing", "rate_limit",
        "overloaded", "server_error", "timeout", "context_overflow", "payload_too_large",
        "model_not_found", "content_policy_blocked", "format_error", "unreachable", "not_found",
        "credentials", "provider_policy_blocked", "unsupported_parameter", "streaming_unsupported",
        "llama_cpp_grammar", "thinking_signature", "long_context_tier", "truncated", "empty_answer",
        "image_unsupported", "image_too_large", "unknown" };
    return class < ARGOS_PE_COUNT ? names[class] : "unknown";
}

//  The message inside a JSON error body, in any of its known shapes; new, or NULL
static char *
s_body_message (const json_t *body, const char **ret_type)
{
    const json_t *error = json_object_get (body, "error");
    const json_t *holder = json_is_object (error) ? error : body;
    const json_t *raw = json_object_get (json_object_get (error, "metadata"), "raw");
    enum { CANDIDATES = 4 };
    const json_t *candidates[CANDIDATES] = { raw, json_object_get (holder, "message"), error,
        json_object_get (body, "detail") };
    const json_t *code = json_object_get (holder, "code");
    *ret_type = json_string_value (code) ? json_string_value (code)
                                         : json_string_value (json_object_get (holder, "type"));
    for (size_t i = 0; i < CANDIDATES; i++) {
        if (json_is_string (candidates[i]))
            return strdup (json_string_value (candidates[i]));
        if (candidates[i] && !json_is_null (candidates[i]))
            return json_dumps (candidates[i], JSON_COMPACT | JSON_ENCODE_ANY);
    }
    return NULL;
}

//  One line of valid text: control characters become spaces
static void
s_set_message (argos_provider_error_t *error, const char *text, size_t size)
{
    argos_text_t clean;
    argos_text_init (&clean, sizeof error->message - 1);
    argos_utf8_add (&clean, text, size);
    const char *from = argos_text_str (&clean);
    size_t to = 0;
    for (; *from; from++) {
        bool control = (unsigned char) *from < 0x20 || *from == 0x7F;
        error->message[to++] = ' ';
        if (!control)
            error->message[to - 1] = *from;
    }
    error->message[to] = 0;
    argos_text_clear (&clean);
}

//  Which member is not supported: as the error names it, else the one its sentence speaks of
static void
s_name_parameter (argos_provider_error_t *error, const json_t *body)
{
    const json_t *param = json_object_get (json_object_get (body, "error"), "param");
    const char *named = json_string_value (param);
    if (error->class != ARGOS_PE_PARAMETER)
        return;
    for (const char *const *member = s_members; *member; member++)
        if (strcmp (named ? named : "", *member) == 0 || strstr (error->message, *member)) {
            snprintf (error->parameter, sizeof error->parameter, "%s", *member);
            return;
        }
}

void
argos_provider_error_http (argos_provider_error_t *error, int status, const char *body, size_t size)
{
    *error = (argos_provider_error_t){ .status = status };
    const char *reason = "", *type = NULL;
    json_t *value = argos_json_text_parse (body, size, NULL, &reason);
    char *message = value ? s_body_message (value, &type) : NULL;
    if (message)
        s_set_message (error, message, strlen (message));
    else {
        while (size && isspace ((unsigned char) *body)) {
            body++;
            size--;
        }
        if (size && *body == '<')
            snprintf (error->message, sizeof error->message,
                "the provider answered with a web page instead of JSON");
        else if (size)
            s_set_message (error, body, size);
        else
            snprintf (error->message, sizeof error->message, "no further information");
    }
    error->class = argos_provider_classify (status, type ? type : "", error->message);
    error->retry_after_ms = argos_provider_window (error->message);
    s_name_parameter (error, value);
    free (message);
    json_decref (value);
}

int64_t
argos_provider_backoff (
    const argos_provider_error_t *error, int repeats, int64_t base_ms, uint32_t entropy)
{
    bool crowd = error->class == ARGOS_PE_OVERLOADED && repeats >= CROWD_REPEATS;
    int64_t wait = crowd ? CROWD_MS : base_ms, most = crowd ? CROWD_MAX_MS : BACKOFF_MAX_MS;
    for (int i = crowd ? CROWD_REPEATS : 0; i < repeats && wait < most; i++)
        wait *= 2;
    if (wait > most)
        wait = most;
    wait += (int64_t) (entropy % (uint32_t) (wait / 2 + 1));
    int64_t asked = error->retry_after_ms;
    if (asked > RETRY_AFTER_MAX_MS)
        asked = RETRY_AFTER_MAX_MS;
    return asked > wait ? asked : wait;
}

//  "2m 13s", "20s", "1.5s", "250ms", "1h2m"; a number without a unit is seconds
static int64_t
s_span (const char *text)
{
    double msec = 0;
    for (;;) {
        text += strspn (text, " ");
        char *end = NULL;
        if (!isdigit ((unsigned char) *text))
            break;
        double number = strtod (text, &end);
        const char *unit = end + strspn (end, " ");
        double scale =
            strncmp (unit, "ms", 2) == 0 ? 1
            : *unit == 'h'               ? 3600000
            : strncmp (unit, "mi", 2) == 0 || (*unit == 'm' && !isalpha ((unsigned char) unit[1]))
                ? 60000
                : 1000;
        msec += number * scale;
        text = unit;
        while (isalpha ((unsigned char) *text))
            text++;
    }
    return isfinite (msec) && msec < 86400000 ? (int64_t) msec : 86400000;
}

int64_t
argos_provider_window (const char *message)
{
    static const char *const phrases[] = { "reset after ", "resets after ", "reset in ",
        "resets in ", "try again in ", "retry after ", "retry in ", NULL };
    char text[514];
    size_t i = 0;
    for (; message[i] && i < sizeof text - 1; i++)
        text[i] = (char) tolower ((unsigned char) message[i]);
    text[i] = 0;
    for (const char *const *phrase = phrases; *phrase; phrase++) {
        const char *at = strstr (text, *phrase);
        int64_t span = at ? s_span (at + strlen (*phrase)) : 0;
        if (span > 0)
            return span;
    }
    return 0;
}

int64_t
argos_provider_retry_after (const char *value, int64_t wall)
{
    while (*value == ' ')
        value++;
    if (isdigit ((unsigned char) *value)) {
        double seconds = strtod (value, NULL);
        return isfinite (seconds) && seconds < 86400 ? (int64_t) (seconds * 1000) : 86400000;
    }
    time_t date = curl_getdate (value, NULL);
    int64_t wait = date > 0 ? (int64_t) date * 1000 - wall : 0;
    return wait > 0 ? wait : 0;
}

void
argos_provider_error_text (const argos_provider_error_t *error, char *text, size_t size)
{
    bool said = strstr (error->message, "no provider credentials configured") != NULL;
    if (error->class == ARGOS_PE_CREDENTIALS && said)
        snprintf (text, size, "The turn failed: %s", error->message);
    else if (error->class == ARGOS_PE_CREDENTIALS)
        snprintf (
            text, size, "The turn failed: no provider credentials configured (%s)", error->message);
    else if (error->class == ARGOS_PE_AUTH)
        snprintf (text, size,
            "\xE2\x9A\xA0\xEF\xB8\x8F Provider authentication failed: %s (HTTP %d)", error->message,
            error->status);
    else if (error->status)
        snprintf (text, size, "The turn failed: %s: %s (HTTP %d)",
            argos_provider_class_name (error->class), error->message, error->status);
    else
        snprintf (text, size, "The turn failed: %s: %s", argos_provider_class_name (error->class),
            error->message);
}
