//  argos_store_query - what people type becomes a query that the index can't misunderstand. Pure.
//
//  Invariant: a query that comes out has no syntax error: words are quoted unless they are letters
//  and digits, operators stand between two words. Limit: 2048 characters are looked at.

#include "argos_store_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CHARS_MAX 2048 //  Characters of a query

//  Size of the character at text, 1 for what is no UTF-8

static size_t
s_size (const char *text)
{
    unsigned char byte = (unsigned char) *text;
    size_t size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    for (size_t i = 1; i < size; i++)
        if (((unsigned char) text[i] & 0xc0) != 0x80)
            return 1;
    return size;
}

static bool
s_is_cjk (const char *text)
{
    const unsigned char *byte = (const unsigned char *) text;
    unsigned code = 0;
    if (s_size (text) == 3)
        code = (byte[0] & 0x0fu) << 12 | (byte[1] & 0x3fu) << 6 | (byte[2] & 0x3fu);
    else if (s_size (text) == 4)
        code = (byte[0] & 0x07u) << 18 | (byte[1] & 0x3fu) << 12 | (byte[2] & 0x3fu) << 6 |
               (byte[3] & 0x3fu);
    return (code >= 0x3000 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x4dbf) ||
           (code >= 0x4e00 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7af) ||
           (code >= 0x20000 && code <= 0x2a6df);
}

static size_t
s_count_cjk (const char *text, size_t size)
{
    size_t count = 0;
    for (size_t at = 0; at < size; at += s_size (text + at))
        count += s_is_cjk (text + at);
    return count;
}

static bool
s_is_bare (char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || (unsigned char) letter >= 0x80;
}

static bool
s_is_named (const argos_store_word_t *word)
{
    static const char *const names[] = { "AND", "OR", "NOT" };
    for (size_t i = 0; i < 3; i++)
        if (word->size == strlen (names[i]) && memcmp (word->text, names[i], word->size) == 0)
            return true;
    return false;
}

static bool
s_is_operator (const argos_store_word_t *word)
{
    return !word->phrase && !word->star && s_is_named (word);
}

//  The same in any case: at the ends of a query it is a word that was not finished.

static bool
s_dangles (const argos_store_word_t *word)
{
    return !word->phrase && !word->star &&
           ((word->size == 3 && (strncasecmp (word->text, "and", 3) == 0 ||
                                    strncasecmp (word->text, "not", 3) == 0)) ||
               (word->size == 2 && strncasecmp (word->text, "or", 2) == 0));
}

//  ------------------------------------------------------------------------------------------------
//  Words

static bool
s_is_blank (char letter)
{
    return letter && ((unsigned char) letter <= ' ' || strchr ("+{}()^:\"", letter));
}

//  One word or phrase from *text_p on. False when it is empty, or there is no room.

static bool
s_word (const char **text_p, const char *end, argos_store_word_t *word)
{
    const char *text = *text_p;
    while (text < end && *text != '"' && (s_is_blank (*text) || *text == '*'))
        text++;
    bool quote = text < end && *text == '"';
    const char *close = quote ? memchr (text + 1, '"', (size_t) (end - text) - 1) : NULL;
    *word = (argos_store_word_t){ .text = text, .phrase = close != NULL };
    if (quote) {
        word->text = text + 1;
        word->size = close ? (size_t) (close - text) - 1 : 0;
        *text_p = close ? close + 1 : text + 1;
        return word->size > 0;
    }
    while (text < end && !s_is_blank (*text) && *text != '*')
        text++;
    word->size = (size_t) (text - word->text);
    word->star = word->size > 0 && text < end && *text == '*';
    while (text < end && *text == '*')
        text++;
    *text_p = text;
    return word->size > 0;
}

