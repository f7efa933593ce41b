//  argos_api_responses - POST /v1/responses: a run that may go on from an earlier one.
//
//  A stored response is a record in space `response`, key "<owner>/<id>", written in the commit
//  that starts its run: its run, its session, what it repeats of its request. Its output is never
//  stored again: it is made of the entries of the run. "<owner>/tip/<session>" names the last
//  response of a session and "<owner>/conv/<hash of the name>" that of a conversation. A response
//  that goes on from the last one of its session has the session's transcript; one that goes on
//  from an earlier one is sent the texts up to there.

#include "argos_api_priv.h"

#include "argos_response_request.h"
#include "argos_response_view.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_HISTORY_MAX 16 //  Pages of a transcript that are looked at

typedef struct {
    argos_api_call_t *call;           //  The run to come
    argos_response_request_t request; //  What is asked for
    char id[34];                      //  Its response
    json_t *before;                   //  Record of the response that it goes on from, or NULL
    json_t *history;                  //  Texts up to there
    int64_t load_after;               //  Newest message that was loaded
    int pages;                        //  How many were
    bool strict;                      //  An unknown response is refused
    bool plain;                       //  A run of the runs API: nothing is stored of it
} s_create_t;

static void
s_free (s_create_t *self)
{
    argos_response_request_clear (&self->request);
    json_decref (self->before);
    json_decref (self->history);
    free (self);
}

//  Answered; the call is not needed.

static void
s_drop (s_create_t *self)
{
    argos_api_call_destroy (&self->call);
    s_free (self);
}

void
argos_api_response_key (const argos_http_req_t *req, const char *kind, const char *name,
    char target[static ARGOS_API_RESPONSE_KEY])
{
    (void) snprintf (
        target, ARGOS_API_RESPONSE_KEY, "%s/%s%.256s", argos_http_owner (req), kind, name);
}

static void
s_conversation_key (const s_create_t *self, char target[static ARGOS_API_RESPONSE_KEY])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof digest + 1];
    const char *name = self->request.conversation;
    crypto_hash_sha256 (digest, (const unsigned char *) name, strlen (name));
    (void) sodium_bin2hex (hex, sizeof hex, digest, sizeof digest);
    argos_api_response_key (self->call->req, "conv/", hex, target);
}

static void
s_get (s_create_t *self, const char *key, argos_peer_answer_fn *fn)
{
    argos_api_read (self->call->api, "record.get",
        json_pack ("{s:s,s:s}", "space", ARGOS_API_RESPONSE_SPACE, "key", key), fn, self);
}

static const char *
s_member (const json_t *value, const char *name)
{
    return json_string_value (json_object_get (value, name));
}

//  --------------------------------------------------------------------------
//  The last step: everything is known

static void
s_put (argos_api_call_t *call, const char *key, json_t *value)
{
    if (!call->records)
        call->records = json_array ();
    (void) json_array_append_new (
        call->records, json_pack ("{s:s,s:s,s:o,s:s}", "space", ARGOS_API_RESPONSE_SPACE, "key",
                           key, "value", value, "run_id", call->run_id));
}

static void
s_add_records (s_create_t *self, const char *model)
{
    argos_api_call_t *call = self->call;
    char key[ARGOS_API_RESPONSE_KEY];
    const char *session = json_string_value (call->run.session_id);
    json_t *pointer = json_pack ("{s:s}", "response_id", self->id);
    json_t *value = json_pack ("{s:s,s:s,s:s,s:O}", "run_id", call->run_id, "session_id", session,
        "model", model, "object", self->request.object);
    argos_api_response_key (call->req, "tip/", session, key);
    s_put (call, key, json_incref (pointer));
    if (self->request.conversation) {
        s_conversation_key (self, key);
        s_put (call, key, json_incref (pointer));
        (void) json_object_set_new (value, "conversation", json_string (key));
    }
    json_decref (pointer);
    argos_api_response_key (call->req, "", self->id, key);
    s_put (call, key, value);
}

//  The conversation that is sent along; NULL when the session's own is the right one.

static json_t *
s_history (s_create_t *self)
{
    json_t *given = self->request.run.history, *items = self->request.items;
    bool first = !self->before && !self->call->session_key;
    if (!given && !self->history && !first && json_array_size (items) == 0)
        return NULL;
    json_t *all = json_array ();
    (void) json_array_extend (all, given ? given : self->history ? self->history : items);
    if (given || self->history)
        (void) json_array_extend (all, items);
    while (self->request.truncate && json_array_size (all) > ARGOS_RESPONSE_HISTORY_AUTO)
        (void) json_array_remove (all, 0);
    return all;
}

static json_t *
s_session (const s_create_t *self)
{
    const char *kept = s_member (self->before, "session_id");
    if (kept)
        return json_string (kept);
    if (self->call->session_key)
        return argos_run_request_session (self->call->session_key);
    return json_sprintf ("resp-%.32s", self->call->run_id + 4);
}

static void
s_set_view (s_create_t *self, const char *model)
{
    argos_api_call_t *call = self->call;
    const argos_response_request_t *request = &self->request;
    if (*request->ignored)
        argos_http_set (call->req, "X-Argos-Ignored", request->ignored);
    call->view = argos_response_view_new (call->run_id, model, request->object, request->stream,
        false, request->stream ? argos_shell_wall () / 1000 : 0);
    if (request->store)
        s_add_records (self, model);
    if (!call->api->direct_model || strcmp (model, call->api->model) == 0) {
        json_decref (call->run.model);
        call->run.model = NULL;
    }
}

