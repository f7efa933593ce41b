//  argos_term_show - what the chat writes on the screen: above the prompt where one stands, and a
//  line at the bottom while something is done.
//
//  Invariant: that line is drawn only where nothing else stands, and is gone before anything else
//  is written.

#include "argos_term_priv.h"

#include "argos_cli.h"

#include <editline/readline.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <wchar.h>

#define TICK_MS 500

void
argos_term_clear (const argos_term_t *self)
{
    fputs (self->dumb ? "\n" : "\r\033[K", stdout);
}

static void
s_wipe (argos_term_t *self)
{
    if (self->drawn)
        argos_term_clear (self);
    self->drawn = false;
}

static void
s_begin (argos_term_t *self)
{
    s_wipe (self);
    if (self->interactive && self->shown)
        argos_term_clear (self); //  Over the prompt
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

//  What has been made of a text is written; it may be nothing yet

static void
s_rendered (argos_term_t *self, const char *out, size_t size)
{
    if (size == 0)
        return;
    fwrite (out, 1, size, stdout);
    self->mid_line = out[size - 1] != '\n';
}

static void
s_write (argos_term_t *self, const char *text, size_t size)
{
    size_t made = 0;
    if (self->ink) {
        const char *out = argos_ink_feed (self->ink, text, size, &made);
        s_rendered (self, out, made);
        return;
    }
    argos_cli_write (text, size);
    self->mid_line = size ? text[size - 1] != '\n' : self->mid_line;
}

//  What is held back of a text; the next one begins a line

static void
s_flush (argos_term_t *self)
{
    size_t made = 0;
    const char *out = self->ink ? argos_ink_end (self->ink, &made) : NULL;
    if (made == 0)
        return;
    s_begin (self);
    s_rendered (self, out, made);
    s_finish (self);
}

void
argos_term_text (argos_term_t *self, const char *text, size_t size)
{
    if (size == 0)
        return;
    s_begin (self);
    s_write (self, text, size);
    s_finish (self);
}

void
argos_term_break (argos_term_t *self)
{
    s_flush (self);
    if (self->mid_line)
        putchar ('\n');
    self->mid_line = false;
    fflush (stdout);
}

void
argos_term_say (argos_term_t *self, const char *text)
{
    size_t made = 0;
    s_flush (self);
    s_begin (self);
    if (self->mid_line)
        putchar ('\n');
    s_write (self, text, strlen (text));
    const char *out = self->ink ? argos_ink_end (self->ink, &made) : NULL;
    s_rendered (self, out, made);
    putchar ('\n');
    self->mid_line = false;
    s_finish (self);
}

void
argos_term_echoed (argos_term_t *self)
{
    if (self->drawn)
        s_wipe (self); //  With what the terminal has written
    else if (self->interactive && !self->shown)
        self->mid_line = true;
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
    s_flush (self);
    s_begin (self);
    if (self->mid_line)
        putchar ('\n');
    argos_cli_write (line, (size_t) size);
    putchar ('\n');
    self->mid_line = false;
    s_finish (self);
    free (line);
}

//  ------------------------------------------------------------------------------------------------
//  What is done meanwhile

//  Bytes of text that fit into so many columns

static size_t
s_fitting (const char *text, int columns)
{
    mbstate_t state = { 0 };
    size_t at = 0, size = strlen (text);
    while (at < size) {
        wchar_t wide = 0;
        size_t used = mbrtowc (&wide, text + at, size - at, &state);
        int width = used > 0 && used <= size - at ? wcwidth (wide) : -1;
        if (width < 0 || width > columns)
            break;
        columns -= width;
        at += used;
    }
    return at;
}

static void
s_draw (argos_term_t *self)
{
    static const char *const frames[] = { "⠋", "⠙", "⠸", "⠴", "⠦", "⠇" };
    struct winsize window = { 0 };
    char line[160];
    int64_t spent = argos_loop_now () - self->work_since;
    int columns =
        ioctl (STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col ? window.ws_col : 80;
    snprintf (line, sizeof line, "%s %s · %lld s · Ctrl-C stops",
        frames[(size_t) (spent / TICK_MS) % (sizeof frames / sizeof *frames)], self->work,
        (long long) spent / 1000);
    argos_term_clear (self);
    fputs (self->ink ? "\033[2m" : "", stdout);
    fwrite (line, 1, s_fitting (line, columns - 1), stdout);
    fputs (self->ink ? "\033[0m" : "", stdout);
    fflush (stdout);
    self->drawn = true;
}

static void
s_on_tick (void *arg)
{
    argos_term_t *self = arg;
    uint64_t ticks;
    if (read (self->ticker, &ticks, sizeof ticks) == (ssize_t) sizeof ticks && !self->mid_line)
        s_draw (self);
}

//  It begins: no line for what is done at once

static void
s_start (argos_term_t *self)
{
    struct itimerspec when = { .it_interval = { 0, TICK_MS * 1000000L },
        .it_value = { 0, TICK_MS * 1000000L } };
    self->ticker = timerfd_create (CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (self->ticker < 0)
        return; //  It is not shown, then
    timerfd_settime (self->ticker, 0, &when, NULL);
    argos_loop_fd (self->loop, self->ticker, s_on_tick, self);
    self->work_since = argos_loop_now ();
}

void
argos_term_work (argos_term_t *self, const char *what)
{
    if (!self->interactive || self->dumb || (what && self->shown))
        return;
    snprintf (self->work, sizeof self->work, "%s", what ? what : "");
    if (what && self->ticker < 0)
        s_start (self);
    if (what || self->ticker < 0)
        return;
    argos_loop_fd (self->loop, self->ticker, NULL, NULL);
    close (self->ticker);
    self->ticker = -1;
    s_wipe (self);
    fflush (stdout);
}
