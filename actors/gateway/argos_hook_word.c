//  argos_hook_word - see the header. Limit: hooks see 64 KiB of the arguments.

#include "argos_hook_word.h"

#include "argos_command.h"
#include "argos_hook_event.h"
#include "argos_json_get.h"
#include "argos_parts.h"

#include <string.h>

#define ARGUMENTS_MAX 65536 //  Bytes of the arguments

json_t *
argos_hook_question (const argos_gateway_case_t *self)
{
    char cut[ARGUMENTS_MAX + 1];
    argos_command_t command;
    json_t *body = NULL;
    if (argos_command_read (self, &command)) {
        //  Neither what is cut off nor another name must be a way around the hooks
        argos_parts_cut (command.arguments, cut, sizeof cut);
        body = argos_hook_event_new ("", json_object_get (self->body, "source"));
        json_object_del (body, "event");
        json_object_set_new (body, "command", json_string (argos_command_name (&command)));
        json_object_set_new (body, "args", json_string (cut));
        json_object_set_new (body, "raw_command", json_string (command.word));
    }
    argos_command_clear (&command);
    return body;
}

argos_hook_word_t
argos_hook_word (const argos_gateway_case_t *self, argos_hook_said_t *ret_said)
{
    const json_t *fact = self->fact[ARGOS_FACT_HOOK];
    const char *word = argos_json_text (fact, "decision");
    *ret_said = (argos_hook_said_t){ .message = argos_json_text (fact, "message"),
        .command = argos_json_text (fact, "command"),
        .arguments = argos_json_text (fact, "args") };
    if (strcmp (word, "rewrite") == 0 && *ret_said->command)
        return ARGOS_HOOK_REWRITE;
    if (strcmp (word, "deny") == 0 && !*ret_said->message)
        ret_said->message = "⛔ That command is not allowed here.";
    return strcmp (word, "deny") == 0 || strcmp (word, "handled") == 0 ? ARGOS_HOOK_SAY
                                                                       : ARGOS_HOOK_ALLOW;
}
