//  argos_think - parts a stream of text into what people see and what a model has only thought.
//
//  Invariant: each byte goes to one side once, in its order, but for the tags and the blanks behind
//  a block, which go nowhere. However the text is cut into pieces, the sides get the same. Limit:
//  the held bytes are searched again with each piece, so they are few.

#include "argos_think.h"

#include <string.h>
#include <strings.h>

static const char *const s_names[] = { "think", "thinking", "reasoning", "thought", "tool_call",
    "tool_calls", "function_call", "function_calls" };

#define NAMES (sizeof s_names / sizeof *s_names)
#define TAG_MAX 18 //  Bytes of the longest tag, "</function_calls>", and one

typedef enum {
    S_NO,     //  It is no tag
    S_PART,   //  It may become one
    S_OPENING //  It is one
} s_tag_t;

void
argos_think_init (argos_think_t *self)
{
    *self = (argos_think_t){ .block = NULL };
    argos_text_init (&self->held, (size_t) 3 * ARGOS_THINK_HELD);
}

void
argos_think_clear (argos_think_t *self)
{
    if (self)
        argos_text_clear (&self->held);
}

//  What the bytes at text, which begin with '<', are
static s_tag_t
s_opening (const char *text, size_t size, const char **ret_name)
{
    bool part = false;
    for (size_t i = 0; i < NAMES; i++) {
        size_t length = strlen (s_names[i]);
        size_t common = size - 1 < length ? size - 1 : length;
        if (strncasecmp (text + 1, s_names[i], common) != 0)
            continue;
        if (size < length + 2)
            part = true;
        else if (text[length + 1] == '>') {
            *ret_name = s_names[i];
            return S_OPENING;
        }
    }
    return part ? S_PART : S_NO;
}

//  Where "</name>" begins, or size
static size_t
s_closing (const char *text, size_t size, const char *name)
{
    size_t length = strlen (name);
    for (size_t at = 0; at + length + 3 <= size; at++) {
        const char *lt = (const char *) memchr (text + at, '<', size - at - length - 2);
        if (!lt)
            return size;
        at = (size_t) (lt - text);
        if (lt[1] == '/' && strncasecmp (lt + 2, name, length) == 0 && lt[length + 2] == '>')
            return at;
    }
    return size;
}

//  Whether the text ends at the beginning of a line, blanks aside
static bool
s_is_line_start (const argos_text_t *text)
{
    size_t at = text->size;
    while (at && (text->data[at - 1] == ' ' || text->data[at - 1] == '\t'))
        at--;
    return at == 0 || text->data[at - 1] == '\n';
}

//  Whether what follows the text is a mention: quoted, or code. Whole lines are looked at once.
static bool
s_is_mention (argos_think_t *self, const argos_text_t *text)
{
    const char *end = NULL;
    if (text->size && strchr ("`\"'", text->data[text->size - 1]))
        return true;
    while (self->line < text->size &&
           (end = (const char *) memchr (text->data + self->line, '\n', text->size - self->line))) {
        const char *line = text->data + self->line;
        if (end - line >= 3 && memcmp (line, "```", 3) == 0)
            self->fenced = !self->fenced;
        self->line = (size_t) (end - text->data) + 1;
    }
    return self->fenced;
}

//  Behind a block at the beginning of a line or behind a blank
static bool
s_trims (const argos_text_t *text)
{
    return text->size == 0 || strchr (" \t\r\n", text->data[text->size - 1]);
}

static void
s_hide (const argos_think_sink_t *sink, void *arg, const char *text, size_t size)
{
    if (size)
        sink->hidden (arg, text, size);
}

//  Inside of a block. Returns the bytes that are decided.
static size_t
s_inside (
    argos_think_t *self, const char *text, size_t size, const argos_think_sink_t *sink, void *arg)
{
    size_t at = s_closing (text, size, self->block);
    if (at < size) {
        s_hide (sink, arg, text, at);
        at += strlen (self->block) + 3;
        self->block = NULL;
        self->trim = s_trims (sink->so_far (arg));
        return at;
    }
    size_t from = size > TAG_MAX ? size - TAG_MAX : 0; //  The tag may be cut here
    const char *lt = (const char *) memchr (text + from, '<', size - from);
    at = lt ? (size_t) (lt - text) : size;
    s_hide (sink, arg, text, at);
    return at;
}

//  An opening tag in the text. Returns the bytes that are decided.
static size_t
s_enter (argos_think_t *self, const char *text, size_t size, const char *name,
    const argos_think_sink_t *sink, void *arg)
{
    size_t tag = strlen (name) + 2;
    const argos_text_t *before = sink->so_far (arg);
    bool mention = s_is_mention (self, before);
    if (!mention && !s_is_line_start (before)) {
        size_t room = size - tag < ARGOS_THINK_HELD ? size - tag : ARGOS_THINK_HELD;
        mention = s_closing (text + tag, room, name) == room;
        if (mention && room < ARGOS_THINK_HELD)
            return 0;
    }
    if (mention)
        sink->shown (arg, text, tag);
    else
        self->block = name;
    return tag;
}

//  Outside of any block. Returns the bytes that are decided.
static size_t
s_outside (
    argos_think_t *self, const char *text, size_t size, const argos_think_sink_t *sink, void *arg)
{
    const char *name = NULL;
    if (self->trim) {
        size_t blank = 0;
        while (blank < size && strchr (" \t\r\n", text[blank]) && text[blank])
            blank++;
        self->trim = blank == size;
        if (blank)
            return blank;
    }
    const char *lt = (const char *) memchr (text, '<', size);
    size_t plain = lt ? (size_t) (lt - text) : size;
    if (plain) {
        sink->shown (arg, text, plain);
        return plain;
    }
    switch (s_opening (text, size, &name)) {
    case S_OPENING:
        return s_enter (self, text, size, name, sink, arg);
    case S_PART:
        return 0;
    default:
        sink->shown (arg, text, 1);
        return 1;
    }
}

//  Returns the bytes that are decided
static size_t
s_part (
    argos_think_t *self, const char *text, size_t size, const argos_think_sink_t *sink, void *arg)
{
    size_t at = 0;
    while (at < size) {
        size_t step = self->block ? s_inside (self, text + at, size - at, sink, arg)
                                  : s_outside (self, text + at, size - at, sink, arg);
        if (!step)
            break;
        at += step;
    }
    return at;
}

void
argos_think_add (
    argos_think_t *self, const char *text, size_t size, const argos_think_sink_t *sink, void *arg)
{
    if (!self->held.size) { //  As a rule nothing is copied
        size_t at = s_part (self, text, size, sink, arg);
        text += at;
        size -= at;
    }
    while (size) {
        size_t piece = argos_utf8_cut (text, size, ARGOS_THINK_HELD);
        piece = piece ? piece : size < ARGOS_THINK_HELD ? size : ARGOS_THINK_HELD;
        argos_text_add (&self->held, text, piece);
        argos_text_shift (
            &self->held, s_part (self, argos_text_str (&self->held), self->held.size, sink, arg));
        text += piece;
        size -= piece;
    }
}

void
argos_think_end (argos_think_t *self, const argos_think_sink_t *sink, void *arg)
{
    if (self->block)
        s_hide (sink, arg, argos_text_str (&self->held), self->held.size);
    else if (self->held.size)
        sink->shown (arg, argos_text_str (&self->held), self->held.size);
    argos_text_reset (&self->held);
    self->block = NULL;
    self->trim = false;
}
