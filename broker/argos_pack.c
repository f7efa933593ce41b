//  argos_pack - the packed form of a message.
//
//  Form: "AR1", the number of pieces as one byte, their sizes as two bytes each, the higher one
//  first, then the pieces without anything between them or behind. Limits: those of the header
//  file; nothing is read that is larger, although its sizes would do.

#include "argos_pack.h"

#include <assert.h>
#include <string.h>

#define MAGIC "AR1"
#define TABLE (ARGOS_PACK_MAGIC + 1) //  Where the sizes are

size_t
argos_pack_size (size_t count, size_t bytes)
{
    size_t size = TABLE + 2 * count + bytes;
    return count > 0 && count <= ARGOS_PACK_PIECES && bytes <= ARGOS_PACK_MAX &&
                   size <= ARGOS_PACK_MAX
               ? size
               : 0;
}

void
argos_pack_write (void *target, const argos_piece_t *pieces, size_t count)
{
    unsigned char *table = (unsigned char *) target + TABLE, *at = table + 2 * count;
    assert (count <= ARGOS_PACK_PIECES);
    memcpy (target, MAGIC, ARGOS_PACK_MAGIC);
    table[-1] = (unsigned char) count;
    for (size_t i = 0; i < count; i++) {
        size_t size = pieces[i].size;
        assert (size <= ARGOS_PACK_MAX);
        *table++ = (unsigned char) (size >> 8);
        *table++ = (unsigned char) size;
        if (size)
            memcpy (at, pieces[i].data, size);
        at += size;
    }
}

size_t
argos_pack_read (const void *data, size_t size, argos_piece_t *pieces, size_t most)
{
    const unsigned char *table = (const unsigned char *) data + TABLE;
    if (size <= TABLE || size > ARGOS_PACK_MAX || memcmp (data, MAGIC, ARGOS_PACK_MAGIC) != 0)
        return 0;
    size_t count = table[-1], left = size - TABLE;
    if (count == 0 || count > most || 2 * count > left)
        return 0;
    const unsigned char *at = table + 2 * count;
    left -= 2 * count;
    for (size_t i = 0; i < count; i++) {
        pieces[i] = (argos_piece_t){ at, (size_t) table[0] << 8 | table[1] };
        if (pieces[i].size > left)
            return 0;
        left -= pieces[i].size;
        at += pieces[i].size;
        table += 2;
    }
    return left == 0 ? count : 0;
}
