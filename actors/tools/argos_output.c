//  argos_output - what a command prints, in bounded memory, as a text.
//
//  Invariant: head has the first bytes, tail the last ones, in a ring; nothing is in both. More is
//  kept of each than is shown, so that a secret is whole when it is masked, before the cut. Limits:
//  see HEAD_SIZE and TAIL_SIZE.

#include "argos_output.h"

#include "argos_redact.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_SIZE ((size_t) 128 * 1024) //  Bytes kept from the beginning
#define TAIL_SIZE ((size_t) 192 * 1024) //  Bytes kept from the end
#define TEXT_MIN 1024                   //  Least that may be asked for
#define REPLACEMENT "\xEF\xBF\xBD"      //  U+FFFD

struct argos_output {
    size_t max;       //  Bytes of the text
    uint64_t total;   //  Bytes added
    size_t head_used; //  Bytes in head
    size_t head_size; //  Room of head, grows to HEAD_SIZE
    size_t tail_used; //  Bytes in tail
    size_t tail_at;   //  Where the oldest of them stands
    char *head;       //  First bytes
    char *tail;       //  Ring of TAIL_SIZE, made when the head is full
};

static void *
s_memory (void *old, size_t size)
{
    void *memory = realloc (old, size);
    if (!memory)
        abort ();
    return memory;
}

argos_output_t *
argos_output_new (size_t max)
{
    argos_output_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->max = max < TEXT_MIN ? TEXT_MIN : max > ARGOS_OUTPUT_LIMIT ? ARGOS_OUTPUT_LIMIT : max;
    return self;
}

void
argos_output_destroy (argos_output_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    free ((*self_p)->head);
    free ((*self_p)->tail);
    free (*self_p);
    *self_p = NULL;
}

uint64_t
argos_output_total (const argos_output_t *self)
{
    return self->total;
}

//  Take what still fits into the head; returns how much that was.

static size_t
s_add_head (argos_output_t *self, const char *data, size_t size)
{
    size_t room = HEAD_SIZE - self->head_used;
    if (size > room)
        size = room;
    while (self->head_used + size > self->head_size) {
        self->head_size = self->head_size ? self->head_size * 2 : 4096;
        self->head = s_memory (self->head, self->head_size);
    }
    if (size)
        memcpy (self->head + self->head_used, data, size);
    self->head_used += size;
    return size;
}

void
argos_output_add (argos_output_t *self, const void *data, size_t size)
{
    const char *bytes = data;
    self->total += size;
    size_t taken = s_add_head (self, bytes, size);
    bytes += taken;
    size -= taken;
    if (!size)
        return;
    if (!self->tail)
        self->tail = s_memory (NULL, TAIL_SIZE);
    if (size > TAIL_SIZE) {
        bytes += size - TAIL_SIZE;
        size = TAIL_SIZE;
    }
    size_t end = (self->tail_at + self->tail_used) % TAIL_SIZE;
    size_t first = size < TAIL_SIZE - end ? size : TAIL_SIZE - end;
    memcpy (self->tail + end, bytes, first);
    memcpy (self->tail, bytes + first, size - first);
    self->tail_used += size;
    if (self->tail_used > TAIL_SIZE) {
        self->tail_at = (self->tail_at + self->tail_used - TAIL_SIZE) % TAIL_SIZE;
        self->tail_used = TAIL_SIZE;
    }
}

//  ---------------------------------------------------------------------------------------------
//  Cleaning

//  How far bytes from first to last go on, from at.

static size_t
s_span (const unsigned char *text, size_t size, size_t at, unsigned char first, unsigned char last)
{
    while (at < size && text[at] >= first && text[at] <= last)
        at++;
    return at;
}

//  Length of a string sequence (title, link) at text. One that does not end within its line is
//  taken as far as the line goes: it must not swallow the rest.

static size_t
s_string_escape (const unsigned char *text, size_t size)
{
    size_t at = 2;
    while (at < size && text[at] != 0x07 && text[at] != '\n' && text[at] != 0x1B)
        at++;
    if (at + 1 < size && text[at] == 0x1B && text[at + 1] == '\\')
        return at + 2;
    return at < size && text[at] == 0x07 ? at + 1 : at;
}

//  Length of the escape sequence at text, which begins with ESC.

static size_t
s_escape (const unsigned char *text, size_t size)
{
    if (size == 1)
        return 1;
    unsigned char kind = text[1];
    if (kind && strchr ("]PX^_", kind))
        return s_string_escape (text, size);
    size_t at = 1;
    if (kind == '[')
        at = s_span (text, size, 2, 0x20, 0x3F); //  Parameters
    else if (kind >= 0x20 && kind < 0x30)
        at = s_span (text, size, 1, 0x20, 0x2F);                         //  As ESC ( B
    return s_span (text, size < at + 1 ? size : at + 1, at, 0x30, 0x7E); //  One final character
}

//  Length of the character of UTF-8 at text, 0 = it is none (overlong, surrogate, beyond U+10FFFF,
//  cut off).

