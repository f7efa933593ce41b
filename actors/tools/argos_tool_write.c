//  argos_tool_write - the tools write_file and patch.
//
//  Invariant: what a patch changes is worked out in memory for all its files before the first one
//  is written; each file is then written whole. Limits: files of ARGOS_FILES_MAX bytes.

#include "argos_files.h"
#include "argos_reads.h"
#include "argos_v4a.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    char path[PATH_MAX];   //  File
    char target[PATH_MAX]; //  Where it goes, "" = it stays
    char *old_text;        //  What it has, NULL = it is not there
    char *new_text;        //  What it is to have, NULL = it goes
    const char *strategy;  //  How the place was found, NULL = there was nothing to find
} change_t;

//  ------------------------------------------------------------------------------------------------
//  Ends of lines: matched as \n, written as they were

static bool
s_has_returns (const char *text)
{
    size_t all = 0, with = 0;
    for (const char *at = text; (at = strchr (at, '\n')); at++) {
        all++;
        with += at > text && at[-1] == '\r' ? 1 : 0;
    }
    return all && with == all;
}

static char *
s_without_returns (const char *text)
{
    char *copy = strdup (text), *out = copy;
    if (!copy)
        abort ();
    for (; *text; text++)
        if (text[0] != '\r' || text[1] != '\n')
            *out++ = *text;
    *out = '\0';
    return copy;
}

static char *
s_with_returns (const char *text)
{
    char *copy = malloc (2 * strlen (text) + 1), *out = copy;
    if (!copy)
        abort ();
    for (; *text; text++) {
        if (*text == '\n')
            *out++ = '\r';
        *out++ = *text;
    }
    *out = '\0';
    return copy;
}

//  ------------------------------------------------------------------------------------------------
//  write_file

void
argos_tool_write_file (argos_tool_call_t *call)
{
    const char *content = argos_tool_text (call, "content");
    bool dirs = false;
    if (!content)
        argos_tool_fail (call, "`content` is missing: a text without NUL");
    else if (strlen (content) > ARGOS_FILES_MAX)
        argos_tool_fail (call, "`content` has more than %zu bytes", ARGOS_FILES_MAX);
    else if (argos_reads_is_stub (content))
        argos_tool_fail (call, "That is what read_file says instead of the content. Read the file "
                               "with another range, and write its real content.");
    else if (argos_files_may_write (call, call->path) &&
             argos_files_write (call, call->path, content, strlen (content), &dirs) == 0) {
        call->wrote = true;
        call->result = json_pack ("{s:I, s:b, s:s}", "bytes_written", (json_int_t) strlen (content),
            "dirs_created", dirs, "path", call->path);
    }
}

//  ------------------------------------------------------------------------------------------------
//  patch

static void
s_changes_free (change_t *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free (changes[i].old_text);
        free (changes[i].new_text);
    }
    free (changes);
}

//  Reads the text of the change's file. Returns false when the call has failed.

static bool
s_read (argos_tool_call_t *call, change_t *change)
{
    size_t size;
    if (!argos_files_may_write (call, change->path))
        return false;
    change->old_text = argos_files_read (call, change->path, &size);
    if (change->old_text && argos_files_is_binary (change->old_text, size))
        argos_tool_fail (call, "%s is no text", change->path);
    return !call->failed;
}

//  Fits a new text in place of the old one to its ends of lines.

static void
s_take (change_t *change, argos_patch_t *patch)
{
    change->strategy = patch->strategy;
    change->new_text = patch->text;
    if (s_has_returns (change->old_text)) {
        change->new_text = s_with_returns (patch->text);
        free (patch->text);
    }
    patch->text = NULL;
}

static void
s_tell_diff (json_t *result, const change_t *changes, size_t count)
{
    char *all = strdup ("");
    for (size_t i = 0; i < count && all; i++) {
        char *diff =
            argos_patch_diff (changes[i].path, changes[i].old_text ? changes[i].old_text : "",
                changes[i].new_text ? changes[i].new_text : "");
        char *more = NULL;
        if (strlen (all) < ARGOS_PATCH_DIFF_MAX && asprintf (&more, "%s%s", all, diff) < 0)
            abort ();
        if (more) {
            free (all);
            all = more;
        }
        free (diff);
    }
    json_object_set_new (
        result, "diff", argos_tool_string (all ? all : "", all ? strlen (all) : 0));
    free (all);
}

static void
s_tell (argos_tool_call_t *call, const change_t *changes, size_t count)
{
    json_t *modified = json_array (), *created = json_array (), *deleted = json_array ();
    const char *strategy = NULL;
    for (size_t i = 0; i < count; i++) {
        const change_t *change = &changes[i];
        const char *now = *change->target ? change->target : change->path;
        json_t *name = argos_tool_string (now, strlen (now));
        json_array_append_new (!change->new_text  ? deleted
                               : change->old_text ? modified
                                                  : created,
            name);
        if (*change->target)
            json_array_append_new (
                deleted, argos_tool_string (change->path, strlen (change->path)));
        if (change->strategy && (!strategy || strcmp (change->strategy, "exact") != 0))
            strategy = change->strategy;
    }
    call->result = json_pack ("{s:b, s:o, s:o, s:o}", "success", 1, "files_modified", modified,
        "files_created", created, "files_deleted", deleted);
    if (strategy)
        json_object_set_new (call->result, "strategy", json_string (strategy));
    s_tell_diff (call->result, changes, count);
}

//  Writes all changes, which are good as far as can be told.

