//  argos_command - the table of slash commands and what each one does.
//
//  Invariant: a command that changes anything does so in parts of one done. Pure. A new command is
//  a new row and a handler.

#include "argos_command.h"

#include "argos_background.h"
#include "argos_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STATUS_SIZE 2048 //  Bytes of the answer of /status
#define HELP_SIZE 4096   //  Bytes of the answer of /help

//  ---------------------------------------------------------------------------------------------
//  Reading a command

bool
argos_command_parse (const char *text, char *name, const char **ret_arguments)
{
    *name = 0;
    if (*text != '/')
        return false;
    size_t word = strcspn (text + 1, " \t\r\n");
    if (memchr (text + 1, '/', word))
        return false; //  A path
    const char *at = memchr (text + 1, '@', word);
    size_t length = at ? (size_t) (at - text - 1) : word;
    if (!length || length > ARGOS_COMMAND_NAME_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        name[i] = (char) tolower ((unsigned char) text[1 + i]); //  The locale is C
    name[length] = 0;
    if (ret_arguments) {
        const char *rest = text + 1 + word;
        *ret_arguments = rest + strspn (rest, " \t\r\n");
    }
    return true;
}

//  ---------------------------------------------------------------------------------------------
//  Answers

//  Answer the chat that the message came from.

static void
s_answer (const argos_gateway_case_t *gateway, json_t *parts, const char *text)
{
    char digest[ARGOS_DIGEST_SIZE], id[ARGOS_DIGEST_SIZE + 8];
    argos_parts_digest (gateway->from, gateway->id, digest);
    snprintf (id, sizeof id, "ans_%s", digest);
    argos_parts_deliver (parts, json_object_get (gateway->body, "source"), id, "notice", text,
        json_string_value (json_object_get (gateway->body, "message_id")));
}

//  Turns of the lane that run (*ret_running) and wait (*ret_queued); side messages are no turns.

static void
s_count (const argos_gateway_case_t *gateway, int *ret_running, int *ret_queued)
{
    size_t index;
    json_t *message;
    *ret_running = *ret_queued = 0;
    json_array_foreach (
        json_object_get (gateway->fact[ARGOS_FACT_LANE], "messages"), index, message) {
        const char *type = json_string_value (json_object_get (message, "type"));
        if (!type || strcmp (type, "turn.request") != 0)
            continue;
        if (json_is_true (json_object_get (message, "leased")))
            (*ret_running)++;
        else
            (*ret_queued)++;
    }
}

//  ---------------------------------------------------------------------------------------------
//  Handlers

static void
s_new (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    (void) arguments;
    char old[ARGOS_SESSION_ID_MAX + 1], fresh[ARGOS_SESSION_ID_MAX + 1];
    argos_gateway_session (gateway, old);
    argos_gateway_open (gateway, fresh, parts);
    if (*old) {
        char digest[ARGOS_DIGEST_SIZE], id[ARGOS_DIGEST_SIZE + 8];
        argos_parts_digest (gateway->from, gateway->id, digest);
        snprintf (id, sizeof id, "end_%s", digest);
        argos_parts_turn_new (parts, "session.end", id, old, true,
            json_pack ("{s:s, s:s}", "session_id", old, "reason", "new session"));
    }
    char text[ARGOS_SESSION_ID_MAX + 64];
    snprintf (text, sizeof text, "✨ New session %s", fresh);
    s_answer (gateway, parts, text);
}

static void
s_stop (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    (void) arguments;
    int running, queued;
    s_count (gateway, &running, &queued);
    if (!running && !queued) {
        s_answer (gateway, parts, "Nothing is running.");
        return;
    }
    char session[ARGOS_SESSION_ID_MAX + 1], digest[ARGOS_DIGEST_SIZE], id[ARGOS_DIGEST_SIZE + 8];
    argos_gateway_session (gateway, session);
    argos_parts_digest (gateway->from, gateway->id, digest);
    snprintf (id, sizeof id, "stop_%s", digest);
    argos_parts_turn_new (parts, "turn.stop", id, session, true,
        json_pack ("{s:s}", "reason", "stopped by the user"));
    s_answer (gateway, parts, "⚡ Stopped. You can continue this session.");
}

//  One line about who answers the turns.

static void
s_provider (const json_t *agent, char *target, size_t size)
{
    if (!agent) {
        snprintf (target, size, "unknown (the agent does not answer)");
        return;
    }
    static const struct {
        const char *member, *before; //  What of the answer, and what stands in front of it
    } shown[] = { { "kind", "" }, { "model", ", model " }, { "base_url", ", " },
        { "problem", "; problem: " } };
    char value[256];
    size_t length = 0;
    *target = 0;
    for (size_t i = 0; i < sizeof shown / sizeof *shown && length < size; i++) {
        const char *text = json_string_value (json_object_get (agent, shown[i].member));
        if (!text)
            continue;
        argos_parts_cut (text, value, sizeof value);
        length +=
            (size_t) snprintf (target + length, size - length, "%s%s", shown[i].before, value);
    }
    if (json_is_true (json_object_get (agent, "rehearsal")) && length < size)
        snprintf (target + length, size - length,
            " (rehearsal: this is no model, it only repeats what it is sent)");
}

static void
s_status (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    (void) arguments;
    char session[ARGOS_SESSION_ID_MAX + 1], provider[1536], text[STATUS_SIZE];
    int running, queued;
    argos_gateway_session (gateway, session);
    s_count (gateway, &running, &queued);
    s_provider (gateway->fact[ARGOS_FACT_AGENT], provider, sizeof provider);
    snprintf (text, sizeof text, "Session: %s\nRunning: %s, queued: %d\nProvider: %s",
        *session ? session : "none yet", running ? "yes" : "no", queued, provider);
    s_answer (gateway, parts, text);
}

static void
s_help (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    (void) arguments;
    char text[HELP_SIZE];
    size_t length = 0;
    const argos_command_t *row;
    for (size_t i = 0; (row = argos_command_row (i)) && length < sizeof text; i++) {
        int written = snprintf (text + length, sizeof text - length, "%s`/%s%s%s` -- %s",
            i ? "\n" : "", row->name, *row->arguments ? " " : "", row->arguments, row->description);
        length += (size_t) written;
        if (row->aliases[0] && length < sizeof text) {
            written =
                snprintf (text + length, sizeof text - length, " (alias: `/%s`)", row->aliases[0]);
            length += (size_t) written;
        }
    }
    s_answer (gateway, parts, text);
}

//  ---------------------------------------------------------------------------------------------
//  The table

static const argos_command_t s_table[] = {
    { "background", { "bg", "btw" }, "<prompt>|list|status ID|cancel ID",
        "answer a prompt in a session of its own, beside this one", false,
        ARGOS_FACT_BIT (ARGOS_FACT_TASKS), argos_cmd_background },
    { "new", { "reset", NULL }, "", "end this session and begin a new one", true, 0, s_new },
    { "stop", { NULL, NULL }, "", "stop the running turn and drop what waits", true,
        ARGOS_FACT_BIT (ARGOS_FACT_LANE), s_stop },
    { "status", { NULL, NULL }, "", "show the session, what runs and who answers", false,
        ARGOS_FACT_BIT (ARGOS_FACT_LANE) | ARGOS_FACT_BIT (ARGOS_FACT_AGENT), s_status },
    { "help", { NULL, NULL }, "", "list the commands", false, 0, s_help },
};

const argos_command_t *
argos_command_row (size_t index)
{
    return index < sizeof s_table / sizeof *s_table ? &s_table[index] : NULL;
}

const argos_command_t *
argos_command_find (const char *name)
{
    const argos_command_t *row;
    for (size_t i = 0; (row = argos_command_row (i)); i++) {
        if (strcasecmp (row->name, name) == 0)
            return row;
        for (size_t j = 0; j < sizeof row->aliases / sizeof *row->aliases; j++)
            if (row->aliases[j] && strcasecmp (row->aliases[j], name) == 0)
                return row;
    }
    return NULL;
}
