//  argos_hook_event - see the header. Limit: 500 characters of a text.

#include "argos_hook_event.h"

#include <string.h>

#define TEXT_MAX 500 //  Characters of a text

static const char *const s_members[] = { "platform", "account", "chat_id", "chat_type", "thread_id",
    "user_id", "user_name" };

json_t *
argos_hook_event_new (const char *event, const json_t *source)
{
    json_t *body = json_pack ("{s:s}", "event", event);
    for (size_t i = 0; i < sizeof s_members / sizeof *s_members; i++) {
        json_t *value = json_object_get (source, s_members[i]);
        if (json_is_string (value))
            json_object_set (body, s_members[i], value);
    }
    return body;
}

void
argos_hook_event_text (json_t *event, const char *name, const char *text)
{
    size_t size = 0, count = 0;
    if (!text || !*text)
        return;
    for (; text[size]; size++)
        if (((unsigned char) text[size] & 0xC0) != 0x80 && count++ == TEXT_MAX)
            break;
    json_object_set_new (event, name, json_stringn (text, size));
}
