//  argos_api_steer - POST /v1/runs/{run_id}/steer: a word to a turn that runs.
//
//  It is a side message in the lane of the session, a run of its own: the turn takes it behind the
//  results of its tools; one that calls no more tools leaves it, and it is a turn in its place
//  (adr/0018). One commit: the row, the message, and what readers of the run see.

#include "argos_api_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  What was said, as text; NULL = nothing.

static json_t *
s_text (argos_http_req_t *req, argos_run_problem_t *problem)
{
    static const char *const names[] = { "input", "message", "text" };
    size_t size;
    const char *body = argos_http_body (req, &size);
    json_t *root = argos_run_request_root (body, size, problem), *text = NULL;
    argos_content_t content = { .text = NULL };
    for (size_t i = 0; root && i < sizeof names / sizeof *names && !content.text; i++) {
        json_t *member = json_object_get (root, names[i]);
        if (member && argos_content_read (member, names[i], &content, problem) != 0)
            break;
    }
    const char *said = json_string_value (content.text);
    if (said && said[strspn (said, " \t\r\n")] && strlen (said) <= ARGOS_RUN_TEXT_MAX)
        text = json_incref (content.text);
    else if (root)
        (void) argos_problem (problem, 400, "invalid_steer_input", "input",
            "'input' must be a text that is not empty, of at most %d bytes.", ARGOS_RUN_TEXT_MAX);
    argos_content_clear (&content);
    json_decref (root);
    return text;
}

static void
s_on_commit (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (answer->code == ARGOS_OK)
        argos_http_json (call->req, 200,
            json_pack ("{s:s,s:s,s:b,s:s}", "object", "hermes.run.steer", "run_id", call->run_id,
                "accepted", 1, "steer_run_id", call->steer_id));
    else if (answer->code == ARGOS_CONFLICT || answer->code == ARGOS_DENIED)
        argos_http_error (call->req, 409, "invalid_request_error", "steer_not_accepted", NULL,
            "The run has ended meanwhile.");
    else
        argos_api_unavailable (call->req, answer->code);
    argos_api_call_destroy (&call);
}

static void
s_commit (argos_api_call_t *call, const char *session)
{
    char owner[64], topic[64], id[80];
    argos_run_problem_t problem;
    argos_run_id_new (call->steer_id);
    argos_api_run_owner (call->req, owner);
    (void) snprintf (topic, sizeof topic, "topic:run.%s", call->run_id);
    (void) snprintf (id, sizeof id, "steered.%s", call->steer_id);
    char lane[ARGOS_RUN_SESSION_MAX + 1];
    json_t *inbound = argos_run_request_inbound (
        &call->run, call->steer_id, argos_http_owner (call->req), NULL, lane, &problem);
    json_t *row = argos_run_request_row (&call->run, call->steer_id, owner);
    (void) json_object_set_new (row, "session_id", json_string (session));
    const argos_peer_part_t parts[] = {
        { .type = "run.create", .to = "store", .body = row },
        { .type = "turn.request",
            .to = "service:turn",
            .id = call->steer_id,
            .key = session,
            .durable = true,
            .side = true,
            .urgent = true,
            .body = json_pack ("{s:s,s:s,s:O,s:O}", "run_id", call->steer_id, "session_id", session,
                "text", call->run.text, "source", json_object_get (inbound, "source")) },
        { .type = "run.steered",
            .to = topic,
            .id = id,
            .durable = true,
            .body = json_pack ("{s:s}", "steer_run_id", call->steer_id) },
    };
    json_decref (inbound);
    argos_err_t code =
        argos_peer_commit (argos_shell_peer (call->api->shell), NULL, parts, 3, s_on_commit, call);
    if (code != ARGOS_OK)
        s_on_commit (call, &(argos_peer_answer_t){ .code = code, .reason = "", .part = -1 });
}

static void
s_on_run (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    const json_t *row = argos_api_row (answer, call->req);
    const char *session = json_string_value (json_object_get (row, "session_id"));
    const char *state = json_string_value (json_object_get (row, "state"));
    if (answer->code != ARGOS_OK || call->api->stopping)
        argos_api_unavailable (call->req, answer->code == ARGOS_OK ? ARGOS_GONE : answer->code);
    else if (!row)
        argos_api_no_run (call->req);
    else if (!session || !state || strcmp (state, "running") != 0)
        argos_http_error (call->req, 409, "invalid_request_error", "run_not_accepting_steer", NULL,
            "Only a run that is running can be steered.");
    else {
        s_commit (call, session);
        return;
    }
    argos_api_call_destroy (&call);
}

void
argos_api_steer (void *ctx, argos_http_req_t *req)
{
    argos_run_problem_t problem = { .status = 400, .message = "" };
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    if (!*call->run_id)
        argos_api_no_run (req);
    else if (!(call->run.text = s_text (req, &problem)))
        argos_api_refuse (req, &problem);
    else {
        argos_api_read (
            call->api, "run.get", json_pack ("{s:s}", "run_id", call->run_id), s_on_run, call);
        return;
    }
    argos_api_call_destroy (&call);
}
