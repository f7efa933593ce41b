//  argos_rate - see the header.
//
//  Invariant: a bucket is in the table as long as it may hold something back. Buckets that hold
//  nothing are dropped when the table is full; when all hold something the new one is not
//  remembered, and what it wanted to hold back is tried, and refused by the platform again.

#include "argos_rate.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define BUCKETS_MAX 4096 //  Buckets at a time

typedef struct {
    int64_t due_ms; //  When the next one may go
    UT_hash_handle hh;
    char name[]; //  Key
} bucket_t;

struct argos_rate {
    bucket_t *buckets; //  By name
};

argos_rate_t *
argos_rate_new (void)
{
    argos_rate_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    return self;
}

void
argos_rate_destroy (argos_rate_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    bucket_t *bucket, *next;
    //  NOLINTBEGIN(clang-analyzer-unix.Malloc): what is freed is taken out of its table before
    HASH_ITER (hh, (*self_p)->buckets, bucket, next) {
        HASH_DEL ((*self_p)->buckets, bucket);
        free (bucket);
    }
    //  NOLINTEND(clang-analyzer-unix.Malloc)
    free (*self_p);
    *self_p = NULL;
}

static bucket_t *
s_find (argos_rate_t *self, const char *name)
{
    bucket_t *bucket = NULL;
    HASH_FIND_STR (self->buckets, name, bucket);
    return bucket;
}

static void
s_set (argos_rate_t *self, const char *name, int64_t due_ms)
{
    bucket_t *bucket = s_find (self, name);
    if (!bucket && HASH_COUNT (self->buckets) < BUCKETS_MAX) {
        size_t size = strlen (name) + 1;
        bucket = calloc (1, sizeof *bucket + size);
        if (!bucket)
            abort ();
        memcpy (bucket->name, name, size);
        HASH_ADD_STR (self->buckets, name, bucket);
    }
    if (bucket && due_ms > bucket->due_ms)
        bucket->due_ms = due_ms;
}

static void
s_forget (argos_rate_t *self, int64_t now)
{
    bucket_t *bucket, *next;
    if (HASH_COUNT (self->buckets) < BUCKETS_MAX)
        return;
    //  NOLINTBEGIN(clang-analyzer-unix.Malloc): what is freed is taken out of its table before
    HASH_ITER (hh, self->buckets, bucket, next)
        if (bucket->due_ms <= now) {
            HASH_DEL (self->buckets, bucket);
            free (bucket);
        }
    //  NOLINTEND(clang-analyzer-unix.Malloc)
}

void
argos_rate_hold (argos_rate_t *self, const char *bucket, int64_t until_ms)
{
    s_set (self, bucket, until_ms);
}

int64_t
argos_rate_due (argos_rate_t *self, const char *bucket, int64_t now)
{
    const bucket_t *found = s_find (self, bucket);
    return found && found->due_ms > now ? found->due_ms : now;
}

void
argos_rate_take (argos_rate_t *self, const char *bucket, int64_t gap_ms, int64_t now)
{
    s_forget (self, now);
    if (gap_ms > 0)
        s_set (self, bucket, now + gap_ms);
}
