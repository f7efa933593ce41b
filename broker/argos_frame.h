//  argos_frame - one immutable piece of a message, reference-counted, of one thread.
//
//  The pure core and the store see bytes only; who made the frame says how it is freed, so that a
//  socket's message can be passed on without a copy. The counter is not atomic: a frame never
//  leaves its thread.

#ifndef ARGOS_FRAME_H
#define ARGOS_FRAME_H

#include <stddef.h>
#include <stdint.h>

typedef struct argos_frame argos_frame_t;

struct argos_frame {
    const void *data;                  //  The bytes; not terminated
    size_t size;                       //  How many
    uint32_t refs;                     //  Owners
    void (*free_fn) (argos_frame_t *); //  Frees the whole thing when the last owner lets go
};

//  A new frame with a copy of size bytes; the caller's. Aborts when memory is out.
argos_frame_t *argos_frame_new (const void *data, size_t size);

//  One more owner of the same frame; returns it. NULL stays NULL.
argos_frame_t *argos_frame_ref (argos_frame_t *self);

//  Let go; NULL and *self_p == NULL are fine.
void argos_frame_unref (argos_frame_t **self_p);

#endif
