//  argos_cmdline_word - the words of a command: as they are made, and as rules see them.
//
//  Limits: of a word longer than 1 KiB the first and the last 512 bytes. A path is tidied before,
//  however long it is: the system skips thousands of slashes as well.

#include "argos_cmdline_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN ((size_t) 512)
#define SHORT_MAX 8 //  Bytes that a short name of a folder may add

static void
s_add_word (cmdline_text_t *self, const char *text, size_t size)
{
    if (self->count == CMDLINE_WORDS) {
        self->state->out->overflow = true;
        return;
    }
    cmdline_word_t *word = &self->words[self->count++];
    word->text = strndup (text, size);
    if (!word->text)
        abort ();
    word->quoted = self->quoted;
    word->sign = self->sign;
    self->sign = 0;
}

//  The brace behind open that closes it, with at least one comma at its level; 0 = none.

static size_t
s_brace_end (const char *text, size_t open)
{
    int depth = 0;
    bool comma = false;
    for (size_t i = open; text[i]; i++) {
        if (text[i] == '{')
            depth++;
        else if (text[i] == ',' && depth == 1)
            comma = true;
        else if (text[i] == '}' && --depth == 0)
            return comma ? i : 0;
    }
    return 0;
}

//  Adds the word, or the words that its braces make.

static void //  NOLINTNEXTLINE(misc-no-recursion): six deep at most
s_add_braces (cmdline_text_t *self, const char *text, int depth)
{
    const char *brace = depth < 6 ? strchr (text, '{') : NULL;
    size_t open = brace ? (size_t) (brace - text) : 0;
    size_t close = brace ? s_brace_end (text, open) : 0;
    if (!close) {
        s_add_word (self, text, strlen (text));
        return;
    }
    size_t from = open + 1;
    int level = 0;
    for (size_t i = from; i <= close && !self->state->out->overflow; i++) {
        if (text[i] == '{')
            level++;
        else if (text[i] == '}' && i < close)
            level--;
        else if (i == close || (text[i] == ',' && level == 0)) {
            cmdline_buf_t one = { NULL, 0, 0 };
            cmdline_add (&one, text, open);
            cmdline_add (&one, text + from, i - from);
            cmdline_add (&one, text + close + 1, strlen (text + close + 1));
            s_add_braces (self, one.data, depth + 1);
            free (one.data);
            from = i + 1;
        }
    }
}

void
cmdline_end_word (cmdline_text_t *self)
{
    if (!self->in_word)
        return;
    cmdline_add (&self->word, "", 0);
    if (self->quoted)
        s_add_word (self, self->word.data, self->word.size);
    else
        s_add_braces (self, self->word.data, 0);
    self->word.size = 0;
    self->in_word = self->quoted = false;
}

