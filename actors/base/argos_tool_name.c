//  argos_tool_name - other spellings of the names of tools.

#include "argos_tool_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
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

//  In small letters with "_" between words

static void
s_snake (char *target, const char *name)
{
    size_t size = 0;
    bool small = false; //  The letter before is one
    for (; *name && size + 2 < ARGOS_TOOL_NAME_ROOM; name++) {
        unsigned char letter = (unsigned char) *name;
        if (isupper (letter) && small)
            target[size++] = '_';
        small = islower (letter) || isdigit (letter);
        int put = letter == '-' || letter == ' ' ? '_' : tolower (letter);
        target[size++] = (char) put;
    }
    target[size] = 0;
}

//  Returns whether there was one
static bool
s_strip_tool (char *name)
{
    size_t size = strlen (name);
    if (size <= 4 || strcmp (name + size - 4, "tool") != 0)
        return false;
    size -= 4;
    if (size > 1 && name[size - 1] == '_')
        size--;
    name[size] = 0;
    return true;
}

static const char *
s_find (const char *name, const json_t *tools)
{
    size_t index;
    json_t *tool;
    json_array_foreach (tools, index, tool) {
        const char *own = json_string_value (json_object_get (tool, "name"));
        if (own && strcmp (own, name) == 0)
            return own;
    }
    return NULL;
}

//  Letters that both have in the same order (longest common subsequence)
static size_t
s_common (const char *one, const char *two)
{
    size_t row[ARGOS_TOOL_NAME_ROOM] = { 0 };
    size_t width = strlen (two);
    for (; *one; one++) {
        size_t corner = 0; //  Of the row before, one to the left
        for (size_t at = 1; at <= width; at++) {
            size_t above = row[at];
            row[at] = *one == two[at - 1] ? corner + 1 : above > row[at - 1] ? above : row[at - 1];
            corner = above;
        }
    }
    return row[width];
}

static const char *
s_nearest (const char *name, const json_t *tools)
{
    const char *nearest = NULL;
    size_t best = 0, index; //  Thousandths
    json_t *tool;
    json_array_foreach (tools, index, tool) {
        const char *own = json_string_value (json_object_get (tool, "name"));
        if (!own || !*own || strlen (own) >= ARGOS_TOOL_NAME_ROOM)
            continue;
        size_t near = 2000 * s_common (name, own) / (strlen (name) + strlen (own));
        if (near >= best)
            nearest = near > best ? own : NULL;
        if (near > best)
            best = near;
    }
    return best >= 700 ? nearest : NULL;
}

const char *
argos_tool_name_repair (const char *name, const json_t *tools)
{
    char snake[ARGOS_TOOL_NAME_ROOM];
    const char *found = s_find (argos_tool_name (name), tools);
    if (found || !*name)
        return found;
    s_snake (snake, name);
    for (int strips = 0; strips < 3; strips++) { //  Once as it is, then up to twice without "tool"
        found = s_find (argos_tool_name (snake), tools);
        if (found || !s_strip_tool (snake))
            break;
    }
    return found ? found : s_nearest (snake, tools);
}
