//  argos_redact - masks what is a secret beyond doubt.
//
//  Invariant: the result is never longer than the text, and outside of masked places equal to it.
//  One pass, no allocation.

#include "argos_redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define MASK "***"              //  What stands for a secret; none is shorter
#define VALUE_MIN 8             //  Shorter values of assignments are no secrets
#define PEM_BEGIN "-----BEGIN " //  A private key in PEM
#define PEM_END "-----END "

//  Prefixes of tokens, and how many characters a token has at least

static const struct {
    const char *text; //  The prefix
    size_t size_min;  //  Length of a whole token, at least
} s_prefixes[] = {
    { "sk-", 20 },
    { "ghp_", 24 },
    { "gho_", 24 },
    { "ghs_", 24 },
    { "ghu_", 24 },
    { "github_pat_", 30 },
    { "glpat-", 20 },
    { "xoxb-", 20 },
    { "xoxp-", 20 },
    { "xapp-", 20 },
    { "AKIA", 20 },
    { "ASIA", 20 },
    { "AIza", 35 },
    { "hf_", 24 },
    { "npm_", 24 },
    { "pypi-", 24 },
    { "eyJ", 60 },
};

static bool
s_is_word (char c)
{
    return isalnum ((unsigned char) c) || c == '_' || c == '-' || c == '.';
}

//  Length of the word at text.

static size_t
s_word (const char *text, size_t size)
{
    size_t length = 0;
    while (length < size && s_is_word (text[length]))
        length++;
    return length;
}

static bool
s_begins (const char *text, size_t size, const char *what)
{
    return size >= strlen (what) && memcmp (text, what, strlen (what)) == 0;
}

//  Whether the word is a token by its prefix.

static bool
s_is_token (const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof s_prefixes / sizeof *s_prefixes; i++)
        if (size >= s_prefixes[i].size_min && s_begins (word, size, s_prefixes[i].text))
            return true;
    return false;
}

//  Whether the word names a secret: upper case, as in an environment, or a known name of a member.

static bool
s_is_name (const char *word, size_t size)
{
    static const char *const endings[] = { "_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "api_key",
        "apikey", "api-key", "access_token", "refresh_token", "client_secret" };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen (endings[i]);
        if (size >= length && memcmp (word + size - length, endings[i], length) == 0)
            return true;
    }
    return false;
}

//  Length of what joins a name and its value: = or : with quotes and one space around; 0 = the name
//  has no value.

static size_t
s_joint (const char *text, size_t size)
{
    size_t at = 0;
    while (at < size && (text[at] == '"' || text[at] == '\''))
        at++;
    if (at == size || (text[at] != '=' && text[at] != ':'))
        return 0;
    at++;
    while (at < size && (text[at] == '"' || text[at] == '\'' || text[at] == ' '))
        at++;
    return at;
}

//  Length of a value: up to white space, a quote or a separator.

static size_t
s_value (const char *text, size_t size)
{
    size_t length = 0;
    while (length < size && !isspace ((unsigned char) text[length]) &&
           !strchr ("\"'`&,;<>()[]{}", text[length]))
        length++;
    return length;
}

//  Length of the body of a private key whose first line is at text, 0 = it is none. *ret_line gets
//  the length of that line.

static size_t
s_pem (const char *text, size_t size, size_t *ret_line)
{
    const char *line = s_begins (text, size, PEM_BEGIN) ? memchr (text, '\n', size) : NULL;
    if (!line || !memmem (text, (size_t) (line - text), "PRIVATE KEY", strlen ("PRIVATE KEY")))
        return 0;
    *ret_line = (size_t) (line - text) + 1;
    const char *end = memmem (text + *ret_line, size - *ret_line, PEM_END, strlen (PEM_END));
    return end ? (size_t) (end - text) - *ret_line : size - *ret_line;
}

//  How many bytes at text, behind the word of size `word`, are a secret of that name (0 = none);
//  *ret_keep gets how many stand before it and stay.

static size_t
s_secret_behind (const char *text, size_t size, size_t word, size_t *ret_keep)
{
    const char *behind = text + word;
    size_t left = size - word;
    *ret_keep = 0;
    if (word == 6 && strncasecmp (text, "bearer", word) == 0 && left && *behind == ' ')
        *ret_keep = 1;
    else if (s_is_name (text, word))
        *ret_keep = s_joint (behind, left);
    if (!*ret_keep)
        return 0;
    size_t value = s_value (behind + *ret_keep, left - *ret_keep);
    //  $VARIABLE is the name of a secret, not the secret
    return value >= VALUE_MIN && behind[*ret_keep] != '$' ? value : 0;
}

size_t
argos_redact (const char *text, size_t size, char *target)
{
    size_t used = 0, at = 0;
    while (at < size) {
        size_t line = 0, keep = 0, secret = s_pem (text + at, size - at, &line);
        size_t word = s_word (text + at, size - at);
        if (secret)
            keep = line;
        else if (!word)
            keep = 1;
        else if (s_is_token (text + at, word))
            secret = word;
        else {
            secret = s_secret_behind (text + at, size - at, word, &keep);
            keep = secret ? word + keep : word;
        }
        memcpy (target + used, text + at, keep);
        used += keep;
        at += keep;
        if (secret >= strlen (MASK)) {
            memcpy (target + used, MASK, strlen (MASK));
            used += strlen (MASK);
        }
        at += secret;
    }
    target[used] = 0;
    return used;
}
