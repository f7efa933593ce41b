//  argos_rich_text - the text and the spans of a layout.
//
//  Invariant: spans do not overlap but by one holding the other, and none but a quotation holds
//  code or a block of it: platforms refuse that.

#include "argos_rich_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void
argos_layout_flush (argos_layout_t *self)
{
    if (self->text.size == 0)
        self->breaks = 0;
    while (self->breaks > 0) {
        argos_text_add (&self->text, "\n", 1);
        self->breaks--;
    }
    for (size_t at = 0; at < self->depth; at++)
        if (self->stack[at].from == SIZE_MAX)
            self->stack[at].from = self->text.size;
    argos_text_add (&self->text, self->marker, strlen (self->marker));
    self->marker[0] = '\0';
}

void
argos_layout_break (argos_layout_t *self, size_t newlines)
{
    //  An item begins behind its marker
    if (!self->marker[0] && self->breaks < newlines)
        self->breaks = newlines;
    self->spoiler = SIZE_MAX;
}

void
argos_layout_add (argos_layout_t *self, const char *data, size_t size)
{
    if (self->in_cell) {
        argos_text_add (&self->cell, data, size);
        return;
    }
    argos_layout_flush (self);
    argos_text_add (&self->text, data, size);
}

//  Takes the two bars of an opening || away, and makes what stands behind them a span
static void
s_hide (argos_layout_t *self)
{
    size_t at = self->spoiler;
    self->spoiler = SIZE_MAX;
    memmove (self->text.data + at, self->text.data + at + 2, self->text.size - at - 2);
    self->text.size -= 2;
    self->text.data[self->text.size] = '\0';
    for (size_t span = 0; span < self->rich.count; span++) {
        argos_span_t *other = &self->rich.spans[span];
        other->from -= other->from > at ? 2 : 0;
        other->to -= other->to > at ? 2 : 0;
    }
    for (size_t open = 0; open < self->depth; open++)
        if (self->stack[open].from != SIZE_MAX && self->stack[open].from > at)
            self->stack[open].from -= 2;
    argos_layout_span (self, ARGOS_SPAN_SPOILER, at, self->text.size, NULL);
}

void
argos_layout_words (argos_layout_t *self, const char *data, size_t size)
{
    size_t start = 0;
    for (size_t at = 0; !self->in_cell && at + 1 < size; at++) {
        if (data[at] != '|' || data[at + 1] != '|')
            continue;
        argos_layout_add (self, data + start, at - start);
        start = at + 2;
        at++;
        if (self->spoiler == SIZE_MAX || self->text.size == self->spoiler + 2) {
            self->spoiler = self->text.size;
            argos_layout_add (self, "||", 2);
        }
        else {
            s_hide (self);
        }
    }
    argos_layout_add (self, data + start, size - start);
}

static void
s_utf8 (argos_text_t *target, unsigned long character)
{
    if (character == 0 || character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF))
        character = 0xFFFD;
    char bytes[4];
    size_t size = 1;
    if (character < 0x80) {
        bytes[0] = (char) character;
    }
    else {
        size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
        static const unsigned char lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
        for (size_t at = size - 1; at > 0; at--, character >>= 6)
            bytes[at] = (char) (0x80 | (character & 0x3F));
        bytes[0] = (char) (lead[size] | character);
    }
    argos_text_add (target, bytes, size);
}

void
argos_layout_decode (argos_text_t *target, const char *data, size_t size)
{
    static const struct {
        const char *name; //  As it is written
        const char *text; //  What it stands for
    } names[] = { { "&amp;", "&" }, { "&lt;", "<" }, { "&gt;", ">" }, { "&quot;", "\"" },
        { "&apos;", "'" }, { "&nbsp;", "\xC2\xA0" }, { "&mdash;", "—" }, { "&ndash;", "–" },
        { "&hellip;", "…" }, { "&copy;", "©" }, { "&euro;", "€" }, { "&rarr;", "→" } };
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        if (strlen (names[at].name) == size && memcmp (names[at].name, data, size) == 0) {
            argos_text_add (target, names[at].text, strlen (names[at].text));
            return;
        }
    if (size > 3 && size < 16 && data[1] == '#') {
        bool hex = tolower ((unsigned char) data[2]) == 'x';
        s_utf8 (target, strtoul (data + (hex ? 3 : 2), NULL, hex ? 16 : 10));
        return;
    }
    argos_text_add (target, data, size);
}

void
argos_layout_entity (argos_layout_t *self, const char *data, size_t size)
{
    argos_text_t text;
    argos_text_init (&text, 64);
    argos_layout_decode (&text, data, size);
    argos_layout_add (self, argos_text_str (&text), text.size);
    argos_text_clear (&text);
}

//  ---------------------------------------------------------------------------
//  Spans

