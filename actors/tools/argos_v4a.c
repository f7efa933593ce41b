//  argos_v4a - a patch of several files as models write it.
//
//  Invariant: a hunk is found in whole lines behind the one before, and only where it is the only
//  place, unless its hint says which. Limits: those of the header.

#include "argos_v4a.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;      //  Beginning of the line
    argos_v4a_kind_t kind; //  What it means
} s_words[] = {
    { "*** Update File:", ARGOS_V4A_UPDATE },
    { "*** Add File:", ARGOS_V4A_ADD },
    { "*** Delete File:", ARGOS_V4A_DELETE },
    { "*** Move File:", ARGOS_V4A_MOVE },
};

static void *
s_memory (void *memory)
{
    if (!memory)
        abort ();
    return memory;
}

//  The text behind a word, without blanks around it; new.

static char *
s_rest (const char *line, size_t size, size_t word)
{
    const char *start = line + word, *end = line + size;
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    while (end > start && (end[-1] == ' ' || end[-1] == '\r' || end[-1] == '\t'))
        end--;
    return s_memory (strndup (start, (size_t) (end - start)));
}

static void
s_append (char **text, const char *line, size_t size)
{
    size_t used = *text ? strlen (*text) : 0;
    *text = s_memory (realloc (*text, used + size + 2));
    memcpy (*text + used, line, size);
    memcpy (*text + used + size, "\n", 2);
}

static argos_v4a_op_t *
s_new_op (argos_v4a_t *self, argos_v4a_kind_t kind, char *path)
{
    if (self->count == ARGOS_V4A_OPS) {
        snprintf (self->error, sizeof self->error, "the patch has too many files");
        free (path);
        return NULL;
    }
    argos_v4a_op_t *op = s_memory (calloc (1, sizeof *op));
    op->kind = kind;
    op->path = path;
    char *arrow = kind == ARGOS_V4A_MOVE ? strstr (path, "->") : NULL;
    if (arrow) {
        op->target = s_rest (arrow + 2, strlen (arrow + 2), 0);
        while (arrow > path && arrow[-1] == ' ')
            arrow--;
        *arrow = '\0';
    }
    self->ops[self->count++] = op;
    return op;
}

static argos_v4a_hunk_t *
s_new_hunk (argos_v4a_t *self, argos_v4a_op_t *op, char *hint)
{
    if (op->hunk_count == ARGOS_V4A_HUNKS) {
        snprintf (self->error, sizeof self->error, "%.200s has too many hunks", op->path);
        free (hint);
        return NULL;
    }
    argos_v4a_hunk_t *hunk = &op->hunks[op->hunk_count++];
    *hunk = (argos_v4a_hunk_t){ .hint = hint };
    return hunk;
}

//  A line of a hunk.

static void
s_body (argos_v4a_t *self, argos_v4a_op_t *op, const char *line, size_t size)
{
    if (!op || op->kind == ARGOS_V4A_DELETE || op->kind == ARGOS_V4A_MOVE) {
        if (size && !(size == 1 && *line == '\r'))
            snprintf (self->error, sizeof self->error, "a line that belongs to no file: %.*s",
                size > 200 ? 200 : (int) size, line);
        return;
    }
    argos_v4a_hunk_t *hunk =
        op->hunk_count ? &op->hunks[op->hunk_count - 1] : s_new_hunk (self, op, NULL);
    char sign = ' ';
    if (size)
        sign = *line;
    bool plain = sign != '-' && sign != '+' && sign != ' '; //  Context without its blank
    const char *text = plain || !size ? line : line + 1;
    size_t rest = plain || !size ? size : size - 1;
    if (!hunk)
        return;
    if (op->kind == ARGOS_V4A_ADD || sign != '-')
        s_append (&hunk->new_text, text, rest);
    if (op->kind == ARGOS_V4A_UPDATE && sign != '+')
        s_append (&hunk->old_text, text, rest);
}

//  Lines that begin with ***. Returns whether it is one.

static bool
s_head (argos_v4a_t *self, argos_v4a_op_t **op, const char *line, size_t size)
{
    static const char move[] = "*** Move to:";
    if (size < 4 || strncmp (line, "*** ", 4) != 0)
        return false;
    for (size_t i = 0; i < sizeof s_words / sizeof *s_words; i++) {
        size_t word = strlen (s_words[i].word);
        if (size >= word && strncmp (line, s_words[i].word, word) == 0) {
            *op = s_new_op (self, s_words[i].kind, s_rest (line, size, word));
            return true;
        }
    }
    if (*op && (*op)->kind == ARGOS_V4A_UPDATE && size >= sizeof move - 1 &&
        strncmp (line, move, sizeof move - 1) == 0) {
        free ((*op)->target);
        (*op)->target = s_rest (line, size, sizeof move - 1);
        return true;
    }
    return strncmp (line, "*** Begin Patch", 15) == 0 || strncmp (line, "*** End ", 8) == 0;
}

