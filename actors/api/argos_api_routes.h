//  argos_api_routes - the routes of the HTTP interface, from schema/http.json and a table of
//  handlers; and what is said about them.
//
//  Invariant: each route of schema/http.json has one handler and each handler one route, else there
//  is no table. So what is described (GET /openapi.json, docs/http-api.md) is what is served.

#ifndef ARGOS_API_ROUTES_H
#define ARGOS_API_ROUTES_H

#include "argos_http.h"

typedef struct argos_api_routes argos_api_routes_t;

//  A handler of the route with this id

typedef struct {
    const char *id;                                //  In schema/http.json
    void (*fn) (void *ctx, argos_http_req_t *req); //  What it does
} argos_api_handler_t;

//  Joins them; handlers ends with an id of NULL. NULL with a sentence in reason (256 bytes) when
//  they do not fit together.
argos_api_routes_t *argos_api_routes_new (const argos_api_handler_t *handlers, char *reason);
void argos_api_routes_destroy (argos_api_routes_t **self_p);

//  The table for the server; ended by a NULL method.
const argos_http_route_t *argos_api_routes_table (const argos_api_routes_t *self);

//  Id of row number index; NULL behind the last. Row of an id, borrowed JSON; NULL = none.
const char *argos_api_routes_id (const argos_api_routes_t *self, size_t index);
const json_t *argos_api_routes_row (const argos_api_routes_t *self, const char *id);

//  The description as OpenAPI 3.1, new.
json_t *argos_api_routes_openapi (const argos_api_routes_t *self, const char *version);

#endif
