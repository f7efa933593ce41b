//  argos_cmdline_lex - words of a shell's text: quotes, expansions, redirections, here-documents.
//
//  Invariant: `at` grows with each step, so that reading ends; what a quote without an end holds is
//  read to the end. Limits: no arithmetic, no arrays, no glob; an expansion that is not known stays
//  as `$name`.

#include "argos_cmdline_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
s_push (cmdline_text_t *self, const char *data, size_t size)
{
    cmdline_add (&self->word, data, size);
    self->in_word = true;
}

static char
s_peek (const cmdline_text_t *self, size_t ahead)
{
    if (self->at + ahead >= self->size)
        return '\0';
    return self->data[self->at + ahead];
}

//  A value in place of a variable.

static void
s_push_value (cmdline_text_t *self, const char *value, bool quoted)
{
    self->in_word = self->in_word || quoted;
    if (!cmdline_may_read (self->state, strlen (value)))
        return;
    for (; *value; value++) {
        if (!quoted && isspace ((unsigned char) *value))
            cmdline_end_word (self);
        else
            s_push (self, value, 1);
    }
}

static void
s_push_name (cmdline_text_t *self, const char *name, size_t size, bool quoted)
{
    const char *value = cmdline_get (self->state, name, size);
    if (size == 3 && strncmp (name, "IFS", 3) == 0)
        s_push_value (self, " ", quoted);
    else if (value)
        s_push_value (self, value, quoted);
    else {
        s_push (self, "$", 1);
        s_push (self, name, size);
    }
}

//  Index of the end of what begins at from with open, quotes heeded; the size when there is none.

static size_t
s_match (const cmdline_text_t *self, size_t from, char open, char close)
{
    int depth = 0;
    char quote = '\0';
    for (size_t i = from; i < self->size; i++) {
        char sign = self->data[i];
        if (sign == '\\' && quote != '\'')
            i++;
        else if (quote) {
            if (sign == quote)
                quote = '\0';
        }
        else if (sign == '\'' || sign == '"')
            quote = sign;
        else if (sign == open)
            depth++;
        else if (sign == close && --depth == 0)
            return i;
    }
    return self->size;
}

//  A text that is run for its output: read, and put in as $( ).

static void
s_push_run (cmdline_text_t *self, const char *mark, size_t from, size_t to)
{
    cmdline_text (self->state, self->data + from, to - from, self->depth + 1);
    s_push (self, mark, strlen (mark));
    s_push (self, self->data + from, to - from);
    s_push (self, ")", 1);
}

//  `...`, at the first of them.

static void
s_backtick (cmdline_text_t *self)
{
    size_t end = self->at + 1;
    while (end < self->size && self->data[end] != '`')
        end += self->data[end] == '\\' ? 2 : 1;
    end = end > self->size ? self->size : end;
    s_push_run (self, "$(", self->at + 1, end);
    self->at = end + 1;
}

//  ${...}, at the dollar.

static void
s_dollar_brace (cmdline_text_t *self, bool quoted)
{
    size_t from = self->at + 2, end = s_match (self, self->at + 1, '{', '}'), to = from;
    while (to < end && (isalnum ((unsigned char) self->data[to]) || self->data[to] == '_'))
        to++;
    const char *rest = self->data + to;
    bool fallback = to + 1 < end && rest[0] == ':' && (rest[1] == '-' || rest[1] == '=');
    const char *value = cmdline_get (self->state, self->data + from, to - from);
    bool known = value || strncmp (self->data + from, "IFS", 3) == 0;
    if (to == end || (known && (fallback || strncmp (self->data + from, "IFS", 3) == 0)))
        s_push_name (self, self->data + from, to - from, quoted);
    else if (fallback)
        s_push (self, rest + 2, end - to - 2);
    else if (to == from && to < end && strchr ("@*", *rest))
        self->in_word = self->in_word || quoted;
    else
        s_push (self, self->data + self->at, end - self->at);
    self->at = end + 1;
}

//  $'...', at the dollar.

static void
s_dollar_quote (cmdline_text_t *self)
{
    size_t from = self->at + 2, end = from;
    while (end < self->size && self->data[end] != '\'')
        end += self->data[end] == '\\' ? 2 : 1;
    end = end > self->size ? self->size : end;
    char *text = strndup (self->data + from, end - from);
    if (!text)
        abort ();
    cmdline_unescape (text);
    s_push (self, text, strlen (text));
    free (text);
    self->quoted = true;
    self->at = end + 1;
}

