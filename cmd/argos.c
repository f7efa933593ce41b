//  argos - the command line client: chat, and a look at what the daemon does.
//
//  Invariant: an ordinary peer over ipc by libargos; nothing here reads the database, the settings
//  or the daemon's memory. The commands that do are argosd's (cmd/argosd_host.c), which is run for
//  them.
//  Exit codes: 0 done, 1 failed or refused, 2 usage, 69 no daemon (and those of argos_run.c).

#include "argos_cli.h"
#include "argos_completion.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

//  In pieces, because a string of C has a longest length

static const char *const help[] = {
    "argos chat [--chat NAME]          talk to the agent; NAME is another conversation (main)\n"
    "argos run PROMPT|-                one question; - is stdin; the exit code is the outcome\n"
    "argos status                      what the daemon does\n"
    "argos top [--once]                what it does, each second (m l o w b n sort, q ends)\n"
    "argos peers [list]                who is connected\n"
    "argos peers drain|resume NAME     give a peer no new work; give it work again\n"
    "argos agents [list]               agents that are kept between turns\n"
    "argos agents evict SESSION        let one go; the next turn builds a new one\n"
    "argos handoff SESSION PLATFORM[:CHAT] [--wait]\n"
    "                                  a session goes on at that platform\n"
    "argos pairing [list]              who waits to be let in, who is\n"
    "argos pairing approve PLATFORM CODE   let in who was told that code\n"
    "argos pairing revoke PLATFORM USER    no more\n"
    "argos pairing clear [PLATFORM]    drop the codes that wait, and the lock\n"
    "argos services [list]             what waits where\n"
    "argos services pause|resume|drop NAME  hand nothing out; go on; forget an idle one\n"
    "argos trace ID                    the path of a message through all hops\n"
    "argos runs [list]                 the newest runs\n"
    "argos runs show ID                one run\n"
    "argos runs events ID              its events, until it is over\n"
    "argos runs stop ID                stop it\n"
    "argos jobs [list]                 commands in the background\n"
    "argos jobs show ID                one of them\n"
    "argos jobs output [-f] ID         what it wrote; -f: until it is over\n"
    "argos jobs kill ID                end it, with all its processes\n"
    "argos jobs start -- COMMAND       start one; it outlives the daemon\n"
    "argos sessions [list]            what was talked about; --owner, --platform, --all\n"
    "argos sessions show SESSION       one of them: its id, the beginning of it, or its title\n"
    "argos sessions search TEXT        find it by what was said\n"
    "argos sessions rename SESSION TITLE\n"
    "argos sessions branch SESSION [TITLE]   go on from a copy\n"
    "argos sessions export SESSION|--all  all of it, as JSON lines\n"
    "argos sessions import FILE|-      what export has written; what is there stays\n"
    "argos sessions delete SESSION     with its messages\n"
    "argos sessions prune DAYS         delete those in which nothing happened for so long\n"
    "argos sessions stats              how many, and what they used\n"
    "argos db check [--deep] [--file F]  look through the database; or a backup\n"
    "argos db backup [FILE]            a checked copy, also while the daemon runs\n"
    "argos db restore FILE             put a backup in its place; the daemon must not run\n"
    "argos db compact                  give free pages back\n"
    "argos db query SQL [--file F]     ask a snapshot of it; or a backup\n",
    "argos send TARGET TEXT|-          say it in chats: platform:chat[:thread], an alias, home, "
    "all, or\n"
    "                                  several with commas; --file FILE, --no-mirror, --force\n"
    "argos channels [list]             chats that somebody has spoken from\n"
    "argos channels alias NAME [TARGET]  another name for a chat; without TARGET it is forgotten\n"
    "argos deliveries [list [STATE]]   what was sent to people; waiting, refused, unknown, gone\n"
    "argos deliveries show ID          one of them\n"
    "argos deliveries resend ID        send what was refused, or is unknown, once more\n"
    "argos dead [list]                 messages that were given up\n"
    "argos dead show SEQ               one of them\n"
    "argos dead redrive SEQ            try it again\n"
    "argos dead drop SEQ               forget it\n"
    "argos import hermes PATH [--dry-run]  sessions and routes out of a state.db of Hermes\n"
    "argos keys [list]                 who may connect\n"
    "argos keys new NAME --role ROLE [--platform P --account A]   a new key\n"
    "argos keys new NAME --http --scope runs,chat,read,admin      a key of the HTTP interface\n"
    "argos keys revoke NAME            at once, also where it is connected\n"
    "argos node add NAME [--actors LIST] [--broker tcp://HOST:PORT]\n"
    "                                  a key for another machine, as the line to run there\n"
    "argos config show [KEY]           the settings, and where each comes from; get KEY: one of "
    "them\n"
    "argos config set KEY VALUE        into local.yaml, over argos.yaml; unset KEY takes it out\n"
    "argos config check                whether they are valid\n"
    "argos config reload               the daemon reads them again\n"
    "argos doctor [--fix]              what is wrong with the home and around it, and the cure;\n"
    "                                  --fix: permissions, missing folders, what was left\n"
    "argos provider test               one short turn with the provider that serves\n"
    "argos setup telegram|discord|slack [--account NAME]\n"
    "                                       asks for the token of a bot, tries it, keeps it\n"
    "argos adapters [list|status]     the accounts of chat platforms; status asks each how it is\n"
    "argos adapters probe|pause|resume ACCOUNT   one of them, such as telegram.main\n"
    "argos adapter-check COMMAND|ENDPOINT\n"
    "                                 drive an adapter or a worker, case by case (--only CASE,\n"
    "                                 --platform P --account A, --service S --type T --body JSON,\n"
    "                                 --verbose); needs no daemon\n"
    "argos completion bash|zsh|fish    a script that completes these words in a shell\n"
    "argos version                     which this is\n"
    "argos help | --version\n"
    "\n"
    "Each takes --home DIR (the folder of argosd; else $ARGOS_HOME, else ~/.argos) and --json.\n"
    "Exit: 0 done, 1 failed or refused, 2 usage, 69 no daemon is running; of run also 77 it asked\n"
    "a person, 130 it was stopped.\n",
    NULL
};

