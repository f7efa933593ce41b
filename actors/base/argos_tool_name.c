//  argos_tool_name - other spellings of the names of tools.

#include "argos_tool_name.h"

#include <stddef.h>
#include <strings.h>

static const struct {
    const char *spelling; //  As it is written elsewhere
    const char *name;     //  As it is here
} s_names[] = {
    { "bash", "terminal" },
    { "shell", "terminal" },
    { "run_shell", "terminal" },
    { "run_command", "terminal" },
    { "run_terminal_cmd", "terminal" },
    { "execute_command", "terminal" },
    { "manage_background_jobs", "manage_bg_jobs" },
    { "manage_bg_job", "manage_bg_jobs" },
    { "background_jobs", "manage_bg_jobs" },
    { "bg_jobs", "manage_bg_jobs" },
    { "bg_job", "manage_bg_jobs" },
    { "jobs", "manage_bg_jobs" },
    { "process_manage", "process" },
    { "manage_process", "process" },
    { "processes", "process" },
    { "web_fetch", "web_extract" },
    { "fetch_url", "web_extract" },
};

const char *
argos_tool_name (const char *name)
{
    for (size_t i = 0; i < sizeof s_names / sizeof *s_names; i++)
        if (strcasecmp (name, s_names[i].spelling) == 0)
            return s_names[i].name;
    return name;
}
