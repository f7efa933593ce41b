//  argos_html - what an HTML page says, as markdown.
//
//  Invariant: no tree, one walk over the tags; nothing is written that is longer than what it was
//  made of, but for the marks, which the room allows for. Limits: names of tags of 15 bytes;
//  addresses of links of 500 bytes; of entities the usual ones and numbers.

#include "argos_html.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 16
#define LINK_SIZE 501

typedef struct {
    char *data;           //  Text so far
    size_t size, room;    //  In use; allocated
    bool blank;           //  A blank is due
    int lines;            //  Line ends that are due
    bool pre;             //  Blanks stand
    char link[LINK_SIZE]; //  Address of the link that is open, "" = none
    size_t link_at;       //  Where its text begins
} page_t;

//  Tags: what stands before, and how many line ends are around
static const struct {
    const char *name; //  Tag
    const char *mark; //  At its beginning
    int lines;        //  Around it
} s_tags[] = { { "p", "", 2 }, { "div", "", 1 }, { "br", "", 1 }, { "li", "- ", 1 },
    { "h1", "# ", 2 }, { "h2", "## ", 2 }, { "h3", "### ", 2 }, { "h4", "#### ", 2 },
    { "h5", "##### ", 2 }, { "h6", "###### ", 2 }, { "tr", "", 1 }, { "td", " | ", 0 },
    { "th", " | ", 0 }, { "ul", "", 1 }, { "ol", "", 1 }, { "table", "", 2 }, { "section", "", 2 },
    { "article", "", 2 }, { "header", "", 1 }, { "footer", "", 1 }, { "blockquote", "> ", 2 },
    { "pre", "", 2 }, { "hr", "---", 2 }, { "main", "", 1 }, { "nav", "", 1 }, { "dt", "", 1 },
    { "dd", "  ", 1 } };

static const char *const s_hidden[] = { "script", "style", "title", "noscript", "template", "svg",
    "head", "select", "iframe" };

static const struct {
    const char *name; //  Without & and ;
    const char *text; //  In UTF-8
} s_entities[] = { { "amp", "&" }, { "lt", "<" }, { "gt", ">" }, { "quot", "\"" }, { "apos", "'" },
    { "nbsp", " " }, { "ndash", "\xe2\x80\x93" }, { "mdash", "\xe2\x80\x94" },
    { "hellip", "\xe2\x80\xa6" }, { "copy", "\xc2\xa9" }, { "euro", "\xe2\x82\xac" },
    { "laquo", "\xc2\xab" }, { "raquo", "\xc2\xbb" }, { "ldquo", "\xe2\x80\x9c" },
    { "rdquo", "\xe2\x80\x9d" }, { "lsquo", "\xe2\x80\x98" }, { "rsquo", "\xe2\x80\x99" } };

static void
s_raw (page_t *page, const char *text, size_t size)
{
    if (size > page->room - page->size - 1)
        size = page->room - page->size - 1;
    memcpy (page->data + page->size, text, size);
    page->size += size;
}

//  Text behind the line ends and blanks that are due.

static void
s_put (page_t *page, const char *text, size_t size)
{
    if (page->lines && page->size)
        s_raw (page, "\n\n", (size_t) page->lines);
    else if (page->blank && page->size && page->data[page->size - 1] != ' ')
        s_raw (page, " ", 1);
    page->lines = 0;
    page->blank = false;
    s_raw (page, text, size);
}

static void
s_end_line (page_t *page, int lines)
{
    page->lines = page->lines > lines ? page->lines : lines;
    page->blank = false;
}

static size_t
s_utf8 (uint32_t code, char out[4])
{
    if (code < 0x20 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        code = 0xFFFD;
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = size; i-- > 1; code >>= 6)
        out[i] = (char) (0x80 | (code & 0x3F));
    out[0] = (char) (unsigned char) (heads[size] | code);
    return size;
}

//  The entity at text, with its length in *ret_size; 0 = there is none.

static size_t
s_entity (const char *text, size_t size, char out[4])
{
    size_t end = 1;
    while (end < size && end < 12 && (isalnum ((unsigned char) text[end]) || text[end] == '#'))
        end++;
    if (end >= size || text[end] != ';')
        return 0;
    if (text[1] == '#') {
        bool hex = (text[2] | 32) == 'x';
        unsigned long code = strtoul (text + (hex ? 3 : 2), NULL, hex ? 16 : 10);
        return s_utf8 (code > 0x10FFFF ? 0 : (uint32_t) code, out) << 8 | (end + 1);
    }
    for (size_t i = 0; i < sizeof s_entities / sizeof *s_entities; i++)
        if (strlen (s_entities[i].name) == end - 1 &&
            memcmp (s_entities[i].name, text + 1, end - 1) == 0) {
            size_t length = strlen (s_entities[i].text);
            memcpy (out, s_entities[i].text, length);
            return length << 8 | (end + 1);
        }
    return 0;
}

//  One character of text; returns how many bytes of the page it was.

static size_t
s_char (page_t *page, const char *text, size_t size)
{
    char out[4];
    size_t entity = *text == '&' ? s_entity (text, size, out) : 0;
    if (entity) {
        s_put (page, out, entity >> 8);
        return entity & 0xFF;
    }
    if (isspace ((unsigned char) *text) && !page->pre)
        page->blank = true;
    else if (*text)
        s_put (page, text, 1);
    return 1;
}

