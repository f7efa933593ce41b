//  argos_zap - requests of ZAP (RFC 27): libzmq asks who a connection is.
//
//  Invariant: what is not a CURVE request of our domain with a key of 32 bytes lets nobody in.
//  Limits: an id of 255 bytes; a longer one is answered without.

#include "argos_zap.h"

#include <stdint.h>
#include <string.h>

#define CURVE_BYTES 32 //  Of a raw key

//  Version, id, domain, address, identity, mechanism, credentials

enum { VERSION, ID, DOMAIN, ADDRESS, IDENTITY, MECHANISM, CREDENTIALS };

static bool
s_is (const argos_zap_frame_t *frame, const char *text)
{
    return frame->size == strlen (text) && memcmp (frame->data, text, frame->size) == 0;
}

//  Z85 (RFC 32): four bytes become five characters.

static void
s_encode (const unsigned char *data, char *text)
{
    static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   ".-:+=^!/*?&<>()[]{}@%$#";
    for (size_t i = 0; i < CURVE_BYTES; i += 4) {
        uint32_t value = (uint32_t) data[i] << 24 | (uint32_t) data[i + 1] << 16 |
                         (uint32_t) data[i + 2] << 8 | data[i + 3];
        for (size_t k = 5; k > 0; k--) {
            text[k - 1] = alphabet[value % 85];
            value /= 85;
        }
        text += 5;
    }
    *text = 0;
}

int
argos_zap_read (argos_zap_request_t *self, const argos_zap_frame_t *frames, size_t count)
{
    *self = (argos_zap_request_t){ .status = "500", .text = "not a request of ZAP 1.0" };
    if (count > ID && frames[ID].size <= sizeof self->id) {
        self->id_size = frames[ID].size;
        if (self->id_size)
            memcpy (self->id, frames[ID].data, self->id_size);
    }
    if (count <= MECHANISM || !s_is (&frames[VERSION], "1.0"))
        return -1;
    self->status = "400";
    self->text = "no access";
    if (count != ARGOS_ZAP_FRAMES || !s_is (&frames[DOMAIN], ARGOS_ZAP_DOMAIN) ||
        !s_is (&frames[MECHANISM], "CURVE") || frames[CREDENTIALS].size != CURVE_BYTES)
        return -1;
    s_encode (frames[CREDENTIALS].data, self->public_key);
    return 0;
}
