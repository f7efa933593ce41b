//  argos_storage - making and freeing of requests and answers.
//
//  Invariant: an array pointer is NULL exactly when its count is 0; each frame in a part is an
//  owned reference. Memory out aborts.

#include "argos_storage.h"

#include <stdlib.h>

static void *
s_alloc (size_t count, size_t size)
{
    void *memory = calloc (count, size);
    if (!memory)
        abort ();
    return memory;
}

static void
s_free_parts (argos_storage_part_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        argos_frame_unref (&parts[i].header);
        argos_frame_unref (&parts[i].body);
    }
    free (parts);
}

argos_storage_req_t *
argos_storage_req_new (argos_storage_op_t op, size_t part_count)
{
    argos_storage_req_t *self = s_alloc (1, sizeof *self);
    self->op = op;
    self->part_count = part_count;
    if (part_count)
        self->parts = s_alloc (part_count, sizeof *self->parts);
    return self;
}

void
argos_storage_req_destroy (argos_storage_req_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_storage_req_t *self = *self_p;
    s_free_parts (self->parts, self->part_count);
    free (self->pairs);
    free (self);
    *self_p = NULL;
}

argos_storage_ans_t *
argos_storage_ans_new (const argos_storage_req_t *req)
{
    argos_storage_ans_t *self = s_alloc (1, sizeof *self);
    self->op = req->op;
    self->tag = req->tag;
    self->seq = req->seq;
    self->lease = req->lease;
    self->part = -1;
    if (req->op == ARGOS_ST_COMMIT && req->part_count) {
        self->part_count = req->part_count;
        self->parts = s_alloc (self->part_count, sizeof *self->parts);
    }
    return self;
}

void
argos_storage_ans_destroy (argos_storage_ans_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_storage_ans_t *self = *self_p;
    s_free_parts (self->parts, self->part_count);
    free (self->pairs);
    free (self->gone);
    free (self->freed);
    free (self->rows);
    free (self);
    *self_p = NULL;
}