static const struct {
    const char *name;              //  First word
    argos_cli_command_t *function; //  What it does; NULL: argosd does it (cmd/argosd_host.c)
    bool options;                  //  It has options of its own
} commands[] = {
    { "chat", argos_command_chat, true },
    { "run", argos_command_run, true },
    { "status", argos_command_status, false },
    { "runs", argos_command_runs, false },
    { "sessions", argos_command_sessions, true },
    { "db", argos_command_db, true },
    { "send", argos_command_send, true },
    { "channels", argos_command_channels, false },
    { "deliveries", argos_command_deliveries, false },
    { "dead", argos_command_dead, false },
    { "handoff", argos_command_handoff, true },
    { "jobs", argos_command_jobs, true },
    { "import", argos_command_import, true },
    { "keys", NULL, true },
    { "config", argos_command_config, true },
    { "node", NULL, true },
    { "top", argos_command_top, true },
    { "peers", argos_command_peers, false },
    { "agents", argos_command_agents, false },
    { "pairing", argos_command_pairing, false },
    { "services", argos_command_services, false },
    { "trace", argos_command_trace, false },
    { "provider", argos_command_provider, false },
    { "doctor", NULL, true },
    { "adapter-check", NULL, true },
    { "adapters", argos_command_adapters, false },
    { "setup", NULL, true },
};

//  The words that need neither a home nor a daemon

static int
s_help (argos_cli_t *self, int argc, char **argv)
{
    (void) self;
    (void) argc;
    (void) argv;
    for (size_t i = 0; help[i]; i++)
        fputs (help[i], stdout);
    return CLI_OK;
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
    const char *names[sizeof commands / sizeof *commands + 4];
    size_t count = 0;
    for (; count < sizeof commands / sizeof *commands; count++)
        names[count] = commands[count].name;
    names[count++] = "completion";
    names[count++] = "version";
    names[count++] = "help";
    names[count] = NULL;
    if (argc == 1 && argos_completion (argv[0], names, help))
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
    int rc = function (self, argc, argv);
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
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp (plain[i].name, word) == 0)
            return plain[i].function (&cli, left - 2, argv + 2);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp (commands[i].name, word) == 0) {
            if (argos_cli_find (&cli, home) != 0)
                return argos_cli_usage (&cli, "%s", cli.reason);
            if (!commands[i].function)
                return argos_cli_become (&cli, left - 1, argv + 1);
            const char *wrong = s_wrong_option (left - 2, argv + 2);
            if (wrong && !commands[i].options)
                return argos_cli_usage (&cli, "%s has no option %s", word, wrong);
            return s_run (&cli, commands[i].function, left - 2, argv + 2);
        }
    if (*word == '-')
        return argos_cli_usage (&cli, "there is no option %s", word);
    return *word ? argos_cli_usage (&cli, "there is no command %s", word)
                 : argos_cli_usage (&cli, "a command is needed");
}
