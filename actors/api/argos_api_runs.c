//  argos_api_runs - POST /v1/runs, and what every start of a run goes through.
//
//  A run is one commit: its row, the message to the gateway and, with an Idempotency-Key, the
//  record that takes the key; 202 leaves only after it was accepted. The row has no session until
//  the gateway binds it, in the commit that queues the turn; the stop relies on that.

#include "argos_api_priv.h"
#include "argos_chat_request.h"
#include "argos_sampling.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_PARTS_MAX 8 //  Of the commit that starts a run

//  --------------------------------------------------------------------------
//  A new run

void
argos_api_session_told (argos_http_req_t *req, const char *session, const char *key)
{
    if (session)
        argos_http_set (req, "X-Hermes-Session-Id", session);
    if (key)
        argos_http_set (req, "X-Hermes-Session-Key", key);
}

//  The run is there: follow it for the answer, or tell its id. The call is taken.

static void
s_started (argos_api_call_t *call)
{
    char location[64];
    if (call->status)
        argos_http_set (call->req, "Idempotency-Replayed", "true");
    if (call->view.class) {
        argos_api_session_told (
            call->req, json_string_value (call->run.session_id), call->session_key);
        argos_api_watch_join (call, call->over);
        return;
    }
    (void) snprintf (location, sizeof location, "/v1/runs/%s", call->run_id);
    argos_http_set (call->req, "Location", location);
    argos_api_session_told (call->req, NULL, call->session_key);
    json_t *body = json_pack (
        "{s:s,s:s}", "run_id", call->run_id, "status", call->status ? call->status : "started");
    if (call->keyed)
        (void) json_object_set_new (body, "replayed", json_boolean (call->status != NULL));
    argos_http_json (call->req, 202, body);
    argos_api_call_destroy (&call);
}

//  Answer a post, as its commit was answered, and free it.

static void
s_settle (argos_api_call_t *call, argos_err_t code)
{
    argos_api_slot_stored (call->api, call->run_id, code == ARGOS_OK);
    if (code == ARGOS_OK) {
        s_started (call);
        return;
    }
    if (code == ARGOS_CONFLICT && call->keyed) //  Another post with this key was faster
        argos_http_again (call->req, "");
    else if (code == ARGOS_TOO_BIG)
        argos_http_error (call->req, 400, "invalid_request_error", "content_too_long", NULL,
            "The run is larger than the broker takes.");
    else
        argos_api_unavailable (call->req, code);
    argos_api_call_destroy (&call);
}

static void
s_on_commit (void *arg, const argos_peer_answer_t *answer)
{
    s_settle (arg, answer->code);
}

//  Send the commit; ARGOS_OK when its answer will come.

static argos_err_t
s_commit (argos_api_call_t *call)
{
    argos_api_t *self = call->api;
    char owner[64], id[48];
    if (self->stopping)
        return ARGOS_GONE;
    argos_api_run_owner (call->req, owner);
    size_t records = json_array_size (call->records), count = 2;
    argos_peer_part_t parts[S_PARTS_MAX] = {
        { .type = "run.create",
            .to = "store",
            .durable = true,
            .body = argos_run_request_row (&call->run, call->run_id, owner) },
        { .type = "message.inbound",
            .to = "service:gateway",
            .id = call->run_id,
            .key = call->lane,
            .durable = true,
            .body = json_incref (call->inbound) },
    };
    assert (call->inbound && records + 3 <= S_PARTS_MAX);
    for (size_t i = 0; i < records + 1; i++) {
        json_t *record = i < records ? json_array_get (call->records, i) : call->key_record;
        if (record)
            parts[count++] = (argos_peer_part_t){
                .type = "record.put", .to = "store", .durable = true, .body = json_incref (record)
            };
    }
    (void) snprintf (id, sizeof id, "post.%s", call->run_id);
    return argos_peer_commit (argos_shell_peer (self->shell), id, parts, count, s_on_commit, call);
}

void
argos_api_start (argos_api_call_t *call)
{
    if (call->file_count)
        argos_api_files_store (call);
    else
        argos_api_stored (call, ARGOS_OK);
}

void
argos_api_stored (argos_api_call_t *call, argos_err_t code)
{
    argos_api_t *self = call->api;
    if (code != ARGOS_OK) {
        argos_api_slot_stored (self, call->run_id, false);
        argos_api_unavailable (call->req, code);
        argos_api_call_destroy (&call);
        return;
    }
    code = s_commit (call);
    if (code != ARGOS_OK)
        s_settle (call, code);
}

//  The run that a repeat meets.

static void
s_on_known (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    const json_t *row = argos_api_row (answer, call->req);
    const char *state = json_string_value (json_object_get (row, "state"));
    if (answer->code != ARGOS_OK)
        argos_api_unavailable (call->req, answer->code);
    else if (!state)
        argos_http_again (call->req, ""); //  It has gone since the key was looked up
    else {
        call->over = argos_api_row_terminal (row);
        call->status = strdup (state);
        s_started (call);
        return;
    }
    argos_api_call_destroy (&call);
}

//  The session that the client has named: another platform's, or another owner's, is not there.

