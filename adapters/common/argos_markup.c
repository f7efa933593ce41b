//  argos_markup - marks of a platform around spans, and what must be escaped in it.
//
//  Invariant: marks are nested as spans are; a span that is cut by the part has its marks in both.

#include "argos_markup.h"

#include "argos_cut.h"
#include "argos_splitter.h"
#include "argos_table.h"
#include "argos_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 128

typedef struct {
    const char *open;  //  Before the span
    const char *close; //  Behind it
} s_mark_t;

static const s_mark_t marks[][ARGOS_SPAN_KINDS] = {
    [ARGOS_FORMAT_HTML] = {
        [ARGOS_SPAN_QUOTE] = { "<blockquote>", "</blockquote>" },
        [ARGOS_SPAN_PRE] = { "<pre>", "</pre>" },
        [ARGOS_SPAN_BOLD] = { "<b>", "</b>" },
        [ARGOS_SPAN_ITALIC] = { "<i>", "</i>" },
        [ARGOS_SPAN_STRIKE] = { "<s>", "</s>" },
        [ARGOS_SPAN_SPOILER] = { "<tg-spoiler>", "</tg-spoiler>" },
        [ARGOS_SPAN_LINK] = { "<a href=\"", "</a>" },
        [ARGOS_SPAN_CODE] = { "<code>", "</code>" },
    },
    [ARGOS_FORMAT_SLACK] = {
        [ARGOS_SPAN_PRE] = { "```\n", "\n```" },
        [ARGOS_SPAN_BOLD] = { "*", "*" },
        [ARGOS_SPAN_ITALIC] = { "_", "_" },
        [ARGOS_SPAN_STRIKE] = { "~", "~" },
        [ARGOS_SPAN_LINK] = { "<", ">" },
        [ARGOS_SPAN_CODE] = { "`", "`" },
    },
    [ARGOS_FORMAT_MARKDOWN] = {
        [ARGOS_SPAN_PRE] = { "```\n", "\n```" },
        [ARGOS_SPAN_BOLD] = { "**", "**" },
        [ARGOS_SPAN_ITALIC] = { "*", "*" },
        [ARGOS_SPAN_STRIKE] = { "~~", "~~" },
        [ARGOS_SPAN_SPOILER] = { "||", "||" },
        [ARGOS_SPAN_LINK] = { "[", "]" },
        [ARGOS_SPAN_CODE] = { "`", "`" },
    },
};

typedef struct {
    const argos_rich_t *rich; //  The text
    argos_format_t format;    //  The markup
    size_t from;              //  First byte of the part
    size_t to;                //  Behind the last one
    argos_text_t out;         //  What is written
} s_writer_t;

static void
s_put (s_writer_t *self, const char *text)
{
    if (text)
        argos_text_add (&self->out, text, strlen (text));
}

static bool
s_word (const s_writer_t *self, size_t at)
{
    unsigned char byte = (unsigned char) self->rich->text[at];
    return at >= self->from && at < self->to && (isalnum (byte) || byte >= 0x80);
}

//  Slack reads a mark only between a word and what is none: a space of no width makes one
static void
s_boundary (s_writer_t *self, argos_span_kind_t kind, bool word)
{
    if (word && self->format == ARGOS_FORMAT_SLACK && kind >= ARGOS_SPAN_BOLD &&
        kind != ARGOS_SPAN_LINK && kind != ARGOS_SPAN_SPOILER)
        s_put (self, "\xE2\x80\x8B");
}

static void
s_escaped (s_writer_t *self, const char *text)
{
    for (; *text; text++) {
        const char *escape = NULL;
        escape = *text == '&' ? "&amp;" : escape;
        escape = *text == '<' ? "&lt;" : escape;
        escape = *text == '>' ? "&gt;" : escape;
        escape = *text == '"' && self->format == ARGOS_FORMAT_HTML ? "&quot;" : escape;
        escape = *text == '|' && self->format == ARGOS_FORMAT_SLACK ? "%7C" : escape;
        if (escape)
            s_put (self, escape);
        else
            argos_text_add (&self->out, text, 1);
    }
}

