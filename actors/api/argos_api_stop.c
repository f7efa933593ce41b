//  argos_api_stop - POST /v1/runs/{id}/stop.
//
//  A stop is a durable side message in the lane of the run's session, and 200 leaves after it was
//  accepted. There it finds the run, running or queued, whenever it comes; but only when the turn
//  has been queued before it. That is so from the moment when the row shows a session (the gateway
//  binds it in the very commit that queues the turn). A run that is still with the gateway has
//  none; its stop waits here, with its client, and looks again: 5 ms later, then at doubled pauses
//  up to 250 ms, 10 s in all, then 503. So a 200 always means that the stop will hold.

#include "argos_api_priv.h"

#include <stdio.h>
#include <string.h>

#define S_PAUSE_FIRST 5 //  Msec before the second look
#define S_PAUSE_MAX 250 //  Longest pause
#define S_GIVE_UP 10000 //  Msec of looking

static void
s_on_accepted (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (!call->req)
        ;
    else if (answer->code == ARGOS_OK)
        argos_http_json (
            call->req, 200, json_pack ("{s:s,s:s}", "run_id", call->run_id, "status", "stopping"));
    else
        argos_api_unavailable (call->req, answer->code);
    argos_api_call_destroy (&call);
}

static void
s_send (argos_api_call_t *call, const char *session)
{
    char id[64];
    (void) snprintf (id, sizeof id, "%s.%s", call->req ? "stop" : "gone", call->run_id);
    const argos_peer_part_t part = {
        .type = "turn.stop",
        .to = "service:turn",
        .id = id,
        .key = session,
        .durable = true,
        .side = true,
        .urgent = true,
        .body = json_pack ("{s:s,s:s}", "run_id", call->run_id, "reason",
            call->req ? "Stop requested via API" : "SSE client disconnected"),
    };
    argos_err_t code =
        argos_peer_send (argos_shell_peer (call->api->shell), &part, s_on_accepted, call);
    if (code != ARGOS_OK)
        s_on_accepted (call, &(argos_peer_answer_t){ .code = code, .reason = "", .part = -1 });
}

static void
s_wait (argos_api_call_t *call)
{
    argos_api_t *self = call->api;
    int64_t now = argos_shell_now ();
    if (!call->give_up)
        call->give_up = now + S_GIVE_UP;
    if (now >= call->give_up || self->stopping) {
        if (call->req)
            argos_api_unavailable (call->req, ARGOS_BUSY);
        argos_api_call_destroy (&call);
        return;
    }
    call->pause = call->pause ? call->pause * 2 : S_PAUSE_FIRST;
    if (call->pause > S_PAUSE_MAX)
        call->pause = S_PAUSE_MAX;
    call->due = now + call->pause;
    DL_APPEND (self->stops, call);
    argos_api_schedule (self);
}

//  A run that is stopping already is told again: the state may come from the stop of another run of
//  its session. The message has the same id, so that nothing is interrupted twice.

static void
s_on_row (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    const json_t *row = argos_api_row (answer, call->req);
    const char *session = json_string_value (json_object_get (row, "session_id"));
    bool needless = !call->req && argos_api_watch_is_read (call->api, call->run_id);
    if (answer->code == ARGOS_OK && row && !argos_api_row_terminal (row) && !needless) {
        if (session && !call->api->stopping)
            s_send (call, session);
        else
            s_wait (call);
        return;
    }
    if (!call->req)
        ;
    else if (answer->code == ARGOS_OK)
        argos_api_no_run (call->req);
    else
        argos_api_unavailable (call->req, answer->code);
    argos_api_call_destroy (&call);
}

static void
s_look (argos_api_call_t *call)
{
    argos_api_read (
        call->api, "run.get", json_pack ("{s:s}", "run_id", call->run_id), s_on_row, call);
}

void
argos_api_stop (void *ctx, argos_http_req_t *req)
{
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    if (*call->run_id)
        s_look (call);
    else {
        argos_api_no_run (req);
        argos_api_call_destroy (&call);
    }
}

void
argos_api_abandon (argos_api_t *self, const char *run_id)
{
    if (self->stopping)
        return;
    argos_api_call_t *call = argos_api_call_new (self, NULL);
    memcpy (call->run_id, run_id, sizeof call->run_id);
    call->due = argos_shell_now () + self->grace_ms;
    DL_APPEND (self->stops, call);
    argos_api_schedule (self);
}

void
argos_api_stop_tick (argos_api_t *self, int64_t now)
{
    argos_api_call_t *call, *next;
    argos_api_call_t *waiting = self->stops;
    self->stops = NULL;
    DL_FOREACH_SAFE (waiting, call, next) {
        DL_DELETE (waiting, call);
        if (now >= call->due)
            s_look (call);
        else
            DL_APPEND (self->stops, call);
    }
}

int64_t
argos_api_stop_due (const argos_api_t *self)
{
    const argos_api_call_t *call;
    int64_t due = -1;
    DL_FOREACH (self->stops, call)
        if (due < 0 || call->due < due)
            due = call->due;
    return due;
}
