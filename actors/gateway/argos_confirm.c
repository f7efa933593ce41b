//  argos_confirm - asking before a destructive command is done.
//
//  Invariant: a question is answered once: taking it expects the version that was read. Pure.
//  Limits: arguments of 1,024 bytes are kept, longer ones are cut.

#include "argos_confirm.h"

#include "argos_cmd.h"
#include "argos_command.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_say.h"
#include "argos_setting.h"

#include <string.h>
#include <strings.h>

#define ARGUMENTS_SIZE 1025 //  Bytes of the arguments that are kept, terminated

argos_confirm_t
argos_confirm_word (const char *text)
{
    static const struct {
        const char *word;       //  What is said
        argos_confirm_t answer; //  What it means
    } words[] = { { "approve", ARGOS_CONFIRM_ONCE }, { "yes", ARGOS_CONFIRM_ONCE },
        { "ok", ARGOS_CONFIRM_ONCE }, { "confirm", ARGOS_CONFIRM_ONCE },
        { "/approve", ARGOS_CONFIRM_ONCE }, { "always", ARGOS_CONFIRM_ALWAYS },
        { "remember", ARGOS_CONFIRM_ALWAYS }, { "/approve always", ARGOS_CONFIRM_ALWAYS },
        { "cancel", ARGOS_CONFIRM_CANCEL }, { "no", ARGOS_CONFIRM_CANCEL },
        { "deny", ARGOS_CONFIRM_CANCEL }, { "nevermind", ARGOS_CONFIRM_CANCEL },
        { "/deny", ARGOS_CONFIRM_CANCEL } };
    text += strspn (text, " \t\r\n");
    size_t length = strlen (text);
    while (length && strchr (" \t\r\n.!", text[length - 1]))
        length--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen (words[i].word) == length && strncasecmp (words[i].word, text, length) == 0)
            return words[i].answer;
    return ARGOS_CONFIRM_NONE;
}

//  Who speaks, "" = not known.

static const char *
s_user (const argos_gateway_case_t *gateway)
{
    const json_t *source = json_object_get (gateway->body, "source");
    const char *user = argos_json_text (source, "user_id_alt");
    return *user ? user : argos_json_text (source, "user_id");
}

static const json_t *
s_record (const argos_gateway_case_t *gateway)
{
    return json_object_get (gateway->fact[ARGOS_FACT_QUESTION], "record");
}

const json_t *
argos_confirm_pending (const argos_gateway_case_t *gateway)
{
    const json_t *value = json_object_get (s_record (gateway), "value");
    if (!json_is_object (value) || strcmp (argos_json_text (value, "user"), s_user (gateway)) != 0)
        return NULL;
    return value;
}

int64_t
argos_confirm_at (const argos_gateway_case_t *gateway)
{
    return json_integer_value (json_object_get (s_record (gateway), "updated_at"));
}

bool
argos_confirm_is_needed (const argos_gateway_case_t *gateway)
{
    const json_t *session = argos_cmd_session (gateway);
    const json_t *source = json_object_get (gateway->body, "source");
    const json_t *asks =
        argos_setting (gateway->policy->config, argos_json_text (source, "platform"),
            argos_json_text (source, "chat_type"), "approvals.destructive_slash_confirm");
    return !json_is_false (asks) &&
           json_integer_value (json_object_get (session, "message_count")) > 0 &&
           !json_is_false (argos_cmd_setting (gateway, "confirm"));
}

void
argos_confirm_ask (
    const argos_gateway_case_t *gateway, const char *command, const char *arguments, json_t *parts)
{
    char key[ARGOS_CMD_KEY_SIZE], cut[ARGUMENTS_SIZE];
    json_int_t until = gateway->wall + ARGOS_CONFIRM_LIFE_MS;
    argos_cmd_key (gateway, key);
    argos_parts_cut (arguments, cut, sizeof cut);
    argos_parts_store_new (parts, "record.put",
        json_pack ("{s:s, s:s, s:{s:s, s:s, s:s}, s:I}", "space", "question", "key", key, "value",
            "command", command, "arguments", cut, "user", s_user (gateway), "expires_at", until));
    argos_cmd_say (gateway, parts, SAY_CONFIRM, command);
}

void
argos_confirm_take (const argos_gateway_case_t *gateway, json_t *parts)
{
    char key[ARGOS_CMD_KEY_SIZE];
    argos_cmd_key (gateway, key);
    argos_parts_store_new (parts, "record.put",
        json_pack ("{s:s, s:s, s:O}", "space", "question", "key", key, "version",
            json_object_get (s_record (gateway), "version")));
}
