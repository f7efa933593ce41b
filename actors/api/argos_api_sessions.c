//  argos_api_sessions - /api/sessions: list, make, look at, change and delete sessions.
//
//  A key sees the sessions of its owner; a key with the scope admin those of everybody, and of
//  every platform. What may not be seen is answered like what is not there. Limits: a list of 200,
//  the first 10,000 sessions.

#include "argos_api_priv.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_LIST_DEFAULT 50  //  Sessions of a list
#define S_LIST_MAX 200     //  At most
#define S_OFFSET_MAX 10000 //  Sessions that are passed over
#define S_PAGE 100         //  Sessions of a page of the store
#define S_MODEL_MAX 128    //  Bytes of the name of a model

//  --------------------------------------------------------------------------
//  The object

static void
s_copy_time (json_t *target, const char *name, const json_t *ms)
{
    json_t *value =
        json_is_number (ms) ? json_real (json_number_value (ms) / 1000.0) : json_null ();
    (void) json_object_set_new (target, name, value);
}

json_t *
argos_api_session (const json_t *row)
{
    static const char *const copied[][2] = { { "id", "id" }, { "source", "platform" },
        { "model", "model" }, { "title", "title" }, { "end_reason", "end_reason" },
        { "message_count", "message_count" }, { "tool_call_count", "tool_call_count" },
        { "input_tokens", "input_tokens" }, { "output_tokens", "output_tokens" },
        { "cost_usd", "cost_usd" }, { "parent_session_id", "parent" }, { "preview", "preview" } };
    json_t *session = json_object ();
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *value = json_object_get (row, copied[i][1]);
        (void) json_object_set_new (
            session, copied[i][0], value ? json_incref (value) : json_null ());
    }
    s_copy_time (session, "started_at", json_object_get (row, "started_at"));
    s_copy_time (session, "ended_at", json_object_get (row, "ended_at"));
    s_copy_time (session, "last_active", json_object_get (row, "last_activity_at"));
    (void) json_object_set_new (
        session, "archived", json_boolean (json_is_true (json_object_get (row, "archived"))));
    (void) json_object_set_new (
        session, "hidden", json_boolean (json_is_true (json_object_get (row, "hidden"))));
    return session;
}

static void
s_owner (const argos_http_req_t *req, char target[static 96])
{
    (void) snprintf (target, 96, "api_server:%s:", argos_http_owner (req));
}

json_t *
argos_api_session_row (const argos_peer_answer_t *answer, const argos_http_req_t *req)
{
    char ours[96];
    json_t *row = json_object_get (answer->body, "session");
    const char *owner = json_string_value (json_object_get (row, "owner"));
    s_owner (req, ours);
    bool mine = owner && strncmp (owner, ours, strlen (ours)) == 0;
    return json_is_object (row) && (mine || argos_http_is_admin (req)) ? row : NULL;
}

void
argos_api_no_session (argos_http_req_t *req)
{
    argos_http_error (req, 404, "invalid_request_error", "session_not_found", "session_id",
        "There is no such session.");
}

//  Reads the session of the path, then calls fn.

static void
s_look (argos_api_call_t *call, argos_peer_answer_fn *fn)
{
    const char *id = argos_http_param (call->req);
    if (argos_run_session_valid (id, strlen (id)))
        argos_api_read (call->api, "session.get", json_pack ("{s:s}", "id", id), fn, call);
    else {
        argos_api_no_session (call->req);
        argos_api_call_destroy (&call);
    }
}

void
argos_api_session_look (argos_api_call_t *call, argos_peer_answer_fn *fn)
{
    s_look (call, fn);
}

bool
argos_api_session_seen (argos_api_call_t *call, const argos_peer_answer_t *answer)
{
    if (answer->code == ARGOS_OK && argos_api_session_row (answer, call->req))
        return true;
    if (answer->code != ARGOS_OK)
        argos_api_unavailable (call->req, answer->code);
    else
        argos_api_no_session (call->req);
    argos_api_call_destroy (&call);
    return false;
}

