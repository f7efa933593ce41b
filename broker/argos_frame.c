//  argos_frame - pieces of messages with a counter.
//
//  Invariant: refs is the number of owners; the last one to let go calls free_fn. Struct and bytes
//  of a copy are one allocation. Not for use by two threads.

#include "argos_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void
s_free (argos_frame_t *self)
{
    free (self);
}

argos_frame_t *
argos_frame_new (const void *data, size_t size)
{
    argos_frame_t *self = malloc (sizeof *self + size);
    if (!self)
        abort ();
    void *bytes = self + 1;
    if (size)
        memcpy (bytes, data, size);
    self->data = bytes;
    self->size = size;
    self->refs = 1;
    self->free_fn = s_free;
    return self;
}

argos_frame_t *
argos_frame_ref (argos_frame_t *self)
{
    if (self)
        self->refs++;
    return self;
}

void
argos_frame_unref (argos_frame_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_frame_t *self = *self_p;
    *self_p = NULL;
    assert (self->refs > 0);
    if (--self->refs == 0)
        self->free_fn (self);
}
