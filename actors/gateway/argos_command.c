//  argos_command - from a message to the handler of its command.
//
//  Invariant: a command that changes anything does so in parts of one done. Who may use it is
//  looked at for the word that was typed and for what it stands for. Pure. Limits: an alias of an
//  alias is followed three times.

#include "argos_command.h"

#include "argos_asked.h"
#include "argos_background.h"
#include "argos_cmd.h"
#include "argos_confirm.h"
#include "argos_exec.h"
#include "argos_hook_word.h"
#include "argos_incoming.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_platform.h"
#include "argos_say.h"
#include "argos_tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIAS_MAX 3 //  Aliases that are followed

#define BIT(name) ARGOS_FACT_BIT (ARGOS_FACT_##name)
#define NEEDS_TARGET (BIT (LIST) | BIT (RESOLVED) | BIT (LINEAGE) | BIT (TARGET))

//  What a row of schema/commands.json reads and does; those of the terminal have none

static const struct {
    unsigned needs;        //  Facts, bits, beside the route
    argos_cmd_fn *handler; //  What it does
} s_handlers[ARGOS_COMMAND_COUNT] = {
    [ARGOS_COMMAND_START] = { 0, argos_cmd_start },
    [ARGOS_COMMAND_NEW] = { BIT (ASKED), argos_cmd_new },
    [ARGOS_COMMAND_RESUME] = { NEEDS_TARGET, argos_cmd_resume },
    [ARGOS_COMMAND_SESSIONS] = { BIT (LIST) | BIT (SEARCH), argos_cmd_sessions },
    [ARGOS_COMMAND_TITLE] = { 0, argos_cmd_title },
    [ARGOS_COMMAND_BRANCH] = { 0, argos_cmd_branch },
    [ARGOS_COMMAND_RETRY] = { BIT (SAID) | BIT (SETTING), argos_cmd_retry },
    [ARGOS_COMMAND_UNDO] = { BIT (SAID), argos_cmd_undo },
    [ARGOS_COMMAND_COMPRESS] = { 0, argos_cmd_compress },
    [ARGOS_COMMAND_STOP] = { BIT (LANE) | BIT (ASKED), argos_cmd_stop },
    [ARGOS_COMMAND_QUEUE] = { BIT (LANE) | BIT (SETTING), argos_cmd_queue },
    [ARGOS_COMMAND_PLAN] = { BIT (LANE) | BIT (SETTING), argos_cmd_plan },
    [ARGOS_COMMAND_STEER] = { BIT (LANE) | BIT (SETTING), argos_cmd_steer },
    [ARGOS_COMMAND_APPROVE] = { BIT (ASKED) | BIT (ASKED_TASKS), argos_cmd_approve },
    [ARGOS_COMMAND_DENY] = { BIT (ASKED) | BIT (ASKED_TASKS), argos_cmd_deny },
    [ARGOS_COMMAND_BACKGROUND] = { BIT (TASKS), argos_cmd_background },
    [ARGOS_COMMAND_AGENTS] = { BIT (RUNS) | BIT (KEPT) | BIT (JOBS), argos_cmd_agents },
    [ARGOS_COMMAND_STATUS] = { BIT (LANE) | BIT (ASKED) | BIT (AGENT) | BIT (SETTING),
        argos_cmd_status },
    [ARGOS_COMMAND_SETHOME] = { 0, argos_cmd_sethome },
    [ARGOS_COMMAND_RESTART] = { 0, argos_cmd_restart },
    [ARGOS_COMMAND_MODEL] = { BIT (SETTING) | BIT (AGENT), argos_cmd_model },
    [ARGOS_COMMAND_REASONING] = { BIT (SETTING), argos_cmd_reasoning },
    [ARGOS_COMMAND_VERBOSE] = { BIT (SETTING), argos_cmd_verbose },
    [ARGOS_COMMAND_YOLO] = { BIT (SETTING), argos_cmd_yolo },
    [ARGOS_COMMAND_USAGE] = { BIT (USAGE), argos_cmd_usage },
    [ARGOS_COMMAND_WHOAMI] = { 0, argos_cmd_whoami },
    [ARGOS_COMMAND_COMMANDS] = { 0, argos_cmd_commands },
    [ARGOS_COMMAND_HELP] = { 0, argos_cmd_help },
    [ARGOS_COMMAND_VERSION] = { 0, argos_cmd_version },
};

