//  argos_term - the keyboard and the screen of the chat.
//
//  Invariant: libedit has the terminal only while the prompt is shown; at every other time, and at
//  the end, the terminal is as it was. Limits: a plain line of LINE_MAX bytes; a longer one is cut
//  into several.

#include "argos_term.h"

#include "argos_cli.h"

#include <editline/readline.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAIN_MAX 262144 //  Bytes of a plain line
#define HISTORY_MAX 1000 //  Lines that are kept
#define PROMPT "> "
#define CLEAR "\r\033[K" //  To the left, and nothing behind

struct argos_term {
    argos_shell_t *shell; //  Loop
    argos_term_fn *fn;    //  Told of lines
    void *ctx;            //  Its argument
    char *history;        //  File, NULL = none
    bool interactive;     //  A terminal, and libedit
    bool shown;           //  Prompt stands; plain: lines are wanted
    bool mid_line;        //  The cursor is not at the left
    bool ended;           //  Nothing more comes
    bool watched;         //  stdin is in the loop
    char *input;          //  Read and not yet told
    size_t size;          //  Of it
    char *typed;          //  Line that libedit has completed
    bool completed;       //  libedit has completed a line (typed NULL: end of input)
};

static argos_term_t *s_term; //  libedit's line handler has no argument

static void s_on_input (void *arg);

static void
s_watch (argos_term_t *self, bool wanted)
{
    if (wanted && !self->watched)
        argos_shell_fd (self->shell, STDIN_FILENO, s_on_input, self);
    else if (!wanted && self->watched)
        argos_shell_fd (self->shell, STDIN_FILENO, NULL, NULL);
    self->watched = wanted;
}

//  ------------------------------------------------------------------------------------------------
//  Plain lines

static void
s_end (argos_term_t *self)
{
    self->ended = true;
    s_watch (self, false);
    self->fn (self->ctx, NULL);
}

//  Tells the lines that are there, one after the other, as long as they are wanted

static void
s_tell_lines (argos_term_t *self)
{
    while (self->size > 0 && (self->shown || self->interactive)) {
        char *newline = memchr (self->input, '\n', self->size);
        size_t size = newline ? (size_t) (newline - self->input) : self->size;
        if (!newline && self->size < PLAIN_MAX && !self->ended)
            return;
        char *line = strndup (self->input, size);
        if (!line)
            abort ();
        self->size -= newline ? size + 1 : size;
        memmove (self->input, self->input + size + (newline ? 1 : 0), self->size);
        self->fn (self->ctx, line);
        free (line);
    }
}

static void
s_read_plain (argos_term_t *self)
{
    ssize_t size = read (STDIN_FILENO, self->input + self->size, PLAIN_MAX - self->size);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size > 0)
        self->size += (size_t) size;
    else {
        self->ended = true;
        s_watch (self, false);
    }
    s_tell_lines (self);
    if (self->ended && self->size == 0)
        s_end (self);
}

//  ------------------------------------------------------------------------------------------------
//  libedit

static void
s_on_typed (char *line)
{
    s_term->completed = true;
    s_term->typed = line;
}

static void
s_read_edited (argos_term_t *self)
{
    self->completed = false;
    rl_callback_read_char ();
    if (!self->completed)
        return;
    char *line = self->typed;
    self->typed = NULL;
    argos_term_hide (self);
    if (!line) {
        putchar ('\n');
        s_end (self);
        return;
    }
    if (*line)
        add_history (line);
    self->fn (self->ctx, line);
    free (line);
}

static void
s_on_input (void *arg)
{
    argos_term_t *self = (argos_term_t *) arg;
    if (self->interactive && self->shown)
        s_read_edited (self);
    else
        s_read_plain (self);
}

//  ------------------------------------------------------------------------------------------------
//  Life

argos_term_t *
argos_term_new (argos_shell_t *shell, bool plain, const char *history, argos_term_fn *fn, void *ctx)
{
    argos_term_t *self = calloc (1, sizeof *self);
    if (!self || !(self->input = malloc (PLAIN_MAX)))
        abort ();
    self->shell = shell;
    self->fn = fn;
    self->ctx = ctx;
    self->interactive = !plain && isatty (STDIN_FILENO) && isatty (STDOUT_FILENO);
    if (self->interactive) {
        s_term = self;
        self->history = strdup (history);
        using_history ();
        stifle_history (HISTORY_MAX);
        read_history (self->history);
        rl_bind_key ('\t', rl_insert); //  A chat has no file names to complete
    }
    return self;
}

void
argos_term_destroy (argos_term_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_term_t *self = *self_p;
    if (self->history) {
        write_history (self->history);
        chmod (self->history, 0600);
    }
    free (self->history);
    free (self->typed);
    free (self->input);
    free (self);
    *self_p = NULL;
}

bool
argos_term_is_interactive (const argos_term_t *self)
{
    return self->interactive;
}

void
argos_term_show (argos_term_t *self)
{
    if (self->shown)
        return;
    self->shown = true;
    self->completed = false;
    if (self->interactive) {
        if (self->mid_line)
            putchar ('\n');
        self->mid_line = false;
        fflush (stdout);
        rl_callback_handler_install (PROMPT, s_on_typed);
    }
    if (!self->ended)
        s_watch (self, true);
    else if (self->size == 0)
        s_end (self);
    if (!self->interactive)
        s_tell_lines (self);
}

void
argos_term_hide (argos_term_t *self)
{
    if (!self->shown)
        return;
    self->shown = false;
    if (!self->interactive) {
        s_watch (self, false); //  The next line waits for its turn
        return;
    }
    rl_callback_handler_remove ();
    if (!self->completed)
        fputs (CLEAR, stdout); //  The prompt and what was typed behind it
    fflush (stdout);
}

void
argos_term_stop (argos_term_t *self)
{
    argos_term_hide (self);
    s_watch (self, false);
    argos_term_break (self);
}

//  ------------------------------------------------------------------------------------------------
//  The screen

static void
s_begin (const argos_term_t *self)
{
    if (self->interactive && self->shown)
        fputs (CLEAR, stdout); //  Over the prompt
}

static void
s_finish (argos_term_t *self)
{
    fflush (stdout);
    if (!self->interactive || !self->shown)
        return;
    if (self->mid_line)
        putchar ('\n');
    self->mid_line = false;
    fflush (stdout);
    rl_forced_update_display ();
}

void
argos_term_text (argos_term_t *self, const char *text, size_t size)
{
    if (size == 0)
        return;
    s_begin (self);
    argos_cli_write (text, size);
    self->mid_line = text[size - 1] != '\n';
    s_finish (self);
}

void
argos_term_break (argos_term_t *self)
{
    if (self->mid_line)
        putchar ('\n');
    self->mid_line = false;
    fflush (stdout);
}

void
argos_term_line (argos_term_t *self, const char *format, ...)
{
    char *line = NULL;
    va_list list;
    va_start (list, format);
    int size = vasprintf (&line, format, list);
    va_end (list);
    if (size < 0)
        return;
    s_begin (self);
    if (self->mid_line)
        putchar ('\n');
    argos_cli_write (line, (size_t) size);
    putchar ('\n');
    self->mid_line = false;
    s_finish (self);
    free (line);
}
