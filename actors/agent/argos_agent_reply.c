//  argos_agent_reply - what the chat gets of an answer: the words, an explanation, or nothing.
//
//  Pure. Invariant: nothing is delivered only when the model says so; an answer that is none is
//  explained.

#include "argos_agent_priv.h"
#include "argos_reply.h"

#include <string.h>

//  Whether programs read there, which get everything as it came

static bool
s_is_raw (const json_t *request)
{
    static const char *const raw[] = { "local", "api_server", "webhook" };
    const char *platform =
        json_string_value (json_object_get (json_object_get (request, "source"), "platform"));
    for (size_t i = 0; platform && i < sizeof raw / sizeof *raw; i++)
        if (strcmp (raw[i], platform) == 0)
            return true;
    return false;
}

const char *
agent_reply (const json_t *request, const char *text)
{
    const json_t *task = json_object_get (request, "task");
    const char *empty = json_string_value (json_object_get (task, "empty"));
    bool silent = argos_reply_is_silent (text);
    if (task && (!*text || silent)) //  Who has asked for it waits for a word
        return empty ? empty : "(No response generated)";
    if (silent)
        return NULL;
    if (!*text)
        return "⚠️ Finished without a response.";
    if (strcmp (text, "(empty)") == 0)
        return "⚠️ The model has answered with nothing. `/retry` sends your message again.";
    if (!s_is_raw (request) && argos_reply_is_error_page (text))
        return "⚠️ The provider has sent an error page instead of an answer. `/retry` sends "
               "your "
               "message again.";
    return text;
}
