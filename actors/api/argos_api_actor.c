//  argos_api_actor - the HTTP runs API: start, loop and end, and what its handlers share.
//
//  One thread: libmicrohttpd's descriptor and the peer are in the same loop, so a handler may ask
//  the broker and answer its request when the answer comes. Invariant: every request that was
//  handed to a handler is answered once; what is still open at the end is answered with 503 by the
//  peer's last words (ARGOS_GONE) before the server stops.

#include "argos_api_actor.h"

#include "argos_actor.h"
#include "argos_api_priv.h"
#include "argos_http_key.h"
#include "argos_log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define S_CONNECTIONS 8192   //  Default limit
#define S_KEEPALIVE_MS 15000 //  Default silence

//  --------------------------------------------------------------------------
//  Calls

argos_api_call_t *
argos_api_call_new (argos_api_t *self, argos_http_req_t *req)
{
    argos_api_call_t *call = calloc (1, sizeof *call);
    if (!call)
        abort ();
    call->api = self;
    call->req = req;
    call->after = -1;
    const char *run_id = req ? argos_http_param (req) : NULL;
    if (run_id && argos_run_id_valid (run_id))
        memcpy (call->run_id, run_id, ARGOS_API_RUN_ID_SIZE);
    return call;
}

void
argos_api_call_destroy (argos_api_call_t **self_p)
{
    argos_api_call_t *self = self_p ? *self_p : NULL;
    if (!self)
        return;
    *self_p = NULL;
    argos_run_request_clear (&self->run);
    argos_view_clear (&self->view);
    json_decref (self->row);
    json_decref (self->records);
    json_decref (self->key_record);
    json_decref (self->inbound);
    argos_api_files_free (self);
    free (self->session_key);
    free (self->status);
    free (self);
}

void
argos_api_calls_refuse (argos_api_call_t **list_p, argos_err_t code)
{
    argos_api_call_t *call, *next;
    argos_api_call_t *list = *list_p;
    *list_p = NULL;
    DL_FOREACH_SAFE (list, call, next) {
        DL_DELETE (list, call);
        if (call->req)
            argos_api_unavailable (call->req, code);
        argos_api_call_destroy (&call);
    }
}

void
argos_api_read (
    argos_api_t *self, const char *type, json_t *body, argos_peer_answer_fn *fn, void *arg)
{
    argos_peer_part_t part = { .type = type, .to = "store", .body = body };
    argos_err_t code = ARGOS_GONE;
    if (self->stopping)
        json_decref (body);
    else
        code = argos_peer_send (argos_shell_peer (self->shell), &part, fn, arg);
    if (code != ARGOS_OK)
        fn (arg, &(argos_peer_answer_t){
                     .code = code, .reason = argos_err_text (code), .part = -1, .type = "" });
}

void
argos_api_unavailable (argos_http_req_t *req, argos_err_t code)
{
    bool later = code == ARGOS_BUSY || code == ARGOS_CREDIT || code == ARGOS_NO_SPACE ||
                 code == ARGOS_GONE || code == ARGOS_EXPIRED || code == ARGOS_NO_SESSION ||
                 code == ARGOS_SUPERSEDED || code == ARGOS_NO_PEER;
    if (later)
        argos_http_set (req, "Retry-After", "1");
    argos_http_error (
        req, later ? 503 : 500, "server_error", argos_err_name (code), NULL, argos_err_text (code));
}

void
argos_api_no_run (argos_http_req_t *req)
{
    argos_http_error (
        req, 404, "invalid_request_error", "run_not_found", "run_id", "There is no such run.");
}

void
argos_api_run_owner (const argos_http_req_t *req, char *target)
{
    const char *owner = argos_http_owner (req);
    bool main = strcmp (owner, ARGOS_HTTP_MAIN) == 0;
    (void) snprintf (target, 64, "%s%s%s", ARGOS_API_NAME, main ? "" : ".", main ? "" : owner);
}

json_t *
argos_api_row (const argos_peer_answer_t *answer, const argos_http_req_t *req)
{
    char mine[64] = "";
    json_t *row = json_object_get (answer->body, "run");
    const char *owner = json_string_value (json_object_get (row, "owner"));
    if (!json_is_object (row) || !owner)
        return NULL;
    if (req)
        argos_api_run_owner (req, mine);
    if (strcmp (owner, mine) == 0)
        return row;
    bool ours = strncmp (owner, ARGOS_API_NAME, sizeof ARGOS_API_NAME - 1) == 0;
    return ours && (!req || argos_http_is_admin (req)) ? row : NULL;
}

