//  argos_store_page - a page of a transcript as text, straight from the columns.
//
//  Invariant: what comes out is what jansson would write for the same objects. A page has at most
//  `limit` bytes of texts, but at least one message. Texts are not parsed: loads are most of what
//  the store is asked for, and their answer goes to another thread as bytes anyway.

#include "argos_store_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 65536 //  Bytes of the buffer at first

typedef argos_store_page_t page_t;

static void
s_grow (page_t *self, size_t more)
{
    self->room = 2 * self->room + more + ROOM;
    self->data = realloc (self->data, self->room);
    if (!self->data)
        abort ();
}

static inline void
s_reserve (page_t *self, size_t more)
{
    if (self->size + more > self->room)
        s_grow (self, more);
}

//  Inline, so that a literal becomes a few stores.

static inline void
s_put (page_t *self, const char *text, size_t size)
{
    s_reserve (self, size);
    memcpy (self->data + self->size, text, size);
    self->size += size;
}

#define PUT(self, literal) s_put (self, literal, sizeof (literal) - 1)

static void
s_put_number (page_t *self, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    for (; number > 0 || at == sizeof digits; number /= 10)
        digits[--at] = (char) ('0' + number % 10);
    s_put (self, digits + at, sizeof digits - at);
}

#define BLOCK 32 //  Bytes that are looked at together

static inline bool
s_special (char byte)
{
    return (unsigned char) byte < 0x20 || byte == '"' || byte == '\\';
}

//  Whether no byte of a block needs an escape; written so that the compiler can take many at once.

static bool
s_plain_block (const char *text)
{
    unsigned char special = 0;
    for (int i = 0; i < BLOCK; i++) {
        unsigned char byte = (unsigned char) text[i];
        special |= (unsigned char) ((byte < 0x20) | (byte == '"') | (byte == '\\'));
    }
    return !special;
}

static void
s_put_escape (page_t *self, unsigned char byte)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = byte ? strchr (from, byte) : NULL;
    s_reserve (self, 8);
    self->data[self->size++] = '\\';
    if (found)
        self->data[self->size++] = to[found - from];
    else
        self->size += (size_t) snprintf (self->data + self->size, 7, "u%04X", byte);
}

//  How many bytes from text on need no escape.

static size_t
s_plain (const char *text, size_t size)
{
    size_t at = 0;
    while (size - at >= BLOCK && s_plain_block (text + at))
        at += BLOCK;
    if (size > BLOCK && size - at < BLOCK && s_plain_block (text + size - BLOCK))
        return size;
    while (at < size && !s_special (text[at]))
        at++;
    return at;
}

static void
s_put_string (page_t *self, const char *text, size_t size)
{
    s_reserve (self, size + 16);
    PUT (self, "\"");
    for (size_t at = 0; at < size; at++) {
        size_t plain = s_plain (text + at, size - at);
        s_put (self, text + at, plain);
        at += plain;
        if (at < size)
            s_put_escape (self, (unsigned char) text[at]);
    }
    PUT (self, "\"");
}

//  Returns the bytes of the text.

static size_t
s_put_column (page_t *self, argos_sql_row_t *stmt, int column, const char *name)
{
    const char *text = argos_sql_text (stmt, column);
    if (!text)
        return 0;
    size_t size = argos_sql_size (stmt, column);
    s_put (self, name, strlen (name));
    s_put_string (self, text, size);
    return size;
}

static void
s_put_flag (page_t *self, const char *name, int is)
{
    s_put (self, name, strlen (name));
    s_put (self, is ? "true" : "false", is ? 4 : 5);
}

//  The other members of a message. What can't be read is left out, and what would be there twice.

static void
s_put_extra (argos_store_t *store, page_t *self, const char *extra)
{
    argos_sql_row_t *stmt = argos_store_query (store, ARGOS_SQL_MESSAGE_EXTRA, "s", extra);
    const char *text = stmt ? argos_sql_text (stmt, 0) : NULL;
    size_t size = text ? argos_sql_size (stmt, 0) : 0;
    if (size > 2) {
        PUT (self, ",");
        s_put (self, text + 1, size - 2);
    }
    argos_store_end (store, ARGOS_SQL_MESSAGE_EXTRA);
}

//  One message. Returns its bytes as they count for the limit.

static size_t
s_put_message (argos_store_t *store, page_t *self, argos_sql_row_t *stmt, bool inactive)
{
    PUT (self, "{\"id\":");
    s_put_number (self, argos_sql_int (stmt, 0));
    s_put_column (self, stmt, 1, ",\"role\":");
    size_t size = s_put_column (self, stmt, 2, ",\"content\":");
    const char *extra = argos_sql_text (stmt, 3);
    if (extra) {
        size += argos_sql_size (stmt, 3);
        s_put_extra (store, self, extra);
    }
    if (inactive) {
        PUT (self, ",\"at\":");
        s_put_number (self, argos_sql_int (stmt, 4));
        s_put_flag (self, ",\"active\":", (int) argos_sql_int (stmt, 5));
        s_put_flag (self, ",\"compacted\":", (int) argos_sql_int (stmt, 6));
        if (argos_sql_int (stmt, 7)) {
            PUT (self, ",\"rewound\":");
            s_put_number (self, argos_sql_int (stmt, 7));
        }
    }
    PUT (self, "}");
    return size + 64;
}

argos_frame_t *
argos_store_page (argos_store_t *self, argos_sql_row_t *stmt, bool inactive, size_t limit)
{
    page_t *page = &self->page;
    size_t bytes = 0;
    bool more = false;
    page->size = 0;
    PUT (page, "{\"messages\":[");
    for (size_t count = 0; stmt && !more; count++) {
        size_t before = page->size;
        if (count)
            PUT (page, ",");
        bytes += s_put_message (self, page, stmt, inactive);
        more = bytes > limit && count > 0;
        if (more)
            page->size = before;
        if (!argos_store_next (self, stmt))
            break;
    }
    if (more)
        PUT (page, "],\"more\":true}");
    else
        PUT (page, "],\"more\":false}");
    return argos_frame_new (page->data, page->size);
}
