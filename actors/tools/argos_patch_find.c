//  argos_patch_find - where a piece of a text stands, by rules that are less and less strict.
//
//  Invariant: a match by a rule is made of whole lines, as many as the piece has. Limits: 64 Ki
//  lines; MATCHES_MAX; pieces of 2,000 lines for the rule by likeness.

#include "argos_patch_priv.h"
#include "argos_plain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 65536
#define ALIKE_LINES_MAX 2000
#define ALIKE 0.9

void *
patch_memory (void *memory)
{
    if (!memory)
        abort ();
    return memory;
}

patch_lines_t
patch_lines (const char *text)
{
    patch_lines_t self = { .lines = NULL };
    size_t room = 1;
    for (const char *at = text; *at; at++)
        room += *at == '\n' ? 1 : 0;
    room = room > LINES_MAX ? LINES_MAX : room;
    self.lines = patch_memory (calloc (room, sizeof *self.lines));
    while (*text && self.count < room) {
        size_t size = strcspn (text, "\n");
        self.lines[self.count++] = (patch_line_t){ text, size };
        text += size + (text[size] ? 1 : 0);
    }
    return self;
}

//  ------------------------------------------------------------------------------------------------
//  Rules: whether two lines are the same

patch_line_t
patch_trim (patch_line_t line)
{
    while (line.size && isspace ((unsigned char) line.start[line.size - 1]))
        line.size--;
    while (line.size && isspace ((unsigned char) *line.start)) {
        line.start++;
        line.size--;
    }
    return line;
}

static bool
s_same (patch_line_t one, patch_line_t other)
{
    return one.size == other.size && memcmp (one.start, other.start, one.size) == 0;
}

static bool
s_same_right (patch_line_t one, patch_line_t other)
{
    while (one.size && isspace ((unsigned char) one.start[one.size - 1]))
        one.size--;
    while (other.size && isspace ((unsigned char) other.start[other.size - 1]))
        other.size--;
    return s_same (one, other);
}

static bool
s_same_trimmed (patch_line_t one, patch_line_t other)
{
    return s_same (patch_trim (one), patch_trim (other));
}

static bool
s_same_blanks (patch_line_t one, patch_line_t other)
{
    size_t i = 0, k = 0;
    one = patch_trim (one);
    other = patch_trim (other);
    while (i < one.size && k < other.size) {
        bool blank = isspace ((unsigned char) one.start[i]);
        if (blank != (isspace ((unsigned char) other.start[k]) != 0))
            return false;
        if (!blank) {
            if (one.start[i++] != other.start[k++])
                return false;
            continue;
        }
        while (i < one.size && isspace ((unsigned char) one.start[i]))
            i++;
        while (k < other.size && isspace ((unsigned char) other.start[k]))
            k++;
    }
    return i == one.size && k == other.size;
}

static bool
s_same_plain (patch_line_t one, patch_line_t other)
{
    char *plain_one = argos_plain_text (one.start, one.size);
    char *plain_other = argos_plain_text (other.start, other.size);
    bool same = s_same_blanks ((patch_line_t){ plain_one, strlen (plain_one) },
        (patch_line_t){ plain_other, strlen (plain_other) });
    free (plain_one);
    free (plain_other);
    return same;
}

//  The next word or number at or behind *at; size 0 = there is none.

static patch_line_t
s_word (const char *text, size_t size, size_t *at)
{
    while (*at < size && !isalnum ((unsigned char) text[*at]) && text[*at] != '_' &&
           (unsigned char) text[*at] < 0x80)
        (*at)++;
    patch_line_t word = { text + *at, 0 };
    while (*at < size && (isalnum ((unsigned char) text[*at]) || text[*at] == '_' ||
                             (unsigned char) text[*at] >= 0x80)) {
        (*at)++;
        word.size++;
    }
    return word;
}

static bool
s_same_words (const char *one, size_t one_size, const char *other, size_t other_size)
{
    size_t i = 0, k = 0;
    for (;;) {
        patch_line_t a = s_word (one, one_size, &i), b = s_word (other, other_size, &k);
        if (!s_same (a, b))
            return false;
        if (!a.size)
            return true;
    }
}

//  How alike two lines are: characters at both ends that are the same, of all.

double
patch_alike (patch_line_t one, patch_line_t other)
{
    one = patch_trim (one);
    other = patch_trim (other);
    size_t most = one.size > other.size ? one.size : other.size;
    size_t least = one.size < other.size ? one.size : other.size, head = 0, tail = 0;
    if (!most)
        return 1;
    while (head < least && one.start[head] == other.start[head])
        head++;
    while (
        tail < least - head && one.start[one.size - 1 - tail] == other.start[other.size - 1 - tail])
        tail++;
    return (double) (head + tail) / (double) most;
}

//  ------------------------------------------------------------------------------------------------
//  Finding

static void
s_find_exact (const char *text, size_t from, const char *old, patch_spans_t *spans)
{
    size_t size = strlen (old);
    for (const char *at = text + from; (at = strstr (at, old)) && spans->count < MATCHES_MAX;
         at += size)
        spans->spans[spans->count++] =
            (patch_span_t){ (size_t) (at - text), (size_t) (at - text) + size };
}

static bool
s_block_same (const patch_lines_t *text, size_t at, const patch_lines_t *old,
    bool (*same) (patch_line_t, patch_line_t))
{
    for (size_t i = 0; i < old->count; i++)
        if (!same (text->lines[at + i], old->lines[i]))
            return false;
    return true;
}

//  Whether the lines have the same indentation but for one and the same difference.