bool
cmdline_is_assignment (const char *word)
{
    if (!isalpha ((unsigned char) *word) && *word != '_')
        return false;
    size_t size = strspn (word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return word[size] == '=' || (word[size] == '+' && word[size + 1] == '=');
}

static unsigned
s_digit (char sign)
{
    return sign >= '0' && sign <= '9'                 ? (unsigned) (sign - '0')
           : (sign | 32) >= 'a' && (sign | 32) <= 'f' ? (unsigned) ((sign | 32) - 'a' + 10)
                                                      : 99;
}

//  A number behind a backslash: at most max digits of the base. Returns how many.

static size_t
s_number (const char *text, unsigned base, size_t max, char *ret_sign)
{
    unsigned value = 0;
    size_t count = 0;
    while (count < max && s_digit (text[count]) < base)
        value = value * base + s_digit (text[count++]);
    *ret_sign = (char) value;
    return count;
}

void
cmdline_unescape (char *text)
{
    static const char names[] = "abefnrtv", signs[] = "\a\b\033\f\n\r\t\v";
    char *out = text;
    for (const char *in = text; *in;) {
        if (*in != '\\' || !in[1]) {
            *out++ = *in++;
            continue;
        }
        char sign = in[1];
        const char *name = strchr (names, sign);
        size_t taken = 0;
        if (sign == 'x')
            taken = s_number (in + 2, 16, 2, &sign);
        else if (sign == 'u' || sign == 'U')
            taken = s_number (in + 2, 16, sign == 'u' ? 4 : 8, &sign);
        else if (sign >= '0' && sign <= '7') {
            size_t zero = sign == '0' && s_digit (in[2]) < 8 ? 1 : 0;
            taken = s_number (in + 1 + zero, 8, 3, &sign) + zero - 1;
        }
        else if (name)
            sign = signs[name - names];
        in += 2 + taken;
        if (sign)
            *out++ = sign;
    }
    *out = '\0';
}

//  Tidies a path that begins with / or ~ in place.

static void
s_tidy (char *path)
{
    char *start = path + (*path == '~' ? strcspn (path, "/") : 0), *out = start;
    for (const char *in = start; *in;) {
        in += strspn (in, "/");
        size_t size = strcspn (in, "/");
        if (size == 2 && in[0] == '.' && in[1] == '.') {
            while (out > start && *--out != '/')
                continue;
        }
        else if (size && !(size == 1 && *in == '.')) {
            *out++ = '/';
            memmove (out, in, size);
            out += size;
        }
        in += size;
    }
    if (out == start && *path == '/')
        *out++ = '/';
    *out = '\0';
}

//  Puts the short name of a folder in its place.

static void
s_shorten (char *path, const char *folder, const char *name)
{
    size_t size = folder ? strlen (folder) : 0, short_size = strlen (name);
    if (size <= 1 || size < short_size || strncmp (path, folder, size) != 0 ||
        (path[size] && path[size] != '/'))
        return;
    memmove (path + short_size, path + size, strlen (path + size) + 1);
    memcpy (path, name, short_size);
}

//  The path as a path from the root or the home directory, as far as that can be known; new.

static char *
s_path (const cmdline_state_t *state, const char *word, bool path)
{
    const char *home = state->rules->home;
    bool local = *word != '/' && *word != '~';
    bool asked = path || strncmp (word, "./", 2) == 0 || strncmp (word, "..", 2) == 0 ||
                 strcmp (word, ".") == 0 || strcmp (word, "*") == 0;
    const char *folder = local && asked && state->cwd ? state->cwd : "";
    char *out = malloc (strlen (folder) + strlen (word) + SHORT_MAX);
    if (!out)
        abort ();
    stpcpy (stpcpy (stpcpy (out, folder), *folder ? "/" : ""), word);
    if (*out == '/' || *out == '~') {
        s_tidy (out);
        s_shorten (out, state->rules->state, "~argos");
        s_shorten (out, home, "~");
    }
    return out;
}

static void
s_put (cmdline_buf_t *out, const char *text, size_t size)
{
    bool option = *text == '-';
    for (size_t i = 0; i < size; i++) {
        unsigned char sign = (unsigned char) text[i];
        char one = (char) (sign <= ' ' || sign == '|' ? CMDLINE_GAP
                           : option                   ? sign
                                                      : tolower (sign));
        cmdline_add (out, &one, 1);
    }
}

void
cmdline_render (
    const cmdline_state_t *state, const char *word, bool base, bool path, cmdline_buf_t *out)
{
    char *tidy = NULL;
    const char *value = strchr (word, '=');
    const char *slash = strrchr (word, '/');
    if (base && slash && slash[1] && !strpbrk (word, "$("))
        word = slash + 1;
    else if (!base) {
        //  name=/path, as of dd and of options
        if (value && (value[1] == '/' || value[1] == '~')) {
            s_put (out, word, (size_t) (value + 1 - word));
            word = value + 1;
            path = false;
        }
        word = tidy = s_path (state, word, path && *word != '-');
    }
    if (*word && strchr ("><|&", *word))
        cmdline_add (out, "\\", 1);
    size_t size = strlen (word);
    if (size <= 2 * SHOWN)
        s_put (out, word, size);
    else {
        s_put (out, word, SHOWN);
        s_put (out, word + size - SHOWN, SHOWN);
    }
    free (tidy);
}

char *
argos_cmdline_path (const char *path, const argos_cmdline_rules_t *rules)
{
    cmdline_state_t state = { .rules = rules,
        .cwd = rules->workdir ? strdup (rules->workdir) : NULL };
    cmdline_buf_t out = { NULL, 0, 0 };
    cmdline_render (&state, path, false, true, &out);
    free (state.cwd);
    return out.data ? out.data : strdup ("");
}
