//  argos_patch_diff - what was changed, as a unified diff. Pure.
//
//  One piece from the first line that differs to the last one, or several when the changes are far
//  apart and the texts have the same number of lines. Limits: ARGOS_PATCH_DIFF_MAX.

#include "argos_patch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT ((size_t) 3) //  Lines around a change
#define ROOM 512             //  For the last words

typedef struct {
    const char **lines; //  Beginnings; one more than there are lines
    size_t count;       //  Lines
} lines_t;

typedef struct {
    char *data;  //  Terminated
    size_t size; //  In use
    bool full;   //  There was more
} out_t;

static lines_t
s_lines (const char *text)
{
    lines_t self = { .count = 0 };
    size_t room = 2;
    for (const char *at = text; *at; at++)
        room += *at == '\n' ? 1 : 0;
    self.lines = calloc (room, sizeof *self.lines);
    if (!self.lines)
        abort ();
    while (*text) {
        self.lines[self.count++] = text;
        const char *end = strchr (text, '\n');
        text = end ? end + 1 : text + strlen (text);
    }
    self.lines[self.count] = text;
    return self;
}

static size_t
s_size (const lines_t *self, size_t line)
{
    return (size_t) (self->lines[line + 1] - self->lines[line]);
}

static bool
s_same (const lines_t *one, size_t i, const lines_t *other, size_t k)
{
    return s_size (one, i) == s_size (other, k) &&
           memcmp (one->lines[i], other->lines[k], s_size (one, i)) == 0;
}

static void
s_put (out_t *out, char sign, const lines_t *lines, size_t line)
{
    size_t size = s_size (lines, line);
    bool ended = size && lines->lines[line][size - 1] == '\n';
    if (out->full || out->size + size + ROOM > ARGOS_PATCH_DIFF_MAX) {
        out->full = true;
        return;
    }
    out->data[out->size++] = sign;
    memcpy (out->data + out->size, lines->lines[line], size);
    out->size += size;
    if (!ended)
        out->size +=
            (size_t) snprintf (out->data + out->size, ROOM / 2, "\n\\ No newline at end of file\n");
}

//  One piece: lines from..to of the old text become those from..new_to of the new one.

static void
s_hunk (out_t *out, const lines_t *old, const lines_t *new_lines, size_t from, size_t to,
    size_t new_from, size_t new_to)
{
    size_t head = from < CONTEXT ? from : CONTEXT;
    size_t tail = old->count - to < CONTEXT ? old->count - to : CONTEXT;
    size_t old_count = to - from + head + tail, new_count = new_to - new_from + head + tail;
    if (out->full || out->size + ROOM > ARGOS_PATCH_DIFF_MAX) {
        out->full = true;
        return;
    }
    out->size += (size_t) snprintf (out->data + out->size, ROOM / 2, "@@ -%zu,%zu +%zu,%zu @@\n",
        old_count ? from - head + 1 : 0, old_count, new_count ? new_from - head + 1 : 0, new_count);
    for (size_t i = from - head; i < from; i++)
        s_put (out, ' ', old, i);
    for (size_t i = from; i < to; i++)
        s_put (out, '-', old, i);
    for (size_t i = new_from; i < new_to; i++)
        s_put (out, '+', new_lines, i);
    for (size_t i = to; i < to + tail; i++)
        s_put (out, ' ', old, i);
}

//  Texts of as many lines: a piece for each run of changes with less than 2 * CONTEXT between them.

static void
s_hunks (out_t *out, const lines_t *old, const lines_t *new_lines)
{
    for (size_t i = 0; i < old->count;) {
        if (s_same (old, i, new_lines, i)) {
            i++;
            continue;
        }
        size_t to = i + 1, same = 0;
        for (size_t k = to; k < old->count && same <= 2 * CONTEXT; k++) {
            same = s_same (old, k, new_lines, k) ? same + 1 : 0;
            to = same ? to : k + 1;
        }
        s_hunk (out, old, new_lines, i, to, i, to);
        i = to;
    }
}

char *
argos_patch_diff (const char *path, const char *old_text, const char *new_text)
{
    lines_t old = s_lines (old_text), new_lines = s_lines (new_text);
    out_t out = { .data = malloc (ARGOS_PATCH_DIFF_MAX + ROOM) };
    if (!out.data)
        abort ();
    out.size = (size_t) snprintf (out.data, ROOM + 256, "--- a/%.300s\n+++ b/%.300s\n", path, path);
    size_t least = old.count < new_lines.count ? old.count : new_lines.count, head = 0, tail = 0;
    while (head < least && s_same (&old, head, &new_lines, head))
        head++;
    while (tail < least - head &&
           s_same (&old, old.count - 1 - tail, &new_lines, new_lines.count - 1 - tail))
        tail++;
    if (old.count == new_lines.count)
        s_hunks (&out, &old, &new_lines);
    else
        s_hunk (&out, &old, &new_lines, head, old.count - tail, head, new_lines.count - tail);
    if (out.full)
        out.size += (size_t) snprintf (out.data + out.size, ROOM / 2, "[the rest is left out]\n");
    out.data[out.size] = '\0';
    free (old.lines);
    free (new_lines.lines);
    return out.data;
}