bool
argos_command_is_handled (argos_command_id_t id)
{
    return s_handlers[id].handler != NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Reading a command

//  A copy of the arguments without blanks around them.

static char *
s_trimmed (const char *text)
{
    size_t length = strlen (text);
    while (length && strchr (" \t\r\n", text[length - 1]))
        length--;
    char *copy = strndup (text, length);
    if (!copy)
        abort ();
    return copy;
}

static bool
s_is_background (const char *text)
{
    char word[ARGOS_COMMAND_NAME_MAX + 1];
    const char *rest;
    const argos_commands_row_t *row =
        argos_incoming_command (text, word, &rest) ? argos_commands_find (word) : NULL;
    return row && argos_commands_id (row) == ARGOS_COMMAND_BACKGROUND;
}

//  What may be a command. Programs send what people wrote to them as it is, so of the commands the
//  API has the one that says where a turn runs.

static const char *
s_text (const argos_gateway_case_t *gateway)
{
    const json_t *source = json_object_get (gateway->body, "source");
    const char *text = argos_json_text (gateway->body, "text");
    bool api = argos_platform_find (argos_json_text (source, "platform"))->by_run;
    return api && !s_is_background (text) ? "" : text;
}

//  Finds the word in the table, else among the quick commands; an alias becomes what it stands for.

static void
s_find (const argos_gateway_case_t *gateway, argos_command_t *command)
{
    char word[ARGOS_COMMAND_NAME_MAX + 1];
    const json_t *quick_commands = json_object_get (gateway->policy->config, "quick_commands");
    memcpy (word, command->word, sizeof word);
    for (int i = 0; i <= ALIAS_MAX && !command->row && !*command->exec; i++) {
        const json_t *quick = json_object_get (quick_commands, word);
        const char *target = argos_json_text (quick, "target"), *rest;
        command->row = argos_commands_find (word);
        if (command->row && command->row->cli_only)
            command->row = NULL;
        if (command->row || !quick)
            return;
        if (strcmp (argos_json_text (quick, "type"), "exec") == 0)
            memcpy (command->exec, word, sizeof command->exec);
        if (*command->exec || !argos_incoming_command (target, word, &rest))
            return;
        char *arguments = NULL;
        if (asprintf (&arguments, "%s%s%s", rest, *rest && *command->arguments ? " " : "",
                command->arguments) < 0)
            abort ();
        free (command->arguments);
        command->arguments = arguments;
    }
}

//  The answer to the question that waits, if the message is one.

static bool
s_read_answer (const argos_gateway_case_t *gateway, argos_command_t *command)
{
    argos_confirm_t answer = argos_confirm_word (s_text (gateway));
    const json_t *asked = answer ? argos_confirm_pending (gateway) : NULL;
    if (asked && argos_asked_since (gateway, argos_confirm_at (gateway)))
        return false; //  A turn has asked since, and that is what is answered
    const argos_commands_row_t *row = argos_commands_find (argos_json_text (asked, "command"));
    if (!asked || !row)
        return false;
    command->row = row;
    command->cancelled = answer == ARGOS_CONFIRM_CANCEL;
    command->always = answer == ARGOS_CONFIRM_ALWAYS;
    command->confirmed = !command->cancelled;
    argos_parts_cut (row->name, command->word, sizeof command->word);
    command->arguments = s_trimmed (argos_json_text (asked, "arguments"));
    return true;
}

//  The command that a hook has put in the place of this one, if it has. Hooks are asked about a
//  command that the user may use only, and whether he may use the other one is checked behind this.

static void
s_rewrite (const argos_gateway_case_t *gateway, argos_command_t *command)
{
    argos_hook_said_t said;
    if (argos_hook_word (gateway, &said) != ARGOS_HOOK_REWRITE)
        return;
    argos_command_clear (command);
    *command = (argos_command_t){ .arguments = s_trimmed (said.arguments) };
    argos_parts_cut (said.command, command->word, sizeof command->word);
    s_find (gateway, command);
}

bool
argos_command_read (const argos_gateway_case_t *gateway, argos_command_t *command)
{
    const char *arguments;
    *command = (argos_command_t){ .row = NULL };
    if (s_read_answer (gateway, command))
        return true;
    bool found = argos_incoming_command (s_text (gateway), command->word, &arguments);
    command->arguments = s_trimmed (found ? arguments : "");
    if (found)
        s_find (gateway, command);
    if (found)
        s_rewrite (gateway, command);
    return found;
}

const char *
argos_command_name (const argos_command_t *command)
{
    return command->row ? command->row->name : *command->exec ? command->exec : command->word;
}

void
argos_command_clear (argos_command_t *command)
{
    free (command->arguments);
    command->arguments = NULL;
}

//  ------------------------------------------------------------------------------------------------
//  The step

//  Whether who speaks may use the word.

static bool
s_may (const argos_gateway_case_t *gateway, const char *word)
{
    const argos_commands_row_t *row = argos_commands_find (word);
    return (row && row->everybody) ||
           argos_tier_may (gateway->policy->config, json_object_get (gateway->body, "source"),
               row ? row->name : word);
}

//  Whether who speaks may use the command: the word that was typed, and what it stands for.

static bool
s_may_use (const argos_gateway_case_t *gateway, const argos_command_t *command)
{
    return s_may (gateway, command->word) && s_may (gateway, argos_command_name (command));
}

//  Whether hooks are asked about it: a command that the user may use, typed now.

static bool
s_hooks_decide (const argos_gateway_case_t *gateway, const argos_command_t *command)
{
    return (command->row || *command->exec) && !command->confirmed && !command->cancelled &&
           s_may_use (gateway, command);
}

//  Whether it is one of the shell that nobody has refused: it runs when it is asked for.

static bool
s_runs (const argos_gateway_case_t *gateway, const argos_command_t *command)
{
    argos_hook_said_t said;
    return *command->exec && s_may_use (gateway, command) && gateway->have & BIT (HOOK) &&
           argos_hook_word (gateway, &said) != ARGOS_HOOK_SAY;
}

unsigned
argos_command_needs (const argos_gateway_case_t *gateway)
{
    argos_command_t command;
    bool answer = argos_confirm_word (s_text (gateway)) != ARGOS_CONFIRM_NONE;
    unsigned needs = answer ? BIT (QUESTION) : 0;
    if (answer && !(gateway->have & BIT (QUESTION)))
        return needs | BIT (ROUTE);
    if (answer && argos_confirm_pending (gateway)) {
        needs |= BIT (ROUTE) | BIT (ASKED);
        if (!(gateway->have & BIT (ASKED)))
            return needs;
    }
    if (argos_command_read (gateway, &command))
        needs |= BIT (ROUTE);
    if (command.row) {
        needs |= s_handlers[argos_commands_id (command.row)].needs;
        if (command.row->busy == ARGOS_COMMANDS_REJECT)
            needs |= BIT (LANE);
        if (command.row->confirm)
            needs |= BIT (SETTING);
    }
    if (s_hooks_decide (gateway, &command))
        needs |= BIT (HOOK);
    if (s_runs (gateway, &command))
        needs |= BIT (EXEC);
    argos_command_clear (&command);
    return needs;
}

bool
argos_command_is (const argos_gateway_case_t *gateway)
{
    argos_command_t command;
    bool found = argos_command_read (gateway, &command);
    argos_command_clear (&command);
    return found;
}

static bool
s_is_local (const argos_gateway_case_t *gateway)
{
    const json_t *source = json_object_get (gateway->body, "source");
    return strcmp (argos_json_text (source, "platform"), "local") == 0;
}

bool
argos_command_is_offered (const argos_gateway_case_t *gateway, const argos_commands_row_t *row)
{
    return !row->cli_only && !(row->gateway_only && s_is_local (gateway)) &&
           s_may (gateway, row->name);
}

//  The question is answered. Returns whether the command is to be done.

static bool
s_answered (const argos_gateway_case_t *gateway, const argos_command_t *command, json_t *parts)
{
    argos_confirm_take (gateway, parts);
    if (command->cancelled)
        argos_cmd_say (gateway, parts, SAY_CANCELLED, command->row->name);
    else if (command->always)
        argos_cmd_setting_put (gateway, parts, "confirm", json_false (), false);
    return command->confirmed;
}

//  Does the command of a row, unless something is in the way.

static void
s_do (const argos_gateway_case_t *gateway, const argos_command_t *command, json_t *parts)
{
    const argos_commands_row_t *row = command->row;
    int running, queued;
    argos_cmd_count (gateway, &running, &queued);
    if (row->gateway_only && s_is_local (gateway))
        argos_cmd_say (gateway, parts, SAY_TERMINAL_ONLY, row->name);
    else if (row->busy == ARGOS_COMMANDS_REJECT && (running || queued))
        argos_cmd_say (gateway, parts, SAY_BUSY, row->name);
    else if (row->confirm && !command->confirmed && !command->cancelled &&
             argos_confirm_is_needed (gateway))
        argos_confirm_ask (gateway, row->name, command->arguments, parts);
    else if (!(command->confirmed || command->cancelled) || s_answered (gateway, command, parts))
        s_handlers[argos_commands_id (row)].handler (gateway, command->arguments, parts);
}

//  A command that nobody knows is said so, and never shown to a model.

static void
s_unknown (const argos_gateway_case_t *gateway, const char *word, json_t *parts)
{
    char reason[128];
    snprintf (reason, sizeof reason, SAY_UNKNOWN, word);
    json_t *refusal = argos_gateway_refuse (gateway, reason);
    json_array_extend (parts, refusal);
    json_decref (refusal);
}

bool
argos_command_step (const argos_gateway_case_t *gateway, json_t *parts)
{
    argos_command_t command;
    argos_hook_said_t said;
    bool found = argos_command_read (gateway, &command);
    if (!found) {
        argos_command_clear (&command);
        return false;
    }
    if (!command.row && !*command.exec)
        s_unknown (gateway, command.word, parts);
    else if (!s_may_use (gateway, &command))
        argos_cmd_say (gateway, parts, SAY_ADMIN_ONLY, command.word);
    else if (s_hooks_decide (gateway, &command) &&
             argos_hook_word (gateway, &said) == ARGOS_HOOK_SAY) {
        if (*said.message)
            argos_cmd_say (gateway, parts, "%s", said.message);
    }
    else if (*command.exec)
        argos_exec_step (gateway, &command, parts);
    else
        s_do (gateway, &command, parts);
    argos_command_clear (&command);
    return true;
}
