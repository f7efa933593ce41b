//  fuzz_sse - server-sent events in pieces of any size.
//
//  Input: a byte that is the size of a piece (0 = whole), then the stream. Holds: the events are
//  the same in whatever pieces it comes.

#include "argos_sse.h"
#include "fuzz.h"

#include <string.h>

typedef struct {
    uint64_t hash; //  Of everything told
    size_t count;  //  Events
} told_t;

static void
s_mix (told_t *self, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        self->hash = (self->hash ^ (unsigned char) data[i]) * 1099511628211u;
    self->hash = (self->hash ^ size) * 1099511628211u;
}

static bool
s_event (void *arg, const char *event, const char *data, size_t size)
{
    told_t *self = arg;
    FUZZ_CHECK (data[size] == '\0' && size <= ARGOS_SSE_MAX);
    s_mix (self, event, strlen (event));
    s_mix (self, data, size);
    self->count++;
    return true;
}

static told_t
s_run (const char *data, size_t size, size_t piece)
{
    argos_sse_t sse;
    told_t told = { 0, 0 };
    argos_sse_init (&sse);
    for (size_t at = 0; at < size; at += piece)
        argos_sse_feed (&sse, data + at, size - at < piece ? size - at : piece, s_event, &told);
    told.hash ^= argos_sse_cut (&sse);
    argos_sse_clear (&sse);
    return told;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const char *text = (const char *) data + 1;
    told_t whole = s_run (text, size - 1, size);
    told_t pieces = s_run (text, size - 1, data[0] ? data[0] : size);
    FUZZ_CHECK (whole.count == pieces.count && whole.hash == pieces.hash);
    return 0;
}