//  --------------------------------------------------------------------------
//  GET one

static void
s_on_get (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (!argos_api_session_seen (call, answer))
        return;
    argos_http_json (call->req, call->told ? call->told : 200,
        json_pack ("{s:s,s:o}", "object", "hermes.session", "session",
            argos_api_session (json_object_get (answer->body, "session"))));
    argos_api_call_destroy (&call);
}

void
argos_api_session_get (void *ctx, argos_http_req_t *req)
{
    s_look (argos_api_call_new (ctx, req), s_on_get);
}

//  Answer with the session of that id, and this status.

void
argos_api_session_tell (argos_api_call_t *call, const char *id, unsigned status)
{
    call->told = status;
    argos_api_read (call->api, "session.get", json_pack ("{s:s}", "id", id), s_on_get, call);
}

//  --------------------------------------------------------------------------
//  GET all

static json_t *
s_query_of_list (const argos_api_call_t *call, json_t *next)
{
    char owner[96];
    bool all = argos_http_is_admin (call->req);
    const char *source = argos_http_query (call->req, "source");
    const char *children = argos_http_query (call->req, "include_children");
    s_owner (call->req, owner);
    (void) snprintf (owner + strlen (owner), sizeof owner - strlen (owner), "%s", "api");
    json_t *body = json_pack ("{s:i,s:O*}", "limit", S_PAGE, "after", next);
    if (!all)
        (void) json_object_set_new (body, "owner", json_string (owner));
    if (source && *source && strlen (source) <= 32)
        (void) json_object_set_new (body, "platform", json_string (source));
    if (children && (strcmp (children, "true") == 0 || strcmp (children, "1") == 0))
        (void) json_object_set_new (body, "all", json_true ());
    return body;
}

static void
s_on_list (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    json_t *row, *data = call->row, *next = json_object_get (answer->body, "next");
    size_t index;
    const char *title = argos_http_query (call->req, "title");
    if (answer->code != ARGOS_OK) {
        argos_api_unavailable (call->req, answer->code);
        argos_api_call_destroy (&call);
        return;
    }
    json_array_foreach (json_object_get (answer->body, "sessions"), index, row) {
        const char *named = json_string_value (json_object_get (row, "title"));
        if (title && (!named || strcmp (named, title) != 0))
            continue;
        if (call->passed < call->offset)
            call->passed++;
        else if ((int64_t) json_array_size (data) <= call->limit)
            (void) json_array_append_new (data, argos_api_session (row));
    }
    if (next && (int64_t) json_array_size (data) <= call->limit) {
        argos_api_read (call->api, "session.list", s_query_of_list (call, next), s_on_list, call);
        return;
    }
    bool more = (int64_t) json_array_size (data) > call->limit;
    if (more)
        (void) json_array_remove (data, json_array_size (data) - 1);
    argos_http_json (call->req, 200,
        json_pack ("{s:s,s:O,s:I,s:I,s:b}", "object", "list", "data", data, "limit",
            (json_int_t) call->limit, "offset", (json_int_t) call->offset, "has_more", more));
    argos_api_call_destroy (&call);
}

//  A number of the query, else fallback; at most max.

static int64_t
s_number (const argos_http_req_t *req, const char *name, int64_t fallback, int64_t max)
{
    const char *text = argos_http_query (req, name);
    int64_t value = text ? argos_event_number (text) : -1;
    return value < 0 ? fallback : value > max ? max : value;
}

void
argos_api_session_list (void *ctx, argos_http_req_t *req)
{
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    call->row = json_array ();
    call->limit = s_number (req, "limit", S_LIST_DEFAULT, S_LIST_MAX);
    call->offset = s_number (req, "offset", 0, S_OFFSET_MAX);
    if (call->limit == 0)
        call->limit = S_LIST_DEFAULT;
    argos_api_read (call->api, "session.list", s_query_of_list (call, NULL), s_on_list, call);
}

//  --------------------------------------------------------------------------
//  Writing

