//  argos_pack - the packed form of a message (docs/protocol.md): all its frames but the first as
//  the pieces of a single one.
//
//  Pure: bytes in, bytes out. A peer and the broker that have agreed on ARGOS_PACK_PROTOCOL send
//  small messages so, for a frame costs as much as a short message, above all when each is
//  encrypted.

#ifndef ARGOS_PACK_H
#define ARGOS_PACK_H

#include "argos_header.h"

#define ARGOS_PACK_PROTOCOL 2 //  From this version on both may pack
#define ARGOS_PACK_MAGIC 3    //  Bytes that it begins with, those of the first frame otherwise
#define ARGOS_PACK_MAX 4096   //  Bytes of a packed message
#define ARGOS_PACK_PIECES (3 + 2 * ARGOS_PARTS_MAX) //  Header, meta, body and the pairs

//  What would be a frame; borrowed

typedef struct {
    const void *data; //  The bytes; not terminated
    size_t size;      //  How many
} argos_piece_t;

//  The size of a packed message of so many pieces with so many bytes together; 0 when they have to
//  stay frames.
size_t argos_pack_size (size_t count, size_t bytes);

//  Writes it to target, which has room for argos_pack_size bytes, not 0.
void argos_pack_write (void *target, const argos_piece_t *pieces, size_t count);

//  Reads the only frame of a message. Fills pieces, which point into data, with at most `most`, and
//  returns how many they are; 0 when it is not a packed message, or one of more pieces.
size_t argos_pack_read (const void *data, size_t size, argos_piece_t *pieces, size_t most);

#endif
