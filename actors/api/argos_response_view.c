//  argos_response_view - a run as a response. Pure.

#include "argos_response_view.h"

#include "argos_response_request.h"
#include "argos_run_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char id[34];               //  Of the response
    char run[29];              //  Hex digits for ids of items
    char *model;               //  As it is told
    json_t *object;            //  What is repeated of the request
    bool kept;                 //  It is read again
    bool stream;               //  Events are wanted
    int64_t created;           //  Seconds since 1970
    int64_t sequence;          //  Number of the next event
    json_t *output;            //  Items
    json_t *calls;             //  {call id: place} of calls that run
    json_t *message;           //  Item of the text in progress, borrowed; NULL = none
    argos_text_t text;         //  Its text
    argos_run_result_t result; //  What it comes to
} s_view_t;

#define S_TEXT_MAX 8388608 //  Bytes of a text

//  --------------------------------------------------------------------------
//  Objects

static json_t *
s_object (const char *id, const char *model, const json_t *base, int64_t created,
    const char *status, json_t *output)
{
    json_t *object = json_deep_copy (base);
    json_t *head = json_pack ("{s:s,s:s,s:I,s:s,s:s,s:n,s:n,s:o}", "id", id, "object", "response",
        "created_at", (json_int_t) created, "status", status, "model", model, "error",
        "incomplete_details", "output", output);
    (void) json_object_update (object, head);
    json_decref (head);
    (void) json_object_set_new (object, "usage", json_null ());
    return object;
}

json_t *
argos_response_unfinished (
    const char *run_id, const char *model, const json_t *object, int64_t started_at)
{
    char id[34];
    argos_response_id (run_id, id);
    return s_object (id, model, object, started_at, "in_progress", json_array ());
}

static const char *
s_status (const s_view_t *self)
{
    static const char *const names[] = { "in_progress", "completed", "failed", "incomplete" };
    bool cut = self->result.outcome == ARGOS_RUN_COMPLETED && self->result.truncated;
    return cut ? "incomplete" : names[self->result.outcome];
}

//  The response as it is now.

static json_t *
s_response (const s_view_t *self)
{
    const argos_run_result_t *result = &self->result;
    const char *status = s_status (self);
    json_t *object = s_object (
        self->id, self->model, self->object, self->created, status, json_deep_copy (self->output));
    if (result->outcome == ARGOS_RUN_UNFINISHED)
        return object;
    (void) json_object_set_new (object, "usage",
        json_pack ("{s:I,s:{s:i},s:I,s:{s:i},s:I}", "input_tokens", (json_int_t) result->input,
            "input_tokens_details", "cached_tokens", 0, "output_tokens",
            (json_int_t) result->output_tokens, "output_tokens_details", "reasoning_tokens", 0,
            "total_tokens", (json_int_t) result->total));
    if (result->outcome == ARGOS_RUN_FAILED)
        (void) json_object_set_new (object, "error",
            json_pack ("{s:s,s:s}", "code", "server_error", "message", result->error));
    if (strcmp (status, "incomplete") == 0)
        (void) json_object_set_new (object, "incomplete_details",
            json_pack ("{s:s}", "reason", result->truncated ? "max_output_tokens" : "interrupted"));
    return object;
}

//  --------------------------------------------------------------------------
//  Events

//  An event with its number; body is stolen.

static void
s_tell (s_view_t *self, argos_text_t *out, const char *type, json_t *body)
{
    if (self->stream) {
        (void) json_object_set_new (body, "type", json_string (type));
        (void) json_object_set_new (
            body, "sequence_number", json_integer ((json_int_t) self->sequence++));
        argos_view_frame (out, type, json_incref (body));
    }
    json_decref (body);
}

static json_int_t
s_place (const s_view_t *self)
{
    return (json_int_t) json_array_size (self->output) - 1;
}

//  A new item (stolen) at the end of the output; returns it, borrowed.

static json_t *
s_add (s_view_t *self, argos_text_t *out, json_t *item)
{
    (void) json_array_append_new (self->output, item);
    s_tell (self, out, "response.output_item.added",
        json_pack ("{s:I,s:o}", "output_index", s_place (self), "item", json_deep_copy (item)));
    return item;
}

