//  argos_agent_short - what readers of a run get to see of the calls of its tools: arguments and
//  results, without secrets and not longer than an entry may be.

#include "argos_agent_priv.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_MAX 4000      //  Bytes of all arguments, and of a result
#define SHORT_VALUE_MAX 500 //  Bytes of a text in the arguments

static json_t *
s_text (const char *text, size_t max)
{
    char clean[SHORT_MAX + 1];
    argos_text_t valid; //  The redaction may have cut a sequence at its own limit
    argos_log_redact (text, clean, sizeof clean);
    argos_text_init (&valid, max);
    argos_utf8_add (&valid, clean, argos_utf8_cut (clean, strlen (clean), max));
    json_t *value = json_string (argos_text_str (&valid));
    argos_text_clear (&valid);
    return value;
}

json_t *
parts_short_text (const char *text)
{
    return text ? s_text (text, SHORT_MAX) : NULL;
}

json_t *
parts_short_arguments (const json_t *arguments)
{
    json_t *brief = json_object (), *value, *text = NULL;
    json_t *all = json_deep_copy (arguments);
    const char *name;
    json_object_foreach (all, name, value)
        json_object_set_new (brief, name,
            json_is_string (value) ? s_text (json_string_value (value), SHORT_VALUE_MAX)
                                   : json_incref (value));
    char *dump = json_dumps (brief, JSON_COMPACT | JSON_SORT_KEYS);
    if (dump && strlen (dump) <= SHORT_MAX)
        text = json_string (dump);
    free (dump);
    json_decref (brief);
    json_decref (all);
    return text;
}