static void
s_open (s_writer_t *self, const argos_span_t *span)
{
    s_boundary (self, span->kind, span->from > self->from && s_word (self, span->from - 1));
    if (span->kind == ARGOS_SPAN_PRE && self->format == ARGOS_FORMAT_HTML && span->arg) {
        s_put (self, "<pre><code class=\"language-");
        s_escaped (self, span->arg);
        s_put (self, "\">");
        return;
    }
    s_put (self, marks[self->format][span->kind].open);
    if (span->kind != ARGOS_SPAN_LINK || self->format == ARGOS_FORMAT_PLAIN ||
        self->format == ARGOS_FORMAT_MARKDOWN)
        return;
    s_escaped (self, span->arg);
    s_put (self, self->format == ARGOS_FORMAT_HTML ? "\">" : "|");
}

static void
s_close (s_writer_t *self, const argos_span_t *span)
{
    if (span->kind == ARGOS_SPAN_PRE && self->format == ARGOS_FORMAT_HTML && span->arg)
        s_put (self, "</code>");
    s_put (self, marks[self->format][span->kind].close);
    if (span->kind == ARGOS_SPAN_LINK &&
        (self->format == ARGOS_FORMAT_PLAIN || self->format == ARGOS_FORMAT_MARKDOWN)) {
        s_put (self, self->format == ARGOS_FORMAT_PLAIN ? " (" : "(");
        s_put (self, span->arg);
        s_put (self, ")");
    }
    s_boundary (self, span->kind, s_word (self, span->to));
}

//  <@U123>, <#C123> and <#C123|name> are Slack's: the end of one that begins here, or 0
static size_t
s_mention (const s_writer_t *self, size_t at)
{
    const char *text = self->rich->text;
    if (text[at] != '<' || (text[at + 1] != '@' && text[at + 1] != '#'))
        return 0;
    size_t place = at + 2;
    while (isupper ((unsigned char) text[place]) || isdigit ((unsigned char) text[place]))
        place++;
    if (place - at < 4)
        return 0;
    if (text[place] == '|')
        while (text[place] && !strchr ("<>\n&", text[place]))
            place++;
    return text[place] == '>' && place < self->to ? place + 1 : 0;
}

//  One byte of the text, or more; returns where the next one is
static size_t
s_byte (s_writer_t *self, size_t at, const argos_span_t *in)
{
    const char *text = self->rich->text;
    bool slack = self->format == ARGOS_FORMAT_SLACK;
    size_t mention = slack ? s_mention (self, at) : 0;
    if (mention) {
        argos_text_add (&self->out, text + at, mention - at);
        return mention;
    }
    argos_span_kind_t kind = in ? in->kind : ARGOS_SPAN_KINDS;
    const char *instead = NULL;
    if (slack || self->format == ARGOS_FORMAT_HTML) {
        instead = text[at] == '&' ? "&amp;" : instead;
        instead = text[at] == '<' ? "&lt;" : instead;
        instead = text[at] == '>' ? "&gt;" : instead;
    }
    if (slack && kind == ARGOS_SPAN_LINK && text[at] == '|')
        instead = "¦";
    //  A backtick would end the code
    if (slack && text[at] == '`' && (kind == ARGOS_SPAN_CODE || kind == ARGOS_SPAN_PRE))
        instead = "ˋ";
    if (instead)
        s_put (self, instead);
    else
        argos_text_add (&self->out, text + at, 1);
    return at + 1;
}

static bool
s_quotes_by_line (argos_format_t format)
{
    return format == ARGOS_FORMAT_SLACK || format == ARGOS_FORMAT_PLAIN ||
           format == ARGOS_FORMAT_MARKDOWN;
}

