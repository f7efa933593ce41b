//  argos_source - see argos_source.h.
//
//  Invariant: nothing but stable ids names a person. Pure, no limits of its own.

#include "argos_source.h"

#include "argos_json_get.h"

#include <stdio.h>
#include <string.h>

#define PLACES 4 //  Blocks that a setting may stand in

const char *
argos_source_participant (const json_t *source)
{
    const char *lasting = argos_json_text (source, "user_id_alt");
    return *lasting ? lasting : argos_json_text (source, "user_id");
}

bool
argos_source_is_direct (const json_t *source)
{
    const char *type = argos_json_text (source, "chat_type");
    return !*type || strcmp (type, "dm") == 0;
}

const json_t *
argos_source_setting (const json_t *config, const json_t *source, const char *name)
{
    const json_t *platforms = json_object_get (config, "platforms");
    const json_t *platform = json_object_get (platforms, argos_json_text (source, "platform"));
    const json_t *accounts = json_object_get (platform, "accounts");
    const json_t *account = json_object_get (accounts, argos_json_text (source, "account"));
    const char *type = argos_json_text (source, "chat_type");
    const json_t *places[PLACES] = { json_object_get (account, *type ? type : "dm"), account,
        json_object_get (platform, *type ? type : "dm"), platform };
    for (size_t i = 0; i < PLACES; i++) {
        const json_t *value = json_object_get (places[i], name);
        if (value)
            return value;
    }
    return NULL;
}

bool
argos_source_flag (const json_t *config, const json_t *source, const char *name)
{
    return json_is_true (argos_source_setting (config, source, name));
}

const char *
argos_source_word (const json_t *config, const json_t *source, const char *name)
{
    const char *word = json_string_value (argos_source_setting (config, source, name));
    return word ? word : "";
}

//  Whether an entry is these size bytes.

static bool
s_is (const json_t *entry, const char *text, size_t size)
{
    char number[24];
    const char *written = json_string_value (entry);
    if (json_is_integer (entry)) {
        snprintf (number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value (entry));
        written = number;
    }
    return written && size && strlen (written) == size && memcmp (written, text, size) == 0;
}

static bool
s_has (const json_t *list, const char *text, size_t size)
{
    size_t index;
    const json_t *entry;
    json_array_foreach (list, index, entry)
        if (s_is (entry, text, size))
            return true;
    return false;
}

bool
argos_list_has (const json_t *list, const char *entry)
{
    return s_has (list, entry, strlen (entry));
}

bool
argos_list_names (const json_t *list, const json_t *source)
{
    static const char *const ids[] = { "user_id", "user_id_alt" };
    if (argos_list_has (list, "*"))
        return true;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const char *id = argos_json_text (source, ids[i]);
        if (s_has (list, id, strlen (id)) || s_has (list, id, strcspn (id, "@")))
            return true;
    }
    return false;
}