static bool
s_write (argos_tool_call_t *call, const change_t *changes, size_t count)
{
    bool dirs;
    for (size_t i = 0; i < count; i++) {
        const change_t *change = &changes[i];
        const char *to = *change->target ? change->target : change->path;
        if (change->new_text &&
            argos_files_write (call, to, change->new_text, strlen (change->new_text), &dirs) != 0)
            break;
        if ((!change->new_text || *change->target) && unlink (change->path) != 0) {
            argos_tool_fail (
                call, "%s can't be removed: %s", change->path, strerrordesc_np (errno));
            break;
        }
        call->wrote = true;
    }
    if (call->failed && call->wrote)
        json_object_set_new (call->result, "hint",
            json_string ("Files before that one were written. Read them before you go on."));
    return !call->failed;
}

static void
s_replace (argos_tool_call_t *call)
{
    const char *old = argos_tool_text (call, "old_string");
    const char *new_text = argos_tool_text (call, "new_string");
    if (!old || !new_text || !*call->path) {
        argos_tool_fail (call, "mode replace needs `path`, `old_string` and `new_string`");
        return;
    }
    change_t *change = calloc (1, sizeof *change);
    if (!change)
        abort ();
    snprintf (change->path, sizeof change->path, "%s", call->path);
    if (s_read (call, change)) {
        argos_patch_t patch;
        bool returns = s_has_returns (change->old_text);
        char *text = returns ? s_without_returns (change->old_text) : strdup (change->old_text);
        char *bare_old = s_without_returns (old), *bare_new = s_without_returns (new_text);
        argos_patch_replace (text, returns ? bare_old : old, returns ? bare_new : new_text,
            argos_tool_flag (call, "replace_all"), &patch);
        if (patch.applied)
            call->result =
                json_pack ("{s:b, s:b, s:s}", "success", 1, "already_applied", 1, "message",
                    "new_string is there already and old_string is not: nothing was changed");
        else if (!patch.text)
            argos_tool_fail (call, "%s", patch.error);
        else {
            s_take (change, &patch);
            if (s_write (call, change, 1)) {
                s_tell (call, change, 1);
                json_object_set_new (
                    call->result, "replacements", json_integer ((json_int_t) patch.count));
            }
        }
        argos_patch_clear (&patch);
        free (text);
        free (bare_old);
        free (bare_new);
    }
    s_changes_free (change, 1);
}

//  What an update makes of a file that was read.

static void
s_update (argos_tool_call_t *call, const argos_v4a_op_t *op, change_t *change)
{
    argos_patch_t patch = { .text = NULL };
    if (op->kind == ARGOS_V4A_MOVE || !op->hunk_count) {
        change->new_text = strdup (change->old_text);
        return;
    }
    char *text = s_has_returns (change->old_text) ? s_without_returns (change->old_text)
                                                  : strdup (change->old_text);
    argos_v4a_apply (op, text, &patch);
    if (patch.text)
        s_take (change, &patch);
    else
        argos_tool_fail (call, "%s", patch.error);
    free (text);
}

//  The file's names. Returns false when the call has failed.

static bool
s_name (argos_tool_call_t *call, const argos_v4a_op_t *op, change_t *change)
{
    struct stat state;
    if (argos_files_path (call->root, call->home, op->path, change->path) != 0 ||
        (op->target && argos_files_path (call->root, call->home, op->target, change->target) != 0))
        argos_tool_fail (call, "the path is empty or too long: %.200s", op->path);
    else if (*change->target && stat (change->target, &state) == 0)
        argos_tool_fail (call, "%s is there already", change->target);
    else if (*change->target)
        argos_files_may_write (call, change->target);
    else if (op->kind == ARGOS_V4A_ADD && stat (change->path, &state) == 0)
        argos_tool_fail (call, "%s is there already", change->path);
    return !call->failed;
}

//  One file of a patch, worked out.

static void
s_prepare (argos_tool_call_t *call, const argos_v4a_op_t *op, change_t *change)
{
    if (!s_name (call, op, change))
        return;
    if (op->kind == ARGOS_V4A_ADD) {
        const char *text = op->hunk_count ? op->hunks[0].new_text : NULL;
        if (argos_files_may_write (call, change->path))
            change->new_text = strdup (text ? text : "");
    }
    else if (s_read (call, change) && op->kind != ARGOS_V4A_DELETE)
        s_update (call, op, change);
}

static void
s_patch (argos_tool_call_t *call)
{
    const char *text = argos_tool_text (call, "patch");
    argos_v4a_t patch;
    if (!text) {
        argos_tool_fail (call, "mode patch needs `patch`");
        return;
    }
    if (!argos_v4a_parse (text, &patch))
        argos_tool_fail (call, "%s", patch.error);
    change_t *changes = calloc (patch.count + 1, sizeof *changes);
    size_t count = 0;
    if (!changes)
        abort ();
    while (count < patch.count && !call->failed)
        s_prepare (call, patch.ops[count], &changes[count]), count++;
    if (call->failed)
        json_object_set_new (call->result, "hint", json_string ("Nothing was written."));
    else if (s_write (call, changes, count))
        s_tell (call, changes, count);
    if (count)
        snprintf (call->path, sizeof call->path, "%s",
            *changes[0].target ? changes[0].target : changes[0].path);
    s_changes_free (changes, count);
    argos_v4a_clear (&patch);
}

void
argos_tool_patch (argos_tool_call_t *call)
{
    const char *mode = argos_tool_text (call, "mode");
    if (mode ? strcmp (mode, "patch") == 0 : json_object_get (call->arguments, "patch") != NULL)
        s_patch (call);
    else if (mode && strcmp (mode, "replace") != 0)
        argos_tool_fail (call, "`mode` is replace or patch");
    else
        s_replace (call);
}