static void
s_item_done (s_view_t *self, argos_text_t *out, json_int_t place)
{
    json_t *item = json_array_get (self->output, (size_t) place);
    (void) json_object_set_new (item, "status", json_string ("completed"));
    s_tell (self, out, "response.output_item.done",
        json_pack ("{s:I,s:o}", "output_index", place, "item", json_deep_copy (item)));
}

static json_t *
s_part (const char *text)
{
    return json_pack (
        "{s:s,s:s,s:[],s:[]}", "type", "output_text", "text", text, "annotations", "logprobs");
}

//  What tells where in the output a text is.

static json_t *
s_spot (const s_view_t *self)
{
    return json_pack ("{s:O,s:I,s:i}", "item_id", json_object_get (self->message, "id"),
        "output_index", s_place (self), "content_index", 0);
}

static void
s_text_begin (s_view_t *self, argos_text_t *out)
{
    char id[48];
    (void) snprintf (id, sizeof id, "msg_%s%02zu", self->run, json_array_size (self->output));
    self->message = s_add (self, out,
        json_pack ("{s:s,s:s,s:s,s:s,s:[]}", "id", id, "type", "message", "status", "in_progress",
            "role", "assistant", "content"));
    json_t *spot = s_spot (self);
    (void) json_object_set_new (spot, "part", s_part (""));
    s_tell (self, out, "response.content_part.added", spot);
    argos_text_reset (&self->text);
}

static void
s_text_more (s_view_t *self, argos_text_t *out, const char *text)
{
    if (!self->message) {
        text += strspn (text, "\n"); //  What stands between two texts of one
        s_text_begin (self, out);
    }
    (void) argos_text_add (&self->text, text, strlen (text));
    json_t *spot = s_spot (self);
    (void) json_object_set_new (spot, "delta", json_string (text));
    (void) json_object_set_new (spot, "logprobs", json_array ());
    s_tell (self, out, "response.output_text.delta", spot);
}

static void
s_text_end (s_view_t *self, argos_text_t *out)
{
    if (!self->message)
        return;
    const char *text = argos_text_str (&self->text);
    json_t *spot = s_spot (self);
    (void) json_object_set_new (spot, "text", json_string (text));
    (void) json_object_set_new (spot, "logprobs", json_array ());
    s_tell (self, out, "response.output_text.done", spot);
    spot = s_spot (self);
    (void) json_object_set_new (spot, "part", s_part (text));
    s_tell (self, out, "response.content_part.done", spot);
    (void) json_array_append_new (json_object_get (self->message, "content"), s_part (text));
    s_item_done (self, out, s_place (self));
    self->message = NULL;
}

//  --------------------------------------------------------------------------
//  Calls of tools

static void
s_call_begin (s_view_t *self, argos_text_t *out, const json_t *event)
{
    char id[48];
    const char *tool = json_string_value (json_object_get (event, "tool"));
    const char *call = json_string_value (json_object_get (event, "tool_call_id"));
    const char *arguments = json_string_value (json_object_get (event, "arguments"));
    if (!tool || *tool == '_' || !call || !*call || json_object_get (self->calls, call))
        return;
    s_text_end (self, out);
    (void) snprintf (id, sizeof id, "fc_%s%02zu", self->run, json_array_size (self->output));
    arguments = arguments ? arguments : "{}";
    json_t *item = s_add (self, out,
        json_pack ("{s:s,s:s,s:s,s:s,s:s,s:s}", "id", id, "type", "function_call", "status",
            "in_progress", "name", tool, "arguments", arguments, "call_id", call));
    (void) json_object_set_new (self->calls, call, json_integer (s_place (self)));
    s_tell (self, out, "response.function_call_arguments.done",
        json_pack ("{s:O,s:I,s:s,s:s}", "item_id", json_object_get (item, "id"), "output_index",
            s_place (self), "name", tool, "arguments", arguments));
}

