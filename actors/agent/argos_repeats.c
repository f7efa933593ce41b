//  argos_repeats - see the header.
//
//  The rows are read from the end. Limits: the last ROWS_MAX rows are looked at, CALLS_MAX results
//  of one answer.

#include "argos_repeats.h"

#include "argos_json_get.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MAX 200
#define CALLS_MAX 64
#define WARN_FAILED 2 //  From so many on it is said
#define WARN_TOOL 3
#define WARN_SAME 2
#define STOP_FAILED 5 //  After so many it is not run
#define STOP_TOOL 8
#define STOP_SAME 5

typedef struct {
    const argos_repeats_call_t *call; //  What is looked for
    argos_repeats_t seen;             //  So far
    json_t *first;                    //  The result that `same` compares with; NULL = none yet
    bool failed_over;                 //  Before that it has worked
    bool tool_over;                   //  Before that its tool has
    bool same_over;                   //  Before that it was another
} s_look_t;

static bool
s_has_failed (const json_t *result)
{
    const char *error = argos_json_find_text (result, "error"),
               *status = argos_json_find_text (result, "status");
    json_int_t code = json_integer_value (json_object_get (result, "exit_code"));
    if ((error && *error) || json_is_false (json_object_get (result, "success")))
        return true;
    if (status && (strcmp (status, "error") == 0 || strcmp (status, "blocked") == 0))
        return true;
    //  A job that has failed is what was asked for
    return code != 0 && !json_object_get (result, "exit_code_meaning") &&
           !json_object_get (result, "session_id");
}

//  Each member of one is in other; words of ours beside a result are no part of it
static bool
s_covers (json_t *one, const json_t *other)
{
    const char *name;
    const json_t *value;
    json_object_foreach (one, name, value)
        if (strcmp (name, "warning") != 0 && !json_equal (value, json_object_get (other, name)))
            return false;
    return json_is_object (one);
}

//  A result of the tool, from the newest to the oldest
static void
s_note (s_look_t *self, json_t *result, bool same_call)
{
    bool failed = s_has_failed (result);
    self->tool_over = self->tool_over || !failed;
    self->seen.tool_failed += !self->tool_over;
    if (!same_call)
        return;
    self->failed_over = self->failed_over || !failed;
    self->seen.failed += !self->failed_over;
    if (self->call->mutates || self->same_over)
        return;
    if (!self->first)
        self->first = json_incref (result);
    self->same_over = failed || !s_covers (self->first, result) || !s_covers (result, self->first);
    self->seen.same += !self->same_over;
}

//  Arguments are an object in a turn, and text in a transcript
static bool
s_is_call (const s_look_t *self, const json_t *call)
{
    json_t *arguments = json_object_get (json_object_get (call, "function"), "arguments");
    const char *text = json_string_value (arguments);
    json_t *given = text ? json_loads (text, 0, NULL) : json_incref (arguments);
    bool ret = json_equal (given, self->call->arguments);
    json_decref (given);
    return ret;
}

//  The results of an answer, in the order of its calls; rows are the ones behind it
static void
s_read_answer (s_look_t *self, const json_t *calls, const json_t *const *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t k;
        const json_t *call = NULL, *one;
        const char *id = argos_json_find_text (rows[i], "tool_call_id"),
                   *tool = argos_json_find_text (rows[i], "tool_name");
        json_array_foreach (calls, k, one)
            if (id && argos_json_find_text (one, "id") &&
                strcmp (argos_json_find_text (one, "id"), id) == 0)
                call = one;
        bool mine = tool && strcmp (tool, self->call->tool) == 0;
        bool over =
            self->tool_over && self->failed_over && (self->same_over || self->call->mutates);
        bool same_call = mine && call && s_is_call (self, call);
        if (!mine || over || (self->tool_over && !same_call))
            continue;
        const char *content = argos_json_find_text (rows[i], "content");
        json_t *result = content ? json_loads (content, 0, NULL) : NULL;
        s_note (self, result, same_call);
        json_decref (result);
    }
}

static void
s_read (s_look_t *self)
{
    const json_t *results[CALLS_MAX];
    size_t count = 0, left = ROWS_MAX;
    for (size_t i = json_array_size (self->call->rows); i > 0 && left > 0; i--, left--) {
        const json_t *row = json_array_get (self->call->rows, i - 1);
        const char *run = argos_json_find_text (row, "run_id");
        const json_t *calls = json_object_get (row, "tool_calls");
        if (!run || strcmp (run, self->call->run_id) != 0)
            continue;
        if (argos_json_find_text (row, "tool_call_id") && count < CALLS_MAX)
            results[count++] = row;
        if (!calls)
            continue;
        s_read_answer (self, calls, results, count);
        count = 0;
    }
    json_decref (self->first);
}

argos_repeats_t
argos_repeats_before (const argos_repeats_call_t *call)
{
    s_look_t look = { .call = call };
    s_read (&look);
    return look.seen;
}

argos_repeats_t
argos_repeats_with (const argos_repeats_call_t *call, json_t *result)
{
    s_look_t look = { .call = call };
    s_note (&look, result, true);
    s_read (&look);
    return look.seen;
}

bool
argos_repeats_warning (const argos_repeats_t *self, const char *tool, char *target, size_t size)
{
    if (self->failed >= WARN_FAILED)
        snprintf (target, size,
            "This very call has failed %d times in this turn. Do not make it again as it is.",
            self->failed);
    else if (self->tool_failed >= WARN_TOOL)
        snprintf (target, size, "%s has failed %d times in a row. Look at why, or go another way.",
            tool, self->tool_failed);
    else if (self->same >= WARN_SAME)
        snprintf (target, size,
            "This call has brought the same %d times in a row. Go on with what stands above.",
            self->same);
    else
        return false;
    return true;
}

bool
argos_repeats_refusal (const argos_repeats_t *self, const char *tool, char *target, size_t size)
{
    if (self->failed >= STOP_FAILED)
        snprintf (target, size, "BLOCKED: This very call has failed %d times. It was not run.",
            self->failed);
    else if (self->tool_failed >= STOP_TOOL)
        snprintf (target, size, "BLOCKED: %s has failed %d times in a row. It was not run.", tool,
            self->tool_failed);
    else if (self->same >= STOP_SAME)
        snprintf (target, size,
            "BLOCKED: This call has brought the same %d times in a row. It was not run.",
            self->same);
    else
        return false;
    return true;
}