static void
s_on_session (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    char ours[96];
    const json_t *session = json_object_get (answer->body, "session");
    const char *owner = json_string_value (json_object_get (session, "owner"));
    bool admin = argos_http_is_admin (call->req);
    (void) snprintf (ours, sizeof ours, "api_server:%s%s",
        admin ? "" : argos_http_owner (call->req), admin ? "" : ":");
    if (answer->code != ARGOS_OK)
        argos_api_unavailable (call->req, answer->code);
    else if (json_is_object (session) && (!owner || strncmp (owner, ours, strlen (ours)) != 0))
        argos_http_error (call->req, 404, "invalid_request_error", "session_not_found",
            "session_id", "There is no such session.");
    else {
        call->named = false;
        argos_api_submit (call);
        return;
    }
    argos_api_call_destroy (&call);
}

void
argos_api_submit (argos_api_call_t *call)
{
    argos_api_t *self = call->api;
    if (call->named)
        argos_api_read (self, "session.get", json_pack ("{s:O}", "id", call->run.session_id),
            s_on_session, call);
    else if (call->repeat)
        argos_api_read (
            self, "run.get", json_pack ("{s:s}", "run_id", call->run_id), s_on_known, call);
    else
        argos_api_admit (call);
}

//  --------------------------------------------------------------------------
//  What a start of a run says in its head

void
argos_api_refuse (argos_http_req_t *req, const argos_run_problem_t *problem)
{
    argos_http_error (req, problem->status, "invalid_request_error", problem->code,
        *problem->param ? problem->param : NULL, problem->message);
}

bool
argos_api_session_header (argos_http_req_t *req, const char *name, char **ret_text)
{
    char header[64];
    (void) snprintf (header, sizeof header, "X-Hermes-%s", name);
    const char *text = argos_http_header (req, header);
    if (!text) {
        (void) snprintf (header, sizeof header, "X-Argos-%s", name);
        text = argos_http_header (req, header);
    }
    *ret_text = NULL;
    size_t size = text ? strlen (text) : 0;
    size_t blank = text ? strspn (text, " \t") : 0;
    while (size > blank && (text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    if (size <= blank)
        return true;
    if (!argos_http_keyed (req))
        argos_http_error (req, 403, "invalid_request_error", NULL, NULL,
            "Session headers need a server with an API key.");
    else if (!argos_run_session_valid (text + blank, size - blank))
        argos_http_error (req, 400, "invalid_request_error", "invalid_session_id", NULL,
            "A session header must be 1 to 256 bytes without control characters, path separators "
            "or '..'.");
    else {
        *ret_text = strndup (text + blank, size - blank);
        return true;
    }
    return false;
}

//  False when the key was refused and answered, or is being looked up.

static bool
s_name_run (argos_api_call_t *call, const char *route)
{
    const char *key = argos_http_header (call->req, "Idempotency-Key");
    if (key && !argos_run_idempotency_valid (key)) {
        argos_http_error (call->req, 400, "invalid_request_error", "invalid_idempotency_key", NULL,
            "Idempotency-Key must be 1 to 255 visible ASCII characters.");
        return false;
    }
    if (key && route)
        return argos_api_key (call, route, key);
    argos_run_id_new (call->run_id);
    return true;
}

bool
argos_api_open (argos_api_call_t *call, const char *route)
{
    if (call->api->draining) {
        argos_http_set (call->req, "Retry-After", "1");
        argos_http_error (call->req, 503, "invalid_request_error", "gateway_draining", NULL,
            "The server is going down.");
        return false;
    }
    return argos_api_session_header (call->req, "Session-Key", &call->session_key) &&
           s_name_run (call, route);
}

//  --------------------------------------------------------------------------
//  POST /v1/runs

//  Makes the message, and its files ready. False when it does not fit.

static bool
s_make (argos_api_call_t *call, argos_run_problem_t *problem)
{
    if (argos_run_request_finish (&call->run, problem) != 0 ||
        !argos_api_files_take (call, problem))
        return false;
    call->inbound = argos_run_request_inbound (&call->run, call->run_id,
        argos_http_owner (call->req), call->session_key, call->lane, problem);
    return call->inbound != NULL;
}

bool
argos_api_prepare (argos_api_call_t *call)
{
    argos_run_problem_t problem;
    if (s_make (call, &problem))
        return true;
    argos_api_refuse (call->req, &problem);
    return false;
}

static bool
s_read_request (argos_api_call_t *call)
{
    static const char *const s_known[] = { "input", "instructions", "conversation_history",
        "previous_response_id", "session_id", "model", NULL };
    char ignored[ARGOS_CHAT_IGNORED_MAX];
    argos_run_problem_t problem;
    size_t size;
    const char *body = argos_http_body (call->req, &size);
    json_t *root = argos_run_request_root (body, size, &problem);
    int rc = root ? argos_run_request_read (root, &call->run, &problem) : -1;
    if (rc == 0)
        rc = argos_sampling_read (root, &call->run.sampling, &problem);
    if (rc == 0)
        argos_chat_request_ignored (root, s_known, ignored);
    json_decref (root);
    if (rc != 0) {
        argos_api_refuse (call->req, &problem);
        return false;
    }
    if (*ignored)
        argos_http_set (call->req, "X-Argos-Ignored", ignored);
    const char *model = json_string_value (call->run.model);
    if (model && strcmp (model, call->api->model) == 0) {
        json_decref (call->run.model);
        call->run.model = NULL;
    }
    call->named = call->run.session_id != NULL;
    return call->run.previous || argos_api_prepare (call);
}

void
argos_api_post (void *ctx, argos_http_req_t *req)
{
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    if (!argos_api_open (call, "runs") || (!call->repeat && !s_read_request (call)))
        argos_api_call_destroy (&call);
    else if (call->run.previous)
        argos_api_continue (call);
    else
        argos_api_submit (call);
}
