//  argos_session_view - a run as the answer of a chat in a session. Pure. Every event of a stream
//  has session_id, run_id, seq (from 1) and ts.

#include "argos_session_view.h"

#include "argos_run_result.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    char *run_id, *session_id, *model; //  As they are told
    int64_t seq;                       //  Of the newest event
    argos_run_result_t result;         //  What it comes to
} s_view_t;

//  body is stolen.

static void
s_tell (s_view_t *self, argos_text_t *out, const char *name, json_t *body)
{
    json_t *head = json_pack ("{s:s,s:s,s:I,s:I}", "session_id", self->session_id, "run_id",
        self->run_id, "seq", (json_int_t) ++self->seq, "ts", (json_int_t) self->result.at);
    (void) json_object_update (head, body);
    json_decref (body);
    argos_view_frame (out, name, head);
}

static json_t *
s_usage (const s_view_t *self)
{
    return json_pack ("{s:I,s:I,s:I}", "input_tokens", (json_int_t) self->result.input,
        "output_tokens", (json_int_t) self->result.output_tokens, "total_tokens",
        (json_int_t) self->result.total);
}

static json_t *
s_message (const s_view_t *self)
{
    return json_pack (
        "{s:s,s:s}", "role", "assistant", "content", argos_run_result_text (&self->result));
}

static void
s_begin (void *arg, argos_text_t *out)
{
    s_tell (arg, out, "run.started", json_object ());
    s_tell (arg, out, "message.started", json_pack ("{s:s}", "role", "assistant"));
}

static void
s_end (s_view_t *self, argos_text_t *out)
{
    if (self->result.outcome == ARGOS_RUN_COMPLETED) {
        s_tell (self, out, "assistant.completed", json_pack ("{s:o}", "message", s_message (self)));
        s_tell (self, out, "run.completed",
            json_pack ("{s:[o],s:o}", "messages", s_message (self), "usage", s_usage (self)));
    }
    else
        s_tell (self, out, "error", json_pack ("{s:s}", "message", self->result.error));
    s_tell (self, out, "done", json_object ());
}

static void
s_event (void *arg, const json_t *event, argos_text_t *out)
{
    s_view_t *self = arg;
    const char *name = json_string_value (json_object_get (event, "event"));
    const char *text = argos_run_result_take (&self->result, event);
    if (*text)
        s_tell (self, out, "assistant.delta", json_pack ("{s:s}", "delta", text));
    if (name && strncmp (name, "tool.", 5) == 0) {
        bool failed = json_is_true (json_object_get (event, "error"));
        s_tell (self, out, failed ? "tool.failed" : name,
            json_pack ("{s:O?,s:O?,s:O?}", "tool", json_object_get (event, "tool"), "tool_call_id",
                json_object_get (event, "tool_call_id"), "preview",
                json_object_get (event, "preview")));
    }
    if (self->result.outcome != ARGOS_RUN_UNFINISHED)
        s_end (self, out);
}

static void
s_answer (void *arg, argos_view_answer_t *ret_answer)
{
    s_view_t *self = arg;
    const argos_run_result_t *result = &self->result;
    bool failed = result->outcome != ARGOS_RUN_COMPLETED;
    *ret_answer = (argos_view_answer_t){ .status = 200,
        .partial = failed && result->told.size,
        .failed = failed,
        .error = failed ? result->error : NULL };
    if (failed && !result->told.size) {
        ret_answer->status = 502;
        ret_answer->body = json_pack ("{s:{s:s,s:s,s:n,s:s}}", "error", "message", result->error,
            "type", "server_error", "param", "code", "agent_incomplete");
        return;
    }
    ret_answer->body =
        json_pack ("{s:s,s:s,s:s,s:o,s:o,s:{s:s,s:b}}", "object", "hermes.session.chat.completion",
            "session_id", self->session_id, "run_id", self->run_id, "message", s_message (self),
            "usage", s_usage (self), "runtime", "model", self->model, "completed", !failed);
}

static void
s_destroy (void *arg)
{
    s_view_t *self = arg;
    free (self->run_id);
    free (self->session_id);
    free (self->model);
    argos_run_result_clear (&self->result);
    free (self);
}

argos_view_t
argos_session_view_new (const char *run_id, const char *session_id, const char *model, bool stream)
{
    static const argos_view_class_t class = { s_begin, s_event, s_answer, s_destroy };
    s_view_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->run_id = strdup (run_id);
    self->session_id = strdup (session_id);
    self->model = strdup (model);
    if (!self->run_id || !self->session_id || !self->model)
        abort ();
    argos_run_result_init (&self->result);
    return (argos_view_t){ &class, self, stream };
}
