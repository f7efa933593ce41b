//  argos_text - a growing byte buffer with a hard limit, and UTF-8 cleaning.
//
//  Invariant: size <= max, and data[size] is NUL whenever data is not NULL. Memory grows by
//  doubling, so an append costs constant time on average. Out of memory is a bug of the host:
//  abort.

#include "argos_text.h"

#include <stdlib.h>
#include <string.h>

static const char s_replacement[] = "\xEF\xBF\xBD"; //  U+FFFD

void
argos_text_init (argos_text_t *self, size_t max)
{
    *self = (argos_text_t){ .max = max };
}

void
argos_text_clear (argos_text_t *self)
{
    if (!self)
        return;
    free (self->data);
    self->data = NULL;
    self->size = self->room = 0;
}

void
argos_text_reset (argos_text_t *self)
{
    self->size = 0;
    if (self->data)
        self->data[0] = 0;
}

static void
s_reserve (argos_text_t *self, size_t size)
{
    if (size + 1 <= self->room)
        return;
    size_t room = self->room ? self->room : 64;
    while (room < size + 1)
        room *= 2;
    char *data = (char *) realloc (self->data, room);
    if (!data)
        abort ();
    self->data = data;
    self->room = room;
}

int
argos_text_add (argos_text_t *self, const void *data, size_t size)
{
    if (size > self->max - self->size)
        return -1;
    s_reserve (self, self->size + size);
    if (size)
        memcpy (self->data + self->size, data, size);
    self->size += size;
    self->data[self->size] = 0;
    return 0;
}

const char *
argos_text_str (const argos_text_t *self)
{
    return self->data ? self->data : "";
}

void
argos_text_shift (argos_text_t *self, size_t count)
{
    if (!count || count > self->size)
        return;
    memmove (self->data, self->data + count, self->size - count + 1);
    self->size -= count;
}

size_t
argos_utf8_cut (const char *data, size_t size, size_t limit)
{
    if (size <= limit)
        return size;
    while (limit && ((unsigned char) data[limit] & 0xC0) == 0x80)
        limit--;
    return limit;
}

size_t
argos_utf8_add (argos_text_t *target, const char *data, size_t size)
{
    size_t before = target->size, at = 0;
    while (at < size) {
        size_t run = at; //  The longest good stretch is appended at once
        size_t length = 0;
        while (run < size && data[run] &&
               (length = argos_utf8_length ((const unsigned char *) data + run, size - run)) != 0 &&
               run + length - at <= target->max - target->size)
            run += length;
        if (run > at && argos_text_add (target, data + at, run - at) < 0)
            break;
        at = run;
        if (at >= size)
            break;
        bool good =
            data[at] && argos_utf8_length ((const unsigned char *) data + at, size - at) != 0;
        if (good || argos_text_add (target, s_replacement, 3) < 0)
            break; //  The limit
        at++;
    }
    return target->size - before;
}