static bool
s_block_shifted (const patch_lines_t *text, size_t at, const patch_lines_t *old)
{
    bool known = false;
    long shift = 0;
    for (size_t i = 0; i < old->count; i++) {
        patch_line_t one = text->lines[at + i], other = old->lines[i];
        if (!s_same_trimmed (one, other))
            return false;
        if (!patch_trim (other).size)
            continue;
        long now = (long) (patch_trim (one).start - one.start) -
                   (long) (patch_trim (other).start - other.start);
        if (known && now != shift)
            return false;
        shift = now;
        known = true;
    }
    return known;
}

static bool
s_block_alike (const patch_lines_t *text, size_t at, const patch_lines_t *old)
{
    size_t last = old->count - 1;
    double sum = 0;
    if (old->count < 3 || old->count > ALIKE_LINES_MAX ||
        !s_same_blanks (text->lines[at], old->lines[0]) ||
        !s_same_blanks (text->lines[at + last], old->lines[last]))
        return false;
    for (size_t i = 0; i < old->count; i++) {
        patch_line_t one = text->lines[at + i], other = old->lines[i];
        if (!s_same_words (one.start, one.size, other.start, other.size))
            return false;
        sum += patch_alike (one, other);
    }
    return sum / (double) old->count >= ALIKE;
}

static bool
s_block_right (const patch_lines_t *text, size_t at, const patch_lines_t *old)
{
    return s_block_same (text, at, old, s_same_right);
}

static bool
s_block_trimmed (const patch_lines_t *text, size_t at, const patch_lines_t *old)
{
    return s_block_same (text, at, old, s_same_trimmed);
}

static bool
s_block_blanks (const patch_lines_t *text, size_t at, const patch_lines_t *old)
{
    return s_block_same (text, at, old, s_same_blanks);
}

static bool
s_block_plain (const patch_lines_t *text, size_t at, const patch_lines_t *old)
{
    return s_block_same (text, at, old, s_same_plain);
}

static const struct {
    const char *name; //  For the result
    bool (*same) (
        const patch_lines_t *text, size_t at, const patch_lines_t *); //  Whether the block matches
} s_rules[] = {
    { "line_ends", s_block_right },
    { "indentation_flexible", s_block_shifted },
    { "line_trimmed", s_block_trimmed },
    { "whitespace_normalised", s_block_blanks },
    { "unicode_normalised", s_block_plain },
    { "block_anchor", s_block_alike },
};

#define RULES (sizeof s_rules / sizeof *s_rules)

static void
s_find_blocks (const char *text, size_t from, const patch_lines_t *lines, const patch_lines_t *old,
    size_t rule, patch_spans_t *spans)
{
    for (size_t at = 0; old->count && at + old->count <= lines->count;) {
        patch_line_t last = lines->lines[at + old->count - 1];
        size_t start = (size_t) (lines->lines[at].start - text);
        if (start < from || spans->count == MATCHES_MAX || !s_rules[rule].same (lines, at, old)) {
            at++;
            continue;
        }
        spans->spans[spans->count++] =
            (patch_span_t){ start, (size_t) (last.start + last.size - text) };
        at += old->count;
    }
}

//  Backslash and n, t, ", ' become what they stand for, in a copy.

char *
patch_unescaped (const char *text)
{
    static const char signs[] = "ntr", stands[] = "\n\t\r";
    char *copy = patch_memory (strdup (text)), *out = copy;
    for (; *text; text++) {
        char next = '\0';
        if (*text == '\\')
            next = text[1];
        const char *sign = next ? strchr (signs, next) : NULL;
        if (sign)
            *out++ = stands[sign - signs];
        else if (next == '"' || next == '\'')
            *out++ = next;
        else
            *out++ = *text;
        text += *text == '\\' && next && strchr ("ntr\"'", next) ? 1 : 0;
    }
    *out = '\0';
    return copy;
}

//  Old without blank lines around it, in a copy.

static char *
s_inner (const char *old)
{
    const char *start = old, *end = old + strlen (old);
    for (const char *at = old; *at && isspace ((unsigned char) *at); at++)
        if (*at == '\n')
            start = at + 1;
    while (end > start && isspace ((unsigned char) end[-1]))
        end--;
    return patch_memory (strndup (start, (size_t) (end - start)));
}

//  Looks by each rule, in order; returns the name of the one that has found something, or NULL.

const char *
patch_find (const char *text, size_t from, const char *old, bool whole_lines, patch_spans_t *spans)
{
    const char *found = NULL;
    bool blank = !patch_trim ((patch_line_t){ old, strlen (old) }).size;
    spans->count = 0;
    if (!whole_lines)
        s_find_exact (text, from, old, spans);
    if (spans->count)
        return "exact";
    patch_lines_t lines = patch_lines (text), block = patch_lines (old);
    for (size_t i = 0; i < (blank && whole_lines ? 1 : RULES) && !found; i++) {
        if (!blank || whole_lines)
            s_find_blocks (text, from, &lines, &block, i, spans);
        found = spans->count ? s_rules[i].name : NULL;
    }
    char *unescaped = patch_unescaped (old), *inner = s_inner (old);
    if (!found && !whole_lines && strcmp (unescaped, old) != 0) {
        s_find_exact (text, from, unescaped, spans);
        found = spans->count ? "escape_normalised" : NULL;
    }
    if (!found && !whole_lines && *inner && strcmp (inner, old) != 0) {
        s_find_exact (text, from, inner, spans);
        found = spans->count ? "trimmed_boundary" : NULL;
    }
    free (unescaped);
    free (inner);
    free (lines.lines);
    free (block.lines);
    return found;
}
