//  argos_delta - when to publish how much of a growing text.
//
//  Pure. The first piece of a segment goes at once, then at most 20 entries a second; every 64th
//  entry, counted over the segment, is a key frame that carries the whole text.

#ifndef ARGOS_DELTA_H
#define ARGOS_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_DELTA_MS 50  //  Shortest time between two entries
#define ARGOS_DELTA_KEY 64 //  Every so many entries one is a key frame

typedef struct {
    size_t sent;      //  Bytes published
    int64_t last_ms;  //  When the last entry was published
    unsigned entries; //  Entries published in this segment
} argos_delta_t;

//  Begins a segment.
void argos_delta_init (argos_delta_t *self);

//  When the next entry is due for a text of size bytes, monotonic msec: now or later; -1 when there
//  is nothing new.
int64_t argos_delta_due (const argos_delta_t *self, size_t size, int64_t now);

//  Records an entry that brings the text to size bytes. Returns where it begins; *ret_key says
//  whether it is a key frame.
size_t argos_delta_take (argos_delta_t *self, size_t size, int64_t now, bool *ret_key);

#endif
