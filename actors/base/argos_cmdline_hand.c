//  argos_cmdline_hand - what a command hands to a shell: its arguments, its input, what a pipe
//  brings.
//
//  Limits: a pipe is followed from echo, printf and cat, and through base64; what else writes into
//  it is not known.

#include "argos_base64.h"
#include "argos_cmdline_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  ---------------------------------------------------------------------------------------------
//  What a command hands to a shell

static void
s_nested (cmdline_text_t *self, const char *text)
{
    cmdline_text (self->state, text, strlen (text), self->depth + 1);
}

//  The words from start to end as a text of their own.

static void
s_nested_words (cmdline_text_t *self, size_t start, size_t end, bool quote)
{
    cmdline_buf_t text = { NULL, 0, 0 };
    for (size_t i = start; i < end; i++) {
        const char *word = self->words[i].text;
        if (!quote)
            cmdline_add_str (&text, word);
        else {
            cmdline_add_str (&text, "'");
            for (; *word; word++)
                cmdline_add_str (&text, *word == '\'' ? "'\\''" : (char[]){ *word, 0 });
            cmdline_add_str (&text, "'");
        }
        cmdline_add_str (&text, " ");
    }
    if (text.data)
        s_nested (self, text.data);
    free (text.data);
}

static bool
s_is_shell (const cmdline_text_t *self, const char *name)
{
    size_t i;
    const json_t *shell;
    json_array_foreach (self->state->rules->shells, i, shell)
        if (strcmp (name, json_string_value (shell)) == 0)
            return true;
    return false;
}

static void
s_shell (cmdline_text_t *self, size_t start)
{
    bool wanted = false, file = false;
    for (size_t i = start + 1; i < self->count; i++) {
        const cmdline_word_t *word = &self->words[i];
        if (word->sign == 'H')
            s_nested (self, word->text);
        else if (word->sign)
            continue;
        else if (word->text[0] == '-' && word->text[1] != '-')
            wanted = wanted || strchr (word->text, 'c');
        else if (word->text[0] != '+' && word->text[0] != '-') {
            if (wanted)
                s_nested (self, word->text);
            file = !wanted;
            wanted = false;
        }
    }
    if (self->here)
        s_nested (self, self->here);
    if (self->feed && !file)
        s_nested (self, self->feed);
}

static void
s_find (cmdline_text_t *self, size_t start)
{
    static const char *const runs[] = { "-exec", "-execdir", "-ok", "-okdir" };
    for (size_t i = start; i < self->count; i++) {
        if (!CMDLINE_IS_ONE_OF (self->words[i].text, runs))
            continue;
        size_t end = i + 1;
        while (end < self->count && strcmp (self->words[end].text, ";") != 0 &&
               strcmp (self->words[end].text, "+") != 0)
            end++;
        s_nested_words (self, i + 1, end, true);
        i = end;
    }
}

static void
s_cd (cmdline_text_t *self, size_t start)
{
    const char *to = start + 1 < self->count ? self->words[start + 1].text : "~";
    char *old = self->state->cwd, *cwd = NULL;
    if (*to == '/' || *to == '~')
        cwd = strdup (to);
    else if (old && *to != '-' && !strchr (to, '$') && strlen (old) + strlen (to) < 4000) {
        cwd = malloc (strlen (old) + strlen (to) + 2);
        if (cwd)
            stpcpy (stpcpy (stpcpy (cwd, old), "/"), to);
    }
    self->state->cwd = cwd;
    free (old);
}

//  Files that are made programs and then run: a line of its own says so.

static void
s_made (cmdline_text_t *self, size_t start, const char *name)
{
    cmdline_state_t *state = self->state;
    bool runs = s_is_shell (self, name) || strcmp (name, ".") == 0 || strcmp (name, "source") == 0;
    const char *program =
        runs && start + 1 < self->count ? cmdline_base (self->words[start + 1].text) : name;
    for (size_t i = 0; i < state->made_count; i++)
        if (strcmp (state->made[i], program) == 0)
            cmdline_emit (state, "chmod_run");
    if (strcmp (name, "chmod") != 0 || start + 2 >= self->count)
        return;
    const char *mode = self->words[start + 1].text;
    bool makes = (strchr (mode, '+') && strchr (mode, 'x')) ||
                 (isdigit ((unsigned char) *mode) && strpbrk (mode, "1357"));
    for (size_t i = start + 2; makes && i < self->count && state->made_count < CMDLINE_MADE; i++)
        snprintf (state->made[state->made_count++], sizeof state->made[0], "%s",
            cmdline_base (self->words[i].text));
}

