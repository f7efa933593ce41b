//  argos_http - HTTP/1.1 for an actor: a routes table, authentication, body limit, error objects,
//  fixed headers, CORS, answers now or later, and event streams. libmicrohttpd in external epoll
//  mode; one thread.
//
//  Every answer, errors and streams too, carries the same security and CORS headers: one builder
//  makes them all.

#ifndef ARGOS_HTTP_H
#define ARGOS_HTTP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARGOS_HTTP_BODY_MAX 10000000 //  Bytes of a request body
#define ARGOS_HTTP_POOL 8192         //  Bytes of a connection: head of a request and of its answer

typedef struct argos_http argos_http_t;
typedef struct argos_http_req argos_http_req_t;       //  A request, until its answer has left
typedef struct argos_http_stream argos_http_stream_t; //  An answer that goes on

//  A handler must answer each request once, in the call or later

typedef struct {
    const char *method; //  "GET", "POST"
    const char *path;   //  "/v1/runs/{run_id}": braces are one segment
    unsigned scopes;    //  A key with one of these may (argos_http_key.h); 0 = open
    void (*fn) (void *ctx, argos_http_req_t *req); //  The handler; req has the whole body
} argos_http_route_t;

typedef struct {
    const char *host;                    //  Address to bind, copied
    int port;                            //  0 = any
    const char *key;                     //  Bearer key with all scopes; only its digest is kept
    const char *keys_path;               //  File of further keys, copied; NULL = none
    bool allow_unauthenticated_loopback; //  Loopback peers need no key when host is loopback
    const char *const *cors_origins;     //  NULL-terminated, copied; NULL = none
    const char *tls_cert, *tls_key;      //  Files in PEM; both NULL = in clear
    bool allow_cleartext;                //  In clear also when others than loopback can connect
    int listen_fd;                       //  A socket that is bound already; 0 = none
    int connection_limit;                //  Open connections
    int head_ms;                      //  Msec to the first head, others in proportion; 0 = 10,000
    const argos_http_route_t *routes; //  Ended by a NULL method; static
    void *ctx;                        //  Handed to the handlers
} argos_http_config_t;

//  Binds and listens. NULL with a sentence in reason (256 bytes): weak key, address in use, out of
//  descriptors, no certificate where one is needed.
argos_http_t *argos_http_new (const argos_http_config_t *config, char *reason);

//  Ends all streams and open requests (their connections are closed) and frees everything.
//  NULL-safe, idempotent.
void argos_http_destroy (argos_http_t **self_p);

//  The descriptor to poll for input; call argos_http_run when it is readable or when
//  argos_http_timeout has passed.
int argos_http_fd (const argos_http_t *self);
void argos_http_run (argos_http_t *self);

//  Msec until argos_http_run wants to be called even without input, -1 = never.
int64_t argos_http_timeout (argos_http_t *self);

//  The port that is bound.
int argos_http_port (const argos_http_t *self);

//  What the star of the route matched; a header; a query argument (NULL = absent); the body. All
//  borrowed.
const char *argos_http_param (const argos_http_req_t *req);
const char *argos_http_header (const argos_http_req_t *req, const char *name);
const char *argos_http_query (const argos_http_req_t *req, const char *name);
const char *argos_http_body (const argos_http_req_t *req, size_t *ret_size);

//  Whether a key is configured (some headers are refused without one).
bool argos_http_keyed (const argos_http_req_t *req);

//  Whose key it came with ("main": the first one, or none needed), and whether that key may what
//  only an administrator may. Borrowed.
const char *argos_http_owner (const argos_http_req_t *req);
bool argos_http_is_admin (const argos_http_req_t *req);

//  Call the handler once more, with a note of at most 47 bytes for it; headers that were set for
//  the answer are dropped. The note it was called with, "" at first; borrowed.
void argos_http_again (argos_http_req_t *req, const char *note);
const char *argos_http_note (const argos_http_req_t *req);

//  One more header for the answer to come, at most 8. name is static, value copied; one with
//  control characters or anything but ASCII is left out.
void argos_http_set (argos_http_req_t *req, const char *name, const char *value);

//  Answer with a JSON body (stolen; NULL = an empty body).
void argos_http_json (argos_http_req_t *req, unsigned status, json_t *body);

//  Answer with a text (malloc'd, stolen).
void argos_http_text (argos_http_req_t *req, unsigned status, const char *content_type, char *text);

//  Answer with the error object. code and param may be NULL.
void argos_http_error (argos_http_req_t *req, unsigned status, const char *type, const char *code,
    const char *param, const char *message);

//  Answer with a stream of events. fill puts at most max bytes into buffer and returns how many; 0
//  = nothing now (it is called again after argos_http_wake), -1 = the end, -2 = cut the connection.
//  closed is called once when the stream is over, for whatever reason; the handle is freed after
//  it. A peer that hangs up is noticed at once.
argos_http_stream_t *argos_http_stream (argos_http_req_t *req,
    ssize_t (*fill) (void *arg, char *buffer, size_t max), void (*closed) (void *arg), void *arg);
void argos_http_wake (argos_http_stream_t *stream);

//  Whether the client takes nothing: there are bytes for it, and its socket is full. Cut the
//  connection; closed is called when the server notices.
bool argos_http_is_stuck (const argos_http_stream_t *stream);
void argos_http_cut (argos_http_stream_t *stream);

//  For a request that is answered later: fn is called once if its client hangs up before that; it
//  must answer still. At most one for each request.
void argos_http_on_hangup (argos_http_req_t *req, void (*fn) (void *arg), void *arg);

//  Numbers for metrics: answers of route number `route` (the count of routes: of none) whose status
//  begins with digit 1 to 5; open connections; open streams.
uint64_t argos_http_count (const argos_http_t *self, size_t route, unsigned digit);
unsigned argos_http_connections (const argos_http_t *self);
unsigned argos_http_streams (const argos_http_t *self);

#endif
