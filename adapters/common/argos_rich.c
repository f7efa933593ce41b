//  argos_rich - the callbacks of md4c: blocks and spans become a layout.
//
//  Invariant: what is opened is closed, since the parser does both; newlines stand between blocks
//  only, never at the start or the end. Limit: 8 MiB of text.

#include "argos_rich.h"

#include "argos_rich_priv.h"
#include "argos_splitter.h"

#include <md4c.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t) 8 << 20)

//  An attribute of the parser as a string, or NULL when it is empty
static char *
s_attribute (const MD_ATTRIBUTE *attribute)
{
    argos_text_t text;
    argos_text_init (&text, 4096);
    for (size_t part = 0; attribute->text && attribute->substr_offsets[part] < attribute->size;
         part++) {
        const char *data = attribute->text + attribute->substr_offsets[part];
        size_t size = attribute->substr_offsets[part + 1] - attribute->substr_offsets[part];
        if (attribute->substr_types[part] == MD_TEXT_ENTITY)
            argos_layout_decode (&text, data, size);
        else
            argos_text_add (&text, data, size);
    }
    return text.data;
}

static void
s_item (argos_layout_t *self, const MD_BLOCK_LI_DETAIL *item)
{
    if (self->list_depth == 0 || self->list_depth > ARGOS_RICH_DEPTH)
        return;
    argos_rich_list_t *list = &self->lists[self->list_depth - 1];
    self->marker[0] = '\0';
    argos_layout_break (self, 1);
    int indent = (int) (self->list_depth - 1) * 2;
    indent = indent > 24 ? 24 : indent;
    if (item->is_task)
        snprintf (self->marker, sizeof self->marker, "%*s%s ", indent, "",
            item->task_mark == ' ' ? "☐" : "☑");
    else if (list->ordered)
        snprintf (self->marker, sizeof self->marker, "%*s%u. ", indent, "", list->next++);
    else
        snprintf (self->marker, sizeof self->marker, "%*s• ", indent, "");
}

static void
s_list (argos_layout_t *self, bool ordered, unsigned start)
{
    if (self->marker[0])
        argos_layout_flush (self);
    argos_layout_break (self, self->list_depth ? 1 : 2);
    if (self->list_depth < ARGOS_RICH_DEPTH)
        self->lists[self->list_depth] = (argos_rich_list_t){ .ordered = ordered, .next = start };
    self->list_depth++;
}

static void
s_table (argos_layout_t *self)
{
    argos_layout_break (self, 2);
    const argos_table_t *table = &self->table;
    argos_layout_flush (self);
    size_t from = self->text.size;
    if (argos_table_width (table) <= self->table_width) {
        argos_table_block (table, &self->text);
        argos_layout_span (self, ARGOS_SPAN_PRE, from, self->text.size, NULL);
    }
    else {
        for (size_t row = 1; row < table->count / table->columns; row++) {
            size_t first = 0;
            argos_text_add (&self->text, "\n\n", row > 1 ? 2 : 0);
            from = self->text.size;
            argos_table_item (table, row, &self->text, &first);
            argos_layout_span (self, ARGOS_SPAN_BOLD, from, from + first, NULL);
        }
    }
    argos_table_clear (&self->table);
    argos_layout_break (self, 2);
}

static int
s_enter_block (MD_BLOCKTYPE type, void *detail, void *arg)
{
    argos_layout_t *self = (argos_layout_t *) arg;
    size_t apart = self->list_depth ? 1 : 2;
    switch (type) {
    case MD_BLOCK_QUOTE:
        argos_layout_break (self, apart);
        argos_layout_open (self, ARGOS_SPAN_QUOTE, NULL);
        break;
    case MD_BLOCK_UL:
        s_list (self, false, 0);
        break;
    case MD_BLOCK_OL:
        s_list (self, true, ((const MD_BLOCK_OL_DETAIL *) detail)->start);
        break;
    case MD_BLOCK_LI:
        s_item (self, (const MD_BLOCK_LI_DETAIL *) detail);
        break;
    case MD_BLOCK_HR:
        argos_layout_break (self, apart);
        argos_layout_add (self, "———", strlen ("———"));
        argos_layout_break (self, apart);
        break;
    case MD_BLOCK_H:
        argos_layout_break (self, apart);
        argos_layout_open (self, ARGOS_SPAN_BOLD, NULL);
        break;
    case MD_BLOCK_CODE:
        argos_layout_break (self, apart);
        if (self->marker[0])
            argos_layout_flush (self);
        argos_layout_open (
            self, ARGOS_SPAN_PRE, s_attribute (&((const MD_BLOCK_CODE_DETAIL *) detail)->lang));
        self->in_code = true;
        break;
    case MD_BLOCK_P:
        argos_layout_break (self, apart);
        break;
    case MD_BLOCK_TABLE:
        argos_table_clear (&self->table);
        self->table.columns = ((const MD_BLOCK_TABLE_DETAIL *) detail)->col_count;
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        self->in_cell = true;
        argos_text_reset (&self->cell);
        break;
    default:
        break;
    }
    return 0;
}

