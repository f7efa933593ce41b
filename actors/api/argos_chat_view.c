//  argos_chat_view - a run as a chat completion, whole or in chunks. Pure.

#include "argos_chat_view.h"

#include "argos_run_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char id[ARGOS_CHAT_ID_SIZE]; //  Of the completion, made of that of the run
    char *model;                 //  As it was asked for
    bool include_usage;          //  Usage as a chunk of its own
    bool tool_events;            //  Progress of tools as named events
    int64_t created;             //  Seconds since 1970
    json_t *open;                //  {call id: tool} of calls that run
    argos_run_result_t result;   //  What it comes to
} s_view_t;

//  --------------------------------------------------------------------------
//  Pieces

static json_t *
s_usage (const s_view_t *self)
{
    const argos_run_result_t *result = &self->result;
    return json_pack ("{s:I,s:I,s:I,s:{s:i},s:{s:i}}", "prompt_tokens", (json_int_t) result->input,
        "completion_tokens", (json_int_t) result->output_tokens, "total_tokens",
        (json_int_t) result->total, "prompt_tokens_details", "cached_tokens", 0,
        "completion_tokens_details", "reasoning_tokens", 0);
}

static const char *
s_finish (const s_view_t *self)
{
    return self->result.outcome != ARGOS_RUN_COMPLETED ? "error"
           : self->result.truncated                    ? "length"
                                                       : "stop";
}

//  What a front end can know of an answer that is not whole; NULL when it is.

static json_t *
s_hermes (const s_view_t *self)
{
    const argos_run_result_t *result = &self->result;
    bool failed = result->outcome != ARGOS_RUN_COMPLETED;
    if (!failed && !result->truncated)
        return NULL;
    return json_pack ("{s:b,s:b,s:b,s:s,s:s}", "completed", 0, "partial", result->told.size > 0,
        "failed", failed, "error",
        failed ? result->error : "The answer was truncated: the model had no room for more.",
        "error_code", failed ? "agent_error" : "output_truncated");
}

//  A chunk with one choice; delta is stolen.

static json_t *
s_chunk (const s_view_t *self, json_t *delta, const char *finish)
{
    json_t *chunk = json_pack ("{s:s,s:s,s:I,s:s,s:n,s:[{s:i,s:o,s:n,s:s?}]}", "id", self->id,
        "object", "chat.completion.chunk", "created", (json_int_t) self->created, "model",
        self->model, "system_fingerprint", "choices", "index", 0, "delta", delta, "logprobs",
        "finish_reason", finish);
    if (self->include_usage)
        (void) json_object_set_new (chunk, "usage", json_null ());
    return chunk;
}

//  --------------------------------------------------------------------------
//  The class

static void
s_begin (void *arg, argos_text_t *out)
{
    argos_view_frame (out, NULL,
        s_chunk (arg, json_pack ("{s:s,s:s}", "role", "assistant", "content", ""), NULL));
}

//  A call is shown running once and completed once; what has no id, or a name that begins with _,
//  is not for clients.

static void
s_tool (s_view_t *self, const json_t *event, bool running, argos_text_t *out)
{
    const char *tool = json_string_value (json_object_get (event, "tool"));
    const char *call = json_string_value (json_object_get (event, "tool_call_id"));
    const char *preview = json_string_value (json_object_get (event, "preview"));
    if (!tool || *tool == '_' || !call || !*call ||
        running == (json_object_get (self->open, call) != NULL))
        return;
    if (running)
        (void) json_object_set_new (self->open, call, json_true ());
    else
        (void) json_object_del (self->open, call);
    json_t *progress = json_pack ("{s:s,s:s,s:s}", "tool", tool, "toolCallId", call, "status",
        running ? "running" : "completed");
    if (running) {
        (void) json_object_set_new (progress, "emoji", json_string ("\xE2\x9A\x99\xEF\xB8\x8F"));
        (void) json_object_set_new (
            progress, "label", json_string (preview && *preview ? preview : tool));
    }
    if (self->tool_events) {
        argos_view_frame (out, "hermes.tool.progress", progress);
        return;
    }
    json_t *chunk = s_chunk (self, json_object (), NULL);
    (void) json_object_set_new (chunk, "hermes", json_pack ("{s:o}", "tool_progress", progress));
    argos_view_frame (out, NULL, chunk);
}