static void
s_submit (s_create_t *self)
{
    argos_api_call_t *call = self->call;
    argos_response_request_t *request = &self->request;
    const char *asked = json_string_value (request->run.model);
    const char *model = asked ? asked : call->api->model;
    json_t *history = s_history (self);
    json_t *inherited = json_object_get (json_object_get (self->before, "object"), "instructions");
    call->run = request->run;
    request->run = (argos_run_request_t){ .text = NULL };
    json_decref (call->run.history);
    call->run.history = history;
    if (!call->run.instructions && json_string_length (inherited)) {
        call->run.instructions = json_incref (inherited);
        (void) json_object_set (request->object, "instructions", inherited);
    }
    if (!call->run.session_id)
        call->run.session_id = s_session (self);
    if (!self->plain)
        s_set_view (self, model);
    s_free (self);
    if (argos_api_prepare (call))
        argos_api_submit (call);
    else
        argos_api_call_destroy (&call);
}

//  --------------------------------------------------------------------------
//  What it goes on from

static void s_load (s_create_t *self);

static void
s_on_page (void *arg, const argos_peer_answer_t *answer)
{
    s_create_t *self = arg;
    const json_t *messages = json_object_get (answer->body, "messages");
    size_t count = json_array_size (messages);
    if (answer->code != ARGOS_OK) {
        argos_api_unavailable (self->call->req, answer->code);
        s_drop (self);
        return;
    }
    bool met = argos_response_history (self->history, messages, s_member (self->before, "run_id"));
    self->load_after = json_integer_value (
        json_object_get (json_array_get (messages, count ? count - 1 : 0), "id"));
    if (!met && json_is_true (json_object_get (answer->body, "more")) &&
        ++self->pages < S_HISTORY_MAX)
        s_load (self);
    else
        s_submit (self);
}

static void
s_load (s_create_t *self)
{
    argos_api_read (self->call->api, "session.load",
        json_pack ("{s:s,s:I}", "id", s_member (self->before, "session_id"), "after",
            (json_int_t) self->load_after),
        s_on_page, self);
}

static void
s_on_tip (void *arg, const argos_peer_answer_t *answer)
{
    s_create_t *self = arg;
    char before[34];
    const json_t *tip = json_object_get (json_object_get (answer->body, "record"), "value");
    const char *newest = s_member (tip, "response_id");
    argos_response_id (s_member (self->before, "run_id"), before);
    bool last = newest && strcmp (newest, before) == 0;
    bool simple = last && !self->request.truncate && json_array_size (self->request.items) == 0;
    if (answer->code != ARGOS_OK) {
        argos_api_unavailable (self->call->req, answer->code);
        s_drop (self);
    }
    else if (simple || self->request.run.history)
        s_submit (self);
    else {
        self->history = json_array ();
        s_load (self);
    }
}

static void
s_on_before (void *arg, const argos_peer_answer_t *answer)
{
    s_create_t *self = arg;
    char key[ARGOS_API_RESPONSE_KEY];
    json_t *value = json_object_get (json_object_get (answer->body, "record"), "value");
    if (answer->code != ARGOS_OK)
        argos_api_unavailable (self->call->req, answer->code);
    else if (argos_api_response_valid (value)) {
        self->before = json_incref (value);
        argos_api_response_key (self->call->req, "tip/", s_member (value, "session_id"), key);
        s_get (self, key, s_on_tip);
        return;
    }
    else if (!self->strict) {
        s_submit (self);
        return;
    }
    else
        argos_http_error (self->call->req, 404, "invalid_request_error", NULL,
            "previous_response_id", "There is no response of this id.");
    s_drop (self);
}

static void
s_on_conversation (void *arg, const argos_peer_answer_t *answer)
{
    s_create_t *self = arg;
    char key[ARGOS_API_RESPONSE_KEY];
    const json_t *value = json_object_get (json_object_get (answer->body, "record"), "value");
    const char *id = s_member (value, "response_id");
    if (answer->code != ARGOS_OK) {
        argos_api_unavailable (self->call->req, answer->code);
        s_drop (self);
    }
    else if (!id)
        s_submit (self);
    else {
        argos_api_response_key (self->call->req, "", id, key);
        s_get (self, key, s_on_before);
    }
}

//  --------------------------------------------------------------------------
//  The request

static void
s_begin (s_create_t *self)
{
    char key[ARGOS_API_RESPONSE_KEY];
    argos_response_id (self->call->run_id, self->id);
    self->strict = self->request.previous != NULL;
    if (self->request.conversation) {
        s_conversation_key (self, key);
        s_get (self, key, s_on_conversation);
    }
    else if (self->request.previous) {
        argos_api_response_key (self->call->req, "", self->request.previous, key);
        s_get (self, key, s_on_before);
    }
    else
        s_submit (self);
}

void
argos_api_continue (argos_api_call_t *call)
{
    s_create_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->call = call;
    self->plain = true;
    self->request.run = call->run;
    call->run = (argos_run_request_t){ .text = NULL };
    self->request.items = self->request.run.history ? self->request.run.history : json_array ();
    self->request.run.history = NULL;
    self->request.object = json_object ();
    self->request.previous = strdup (json_string_value (self->request.run.previous));
    if (self->request.previous)
        s_begin (self);
    else
        abort ();
}

void
argos_api_respond (void *ctx, argos_http_req_t *req)
{
    argos_run_problem_t problem;
    size_t size;
    const char *body = argos_http_body (req, &size);
    s_create_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->call = argos_api_call_new (ctx, req);
    json_t *root = argos_run_request_root (body, size, &problem);
    int rc = root ? argos_response_request_read (root, &self->request, &problem) : -1;
    json_decref (root);
    bool good = argos_api_open (self->call, rc == 0 && !self->request.stream ? "responses" : NULL);
    if (good && rc != 0)
        argos_api_refuse (req, &problem);
    if (good && rc == 0)
        s_begin (self);
    else
        s_drop (self);
}
