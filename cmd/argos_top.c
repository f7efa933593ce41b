//  argos_top - `argos top`: what the broker does, each second.
//
//  On a terminal a screen of its own with two tables, sorted by a key; else, or with --once, the
//  same as text, once. --json: the answer of the broker, a line each second (with --once a single
//  one). Invariant: the terminal is left as it was found, however it ends. Limit: as many rows as
//  the screen has.

#include "argos_cli.h"
#include "argos_rows.h"
#include "argos_tty.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define REFRESH_MS 1000 //  Between two answers
#define FRAME_ROWS 5    //  Lines that are no rows of a table

typedef struct {
    argos_cli_t *cli;     //  Command at hand
    json_t *before;       //  Answer before this one, for rates
    size_t sort;          //  Row of `sorts`
    bool quit;            //  q was pressed
    int fd;               //  What is typed
    struct termios saved; //  Of the terminal
} top_t;

static const struct {
    char key;             //  Pressed
    const char *word;     //  Shown
    const char *peers;    //  Member that the peers are sorted by
    const char *services; //  The same of the services
} sorts[] = {
    { 'm', "messages", "in_messages_s", "in_s" },
    { 'l', "leases", "leases", "leased" },
    { 'o', "oldest", "idle_ms", "oldest_ms" },
    { 'w', "waiting", "window_used", "waiting" },
    { 'b', "bytes", "out_bytes_s", "in_s" },
    { 'n', "name", "name", "name" },
};

#define SORTS (sizeof sorts / sizeof *sorts)

static json_t *
s_ask (argos_cli_t *cli, argos_err_t *ret_code)
{
    json_t *stats = NULL;
    *ret_code = argos_cli_ask (
        cli, "actor:broker", "broker.stats", json_pack ("{s:i}", "limit", 4096), &stats);
    return stats;
}

static void
s_head (FILE *out, const json_t *stats)
{
    const json_t *totals = json_object_get (stats, "totals");
    fprintf (out, "argos  up %lld s, %s peers, %s leases, %s requests, %s topics,",
        (long long) json_integer_value (json_object_get (stats, "uptime_ms")) / 1000,
        argos_cli_text (totals, "peers"), argos_cli_text (totals, "leases"),
        argos_cli_text (totals, "requests"), argos_cli_text (totals, "topics"));
    fprintf (out, " %s ring bytes, %s at the store\n", argos_cli_text (totals, "ring_bytes"),
        argos_cli_text (totals, "outstanding"));
}

//  Both tables; half of the rows are for the services unless they need fewer.

static void
s_tables (const top_t *self, FILE *out, const json_t *stats, bool live, size_t rows, size_t width)
{
    json_t *peers = argos_rows_sorted (json_object_get (stats, "peers"), sorts[self->sort].peers);
    json_t *services =
        argos_rows_sorted (json_object_get (stats, "services"), sorts[self->sort].services);
    size_t half = rows / 2;
    size_t first = json_array_size (services) < half ? json_array_size (services) : half;
    argos_rows_services (out, services, live, live ? first : rows, width);
    fputc ('\n', out);
    argos_rows_peers (out, peers, live, rows - (live ? first : 0), width);
    json_decref (peers);
    json_decref (services);
}

//  ------------------------------------------------------------------------------------------------
//  The screen

static void
s_screen (const top_t *self, const json_t *stats)
{
    struct winsize size = { .ws_row = 24, .ws_col = 80 };
    char *text = NULL;
    size_t length = 0;
    if (ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) {
        size.ws_row = 24;
        size.ws_col = 80;
    }
    size_t rows = size.ws_row > FRAME_ROWS + 1 ? size.ws_row - FRAME_ROWS : 1;
    FILE *out = open_memstream (&text, &length);
    if (!out)
        abort ();
    s_head (out, stats);
    fputs ("sort:", out);
    for (size_t i = 0; i < SORTS; i++)
        fprintf (out, i == self->sort ? " [%c]%s" : "  %c %s", sorts[i].key,
            i == self->sort ? sorts[i].word + 1 : sorts[i].word);
    fputs ("   q quit; per second\n", out);
    s_tables (self, out, stats, true, rows, size.ws_col);
    fclose (out);
    //  Home, then each line to its end, then the rest of the screen: nothing flickers
    fputs ("\033[H", stdout);
    for (char *line = text, *end; (end = strchr (line, '\n')); line = end + 1) {
        int wide = (int) (end - line);
        wide = wide < size.ws_col ? wide : size.ws_col;
        printf ("%.*s\033[K%s", wide, line, end[1] ? "\n" : "");
    }
    fputs ("\033[J", stdout);
    fflush (stdout);
    free (text);
}

