//  argos_splitter - where blocks of code are in a text, and the pieces around the cuts.
//
//  Invariant: a piece has what its part of the text has, in order, between an opening fence (if
//  the part begins in code) and a closing one (if it ends there); inside of code no byte is lost
//  but the newline at a cut, which the closing fence brings. Limit: an opening line that alone is
//  too long loses its info string.

#include "argos_splitter.h"

#include "argos_cut.h"
#include "argos_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    size_t start; //  First byte
    size_t end;   //  Behind the last one
} s_atom_t;

typedef struct {
    const char *text;      //  With \n as only end of a line
    size_t size;           //  Bytes
    argos_unit_t unit;     //  What is counted
    size_t limit;          //  Units of a piece
    argos_fence_t *fences; //  Blocks of code
    size_t fence_count;    //  How many
    s_atom_t *atoms;       //  What must stay whole, outside of code
    size_t atom_count;     //  How many
    size_t bare;           //  Body of the block whose info string is left out, or SIZE_MAX
} s_split_t;

//  ---------------------------------------------------------------------------
//  The pieces

void
argos_chunks_add (argos_chunks_t *self, char *text, size_t from, size_t to)
{
    if ((self->count & (self->count - 1)) == 0) {
        size_t room = self->count ? self->count * 2 : 1;
        argos_chunk_t *items = realloc (self->items, room * sizeof *items);
        if (!items)
            abort ();
        self->items = items;
    }
    argos_chunk_t *chunk = &self->items[self->count++];
    chunk->text = text;
    chunk->from = from;
    chunk->to = to;
}

void
argos_chunks_clear (argos_chunks_t *self)
{
    if (!self)
        return;
    for (size_t at = 0; at < self->count; at++)
        free (self->items[at].text);
    free (self->items);
    *self = (argos_chunks_t){ 0 };
}

char *
argos_splitter_lines (const char *text)
{
    char *copy = malloc (strlen (text) + 1);
    if (!copy)
        abort ();
    char *end = copy;
    for (const char *at = text; *at; at++) {
        if (*at == '\r' && at[1] == '\n')
            continue;
        char byte = *at;
        if (byte == '\r')
            byte = '\n';
        *end++ = byte;
    }
    *end = '\0';
    return copy;
}

//  ---------------------------------------------------------------------------
//  Blocks of code

//  A line of text[at, end) that may open or close a block: its indent and the run of its fence
static size_t
s_fence_run (const char *text, size_t at, size_t end, size_t *ret_indent)
{
    size_t place = at;
    while (place < end && text[place] == ' ' && place - at < 4)
        place++;
    *ret_indent = place - at;
    if (place - at > 3 || place == end || (text[place] != '`' && text[place] != '~'))
        return 0;
    size_t run = 0;
    while (place + run < end && text[place + run] == text[place])
        run++;
    return run >= 3 ? run : 0;
}

static bool
s_closes (const char *text, const argos_fence_t *fence, size_t at, size_t end)
{
    size_t indent = 0;
    size_t run = s_fence_run (text, at, end, &indent);
    if (run < fence->run || text[at + indent] != text[fence->open + fence->indent])
        return false;
    for (size_t place = at + indent + run; place < end; place++)
        if (text[place] != ' ' && text[place] != '\t')
            return false;
    return true;
}

static bool
s_opens (const char *text, size_t at, size_t end, argos_fence_t *ret_fence)
{
    size_t indent = 0;
    size_t run = s_fence_run (text, at, end, &indent);
    if (!run)
        return false;
    const char *info = text + at + indent + run;
    if (text[at + indent] == '`' && memchr (info, '`', end - at - indent - run))
        return false;
    *ret_fence = (argos_fence_t){ .open = at, .indent = indent, .run = run };
    return true;
}

argos_fence_t *
argos_splitter_fences (const char *text, size_t size, size_t *ret_count)
{
    argos_fence_t *fences = NULL;
    size_t count = 0;
    bool open = false;
    for (size_t at = 0; at < size;) {
        const char *newline = memchr (text + at, '\n', size - at);
        size_t end = newline ? (size_t) (newline - text) : size;
        argos_fence_t found;
        if (open && s_closes (text, &fences[count - 1], at, end)) {
            fences[count - 1].close = at;
            fences[count - 1].end = end;
            open = false;
        }
        else if (!open && s_opens (text, at, end, &found)) {
            argos_fence_t *more = realloc (fences, (count + 1) * sizeof *fences);
            if (!more)
                abort ();
            fences = more;
            found.body = end < size ? end + 1 : size;
            found.close = found.end = size;
            fences[count++] = found;
            open = true;
        }
        at = end + 1;
    }
    *ret_count = count;
    return fences;
}