static void
s_dollar (cmdline_text_t *self, bool quoted)
{
    char next = s_peek (self, 1);
    if (next == '(') {
        size_t from = self->at + 2, end = s_match (self, self->at + 1, '(', ')');
        s_push_run (self, "$(", from, end);
        self->at = end + 1;
    }
    else if (next == '{')
        s_dollar_brace (self, quoted);
    else if (next == '\'' && !quoted)
        s_dollar_quote (self);
    else if (next == '@' || next == '*' || isdigit ((unsigned char) next))
        self->at += 2; //  No arguments here: nothing
    else if (isalpha ((unsigned char) next) || next == '_') {
        size_t from = self->at + 1, to = from;
        while (
            to < self->size && (isalnum ((unsigned char) self->data[to]) || self->data[to] == '_'))
            to++;
        s_push_name (self, self->data + from, to - from, quoted);
        self->at = to;
    }
    else {
        if (next != '"' || quoted)
            s_push (self, "$", 1);
        self->at++;
    }
}

//  "...", at the first of them.

static void
s_double_quote (cmdline_text_t *self)
{
    self->in_word = self->quoted = true;
    self->at++;
    while (self->at < self->size && self->data[self->at] != '"') {
        char sign = s_peek (self, 0);
        if (sign == '$')
            s_dollar (self, true);
        else if (sign == '`')
            s_backtick (self);
        else {
            if (sign == '\\' && strchr ("$`\"\\\n", s_peek (self, 1) ? s_peek (self, 1) : ' ')) {
                self->at++;
                sign = self->data[self->at];
            }
            if (sign != '\n' || self->data[self->at - 1] != '\\')
                s_push (self, &sign, 1);
            self->at++;
        }
    }
    self->at++;
}

static void
s_single_quote (cmdline_text_t *self)
{
    self->in_word = self->quoted = true;
    size_t from = self->at + 1, end = from;
    while (end < self->size && self->data[end] != '\'')
        end++;
    s_push (self, self->data + from, end - from);
    self->at = end + 1;
}

//  What a here-document without quotes runs.

static void
s_run_document (cmdline_text_t *self, const char *data, size_t size)
{
    cmdline_text_t *text = calloc (1, sizeof *text);
    if (!text)
        abort ();
    *text =
        (cmdline_text_t){ .state = self->state, .data = data, .size = size, .depth = self->depth };
    while (text->at < size) {
        if (data[text->at] == '$')
            s_dollar (text, true);
        else if (data[text->at] == '`')
            s_backtick (text);
        else
            text->at += data[text->at] == '\\' ? 2 : 1;
    }
    free (text->word.data);
    free (text);
}

//  The mark behind <<, size bytes with its end. Returns whether it has quotes.

static bool
s_mark (cmdline_text_t *self, char *mark, size_t size)
{
    size_t used = 0;
    bool quoted = false;
    while (s_peek (self, 0) == ' ' || s_peek (self, 0) == '\t')
        self->at++;
    for (; self->at < self->size && !strchr (" \t\n;|&<>()", self->data[self->at]); self->at++) {
        if (strchr ("'\"\\", self->data[self->at]))
            quoted = true;
        else if (used < size - 1)
            mark[used++] = self->data[self->at];
    }
    mark[used] = '\0';
    return quoted;
}

//  Where the body that begins at from ends; here_to is set behind its mark.

static size_t
s_body_end (cmdline_text_t *self, size_t from, const char *mark, bool tabs)
{
    size_t to = from;
    while (to < self->size) {
        const char *end = memchr (self->data + to, '\n', self->size - to);
        size_t next = end ? (size_t) (end - self->data) : self->size, start = to;
        while (tabs && start < next && self->data[start] == '\t')
            start++;
        self->here_to = next < self->size ? next + 1 : next;
        if (next - start == strlen (mark) && memcmp (self->data + start, mark, next - start) == 0)
            return to;
        to = self->here_to;
    }
    return to;
}

//  The here-document whose mark stands at `at`: its body becomes what the command reads.

static void
s_document (cmdline_text_t *self, bool tabs)
{
    char mark[64];
    bool quoted = s_mark (self, mark, sizeof mark);
    if (self->here_to <= self->at) {
        const char *line = memchr (self->data + self->at, '\n', self->size - self->at);
        self->here_from = line ? (size_t) (line - self->data) : self->size;
        self->here_to = line ? self->here_from + 1 : self->size;
    }
    size_t from = self->here_to, to = s_body_end (self, from, mark, tabs);
    free (self->here);
    self->here = strndup (self->data + from, to - from);
    if (!self->here)
        abort ();
    if (!quoted)
        s_run_document (self, self->here, strlen (self->here));
    self->sign = 'h';
    self->in_word = self->quoted = true;
    cmdline_end_word (self);
}

