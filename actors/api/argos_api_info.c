//  argos_api_info - routes that say what this server is and how it is: health, metrics, models,
//  capabilities, its own description.
//
//  Invariant: labels of metrics are ids of routes and classes of status, both of a fixed number;
//  nothing here names a run, a session or a user. What a part of the system does not answer within
//  2 s counts as failed.

#include "argos_api_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S_PATIENCE_MS 2000 //  For the answers of the others

static const char *const s_parts[] = { "store", "broker", "agent" };

#define S_PARTS (sizeof s_parts / sizeof *s_parts)

//  Answers of several at once

typedef struct s_survey s_survey_t;

typedef struct {
    s_survey_t *survey; //  Of which
    size_t part;        //  Place in s_parts
} s_asked_t;

struct s_survey {
    argos_api_t *api;          //  Owner
    argos_http_req_t *req;     //  To be answered
    void (*fn) (s_survey_t *); //  Answers it
    json_t *body[S_PARTS];     //  What each said, NULL = nothing
    s_asked_t asked[S_PARTS];  //  For the answers
    size_t pending;            //  Not answered yet
};

static void
s_settle (s_survey_t *survey)
{
    if (--survey->pending)
        return;
    survey->fn (survey);
    for (size_t i = 0; i < S_PARTS; i++)
        json_decref (survey->body[i]);
    free (survey);
}

static void
s_on_part (void *arg, const argos_peer_answer_t *answer)
{
    s_asked_t *asked = arg;
    if (answer->code == ARGOS_OK)
        asked->survey->body[asked->part] = json_incref (answer->body);
    s_settle (asked->survey);
}

static void
s_survey (argos_api_t *self, argos_http_req_t *req, void (*fn) (s_survey_t *))
{
    const argos_peer_part_t parts[S_PARTS] = {
        { .type = "status.get", .to = "store" },
        { .type = "broker.status", .to = "actor:broker" },
        { .type = "agent.status", .to = "actor:agent" },
    };
    s_survey_t *survey = calloc (1, sizeof *survey);
    if (!survey)
        abort ();
    survey->api = self;
    survey->req = req;
    survey->fn = fn;
    survey->pending = S_PARTS + 1;
    for (size_t i = 0; i < S_PARTS; i++) {
        argos_peer_part_t part = parts[i];
        survey->asked[i] = (s_asked_t){ survey, i };
        part.ttl_ms = S_PATIENCE_MS;
        argos_err_t code = self->stopping ? ARGOS_GONE
                                          : argos_peer_send (argos_shell_peer (self->shell), &part,
                                                s_on_part, &survey->asked[i]);
        if (code != ARGOS_OK)
            survey->pending--;
    }
    s_settle (survey);
}

//  --------------------------------------------------------------------------
//  Health

void
argos_api_health (void *ctx, argos_http_req_t *req)
{
    (void) ctx;
    argos_http_json (req, 200,
        json_pack ("{s:s,s:s,s:s}", "status", "ok", "platform", "argos", "version", ARGOS_BUILD));
}

static void
s_time_text (int64_t ms, char text[static 32])
{
    time_t seconds = (time_t) (ms / 1000);
    struct tm when;
    (void) gmtime_r (&seconds, &when);
    (void) strftime (text, 32, "%Y-%m-%dT%H:%M:%SZ", &when);
}

static void
s_tell_health (s_survey_t *survey)
{
    char now[32];
    json_t *checks = json_object (), *platforms = json_object (), *peer;
    size_t index;
    const char *status = "ok";
    for (size_t i = 0; i < S_PARTS; i++) {
        if (!survey->body[i])
            status = "degraded";
        (void) json_object_set_new (
            checks, s_parts[i], json_string (survey->body[i] ? "ok" : "failed"));
    }
    json_array_foreach (json_object_get (survey->body[1], "sessions"), index, peer) {
        const char *role = json_string_value (json_object_get (peer, "role"));
        if (role && strcmp (role, "adapter") == 0)
            (void) json_object_set_new (platforms,
                json_string_value (json_object_get (peer, "name")),
                json_pack ("{s:s}", "state", "connected"));
    }
    s_time_text (argos_shell_wall (), now);
    argos_http_json (survey->req, 200,
        json_pack ("{s:s,s:s,s:s,s:i,s:s,s:o,s:O?,s:n,s:s,s:{s:s,s:o}}", "status", status,
            "platform", "argos", "version", ARGOS_BUILD, "pid", (int) getpid (), "gateway_state",
            survey->api->draining ? "draining" : "running", "platforms", platforms, "active_agents",
            json_object_get (survey->body[2], "turns"), "exit_reason", "updated_at", now,
            "readiness", "status", status, "checks", checks));
}