void
argos_api_session_write (
    argos_api_call_t *call, const argos_peer_part_t *parts, size_t count, argos_peer_answer_fn *fn)
{
    argos_err_t code = ARGOS_GONE;
    if (call->api->stopping)
        for (size_t i = 0; i < count; i++)
            json_decref (parts[i].body);
    else
        code =
            argos_peer_commit (argos_shell_peer (call->api->shell), NULL, parts, count, fn, call);
    if (code != ARGOS_OK)
        fn (call, &(argos_peer_answer_t){ .code = code, .reason = "", .part = -1 });
}

void
argos_api_session_refused (argos_api_call_t *call, const argos_peer_answer_t *answer)
{
    bool title = strstr (answer->reason, "title") != NULL;
    if (answer->code == ARGOS_CONFLICT && !title && strstr (answer->reason, "exist"))
        argos_http_error (call->req, 409, "invalid_request_error", "session_exists", "id",
            "There is a session of that id.");
    else if (title)
        argos_http_error (call->req, 400, "invalid_request_error", "invalid_title", "title",
            "That title can't be used: another session has it, or it is longer than 100 "
            "characters.");
    else if (answer->code == ARGOS_CONFLICT)
        argos_http_error (call->req, 409, "invalid_request_error", "session_busy", NULL,
            "Something waits in that session.");
    else if (answer->code == ARGOS_NOT_FOUND)
        argos_api_no_session (call->req);
    else
        argos_api_unavailable (call->req, answer->code);
    argos_api_call_destroy (&call);
}

static void
s_on_created (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (answer->code == ARGOS_OK)
        argos_api_session_tell (call, json_string_value (call->run.session_id), 201);
    else
        argos_api_session_refused (call, answer);
}

bool
argos_api_session_name (argos_api_call_t *call, const json_t *root)
{
    unsigned char random[4];
    char hex[9];
    json_t *id = json_object_get (root, "id");
    if (!id || json_is_null (id))
        id = json_object_get (root, "session_id");
    if (!id || json_is_null (id)) {
        randombytes_buf (random, sizeof random);
        (void) sodium_bin2hex (hex, sizeof hex, random, sizeof random);
        call->run.session_id =
            json_sprintf ("api_%lld_%s", (long long) (argos_shell_wall () / 1000), hex);
        return true;
    }
    if (!json_is_string (id) ||
        !argos_run_session_valid (json_string_value (id), json_string_length (id))) {
        argos_http_error (call->req, 400, "invalid_request_error", "invalid_session_id", "id",
            "'id' must be 1 to 256 bytes without control characters, path separators or '..'.");
        return false;
    }
    call->run.session_id = json_incref (id);
    return true;
}

//  Whether all members of root are among names; else it is said.

static bool
s_only (argos_http_req_t *req, json_t *root, const char *const *names)
{
    const char *name;
    json_t *value;
    json_object_foreach (root, name, value) {
        bool known = false;
        for (size_t i = 0; names[i]; i++)
            known = known || strcmp (names[i], name) == 0;
        if (!known) {
            argos_http_error (req, 400, "invalid_request_error", "unsupported_session_field", NULL,
                "A member of the body can't be set on a session.");
            return false;
        }
    }
    return true;
}

//  Whether a member is a string of at most max bytes, null, or not there.

static bool
s_is_text (const json_t *root, const char *name, size_t max)
{
    const json_t *value = json_object_get (root, name);
    return !value || json_is_null (value) ||
           (json_is_string (value) && json_string_length (value) <= max);
}

json_t *
argos_api_session_body (argos_http_req_t *req, const char *const *names)
{
    argos_run_problem_t problem;
    size_t size;
    const char *body = argos_http_body (req, &size);
    json_t *root = size ? argos_run_request_root (body, size, &problem) : json_object ();
    if (!root)
        argos_api_refuse (req, &problem);
    else if (!names)
        return root;
    else if (s_only (req, root, names)) {
        if (s_is_text (root, "title", size) && s_is_text (root, "model", S_MODEL_MAX))
            return root;
        argos_http_error (req, 400, "invalid_request_error", "invalid_session_field", NULL,
            "'title' and 'model' must be strings or null, a model of at most 128 bytes.");
    }
    json_decref (root);
    return NULL;
}

