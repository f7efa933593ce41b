//  argos_peer_code - turns messages into frames.
//
//  Invariant: a header that leaves here has been read back by argos_header_read, so the broker will
//  accept its form. Limits: those of argos_header.h; the first one that is passed is kept in `code`
//  and nothing more is added.

#include "argos_peer_priv.h"

#include "argos_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  A header being written

typedef struct {
    char data[ARGOS_HEADER_MAX]; //  Not terminated
    size_t size;                 //  Bytes, counted on beyond the maximum
} header_text_t;

static void
s_raw (header_text_t *text, const char *data, size_t size)
{
    if (text->size + size <= sizeof text->data)
        memcpy (text->data + text->size, data, size);
    text->size += size;
}

static void
s_member (header_text_t *text, const char *name)
{
    s_raw (text, text->size > 1 ? ",\"" : "\"", text->size > 1 ? 2 : 1);
    s_raw (text, name, strlen (name));
    s_raw (text, "\":", 2);
}

//  A string with what JSON asks to be escaped; an absent or empty one is left out

static void
s_string (header_text_t *text, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    s_member (text, name);
    s_raw (text, "\"", 1);
    for (; *value; value++) {
        unsigned char c = (unsigned char) *value;
        char escaped[8];
        if (c == '"' || c == '\\') {
            escaped[0] = '\\';
            escaped[1] = (char) c;
            s_raw (text, escaped, 2);
        }
        else if (c < 0x20) {
            snprintf (escaped, sizeof escaped, "\\u%04x", c);
            s_raw (text, escaped, 6);
        }
        else
            s_raw (text, value, 1);
    }
    s_raw (text, "\"", 1);
}

static void
s_number (header_text_t *text, int64_t value)
{
    char digits[24];
    int size = snprintf (digits, sizeof digits, "%lld", (long long) value);
    s_raw (text, digits, (size_t) size);
}

static void
s_int (header_text_t *text, const char *name, int64_t value, int64_t none)
{
    if (value == none)
        return;
    s_member (text, name);
    s_number (text, value);
}

static void
s_flag (header_text_t *text, const char *name, bool value)
{
    if (!value)
        return;
    s_member (text, name);
    s_raw (text, "true", 4);
}

static void
s_take (header_text_t *text, const peer_head_t *head)
{
    if (head->take_count == 0)
        return;
    s_member (text, "take");
    for (size_t i = 0; i < head->take_count; i++) {
        s_raw (text, i ? "," : "[", 1);
        s_number (text, head->take[i]);
    }
    s_raw (text, "]", 1);
}

//  The members of an application message

static void
s_part (header_text_t *text, const argos_peer_part_t *part, bool durable)
{
    s_string (text, "key", part->key);
    s_string (text, "re", part->re);
    s_flag (text, "durable", part->durable || durable);
    s_flag (text, "side", part->side);
    s_flag (text, "urgent", part->urgent);
    s_flag (text, "keyframe", part->keyframe);
    s_flag (text, "last", part->last);
    s_int (text, "ttl_ms", part->ttl_ms, 0);
    s_int (text, "not_before", part->not_before, 0);
}

void
argos_code_head (peer_code_t *self, const peer_head_t *head)
{
    header_text_t text;
    argos_header_t check;
    text.size = 0;
    s_raw (&text, "{", 1);
    s_string (&text, "type", head->part ? head->part->type : head->type);
    s_string (&text, "id", head->id);
    s_string (&text, "to", head->part ? head->part->to : head->to);
    if (head->part)
        s_part (&text, head->part, head->durable);
    s_int (&text, "seq", head->seq, 0);
    s_int (&text, "lease", head->lease, 0);
    s_int (&text, "n", head->n, 0);
    s_int (&text, "seen", head->seen, -1);
    s_take (&text, head);
    s_raw (&text, "}", 1);
    if (self->code == ARGOS_OK)
        self->code = text.size > sizeof text.data
                         ? ARGOS_TOO_BIG
                         : argos_header_read (text.data, text.size, &check, NULL);
    argos_code_raw (self, text.data, text.size);
}

static int
s_reserve (peer_code_t *self, size_t size)
{
    if (self->size + size <= self->room)
        return 0;
    size_t room = self->room ? self->room * 2 : 1024;
    while (room < self->size + size)
        room *= 2;
    char *data = realloc (self->data, room);
    if (!data)
        return -1;
    self->data = data;
    self->room = room;
    return 0;
}

//  Adds bytes to the frame that has been begun at sizes[frame_count]

static int
s_append (peer_code_t *self, const void *data, size_t size)
{
    uint32_t *frame = &self->sizes[self->frame_count];
    if (size > ARGOS_PART_MAX - *frame) {
        self->code = ARGOS_TOO_BIG;
        return -1;
    }
    if (s_reserve (self, size) != 0) {
        self->code = ARGOS_BUSY;
        return -1;
    }
    if (size > 0)
        memcpy (self->data + self->size, data, size);
    self->size += size;
    *frame += (uint32_t) size;
    return 0;
}

void
argos_code_raw (peer_code_t *self, const void *data, size_t size)
{
    if (self->code != ARGOS_OK)
        return;
    self->sizes[self->frame_count] = 0;
    if (s_append (self, data, size) == 0)
        self->frame_count++;
}

static int
s_dump (const char *data, size_t size, void *arg)
{
    return s_append ((peer_code_t *) arg, data, size);
}

void
argos_code_body (peer_code_t *self, const json_t *body)
{
    if (self->code != ARGOS_OK)
        return;
    self->sizes[self->frame_count] = 0;
    if (!body || (json_is_object (body) && json_object_size (body) == 0)) {
        self->frame_count++;
        return;
    }
    if (!json_is_object (body) || argos_json_dump (body, s_dump, self) != 0) {
        if (self->code == ARGOS_OK)
            self->code = ARGOS_INVALID;
        return;
    }
    self->frame_count++;
}

void
argos_code_term (peer_code_t *self)
{
    free (self->data);
    self->data = NULL;
}
