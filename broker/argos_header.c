//  argos_header - reads the header of a message into a fixed struct.
//
//  Invariant: nothing outside the given bytes is read, nothing outside the struct is written, and
//  what is accepted is a subset of JSON: one flat object whose members are those of the table
//  below, each at most once. Limits: ARGOS_HEADER_MAX bytes; the member limits of argos_header.h.
//  No recursion, no allocation.

#include "argos_header.h"

#include <string.h>

#define SAFE_INTEGER 9007199254740992 //  2^53

//  Where the scanner stands

typedef struct {
    const unsigned char *at;  //  Next byte
    const unsigned char *end; //  Behind the last byte
    const char *reason;       //  Sentence when something was wrong
} scan_t;

typedef enum { KIND_TOKEN, KIND_TEXT, KIND_ADDRESS, KIND_BOOL, KIND_INT, KIND_LIST } member_kind_t;

//  One member of the header: how it is read and where it goes

typedef struct {
    const char *name;   //  Member name
    member_kind_t kind; //  How it is read
    size_t offset;      //  Field in argos_header_t
    size_t size;        //  Longest string, bytes
    int64_t min;        //  Smallest integer
    int64_t max;        //  Largest integer
} member_t;

#define FIELD(f) offsetof (argos_header_t, f)

static const member_t members[] = {
    { "type", KIND_TOKEN, FIELD (type), ARGOS_TYPE_MAX, 0, 0 },
    { "id", KIND_TOKEN, FIELD (id), ARGOS_ID_MAX, 0, 0 },
    { "to", KIND_ADDRESS, FIELD (name), ARGOS_TO_MAX, 0, 0 },
    { "key", KIND_TEXT, FIELD (key), ARGOS_KEY_MAX, 0, 0 },
    { "re", KIND_TOKEN, FIELD (re), ARGOS_ID_MAX, 0, 0 },
    { "trace", KIND_TOKEN, FIELD (trace), 64, 0, 0 },
    { "durable", KIND_BOOL, FIELD (durable), 0, 0, 0 },
    { "side", KIND_BOOL, FIELD (side), 0, 0, 0 },
    { "urgent", KIND_BOOL, FIELD (urgent), 0, 0, 0 },
    { "keyframe", KIND_BOOL, FIELD (keyframe), 0, 0, 0 },
    { "last", KIND_BOOL, FIELD (last), 0, 0, 0 },
    { "ttl_ms", KIND_INT, FIELD (ttl_ms), 0, 1, 86400000 },
    { "not_before", KIND_INT, FIELD (not_before), 0, 1, SAFE_INTEGER },
    { "seq", KIND_INT, FIELD (seq), 0, 1, SAFE_INTEGER },
    { "lease", KIND_INT, FIELD (lease), 0, 1, SAFE_INTEGER },
    { "n", KIND_INT, FIELD (n), 0, 1, SAFE_INTEGER },
    { "seen", KIND_INT, FIELD (seen), 0, 0, SAFE_INTEGER },
    { "take", KIND_LIST, FIELD (take), 0, 0, 0 },
};

#define MEMBER_COUNT (sizeof members / sizeof members[0])
#define MEMBER_SEEN 16 //  Index of "seen" in the table
#define MEMBER_KEY 3   //  Index of "key" in the table

static bool
s_fail (scan_t *scan, const char *reason)
{
    if (!scan->reason)
        scan->reason = reason;
    return false;
}

static void
s_skip_space (scan_t *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r'))
        scan->at++;
}

//  Skip space, then take the byte `wanted` if it is next.

static bool
s_accept (scan_t *scan, unsigned char wanted)
{
    s_skip_space (scan);
    if (scan->at < scan->end && *scan->at == wanted) {
        scan->at++;
        return true;
    }
    return false;
}

//  The well-formed sequences of UTF-8 by their first byte: overlong forms, surrogates and what is
//  beyond U+10FFFF are not among them

static const struct {
    unsigned char first, last; //  First byte
    unsigned char low, high;   //  Second byte; the others are 80 to BF
    size_t size;               //  Bytes
} sequences[] = { { 0xC2, 0xDF, 0x80, 0xBF, 2 }, { 0xE0, 0xE0, 0xA0, 0xBF, 3 },
    { 0xE1, 0xEC, 0x80, 0xBF, 3 }, { 0xED, 0xED, 0x80, 0x9F, 3 }, { 0xEE, 0xEF, 0x80, 0xBF, 3 },
    { 0xF0, 0xF0, 0x90, 0xBF, 4 }, { 0xF1, 0xF3, 0x80, 0xBF, 4 }, { 0xF4, 0xF4, 0x80, 0x8F, 4 } };

