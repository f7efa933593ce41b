//  transcript_kit - see the header.

#include "transcript_kit.h"

#include <stdio.h>

void
transcript_call (json_t *rows, const char *run, const char *tool, const char *arguments,
    const char *content, bool text)
{
    char id[16];
    snprintf (id, sizeof id, "c%zu", json_array_size (rows));
    json_t *given = text ? json_string (arguments) : json_loads (arguments, 0, NULL);
    json_array_append_new (
        rows, json_pack ("{s:s, s:s, s:[{s:s, s:{s:s, s:o}}]}", "role", "assistant", "run_id", run,
                  "tool_calls", "id", id, "function", "name", tool, "arguments", given));
    json_array_append_new (
        rows, json_pack ("{s:s, s:s, s:s, s:s, s:s}", "role", "tool", "run_id", run, "tool_call_id",
                  id, "tool_name", tool, "content", content));
}
