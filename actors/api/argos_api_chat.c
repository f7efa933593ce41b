//  argos_api_chat - POST /v1/chat/completions: a run, and its answer as a completion.
//
//  The conversation of the request counts, unless a session is named: then the stored one does. A
//  client that hangs up before the end ends the run (after a grace). Idempotency keys are those of
//  the runs API, for answers as a whole.

#include "argos_api_priv.h"

#include "argos_chat_request.h"
#include "argos_chat_view.h"

#include <stdlib.h>
#include <string.h>

//  The session: the one that is named, or one of this conversation. False = answered.

static bool
s_choose_session (argos_api_call_t *call, const argos_chat_request_t *request)
{
    char *named, derived[21];
    const char *chat = argos_http_header (call->req, "X-OpenWebUI-Chat-Id");
    if (!argos_api_session_header (call->req, "Session-Id", &named))
        return false;
    call->named = named != NULL;
    if (named) {
        json_decref (call->run.history);
        call->run.history = NULL;
    }
    else {
        const char *salt = call->session_key ? call->session_key : chat ? chat : "";
        argos_chat_request_session (request, argos_http_owner (call->req), salt, derived);
    }
    call->run.session_id = json_string (named ? named : derived);
    free (named);
    if (call->run.session_id)
        return true;
    argos_http_error (call->req, 400, "invalid_request_error", "invalid_session_id", NULL,
        "The session header is not valid UTF-8.");
    return false;
}

static bool
s_wants_tool_events (const argos_http_req_t *req)
{
    const char *text = argos_http_header (req, "X-Hermes-Tool-Events");
    if (!text)
        text = argos_http_header (req, "X-Argos-Tool-Events");
    return text && strcmp (text, "sse") == 0;
}

//  Takes what was read into the call. False = answered.

static bool
s_take (argos_api_call_t *call, argos_chat_request_t *request)
{
    argos_api_t *self = call->api;
    const char *model = json_string_value (request->run.model);
    call->run = request->run;
    request->run = (argos_run_request_t){ .text = NULL };
    call->view = argos_chat_view_new (call->run_id, model ? model : self->model, request->stream,
        request->include_usage, s_wants_tool_events (call->req), argos_shell_wall () / 1000);
    if (*request->ignored)
        argos_http_set (call->req, "X-Argos-Ignored", request->ignored);
    request->run.instructions = json_incref (call->run.instructions);
    bool good = s_choose_session (call, request);
    if (!self->direct_model || (model && strcmp (model, self->model) == 0)) {
        json_decref (call->run.model);
        call->run.model = NULL;
    }
    return good && argos_api_prepare (call);
}

void
argos_api_chat (void *ctx, argos_http_req_t *req)
{
    argos_chat_request_t request;
    argos_run_problem_t problem;
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    size_t size;
    const char *body = argos_http_body (req, &size);
    json_t *root = argos_run_request_root (body, size, &problem);
    int rc = root ? argos_chat_request_read (root, &request, &problem) : -1;
    json_decref (root);
    bool good = argos_api_open (call, rc == 0 && !request.stream ? "chat" : NULL);
    if (good && rc != 0)
        argos_api_refuse (req, &problem);
    good = good && rc == 0 && s_take (call, &request);
    if (rc == 0)
        argos_chat_request_clear (&request);
    if (good)
        argos_api_submit (call);
    else
        argos_api_call_destroy (&call);
}
