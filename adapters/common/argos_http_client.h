//  argos_http_client - HTTP calls inside an actor's loop, and how far each one came.
//
//  One libcurl multi handle in one epoll set: the owner polls argos_http_client_fd, asks
//  argos_http_client_due and calls argos_http_client_turn. Nothing blocks. A call ends with its
//  phase: whether the other side can have acted on it. Redirects are never followed. A call marked
//  `once` is never repeated by libcurl behind our back. Single-threaded.
//
//  Limits: an answer has answer_max bytes, a call timeout_ms; 256 calls at a time, 16 kept
//  connections.

#ifndef ARGOS_HTTP_CLIENT_H
#define ARGOS_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct argos_http_client argos_http_client_t;
typedef struct argos_http_call argos_http_call_t;

typedef enum {
    ARGOS_HTTP_UNSENT,  //  Nothing of it has reached the other side: may be tried again
    ARGOS_HTTP_UNKNOWN, //  It may have been acted on, and no whole answer came
    ARGOS_HTTP_ANSWERED //  A whole answer came, whatever it says
} argos_http_phase_t;

//  How a call ended; borrowed for the call of the function

typedef struct {
    argos_http_phase_t phase; //  How far it came
    int status;               //  Of HTTP; 0 = no answer began
    const char *body;         //  Of the answer, terminated; "" when it went to a file
    size_t size;              //  Its bytes
    const char *error;        //  One sentence when it was not answered; "" else. Without secrets
    bool too_big;             //  The answer was larger than answer_max
    int64_t retry_after_ms;   //  What Retry-After says, -1 = nothing
    void *handle;             //  Private
} argos_http_answer_t;

typedef void (argos_http_fn) (void *arg, const argos_http_answer_t *answer);

//  A part of a multipart/form-data body

typedef struct {
    const char *name;       //  Of the field
    const char *text;       //  Its value; NULL = the file
    int fd;                 //  The file, read from its beginning; borrowed until the call ends
    int64_t size;           //  Bytes of the file
    const char *file_name;  //  As it is called there
    const char *media_type; //  NULL = application/octet-stream
} argos_http_part_t;

//  What is asked for. Everything is copied but the files

typedef struct {
    const char *method;             //  NULL: POST when there is a body or parts, else GET
    const char *url;                //  http:// or https://
    const char *const *headers;     //  "Name: value", NULL-terminated; NULL = none
    const char *body;               //  NULL = none
    size_t size;                    //  Its bytes
    const char *media_type;         //  Of the body; NULL = application/json
    const argos_http_part_t *parts; //  Instead of a body
    size_t part_count;              //  How many
    int64_t timeout_ms;             //  For all of it; 0 = 30 s
    int64_t connect_ms;             //  To connect; 0 = 10 s
    size_t answer_max;              //  Bytes of the answer; 0 = 1 MiB
    int answer_fd;                  //  Where a 2xx answer is written to; 0 = to memory
    bool once;                      //  It must not happen twice
    bool fresh;                     //  On a connection of its own
    bool guarded;                   //  Its address comes from outside: public addresses only
    const char *secret;             //  What is masked in the sentence of an error; NULL = nothing
} argos_http_request_t;

//  A client; NULL when there are no descriptors.
argos_http_client_t *argos_http_client_new (void);

//  Ends all calls without telling. NULL-safe, idempotent.
void argos_http_client_destroy (argos_http_client_t **self_p);

//  Readable when argos_http_client_turn has something to do.
int argos_http_client_fd (const argos_http_client_t *self);

//  When it wants to be called even so (argos_shell_now), -1 = never.
int64_t argos_http_client_due (const argos_http_client_t *self);

//  Does what can be done; the ends of calls are told from within.
void argos_http_client_turn (argos_http_client_t *self, int64_t now);

//  Begins a call; fn is told once, from argos_http_client_turn only. Returns the call (valid until
//  then), or NULL when there are too many or the request can't be made: then fn is not called.
argos_http_call_t *argos_http_client_call (argos_http_client_t *self,
    const argos_http_request_t *request, argos_http_fn *fn, void *arg, int64_t now);

//  Ends it without telling, and closes its connection. NULL-safe, idempotent.
void argos_http_call_abort (argos_http_call_t **call_p);

//  A header of the answer, "" when there is none. Borrowed for the call of the function.
const char *argos_http_answer_header (const argos_http_answer_t *answer, const char *name);

//  Whether this address (network order; IPv4 4 bytes, IPv6 16) may be connected to by a guarded
//  call: no loopback, private, link-local, multicast or other special address. Pure.
bool argos_http_address_public (const unsigned char *address, size_t size);

//  Whether nobody knows what became of the call: it broke after it had left, or 5xx.
static inline bool
argos_http_unclear (const argos_http_answer_t *answer)
{
    return answer->phase == ARGOS_HTTP_UNKNOWN ||
           (answer->phase == ARGOS_HTTP_ANSWERED && answer->status / 100 == 5);
}

#endif
