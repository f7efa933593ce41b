//  argos_cli_asked - see the header.
//
//  Limit: PAGE records of a session are looked at; a turn asks one thing at a time, and a record is
//  gone a day after its deadline.

#include "argos_cli_asked.h"

#include <stdio.h>
#include <string.h>

#define PAGE 200

json_t *
argos_cli_asked (argos_cli_t *cli, const char *session)
{
    json_t *reply = NULL, *record, *found = NULL;
    char prefix[300];
    size_t i;
    snprintf (prefix, sizeof prefix, "%s/", session);
    argos_cli_ask (cli, "store", "record.list",
        json_pack ("{s:s, s:s, s:i}", "space", "question", "prefix", prefix, "limit", PAGE),
        &reply);
    json_array_foreach (json_object_get (reply, "records"), i, record) {
        json_t *value = json_object_get (record, "value");
        const char *state = json_string_value (json_object_get (value, "state"));
        if (state && strcmp (state, "open") == 0 &&
            json_integer_value (json_object_get (value, "deadline")) > argos_loop_wall ())
            found = value;
    }
    json_incref (found);
    json_decref (reply);
    return found;
}
