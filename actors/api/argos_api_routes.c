//  argos_api_routes - the routes of the HTTP interface as a table, and as OpenAPI. Pure.

#include "argos_api_routes.h"

#include "argos_embedded.h"
#include "argos_http_key.h"
#include "argos_json_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct argos_api_routes {
    json_t *root;              //  schema/http.json
    argos_http_route_t *table; //  One row for each route, and the end
};

static json_t *
s_list (const argos_api_routes_t *self)
{
    return json_object_get (self->root, "routes");
}

static unsigned
s_scopes (const json_t *row)
{
    unsigned bits = 0;
    size_t index;
    json_t *word;
    json_array_foreach (json_object_get (row, "scopes"), index, word)
        bits |= argos_http_key_scopes (json_string_value (word));
    return bits;
}

static const argos_api_handler_t *
s_handler (const argos_api_handler_t *handlers, const char *id)
{
    for (; handlers->id; handlers++)
        if (strcmp (handlers->id, id) == 0)
            return handlers;
    return NULL;
}

//  Fills the table. Returns 0, or -1 with a reason.

static int
s_fill (argos_api_routes_t *self, const argos_api_handler_t *handlers, char *reason)
{
    size_t index, count = 0;
    json_t *row;
    while (handlers[count].id)
        count++;
    json_array_foreach (s_list (self), index, row) {
        const char *id = argos_json_find_text (row, "id");
        const argos_api_handler_t *handler = s_handler (handlers, id);
        if (!handler) {
            (void) snprintf (reason, 256, "http: the route %.64s has no handler", id);
            return -1;
        }
        self->table[index] = (argos_http_route_t){ .method = argos_json_find_text (row, "method"),
            .path = argos_json_find_text (row, "path"),
            .scopes = s_scopes (row),
            .fn = handler->fn };
    }
    if (count == json_array_size (s_list (self)))
        return 0;
    (void) snprintf (reason, 256, "http: there are handlers without a route");
    return -1;
}

argos_api_routes_t *
argos_api_routes_new (const argos_api_handler_t *handlers, char *reason)
{
    const argos_embedded_t *file = argos_embedded_find ("http.json");
    argos_api_routes_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->root = file ? json_loadb (file->data, file->size, 0, NULL) : NULL;
    self->table = calloc (json_array_size (s_list (self)) + 1, sizeof *self->table);
    if (!self->table)
        abort ();
    if (!self->root || s_fill (self, handlers, reason) != 0)
        argos_api_routes_destroy (&self);
    return self;
}

void
argos_api_routes_destroy (argos_api_routes_t **self_p)
{
    argos_api_routes_t *self = self_p ? *self_p : NULL;
    if (!self)
        return;
    *self_p = NULL;
    json_decref (self->root);
    free (self->table);
    free (self);
}

const argos_http_route_t *
argos_api_routes_table (const argos_api_routes_t *self)
{
    return self->table;
}

const char *
argos_api_routes_id (const argos_api_routes_t *self, size_t index)
{
    return argos_json_find_text (json_array_get (s_list (self), index), "id");
}

const json_t *
argos_api_routes_row (const argos_api_routes_t *self, const char *id)
{
    size_t index;
    json_t *row;
    json_array_foreach (s_list (self), index, row)
        if (strcmp (argos_json_find_text (row, "id"), id) == 0)
            return row;
    return NULL;
}

//  --------------------------------------------------------------------------
//  OpenAPI

//  The content of an answer: a shape, or a media type that has none.

static json_t *
s_content (const char *shape)
{
    if (strchr (shape, '/'))
        return json_pack ("{s:{s:{s:s}}}", shape, "schema", "type", "string");
    json_t *reference = json_sprintf ("#/components/schemas/%s", shape);
    return json_pack ("{s:{s:{s:o}}}", "application/json", "schema", "$ref", reference);
}

static json_t *
s_responses (const json_t *row)
{
    json_t *responses = json_object (), *shape;
    const char *status;
    json_object_foreach (json_object_get (row, "answers"), status, shape) {
        json_t *response =
            json_pack ("{s:s}", "description", argos_json_find_text (row, "summary"));
        json_t *content = json_is_string (shape) ? s_content (json_string_value (shape)) : NULL;
        if (content && argos_json_find_text (row, "stream")) {
            json_t *each = s_content (argos_json_find_text (row, "stream"));
            (void) json_object_set (
                content, "text/event-stream", json_object_get (each, "application/json"));
            json_decref (each);
        }
        if (content)
            (void) json_object_set_new (response, "content", content);
        (void) json_object_set_new (responses, status, response);
    }
    (void) json_object_set_new (responses, "default",
        json_pack ("{s:s,s:o}", "description", "An error", "content", s_content ("Error")));
    return responses;
}

//  The one that the braces of a path name, as a list; empty when there are none.

static json_t *
s_parameters (const char *path)
{
    const char *begin = strchr (path, '{');
    if (!begin)
        return json_array ();
    return json_pack ("[{s:s%,s:s,s:b,s:{s:s}}]", "name", begin + 1, strcspn (begin + 1, "}"), "in",
        "path", "required", 1, "schema", "type", "string");
}

static json_t *
s_operation (const json_t *row)
{
    const char *request = argos_json_find_text (row, "request");
    json_t *operation = json_pack ("{s:O,s:O,s:o,s:o,s:O}", "operationId",
        json_object_get (row, "id"), "summary", json_object_get (row, "summary"), "parameters",
        s_parameters (argos_json_find_text (row, "path")), "responses", s_responses (row),
        "x-scopes", json_object_get (row, "scopes"));
    if (s_scopes (row) == 0)
        (void) json_object_set_new (operation, "security", json_array ());
    if (request)
        (void) json_object_set_new (operation, "requestBody",
            json_pack ("{s:b,s:o}", "required", 1, "content", s_content (request)));
    return operation;
}

json_t *
argos_api_routes_openapi (const argos_api_routes_t *self, const char *version)
{
    json_t *paths = json_object (), *row;
    size_t index;
    json_array_foreach (s_list (self), index, row) {
        const char *path = argos_json_find_text (row, "path");
        char method[16] = "";
        for (size_t i = 0; i + 1 < sizeof method && argos_json_find_text (row, "method")[i]; i++)
            method[i] = (char) (argos_json_find_text (row, "method")[i] | 0x20);
        if (!json_object_get (paths, path))
            (void) json_object_set_new (paths, path, json_object ());
        (void) json_object_set_new (json_object_get (paths, path), method, s_operation (row));
    }
    return json_pack ("{s:s,s:{s:s,s:s},s:[{s:[]}],s:o,s:{s:O,s:{s:{s:s,s:s}}}}", "openapi",
        "3.1.0", "info", "title", "Argos", "version", version, "security", "key", "paths", paths,
        "components", "schemas", json_object_get (self->root, "shapes"), "securitySchemes", "key",
        "type", "http", "scheme", "bearer");
}