static void
s_leave_code (argos_layout_t *self)
{
    if (self->text.size && self->text.data[self->text.size - 1] == '\n')
        self->text.data[--self->text.size] = '\0';
    argos_layout_close (self);
    self->in_code = false;
}

static int
s_leave_block (MD_BLOCKTYPE type, void *detail, void *arg)
{
    (void) detail;
    argos_layout_t *self = (argos_layout_t *) arg;
    switch (type) {
    case MD_BLOCK_QUOTE:
    case MD_BLOCK_H:
        argos_layout_close (self);
        break;
    case MD_BLOCK_CODE:
        s_leave_code (self);
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        self->list_depth--;
        break;
    case MD_BLOCK_LI:
        if (self->marker[0])
            argos_layout_flush (self);
        argos_layout_break (self, 1);
        return 0;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        self->in_cell = false;
        argos_table_add (&self->table, argos_text_str (&self->cell));
        return 0;
    case MD_BLOCK_TABLE:
        s_table (self);
        return 0;
    case MD_BLOCK_P:
        break;
    default:
        return 0;
    }
    argos_layout_break (self, self->list_depth ? 1 : 2);
    return 0;
}

static int
s_enter_span (MD_SPANTYPE type, void *detail, void *arg)
{
    static const argos_span_kind_t kinds[] = { [MD_SPAN_EM] = ARGOS_SPAN_ITALIC,
        [MD_SPAN_STRONG] = ARGOS_SPAN_BOLD,
        [MD_SPAN_A] = ARGOS_SPAN_LINK,
        [MD_SPAN_IMG] = ARGOS_SPAN_LINK,
        [MD_SPAN_CODE] = ARGOS_SPAN_CODE,
        [MD_SPAN_DEL] = ARGOS_SPAN_STRIKE };
    argos_layout_t *self = (argos_layout_t *) arg;
    if (self->in_cell || type > MD_SPAN_DEL)
        return 0;
    char *target = NULL;
    if (type == MD_SPAN_A)
        target = s_attribute (&((const MD_SPAN_A_DETAIL *) detail)->href);
    else if (type == MD_SPAN_IMG)
        target = s_attribute (&((const MD_SPAN_IMG_DETAIL *) detail)->src);
    argos_layout_flush (self);
    argos_layout_open (self, kinds[type], target);
    argos_layout_flush (self);
    return 0;
}

//  An address that a platform opens
static bool
s_opens (const char *address)
{
    return strncasecmp (address, "http://", 7) == 0 || strncasecmp (address, "https://", 8) == 0 ||
           strncasecmp (address, "tg://", 5) == 0;
}

//  A link that says its own address is text; one that nothing opens has it behind its text
static void
s_leave_link (argos_layout_t *self)
{
    argos_span_t *span = self->depth ? &self->stack[self->depth - 1] : NULL;
    char *address = span ? span->arg : NULL;
    if (!span || self->beyond || span->kind != ARGOS_SPAN_LINK || !address) {
        argos_layout_close (self);
        return;
    }
    size_t length = strlen (address);
    if (self->text.size == span->from)
        argos_layout_add (self, address, length);
    size_t size = self->text.size - span->from;
    bool same = size <= length &&
                memcmp (address + length - size, self->text.data + span->from, size) == 0 &&
                (size == length || strncmp (address, "mailto:", 7) == 0);
    if (same || !s_opens (address) || length > 1024) {
        span->kind = ARGOS_SPAN_KINDS;
        if (!same && address[0] != '#') {
            argos_layout_add (self, " (", 2);
            argos_layout_add (self, address, length);
            argos_layout_add (self, ")", 1);
        }
    }
    argos_layout_close (self);
}