bool
argos_api_row_terminal (const json_t *row)
{
    const char *state = json_string_value (json_object_get (row, "state"));
    return state && (strcmp (state, "completed") == 0 || strcmp (state, "failed") == 0 ||
                        strcmp (state, "cancelled") == 0);
}

//  --------------------------------------------------------------------------
//  Time

static int64_t
s_earlier (int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void
s_on_timer (void *arg)
{
    argos_api_t *self = arg;
    int64_t now = argos_shell_now ();
    argos_api_stop_tick (self, now);
    argos_api_readers_tick (self, now);
    argos_api_watch_tick (self, now);
    argos_http_run (self->http);
    argos_api_schedule (self);
}

void
argos_api_schedule (argos_api_t *self)
{
    if (self->stopping)
        return;
    int64_t timeout = argos_http_timeout (self->http);
    int64_t due = timeout < 0 ? -1 : argos_shell_now () + timeout;
    due = s_earlier (due, argos_api_stop_due (self));
    due = s_earlier (due, argos_api_readers_due (self));
    due = s_earlier (due, argos_api_watch_due (self));
    argos_shell_timer (self->shell, due, s_on_timer, self);
}

static void
s_on_http (void *arg)
{
    argos_api_t *self = arg;
    argos_http_run (self->http);
    argos_api_schedule (self);
}

//  --------------------------------------------------------------------------
//  Peer and pipe

static void
s_on_welcome (void *ctx, bool new_store)
{
    argos_api_t *self = ctx;
    if (new_store) {
        argos_api_watches_clear (self);
        argos_api_slots_clear (self);
    }
    if (!self->loaded && !self->loading)
        argos_api_slots_load (self);
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    argos_api_events_refused (ctx, id);
    argos_log (ARGOS_LOG_WARN, ARGOS_API_NAME, "refused", "id=%.128s code=%s reason=\"%.200s\"", id,
        argos_err_name (code), reason);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_api_t *self = ctx;
    argos_log (ARGOS_LOG_ERROR, ARGOS_API_NAME, "session over", "code=%s reason=\"%.200s\"",
        argos_err_name (code), reason);
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    argos_api_t *self = arg;
    zframe_t *word = zmsg_first (msg);
    if (!word || !zframe_streq (word, ARGOS_ACTOR_DRAIN) || self->draining)
        return;
    self->draining = true;
    argos_api_drained (self);
}

void
argos_api_drained (argos_api_t *self)
{
    if (self->draining && self->attended == 0 && !self->stopping)
        zstr_send (self->pipe, ARGOS_ACTOR_DRAINED);
}

//  --------------------------------------------------------------------------
//  Routes

static const argos_api_handler_t s_handlers[] = {
    { "health", argos_api_health },
    { "health.v1", argos_api_health },
    { "openapi", argos_api_openapi },
    { "health.detailed", argos_api_health_detailed },
    { "metrics", argos_api_metrics },
    { "models.list", argos_api_models },
    { "models.get", argos_api_model },
    { "capabilities", argos_api_capabilities },
    { "jobs.list", argos_api_jobs_list },
    { "jobs.get", argos_api_jobs_get },
    { "jobs.kill", argos_api_jobs_kill },
    { "runs.list", argos_api_list },
    { "runs.start", argos_api_post },
    { "runs.get", argos_api_get },
    { "runs.events", argos_api_events },
    { "runs.stop", argos_api_stop },
    { "runs.approval", argos_api_approval },
    { "runs.clarify", argos_api_clarify },
    { "runs.steer", argos_api_steer },
    { "chat.create", argos_api_chat },
    { "responses.create", argos_api_respond },
    { "responses.get", argos_api_response_get },
    { "responses.delete", argos_api_response_delete },
    { "sessions.list", argos_api_session_list },
    { "sessions.create", argos_api_session_create },
    { "sessions.get", argos_api_session_get },
    { "sessions.update", argos_api_session_update },
    { "sessions.delete", argos_api_session_delete },
    { "sessions.messages", argos_api_session_messages },
    { "sessions.fork", argos_api_session_fork },
    { "sessions.chat", argos_api_session_chat },
    { "sessions.chat_stream", argos_api_session_chat_stream },
    { NULL, NULL },
};

//  --------------------------------------------------------------------------
//  Life

//  The server, or NULL with a reason.

static argos_http_t *
s_serve (argos_api_t *self, const argos_api_config_t *config, const char *host, char *reason)
{
    char keys[PATH_MAX] = "";
    if (config->home)
        (void) snprintf (keys, sizeof keys, "%s/" ARGOS_HTTP_KEYS, config->home);
    self->routes = argos_api_routes_new (s_handlers, reason);
    if (!self->routes)
        return NULL;
    const argos_http_config_t http = {
        .host = host,
        .port = config->port,
        .key = config->key,
        .keys_path = *keys ? keys : NULL,
        .allow_unauthenticated_loopback = config->allow_unauthenticated_loopback,
        .cors_origins = config->cors_origins,
        .tls_cert = config->tls_cert && *config->tls_cert ? config->tls_cert : NULL,
        .tls_key = config->tls_key && *config->tls_key ? config->tls_key : NULL,
        .allow_cleartext = config->allow_cleartext,
        .listen_fd = config->listen_fd,
        .connection_limit = config->connection_limit > 0 ? config->connection_limit : S_CONNECTIONS,
        .routes = argos_api_routes_table (self->routes),
        .ctx = self,
    };
    return argos_http_new (&http, reason);
}

static int
s_start (argos_api_t *self, const argos_api_config_t *config)
{
    char name[ARGOS_NAME_MAX + 1];
    argos_peer_config_t peer = {
        .handlers = { .ctx = self,
            .on_welcome = s_on_welcome,
            .on_entry = argos_api_on_entry,
            .on_end = argos_api_on_end,
            .on_refused = s_on_refused,
            .on_final = s_on_final },
    };
    const char *host = config->host ? config->host : "127.0.0.1";
    char reason[256] = "";
    self->retention_s = config->run_retention_s;
    self->max_runs = config->max_concurrent_runs > 0 ? config->max_concurrent_runs : 0;
    self->loaded = self->max_runs == 0;
    self->started_at = argos_shell_wall ();
    self->direct_model = config->direct_model_requests;
    self->grace_ms = config->disconnect_grace_ms;
    self->keepalive_ms = config->keepalive_ms > 0 ? config->keepalive_ms : S_KEEPALIVE_MS;
    self->cors = config->cors_origins && *config->cors_origins;
    (void) snprintf (self->model, sizeof self->model, "%s",
        config->model_name && *config->model_name ? config->model_name : "argos");
    self->http = s_serve (self, config, host, reason);
    argos_link_apply (&config->link, ARGOS_API_NAME, &peer, name);
    self->shell = self->http ? argos_shell_new (self->pipe, &peer) : NULL;
    if (!self->http || !self->shell) {
        argos_log (ARGOS_LOG_ERROR, ARGOS_API_NAME, "can't start", "reason=\"%s\"",
            *reason ? reason : "the peer can't be made");
        return -1;
    }
    argos_shell_on_command (self->shell, s_on_command, self);
    argos_shell_fd (self->shell, argos_http_fd (self->http), s_on_http, self);
    argos_log (ARGOS_LOG_INFO, ARGOS_API_NAME, "listening", "host=%s port=%d", host,
        argos_http_port (self->http));
    return 0;
}

//  First the peer (it answers what is open), then the server (it ends the streams), then what they
//  used.

static void
s_stop (argos_api_t *self)
{
    self->draining = self->stopping = true;
    argos_shell_destroy (&self->shell);
    argos_api_calls_refuse (&self->admission, ARGOS_GONE);
    argos_api_calls_refuse (&self->stops, ARGOS_GONE);
    argos_api_watches_clear (self);
    argos_http_destroy (&self->http);
    argos_api_routes_destroy (&self->routes);
    argos_api_watches_clear (self);
    argos_api_slots_clear (self);
}

void
argos_api_actor (zsock_t *pipe, void *config)
{
    argos_api_t self = { .pipe = pipe };
    bool ok = s_start (&self, config) == 0;
    argos_actor_ready (pipe, ok);
    if (ok) {
        argos_api_schedule (&self);
        argos_shell_run (self.shell);
    }
    s_stop (&self);
}
