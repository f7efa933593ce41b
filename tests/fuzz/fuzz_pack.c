//  fuzz_pack - the reader of packed messages.
//
//  Holds: pieces stand in the message, in order and without a gap, and written again they make the
//  same bytes; so a message has one packed form. What has room for more pieces reads the same.

#include "argos_pack.h"
#include "fuzz.h"

#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    argos_piece_t pieces[ARGOS_PACK_PIECES], few[3];
    unsigned char again[ARGOS_PACK_MAX];
    size_t count = argos_pack_read (data, size, pieces, ARGOS_PACK_PIECES), bytes = 0;
    FUZZ_CHECK (count <= ARGOS_PACK_PIECES);
    FUZZ_CHECK (argos_pack_read (data, size, few, 3) == (count <= 3 ? count : 0));
    if (count == 0)
        return 0;
    const uint8_t *at = data + size;
    for (size_t i = count; i-- > 0; bytes += pieces[i].size) {
        at -= pieces[i].size;
        FUZZ_CHECK (pieces[i].data == at);
    }
    FUZZ_CHECK (argos_pack_size (count, bytes) == size);
    argos_pack_write (again, pieces, count);
    FUZZ_CHECK (memcmp (again, data, size) == 0);
    return 0;
}
