//  argos_cmdline - lines for rules out of a shell's text.
//
//  Invariant: each nested text is read with one depth more, and its bytes are counted like those of
//  values and pipes, so that any input ends soon; what is not read sets overflow. Limits: CMDLINE_*
//  in argos_cmdline_priv.h, 2 MiB of text with all that is nested.

#include "argos_cmdline.h"

#include "argos_cmdline_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_MAX ((size_t) 2 * 1024 * 1024)
#define LINE_MAX_SIZE 16384

//  Words of the shell that stand before a command
static const char *const s_keywords[] = { "if", "then", "elif", "else", "do", "while", "until", "!",
    "{", "}", "fi", "done", "esac", "time", "coproc", "case", "function" };

//  Commands whose arguments are paths, with or without a slash
static const char *const s_pathy[] = { "rm", "rmdir", "chmod", "chown", "chgrp", "find", "shred",
    "tee", "cp", "mv", "install", "ln", "truncate", "unlink" };

//  How the marks of redirections are shown
static const struct {
    char sign;        //  As in cmdline_word_t
    const char *text; //  In a line
} s_signs[] = { { '>', ">" }, { '<', "<" }, { 'H', "<<<" }, { 'h', "<<" } };

bool
cmdline_is_one_of (const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp (word, list[i]) == 0)
            return true;
    return false;
}

