//  argos_edits - see the header.
//
//  Limits: a file that is named in two ways counts as two; 5 files are told, the others counted;
//  160 bytes of an error.

#include "argos_edits.h"

#include "argos_json_get.h"
#include "argos_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 5
#define ERROR_MAX 160

//  {path: error, or null when the last edit of it was made}; new paths come last.

static void
s_note (json_t *edits, const char *path, const json_t *error)
{
    if (path)
        json_object_set_new (edits, path,
            json_is_string (error) ? json_string (json_string_value (error)) : json_null ());
}

static void
s_note_all (json_t *edits, const json_t *paths)
{
    size_t i;
    const json_t *path;
    json_array_foreach (paths, i, path)
        s_note (edits, json_string_value (path), NULL);
}

//  The arguments of the call, as an object: new.

static json_t *
s_arguments (const json_t *call)
{
    json_t *arguments = json_object_get (json_object_get (call, "function"), "arguments");
    const char *text = json_string_value (arguments);
    return text ? json_loads (text, 0, NULL) : json_incref (arguments);
}

static void
s_read_result (json_t *edits, const json_t *call, const char *content)
{
    static const char *const lists[] = { "files_modified", "files_created", "files_deleted" };
    json_t *result = content ? json_loads (content, 0, NULL) : NULL;
    json_t *arguments = s_arguments (call);
    const char *path = argos_json_find_text (arguments, "path");
    const json_t *error = json_object_get (result, "error");
    //  A patch of several files is made as a whole, or not
    s_note (edits, path ? path : json_is_string (error) ? "a patch of several files" : NULL, error);
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !json_is_string (error); i++)
        s_note_all (edits, json_object_get (result, lists[i]));
    json_decref (arguments);
    json_decref (result);
}

static json_t *
s_read (const json_t *rows, const char *run_id)
{
    json_t *calls = json_object (), *edits = json_object (), *call;
    size_t i, k;
    const json_t *row;
    json_array_foreach (rows, i, row) {
        const char *run = argos_json_find_text (row, "run_id"),
                   *id = argos_json_find_text (row, "tool_call_id");
        const char *tool = argos_json_find_text (row, "tool_name");
        if (!run || strcmp (run, run_id) != 0)
            continue;
        json_array_foreach (json_object_get (row, "tool_calls"), k, call)
            if (argos_json_find_text (call, "id"))
                json_object_set (calls, argos_json_find_text (call, "id"), call);
        if (id && tool && (strcmp (tool, "write_file") == 0 || strcmp (tool, "patch") == 0))
            s_read_result (
                edits, json_object_get (calls, id), argos_json_find_text (row, "content"));
    }
    json_decref (calls);
    return edits;
}

char *
argos_edits_failed (const json_t *rows, const char *run_id)
{
    json_t *edits = s_read (rows, run_id), *error;
    const char *path;
    size_t count = 0, size = 0;
    char *text = NULL;
    FILE *out = open_memstream (&text, &size);
    if (!out)
        abort ();
    json_object_foreach (edits, path, error) {
        const char *why = json_string_value (error);
        if (!why || ++count > FILES_MAX)
            continue;
        size_t length = argos_utf8_cut (why, strcspn (why, "\n"), ERROR_MAX);
        fprintf (
            out, "%s⚠️ Not changed: %s (%.*s)", count > 1 ? "\n" : "", path, (int) length, why);
    }
    if (count > FILES_MAX)
        fprintf (out, "\n⚠️ Not changed: %zu more", count - FILES_MAX);
    fclose (out);
    json_decref (edits);
    if (count)
        return text;
    free (text);
    return NULL;
}
