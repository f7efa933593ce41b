//  argos_plain - a text without its disguises.
//
//  Invariant: what is written for a character never has more bytes than the character had, so the
//  result fits into a copy of the text. Limits: look-alikes are those of the table, not all of
//  Unicode; bytes that are no UTF-8 stay, but for the C1 controls.

#include "argos_plain.h"

#include "argos_utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

//  A run of characters that stand for a run of ASCII, the first for `plain`, over and over again
//  after `cycle` characters
typedef struct {
    uint32_t first, last; //  Of the run
    unsigned char plain;  //  What the first one is; 0 = all of the run are nothing
    unsigned char cycle;  //  Characters of one round; 0 = each is `plain` itself
} s_run_t;

static const s_run_t s_runs[] = {
    { 0x00A0, 0x00A0, ' ', 0 },
    { 0x00AD, 0x00AD, 0, 0 },
    { 0x034F, 0x034F, 0, 0 },
    { 0x061C, 0x061C, 0, 0 },
    { 0x115F, 0x1160, 0, 0 },
    { 0x1680, 0x1680, ' ', 0 },
    { 0x17B4, 0x17B5, 0, 0 },
    { 0x180B, 0x180E, 0, 0 },
    { 0x2000, 0x200A, ' ', 0 },
    { 0x200B, 0x200F, 0, 0 },
    { 0x2010, 0x2015, '-', 0 },
    { 0x2018, 0x201B, '\'', 0 },
    { 0x201C, 0x201F, '"', 0 },
    { 0x2024, 0x2024, '.', 0 },
    { 0x2028, 0x2029, '\n', 0 },
    { 0x202A, 0x202E, 0, 0 },
    { 0x202F, 0x202F, ' ', 0 },
    { 0x2044, 0x2044, '/', 0 },
    { 0x205F, 0x205F, ' ', 0 },
    { 0x2060, 0x206F, 0, 0 },
    { 0x2215, 0x2215, '/', 0 },
    { 0x2212, 0x2212, '-', 0 },
    { 0x223C, 0x223C, '~', 0 },
    { 0x2460, 0x2468, '1', 9 },
    { 0x249C, 0x24B5, 'a', 26 },
    { 0x24B6, 0x24CF, 'A', 26 },
    { 0x24D0, 0x24E9, 'a', 26 },
    { 0x29F8, 0x29F8, '/', 0 },
    { 0x3000, 0x3000, ' ', 0 },
    { 0x3164, 0x3164, 0, 0 },
    { 0xFE00, 0xFE0F, 0, 0 },
    { 0xFE58, 0xFE58, '-', 0 },
    { 0xFE63, 0xFE63, '-', 0 },
    { 0xFEFF, 0xFEFF, 0, 0 },
    { 0xFF01, 0xFF5E, '!', 94 },
    { 0xFFA0, 0xFFA0, 0, 0 },
    { 0xFFF9, 0xFFFB, 0, 0 },
    { 0x1D7CE, 0x1D7FF, '0', 10 },
    { 0x1F130, 0x1F149, 'A', 26 },
    { 0xE0000, 0xE01EF, 0, 0 },
};

//  Single look-alikes: the character, and what it looks like
static const struct {
    uint16_t code; //  Character
    char plain;    //  In ASCII
} s_alike[] = { { 0x00D7, 'x' }, { 0x0131, 'i' }, { 0x0251, 'a' }, { 0x0261, 'g' }, { 0x0391, 'A' },
    { 0x0392, 'B' }, { 0x0395, 'E' }, { 0x0396, 'Z' }, { 0x0397, 'H' }, { 0x0399, 'I' },
    { 0x039A, 'K' }, { 0x039C, 'M' }, { 0x039D, 'N' }, { 0x039F, 'O' }, { 0x03A1, 'P' },
    { 0x03A4, 'T' }, { 0x03A5, 'Y' }, { 0x03A7, 'X' }, { 0x03B1, 'a' }, { 0x03B9, 'i' },
    { 0x03BA, 'k' }, { 0x03BD, 'v' }, { 0x03BF, 'o' }, { 0x03C1, 'p' }, { 0x03C5, 'u' },
    { 0x03C7, 'x' }, { 0x03F2, 'c' }, { 0x0405, 'S' }, { 0x0406, 'I' }, { 0x0408, 'J' },
    { 0x0410, 'A' }, { 0x0412, 'B' }, { 0x0415, 'E' }, { 0x041A, 'K' }, { 0x041C, 'M' },
    { 0x041D, 'H' }, { 0x041E, 'O' }, { 0x0420, 'P' }, { 0x0421, 'C' }, { 0x0422, 'T' },
    { 0x0425, 'X' }, { 0x0430, 'a' }, { 0x0433, 'r' }, { 0x0435, 'e' }, { 0x043A, 'k' },
    { 0x043C, 'm' }, { 0x043E, 'o' }, { 0x0440, 'p' }, { 0x0441, 'c' }, { 0x0442, 't' },
    { 0x0443, 'y' }, { 0x0445, 'x' }, { 0x0455, 's' }, { 0x0456, 'i' }, { 0x0458, 'j' },
    { 0x04BB, 'h' }, { 0x04CF, 'l' }, { 0x0501, 'd' }, { 0x050D, 'g' }, { 0x051B, 'q' },
    { 0x051D, 'w' }, { 0x0585, 'o' }, { 0x1D0D, 'm' }, { 0x1D20, 'v' }, { 0x1D21, 'w' },
    { 0x1D22, 'z' }, { 0x0280, 'R' }, { 0x1D04, 'c' }, { 0x1D0F, 'o' } };

