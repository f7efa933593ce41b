//  argos_markdown - a piece of a laid-out text in the markup of a platform, and the cuts between
//  pieces.
//
//  Invariant: a text is cut before its markup is written, so each piece has all its marks; and it
//  is measured as it is sent. Limit: 100 spans in one piece (Telegram drops more).

#include "argos_markdown.h"

#include "argos_cut.h"
#include "argos_markup.h"
#include "argos_rich.h"
#include "argos_splitter.h"
#include "argos_utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SPANS_MAX 100
#define TABLE_WIDTH 40
#define TABLE_WIDTH_DISCORD 100

typedef struct {
    const argos_rich_t *rich; //  The text
    argos_format_t format;    //  Its markup
    argos_unit_t unit;        //  What is counted
} s_piece_t;

static const argos_span_t *
s_span_around (const argos_rich_t *rich, size_t at, bool (*wanted) (argos_span_kind_t))
{
    for (size_t span = 0; span < rich->count && rich->spans[span].from <= at; span++)
        if (rich->spans[span].to > at && wanted (rich->spans[span].kind))
            return &rich->spans[span];
    return NULL;
}

static bool
s_is_block (argos_span_kind_t kind)
{
    return kind == ARGOS_SPAN_PRE;
}

static bool
s_is_whole (argos_span_kind_t kind)
{
    return kind == ARGOS_SPAN_CODE || kind == ARGOS_SPAN_LINK;
}

static bool
s_verbatim (const void *arg, size_t at)
{
    return s_span_around (((const s_piece_t *) arg)->rich, at, s_is_block) != NULL;
}

static bool
s_barred (const void *arg, size_t at)
{
    (void) arg;
    (void) at;
    return false;
}

static bool
s_atom (const void *arg, size_t at, size_t *ret_start, size_t *ret_end)
{
    const argos_rich_t *rich = ((const s_piece_t *) arg)->rich;
    const argos_span_t *span = s_span_around (rich, at, s_is_whole);
    if (span && span->from < at) {
        *ret_start = span->from;
        *ret_end = span->to;
        return true;
    }
    //  An address or a mention in the text: it has no blank, so it begins in this word
    size_t word = at;
    while (word > 0 && !isspace ((unsigned char) rich->text[word - 1]))
        word--;
    for (; word < at; word++) {
        if (!strchr ("h<", rich->text[word]))
            continue;
        size_t end = argos_cut_atom (rich->text, rich->size, word);
        if (end > at) {
            *ret_start = word;
            *ret_end = end;
            return true;
        }
    }
    return false;
}

static size_t
s_measure (const void *arg, size_t from, size_t to)
{
    const s_piece_t *self = (const s_piece_t *) arg;
    size_t spans = 0;
    for (size_t at = 0; at < self->rich->count && self->rich->spans[at].from < to; at++)
        spans += self->rich->spans[at].to > from ? 1 : 0;
    if (spans > SPANS_MAX)
        return SIZE_MAX;
    if (self->format == ARGOS_FORMAT_TELEGRAM || self->format == ARGOS_FORMAT_HTML)
        return argos_unit_count (self->unit, self->rich->text + from, to - from);
    char *text = argos_markup_text (self->rich, self->format, from, to);
    size_t units = argos_unit_count (self->unit, text, strlen (text));
    free (text);
    return units;
}

//  Bytes at text[at] that nobody sees: blanks, and U+200B or U+FEFF; 0 = something is seen
static size_t
s_unseen (const char *text, size_t at, size_t to)
{
    if (isspace ((unsigned char) text[at]))
        return 1;
    bool three = to - at >= 3;
    return three && (!memcmp (text + at, "\xE2\x80\x8B", 3) ||
                        !memcmp (text + at, "\xEF\xBB\xBF", 3))
               ? 3
               : 0;
}

static void
s_add (const s_piece_t *self, json_t *pieces, size_t from, size_t to)
{
    const char *text = self->rich->text;
    bool block = s_verbatim (self, from);
    while (!block && from < to && isspace ((unsigned char) text[from]))
        from++;
    while (to > from && isspace ((unsigned char) text[to - 1]) && !s_verbatim (self, to - 1))
        to--;
    size_t seen = from;
    while (seen < to && s_unseen (text, seen, to))
        seen += s_unseen (text, seen, to);
    if (seen == to)
        return;
    char *piece = argos_markup_text (self->rich, self->format, from, to);
    json_t *object = json_pack ("{s:s}", "text", piece);
    free (piece);
    if (self->format == ARGOS_FORMAT_TELEGRAM) {
        json_t *entities = argos_markup_entities (self->rich, from, to);
        if (json_array_size (entities) > 0)
            json_object_set (object, "entities", entities);
        json_decref (entities);
    }
    json_array_append_new (pieces, object);
}

static void
s_split (const s_piece_t *self, json_t *pieces, size_t limit)
{
    const argos_rich_t *rich = self->rich;
    const argos_cut_t cut = { .text = rich->text,
        .size = rich->size,
        .limit = limit,
        .arg = self,
        .measure = s_measure,
        .verbatim = s_verbatim,
        .barred = s_barred,
        .atom = s_atom };
    for (size_t at = 0; at < rich->size;) {
        size_t next = at;
        size_t end = argos_cut_next (&cut, at, &next);
        if (end == at)
            argos_unit_next (rich->text, rich->size, at, &end);
        s_add (self, pieces, at, end);
        at = next > end ? next : end;
    }
}

static bool
s_valid (const char *text)
{
    size_t size = strlen (text);
    for (size_t at = 0; at < size;) {
        size_t length = argos_utf8_length ((const unsigned char *) text + at, size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

json_t *
argos_markdown_split (const char *markdown, argos_format_t format, argos_unit_t unit, size_t limit)
{
    json_t *pieces = json_array ();
    if (!s_valid (markdown))
        return pieces;
    if (format == ARGOS_FORMAT_DISCORD) {
        char *text = argos_markup_discord (markdown, TABLE_WIDTH_DISCORD);
        argos_chunks_t chunks = argos_splitter_split (text, unit, limit, false);
        for (size_t at = 0; at < chunks.count; at++)
            json_array_append_new (pieces, json_pack ("{s:s}", "text", chunks.items[at].text));
        argos_chunks_clear (&chunks);
        free (text);
        return pieces;
    }
    char *lines = argos_splitter_lines (markdown);
    argos_rich_t rich = argos_rich_new (lines, TABLE_WIDTH);
    s_split (&(s_piece_t){ .rich = &rich, .format = format, .unit = unit }, pieces, limit);
    argos_rich_clear (&rich);
    free (lines);
    return pieces;
}
