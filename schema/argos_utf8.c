//  argos_utf8 - what is valid UTF-8. Pure; no limits of its own.

#include "argos_utf8.h"

//  Lowest and highest second byte that the lead byte allows (RFC 3629: no overlong forms, no
//  surrogates, nothing beyond U+10FFFF)
static void
s_second_range (unsigned char lead, unsigned char *ret_low, unsigned char *ret_high)
{
    *ret_low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    *ret_high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
}

size_t
argos_utf8_length (const unsigned char *data, size_t size)
{
    if (!size)
        return 0;
    unsigned char lead = data[0];
    if (lead < 0x80)
        return 1;
    size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                    : lead >= 0xE0 && lead <= 0xEF ? 3
                    : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                   : 0;
    if (!length || length > size)
        return 0;
    unsigned char low, high;
    s_second_range (lead, &low, &high);
    if (data[1] < low || data[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (data[i] < 0x80 || data[i] > 0xBF)
            return 0;
    return length;
}
