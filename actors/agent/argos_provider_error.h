//  argos_provider_error - what went wrong with a provider call, and whether to try again.
//
//  Pure: status, texts, time and entropy are arguments.

#ifndef ARGOS_PROVIDER_ERROR_H
#define ARGOS_PROVIDER_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_PROVIDER_RETRIES 3       //  Repeats after the first attempt, by default
#define ARGOS_PROVIDER_BACKOFF_MS 2000 //  First wait between them, by default

typedef enum {
    ARGOS_PE_AUTH,             //  The key was refused
    ARGOS_PE_BILLING,          //  No money or no plan for this
    ARGOS_PE_RATE_LIMIT,       //  Too many requests
    ARGOS_PE_OVERLOADED,       //  The provider has no room now
    ARGOS_PE_SERVER,           //  A failure inside the provider
    ARGOS_PE_TIMEOUT,          //  Silence, reset, connection or TLS failure
    ARGOS_PE_CONTEXT_OVERFLOW, //  The conversation is too long for the model
    ARGOS_PE_PAYLOAD,          //  The request is too large
    ARGOS_PE_MODEL,            //  No such model
    ARGOS_PE_POLICY,           //  Blocked by a safety rule
    ARGOS_PE_FORMAT,           //  The request was refused, or the answer is none that we can read
    ARGOS_PE_UNREACHABLE,      //  Nobody answers at the address: no connection was made
    ARGOS_PE_NOT_FOUND,        //  The address answers, but not under that path
    ARGOS_PE_CREDENTIALS,      //  No usable key is configured: no request was made
    ARGOS_PE_DATA_POLICY,      //  The account's own data policy allows no provider for it
    ARGOS_PE_PARAMETER,        //  A member of the request is not supported; `parameter` names it
    ARGOS_PE_STREAMING,        //  It can't stream
    ARGOS_PE_GRAMMAR,          //  It can't turn the schema of a tool into a grammar
    ARGOS_PE_THINKING,         //  Replayed thinking is refused
    ARGOS_PE_LONG_CONTEXT,     //  So long a conversation is another tariff
    ARGOS_PE_CUT_CALL,         //  A tool call was cut off by the output limit
    ARGOS_PE_EMPTY,            //  The answer has no text and no call
    ARGOS_PE_NO_IMAGES,        //  The model, or the server, takes no images
    ARGOS_PE_IMAGE,            //  An image is too large for it, or it can't read it
    ARGOS_PE_UNKNOWN,          //  Anything else
    ARGOS_PE_COUNT             //  How many classes there are
} argos_provider_class_t;

typedef struct {
    argos_provider_class_t class; //  What it is
    int status;                   //  HTTP status, 0 = none came
    bool cut;                     //  The connection broke off, or the answer in it
    bool unsent;                  //  Provably no byte of the request reached the provider
    int64_t retry_after_ms;       //  What the provider asked for, 0 = nothing
    char message[513];            //  One sentence, UTF-8
    char parameter[65];           //  Member that is not supported, "" = not told
} argos_provider_error_t;

//  Class of an HTTP status (0 = none) with the body's error type or code and its message (each may
//  be "").
argos_provider_class_t argos_provider_classify (int status, const char *type, const char *message);

//  Name of a class ("rate_limit"), static.
const char *argos_provider_class_name (argos_provider_class_t class);

//  Fills *error from an HTTP error answer: status and the start of its body (any bytes).
void argos_provider_error_http (
    argos_provider_error_t *error, int status, const char *body, size_t size);

//  How long to wait before another attempt, msec: base_ms doubled with each repeat up to 60 s (from
//  the fourth on 15 s to 2 minutes for a provider that has no room), plus up to half of it by
//  entropy; or what the provider asked for (at most 10 minutes) when that is
//  longer.
int64_t argos_provider_backoff (
    const argos_provider_error_t *error, int repeats, int64_t base_ms, uint32_t entropy);

//  Msec until the limit is over as a sentence says it ("reset after 2m 13s", "try again in 20s"); 0
//  = it does not.
int64_t argos_provider_window (const char *message);

//  Msec from a Retry-After value: seconds (perhaps with a fraction) or an HTTP date compared to
//  wall (msec since 1970). 0 when it is neither or in the past.
int64_t argos_provider_retry_after (const char *value, int64_t wall);

//  One sentence for people: "failed: <class>: <message>" with the status.
void argos_provider_error_text (const argos_provider_error_t *error, char *text, size_t size);

#endif