static json_t *
s_string (const json_t *root, const char *name)
{
    json_t *value = json_object_get (root, name);
    return json_is_string (value) ? value : NULL;
}

void
argos_api_session_create (void *ctx, argos_http_req_t *req)
{
    static const char *const names[] = { "id", "session_id", "title", "model", "source", NULL };
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    json_t *root = argos_api_session_body (req, names);
    if (root && argos_api_session_name (call, root)) {
        const argos_peer_part_t part = { .type = "session.create",
            .to = "store",
            .durable = true,
            .body =
                json_pack ("{s:O,s:{s:s,s:s,s:s,s:s,s:O},s:O*,s:O*}", "id", call->run.session_id,
                    "source", "platform", "api_server", "account", argos_http_owner (req),
                    "chat_type", "dm", "user_id", "api", "chat_id", call->run.session_id, "title",
                    s_string (root, "title"), "model", s_string (root, "model")) };
        argos_api_session_write (call, &part, 1, s_on_created);
    }
    else
        argos_api_call_destroy (&call);
    json_decref (root);
}

//  --------------------------------------------------------------------------
//  PATCH and DELETE

static void
s_on_changed (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (answer->code == ARGOS_OK)
        argos_api_session_tell (call, argos_http_param (call->req), 200);
    else
        argos_api_session_refused (call, answer);
}

static void
s_on_change (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (!argos_api_session_seen (call, answer))
        return;
    const char *id = argos_http_param (call->req);
    json_t *title = json_object_get (call->row, "title");
    json_t *archived = json_object_get (call->row, "archived");
    json_t *hidden = json_object_get (call->row, "hidden");
    const argos_peer_part_t parts[] = {
        { .type = "session.update",
            .to = "store",
            .durable = true,
            .body =
                json_pack ("{s:s,s:O*,s:O*}", "id", id, "archived", archived, "hidden", hidden) },
        { .type = "session.rename",
            .to = "store",
            .durable = true,
            .body = title ? json_pack ("{s:s,s:O}", "id", id, "title", title) : NULL },
    };
    argos_api_session_write (call, parts, title ? 2 : 1, s_on_changed);
}

void
argos_api_session_update (void *ctx, argos_http_req_t *req)
{
    static const char *const names[] = { "title", "archived", "hidden", NULL };
    argos_api_call_t *call = argos_api_call_new (ctx, req);
    call->row = argos_api_session_body (req, names);
    const json_t *archived = json_object_get (call->row, "archived");
    const json_t *hidden = json_object_get (call->row, "hidden");
    bool form = (!archived || json_is_boolean (archived)) && (!hidden || json_is_boolean (hidden));
    if (call->row && !form)
        argos_http_error (req, 400, "invalid_request_error", "invalid_session_field", NULL,
            "'archived' and 'hidden' must be true or false.");
    if (call->row && form)
        s_look (call, s_on_change);
    else
        argos_api_call_destroy (&call);
}

static void
s_on_deleted (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (answer->code != ARGOS_OK) {
        argos_api_session_refused (call, answer);
        return;
    }
    argos_http_json (call->req, 200,
        json_pack ("{s:s,s:s,s:b}", "object", "hermes.session.deleted", "id",
            argos_http_param (call->req), "deleted", 1));
    argos_api_call_destroy (&call);
}

static void
s_on_delete (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    if (!argos_api_session_seen (call, answer))
        return;
    const argos_peer_part_t part = { .type = "session.delete",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:s}", "id", argos_http_param (call->req)) };
    argos_api_session_write (call, &part, 1, s_on_deleted);
}

void
argos_api_session_delete (void *ctx, argos_http_req_t *req)
{
    s_look (argos_api_call_new (ctx, req), s_on_delete);
}