//  The last block that opens before this place, or NULL
static const argos_fence_t *
s_fence_before (const s_split_t *self, size_t at)
{
    size_t low = 0;
    size_t high = self->fence_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (self->fences[middle].open < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &self->fences[low - 1] : NULL;
}

//  The block in whose code a cut at this place is, or NULL
static const argos_fence_t *
s_fence_cut (const s_split_t *self, size_t at)
{
    const argos_fence_t *fence = s_fence_before (self, at);
    return fence && at >= fence->body && at <= fence->close ? fence : NULL;
}

//  ---------------------------------------------------------------------------
//  What the cut asks

static bool
s_verbatim (const void *arg, size_t at)
{
    const argos_fence_t *fence = s_fence_cut ((const s_split_t *) arg, at);
    return fence && at < fence->close;
}

//  Would the rest of a line, as a line of its own, open or close a block of code?
static bool
s_new_fence (const s_split_t *self, size_t at)
{
    if (at == 0 || at >= self->size || self->text[at - 1] == '\n')
        return false;
    const char *newline = memchr (self->text + at, '\n', self->size - at);
    size_t end = newline ? (size_t) (newline - self->text) : self->size;
    const argos_fence_t *fence = s_fence_cut (self, at);
    argos_fence_t found;
    if (fence)
        return s_closes (self->text, fence, at, end);
    return s_opens (self->text, at, end, &found) && found.run <= self->limit / 2;
}

static bool
s_barred (const void *arg, size_t at)
{
    const s_split_t *self = (const s_split_t *) arg;
    const argos_fence_t *fence = s_fence_before (self, at);
    if (fence && ((at <= fence->body && self->bare != fence->body && at < self->size) ||
                     (at > fence->close && at < fence->end)))
        return true;
    return s_new_fence (self, at) ||
           (at < self->size && self->text[at] == ' ' && s_new_fence (self, at + 1));
}

static bool
s_atom (const void *arg, size_t at, size_t *ret_start, size_t *ret_end)
{
    const s_split_t *self = (const s_split_t *) arg;
    size_t low = 0;
    size_t high = self->atom_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (self->atoms[middle].start < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || self->atoms[low - 1].end <= at)
        return false;
    *ret_start = self->atoms[low - 1].start;
    *ret_end = self->atoms[low - 1].end;
    return true;
}

//  Bytes of the line that opens a block again: with its info string when that is not too long
static size_t
s_head_size (const s_split_t *self, const argos_fence_t *fence)
{
    size_t line = fence->body - fence->open;
    size_t info = line - fence->indent - fence->run;
    bool bare = self->bare == fence->body || (self->limit >= 64 && info > self->limit / 4);
    return bare ? fence->indent + fence->run : line - 1;
}

static size_t
s_measure (const void *arg, size_t from, size_t to)
{
    const s_split_t *self = (const s_split_t *) arg;
    const argos_fence_t *first = s_fence_cut (self, from);
    size_t units = argos_unit_count (self->unit, self->text + from, to - from);
    size_t head = 0;
    if (first) {
        size_t bytes = s_head_size (self, first);
        head = argos_unit_count (self->unit, self->text + first->open, bytes) + 1;
    }
    const argos_fence_t *last = s_fence_before (self, to);
    if (!last || to < last->body || (last->close < self->size && to > last->end))
        return head + units;
    //  Within the closing line: no less than before it, so that more text is never shorter
    size_t place = to < last->close ? to : last->close;
    size_t closed = argos_unit_count (self->unit, self->text + from, place - from) + last->indent +
                    last->run + (place > from && self->text[place - 1] == '\n' ? 0 : 1);
    return head + (to <= last->close || closed > units ? closed : units);
}

//  ---------------------------------------------------------------------------
//  The split

static bool
s_blank (const char *text, size_t size)
{
    return strspn (text, " \t\n\v\f\r") >= size;
}

static void
s_find_atoms (s_split_t *self)
{
    size_t room = 0;
    size_t fence = 0;
    for (size_t at = 0; at < self->size;) {
        if (fence < self->fence_count && at >= self->fences[fence].open) {
            at = self->fences[fence++].end + 1;
            continue;
        }
        size_t stop = fence < self->fence_count ? self->fences[fence].open : self->size;
        size_t end = argos_cut_atom (self->text, stop, at);
        if (!end) {
            at++;
            continue;
        }
        if (self->atom_count == room) {
            room = room ? room * 2 : 16;
            s_atom_t *atoms = realloc (self->atoms, room * sizeof *atoms);
            if (!atoms)
                abort ();
            self->atoms = atoms;
        }
        self->atoms[self->atom_count++] = (s_atom_t){ .start = at, .end = end };
        at = end;
    }
}

static void
s_add (s_split_t *self, argos_chunks_t *chunks, size_t from, size_t to)
{
    const argos_fence_t *first = s_fence_cut (self, from);
    const argos_fence_t *last = s_fence_cut (self, to);
    if (!last)
        while (to > from && isspace ((unsigned char) self->text[to - 1]))
            to--;
    if (!first && s_blank (self->text + from, to - from))
        return;
    argos_text_t piece;
    argos_text_init (&piece, SIZE_MAX / 2);
    if (first) {
        argos_text_add (&piece, self->text + first->open, s_head_size (self, first));
        argos_text_add (&piece, "\n", 1);
    }
    argos_text_add (&piece, self->text + from, to - from);
    if (last) {
        if (piece.data[piece.size - 1] != '\n')
            argos_text_add (&piece, "\n", 1);
        argos_text_add (&piece, self->text + last->open, last->indent + last->run);
    }
    argos_chunks_add (chunks, piece.data, from, to);
}

//  Where the next piece begins: behind what a cut leaves of a block that is over
static size_t
s_skip (const s_split_t *self, size_t at)
{
    const argos_fence_t *fence = s_fence_cut (self, at);
    if (fence && at == fence->close)
        at = fence->end;
    if (!s_fence_cut (self, at))
        while (at < self->size && self->text[at] == '\n')
            at++;
    return at;
}

static void
s_split (s_split_t *self, argos_chunks_t *chunks)
{
    const argos_cut_t cut = { .text = self->text,
        .size = self->size,
        .limit = self->limit,
        .arg = self,
        .measure = s_measure,
        .verbatim = s_verbatim,
        .barred = s_barred,
        .atom = s_atom };
    for (size_t at = s_skip (self, 0); at < self->size;) {
        if (s_measure (self, at, self->size) <= self->limit) {
            s_add (self, chunks, at, self->size);
            return;
        }
        size_t next = at;
        size_t end = argos_cut_next (&cut, at, &next);
        const argos_fence_t *fence = s_fence_before (self, at + 1);
        if (end == at && fence && fence->open == at) {
            //  The line that opens the block is too long: the block goes on without its info string
            self->bare = fence->body;
            at = fence->body;
            continue;
        }
        if (end == at)
            argos_unit_next (self->text, self->size, at, &end);
        s_add (self, chunks, at, end);
        at = s_skip (self, next > end ? next : end);
    }
}

static bool
s_ends_in_fence (const char *text)
{
    const char *line = strrchr (text, '\n');
    line = line ? line + 1 : text;
    size_t indent = 0;
    return s_fence_run (line, 0, strlen (line), &indent) > 0;
}

static void
s_number (argos_chunks_t *self)
{
    for (size_t at = 0; at < self->count && self->count > 1; at++) {
        char *text = NULL;
        char mark = s_ends_in_fence (self->items[at].text) ? '\n' : ' ';
        if (asprintf (&text, "%s%c(%zu/%zu)", self->items[at].text, mark, at + 1, self->count) < 0)
            abort ();
        free (self->items[at].text);
        self->items[at].text = text;
    }
}

argos_chunks_t
argos_splitter_split (const char *text, argos_unit_t unit, size_t limit, bool numbered)
{
    argos_chunks_t chunks = { 0 };
    char *lines = argos_splitter_lines (text);
    s_split_t split = { .text = lines, .size = strlen (lines), .unit = unit, .limit = limit };
    split.bare = SIZE_MAX;
    if (argos_unit_count (unit, lines, split.size) <= limit) {
        if (!s_blank (lines, split.size))
            argos_chunks_add (&chunks, lines, 0, split.size);
        else
            free (lines);
        return chunks;
    }
    split.fences = argos_splitter_fences (lines, split.size, &split.fence_count);
    s_find_atoms (&split);
    //  As many digits as the number of pieces has, which depends on them
    size_t power = 1;
    for (size_t digits = numbered ? 1 : 0;; digits++) {
        argos_chunks_clear (&chunks);
        size_t reserve = digits ? 4 + 2 * digits : 0;
        split.limit = limit > reserve ? limit - reserve : 1;
        split.bare = SIZE_MAX;
        s_split (&split, &chunks);
        power *= 10;
        if (!numbered || chunks.count < power)
            break;
    }
    if (numbered)
        s_number (&chunks);
    free (split.fences);
    free (split.atoms);
    free (lines);
    return chunks;
}
