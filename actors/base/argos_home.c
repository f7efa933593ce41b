//  argos_home - see the header. Invariant: the settings are never written here.

#include "argos_home.h"

#include "argos_json_get.h"
#include "argos_setting.h"

#include <string.h>

json_t *
argos_home_set (const json_t *settings, const char *platform)
{
    static const char *const names[][2] = { { "home_channel.chat_id", "chat_id" },
        { "home_channel.thread_id", "thread_id" }, { "home_channel.name", "chat_name" } };
    json_t *place = json_pack ("{s:s}", "platform", platform);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *value = argos_setting (settings, platform, NULL, names[i][0]);
        if (json_is_integer (value)) //  Ids may be written as numbers
            json_object_set_new (place, names[i][1],
                json_sprintf ("%" JSON_INTEGER_FORMAT, json_integer_value (value)));
        else if (json_string_length (value))
            json_object_set_new (place, names[i][1], json_string (json_string_value (value)));
    }
    if (json_object_get (place, "chat_id"))
        return place;
    json_decref (place);
    return NULL;
}

bool
argos_home_same (const json_t *one, const json_t *other)
{
    return strcmp (argos_json_text (one, "chat_id"), argos_json_text (other, "chat_id")) == 0 &&
           strcmp (argos_json_text (one, "thread_id"), argos_json_text (other, "thread_id")) == 0;
}

json_t *
argos_home_value (const json_t *settings, const json_t *source)
{
    json_t *value = json_pack ("{s:O}", "source", source);
    json_t *set = argos_home_set (settings, argos_json_text (source, "platform"));
    if (set)
        json_object_set_new (value, "over", set);
    return value;
}

json_t *
argos_home (const json_t *settings, const char *platform, const json_t *value)
{
    json_t *said = json_object_get (value, "source");
    json_t *set = argos_home_set (settings, platform);
    bool counts = *argos_json_text (said, "chat_id") &&
                  (!set || argos_home_same (set, said) ||
                      argos_home_same (set, json_object_get (value, "over")));
    if (!counts)
        return set;
    json_decref (set);
    return json_deep_copy (said);
}
