//  argos_paste - tells what is pasted from what is typed, in the bytes of a terminal.
//
//  Invariant: `mark` is a start of the mark that is looked for; a byte that does not go on with it
//  sets all of it free. So an escape alone waits for the next key, as it does in an editor. Line
//  ends of a paste (CR, CR LF) become newlines, other control characters are left out. Limits:
//  PASTE_MAX bytes of a paste.

#include "argos_paste.h"

#include <stdlib.h>
#include <string.h>

static void
s_keep (argos_paste_t *self, char byte)
{
    bool second = byte == '\n' && self->after_cr;
    self->after_cr = byte == '\r';
    if (second)
        return; //  CR LF is one line end
    bool control = (unsigned char) byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r';
    if (control || byte == 0x7f)
        return; //  Nothing that a person could have meant
    if (byte == '\r')
        byte = '\n';
    if (!self->text && !(self->text = malloc (PASTE_MAX)))
        abort ();
    if (self->size == PASTE_MAX)
        self->too_big = true;
    else
        self->text[self->size++] = byte;
}

static argos_paste_event_t
s_inside (argos_paste_t *self, char byte)
{
    static const char end[] = "\033[201~";
    if (byte != end[self->marked]) {
        for (size_t i = 0; i < self->marked; i++)
            s_keep (self, self->mark[i]);
        self->marked = 0;
    }
    if (byte != end[self->marked]) {
        s_keep (self, byte);
        return ARGOS_PASTE_NONE;
    }
    self->mark[self->marked++] = byte;
    if (end[self->marked])
        return ARGOS_PASTE_NONE;
    self->marked = 0;
    self->inside = false;
    return ARGOS_PASTE_END;
}

argos_paste_event_t
argos_paste_feed (argos_paste_t *self, char byte, char ret_typed[static 8], size_t *ret_size)
{
    static const char begin[] = "\033[200~";
    if (self->inside)
        return s_inside (self, byte);
    *ret_size = 0;
    if (byte == begin[self->marked]) {
        self->mark[self->marked++] = byte;
        if (begin[self->marked])
            return ARGOS_PASTE_NONE;
        *self = (argos_paste_t){ .inside = true, .text = self->text };
        return ARGOS_PASTE_NONE;
    }
    memcpy (ret_typed, self->mark, self->marked);
    *ret_size = self->marked;
    self->marked = 0;
    if (byte == begin[0])
        self->mark[self->marked++] = byte;
    else
        ret_typed[(*ret_size)++] = byte;
    return ARGOS_PASTE_TYPED;
}

void
argos_paste_clear (argos_paste_t *self)
{
    free (self->text);
    *self = (argos_paste_t){ 0 };
}
