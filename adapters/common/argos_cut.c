//  argos_cut - the choice of a place to cut.
//
//  Invariant: from < end <= next unless nothing fits; measure (from, end) <= limit; a cut is never
//  within a character. Limit: the functions asked decide how long it takes, measure is called
//  about 20 times.

#include "argos_cut.h"

#include "argos_unit.h"

#include <ctype.h>
#include <string.h>

#define LINK_BYTES 2048 //  Bytes of a link that stays whole: each bracket looks so far

//  The greatest place where the piece fits
static size_t
s_best (const argos_cut_t *self, size_t from)
{
    //  No unit has more than four bytes
    size_t low = from;
    size_t high = self->size - from > self->limit * 4 ? from + self->limit * 4 : self->size;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        size_t place = middle;
        while (
            place > low && place < self->size && ((unsigned char) self->text[place] & 0xC0) == 0x80)
            place--;
        if (place == low)
            place = middle;
        if (self->measure (self->arg, from, place) <= self->limit)
            low = place > low ? place : middle;
        else
            high = place - 1;
    }
    while (
        low > from && (self->barred (self->arg, low) ||
                          (low < self->size && ((unsigned char) self->text[low] & 0xC0) == 0x80) ||
                          self->measure (self->arg, from, low) > self->limit))
        low--;
    return low;
}

static size_t
s_blank_line (const argos_cut_t *self, size_t half, size_t best, size_t *ret_next)
{
    for (size_t at = best; at >= half; at--)
        if (at + 1 < self->size && self->text[at] == '\n' && self->text[at + 1] == '\n' &&
            !self->verbatim (self->arg, at) && !self->barred (self->arg, at)) {
            *ret_next = at;
            while (*ret_next < self->size && self->text[*ret_next] == '\n')
                (*ret_next)++;
            return at;
        }
    return 0;
}

static size_t
s_line (const argos_cut_t *self, size_t half, size_t best, size_t *ret_next)
{
    for (size_t at = best; at >= half; at--)
        if (at < self->size && self->text[at] == '\n' && !self->barred (self->arg, at)) {
            *ret_next = at + 1;
            return at;
        }
    return 0;
}

static size_t
s_word (const argos_cut_t *self, size_t half, size_t best, size_t *ret_next)
{
    size_t start = 0;
    size_t end = 0;
    for (size_t at = best; at >= half; at--) {
        if (at >= self->size || self->text[at] != ' ' || self->barred (self->arg, at))
            continue;
        if (self->verbatim (self->arg, at)) {
            if (at == best || self->barred (self->arg, at + 1))
                continue;
            *ret_next = at + 1;
            return at + 1;
        }
        if (self->atom (self->arg, at, &start, &end))
            continue;
        *ret_next = at + 1;
        return at;
    }
    return 0;
}

static size_t
s_hard (const argos_cut_t *self, size_t from, size_t best)
{
    size_t start = 0;
    size_t end = 0;
    if (!self->verbatim (self->arg, best) && self->atom (self->arg, best, &start, &end) &&
        start > from && !self->barred (self->arg, start) &&
        self->measure (self->arg, start, end) <= self->limit)
        return start;
    size_t place = argos_unit_grapheme (self->text, self->size, from, best);
    while (place > from && self->barred (self->arg, place))
        place = argos_unit_grapheme (self->text, self->size, from, place - 1);
    return place > from ? place : best;
}

size_t
argos_cut_next (const argos_cut_t *self, size_t from, size_t *ret_next)
{
    size_t best = s_best (self, from);
    *ret_next = best;
    if (best == self->size || best == from)
        return best;
    size_t half = from + (best - from) / 2;
    if (half == from)
        half++;
    size_t end = s_blank_line (self, half, best, ret_next);
    if (!end)
        end = s_line (self, half, best, ret_next);
    if (!end)
        end = s_word (self, half, best, ret_next);
    if (!end)
        *ret_next = end = s_hard (self, from, best);
    return end;
}

//  [text](address) and ![text](address), within one line and LINK_BYTES bytes
static size_t
s_link (const char *text, size_t size, size_t at)
{
    size_t depth = 0;
    size_t place = at;
    size = size - at > LINK_BYTES ? at + LINK_BYTES : size;
    for (; place < size && text[place] != '\n'; place++) {
        if (text[place] == '\\')
            place++;
        else if (text[place] == '[')
            depth++;
        else if (text[place] == ']' && --depth == 0)
            break;
    }
    if (place + 1 >= size || text[place] != ']' || text[place + 1] != '(')
        return 0;
    size_t open = 0;
    for (place++; place < size && text[place] != '\n'; place++)
        if (text[place] == '(')
            open++;
        else if (text[place] == ')' && --open == 0)
            return place + 1;
    return 0;
}

//  As many backticks, something, as many backticks. Only the first of a run begins code, unless the
//  one before it is escaped.
static size_t
s_code (const char *text, size_t size, size_t at)
{
    size_t run = 0;
    if (at > 0 && text[at - 1] == '`' && !(at > 1 && text[at - 2] == '\\'))
        return 0;
    while (at + run < size && text[at + run] == '`')
        run++;
    for (size_t place = at + run; place < size; place++) {
        if (text[place] == '\n' && place + 1 < size && text[place + 1] == '\n')
            return 0;
        if (text[place] != '`')
            continue;
        size_t other = 0;
        while (place + other < size && text[place + other] == '`')
            other++;
        if (other == run)
            return place + run;
        place += other - 1;
    }
    return 0;
}

//  Up to the byte that closes it, when all between is allowed
static size_t
s_token (const char *text, size_t size, size_t at, char close, size_t longest)
{
    for (size_t place = at + 1; place < size && place - at < longest; place++) {
        unsigned char byte = (unsigned char) text[place];
        if (text[place] == close)
            return place > at + 1 ? place + 1 : 0;
        if (close == ';' ? !isalnum (byte) && byte != '#' : isspace (byte) || byte == '<')
            return 0;
    }
    return 0;
}

static size_t
s_address (const char *text, size_t size, size_t at)
{
    size_t left = size - at;
    const char *place = text + at;
    if (!(left > 8 && strncmp (place, "https://", 8) == 0) &&
        !(left > 7 && strncmp (place, "http://", 7) == 0))
        return 0;
    size_t end = at;
    while (end < size && !isspace ((unsigned char) text[end]) && !strchr ("<>\"", text[end]))
        end++;
    return end;
}

size_t
argos_cut_atom (const char *text, size_t size, size_t at)
{
    switch (text[at]) {
    case '[':
        return s_link (text, size, at);
    case '!':
        return at + 1 < size && text[at + 1] == '[' ? s_link (text, size, at + 1) : 0;
    case '`':
        return s_code (text, size, at);
    case '<':
        return s_token (text, size, at, '>', 2048);
    case '&':
        return s_token (text, size, at, ';', 16);
    case '\\':
        return at + 1 < size && ispunct ((unsigned char) text[at + 1]) ? at + 2 : 0;
    case 'h':
        return s_address (text, size, at);
    default:
        return 0;
    }
}
