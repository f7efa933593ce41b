//  argos_agent_tools - the tools that are offered to the model. More tools are rows of the table.

#include "argos_agent_priv.h"

#include <string.h>

static const struct {
    const char *name;        //  Also of its service: tool.<name>
    const char *description; //  For the model
    const char *parameters;  //  JSON Schema
} s_tools[] = {
    { "terminal",
        "Run a shell command on this machine and return its output and exit code. Each call is a "
        "new "
        "shell. Give a timeout for commands that take long.",
        "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\",\"description\":"
        "\"the "
        "command "
        "line\"},\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"seconds, at "
        "most 600; default 180\"},\"workdir\":{\"type\":\"string\",\"description\":\"absolute path "
        "of "
        "the directory to run in\"},\"background\":{\"type\":\"boolean\",\"default\":false,"
        "\"description\":\"run it as a background job that outlives this turn; you are called "
        "again with its result\"},\"notify_on_complete\":{\"type\":\"boolean\",\"default\":true,"
        "\"description\":\"background: call me again when it is over\"},\"watch_patterns\":{"
        "\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"background: call me "
        "when a line of the output has one of these, instead\"},\"pty\":{\"type\":\"boolean\","
        "\"default\":false,\"description\":\"background: give it a terminal that can be written "
        "to\"}},\"required\":[\"command\"]}" },
    { "manage_bg_jobs",
        "List the background jobs of this chat, read the output of one, or stop one.",
        "{\"type\":\"object\",\"properties\":{\"action\":{\"type\":\"string\",\"enum\":[\"list\","
        "\"output\",\"kill\"]},\"job_id\":{\"type\":\"string\",\"description\":\"for output and "
        "kill\"}},\"required\":[\"action\"]}" },
    { "process",
        "Watch and steer the background processes of this chat: list, poll (state and newest "
        "output), log (output by lines), wait, kill, write or submit (a line) to its input, close "
        "its input.",
        "{\"type\":\"object\",\"properties\":{\"action\":{\"type\":\"string\",\"enum\":[\"list\","
        "\"poll\",\"log\",\"wait\",\"kill\",\"write\",\"submit\",\"close\"]},\"session_id\":{"
        "\"type\":\"string\",\"description\":\"id of the process\"},\"data\":{\"type\":\"string\","
        "\"description\":\"for write and submit\"},\"timeout\":{\"type\":\"integer\",\"minimum\":1,"
        "\"description\":\"for wait: seconds, at most 180\"},\"offset\":{\"type\":\"integer\","
        "\"description\":\"for log: first line; absent: the end\"},\"limit\":{\"type\":\"integer\","
        "\"description\":\"for log: lines\"}},\"required\":[\"action\"]}" },
    { "attachment",
        "Bring a file that the user has attached into a local folder; returns its path and, of a "
        "text, its beginning.",
        "{\"type\":\"object\",\"properties\":{\"blob\":{\"type\":\"string\",\"description\":"
        "\"id of the file, as the message with it says\"},\"name\":{\"type\":\"string\","
        "\"description\":\"another name for it\"}},\"required\":[\"blob\"]}" }
};

#define TOOL_COUNT (sizeof s_tools / sizeof *s_tools)

json_t *
agent_tools_new (void)
{
    json_t *list = json_array ();
    for (size_t i = 0; i < TOOL_COUNT; i++)
        json_array_append_new (list,
            json_pack ("{s:s, s:s, s:o}", "name", s_tools[i].name, "description",
                s_tools[i].description, "parameters", json_loads (s_tools[i].parameters, 0, NULL)));
    return list;
}

bool
agent_tool_known (const agent_t *self, const char *name)
{
    (void) self;
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (strcmp (s_tools[i].name, name) == 0)
            return true;
    return false;
}

const char *
agent_tool_names (const agent_t *self)
{
    (void) self;
    return s_tools[0].name;
}
