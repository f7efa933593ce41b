//  argos_platform - the platforms that are not like the others. Pure.

#include "argos_platform.h"

#include <string.h>

static const argos_platform_t s_table[] = {
    { .name = "api_server", .owner = "api", .by_run = true, .trusted = true },
    { .name = "local", .trusted = true },
    { .name = "webhook", .webhook = true, .trusted = true },
    { .name = "homeassistant", .trusted = true },
    { .name = "email", .open_door = true },
};

static const argos_platform_t s_ordinary = { .name = "" };

const argos_platform_t *
argos_platform_find (const char *name)
{
    for (size_t i = 0; name && i < sizeof s_table / sizeof *s_table; i++)
        if (strcmp (s_table[i].name, name) == 0)
            return &s_table[i];
    return &s_ordinary;
}
