//  argos_ink - Markdown as it streams in, for a terminal.
//
//  Invariant: `held` begins where nothing has been shown of the text yet; what is decided about its
//  first byte depends on at most ARGOS_INK_HELD bytes, so not on how the text was cut.
//  Limits: a mark is closed within its line and within ARGOS_INK_HELD bytes, or it is none. Tables,
//  links and numbers of lists stay as they are written, which reads well.

#include "argos_ink.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BULLET "\xe2\x80\xa2 "
#define BAR "\xe2\x94\x82 "
#define DEPTH_MAX 4 //  Marks within marks

//  What can be on at once

enum { BOLD = 1, DIM = 2, ITALIC = 4, UNDER = 8, STRIKE = 16, CODE = 32, STYLES = 6 };

static const char *const s_codes[STYLES] = { "1", "2", "3", "4", "9", "36" };

struct argos_ink {
    char held[ARGOS_INK_HELD]; //  Not shown yet
    size_t size;               //  Bytes of it
    char *out;                 //  What is shown by this call
    size_t out_size, out_room; //  Used and allocated
    unsigned on;               //  Style of the terminal at the end of out
    unsigned line;             //  Style of the line
    bool block;                //  At the begin of a line: what kind of one is to be seen
    char before;               //  Last byte that was shown, a newline at the left
    bool lead;                 //  C2 has come, and waits for the byte behind it
    char fence;                //  What closes the code we are in, 0 = we are in none
    size_t fence_size;         //  and how many of it at least
};

//  ------------------------------------------------------------------------------------------------
//  What goes out

static void
s_raw (argos_ink_t *self, const char *text, size_t size)
{
    if (self->out_size + size > self->out_room) {
        self->out_room = (self->out_size + size) * 2 + 256;
        self->out = realloc (self->out, self->out_room);
        if (!self->out)
            abort ();
    }
    memcpy (self->out + self->out_size, text, size);
    self->out_size += size;
}

static void
s_style (argos_ink_t *self, unsigned style)
{
    if (style == self->on)
        return;
    if (self->on)
        s_raw (self, "\033[0m", 4);
    self->on = style;
    for (unsigned i = 0; i < STYLES; i++)
        if (style & (1U << i)) {
            s_raw (self, "\033[", 2);
            s_raw (self, s_codes[i], strlen (s_codes[i]));
            s_raw (self, "m", 1);
        }
}

//  Text in a style. A terminal obeys control characters: they are left out, U+0080 to U+009F (C2
//  and a byte that is less than A0) among them.

static void
s_put (argos_ink_t *self, unsigned style, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char) text[i];
        if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
            continue;
        bool lead = self->lead;
        self->lead = byte == 0xc2;
        if (self->lead || (lead && (byte & 0xe0) == 0x80))
            continue;
        s_style (self, style);
        if (lead)
            s_raw (self, "\xc2", 1);
        s_raw (self, text + i, 1);
        self->before = text[i];
    }
}

//  ------------------------------------------------------------------------------------------------
//  Within a line. A function that consumes returns how many bytes; 0: it takes more to tell, which
//  never is when the text is `whole`.

static size_t
s_run (const char *text, size_t size, char mark)
{
    size_t run = 0;
    while (run < size && text[run] == mark)
        run++;
    return run;
}

