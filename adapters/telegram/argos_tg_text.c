//  argos_tg_text - see the header.
//
//  Invariant: entities are believed as far as they lie within the text; a name counts when an
//  entity says that it is one, never because the letters are there. Limits: 256 entities, patterns
//  of the settings as POSIX takes them (one that it does not is ignored).

#include "argos_tg_text.h"

#include "argos_commands.h"
#include "argos_setting.h"
#include "argos_utf8.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENTITIES_MAX 256 //  Looked at

size_t
argos_tg_offset (const char *text, int64_t unit)
{
    size_t at = 0, size = strlen (text);
    while (at < size && unit > 0) {
        size_t length = argos_utf8_length ((const unsigned char *) text + at, size - at);
        unit -= length == 4 ? 2 : 1;
        at += length ? length : 1;
    }
    return at;
}

int64_t
argos_tg_units (const char *text)
{
    int64_t units = 0;
    size_t at = 0, size = strlen (text);
    while (at < size) {
        size_t length = argos_utf8_length ((const unsigned char *) text + at, size - at);
        units += length == 4 ? 2 : 1;
        at += length ? length : 1;
    }
    return units;
}

static bool
s_is_bot_name (const char *name, size_t size)
{
    return size > 3 && strncasecmp (name + size - 3, "bot", 3) == 0;
}

//  Whether these bytes are our name

static bool
s_is_us (const argos_tg_who_t *who, const char *name, size_t size)
{
    return *who->username && strlen (who->username) == size &&
           strncasecmp (who->username, name, size) == 0;
}

//  What one entity says: cut is what is taken out of the text.

static void
s_entity (argos_tg_said_t *said, const argos_tg_who_t *who, const json_t *entity, const char *text,
    size_t from, size_t to, size_t *ret_cut)
{
    const char *type = json_string_value (json_object_get (entity, "type"));
    const json_t *user = json_object_get (entity, "user");
    *ret_cut = 0;
    if (!type || to <= from)
        return;
    if (strcmp (type, "mention") == 0 && text[from] == '@') {
        bool us = s_is_us (who, text + from + 1, to - from - 1);
        said->ours |= us;
        said->others |= !us && s_is_bot_name (text + from + 1, to - from - 1);
        *ret_cut = us ? to - from : 0;
    }
    else if (strcmp (type, "text_mention") == 0) {
        bool us = json_integer_value (json_object_get (user, "id")) == who->id;
        said->ours |= us;
        said->others |= !us && json_is_true (json_object_get (user, "is_bot"));
        *ret_cut = us ? to - from : 0;
    }
    else if (strcmp (type, "bot_command") == 0) {
        const char *at = memchr (text + from, '@', to - from);
        if (!at)
            return;
        bool us = s_is_us (who, at + 1, to - (size_t) (at - text) - 1);
        said->ours |= us;
        said->foreign |= !us && from == 0;
        *ret_cut = us ? to - (size_t) (at - text) : 0;
    }
}

static bool
s_matches (const argos_tg_who_t *who, const char *text)
{
    const json_t *list = argos_setting (who->settings, "telegram", NULL, "mention_patterns"), *item;
    size_t i;
    bool found = false;
    json_array_foreach (list, i, item) {
        regex_t regex;
        const char *pattern = json_string_value (item);
        if (found || !pattern ||
            regcomp (&regex, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB) != 0)
            continue;
        found = regexec (&regex, text, 0, NULL, 0) == 0;
        regfree (&regex);
    }
    return found;
}

//  A command without a name behind it is for us when it is one of ours.

static bool
s_is_command (const char *text)
{
    char word[ARGOS_COMMANDS_NAME_MAX + 2];
    size_t size = strcspn (text, " \n\t@");
    if (*text != '/' || size >= sizeof word || text[size] == '@')
        return false;
    memcpy (word, text, size);
    word[size] = 0;
    return argos_commands_find (word) != NULL;
}

static void
s_trim (char *text)
{
    size_t from = strspn (text, " \t\n"), size = strlen (text);
    while (size > from && strchr (" \t\n", text[size - 1]))
        size--;
    memmove (text, text + from, size - from);
    text[size - from] = 0;
}

argos_tg_said_t
argos_tg_said (const char *text, const json_t *entities, const argos_tg_who_t *who)
{
    argos_tg_said_t said = { .text = strdup (text) };
    const json_t *entity;
    size_t i, taken = 0, behind = 0, size = strlen (text);
    if (!said.text)
        abort ();
    json_array_foreach (entities, i, entity) {
        int64_t offset = json_integer_value (json_object_get (entity, "offset"));
        int64_t length = json_integer_value (json_object_get (entity, "length"));
        size_t from = argos_tg_offset (text, offset), cut;
        size_t to = argos_tg_offset (text, offset + length);
        if (i >= ENTITIES_MAX)
            break;
        s_entity (&said, who, entity, text, from, to, &cut);
        //  In order of their places; an earlier one that overlaps has taken its part already
        if (!cut || to - cut < behind)
            continue;
        behind = to;
        memmove (said.text + to - cut - taken, said.text + to - taken, size - to + 1);
        taken += cut;
    }
    if (taken)
        s_trim (said.text);
    said.ours |= s_is_command (said.text) || s_matches (who, text);
    return said;
}
