//  argos_api_events - GET /v1/runs/{run_id}/events: a reader of the run's events, from the
//  beginning or behind the number that it names.

#include "argos_api_priv.h"

static void
s_on_row (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    argos_api_t *self = call->api;
    const json_t *row = argos_api_row (answer, call->req);
    if (answer->code != ARGOS_OK || self->stopping)
        argos_api_unavailable (call->req, answer->code == ARGOS_OK ? ARGOS_GONE : answer->code);
    else if (!row)
        argos_api_no_run (call->req);
    else {
        argos_api_watch_join (call, argos_api_row_terminal (row));
        return;
    }
    argos_api_call_destroy (&call);
}

void
argos_api_events (void *ctx, argos_http_req_t *req)
{
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    if (!*call->run_id) {
        argos_api_no_run (req);
        argos_api_call_destroy (&call);
        return;
    }
    const char *after = argos_http_header (req, "Last-Event-ID");
    if (!after)
        after = argos_http_query (req, "last_event_id");
    call->after = argos_event_number (after ? after : argos_http_query (req, "after"));
    argos_api_read (
        call->api, "run.get", json_pack ("{s:s}", "run_id", call->run_id), s_on_row, call);
}