static int
s_leave_span (MD_SPANTYPE type, void *detail, void *arg)
{
    (void) detail;
    argos_layout_t *self = (argos_layout_t *) arg;
    if (self->in_cell || type > MD_SPAN_DEL)
        return 0;
    if (type == MD_SPAN_A || type == MD_SPAN_IMG)
        s_leave_link (self);
    else
        argos_layout_close (self);
    return 0;
}

static int
s_text (MD_TEXTTYPE type, const MD_CHAR *data, MD_SIZE size, void *arg)
{
    argos_layout_t *self = (argos_layout_t *) arg;
    switch (type) {
    case MD_TEXT_NULLCHAR:
        argos_layout_add (self, "\xEF\xBF\xBD", 3);
        break;
    case MD_TEXT_BR:
    case MD_TEXT_SOFTBR:
        argos_layout_add (self, "\n", 1);
        break;
    case MD_TEXT_ENTITY:
        argos_layout_entity (self, data, size);
        break;
    case MD_TEXT_NORMAL:
        argos_layout_words (self, data, size);
        break;
    default:
        argos_layout_add (self, data, size);
        break;
    }
    return 0;
}

//  What the parser reads otherwise than people mean it: a line of four or more asterisks is text,
//  no rule; the line below the header of a table may have fewer than three dashes in a cell
static void
s_prepare_line (argos_text_t *text, const char *line, size_t size)
{
    size_t stars = strspn (line, "*");
    if (stars >= 4 && stars >= size)
        argos_text_add (text, "\\", 1);
    bool rule = argos_table_is_rule (line, size);
    for (size_t at = 0; at < size; at++) {
        bool last = line[at] == '-' && (at + 1 == size || line[at + 1] != '-');
        argos_text_add (text, "---", rule && last ? 3 : 0);
        argos_text_add (text, line + at, 1);
    }
}

static char *
s_prepare (const char *markdown)
{
    argos_text_t text;
    argos_text_init (&text, TEXT_MAX);
    size_t size = strlen (markdown);
    size_t count = 0;
    size_t fence = 0;
    argos_fence_t *fences = argos_splitter_fences (markdown, size, &count);
    for (size_t at = 0; at < size;) {
        size_t end = at + strcspn (markdown + at, "\n");
        if (fence < count && at >= fences[fence].open) {
            end = fences[fence++].end;
            argos_text_add (&text, markdown + at, end - at);
        }
        else {
            s_prepare_line (&text, markdown + at, end - at);
        }
        argos_text_add (&text, "\n", end < size ? 1 : 0);
        at = end + 1;
    }
    free (fences);
    return text.data;
}

argos_rich_t
argos_rich_new (const char *markdown, size_t table_width)
{
    static const MD_PARSER parser = { .flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH |
                                               MD_FLAG_TASKLISTS | MD_FLAG_NOHTML,
        .enter_block = s_enter_block,
        .leave_block = s_leave_block,
        .enter_span = s_enter_span,
        .leave_span = s_leave_span,
        .text = s_text };
    argos_layout_t layout = { .spoiler = SIZE_MAX, .table_width = table_width };
    argos_text_init (&layout.text, TEXT_MAX);
    argos_text_init (&layout.cell, TEXT_MAX);
    char *source = s_prepare (markdown);
    size_t size = source ? strlen (source) : 0;
    if (size && md_parse (source, (MD_SIZE) size, &parser, &layout) != 0) {
        //  Only without memory
        abort ();
    }
    free (source);
    argos_layout_finish (&layout);
    argos_text_clear (&layout.cell);
    argos_table_clear (&layout.table);
    return layout.rich;
}

void
argos_rich_clear (argos_rich_t *self)
{
    if (!self)
        return;
    for (size_t at = 0; at < self->count; at++)
        free (self->spans[at].arg);
    free (self->spans);
    free (self->text);
    *self = (argos_rich_t){ 0 };
}