//  What a mathematical letter is: alphabets of 52, A-Z and a-z, with the odd hole

static int
s_mathematical (uint32_t code)
{
    if (code < 0x1D400 || code > 0x1D6A3)
        return -1;
    uint32_t at = (code - 0x1D400) % 52;
    return (int) (at < 26 ? 'A' + at : 'a' + at - 26);
}

//  What a character stands for: ASCII, 0 = nothing, -1 = itself

static int
s_plain (uint32_t code)
{
    for (size_t i = 0; i < sizeof s_runs / sizeof *s_runs; i++) {
        const s_run_t *run = &s_runs[i];
        if (code < run->first || code > run->last)
            continue;
        return run->plain + (run->cycle ? (int) ((code - run->first) % run->cycle) : 0);
    }
    for (size_t i = 0; i < sizeof s_alike / sizeof *s_alike; i++)
        if (s_alike[i].code == code)
            return s_alike[i].plain;
    return s_mathematical (code);
}

static uint32_t
s_code (const unsigned char *data, size_t length)
{
    static const unsigned char masks[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
    uint32_t code = data[0] & masks[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (data[i] & 0x3Fu);
    return code;
}

//  Which escape begins at data, as the byte behind ESC; -1 = none. *ret_at is behind it. The C1
//  controls come as one byte or, in UTF-8, as two.

static int
s_escape_kind (const unsigned char *data, size_t size, size_t *ret_at)
{
    *ret_at = 2;
    if (data[0] == 0x1B && size > 1)
        return data[1];
    if (data[0] == 0xC2 && size > 1 && data[1] >= 0x80 && data[1] <= 0x9F)
        return data[1] - 0x40;
    *ret_at = 1;
    if (data[0] == 0x1B)
        return 0;
    return data[0] >= 0x80 && data[0] <= 0x9F ? data[0] - 0x40 : -1;
}

//  Length of the escape sequence at data, 0 = there is none. *endless: a string was looked for
//  before and has no end, so neither has a later one.

static size_t
s_escape (const unsigned char *data, size_t size, bool *endless)
{
    size_t at;
    int kind = s_escape_kind (data, size, &at);
    if (kind < 0)
        return 0;
    if (kind == '[') {
        while (at < size && data[at] >= 0x20 && data[at] <= 0x3F)
            at++;
        return at < size ? at + 1 : at;
    }
    if (kind == 0 || !strchr ("]P^_X", kind))
        return at;
    //  A string up to BEL or ST; one without an end hides nothing but its beginning
    for (size_t end = at; end < size && !*endless; end++) {
        if (data[end] == 0x07)
            return end + 1;
        if (data[end] == 0x1B && end + 1 < size && data[end + 1] == '\\')
            return end + 2;
    }
    *endless = true;
    return at;
}

//  What the character of so many bytes (0 = no UTF-8) becomes: ASCII, 0 = nothing, -1 = itself.

static int
s_sign (const unsigned char *data, size_t length)
{
    if (length > 1)
        return s_plain (s_code (data, length));
    bool control = *data < 0x20 && *data != '\n' && *data != '\t';
    return length == 0 ? -1 : control || *data == 0x7F ? 0 : *data;
}

char *
argos_plain_text (const char *text, size_t size)
{
    const unsigned char *data = (const unsigned char *) text;
    char *plain = malloc (size + 1);
    if (!plain)
        abort ();
    size_t used = 0;
    bool endless = false;
    for (size_t at = 0; at < size;) {
        size_t length = argos_utf8_length (data + at, size - at);
        size_t escape = length < 3 ? s_escape (data + at, size - at, &endless) : 0;
        if (escape) {
            at += escape;
            continue;
        }
        int sign = s_sign (data + at, length);
        length = length ? length : 1;
        if (sign > 0)
            plain[used++] = (char) sign;
        for (size_t i = 0; sign < 0 && i < length; i++)
            plain[used++] = text[at + i];
        at += length;
    }
    plain[used] = '\0';
    return plain;
}