void
argos_api_health_detailed (void *ctx, argos_http_req_t *req)
{
    s_survey (ctx, req, s_tell_health);
}

//  --------------------------------------------------------------------------
//  Metrics

static void
s_number (FILE *out, const char *name, const char *kind, const char *help, double value)
{
    (void) fprintf (
        out, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, kind, name, value);
}

static void
s_requests (FILE *out, const argos_api_t *self)
{
    static const char name[] = "argos_http_requests_total";
    (void) fprintf (out, "# HELP %s Answered requests.\n# TYPE %s counter\n", name, name);
    for (size_t row = 0, last = 0; !last; row++) {
        const char *id = argos_api_routes_id (self->routes, row);
        last = !id;
        for (unsigned digit = 2; digit < 6; digit++) {
            uint64_t count = argos_http_count (self->http, row, digit);
            if (count)
                (void) fprintf (out, "%s{route=\"%s\",class=\"%uxx\"} %llu\n", name,
                    id ? id : "none", digit, (unsigned long long) count);
        }
    }
}

static double
s_sum (const json_t *list, const char *member)
{
    double sum = 0;
    size_t index;
    json_t *row;
    json_array_foreach (list, index, row)
        sum += json_number_value (json_object_get (row, member));
    return sum;
}

static void
s_tell_metrics (s_survey_t *survey)
{
    static const char *const stored[][4] = {
        { "queue", "argos_store_messages", "gauge", "Messages in lanes." },
        { "dead", "argos_store_dead", "gauge", "Dead letters." },
        { "sessions", "argos_store_sessions", "gauge", "Sessions." },
        { "runs", "argos_store_runs", "gauge", "Rows of runs." },
        { "bytes", "argos_store_bytes", "gauge", "Size of the database." },
        { "commits", "argos_store_commits_total", "counter", "Transactions since the start." },
    };
    char *text = NULL;
    size_t size = 0;
    const argos_api_t *self = survey->api;
    const json_t *services = json_object_get (survey->body[1], "services");
    FILE *out = open_memstream (&text, &size);
    if (!out)
        abort ();
    s_requests (out, self);
    s_number (out, "argos_http_connections", "gauge", "Open connections.",
        argos_http_connections (self->http));
    s_number (out, "argos_http_streams", "gauge", "Open streams.", argos_http_streams (self->http));
    s_number (out, "argos_http_slow_readers_total", "counter",
        "Streams that were cut because their reader was too slow.", (double) self->slow_readers);
    s_number (out, "argos_http_watched_runs", "gauge", "Runs that are followed.",
        HASH_COUNT (self->watches));
    for (size_t i = 0; survey->body[0] && i < sizeof stored / sizeof *stored; i++)
        s_number (out, stored[i][1], stored[i][2], stored[i][3],
            json_number_value (json_object_get (survey->body[0], stored[i][0])));
    s_number (out, "argos_messages_waiting", "gauge", "Messages that wait for a worker.",
        s_sum (services, "waiting"));
    s_number (
        out, "argos_messages_leased", "gauge", "Messages in hand.", s_sum (services, "leased"));
    s_number (out, "argos_agent_turns", "gauge", "Turns in flight.",
        json_number_value (json_object_get (survey->body[2], "turns")));
    for (size_t i = 0; i < S_PARTS; i++)
        (void) fprintf (out, "%sargos_up{part=\"%s\"} %d\n",
            i ? "" : "# HELP argos_up Whether a part answers.\n# TYPE argos_up gauge\n", s_parts[i],
            survey->body[i] != NULL);
    if (fclose (out) != 0)
        abort ();
    argos_http_text (survey->req, 200, "text/plain; version=0.0.4; charset=utf-8", text);
}

