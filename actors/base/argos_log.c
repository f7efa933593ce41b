//  argos_log - logfmt lines.
//
//  Invariant: one line is one write, so lines of threads and processes never mix. What looks like a
//  secret is masked. Limits: a line has LOG_LINE_MAX bytes, the rest is cut; LOG_SLOTS kinds of
//  lines are counted at a time.

#include "argos_log.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define LOG_LINE_MAX 2048 //  Bytes of a line
#define LOG_SLOTS 64      //  Kinds of lines that are counted
#define LOG_BURST 10      //  Lines of one kind in a second
#define TOKEN_MIXED 24    //  A run of upper case, lower case and digits this long is a token
#define TOKEN_PLAIN 32    //  A run of letters and digits this long is one, too
#define RUN_ID_SIZE 36    //  run_ and 32 hex digits: shown

//  How often one kind of line was written in the present second

typedef struct {
    char actor[24]; //  Who, cut
    char event[40]; //  What, cut
    time_t second;  //  The second that is counted
    int count;      //  Lines in it
    int suppressed; //  Of those, not written
} log_slot_t;

static atomic_int s_level = ARGOS_LOG_INFO;
static pthread_mutex_t s_mutex = PTHREAD_MUTEX_INITIALIZER; //  Guards s_slots
static log_slot_t s_slots[LOG_SLOTS];

void
argos_log_level (argos_log_level_t level)
{
    atomic_store (&s_level, (int) level);
}

static bool
s_is_token_char (char c)
{
    return isalnum ((unsigned char) c) || c == '_' || c == '-' || c == '+';
}

static size_t
s_token_size (const char *in)
{
    size_t size = 0;
    while (s_is_token_char (in[size]))
        size++;
    return size;
}

//  Whether the word of size bytes at `in` looks like a token by its length and its mix of
//  characters

static bool
s_is_secret (const char *in, size_t size)
{
    bool upper = false, lower = false, digit = false;
    if (size > 10 && strncmp (in, "sk-", 3) == 0)
        return true;
    if (size == RUN_ID_SIZE && strncmp (in, "run_", 4) == 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        upper |= isupper ((unsigned char) in[i]) != 0;
        lower |= islower ((unsigned char) in[i]) != 0;
        digit |= isdigit ((unsigned char) in[i]) != 0;
    }
    if (size >= TOKEN_MIXED && upper && lower && digit)
        return true;
    return size >= TOKEN_PLAIN && digit && (upper || lower);
}

//  Whether a value that follows this name, by = or :, has to be masked

static bool
s_names_secret (const char *in, size_t size)
{
    static const char *const endings[] = { "key", "token", "secret", "password", "authorization" };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen (endings[i]);
        if (size >= length && strncasecmp (in + size - length, endings[i], length) == 0)
            return true;
    }
    return false;
}

//  Size of what joins a name and its value ("=", ": ", "\":\""), 0 when the name has no value

static size_t
s_joint_size (const char *in)
{
    size_t size = strspn (in, "\"'");
    if (in[size] != '=' && in[size] != ':')
        return 0;
    size++;
    return size + strspn (in + size, " \"'");
}

typedef struct {
    char *out;   //  Target, always terminated
    size_t size; //  Its size
    size_t used; //  Bytes written
} log_text_t;

static void
s_put (log_text_t *text, const char *data, size_t size)
{
    size_t room = text->size - text->used - 1;
    if (size > room)
        size = room;
    memcpy (text->out + text->used, data, size);
    text->used += size;
    text->out[text->used] = '\0';
}

//  Copies the joint and masks the value behind it; returns how much of `in` was used

static size_t
s_mask_value (log_text_t *text, const char *in)
{
    size_t joint = s_joint_size (in);
    s_put (text, in, joint);
    size_t value = strcspn (in + joint, " \t\r\n\"'&,;");
    if (strncasecmp (in + joint, "bearer ", 7) == 0)
        value = 7 + strcspn (in + joint + 7, " \t\r\n\"'&,;");
    if (value > 0)
        s_put (text, "***", 3);
    return joint + value;
}

void
argos_log_redact (const char *in, char *out, unsigned long size)
{
    if (size == 0)
        return;
    log_text_t text = { out, size, 0 };
    out[0] = '\0';
    while (*in) {
        size_t word = s_token_size (in);
        if (word == 0) {
            s_put (&text, in++, 1);
            continue;
        }
        if (s_is_secret (in, word))
            s_put (&text, "***", 3);
        else
            s_put (&text, in, word);
        bool named = s_names_secret (in, word);
        bool bearer = word == 6 && strncasecmp (in, "bearer", 6) == 0;
        in += word;
        if (named && s_joint_size (in) > 0)
            in += s_mask_value (&text, in);
        else if (bearer && *in == ' ' && s_token_size (in + 1) >= 8) {
            s_put (&text, " ***", 4);
            in += 1 + strcspn (in + 1, " \t\r\n\"'");
        }
    }
}

