//  argos_api_session_chat - what is said in a session: its messages, a copy of it, and a chat.

#include "argos_api_priv.h"

#include "argos_session_view.h"

#include <stdlib.h>
#include <string.h>

#define S_MESSAGES_MAX 500 //  Messages of an answer
#define S_PAGES_MAX 40     //  Pages of a transcript that are looked at, 512 KiB each

//  --------------------------------------------------------------------------
//  Messages

//  The part of all that is asked for: the newest of them, unless the oldest are.

static void
s_tell_messages (argos_api_call_t *call)
{
    const argos_http_req_t *req = call->req;
    const char *order = argos_http_query (req, "order");
    bool oldest = order && strcmp (order, "oldest") == 0;
    int64_t count = (int64_t) json_array_size (call->row), limit = call->limit;
    int64_t offset = call->offset < count ? call->offset : count;
    int64_t begin = oldest ? offset : count - offset - limit;
    int64_t end = oldest ? offset + limit : count - offset;
    json_t *data = json_array ();
    for (int64_t i = begin < 0 ? 0 : begin; i < end && i < count; i++)
        (void) json_array_append (data, json_array_get (call->row, (size_t) i));
    argos_http_json (call->req, 200,
        json_pack ("{s:s,s:s,s:o,s:{s:I,s:I,s:s,s:I}}", "object", "list", "session_id",
            argos_http_param (req), "data", data, "pagination", "limit", (json_int_t) limit,
            "offset", (json_int_t) call->offset, "order", oldest ? "oldest" : "latest", "returned",
            (json_int_t) json_array_size (data)));
    argos_api_call_destroy (&call);
}

static void
s_on_page (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    json_t *messages = json_object_get (answer->body, "messages");
    size_t count = json_array_size (messages);
    if (answer->code != ARGOS_OK) {
        argos_api_unavailable (call->req, answer->code);
        argos_api_call_destroy (&call);
        return;
    }
    (void) json_array_extend (call->row, messages);
    json_t *last = json_object_get (json_array_get (messages, count ? count - 1 : 0), "id");
    if (count && json_is_true (json_object_get (answer->body, "more")) &&
        ++call->passed < S_PAGES_MAX)
        argos_api_read (call->api, "session.load",
            json_pack ("{s:s,s:O}", "id", argos_http_param (call->req), "after", last), s_on_page,
            call);
    else
        s_tell_messages (call);
}

static void
s_on_messages (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (argos_api_session_seen (call, answer))
        argos_api_read (call->api, "session.load",
            json_pack ("{s:s}", "id", argos_http_param (call->req)), s_on_page, call);
}

void
argos_api_session_messages (void *ctx, argos_http_req_t *req)
{
    const char *order = argos_http_query (req, "order");
    const char *limit = argos_http_query (req, "limit"), *offset = argos_http_query (req, "offset");
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    call->row = json_array ();
    call->limit = limit ? argos_event_number (limit) : S_MESSAGES_MAX;
    call->offset = offset ? argos_event_number (offset) : 0;
    bool known = !order || strcmp (order, "oldest") == 0 || strcmp (order, "latest") == 0;
    if (known && call->limit >= 1 && call->limit <= S_MESSAGES_MAX && call->offset >= 0) {
        argos_api_session_look (call, s_on_messages);
        return;
    }
    argos_http_error (req, 400, "invalid_request_error", "invalid_pagination", NULL,
        "'limit' must be a number from 1 to 500, 'offset' a number, 'order' oldest or latest.");
    argos_api_call_destroy (&call);
}

//  --------------------------------------------------------------------------
//  A copy

static void
s_on_forked (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (answer->code == ARGOS_OK)
        argos_api_session_tell (call, json_string_value (call->run.session_id), 201);
    else
        argos_api_session_refused (call, answer);
}

static void
s_on_fork (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (!argos_api_session_seen (call, answer))
        return;
    json_t *title = json_object_get (call->row, "title");
    const argos_peer_part_t part = { .type = "session.branch",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:O,s:s,s:O*}", "id", call->run.session_id, "from",
            argos_http_param (call->req), "title", json_is_string (title) ? title : NULL) };
    argos_api_session_write (call, &part, 1, s_on_forked);
}

void
argos_api_session_fork (void *ctx, argos_http_req_t *req)
{
    static const char *const names[] = { "id", "session_id", "title", NULL };
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    call->row = argos_api_session_body (req, names);
    if (call->row && argos_api_session_name (call, call->row))
        argos_api_session_look (call, s_on_fork);
    else
        argos_api_call_destroy (&call);
}

//  --------------------------------------------------------------------------
//  A chat

static void
s_on_chat (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (!argos_api_session_seen (call, answer))
        return;
    if (argos_api_prepare (call))
        argos_api_submit (call);
    else
        argos_api_call_destroy (&call);
}

//  Takes what is said into the call. False = answered.

static bool
s_read_chat (argos_api_call_t *call, const json_t *root)
{
    argos_run_problem_t problem;
    argos_content_t content = { .text = NULL };
    json_t *said = json_object_get (root, "message");
    json_t *system = json_object_get (root, "system_message");
    said = said ? said : json_object_get (root, "input");
    system = system ? system : json_object_get (root, "instructions");
    if (said && argos_content_read (said, "message", &content, &problem) != 0) {
        argos_api_refuse (call->req, &problem);
        return false;
    }
    bool empty = !content.text || (json_string_length (content.text) == 0 && !content.images);
    bool good = !empty && (!system || json_is_null (system) ||
                              json_string_length (system) <= ARGOS_RUN_TEXT_MAX);
    if (good) {
        call->run.text = json_incref (content.text);
        call->run.images = json_incref (content.images);
        call->run.instructions = json_string_length (system) ? json_incref (system) : NULL;
        call->run.session_id = json_string (argos_http_param (call->req));
    }
    else
        argos_http_error (call->req, 400, "invalid_request_error", "missing_message", "message",
            "'message' is required and must not be empty.");
    argos_content_clear (&content);
    return good;
}

static void
s_chat (argos_api_t *api, argos_http_req_t *req, bool stream)
{
    argos_api_call_t *call = argos_api_call_new (api, req);
    json_t *root = argos_api_session_body (req, NULL);
    bool good = root && argos_api_open (call, NULL) && s_read_chat (call, root);
    json_decref (root);
    if (good) {
        call->named = true;
        call->view =
            argos_session_view_new (call->run_id, argos_http_param (req), api->model, stream);
        argos_api_session_look (call, s_on_chat);
    }
    else
        argos_api_call_destroy (&call);
}

void
argos_api_session_chat (void *ctx, argos_http_req_t *req)
{
    s_chat (ctx, req, false);
}

void
argos_api_session_chat_stream (void *ctx, argos_http_req_t *req)
{
    s_chat (ctx, req, true);
}
