//  argos_reads - what a task has read of files lately.
//
//  Invariant: the run of equal calls is broken by any other call. Limit: 64 files, the ones seen
//  longest ago are forgotten.

#include "argos_reads.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 64

typedef struct {
    char *path;          //  NULL = free
    int64_t modified_ns; //  When it was changed, as it was seen
    int64_t size;        //  Its bytes then
    bool seen;           //  It was
    int failures;        //  Edits that have failed in a row
    uint64_t used;       //  When it was used last, in calls
} file_t;

struct argos_reads {
    file_t files[FILES_MAX]; //  Files
    uint64_t clock;          //  Counts
    char *last;              //  The call before, NULL = none that reads
    int repeats;             //  How often it came in a row
    int64_t modified_ns;     //  Of its file
    int64_t size;            //  Of its file
};

argos_reads_t *
argos_reads_new (void)
{
    argos_reads_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    return self;
}

void
argos_reads_destroy (argos_reads_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    for (size_t i = 0; i < FILES_MAX; i++)
        free ((*self_p)->files[i].path);
    free ((*self_p)->last);
    free (*self_p);
    *self_p = NULL;
}

argos_reads_verdict_t
argos_reads_begin (
    argos_reads_t *self, const char *what, const char *path, int64_t modified_ns, int64_t size)
{
    bool again = what && self->last && strcmp (self->last, what) == 0;
    bool same = modified_ns == self->modified_ns && size == self->size;
    self->repeats = again ? self->repeats + 1 : 1;
    self->modified_ns = modified_ns;
    self->size = size;
    if (!again) {
        free (self->last);
        self->last = what ? strdup (what) : NULL;
        return ARGOS_READS_PLAIN;
    }
    if (path && same)
        return self->repeats == 2 ? ARGOS_READS_STUB_IT : ARGOS_READS_REFUSE;
    if (path && self->repeats == 2)
        return ARGOS_READS_PLAIN;
    return self->repeats < 3    ? ARGOS_READS_PLAIN
           : self->repeats == 3 ? ARGOS_READS_WARN
                                : ARGOS_READS_REFUSE;
}

static const file_t *
s_find (const argos_reads_t *self, const char *path)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        if (self->files[i].path && strcmp (self->files[i].path, path) == 0)
            return &self->files[i];
    return NULL;
}

static file_t *
s_file (argos_reads_t *self, const char *path)
{
    file_t *oldest = &self->files[0];
    const file_t *known = s_find (self, path);
    if (known)
        oldest = &self->files[known - self->files];
    else {
        for (size_t i = 1; i < FILES_MAX; i++)
            if (self->files[i].used < oldest->used)
                oldest = &self->files[i];
        free (oldest->path);
        *oldest = (file_t){ .path = strdup (path) };
        if (!oldest->path)
            abort ();
    }
    oldest->used = ++self->clock;
    return oldest;
}

void
argos_reads_saw (argos_reads_t *self, const char *path, int64_t modified_ns, int64_t size)
{
    file_t *file = s_file (self, path);
    file->modified_ns = modified_ns;
    file->size = size;
    file->seen = true;
}

bool
argos_reads_is_stale (
    const argos_reads_t *self, const char *path, int64_t modified_ns, int64_t size)
{
    const file_t *file = s_find (self, path);
    return file && file->seen && (file->modified_ns != modified_ns || file->size != size);
}

int
argos_reads_edited (argos_reads_t *self, const char *path, bool failed)
{
    file_t *file = s_file (self, path);
    file->failures = failed ? file->failures + 1 : 0;
    return file->failures;
}

bool
argos_reads_is_stub (const char *text)
{
    return strstr (text, ARGOS_READS_STUB) && strlen (text) < 2 * strlen (ARGOS_READS_STUB);
}
