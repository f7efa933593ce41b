//  fuzz_zap - requests of ZAP from bytes: lines are frames.
//
//  Invariant: whoever is let in has sent seven frames with CURVE in the domain argos, and the key
//  that is looked up is valid.

#include "fuzz.h"

#include "argos_zap.h"

#include <string.h>

#define FRAMES_MAX 12

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    argos_zap_frame_t frames[FRAMES_MAX];
    argos_zap_request_t request;
    size_t count = 0;
    while (count < FRAMES_MAX) {
        const uint8_t *end = size ? memchr (data, '\n', size) : NULL;
        size_t length = end ? (size_t) (end - data) : size;
        frames[count++] = (argos_zap_frame_t){ data, length };
        if (!end)
            break;
        data = end + 1;
        size -= length + 1;
    }
    int rc = argos_zap_read (&request, frames, count);
    FUZZ_CHECK (request.id_size <= sizeof request.id);
    if (rc == 0) {
        FUZZ_CHECK (count == ARGOS_ZAP_FRAMES);
        FUZZ_CHECK (frames[2].size == 5 && memcmp (frames[2].data, "argos", 5) == 0);
        FUZZ_CHECK (argos_key_valid (request.public_key));
    }
    else
        FUZZ_CHECK (!request.public_key[0] && strlen (request.status) == 3 && request.text[0]);
    return 0;
}