//  Does Slack read a style there? Not within the text of a link.
static bool
s_shown (const s_writer_t *self, const argos_span_t *stack, size_t depth)
{
    for (size_t at = 0; at < depth && self->format == ARGOS_FORMAT_SLACK; at++)
        if (stack[at].kind == ARGOS_SPAN_LINK)
            return false;
    return true;
}

//  The span as far as it is in the part, without blanks at its ends
static argos_span_t
s_clip (const argos_rich_t *rich, const argos_span_t *span, size_t from, size_t to)
{
    argos_span_t clipped = *span;
    clipped.from = span->from > from ? span->from : from;
    clipped.to = span->to < to ? span->to : to;
    if (span->kind == ARGOS_SPAN_PRE || span->kind == ARGOS_SPAN_CODE ||
        span->kind == ARGOS_SPAN_QUOTE)
        return clipped;
    while (clipped.to > clipped.from && isspace ((unsigned char) rich->text[clipped.to - 1]))
        clipped.to--;
    while (clipped.to > clipped.from && isspace ((unsigned char) rich->text[clipped.from]))
        clipped.from++;
    return clipped;
}

//  The spans of the part, in order; the caller frees the array
static argos_span_t *
s_clipped (const argos_rich_t *rich, size_t from, size_t to, size_t *ret_count)
{
    argos_span_t *spans = malloc ((rich->count + 1) * sizeof *spans);
    if (!spans)
        abort ();
    *ret_count = 0;
    for (size_t at = 0; at < rich->count && rich->spans[at].from < to; at++) {
        argos_span_t span = s_clip (rich, &rich->spans[at], from, to);
        if (span.to > span.from)
            spans[(*ret_count)++] = span;
    }
    return spans;
}

//  The spans that begin here, onto the stack
static size_t
s_open_all (s_writer_t *self, size_t at, const argos_span_t **spans_p, const argos_span_t *end,
    argos_span_t *stack, size_t depth)
{
    for (; *spans_p < end && (*spans_p)->from <= at; (*spans_p)++) {
        const argos_span_t *span = *spans_p;
        if (depth == DEPTH_MAX || span->to <= at || !s_shown (self, stack, depth))
            continue;
        bool lines = span->kind == ARGOS_SPAN_QUOTE && s_quotes_by_line (self->format);
        if (lines && (at == self->from || self->rich->text[at - 1] != '\n'))
            s_put (self, "> ");
        s_open (self, span);
        stack[depth++] = *span;
    }
    return depth;
}

char *
argos_markup_text (const argos_rich_t *rich, argos_format_t format, size_t from, size_t to)
{
    s_writer_t self = { .rich = rich, .format = format, .from = from, .to = to };
    argos_text_init (&self.out, SIZE_MAX / 2);
    size_t count = 0;
    argos_span_t *spans = s_clipped (rich, from, to, &count);
    const argos_span_t *next = spans;
    if (format == ARGOS_FORMAT_TELEGRAM)
        next += count;
    argos_span_t stack[DEPTH_MAX];
    size_t depth = 0;
    for (size_t at = from; at < to;) {
        while (depth && stack[depth - 1].to <= at)
            s_close (&self, &stack[--depth]);
        depth = s_open_all (&self, at, &next, spans + count, stack, depth);
        if (depth && stack[0].kind == ARGOS_SPAN_QUOTE && s_quotes_by_line (format) && at > from &&
            rich->text[at - 1] == '\n')
            s_put (&self, "> ");
        at = s_byte (&self, at, depth ? &stack[depth - 1] : NULL);
    }
    while (depth)
        s_close (&self, &stack[--depth]);
    free (spans);
    char *text = self.out.data ? self.out.data : strdup ("");
    if (!text)
        abort ();
    return text;
}

