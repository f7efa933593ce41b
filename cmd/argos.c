//  argos - the command line client: chat, and a look at what the daemon does.
//
//  Invariant: an ordinary peer over ipc by libargos; nothing here reads the database, the settings
//  or the daemon's memory. The commands that do are argosd's (cmd/argosd_host.c), which is run for
//  them.
//  Exit codes: 0 done, 1 failed or refused, 2 usage, 69 no daemon (and those of argos_run.c).

#include "argos_cli.h"
#include "argos_completion.h"
#include "argos_say_words.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const struct {
    const char *name;              //  First word
    argos_cli_command_t *function; //  What it does; NULL: argosd does it (cmd/argosd_host.c)
} commands[] = {
    { "chat", argos_command_chat },
    { "run", argos_command_run },
    { "status", argos_command_status },
    { "runs", argos_command_runs },
    { "sessions", argos_command_sessions },
    { "db", argos_command_db },
    { "send", argos_command_send },
    { "channels", argos_command_channels },
    { "deliveries", argos_command_deliveries },
    { "dead", argos_command_dead },
    { "handoff", argos_command_handoff },
    { "jobs", argos_command_jobs },
    { "import", argos_command_import },
    { "keys", NULL },
    { "config", argos_command_config },
    { "node", NULL },
    { "logs", argos_command_logs },
    { "top", argos_command_top },
    { "peers", argos_command_peers },
    { "agents", argos_command_agents },
    { "pairing", argos_command_pairing },
    { "services", argos_command_services },
    { "trace", argos_command_trace },
    { "provider", argos_command_provider },
    { "doctor", NULL },
    { "adapter-check", NULL },
    { "adapters", argos_command_adapters },
    { "setup", NULL },
};

//  The words that need neither a home nor a daemon

static json_t *
s_help_object (const argos_say_words_t *row)
{
    return json_pack ("{s:s, s:s, s:s, s:s}", "name", row->name, "words", row->words, "lines",
        row->lines, "more", row->more);
}

static int
s_help_of (argos_cli_t *self, const char *name)
{
    const argos_say_words_t *row = argos_say_words_find (name);
    if (!row)
        return argos_cli_usage (self, "there is no command %s", name);
    if (self->json)
        argos_cli_print (s_help_object (row));
    else
        printf ("%s%s", row->lines, row->more);
    return CLI_OK;
}

static int
s_help (argos_cli_t *self, int argc, char **argv)
{
    if (argc == 1)
        return s_help_of (self, argv[0]);
    if (self->json) {
        json_t *all = json_array ();
        for (size_t i = 0; argos_say_words (i); i++)
            json_array_append_new (all, s_help_object (argos_say_words (i)));
        argos_cli_print (json_pack ("{s:o}", "commands", all));
        return CLI_OK;
    }
    for (size_t i = 0; argos_say_words (i); i++)
        fputs (argos_say_words (i)->lines, stdout);
    fputs (argos_say_words_end, stdout);
    return CLI_OK;
}

//  Whether a command is asked about itself: --help before a --, or -h as its first word

static bool
s_asks_help (int argc, char **argv)
{
    if (argc > 0 && strcmp (argv[0], "-h") == 0)
        return true;
    for (int i = 0; i < argc && strcmp (argv[i], "--") != 0; i++)
        if (strcmp (argv[i], "--help") == 0)
            return true;
    return false;
}

static int
s_version (argos_cli_t *self, int argc, char **argv)
{
    (void) argc;
    (void) argv;
    if (self->json)
        argos_cli_print (json_pack ("{s:s}", "version", ARGOS_VERSION));
    else
        puts ("argos " ARGOS_VERSION);
    return CLI_OK;
}

static int
s_completion (argos_cli_t *self, int argc, char **argv)
{
    if (argc == 1 && argos_completion (argv[0]))
        return CLI_OK;
    return argos_cli_usage (self, "completion bash|zsh|fish");
}

static const struct {
    const char *name;              //  First word
    argos_cli_command_t *function; //  What it does
} plain[] = { { "help", s_help }, { "--help", s_help }, { "-h", s_help }, { "version", s_version },
    { "--version", s_version }, { "completion", s_completion } };

//  SIGINT and its kind are read from a descriptor; blocked before any thread is started.

static int
s_signals (void)
{
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGHUP);
    sigprocmask (SIG_BLOCK, &set, NULL);
    return signalfd (-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int
s_run (argos_cli_t *self, argos_cli_command_t *function, int argc, char **argv)
{
    self->signal_fd = s_signals ();
    if (self->signal_fd < 0) {
        perror ("argos: signalfd");
        return CLI_FAILED;
    }
    json_object_seed (0);
    int rc = argos_cli_end (function (self, argc, argv));
    argos_cli_disconnect (self);
    close (self->signal_fd);
    return rc;
}

//  The first word that looks like an option: those of every command have been taken out before

static const char *
s_wrong_option (int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (argv[i][0] == '-' && argv[i][1] && strspn (argv[i] + 1, "0123456789") == 0)
            return argv[i];
    return NULL;
}

//  A command that needs a home, words[0]. function NULL: argosd does it.

static int
s_command (
    argos_cli_t *self, argos_cli_command_t *function, const char *home, int count, char **words)
{
    if (argos_cli_find (self, home) != 0)
        return argos_cli_usage (self, "%s", self->reason);
    if (!function)
        return argos_cli_become (self, count, words);
    const char *wrong = s_wrong_option (count - 1, words + 1);
    if (wrong && !argos_say_words_find (words[0])->options)
        return argos_cli_usage (self, "%s has no option %s", words[0], wrong);
    return s_run (self, function, count - 1, words + 1);
}

int
main (int argc, char **argv)
{
    static argos_cli_t cli;
    const char *home = NULL;
    setlocale (LC_CTYPE, "");
    int left = argos_cli_options (&cli, argc, argv, &home);
    if (left < 0)
        return argos_cli_usage (&cli, "--home needs a folder");
    const char *word = left > 1 ? argv[1] : "";
    if (left > 2 && argos_say_words_find (word) && s_asks_help (left - 2, argv + 2))
        return s_help_of (&cli, word);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp (plain[i].name, word) == 0)
            return plain[i].function (&cli, left - 2, argv + 2);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp (commands[i].name, word) == 0)
            return s_command (&cli, commands[i].function, home, left - 1, argv + 1);
    if (*word == '-')
        return argos_cli_usage (&cli, "there is no option %s", word);
    return *word ? argos_cli_usage (&cli, "there is no command %s", word)
                 : argos_cli_usage (&cli, "a command is needed");
}
