//  argos_http_req - a request: from its first line over its head and body to its handler, and what
//  the handler can ask of it.
//
//  Invariant: a request is on the list `waiting` of the server exactly while its connection is
//  suspended. An early refusal still reads the body (and drops it, up to twice the limit), for a
//  client that is still writing would meet a reset instead of the answer.

#include "argos_http_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define S_BODY_FIRST 4096 //  First buffer of a body without Content-Length

//  --------------------------------------------------------------------------
//  Life

void *
argos_http_req_new (void *cls, const char *target, struct MHD_Connection *connection)
{
    argos_http_req_t *req = calloc (1, sizeof *req);
    argos_http_conn_t *conn = argos_http_conn_of (connection);
    if (!req)
        return NULL;
    req->http = cls;
    req->connection = connection;
    req->hangup.fd = -1;
    if (conn)
        conn->req = req;
    argos_http_target (req, target);
    return req;
}

static void
s_drop_extra (argos_http_req_t *req)
{
    for (unsigned i = 0; i < req->extra_count; i++)
        free (req->extra[i].value);
    req->extra_count = 0;
}

void
argos_http_req_destroy (argos_http_req_t **self_p)
{
    argos_http_req_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    argos_http_look_away (self->http, &self->hangup);
    if (self->suspended)
        DL_DELETE (self->http->waiting, self);
    if (self->response)
        MHD_destroy_response (self->response);
    s_drop_extra (self);
    free (self->param);
    free (self->body);
    free (self);
}

void
argos_http_req_completed (void *cls, struct MHD_Connection *connection, void **req_p,
    enum MHD_RequestTerminationCode code)
{
    (void) cls;
    (void) code;
    argos_http_conn_t *conn = argos_http_conn_of (connection);
    argos_http_conn_wait (conn, ARGOS_HTTP_NEXT_HEAD);
    if (conn)
        conn->req = NULL;
    argos_http_req_destroy ((argos_http_req_t **) req_p);
}

//  --------------------------------------------------------------------------
//  What comes

static bool
s_body (argos_http_req_t *req, const char *data, size_t size)
{
    req->seen += size;
    if (req->answered)
        return req->seen <= 2 * (uint64_t) ARGOS_HTTP_BODY_MAX;
    if (req->seen > ARGOS_HTTP_BODY_MAX) {
        free (req->body);
        req->body = NULL;
        req->size = req->capacity = 0;
        argos_http_error (req, 413, "invalid_request_error", "body_too_large", NULL,
            "The request body is larger than 10000000 bytes.");
        return true;
    }
    if (req->size + size > req->capacity) {
        size_t capacity = req->capacity ? req->capacity * 2 : S_BODY_FIRST;
        while (capacity < req->size + size)
            capacity *= 2;
        char *body = realloc (req->body, capacity);
        if (!body)
            return false;
        req->body = body;
        req->capacity = capacity;
    }
    memcpy (req->body + req->size, data, size);
    req->size += size;
    return true;
}

//  What can be said before the body arrives. A client that asked (Expect) gets its answer before it
//  sends anything.

static enum MHD_Result
s_begin (argos_http_req_t *req, const char *url, const char *method, const char *version)
{
    bool framed = argos_http_check_framing (req, method, version);
    if (framed && argos_http_check_origin (req, method) && argos_http_check_route (req, method))
        (void) argos_http_check_auth (req, method, url);
    const char *length = argos_http_header (req, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t announced = length ? strtoull (length, NULL, 10) : 0;
    if (!req->answered && announced > ARGOS_HTTP_BODY_MAX)
        argos_http_error (req, 413, "invalid_request_error", "body_too_large", NULL,
            "The request body is larger than 10000000 bytes.");
    bool asks = argos_http_header (req, MHD_HTTP_HEADER_EXPECT) != NULL;
    if (req->answered && (!framed || asks || announced > 2 * (uint64_t) ARGOS_HTTP_BODY_MAX))
        return argos_http_queue (req);
    return MHD_YES;
}

enum MHD_Result
argos_http_req_access (void *cls, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *data, size_t *size, void **req_p)
{
    argos_http_t *self = cls;
    argos_http_req_t *req = *req_p;
    if (!req)
        return MHD_NO; //  Out of memory
    if (!req->begun) {
        req->begun = true;
        argos_http_conn_wait (argos_http_conn_of (connection), ARGOS_HTTP_BODY);
        return s_begin (req, url, method, version);
    }
    if (*size) {
        bool going_on = s_body (req, data, *size);
        *size = 0;
        return going_on ? MHD_YES : MHD_NO;
    }
    argos_http_conn_wait (argos_http_conn_of (connection), ARGOS_HTTP_WAITS);
    if (!req->answered && !req->called) {
        req->called = true;
        req->route->fn (self->ctx, req);
    }
    if (req->answered)
        return argos_http_queue (req);
    req->suspended = true;
    DL_APPEND (self->waiting, req);
    MHD_suspend_connection (connection);
    return MHD_YES;
}

//  --------------------------------------------------------------------------
//  The handler's side

void
argos_http_on_hangup (argos_http_req_t *req, void (*fn) (void *arg), void *arg)
{
    req->gone = fn;
    req->gone_arg = arg;
    req->hangup.req = req;
    argos_http_look (req->http, req->connection, &req->hangup);
}

const char *
argos_http_param (const argos_http_req_t *req)
{
    return req->param;
}

const char *
argos_http_header (const argos_http_req_t *req, const char *name)
{
    return MHD_lookup_connection_value (req->connection, MHD_HEADER_KIND, name);
}

const char *
argos_http_query (const argos_http_req_t *req, const char *name)
{
    return MHD_lookup_connection_value (req->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *
argos_http_body (const argos_http_req_t *req, size_t *ret_size)
{
    *ret_size = req->size;
    return req->body ? req->body : "";
}

void
argos_http_again (argos_http_req_t *req, const char *note)
{
    s_drop_extra (req);
    (void) snprintf (req->note, sizeof req->note, "%s", note);
    req->route->fn (req->http->ctx, req);
}

const char *
argos_http_note (const argos_http_req_t *req)
{
    return req->note;
}

bool
argos_http_keyed (const argos_http_req_t *req)
{
    return argos_http_ring_keyed (req->http->ring);
}

const char *
argos_http_owner (const argos_http_req_t *req)
{
    return req->owner;
}

bool
argos_http_is_admin (const argos_http_req_t *req)
{
    return req->scopes & ARGOS_HTTP_ADMIN;
}
