//  argos_patch - replaces a piece of a text by another one.
//
//  Invariant: a match by a rule other than `exact` is made of whole lines, as many as the old piece
//  has, and nothing is changed unless there is exactly one (or all are wanted, and do not overlap).
//  Limits: those of argos_patch_find.

#include "argos_patch_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *data;        //  Terminated
    size_t size, room; //  In use; allocated
} buf_t;

//  ------------------------------------------------------------------------------------------------
//  Lines and buffers

static void
s_add (buf_t *buf, const char *data, size_t size)
{
    if (!buf->data || buf->size + size + 1 > buf->room) {
        buf->room = 2 * (buf->size + size) + 64;
        buf->data = patch_memory (realloc (buf->data, buf->room));
    }
    if (size)
        memcpy (buf->data + buf->size, data, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
}

//  ------------------------------------------------------------------------------------------------
//  The new piece

static patch_line_t
s_indent (const char *text)
{
    while (*text) {
        size_t size = strspn (text, " \t"), line = strcspn (text, "\n");
        if (size < line)
            return (patch_line_t){ text, size };
        text += line + (text[line] ? 1 : 0);
    }
    return (patch_line_t){ text, 0 };
}

//  The new piece with the indentation of the place instead of that of the old piece.

static void
s_put_indented (buf_t *out, const char *new_text, patch_line_t from, patch_line_t to)
{
    while (*new_text) {
        size_t size = strcspn (new_text, "\n");
        size_t blank = strspn (new_text, " \t");
        bool shifted =
            blank < size && size >= from.size && memcmp (new_text, from.start, from.size) == 0;
        if (shifted) {
            s_add (out, to.start, to.size);
            s_add (out, new_text + from.size, size - from.size);
        }
        else
            s_add (out, new_text, size);
        if (new_text[size])
            s_add (out, "\n", 1);
        new_text += size + (new_text[size] ? 1 : 0);
    }
}

//  The new piece for one match, as it is to stand there; new (free).

static char *
s_piece (const char *region, const char *old, const char *new_text, const char *strategy)
{
    buf_t out = { NULL, 0, 0 };
    bool escaped = strcmp (strategy, "escape_normalised") == 0;
    char *copy = escaped || (strstr (new_text, "\\t") && strchr (region, '\t') &&
                                !strstr (region, "\\t") && strcmp (strategy, "exact") != 0)
                     ? patch_unescaped (new_text)
                     : patch_memory (strdup (new_text));
    s_add (&out, "", 0);
    if (strcmp (strategy, "exact") == 0 || escaped)
        s_add (&out, copy, strlen (copy));
    else
        s_put_indented (&out, copy, s_indent (old), s_indent (region));
    free (copy);
    //  A block ends before its newline
    size_t old_size = strlen (old);
    bool block = strcmp (strategy, "exact") != 0 && !escaped;
    if (block && old_size && old[old_size - 1] == '\n' && out.size &&
        out.data[out.size - 1] == '\n')
        out.data[out.size - 1] = '\0';
    return out.data;
}

//  Whether the model has put backslashes before quotes that the file does not have.

static bool
s_drifts (const char *region, const char *old, const char *new_text)
{
    static const char *const pairs[] = { "\\'", "\\\"" };
    for (size_t i = 0; i < 2; i++)
        if (strstr (old, pairs[i]) && strstr (new_text, pairs[i]) && !strstr (region, pairs[i]))
            return true;
    return false;
}

//  ------------------------------------------------------------------------------------------------
//  What is said

//  The lines that are most like the first line of the piece.

static void
s_say_closest (const char *text, const char *old, argos_patch_t *ret)
{
    patch_lines_t lines = patch_lines (text), block = patch_lines (old);
    size_t first = 0, used = strlen (ret->error), shown = 0;
    while (first + 1 < block.count && !patch_trim (block.lines[first]).size)
        first++;
    for (size_t i = 0; block.count && i < lines.count && shown < 3; i++) {
        if (!patch_trim (lines.lines[i]).size ||
            patch_alike (lines.lines[i], block.lines[first]) < 0.6)
            continue;
        int size = lines.lines[i].size > 120 ? 120 : (int) lines.lines[i].size;
        used += (size_t) snprintf (ret->error + used, sizeof ret->error - used, "%s%zu|%.*s",
            shown ? "\n" : " The closest lines are:\n", i + 1, size, lines.lines[i].start);
        used = used < sizeof ret->error ? used : sizeof ret->error - 1;
        shown++;
    }
    free (lines.lines);
    free (block.lines);
}

static bool
s_is_valid (const char *old, const char *new_text, argos_patch_t *ret)
{
    if (!*old)
        snprintf (ret->error, sizeof ret->error, "old_string is empty");
    else if (strcmp (old, new_text) == 0)
        snprintf (ret->error, sizeof ret->error, "old_string and new_string are the same");
    return !*ret->error;
}

static void
s_apply (const char *text, const char *old, const char *new_text, const patch_spans_t *spans,
    size_t count, argos_patch_t *ret)
{
    buf_t out = { NULL, 0, 0 };
    size_t at = 0;
    for (size_t i = 0; i < count && !*ret->error; i++) {
        patch_span_t span = spans->spans[i];
        char *region = patch_memory (strndup (text + span.from, span.to - span.from));
        if (strcmp (ret->strategy, "exact") != 0 && s_drifts (region, old, new_text))
            snprintf (ret->error, sizeof ret->error,
                "old_string and new_string have a backslash before quotes, and the file has none "
                "there: write the quotes as they are");
        char *piece = s_piece (region, old, new_text, ret->strategy);
        s_add (&out, text + at, span.from - at);
        s_add (&out, piece, strlen (piece));
        at = span.to;
        ret->end = out.size;
        //  A block that goes as a whole takes its last newline with it
        if (!*piece && text[at] == '\n' && strcmp (ret->strategy, "exact") != 0)
            at++;
        free (piece);
        free (region);
    }
    s_add (&out, text + at, strlen (text + at));
    if (*ret->error)
        free (out.data);
    else
        ret->text = out.data;
}

static void
s_replace (const char *text, const char *old, const char *new_text, bool all, bool first,
    const patch_spans_t *spans, argos_patch_t *ret)
{
    const char *there = *new_text ? strstr (text, new_text) : NULL;
    ret->count = spans->count;
    if (!ret->strategy && there &&
        patch_trim ((patch_line_t){ new_text, strlen (new_text) }).size > 3)
        ret->applied = true;
    else if (!ret->strategy) {
        snprintf (ret->error, sizeof ret->error, "old_string was not found.");
        s_say_closest (text, old, ret);
    }
    else if (ret->count > 1 && !all && !first)
        snprintf (ret->error, sizeof ret->error,
            "old_string was found %zu times: give more of the text around it, or replace_all",
            ret->count);
    else if (ret->count > 1 && all && strcmp (ret->strategy, "block_anchor") == 0)
        snprintf (ret->error, sizeof ret->error,
            "several blocks are like old_string, none is the same: replace them one by one");
    else
        s_apply (text, old, new_text, spans, all ? ret->count : 1, ret);
}

void
argos_patch_replace (
    const char *text, const char *old, const char *new_text, bool replace_all, argos_patch_t *ret)
{
    *ret = (argos_patch_t){ .text = NULL };
    if (!s_is_valid (old, new_text, ret))
        return;
    patch_spans_t *spans = patch_memory (calloc (1, sizeof *spans));
    ret->strategy = patch_find (text, 0, old, false, spans);
    s_replace (text, old, new_text, replace_all, false, spans, ret);
    free (spans);
    if (ret->text && strcmp (ret->text, text) == 0) {
        argos_patch_clear (ret);
        ret->applied = true;
    }
}

void
argos_patch_replace_lines (const char *text, size_t from, const char *old, const char *new_text,
    bool first, argos_patch_t *ret)
{
    *ret = (argos_patch_t){ .text = NULL };
    patch_spans_t *spans = patch_memory (calloc (1, sizeof *spans));
    ret->strategy = patch_find (text, from, old, true, spans);
    s_replace (text, old, new_text, false, first, spans, ret);
    free (spans);
}

void
argos_patch_clear (argos_patch_t *self)
{
    if (!self)
        return;
    free (self->text);
    free (self->diff);
    self->text = self->diff = NULL;
}