//  ------------------------------------------------------------------------------------------------
//  Tags

//  The value of an attribute of the tag, without quotes.

static void
s_attribute (const char *tag, size_t size, const char *name, char *out, size_t out_size)
{
    size_t length = strlen (name);
    *out = '\0';
    for (size_t i = 1; i + length + 1 < size; i++) {
        if (!isspace ((unsigned char) tag[i - 1]) || strncasecmp (tag + i, name, length) != 0 ||
            tag[i + length] != '=')
            continue;
        const char *value = tag + i + length + 1, *end = tag + size;
        char quote = *value;
        bool quoted = quote == '"' || quote == '\'';
        value += quoted ? 1 : 0;
        size_t used = 0;
        while (value < end && (quoted ? *value != quote : !isspace ((unsigned char) *value)) &&
               used + 1 < out_size)
            out[used++] = *value++;
        out[used] = '\0';
        return;
    }
}

static void
s_link (page_t *page, bool closing, const char *tag, size_t size)
{
    if (closing && *page->link && page->size > page->link_at) {
        s_raw (page, "](", 2);
        s_raw (page, page->link, strlen (page->link));
        s_raw (page, ")", 1);
    }
    *page->link = '\0';
    if (closing)
        return;
    s_attribute (tag, size, "href", page->link, sizeof page->link);
    if (!*page->link)
        return;
    if (*page->link == '/' || strncmp (page->link, "http", 4) == 0) {
        s_put (page, "[", 1);
        page->link_at = page->size;
    }
    else
        *page->link = '\0';
}

//  Where the end of a hidden element is.

static size_t
s_skip (const char *html, size_t size, size_t at, const char *name)
{
    size_t length = strlen (name);
    for (; at + length + 2 < size; at++)
        if (html[at] == '<' && html[at + 1] == '/' &&
            strncasecmp (html + at + 2, name, length) == 0)
            return at;
    return size;
}

static void
s_tag (page_t *page, const char *name, bool closing, const char *tag, size_t size)
{
    if (strcmp (name, "a") == 0)
        s_link (page, closing, tag, size);
    else if (strcmp (name, "code") == 0 && !page->pre)
        s_put (page, "`", 1);
    else if (strcmp (name, "b") == 0 || strcmp (name, "strong") == 0)
        s_put (page, "**", 2);
    for (size_t i = 0; i < sizeof s_tags / sizeof *s_tags; i++) {
        if (strcmp (s_tags[i].name, name) != 0)
            continue;
        if (s_tags[i].lines)
            s_end_line (page, s_tags[i].lines);
        if (strcmp (name, "pre") == 0) {
            page->lines = closing ? 1 : page->lines;
            s_put (page, "```", 3);
            s_end_line (page, closing ? 2 : 1);
            page->pre = !closing;
        }
        else if (!closing && *s_tags[i].mark)
            s_put (page, s_tags[i].mark, strlen (s_tags[i].mark));
    }
}

//  The tag at `at`; returns where it ends.

static size_t
s_read_tag (page_t *page, const char *html, size_t size, size_t at)
{
    char name[NAME_SIZE];
    size_t used = 0, start = at + 1;
    if (size - at >= 4 && memcmp (html + at, "<!--", 4) == 0) {
        const char *end = memmem (html + at, size - at, "-->", 3);
        return end ? (size_t) (end - html) + 3 : size;
    }
    bool closing = start < size && html[start] == '/';
    start += closing ? 1 : 0;
    while (start + used < size && used < NAME_SIZE - 1 &&
           isalnum ((unsigned char) html[start + used])) {
        name[used] = (char) tolower ((unsigned char) html[start + used]);
        used++;
    }
    name[used] = '\0';
    const char *end = memchr (html + start, '>', size - start);
    if (!used && start < size && html[start] != '!' && html[start] != '?')
        return at + s_char (page, html + at, 1);
    size_t behind = end ? (size_t) (end - html) + 1 : size;
    for (size_t i = 0; i < sizeof s_hidden / sizeof *s_hidden && !closing; i++)
        if (strcmp (name, s_hidden[i]) == 0)
            return s_skip (html, size, behind, name);
    s_tag (page, name, closing, html + start, behind - start);
    return behind;
}

char *
argos_html_text (const char *html, size_t size)
{
    page_t page = { .room = 2 * size + 64 };
    page.data = malloc (page.room);
    if (!page.data)
        abort ();
    for (size_t at = 0; at < size;)
        at = html[at] == '<' ? s_read_tag (&page, html, size, at)
                             : at + s_char (&page, html + at, size - at);
    page.data[page.size] = '\0';
    return page.data;
}

char *
argos_html_title (const char *html, size_t size)
{
    size_t looked = size < 65536 ? size : 65536;
    for (size_t at = 0; at + 7 < looked; at++) {
        if (strncasecmp (html + at, "<title", 6) != 0)
            continue;
        const char *start = memchr (html + at, '>', looked - at);
        size_t from = start ? (size_t) (start - html) + 1 : looked;
        return argos_html_text (html + from, s_skip (html, looked, from, "title") - from);
    }
    return strdup ("");
}
