//  argos_store_page - a page of a transcript as text, straight from the columns.
//
//  Invariant: what comes out is what jansson would write for the same objects. A page has at most
//  `limit` bytes of texts, but at least one message. Nothing is parsed: loads are most of what the
//  store is asked for, and their answer goes to another thread as bytes anyway.

#include "argos_store_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 4096 //  Bytes of a page at first

typedef struct {
    char *data;  //  The text so far
    size_t size; //  Its bytes
    size_t room; //  Allocated
} page_t;

static void
s_reserve (page_t *self, size_t more)
{
    if (self->size + more <= self->room)
        return;
    self->room = 2 * self->room + more;
    self->data = realloc (self->data, self->room);
    if (!self->data)
        abort ();
}

static void
s_put (page_t *self, const char *text, size_t size)
{
    s_reserve (self, size);
    memcpy (self->data + self->size, text, size);
    self->size += size;
}

//  Whether one of the eight bytes is a quote, a backslash or a control character.

static bool
s_special (const char *text)
{
    const uint64_t ones = UINT64_C (0x0101010101010101), tops = ones * 0x80;
    uint64_t bytes;
    memcpy (&bytes, text, sizeof bytes);
    uint64_t quotes = bytes ^ (ones * '"'), slashes = bytes ^ (ones * '\\');
    //  The usual test for a byte below n; it may be wrong above the first such byte, never below
    return (((bytes - ones * 0x20) & ~bytes) | ((quotes - ones) & ~quotes) |
               ((slashes - ones) & ~slashes)) &
           tops;
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

static void
s_put_string (page_t *self, const char *text, size_t size)
{
    size_t start = 0, at = 0;
    s_reserve (self, size + 16);
    s_put (self, "\"", 1);
    while (at < size) {
        if (size - at >= 8 && !s_special (text + at)) {
            at += 8;
            continue;
        }
        unsigned char byte = (unsigned char) text[at];
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            s_put (self, text + start, at - start);
            s_put_escape (self, byte);
            start = at + 1;
        }
        at++;
    }
    s_put (self, text + start, size - start);
    s_put (self, "\"", 1);
}

static void
s_put_column (page_t *self, sqlite3_stmt *stmt, int column, const char *name)
{
    const char *text = (const char *) sqlite3_column_text (stmt, column);
    if (!text)
        return;
    s_put (self, name, strlen (name));
    s_put_string (self, text, (size_t) sqlite3_column_bytes (stmt, column));
}

//  One message. Returns its bytes as they count for the limit.

static size_t
s_put_message (page_t *self, sqlite3_stmt *stmt, bool inactive)
{
    char number[96];
    int size = snprintf (
        number, sizeof number, "{\"id\":%" PRId64, (int64_t) sqlite3_column_int64 (stmt, 0));
    s_put (self, number, (size_t) size);
    s_put_column (self, stmt, 1, ",\"role\":");
    s_put_column (self, stmt, 2, ",\"content\":");
    const char *extra = (const char *) sqlite3_column_text (stmt, 3);
    size_t extra_size = (size_t) sqlite3_column_bytes (stmt, 3);
    if (extra && extra_size > 2) {
        s_put (self, ",", 1);
        s_put (self, extra + 1, extra_size - 2);
    }
    if (inactive) {
        size =
            snprintf (number, sizeof number, ",\"at\":%" PRId64 ",\"active\":%s,\"compacted\":%s",
                (int64_t) sqlite3_column_int64 (stmt, 4),
                sqlite3_column_int (stmt, 5) ? "true" : "false",
                sqlite3_column_int (stmt, 6) ? "true" : "false");
        s_put (self, number, (size_t) size);
    }
    s_put (self, "}", 1);
    return (size_t) sqlite3_column_bytes (stmt, 2) + extra_size + 64;
}

char *
argos_store_page (
    argos_store_t *self, sqlite3_stmt *stmt, bool inactive, size_t limit, size_t *ret_size)
{
    page_t page = { .data = malloc (ROOM), .room = ROOM };
    size_t bytes = 0;
    bool more = false;
    if (!page.data)
        abort ();
    s_put (&page, "{\"messages\":[", 13);
    for (size_t count = 0; stmt && !more; count++) {
        size_t before = page.size;
        if (count)
            s_put (&page, ",", 1);
        bytes += s_put_message (&page, stmt, inactive);
        more = bytes > limit && count > 0;
        if (more)
            page.size = before;
        if (!argos_store_next (self, stmt))
            break;
    }
    const char *end = more ? "],\"more\":true}" : "],\"more\":false}";
    s_put (&page, end, strlen (end));
    *ret_size = page.size;
    return page.data;
}
