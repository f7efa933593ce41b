//  argos_jobs_launch - commands that are to run in the background.
//
//  Invariant: what is launched is what the approval was asked for: the command without its marker
//  line, and nothing is added to it.

#include "argos_jobs_tool.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

//  The first line of such a command

static const char *const s_markers[] = { "#!bg", "#bg", "# bg", "#background", "# background",
    "@background", "# @background" };

//  What follows the marker; NULL = there is none.

static const char *
s_behind_marker (const char *command)
{
    while (command) {
        const char *line = command + strspn (command, " \t\r");
        size_t size = strcspn (line, "\n");
        const char *rest = line[size] ? line + size + 1 : line + size;
        while (size && strchr (" \t\r", line[size - 1]))
            size--;
        for (size_t i = 0; size && i < sizeof s_markers / sizeof *s_markers; i++)
            if (strlen (s_markers[i]) == size && strncasecmp (line, s_markers[i], size) == 0)
                return rest;
        if (size || !*rest)
            return NULL;
        command = rest;
    }
    return NULL;
}

bool
argos_jobs_is_background (const json_t *arguments, bool *ret_marked)
{
    const char *command = json_string_value (json_object_get (arguments, "command"));
    *ret_marked = command && s_behind_marker (command);
    return *ret_marked || json_is_true (json_object_get (arguments, "background"));
}

static void
s_take (json_t *body, const json_t *from, const char *name)
{
    json_t *value = json_object_get (from, name);
    if (value && !json_is_null (value))
        json_object_set (body, name, value);
}

//  Who asks for patterns is told of those, and not of the end as well unless he says so; then only
//  of that.

static void
s_set_notify (json_t *body, const json_t *arguments, bool *ret_unwatched)
{
    const json_t *notify = json_object_get (arguments, "notify_on_complete");
    bool watched = json_array_size (json_object_get (arguments, "watch_patterns")) > 0;
    bool told = json_is_boolean (notify) ? json_is_true (notify) : !watched;
    *ret_unwatched = told && watched;
    json_object_set_new (body, "notify", json_boolean (told));
    if (!told)
        s_take (body, arguments, "watch_patterns");
}

json_t *
argos_jobs_launch (
    const json_t *call, const char *workdir, bool *ret_unwatched, const char **ret_problem)
{
    static const char *const of_call[] = { "session_id", "run_id", "source", "reply_to" };
    const json_t *arguments = json_object_get (call, "arguments");
    bool marked;
    argos_jobs_is_background (arguments, &marked);
    json_t *body = json_object ();
    s_take (body, arguments, "command");
    if (marked)
        json_object_set_new (body, "command",
            json_string (
                s_behind_marker (json_string_value (json_object_get (arguments, "command")))));
    for (size_t i = 0; i < sizeof of_call / sizeof *of_call; i++)
        s_take (body, call, of_call[i]);
    s_take (body, arguments, "workdir");
    if (!json_string_length (json_object_get (body, "workdir")) && workdir && *workdir)
        json_object_set_new (body, "workdir", json_string (workdir));
    s_set_notify (body, arguments, ret_unwatched);
    json_object_set_new (body, "process", json_boolean (!marked));
    if (json_is_true (json_object_get (arguments, "pty")))
        json_object_set_new (body, "input", json_string ("pty"));
    *ret_problem = json_object_get (body, "session_id")
                       ? argos_job_problem (body)
                       : "background jobs need a session: run it in the foreground";
    if (*ret_problem) {
        json_decref (body);
        return NULL;
    }
    return body;
}

json_t *
argos_jobs_launched (const argos_job_t *job, bool unwatched)
{
    char *text = argos_job_launch_text (job);
    json_t *result = argos_jobs_tool_text (text);
    json_object_set_new (result, "bg_job_id", json_string (job->id));
    json_object_set_new (result, "session_id", json_sprintf ("proc_%s", job->id));
    json_object_set_new (result, "pid", json_integer (job->keeper.pid));
    if (job->notify)
        json_object_set_new (result, "notify_on_complete", json_true ());
    else if (!job->patterns)
        json_object_set_new (result, "hint",
            json_string ("It will end in silence. With notify_on_complete you are called again "
                         "with its result, with watch_patterns when a line of its output has one "
                         "of them."));
    if (unwatched)
        json_object_set_new (result, "note",
            json_string ("watch_patterns were left out: with notify_on_complete you would be told "
                         "the same twice."));
    free (text);
    return result;
}