static void
s_end (s_view_t *self, argos_text_t *out)
{
    json_t *chunk = s_chunk (self, json_object (), s_finish (self)), *hermes = s_hermes (self);
    if (!self->include_usage)
        (void) json_object_set_new (chunk, "usage", s_usage (self));
    if (hermes)
        (void) json_object_set_new (chunk, "hermes", hermes);
    if (self->result.outcome != ARGOS_RUN_COMPLETED)
        (void) json_object_set_new (chunk, "error",
            json_pack ("{s:s,s:s,s:n,s:s}", "message", self->result.error, "type", "server_error",
                "param", "code", "agent_error"));
    argos_view_frame (out, NULL, chunk);
    if (self->include_usage) {
        chunk = s_chunk (self, json_object (), NULL);
        (void) json_array_clear (json_object_get (chunk, "choices"));
        (void) json_object_set_new (chunk, "usage", s_usage (self));
        argos_view_frame (out, NULL, chunk);
    }
    (void) argos_text_add (out, "data: [DONE]\n\n", 14);
}

static void
s_event (void *arg, const json_t *event, argos_text_t *out)
{
    s_view_t *self = arg;
    const char *name = json_string_value (json_object_get (event, "event"));
    const char *text = argos_run_result_take (&self->result, event);
    if (*text)
        argos_view_frame (out, NULL, s_chunk (self, json_pack ("{s:s}", "content", text), NULL));
    if (name && strcmp (name, "tool.started") == 0)
        s_tool (self, event, true, out);
    if (name && strcmp (name, "tool.completed") == 0)
        s_tool (self, event, false, out);
    if (self->result.outcome != ARGOS_RUN_UNFINISHED)
        s_end (self, out);
}

static void
s_answer (void *arg, argos_view_answer_t *ret_answer)
{
    s_view_t *self = arg;
    const char *text = argos_run_result_text (&self->result);
    json_t *hermes = s_hermes (self);
    *ret_answer = (argos_view_answer_t){ .status = 200,
        .partial = *text && hermes,
        .failed = self->result.outcome != ARGOS_RUN_COMPLETED,
        .error =
            json_string_value (json_object_get (hermes, "error")) ? self->result.error : NULL };
    if (hermes && !ret_answer->error)
        ret_answer->error = "truncated";
    if (ret_answer->failed && !*text) {
        ret_answer->status = 502;
        ret_answer->body =
            json_pack ("{s:{s:s,s:s,s:n,s:s,s:o}}", "error", "message", self->result.error, "type",
                "server_error", "param", "code", "agent_incomplete", "hermes", hermes);
        return;
    }
    ret_answer->body = json_pack ("{s:s,s:s,s:I,s:s,s:n,s:[{s:i,s:{s:s,s:s,s:n},s:n,s:s}],s:o}",
        "id", self->id, "object", "chat.completion", "created", (json_int_t) self->result.at,
        "model", self->model, "system_fingerprint", "choices", "index", 0, "message", "role",
        "assistant", "content", text, "refusal", "logprobs", "finish_reason", s_finish (self),
        "usage", s_usage (self));
    if (hermes)
        (void) json_object_set_new (ret_answer->body, "hermes", hermes);
}

static void
s_destroy (void *arg)
{
    s_view_t *self = arg;
    free (self->model);
    json_decref (self->open);
    argos_run_result_clear (&self->result);
    free (self);
}

argos_view_t
argos_chat_view_new (const char *run_id, const char *model, bool stream, bool include_usage,
    bool tool_events, int64_t started_at)
{
    static const argos_view_class_t class = { s_begin, s_event, s_answer, s_destroy };
    s_view_t *self = calloc (1, sizeof *self);
    if (!self || !(self->model = strdup (model)))
        abort ();
    (void) snprintf (self->id, sizeof self->id, "chatcmpl-%.29s", run_id + 4);
    self->include_usage = stream && include_usage;
    self->tool_events = tool_events;
    self->created = started_at;
    self->open = json_object ();
    argos_run_result_init (&self->result);
    return (argos_view_t){ &class, self, stream };
}
