//  argos_term - the keyboard and the screen of the chat.
//
//  Invariant: libedit has the terminal only while the prompt is shown; at every other time, and at
//  the end, the terminal is as it was. Its bytes come through argos_paste: a paste of several
//  lines is one message. Limits: a plain line of LINE_MAX bytes; a longer one is cut
//  into several. What is written is in argos_term_show.c.

#include "argos_term_priv.h"

#include "argos_cli.h"
#include "argos_tty.h"

#include <editline/readline.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#define PLAIN_MAX 262144 //  Bytes of a plain line
#define HISTORY_MAX 1000 //  Lines that are kept
#define PROMPT "> "

static argos_term_t *s_term;          //  libedit's line handler has no argument
static const char s_no_breaks[] = ""; //  Nothing parts the words that are completed

static void s_on_input (void *arg);

static void
s_watch (argos_term_t *self, bool wanted)
{
    if (wanted && !self->watched)
        argos_loop_fd (self->loop, self->fd, s_on_input, self);
    else if (!wanted && self->watched)
        argos_loop_fd (self->loop, self->fd, NULL, NULL);
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
        //  At a terminal lines that are there at once were pasted: they are one message
        char *newline = self->interactive ? memrchr (self->input, '\n', self->size)
                                          : memchr (self->input, '\n', self->size);
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

static bool
s_is_readable (const argos_term_t *self)
{
    struct pollfd item = { .fd = self->fd, .events = POLLIN };
    return poll (&item, 1, 0) > 0;
}

//  Until something is there

static void
s_wait (const argos_term_t *self)
{
    struct pollfd item = { .fd = self->fd, .events = POLLIN };
    poll (&item, 1, -1);
}

//  One read; false at the end of input

static bool
s_fill (argos_term_t *self)
{
    ssize_t size = read (self->fd, self->input + self->size, PLAIN_MAX - self->size);
    if (size > 0)
        self->size += (size_t) size;
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

static void
s_read_plain (argos_term_t *self)
{
    bool more = s_fill (self);
    //  A terminal gives one line with each read, also of those that were pasted together
    while (more && self->interactive && self->size < PLAIN_MAX && s_is_readable (self))
        more = s_fill (self);
    if (!more) {
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

//  The next byte for libedit. Behind the start of a key it waits for the rest, as libedit does.

static int
s_byte (argos_term_t *self)
{
    static char typed[8];
    while (self->keys_left == 0) {
        char byte;
        ssize_t size = read (self->fd, &byte, 1);
        if (size < 0 && errno == EAGAIN) {
            s_wait (self);
            continue;
        }
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return -1;
        self->keys = typed;
        argos_paste_feed (&self->paste, byte, typed, &self->keys_left);
    }
    self->keys_left--;
    return (unsigned char) *self->keys++;
}

//  A character for libedit, -1 = none. What is none in the locale is left out.

static int
s_getc (FILE *file)
{
    (void) file;
    mbstate_t state = { 0 };
    for (;;) {
        wchar_t wide = 0;
        int next = s_byte (s_term);
        if (next < 0)
            return -1;
        char byte = (char) next;
        size_t used = mbrtowc (&wide, &byte, 1, &state);
        if (used <= 1)
            return (int) wide;
        if (used == (size_t) -1)
            state = (mbstate_t){ 0 };
    }
}

static void
s_edit (argos_term_t *self, const char *keys, size_t size)
{
    self->keys = keys;
    self->keys_left = size;
    self->completed = false;
    while (self->keys_left > 0 && !self->completed)
        rl_callback_read_char ();
    self->keys_left = 0;
}

//  Makes the file of the history. What was said is nobody else's to read, not even while it is
//  written.

static bool
s_own_history (const argos_term_t *self)
{
    int fd = open (self->history, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good = fd >= 0 && fchmod (fd, 0600) == 0;
    if (fd >= 0)
        close (fd);
    return good;
}

//  Each line is kept at once: another chat may write, too, and we may be killed

static void
s_remember (const argos_term_t *self, const char *line)
{
    add_history (line);
    if (s_own_history (self))
        append_history (1, self->history);
}

//  libedit has completed a line; pasted (or NULL) goes behind it

static void
s_tell_typed (argos_term_t *self, const char *pasted)
{
    char *line = self->typed, *whole = NULL;
    self->typed = NULL;
    argos_term_hide (self);
    if (!line) {
        putchar ('\n');
        fflush (stdout);
        s_end (self);
        return;
    }
    if (pasted && asprintf (&whole, "%s%s", line, pasted) < 0)
        abort ();
    if (*line && !pasted)
        s_remember (self, line); //  The editor has room for one line
    self->fn (self->ctx, whole ? whole : line);
    free (whole);
    free (line);
}

//  One line is as good as typed; several are a message, with what was typed before

static void
s_take_paste (argos_term_t *self)
{
    argos_paste_t *paste = &self->paste;
    if (paste->too_big) {
        argos_term_line (self, "[a paste of more than 256 KiB is not sent]");
        return;
    }
    while (paste->size > 0 && paste->text[paste->size - 1] == '\n')
        paste->size--;
    if (paste->size == 0)
        return;
    if (!memchr (paste->text, '\n', paste->size)) {
        s_edit (self, paste->text, paste->size);
        return;
    }
    char *pasted = strndup (paste->text, paste->size);
    if (!pasted)
        abort ();
    s_edit (self, "\r", 1);
    argos_cli_write (pasted, paste->size);
    putchar ('\n');
    s_tell_typed (self, pasted);
    free (pasted);
}

static void
s_read_edited (argos_term_t *self)
{
    char byte, typed[8];
    do {
        ssize_t count = read (self->fd, &byte, 1); //  The rest may not be libedit's
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (count <= 0) {
            argos_term_hide (self);
            s_end (self);
            return;
        }
        size_t size = 0;
        argos_paste_event_t event = argos_paste_feed (&self->paste, byte, typed, &size);
        if (event == ARGOS_PASTE_END)
            s_take_paste (self);
        else if (event == ARGOS_PASTE_TYPED) {
            s_edit (self, typed, size);
            if (self->completed)
                s_tell_typed (self, NULL);
        }
    } while (self->paste.inside && s_is_readable (self));
}

//  One completion after the other, in memory that libedit frees

static char *
s_match (const char *typed, int state)
{
    static size_t index;
    char word[ARGOS_TERM_WORD];
    index = state ? index + 1 : 0;
    return s_term->complete (s_term->ctx, typed, index, word) ? strdup (word) : NULL;
}

//  All that has been typed is the word (s_no_breaks), and it never becomes the name of a file; a
//  tabulator where nothing can be completed is one.

static char **
s_matches (const char *typed, int start, int end)
{
    char word[ARGOS_TERM_WORD];
    (void) start;
    (void) end;
    rl_attempted_completion_over = 1;
    if (s_term->complete && s_term->complete (s_term->ctx, typed, 0, word))
        return rl_completion_matches (typed, s_match);
    rl_insert_text ("\t");
    argos_term_clear (s_term); //  libedit draws all of it, from the left
    fflush (stdout);
    rl_forced_update_display ();
    return NULL;
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

static bool
s_is_dumb (void)
{
    const char *kind = getenv ("TERM");
    return !kind || !*kind || strcmp (kind, "dumb") == 0;
}

//  NO_COLOR asks for none, whatever it is but empty

static bool
s_has_colours (void)
{
    const char *none = getenv ("NO_COLOR");
    return (!none || !*none) && !s_is_dumb ();
}

argos_term_t *
argos_term_new (argos_loop_t *loop, bool plain, const char *history, argos_term_fn *fn, void *ctx)
{
    argos_term_t *self = calloc (1, sizeof *self);
    if (!self || !(self->input = malloc (PLAIN_MAX)))
        abort ();
    self->loop = loop;
    self->fn = fn;
    self->ctx = ctx;
    self->interactive = !plain && isatty (STDIN_FILENO) && isatty (STDOUT_FILENO);
    self->ticker = -1;
    self->fd = STDIN_FILENO;
    if (self->interactive) {
        self->fd = argos_tty_open ();
        self->dumb = s_is_dumb ();
        if (s_has_colours ())
            self->ink = argos_ink_new ();
        s_term = self;
        rl_getc_function = s_getc;
        self->history = strdup (history);
        using_history ();
        stifle_history (HISTORY_MAX);
        if (s_own_history (self) && read_history (self->history) == 0 &&
            history_length == HISTORY_MAX)
            write_history (self->history); //  What is older goes
        rl_attempted_completion_function = s_matches;
        rl_basic_word_break_characters = s_no_breaks;
    }
    return self;
}

void
argos_term_destroy (argos_term_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_term_t *self = *self_p;
    argos_ink_destroy (&self->ink);
    argos_tty_close (self->fd);
    free (self->history);
    argos_paste_clear (&self->paste);
    free (self->typed);
    free (self->input);
    free (self);
    *self_p = NULL;
}

void
argos_term_complete (argos_term_t *self, argos_term_complete_fn *fn)
{
    self->complete = fn;
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
    argos_term_work (self, NULL);
    if (self->interactive) {
        if (self->mid_line)
            putchar ('\n');
        self->mid_line = false;
        fflush (stdout);
        fputs (self->dumb ? "" : PASTE_ON, stdout);
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
    fputs (self->dumb ? "" : PASTE_OFF, stdout);
    if (!self->completed)
        argos_term_clear (self); //  The prompt and what was typed behind it
    fflush (stdout);
}

void
argos_term_resume (argos_term_t *self)
{
    if (!self->interactive || !self->shown)
        return;
    rl_prep_terminal (1);
    fputs (self->dumb ? "" : PASTE_ON, stdout);
    argos_term_clear (self);
    fflush (stdout);
    rl_forced_update_display ();
}

void
argos_term_stop (argos_term_t *self)
{
    argos_term_work (self, NULL);
    argos_term_hide (self);
    s_watch (self, false);
    argos_term_break (self);
}
