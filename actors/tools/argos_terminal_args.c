//  argos_terminal_args - what a call of the tool `terminal` asks for. Pure.

#include "argos_terminal_args.h"

#include <string.h>

#define TIMEOUT_MAX_MS 600000 //  Longest that may be stated, unless the usual one is longer

int64_t
argos_terminal_timeout (const json_t *body, int64_t usual_ms)
{
    const json_t *own = json_object_get (body, "timeout_ms");
    const json_t *stated = json_object_get (json_object_get (body, "arguments"), "timeout");
    double timeout_ms = (double) usual_ms;
    double longest_ms = usual_ms > TIMEOUT_MAX_MS ? timeout_ms : TIMEOUT_MAX_MS;
    if (json_is_integer (own))
        timeout_ms = json_number_value (own);
    else if (json_is_number (stated))
        timeout_ms = json_number_value (stated) * 1000;
    if (!(timeout_ms >= 1 && timeout_ms <= longest_ms))
        return -1;
    return (int64_t) timeout_ms;
}

const char *
argos_terminal_problem (const json_t *body, int64_t usual_ms)
{
    const json_t *given = json_object_get (json_object_get (body, "arguments"), "command");
    const char *command = json_string_value (given);
    if (!command || !command[strspn (command, " \t\r\n")])
        return "`command` is missing: a string with the command line";
    if (json_string_length (given) != strlen (command))
        return "`command` contains a NUL";
    if (argos_terminal_timeout (body, usual_ms) < 0)
        return "`timeout` is out of range: a number of seconds, at most 600";
    return NULL;
}