void
cmdline_add (cmdline_buf_t *buf, const char *data, size_t size)
{
    if (buf->size + size + 1 > buf->room) {
        buf->room = 2 * (buf->size + size) + 64;
        buf->data = realloc (buf->data, buf->room);
        if (!buf->data)
            abort ();
    }
    if (size)
        memcpy (buf->data + buf->size, data, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void
cmdline_add_str (cmdline_buf_t *buf, const char *text)
{
    cmdline_add (buf, text, strlen (text));
}

//  ---------------------------------------------------------------------------------------------
//  Variables

void
cmdline_set (cmdline_state_t *state, const char *name, size_t size, const char *value)
{
    cmdline_var_t *var = NULL;
    for (size_t i = 0; i < state->var_count && !var; i++)
        if (strlen (state->vars[i].name) == size && strncmp (state->vars[i].name, name, size) == 0)
            var = &state->vars[i];
    if (!var) {
        if (state->var_count == CMDLINE_VARS || size >= sizeof var->name)
            return;
        var = &state->vars[state->var_count++];
        memcpy (var->name, name, size);
        var->name[size] = '\0';
    }
    free (var->value);
    //  What is not known is no value
    var->value = strchr (value, '$') || strlen (value) > 4096 ? NULL : strdup (value);
}

const char *
cmdline_get (const cmdline_state_t *state, const char *name, size_t size)
{
    if (size == 4 && strncmp (name, "HOME", 4) == 0)
        return "~";
    if (size == 3 && strncmp (name, "PWD", 3) == 0)
        return state->cwd;
    for (size_t i = 0; i < state->var_count; i++)
        if (strlen (state->vars[i].name) == size && strncmp (state->vars[i].name, name, size) == 0)
            return state->vars[i].value;
    return NULL;
}

void
cmdline_assign (cmdline_state_t *state, const char *word)
{
    const char *value = strchr (word, '=');
    size_t size = (size_t) (value - word);
    if (size && word[size - 1] == '+')
        size--;
    cmdline_set (state, word, size, value + 1);
}

//  ---------------------------------------------------------------------------------------------
//  Lines

void
cmdline_emit (cmdline_state_t *state, const char *line)
{
    argos_cmdline_t *out = state->out;
    size_t size = strlen (line);
    if (out->count == ARGOS_CMDLINE_LINES || size > LINE_MAX_SIZE ||
        out->size + size > ARGOS_CMDLINE_SIZE) {
        out->overflow = true;
        return;
    }
    char *copy = strdup (line);
    if (!copy)
        abort ();
    out->lines[out->count++] = copy;
    out->size += size;
}

const char *
cmdline_base (const char *word)
{
    const char *slash = strrchr (word, '/');
    return slash && slash[1] && !strpbrk (word, "$(") ? slash + 1 : word;
}

//  Appends the command that begins with word number start.

static void
s_render (cmdline_text_t *self, size_t start, cmdline_buf_t *line)
{
    bool first = true, pathy = false;
    for (size_t i = start; i < self->count; i++) {
        const cmdline_word_t *word = &self->words[i];
        bool names = first && !word->sign;
        if (names)
            pathy = CMDLINE_IS_ONE_OF (cmdline_base (word->text), s_pathy);
        if (line->size && line->data[line->size - 1] != ' ')
            cmdline_add_str (line, " ");
        for (size_t k = 0; word->sign && k < sizeof s_signs / sizeof *s_signs; k++)
            if (s_signs[k].sign == word->sign)
                cmdline_add_str (line, s_signs[k].text);
        if (word->sign != 'h')
            cmdline_render (
                self->state, word->text, names, word->sign ? word->sign == '>' : pathy, line);
        first = first && word->sign;
    }
}

//  The pipeline is over.

static void
s_end_line (cmdline_text_t *self, char end)
{
    if (self->line.size) {
        //  A command piped into itself in the background, without arguments: it multiplies
        const char *second = strstr (self->line.data, " | ");
        size_t size = second ? (size_t) (second - self->line.data) : 0;
        if (end == '&' && size && strncmp (self->line.data, second + 3, size) == 0 &&
            !second[3 + size] && !memchr (self->line.data, ' ', size))
            cmdline_emit (self->state, "fork_bomb");
        if (end == '&') {
            cmdline_add_str (&self->line, " &");
            cmdline_add_str (&self->raw, " &");
        }
        cmdline_emit (self->state, self->line.data);
        if (self->prefixed)
            cmdline_emit (self->state, self->raw.data);
    }
    self->last.size = 0;
    if (self->line.size)
        cmdline_add_str (&self->last, self->line.data);
    self->line.size = self->raw.size = 0;
    self->prefixed = false;
    free (self->feed);
    self->feed = NULL;
}

//  ---------------------------------------------------------------------------------------------
//  Prefixes

//  Index behind the option at i of a prefix, and behind its value.

static size_t
s_skip_option (const cmdline_text_t *self, size_t i, const json_t *wrapper)
{
    const char *option = self->words[i].text;
    const char *values = json_string_value (json_object_get (wrapper, "values"));
    const json_t *name;
    size_t at;
    if (option[1] != '-')
        return values && strchr (values, option[strlen (option) - 1]) ? i + 2 : i + 1;
    json_array_foreach (json_object_get (wrapper, "long"), at, name)
        if (strcmp (option + 2, json_string_value (name)) == 0)
            return i + 2;
    return i + 1;
}

//  The first word that is a command's own: behind prefixes. *ret_fed: one of them takes arguments
//  from its input.

static size_t
s_behind_wrappers (const cmdline_text_t *self, size_t start, bool *ret_fed)
{
    size_t i = start;
    while (i < self->count) {
        if (cmdline_is_assignment (self->words[i].text) || self->words[i].sign) {
            i++;
            continue;
        }
        const char *name = cmdline_base (self->words[i].text);
        const json_t *wrapper = json_object_get (self->state->rules->wrappers, name);
        if (!wrapper)
            return i;
        *ret_fed = *ret_fed || json_is_true (json_object_get (wrapper, "fed"));
        i++;
        while (i < self->count && self->words[i].text[0] == '-' && self->words[i].text[1]) {
            bool last = strcmp (self->words[i].text, "--") == 0;
            i = last ? i + 1 : s_skip_option (self, i, wrapper);
            if (last)
                break;
        }
        while (i < self->count && cmdline_is_assignment (self->words[i].text))
            i++;
        i += (size_t) json_integer_value (json_object_get (wrapper, "skip"));
    }
    return i >= self->count ? start : i;
}

//  ---------------------------------------------------------------------------------------------
//  A command

//  The variable of a `for` has all its values at once.

static void
s_for (cmdline_text_t *self, size_t name)
{
    cmdline_buf_t list = { NULL, 0, 0 };
    for (size_t i = name + 2; i < self->count; i++) {
        cmdline_add_str (&list, i > name + 2 ? " " : "");
        cmdline_add_str (&list, self->words[i].text);
    }
    const char *variable = self->words[name].text;
    cmdline_set (self->state, variable, strlen (variable), list.data ? list.data : "");
    free (list.data);
}

//  Index of the first word behind keywords and assignments; a `for` sets its variable.

static size_t
s_begin (cmdline_text_t *self)
{
    size_t i = 0;
    while (i < self->count) {
        const cmdline_word_t *word = &self->words[i];
        bool keyword = !word->quoted && !word->sign;
        if (cmdline_is_assignment (word->text))
            cmdline_assign (self->state, word->text);
        else if (keyword && strcmp (word->text, "for") == 0 && i + 2 < self->count) {
            s_for (self, i + 1);
            return self->count;
        }
        else if (!keyword || !CMDLINE_IS_ONE_OF (word->text, s_keywords))
            return i;
        else if (strcmp (word->text, "case") == 0)
            i += 2;
        else if (strcmp (word->text, "function") == 0)
            i++;
        i++;
    }
    return i;
}

//  xargs: what the pipe brings becomes arguments.

static void
s_take_feed (cmdline_text_t *self)
{
    for (const char *at = self->feed; at && *at && self->count < CMDLINE_WORDS;) {
        at += strspn (at, " \t\n");
        size_t size = strcspn (at, " \t\n");
        if (size) {
            self->words[self->count] = (cmdline_word_t){ .text = strndup (at, size) };
            if (!self->words[self->count++].text)
                abort ();
        }
        at += size;
    }
}

static void
s_run (cmdline_text_t *self, size_t begin, char end)
{
    bool fed = false;
    size_t start = s_behind_wrappers (self, begin, &fed);
    if (fed)
        s_take_feed (self);
    cmdline_hand (self, start);
    if (self->line.size) {
        cmdline_add_str (&self->line, " | ");
        cmdline_add_str (&self->raw, " | ");
    }
    s_render (self, start, &self->line);
    s_render (self, begin, &self->raw);
    self->prefixed = self->prefixed || start != begin;
    char *feed = end == '|' ? cmdline_writes (self, start) : NULL;
    if (feed)
        cmdline_may_read (self->state, strlen (feed));
    free (self->feed);
    self->feed = feed;
}

void
cmdline_command (cmdline_text_t *self, char end)
{
    size_t begin = s_begin (self);
    if (begin < self->count && !self->state->out->overflow)
        s_run (self, begin, end);
    else if (end == '|' && !self->line.size && self->last.size) {
        //  ( a; b ) | c: b is what c reads from
        cmdline_add_str (&self->line, self->last.data);
        cmdline_add_str (&self->raw, self->last.data);
    }
    if (end != '|')
        s_end_line (self, end);
    for (size_t i = 0; i < self->count; i++)
        free (self->words[i].text);
    self->count = 0;
    free (self->here);
    self->here = NULL;
}

bool
cmdline_may_read (cmdline_state_t *state, size_t size)
{
    state->work += size;
    if (state->work > WORK_MAX)
        state->out->overflow = true;
    return !state->out->overflow;
}

void
cmdline_text (cmdline_state_t *state, const char *data, size_t size, int depth)
{
    if (depth > CMDLINE_DEPTH)
        state->out->overflow = true;
    if (!cmdline_may_read (state, size))
        return;
    cmdline_text_t *self = calloc (1, sizeof *self);
    //  A copy: a variable that is set inside may be what the text stands in
    char *copy = strndup (data, size);
    if (!self || !copy)
        abort ();
    self->state = state;
    self->data = copy;
    self->size = strlen (copy);
    self->depth = depth;
    cmdline_lex (self);
    free (self->word.data);
    free (self->line.data);
    free (self->raw.data);
    free (self->last.data);
    free (self->feed);
    free (self->here);
    free (copy);
    free (self);
}

void
argos_cmdline_read (
    const char *text, size_t size, const argos_cmdline_rules_t *rules, argos_cmdline_t *ret)
{
    cmdline_state_t state = { .rules = rules, .out = ret };
    *ret = (argos_cmdline_t){ .count = 0 };
    state.cwd = rules->workdir && *rules->workdir == '/' ? strdup (rules->workdir) : NULL;
    cmdline_text (&state, text, size, 0);
    for (size_t i = 0; i < state.var_count; i++)
        free (state.vars[i].value);
    free (state.cwd);
}

void
argos_cmdline_clear (argos_cmdline_t *self)
{
    for (size_t i = 0; self && i < self->count; i++)
        free (self->lines[i]);
    if (self)
        *self = (argos_cmdline_t){ .count = 0 };
}
