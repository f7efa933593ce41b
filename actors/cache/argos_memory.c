//  argos_memory - see the header.
//
//  Invariant: what can't be read counts as unlimited, or as unknown: nothing is thrown away on a
//  guess. Reads /proc/self and one folder of /sys/fs/cgroup (version 2).

#include "argos_memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MB ((int64_t) 1024 * 1024)
#define LEAST_MB 512    //  A smaller budget is a mistake
#define AUTO_PERCENT 65 //  Of what we may have

int64_t
argos_memory_budget (const json_t *setting, int64_t total)
{
    static const char *const off[] = { "", "off", "none", "false", "disabled" };
    const char *text = json_string_value (setting);
    int64_t bytes = json_is_integer (setting) ? json_integer_value (setting) * MB : -1;
    for (size_t i = 0; text && i < sizeof off / sizeof *off; i++)
        if (strcmp (text, off[i]) == 0)
            bytes = 0;
    if (bytes < 0 && text && strspn (text, "0123456789") == strlen (text) && strlen (text) < 10)
        bytes = strtoll (text, NULL, 10) * MB;
    if (bytes < 0)
        bytes = total / 100 * AUTO_PERCENT;
    return bytes >= LEAST_MB * MB ? bytes : 0;
}

//  The number in the first line of a file; -1 = there is none.

static int64_t
s_number (const char *path)
{
    char line[64];
    int64_t number = -1;
    FILE *file = fopen (path, "re");
    if (!file)
        return -1;
    if (fgets (line, sizeof line, file) && *line >= '0' && *line <= '9')
        number = strtoll (line, NULL, 10);
    fclose (file);
    return number;
}

static int64_t
s_group_limit (void)
{
    static const char *const names[] = { "memory.high", "memory.max" };
    char line[PATH_MAX - 64], path[PATH_MAX];
    FILE *file = fopen ("/proc/self/cgroup", "re");
    const char *group = NULL;
    while (file && !group && fgets (line, sizeof line, file)) {
        line[strcspn (line, "\n")] = 0;
        group = strncmp (line, "0::", 3) == 0 ? line + 3 : NULL;
    }
    if (file)
        fclose (file);
    for (size_t i = 0; group && i < sizeof names / sizeof *names; i++) {
        snprintf (path, sizeof path, "/sys/fs/cgroup%s/%s", group, names[i]);
        int64_t limit = s_number (path);
        if (limit > 0)
            return limit;
    }
    return -1;
}

int64_t
argos_memory_total (void)
{
    int64_t host = (int64_t) sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE);
    int64_t group = s_group_limit ();
    return group > 0 && group < host ? group : host;
}

int64_t
argos_memory_used (void)
{
    char line[128];
    int64_t bytes = 0;
    FILE *file = fopen ("/proc/self/status", "re");
    while (file && fgets (line, sizeof line, file))
        if (strncmp (line, "RssAnon:", 8) == 0)
            bytes = strtoll (line + 8, NULL, 10) * 1024;
    if (file)
        fclose (file);
    return bytes;
}