static void
s_on_key (void *arg)
{
    top_t *self = arg;
    char key;
    ssize_t size = read (self->fd, &key, 1);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size != 1)
        key = 'q';
    self->quit |= key == 'q';
    for (size_t i = 0; i < SORTS; i++)
        if (sorts[i].key == key)
            self->sort = i;
    argos_loop_stop (self->cli->loop);
}

static void
s_on_time (void *arg)
{
    argos_loop_stop (((top_t *) arg)->cli->loop);
}

//  Until the next answer is due, a key is pressed, or a signal comes.

static void
s_wait (top_t *self, int64_t due)
{
    argos_loop_timer (self->cli->loop, due, s_on_time, self);
    argos_loop_run (self->cli->loop);
    argos_loop_timer (self->cli->loop, -1, NULL, NULL);
}

static bool
s_goes_on (const top_t *self)
{
    return !self->quit && !self->cli->interrupted && !self->cli->final;
}

static argos_err_t
s_live (top_t *self)
{
    argos_err_t code = ARGOS_OK;
    while (s_goes_on (self)) {
        int64_t due = argos_loop_now () + REFRESH_MS;
        json_t *stats = s_ask (self->cli, &code);
        if (!stats)
            return s_goes_on (self) ? code : ARGOS_OK;
        argos_rows_rates (stats, self->before);
        while (s_goes_on (self) && argos_loop_now () < due) {
            if (self->cli->json)
                argos_cli_print (json_incref (stats));
            else
                s_screen (self, stats);
            s_wait (self, due);
        }
        json_decref (self->before);
        self->before = stats;
    }
    return ARGOS_OK;
}

static argos_err_t
s_full_screen (top_t *self)
{
    struct termios raw;
    if (tcgetattr (STDIN_FILENO, &self->saved) != 0)
        return ARGOS_INTERNAL;
    raw = self->saved;
    raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
    tcsetattr (STDIN_FILENO, TCSANOW, &raw);
    fputs ("\033[?1049h\033[?25l", stdout);
    self->fd = argos_tty_open ();
    argos_loop_fd (self->cli->loop, self->fd, s_on_key, self);
    argos_err_t code = s_live (self);
    argos_loop_fd (self->cli->loop, self->fd, NULL, NULL);
    argos_tty_close (self->fd);
    fputs ("\033[?25h\033[?1049l", stdout);
    fflush (stdout);
    tcsetattr (STDIN_FILENO, TCSANOW, &self->saved);
    return code;
}

static argos_err_t
s_once (top_t *self)
{
    argos_err_t code;
    json_t *stats = s_ask (self->cli, &code);
    if (!stats)
        return code;
    if (self->cli->json)
        argos_cli_print (json_incref (stats));
    else {
        s_head (stdout, stats);
        s_tables (self, stdout, stats, false, SIZE_MAX, SIZE_MAX);
    }
    json_decref (stats);
    return code;
}

int
argos_command_top (argos_cli_t *self, int argc, char **argv)
{
    top_t top = { .cli = self };
    bool once = argc == 1 && strcmp (argv[0], "--once") == 0;
    if (argc > 0 && !once)
        return argos_cli_usage (self, "top [--once]");
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    argos_err_t code;
    if (once || (!self->json && !(isatty (STDIN_FILENO) && isatty (STDOUT_FILENO))))
        code = s_once (&top);
    else if (self->json)
        code = s_live (&top);
    else
        code = s_full_screen (&top);
    json_decref (top.before);
    return code == ARGOS_OK ? CLI_OK : argos_cli_fail (self, "top", code);
}
