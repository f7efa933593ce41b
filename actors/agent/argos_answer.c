//  argos_answer - one answer of a model, put together from the pieces of a stream.
//
//  Invariant: all text inside is valid UTF-8; after settle every call has an id, a name and
//  arguments that are the compact JSON of an object. Limits as in the header.

#include "argos_answer.h"

#include "argos_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

argos_answer_t *
argos_answer_new (void)
{
    argos_answer_t *self = (argos_answer_t *) calloc (1, sizeof *self);
    if (!self)
        abort ();
    argos_text_init (&self->text, ARGOS_ANSWER_TEXT_MAX);
    argos_text_init (&self->reasoning, ARGOS_ANSWER_THOUGHT_MAX);
    argos_think_init (&self->think);
    return self;
}

void
argos_answer_destroy (argos_answer_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_answer_t *self = *self_p;
    argos_text_clear (&self->text);
    argos_text_clear (&self->reasoning);
    argos_think_clear (&self->think);
    json_decref (self->thinking);
    for (size_t i = 0; self->calls && i < ARGOS_ANSWER_CALLS; i++)
        argos_text_clear (&self->calls[i].args);
    free (self->calls);
    free (self);
    *self_p = NULL;
}

//  Bytes that a byte of text takes inside a JSON string
static size_t
s_cost (unsigned char byte)
{
    if (byte < 0x20)
        return byte == '\n' || byte == '\t' || byte == '\r' ? 2 : 6;
    return byte == '"' || byte == '\\' ? 2 : 1;
}

static void
s_show (void *arg, const char *text, size_t size)
{
    argos_answer_t *self = (argos_answer_t *) arg;
    size_t fits = 0, cost = self->text_cost;
    while (fits < size && !self->text_full) {
        size_t next = cost + s_cost ((unsigned char) text[fits]);
        if (next > ARGOS_ANSWER_TEXT_MAX)
            break;
        cost = next;
        fits++;
    }
    if (fits < size) {
        self->text_full = true;
        fits = argos_utf8_cut (text, size, fits);
    }
    argos_utf8_add (&self->text, text, fits);
    self->text_cost = cost;
    if (!self->call_count)
        self->visible = self->text.size;
}

static void
s_hide (void *arg, const char *text, size_t size)
{
    argos_answer_t *self = (argos_answer_t *) arg;
    argos_utf8_add (&self->reasoning, text, size);
}

static const argos_text_t *
s_so_far (void *arg)
{
    return &((argos_answer_t *) arg)->text;
}

static const argos_think_sink_t s_sink = { s_show, s_hide, s_so_far };

size_t
argos_answer_add_text (argos_answer_t *self, const char *text, size_t size)
{
    size_t before = self->text.size;
    argos_think_add (&self->think, text, size, &s_sink, self);
    return self->text.size - before;
}

static void
s_make_calls (argos_answer_t *self)
{
    self->calls = (argos_answer_call_t *) calloc (ARGOS_ANSWER_CALLS, sizeof *self->calls);
    if (!self->calls)
        abort ();
    for (size_t i = 0; i < ARGOS_ANSWER_CALLS; i++)
        argos_text_init (&self->calls[i].args, ARGOS_ANSWER_ARGS_MAX);
}

argos_answer_call_t *
argos_answer_call (argos_answer_t *self, int64_t index, const char *id)
{
    for (size_t i = self->call_count; i > 0; i--) {
        argos_answer_call_t *call = &self->calls[i - 1];
        if (call->index != index)
            continue;
        if (!*id || !*call->id || strcmp (call->id, id) == 0)
            return call;
        break; //  The same index with another id is another call
    }
    if (self->call_count == ARGOS_ANSWER_CALLS)
        return NULL;
    argos_think_end (&self->think, &s_sink, self); //  It is still before the call
    if (!self->calls)
        s_make_calls (self);
    argos_answer_call_t *call = &self->calls[self->call_count++];
    call->index = index;
    return call;
}

int
argos_answer_add_args (argos_answer_call_t *call, const char *text, size_t size)
{
    return argos_text_add (&call->args, text, size);
}

static void
s_copy (char *target, size_t room, const char *source)
{
    size_t size = argos_utf8_cut (source, strlen (source), room - 1);
    memcpy (target, source, size);
    target[size] = 0;
}

void
argos_answer_fail (argos_answer_t *self, const char *type, const char *error)
{
    if (self->failed)
        return;
    self->failed = true;
    s_copy (self->error_type, sizeof self->error_type, type);
    s_copy (self->error, sizeof self->error, error);
}

