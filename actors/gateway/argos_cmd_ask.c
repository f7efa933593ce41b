//  argos_cmd_ask - what the slash commands read, as questions.
//
//  Invariant: a question that could be refused for its form is not asked. Pure.

#include "argos_cmd.h"
#include "argos_command.h"
#include "argos_confirm.h"
#include "argos_header.h"
#include "argos_json_get.h"

#include <string.h>

#define WORD_MAX 1024   //  Bytes of a word that is looked for
#define ALL_SESSIONS 30 //  Sessions of /sessions all
#define UNDO_MAX 100    //  Messages that are taken back at once
#define RUNS_LIMIT 50   //  Runs that are looked at for what runs
#define SEARCHES 100    //  For one command; each ends when its time in the store is used up

//  Name of the table and arguments of the command; NULL = none of the table. Clear the command.

static const char *
s_command (const argos_gateway_case_t *gateway, argos_command_t *command)
{
    return argos_command_read (gateway, command) && command->row ? command->row->name : NULL;
}

//  A command, and its arguments without the marks that people put around a name.

static const char *
s_bare (const argos_gateway_case_t *gateway, argos_command_t *command)
{
    static const char marks[] = "<>[]\"' ";
    s_command (gateway, command);
    char *text = command->arguments + strspn (command->arguments, marks);
    size_t length = strlen (text);
    while (length && strchr (marks, text[length - 1]))
        text[--length] = 0;
    return text;
}

static json_t *
s_record (const argos_gateway_case_t *gateway, const char *space)
{
    char key[ARGOS_CMD_KEY_SIZE];
    argos_cmd_key (gateway, key);
    return json_pack ("{s:s, s:s}", "space", space, "key", key);
}

json_t *
argos_cmd_ask_question (const argos_gateway_case_t *gateway)
{
    return s_record (gateway, "question");
}

json_t *
argos_cmd_ask_setting (const argos_gateway_case_t *gateway)
{
    return s_record (gateway, "setting");
}

json_t *
argos_cmd_ask_list (const argos_gateway_case_t *gateway)
{
    char owner[ARGOS_CMD_OWNER_SIZE];
    argos_command_t command;
    const char *name = s_command (gateway, &command);
    argos_cmd_owner (gateway, owner);
    json_t *body = json_pack ("{s:s, s:i}", "owner", owner, "limit", ARGOS_CMD_SESSIONS);
    bool resume = name && strcmp (name, "resume") == 0;
    bool asked = true;
    if (resume && *command.arguments) {
        argos_command_clear (&command);
        asked = argos_cmd_number (s_bare (gateway, &command)) > 0;
    }
    if (!resume)
        asked = strncmp (command.arguments, "search", 6) != 0;
    if (!resume && strcmp (command.arguments, "all") == 0) {
        json_object_set_new (body, "all", json_true ());
        json_object_set_new (body, "limit", json_integer (ALL_SESSIONS));
    }
    if (!asked) {
        json_decref (body);
        body = NULL;
    }
    argos_command_clear (&command);
    return body;
}

//  From where the search before this was cut off.

json_t *
argos_cmd_ask_search (const argos_gateway_case_t *gateway)
{
    char owner[ARGOS_CMD_OWNER_SIZE];
    argos_command_t command;
    json_t *body = NULL;
    const json_t *before = gateway->fact[ARGOS_FACT_SEARCH];
    int found = (int) json_array_size (json_object_get (before, "hits"));
    s_command (gateway, &command);
    const char *text = command.arguments;
    argos_cmd_owner (gateway, owner);
    if (strncmp (text, "search", 6) == 0 && strchr (" \t\n", text[6]) && strlen (text) < WORD_MAX)
        body = json_pack ("{s:s, s:s, s:i, s:O*}", "text", text + 6, "owner", owner, "limit",
            ARGOS_CMD_SESSIONS - found, "before", json_object_get (before, "next"));
    argos_command_clear (&command);
    return body;
}

json_t *
argos_cmd_search_join (const json_t *before, json_t *answer, bool *ret_more)
{
    json_t *joined = json_copy (answer), *hits = json_array ();
    json_int_t searches = json_integer_value (json_object_get (before, "searches")) + 1;
    json_array_extend (hits, json_object_get (before, "hits"));
    json_array_extend (hits, json_object_get (answer, "hits"));
    *ret_more = json_object_get (answer, "next") && json_array_size (hits) < ARGOS_CMD_SESSIONS &&
                searches < SEARCHES;
    json_object_set_new (joined, "hits", hits);
    json_object_set_new (joined, "searches", json_integer (searches));
    return joined;
}

json_t *
argos_cmd_ask_resolve (const argos_gateway_case_t *gateway)
{
    char owner[ARGOS_CMD_OWNER_SIZE];
    argos_command_t command;
    json_t *body = NULL;
    const char *text = s_bare (gateway, &command);
    argos_cmd_owner (gateway, owner);
    if (*text && argos_cmd_number (text) < 0 && strlen (text) < WORD_MAX)
        body = json_pack ("{s:s, s:s}", "text", text, "owner", owner);
    argos_command_clear (&command);
    return body;
}

//  The session that /resume asks for: by its number in the list, else by its name.

static const char *
s_wanted (const argos_gateway_case_t *gateway)
{
    argos_command_t command;
    int number = argos_cmd_number (s_bare (gateway, &command));
    argos_command_clear (&command);
    if (number < 0)
        return argos_json_text (gateway->fact[ARGOS_FACT_RESOLVED], "session_id");
    const json_t *list = json_object_get (gateway->fact[ARGOS_FACT_LIST], "sessions");
    return argos_json_text (json_array_get (list, (size_t) number - 1), "id");
}

json_t *
argos_cmd_ask_lineage (const argos_gateway_case_t *gateway)
{
    char owner[ARGOS_CMD_OWNER_SIZE];
    const char *id = s_wanted (gateway);
    argos_cmd_owner (gateway, owner);
    return *id ? json_pack ("{s:s, s:s}", "id", id, "owner", owner) : NULL;
}

json_t *
argos_cmd_ask_target (const argos_gateway_case_t *gateway)
{
    char owner[ARGOS_CMD_OWNER_SIZE];
    const char *tip = argos_json_text (gateway->fact[ARGOS_FACT_LINEAGE], "tip");
    argos_cmd_owner (gateway, owner);
    return *tip ? json_pack ("{s:s, s:s}", "id", tip, "owner", owner) : NULL;
}

json_t *
argos_cmd_ask_said (const argos_gateway_case_t *gateway)
{
    char session[ARGOS_SESSION_ID_MAX + 1];
    argos_command_t command;
    const char *name = s_command (gateway, &command);
    int count = name && strcmp (name, "undo") == 0 && *command.arguments
                    ? argos_cmd_number (command.arguments)
                    : 1;
    argos_command_clear (&command);
    argos_gateway_session (gateway, session);
    if (!*session || count < 1)
        return NULL;
    return json_pack ("{s:s, s:i}", "id", session, "last", count < UNDO_MAX ? count : UNDO_MAX);
}

json_t *
argos_cmd_ask_usage (const argos_gateway_case_t *gateway)
{
    char session[ARGOS_SESSION_ID_MAX + 1];
    argos_gateway_session (gateway, session);
    return *session ? json_pack ("{s:s}", "id", session) : NULL;
}

json_t *
argos_cmd_ask_runs (const argos_gateway_case_t *gateway)
{
    char owner[ARGOS_NAME_MAX + 1];
    argos_name_base (gateway->from, owner);
    return json_pack ("{s:s, s:i}", "owner", owner, "limit", RUNS_LIMIT);
}
