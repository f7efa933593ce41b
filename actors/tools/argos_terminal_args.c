//  argos_terminal_args - what a call of the tool `terminal` asks for, and what its exit code means.
//  Pure.

#include "argos_terminal_args.h"

#include "argos_cmdline.h"
#include "argos_plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MAX_MS 600000 //  Longest that may be stated, unless the usual one is longer

//  Beginnings of commands that don't end by themselves
static const char *const s_endless[] = { "nohup ", "setsid ", "disown", "npm run dev", "npm start",
    "npm run start", "yarn dev", "yarn start", "pnpm dev", "pnpm run dev", "bun dev", "vite",
    "next dev", "docker compose up", "docker-compose up", "uvicorn ", "gunicorn ", "flask run",
    "hypercorn ", "php -S ", "rails server", "rails s", "http-server", "tail -f ", "tail -F ",
    "journalctl -f", "python -m http.server", "python3 -m http.server",
    "python manage.py runserver", "python3 manage.py runserver" };

//  What codes of programs mean that are no failure of the call
static const struct {
    const char *program; //  Name
    int code;            //  Its exit code
    const char *text;    //  What it means
} s_meanings[] = {
    { "grep", 1, "no match" },
    { "egrep", 1, "no match" },
    { "fgrep", 1, "no match" },
    { "rg", 1, "no match" },
    { "ag", 1, "no match" },
    { "ack", 1, "no match" },
    { "diff", 1, "the files differ" },
    { "colordiff", 1, "the files differ" },
    { "cmp", 1, "the files differ" },
    { "test", 1, "the condition is false" },
    { "[", 1, "the condition is false" },
    { "find", 1, "some folders could not be read" },
    { "curl", 6, "the host name could not be resolved" },
    { "curl", 7, "no connection to the host" },
    { "curl", 22, "the server has answered with an error" },
    { "curl", 28, "the time ran out" },
    { "git diff", 1, "there are differences" },
};

int64_t
argos_terminal_timeout (const json_t *body, int64_t usual_ms)
{
    const json_t *own = json_object_get (body, "timeout_ms");
    const json_t *stated = json_object_get (json_object_get (body, "arguments"), "timeout");
    double timeout_ms = (double) usual_ms;
    double longest_ms = usual_ms > TIMEOUT_MAX_MS ? timeout_ms : TIMEOUT_MAX_MS;
    if (json_is_integer (own))
        timeout_ms = json_number_value (own);
    else if (json_is_number (stated))
        timeout_ms = json_number_value (stated) * 1000;
    if (!(timeout_ms >= 1 && timeout_ms <= longest_ms))
        return -1;
    return (int64_t) timeout_ms;
}

//  What a shell would run, without prefixes taken off.

static void
s_read (const char *command, argos_cmdline_t *lines)
{
    const argos_cmdline_rules_t rules = { .home = NULL };
    char *plain = argos_plain_text (command, strlen (command));
    argos_cmdline_read (plain, strlen (plain), &rules, lines);
    free (plain);
}

bool
argos_terminal_is_endless (const char *command)
{
    argos_cmdline_t lines;
    bool found = false;
    s_read (command, &lines);
    for (size_t i = 0; i < lines.count && !found; i++) {
        const char *line = lines.lines[i];
        bool asks = strstr (line, " --help") || strstr (line, " --version") || strstr (line, " -h");
        size_t size = strlen (line);
        bool apart = size > 2 && strcmp (line + size - 2, " &") == 0;
        for (size_t k = 0; k < sizeof s_endless / sizeof *s_endless && !asks && !found; k++) {
            size_t prefix = strlen (s_endless[k]);
            bool same = strncmp (line, s_endless[k], prefix) == 0;
            bool whole =
                same && (s_endless[k][prefix - 1] == ' ' || !line[prefix] || line[prefix] == ' ');
            found = whole && (k < 3 || !apart);
        }
    }
    argos_cmdline_clear (&lines);
    return found;
}

const char *
argos_terminal_problem (const json_t *body, int64_t usual_ms)
{
    const json_t *given = json_object_get (json_object_get (body, "arguments"), "command");
    const char *command = json_string_value (given);
    if (!command || !command[strspn (command, " \t\r\n")])
        return "`command` is missing: a string with the command line";
    if (json_string_length (given) != strlen (command))
        return "`command` contains a NUL";
    if (argos_terminal_timeout (body, usual_ms) < 0)
        return "`timeout` is out of range: a number of seconds, at most 600";
    if (argos_terminal_is_endless (command))
        return "this command does not end by itself: run it with background=true";
    return NULL;
}

const char *
argos_terminal_meaning (const char *command, int code)
{
    argos_cmdline_t lines;
    const char *text = NULL;
    if (code == 0)
        return NULL;
    s_read (command, &lines);
    const char *line = lines.count ? lines.lines[lines.count - 1] : "";
    for (const char *next; (next = strstr (line, " | "));)
        line = next + 3;
    for (size_t i = 0; i < sizeof s_meanings / sizeof *s_meanings && !text; i++) {
        size_t size = strlen (s_meanings[i].program);
        if (s_meanings[i].code == code && strncmp (line, s_meanings[i].program, size) == 0 &&
            (line[size] == ' ' || !line[size]))
            text = s_meanings[i].text;
    }
    argos_cmdline_clear (&lines);
    return text;
}

//  A text in quotes for a shell.

static char *
s_quote (char *out, const char *text)
{
    *out++ = '\'';
    for (; *text; text++)
        if (*text == '\'')
            out = stpcpy (out, "'\\''");
        else
            *out++ = *text;
    *out++ = '\'';
    *out = '\0';
    return out;
}

char *
argos_terminal_wrap (const char *command, const char *file, bool stay)
{
    static const char load[] =
        "_argos_f=%s; _argos_s () { export -p >\"$_argos_f.new\" && "
        "pwd >\"$_argos_f.pwd\" && mv \"$_argos_f.new\" \"$_argos_f\"; } "
        "2>/dev/null; trap _argos_s EXIT; "
        "_argos_d=$PWD; [ ! -r \"$_argos_f\" ] || . \"$_argos_f\" 2>/dev/null; ";
    static const char back[] = "_argos_d=$PWD; ";
    static const char go[] =
        "while [ ! -d \"$_argos_d\" ] && [ \"$_argos_d\" ]; do "
        "_argos_d=${_argos_d%/*}; done; cd \"${_argos_d:-/}\"; unset _argos_d\n";
    char *quoted = malloc (4 * strlen (file) + 3);
    char *whole =
        malloc (4 * strlen (file) + sizeof load + sizeof back + sizeof go + strlen (command) + 16);
    if (!quoted || !whole)
        abort ();
    s_quote (quoted, file);
    char *out = whole;
    const char *mark = strstr (load, "%s");
    out = mempcpy (out, load, (size_t) (mark - load));
    out = stpcpy (stpcpy (out, quoted), mark + 2);
    out = stpcpy (out, stay ? "" : back);
    out = stpcpy (stpcpy (out, go), command);
    stpcpy (out, "\n");
    free (quoted);
    return whole;
}