//  < or > and what belongs to it.

static void
s_redirect (cmdline_text_t *self)
{
    char sign = s_peek (self, 0), next = s_peek (self, 1);
    bool number = self->in_word && !self->quoted;
    for (size_t i = 0; i < self->word.size; i++)
        number = number && isdigit ((unsigned char) self->word.data[i]);
    if (number)
        self->word.size = 0, self->in_word = false;
    if (next == '(') {
        size_t end = s_match (self, self->at + 1, '(', ')');
        s_push_run (self, "$<(", self->at + 2, end);
        self->at = end + 1;
        return;
    }
    cmdline_end_word (self);
    if (sign == '<' && next == '<' && s_peek (self, 2) != '<') {
        bool tabs = s_peek (self, 2) == '-';
        self->at += tabs ? 3 : 2;
        s_document (self, tabs);
        return;
    }
    self->sign = sign;
    if (sign == '<' && next == '<')
        self->sign = 'H';
    self->at += self->sign == 'H' ? 3 : next == '>' || next == '|' || next == '&' ? 2 : 1;
    if (next == '&' && (isdigit ((unsigned char) s_peek (self, 0)) || s_peek (self, 0) == '-')) {
        self->sign = 0; //  A copy of a descriptor
        self->at++;
    }
}

static void
s_newline (cmdline_text_t *self)
{
    cmdline_end_word (self);
    if (self->count || !self->line.size) //  Else a pipe goes on in the next line
        cmdline_command (self, 0);
    bool document = self->here_to && self->at == self->here_from;
    self->at = document ? self->here_to : self->at + 1;
}

static void
s_parenthesis (cmdline_text_t *self)
{
    bool open = self->data[self->at] == '(';
    if (open && self->in_word && s_peek (self, 1) == ')') {
        self->word.size = 0; //  The head of a function
        self->in_word = self->quoted = false;
        self->at += 2;
        return;
    }
    if (open && self->in_word && self->word.size && self->word.data[self->word.size - 1] == '=') {
        self->at = s_match (self, self->at, '(', ')') + 1; //  An array
        return;
    }
    cmdline_end_word (self);
    cmdline_command (self, 0);
    self->at++;
}

//  An operator between commands.

static void
s_operator (cmdline_text_t *self)
{
    char sign = s_peek (self, 0), next = s_peek (self, 1);
    if (sign == '&' && next == '>') {
        self->at++;
        s_redirect (self);
        return;
    }
    cmdline_end_word (self);
    bool twice = next == sign;
    if (twice)
        sign = ';';
    cmdline_command (self, sign);
    self->at += twice || (next == '&' && (sign == '|' || sign == ';')) ? 2 : 1;
}

//  One piece of a word.

static void
s_piece (cmdline_text_t *self)
{
    char sign = s_peek (self, 0);
    if (sign == '\'')
        s_single_quote (self);
    else if (sign == '"')
        s_double_quote (self);
    else if (sign == '`')
        s_backtick (self);
    else if (sign == '$')
        s_dollar (self, false);
    else if (sign == '\\') {
        if (self->at + 1 < self->size && self->data[self->at + 1] != '\n')
            s_push (self, self->data + self->at + 1, 1);
        self->at += 2;
    }
    else {
        s_push (self, &sign, 1);
        self->at++;
    }
}

void
cmdline_lex (cmdline_text_t *self)
{
    while (self->at < self->size && !self->state->out->overflow) {
        char sign = s_peek (self, 0);
        if (sign == '\n')
            s_newline (self);
        else if (isspace ((unsigned char) sign)) {
            cmdline_end_word (self);
            self->at++;
        }
        else if (sign == '#' && !self->in_word)
            while (self->at < self->size && self->data[self->at] != '\n')
                self->at++;
        else if (sign == '<' || sign == '>')
            s_redirect (self);
        else if (sign == '(' || sign == ')')
            s_parenthesis (self);
        else if (sign == ';' || sign == '&' || sign == '|')
            s_operator (self);
        else
            s_piece (self);
    }
    cmdline_end_word (self);
    cmdline_command (self, 0);
}