bool
argos_answer_read_error (argos_answer_t *self, const json_t *value)
{
    const json_t *error = json_object_get (value, "error");
    if (!error || json_is_null (error))
        return false;
    const char *text = json_string_value (error);
    const char *type = NULL, *code = NULL;
    char number[32] = "";
    if (json_is_object (error)) {
        text = json_string_value (json_object_get (error, "message"));
        type = json_string_value (json_object_get (error, "type"));
        const json_t *code_value = json_object_get (error, "code");
        code = json_string_value (code_value);
        if (json_is_integer (code_value)) {
            snprintf (number, sizeof number, "%lld", (long long) json_integer_value (code_value));
            code = number;
        }
    }
    argos_answer_fail (self, code ? code : type ? type : "", text ? text : "unspecified error");
    return true;
}

//  A call without a name can't be run; exact repeats would be run twice
static bool
s_useless (const argos_answer_t *self, size_t at)
{
    const argos_answer_call_t *call = &self->calls[at];
    if (!*call->name)
        return true;
    for (size_t i = 0; i < at; i++)
        if (strcmp (self->calls[i].name, call->name) == 0 &&
            strcmp (argos_text_str (&self->calls[i].args), argos_text_str (&call->args)) == 0)
            return true;
    return false;
}

static void
s_drop_call (argos_answer_t *self, size_t at)
{
    argos_text_clear (&self->calls[at].args);
    self->call_count--;
    memmove (
        &self->calls[at], &self->calls[at + 1], (self->call_count - at) * sizeof self->calls[0]);
    argos_answer_call_t *last = &self->calls[self->call_count];
    *last = (argos_answer_call_t){ 0 };
    argos_text_init (&last->args, ARGOS_ANSWER_ARGS_MAX);
}

//  Returns false when the arguments of a call look cut off
static bool
s_settle_calls (argos_answer_t *self, const char *seed)
{
    for (size_t i = 0; i < self->call_count; i++) {
        argos_answer_call_t *call = &self->calls[i];
        if (argos_args_repair (&call->args) < 0) {
            if (self->finish == ARGOS_FINISH_LENGTH || argos_args_cut_off (&call->args))
                return false;
            call->broken = true;
            argos_text_reset (&call->args);
            argos_text_add (&call->args, "{}", 2);
        }
        if (!*call->id)
            snprintf (call->id, sizeof call->id, "call_%.100s_%zu", seed, i);
    }
    for (size_t i = self->call_count; i > 0; i--)
        if (s_useless (self, i - 1))
            s_drop_call (self, i - 1);
    return true;
}

//  The stream ended before the answer did
static argos_answer_kind_t
s_settle_cut (argos_answer_t *self)
{
    if (self->call_count)
        memcpy (self->cut_call, self->calls[self->call_count - 1].name, sizeof self->cut_call);
    return self->text.size || self->call_count || self->events ? ARGOS_ANSWER_CUT
                                                               : ARGOS_ANSWER_EMPTY;
}

argos_answer_kind_t
argos_answer_settle (argos_answer_t *self, const char *seed)
{
    argos_think_end (&self->think, &s_sink, self);
    if (self->failed)
        return ARGOS_ANSWER_FAILED;
    if (!self->ended && self->finish == ARGOS_FINISH_NONE)
        return s_settle_cut (self);
    if (self->call_count) {
        if (!s_settle_calls (self, seed)) {
            self->finish = ARGOS_FINISH_LENGTH;
            memcpy (self->cut_call, self->calls[self->call_count - 1].name, sizeof self->cut_call);
            while (self->call_count)
                s_drop_call (self, self->call_count - 1);
        }
        if (self->call_count) {
            self->finish = ARGOS_FINISH_TOOLS;
            return ARGOS_ANSWER_TOOLS;
        }
    }
    if (self->text_full)
        self->finish = ARGOS_FINISH_LENGTH;
    if (!self->text.size && self->finish == ARGOS_FINISH_NONE)
        return ARGOS_ANSWER_EMPTY;
    if (self->finish == ARGOS_FINISH_NONE || self->finish == ARGOS_FINISH_TOOLS)
        self->finish = ARGOS_FINISH_STOP;
    return ARGOS_ANSWER_TEXT;
}

const char *
argos_finish_name (argos_finish_t finish)
{
    static const char *const names[] = { "stop", "stop", "length", "tool_calls", "content_filter" };
    return names[finish];
}
