//  argos_run_result - what the events of a run come to. Pure. Limit: 8 MiB of text, then no more is
//  told.

#include "argos_run_result.h"

#include <stdlib.h>
#include <string.h>

#define S_TEXT_MAX 8388608 //  Bytes

void
argos_run_result_init (argos_run_result_t *self)
{
    *self = (argos_run_result_t){ .outcome = ARGOS_RUN_UNFINISHED };
    argos_text_init (&self->told, S_TEXT_MAX);
    argos_text_init (&self->piece, S_TEXT_MAX + 2);
    argos_text_init (&self->segment, S_TEXT_MAX);
    argos_text_init (&self->again, S_TEXT_MAX);
}

void
argos_run_result_clear (argos_run_result_t *self)
{
    argos_text_clear (&self->told);
    argos_text_clear (&self->piece);
    argos_text_clear (&self->segment);
    argos_text_clear (&self->again);
    json_decref (self->output);
    free (self->error);
    self->output = NULL;
    self->error = NULL;
}

static void
s_tell (argos_run_result_t *self, const char *text, size_t size, bool apart)
{
    if (apart && self->told.size)
        (void) argos_text_add (&self->piece, "\n\n", 2);
    (void) argos_text_add (&self->piece, text, size);
}

//  What is said again, until it says more than was told, or something else.

static void
s_repeat (argos_run_result_t *self, const char *text, size_t size)
{
    (void) argos_text_add (&self->again, text, size);
    size_t told = self->segment.size;
    size_t both = self->again.size < told ? self->again.size : told;
    bool same = both == 0 || memcmp (self->again.data, self->segment.data, both) == 0;
    if (same && self->again.size <= told)
        return;
    self->repeating = false;
    if (same)
        s_tell (self, self->again.data + told, self->again.size - told, told == 0);
    else
        s_tell (self, self->again.data, self->again.size, true);
    argos_text_reset (&self->segment);
    (void) argos_text_add (&self->segment, self->again.data, self->again.size);
}

static void
s_delta (argos_run_result_t *self, const json_t *delta)
{
    const char *text = json_string_value (delta);
    size_t size = json_string_length (delta);
    if (!size)
        return;
    if (self->repeating) {
        s_repeat (self, text, size);
        return;
    }
    s_tell (self, text, size, self->segment.size == 0);
    (void) argos_text_add (&self->segment, text, size);
}

static void
s_segment_over (argos_run_result_t *self)
{
    argos_text_reset (&self->segment);
    self->repeating = false;
}

static void
s_restart (argos_run_result_t *self)
{
    argos_text_reset (&self->again);
    self->repeating = self->segment.size > 0;
}

static int64_t
s_count (const json_t *event, const char *name)
{
    return json_integer_value (json_object_get (json_object_get (event, "usage"), name));
}

//  The last event. An output that was not told at all is told now.

static void
s_end (argos_run_result_t *self, const char *name, const json_t *event)
{
    const char *error = json_string_value (json_object_get (event, "error"));
    const char *finish = json_string_value (json_object_get (event, "finish_reason"));
    self->outcome = strcmp (name, "run.completed") == 0 ? ARGOS_RUN_COMPLETED
                    : strcmp (name, "run.failed") == 0  ? ARGOS_RUN_FAILED
                                                        : ARGOS_RUN_CANCELLED;
    self->truncated = finish && strcmp (finish, "length") == 0;
    self->input = s_count (event, "input_tokens");
    self->output_tokens = s_count (event, "output_tokens");
    self->total = s_count (event, "total_tokens");
    if (self->outcome != ARGOS_RUN_COMPLETED)
        self->error = strdup (error ? error : "The run was stopped.");
    json_t *output = json_object_get (event, "output");
    if (self->outcome != ARGOS_RUN_COMPLETED || !json_is_string (output))
        return;
    self->output = json_incref (output);
    size_t size = json_string_length (output);
    bool ends = self->told.size >= size && memcmp (self->told.data + self->told.size - size,
                                               json_string_value (output), size) == 0;
    if (size && !ends)
        s_tell (self, json_string_value (output), size, true);
}

const char *
argos_run_result_take (argos_run_result_t *self, const json_t *event)
{
    const char *name = json_string_value (json_object_get (event, "event"));
    argos_text_reset (&self->piece);
    self->at = (int64_t) json_number_value (json_object_get (event, "timestamp"));
    if (!name || self->outcome != ARGOS_RUN_UNFINISHED)
        return "";
    if (strcmp (name, "message.delta") == 0)
        s_delta (self, json_object_get (event, "delta"));
    else if (strcmp (name, "message.completed") == 0 || strcmp (name, "tool.started") == 0)
        s_segment_over (self);
    else if (strcmp (name, "run.restarted") == 0 || strcmp (name, "stream.gap") == 0)
        s_restart (self);
    else if (strcmp (name, "run.completed") == 0 || strcmp (name, "run.failed") == 0 ||
             strcmp (name, "run.cancelled") == 0)
        s_end (self, name, event);
    (void) argos_text_add (&self->told, argos_text_str (&self->piece), self->piece.size);
    return argos_text_str (&self->piece);
}

const char *
argos_run_result_text (const argos_run_result_t *self)
{
    return self->output ? json_string_value (self->output) : argos_text_str (&self->told);
}