//  Length of the sequence at `at`, 0 when it is not valid or cut.

static size_t
s_utf8_length (const unsigned char *at, const unsigned char *end)
{
    if (at[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        size_t size = sequences[i].size;
        if (at[0] < sequences[i].first || at[0] > sequences[i].last)
            continue;
        if ((size_t) (end - at) < size || at[1] < sequences[i].low || at[1] > sequences[i].high)
            return 0;
        for (size_t next = 2; next < size; next++)
            if ((at[next] & 0xC0) != 0x80)
                return 0;
        return size;
    }
    return 0;
}

//  Four hex digits; -1 when they are not.

static int
s_hex4 (scan_t *scan)
{
    int value = 0;
    if (scan->end - scan->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        unsigned char c = *scan->at++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

//  Writes a code point as UTF-8 and returns its length.

static size_t
s_put_utf8 (unsigned char *target, unsigned code)
{
    if (code < 0x80) {
        target[0] = (unsigned char) code;
        return 1;
    }
    if (code < 0x800) {
        target[0] = (unsigned char) (0xC0 | code >> 6);
        target[1] = (unsigned char) (0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        target[0] = (unsigned char) (0xE0 | code >> 12);
        target[1] = (unsigned char) (0x80 | (code >> 6 & 0x3F));
        target[2] = (unsigned char) (0x80 | (code & 0x3F));
        return 3;
    }
    target[0] = (unsigned char) (0xF0 | code >> 18);
    target[1] = (unsigned char) (0x80 | (code >> 12 & 0x3F));
    target[2] = (unsigned char) (0x80 | (code >> 6 & 0x3F));
    target[3] = (unsigned char) (0x80 | (code & 0x3F));
    return 4;
}

//  \uXXXX, with its second half when it is a surrogate pair. Returns the code point, 0 when it is
//  not acceptable.

static unsigned
s_unicode_escape (scan_t *scan)
{
    int high = s_hex4 (scan);
    if (high < 0xD800 || high > 0xDFFF)
        return high > 0 ? (unsigned) high : 0;
    if (high > 0xDBFF || scan->end - scan->at < 2 || scan->at[0] != '\\' || scan->at[1] != 'u')
        return 0;
    scan->at += 2;
    int low = s_hex4 (scan);
    if (low < 0xDC00 || low > 0xDFFF)
        return 0;
    return 0x10000U + ((unsigned) (high - 0xD800) << 10) + (unsigned) (low - 0xDC00);
}

//  What follows a backslash. Writes up to 4 bytes to target; returns how many, 0 when the escape is
//  not acceptable.

static size_t
s_escape (scan_t *scan, unsigned char *target)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (scan->at >= scan->end)
        return 0;
    unsigned char c = *scan->at++;
    if (c == 'u') {
        unsigned code = s_unicode_escape (scan);
        return code ? s_put_utf8 (target, code) : 0;
    }
    const char *found = c ? strchr (from, c) : NULL;
    if (!found)
        return 0;
    target[0] = (unsigned char) to[found - from];
    return 1;
}

//  A string with escapes resolved, at most max bytes, terminated. The opening quote is next.

static bool
s_text (scan_t *scan, char *target, size_t max)
{
    size_t size = 0;
    if (!s_accept (scan, '"'))
        return s_fail (scan, "a string was expected");
    while (scan->at < scan->end && *scan->at != '"') {
        unsigned char piece[4];
        size_t length;
        if (*scan->at == '\\') {
            scan->at++;
            length = s_escape (scan, piece);
        }
        else if (*scan->at < 0x20)
            return s_fail (scan, "a control character in a string");
        else {
            length = s_utf8_length (scan->at, scan->end);
            memcpy (piece, scan->at, length);
            scan->at += length;
        }
        if (length == 0)
            return s_fail (scan, "not valid UTF-8, a lone surrogate, or a NUL");
        if (size + length > max)
            return s_fail (scan, "a string is too long");
        memcpy (target + size, piece, length);
        size += length;
    }
    if (scan->at >= scan->end)
        return s_fail (scan, "the header is cut short");
    scan->at++;
    target[size] = 0;
    return true;
}

//  A token: printable ASCII without space, quote and backslash; 1 to max bytes.

static bool
s_token (scan_t *scan, char *target, size_t max)
{
    if (!s_accept (scan, '"'))
        return s_fail (scan, "a string was expected");
    const unsigned char *start = scan->at;
    while (scan->at<scan->end && * scan->at> ' ' && *scan->at < 0x7F && *scan->at != '"' &&
           *scan->at != '\\')
        scan->at++;
    size_t size = (size_t) (scan->at - start);
    if (scan->at >= scan->end || *scan->at != '"')
        return s_fail (
            scan, "only printable ASCII without space, quote and backslash is allowed here");
    if (size == 0 || size > max)
        return s_fail (scan, "a string is empty or too long");
    scan->at++;
    memcpy (target, start, size);
    target[size] = 0;
    return true;
}

//  An address: splits the token at its colon.

static bool
s_address (scan_t *scan, argos_header_t *header)
{
    static const struct {
        const char *prefix; //  What the address begins with
        size_t size;        //  Its length
        argos_to_t to;      //  What it means
    } kinds[] = { { "actor:", 6, ARGOS_TO_ACTOR }, { "service:", 8, ARGOS_TO_SERVICE },
        { "topic:", 6, ARGOS_TO_TOPIC } };
    char whole[ARGOS_TO_MAX + 1];
    if (!s_token (scan, whole, ARGOS_TO_MAX))
        return false;
    if (strcmp (whole, "store") == 0) {
        header->to = ARGOS_TO_STORE;
        return true;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp (whole, kinds[i].prefix, kinds[i].size) == 0 && whole[kinds[i].size]) {
            header->to = kinds[i].to;
            memcpy (header->name, whole + kinds[i].size, strlen (whole + kinds[i].size) + 1);
            return true;
        }
    return s_fail (scan, "an address is actor:, service: or topic: and a name, or store");
}

static bool
s_integer (scan_t *scan, int64_t *target, int64_t min, int64_t max)
{
    s_skip_space (scan);
    int64_t value = 0;
    const unsigned char *start = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9') {
        value = value * 10 + (*scan->at++ - '0');
        if (value > SAFE_INTEGER)
            return s_fail (scan, "an integer is larger than 2^53");
    }
    if (scan->at == start || (*start == '0' && scan->at - start > 1))
        return s_fail (scan, "a non-negative integer was expected");
    if (value < min || value > max)
        return s_fail (scan, "an integer is out of its range");
    *target = value;
    return true;
}

static bool
s_bool (scan_t *scan, bool *target)
{
    s_skip_space (scan);
    size_t left = (size_t) (scan->end - scan->at);
    if (left >= 4 && memcmp (scan->at, "true", 4) == 0) {
        *target = true;
        scan->at += 4;
        return true;
    }
    if (left >= 5 && memcmp (scan->at, "false", 5) == 0) {
        *target = false;
        scan->at += 5;
        return true;
    }
    return s_fail (scan, "true or false was expected");
}

static bool
s_list (scan_t *scan, argos_header_t *header)
{
    if (!s_accept (scan, '['))
        return s_fail (scan, "a list of integers was expected");
    if (s_accept (scan, ']'))
        return true;
    do {
        if (header->take_count == ARGOS_TAKE_MAX)
            return s_fail (scan, "more than 64 messages to take");
        if (!s_integer (scan, &header->take[header->take_count], 1, SAFE_INTEGER))
            return false;
        header->take_count++;
    } while (s_accept (scan, ','));
    return s_accept (scan, ']') || s_fail (scan, "a list is not closed");
}

static bool
s_value (scan_t *scan, argos_header_t *header, const member_t *member)
{
    char *field = (char *) header + member->offset;
    switch (member->kind) {
    case KIND_TOKEN:
        return s_token (scan, field, member->size);
    case KIND_TEXT:
        return s_text (scan, field, member->size);
    case KIND_ADDRESS:
        return s_address (scan, header);
    case KIND_BOOL:
        return s_bool (scan, (bool *) (void *) field);
    case KIND_INT:
        return s_integer (scan, (int64_t *) (void *) field, member->min, member->max);
    case KIND_LIST:
        return s_list (scan, header);
    }
    return false;
}

//  One "name": value. seen has a bit for each member that was there.

static bool
s_member (scan_t *scan, argos_header_t *header, uint32_t *seen)
{
    char name[16];
    if (!s_token (scan, name, sizeof name - 1) || !s_accept (scan, ':'))
        return s_fail (scan, "a member is not of the form \"name\": value");
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (*members[i].name == *name && strcmp (members[i].name, name) == 0) {
            if (*seen & 1U << i)
                return s_fail (scan, "a member is there twice");
            *seen |= 1U << i;
            return s_value (scan, header, &members[i]);
        }
    return s_fail (scan, "an unknown member");
}

static bool
s_type_valid (const char *type)
{
    for (const char *c = type; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '.' || *c == '_' ||
                *c == '-'))
            return false;
    return *type != 0;
}

//  Everything but the strings that have a terminator; a header struct is 2 KB and is read for each
//  message

static void
s_clear (argos_header_t *header)
{
    header->type[0] = header->id[0] = header->name[0] = header->re[0] = header->trace[0] = 0;
    header->key[0] = 0;
    header->to = ARGOS_TO_NONE;
    header->has_key = header->durable = header->side = header->urgent = false;
    header->keyframe = header->last = header->has_seen = false;
    header->ttl_ms = header->not_before = header->seq = header->lease = header->n = header->seen =
        0;
    header->take_count = 0;
}

//  A header that was refused before its id was reached: find the id all the same, so that the
//  refusal can name it. Only the first "id" at the top level counts; what stands in strings or
//  nested values is passed over.

static void
s_find_id (const void *data, size_t size, argos_header_t *header)
{
    scan_t scan = { data, (const unsigned char *) data + size, NULL };
    int depth = 0;
    while (scan.at < scan.end) {
        unsigned char c = *scan.at;
        if (c != '"') {
            depth += (c == '{' || c == '[') - (c == '}' || c == ']');
            scan.at++;
            continue;
        }
        bool found = scan.end - scan.at >= 4 && memcmp (scan.at, "\"id\"", 4) == 0 && depth == 1;
        scan.at++;
        while (scan.at < scan.end && *scan.at != '"')
            scan.at += *scan.at == '\\' && scan.end - scan.at > 1 ? 2 : 1;
        if (scan.at < scan.end)
            scan.at++;
        if (found && s_accept (&scan, ':')) {
            if (!s_token (&scan, header->id, ARGOS_ID_MAX))
                header->id[0] = 0;
            return;
        }
    }
}

argos_err_t
argos_header_read (
    const void *data, size_t size, argos_header_t *ret_header, const char **ret_reason)
{
    scan_t scan = { data, (const unsigned char *) data + size, NULL };
    uint32_t seen = 0;
    argos_err_t err = ARGOS_OK;

    s_clear (ret_header);
    if (size > ARGOS_HEADER_MAX) {
        scan.reason = "the header is larger than 4096 bytes";
        err = ARGOS_TOO_BIG;
    }
    else if (!s_accept (&scan, '{'))
        s_fail (&scan, "the header is not an object");
    else if (!s_accept (&scan, '}')) {
        while (s_member (&scan, ret_header, &seen) && s_accept (&scan, ','))
            ;
        if (!s_accept (&scan, '}'))
            s_fail (&scan, "the header is not closed, or a comma is missing");
    }
    s_skip_space (&scan);
    if (!scan.reason && scan.at != scan.end)
        s_fail (&scan, "something follows the header");
    if (!scan.reason && !s_type_valid (ret_header->type))
        s_fail (&scan, "the type is missing or has other characters than a-z 0-9 . _ -");
    ret_header->has_seen = (seen & 1U << MEMBER_SEEN) != 0;
    ret_header->has_key = (seen & 1U << MEMBER_KEY) != 0;
    if (ret_reason)
        *ret_reason = scan.reason;
    if (scan.reason && err == ARGOS_OK)
        err = ARGOS_INVALID;
    if (err == ARGOS_INVALID && !ret_header->id[0])
        s_find_id (data, size, ret_header);
    return err;
}

void
argos_name_base (const char *name, char *target)
{
    size_t size = strcspn (name, "@");
    if (size > ARGOS_NAME_MAX)
        size = ARGOS_NAME_MAX;
    size_t digits = size;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits > 1 && digits < size && name[digits - 1] == '.')
        size = digits - 1;
    memcpy (target, name, size);
    target[size] = 0;
}

bool
argos_name_valid (const char *name)
{
    size_t size = strlen (name);
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                c == '-' || c == '@'))
            return false;
    }
    return size > 0 && size <= ARGOS_NAME_MAX && *name != '@';
}
