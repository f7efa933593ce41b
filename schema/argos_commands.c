//  argos_commands - the table of the slash commands.
//
//  Generated from commands.json by schema/generate.py; do not edit.

#include "argos_commands.h"

//  One command a line
// clang-format off
static const argos_commands_row_t s_rows[ARGOS_COMMAND_COUNT] = {
    [ARGOS_COMMAND_START] = { .name = "start", .aliases = { NULL }, .arguments = "", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .gateway_only = true, .description = "what a platform sends when a person opens the chat; begins no turn" },
    [ARGOS_COMMAND_NEW] = { .name = "new", .aliases = { "reset" }, .arguments = "[title]", .category = "Session", .busy = ARGOS_COMMANDS_INTERRUPT, .confirm = true, .description = "end this session and begin a new one" },
    [ARGOS_COMMAND_RESUME] = { .name = "resume", .aliases = { NULL }, .arguments = "[number|id|title]", .category = "Session", .busy = ARGOS_COMMANDS_REJECT, .description = "go on with an earlier session; without a word lists them" },
    [ARGOS_COMMAND_SESSIONS] = { .name = "sessions", .aliases = { NULL }, .arguments = "[all|search TEXT]", .category = "Session", .busy = ARGOS_COMMANDS_REJECT, .description = "list your sessions, or search in them" },
    [ARGOS_COMMAND_TITLE] = { .name = "title", .aliases = { NULL }, .arguments = "[title]", .category = "Session", .busy = ARGOS_COMMANDS_REJECT, .description = "show or set the title of this session" },
    [ARGOS_COMMAND_BRANCH] = { .name = "branch", .aliases = { "fork" }, .arguments = "[title]", .category = "Session", .busy = ARGOS_COMMANDS_REJECT, .description = "go on in a copy of this session" },
    [ARGOS_COMMAND_RETRY] = { .name = "retry", .aliases = { NULL }, .arguments = "", .category = "Session", .busy = ARGOS_COMMANDS_REJECT, .description = "take the last exchange back and send your message again" },
    [ARGOS_COMMAND_UNDO] = { .name = "undo", .aliases = { NULL }, .arguments = "[count]", .category = "Session", .busy = ARGOS_COMMANDS_REJECT, .confirm = true, .description = "take back your last message, or as many as you say, with all that followed" },
    [ARGOS_COMMAND_COMPRESS] = { .name = "compress", .aliases = { "compact" }, .arguments = "[focus]", .category = "Session", .busy = ARGOS_COMMANDS_REJECT, .description = "shorten the history of this session to a summary" },
    [ARGOS_COMMAND_STOP] = { .name = "stop", .aliases = { NULL }, .arguments = "", .category = "Session", .busy = ARGOS_COMMANDS_INTERRUPT, .description = "stop the running turn and drop what waits; the history stays" },
    [ARGOS_COMMAND_QUEUE] = { .name = "queue", .aliases = { "q" }, .arguments = "<prompt>", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .description = "say something that is answered after the running turn" },
    [ARGOS_COMMAND_PLAN] = { .name = "plan", .aliases = { NULL }, .arguments = "<prompt>", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .description = "answer a prompt without changing anything: tools only read" },
    [ARGOS_COMMAND_STEER] = { .name = "steer", .aliases = { NULL }, .arguments = "<prompt>", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .description = "say something to the running turn, without stopping it" },
    [ARGOS_COMMAND_APPROVE] = { .name = "approve", .aliases = { NULL }, .arguments = "[all] [session|always]", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .description = "allow what is being asked for" },
    [ARGOS_COMMAND_DENY] = { .name = "deny", .aliases = { NULL }, .arguments = "[all] [reason]", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .description = "refuse what is being asked for" },
    [ARGOS_COMMAND_BACKGROUND] = { .name = "background", .aliases = { "bg", "btw" }, .arguments = "<prompt>|list|status ID|cancel ID", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .description = "answer a prompt in a session of its own, beside this one" },
    [ARGOS_COMMAND_AGENTS] = { .name = "agents", .aliases = { "tasks" }, .arguments = "", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .description = "show what runs now" },
    [ARGOS_COMMAND_STATUS] = { .name = "status", .aliases = { NULL }, .arguments = "", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .description = "show the session, what runs and who answers" },
    [ARGOS_COMMAND_SETHOME] = { .name = "sethome", .aliases = { "set-home", "set_home" }, .arguments = "", .category = "Session", .busy = ARGOS_COMMANDS_REJECT, .gateway_only = true, .description = "make this chat the home of the platform, where reports go" },
    [ARGOS_COMMAND_RESTART] = { .name = "restart", .aliases = { NULL }, .arguments = "", .category = "Session", .busy = ARGOS_COMMANDS_DISPATCH, .description = "restart the daemon; running turns go on afterwards" },
    [ARGOS_COMMAND_MODEL] = { .name = "model", .aliases = { NULL }, .arguments = "[name|reset] [--global]", .category = "Configuration", .busy = ARGOS_COMMANDS_REJECT, .description = "show or choose the model of this session" },
    [ARGOS_COMMAND_REASONING] = { .name = "reasoning", .aliases = { NULL }, .arguments = "[level|reset]", .category = "Configuration", .busy = ARGOS_COMMANDS_REJECT, .description = "show or choose how much the model thinks: none, minimal, low, medium, high, xhigh, max" },
    [ARGOS_COMMAND_VERBOSE] = { .name = "verbose", .aliases = { NULL }, .arguments = "", .category = "Configuration", .busy = ARGOS_COMMANDS_DISPATCH, .description = "show more of the tools: off, new, all, verbose, log, one after the other" },
    [ARGOS_COMMAND_YOLO] = { .name = "yolo", .aliases = { NULL }, .arguments = "", .category = "Configuration", .busy = ARGOS_COMMANDS_DISPATCH, .description = "switch asking before dangerous tools off or on, for this session" },
    [ARGOS_COMMAND_USAGE] = { .name = "usage", .aliases = { NULL }, .arguments = "", .category = "Info", .busy = ARGOS_COMMANDS_REJECT, .description = "show the tokens and the cost of this session" },
    [ARGOS_COMMAND_WHOAMI] = { .name = "whoami", .aliases = { NULL }, .arguments = "", .category = "Info", .busy = ARGOS_COMMANDS_REJECT, .everybody = true, .description = "show who you are here and what you may do" },
    [ARGOS_COMMAND_COMMANDS] = { .name = "commands", .aliases = { NULL }, .arguments = "[page]", .category = "Info", .busy = ARGOS_COMMANDS_DISPATCH, .description = "list the commands, page by page" },
    [ARGOS_COMMAND_HELP] = { .name = "help", .aliases = { NULL }, .arguments = "", .category = "Info", .busy = ARGOS_COMMANDS_DISPATCH, .everybody = true, .description = "list the commands" },
    [ARGOS_COMMAND_VERSION] = { .name = "version", .aliases = { "v" }, .arguments = "", .category = "Info", .busy = ARGOS_COMMANDS_DISPATCH, .description = "show which Argos this is" },
    [ARGOS_COMMAND_HANDOFF] = { .name = "handoff", .aliases = { NULL }, .arguments = "<platform>[:chat]", .category = "Session", .busy = ARGOS_COMMANDS_REJECT, .cli_only = true, .description = "go on with this session at another platform" },
    [ARGOS_COMMAND_QUIT] = { .name = "quit", .aliases = { "exit" }, .arguments = "", .category = "Exit", .busy = ARGOS_COMMANDS_DISPATCH, .cli_only = true, .description = "leave the chat" },
};
// clang-format on

const argos_commands_row_t *
argos_commands_row (size_t index)
{
    return index < ARGOS_COMMAND_COUNT ? &s_rows[index] : NULL;
}

argos_command_id_t
argos_commands_id (const argos_commands_row_t *row)
{
    return (argos_command_id_t) (row - s_rows);
}
