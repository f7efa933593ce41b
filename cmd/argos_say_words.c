//  argos_say_words - the table of the commands.
//
//  Generated from cli/commands.json by schema/generate.py; do not edit.

#include "argos_say_words.h"

#include <string.h>

// clang-format off
static const argos_say_words_t s_rows[] = {
    { "chat", "--chat", true,
      "argos chat [--chat NAME]            talk to the agent; NAME is another conversation (main)\n",
      "\n"
      "What is typed is sent with Enter; a paste of several lines is one message. The words of the chat\n"
      "begin with a slash: /help lists them, Tab completes them, the names of sessions behind /resume and\n"
      "platforms and chats behind /handoff. The arrow keys bring back earlier lines, the newest 1000 of\n"
      "which are kept. /resume alone lists earlier sessions, of which a number then picks one. Answers are\n"
      "Markdown, shown in colours unless NO_COLOR is set; a line at the bottom says what is done meanwhile.\n"
      "Ctrl-C stops the answer, Ctrl-D or /quit leaves. An answer that comes when nobody is here is shown\n"
      "at the next start.\n"
      "\n"
      "  --chat NAME           another conversation; 1 to 40 of a-z 0-9 _ -\n"
      "\n"
      "For example:\n"
      "  argos chat                                                talk, here\n"
      "  argos chat --chat work                                    another conversation beside it\n" },
    { "run", "", true,
      "argos run PROMPT|-                  one question; - is stdin; the exit code is the outcome\n",
      "\n"
      "The answer alone is on stdout. Each run is a session of its own. Behind -- is all prompt, whatever\n"
      "it begins with. Exit: 0 answered, 1 failed, 77 it asked a person, 130 it was stopped.\n"
      "\n"
      "For example:\n"
      "  argos run 'what is the capital of Peru?'                  one question\n"
      "  git diff | argos run 'a message for this commit:' -       a question about stdin\n" },
    { "status", "", false,
      "argos status                        what the daemon does\n",
      "\n"
      "For example:\n"
      "  argos status                                              services, peers and the database\n" },
    { "top", "--once", true,
      "argos top [--once]                  what it does, each second (m l o w b n sort, q ends)\n",
      "\n"
      "  --once                one picture, and the end\n"
      "\n"
      "For example:\n"
      "  argos top                                                 watch it\n"
      "  argos --json top --once                                   the same figures for a program\n" },
    { "logs", "-f -n --level", true,
      "argos logs [-f] [-n LINES] [--level LEVEL]\n"
      "                                    what argosd has logged; -f: and what it logs from now on\n",
      "\n"
      "It needs no daemon: the log is argosd.log in the home (4 MiB, and as much from before in\n"
      "argosd.log.1). Where the actors are processes of their own, theirs is in it, too; a node has its\n"
      "own.\n"
      "\n"
      "  -f                    go on with what comes, until Ctrl-C\n"
      "  -n LINES              so many of the newest lines; 100 otherwise\n"
      "  --level LEVEL         error, warn, info or debug: lines of that weight and above\n"
      "\n"
      "For example:\n"
      "  argos logs -f                                             watch it\n"
      "  argos logs --level warn -n 20                             what went wrong lately\n" },
    { "peers", "list drain resume", false,
      "argos peers [list]                  who is connected\n"
      "argos peers drain|resume NAME       give a peer no new work; give it work again\n",
      "\n"
      "For example:\n"
      "  argos peers                                               who is connected\n"
      "  argos peers drain agent                                   let what it holds end, and give it\n"
      "                                                            nothing more\n" },
    { "agents", "list evict", false,
      "argos agents [list]                 agents that are kept between turns\n"
      "argos agents evict SESSION          let one go; the next turn builds a new one\n",
      "\n"
      "For example:\n"
      "  argos agents                                              whose prompt is kept\n"
      "  argos agents evict 20261102_101500_3f2a9c01               its next turn reads the settings again\n" },
    { "handoff", "--wait", true,
      "argos handoff SESSION PLATFORM[:CHAT] [--wait]\n"
      "                                    a session goes on at that platform\n",
      "\n"
      "The platform has to serve here (argos adapters) and to have a home channel (/sethome there), unless\n"
      "CHAT names another chat. While a turn runs it is refused. Who waits says so, and calls off with\n"
      "Ctrl-C what nobody has taken yet. /resume brings the session back.\n"
      "\n"
      "  --wait                wait for the turn that runs (an hour), instead of refusing\n"
      "\n"
      "For example:\n"
      "  argos handoff 20261102_101500_3f2a9c01 telegram           into the home channel of Telegram\n" },
    { "pairing", "list approve revoke clear", false,
      "argos pairing [list]                who waits to be let in, who is\n"
      "argos pairing approve PLATFORM CODE\n"
      "                                    let in who was told that code\n"
      "argos pairing revoke PLATFORM USER  no more\n"
      "argos pairing clear [PLATFORM]      drop the codes that wait, and the lock\n",
      "\n"
      "For example:\n"
      "  argos pairing approve telegram K7M2QX9P                   whoever was told this code may speak\n" },
    { "services", "list pause resume drop", false,
      "argos services [list]               what waits where\n"
      "argos services pause|resume|drop NAME\n"
      "                                    hand nothing out; go on; forget an idle one\n",
      "\n"
      "For example:\n"
      "  argos services pause turn                                 no new turn begins; messages wait\n" },
    { "trace", "", false,
      "argos trace ID                      the path of a message through all hops\n",
      "\n"
      "The broker remembers a few thousand hops, from the moment it was started; what is older or was\n"
      "before is forgotten, though the message itself is kept (argos runs, argos deliveries).\n"
      "\n"
      "For example:\n"
      "  argos trace run_00112233445566778899aabbccddeeff          from the message to the answer\n" },
    { "runs", "list show events stop", false,
      "argos runs [list]                   the newest runs\n"
      "argos runs show ID                  one run\n"
      "argos runs events ID                its events, until it is over\n"
      "argos runs stop ID                  stop it\n",
      "\n"
      "For example:\n"
      "  argos runs                                                the newest\n"
      "  argos runs stop run_00112233445566778899aabbccddeeff      end one\n" },
    { "jobs", "list show output -f kill start", true,
      "argos jobs [list]                   commands in the background\n"
      "argos jobs show ID                  one of them\n"
      "argos jobs output [-f] ID           what it wrote; -f: until it is over\n"
      "argos jobs kill ID                  end it, with all its processes\n"
      "argos jobs start -- COMMAND         start one; it outlives the daemon\n",
      "\n"
      "  -f                    of output: go on until the job is over\n"
      "\n"
      "For example:\n"
      "  argos jobs start -- make -j2                              it goes on when argosd ends\n"
      "  argos jobs output -f job_1a2b3c                           watch it\n" },
    { "sessions", "list show search rename branch home export --all import delete prune stats --owner --platform", true,
      "argos sessions [list]               what was talked about\n"
      "argos sessions show SESSION         one of them: its id, the beginning of it, or its title\n"
      "argos sessions search TEXT          find it by what was said\n"
      "argos sessions rename SESSION TITLE\n"
      "                                    give it a title\n"
      "argos sessions branch SESSION [TITLE]\n"
      "                                    go on from a copy\n"
      "argos sessions home SESSION NODE|none\n"
      "                                    the node on which its tools work from now on; show says which\n"
      "                                    that is\n"
      "argos sessions export SESSION|--all\n"
      "                                    all of it, as JSON lines\n"
      "argos sessions import FILE|-        what export has written; what is there stays\n"
      "argos sessions delete SESSION       with its messages\n"
      "argos sessions prune DAYS           delete those in which nothing happened for so long\n"
      "argos sessions stats                how many, and what they used\n",
      "\n"
      "  --owner OWNER         those of one owner only\n"
      "  --platform PLATFORM   those of one platform only\n"
      "  --all                 also those that are hidden; of export: all sessions\n"
      "\n"
      "For example:\n"
      "  argos sessions search bridge                              where bridges were spoken of\n"
      "  argos sessions export --all >sessions.jsonl               all of them\n" },
    { "db", "check --deep --file backup restore salvage compact query", true,
      "argos db check [--deep] [--file F]  look through the database; or a backup\n"
      "argos db backup [FILE]              a checked copy, also while the daemon runs\n"
      "argos db restore FILE               put a backup in its place; the daemon must not run\n"
      "argos db salvage [FILE] [--file F]  what can be read of a damaged one, as a new file\n"
      "argos db compact                    give free pages back\n"
      "argos db query SQL [--file F]       ask a snapshot of it; or a backup\n",
      "\n"
      "  --deep                of check: compare the indexes with the rows\n"
      "  --file F              of check, query and salvage: this file instead of the database of the home\n"
      "\n"
      "For example:\n"
      "  argos db backup                                           a dated copy in the home\n"
      "  argos db query 'SELECT count(*) FROM messages'            ask a snapshot\n" },
    { "send", "--file --no-mirror --force", true,
      "argos send TARGET TEXT|-            say it in chats: platform:chat[:thread], an alias, home, all, or\n"
      "                                    several with commas\n",
      "\n"
      "  --file FILE           a file with it, or instead of a text; several times if wanted\n"
      "  --no-mirror           the session of that chat does not learn of it\n"
      "  --force               also where nobody has spoken yet\n"
      "\n"
      "For example:\n"
      "  argos send telegram:42 'the build is done'                to one chat\n"
      "  argos send home --file report.pdf                         a file to the home channel\n" },
    { "channels", "list alias", false,
      "argos channels [list]               chats that somebody has spoken from\n"
      "argos channels alias NAME [TARGET]  another name for a chat; without TARGET it is forgotten\n",
      "\n"
      "For example:\n"
      "  argos channels alias me telegram:42                       then: argos send me hello\n" },
    { "deliveries", "list show resend", false,
      "argos deliveries [list [STATE]]     what was sent to people; waiting, sent, refused, unknown, gone\n"
      "argos deliveries show ID            one of them\n"
      "argos deliveries resend ID          send what was refused, or is unknown, once more\n",
      "\n"
      "For example:\n"
      "  argos deliveries list refused                             what a platform did not take, and why\n" },
    { "dead", "list show redrive drop", false,
      "argos dead [list]                   messages that were given up\n"
      "argos dead show SEQ                 one of them\n"
      "argos dead redrive SEQ              try it again\n"
      "argos dead drop SEQ                 forget it\n",
      "\n"
      "For example:\n"
      "  argos dead                                                what was given up\n"
      "  argos dead redrive 1207                                   try it again, once its cause is gone\n" },
    { "import", "hermes --dry-run", true,
      "argos import hermes PATH [--dry-run]\n"
      "                                    sessions and routes out of a state.db of Hermes\n",
      "\n"
      "  --dry-run             say what would be taken over, and change nothing\n"
      "\n"
      "For example:\n"
      "  argos import hermes ~/.hermes/state.db --dry-run          what would come\n" },
    { "keys", "list new --role --platform --account --http --scope --owner revoke", true,
      "argos keys [list]                   who may connect\n"
      "argos keys new NAME --role ROLE [--platform P --account A]\n"
      "                                    a new key\n"
      "argos keys new NAME --http --scope runs,chat,read,admin [--owner OWNER]\n"
      "                                    a key of the HTTP interface\n"
      "argos keys revoke NAME [--http]     at once, also where it is connected\n",
      "\n"
      "  --role ROLE           what the peer may do: adapter, worker, tool, client, observer, operator,\n"
      "                        core, or one of roles: in argos.yaml\n"
      "  --platform P          of an adapter: its platform\n"
      "  --account A           of an adapter: its account\n"
      "  --http                a key of the HTTP interface\n"
      "  --scope LIST          of such a key: runs, chat, read, admin\n"
      "  --owner OWNER         of such a key: whose sessions it sees\n"
      "\n"
      "For example:\n"
      "  argos keys new line --role adapter --platform line --account main\n"
      "                                                            for an adapter of your own\n"
      "  argos keys new web --http --scope runs,chat               for a program that speaks HTTP\n" },
    { "node", "add --actors --broker", true,
      "argos node add NAME [--actors LIST] [--broker tcp://HOST:PORT]\n"
      "                                    a key for another machine, as the line to run there\n",
      "\n"
      "  --actors LIST         what is to run there, with commas between\n"
      "  --broker ENDPOINT     where that machine reaches this one\n"
      "\n"
      "For example:\n"
      "  argos node add attic --actors agent,tools --broker tcp://10.0.0.2:5701\n"
      "                                                            prints the line for the other machine\n" },
    { "config", "show get set unset check reload", true,
      "argos config show [KEY]             the settings, and where each comes from\n"
      "argos config get KEY                one of them\n"
      "argos config set KEY VALUE          into local.yaml, over argos.yaml\n"
      "argos config unset KEY              takes it out again\n"
      "argos config check                  whether they are valid\n"
      "argos config reload                 the daemon reads them again\n",
      "\n"
      "For example:\n"
      "  argos config set provider.model gpt-4o-mini               another model, for the next turns after\n"
      "                                                            a reload\n"
      "  argos config show provider                                and where each comes from\n" },
    { "doctor", "--fix", true,
      "argos doctor [--fix]                what is wrong with the home and around it, and the cure\n",
      "\n"
      "  --fix                 cure what can be cured here: permissions, missing folders, what was left\n"
      "\n"
      "For example:\n"
      "  argos doctor                                              each finding with its cure\n"
      "  argos doctor --fix                                        and those that are safe are cured\n" },
    { "provider", "test", false,
      "argos provider test                 one short turn with the provider that serves\n",
      "\n"
      "For example:\n"
      "  argos provider test                                       does it answer, and how fast?\n" },
    { "setup", "telegram discord slack --account --non-interactive --provider --base-url --model --key-file --no-check", true,
      "argos setup [OPTIONS]               the first settings: who answers, its key, which is tried, and\n"
      "                                    platforms\n"
      "argos setup telegram|discord|slack [--account NAME]\n"
      "                                    asks for the token of a bot, tries it, keeps it\n",
      "\n"
      "What was chosen goes to local.yaml, keys and tokens to files that nobody else can read; nothing is\n"
      "written before the provider (or platform) has answered. Every key that there is stands in argos.yaml\n"
      "with its meaning.\n"
      "\n"
      "  --non-interactive     ask nothing: options, else the key in the environment, else the rehearsal\n"
      "                        provider\n"
      "  --provider NAME       openai (or a server that speaks its protocol), openrouter, anthropic,\n"
      "                        rehearsal\n"
      "  --base-url URL        where it is, or the API of a platform; its public address otherwise\n"
      "  --model MODEL         its usual one otherwise\n"
      "  --key-file FILE       the key is in this file; - is stdin; else in OPENAI_API_KEY and its kind\n"
      "  --no-check            do not try the provider\n"
      "  --account NAME        of a platform: a second bot; main otherwise\n"
      "\n"
      "For example:\n"
      "  argos setup                                               asks for all of it\n"
      "  argos setup --non-interactive                             the key of the environment, or the\n"
      "                                                            rehearsal provider\n"
      "  argos setup --provider openai --base-url http://127.0.0.1:8080/v1 --model m --key-file key\n"
      "                                                            a model of your own\n"
      "  argos setup telegram                                      a bot\n" },
    { "adapters", "list status probe pause resume", false,
      "argos adapters [list|status]        the accounts of chat platforms; status asks each how it is\n"
      "argos adapters probe|pause|resume ACCOUNT\n"
      "                                    one of them, such as telegram.main\n",
      "\n"
      "For example:\n"
      "  argos adapters status                                     does each bot serve?\n"
      "  argos adapters pause telegram.main                        what is to be sent waits\n" },
    { "adapter-check", "--only --platform --account --service --type --body --verbose", true,
      "argos adapter-check COMMAND|ENDPOINT\n"
      "                                    drive an adapter or a worker, case by case; needs no daemon\n",
      "\n"
      "  --only CASE           one case\n"
      "  --platform P          of the adapter, when it does not say it\n"
      "  --account A           the same\n"
      "  --service S           a worker that serves this\n"
      "  --type T              with messages of this type\n"
      "  --body JSON           and this body\n"
      "  --verbose             each frame\n"
      "\n"
      "For example:\n"
      "  argos adapter-check 'python3 my_adapter.py'               what it does right and wrong\n" },
    { "completion", "bash zsh fish", false,
      "argos completion bash|zsh|fish      a script that completes these words in a shell\n",
      "\n"
      "For example:\n"
      "  source <(argos completion bash)                           in ~/.bashrc\n" },
    { "version", "", false,
      "argos version                       which this is\n",
      "\n"
      "For example:\n"
      "  argos version\n" },
    { "help", "", false,
      "argos help [COMMAND]                this list; or all about one command, as COMMAND --help\n",
      "\n"
      "For example:\n"
      "  argos help sessions\n" },
};

