//  argos_api_get - GET /v1/runs and GET /v1/runs/{id}.

#include "argos_api_priv.h"

#include <string.h>

#define S_LIST_DEFAULT 50 //  Runs of a list
#define S_LIST_MAX 200    //  At most
#define S_ALWAYS 3        //  Members of a status that are there even when null

//  --------------------------------------------------------------------------
//  The status object

static void
s_copy_time (json_t *target, const json_t *row, const char *name)
{
    const json_t *ms = json_object_get (row, name);
    if (json_is_number (ms))
        (void) json_object_set_new (target, name, json_real (json_number_value (ms) / 1000.0));
}

static json_t *
s_status (const json_t *row)
{
    static const char *const copied[] = { "session_id", "model", "last_event", "output", "usage",
        "error" };
    json_t *status = json_pack ("{s:s,s:O,s:O}", "object", "hermes.run", "run_id",
        json_object_get (row, "run_id"), "status", json_object_get (row, "state"));
    if (!status)
        return NULL;
    s_copy_time (status, row, "created_at");
    s_copy_time (status, row, "updated_at");
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *member = json_object_get (row, copied[i]);
        const char *event = strcmp (copied[i], "last_event") == 0
                                ? argos_event_name (json_string_value (member))
                                : NULL;
        if (event) {
            (void) json_object_set_new (status, copied[i], json_string (event));
            continue;
        }
        if (member && !json_is_null (member))
            (void) json_object_set (status, copied[i], member);
        else if (i < S_ALWAYS)
            (void) json_object_set_new (status, copied[i], json_null ());
    }
    return status;
}

static void
s_on_get (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    const json_t *row = argos_api_row (answer, call->req);
    const char *session = json_string_value (json_object_get (row, "session_id"));
    const char *state = json_string_value (json_object_get (row, "state"));
    if (session && state && (strcmp (state, "running") == 0 || strcmp (state, "queued") == 0)) {
        call->row = s_status (row);
        argos_api_waits (call, session);
        return;
    }
    if (answer->code != ARGOS_OK)
        argos_api_unavailable (call->req, answer->code);
    else if (!row)
        argos_api_no_run (call->req);
    else
        argos_http_json (call->req, 200, s_status (row));
    argos_api_call_destroy (&call);
}

void
argos_api_get (void *ctx, argos_http_req_t *req)
{
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    if (*call->run_id)
        argos_api_read (
            call->api, "run.get", json_pack ("{s:s}", "run_id", call->run_id), s_on_get, call);
    else {
        argos_api_no_run (req);
        argos_api_call_destroy (&call);
    }
}

static void
s_on_list (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (answer->code != ARGOS_OK)
        argos_api_unavailable (call->req, answer->code);
    else {
        json_t *data = json_array (), *row;
        size_t index;
        json_array_foreach (json_object_get (answer->body, "runs"), index, row) {
            if (!call->active_only || !argos_api_row_terminal (row))
                (void) json_array_append_new (data, s_status (row));
        }
        argos_http_json (call->req, 200, json_pack ("{s:s,s:o}", "object", "list", "data", data));
    }
    argos_api_call_destroy (&call);
}

void
argos_api_list (void *ctx, argos_http_req_t *req)
{
    const char *text = argos_http_query (req, "limit");
    const char *status = argos_http_query (req, "status");
    int64_t limit = text ? argos_event_number (text) : S_LIST_DEFAULT;
    if (limit < 1 || limit > S_LIST_MAX) {
        argos_http_error (req, 400, "invalid_request_error", "invalid_pagination", "limit",
            "'limit' must be a number from 1 to 200.");
        return;
    }
    if (status && strcmp (status, "active") != 0) {
        argos_http_error (
            req, 400, "invalid_request_error", NULL, "status", "'status' can be 'active' only.");
        return;
    }
    char owner[64];
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    argos_api_run_owner (req, owner);
    call->active_only = status != NULL;
    argos_api_read (call->api, "run.list",
        json_pack ("{s:I,s:s}", "limit", (json_int_t) limit, "owner", owner), s_on_list, call);
}
