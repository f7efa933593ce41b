//  argos_sse - server-sent events, read in pieces of any size.
//
//  Invariant: `line` holds the bytes since the last line end, `data` those of complete data lines
//  since the last blank line. Limits: ARGOS_SSE_MAX for each; the name of an event is cut at 64
//  bytes. Lines that are complete in the piece are not copied.

#include "argos_sse.h"

#include <string.h>

void
argos_sse_init (argos_sse_t *self)
{
    *self = (argos_sse_t){ 0 };
    argos_text_init (&self->line, ARGOS_SSE_MAX);
    argos_text_init (&self->data, ARGOS_SSE_MAX);
}

void
argos_sse_clear (argos_sse_t *self)
{
    if (!self)
        return;
    argos_text_clear (&self->line);
    argos_text_clear (&self->data);
}

//  The value of a field line: what follows the colon, without one space
static const char *
s_value (const char *line, size_t size, size_t name, size_t *ret_size)
{
    if (size == name) {
        *ret_size = 0;
        return line + size;
    }
    const char *value = line + name + 1;
    size_t left = size - name - 1;
    if (left && *value == ' ') {
        value++;
        left--;
    }
    *ret_size = left;
    return value;
}

static bool
s_field (const char *line, size_t size, const char *name)
{
    size_t length = strlen (name);
    return size >= length && memcmp (line, name, length) == 0 &&
           (size == length || line[length] == ':');
}

static int
s_data_line (argos_sse_t *self, const char *line, size_t size)
{
    size_t value_size;
    const char *value = s_value (line, size, 4, &value_size);
    if ((self->has_data && argos_text_add (&self->data, "\n", 1) < 0) ||
        argos_text_add (&self->data, value, value_size) < 0)
        return -1;
    self->has_data = true;
    return 0;
}

//  One complete line. Sets *ret_go_on to what the callback said.
static int
s_line (
    argos_sse_t *self, const char *line, size_t size, argos_sse_fn *fn, void *arg, bool *ret_go_on)
{
    if (!self->started) {
        self->started = true;
        if (size >= 3 && memcmp (line, "\xEF\xBB\xBF", 3) == 0) {
            line += 3;
            size -= 3;
        }
    }
    if (size == 0) {
        if (self->has_data)
            *ret_go_on = fn (arg, self->event, argos_text_str (&self->data), self->data.size);
        argos_text_reset (&self->data);
        self->has_data = false;
        self->event[0] = 0;
        return 0;
    }
    if (line[0] == ':')
        self->comments++;
    else if (s_field (line, size, "data"))
        return s_data_line (self, line, size);
    else if (s_field (line, size, "event")) {
        size_t value_size;
        const char *value = s_value (line, size, 5, &value_size);
        if (value_size >= sizeof self->event)
            value_size = sizeof self->event - 1;
        memcpy (self->event, value, value_size);
        self->event[value_size] = 0;
    }
    return 0;
}

//  The next CR or LF of the piece, or NULL
static const char *
s_line_end (const char *piece, size_t size)
{
    const char *lf = (const char *) memchr (piece, '\n', size);
    const char *cr = (const char *) memchr (piece, '\r', lf ? (size_t) (lf - piece) : size);
    return cr ? cr : lf;
}

//  The part of the piece up to the next line end. Returns its bytes, with the line end.
static size_t
s_take (
    argos_sse_t *self, const char *piece, size_t size, argos_sse_fn *fn, void *arg, bool *ret_go_on)
{
    const char *end = s_line_end (piece, size);
    size_t length = end ? (size_t) (end - piece) : size;
    bool whole = end && self->line.size == 0; //  No need to copy it
    if (!whole && argos_text_add (&self->line, piece, length) < 0)
        self->too_big = true;
    if (self->too_big || !end)
        return length;
    const char *line = whole ? piece : argos_text_str (&self->line);
    if (s_line (self, line, whole ? length : self->line.size, fn, arg, ret_go_on) < 0)
        self->too_big = true;
    argos_text_reset (&self->line);
    self->skip_lf = *end == '\r';
    return length + 1;
}

int
argos_sse_feed (argos_sse_t *self, const char *piece, size_t size, argos_sse_fn *fn, void *arg)
{
    bool go_on = true;
    size_t at = 0;
    while (at < size && go_on && !self->too_big) {
        bool skip = self->skip_lf && piece[at] == '\n';
        self->skip_lf = false;
        at += skip ? 1 : s_take (self, piece + at, size - at, fn, arg, &go_on);
    }
    return self->too_big ? -1 : 0;
}

bool
argos_sse_cut (const argos_sse_t *self)
{
    return self->line.size > 0 || self->has_data;
}
