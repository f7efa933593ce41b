//  argos_api_stored - GET and DELETE /v1/responses/{response_id}: a response that was stored.
//
//  What it answered is made again of the entries of its run. One whose run has failed without a
//  text is not there; a record that is none is removed.

#include "argos_api_priv.h"

#include "argos_response_request.h"
#include "argos_response_view.h"

#include <string.h>

static const char *
s_member (const json_t *value, const char *name)
{
    return json_string_value (json_object_get (value, name));
}

bool
argos_api_response_valid (const json_t *value)
{
    const char *run = s_member (value, "run_id");
    return run && argos_run_id_valid (run) && s_member (value, "session_id") &&
           s_member (value, "model") && json_is_object (json_object_get (value, "object"));
}

static void
s_not_there (argos_api_call_t *call)
{
    argos_http_error (call->req, 404, "invalid_request_error", NULL, "response_id",
        "There is no response of this id.");
    argos_api_call_destroy (&call);
}

static void
s_on_nothing (void *arg, const argos_peer_answer_t *answer)
{
    (void) arg;
    (void) answer;
}

//  Remove a record; fn is told.

static void
s_remove (argos_api_t *api, const char *key, argos_peer_answer_fn *fn, void *arg)
{
    const argos_peer_part_t part = { .type = "record.put",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:s,s:s}", "space", ARGOS_API_RESPONSE_SPACE, "key", key) };
    argos_err_t code = api->stopping
                           ? ARGOS_GONE
                           : argos_peer_send (argos_shell_peer (api->shell), &part, fn, arg);
    if (api->stopping)
        json_decref (part.body);
    if (code != ARGOS_OK)
        fn (arg, &(argos_peer_answer_t){ .code = code, .reason = "", .part = -1 });
}

static void
s_ask (argos_api_call_t *call, argos_peer_answer_fn *fn)
{
    char key[ARGOS_API_RESPONSE_KEY];
    if (!argos_response_id_valid (argos_http_param (call->req))) {
        s_not_there (call);
        return;
    }
    argos_api_response_key (call->req, "", argos_http_param (call->req), key);
    argos_api_read (call->api, "record.get",
        json_pack ("{s:s,s:s}", "space", ARGOS_API_RESPONSE_SPACE, "key", key), fn, call);
}

//  The record in an answer; NULL when there is none (and one that is broken goes): answered then.

static json_t *
s_record (argos_api_call_t *call, const argos_peer_answer_t *answer)
{
    char key[ARGOS_API_RESPONSE_KEY];
    json_t *record = json_object_get (answer->body, "record");
    json_t *value = json_object_get (record, "value");
    if (answer->code != ARGOS_OK) {
        argos_api_unavailable (call->req, answer->code);
        argos_api_call_destroy (&call);
        return NULL;
    }
    if (argos_api_response_valid (value))
        return value;
    argos_api_response_key (call->req, "", argos_http_param (call->req), key);
    if (json_is_object (record))
        s_remove (call->api, key, s_on_nothing, NULL);
    s_not_there (call);
    return NULL;
}

//  --------------------------------------------------------------------------
//  GET

static void
s_on_run (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    const json_t *row = argos_api_row (answer, call->req);
    const char *state = s_member (row, "state"), *model = s_member (call->row, "model");
    const json_t *object = json_object_get (call->row, "object");
    int64_t created = (int64_t) json_number_value (json_object_get (row, "created_at")) / 1000;
    if (answer->code != ARGOS_OK || call->api->stopping)
        argos_api_unavailable (call->req, answer->code == ARGOS_OK ? ARGOS_GONE : answer->code);
    else if (!row || (state && strcmp (state, "failed") == 0)) {
        s_not_there (call);
        return;
    }
    else if (argos_api_row_terminal (row)) {
        call->view = argos_response_view_new (call->run_id, model, object, false, true, 0);
        argos_api_watch_join (call, true);
        return;
    }
    else
        argos_http_json (
            call->req, 200, argos_response_unfinished (call->run_id, model, object, created));
    argos_api_call_destroy (&call);
}

static void
s_on_get (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    json_t *value = s_record (call, answer);
    if (!value)
        return;
    call->row = json_incref (value);
    memcpy (call->run_id, s_member (value, "run_id"), sizeof call->run_id);
    argos_api_read (
        call->api, "run.get", json_pack ("{s:s}", "run_id", call->run_id), s_on_run, call);
}

void
argos_api_response_get (void *ctx, argos_http_req_t *req)
{
    s_ask (argos_api_call_new (ctx, req), s_on_get);
}

//  --------------------------------------------------------------------------
//  DELETE

static void
s_on_removed (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (answer->code == ARGOS_OK)
        argos_http_json (call->req, 200,
            json_pack ("{s:s,s:s,s:b}", "id", argos_http_param (call->req), "object", "response",
                "deleted", 1));
    else
        argos_api_unavailable (call->req, answer->code);
    argos_api_call_destroy (&call);
}

static void
s_remove_own (argos_api_call_t *call)
{
    char key[ARGOS_API_RESPONSE_KEY];
    argos_api_response_key (call->req, "", argos_http_param (call->req), key);
    s_remove (call->api, key, s_on_removed, call);
}

//  The name of a conversation that leads here goes first.

static void
s_on_conversation (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    const json_t *value = json_object_get (json_object_get (answer->body, "record"), "value");
    const char *id = s_member (value, "response_id");
    if (id && strcmp (id, argos_http_param (call->req)) == 0)
        s_remove (call->api, s_member (call->row, "conversation"), s_on_nothing, NULL);
    s_remove_own (call);
}

static void
s_on_delete (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    json_t *value = s_record (call, answer);
    if (!value)
        return;
    call->row = json_incref (value);
    const char *conversation = s_member (value, "conversation");
    if (conversation)
        argos_api_read (call->api, "record.get",
            json_pack ("{s:s,s:s}", "space", ARGOS_API_RESPONSE_SPACE, "key", conversation),
            s_on_conversation, call);
    else
        s_remove_own (call);
}

void
argos_api_response_delete (void *ctx, argos_http_req_t *req)
{
    s_ask (argos_api_call_new (ctx, req), s_on_delete);
}