static bool
s_is_blank (char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

//  Whether emphasis may begin behind this byte: not within a word, a path or an address.

static bool
s_may_open (char before)
{
    return s_is_blank (before) || (unsigned char) before >= 0x80 || strchr ("\"'([{*_~-:|", before);
}

//  Where `run` times the mark closes what they have begun; 0 = nowhere in this line, `size` = not
//  in what is there.

static size_t
s_closing (const char *text, size_t size, char mark, size_t run, bool whole)
{
    for (size_t i = run; i < size; i++) {
        if (text[i] == '\n')
            return 0;
        if (text[i] == '\\' && mark != '`')
            i++;
        if (i >= size || text[i] != mark)
            continue;
        size_t found = s_run (text + i, size - i, mark), next = i + found;
        if (next == size && !whole)
            return size;
        bool word = mark == '_' && next < size && isalnum ((unsigned char) text[next]);
        if (found == run && (mark == '`' || (!s_is_blank (text[i - 1]) && !word)))
            return i;
        i = next - 1;
    }
    return whole ? 0 : size;
}

static unsigned
s_style_of (char mark, size_t run)
{
    if (mark == '`')
        return CODE;
    if (mark == '~')
        return run == 2 ? STRIKE : 0;
    return run == 1 ? ITALIC : run == 2 ? BOLD : run == 3 ? BOLD | ITALIC : 0;
}

static size_t s_inline (
    argos_ink_t *self, const char *text, size_t size, bool whole, unsigned style, int depth);

//  Text that begins with a mark

static size_t // NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX
s_mark (argos_ink_t *self, const char *text, size_t size, bool whole, unsigned style, int depth)
{
    char mark = *text;
    size_t run = s_run (text, size, mark), close = 0;
    if (run == size && !whole)
        return 0;
    unsigned more = s_style_of (mark, run);
    if (more && run < size && depth < DEPTH_MAX &&
        (mark == '`' || (s_may_open (self->before) && !s_is_blank (text[run]))))
        close = s_closing (text, size, mark, run, whole);
    if (close == size)
        return 0;
    if (close == 0) {
        s_put (self, style, text, run);
        return run;
    }
    if (mark == '`')
        s_put (self, style | more, text + run, close - run);
    else
        for (size_t at = run; at < close;)
            at += s_inline (self, text + at, close - at, true, style | more, depth + 1);
    return close + run;
}

static size_t // NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX
s_inline (argos_ink_t *self, const char *text, size_t size, bool whole, unsigned style, int depth)
{
    size_t plain = 0;
    while (plain < size && (!text[plain] || !strchr ("\\`*_~\n", text[plain])))
        plain++;
    if (plain > 0)
        s_put (self, style, text, plain);
    else if (*text == '\n')
        s_put (self, 0, text, plain = 1);
    else if (*text != '\\')
        return s_mark (self, text, size, whole, style, depth);
    else if (size < 2 && !whole)
        return 0;
    else if (size > 1 && ispunct ((unsigned char) text[1]))
        s_put (self, style, text + 1, (plain = 2) - 1);
    else
        s_put (self, style, text, plain = 1);
    return plain;
}

//  ------------------------------------------------------------------------------------------------
//  The begin of a line

//  The end of the line that `held` begins with; its size when that is not there.

static size_t
s_line_end (const argos_ink_t *self)
{
    const char *end = memchr (self->held, '\n', self->size);
    return end ? (size_t) (end - self->held) : self->size;
}

//  A line of marks alone, behind `from`

static bool
s_is_bare (const argos_ink_t *self, size_t from, size_t end)
{
    while (from < end && s_is_blank (self->held[from]))
        from++;
    return from == end;
}

//  A line of three or more: begins or ends code, or is a rule. True when it was one, or can't be
//  told yet (then *ret_used is 0).

static bool
s_rule (argos_ink_t *self, size_t indent, size_t run, bool whole, size_t *ret_used)
{
    char mark = self->held[indent];
    size_t end = s_line_end (self), from = indent + run;
    bool begins = !self->fence && (mark == '`' || mark == '~');
    if (run < 3 || (self->fence && (mark != self->fence || run < self->fence_size)))
        return false;
    if (!begins && !s_is_bare (self, from, end))
        return false;
    if (begins && mark == '`' && from < end && memchr (self->held + from, '`', end - from))
        return false;
    *ret_used = 0;
    if (end == self->size && !whole)
        return true;
    self->fence = 0;
    if (begins)
        self->fence = mark;
    self->fence_size = run;
    s_put (self, DIM, self->held, end);
    *ret_used = end;
    return true;
}

//  The begin of a line of text: a heading, an item, a quotation. Returns bytes consumed.

static size_t
s_opening (argos_ink_t *self, size_t indent, size_t run)
{
    const char *text = self->held;
    char mark = text[indent];
    size_t next = indent + run;
    bool blank = text[next] == ' ';
    if (mark == '#' && run <= 6 && blank)
        self->line = run == 1 ? BOLD | UNDER : BOLD;
    else if (mark == '>' && run == 1) {
        s_put (self, DIM, text, indent);
        s_put (self, DIM, BAR, strlen (BAR));
        return blank ? next + 1 : next;
    }
    else if (mark != '#' && mark != '>' && run == 1 && blank) {
        s_put (self, 0, text, indent);
        s_put (self, 0, BULLET, strlen (BULLET));
    }
    else
        return 0;
    return next + 1;
}

//  Shows what the line begins with, if that is something. Returns bytes consumed; *ret_more: it
//  takes more to tell.

static size_t
s_block (argos_ink_t *self, bool whole, bool *ret_more)
{
    const char *text = self->held;
    size_t indent = s_run (text, self->size, ' '), used = 0;
    char mark = ' '; //  Blanks only, so far
    if (indent < self->size)
        mark = text[indent];
    size_t run = s_run (text + indent, self->size - indent, mark), next = indent + run;
    *ret_more = false;
    if (self->fence ? mark != ' ' && mark != self->fence : !mark || !strchr (" `~#-*_+>", mark))
        return 0;
    if (next == self->size) {
        *ret_more = !whole;
        if (!whole || run < 3)
            return 0;
    }
    if (strchr ("`~-*_", mark) && s_rule (self, indent, run, whole, &used)) {
        *ret_more = used == 0;
        return used;
    }
    bool opens = !self->fence && next < self->size && strchr ("#-*+>", mark);
    return opens ? s_opening (self, indent, run) : 0;
}

//  One thing at the front of `held`. Returns whether there was one.

static bool
s_step (argos_ink_t *self, bool whole)
{
    size_t used = 0;
    if (self->size == 0)
        return false;
    if (self->block) {
        bool more;
        used = s_block (self, whole, &more);
        if (more)
            return false;
        self->block = false;
    }
    if (used == 0 && *self->held == '\n') {
        s_put (self, 0, self->held, used = 1);
        self->block = true;
        self->line = 0;
    }
    else if (used == 0 && self->fence)
        s_put (self, CODE, self->held, used = s_line_end (self));
    else if (used == 0)
        used = s_inline (self, self->held, self->size, whole, self->line, 0);
    self->size -= used;
    memmove (self->held, self->held + used, self->size);
    return used > 0;
}

//  ------------------------------------------------------------------------------------------------
//  Life

argos_ink_t *
argos_ink_new (void)
{
    argos_ink_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->block = true;
    self->before = '\n';
    return self;
}

void
argos_ink_destroy (argos_ink_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    free ((*self_p)->out);
    free (*self_p);
    *self_p = NULL;
}

const char *
argos_ink_feed (argos_ink_t *self, const char *text, size_t size, size_t *ret_size)
{
    self->out_size = 0;
    while (size > 0) {
        size_t some = ARGOS_INK_HELD - self->size;
        some = some < size ? some : size;
        memcpy (self->held + self->size, text, some);
        self->size += some;
        text += some;
        size -= some;
        while (s_step (self, self->size == ARGOS_INK_HELD))
            continue;
    }
    s_style (self, 0);
    *ret_size = self->out_size;
    return self->out;
}

const char *
argos_ink_end (argos_ink_t *self, size_t *ret_size)
{
    self->out_size = 0;
    while (s_step (self, true))
        continue;
    s_style (self, 0);
    self->line = 0;
    self->fence = 0;
    self->block = true;
    self->before = '\n';
    *ret_size = self->out_size;
    return self->out;
}