void
cmdline_hand (cmdline_text_t *self, size_t start)
{
    const char *name = cmdline_base (self->words[start].text);
    bool declares = strcmp (name, "export") == 0 || strcmp (name, "declare") == 0 ||
                    strcmp (name, "local") == 0 || strcmp (name, "readonly") == 0 ||
                    strcmp (name, "typeset") == 0;
    s_made (self, start, name);
    if (s_is_shell (self, name) || strcmp (name, "su") == 0 || strcmp (name, "runuser") == 0)
        s_shell (self, start);
    else if (strcmp (name, "eval") == 0 || strcmp (name, "trap") == 0)
        s_nested_words (self, start + 1, self->count, false);
    else if (strcmp (name, "find") == 0)
        s_find (self, start);
    else if (strcmp (name, "cd") == 0 || strcmp (name, "pushd") == 0)
        s_cd (self, start);
    else if (strpbrk (self->words[start].text, " \t\n") && !strchr (self->words[start].text, '$'))
        s_nested (self, self->words[start].text); //  watch 'rm x', env -S 'rm x'
    for (size_t i = start + 1; declares && i < self->count; i++)
        if (cmdline_is_assignment (self->words[i].text))
            cmdline_assign (self->state, self->words[i].text);
}

//  ---------------------------------------------------------------------------------------------
//  What goes through a pipe, as far as it is in the text

static char *
s_echo (const cmdline_text_t *self, size_t start, bool printf_like)
{
    cmdline_buf_t text = { NULL, 0, 0 };
    bool unescape = printf_like;
    for (size_t i = start + 1; i < self->count; i++) {
        const char *word = self->words[i].text;
        if (self->words[i].sign)
            continue;
        if (!text.size && *word == '-' && word[1] && !word[1 + strspn (word + 1, "neE")]) {
            unescape = unescape || strchr (word, 'e');
            continue;
        }
        //  The format of printf "%s" says nothing
        if (printf_like && !text.size && *word == '%' && i + 1 < self->count)
            continue;
        cmdline_add_str (&text, word);
        cmdline_add_str (&text, " ");
    }
    if (text.data && unescape)
        cmdline_unescape (text.data);
    return text.data;
}

static char *
s_decode (const char *text)
{
    size_t size = strlen (text), used = 0;
    char *packed = malloc (size + 5), *plain = malloc (size + 1);
    if (!packed || !plain)
        abort ();
    for (size_t i = 0; i < size; i++)
        if (isalnum ((unsigned char) text[i]) || strchr ("+/", text[i]))
            packed[used++] = text[i];
    while (used % 4)
        packed[used++] = '=';
    packed[used] = '\0';
    long length = argos_base64_decode (packed, used, (unsigned char *) plain, size);
    free (packed);
    if (length < 0) {
        free (plain);
        return NULL;
    }
    plain[length] = '\0';
    return plain;
}

//  What the command writes into the pipe; NULL = not known.

char *
cmdline_writes (cmdline_text_t *self, size_t start)
{
    const char *name = cmdline_base (self->words[start].text);
    bool decodes = false, alone = true;
    for (size_t i = start + 1; i < self->count; i++) {
        const char *word = self->words[i].text;
        alone = alone && (self->words[i].sign || *word == '-');
        decodes = decodes || strcmp (word, "-d") == 0 || strcmp (word, "-D") == 0 ||
                  strncmp (word, "--d", 3) == 0 || strcmp (word, "-di") == 0;
        if (self->words[i].sign == 'H' && !self->here)
            self->here = strdup (word);
    }
    const char *reads = self->here ? self->here : self->feed;
    if (strcmp (name, "echo") == 0 || strcmp (name, "printf") == 0)
        return s_echo (self, start, *name == 'p');
    if (strcmp (name, "base64") == 0 && decodes && reads)
        return s_decode (reads);
    if (strcmp (name, "cat") == 0 && alone && reads)
        return strdup (reads);
    return NULL;
}
