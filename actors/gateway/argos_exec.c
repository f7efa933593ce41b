//  argos_exec - quick commands of the shell.
//
//  Invariant: a command line comes from the settings only. Pure. Limits: 30 s, 3,500 bytes of
//  output.

#include "argos_exec.h"

#include "argos_approval.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_say.h"
#include "argos_setting.h"

#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 30000 //  Of a command
#define OUTPUT_SIZE 3501 //  Bytes of output that are shown, terminated

//  Its command line, "" when the command is none of the shell. Borrowed.

static const char *
s_line (const argos_gateway_case_t *gateway, const argos_command_t *command)
{
    const json_t *quick = json_object_get (
        json_object_get (gateway->policy->config, "quick_commands"), command->exec);
    return argos_json_text (quick, "command");
}

//  Why it may not run, to reason (ARGOS_APPROVAL_TEXT_MAX + 1 bytes). Returns whether it may.

static bool
s_may_run (const argos_gateway_case_t *gateway, const char *line, char *reason)
{
    argos_approval_t judged = { .verdict = ARGOS_APPROVAL_DENY };
    json_t *arguments = json_pack ("{s:s}", "command", line);
    argos_approval_call_t call = { .tool = "terminal",
        .arguments = arguments,
        .mode = argos_approval_mode (
            argos_setting_text (gateway->policy->config, NULL, NULL, "approvals.mode")) };
    if (gateway->policy->approval && *line)
        argos_approval_judge (gateway->policy->approval, &call, &judged);
    else
        snprintf (judged.text, sizeof judged.text, "%s",
            *line ? "the rules of approval can't be read" : "it has no command");
    json_decref (arguments);
    snprintf (reason, ARGOS_APPROVAL_TEXT_MAX + 1, "%s", judged.text);
    return judged.verdict == ARGOS_APPROVAL_ALLOW;
}

json_t *
argos_exec_question (const argos_gateway_case_t *gateway)
{
    char reason[ARGOS_APPROVAL_TEXT_MAX + 1], run[ARGOS_RUN_ID_SIZE], id[64];
    argos_command_t command;
    json_t *body = NULL;
    argos_command_read (gateway, &command);
    const char *line = s_line (gateway, &command);
    if (*line && gateway->attempt <= 1 && !*command.arguments &&
        s_may_run (gateway, line, reason)) {
        argos_gateway_run (gateway, run);
        argos_cmd_id (gateway, "exec", id);
        body = json_pack ("{s:s, s:s, s:s, s:s, s:{s:s}, s:i}", "run_id", run, "session_id",
            "quick", "call_id", id, "name", "terminal", "arguments", "command", line, "timeout_ms",
            TIMEOUT_MS);
    }
    argos_command_clear (&command);
    return body;
}

//  What it has said.

static void
s_tell (const argos_gateway_case_t *gateway, const char *word, const json_t *result, json_t *parts)
{
    char output[OUTPUT_SIZE];
    const char *all = argos_json_text (result, "output"),
               *error = argos_json_text (result, "error");
    json_int_t code = json_integer_value (json_object_get (result, "exit_code"));
    argos_parts_cut (all, output, sizeof output);
    const char *more = strlen (all) >= sizeof output ? "\n..." : "";
    if (*error)
        argos_cmd_say (gateway, parts, SAY_EXEC_FAILED, word, error, *output ? "\n" : "", output);
    else if (code)
        argos_cmd_say (
            gateway, parts, SAY_EXEC_CODE, word, (long long) code, *output ? "\n" : "", output);
    else
        argos_cmd_say (gateway, parts, "%s%s", *output ? output : SAY_EXEC_SILENT, more);
}

void
argos_exec_step (const argos_gateway_case_t *gateway, const argos_command_t *command, json_t *parts)
{
    char reason[ARGOS_APPROVAL_TEXT_MAX + 1];
    const json_t *result = gateway->fact[ARGOS_FACT_EXEC];
    if (result)
        s_tell (gateway, command->word, result, parts);
    else if (*command->arguments)
        argos_cmd_say (gateway, parts, SAY_EXEC_WORDS, command->word);
    else if (!s_may_run (gateway, s_line (gateway, command), reason))
        argos_cmd_say (gateway, parts, SAY_EXEC_NOT, command->word, reason);
    else
        argos_cmd_say (gateway, parts, SAY_EXEC_UNKNOWN, command->word);
}