static void
s_words (argos_store_query_t *self, const char *text)
{
    const char *end = text;
    for (size_t count = 0; *end && count < CHARS_MAX; count++)
        end += s_size (end);
    while (text < end && self->count < ARGOS_STORE_WORDS_MAX)
        if (s_word (&text, end, &self->words[self->count]))
            self->count++;
    if (self->count && s_dangles (&self->words[self->count - 1]))
        self->count--;
    if (self->count && s_dangles (&self->words[0]))
        memmove (self->words, self->words + 1, --self->count * sizeof *self->words);
}

//  ------------------------------------------------------------------------------------------------
//  Output

static void
s_put (char **target_p, const argos_store_word_t *word, bool quote)
{
    char *target = *target_p;
    bool bare = !quote && !word->phrase && !s_is_named (word);
    for (size_t i = 0; bare && i < word->size; i++)
        bare = s_is_bare (word->text[i]);
    if (!bare)
        *target++ = '"';
    memcpy (target, word->text, word->size);
    target += word->size;
    if (!bare)
        *target++ = '"';
    if (word->star)
        *target++ = '*';
    *target = 0;
    *target_p = target;
}

//  The text of the query; none when operators don't stand between words.

static void
s_write (argos_store_query_t *self)
{
    char *target = self->text;
    bool before = true;
    for (size_t i = 0; i < self->count; i++) {
        bool joins = s_is_operator (&self->words[i]);
        if (joins && (before || i + 1 == self->count)) {
            self->kind = ARGOS_QUERY_NONE;
            return;
        }
        if (i)
            *target++ = ' ';
        before = joins;
        if (joins) {
            memcpy (target, self->words[i].text, self->words[i].size);
            target += self->words[i].size;
            *target = 0;
        }
        else
            s_put (&target, &self->words[i], self->kind == ARGOS_QUERY_TRIGRAMS);
    }
}

//  Words side by side belong together before any operator: FTS5 has no such rule for expressions,
//  so they get brackets.

char *
argos_store_query_spelled (
    const argos_store_query_t *self, char *const words[static ARGOS_STORE_WORDS_MAX])
{
    size_t room = 16;
    for (size_t i = 0; i < self->count; i++)
        room += self->words[i].size + 16 + (words[i] ? strlen (words[i]) : 0);
    char *text = malloc (room), *target = text;
    if (!text)
        abort ();
    bool inside = false;
    for (size_t i = 0; i < self->count; i++) {
        const argos_store_word_t *word = &self->words[i];
        if (s_is_operator (word)) {
            target += snprintf (target, 8, ") %.*s ", (int) word->size, word->text);
            inside = false;
            continue;
        }
        target = stpcpy (target, inside ? " AND " : "(");
        inside = true;
        if (words[i])
            target = stpcpy (target, words[i]);
        else
            s_put (&target, word, false);
    }
    stpcpy (target, inside ? ")" : "");
    return text;
}

argos_store_query_t *
argos_store_query_new (const char *text)
{
    argos_store_query_t *self = calloc (1, sizeof *self);
    //  A word is at least one byte and gets two quotes, a star and a blank
    char *room = calloc (1, 5 * strlen (text) + 1);
    if (!self || !room)
        abort ();
    self->text = room;
    s_words (self, text);
    size_t all = 0;
    bool longer = true;
    for (size_t i = 0; i < self->count; i++) {
        size_t count = s_count_cjk (self->words[i].text, self->words[i].size);
        all += count;
        longer = longer && (count == 0 || count >= 3);
    }
    self->kind = self->count == 0     ? ARGOS_QUERY_NONE
                 : all == 0           ? ARGOS_QUERY_WORDS
                 : all >= 3 && longer ? ARGOS_QUERY_TRIGRAMS
                                      : ARGOS_QUERY_PLAIN;
    if (self->kind == ARGOS_QUERY_WORDS || self->kind == ARGOS_QUERY_TRIGRAMS)
        s_write (self);
    return self;
}

void
argos_store_query_destroy (argos_store_query_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    free ((*self_p)->text);
    free (*self_p);
    *self_p = NULL;
}

bool
argos_store_query_is_operator (const argos_store_query_t *self, size_t word)
{
    return s_is_operator (&self->words[word]);
}
