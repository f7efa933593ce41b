//  argos_base64 - base64 with padding, four characters at a time.
//
//  Invariant: what is decoded and encoded again is the same text: no other alphabet, no blanks, no
//  bits behind the end.

#include "argos_base64.h"

#include <stdint.h>

static const char s_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

//  What a character stands for, plus 1; 0 = nothing

// clang-format off
static const unsigned char s_values[256] = {
    ['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7, ['H'] = 8,
    ['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};
// clang-format on

//  24 bits of four characters, the last `pad` of which are missing; -1 = one of them is none.

static int32_t
s_group (const char *text, size_t pad)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4 - pad; i++) {
        unsigned char value = s_values[(unsigned char) text[i]];
        if (!value)
            return -1;
        bits |= (uint32_t) (value - 1) << (18 - 6 * i);
    }
    return (int32_t) bits;
}

long
argos_base64_decode (const char *text, size_t size, unsigned char *target, size_t max)
{
    if (size % 4)
        return -1;
    size_t pad = size && text[size - 1] == '=' ? 1 + (text[size - 2] == '=') : 0;
    size_t length = size / 4 * 3 - pad, done = 0;
    if (length > max)
        return -1;
    for (size_t at = 0; at < size; at += 4) {
        size_t missing = at + 4 == size ? pad : 0;
        int32_t bits = s_group (text + at, missing);
        if (bits < 0 || (bits & ((1 << (8 * missing)) - 1)))
            return -1;
        for (unsigned shift = 16; done < length && shift <= 16; shift -= 8)
            target[done++] = (unsigned char) ((uint32_t) bits >> shift);
    }
    return (long) length;
}

void
argos_base64_encode (const unsigned char *bytes, size_t size, char *target)
{
    for (size_t at = 0; at < size; at += 3) {
        size_t have = size - at < 3 ? size - at : 3;
        uint32_t bits = 0;
        for (size_t i = 0; i < have; i++)
            bits |= (uint32_t) bytes[at + i] << (16 - 8 * i);
        for (size_t i = 0; i < 4; i++, target++) {
            *target = '=';
            if (i <= have)
                *target = s_letters[(bits >> (18 - 6 * i)) & 63];
        }
    }
    *target = 0;
}