static void
s_call_end (s_view_t *self, argos_text_t *out, const json_t *event)
{
    char id[48];
    const char *call = json_string_value (json_object_get (event, "tool_call_id"));
    const char *said = json_string_value (json_object_get (event, "output"));
    const json_t *place = call ? json_object_get (self->calls, call) : NULL;
    if (!place)
        return;
    s_text_end (self, out);
    s_item_done (self, out, json_integer_value (place));
    (void) json_object_del (self->calls, call);
    (void) snprintf (id, sizeof id, "fco_%s%02zu", self->run, json_array_size (self->output));
    (void) s_add (self, out,
        json_pack ("{s:s,s:s,s:s,s:s,s:[{s:s,s:s}]}", "id", id, "type", "function_call_output",
            "status", "completed", "call_id", call, "output", "type", "input_text", "text",
            said ? said : ""));
    s_item_done (self, out, s_place (self));
}

//  --------------------------------------------------------------------------
//  The class

static void
s_begin (void *arg, argos_text_t *out)
{
    s_view_t *self = arg;
    s_tell (self, out, "response.created", json_pack ("{s:o}", "response", s_response (self)));
    s_tell (self, out, "response.in_progress", json_pack ("{s:o}", "response", s_response (self)));
}

//  Calls that never ended are completed all the same, else a client would run them.

static void
s_end (s_view_t *self, argos_text_t *out)
{
    char type[32];
    const char *call;
    json_t *place;
    s_text_end (self, out);
    json_object_foreach (self->calls, call, place)
        s_item_done (self, out, json_integer_value (place));
    (void) json_object_clear (self->calls);
    (void) snprintf (type, sizeof type, "response.%s", s_status (self));
    s_tell (self, out, type, json_pack ("{s:o}", "response", s_response (self)));
}

static void
s_event (void *arg, const json_t *event, argos_text_t *out)
{
    s_view_t *self = arg;
    const char *name = json_string_value (json_object_get (event, "event"));
    const char *text = argos_run_result_take (&self->result, event);
    if (!self->created)
        self->created = self->result.at;
    if (*text)
        s_text_more (self, out, text);
    if (name && strcmp (name, "message.completed") == 0)
        s_text_end (self, out);
    if (name && strcmp (name, "tool.started") == 0)
        s_call_begin (self, out, event);
    if (name && strcmp (name, "tool.completed") == 0)
        s_call_end (self, out, event);
    if (self->result.outcome != ARGOS_RUN_UNFINISHED)
        s_end (self, out);
}

static void
s_answer (void *arg, argos_view_answer_t *ret_answer)
{
    s_view_t *self = arg;
    const argos_run_result_t *result = &self->result;
    bool whole = result->outcome == ARGOS_RUN_COMPLETED && !result->truncated;
    *ret_answer = (argos_view_answer_t){ .status = 200,
        .partial = result->told.size && !whole,
        .failed = result->outcome != ARGOS_RUN_COMPLETED,
        .error = whole || self->kept ? NULL
                 : result->error     ? result->error
                                     : "truncated" };
    if (ret_answer->failed && !result->told.size && !self->kept) {
        ret_answer->status = 502;
        ret_answer->body = json_pack ("{s:{s:s,s:s,s:n,s:s,s:{s:b,s:b,s:b}}}", "error", "message",
            result->error, "type", "server_error", "param", "code", "agent_incomplete", "hermes",
            "completed", 0, "partial", 0, "failed", 1);
    }
    else
        ret_answer->body = s_response (self);
}

static void
s_destroy (void *arg)
{
    s_view_t *self = arg;
    free (self->model);
    json_decref (self->object);
    json_decref (self->output);
    json_decref (self->calls);
    argos_text_clear (&self->text);
    argos_run_result_clear (&self->result);
    free (self);
}

argos_view_t
argos_response_view_new (const char *run_id, const char *model, const json_t *object, bool stream,
    bool kept, int64_t started_at)
{
    static const argos_view_class_t class = { s_begin, s_event, s_answer, s_destroy };
    s_view_t *self = calloc (1, sizeof *self);
    if (!self || !(self->model = strdup (model)))
        abort ();
    argos_response_id (run_id, self->id);
    (void) snprintf (self->run, sizeof self->run, "%.28s", run_id + 4);
    self->object = json_deep_copy (object);
    self->stream = stream;
    self->kept = kept;
    self->created = started_at;
    self->output = json_array ();
    self->calls = json_object ();
    argos_text_init (&self->text, S_TEXT_MAX);
    argos_run_result_init (&self->result);
    return (argos_view_t){ &class, self, stream };
}
