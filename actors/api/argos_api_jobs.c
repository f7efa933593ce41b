//  argos_api_jobs - GET /v1/jobs, GET /v1/jobs/{job_id} and POST /v1/jobs/{job_id}/kill.
//
//  A key sees the jobs of its owner: those that its runs have started. An administrator sees all. A
//  job of somebody else is not there.

#include "argos_api_priv.h"

#include <stdlib.h>
#include <string.h>

#define TTL_MS 70000 //  Patience: a kill takes the grace of a job
#define LIST_MAX 200 //  Jobs of a list

//  A job as clients see it.

static json_t *
s_view (const json_t *job)
{
    static const char *const left_out[] = { "owner", "seen", "killing", "patterns", "process" };
    json_t *view = json_deep_copy (job);
    json_object_set_new (view, "object", json_string ("argos.job"));
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        json_object_del (view, left_out[i]);
    return view;
}

static void
s_refuse (argos_http_req_t *req, argos_err_t code)
{
    if (code == ARGOS_NOT_FOUND || code == ARGOS_INVALID)
        argos_http_error (
            req, 404, "invalid_request_error", "job_not_found", "job_id", "There is no such job.");
    else
        argos_api_unavailable (req, code);
}

static void
s_on_list (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    size_t index;
    const json_t *job;
    if (answer->code != ARGOS_OK)
        argos_api_unavailable (call->req, answer->code);
    else {
        json_t *data = json_array ();
        json_array_foreach (json_object_get (answer->body, "jobs"), index, job)
            json_array_append_new (data, s_view (job));
        argos_http_json (call->req, 200, json_pack ("{s:s, s:o}", "object", "list", "data", data));
    }
    argos_api_call_destroy (&call);
}

static void
s_on_get (void *arg, const argos_peer_answer_t *answer)
{
    static const char *const members[] = { "text", "total", "dropped" };
    static const char *const names[] = { "output", "output_total", "output_dropped" };
    argos_api_call_t *call = arg;
    if (answer->code != ARGOS_OK)
        s_refuse (call->req, answer->code);
    else {
        json_t *view = s_view (json_object_get (answer->body, "job"));
        json_object_set (view, "command", json_object_get (answer->body, "command"));
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
            json_object_set (view, names[i], json_object_get (answer->body, members[i]));
        argos_http_json (call->req, 200, view);
    }
    argos_api_call_destroy (&call);
}

static void
s_on_kill (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (answer->code != ARGOS_OK)
        s_refuse (call->req, answer->code);
    else
        argos_http_json (call->req, 200,
            json_pack ("{s:s, s:O, s:o}", "object", "argos.job.kill", "outcome",
                json_object_get (answer->body, "outcome"), "job",
                s_view (json_object_get (answer->body, "job"))));
    argos_api_call_destroy (&call);
}

static void
s_ask (argos_api_t *self, argos_http_req_t *req, const char *type, json_t *body,
    argos_peer_answer_fn *fn)
{
    char owner[64];
    argos_api_call_t *call = argos_api_call_new (self, req);
    argos_api_run_owner (req, owner);
    if (!argos_http_is_admin (req))
        json_object_set_new (body, "owner", json_string (owner));
    argos_peer_part_t part = { .type = type, .to = "service:job", .ttl_ms = TTL_MS, .body = body };
    argos_err_t code = ARGOS_GONE;
    if (self->stopping)
        json_decref (body);
    else
        code = argos_peer_send (argos_shell_peer (self->shell), &part, fn, call);
    if (code == ARGOS_OK)
        return;
    s_refuse (req, code);
    argos_api_call_destroy (&call);
}

void
argos_api_jobs_list (void *ctx, argos_http_req_t *req)
{
    s_ask (ctx, req, "job.list", json_pack ("{s:i}", "limit", LIST_MAX), s_on_list);
}

void
argos_api_jobs_get (void *ctx, argos_http_req_t *req)
{
    s_ask (ctx, req, "job.output", json_pack ("{s:s}", "id", argos_http_param (req)), s_on_get);
}

void
argos_api_jobs_kill (void *ctx, argos_http_req_t *req)
{
    s_ask (ctx, req, "job.kill", json_pack ("{s:s}", "id", argos_http_param (req)), s_on_kill);
}