//  Adds text with control characters and, in quotes, what would end them, made visible

static void
s_put_escaped (log_text_t *line, const char *text, bool quoted)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;
        if (c < 0x20 || c == 0x7f) {
            char code[8];
            snprintf (code, sizeof code, "\\x%02x", c);
            s_put (line, code, 4);
        }
        else if (quoted && (c == '"' || c == '\\')) {
            char pair[2] = { '\\', (char) c };
            s_put (line, pair, 2);
        }
        else
            s_put (line, text, 1);
    }
}

static void
s_put_value (log_text_t *line, const char *value)
{
    bool quoted = !*value || strpbrk (value, " \"=\\") != NULL;
    if (quoted)
        s_put (line, "\"", 1);
    s_put_escaped (line, value, quoted);
    if (quoted)
        s_put (line, "\"", 1);
}

//  Writes one line; pairs is already redacted, or NULL

static void
s_write (argos_log_level_t level, const char *actor, const char *event, const char *pairs)
{
    static const char *const names[] = { "error", "warn", "info", "debug" };
    char buffer[LOG_LINE_MAX];
    log_text_t line = { buffer, sizeof buffer - 1, 0 }; //  One byte is kept for the newline
    struct timespec now;
    struct tm parts;
    char stamp[40];
    clock_gettime (CLOCK_REALTIME, &now);
    gmtime_r (&now.tv_sec, &parts);
    size_t size = strftime (stamp, sizeof stamp, "ts=%Y-%m-%dT%H:%M:%S", &parts);
    snprintf (stamp + size, sizeof stamp - size, ".%03ldZ", now.tv_nsec / 1000000);
    s_put (&line, stamp, strlen (stamp));
    s_put (&line, " level=", 7);
    s_put (&line, names[level], strlen (names[level]));
    s_put (&line, " actor=", 7);
    s_put_value (&line, actor);
    s_put (&line, " event=", 7);
    s_put_value (&line, event);
    if (pairs && *pairs) {
        s_put (&line, " ", 1);
        s_put_escaped (&line, pairs, false);
    }
    buffer[line.used++] = '\n';
    argos_log_write (buffer, line.used);
}

static log_slot_t *
s_slot (const char *actor, const char *event)
{
    uint32_t hash = 2166136261U;
    for (const char *c = actor; *c; c++)
        hash = (hash ^ (unsigned char) *c) * 16777619U;
    for (const char *c = event; *c; c++)
        hash = (hash ^ (unsigned char) *c) * 16777619U;
    return &s_slots[hash % LOG_SLOTS];
}

//  Whether a line of this kind may be written now. *ret_before gets the kind whose lines were kept
//  back and have to be said first (suppressed 0 = none).

static bool
s_admit (const char *actor, const char *event, log_slot_t *ret_before)
{
    struct timespec now;
    log_slot_t own = { .count = 0 };
    snprintf (own.actor, sizeof own.actor, "%s", actor);
    snprintf (own.event, sizeof own.event, "%s", event);
    clock_gettime (CLOCK_MONOTONIC, &now);
    own.second = now.tv_sec;
    pthread_mutex_lock (&s_mutex);
    log_slot_t *slot = s_slot (own.actor, own.event);
    bool same = strcmp (slot->actor, own.actor) == 0 && strcmp (slot->event, own.event) == 0;
    if (!same || slot->second != own.second) {
        *ret_before = *slot;
        *slot = own;
    }
    bool admitted = slot->count < LOG_BURST;
    slot->count++;
    if (!admitted)
        slot->suppressed++;
    pthread_mutex_unlock (&s_mutex);
    return admitted;
}

void
argos_log (argos_log_level_t level, const char *actor, const char *event, const char *format, ...)
{
    log_slot_t before = { .suppressed = 0 };
    if ((int) level > atomic_load (&s_level) || !s_admit (actor, event, &before))
        return;
    if (before.suppressed > 0) {
        char pairs[32];
        snprintf (pairs, sizeof pairs, "suppressed=%d", before.suppressed);
        s_write (ARGOS_LOG_WARN, before.actor, before.event, pairs);
    }
    char raw[LOG_LINE_MAX] = "", pairs[LOG_LINE_MAX];
    if (format) {
        va_list list;
        va_start (list, format);
        vsnprintf (raw, sizeof raw, format, list);
        va_end (list);
    }
    argos_log_redact (raw, pairs, sizeof pairs);
    s_write (level, actor, event, pairs);
}