json_t *
argos_markup_entities (const argos_rich_t *rich, size_t from, size_t to)
{
    static const char *const names[] = { [ARGOS_SPAN_QUOTE] = "blockquote",
        [ARGOS_SPAN_PRE] = "pre",
        [ARGOS_SPAN_BOLD] = "bold",
        [ARGOS_SPAN_ITALIC] = "italic",
        [ARGOS_SPAN_STRIKE] = "strikethrough",
        [ARGOS_SPAN_SPOILER] = "spoiler",
        [ARGOS_SPAN_LINK] = "text_link",
        [ARGOS_SPAN_CODE] = "code" };
    json_t *entities = json_array ();
    for (size_t at = 0; at < rich->count; at++) {
        argos_span_t span = s_clip (rich, &rich->spans[at], from, to);
        if (span.to <= span.from)
            continue;
        const char *text = rich->text;
        size_t offset = argos_unit_count (ARGOS_UNIT_UTF16, text + from, span.from - from);
        size_t length = argos_unit_count (ARGOS_UNIT_UTF16, text + span.from, span.to - span.from);
        json_t *entity = json_pack ("{s:s, s:I, s:I}", "type", names[span.kind], "offset",
            (json_int_t) offset, "length", (json_int_t) length);
        if (span.kind == ARGOS_SPAN_LINK)
            json_object_set_new (entity, "url", json_string (span.arg));
        if (span.kind == ARGOS_SPAN_PRE && span.arg)
            json_object_set_new (entity, "language", json_string (span.arg));
        json_array_append_new (entities, entity);
    }
    return entities;
}

//  ---------------------------------------------------------------------------
//  Discord

//  Lines of the table that begins at text, 0 when none does; in bytes
static size_t
s_table_size (const char *text)
{
    size_t header = strcspn (text, "\n");
    if (!memchr (text, '|', header) || !text[header])
        return 0;
    const char *line = text + header + 1;
    size_t size = strcspn (line, "\n");
    if (!argos_table_is_rule (line, size))
        return 0;
    for (line += size; *line == '\n'; line += 1 + size) {
        size = strcspn (line + 1, "\n");
        if (!memchr (line + 1, '|', size))
            break;
    }
    return (size_t) (line - text);
}

static bool
s_add_table (argos_text_t *out, const char *table, size_t size, size_t width)
{
    char *copy = strndup (table, size);
    if (!copy)
        abort ();
    argos_rich_t rich = argos_rich_new (copy, width);
    free (copy);
    bool block = rich.count == 1 && rich.spans[0].kind == ARGOS_SPAN_PRE;
    if (block) {
        argos_text_add (out, "```\n", 4);
        argos_text_add (out, rich.text, rich.size);
        argos_text_add (out, "\n```", 4);
    }
    argos_rich_clear (&rich);
    return block;
}

//  A line without the ! of its images
static void
s_add_line (argos_text_t *out, const char *line, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t end = argos_cut_atom (line, size, at);
        if (end && line[at] == '!')
            at++;
        if (!end)
            end = at + 1;
        argos_text_add (out, line + at, end - at);
        at = end;
    }
}

char *
argos_markup_discord (const char *markdown, size_t table_width)
{
    char *text = argos_splitter_lines (markdown);
    size_t size = strlen (text);
    size_t count = 0;
    argos_fence_t *fences = argos_splitter_fences (text, size, &count);
    argos_text_t out;
    argos_text_init (&out, SIZE_MAX / 2);
    size_t fence = 0;
    for (size_t at = 0; at < size;) {
        size_t end = at + strcspn (text + at, "\n");
        bool code = fence < count && at >= fences[fence].open;
        if (code) {
            end = fences[fence].end;
            fence++;
            argos_text_add (&out, text + at, end - at);
        }
        else {
            size_t table = s_table_size (text + at);
            if (table && s_add_table (&out, text + at, table, table_width))
                end = at + table;
            else
                s_add_line (&out, text + at, end - at);
        }
        argos_text_add (&out, "\n", end < size ? 1 : 0);
        at = end + 1;
    }
    free (fences);
    free (text);
    char *result = out.data ? out.data : strdup ("");
    if (!result)
        abort ();
    return result;
}