void
argos_layout_span (argos_layout_t *self, argos_span_kind_t kind, size_t from, size_t to, char *arg)
{
    const char *text = argos_text_str (&self->text);
    while (to > from && kind != ARGOS_SPAN_PRE && isspace ((unsigned char) text[to - 1]))
        to--;
    if (to <= from) {
        free (arg);
        return;
    }
    argos_rich_t *rich = &self->rich;
    if ((rich->count & (rich->count - 1)) == 0) {
        size_t room = rich->count ? rich->count * 2 : 1;
        argos_span_t *spans = realloc (rich->spans, room * sizeof *spans);
        if (!spans)
            abort ();
        rich->spans = spans;
    }
    rich->spans[rich->count++] = (argos_span_t){ .kind = kind, .from = from, .to = to, .arg = arg };
}

void
argos_layout_open (argos_layout_t *self, argos_span_kind_t kind, char *arg)
{
    if (self->depth == ARGOS_RICH_DEPTH) {
        self->beyond++;
        free (arg);
        return;
    }
    for (size_t at = 0; at < self->depth; at++)
        if (self->stack[at].kind == kind)
            kind = ARGOS_SPAN_KINDS;
    self->stack[self->depth++] = (argos_span_t){ .kind = kind, .from = SIZE_MAX, .arg = arg };
}

void
argos_layout_close (argos_layout_t *self)
{
    if (self->beyond) {
        self->beyond--;
        return;
    }
    if (self->depth == 0)
        return;
    argos_span_t *span = &self->stack[--self->depth];
    bool used = span->from != SIZE_MAX && span->kind != ARGOS_SPAN_KINDS;
    if (used)
        argos_layout_span (self, span->kind, span->from, self->text.size, span->arg);
    else
        free (span->arg);
    span->arg = NULL;
}

static int
s_order (const void *left, const void *right)
{
    const argos_span_t *one = (const argos_span_t *) left;
    const argos_span_t *other = (const argos_span_t *) right;
    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    if (one->to != other->to)
        return one->to > other->to ? -1 : 1;
    return one->kind < other->kind ? -1 : one->kind > other->kind;
}

static bool
s_is_code (const argos_span_t *span)
{
    return span->kind == ARGOS_SPAN_CODE || span->kind == ARGOS_SPAN_PRE;
}

//  Where the code of a text is, in order; new
static size_t *
s_codes (const argos_rich_t *rich, size_t *ret_count)
{
    size_t *codes = calloc (rich->count + 1, sizeof *codes);
    if (!codes)
        abort ();
    *ret_count = 0;
    for (size_t at = 0; at < rich->count; at++)
        if (s_is_code (&rich->spans[at]))
            codes[(*ret_count)++] = at;
    return codes;
}

//  The last code that begins before this place, or the first one: none overlaps another
static size_t
s_code_before (const argos_rich_t *rich, const size_t *codes, size_t count, size_t from)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rich->spans[codes[middle]].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

//  A style around code becomes what stands before the code and what stands behind it
static void
s_carve (argos_layout_t *self)
{
    argos_rich_t *rich = &self->rich;
    size_t count, *codes = s_codes (rich, &count);
    for (size_t at = 0; count && at < rich->count; at++) {
        if (s_is_code (&rich->spans[at]) || rich->spans[at].kind == ARGOS_SPAN_QUOTE)
            continue;
        for (size_t code = s_code_before (rich, codes, count, rich->spans[at].from); code < count;
             code++) {
            argos_span_t inner = rich->spans[codes[code]];
            argos_span_t *outer = &rich->spans[at];
            if (inner.from >= outer->to)
                break;
            if (inner.to <= outer->from)
                continue;
            size_t to = outer->to;
            outer->to = inner.from > outer->from ? inner.from : outer->from;
            if (outer->kind == ARGOS_SPAN_LINK) {
                //  A link is not cut: the code in it is shown as its text
                outer->to = to;
                rich->spans[codes[code]].to = inner.from;
            }
            else if (inner.to < to) {
                argos_layout_span (self, outer->kind, inner.to, to, NULL);
            }
        }
    }
    free (codes);
}

//  None ends within another one: what crosses is cut off there
static void
s_nest (argos_rich_t *rich)
{
    size_t open[ARGOS_RICH_DEPTH];
    size_t depth = 0;
    size_t kept = 0;
    for (size_t at = 0; at < rich->count; at++) {
        argos_span_t span = rich->spans[at];
        while (depth && open[depth - 1] <= span.from)
            depth--;
        if (depth && span.to > open[depth - 1])
            span.to = open[depth - 1];
        if (span.to <= span.from || depth == ARGOS_RICH_DEPTH) {
            free (span.arg);
            continue;
        }
        open[depth++] = span.to;
        rich->spans[kept++] = span;
    }
    rich->count = kept;
}

void
argos_layout_finish (argos_layout_t *self)
{
    argos_rich_t *rich = &self->rich;
    if (rich->count) {
        s_carve (self);
        qsort (rich->spans, rich->count, sizeof rich->spans[0], s_order);
        s_nest (rich);
    }
    argos_text_add (&self->text, "", 0);
    rich->size = self->text.size;
    rich->text = self->text.data ? self->text.data : strdup ("");
    if (!rich->text)
        abort ();
    self->text.data = NULL;
}