static size_t
s_character (const unsigned char *text, size_t size)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (text[0] < 0x80)
        return 1;
    size_t length = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
    if (text[0] < 0xC2 || text[0] > 0xF4 || length > size)
        return 0;
    uint32_t code = text[0] & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3FU);
    }
    bool fine = code >= least[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    return fine ? length : 0;
}

//  Whether a character of that length at text is a control character that has to go.

static bool
s_is_control (const unsigned char *text, size_t length)
{
    if (length == 1)
        return (text[0] < 0x20 && !strchr ("\t\n\r", text[0])) || text[0] == 0x7F || !text[0];
    return length == 2 && text[0] == 0xC2 && text[1] < 0xA0;
}

//  Clean size bytes; the result is new, with secrets masked, and its length goes to *ret_size.

static char *
s_clean (const char *raw, size_t size, size_t *ret_size)
{
    const unsigned char *text = (const unsigned char *) raw;
    char *clean = s_memory (NULL, size * (sizeof REPLACEMENT - 1) + 1);
    size_t used = 0, at = 0;
    while (at < size) {
        if (text[at] == 0x1B) {
            at += s_escape (text + at, size - at);
            continue;
        }
        size_t length = s_character (text + at, size - at);
        if (!length) {
            memcpy (clean + used, REPLACEMENT, sizeof REPLACEMENT - 1);
            used += sizeof REPLACEMENT - 1;
            at++;
            continue;
        }
        if (!s_is_control (text + at, length)) {
            memcpy (clean + used, raw + at, length);
            used += length;
        }
        at += length;
    }
    char *masked = s_memory (NULL, used + 1);
    *ret_size = argos_redact (clean, used, masked);
    free (clean);
    return masked;
}

//  ---------------------------------------------------------------------------------------------
//  The text

//  Largest number of bytes up to size that does not cut a character.

static size_t
s_cut_end (const char *text, size_t size)
{
    while (size && ((unsigned char) text[size] & 0xC0) == 0x80)
        size--;
    return size;
}

//  How much of the text is its beginning: 40 %.

static size_t
s_shown_head (const argos_output_t *self)
{
    return self->max / 10 * 4;
}

//  Join the beginning of head and the end of tail, with the marker between them.

static char *
s_join (const argos_output_t *self, const char *head, size_t head_size, const char *tail,
    size_t tail_size)
{
    size_t shown = s_shown_head (self);
    size_t first = head_size > shown ? s_cut_end (head, shown) : head_size;
    char marker[96];
    size_t room = self->max - shown - sizeof marker;
    size_t from = tail_size > room ? tail_size - room : 0;
    while (from < tail_size && ((unsigned char) tail[from] & 0xC0) == 0x80)
        from++;
    uint64_t lost = self->total - self->head_used - self->tail_used + head_size - first + from;
    int length =
        snprintf (marker, sizeof marker, "\n\n[... %" PRIu64 " bytes left out ...]\n\n", lost);
    char *text = s_memory (NULL, first + (size_t) length + tail_size - from + 1);
    memcpy (text, head, first);
    memcpy (text + first, marker, (size_t) length);
    memcpy (text + first + (size_t) length, tail + from, tail_size - from);
    text[first + (size_t) length + tail_size - from] = 0;
    return text;
}

//  Head and ring in one piece, or the ring alone.

static char *
s_flat (const argos_output_t *self, bool with_head, size_t *ret_size)
{
    size_t head = with_head ? self->head_used : 0;
    char *flat = s_memory (NULL, head + self->tail_used + 1);
    if (head)
        memcpy (flat, self->head, head);
    size_t first = TAIL_SIZE - self->tail_at;
    if (first > self->tail_used)
        first = self->tail_used;
    if (self->tail_used) {
        memcpy (flat + head, self->tail + self->tail_at, first);
        memcpy (flat + head + first, self->tail, self->tail_used - first);
    }
    *ret_size = head + self->tail_used;
    return flat;
}

char *
argos_output_text (const argos_output_t *self)
{
    uint64_t lost = self->total - self->head_used - self->tail_used;
    size_t flat_size, head_size, tail_size;
    char *flat = s_flat (self, lost == 0, &flat_size);
    char *tail = s_clean (flat, flat_size, &tail_size);
    char *text = tail;
    free (flat);
    if (lost) {
        char *head = s_clean (self->head, self->head_used, &head_size);
        text = s_join (self, head, head_size, tail, tail_size);
        free (head);
        free (tail);
    }
    else if (tail_size > self->max) {
        size_t first = s_cut_end (tail, s_shown_head (self));
        text = s_join (self, tail, first, tail + first, tail_size - first);
        free (tail);
    }
    return text;
}

char *
argos_output_long (const argos_output_t *self)
{
    argos_output_t wide = *self;
    wide.max = ARGOS_OUTPUT_LIMIT;
    return self->total > self->max && self->max < wide.max ? argos_output_text (&wide) : NULL;
}
