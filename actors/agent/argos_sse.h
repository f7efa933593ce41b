//  argos_sse - server-sent events, read in pieces of any size.
//
//  Pure. Lines end with LF, CRLF or CR; comment lines are skipped; the data lines of an event are
//  joined with LF. A line or an event is at most ARGOS_SSE_MAX bytes.

#ifndef ARGOS_SSE_H
#define ARGOS_SSE_H

#include "argos_text.h"

#define ARGOS_SSE_MAX 1048576 //  Bytes of a line, and of the data of an event

typedef struct {
    argos_text_t line; //  The line that is not complete yet
    argos_text_t data; //  Data lines of the event so far
    char event[65];    //  Name of the event so far, "" when none
    bool has_data;     //  The event has a data line (perhaps an empty one)
    bool skip_lf;      //  The last byte was a CR: an LF that follows belongs to it
    bool started;      //  The first line has been seen (a byte order mark may stand before it)
    bool too_big;      //  A line or an event was over the limit; nothing more is read
    int64_t comments;  //  Comment lines seen (they keep the socket alive, not the stream)
} argos_sse_t;

//  Called for each event; event is "" or the name; data is terminated, and borrowed. Return false
//  to stop the reading of this piece.
typedef bool (argos_sse_fn) (void *arg, const char *event, const char *data, size_t size);

void argos_sse_init (argos_sse_t *self);
void argos_sse_clear (argos_sse_t *self);

//  Reads a piece. Returns 0, or -1 when a line or an event was too big (then and ever after).
int argos_sse_feed (argos_sse_t *self, const char *piece, size_t size, argos_sse_fn *fn, void *arg);

//  At the end of the stream: whether it stopped in the middle of a line or of an event.
bool argos_sse_cut (const argos_sse_t *self);

#endif