static void
s_check (argos_v4a_t *self)
{
    if (!*self->error && !self->count)
        snprintf (self->error, sizeof self->error, "the patch names no file");
    for (size_t i = 0; i < self->count && !*self->error; i++) {
        const argos_v4a_op_t *op = self->ops[i];
        if (!*op->path)
            snprintf (self->error, sizeof self->error, "a file has no name");
        else if (op->kind == ARGOS_V4A_UPDATE && !op->hunk_count && !op->target)
            snprintf (
                self->error, sizeof self->error, "the update of %.200s has no hunk", op->path);
        else if (op->kind == ARGOS_V4A_MOVE && (!op->target || !*op->target))
            snprintf (
                self->error, sizeof self->error, "the move of %.200s has no target", op->path);
    }
}

bool
argos_v4a_parse (const char *text, argos_v4a_t *ret)
{
    argos_v4a_op_t *op = NULL;
    *ret = (argos_v4a_t){ .count = 0 };
    while (*text && !*ret->error) {
        size_t size = strcspn (text, "\n");
        size_t bare = size && text[size - 1] == '\r' ? size - 1 : size;
        bool hunk = op && op->kind == ARGOS_V4A_UPDATE && bare >= 2 && strncmp (text, "@@", 2) == 0;
        if (hunk) {
            char *hint = s_rest (text, bare, 2);
            if (!*hint) {
                free (hint);
                hint = NULL;
            }
            s_new_hunk (ret, op, hint);
        }
        else if (!s_head (ret, &op, text, bare))
            s_body (ret, op, text, bare);
        text += size + (text[size] ? 1 : 0);
    }
    s_check (ret);
    return !*ret->error;
}

void
argos_v4a_clear (argos_v4a_t *self)
{
    for (size_t i = 0; self && i < self->count; i++) {
        argos_v4a_op_t *op = self->ops[i];
        for (size_t k = 0; k < op->hunk_count; k++) {
            free (op->hunks[k].hint);
            free (op->hunks[k].old_text);
            free (op->hunks[k].new_text);
        }
        free (op->path);
        free (op->target);
        free (op);
    }
    if (self)
        self->count = 0;
}

//  ------------------------------------------------------------------------------------------------
//  Applying

//  Offset of the line that has the hint, at or behind from; from when there is none.

static size_t
s_seek (const char *text, size_t from, const char *hint, bool *ret_found)
{
    const char *found = strstr (text + from, hint);
    *ret_found = found != NULL;
    if (!found)
        return from;
    while (found > text + from && found[-1] != '\n')
        found--;
    return (size_t) (found - text);
}

//  Lines that are only added: behind the line of the hint, else at the end.

static void
s_insert (char **text, size_t from, bool hinted, const char *added)
{
    size_t size = strlen (*text), at = size, length = strlen (added);
    if (hinted)
        at = from + strcspn (*text + from, "\n") + 1;
    at = at > size ? size : at;
    *text = s_memory (realloc (*text, size + length + 1));
    memmove (*text + at + length, *text + at, size - at + 1);
    memcpy (*text + at, added, length);
}

//  One hunk; *now is replaced, *from goes behind it.

static void
s_apply (const argos_v4a_op_t *op, size_t number, char **now, size_t *from, argos_patch_t *ret)
{
    const argos_v4a_hunk_t *hunk = &op->hunks[number];
    const char *new_text = hunk->new_text ? hunk->new_text : "";
    argos_patch_t one;
    bool hinted = false;
    if (hunk->hint)
        *from = s_seek (*now, *from, hunk->hint, &hinted);
    if (!hunk->old_text) {
        s_insert (now, *from, hinted, new_text);
        return;
    }
    argos_patch_replace_lines (*now, *from, hunk->old_text, new_text, hinted, &one);
    if (one.text) {
        free (*now);
        *now = one.text;
        *from = one.end;
        if (strcmp (one.strategy, "line_ends") != 0)
            ret->strategy = one.strategy;
        one.text = NULL;
    }
    else
        snprintf (ret->error, sizeof ret->error, "Hunk %zu of %.200s: %.700s", number + 1, op->path,
            one.applied ? "it is applied already" : one.error);
    argos_patch_clear (&one);
}

void
argos_v4a_apply (const argos_v4a_op_t *op, const char *text, argos_patch_t *ret)
{
    char *now = s_memory (strdup (text));
    size_t from = 0;
    *ret = (argos_patch_t){ .strategy = "line_ends" };
    for (size_t i = 0; i < op->hunk_count && !*ret->error; i++)
        s_apply (op, i, &now, &from, ret);
    ret->count = op->hunk_count;
    if (*ret->error)
        free (now);
    else
        ret->text = now;
}