const char argos_say_words_end[] =
    "\n"
    "COMMAND --help says more about one of them. Each takes\n"
    "  --home DIR        the folder of argosd; else $ARGOS_HOME, else ~/.argos\n"
    "  --json            one JSON document on stdout, errors too; what follows something is one document\n"
    "                    a line\n"
    "Exit: 0 done, 1 failed or refused, 2 the command line is wrong, 69 no daemon is running, 77 of run:\n"
    "it asked a person, 130 of run: it was stopped.\n";

const char argos_say_words_daemon[] =
    "usage: argosd [--home DIR] [--port N] [--node NAME] [--isolate]\n"
    "       argosd --only LIST [--broker ENDPOINT] [--key FILE] [--home DIR]\n"
    "       argosd join TICKET [--home DIR]\n"
    "  --home DIR          the folder of this instance; else $ARGOS_HOME, else ~/.argos\n"
    "  --port N            port of the HTTP interface; else http.port of argos.yaml\n"
    "  --node NAME         what argos.yaml has for that node; else the one with the core\n"
    "  --isolate           each actor outside of the core as a process of its own\n"
    "  --only LIST         these actors only: core, tools, jobs, agent, gateway, handoff, api, telegram,\n"
    "                      telegram.ACCOUNT, discord, ..., with commas between\n"
    "  --broker ENDPOINT   where the core is: ipc:///path or tcp://host:port; else in the home\n"
    "  --key FILE          what argos keys new has made; for a node keys/NAME.key otherwise\n"
    "  --version           print the version\n"
    "  --help              print this\n";
// clang-format on

const argos_say_words_t *
argos_say_words (size_t index)
{
    return index < sizeof s_rows / sizeof *s_rows ? &s_rows[index] : NULL;
}

const argos_say_words_t *
argos_say_words_find (const char *name)
{
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++)
        if (strcmp (s_rows[i].name, name) == 0)
            return &s_rows[i];
    return NULL;
}