void
argos_api_metrics (void *ctx, argos_http_req_t *req)
{
    s_survey (ctx, req, s_tell_metrics);
}

//  --------------------------------------------------------------------------
//  Models and capabilities

static json_t *
s_model (const argos_api_t *self)
{
    return json_pack ("{s:s,s:s,s:I,s:s,s:[],s:s,s:n}", "id", self->model, "object", "model",
        "created", (json_int_t) (self->started_at / 1000), "owned_by", "argos", "permission",
        "root", self->model, "parent");
}

void
argos_api_models (void *ctx, argos_http_req_t *req)
{
    argos_http_json (req, 200, json_pack ("{s:s,s:[o]}", "object", "list", "data", s_model (ctx)));
}

void
argos_api_model (void *ctx, argos_http_req_t *req)
{
    const argos_api_t *self = ctx;
    if (strcmp (argos_http_param (req), self->model) == 0)
        argos_http_json (req, 200, s_model (self));
    else
        argos_http_error (req, 404, "invalid_request_error", "model_not_found", "model",
            "There is no such model.");
}

//  What a client can look for, and the route that it stands for; NULL = always.

static const char *const s_features[][2] = {
    { "run_submission", "runs.start" },
    { "run_status", "runs.get" },
    { "run_events_sse", "runs.events" },
    { "run_events_replay", "runs.events" },
    { "run_stop", "runs.stop" },
    { "run_steer", "runs.steer" },
    { "run_approval_response", "runs.approval" },
    { "approval_events", "runs.approval" },
    { "tool_progress_events", "runs.events" },
    { "chat_completions", "chat.create" },
    { "chat_completions_streaming", "chat.create" },
    { "responses_api", "responses.create" },
    { "responses_streaming", "responses.create" },
    { "session_resources", "sessions.list" },
    { "session_chat", "sessions.chat" },
};

static json_t *
s_feature_map (const argos_api_t *self)
{
    json_t *features =
        json_pack ("{s:s,s:s,s:s,s:b,s:{s:b,s:b,s:i},s:b}", "session_continuity_header",
            "X-Hermes-Session-Id", "session_key_header", "X-Hermes-Session-Key",
            "tool_progress_mode", "chunk", "cors", self->cors, "runs_idempotency", "supported", 1,
            "durable", 1, "retention_seconds", self->retention_s, "reasoning_streaming", 0);
    for (size_t i = 0; i < sizeof s_features / sizeof *s_features; i++)
        (void) json_object_set_new (features, s_features[i][0],
            json_boolean (argos_api_routes_row (self->routes, s_features[i][1]) != NULL));
    return features;
}

void
argos_api_capabilities (void *ctx, argos_http_req_t *req)
{
    const argos_api_t *self = ctx;
    json_t *endpoints = json_object ();
    const char *id;
    for (size_t i = 0; (id = argos_api_routes_id (self->routes, i)); i++) {
        const json_t *row = argos_api_routes_row (self->routes, id);
        (void) json_object_set_new (endpoints, id,
            json_pack ("{s:O,s:O}", "method", json_object_get (row, "method"), "path",
                json_object_get (row, "path")));
    }
    argos_http_json (req, 200,
        json_pack ("{s:s,s:s,s:s,s:{s:s,s:b},s:{s:s,s:s,s:b,s:s},s:o,s:o}", "object",
            "hermes.api_server.capabilities", "platform", "argos", "model", self->model, "auth",
            "type", "bearer", "required", argos_http_keyed (req), "runtime", "mode", "server_agent",
            "tool_execution", "server", "split_runtime", 0, "description",
            "Tools run on the host of the API server, or on the node that has the tools.",
            "features", s_feature_map (self), "endpoints", endpoints));
}

void
argos_api_openapi (void *ctx, argos_http_req_t *req)
{
    const argos_api_t *self = ctx;
    argos_http_json (req, 200, argos_api_routes_openapi (self->routes, ARGOS_BUILD));
}
